/* bench/growth - how the time of local work grows with the request: each shape of request, at sizes that double, is
 * read, mended, converted and written. Prints the milliseconds of each size and the largest growth from one size to the
 * next. Work that grows with the size doubles; work that grows with the square takes four times as long.
 *
 *     bench_growth --max 32 --only "tools chat"     sizes 1, 2, ... 32 MB of the rows whose name has these words
 *
 * Exits 1 when a row grows faster than `--most` thousandths per doubling. */
#include "kit.h"
#include "dialect/dialect.h"
#include "engine/mend/mend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MB         ((size_t)1 << 20)
#define ROOM       ((size_t)24 << 30) /* of addresses: pages come when they are touched */
#define NOISE_NS   20000000           /* a run shorter than this says nothing about growth */
#define TOO_LONG_S 3                  /* the row ends after a run that took longer */

enum { CHAT, RESPONSES, ANTHROPIC, GEMINI, WIRES };
static const dialect *const wires[WIRES] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                            &dialect_gemini};
static const char *const wire_names[WIRES] = {"chat", "responses", "anthropic", "gemini"};

/* A body of a shape: `before`, `item` as often as the size allows, `after`. '#' in an item is its number. An item
 * that is NULL: the wire has no such requests. */
typedef struct shape {
    const char *name;
    struct {
        const char *before, *item, *after;
    } of[WIRES];
} shape;

#define CHAT_HEAD      "{\"model\":\"m\",\"messages\":["
#define USER           "{\"role\":\"user\",\"content\":\"Find the fault.\"}"
#define RESPONSES_HEAD "{\"model\":\"m\",\"input\":["
#define ANTHROPIC_HEAD "{\"model\":\"m\",\"max_tokens\":4096,\"messages\":["
#define GEMINI_HEAD    "{\"contents\":["
#define GEMINI_USER    "{\"role\":\"user\",\"parts\":[{\"text\":\"Find the fault.\"}]}"
#define SCHEMA                                                                                                         \
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"format\":\"uri\"},\"n\":{\"type\":"          \
    "\"integer\"}},\"required\":[\"path\"],\"additionalProperties\":false}"

