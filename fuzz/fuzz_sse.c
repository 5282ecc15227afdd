/* Server-sent events: however the bytes are split, the events are the same and no byte is lost. */
#include "dialect/sse.h"
#include "base/arena.h"
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
    return 0;
}
