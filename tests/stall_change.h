/* stall_change.h - changes that mean nothing: what a harness may put around each result, and into each call. A circle
 * stays a circle, and work stays work. The floors say how many of the circles of stall_*.h are found under each change,
 * and how much work is taken for a circle: they only get better.
 */
#ifndef STALL_CHANGE_H
#define STALL_CHANGE_H
#include "stall_kit.h"

/* 32 bits that look drawn by lot, others for each step and each `k`. */
static uint32_t change_drawn(uint32_t i, uint32_t k)
{
    uint64_t h = (i * UINT64_C(64) + k + 1) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 31) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 24);
}

/* `n` of the characters in `of`. */
static void change_put_drawn(daruma_buf *b, uint32_t i, int n, const char *of)
{
    for (int k = 0; k < n; k++)
        buf_putc(b, of[change_drawn(i, (uint32_t)k) % strlen(of)]);
}

#define CHANGE_KEYS    "abcdefghijklmnopqrstuvwxyz0123456789"
#define CHANGE_LETTERS "bcdfghklmnpqrstvwz"

/* In a form, {r} is the result and {j} the result as a string of JSON; {i} the number of the step, from 1, {b} what is
 * left of a budget; {k} 7 letters and digits, {l} 8 letters, {h} 4 digits of base 16, {u} a UUID, {s} seconds, {m}
 * milliseconds, {c} a clock, {o} whether it worked. */
static void change_form(daruma_buf *b, const char *form, const daruma_step *s, uint32_t i)
{
    for (const char *p = form; *p; p++) {
        if (p[0] != '{' || !p[1] || p[2] != '}') {
            buf_putc(b, *p);
            continue;
        }
        p += 2;
        switch (p[-1]) {
        case 'r':
            buf_put(b, s->result);
            break;
        case 'j':
            buf_json(b, s->result);
            break;
        case 'i':
            buf_int(b, i);
            break;
        case 'b':
            buf_int(b, 91371 - 1371 * (int64_t)i);
            break;
        case 'k':
            change_put_drawn(b, i, 7, CHANGE_KEYS);
            break;
        case 'l':
            change_put_drawn(b, i, 8, CHANGE_LETTERS);
            break;
        case 'h':
            buf_printf(b, "%04x", 0x1000 + change_drawn(i, 1) % 0xf000);
            break;
        case 'u':
            buf_printf(b, "%08x-%04x-4%03x-8%03x-%08x%04x", change_drawn(i, 1), change_drawn(i, 2) % 0x10000,
                       change_drawn(i, 3) % 0x1000, change_drawn(i, 4) % 0x1000, change_drawn(i, 5),
                       change_drawn(i, 6) % 0x10000);
            break;
        case 's':
            buf_printf(b, "%u.%02u", change_drawn(i, 1) % 3, change_drawn(i, 2) % 100);
            break;
        case 'm':
            buf_int(b, 3 + change_drawn(i, 1) % 900);
            break;
        case 'c':
            buf_printf(b, "10:%02u:%02u", i / 60 % 60, i % 60);
            break;
        case 'o':
            buf_putz(b, s->ok == 0 ? "false" : "true");
            break;
        default:
            break;
        }
    }
}

typedef struct stall_change {
    const char *name;
    const char *result;    /* the form of each result; NULL: as it is */
    const char *arg;       /* the form of a member that is put behind the arguments; NULL: none */
    bool opaque;           /* tools have names that say nothing */
    unsigned found, wrong; /* at least so many circles are found, at most so much work is taken for one */
} stall_change;

static const stall_change stall_changes[] = {
    {"nothing", NULL, NULL, false, 216, 0},
    {"names of tools that say nothing", NULL, NULL, true, 179, 23},
    {"a short request id", "{r} (request id: req_{h})", NULL, false, 159, 0},
    {"a UUID", "{r} [{u}]", NULL, false, 198, 0},
    {"how long it took, in brackets", "{r}\n(took {s}s)", NULL, false, 198, 0},
    {"how long it took, on a line", "{r}\nelapsed: {m} ms", NULL, false, 200, 7},
    {"a time stamp before it", "[2026-11-23 {c}] {r}", NULL, false, 181, 0},
    {"an envelope with a counter", "{\"ok\": {o}, \"seq\": {i}, \"content\": {j}}", NULL, false, 167, 0},
    {"a counter deep in an envelope", "{\"data\":{\"out\":{j}},\"meta\":{\"no\":{i},\"host\":\"a\"}}", NULL, false, 183,
     0},
    {"content of MCP, and a counter", "{\"content\":[{\"type\":\"text\",\"text\":{j}}],\"turn\":{i}}", NULL, false, 185,
     0},
    {"a count of calls", "{r}\n(call #{i} of this session)", NULL, false, 169, 0},
    {"a footer of pages", "{r}\n--- step {i}, {b} tokens left ---", NULL, false, 147, 0},
    {"a line before it", "Observation {i}:\n{r}", NULL, false, 194, 0},
    {"a mark before it", "#{i} {r}", NULL, false, 90, 4},
    {"tags around it", "<result id=\"{k}\">\n{r}\n</result>", NULL, false, 180, 2},
    {"a line above, and one below", "--- call {k} ---\n{r}\n--- end of call {i} ---", NULL, false, 177, 0},
    {"letters drawn by lot", "{r}\ntrace={l}", NULL, false, 95, 0},
    {"another temporary file", "{r}\n[full output saved to /tmp/out-{k}/log.txt]", NULL, false, 157, 0},
    {"a budget and a clock", "{r}\n[budget: {b} tokens left, {c}]", NULL, false, 213, 0},
    {"something drawn by lot in the arguments", NULL, "\"tag\":\"{h}{k}\"", false, 119, 4},
    {"a counter in the arguments", NULL, "\"nr\":{i}", false, 119, 4},
};

/* The change that kit_see() makes; NULL: none. */
static const stall_change *change_now;
static uint64_t change_tools[26];

static void change_step(daruma_step *step, uint32_t i, daruma_arena *a)
{
    const stall_change *c = change_now;
    daruma_buf result = buf_in(a), args = buf_in(a), tool = buf_in(a);
    if (!c || !step->tool.n || str_starts(step->tool, S("__")))
        return;
    if (c->result) {
        change_form(&result, c->result, step, i);
        step->result = buf_str(&result);
    }
    if (c->arg && step->args.n > 1 && step->args.p[step->args.n - 1] == '}') {
        buf_put(&args, str_sub(step->args, 0, step->args.n - 1));
        buf_putz(&args, step->args.n > 2 ? "," : "");
        change_form(&args, c->arg, step, i);
        buf_putc(&args, '}');
        step->args = buf_str(&args);
    }
    if (c->opaque) {
        uint64_t h = daruma_call_hash(step->tool, S("{}"));
        size_t k = 0;
        while (k < 25 && change_tools[k] && change_tools[k] != h)
            k++;
        change_tools[k] = h;
        BUF_LIT(&tool, "ext_");
        buf_putc(&tool, (char)('a' + k));
        step->tool = buf_str(&tool);
    }
}
#endif