static const shape shapes[] = {
    {"loop",
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_#\",\"type\":\"function\","
       "\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/file_#.c\\\"}\"}}]},"
       "{\"role\":\"tool\",\"tool_call_id\":\"call_#\",\"content\":\"int main(void) { return 0; }\"}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/"
       "file_#.c\\\"}\"},{\"type\":\"function_call_output\",\"call_id\":\"call_#\",\"output\":\"int main(void) { "
       "return 0; }\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"read\",\"input\":{"
       "\"path\":\"/src/file_#.c\"}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
       "\"toolu_#\",\"content\":\"int main(void) { return 0; }\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{\"path\":\"/src/file_#.c\"}}}]}"
       ",{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"int "
       "main(void) { return 0; }\"}}}]}",
       "]}"}}},
    {"one-id", /* a client that numbers the calls of each turn from 0 */
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_0\",\"type\":\"function\","
       "\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/file_#.c\\\"}\"}}]},"
       "{\"role\":\"tool\",\"tool_call_id\":\"call_0\",\"content\":\"int main(void) { return 0; }\"}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_0\",\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/"
       "file_#.c\\\"}\"},{\"type\":\"function_call_output\",\"call_id\":\"call_0\",\"output\":\"int main(void) { "
       "return 0; }\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_0\",\"name\":\"read\",\"input\":{"
       "\"path\":\"/src/file_#.c\"}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
       "\"toolu_0\",\"content\":\"int main(void) { return 0; }\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"c\",\"name\":\"read\",\"args\":{\"path\":\"/src/"
       "file_#.c\"}}}]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\"c\",\"name\":\"read\","
       "\"response\":{\"output\":\"int main(void) { return 0; }\"}}}]}",
       "]}"}}},
    {"lost", /* calls whose results are missing */
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_#\",\"type\":\"function\","
       "\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/file_#.c\\\"}\"}}]}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/"
       "file_#.c\\\"}\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"read\",\"input\":{"
       "\"path\":\"/src/file_#.c\"}}]},{\"role\":\"user\",\"content\":\"Go on.\"}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read_#\",\"args\":{\"path\":\"/src/"
       "file_#.c\"}}}]},{\"role\":\"user\",\"parts\":[{\"text\":\"Go on.\"}]}",
       "]}"}}},
    {"stray", /* results whose calls are missing */
     {{CHAT_HEAD USER, ",{\"role\":\"tool\",\"tool_call_id\":\"call_#\",\"content\":\"int main(void);\"}", "]}"},
      {RESPONSES_HEAD USER, ",{\"type\":\"function_call_output\",\"call_id\":\"call_#\",\"output\":\"int main;\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_#\",\"content\":\"int "
       "main;\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read_#\",\"response\":{\"output\":\"int "
       "main;\"}}}]}",
       "]}"}}},
    {"wide", /* all calls in one turn, all results behind it, in the other order */
     {{CHAT_HEAD USER ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\","
                      "\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}",
       ",{\"id\":\"call_#\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}",
       "]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"x\"}]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"read\",\"arguments\":\"{}\"}",
       ",{\"type\":\"function_call_output\",\"call_id\":\"call_0\",\"output\":\"x\"}]}"},
      {ANTHROPIC_HEAD USER ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"So.\"}",
       ",{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"read\",\"input\":{}}",
       "]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_0\",\"content\":\"x\"}]}]"
       "}"},
      {GEMINI_HEAD GEMINI_USER ",{\"role\":\"model\",\"parts\":[{\"text\":\"So.\"}",
       ",{\"functionCall\":{\"name\":\"read\",\"args\":{}}}",
       "]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"x\"}}}]}]"
       "}"}}},
    {"empty",
     {{CHAT_HEAD USER, ",{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {RESPONSES_HEAD USER, ",{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {ANTHROPIC_HEAD USER, ",{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]},{\"role\":\"user\",\"parts\":[{\"text\":\"\"}]}", "]}"}}},
    {"empty-user",
     {{CHAT_HEAD USER, ",{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {RESPONSES_HEAD USER, ",{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {ANTHROPIC_HEAD USER, ",{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {GEMINI_HEAD GEMINI_USER, ",{\"role\":\"user\",\"parts\":[{\"text\":\"\"}]}", "]}"}}},
    {"turns", /* of the user alone */
     {{CHAT_HEAD USER, ",{\"role\":\"user\",\"content\":\"hi #\"}", "]}"},
      {RESPONSES_HEAD USER, ",{\"role\":\"user\",\"content\":\"hi #\"}", "]}"},
      {ANTHROPIC_HEAD USER, ",{\"role\":\"user\",\"content\":\"hi #\"}", "]}"},
      {GEMINI_HEAD GEMINI_USER, ",{\"role\":\"user\",\"parts\":[{\"text\":\"hi #\"}]}", "]}"}}},
    {"parts", /* many in one message */
     {{CHAT_HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"}",
       ",{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"\"}", "]}]}"},
      {RESPONSES_HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"\"}",
       ",{\"type\":\"input_text\",\"text\":\"a\"},{\"type\":\"input_text\",\"text\":\"\"}", "]}]}"},
      {ANTHROPIC_HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"}",
       ",{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"\"}", "]}]}"},
      {GEMINI_HEAD "{\"role\":\"user\",\"parts\":[{\"text\":\"\"}", ",{\"text\":\"a\"},{\"text\":\"\"}", "]}]}"}}},
    {"system",
     {{CHAT_HEAD USER, ",{\"role\":\"system\",\"content\":\"Be short.\"},{\"role\":\"user\",\"content\":\"hi\"}", "]}"},
      {RESPONSES_HEAD USER,
       ",{\"role\":\"developer\",\"content\":\"Be short.\"},{\"role\":\"user\",\"content\":\"hi\"}", "]}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"system\":[{\"type\":\"text\",\"text\":\"Be kind.\"}",
       ",{\"type\":\"text\",\"text\":\"Be short.\"}", "],\"messages\":[" USER "]}"},
      {"{\"systemInstruction\":{\"parts\":[{\"text\":\"Be kind.\"}", ",{\"text\":\"Be short.\"}",
       "]},\"contents\":[" GEMINI_USER "]}"}}},
    {"tools",
     {{"{\"model\":\"m\",\"messages\":[" USER "],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"x\"}}",
       ",{\"type\":\"function\",\"function\":{\"name\":\"tool_#\",\"description\":\"d\",\"strict\":true,"
       "\"parameters\":" SCHEMA "}}",
       "]}"},
      {"{\"model\":\"m\",\"input\":[" USER "],\"tools\":[{\"type\":\"function\",\"name\":\"x\"}",
       ",{\"type\":\"function\",\"name\":\"tool_#\",\"description\":\"d\",\"strict\":true,\"parameters\":" SCHEMA "}",
       "]}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "],\"tools\":[{\"name\":\"x\",\"input_schema\":" SCHEMA
       "}",
       ",{\"name\":\"tool.#\",\"description\":\"d\",\"input_schema\":" SCHEMA "}", "]}"},
      {"{\"contents\":[" GEMINI_USER "],\"tools\":[{\"functionDeclarations\":[{\"name\":\"x\"}",
       ",{\"name\":\"tool.#\",\"description\":\"d\",\"parametersJsonSchema\":" SCHEMA "}", "]}]}"}}},
    {"bare-tools", /* without schemas, so small that they are many */
     {{"{\"model\":\"m\",\"messages\":[" USER "],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"x\"}}",
       ",{\"type\":\"function\",\"function\":{\"name\":\"tool.#\"}}", "]}"},
      {"{\"model\":\"m\",\"input\":[" USER "],\"tools\":[{\"type\":\"function\",\"name\":\"x\"}",
       ",{\"type\":\"function\",\"name\":\"tool.#\"}", "]}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "],\"tools\":[{\"name\":\"x\"}",
       ",{\"name\":\"tool.#\"}", "]}"},
      {"{\"contents\":[" GEMINI_USER "],\"tools\":[{\"functionDeclarations\":[{\"name\":\"x\"}",
       ",{\"name\":\"tool.#\"}", "]}]}"}}},
    {"marks",
     {[ANTHROPIC] = {ANTHROPIC_HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}",
                     ",{\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"type\":\"ephemeral\"}}", "]}]}"}}},
    {"turn-marks",
     {[ANTHROPIC] = {ANTHROPIC_HEAD USER,
                     ",{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"type\":"
                     "\"ephemeral\"}}]}",
                     "]}"}}},
    {"members", /* of the body, and of a message */
     {{"{\"model\":\"m\",\"messages\":[" USER "]", ",\"x_#\":1", "}"},
      {"{\"model\":\"m\",\"input\":[" USER "]", ",\"x_#\":1", "}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "]", ",\"x_#\":1", "}"},
      {"{\"contents\":[" GEMINI_USER "]", ",\"x_#\":1", "}"}}},
};

