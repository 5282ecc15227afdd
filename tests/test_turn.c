/* Answers and streams as the providers' documentation shows them; see answer.c and stream.c of each dialect, and
 * bridge.c. */
#include "test.h"
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

static char mem[4 << 20], more_mem[2 << 20];
static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic, &dialect_gemini};
#define NALL 4

/* ---- streams: thinking, text, two calls, one of them without arguments ---- */

#define CHUNK(delta)                                                                                                   \
    "data: {\"id\":\"chatcmpl-9\",\"object\":\"chat.completion.chunk\",\"created\":1730000000,\"model\":\"gpt-x\","    \
    "\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}]}\n\n"
static const char chat_stream[] = CHUNK("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}") CHUNK(
    "{\"reasoning_content\":\"Hm. \"}") CHUNK("{\"content\":\"Let me \"}")
    CHUNK("{\"content\":\"l\\u00f6ok \\\"up\\\"\"}") CHUNK(
        "{\"tool_calls\":[{\"index\":0,\"id\":\"call_a\",\"type\":\"function\",\"function\":{\"name\":\"weather\","
        "\"arguments\":\"\"}}]}") CHUNK("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"city\\\":\"}}"
                                        "]}")
        CHUNK("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"Oslo\\\"}\"}}]}") CHUNK(
            "{\"tool_calls\":[{\"index\":1,\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":\"now\","
            "\"arguments\":\"{}\"}}]}") "data: "
                                        "{\"id\":\"chatcmpl-9\",\"object\":\"chat.completion.chunk\",\"created\":"
                                        "1730000000,\"model\":\"gpt-x\","
                                        "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
                                        "data: "
                                        "{\"id\":\"chatcmpl-9\",\"object\":\"chat.completion.chunk\",\"created\":"
                                        "1730000000,\"model\":\"gpt-x\","
                                        "\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":12,"
                                        "\"total_tokens\":42,"
                                        "\"prompt_tokens_details\":{\"cached_tokens\":10},\"completion_tokens_"
                                        "details\":{\"reasoning_tokens\":4}}}\n\n"
                                        "data: [DONE]\n\n";

#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
static const char anthropic_stream[] = EVENT(
    "message_start",
    ",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\"content\":[],"
    "\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":20,\"cache_creation_input_tokens\":0,"
    "\"cache_read_input_tokens\":10,\"output_tokens\":1}}")
    EVENT("content_block_start",
          ",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
        EVENT("ping", "") EVENT("content_block_delta",
                                ",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm. \"}")
            EVENT("content_block_delta", ",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}")
                EVENT("content_block_stop", ",\"index\":0") EVENT(
                    "content_block_start", ",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}")
                    EVENT("content_block_delta",
                          ",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Let me \"}")
                        EVENT("content_block_delta",
                              ",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"l\\u00f6ok \\\"up\\\"\"}")
                            EVENT("content_block_stop", ",\"index\":1") EVENT(
                                "content_block_start", ",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":"
                                                       "\"call_a\",\"name\":\"weather\",\"input\":{}}")
                                EVENT("content_block_delta",
                                      ",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}")
                                    EVENT("content_block_delta", ",\"index\":2,\"delta\":{\"type\":\"input_json_"
                                                                 "delta\",\"partial_json\":\"{\\\"city\\\":\"}")
                                        EVENT("content_block_delta",
                                              ",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":"
                                              "\"\\\"Oslo\\\"}\"}") EVENT("content_block_stop", ",\"index\":2")
                                            EVENT("content_block_start",
                                                  ",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":"
                                                  "\"call_b\",\"name\":\"now\",\"input\":{}}")
                                                EVENT("content_block_stop", ",\"index\":3") EVENT(
                                                    "message_delta",
                                                    ",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},"
                                                    "\"usage\":{\"output_tokens\":12}") EVENT("message_stop", "");

#define RESPONSE(status, output, usage)                                                                                \
    ",\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1730000000,\"status\":\"" status "\","    \
    "\"model\":\"gpt-x\",\"error\":null,\"incomplete_details\":null,\"output\":[" output "],\"usage\":" usage "}"
#define ITEM_RS                                                                                                        \
    "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Hm. \"}],"             \
    "\"encrypted_content\":\"c2ln\"}"
#define ITEM_MSG                                                                                                       \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[{\"type\":"   \
    "\"output_text\",\"text\":\"Let me l\\u00f6ok \\\"up\\\"\",\"annotations\":[],\"logprobs\":[]}]}"
#define ITEM_A                                                                                                         \
    "{\"id\":\"fc_1\",\"type\":\"function_call\",\"status\":\"completed\",\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}" \
    "\","                                                                                                              \
    "\"call_id\":\"call_a\",\"name\":\"weather\"}"
#define ITEM_B                                                                                                         \
    "{\"id\":\"fc_2\",\"type\":\"function_call\",\"status\":\"completed\",\"arguments\":\"{}\",\"call_id\":\"call_"    \
    "b\","                                                                                                             \
    "\"name\":\"now\"}"
static const char responses_stream[] = EVENT(
    "response.created",
    ",\"sequence_number\":0" RESPONSE("in_progress", "",
                                      "null")) EVENT("response.in_progress",
                                                     ",\"sequence_number\":1" RESPONSE(
                                                         "in_progress", "",
                                                         "null")) EVENT("response.output_item.added",
                                                                        ",\"sequence_number\":2,\"output_index\":0,"
                                                                        "\"item\":{\"id\":\"rs_1\",\"type\":"
                                                                        "\"reasoning\",\"summary\":[]}")
    EVENT("response.reasoning_summary_part.added",
          ",\"sequence_number\":3,\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"part\":{\"type\":"
          "\"summary_text\",\"text\":\"\"}") EVENT("response.reasoning_summary_text.delta",
                                                   ",\"sequence_number\":4,\"item_id\":\"rs_1\",\"output_index\":0,"
                                                   "\"summary_index\":0,\"delta\":\"Hm. \"")
        EVENT("response.reasoning_summary_text.done",
              ",\"sequence_number\":5,\"item_id\":\"rs_1\",\"output_index\":0,"
              "\"summary_index\":0,\"text\":\"Hm. \"") EVENT("response.reasoning_summary_part.done",
                                                             ",\"sequence_number\":6,\"item_id\":\"rs_1\",\"output_"
                                                             "index\":0,\"summary_index\":0,\"part\":{"
                                                             "\"type\":\"summary_text\",\"text\":\"Hm. \"}")
            EVENT("response.output_item.done", ",\"sequence_number\":7,\"output_index\":0,\"item\":" ITEM_RS) EVENT(
                "response.output_item.added",
                ",\"sequence_number\":8,\"output_index\":1,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"status\":"
                "\"in_progress\",\"role\":\"assistant\",\"content\":[]}")
                EVENT("response.content_part.added",
                      ",\"sequence_number\":9,\"item_id\":\"msg_1\",\"output_index\":1,"
                      "\"content_index\":0,\"part\":{\"type\":"
                      "\"output_text\",\"text\":\"\",\"annotations\":[]}") EVENT("response.output_text.delta",
                                                                                 ",\"sequence_number\":10,\"item_id\":"
                                                                                 "\"msg_1\",\"output_"
                                                                                 "index\":1,\"content_index\":0,"
                                                                                 "\"delta\":\"Let me \"")
                    EVENT("response.output_text.delta",
                          ",\"sequence_number\":11,\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,"
                          "\"delta\":"
                          "\"l\\u00f6ok \\\"up\\\"\"") EVENT("response.output_text.done",
                                                             ",\"sequence_number\":12,\"item_id\":\"msg_1\",\"output_"
                                                             "index\":1,\"content_index\":0,\"text\":"
                                                             "\"Let me l\\u00f6ok \\\"up\\\"\"")
                        EVENT("response.content_part.done",
                              ",\"sequence_number\":13,\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,"
                              "\"part\":{\"type\":\"output_text\",\"text\":\"Let me l\\u00f6ok \\\"up\\\"\","
                              "\"annotations\":[]}") EVENT("response.output_item.done",
                                                           ",\"sequence_number\":14,\"output_index\":1,"
                                                           "\"item\":" ITEM_MSG)
                            EVENT("response.output_item.added",
                                  ",\"sequence_number\":15,\"output_index\":2,\"item\":{\"id\":\"fc_1\",\"type\":"
                                  "\"function_call\",\"status\":"
                                  "\"in_progress\",\"arguments\":\"\",\"call_id\":\"call_a\",\"name\":\"weather\"}")
                                EVENT("response.function_call_arguments.delta",
                                      ",\"sequence_number\":16,\"item_id\":\"fc_1\",\"output_index\":2,\"delta\":\"{"
                                      "\\\"city\\\":\"") EVENT("response.function_call_arguments.delta",
                                                               ",\"sequence_number\":17,\"item_id\":\"fc_1\",\"output_"
                                                               "index\":2,\"delta\":\"\\\"Oslo\\\"}\"")
                                    EVENT(
                                        "response.function_call_arguments.done",
                                        ",\"sequence_number\":18,\"item_id\":\"fc_1\",\"output_index\":2,\"arguments\":"
                                        "\"{\\\"city\\\":\\\"Oslo\\\"}\"")
                                        EVENT("response.output_item.done",
                                              ",\"sequence_number\":19,\"output_index\":2,\"item\":" ITEM_A)
                                            EVENT("response.output_item.added",
                                                  ",\"sequence_number\":20,\"output_index\":3,\"item\":{\"id\":\"fc_"
                                                  "2\",\"type\":\"function_call\",\"status\":"
                                                  "\"in_progress\",\"arguments\":\"\",\"call_id\":\"call_b\",\"name\":"
                                                  "\"now\"}") EVENT("response.function_call_arguments.done",
                                                                    ",\"sequence_number\":21,\"item_id\":\"fc_2\","
                                                                    "\"output_index\":3,\"arguments\":\"{}\"")
                                                EVENT("response.output_item.done",
                                                      ",\"sequence_number\":22,\"output_index\":3,\"item\":" ITEM_B)
                                                    EVENT("response.completed",
                                                          ",\"sequence_number\":23" RESPONSE(
                                                              "completed", ITEM_RS "," ITEM_MSG "," ITEM_A "," ITEM_B,
                                                              "{\"input_tokens\":30,\"input_tokens_details\":{"
                                                              "\"cached_tokens\":10},\"output_tokens\":12,"
                                                              "\"output_tokens_details\":{\"reasoning_tokens\":4},"
                                                              "\"total_tokens\":42}"));

#define PIECE(parts, rest)                                                                                             \
    "data: {\"candidates\":[{\"content\":{\"parts\":[" parts "],\"role\":\"model\"}" rest ",\"index\":0}],"            \
    "\"usageMetadata\":{\"promptTokenCount\":30,\"candidatesTokenCount\":8,\"totalTokenCount\":42,"                    \
    "\"thoughtsTokenCount\":4,\"cachedContentTokenCount\":10},\"modelVersion\":\"gemini-x\",\"responseId\":\"r1\"}"    \
    "\r\n\r\n"
static const char gemini_stream[] = PIECE("{\"text\":\"Hm. \",\"thought\":true}", "")
    PIECE("{\"text\":\"Let me \"}", "") PIECE("{\"text\":\"l\\u00f6ok \\\"up\\\"\"}", "")
        PIECE("{\"functionCall\":{\"id\":\"call_a\",\"name\":\"weather\",\"args\":{\"city\":\"Oslo\"}},"
              "\"thoughtSignature\":\"c2ln\"},{\"functionCall\":{\"id\":\"call_b\",\"name\":\"now\",\"args\":{}}}",
              "") PIECE("{\"text\":\"\"}", ",\"finishReason\":\"STOP\"");

static const char *const streams[] = {chat_stream, responses_stream, anthropic_stream, gemini_stream};

/* ---- what a stream says, as text ---- */

typedef struct summary {
    daruma_buf text, thinking, calls;
    turn_finish finish;
    turn_usage usage;
    bool end;
    turn_reader r;
} summary;

static void summarise(summary *s, const turn_delta *d)
{
    switch (d->kind) {
    case DELTA_TEXT:
    case DELTA_REFUSAL:
        buf_put(&s->text, d->text);
        break;
    case DELTA_THINKING:
        buf_put(&s->thinking, d->text);
        break;
    case DELTA_CALL:
        buf_printf(&s->calls, "|%d %.*s %.*s ", d->index, STR_ARG(d->id), STR_ARG(d->name));
        break;
    case DELTA_ARGUMENTS:
        buf_put(&s->calls, d->text);
        break;
    case DELTA_FINISH:
        s->finish = d->finish;
        break;
    case DELTA_USAGE:
        if (d->usage.input >= 0)
            s->usage.input = d->usage.input;
        if (d->usage.output >= 0)
            s->usage.output = d->usage.output;
        if (d->usage.cached >= 0)
            s->usage.cached = d->usage.cached;
        break;
    case DELTA_END:
        s->end = true;
        break;
    case DELTA_START:
    case DELTA_SIGNATURE:
    case DELTA_CALL_END:
    case DELTA_SOURCES:
    case DELTA_BLOCK:
    case DELTA_OTHER:
        break;
    }
}

static summary summary_of(const dialect *d, daruma_str bytes, daruma_arena *a)
{
    summary s = {.text = buf_in(a), .thinking = buf_in(a), .calls = buf_in(a), .usage = TURN_USAGE_NONE};
    turn_delta few[TURN_DELTAS_FEW];
    sse_event e;
    while (sse_next(&bytes, &e, a)) {
        turn_deltas said = dialect_read_delta(d, &s.r, &e, few, a);
        for (size_t i = 0; i < said.n; i++)
            summarise(&s, &said.p[i]);
    }
    return s;
}

/* Is it a good stream in the eyes of the watcher of its dialect? */
static void is_good(const dialect *d, daruma_str bytes, daruma_arena *a)
{
    stream_view v = {0};
    sse_event e;
    daruma_str rest = bytes;
    while (sse_next(&rest, &e, a)) {
        dialect_watch(d, &v, &e);
        if (v.broken)
            fail_msg("%s: broken at " STR_FMT, d->name, STR_ARG(e.raw));
    }
    if (rest.n || !v.done || !v.finished || v.error || !v.content)
        fail_msg("%s: no good stream (done %d, finished %d, error %d): " STR_FMT, d->name, v.done, v.finished, v.error,
                 STR_ARG(bytes));
}

static void a_stream_says_what_the_model_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        summary s = summary_of(all[i], str_of(streams[i]), &a);
        assert_str(buf_str(&s.text), "Let me l\xc3\xb6ok \"up\"");
        assert_str(buf_str(&s.thinking), "Hm. ");
        assert_str(buf_str(&s.calls), all[i] == &dialect_anthropic
                                          ? "|0 call_a weather {\"city\":\"Oslo\"}|1 call_b now "
                                          : "|0 call_a weather {\"city\":\"Oslo\"}|1 call_b now {}");
        assert_int_equal(s.finish, FINISH_CALLS);
        assert_int_equal(s.usage.input, 30);
        assert_int_equal(s.usage.output, 12);
        assert_int_equal(s.usage.cached, 10);
        assert_int_equal(s.end, all[i] != &dialect_gemini);
        assert_true(s.r.began && s.r.finished);
        assert_int_equal(s.r.calls, 2);
        is_good(all[i], str_of(streams[i]), &a);
    }
}

