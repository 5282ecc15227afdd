/* repair_read.c - reads one value as models write JSON when they write it wrong, and writes it as JSON. What can be
 * meant in two ways is refused, and so is a text that ends within a string, a number, a literal or a member: what is
 * missing there is not known.
 *
 * The one hard question is which quote ends a string. A quote ends it when what follows is what follows a value:
 *
 *     {"a":"he said "hi" to me","b":1}
 *                   ^  ^       ^ then ,"b":      this one
 *                   +--+- within: their number must be even, or the next one the last quote of all
 *
 * Each look ahead is bounded or passes white space that is passed once, so that reading is linear. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/answer/repair.h"

typedef struct reader {
    daruma_str in;
    size_t at;
    daruma_buf out;
    char open[REPAIR_DEPTH_MAX]; /* '{' or '[' of each level */
    size_t depth;
    size_t last_quote[2]; /* offset of the last '"' and the last '\'' */
    size_t missing;       /* brackets that the end of the text left open behind a whole value */
    bool cut, quotes;
    bool unlike;       /* a bracket is closed by the one of another kind */
    bool raw, letters; /* a backslash stands for itself (\d); one makes a letter something else (\n) */
} reader;

static bool read_value(reader *r);

/* ---- looking ahead ---- */

static char peek(daruma_str in, size_t at)
{
    return at < in.n ? in.p[at] : 0;
}

static bool name_char(char c)
{
    return ch_alpha(c) || ch_digit(c) || c == '_' || c == '$';
}

size_t repair_blank(daruma_str in, size_t at)
{
    for (;;) {
        while (at < in.n && ch_space(in.p[at]))
            at++;
        daruma_str rest = str_sub(in, at, REPAIR_LOOK_BYTES);
        daruma_str end = str_starts(rest, S("/*")) ? S("*/") : S("\n");
        if (!str_starts(rest, S("/*")) && !str_starts(rest, S("//")) && !str_starts(rest, S("#")))
            return at;
        size_t n = str_find(str_from(rest, 1), end);
        if (n == STR_NONE && rest.n == REPAIR_LOOK_BYTES)
            return at; /* no comment that long is looked through */
        at = n == STR_NONE ? in.n : at + 1 + n + end.n;
    }
}

/* The class of the quote at in[at]: '"', '\'', '`', or 0; its length in bytes. Curly ones count as the straight. */
static char quote_at(daruma_str in, size_t at, size_t *len)
{
    char c = peek(in, at);
    *len = 1;
    if (c == '"' || c == '\'' || c == '`')
        return c;
    if (at + 2 < in.n && memcmp(in.p + at, "\xe2\x80", 2) == 0) {
        unsigned char k = (unsigned char)in.p[at + 2];
        *len = 3;
        return k >= 0x98 && k <= 0x9b ? '\'' : k >= 0x9c && k <= 0x9f ? '"' : 0; /* U+2018..201B, U+201C..201F */
    }
    return 0;
}

bool repair_key_at(daruma_str in, size_t at)
{
    size_t len, stop = at + REPAIR_LOOK_BYTES < in.n ? at + REPAIR_LOOK_BYTES : in.n;
    char quote = quote_at(in, at, &len);
    if (quote) {
        for (at += len; at < stop && quote_at(in, at, &len) != quote; at++)
            if (in.p[at] == '\\')
                at++;
            else if (in.p[at] == '\n')
                return false;
        if (at >= stop)
            return stop == in.n; /* cut within the name */
        at += len;
        if (at >= in.n)
            return true;
    } else {
        size_t from = at;
        while (at < stop && (name_char(in.p[at]) || (at > from && in.p[at] == '-')))
            at++;
        if (at == from)
            return false;
    }
    while (at < in.n && (in.p[at] == ' ' || in.p[at] == '\t'))
        at++;
    return peek(in, at) == ':';
}

/* May a value begin with what stands at `at`? */
static bool value_at(daruma_str in, size_t at)
{
    static const char *const words[] = {"true", "false", "null", "none", "undefined", "nan", "infinity"};
    size_t len;
    char c = peek(in, at);
    if (c == '{' || c == '[' || ch_digit(c) || c == '-' || c == '+' || c == '.' || quote_at(in, at, &len))
        return true;
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_istarts(str_from(in, at), str_of(words[i])) && !name_char(peek(in, at + strlen(words[i]))))
            return true;
    return false;
}