static void put_item(daruma_buf *out, const char *item, unsigned n)
{
    daruma_str rest = str_of(item);
    while (rest.n) {
        size_t at = str_findch(rest, '#');
        buf_put(out, str_sub(rest, 0, at == STR_NONE ? rest.n : at));
        if (at != STR_NONE)
            buf_int(out, n);
        rest = str_from(rest, at == STR_NONE ? rest.n : at + 1);
    }
}

static daruma_str body_of(const shape *s, int wire, size_t bytes, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_putz(&b, s->of[wire].before);
    for (unsigned n = 0; b.n < bytes; n++)
        put_item(&b, s->of[wire].item, n);
    buf_putz(&b, s->of[wire].after);
    return buf_str(&b);
}

/* ---- what is done with it ---- */

typedef struct run {
    const dialect *from, *to;
    daruma_str body;
    daruma_arena *a;
    convo c;
} run;

static bool written(run *r, const dialect *d, const convo *c)
{
    daruma_buf out = buf_in(r->a);
    d->write(c, &out);
    return !out.full && !c->full;
}

static bool act_convert(run *r)
{
    convo to = {0};
    dialect_losses lost = {0};
    return dialect_convert(&r->c, r->to, r->a, &to, &lost) == DARUMA_OK && written(r, r->to, &to);
}