static daruma_str bridged(const dialect *from, const dialect *to, daruma_str bytes, size_t step, daruma_arena *a)
{
    daruma_arena keep = arena_over(more_mem, sizeof more_mem);
    write_ctx x = {.model = S("asked"), .id = 7, .wall = 1730000001};
    stream_bridge b;
    daruma_buf out = buf_in(a);
    daruma_str rest = {bytes.p, 0};
    sse_event e;
    bridge_begin(&b, from, to, &x, &keep);
    for (size_t fed = 0; fed < bytes.n;) {
        size_t n = !step || bytes.n - fed < step ? bytes.n - fed : step;
        fed += n;
        rest.n += n;
        while (sse_next(&rest, &e, a))
            bridge_event(&b, &e, &out, a);
    }
    assert_true(bridge_end(&b, &out));
    assert_false(out.full || a->full);
    return buf_str(&out);
}

static void a_stream_becomes_any_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++)
        for (size_t k = 0; k < NALL; k++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            daruma_str out = bridged(all[i], all[k], str_of(streams[i]), 0, &a);
            is_good(all[k], out, &a);
            summary s = summary_of(all[k], out, &a);
            assert_str(buf_str(&s.text), "Let me l\xc3\xb6ok \"up\"");
            bool thinks = i == k || all[k] == &dialect_openai || all[k] == &dialect_gemini;
            assert_str(buf_str(&s.thinking), thinks ? "Hm. " : "");
            bool none = all[k] == &dialect_anthropic && all[i] == &dialect_anthropic;
            assert_str(buf_str(&s.calls), none ? "|0 call_a weather {\"city\":\"Oslo\"}|1 call_b now "
                                               : "|0 call_a weather {\"city\":\"Oslo\"}|1 call_b now {}");
            assert_int_equal(s.finish, FINISH_CALLS);
            assert_int_equal(s.usage.input, 30);
            assert_int_equal(s.usage.output, 12);
            assert_int_equal(s.usage.cached, 10);
        }
}

static void any_split_of_the_bytes_gives_the_same(void **state)
{
    static const size_t steps[] = {1, 2, 3, 7, 64, 1000};
    (void)state;
    for (size_t i = 0; i < NALL; i++)
        for (size_t k = 0; k < NALL; k++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            daruma_str want = bridged(all[i], all[k], str_of(streams[i]), 0, &a);
            for (size_t j = 0; j < COUNT(steps); j++) {
                daruma_arena b = a;
                assert_true(str_eq(bridged(all[i], all[k], str_of(streams[i]), steps[j], &b), want));
            }
        }
}

/* ---- going on where a stream was cut ---- */

static void say_on(const dialect *d, turn_writer *w, delta_kind kind, const char *text, daruma_buf *out)
{
    turn_delta x = {.kind = kind,
                    .index = -1,
                    .text = str_of(text),
                    .finish = kind == DELTA_FINISH ? FINISH_STOP : FINISH_NONE,
                    .usage = kind == DELTA_USAGE ? (turn_usage){5, 6, -1, -1, -1} : TURN_USAGE_NONE};
    d->write_delta(w, &x, out);
}

/* The whole text of response.completed. */
static daruma_str completed_text(daruma_str stream, daruma_arena *a)
{
    sse_event e;
    daruma_buf b = buf_in(a);
    while (sse_next(&stream, &e, a)) {
        if (!str_eq(e.event, S("response.completed")))
            continue;
        turn t;
        assert_int_equal(dialect_openai_responses.read_answer(json_get(e.data, S("response")), a, &t), DARUMA_OK);
        for (size_t i = 0; i < t.message.nparts; i++)
            if (t.message.parts[i].kind == PART_TEXT)
                buf_put(&b, t.message.parts[i].text);
    }
    return buf_str(&b);
}

/* Sequence numbers and output indexes must go up one by one. */
static void numbers_are_in_order(daruma_str stream, daruma_arena *a)
{
    sse_event e;
    int64_t want = 0;
    while (sse_next(&stream, &e, a))
        assert_int_equal(json_int(json_get(e.data, S("sequence_number")), -1), want++);
}

/* One block is open at a time, and their indexes go up. */
static void blocks_are_in_order(daruma_str stream, daruma_arena *a)
{
    sse_event e;
    int64_t open = -1, next = 0;
    while (sse_next(&stream, &e, a)) {
        int64_t at = json_int(json_get(e.data, S("index")), -1);
        if (str_eq(e.event, S("content_block_start"))) {
            assert_int_equal(open, -1);
            assert_int_equal(at, next++);
            open = at;
        } else if (str_eq(e.event, S("content_block_delta"))) {
            assert_int_equal(at, open);
        } else if (str_eq(e.event, S("content_block_stop"))) {
            assert_int_equal(at, open);
            open = -1;
        } else if (str_starts(e.event, S("message_")) && !str_eq(e.event, S("message_start"))) {
            assert_int_equal(open, -1);
        }
    }
}

/* What a host keeps of an event that goes by: the reader, the text and, `items`, what is finished. */
static void goes_by(const dialect *d, turn_writer *w, const sse_event *e, bool items, daruma_arena *a)
{
    turn_delta few[TURN_DELTAS_FEW];
    dialect_said event;
    dialect_read_event(d, e, &event);
    turn_deltas said = d->read_delta(&w->r, &event, few, a);
    for (size_t i = 0; i < said.n; i++)
        if (said.p[i].kind == DELTA_TEXT)
            buf_put(&w->text, said.p[i].text);
    daruma_str item = items ? dialect_done_item(&event) : (daruma_str){0};
    if (item.n && w->items.n)
        BUF_LIT(&w->items, ",");
    buf_put(&w->items, item);
}

