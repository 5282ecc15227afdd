/* The dialects: whatever comes, spans stay inside it; what was JSON stays JSON; what daruma writes
 * its own dialect reads. The first byte chooses the dialect. */
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool every(uint64_t hash, const void *user)
{
    (void)user;
    return hash != 0;
}

static bool within(daruma_str inner, daruma_str outer)
{
    return inner.n == 0 || (inner.p >= outer.p && inner.p + inner.n <= outer.p + outer.n);
}

static void as_request(const dialect *d, daruma_str body, bool valid, daruma_arena *a)
{
    request_scan r = d->scan(body, NULL, false);
    check(within(r.model, body) && within(r.model_raw, body) && within(r.messages, body));
    check(!valid || r.ok == json_is_object(str_trim(body)));
    check(r.model.n == 0 || r.model_raw.n == r.model.n + 2);
    check(r.max_output >= -1);
    daruma_buf once = buf_in(a), twice = buf_in(a);
    if (dialect_strip_notices(d, body, every, NULL, &once, a) && !once.full) {
        check(once.n < body.n);
        check(!valid || json_valid(buf_str(&once)));
        check(!dialect_strip_notices(d, buf_str(&once), every, NULL, &twice, a));
    }
}

static void as_answer(const dialect *d, daruma_str body, bool valid, daruma_arena *a)
{
    answer_view v = dialect_check(d, body);
    check(within(v.finish, body));
    check(valid || v.flaw == DARUMA_FLAW_BROKEN);
    check(!d->is_error(body) || v.flaw == DARUMA_FLAW_ERROR_EVENT);
    daruma_buf b = buf_in(a);
    if (dialect_add_note(&b, body, S("a \"note\"")) && !b.full)
        check(valid && json_valid(buf_str(&b)));
}

static void as_stream(const dialect *d, daruma_str bytes, daruma_arena *a)
{
    stream_view v = {0};
    sse_event e;
    for (daruma_str rest = bytes; sse_next(&rest, &e, a);) {
        exact_pieces x = {0};
        e.event = exact(&x, e.event);
        e.data = exact(&x, e.data);
        dialect_watch(d, &v, &e);
        exact_end(&x);
        check(memchr(v.finish, 0, sizeof v.finish));
        check(v.input_tokens >= 0 && v.output_tokens >= 0);
    }
}

/* A whole answer as a stream, of its dialect or another: what was written for whole is read as whole. */
static void as_streamed(const dialect *from, const dialect *to, daruma_str body, daruma_arena *a)
{
    write_ctx x = {.model = S("m"), .id = body.n};
    turn t = {0};
    daruma_buf b = buf_in(a);
    if (from->read_answer(body, a, &t) != DARUMA_OK)
        return;
    if (from != to)
        dialect_carry_answer(&t, to, &x, a);
    if (!dialect_stream_answer(&t, to, &x, body.n % 2, &b, a) || t.finish == FINISH_NONE || t.finish == FINISH_ERROR)
        return;
    daruma_str rest = buf_str(&b);
    stream_view v = {0};
    sse_event e;
    while (sse_next(&rest, &e, a))
        dialect_watch(to, &v, &e);
    check(a->full || (v.done && !v.broken && !v.error && rest.n == 0));
}

static void as_text(const dialect *d, daruma_str text, daruma_arena *a)
{
    write_ctx x = {.model = text, .id = text.n};
    daruma_failure f = {.kind = (daruma_kind)(text.n % DARUMA_KINDS), .subject = text};
    daruma_buf b = buf_in(a), c = buf_in(a);
    dialect_say(text, d, &x, false, false, &b, a);
    d->write_error(&c, &f, (int)(text.n % 600), text, text);
    if (b.full || c.full)
        return;
    check(json_valid(buf_str(&b)) && json_valid(buf_str(&c)));
    check(dialect_check(d, buf_str(&b)).flaw == (text.n ? DARUMA_FLAW_NONE : DARUMA_FLAW_EMPTY));
    check(dialect_check(d, buf_str(&c)).flaw == DARUMA_FLAW_ERROR_EVENT);
    b = buf_in(a);
    dialect_say(text, d, &x, true, false, &b, a);
    daruma_str rest = buf_str(&b);
    stream_view v = {0};
    sse_event e;
    while (sse_next(&rest, &e, a))
        dialect_watch(d, &v, &e);
    check(b.full || (v.done && v.finished && !v.broken && !v.error && rest.n == 0));
}

static void as_question(const dialect *d, daruma_str text, daruma_arena *a)
{
    daruma_question q = {.system = text.n % 2 ? text : (daruma_str){0},
                         .user = text,
                         .max_tokens = (int64_t)(text.n % 3),
                         .temperature_milli = (int32_t)(text.n % 5)};
    daruma_buf b = buf_in(a);
    convo c;
    dialect_write_ask(d, text, &q, &b, a);
    check(b.full || json_valid(buf_str(&b)));
    check(b.full || d->read(buf_str(&b), a, &c) == DARUMA_OK || a->full);
    daruma_str path = dialect_path(d, text, text.n % 2, a);
    bool plain = text.n && str_findch(text, '/') == STR_NONE; /* of a slash within Gemini's name nobody promises that */
    check(!plain || a->full || dialect_of_path(path) == d);
}

static void as_path(daruma_str path)
{
    daruma_str model = {0};
    bool stream = false, named = dialect_path_model(path, &model, &stream);
    check(named == (dialect_of_path(path) == &dialect_gemini));
    check(within(model, path) && (model.n > 0) == named && (named || !stream));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                         &dialect_gemini};
    static char memory[4 << 20];
    if (size == 0)
        return 0;
    const dialect *d = all[data[0] % 4];
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_str body = {(const char *)data + 1, size - 1};
    bool valid = json_valid(body);
    as_request(d, body, valid, &a);
    as_answer(d, body, valid, &a);
    as_streamed(d, d, body, &a);
    as_streamed(d, all[(data[0] / 4) % 4], body, &a);
    as_stream(d, body, &a);
    as_text(d, body, &a);
    as_question(d, body, &a);
    as_path(body);
    return 0;
}
