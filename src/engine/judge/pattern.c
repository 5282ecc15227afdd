/* pattern.c - searches a text for a pattern of the phrase table; phrases.h says what its signs mean. */
#include "engine/judge/pattern.h"
#include "engine/read/chars.h"
#include "base/str.h"

/* Behind `seg` when it stands at t[at], else STR_NONE. */
static size_t stands_at(daruma_str t, size_t at, const char *seg, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (seg[i] == '|') {
            if (at && at < t.n && char_is(t.p[at - 1], CHAR_LOWER) && char_is(t.p[at], CHAR_LOWER))
                return STR_NONE;
        } else if (seg[i] == '$') {
            size_t end = at;
            while (end < t.n && (t.p[end] == '.' || t.p[end] == '!' || t.p[end] == ' '))
                end++;
            if (end != t.n)
                return STR_NONE;
        } else {
            if (at >= t.n || (seg[i] == '#' ? !ch_digit(t.p[at]) : t.p[at] != seg[i]))
                return STR_NONE;
            at++;
        }
    }
    return at;
}

/* Behind the first place at or after `from` where `seg` stands at the beginning of a word. */
static size_t find_segment(daruma_str t, size_t from, const char *seg, size_t n)
{
    bool bound = char_is(seg[0], CHAR_LOWER);
    while (from < t.n) {
        const char *hit = memchr(t.p + from, seg[0], t.n - from);
        if (!hit)
            return STR_NONE;
        size_t at = (size_t)(hit - t.p);
        bool second =
            n < 2 || !char_is(seg[1], CHAR_LOWER) || (at + 1 < t.n && t.p[at + 1] == seg[1]); /* settles most */
        if (second && (!bound || at == 0 || !char_is(t.p[at - 1], CHAR_LOWER))) {
            size_t end = stands_at(t, at, seg, n);
            if (end != STR_NONE)
                return end;
        }
        from = at + 1;
    }
    return STR_NONE;
}

size_t pattern_find(daruma_str t, const char *says)
{
    size_t at = 0;
    bool anchored = *says == '^';
    says += anchored;
    while (*says) {
        const char *star = strchr(says, '*');
        size_t n = star ? (size_t)(star - says) : strlen(says);
        if (n) {
            at = anchored ? stands_at(t, at, says, n) : find_segment(t, at, says, n);
            if (at == STR_NONE)
                return STR_NONE;
        }
        anchored = false;
        if (star && n && says[n - 1] == ' ' && says[n + 1] == ' ')
            at--; /* " * " is a space alone, too: "key * expired" is "key expired" */
        says += n + (star != NULL);
    }
    return at;
}
