/* bench/mend - what local work on a history of one megabyte takes: reading it as a conversation, checking its pairs,
 * masking old tool output down to half, writing it. In each dialect, median of many rounds; one table line and one JSON
 * line for each. */
#include "dialect/dialect.h"
#include "engine/mend/pairs/pairs.h"
#include "engine/mend/shorten/shorten.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BODY_BYTES (1u << 20)
#define ROUNDS     101
#define ROUND_OF   6000 /* bytes of one tool's output */

enum { READ, CHECK, MASK, WRITE, STEPS };
static const char *const step_names[STEPS] = {"read", "check", "mask", "write"};

/* Of the processor: others who use the machine do not count. */
static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int smaller(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Half a source file, half a log: what agents' tools give. */
static void output_of_tool(daruma_buf *out, unsigned n)
{
    for (unsigned i = 0; out->n < ROUND_OF / 2; i++)
        buf_printf(
            out,
            "    if (state->%s == NULL && count > %u) {\n        return handle_%s(ctx, \"no such entry\");\n    }\n",
            i & 1 ? "next" : "first", i % 90, i & 2 ? "missing" : "closed");
    for (unsigned i = 0; out->n < ROUND_OF; i++)
        buf_printf(out, "2026-03-%02u 11:%02u:%02u INFO worker-%u finished job %u of build %u in %u ms\n", i % 28 + 1,
                   i % 60, n % 60, i % 8, i * 17 + n, n, i * 7 % 900);
}

static void put_round(daruma_buf *b, daruma_str wire, unsigned n, daruma_str text)
{
    if (str_eq(wire, S("anthropic"))) {
        buf_printf(b,
                   ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Let me "
                   "look.\"},{\"type\":\"tool_use\",\"id\":\"toolu_%u\","
                   "\"name\":\"read\",\"input\":{\"path\":\"/src/"
                   "file_%u.c\"}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
                   "\"tool_use_id\":\"toolu_%u\",\"content\":",
                   n, n, n);
        buf_json(b, text);
        BUF_LIT(b, "}]}");
    } else if (str_eq(wire, S("openai"))) {
        buf_printf(b,
                   ",{\"role\":\"assistant\",\"content\":\"Let me "
                   "look.\",\"tool_calls\":[{\"id\":\"call_%u\",\"type\":\"function\",\"function\":"
                   "{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/"
                   "file_%u.c\\\"}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"call_%u\",\"content\":",
                   n, n, n);
        buf_json(b, text);
        BUF_LIT(b, "}");
    } else if (str_eq(wire, S("openai-responses"))) {
        buf_printf(b,
                   ",{\"type\":\"function_call\",\"call_id\":\"call_%u\",\"name\":\"read\",\"arguments\":\"{"
                   "\\\"path\\\":\\\"/src/file_%u.c\\\"}\"},"
                   "{\"type\":\"function_call_output\",\"call_id\":\"call_%u\",\"output\":",
                   n, n, n);
        buf_json(b, text);
        BUF_LIT(b, "}");
    } else {
        buf_printf(b,
                   ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{\"path\":\"/src/"
                   "file_%u.c\"}}}]},"
                   "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":",
                   n);
        buf_json(b, text);
        BUF_LIT(b, "}}}]}");
    }
}

static daruma_str history(daruma_str wire, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (str_eq(wire, S("gemini")))
        BUF_LIT(&b, "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"Find the fault.\"}]}");
    else if (str_eq(wire, S("openai-responses")))
        BUF_LIT(&b, "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"Find the fault.\"}");
    else
        BUF_LIT(
            &b,
            "{\"model\":\"m\",\"max_tokens\":4096,\"messages\":[{\"role\":\"user\",\"content\":\"Find the fault.\"}");
    for (unsigned n = 0; b.n < BODY_BYTES; n++) {
        daruma_buf text = buf_in(a);
        output_of_tool(&text, n);
        put_round(&b, wire, n, buf_str(&text));
    }
    BUF_LIT(&b, "]}");
    return b.full ? (daruma_str){0} : buf_str(&b);
}

/* One round; false when something of it cannot be done. */
static bool once(const dialect *d, daruma_str body, char *mem, size_t n, int64_t took[STEPS], size_t *ret_bytes)
{
    daruma_arena a = arena_over(mem, n);
    convo c;
    daruma_buf out = buf_in(&a);
    int64_t t[STEPS + 1];
    t[0] = now_ns();
    if (d->read(body, &a, &c) != DARUMA_OK)
        return false;
    t[1] = now_ns();
    mend_report pairs = mend_pairs(&c, MEND_SYNTHESISE);
    int64_t tokens = convo_tokens(&c);
    t[2] = now_ns();
    mend_report r = mend_mask(&c, tokens / 2, NULL);
    t[3] = now_ns();
    d->write(&c, &out);
    t[4] = now_ns();
    for (int i = 0; i < STEPS; i++)
        took[i] = t[i + 1] - t[i];
    *ret_bytes = out.n;
    return !mend_did(&pairs) && !c.full && !out.full && r.tokens_after <= tokens / 2 && mend_did(&r);
}

static bool measure(const dialect *d)
{
    static char mem[24u << 20], work[24u << 20];
    static int64_t all[STEPS + 1][ROUNDS];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str body = history(str_of(d->name), &a);
    int64_t took[STEPS];
    size_t bytes = 0;
    if (!body.n)
        return false;
    for (int i = 0; i < ROUNDS; i++) {
        if (!once(d, body, work, sizeof work, took, &bytes))
            return false;
        all[STEPS][i] = 0;
        for (int k = 0; k < STEPS; k++) {
            all[k][i] = took[k];
            all[STEPS][i] += took[k];
        }
    }
    printf("mend       %-16s %zu to %zu bytes  ", d->name, body.n, bytes);
    for (int k = 0; k <= STEPS; k++) {
        qsort(all[k], ROUNDS, sizeof **all, smaller);
        printf(" %s %.2f ms", k < STEPS ? step_names[k] : "  all, median", (double)all[k][ROUNDS / 2] / 1e6);
    }
    printf("  p99 %.2f ms\n", (double)all[STEPS][ROUNDS * 99 / 100] / 1e6);
    printf("{\"bench\":\"mend\",\"dialect\":\"%s\",\"bytes\":%zu,\"bytes_after\":%zu", d->name, body.n, bytes);
    for (int k = 0; k < STEPS; k++)
        printf(",\"%s_us\":%lld", step_names[k], (long long)(all[k][ROUNDS / 2] / 1000));
    printf(",\"median_us\":%lld,\"p99_us\":%lld}\n", (long long)(all[STEPS][ROUNDS / 2] / 1000),
           (long long)(all[STEPS][ROUNDS * 99 / 100] / 1000));
    return true;
}

int main(void)
{
    static const dialect *const wires[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                           &dialect_gemini};
    int bad = 0;
    for (size_t i = 0; i < COUNT(wires); i++)
        if (!wires[i]->read || !measure(wires[i])) {
            fprintf(stderr, "bench_mend: %s cannot be measured\n", wires[i]->name);
            bad = 1;
        }
    return bad;
}