/* Cuts behind event `cut`; `kept`: the host kept what is finished. Returns false when there are fewer events. */
static bool goes_on(const dialect *d, daruma_str bytes, size_t cut, bool kept)
{
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(more_mem, sizeof more_mem);
    turn_writer w = {
        .usage = TURN_USAGE_NONE, .wall = 1730000009, .made = 3, .text = buf_in(&keep), .items = buf_in(&keep)};
    daruma_buf out = buf_in(&a);
    daruma_str rest = bytes;
    sse_event e;
    size_t n = 0;
    for (; n < cut && sse_next(&rest, &e, &a); n++) {
        daruma_buf raw = buf_in(&keep);
        buf_put(&raw, e.raw);
        goes_by(d, &w, &e, kept, &a);
    }
    if (n < cut)
        return false;
    buf_put(&out, str_sub(bytes, 0, bytes.n - rest.n));
    size_t had = out.n;
    summary before = summary_of(d, buf_str(&out), &a);
    bool over = w.r.ended || w.r.finished;
    if (!over) {
        say_on(d, &w, DELTA_TEXT, "", &out);
        say_on(d, &w, DELTA_TEXT, "and ", &out);
        say_on(d, &w, DELTA_TEXT, "more", &out);
        say_on(d, &w, DELTA_FINISH, "", &out);
        say_on(d, &w, DELTA_USAGE, "", &out);
    }
    say_on(d, &w, DELTA_END, "", &out);
    say_on(d, &w, DELTA_TEXT, "too late", &out);
    assert_false(out.full || a.full || keep.full || w.broken);
    assert_true(!before.end || out.n == had);
    is_good(d, buf_str(&out), &a);
    summary s = summary_of(d, buf_str(&out), &a);
    daruma_buf want = buf_in(&a);
    buf_put(&want, buf_str(&before.text));
    if (!over)
        BUF_LIT(&want, "and more");
    if (!str_eq(buf_str(&s.text), buf_str(&want)))
        fail_msg("%s cut at %zu: \"" STR_FMT "\"", d->name, cut, STR_ARG(buf_str(&s.text)));
    if (d == &dialect_openai_responses) {
        numbers_are_in_order(buf_str(&out), &a);
        daruma_str said = completed_text(buf_str(&out), &a);
        if (!(kept ? str_eq(said, buf_str(&want)) : str_ends(said, over ? S("") : S("and more"))))
            fail_msg("cut at %zu: completed says \"" STR_FMT "\"", cut, STR_ARG(said));
    }
    if (d == &dialect_anthropic)
        blocks_are_in_order(buf_str(&out), &a);
    return true;
}

static void a_cut_stream_is_gone_on_with_wherever_it_was_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++) {
        size_t cuts = 0;
        while (goes_on(all[i], str_of(streams[i]), cuts, true) && goes_on(all[i], str_of(streams[i]), cuts, false))
            cuts++;
        assert_true(cuts > 4);
    }
}

static void items_that_were_kept_stay_when_one_does_not_fit(void **state)
{
    (void)state;
    static char room[900];
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(room, sizeof room);
    turn_writer w = {.usage = TURN_USAGE_NONE, .made = 3, .text = buf_in(&keep), .items = buf_in(&keep)};
    daruma_buf out = buf_in(&a), large = buf_in(&a);
    BUF_LIT(&large, "{\"id\":\"2\",\"type\":\"shell_call\",\"x\":\"");
    for (size_t i = 0; i < sizeof room; i++)
        buf_putc(&large, 'x');
    buf_put(&large, (daruma_str){"\"}", 3}); /* with its NUL */
    say_on(&dialect_openai_responses, &w, DELTA_START, "", &out);
    say_on(&dialect_openai_responses, &w, DELTA_BLOCK, "{\"id\":\"1\",\"type\":\"shell_call\"}", &out);
    say_on(&dialect_openai_responses, &w, DELTA_BLOCK, buf_str(&large).p, &out);
    say_on(&dialect_openai_responses, &w, DELTA_FINISH, "", &out);
    say_on(&dialect_openai_responses, &w, DELTA_END, "", &out);
    assert_true(w.items.full && !out.full);
    assert_str(buf_str(&w.items), "{\"id\":\"1\",\"type\":\"shell_call\"}");
}

static void what_was_said_is_the_same_everywhere(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(more_mem, sizeof more_mem);
    turn_writer w = {.usage = TURN_USAGE_NONE, .made = 3, .text = buf_in(&keep), .items = buf_in(&keep)};
    daruma_buf out = buf_in(&a);
    daruma_str rest = str_of(responses_stream);
    sse_event e;
    for (int i = 0; i < 11 && sse_next(&rest, &e, &a); i++) { /* up to "Let me " */
        buf_put(&out, e.raw);
        goes_by(&dialect_openai_responses, &w, &e, true, &a);
    }
    say_on(&dialect_openai_responses, &w, DELTA_TEXT, "stop", &out);
    say_on(&dialect_openai_responses, &w, DELTA_FINISH, "", &out);
    say_on(&dialect_openai_responses, &w, DELTA_END, "", &out);
    daruma_str got = buf_str(&out);
    assert_true(str_find(got, S("\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,\"logprobs\":[],\"text\":"
                                "\"Let me stop\"")) != STR_NONE);
    size_t end = str_find(got, S("event: response.completed"));
    assert_true(end != STR_NONE);
    daruma_str last = str_from(got, end);
    assert_true(str_find(last, S(ITEM_RS)) != STR_NONE); /* what was done before the cut, to the byte */
    assert_true(str_find(last, S("\"id\":\"msg_1\"")) != STR_NONE);
    assert_true(str_find(last, S("Let me stop")) != STR_NONE);
    assert_true(str_find(last, S("\"id\":\"resp_1\"")) != STR_NONE);
    assert_true(str_find(last, S("\"created_at\":1730000000")) != STR_NONE);
}

/* The number of an event is the provider's word. */
static void a_sequence_number_at_the_end_of_its_range_is_gone_on_from(void **state)
{
    (void)state;
    static const char *const begun[] = {
        EVENT("response.created",
              ",\"sequence_number\":9223372036854775807,\"response\":{\"id\":\"r\",\"model\":\"m\"}"),
        EVENT("response.created",
              ",\"sequence_number\":9223372036854775806,\"response\":{\"id\":\"r\",\"model\":\"m\"}"),
        EVENT("response.created",
              ",\"sequence_number\":99999999999999999999,\"response\":{\"id\":\"r\",\"model\":\"m\"}")
            EVENT("response.in_progress", ""), /* none: counted from the one before */
    };
    daruma_failure f = {.kind = DARUMA_NETWORK, .wait = -1, .limit = -1, .used = -1, .requested = -1};
    for (size_t i = 0; i < COUNT(begun); i++) {
        daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(more_mem, sizeof more_mem);
        turn_writer w = {.usage = TURN_USAGE_NONE, .text = buf_in(&keep), .items = buf_in(&keep)};
        daruma_buf out = buf_in(&a), error = buf_in(&a);
        daruma_str rest = str_of(begun[i]);
        sse_event e;
        while (sse_next(&rest, &e, &a))
            goes_by(&dialect_openai_responses, &w, &e, true, &a);
        turn_reader r = w.r;
        dialect_openai_responses.write_stream_error(&error, &f, 502, S("cut"), S(""), &r);
        say_on(&dialect_openai_responses, &w, DELTA_TEXT, "on", &out);
        say_on(&dialect_openai_responses, &w, DELTA_END, "", &out);
        daruma_str made[] = {buf_str(&out), buf_str(&error)};
        for (size_t j = 0; j < 2; j++) {
            int64_t last = -1;
            while (sse_next(&made[j], &e, &a)) {
                int64_t n = json_int(json_get(e.data, S("sequence_number")), -1);
                assert_true(n > last && n < 100);
                last = n;
            }
            assert_true(last > 0);
        }
    }
}

/* The end of a stream of Responses says all of the answer again, also where what is kept of it has no room for that. */
static void a_long_answer_is_said_again_at_its_end(void **state)
{
    (void)state;
    enum { PIECES = 5, KEPT_BYTES = 200 };
    static char kept[KEPT_BYTES];
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(kept, sizeof kept);
    turn_writer w = {.usage = TURN_USAGE_NONE, .wall = 9, .text = buf_in(&keep)};
    daruma_buf out = buf_in(&a);
    for (int i = 0; i < PIECES; i++)
        say_on(&dialect_openai_responses, &w, DELTA_TEXT, "twenty bytes of text", &out);
    assert_false(keep.full);
    say_on(&dialect_openai_responses, &w, DELTA_FINISH, "", &out);
    size_t at = out.n;
    say_on(&dialect_openai_responses, &w, DELTA_END, "", &out);
    assert_true(keep.full && !out.full);
    daruma_str rest = str_from(buf_str(&out), at);
    sse_event e = {0};
    while (sse_next(&rest, &e, &a))
        ;
    assert_str(json_get(e.data, S("type")), "\"response.completed\"");
    assert_int_equal(json_path(e.data, "response.output.0.content.0.text").n, PIECES * 20 + 2);
    assert_int_equal(json_count(json_path(e.data, "response.output")), 1);
    assert_int_equal(w.items.n, 0); /* no part of it is taken for all */
}

/* ---- the shape of what is written anew ---- */

static void is_written(const dialect *d, const char *want)
{
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(more_mem, sizeof more_mem);
    turn_writer w = {.usage = TURN_USAGE_NONE, .wall = 9, .made = 0, .text = buf_in(&keep)};
    daruma_buf out = buf_in(&a);
    d->write_delta(
        &w, &(turn_delta){.kind = DELTA_START, .index = -1, .id = S("i"), .model = S("m"), .usage = TURN_USAGE_NONE},
        &out);
    say_on(d, &w, DELTA_TEXT, "a", &out);
    d->write_delta(&w, &(turn_delta){.kind = DELTA_CALL, .id = S("c"), .name = S("f"), .usage = TURN_USAGE_NONE}, &out);
    d->write_delta(&w, &(turn_delta){.kind = DELTA_ARGUMENTS, .text = S("{}"), .usage = TURN_USAGE_NONE}, &out);
    say_on(d, &w, DELTA_FINISH, "", &out);
    say_on(d, &w, DELTA_USAGE, "", &out);
    say_on(d, &w, DELTA_END, "", &out);
    assert_str(buf_str(&out), want);
}

