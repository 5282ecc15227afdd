/* strings.c - the strings of a JSON text, one after the other, with nothing kept of what stands between them. */
#include "engine/judge/strings.h"
#include "base/str.h"

bool judge_string(daruma_str s, size_t *i, judge_text *ret)
{
    const char *p = *i < s.n ? memchr(s.p + *i, '"', s.n - *i) : NULL;
    if (!p)
        return false;
    size_t from = (size_t)(p - s.p) + 1, end = from;
    for (;;) {
        const char *q = memchr(s.p + end, '"', s.n - end);
        size_t slashes = 0;
        end = q ? (size_t)(q - s.p) : s.n;
        while (end - slashes > from && s.p[end - slashes - 1] == '\\')
            slashes++;
        if (!q || slashes % 2 == 0)
            break;
        end++;
    }
    ret->from = from;
    ret->n = end - from;
    *i = end < s.n ? end + 1 : s.n;
    size_t after = *i;
    while (after < s.n && ch_space(s.p[after]))
        after++;
    ret->is_key = after < s.n && s.p[after] == ':';
    if (ret->is_key)
        ret->key = str_sub(s, from, ret->n);
    return true;
}
