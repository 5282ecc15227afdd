/* Answers: any bytes as the stream of one dialect become events of another that its watcher takes, the same for every
 * split of the bytes; what is read as a whole answer is written as it came, and converts into JSON; a stream is gone on
 * with wherever it stops. The first byte chooses the dialects, the second how the bytes are split. */
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic, &dialect_gemini};
static char memory[2][8 << 20], kept[2][4 << 20];

/* What the bytes become when they come `step` at a time; 0: all at once. */
static daruma_str bridged(const dialect *from, const dialect *to, daruma_str bytes, size_t step, int room, bool *full)
{
    daruma_arena a = arena_over(memory[room], sizeof memory[room]), keep = arena_over(kept[room], sizeof kept[room]);
    daruma_arena put = arena_over(memory[room] + sizeof memory[room] / 2, sizeof memory[room] / 2);
    a.end = put.beg;
    write_ctx ctx = {.model = S("m"), .id = 1, .wall = 2};
    stream_bridge b;
    daruma_buf out = buf_in(&put);
    daruma_str rest = {bytes.p, 0};
    sse_event e;
    bridge_begin(&b, from, to, &ctx, &keep);
    for (size_t fed = 0; fed < bytes.n;) {
        size_t n = !step || bytes.n - fed < step ? bytes.n - fed : step;
        fed += n;
        rest.n += n;
        while (sse_next(&rest, &e, &a)) {
            exact_pieces x = {0};
            e.data = step ? exact(&x, e.data) : e.data; /* nothing of an event is kept */
            bridge_event(&b, &e, &out, &a);
            exact_end(&x);
        }
    }
    bridge_end(&b, &out);
    *full = out.full || a.full || keep.full;
    return buf_str(&out);
}

static void as_stream(const dialect *from, const dialect *to, daruma_str bytes, size_t step)
{
    bool full[2];
    daruma_str once = bridged(from, to, bytes, 0, 0, &full[0]), split = bridged(from, to, bytes, step, 1, &full[1]);
    check(full[0] == full[1]);
    if (full[0])
        return;
    check(str_eq(once, split));
    daruma_arena a = arena_over(kept[0], sizeof kept[0]);
    stream_view v = {0};
    sse_event e;
    while (sse_next(&once, &e, &a)) {
        dialect_watch(to, &v, &e);
        check(!v.error);
        check(!v.broken || to == &dialect_gemini); /* Gemini's reasons for a broken answer are ours to pass on */
    }
    check(once.n == 0);
}

static void as_answer(const dialect *from, const dialect *to, daruma_str body)
{
    daruma_arena a = arena_over(memory[0], sizeof memory[0]);
    daruma_buf same = buf_in(&a), other = buf_in(&a), cut = buf_in(&a);
    write_ctx x = {.model = S("m"), .id = 1, .wall = 2};
    turn t;
    if (from->read_answer(body, &a, &t) != DARUMA_OK)
        return;
    from->write_answer(&t, &x, &same);
    check(same.full || str_eq(buf_str(&same), body));
    if (dialect_convert_answer(from, to, body, &x, &other, &a) == DARUMA_OK)
        check(from == to || json_valid(buf_str(&other)));
    for (size_t i = 0; i < t.message.nparts; i++) {
        t.message.parts[i].dropped = i % 3 == 0;
        t.message.parts[i].edited = i % 3 == 1;
    }
    from->write_answer(&t, &x, &cut);
    check(cut.full || a.full || json_valid(buf_str(&cut)));
}

static void as_request(const dialect *from, const dialect *to, daruma_str body)
{
    daruma_arena a = arena_over(memory[0], sizeof memory[0]);
    daruma_buf b = buf_in(&a);
    dialect_losses l = {0};
    convo c, out;
    if (from->read(body, &a, &c) != DARUMA_OK || dialect_convert(&c, to, &a, &out, &l) != DARUMA_OK)
        return;
    to->write(&out, &b);
    if (b.full || out.full || a.full)
        return;
    check(json_valid(buf_str(&b)));
    convo again;
    daruma_status s = to->read(buf_str(&b), &a, &again);
    check(s == DARUMA_OK || s == DARUMA_EFULL || s == DARUMA_EDEEP);
}

static void goes_on(const dialect *d, daruma_str bytes)
{
    daruma_arena a = arena_over(memory[0], sizeof memory[0]), keep = arena_over(kept[0], sizeof kept[0]);
    turn_writer w = {.usage = TURN_USAGE_NONE, .made = 3, .text = buf_in(&keep), .items = buf_in(&keep)};
    daruma_buf out = buf_in(&a);
    sse_event e;
    while (sse_next(&bytes, &e, &a)) {
        dialect_said event;
        dialect_read_event(d, &e, &event);
        daruma_str item = dialect_done_item(&event); /* the end says them again */
        if (item.n && w.items.n)
            buf_putc(&w.items, ',');
        buf_put(&w.items, item);
        turn_delta few[TURN_DELTAS_FEW];
        turn_deltas said = d->read_delta(&w.r, &event, few, &a);
        for (size_t i = 0; i < said.n; i++)
            if (said.p[i].kind == DELTA_TEXT)
                buf_put(&w.text, said.p[i].text);
    }
    static const delta_kind kinds[] = {DELTA_TEXT,     DELTA_CALL,   DELTA_ARGUMENTS,
                                       DELTA_THINKING, DELTA_FINISH, DELTA_END};
    for (size_t i = 0; i < COUNT(kinds); i++)
        d->write_delta(&w,
                       &(turn_delta){.kind = kinds[i],
                                     .index = kinds[i] == DELTA_ARGUMENTS || kinds[i] == DELTA_CALL ? 0 : -1,
                                     .text = S("{}"),
                                     .name = S("f"),
                                     .finish = FINISH_STOP,
                                     .usage = TURN_USAGE_NONE},
                       &out);
    if (out.full || a.full || keep.full)
        return;
    stream_view v = {0};
    daruma_str rest = buf_str(&out);
    while (sse_next(&rest, &e, &a)) {
        dialect_watch(d, &v, &e);
        check(!v.broken && !v.error);
    }
    check(rest.n == 0);
}

