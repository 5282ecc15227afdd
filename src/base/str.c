#include "base/str.h"

bool str_starts(daruma_str s, daruma_str with)
{
    return s.n >= with.n && (with.n == 0 || memcmp(s.p, with.p, with.n) == 0);
}

bool str_ends(daruma_str s, daruma_str with)
{
    return s.n >= with.n && (with.n == 0 || memcmp(s.p + s.n - with.n, with.p, with.n) == 0);
}

size_t str_find(daruma_str s, daruma_str what)
{
    if (what.n == 0)
        return 0;
    for (size_t at = 0; at + what.n <= s.n;) {
        const char *hit = memchr(s.p + at, what.p[0], s.n - what.n + 1 - at);
        if (!hit)
            return STR_NONE;
        at = (size_t)(hit - s.p);
        if (memcmp(hit, what.p, what.n) == 0)
            return at;
        at++;
    }
    return STR_NONE;
}

size_t str_ifind(daruma_str s, daruma_str what_lower)
{
    if (what_lower.n == 0)
        return 0;
    for (size_t at = 0; at + what_lower.n <= s.n; at++) {
        size_t i = 0;
        while (i < what_lower.n && ch_lower(s.p[at + i]) == what_lower.p[i])
            i++;
        if (i == what_lower.n)
            return at;
    }
    return STR_NONE;
}

size_t str_findch(daruma_str s, char c)
{
    const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;
    return hit ? (size_t)(hit - s.p) : STR_NONE;
}

daruma_str str_trim(daruma_str s)
{
    while (s.n && ch_space(s.p[0]))
        s.p++, s.n--;
    while (s.n && ch_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

daruma_str str_cut(daruma_str *rest, char at)
{
    size_t i = str_findch(*rest, at);
    daruma_str head = str_sub(*rest, 0, i == STR_NONE ? rest->n : i);
    *rest = i == STR_NONE ? str_from(*rest, rest->n) : str_from(*rest, i + 1);
    return head;
}

bool str_int(daruma_str s, int64_t *ret)
{
    int64_t v = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!ch_digit(s.p[i]) || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s.p[i] - '0', &v))
            return false;
    }
    *ret = v;
    return true;
}

size_t str_scan_int(daruma_str s, int64_t *ret)
{
    int64_t v = 0;
    size_t i = 0;
    for (; i < s.n; i++) {
        if (ch_digit(s.p[i]))
            v = add_sat(mul_sat(v, 10), s.p[i] - '0');
        else if (!((s.p[i] == ',' || s.p[i] == '_') && i && i + 1 < s.n && ch_digit(s.p[i + 1])))
            break;
    }
    if (i)
        *ret = v;
    return i;
}

size_t str_distance(daruma_str a, daruma_str b, size_t max)
{
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1];
    if (a.n > LONGEST || b.n > LONGEST)
        return max + 1;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = diagonal + (a.p[i - 1] != b.p[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b.n] > max ? max + 1 : row[b.n];
}
