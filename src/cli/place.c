/* place.c - how commands print: words of others, counts, and where in a text something is wrong. */
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"

daruma_str cli_plain(daruma_str text, char *room, size_t n)
{
    size_t at = 0;
    for (size_t i = 0, step; i < text.n; i += step) {
        bool fit;
        step = str_step(str_from(text, i), &fit);
        if (at + (fit ? step : 1) > n)
            break;
        memcpy(room + at, fit ? text.p + i : "?", fit ? step : 1);
        at += fit ? step : 1;
    }
    return (daruma_str){room, at};
}

void cli_put(FILE *to, daruma_str text)
{
    for (size_t i = 0, step; i < text.n; i += step) {
        bool fit;
        step = str_step(str_from(text, i), &fit);
        fwrite(fit ? text.p + i : "?", 1, fit ? step : 1, to);
    }
}

void cli_put_page(FILE *to, daruma_str text)
{
    for (size_t end; text.n; text = str_from(text, end + 1)) {
        end = str_findch(text, '\n');
        cli_put(to, str_sub(text, 0, end));
        if (end == STR_NONE)
            return;
        fputc('\n', to);
    }
}

/* The code point of one character; of a bare byte, the byte. */
static unsigned code_of(daruma_str c)
{
    unsigned code = (unsigned char)c.p[0];
    if (c.n > 1)
        code &= 0xffu >> (c.n + 1);
    for (size_t i = 1; i < c.n; i++)
        code = code << 6 | ((unsigned char)c.p[i] & 0x3f);
    return code;
}

void cli_put_json(FILE *to, daruma_str json)
{
    for (size_t i = 0, step; i < json.n; i += step) {
        bool fit;
        step = str_step(str_from(json, i), &fit);
        unsigned code = code_of(str_sub(json, i, step));
        if (fit || code < 0x20)
            fwrite(json.p + i, 1, step, to);
        else if (code < 0x10000)
            fprintf(to, "\\u%04x", code);
        else
            fprintf(to, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    }
}

void cli_keep(char *to, size_t room, daruma_str s)
{
    daruma_buf b = buf_over(to, room - 1);
    buf_put(&b, str_sub(s, 0, room - 1));
    to[b.n] = 0;
}

const char *cli_address(bool sealed, daruma_str host, int port, bool reach, char room[CLI_ADDRESS_BYTES])
{
    if (reach && str_eq(host, S("0.0.0.0")))
        host = S("127.0.0.1");
    else if (reach && str_eq(host, S("::")))
        host = S("::1");
    bool six = str_findch(host, ':') != STR_NONE;
    snprintf(room, CLI_ADDRESS_BYTES, "http%s://%s" STR_FMT "%s:%d", sealed ? "s" : "", six ? "[" : "", STR_ARG(host),
             six ? "]" : "", port);
    return room;
}

void cli_put_count(daruma_buf *out, uint64_t n)
{
    char digits[24];
    int have = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < have; i++) {
        if (i && (have - i) % 3 == 0)
            buf_putc(out, ',');
        buf_putc(out, digits[i]);
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