/* Does what stands at `at` follow a whole value in the container that is open? */
static bool follows(const reader *r, size_t at)
{
    bool in_object = r->depth && r->open[r->depth - 1] == '{';
    size_t from = at, closed = 0;
    at = repair_blank(r->in, at);
    char c = peek(r->in, at);
    if (at >= r->in.n)
        return true;
    if (c == '}' || c == ']') {
        if (c == (in_object ? ']' : '}') && r->depth < 2)
            return false;
        bool line = memchr(r->in.p + from, '\n', at - from) != NULL;
        while (c == '}' || c == ']') {
            closed++;
            at = repair_blank(r->in, at + 1);
            c = peek(r->in, at);
        }
        return line || at >= r->in.n || closed >= r->depth || c == ',' ||
               (r->depth > closed && repair_key_at(r->in, at));
    }
    if (c == ',') {
        at = repair_blank(r->in, at + 1);
        c = peek(r->in, at);
        if (at >= r->in.n || c == (in_object ? '}' : ']'))
            return true;
        return in_object ? repair_key_at(r->in, at) : value_at(r->in, at);
    }
    if (at == from) /* a comma that is missing has a space or a line in its place */
        return false;
    if (in_object)
        return repair_key_at(r->in, at);
    return value_at(r->in, at) && !ch_alpha(c);
}

/* ---- strings ---- */

static void put_char(daruma_buf *out, char c)
{
    if (c == '"')
        BUF_LIT(out, "\\\"");
    else if (c == '\n')
        BUF_LIT(out, "\\n");
    else if (c == '\r')
        BUF_LIT(out, "\\r");
    else if (c == '\t')
        BUF_LIT(out, "\\t");
    else if ((unsigned char)c < 0x20)
        buf_printf(out, "\\u%04x", (unsigned)c);
    else
        buf_putc(out, c);
}

static bool hex(daruma_str in, size_t at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = ch_lower(peek(in, at + i));
        if (!ch_digit(c) && !(c >= 'a' && c <= 'f'))
            return false;
    }
    return true;
}

/* The escape at r->at. One that JSON does not know is a backslash that was meant (C:\dir, \d), and then the others may
 * be meant so as well: C:\new. False: it is one of those. */
static bool read_escape(reader *r)
{
    char c = peek(r->in, r->at + 1);
    bool letter = c && strchr("bfnrtux", c);
    if (r->at + 1 >= r->in.n) { /* cut within the escape */
        r->at = r->in.n;
    } else if (strchr("\"\\/bfnrt", c) && c) {
        buf_put(&r->out, str_sub(r->in, r->at, 2));
        r->at += 2;
    } else if (c == 'u' && hex(r->in, r->at + 2, 4)) {
        buf_put(&r->out, str_sub(r->in, r->at, 6));
        r->at += 6;
    } else if (c == 'u' && r->in.n - r->at < 6 && hex(r->in, r->at + 2, r->in.n - r->at - 2)) {
        r->at = r->in.n;
    } else if (c == 'x' && hex(r->in, r->at + 2, 2)) {
        BUF_SAY(&r->out, "\\u00", str_sub(r->in, r->at + 2, 2));
        r->at += 4;
    } else if (c == '\'' || c == '`') {
        buf_putc(&r->out, c);
        r->at += 2;
    } else if (c == '\n') {
        r->at += 2;
    } else {
        BUF_LIT(&r->out, "\\\\");
        r->at++;
        r->raw = true;
        return false;
    }
    r->letters |= letter;
    return true;
}

/* The text ends here, within what is being read. */
static bool ends_within(reader *r)
{
    r->cut = true;
    return false;
}

/* A string with quotes within may have been cut at one of them that a bracket follows. Then one that was opened in it
 * is not closed: d = {"k"} */
static bool is_balanced(daruma_str s)
{
    static const char opens[] = "([{", closes[] = ")]}";
    for (size_t k = 0; opens[k]; k++) {
        size_t open = 0;
        for (size_t i = 0; i < s.n; i++) {
            if (s.p[i] == closes[k] && !open)
                return false;
            open += s.p[i] == opens[k];
            open -= s.p[i] == closes[k];
        }
        if (open)
            return false;
    }
    return true;
}