static bool act_pairs(run *r)
{
    bool broken = mend_pairs_broken(&r->c);
    mend_report rep = mend_pairs(&r->c, MEND_SYNTHESISE);
    (void)rep;
    (void)broken;
    return written(r, r->from, &r->c);
}

static bool act_prune(run *r)
{
    mend_pairs(&r->c, MEND_PRUNE);
    return written(r, r->from, &r->c);
}

static bool act_messages(run *r)
{
    mend_messages(&r->c, NULL);
    return written(r, r->from, &r->c);
}

static bool act_mask(run *r)
{
    mend_mask(&r->c, convo_tokens(&r->c) / 2, NULL);
    return written(r, r->from, &r->c);
}

static bool act_shed(run *r)
{
    mend_shed(&r->c, r->body.n / 2);
    return written(r, r->from, &r->c);
}

/* After another remedy of the same request, as a ladder has them. */
static bool mended_by(run *r, const char *message)
{
    daruma_failure f = {.kind = DARUMA_INVALID_TOOL_SCHEMA, .message = str_of(message)};
    mend_report rep = {0};
    mend_lesson l;
    mend_messages(&r->c, &f);
    mend_member(&r->c, &f, &l, &rep);
    mend_parameter(&r->c, &f, &l, &rep);
    mend_empty_list(&r->c, &f, &l, &rep);
    mend_cache_marks(&r->c, &f, &rep);
    mend_double_tools(&r->c, &f, &rep);
    mend_tool_schemas(&r->c, &f, &rep);
    mend_double_items(&r->c, &f, &rep);
    return written(r, r->from, &r->c);
}

static bool act_keyword(run *r)
{
    return mended_by(r, "Invalid schema: 'additionalProperties' is not supported");
}

static bool act_any_schema(run *r)
{
    return mended_by(r, "Invalid schema for a function") && mended_by(r, "Invalid schema for a function");
}

static bool act_marks(run *r)
{
    return mended_by(r, "A maximum of 4 blocks with cache_control may be provided. Found 1000000000.");
}

static bool act_double(run *r)
{
    return mended_by(r, "tools: Tool names must be unique. Duplicate item found.");
}

static bool act_empty(run *r)
{
    return mended_by(r, "messages: text content blocks must be non-empty");
}

static bool act_roles(run *r)
{
    return mended_by(r, "messages: roles must alternate between user and assistant");
}

static bool act_system(run *r)
{
    return mended_by(r, "Unexpected role \"system\": system messages are not supported");
}

/* What a model learned: done to each request. */
static bool act_lessons(run *r)
{
    static const mend_lesson learned[] = {
        {.op = PATCH_DROP, .path = "tools.*.schema.additionalProperties", .value = "lower"},
        {.op = PATCH_DROP, .path = "tools.*.function.strict", .value = ""},
        {.op = PATCH_DROP, .path = "messages.*.content.*.cache_control", .value = ""},
        {.op = PATCH_DROP, .path = "messages.*.tool_calls", .value = "[]"},
        {.op = PATCH_RENAME, .path = "max_tokens", .value = "max_completion_tokens"}};
    mend_report rep = {0};
    for (size_t i = 0; i < sizeof learned / sizeof *learned; i++)
        mend_lesson_apply(&r->c, &learned[i], &rep);
    return written(r, r->from, &r->c);
}

