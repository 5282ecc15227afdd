/* Joining two pieces of an answer: any split of the second gives the same, and what is skipped was there already. The
 * first byte says how far apart they are cut, the second how the second piece comes. */
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/answer/answer.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static join_result feed(daruma_str so_far, daruma_str fresh, size_t step, mend_going how)
{
    join_seam seam = join_begin(so_far, how);
    for (size_t n = step; n < fresh.n; n += step) {
        exact_pieces x = {0};
        join_result r = join_next(&seam, exact(&x, str_sub(fresh, 0, n)), false);
        exact_end(&x);
        if (r.verdict != JOIN_MORE)
            return r;
    }
    return join_next(&seam, fresh, true);
}

/* What was asked for comes: it is joined where it goes on, or not at all (of texts that are hardly more than white
 * space the seam may stay unsure), and nowhere else. */
static void obeyed(daruma_str text, daruma_str so_far, size_t least, mend_going how, size_t step)
{
    daruma_str anchor = mend_anchor(so_far, least);
    if (!anchor.n || (how == GOING_FROM_BEFORE && anchor.n == str_trim(so_far).n))
        return;
    check(anchor.p >= so_far.p && anchor.p + anchor.n <= so_far.p + so_far.n && anchor.n <= JOIN_ANCHOR_BYTES_MAX + 3);
    join_result r = feed(so_far, str_from(text, (size_t)(anchor.p - so_far.p)), step, how);
    check(r.verdict != JOIN_AT || anchor.p + r.skip == so_far.p + so_far.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const mend_going all[] = {GOING_ANCHORED, GOING_PREFILLED, GOING_FROM_BEFORE};
    if (size < 3)
        return 0;
    size_t step = 1 + data[1] % 250;
    daruma_str text = {(const char *)data + 2, size - 2};
    size_t cut = text.n * data[0] / 256;
    exact_pieces x = {0};
    daruma_str so_far = exact(&x, str_sub(text, 0, cut)), fresh = str_from(text, cut);
    for (size_t i = 0; i < COUNT(all); i++) {
        join_result whole = join_find(so_far, fresh, true, all[i]), parts = feed(so_far, fresh, step, all[i]);
        check(whole.verdict != JOIN_MORE && whole.verdict == parts.verdict && whole.skip == parts.skip);
        check(whole.skip <= fresh.n && whole.skip <= JOIN_LOOK_BYTES + JOIN_FIRST_BYTES);
        size_t most = JOIN_LOOK_BYTES + JOIN_FIRST_BYTES;
        if (fresh.n >= most)
            check(join_find(so_far, str_sub(fresh, 0, most), false, all[i]).verdict != JOIN_MORE);
    }
    obeyed(text, so_far, JOIN_TAIL_BYTES, GOING_ANCHORED, step);
    obeyed(text, so_far, JOIN_KEPT_BYTES, GOING_FROM_BEFORE, step);
    exact_end(&x);
    return 0;
}
