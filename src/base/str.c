#include "base/str.h"
#include "base/scan.h"

bool str_ends(daruma_str s, daruma_str with)
{
    return s.n >= with.n && (with.n == 0 || memcmp(s.p + s.n - with.n, with.p, with.n) == 0);
}

/* The same of 8 bytes, all at once: where they differ it is by the bit of case, and a letter stands there. */
static inline bool ieq_words(uint64_t x, uint64_t y)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t low = (x | each * 0x20) & each * 0x7f;
    uint64_t from_a = low + each * (0x80 - 'a'), behind_z = low + each * (0x7f - 'z');
    uint64_t letters = from_a & ~behind_z & ~x & each * 0x80; /* the top bit of each */
    return ((x ^ y) & ~(letters >> 2)) == 0;
}

static inline bool ieq8(const char *a, const char *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return ieq_words(x, y);
}

/* The first and the last 4 of 4 to 8 bytes. */
static inline uint64_t both_ends(const char *p, size_t n)
{
    uint32_t first, last;
    memcpy(&first, p, sizeof first);
    memcpy(&last, p + n - 4, sizeof last);
    return (uint64_t)last << 32 | first;
}

bool str_ieq_bytes(const char *a, const char *b, size_t n)
{
    if (n >= 4 && n < 8)
        return ieq_words(both_ends(a, n), both_ends(b, n));
    size_t i = 0;
    for (; n - i >= 8; i += 8)
        if (!ieq8(a + i, b + i))
            return false;
    if (n > 8)
        return ieq8(a + n - 8, b + n - 8); /* the rest, with some of those before */
    for (; i < n; i++)
        if (!ch_ieq(a[i], b[i]))
            return false;
    return true;
}

enum { BLOCK = 64 };

/* Does `a` stand in one of the bytes of a block, and `b` as far behind it as it has to? Compilers make vectors of it.
 */
static bool block_may_hold(const char *at_a, char a, const char *at_b, char b)
{
    unsigned char any = 0;
    for (int i = 0; i < BLOCK; i++)
        any |= (unsigned char)((at_a[i] == a) & (at_b[i] == b));
    return any;
}

static size_t find_between(daruma_str s, daruma_str what, size_t at, size_t end)
{
    while (at < end) {
        const char *hit = memchr(s.p + at, what.p[0], end - at);
        if (!hit)
            return STR_NONE;
        at = (size_t)(hit - s.p);
        if (memcmp(hit, what.p, what.n) == 0)
            return at;
        at++;
    }
    return STR_NONE;
}

/* Its second byte and its last but one decide where it is looked for: names in quotes all begin and end with the same.
 */
size_t str_find(daruma_str s, daruma_str what)
{
    size_t at = 0, hit = STR_NONE;
    if (what.n == 0)
        return 0;
    if (what.n > s.n)
        return STR_NONE;
    size_t ends = s.n - what.n + 1;
    for (; what.n > 3 && at + BLOCK <= ends; at += BLOCK)
        if (block_may_hold(s.p + at + 1, what.p[1], s.p + at + what.n - 2, what.p[what.n - 2]) &&
            (hit = find_between(s, what, at, at + BLOCK)) != STR_NONE)
            return hit;
    return find_between(s, what, at, ends);
}

size_t str_ifind(daruma_str s, daruma_str what_lower)
{
    if (what_lower.n == 0)
        return 0;
    if (what_lower.n > s.n)
        return STR_NONE;
    const size_t last = what_lower.n - 1, ends = s.n - last;
    const scan16 fold = scan_all(0x20);
    size_t at = 0;
    for (; ends - at >= sizeof fold; at += sizeof fold) { /* where the first byte and the last may stand */
        scan16 first = scan_load(s.p + at) | fold, behind = scan_load(s.p + at + last) | fold;
        unsigned bits = scan_bits(scan_is(first, what_lower.p[0] | 0x20) & scan_is(behind, what_lower.p[last] | 0x20));
        for (; bits; bits &= bits - 1) {
            size_t hit = at + (size_t)__builtin_ctz(bits);
            if (str_ieq_bytes(s.p + hit, what_lower.p, what_lower.n))
                return hit;
        }
    }
    for (; at < ends; at++)
        if (str_ieq_bytes(s.p + at, what_lower.p, what_lower.n))
            return at;
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

bool str_lists(daruma_str list, daruma_str item)
{
    while (list.n)
        if (str_ieq(str_trim(str_cut(&list, ',')), item))
            return true;
    return false;
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

size_t str_utf8(daruma_str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (n > s.n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if (n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)))
        return 0;
    if (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)))
        return 0;
    return n;
}

size_t str_step(daruma_str s, bool *ret_fit)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n = str_utf8(s);
    bool unfit = p[0] < 0x20 || p[0] == 0x7f || (n == 0 && p[0] < 0xa0);
    if (n == 2)
        unfit = (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c); /* U+0080 to 9F; U+061C */
    else if (n == 3 && p[0] == 0xe2 && p[1] == 0x80)
        unfit = p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae); /* U+200E, F, 2028 to 2E */
    else if (n == 3 && p[0] == 0xe2 && p[1] == 0x81)
        unfit = p[2] >= 0xa6 && p[2] <= 0xaf; /* U+2066 to 6F */
    else if (n == 4)
        unfit = p[0] == 0xf3 && p[1] == 0xa0 && p[2] < 0x82; /* U+E0000 to E007F, letters that are not seen */
    *ret_fit = !unfit;
    return n ? n : 1;
}

str_near str_near_to(daruma_str wrong)
{
    return (str_near){.wrong = wrong, .distance = wrong.n < 4 ? 2 : wrong.n / 3 + 2};
}

void str_near_try(str_near *n, daruma_str name)
{
    bool begins = n->wrong.n >= 3 && (str_starts(name, n->wrong) || str_starts(n->wrong, name));
    size_t d = str_ieq(name, n->wrong) ? 0 : begins ? 1 : str_distance(n->wrong, name, n->distance);
    if (d < n->distance) {
        n->best = name;
        n->distance = d;
    }
}

bool str_glob(daruma_str pattern, daruma_str s)
{
    size_t i = 0, k = 0, star = STR_NONE, from = 0; /* behind the last star, and what it stood for so far */
    while (k < s.n) {
        if (i < pattern.n && pattern.p[i] == '*') {
            star = ++i;
            from = k;
        } else if (i < pattern.n && pattern.p[i] == s.p[k]) {
            i++;
            k++;
        } else if (star != STR_NONE) {
            i = star;
            k = ++from;
        } else {
            return false;
        }
    }
    while (i < pattern.n && pattern.p[i] == '*')
        i++;
    return i == pattern.n;
}