static const struct act {
    const char *name;
    bool (*go)(run *r);
} acts[] = {
    {"pairs", act_pairs},     {"prune", act_prune},     {"messages", act_messages},     {"mask", act_mask},
    {"shed", act_shed},       {"keyword", act_keyword}, {"any-schema", act_any_schema}, {"marks", act_marks},
    {"double", act_double},   {"empty", act_empty},     {"roles", act_roles},           {"system", act_system},
    {"lessons", act_lessons},
};

/* ---- one tool, and a call of it ---- */

enum { MANY_GOOD, MANY_COERCED, MANY_UNKNOWN, MANY_MISSING, MANY_LOWERED, MANY_STRICT, MANY_ENUM, MANYS };
static const char *const many_names[MANYS] = {"fit", "coerced", "unknown", "missing", "lowered", "strict", "enum"};

/* A schema of so many bytes, all of whose members are required, and arguments for it. */
static bool act_many(int what, size_t bytes, daruma_arena *a, bool make, daruma_str *schema, daruma_str *args)
{
    if (make) {
        daruma_buf s = buf_in(a);
        BUF_LIT(&s, "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"integer\"}");
        unsigned n = 0;
        for (; s.n < bytes / 3 * 2 && what != MANY_UNKNOWN && what != MANY_ENUM; n++)
            put_item(&s, ",\"p#\":{\"type\":\"integer\",\"title\":\"t\"}", n);
        if (what == MANY_ENUM) {
            BUF_LIT(&s, ",\"e\":{\"enum\":[0");
            for (; s.n < bytes; n++)
                put_item(&s, ",\"v#\"", n);
            BUF_LIT(&s, "]}");
        }
        BUF_LIT(&s, "},\"additionalProperties\":false,\"required\":[\"p\"");
        for (unsigned i = 0; i < n && what != MANY_ENUM; i++)
            put_item(&s, ",\"p#\"", i);
        BUF_LIT(&s, "]}");
        *schema = buf_str(&s);
        daruma_buf b = buf_in(a);
        buf_putz(&b, what == MANY_COERCED ? "{\"p\":\"1\"" : "{\"p\":1");
        if (what == MANY_ENUM)
            put_item(&b, ",\"e\":\"v#\"", n - 1);
        for (unsigned i = 0; what == MANY_UNKNOWN ? b.n < bytes : i < n && what != MANY_MISSING && what != MANY_ENUM;
             i++)
            put_item(&b, what == MANY_COERCED ? ",\"p#\":\"1\"" : ",\"p#\":1", i);
        buf_putz(&b, what == MANY_UNKNOWN ? ",}" : "}"); /* broken: it is repaired, and what is unknown goes */
        *args = buf_str(&b);
        return !s.full && !b.full;
    }
    if (what == MANY_LOWERED)
        return schema_lower(*schema, S("title"), false, a).p != schema->p || bytes > MB;
    if (what == MANY_STRICT)
        return schema_lower(*schema, S("additionalProperties"), true, a).n;
    convo_tool t = {.name = S("read"), .schema = *schema};
    convo c = {.tools = &t, .ntools = 1, .arena = a};
    args_check v = mend_args(&c, t.name, *args, false, a);
    return v.verdict != ARGS_UNKNOWN_TOOL; /* what is too much to mend is told to the model */
}

/* ---- rows ---- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* One row of the table: work(x, bytes) is done at sizes that double. */
typedef struct row {
    char name[80];
    const shape *shape;
    int wire, to, act, many;
} row;

static long max_mb = 8, most_milli = 2600, from_kb = 1024;
static const char *only = "";