static void streams_are_written_as_the_providers_write_them(void **state)
{
    (void)state;
#define HEAD        "data: {\"id\":\"i\",\"object\":\"chat.completion.chunk\",\"created\":9,\"model\":\"m\",\"choices\":["
#define SAYS(delta) HEAD "{\"index\":0,\"delta\":" delta ",\"logprobs\":null,\"finish_reason\":null}]}\n\n"
    is_written(&dialect_openai,
               SAYS("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}") SAYS("{\"content\":\"a\"}")
                   SAYS("{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                        "\"arguments\":\"{}\"}}]}") HEAD
               "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"tool_calls\"}],\"usage\":{"
               "\"prompt_tokens\":5,\"completion_tokens\":6,\"total_tokens\":11,\"prompt_tokens_details\":{"
               "\"cached_tokens\":0},\"completion_tokens_details\":{\"reasoning_tokens\":0}}}\n\ndata: [DONE]\n\n");
    is_written(
        &dialect_anthropic,
        EVENT("message_start",
              ",\"message\":{\"id\":\"i\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],"
              "\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":0,"
              "\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":0}}")
            EVENT("content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}")
                EVENT("content_block_delta", ",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}") EVENT(
                    "content_block_stop", ",\"index\":0") EVENT("content_block_start",
                                                                ",\"index\":1,\"content_block\":{\"type\":\"tool_use\","
                                                                "\"id\":\"c\",\"name\":\"f\",\"input\":{}}")
                    EVENT("content_block_delta", ",\"index\":1,\"delta\":{\"type\":\"input_json_delta\","
                                                 "\"partial_json\":\"{}\"}") EVENT("content_block_stop", ",\"index\":1")
                        EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},"
                                               "\"usage\":{\"input_tokens\":5,\"cache_creation_input_tokens\":0,"
                                               "\"cache_read_input_tokens\":0,\"output_tokens\":6}")
                            EVENT("message_stop", ""));
}

/* A call is begun in one buffer; a piece of its arguments that ends with a quote ends where the call did, in another.
 */
static void a_piece_of_a_call_stands_alone_in_another_buffer(void **state)
{
    (void)state;
    for (size_t fill = 0; fill < 512; fill++) {
        char begun[1024], room[2048], name[64], text[512];
        turn_writer w = {.usage = TURN_USAGE_NONE};
        daruma_buf out = buf_over(begun, sizeof begun);
        memset(name, 'f', sizeof name);
        memset(text, '1', sizeof text);
        text[fill] = '"';
        dialect_openai.write_delta(&w, &(turn_delta){.kind = DELTA_CALL, .id = S("c"), .name = {name, sizeof name}},
                                   &out);
        out = buf_over(room, sizeof room);
        dialect_openai.write_delta(&w, &(turn_delta){.kind = DELTA_ARGUMENTS, .text = {text, fill + 1}}, &out);
        size_t first = out.n;
        dialect_openai.write_delta(&w, &(turn_delta){.kind = DELTA_ARGUMENTS, .text = S("2")}, &out);
        assert_true(str_find(str_from(buf_str(&out), first), S("\"function\":{\"arguments\":\"2\"}}]")) != STR_NONE);
    }
}

static void usage_is_a_chunk_of_its_own_when_asked_for(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    turn_writer w = {.usage = {1, 2, -1, -1, -1}, .usage_asked = true, .text = buf_in(&a)};
    char room[4096];
    daruma_buf out = buf_over(room, sizeof room);
    say_on(&dialect_openai, &w, DELTA_TEXT, "x", &out);
    say_on(&dialect_openai, &w, DELTA_FINISH, "", &out);
    say_on(&dialect_openai, &w, DELTA_END, "", &out);
    assert_true(str_find(buf_str(&out), S("\"finish_reason\":\"stop\"}]}\n\ndata: {")) != STR_NONE);
    assert_true(str_find(buf_str(&out), S("\"choices\":[],\"usage\":{\"prompt_tokens\":1,")) != STR_NONE);
    assert_true(str_ends(buf_str(&out), S("data: [DONE]\n\n")));
}

static bool says(const dialect *d, daruma_str usage_event, const char *what)
{
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(more_mem, sizeof more_mem);
    turn_writer w = {.usage = TURN_USAGE_NONE, .text = buf_in(&keep)};
    turn_reader r = {0};
    turn_delta few[TURN_DELTAS_FEW];
    sse_event e;
    daruma_buf out = buf_in(&a);
    while (sse_next(&usage_event, &e, &a)) {
        turn_deltas said = dialect_read_delta(&dialect_anthropic, &r, &e, few, &a);
        for (size_t i = 0; i < said.n; i++)
            d->write_delta(&w, &said.p[i], &out);
    }
    return str_find(buf_str(&out), str_of(what)) != STR_NONE;
}

/* Strict clients want the number in each answer of Responses, and the name with the arguments. */
static void what_was_read_from_a_cache_and_written_to_it_is_counted(void **state)
{
    (void)state;
    static const char stream[] =
        EVENT("message_start", ",\"message\":{\"id\":\"i\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
                               "\"content\":[],\"usage\":{\"input_tokens\":1,\"cache_creation_input_tokens\":20,"
                               "\"cache_read_input_tokens\":300,\"output_tokens\":0}}")
            EVENT("content_block_start",
                  ",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}")
                EVENT("content_block_stop", ",\"index\":0")
                    EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":6}")
                        EVENT("message_stop", "");
    assert_true(says(&dialect_openai, S(stream),
                     "\"prompt_tokens\":321,\"completion_tokens\":6,\"total_tokens\":327,\"prompt_tokens_details\":{"
                     "\"cached_tokens\":300,\"cache_write_tokens\":20}"));
    assert_true(
        says(&dialect_openai_responses, S(stream),
             "\"input_tokens\":321,\"input_tokens_details\":{\"cached_tokens\":300,\"cache_write_tokens\":20}"));
    assert_true(says(&dialect_openai_responses, S(stream), "\"name\":\"f\",\"arguments\":\"{}\""));
    assert_true(says(&dialect_anthropic, S(stream),
                     "\"input_tokens\":1,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":300"));
    assert_true(says(&dialect_gemini, S(stream), "\"promptTokenCount\":321"));
}

static void calls_are_told_apart_however_they_are_numbered(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
#define TWO(one, two)                                                                                                  \
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{" one                                                            \
    "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},{" two                                                        \
    "\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"a\\\":1}\"}}]}}]}\n\n"
    static const char *const rows[] = {
        TWO("\"id\":\"x\",\"index\":0,", "\"id\":\"y\",\"index\":1,"),
        TWO("\"id\":\"x\",\"index\":0,", "\"id\":\"y\",\"index\":0,"), /* all the same */
        TWO("\"id\":\"x\",", "\"id\":\"y\","),                         /* none */
    };
    for (size_t i = 0; i < 3; i++) {
        summary s = summary_of(&dialect_openai, str_of(rows[i]), &a);
        assert_str(buf_str(&s.calls), "|0 x f {}|1 y g {\"a\":1}");
    }
}

/* ---- whole answers ---- */

static const char chat_answer[] =
    "{ \"id\":\"chatcmpl-9\", "
    "\"object\":\"chat.completion\",\"created\":1,\"model\":\"gpt-x\",\"choices\":[{\"index\":0,"
    "\"message\":{\"role\":\"assistant\",\"content\":\"Let me\",\"tool_calls\":[ "
    "{\"id\":\"call_a\",\"type\":\"function\","
    "\"function\":{\"name\":\"weather\", \"arguments\":\"{\\\"city\\\": 'Oslo'}\"},\"extra\":1} , "
    "{\"id\":\"call_b\",\"type\":"
    "\"function\",\"function\":{\"name\":\"now\",\"arguments\":\"{}\"}} "
    "],\"refusal\":null},\"finish_reason\":\"tool_calls\"}],"
    "\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":12,\"total_tokens\":42}}\n";
static const char anthropic_answer[] =
    "{ \"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\"content\":[ "
    "{\"type\":\"text\","
    "\"text\":\"Let me\"}, {\"type\":\"tool_use\",\"id\":\"call_a\",\"name\":\"weather\", \"input\":{\"city\": "
    "\"'Oslo'\"},\"extra\":1} , "
    "{\"type\":\"tool_use\",\"id\":\"call_b\",\"name\":\"now\",\"input\":{}} "
    "],\"stop_reason\":\"tool_use\",\"stop_sequence\":null,"
    "\"usage\":{\"input_tokens\":30,\"output_tokens\":12}}\n";
static const char responses_answer[] =
    "{ "
    "\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1,\"status\":\"completed\",\"model\":\"gpt-x\","
    "\"output\":[ "
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":"
    "\"output_text\",\"text\":\"Let "
    "me\",\"annotations\":[]}]}, "
    "{\"id\":\"fc_1\",\"type\":\"function_call\",\"call_id\":\"call_a\",\"name\":\"weather\", "
    "\"arguments\":\"{\\\"city\\\": 'Oslo'}\",\"extra\":1} , "
    "{\"id\":\"fc_2\",\"type\":\"function_call\",\"call_id\":\"call_b\","
    "\"name\":\"now\",\"arguments\":\"{}\"} "
    "],\"usage\":{\"input_tokens\":30,\"output_tokens\":12,\"total_tokens\":42}}\n";
static const char gemini_answer[] = "{ \"candidates\":[{\"content\":{\"parts\":[ {\"text\":\"Let me\"}, "
                                    "{\"functionCall\":{\"id\":\"call_a\",\"name\":\"weather\", "
                                    "\"args\":{\"city\": \"'Oslo'\"}},\"extra\":1} , "
                                    "{\"functionCall\":{\"id\":\"call_b\",\"name\":\"now\",\"args\":{}}} ],\"role\":"
                                    "\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{"
                                    "\"promptTokenCount\":30,\"candidatesTokenCount\":12,"
                                    "\"totalTokenCount\":42},\"modelVersion\":\"gemini-x\",\"responseId\":\"r1\"}\n";
static const char *const answers[] = {chat_answer, responses_answer, anthropic_answer, gemini_answer};

static turn read_whole(const dialect *d, daruma_str body, daruma_arena *a)
{
    turn t = {0};
    assert_int_equal(d->read_answer(body, a, &t), DARUMA_OK);
    return t;
}

static daruma_str written(const dialect *d, const turn *t, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    d->write_answer(t, &(write_ctx){.model = S("asked"), .id = 7, .wall = 9}, &out);
    assert_false(out.full);
    assert_true(json_valid(buf_str(&out)));
    return buf_str(&out);
}

static void an_answer_that_nobody_edits_keeps_its_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        turn t = read_whole(all[i], str_of(answers[i]), &a);
        assert_int_equal(t.message.nparts, 3);
        assert_int_equal(t.finish, FINISH_CALLS);
        assert_int_equal(t.usage.input, 30);
        assert_int_equal(t.usage.output, 12);
        assert_str(t.message.parts[0].text, "Let me");
        assert_str(t.message.parts[1].id, "call_a");
        assert_str(t.message.parts[1].name, "weather");
        assert_str(t.message.parts[2].text, "{}");
        assert_str(written(all[i], &t, &a), answers[i]);
    }
}