/* The string whose quote is at r->at. */
static bool read_string(reader *r, bool key)
{
    size_t len, within = 0;
    char quote = quote_at(r->in, r->at, &len);
    bool curly = len > 1, escaped = false, raw = false;
    buf_putc(&r->out, '"');
    size_t from = r->out.n;
    for (r->at += len; r->at < r->in.n;) {
        char c = r->in.p[r->at];
        if (c == '\\') {
            bool known = read_escape(r);
            escaped |= known;
            raw |= !known;
            continue;
        }
        if (quote_at(r->in, r->at, &len) != quote || (len > 1 && !curly)) {
            put_char(&r->out, c);
            r->at++;
            continue;
        }
        size_t behind = r->at + len;
        size_t next = repair_blank(r->in, behind);
        bool colon = peek(r->in, next) == ':';
        if (key ? colon : follows(r, behind)) {
            bool last = quote == '`' || r->at >= r->last_quote[quote == '\''];
            if (within % 2 && !last && !key)
                return false;
            if ((within && !is_balanced(str_from(buf_str(&r->out), from))) || (raw && escaped))
                return false;
            r->quotes |= within > 0;
            buf_putc(&r->out, '"');
            r->at = behind;
            return true;
        }
        if (key && next >= r->in.n)
            return ends_within(r);
        if (colon || key) /* "a": "b, "c": ... : a quote is missing, who knows where */
            return false;
        bool apostrophe = c == '\'' && r->at && ch_word(r->in.p[r->at - 1]) && ch_word(peek(r->in, behind));
        within += !apostrophe;
        if (len == 1)
            put_char(&r->out, c);
        else
            buf_put(&r->out, str_sub(r->in, r->at, len));
        r->at = behind;
    }
    return ends_within(r);
}

/* ---- numbers and words ---- */

static bool read_hex(reader *r)
{
    uint64_t v = 0;
    size_t n = 0;
    for (; hex(r->in, r->at, 1); r->at++, n++) {
        char c = ch_lower(r->in.p[r->at]);
        v = v << 4 | (uint64_t)(ch_digit(c) ? c - '0' : c - 'a' + 10);
    }
    if (r->at == r->in.n)
        return ends_within(r);
    buf_int(&r->out, (int64_t)v);
    return n && n < 16 && !name_char(peek(r->in, r->at));
}

static bool read_digits(reader *r)
{
    size_t from = r->at;
    while (ch_digit(peek(r->in, r->at)))
        r->at++;
    buf_put(&r->out, str_sub(r->in, from, r->at - from));
    return r->at > from;
}

static bool read_number(reader *r)
{
    bool minus = peek(r->in, r->at) == '-';
    if (minus || peek(r->in, r->at) == '+')
        r->at++;
    if (minus)
        buf_putc(&r->out, '-');
    if (peek(r->in, r->at) == '0' && ch_lower(peek(r->in, r->at + 1)) == 'x') {
        r->at += 2;
        return read_hex(r);
    }
    if (peek(r->in, r->at) == '0' && ch_digit(peek(r->in, r->at + 1)))
        return false; /* 010: eight or ten? */
    bool whole = read_digits(r);
    if (peek(r->in, r->at) == '.') {
        r->at++;
        if (!whole)
            buf_putc(&r->out, '0');
        size_t dot = r->out.n;
        buf_putc(&r->out, '.');
        if (!read_digits(r)) {
            r->out.n = dot;
            if (!whole)
                return false;
        }
        whole = true;
    }
    if (whole && ch_lower(peek(r->in, r->at)) == 'e') {
        buf_putc(&r->out, r->in.p[r->at++]);
        if (peek(r->in, r->at) == '+' || peek(r->in, r->at) == '-')
            buf_putc(&r->out, r->in.p[r->at++]);
        if (!read_digits(r))
            return false;
    }
    if (r->at == r->in.n) /* perhaps there were more digits */
        return ends_within(r);
    return whole && !name_char(peek(r->in, r->at)) && peek(r->in, r->at) != '.';
}

/* A word stands for a value only when it is whole. JSON has no NaN and no Infinity, and nothing that means the same. */
static bool read_word(reader *r)
{
    static const struct {
        const char *word, *json;
    } words[] = {{"true", "true"}, {"false", "false"}, {"null", "null"}, {"none", "null"}, {"undefined", "null"}};
    daruma_str rest = str_from(r->in, r->at);
    size_t n = 0;
    while (n < rest.n && name_char(rest.p[n]))
        n++;
    for (size_t i = 0; n && i < COUNT(words); i++) {
        if (!str_ieq(str_sub(rest, 0, n), str_of(words[i].word)))
            continue;
        r->at += n;
        buf_putz(&r->out, words[i].json);
        return true;
    }
    return n == rest.n ? ends_within(r) : false;
}

