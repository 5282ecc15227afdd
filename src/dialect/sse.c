#include "dialect/sse.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/scan.h"
#include "base/str.h"

enum { SSE_LINES_BYTES = 4096 }; /* so much is gone through line by line, as often as it takes */

/* Where the line that begins at p ends (at its LF or CR), or `end`. Looks in growing windows, so
 * that neither a long line nor many short ones cost more than their length. */
static const char *line_end(const char *p, const char *end)
{
    for (size_t window = 64; p < end; window *= 2) {
        size_t n = (size_t)(end - p) < window ? (size_t)(end - p) : window;
        const char *lf = memchr(p, '\n', n);
        const char *cr = memchr(p, '\r', lf ? (size_t)(lf - p) : n);
        if (cr || lf)
            return cr ? cr : lf;
        p += n;
    }
    return end;
}

/* Behind the line end at p, or NULL when it may not be whole yet. `after_cr`: the line before
 * ended with a CR alone. Such a stream has no CR LF, so a CR is whole at once; an LF behind it
 * is a blank line of its own. Thus every split of the bytes gives the same events. */
static const char *line_next(const char *p, const char *end, bool after_cr)
{
    if (p == end)
        return NULL;
    if (*p == '\n' || after_cr)
        return p + 1;
    if (end - p < 2)
        return NULL;
    return p[1] == '\n' ? p + 2 : p + 1;
}

static size_t bom(daruma_str s)
{
    return str_starts(s, S("\xef\xbb\xbf")) ? 3 : 0;
}

/* False if there is no blank line behind a line, wherever it would be: no line end stands at another one, but LF at the
 * CR in front of it. 15 bytes at a time, and the one behind them. */
static bool has_blank(const char *p, const char *end)
{
    const size_t step = sizeof(scan16) - 1;
    for (; (size_t)(end - p) > step; p += step) {
        scan16 v = scan_load(p);
        unsigned lf = scan_bits(scan_is(v, '\n')), cr = scan_bits(scan_is(v, '\r'));
        if ((lf | cr) >> 1 & lf || cr >> 1 & cr)
            return true;
    }
    for (; end - p > 1; p++)
        if ((p[0] == '\n' && (p[1] == '\n' || p[1] == '\r')) || (p[0] == '\r' && p[1] == '\r'))
            return true;
    return false;
}

/* Bytes of the event at the front, its blank line included; 0 when it is not whole. What comes of a long event is
 * looked at again with each of its pieces: that goes by many short lines at once. */
static size_t event_bytes(daruma_str s)
{
    if (!s.n)
        return 0;
    const char *p = s.p + bom(s), *end = s.p + s.n;
    if (s.n > SSE_LINES_BYTES && *p != '\n' && *p != '\r' && !has_blank(p, end))
        return 0;
    bool after_cr = false;
    while (p < end) {
        const char *stop = line_end(p, end), *next = line_next(stop, end, after_cr && stop == p);
        if (!next)
            return 0;
        if (stop == p)
            return (size_t)(next - s.p);
        after_cr = next[-1] == '\r';
        p = next;
    }
    return 0;
}

/* The next line of a whole event. */
static bool event_line(daruma_str *rest, daruma_str *line)
{
    if (!rest->n)
        return false;
    const char *end = rest->p + rest->n, *stop = line_end(rest->p, end);
    *line = (daruma_str){rest->p, (size_t)(stop - rest->p)};
    size_t used = line->n + (stop < end) + (end - stop > 1 && stop[0] == '\r' && stop[1] == '\n');
    *rest = str_from(*rest, used);
    return true;
}

/* The value of the field `name` when the line is one; a single space behind the colon is not part of it. */
static bool field(daruma_str line, daruma_str name, daruma_str *value)
{
    if (!str_starts(line, name) || (line.n > name.n && line.p[name.n] != ':'))
        return false;
    *value = str_from(line, name.n + 1);
    if (value->n && value->p[0] == ' ')
        *value = str_from(*value, 1);
    return true;
}

/* All data lines of an event, joined; empty when the arena has no room. */
static daruma_str join(daruma_str lines, daruma_arena *a)
{
    char *out = arena_take(a, lines.n, 1); /* what is joined is shorter than the lines with their names */
    daruma_str line, value;
    size_t n = 0;
    if (!out)
        return (daruma_str){0};
    while (event_line(&lines, &line))
        if (field(line, S("data"), &value)) {
            if (value.n)
                memcpy(out + n, value.p, value.n);
            n += value.n;
            out[n++] = '\n';
        }
    return (daruma_str){out, n - 1};
}

bool sse_next(daruma_str *rest, sse_event *e, daruma_arena *a)
{
    size_t n = event_bytes(*rest), ndata = 0;
    if (!n)
        return false;
    *e = (sse_event){.raw = str_sub(*rest, 0, n), .comment = true};
    *rest = str_from(*rest, n);
    daruma_str lines = str_from(e->raw, bom(e->raw)), left = lines, line;
    while (event_line(&left, &line)) {
        if (line.n && line.p[0] != ':')
            e->comment = false;
        if (field(line, S("data"), &e->data))
            ndata++;
        else
            field(line, S("event"), &e->event);
    }
    if (ndata > 1)
        e->data = join(lines, a);
    return true;
}

enum { ESCAPE_BEGUN = 1, ESCAPE_DIGITS = 4 }; /* bytes behind a backslash, behind its `u` */

/* True if the byte of the string at hand is to be kept. A string is cut between characters and escapes. */
static bool keeps(sse_long *s, char c)
{
    bool inside = s->in_escape || ((unsigned char)c & 0xc0) == 0x80; /* of an escape, of a character */
    if (s->in_escape)
        s->in_escape = s->in_escape == ESCAPE_BEGUN && c == 'u' ? ESCAPE_DIGITS : s->in_escape - 1;
    else if (c == '\\')
        s->in_escape = ESCAPE_BEGUN;
    else if (c == '"') {
        s->string = 0;
        s->cut = false;
        return true;
    }
    s->cut |= s->string++ >= SSE_STRING_BYTES_KEPT && !inside;
    return !s->cut;
}

size_t sse_shorten(sse_long *s, daruma_str bytes, daruma_buf *out)
{
    size_t i = 0;
    while (i < bytes.n && !s->ended) {
        char c = bytes.p[i++];
        bool ends = c == '\n' || c == '\r', same = c == '\n' && s->cr;
        s->cr = c == '\r';
        s->ended = ends && s->line && !same;
        s->line = ends;
        if (ends)
            s->string = s->in_escape = s->cut = 0; /* no string goes on in another line */
        if (ends || (s->string ? keeps(s, c) : (s->string = c == '"', true)))
            buf_putc(out, c);
    }
    if (s->ended)
        BUF_LIT(out, "\n\n"); /* in whatever way its lines end */
    return i;
}
