/* salient_words.c - what a word must look like to be worth keeping: knowledge about words, one at a time. */
#include "engine/mend/shorten/salient_words.h"
#include "engine/mend/shorten/words.h"

/* Small letters as one number. */
#define PACK(a, b, c, d, e, f, g)                                                                                      \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 | (uint64_t)(e) << 32 |            \
     (uint64_t)(f) << 40 | (uint64_t)(g) << 48)

// clang-format off
static const uint64_t units[] = {
    PACK('%', 0, 0, 0, 0, 0, 0),             PACK('m', 's', 0, 0, 0, 0, 0),         PACK('s', 0, 0, 0, 0, 0, 0),
    PACK('u', 's', 0, 0, 0, 0, 0),           PACK('n', 's', 0, 0, 0, 0, 0),         PACK('k', 'b', 0, 0, 0, 0, 0),
    PACK('m', 'b', 0, 0, 0, 0, 0),           PACK('g', 'b', 0, 0, 0, 0, 0),         PACK('t', 'b', 0, 0, 0, 0, 0),
    PACK('k', 'i', 'b', 0, 0, 0, 0),         PACK('m', 'i', 'b', 0, 0, 0, 0),       PACK('g', 'i', 'b', 0, 0, 0, 0),
    PACK('b', 0, 0, 0, 0, 0, 0),             PACK('b', 'y', 't', 'e', 's', 0, 0),   PACK('u', 's', 'd', 0, 0, 0, 0),
    PACK('e', 'u', 'r', 0, 0, 0, 0),         PACK('g', 'b', 'p', 0, 0, 0, 0),       PACK('r', 'o', 'w', 's', 0, 0, 0),
    PACK('t', 'o', 'k', 'e', 'n', 's', 0),   PACK('s', 'e', 'c', 'o', 'n', 'd', 's'),
    PACK('m', 'i', 'n', 'u', 't', 'e', 's'), PACK('h', 'o', 'u', 'r', 's', 0, 0)};
// clang-format on

size_t salient_unit(daruma_str text, size_t at)
{
    if (at + 1 >= text.n || text.p[at] != ' ' || !(ch_alpha(text.p[at + 1]) || text.p[at + 1] == '%'))
        return 0;
    size_t n = 1;
    uint64_t word = 0;
    bool found = false;
    for (; at + n < text.n && n < 9 && (ch_alpha(text.p[at + n]) || text.p[at + n] == '%'); n++)
        word |= (uint64_t)(unsigned char)ch_lower(text.p[at + n]) << 8 * (n - 1);
    for (size_t i = 0; i < COUNT(units); i++) /* all of them: a jump out costs more */
        found |= word == units[i];
    return found ? n : 0;
}

uint8_t salient_score(daruma_str w, uint8_t kinds, int runs, size_t longest)
{
    bool both = (kinds & (LETTER | DIGIT)) == (LETTER | DIGIT);
    if ((kinds & (MARK | SLASH)) == (MARK | SLASH) && str_find(w, S("://")) != STR_NONE)
        return 6;
    if (kinds & AT && kinds & LETTER)
        return 5;
    if (kinds & SLASH && kinds & LETTER)
        return w.p[0] == '/' || runs > 2 || both ? 5 : 0;
    if (both && (runs > 1 || longest >= 16))
        return 5; /* ORD-7731, req_01h9, v2.3.1, main.c:14; a long hash */
    if (both)
        return longest >= 7 ? 4 : 3; /* a short hash, "3.2GB", "utf8" */
    if (kinds & DIGIT)
        return runs > 2 ? 4 : longest >= 5 ? 3 : kinds & MARK && runs > 1 ? 2 : 0;
    return 0;
}

bool salient_names(daruma_str w)
{
    static const daruma_str ends[] = {LIT("id"),     LIT("key"),  LIT("hash"), LIT("sha"),     LIT("ref"),
                                      LIT("number"), LIT("code"), LIT("uuid"), LIT("version"), LIT("email"),
                                      LIT("token"),  LIT("path"), LIT("url")};
    for (size_t i = 0; i < COUNT(ends); i++) {
        daruma_str e = ends[i];
        if (w.n < e.n || !str_ieq(str_from(w, w.n - e.n), e))
            continue;
        char before = w.n > e.n ? w.p[w.n - e.n - 1] : '_';
        if (!ch_alpha(before) || (before >= 'a' && w.p[w.n - e.n] < 'a')) /* "id", "user_id", "userId", no "paid" */
            return true;
    }
    return false;
}

bool salient_error(daruma_str w)
{
    static const daruma_str words[] = {LIT("error"),   LIT("errors"),    LIT("exception"), LIT("failed"),
                                       LIT("failure"), LIT("fatal"),     LIT("panic"),     LIT("denied"),
                                       LIT("refused"), LIT("traceback"), LIT("critical"),  LIT("aborted"),
                                       LIT("cannot"),  LIT("timeout"),   LIT("violation")};
    if (w.n < 5 || !salient_error_end(w.p + w.n - 4))
        return false;
    for (size_t i = 0; i < COUNT(words); i++) {
        daruma_str x = words[i];
        if (w.n >= x.n && str_ieq(str_from(w, w.n - x.n), x))
            return true;
    }
    return false;
}
