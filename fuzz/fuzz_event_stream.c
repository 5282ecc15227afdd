/* Amazon's event stream: however the bytes are split, what it says is the same, and whole events. The first byte says
 * how long the pieces are and, when it is even, that a message with checksums that fit is made of the rest: the number
 * of its bytes that are headers, headers and payload. */
#include "dialect/event_stream.h"
#include "dialect/sse.h"
#include "base/arena.h"
#include "base/check.h"
#include "../tests/event_stream_kit.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads `bytes` as they come, `step` at a time. */
static event_stream_found read_all(daruma_str bytes, size_t step, daruma_buf *out)
{
    for (size_t taken = 0, came = 0;;) {
        exact_pieces pieces = {0};
        daruma_str rest = exact(&pieces, str_sub(bytes, taken, came - taken));
        event_stream_found found = event_stream_next(&rest, out);
        check(found == EVENT_STREAM_TAKEN || rest.n == came - taken);
        taken = came - rest.n;
        exact_end(&pieces);
        if (found == EVENT_STREAM_BAD || (found == EVENT_STREAM_MORE && came == bytes.n))
            return found;
        if (found == EVENT_STREAM_MORE)
            came += bytes.n - came < step ? bytes.n - came : step;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[1 << 20];
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_buf made = buf_in(&a), whole = buf_in(&a), pieces = buf_in(&a);
    daruma_str bytes = {(const char *)data + 1, size - 1}, rest;
    sse_event e;
    if (size < 2 || size > 4096)
        return 0;
    if (data[0] % 2 == 0) {
        rest = str_from(bytes, 1);
        kit_message(&made, str_sub(rest, 0, data[1]), str_from(rest, data[1]));
        bytes = buf_str(&made);
    }
    check(read_all(bytes, bytes.n, &whole) == read_all(bytes, 1 + data[0] % 32, &pieces));
    check(!a.full && str_eq(buf_str(&whole), buf_str(&pieces)));
    for (rest = buf_str(&whole); sse_next(&rest, &e, &a);)
        check(e.event.n && e.data.n && e.data.p[0] == '{');
    check(!rest.n);
    return 0;
}