/* ---- containers ---- */

static bool opened_above(const reader *r, char open)
{
    for (size_t i = 0; i + 1 < r->depth; i++)
        if (r->open[i] == open)
            return true;
    return false;
}

/* Is the container that is open done? Its bracket is passed; one that is missing shows in the bracket of one above. */
static bool closed(reader *r)
{
    char own = r->open[r->depth - 1], c = peek(r->in, r->at);
    if (c != '}' && c != ']')
        return false;
    if (c == (own == '{' ? '}' : ']')) {
        r->at++;
        return true;
    }
    r->unlike = true;
    return opened_above(r, c == '}' ? '{' : '[');
}

static bool read_key(reader *r)
{
    size_t len, from = r->at;
    if (quote_at(r->in, r->at, &len))
        return read_string(r, true);
    while (name_char(peek(r->in, r->at)) || (r->at > from && peek(r->in, r->at) == '-'))
        r->at++;
    BUF_SAY(&r->out, "\"", str_sub(r->in, from, r->at - from), "\"");
    return r->at > from;
}

static bool read_member(reader *r, bool first)
{
    if (!first)
        buf_putc(&r->out, ',');
    if (r->open[r->depth - 1] == '{') {
        if (!read_key(r))
            return false;
        r->at = repair_blank(r->in, r->at);
        if (peek(r->in, r->at) == ':') {
            buf_putc(&r->out, ':');
            r->at = repair_blank(r->in, r->at + 1);
        } else if (r->at < r->in.n) {
            return false;
        }
    }
    return r->at < r->in.n ? read_value(r) : ends_within(r);
}

/* Members up to the closing bracket; r->at stands behind the opening one. */
static bool read_members(reader *r)
{
    bool first = true, comma = true, object = r->open[r->depth - 1] == '{';
    for (;;) {
        size_t behind = r->at;
        r->at = repair_blank(r->in, r->at);
        if (r->at >= r->in.n) {
            r->missing++;
            return comma ? ends_within(r) : true;
        }
        if (closed(r))
            return true;
        if (peek(r->in, r->at) == ',') {
            if (comma && (first || !object))
                return false; /* [1,,2]: a hole or a slip? */
            comma = true;
            r->at++;
            continue;
        }
        if (!comma && (object ? !repair_key_at(r->in, r->at)
                              : !value_at(r->in, r->at) || (behind == r->at && !strchr("[{", peek(r->in, r->at)))))
            return false;
        if (!read_member(r, first))
            return false;
        first = comma = false;
    }
}

static bool read_container(reader *r, char open)
{
    if (r->depth == REPAIR_DEPTH_MAX)
        return false;
    r->open[r->depth++] = open;
    r->at++;
    buf_putc(&r->out, open);
    if (!read_members(r))
        return false;
    buf_putc(&r->out, open == '{' ? '}' : ']');
    r->depth--;
    return true;
}

static bool read_value(reader *r)
{
    size_t len;
    char c = peek(r->in, r->at);
    if (c == '{' || c == '[')
        return read_container(r, c);
    if (quote_at(r->in, r->at, &len))
        return read_string(r, false);
    if (ch_digit(c) || c == '-' || c == '+' || c == '.')
        return read_number(r);
    return read_word(r);
}

static size_t last_of(daruma_str s, char c)
{
    const char *hit = memrchr(s.p, c, s.n);
    return hit ? (size_t)(hit - s.p) : 0;
}

repair_value repair_read(daruma_str text, size_t at, daruma_arena *a)
{
    reader r = {.in = text, .at = at, .out = buf_in(a)};
    r.last_quote[0] = last_of(text, '"');
    r.last_quote[1] = last_of(text, '\'');
    bool unsure = !read_value(&r) || (r.quotes && (r.unlike || r.missing)) || (r.raw && r.letters);
    if (unsure || r.out.full || !json_valid(buf_str(&r.out)))
        return (repair_value){.cut = r.cut};
    return (repair_value){.json = buf_str(&r.out), .end = r.at, .missing = r.missing, .quotes = r.quotes};
}