/* `old` of the answer replaced by `with`. */
static daruma_str replaced(daruma_str s, daruma_str old, daruma_str with, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    size_t at = str_find(s, old);
    if (at == STR_NONE)
        fail_msg("no \"" STR_FMT "\"", STR_ARG(old));
    buf_put(&b, str_sub(s, 0, at));
    buf_put(&b, with);
    buf_put(&b, str_from(s, at + old.n));
    return buf_str(&b);
}

static void an_edited_call_changes_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        bool text = all[i] == &dialect_openai || all[i] == &dialect_openai_responses;
        turn t = read_whole(all[i], str_of(answers[i]), &a);
        convo_part *p = &t.message.parts[1];
        p->edited = true;
        p->text = S("{\"city\":\"Oslo\"}");
        p->name = S("Weather");
        daruma_str want = replaced(str_of(answers[i]), S("\"weather\""), S("\"Weather\""), &a);
        want = text ? replaced(want, S("\"{\\\"city\\\": 'Oslo'}\""), S("\"{\\\"city\\\":\\\"Oslo\\\"}\""), &a)
                    : replaced(want, S("{\"city\": \"'Oslo'\"}"), S("{\"city\":\"Oslo\"}"), &a);
        daruma_str got = written(all[i], &t, &a);
        if (!str_eq(got, want))
            fail_msg("got  " STR_FMT "want " STR_FMT, STR_ARG(got), STR_ARG(want));
        t.message.parts[0].edited = true;
        t.message.parts[0].text = S("So \"\n\"");
        want = replaced(want, S("\"Let me\""), S("\"So \\\"\\n\\\"\""), &a);
        assert_true(str_eq(written(all[i], &t, &a), want));
    }
}

static void dropped_calls_go_and_the_rest_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++)
        for (size_t drop = 1; drop < 8; drop++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            turn t = read_whole(all[i], str_of(answers[i]), &a);
            for (size_t k = 0; k < 3; k++)
                t.message.parts[k].dropped = drop >> k & 1;
            turn again = read_whole(all[i], written(all[i], &t, &a), &a);
            size_t n = 0;
            for (size_t k = 0; k < 3; k++)
                if (!(drop >> k & 1)) {
                    assert_int_equal(again.message.parts[n].kind, t.message.parts[k].kind);
                    assert_true(str_eq(again.message.parts[n++].raw, t.message.parts[k].raw));
                }
            assert_int_equal(again.message.nparts, n);
        }
}

static void an_answer_becomes_any_other_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++)
        for (size_t k = 0; k < NALL; k++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            write_ctx x = {.model = S("asked"), .id = 7, .wall = 9};
            daruma_buf there = buf_in(&a), back = buf_in(&a);
            assert_int_equal(dialect_convert_answer(all[i], all[k], str_of(answers[i]), &x, &there, &a), DARUMA_OK);
            assert_int_equal(dialect_check(all[k], buf_str(&there)).flaw, DARUMA_FLAW_NONE);
            assert_int_equal(dialect_convert_answer(all[k], all[i], buf_str(&there), &x, &back, &a), DARUMA_OK);
            turn was = read_whole(all[i], str_of(answers[i]), &a), now = read_whole(all[i], buf_str(&back), &a);
            assert_int_equal(now.message.nparts, 3);
            for (size_t p = 0; p < 3; p++) {
                assert_true(str_eq(was.message.parts[p].id, now.message.parts[p].id));
                assert_true(str_eq(was.message.parts[p].name, now.message.parts[p].name));
                bool wrapped = p == 1 && str_find(was.message.parts[p].text, S(": '")) != STR_NONE;
                assert_true(wrapped || str_eq(was.message.parts[p].text, now.message.parts[p].text));
            }
            assert_int_equal(now.finish, FINISH_CALLS);
            assert_int_equal(now.usage.input, 30);
            assert_int_equal(now.usage.output, 12);
        }
}

static void a_call_that_was_cut_by_length_is_not_passed_on(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_buf out = buf_in(&a);
    daruma_str body =
        S("{\"choices\":[{\"message\":{\"content\":\"x\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":"
          "\"rm\",\"arguments\":\"{\\\"path\\\":\\\"/ho\"}}]},\"finish_reason\":\"length\"}]}");
    write_ctx x = {.id = 1};
    assert_int_equal(dialect_convert_answer(&dialect_openai, &dialect_anthropic, body, &x, &out, &a), DARUMA_OK);
    turn t = read_whole(&dialect_anthropic, buf_str(&out), &a);
    assert_int_equal(t.message.nparts, 1);
    assert_int_equal(t.finish, FINISH_LENGTH);
}

static void ids_that_would_be_refused_when_they_come_back_are_made_anew(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str stream =
        S("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"functions.f:0\",\"function\":"
          "{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n");
    daruma_str body =
        S("{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"functions.f:0\",\"function\":{\"name\":\"f\","
          "\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}");
    daruma_buf out = buf_in(&a);
    write_ctx x = {.id = 1};
    assert_int_equal(dialect_convert_answer(&dialect_openai, &dialect_anthropic, body, &x, &out, &a), DARUMA_OK);
    turn t = read_whole(&dialect_anthropic, buf_str(&out), &a);
    daruma_str id = t.message.parts[0].id;
    assert_int_equal(id.n, sizeof "call_0123456789abcdef" - 1);
    daruma_str there = bridged(&dialect_openai, &dialect_anthropic, stream, 0, &a);
    assert_true(str_find(there, id) != STR_NONE); /* the same, streamed or not */
    there = bridged(&dialect_openai, &dialect_openai_responses, stream, 0, &a);
    assert_true(str_find(there, S("\"functions.f:0\"")) != STR_NONE);
}

static void a_blocked_prompt_is_filtered_in_every_dialect(void **state)
{
    (void)state;
    daruma_str body =
        S("{\"promptFeedback\":{\"blockReason\":\"OTHER\"},\"usageMetadata\":{\"promptTokenCount\":3}}\n");
    daruma_str stream = S("data: {\"promptFeedback\":{\"blockReason\":\"OTHER\"}}\n\n");
    for (size_t k = 0; k < NALL; k++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf out = buf_in(&a);
        write_ctx x = {.id = 1};
        assert_int_equal(dialect_convert_answer(&dialect_gemini, all[k], body, &x, &out, &a), DARUMA_OK);
        if (all[k] == &dialect_gemini)
            assert_true(str_eq(buf_str(&out), body));
        assert_int_equal(read_whole(all[k], buf_str(&out), &a).finish, FINISH_FILTER);
        daruma_str there = bridged(&dialect_gemini, all[k], stream, 0, &a);
        assert_int_equal(summary_of(all[k], there, &a).finish, FINISH_FILTER);
    }
}

static void what_is_no_answer_is_refused(void **state)
{
    static const char *const rows[] = {"",
                                       "{",
                                       "[]",
                                       "{}",
                                       "null",
                                       "{\"error\":{\"message\":\"x\"}}",
                                       "{\"choices\":[]}",
                                       "{\"content\":\"x\"}",
                                       "{\"output\":null}"};
    (void)state;
    for (size_t i = 0; i < NALL; i++)
        for (size_t k = 0; k < COUNT(rows); k++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            turn t;
            if (all[i] == &dialect_gemini && k == 2)
                continue; /* a stream without events, as an array */
            assert_int_equal(all[i]->read_answer(str_of(rows[k]), &a, &t), DARUMA_EINPUT);
        }
}

static void small_memory_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++)
        for (size_t n = 0; n < 4096; n += 8) {
            daruma_arena a = arena_over(mem, n);
            turn t;
            daruma_status s = all[i]->read_answer(str_of(answers[i]), &a, &t);
            assert_true(s == DARUMA_EFULL || s == DARUMA_OK);
        }
}

static void what_a_stop_reason_means_is_the_dialects_to_say(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        const char *raw;
        turn_finish means;
    } rows[] = {
        {&dialect_openai, "length", FINISH_LENGTH},
        {&dialect_openai, "model_length", FINISH_WINDOW},
        {&dialect_openai, "tool_calls", FINISH_CALLS},
        {&dialect_anthropic, "max_tokens", FINISH_LENGTH},
        {&dialect_anthropic, "model_context_window_exceeded", FINISH_WINDOW},
        {&dialect_openai_responses, "max_output_tokens", FINISH_LENGTH},
        {&dialect_openai_responses, "completed", FINISH_STOP},
        {&dialect_openai_responses, "content_filter", FINISH_FILTER},
        {&dialect_gemini, "MAX_TOKENS", FINISH_LENGTH},
        {&dialect_gemini, "", FINISH_NONE},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].d->finish(str_of(rows[i].raw)) != rows[i].means)
            fail_msg("%s: %s", rows[i].d->name, rows[i].raw);
}

/* What `stream` becomes when its only call is mended. */
static void assert_mended(const dialect *d, const char *stream, const char *expected)
{
    daruma_arena a = arena_over(mem, sizeof mem), more = arena_over(more_mem, sizeof more_mem);
    call_mend call = {.name = S("look"), .args = S("{\"at\":\"x\"}"), .edited = true};
    stream_mend what = {.calls = &call, .ncalls = 1};
    daruma_buf out = buf_in(&more);
    const turn_reader start = {.sequence = -1};
    assert_true(dialect_mend_stream(d, &start, str_of(stream), &what, &out, &a));
    assert_int_equal(out.n, strlen(expected));
    assert_memory_equal(out.p, expected, out.n);
    call.edited = call.said = false;
    out.n = 0;
    assert_true(dialect_mend_stream(d, &start, str_of(stream), &what, &out, &a));
    assert_int_equal(out.n, strlen(stream));
    assert_memory_equal(out.p, stream, out.n);
}

