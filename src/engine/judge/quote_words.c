/* quote_words.c - a text as words: letters and digits, whatever stands between them and however often it was escaped;
 * and texts that are base64 of words. */
#include "engine/judge/quote_words.h"
#include "engine/judge/strings.h"
#include "base/base64.h"
#include "base/str.h"

#define ENTITY_BYTES_MAX  8  /* the longest one that pages use, without '&' and ';' */
#define BASE64_BYTES_MIN  16 /* a shorter text is none */
#define BASE64_LOOK_BYTES 18 /* of what is decoded, that tell whether it is words */

static uint32_t letter(uint32_t c)
{
    return quote_is_alnum((char)c) ? (uint32_t)(unsigned char)ch_lower((char)c) : 0;
}

/* The bytes of "&quot;" and "&#39;" behind '&'; 0: none stands at `i`. */
static size_t entity_bytes(daruma_str s, size_t i)
{
    size_t n = 0;
    while (n < ENTITY_BYTES_MAX && i + n < s.n && (quote_is_alnum(s.p[i + n]) || (!n && s.p[i] == '#')))
        n++;
    return n > 1 && i + n < s.n && s.p[i + n] == ';' ? n + 1 : 0;
}

/* Dashes, curly quotes, arrows, pictures and what changes their look; and what stands where a character was lost. */
static bool is_sign(uint32_t u)
{
    return (u >= 0x2000 && u < 0x2e80) || (u >= 0xd800 && u < 0xe000) || (u >= 0xfe00 && u < 0xfe10) || u == 0xfffd ||
           (u >= 0x1f000 && u < 0x1fb00) || (u >= 0xe0000 && u < 0xe0200);
}

/* The four digits of \uXXXX at `i`; UINT32_MAX: they are none. */
static uint32_t hex4(daruma_str s, size_t i)
{
    uint32_t u = 0;
    for (size_t k = 0; k < 4; k++) {
        int h = i + k < s.n ? ch_hex(s.p[i + k]) : -1;
        if (h < 0)
            return UINT32_MAX;
        u = u << 4 | (uint32_t)h;
    }
    return u;
}

/* The character whose first half of an escape (UTF-16) is `high` and whose other half stands at `*i`, which moves
 * behind it; `high` when none does. */
static uint32_t other_half(daruma_str s, size_t *i, uint32_t high)
{
    size_t k = *i;
    while (k < s.n && s.p[k] == '\\')
        k++;
    uint32_t low = k > *i && k < s.n && s.p[k] == 'u' ? hex4(s, k + 1) : 0;
    if (low < 0xdc00 || low >= 0xe000)
        return high;
    *i = k + 5;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The letter of an escape for white space. */
static bool is_control(char c)
{
    return c && memchr("nrtbf", c, 5);
}

uint32_t quote_take_char(daruma_str s, size_t *i)
{
    unsigned char c = (unsigned char)s.p[(*i)++];
    if (c == '&')
        *i += entity_bytes(s, *i);
    if (c == '%' && *i + 1 < s.n && ch_hex(s.p[*i]) >= 0 && ch_hex(s.p[*i + 1]) >= 0) {
        *i += 2;
        uint32_t u = (uint32_t)(ch_hex(s.p[*i - 2]) << 4 | ch_hex(s.p[*i - 1]));
        return u < 0x80 ? letter(u) : 0;
    }
    if (c < 0x80 && c != '\\')
        return letter(c);
    if (c == '\\') {
        size_t first = *i;
        while (*i < s.n && s.p[*i] == '\\')
            ++*i;
        bool deep = *i > first && (*i - first) % 2 == 0; /* what is escaped once more stands behind a backslash */
        char e = *i < s.n ? s.p[*i] : 0;
        if (is_control(e)) {
            ++*i;
            return 0;
        }
        uint32_t u = e == 'u' ? hex4(s, *i + 1) : 0;
        if (e != 'u' || u == UINT32_MAX)
            return 0;
        if (deep && !(u < 0x80 && is_control((char)u))) { /* "a\\\u0043" is a\C: a backslash, then a letter */
            --*i;
            return 0;
        }
        *i += 5;
        if (deep)
            return 0;
        if (u == '\\' && *i < s.n && is_control(s.p[*i]))
            ++*i;
        if (u >= 0xd800 && u < 0xdc00) /* half of a character: the other half follows */
            u = other_half(s, i, u);
        return u < 0x80 ? letter(u) : is_sign(u) ? 0 : u;
    }
    uint32_t u = c & (c >= 0xf0 ? 0x07 : c >= 0xe0 ? 0x0f : 0x1f);
    while (*i < s.n && ((unsigned char)s.p[*i] & 0xc0) == 0x80)
        u = u << 6 | ((unsigned char)s.p[(*i)++] & 0x3f);
    return is_sign(u) ? 0 : u;
}

/* Scripts without spaces: each character is a word. */
static bool stands_alone(uint32_t c)
{
    return c >= 0x2e80;
}

bool quote_next_word(daruma_str s, size_t *i, quote_word *ret)
{
    uint64_t h = 1469598103934665603u;
    size_t from = 0, to = 0;
    while (*i < s.n) {
        size_t at = *i;
        uint32_t c = quote_take_char(s, i);
        if (to && (!c || stands_alone(c))) {
            *i = c ? at : *i;
            break;
        }
        if (!c)
            continue;
        from = to ? from : at;
        to = *i;
        h = (h ^ c) * 1099511628211u;
        if (stands_alone(c))
            break;
    }
    *ret = (quote_word){.hash = h, .from = (uint32_t)from, .to = (uint32_t)to};
    return to > 0;
}

/* ---- base64 --------------------------------------------------------------------- */

static bool is_text(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)p[i] < ' ' && !ch_space(p[i]))
            return false;
    return n > 0;
}

daruma_str quote_encoded(daruma_str text)
{
    char out[BASE64_LOOK_BYTES + 3];
    if (text.n < BASE64_BYTES_MIN)
        return (daruma_str){0};
    size_t comma = str_starts(text, S("data:")) ? str_findch(str_sub(text, 0, 128), ',') : STR_NONE, i = 0;
    text = comma == STR_NONE ? text : str_from(text, comma + 1);
    size_t look = BASE64_LOOK_BYTES / 3 * 4;
    for (size_t k = 0; k < text.n && k < look; k++)
        if (base64_bits(text.p[k]) < 0 && text.p[k] != '=')
            return (daruma_str){0};
    if (text.n < BASE64_BYTES_MIN || !is_text(out, base64_read(str_sub(text, 0, look), &i, out, sizeof out)))
        return (daruma_str){0};
    return text;
}
