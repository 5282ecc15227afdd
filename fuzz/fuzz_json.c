/* The JSON reader: its ways to read one text agree, and it reads nothing but that text. */
#include "base/json.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/str.h"
#include "exact.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool within(daruma_str inner, daruma_str outer)
{
    return inner.n == 0 || (inner.p >= outer.p && inner.p + inner.n <= outer.p + outer.n);
}

/* An object or array that is entered and left again early ends where it ends. `it` stands at it. */
static void leave_early(json_iter it, daruma_str value)
{
    if (*it.p != '{' && *it.p != '[')
        return;
    for (int walked = 0; walked < 6; walked++) {
        json_iter out = it;
        daruma_str member, left = {0};
        out.quick = walked % 2;
        json_iter in = json_enter(&out);
        for (int i = 0; i < walked / 2; i++)
            json_next(&in, NULL, &member);
        check(json_leave(&out, &in, &left) && left.p == value.p && left.n == value.n);
    }
}

/* Every value of a valid text is valid by itself, and both iterators walk the same. */
static void walk(daruma_str value, daruma_arena *a, int depth)
{
    daruma_str key, member, key2, member2;
    check(json_valid(value));
    if (json_is_string(value)) {
        daruma_buf b = buf_in(a);
        daruma_str text = json_text(value, a);
        buf_json(&b, text);
        check(a->full || json_valid(buf_str(&b)));
        daruma_buf anew = buf_in(a);
        json_put_anew(&anew, value);
        check(b.full || anew.full || str_eq(buf_str(&b), buf_str(&anew)));
        check(text.n <= value.n);
        return;
    }
    json_int(value, -1);
    if (depth == 0 || (!json_is_object(value) && !json_is_array(value)))
        return;
    check(json_end_quick(value.p, value.p + value.n) == value.p + value.n);
    json_iter it = json_open(value), quick = it;
    size_t n = 0;
    for (quick.quick = true;; n++) {
        json_iter at = it;
        if (!json_next(&it, &key, &member))
            break;
        check(json_step(&at, NULL) && at.p == member.p);
        leave_early(at, member);
        check(within(key, value) && within(member, value));
        check(json_next(&quick, &key2, &member2) && member2.p == member.p && member2.n == member.n);
        exact_pieces x = {0};
        walk(exact(&x, member), a, depth - 1);
        exact_end(&x);
    }
    check(!it.bad && !json_next(&quick, &key2, &member2) && !quick.bad);
    check(json_count(value) == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[1 << 20];
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_str text = {(const char *)data, size}, value = {0};
    bool valid = json_whole(text, &value);
    check(valid == json_valid(text));
    if (valid)
        walk(value, &a, 4);
    if (size)
        check(json_end_quick(text.p, text.p + text.n) <= text.p + text.n);
    check(within(json_path(text, "error.details.0.reason"), text));
    check(within(json_get(text, S("error")), text));
    return 0;
}
