#include "base/base64.h"
#include "base/buf.h"
#include "base/str.h"

int base64_bits(char c)
{
    if (ch_alpha(c))
        return c >= 'a' ? c - 'a' + 26 : c - 'A';
    return ch_digit(c) ? c - '0' + 52 : c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Many encoders break their text into lines. */
static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

/* Bytes of the text at `i` that are no base64: 0 none, 1 one of them or the '\' of "\/", 2 the escape of a line's end.
 */
static size_t passed_over(daruma_str text, size_t i)
{
    if (text.p[i] != '\\')
        return base64_bits(text.p[i]) < 0;
    return i + 1 < text.n && text.p[i + 1] == '/' ? 1 : 2;
}

size_t base64_read(daruma_str text, size_t *i, char *out, size_t room)
{
    uint32_t all = 0;
    size_t n = 0, have = 0;
    while (*i < text.n && n + 3 <= room) {
        size_t skip = passed_over(text, *i);
        if (skip) {
            *i += skip;
            continue;
        }
        all = all << 6 | (uint32_t)base64_bits(text.p[(*i)++]);
        if (++have < 4)
            continue;
        for (int k = 2; k >= 0; k--)
            out[n++] = (char)(all >> 8 * k);
        have = 0;
    }
    if (have > 1 && *i >= text.n) { /* the last bytes, and no '=' needed */
        all <<= 6 * (4 - have);
        for (size_t k = 0; k + 1 < have; k++)
            out[n++] = (char)(all >> 8 * (2 - k));
    }
    return n;
}

bool base64_put(daruma_buf *out, daruma_str text)
{
    char room[768];
    while (text.n && (text.p[text.n - 1] == '=' || is_line_end(text.p[text.n - 1])))
        text.n--;
    for (size_t i = 0, skip; i < text.n; i += skip ? skip : 1)
        if ((skip = passed_over(text, i)) && text.p[i] != '\\' && !is_line_end(text.p[i]))
            return false;
    for (size_t i = 0; i < text.n;)
        buf_put(out, (daruma_str){room, base64_read(text, &i, room, sizeof room)});
    return true;
}
