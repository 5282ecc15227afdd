/* Server-sent events: however the bytes are split, the events are the same and no byte is lost. */
#include "dialect/sse.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/str.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes that come `step` at a time. */
typedef struct {
    daruma_str bytes;   /* all of them */
    size_t taken, came; /* those of events that were told, and those that are there */
    size_t step;
    exact_pieces pieces; /* what is there and was not taken */
} trickle;

/* The next event, as soon as its bytes are there. */
static bool trickle_next(trickle *t, sse_event *e, daruma_arena *a)
{
    for (;;) {
        exact_end(&t->pieces);
        daruma_str rest = exact(&t->pieces, str_sub(t->bytes, t->taken, t->came - t->taken));
        if (sse_next(&rest, e, a)) {
            t->taken += e->raw.n;
            check(rest.n == t->came - t->taken);
            return true;
        }
        size_t left = t->bytes.n - t->came;
        if (!left)
            return false;
        t->came += left < t->step ? left : t->step;
    }
}

/* An event is shortened to the same, in one piece, in place and in pieces of `step`, and is whole then. */
static void shortens(daruma_str bytes, size_t step)
{
    static char memory[1 << 20], place[1 << 20];
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_buf once = buf_in(&a), often = buf_in(&a), in_place = buf_over(place, sizeof place);
    sse_long s = {0}, t = {0}, u = {0};
    sse_event e;
    size_t n = sse_shorten(&s, bytes, &once), m = 0;
    for (size_t at = 0; at < bytes.n && !t.ended; at += step)
        m += sse_shorten(&t, str_sub(bytes, at, step), &often);
    buf_put(&in_place, bytes);
    bool fits = !in_place.full;
    in_place.n = 0;
    check(!fits || sse_shorten(&u, (daruma_str){place, bytes.n}, &in_place) == n);
    if (!fits || a.full || in_place.full)
        return;
    daruma_str out = buf_str(&once);
    check(n == m && s.ended == t.ended && str_eq(out, buf_str(&often)) && str_eq(out, buf_str(&in_place)));
    check(!s.ended || sse_next(&out, &e, &a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[1 << 20];
    if (size == 0)
        return 0;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_str bytes = {(const char *)data + 1, size - 1}, whole = bytes;
    trickle t = {.bytes = bytes, .step = 1 + data[0] % 32};
    sse_event e, f;
    while (sse_next(&whole, &e, &a)) {
        check(e.raw.p == bytes.p + t.taken);
        check(trickle_next(&t, &f, &a) && str_eq(f.raw, e.raw));
        check(a.full || (str_eq(e.data, f.data) && str_eq(e.event, f.event) && e.comment == f.comment));
    }
    check(whole.n == bytes.n - t.taken);
    check(!trickle_next(&t, &f, &a));
    exact_end(&t.pieces);
    shortens(bytes, t.step);
    return 0;
}
