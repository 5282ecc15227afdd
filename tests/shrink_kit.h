/* shrink_kit.h - what the tests of conversations that became too long share: histories of any size, written for two
 * wires. */
#ifndef SHRINK_KIT_H
#define SHRINK_KIT_H
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "dialect/dialect.h"
#include "engine/mend/remedy.h"

static char mem[48u << 20];
static inline daruma_arena arena(void)
{
    return arena_over(mem, sizeof mem);
}

static inline daruma_failure judged(int status, const char *message, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":");
    buf_json(&b, str_of(message));
    BUF_LIT(&b, "}}");
    daruma_evidence ev = {.status = status, .body = buf_str(&b)};
    return daruma_classify(&ev, at(0), a);
}

/* ---- histories, written for two wires ---- */

typedef struct history {
    bool anthropic;
    daruma_buf b;
    size_t n;
} history;

static inline history begin(bool anthropic, daruma_arena *a, const char *more)
{
    history h = {.anthropic = anthropic, .b = buf_in(a)};
    BUF_LIT(&h.b, "{\"model\":\"m\",");
    buf_putz(&h.b, more);
    if (anthropic)
        BUF_LIT(&h.b, "\"max_tokens\":1000,\"system\":\"You are careful.\",\"messages\":[");
    else
        BUF_LIT(&h.b, "\"messages\":[{\"role\":\"system\",\"content\":\"You are careful.\"}");
    h.n = !anthropic;
    return h;
}

static inline void comma(history *h)
{
    if (h->n++)
        buf_putc(&h->b, ',');
}

static inline void say(history *h, const char *role, daruma_str text)
{
    comma(h);
    BUF_LIT(&h->b, "{\"role\":\"");
    buf_putz(&h->b, role);
    BUF_LIT(&h->b, "\",\"content\":");
    buf_json(&h->b, text);
    buf_putc(&h->b, '}');
}

static inline void call(history *h, const char *id, const char *tool, bool thinking)
{
    comma(h);
    if (h->anthropic)
        buf_printf(&h->b,
                   "{\"role\":\"assistant\",\"content\":[%s{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"%s\","
                   "\"input\":{\"q\":1}}]}",
                   thinking ? "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"c2ln\"}," : "", id, tool);
    else
        buf_printf(&h->b,
                   "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"%s\",\"type\":\"function\","
                   "\"function\":{\"name\":\"%s\",\"arguments\":\"{}\"}}]}",
                   id, tool);
}

static inline void result(history *h, const char *id, daruma_str text, bool failed)
{
    comma(h);
    if (h->anthropic)
        buf_printf(&h->b,
                   "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"%s\",%s\"content\":",
                   id, failed ? "\"is_error\":true," : "");
    else
        buf_printf(&h->b, "{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"content\":", id);
    buf_json(&h->b, text);
    buf_putz(&h->b, h->anthropic ? "}]}" : "}");
}

static inline daruma_str end(history *h)
{
    BUF_LIT(&h->b, "]}");
    assert_false(h->b.full);
    return buf_str(&h->b);
}

static inline const dialect *wire_of(bool anthropic)
{
    return anthropic ? &dialect_anthropic : &dialect_openai;
}

static inline convo read_of(bool anthropic, daruma_str body, daruma_arena *a)
{
    convo c;
    assert_int_equal(wire_of(anthropic)->read(body, a, &c), DARUMA_OK);
    return c;
}

static inline daruma_str written(bool anthropic, const convo *c, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    wire_of(anthropic)->write(c, &b);
    assert_false(b.full);
    assert_true(json_valid(buf_str(&b)));
    return buf_str(&b);
}

/* Lines that look alike, as logs and listings do. */
static inline daruma_str noise(daruma_arena *a, size_t bytes, unsigned salt)
{
    daruma_buf b = buf_in(a);
    for (unsigned i = 0; b.n < bytes; i++)
        buf_printf(&b, "2026-01-%02u 10:%02u:%02u INFO worker-%u handled row %u in %u ms\n", i % 28 + 1, i % 60,
                   (i * 7) % 60, (i + salt) % 8, i * 31 + salt, i % 900);
    return str_sub(buf_str(&b), 0, bytes);
}

static inline convo_part *result_part(convo *c, size_t nth)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++)
            if (c->messages[i].parts[j].kind == PART_RESULT && nth-- == 0)
                return &c->messages[i].parts[j];
    return NULL;
}

/* A task and `rounds` calls with results of `bytes`; an answer and a new question at the end when `turns`. */
static inline daruma_str rounds_of(bool anthropic, daruma_arena *a, unsigned rounds, size_t bytes, bool turns)
{
    history h = begin(anthropic, a, "");
    say(&h, "user", S("Find out why the nightly build fails."));
    for (unsigned i = 0; i < rounds; i++) {
        char id[24];
        snprintf(id, sizeof id, "call_%u", i);
        call(&h, id, "read_log", false);
        result(&h, id, noise(a, bytes, i), false);
        if (turns) {
            say(&h, "assistant", S("Nothing in there."));
            say(&h, "user", S("Then look at the next one."));
        }
    }
    return end(&h);
}

static inline bool alive(const convo *c, size_t i)
{
    return !c->messages[i].dropped;
}

/* Every result on the wire answers a call before it; every call of before that stayed has its result. */
static inline void check_pairs(const convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; alive(c, i) && j < c->messages[i].nparts; j++) {
            const convo_part *p = &c->messages[i].parts[j];
            if (p->kind != PART_RESULT || p->dropped)
                continue;
            bool found = false;
            for (size_t k = 0; k < i && !found; k++)
                for (size_t q = 0; alive(c, k) && q < c->messages[k].nparts; q++)
                    found |= c->messages[k].parts[q].kind == PART_CALL && str_eq(c->messages[k].parts[q].id, p->id);
            assert_true(found);
        }
}
#endif
