/* base64.c - bytes that came as base64 (RFC 4648, 4). */
#include "dialect/parts.h"

static int base64_value(char c)
{
    if (ch_digit(c))
        return c - '0' + 52;
    if (ch_alpha(c))
        return c >= 'a' ? c - 'a' + 26 : c - 'A';
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_put(daruma_buf *out, daruma_str text)
{
    uint32_t bits = 0;
    int n = 0;
    while (text.n && text.p[text.n - 1] == '=')
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        int value = base64_value(text.p[i]);
        if (text.p[i] == '\\')
            continue; /* "\/" */
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        n += 6;
        if (n >= 8) {
            n -= 8;
            buf_putc(out, (char)(bits >> n));
        }
    }
    return true;
}