/* ---- Chat: a choice with a message and a delta ---- */

#define SAYS_ALL                                                                                                       \
    "\"message\":{\"role\":\"assistant\",\"content\":\"Hi "                                                            \
    "there\",\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{"                                                 \
    "\"name\":\"look\",\"arguments\":\"{}\"}}]}"

/* Perplexity's answers have both, Foundry Local's the delta first: https://docs.perplexity.ai/api-reference */
static void a_whole_answer_is_its_message_whatever_delta_stands_beside_it(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{\"choices\":[{\"index\":0," SAYS_ALL ",\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}",
        "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\",\"tool_calls\":[]}," SAYS_ALL
        "}]}",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        turn t = read_whole(&dialect_openai, str_of(rows[i]), &a);
        assert_int_equal(t.message.nparts, 2);
        assert_str(t.message.parts[0].text, "Hi there");
        assert_str(t.message.parts[1].name, "look");
        t.message.parts[0].text = S("Hm");
        t.message.parts[0].edited = t.message.edited = true;
        assert_true(str_eq(written(&dialect_openai, &t, &a), replaced(str_of(rows[i]), S("Hi there"), S("Hm"), &a)));
    }
    daruma_arena a = arena_over(mem, sizeof mem);
    turn t;
    assert_int_equal(dialect_openai.read_answer(S("{\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}"), &a, &t),
                     DARUMA_EINPUT);
}

static void a_chunk_is_its_delta_whatever_message_stands_beside_it(void **state)
{
    (void)state;
#define BOTH(choice) "data: {\"choices\":[{\"index\":0," choice "}]}\n\n"
#define CALLS(name)                                                                                                    \
    "\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"" name "\",\"arguments\":\"{}\"}}]"
    static const char *const rows[] = {
        BOTH("\"delta\":{\"content\":\"Hi \"},\"message\":{\"content\":\"Hi \"}")
            BOTH("\"message\":{\"content\":\"Hi there\"},\"delta\":{\"content\":\"there\"}")
                BOTH("\"delta\":{" CALLS("look") "}," SAYS_ALL)
                    BOTH("\"delta\":{}," SAYS_ALL ",\"finish_reason\":\"tool_calls\"") "data: [DONE]\n\n",
        BOTH("\"finish_reason\":\"tool_calls\"," SAYS_ALL) "data: [DONE]\n\n", /* a message alone */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        summary s = summary_of(&dialect_openai, str_of(rows[i]), &a);
        assert_str(buf_str(&s.text), "Hi there");
        assert_str(buf_str(&s.calls), "|0 c look {}");
        assert_int_equal(s.finish, FINISH_CALLS);
        is_good(&dialect_openai, str_of(rows[i]), &a);
    }
    assert_mended(&dialect_openai, BOTH("\"delta\":{" CALLS("Look") "},\"message\":{" CALLS("Look") "}"),
                  BOTH("\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"look\","
                       "\"arguments\":\"{\\\"at\\\":\\\"x\\\"}\"}}]},\"message\":{" CALLS("Look") "}"));
}

#define SPACE           "{\"type\":\"function_call\",\"id\":\"f0\",\"namespace\":\"geo\",\"name\":\"find\",\"arguments\":\"{}\"}"
#define OWN(name, args) "{\"type\":\"function_call\",\"id\":\"f1\",\"name\":\"" name "\",\"arguments\":\"" args "\"}"
#define AT_X            "{\\\"at\\\":\\\"x\\\"}"

static void calls_that_were_mended_are_put_into_the_stream_they_came_in(void **state)
{
    (void)state;
    /* without a member for its arguments; lines that end otherwise; an event of no call */
    assert_mended(
        &dialect_openai,
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"Look\"}}]}}]}\r\n\r\n"
        ": wait\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"so\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"look\","
        "\"arguments\":\"{\\\"at\\\":\\\"x\\\"}\"}}]}}]}\r\n\r\n"
        ": wait\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"so\"}}]}\r\n\r\n");
    /* a name that comes in pieces, and one that comes last */
    assert_mended(&dialect_openai,
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"Lo\",\"arguments\":\"\"}}}]}\n\n"
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"ok\",\"arguments\":\"{}\"}}}]}\n\n",
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"look\",\"arguments\":\"" AT_X
                  "\"}}}]}\n\n"
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"\",\"arguments\":\"\"}}}]}\n\n");
    assert_mended(&dialect_openai,
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"arguments\":\"{\"}}}]}\n\n"
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"Look\",\"arguments\":\"}\"}}}]}\n\n",
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"arguments\":\"" AT_X "\"}}}]}\n\n"
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"look\",\"arguments\":\"\"}}}]}\n\n");
    /* the older spelling, whose pieces go on; arguments as an object */
    assert_mended(&dialect_openai,
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"look\",\"arguments\":\"{\"}}}]}\n\n"
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"arguments\":\"'at':'x'}\"}}}]}\n\n",
                  "data: "
                  "{\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"look\",\"arguments\":\"{\\\"at\\\":"
                  "\\\"x\\\"}\"}}}]}\n\n"
                  "data: {\"choices\":[{\"delta\":{\"function_call\":{\"arguments\":\"\"}}}]}\n\n");
    assert_mended(&dialect_openai,
                  "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"look\","
                  "\"arguments\":{\"at\": 1}}}]}}]}\n\n",
                  "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"look\","
                  "\"arguments\":\"{\\\"at\\\":\\\"x\\\"}\"}}]}}]}\n\n");
    /* data of several lines */
    assert_mended(
        &dialect_anthropic,
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\ndata: \"index\":0,"
        "\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Look\",\"input\":{\"at\":1}}}\n\n"
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"\"}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\ndata: \"index\":0,"
        "\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"look\",\"input\":{\"at\":\"x\"}}}\n\n"
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"\"}}\n\n");
    /* none at all, and an object that came as a text */
    assert_mended(&dialect_gemini,
                  "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"Look\"}}]}}]}\n\n",
                  "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"look\","
                  "\"args\":{\"at\":\"x\"}}}]}}]}\n\n");
    assert_mended(
        &dialect_gemini,
        "data: "
        "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"args\":\"{}\",\"name\":\"look\"}}]}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"args\":{\"at\":\"x\"},"
        "\"name\":\"look\"}}]}}]}\n\n");
    /* Responses says all of it again at the end, beside a call within a namespace, which is none of ours */
    assert_mended(&dialect_openai_responses,
                  "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":" SPACE "}\n\n"
                  "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" SPACE "}\n\n"
                  "data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":" OWN(
                      "Look", "{}") "}\n\n"
                                    "data: {\"type\":\"response.completed\",\"response\":{\"output\":[" SPACE
                                    "," OWN("Look", "{}") "]}}\n\n",
                  "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":" SPACE "}\n\n"
                  "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" SPACE "}\n\n"
                  "data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":" OWN(
                      "look", AT_X) "}\n\n"
                                    "data: {\"type\":\"response.completed\",\"response\":{\"output\":[" SPACE
                                    "," OWN("look", AT_X) "]}}\n\n");
}

/* What stands in the place of "WORDS" and "ARGS" of a stream whose events say no output_index. */
static daruma_str unplaced(const char *words, const char *args, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
#define TEXT "\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"%s\"}]"
#define CALL "\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"look\",\"arguments\":\"%s\""
    buf_printf(&b,
               EVENT("response.output_item.added", ",\"item\":{\"type\":\"reasoning\"}")
                   EVENT("response.output_item.done", ",\"item\":{\"type\":\"reasoning\"}")
                       EVENT("response.output_item.added", ",\"item\":{\"type\":\"message\"}")
                           EVENT("response.output_text.delta", ",\"delta\":\"%s\"")
                               EVENT("response.output_text.done", ",\"text\":\"%s\"")
                                   EVENT("response.output_item.done", ",\"item\":{" TEXT "}"),
               words, words, words);
    buf_printf(&b,
               EVENT("response.output_item.added", ",\"item\":{" CALL "}")
                   EVENT("response.function_call_arguments.delta", ",\"delta\":\"%s\"")
                       EVENT("response.function_call_arguments.done", ",\"arguments\":\"%s\"")
                           EVENT("response.output_item.done", ",\"item\":{" CALL "}")
                               EVENT("response.completed", ",\"response\":{\"status\":\"completed\",\"output\":["
                                                           "{\"type\":\"reasoning\"},{" TEXT "},{" CALL "}]}"),
               "", args, args, args, words, args);
    assert_false(b.full);
    return buf_str(&b);
}

static void what_was_mended_is_said_again_where_events_name_no_item(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem), more = arena_over(more_mem, sizeof more_mem);
    call_mend call = {.name = S("look"), .args = S("{\"at\":\"x\"}"), .edited = true};
    daruma_str words = S("Hm"), was = unplaced("Hi", "{'at':'x'}", &a);
    stream_mend what = {.calls = &call, .ncalls = 1, .text = &words};
    daruma_buf out = buf_in(&more);
    const turn_reader start = {.sequence = -1};
    assert_true(dialect_mend_stream(&dialect_openai_responses, &start, was, &what, &out, &a));
    assert_true(str_eq(buf_str(&out), unplaced("Hm", AT_X, &a)));
}

/* What a stream says in pieces of the kind: text or arguments. */
static daruma_str pieces_of(const dialect *d, delta_kind kind, const char *const *events, daruma_arena *a)
{
    daruma_arena keep = arena_over(more_mem, sizeof more_mem);
    daruma_buf b = buf_in(a), got = buf_in(a);
    turn_reader r = {.sequence = -1, .keep = &keep};
    turn_delta few[TURN_DELTAS_FEW];
    sse_event e;
    for (size_t i = 0; events[i]; i++)
        buf_printf(&b, "data: %s\n\n", events[i]);
    daruma_str bytes = buf_str(&b);
    got = buf_in(&keep);
    while (sse_next(&bytes, &e, a)) {
        turn_deltas said = dialect_read_delta(d, &r, &e, few, a);
        for (size_t i = 0; i < said.n; i++) {
            if (said.p[i].kind != kind)
                continue;
            assert_int_equal(str_utf8(said.p[i].text) > 0, 1);
            buf_put(&got, said.p[i].text);
        }
    }
    return arena_copy(a, buf_str(&got));
}