static bool wanted(const char *name)
{
    for (daruma_str words = str_of(only); words.n;)
        if (str_find(str_of(name), str_cut(&words, ' ')) == STR_NONE)
            return false;
    return true;
}

/* Nanoseconds of one run at that size; -1 when it cannot be done. */
static int64_t once(const row *x, size_t bytes, char *mem)
{
    daruma_arena a = arena_over(mem, ROOM);
    int64_t from, took;
    bool good;
    if (x->many >= 0) {
        daruma_str schema, args;
        if (!act_many(x->many, bytes, &a, true, &schema, &args))
            return -1;
        from = now_ns();
        good = act_many(x->many, bytes, &a, false, &schema, &args);
        took = now_ns() - from;
    } else {
        run r = {.from = wires[x->wire], .to = x->to < 0 ? NULL : wires[x->to], .a = &a};
        r.body = body_of(x->shape, x->wire, bytes, &a);
        from = now_ns();
        good = r.from->read(r.body, &a, &r.c) == DARUMA_OK && (x->to >= 0 ? act_convert(&r) : acts[x->act].go(&r));
        took = now_ns() - from;
    }
    madvise(mem, ROOM, MADV_DONTNEED);
    return good ? took : -1;
}

/* True if it grows no faster than it may. */
static bool measure(const row *x, char *mem)
{
    int64_t last = 0;
    double worst = 0;
    bool good = true;
    if (!wanted(x->name))
        return true;
    printf("growth     %-34s", x->name);
    for (size_t kb = (size_t)from_kb; kb <= (size_t)max_mb * 1024; kb *= 2) {
        int64_t took = once(x, kb << 10, mem);
        for (int i = 0; i < 2 && last > NOISE_NS && took > last * 2; i++) { /* others use the machine: once more */
            int64_t again = once(x, kb << 10, mem);
            took = again < took ? again : took;
        }
        if (took < 0) {
            printf("  cannot be done");
            break;
        }
        printf(" %8.1f", (double)took / 1e6);
        fflush(stdout);
        if (last > NOISE_NS && (double)took / (double)last > worst)
            worst = (double)took / (double)last;
        last = took;
        if (took > TOO_LONG_S * INT64_C(1000000000))
            break;
    }
    good = worst * 1000 <= (double)most_milli;
    printf(" ms  %.2f per doubling%s\n", worst, good ? "" : "  TOO FAST");
    return good;
}

int main(int argc, char **argv)
{
    const option_row options[] = {{"--max", &max_mb, NULL, "largest size, in MB"},
                                  {"--from", &from_kb, NULL, "smallest size, in KB"},
                                  {"--most", &most_milli, NULL, "growth per doubling that is too much, in thousandths"},
                                  {"--only", NULL, &only, "rows whose name has these words"},
                                  {0}};
    options_read(argc, argv, options);
    char *mem = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool good = true;
    if (mem == MAP_FAILED)
        die("memory");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int w = 0; w < WIRES; w++) {
            row x = {.shape = &shapes[s], .wire = w, .many = -1};
            for (x.to = 0; shapes[s].of[w].item && x.to < WIRES; x.to++) {
                snprintf(x.name, sizeof x.name, "%s %s>%s", shapes[s].name, wire_names[w], wire_names[x.to]);
                good &= x.to == w || measure(&x, mem);
            }
            x.to = -1;
            for (x.act = 0; shapes[s].of[w].item && x.act < (int)(sizeof acts / sizeof *acts); x.act++) {
                snprintf(x.name, sizeof x.name, "%s %s %s", shapes[s].name, wire_names[w], acts[x.act].name);
                good &= measure(&x, mem);
            }
        }
    for (int m = 0; m < MANYS; m++) {
        row x = {.many = m, .to = -1};
        snprintf(x.name, sizeof x.name, "call %s", many_names[m]);
        good &= measure(&x, mem);
    }
    return !good;
}
