/* same_number.h - numbers that belong to something: a unit of time, a moment, a UUID. */
#ifndef ENGINE_WATCH_SAME_SAME_NUMBER_H
#define ENGINE_WATCH_SAME_SAME_NUMBER_H
#include "base/str.h"

/* Digits of base 16, all of them? */
static inline bool is_hex(daruma_str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!ch_digit(word.p[i]) && (ch_lower(word.p[i]) < 'a' || ch_lower(word.p[i]) > 'f'))
            return false;
    return true;
}

/* Bytes of a UUID at the beginning, 0 none. */
static inline size_t uuid_at(daruma_str s)
{
    if (s.n < 36 || s.p[8] != '-' || s.p[13] != '-')
        return 0;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : !is_hex(str_sub(s, i, 1)))
            return 0;
    }
    return s.n > 36 && ch_word(s.p[36]) ? 0 : 36;
}

/* Bytes of a unit of time that follows a number, white space before it with them; 0 none. */
static inline size_t one_unit_at(daruma_str s)
{
    static const daruma_str units[] = {LIT("ms"),      LIT("s"),      LIT("us"),     LIT("ns"),    LIT("m"),
                                       LIT("h"),       LIT("sec"),    LIT("secs"),   LIT("min"),   LIT("mins"),
                                       LIT("seconds"), LIT("second"), LIT("minute"), LIT("hours"), LIT("minutes"),
                                       LIT("d"),       LIT("day"),    LIT("days")};
    size_t gap = s.n && s.p[0] == ' ' ? 1 : 0, n = gap;
    if (n == s.n ||
        (s.p[n] != 'm' && s.p[n] != 's' && s.p[n] != 'u' && s.p[n] != 'n' && s.p[n] != 'h' && s.p[n] != 'd'))
        return 0;
    while (n < s.n && n < gap + 8 && ch_alpha(s.p[n]))
        n++;
    return STR_ANY(str_eq, str_sub(s, gap, n - gap), units) ? n : 0;
}

/* The same, and what may go on behind it: "m31s" of "12m31s". What goes on otherwise is no unit: "3d6f". */
static inline size_t unit_at(daruma_str s)
{
    size_t n = one_unit_at(s), unit = n, digits = 0;
    while (unit && n < s.n && ch_word(s.p[n])) {
        for (digits = 0; n < s.n && (ch_digit(s.p[n]) || (digits && s.p[n] == '.')); n++)
            digits++;
        unit = digits ? one_unit_at(str_from(s, n)) : 0;
        n += unit;
    }
    return unit ? n : 0;
}

/* "10:00:11", "2026-06-01", with all that belongs to it. */
static inline bool is_moment(daruma_str number)
{
    unsigned colons = 0, dashes = 0;
    for (size_t i = 0; i < number.n; i++) {
        colons += number.p[i] == ':';
        dashes += number.p[i] == '-';
    }
    return colons >= 2 || (dashes == 2 && number.n >= 10);
}
#endif
