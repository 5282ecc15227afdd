#include "engine/tell/words.h"
#include "base/arena.h"
#include "base/str.h"

/* Secrets are looked for in more than is shown, so that the cut does not hide that one is one. */
static daruma_str window(daruma_str text, size_t max)
{
    return str_sub(text, 0, max * 2 < WORDS_ROOM_BYTES / 4 ? max * 2 : WORDS_ROOM_BYTES / 4);
}

/* At most `max` bytes, and none of a character that does not fit whole (RFC 3629). */
static daruma_str cut(daruma_str text, size_t max)
{
    if (text.n <= max)
        return text;
    while (max > 0 && ((unsigned char)text.p[max] & 0xc0) == 0x80)
        max--;
    return str_sub(text, 0, max);
}

daruma_str words_clean(daruma_str text, size_t max, daruma_arena *a)
{
    daruma_str seen = daruma_redact(window(str_trim(text), max), a);
    daruma_str shown = cut(seen, max < 3 ? max : max - (seen.n > max ? 3 : 0));
    bool dots = shown.n < seen.n;
    char *p = arena_take(a, shown.n + 3, 1);
    if (!p)
        return (daruma_str){0};
    size_t n = 0;
    for (size_t i = 0, step; i < shown.n; i += step) {
        bool fit;
        if (shown.p[i] >= ' ' && shown.p[i] < 0x7f) { /* most are; the others are read as characters */
            p[n++] = shown.p[i];
            step = 1;
            continue;
        }
        step = str_step(str_from(shown, i), &fit);
        memcpy(p + n, fit ? shown.p + i : " ", fit ? step : 1);
        n += fit ? step : 1;
    }
    if (dots)
        memcpy(p + n, "...", 3);
    return (daruma_str){p, n + (dots ? 3 : 0)};
}
