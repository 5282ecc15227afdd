/* Joining two pieces of an answer: any split of the second gives the same, and what is skipped was there already. The
 * first byte says how far apart they are cut, the second how the second piece comes. */
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static join_result feed(daruma_str so_far, daruma_str fresh, size_t step, bool prefilled)
{
    for (size_t n = step; n < fresh.n; n += step) {
        join_result r = join_find(so_far, str_sub(fresh, 0, n), false, prefilled);
        if (r.verdict != JOIN_MORE)
            return r;
    }
    return join_find(so_far, fresh, true, prefilled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    size_t step = 1 + data[1] % 250;
    daruma_str text = {(const char *)data + 2, size - 2};
    size_t cut = text.n * data[0] / 256;
    daruma_str so_far = str_sub(text, 0, cut), fresh = str_from(text, cut);
    for (int prefilled = 0; prefilled < 2; prefilled++) {
        join_result whole = join_find(so_far, fresh, true, prefilled), parts = feed(so_far, fresh, step, prefilled);
        check(whole.verdict != JOIN_MORE && whole.verdict == parts.verdict && whole.skip == parts.skip);
        check(whole.skip <= fresh.n && whole.skip <= JOIN_LOOK_BYTES);
        if (!prefilled && fresh.n >= JOIN_LOOK_BYTES)
            check(join_find(so_far, str_sub(fresh, 0, JOIN_LOOK_BYTES), false, false).verdict != JOIN_MORE);
    }
    return 0;
}
