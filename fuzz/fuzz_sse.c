/* Server-sent events: however the bytes are split, the events are the same and no byte is lost. */
#include "dialect/sse.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[1 << 20];
    if (size == 0)
        return 0;
    size_t step = 1 + data[0] % 32;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_str bytes = {(const char *)data + 1, size - 1}, whole = bytes, part = {bytes.p, 0};
    sse_event e, f;
    size_t taken = 0;
    while (sse_next(&whole, &e, &a)) {
        while (!sse_next(&part, &f, &a)) {
            size_t left = (size_t)(bytes.p + bytes.n - (part.p + part.n));
            check(left > 0);
            part.n += left < step ? left : step;
        }
        check(e.raw.p == bytes.p + taken && f.raw.p == e.raw.p && f.raw.n == e.raw.n);
        check(a.full || (str_eq(e.data, f.data) && str_eq(e.event, f.event) && e.comment == f.comment));
        taken += e.raw.n;
    }
    check(whole.n == bytes.n - taken);
    part.n = (size_t)(bytes.p + bytes.n - part.p);
    check(!sse_next(&part, &f, &a));
    return 0;
}