static void a_character_that_was_cut_between_its_halves_is_put_together(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
#define CHAT(piece) "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" piece "\"}}]}"
    const char *const chat[] = {CHAT("a\\ud83d"),
                                CHAT(""),
                                CHAT("\\ude42b"),
                                CHAT("\\ud83d"),
                                CHAT("\\ude43"),
                                CHAT("\\\\ud83d"),
                                CHAT("\\ude42!\\ud83d"),
                                CHAT("\\ud83d"),
                                CHAT("c"),
                                NULL};
    assert_str(pieces_of(&dialect_openai, DELTA_TEXT, chat, &a),
               "a\xf0\x9f\x99\x82"
               "b\xf0\x9f\x99\x83\\ud83d\xef\xbf\xbd!\xef\xbf\xbd\xef\xbf\xbd"
               "c");
#define CHAT_CALL(at, more, piece)                                                                                     \
    "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":" at more                           \
    ",\"function\":{\"arguments\":\"" piece "\"}}]}}]}"
    const char *const mixed[] = {CHAT_CALL("0", ",\"id\":\"x\"", "{\\\"a\\\":\\\"\\ud83d"),
                                 CHAT_CALL("1", ",\"id\":\"y\"", "\\ude42"), CHAT_CALL("0", "", "-"), NULL};
    assert_str(pieces_of(&dialect_openai, DELTA_ARGUMENTS, mixed, &a), "{\"a\":\"\xef\xbf\xbd-");
#define MESSAGE(delta) "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":" delta "\"}}"
    const char *const anthropic[] = {"{\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}",
                                     "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_"
                                     "use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}",
                                     MESSAGE("\"input_json_delta\",\"partial_json\":\"[\\\"\\ud83d"),
                                     MESSAGE("\"input_json_delta\",\"partial_json\":\"\\ude42\\\"]"), NULL};
    assert_str(pieces_of(&dialect_anthropic, DELTA_ARGUMENTS, anthropic, &a), "[\"\xf0\x9f\x99\x82\"]");
#define OUTPUT(type, more) "{\"type\":\"response.output_" type "\",\"output_index\":0" more "}"
    const char *const responses[] = {"{\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}",
                                     OUTPUT("item.added", ",\"item\":{\"type\":\"message\",\"id\":\"i\"}"),
                                     OUTPUT("text.delta", ",\"content_index\":0,\"delta\":\"\\ud83d\""),
                                     OUTPUT("text.delta", ",\"content_index\":0,\"delta\":\"\\ude42\""),
                                     OUTPUT("text.done", ",\"content_index\":0,\"text\":\"\\ud83d\\ude42\""),
                                     NULL};
    assert_str(pieces_of(&dialect_openai_responses, DELTA_TEXT, responses, &a), "\xf0\x9f\x99\x82");
#define PARTS_SAY(piece) "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"" piece "\"}],\"role\":\"model\"}}]}"
    const char *const gemini[] = {PARTS_SAY("\\ud83d"), PARTS_SAY("\\ude42"), NULL};
    assert_str(pieces_of(&dialect_gemini, DELTA_TEXT, gemini, &a), "\xf0\x9f\x99\x82");
}

/* ---- calls of Gemini that come in pieces ---- */

#define PARTS(parts, rest) "{\"candidates\":[{\"content\":{\"parts\":[" parts "],\"role\":\"model\"}" rest "}]}"
#define BEGINS(name)       "{\"functionCall\":{\"name\":\"" name "\",\"willContinue\":true},\"thoughtSignature\":\"c2ln\"}"
#define GOES(pieces)       "{\"functionCall\":{\"partialArgs\":[" pieces "],\"willContinue\":true}}"
#define IS(path, value)    "{\"jsonPath\":\"" path "\"," value "}"
#define NO_MORE            "{\"functionCall\":{}}"

/* How events come: as such, or as one array. */
static daruma_str streamed(const char *const *events, bool array, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t i = 0; events[i]; i++) {
        buf_putz(&b, array ? i ? "\r\n,\r\n" : "[" : "data: ");
        buf_putz(&b, events[i]);
        buf_putz(&b, array ? "" : "\r\n\r\n");
    }
    buf_putz(&b, array ? "\n]\n" : "");
    return buf_str(&b);
}

static daruma_str calls_of(const turn *t, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->kind == PART_CALL)
            buf_printf(&b, "|%.*s %.*s", STR_ARG(p->name), STR_ARG(p->text));
    }
    return buf_str(&b);
}

/* The calls that a stream of Gemini's has, read as it comes and as one array. */
static void assert_pieces(const char *const *events, const char *calls)
{
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(more_mem, sizeof more_mem);
    daruma_buf got = buf_in(&keep);
    turn_reader r = {.sequence = -1, .keep = &keep};
    turn_delta few[TURN_DELTAS_FEW];
    daruma_str bytes = streamed(events, false, &a);
    turn whole;
    sse_event e;
    while (sse_next(&bytes, &e, &a)) {
        turn_deltas said = dialect_read_delta(&dialect_gemini, &r, &e, few, &a);
        for (size_t i = 0; i < said.n; i++)
            if (said.p[i].kind == DELTA_CALL)
                buf_printf(&got, "|%.*s ", STR_ARG(said.p[i].name));
            else if (said.p[i].kind == DELTA_ARGUMENTS)
                buf_put(&got, said.p[i].text);
    }
    assert_false(r.lost);
    assert_str(buf_str(&got), calls);
    assert_int_equal(dialect_gemini.read_answer(streamed(events, true, &a), &a, &whole), DARUMA_OK);
    assert_str(calls_of(&whole, &a), calls);
}

static void arguments_that_gemini_streams_are_put_together(void **state)
{
    (void)state;
    static const char *const light[] = {
        PARTS("{\"text\":\"Wait.\"}", ""),
        PARTS(BEGINS("light"), ""),
        PARTS(GOES(IS("$.at.room[0].name", "\"stringValue\":\"k\\u00fc\\\"c\",\"willContinue\":true")), ""),
        PARTS(GOES(IS("$.at.room[0].name", "\"stringValue\":\"he\",\"willContinue\":true")), ""),
        PARTS(GOES(IS("$.at.room[0].name", "\"stringValue\":\"\"")), ""),
        PARTS(GOES(IS("$.at.room[0].on", "\"boolValue\":false") "," IS("$.at.room[1]['a.\\\\'b']",
                                                                       "\"numberValue\":5e1")),
              ""),
        PARTS(GOES(IS("$.until", "\"nullValue\":\"NULL_VALUE\"")), ""),
        PARTS(GOES(IS("$.s", "\"stringValue\":\"x\"")), ""),
        PARTS(NO_MORE, ""),
        PARTS(BEGINS("now"), ""),
        PARTS(NO_MORE "," BEGINS("then"), ""),
        PARTS("{\"functionCall\":{\"partialArgs\":[" IS("$.n", "\"numberValue\":1") "]}}", ""), /* the last one */
        PARTS(BEGINS("tags"), ""),
        PARTS(GOES(IS("$.t[0]", "\"stringValue\":\"a\"") "," IS("$.t[1]", "\"stringValue\":\"b\"")), ""),
        PARTS(GOES(IS("$.u[0].n", "\"numberValue\":1") "," IS("$.u[1].n",
                                                              "\"numberValue\":2") "," IS("$.n", "\"numberValue\":3")),
              ""),
        PARTS("{\"text\":\"\"}", ",\"finishReason\":\"STOP\""), /* nothing else ends it */
        NULL,
    };
    static const char *const cut[] = {
        PARTS(BEGINS("light"), ""),
        PARTS(GOES(IS("$.a", "\"stringValue\":\"x\"") "," IS("$.b", "\"stringValue\":\"y\",\"willContinue\":true")),
              ""),
        PARTS("{\"text\":\"\"}", ",\"finishReason\":\"MAX_TOKENS\""),
        NULL,
    };
    static const char *const filtered[] = {
        PARTS(BEGINS("light"), ""),
        PARTS(GOES(IS("$.b", "\"stringValue\":\"y\",\"willContinue\":true")), ""),
        PARTS("{\"text\":\"\"}", ",\"finishReason\":\"SAFETY\""),
        NULL,
    };
    static const char *const stopped[] = {
        PARTS(BEGINS("light"), ""),
        PARTS(GOES(IS("$.b", "\"stringValue\":\"y\",\"willContinue\":true")), ""),
        PARTS("{\"text\":\"\"}", ",\"finishReason\":\"STOP\""),
        NULL,
    };
    assert_pieces(light, "|light {\"at\":{\"room\":[{\"name\":\"k\\u00fc\\\"che\",\"on\":false},{\"a.'b\":5e1}]},"
                         "\"until\":null,\"s\":\"x\"}|now {}|then {\"n\":1}|tags {\"t\":[\"a\",\"b\"],"
                         "\"u\":[{\"n\":1},{\"n\":2}],\"n\":3}");
    assert_pieces(cut, "|light {\"a\":\"x\",\"b\":\"y");
    assert_pieces(filtered, "|light {\"b\":\"y");
    daruma_arena a = arena_over(mem, sizeof mem);
    turn t;
    assert_int_equal(dialect_gemini.read_answer(streamed(stopped, true, &a), &a, &t),
                     DARUMA_EINPUT); /* not told apart */
    daruma_str chat = bridged(&dialect_gemini, &dialect_openai, streamed(light, false, &a), 0, &a);
    summary s = summary_of(&dialect_openai, chat, &a);
    assert_true(str_find(buf_str(&s.calls), S("{\"a.'b\":5e1}]},\"until\":null,\"s\":\"x\"}|1 ")) != STR_NONE);
    assert_str(buf_str(&s.text), "Wait.");
}