/* A stream that is put together is an answer of its dialect. */
static void folded(const dialect *d, daruma_str bytes)
{
    daruma_arena a = arena_over(memory[0], sizeof memory[0]);
    daruma_buf body = buf_in(&a);
    write_ctx x = {.model = S("m"), .id = 1, .wall = 2};
    stream_view v = {0};
    turn t, again;
    if (!dialect_fold_stream(d, bytes, &v, &t, &a))
        return;
    check(v.finished && !v.error);
    d->write_answer(&t, &x, &body);
    if (!body.full)
        check(json_valid(buf_str(&body)));
    daruma_status s = d->read_answer(buf_str(&body), &a, &again);
    check(body.full || s == DARUMA_OK || s == DARUMA_EFULL || s == DARUMA_EDEEP);
}

enum { CALLS_MENDED = 64 };

/* The calls of a stream, at most so many, and its text; false: more, or no memory. */
static bool read_calls(const dialect *d, daruma_str bytes, call_mend *calls, size_t *n, daruma_buf *text,
                       daruma_arena *a)
{
    turn_reader r = {.sequence = -1, .keep = a};
    daruma_buf args[CALLS_MENDED];
    sse_event e;
    *n = 0;
    while (sse_next(&bytes, &e, a)) {
        turn_delta few[TURN_DELTAS_FEW];
        turn_deltas said = dialect_read_delta(d, &r, &e, few, a);
        for (size_t i = 0; i < said.n; i++) {
            const turn_delta *p = &said.p[i];
            if (p->kind == DELTA_CALL && (*n == CALLS_MENDED || p->index != (int)*n))
                return false;
            if (p->kind == DELTA_CALL) {
                args[*n] = buf_in(a);
                calls[(*n)++] = (call_mend){.name = arena_copy(a, p->name)};
            } else if (p->kind == DELTA_ARGUMENTS && p->index >= 0 && (size_t)p->index < *n) {
                buf_put(&args[p->index], p->text);
                calls[p->index].args = buf_str(&args[p->index]);
            } else if (p->kind == DELTA_TEXT) {
                buf_put(text, p->text);
            }
        }
    }
    return !a->full && !text->full && !r.lost;
}

/* A stream whose calls and text are mended says them as they were mended, and is the same where nothing is. */
static void mended(const dialect *d, daruma_str bytes)
{
    daruma_arena a = arena_over(memory[0], sizeof memory[0]), put = arena_over(memory[1], sizeof memory[1]);
    daruma_arena keep = arena_over(kept[0], sizeof kept[0]);
    call_mend calls[CALLS_MENDED], again[CALLS_MENDED];
    const turn_reader start = {.sequence = -1};
    daruma_str name = S("t\"l"), args = S("{\"a\":\"\\\"\"}"), words = S("{\"w\":1}");
    daruma_buf same = buf_in(&put), other = buf_in(&put), text = buf_in(&put), said = buf_in(&put);
    size_t n, nagain;
    if (!read_calls(d, bytes, calls, &n, &text, &a))
        return;
    stream_mend what = {.calls = calls, .ncalls = n};
    if (!dialect_mend_stream(d, &start, bytes, &what, &same, &a))
        return;
    check(str_eq(buf_str(&same), bytes));
    for (size_t i = 0; i < n; i++)
        calls[i] = (call_mend){.name = name, .args = args, .edited = true};
    what.text = &words;
    if (!dialect_mend_stream(d, &start, bytes, &what, &other, &a) ||
        !read_calls(d, buf_str(&other), again, &nagain, &said, &keep))
        return;
    check(n == nagain);
    check(!said.n || str_starts(buf_str(&said), words));
    check(!text.n == !said.n);
    check(said.n <= words.n || d == &dialect_openai_responses);
    for (size_t i = 0; i < n; i++) {
        check(!again[i].name.n || str_eq(again[i].name, name));
        /* A call without a place for them has none; where Responses says again what it has said, they stand there. */
        check(!again[i].args.n || str_starts(again[i].args, args));
        check(again[i].args.n <= args.n || d == &dialect_openai_responses);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const dialect *from = all[data[0] & 3], *to = all[data[0] >> 2 & 3];
    daruma_str bytes = {(const char *)data + 2, size - 2};
    as_stream(from, to, bytes, 1 + data[1] % 97);
    as_answer(from, to, bytes);
    as_request(from, to, bytes);
    goes_on(from, bytes);
    mended(from, bytes);
    folded(from, bytes);
    return 0;
}
