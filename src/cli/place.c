/* place.c - where in a text something is wrong. */
#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"

daruma_str cli_plain(daruma_str text, char *room, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < text.n && at < n; i++) {
        unsigned char c = (unsigned char)text.p[i], next = i + 1 < text.n ? (unsigned char)text.p[i + 1] : 0;
        if (c == 0xc2 && next >= 0x80 && next < 0xa0) { /* U+0080 to U+009F: controls as well (ISO 6429) */
            room[at++] = '?';
            i++;
            continue;
        }
        room[at++] = c < 0x20 || c == 0x7f ? '?' : text.p[i];
    }
    return (daruma_str){room, at};
}

void cli_put(FILE *to, daruma_str text)
{
    char room[256];
    for (size_t i = 0; i < text.n;) {
        size_t n = text.n - i < sizeof room ? text.n - i : sizeof room;
        n -= n > 1 && n < text.n - i && (unsigned char)text.p[i + n - 1] == 0xc2; /* with what follows it */
        daruma_str some = cli_plain(str_sub(text, i, n), room, sizeof room);
        fwrite(some.p, 1, some.n, to);
        i += n;
    }
}

cli_place cli_place_of(daruma_str text, const char *at)
{
    cli_place place = {.line = 1, .column = 1};
    const char *end = text.p + text.n;
    if (!at || at > end)
        at = end;
    for (const char *p = text.p; p < at; p++, place.column++)
        if (*p == '\n') {
            place.line++;
            place.column = 0;
        }
    daruma_str rest = str_sub((daruma_str){at, (size_t)(end - at)}, 0, CLI_REST_BYTES);
    cli_plain(str_trim(str_cut(&rest, '\n')), place.rest, CLI_REST_BYTES);
    return place;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && ch_space(*p))
        p++;
    return p;
}

/* Behind the last member that was whole: where comma, name or colon is not what it should be. */
static const char *breaks_before(const json_iter *it)
{
    const char *p = skip_space(it->p, it->end);
    daruma_str name;
    if (p < it->end && !it->first) {
        if (*p != ',')
            return p;
        p = skip_space(p + 1, it->end);
    }
    if (it->close != '}' || p == it->end || *p != '"')
        return p;
    size_t n = json_skip((daruma_str){p, (size_t)(it->end - p)}, 0, &name);
    if (n == STR_NONE)
        return p;
    p = skip_space(p + n, it->end);
    return p < it->end && *p == ':' ? skip_space(p + 1, it->end) : p;
}

/* Where the innermost value that is broken breaks. */
static const char *breaks_in(json_iter it)
{
    json_iter before = it;
    while (json_step(&it, NULL)) {
        json_iter at = it;
        if (json_pass(&it, NULL)) {
            before = it;
            continue;
        }
        if (at.p < at.end && (*at.p == '{' || *at.p == '['))
            return breaks_in(json_enter(&at));
        return at.p;
    }
    return it.bad ? breaks_before(&before) : it.p;
}

cli_place cli_json_breaks(daruma_str text)
{
    daruma_str whole = str_trim(text), value;
    size_t behind = json_skip(whole, 0, &value);
    const char *at = whole.p;
    if (behind != STR_NONE) /* one value, and something behind it */
        at = str_trim(str_from(whole, behind)).p;
    else if (json_is_object(whole) || json_is_array(whole))
        at = breaks_in(json_open(whole));
    while (at < whole.p + whole.n && ch_space(*at))
        at++;
    return cli_place_of(text, at);
}

daruma_str cli_unmarked(daruma_str text)
{
    daruma_str mark = S("\xef\xbb\xbf");
    return str_starts(text, mark) ? str_from(text, mark.n) : text;
}