/* What cannot be put together is no broken call: nothing is said of it. */
static void pieces_in_no_order_are_not_told(void **state)
{
    (void)state;
    static const char *const bad[] = {
        IS("$.a", "\"stringValue\":\"x\",\"willContinue\":true") "," IS("$.b", "\"numberValue\":1"),
        IS("$.a", "\"numberValue\":1") "," IS("$.a", "\"numberValue\":2"),
        IS("$.a.b", "\"numberValue\":1") "," IS("$.a", "\"numberValue\":2"),
        IS("$.a", "\"numberValue\":1") "," IS("$.a.b", "\"numberValue\":2"),
        IS("$.a.b", "\"numberValue\":1") "," IS("$.c", "\"numberValue\":2") "," IS("$.a.d", "\"numberValue\":3"),
        IS("$.a", "\"numberValue\":1") "," IS("$.b", "\"numberValue\":2") "," IS("$['a']", "\"numberValue\":3"),
        IS("$.a[0].b", "\"numberValue\":1") "," IS("$.a[0].c", "\"numberValue\":2") "," IS("$.a[0].b",
                                                                                           "\"numberValue\":3"),
        IS("$.a[1]", "\"numberValue\":1"),
        IS("$.a[0]", "\"numberValue\":1") "," IS("$.a[2]", "\"numberValue\":2"),
        IS("$.a[0]", "\"numberValue\":1") "," IS("$.a.b", "\"numberValue\":2"),
        IS("$", "\"numberValue\":1"),
        IS("a", "\"numberValue\":1"),
        IS("$.a[", "\"numberValue\":1"),
        IS("$.a['b", "\"numberValue\":1"),
        IS("$[0]", "\"numberValue\":1"),
        IS("$..a", "\"numberValue\":1"),
        IS("$.a[*]", "\"numberValue\":1"),
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a);
        turn_reader r = {.sequence = -1, .keep = &a};
        turn_delta few[TURN_DELTAS_FEW];
        turn t;
        buf_printf(&b, PARTS(BEGINS("f") "," GOES("%s"), ""), bad[i]);
        sse_event e = {.raw = buf_str(&b), .data = buf_str(&b)};
        dialect_read_delta(&dialect_gemini, &r, &e, few, &a);
        if (!r.lost || dialect_gemini.read_answer(e.data, &a, &t) != DARUMA_EINPUT)
            fail_msg("row %zu", i);
    }
}

/* Who watches and who reads see the same: names in either spelling, and a reason that says that there is none yet. */
static void gemini_is_read_as_it_is_watched(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"candidates\":[{\"content\":{\"parts\":[{\"function_call\":{\"name\":\"f\",\"args\":{\"a\":1}}}]},"
        "\"finishReason\":\"FINISH_REASON_UNSPECIFIED\"}]}",
        "{\"candidates\":[{\"finish_reason\":\"MAX_TOKENS\"}],\"usage_metadata\":{\"promptTokenCount\":3}}", NULL};
    assert_pieces(events, "|f {\"a\":1}");
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str bytes = streamed(events, false, &a);
    stream_view v = {0};
    turn t;
    assert_true(dialect_fold_stream(&dialect_gemini, bytes, &v, &t, &a));
    assert_true(v.content && v.finished);
    assert_int_equal(t.finish, FINISH_LENGTH);
    assert_int_equal(t.usage.input, v.input_tokens);
}

/* Arguments in pieces, usage and what blocked the prompt, in snake_case. */
static void gemini_is_read_in_snake_case(void **state)
{
    (void)state;
    static const char *const events[] = {
        PARTS("{\"function_call\":{\"name\":\"f\",\"will_continue\":true}}", ""),
        PARTS("{\"function_call\":{\"partial_args\":[{\"json_path\":\"$.a\",\"string_value\":\"x\",\"will_continue\":"
              "true}],\"will_continue\":true}}",
              ""),
        PARTS("{\"function_call\":{\"partial_args\":[{\"json_path\":\"$.a\",\"string_value\":\"y\"},{\"json_path\":"
              "\"$.b\",\"null_value\":null}]}}",
              ""),
        "{\"candidates\":[{\"finish_reason\":\"STOP\"}],\"usage_metadata\":{\"prompt_token_count\":3,"
        "\"candidates_token_count\":2,\"thoughts_token_count\":5}}",
        NULL,
    };
    assert_pieces(events, "|f {\"a\":\"xy\",\"b\":null}");
    daruma_arena a = arena_over(mem, sizeof mem);
    stream_view v = {0};
    turn t;
    assert_true(dialect_fold_stream(&dialect_gemini, streamed(events, false, &a), &v, &t, &a));
    assert_int_equal(v.input_tokens, 3);
    assert_int_equal(v.output_tokens, 7);
    assert_int_equal(t.usage.output, 7);
    t = read_whole(&dialect_gemini, S("{\"prompt_feedback\":{\"block_reason\":\"SAFETY\"}}"), &a);
    assert_int_equal(t.finish, FINISH_FILTER);
    t = read_whole(&dialect_gemini,
                   S("{\"candidates\":[{\"content\":{\"parts\":[{\"function_call\":{\"name\":\"f\",\"args\":{}},\"x\":"
                     "1}]},\"finish_reason\":\"MAX_TOKENS\"}]}"),
                   &a);
    t.message.parts[0].name = S("g");
    t.message.parts[0].edited = t.message.edited = true;
    t.finish = FINISH_STOP;
    assert_str(written(&dialect_gemini, &t, &a),
               "{\"candidates\":[{\"content\":{\"parts\":[{\"function_call\":{\"name\":\"g\",\"args\":{}},\"x\":1}]},"
               "\"finish_reason\":\"STOP\"}]}");
}

/* The answer of two candidates, whose first one calls a tool, as one array. */
static void an_edited_array_keeps_its_events(void **state)
{
    (void)state;
    static const char *const was[] = {
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Le\"}]},\"index\":0},{\"content\":{\"parts\":[{\"text\":"
        "\"Two\"}]},\"index\":1}]}",
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"t me\"},{\"functionCall\":{\"name\":\"Look\", \"args\":"
        "{\"at\":1}}}]}}], \"x\":1}",
        PARTS(BEGINS("now") "," GOES(""), ""),
        PARTS(GOES(IS("$.a", "\"numberValue\":1")) "," NO_MORE, ",\"finishReason\":\"STOP\""),
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"!\"}]},\"index\":1,\"finishReason\":\"STOP\"}]}",
        NULL,
    };
    const char *mended[COUNT(was)], *worded[COUNT(was)];
    daruma_arena a = arena_over(mem, sizeof mem);
    write_ctx x = {.model = S("m"), .id = 7};
    turn t;
    memcpy(mended, was, sizeof was);
    mended[1] =
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"t me\"},{\"functionCall\":{\"name\":\"look\", \"args\":"
        "{\"at\":\"x\"}}}]}}], \"x\":1}";
    mended[2] = PARTS("{\"functionCall\":{\"name\":\"now\",\"args\":{\"a\":\"1\"}}},{\"text\":\"\"}", "");
    mended[3] = PARTS("{\"text\":\"\"},{\"text\":\"\"}", ",\"finishReason\":\"STOP\"");
    memcpy(worded, was, sizeof was);
    worded[0] =
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"{}\"}]},\"index\":0},{\"content\":{\"parts\":[{\"text\":"
        "\"Two\"}]},\"index\":1}]}";
    worded[1] =
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"},{\"functionCall\":{\"name\":\"Look\", \"args\":"
        "{\"at\":1}}}]}}], \"x\":1}";
    for (int words = 0; words < 2; words++) {
        daruma_buf out = buf_in(&a);
        assert_int_equal(dialect_gemini.read_answer(streamed(was, true, &a), &a, &t), DARUMA_OK);
        assert_int_equal(t.message.nparts, 3);
        assert_str(t.message.parts[0].text, "Let me");
        convo_part *p = t.message.parts;
        if (words) {
            p[0].text = S("{}");
            p[0].edited = true;
        } else {
            p[1].name = S("look");
            p[1].text = S("{\"at\":\"x\"}");
            p[2].text = S("{\"a\":\"1\"}");
            p[1].edited = p[2].edited = true;
        }
        t.message.edited = true;
        dialect_gemini.write_answer(&t, &x, &out);
        daruma_str want = streamed(words ? worded : mended, true, &a);
        assert_int_equal(out.n, want.n);
        assert_memory_equal(out.p, want.p, want.n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_stop_reason_means_is_the_dialects_to_say),
        cmocka_unit_test(a_stream_says_what_the_model_said),
        cmocka_unit_test(a_stream_becomes_any_other),
        cmocka_unit_test(any_split_of_the_bytes_gives_the_same),
        cmocka_unit_test(a_long_answer_is_said_again_at_its_end),
        cmocka_unit_test(a_cut_stream_is_gone_on_with_wherever_it_was_cut),
        cmocka_unit_test(items_that_were_kept_stay_when_one_does_not_fit),
        cmocka_unit_test(what_was_said_is_the_same_everywhere),
        cmocka_unit_test(a_sequence_number_at_the_end_of_its_range_is_gone_on_from),
        cmocka_unit_test(streams_are_written_as_the_providers_write_them),
        cmocka_unit_test(a_piece_of_a_call_stands_alone_in_another_buffer),
        cmocka_unit_test(usage_is_a_chunk_of_its_own_when_asked_for),
        cmocka_unit_test(what_was_read_from_a_cache_and_written_to_it_is_counted),
        cmocka_unit_test(calls_are_told_apart_however_they_are_numbered),
        cmocka_unit_test(an_answer_that_nobody_edits_keeps_its_bytes),
        cmocka_unit_test(an_edited_call_changes_alone),
        cmocka_unit_test(dropped_calls_go_and_the_rest_stays),
        cmocka_unit_test(an_answer_becomes_any_other_and_back),
        cmocka_unit_test(a_call_that_was_cut_by_length_is_not_passed_on),
        cmocka_unit_test(ids_that_would_be_refused_when_they_come_back_are_made_anew),
        cmocka_unit_test(a_blocked_prompt_is_filtered_in_every_dialect),
        cmocka_unit_test(what_is_no_answer_is_refused),
        cmocka_unit_test(a_whole_answer_is_its_message_whatever_delta_stands_beside_it),
        cmocka_unit_test(a_chunk_is_its_delta_whatever_message_stands_beside_it),
        cmocka_unit_test(calls_that_were_mended_are_put_into_the_stream_they_came_in),
        cmocka_unit_test(a_character_that_was_cut_between_its_halves_is_put_together),
        cmocka_unit_test(what_was_mended_is_said_again_where_events_name_no_item),
        cmocka_unit_test(arguments_that_gemini_streams_are_put_together),
        cmocka_unit_test(pieces_in_no_order_are_not_told),
        cmocka_unit_test(gemini_is_read_as_it_is_watched),
        cmocka_unit_test(gemini_is_read_in_snake_case),
        cmocka_unit_test(an_edited_array_keeps_its_events),
        cmocka_unit_test(small_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
