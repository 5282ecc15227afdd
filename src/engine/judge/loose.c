/* loose.c - reads what only resembles JSON (Python dicts, unescaped quotes, a cut body), the words of pages, and what
 * SDKs put before it (class names, status numbers). */
#include "engine/judge/reader.h"
#include "engine/read/chars.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

#define UPSTREAM_BYTES_MAX 32 /* between the word and the status */

/* ---- what only resembles JSON -------------------------------------------------------- */

/* Backslash escapes away: what a Python repr or a twice quoted string carries. */
daruma_str reader_unescape(reader *r, daruma_str raw)
{
    if (str_findch(raw, '\\') == STR_NONE)
        return raw;
    char *out = arena_take(r->a, raw.n, 1);
    if (!out)
        return raw;
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '\\' && i + 1 < raw.n) {
            c = raw.p[++i];
            c = c == 'n' || c == 't' || c == 'r' ? ' ' : c;
        }
        out[n++] = c;
    }
    return (daruma_str){out, n};
}

/* Where the value that `quote` opened ends: at a quote with , } ] ), the end of a line or nothing behind it. */
static size_t loose_end(daruma_str t, size_t at, char quote)
{
    for (size_t i = at; i < t.n; i++) {
        if (t.p[i] == '\\') {
            i++;
            continue;
        }
        if (t.p[i] != quote)
            continue;
        size_t next = i + 1;
        while (next < t.n && (ch_space(t.p[next]) || t.p[next] == '\\'))
            next++;
        if (next >= t.n || t.p[i + 1] == '\n' || memchr(",}])\"'", t.p[next], 6))
            return i;
    }
    return t.n;
}

/* `"body", "messages", 0]...`, or as a tuple, as "body.messages.0". */
static void add_loose_path(reader *r, daruma_str list)
{
    daruma_buf b = buf_in(r->a);
    for (size_t i = 0; i < list.n && list.p[i] != ']' && list.p[i] != ')'; i++)
        if (ch_word(list.p[i]))
            buf_putc(&b, list.p[i]);
        else if (list.p[i] == ',')
            buf_putc(&b, '.');
    if (!r->s->param.n)
        r->s->param = buf_str(&b);
}

daruma_str reader_key(daruma_str t, size_t i, size_t *ret_value)
{
    bool quoted = t.p[i] == '"' || t.p[i] == '\'';
    size_t before = i, from = i + quoted, end = from;
    while (!quoted && before && t.p[before - 1] == ' ')
        before--;
    if (!quoted && (!ch_alpha(t.p[i]) || (before && !memchr("{,\n", t.p[before - 1], 3))))
        return (daruma_str){0};
    while (end < t.n && end - i <= KEY_BYTES_MAX && (char_is(t.p[end], CHAR_WORD) || t.p[end] == '-'))
        end++;
    size_t colon = end + quoted;
    if (end == from || colon >= t.n || (quoted && t.p[end] != t.p[i]))
        return (daruma_str){0};
    while (colon < t.n && t.p[colon] == ' ')
        colon++;
    if (colon >= t.n || t.p[colon] != ':')
        return (daruma_str){0};
    size_t v = colon + 1;
    bool member = quoted || (before && memchr("{,", t.p[before - 1], 2));
    while (v < t.n && (member ? ch_space(t.p[v]) : t.p[v] == ' ')) /* a terminal, or Node, may have wrapped it */
        v++;
    if (v >= t.n || (!quoted && t.p[v] != '"' && t.p[v] != '\'' && !ch_digit(t.p[v])))
        return (daruma_str){0};
    if (!quoted && v == colon + 1 && (!before || t.p[before - 1] == '\n'))
        return (daruma_str){0}; /* "error:400" is text, {grpc_status:3} an object as C++ prints it */
    *ret_value = v;
    return str_sub(t, from, end - from);
}

/* Reads `"key": value`, `'key': value` and `key: "value"` wherever they stand. True when there was any. */
bool reader_loose(reader *r, daruma_str t, int level)
{
    bool any = false;
    int deep = level;
    enum role named = IS_NOTHING; /* of what `key: "quota_limit_value" value: "0"` holds, as protobuf prints a map */
    for (size_t i = 0; i < t.n && r->values < UNWRAP_VALUES_MAX; i++) {
        char q = t.p[i];
        size_t v;
        if (q == '{')
            deep += deep <= UNWRAP_DEPTH_MAX;
        daruma_str key = q == '"' || q == '\'' || ch_alpha(q) ? reader_key(t, i, &v) : (daruma_str){0};
        if (!key.n) {
            while (ch_alpha(q) && i + 1 < t.n && char_is(t.p[i + 1], CHAR_WORD))
                i++;
            continue;
        }
        enum role role = reader_role(key);
        if (r->s->shape & SAID_RPC && str_eq(key, S("text"))) /* of a tool's result */
            role = IS_MESSAGE;
        r->values++;
        while (role == IS_MESSAGE && v + 1 < t.n && (t.p[v] == '[' || ch_space(t.p[v]))) /* the first of several */
            v++;
        if (t.p[v] == '"' || t.p[v] == '\'') {
            if (v + 2 < t.n && t.p[v + 1] == '{' && (t.p[v + 2] == '"' || t.p[v + 2] == '\'')) {
                i = v; /* an object in quotes that nobody escaped: go on inside it */
                continue;
            }
            size_t stop = loose_end(t, v + 1, t.p[v]);
            role = str_eq(key, S("value")) ? named : role;
            named = str_eq(key, S("key")) ? reader_role(str_sub(t, v + 1, stop - v - 1)) : IS_NOTHING;
            if (role != IS_NOTHING) {
                reader_member(r, role, reader_unescape(r, str_sub(t, v + 1, stop - v - 1)), deep);
                any |= role == IS_MESSAGE || role == IS_CODE || role == IS_TYPE || role == IS_NEST || role == IS_FINISH;
            }
            i = stop;
        } else if ((t.p[v] == '[' || t.p[v] == '(') && (role == IS_PARAM || role == IS_PATH)) {
            add_loose_path(r, str_sub(t, v + 1, PARAM_BYTES_MAX));
            i = v;
        } else if (ch_digit(t.p[v]) || t.p[v] == '-') {
            size_t stop = v + 1;
            while (stop < t.n && (ch_digit(t.p[stop]) || t.p[stop] == '.'))
                stop++;
            reader_member(r, role, str_sub(t, v, stop - v), deep);
            i = stop - 1;
        } else {
            i = v - 1;
        }
    }
    return any;
}

/* ---- answers and logs ------------------------------------------------------------------ */

bool reader_cut_answer(daruma_str t)
{
    daruma_str key, v, rest = t;
    bool answer = false;
    for (json_iter it = json_open(t); json_next(&it, &key, &v); rest = str_from(t, (size_t)(v.p + v.n - t.p))) {
        if (str_eq(key, S("error")) && !json_is_null(v))
            return false;
        answer |= str_eq(key, S("object")) && str_eq(v, S("\"response\""));
        answer |= str_eq(key, S("type")) && str_eq(v, S("\"message\""));
    }
    if (answer) /* the member that broke off may be its error */
        return str_find(str_sub(rest, 0, sizeof ", \"error\""), S("\"error\"")) == STR_NONE;
    return str_find(t, S("\"choices\"")) != STR_NONE && str_find(t, S("\"error\"")) == STR_NONE;
}

/* True if the text is of `key=value` pairs, as many logs are. */
static bool is_pairs(daruma_str t)
{
    int pairs = 0;
    for (size_t at = 0, n; pairs < 2 && (n = str_findch(str_from(t, at), '=')) != STR_NONE; at += n + 1) {
        size_t sign = at + n;
        pairs += sign && sign + 1 < t.n && char_is(t.p[sign - 1], CHAR_WORD) && !ch_space(t.p[sign + 1]);
    }
    return pairs == 2;
}

daruma_str reader_logged(daruma_str t)
{
    static const daruma_str names[] = {LIT(" error=\""), LIT(" err=\""), LIT(" msg=\""), LIT(" message=\"")};
    daruma_str v, line = S(" message: \"");
    size_t hit = STR_NONE;
    bool pairs = is_pairs(t);
    for (size_t i = 0; pairs && hit == STR_NONE && i < COUNT(names); i++)
        if ((hit = str_find(t, names[i])) != STR_NONE)
            hit += names[i].n - 1;
    if (hit == STR_NONE && memchr(t.p, '\n', t.n) && (hit = str_find(t, line)) != STR_NONE)
        hit += line.n - 1;
    size_t end = hit != STR_NONE ? json_skip(t, hit, &v) : STR_NONE;
    bool inside = end < t.n && (ch_word(t.p[end]) || t.p[end] == '\\'); /* a quote within that nobody escaped */
    return end != STR_NONE && !inside ? v : (daruma_str){0};
}

/* ---- pages, and what programs print ----------------------------------------------------- */

daruma_str reader_page(reader *r, daruma_str t)
{
    size_t cap = t.n < CLASSIFY_MESSAGE_BYTES_MAX ? t.n : CLASSIFY_MESSAGE_BYTES_MAX, n = 0;
    char *out = arena_take(r->a, cap + 1, 1);
    if (!out)
        return (daruma_str){0};
    for (size_t i = 0; i < t.n && n < cap;) {
        if (t.p[i] != '<') {
            bool space = ch_space(t.p[i]);
            if (!space || (n && out[n - 1] != ' '))
                out[n++] = space ? ' ' : t.p[i];
            i++;
            continue;
        }
        daruma_str tag = str_from(t, i);
        daruma_str until = str_istarts(tag, S("<script"))  ? S("</script")
                           : str_istarts(tag, S("<style")) ? S("</style")
                           : str_istarts(tag, S("<!--"))   ? S("-->")
                                                           : S(">");
        size_t end = str_ifind(tag, until);
        if (end == STR_NONE)
            break;
        i += end + until.n;
        if (until.p[0] == '<') {
            size_t close = str_findch(str_from(t, i), '>');
            i = close == STR_NONE ? t.n : i + close + 1;
        }
        if (n && n < cap && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    return str_trim((daruma_str){out, n});
}

daruma_str reader_straight(reader *r, daruma_str t)
{
    size_t brace = chars_has(t, "\xe2") ? str_find(t, S("{\xe2\x80\x9c")) : STR_NONE;
    bool quoted = brace == STR_NONE || (brace && char_is(t.p[brace - 1], CHAR_QUOTE));
    char *out = !quoted ? arena_take(r->a, t.n, 1) : NULL;
    size_t n = 0;
    if (!out)
        return t;
    for (size_t i = 0; i < t.n; i++) {
        daruma_str at = str_sub(t, i, 3);
        bool quote = str_eq(at, S("\xe2\x80\x9c")) || str_eq(at, S("\xe2\x80\x9d"));
        out[n++] = quote ? '"' : t.p[i];
        i += quote ? 2 : 0;
    }
    return (daruma_str){out, n};
}

daruma_str reader_finish(daruma_str t)
{
    static const daruma_str before[] = {LIT("inishR"),  LIT("inish_r"), LIT("topR"),         LIT("top_r"),
                                        LIT("inish R"), LIT("inish r"), LIT("topped with r")};
    for (size_t at = 0, hit; (hit = str_find(str_from(t, at), S("eason"))) != STR_NONE;) {
        daruma_str head = str_sub(t, 0, at + hit);
        size_t from = head.n + 5, end;
        at = from;
        if (!STR_ANY(str_ends, head, before))
            continue;
        bool quoted = false; /* else small letters are the words of a sentence */
        for (; from < t.n && memchr(".: =\"'", t.p[from], 6); from++)
            quoted |= memchr("\"'=", t.p[from], 3) != NULL;
        quoted |= str_findch(str_from(t, from), ' ') == STR_NONE; /* all that is left */
        for (end = from; end < t.n && ((t.p[end] >= 'A' && t.p[end] <= 'Z') || t.p[end] == '_' ||
                                       (quoted && t.p[end] >= 'a' && t.p[end] <= 'z'));)
            end++;
        if (end > from + 3 && from > at)
            return str_sub(t, from, end - from);
    }
    return (daruma_str){0};
}

/* ---- text ------------------------------------------------------------------------------- */

/* "RateLimitError", "litellm.Timeout:", "botocore.errorfactory.ThrottlingException": names of classes. */
static bool is_class(daruma_str w)
{
    static const daruma_str tails[] = {LIT("Error"), LIT("Exception"), LIT("Timeout"), LIT("Fault")};
    if (w.n < 6 || !ch_alpha(w.p[0]))
        return false;
    return STR_ANY(str_ends, str_from(w, 1), tails);
}

/* True if the name of a status stands behind its number: "429 Too Many Requests" is said of nothing else. */
static bool is_status_line(int64_t status, daruma_str behind)
{
    static const struct {
        int status;
        daruma_str name;
    } names[] = {{400, LIT(" Bad Request")},     {401, LIT(" Unauthorized")},  {403, LIT(" Forbidden")},
                 {404, LIT(" Not Found")},       {422, LIT(" Unprocessable")}, {429, LIT(" Too Many Requests")},
                 {500, LIT(" Internal Server")}, {502, LIT(" Bad Gateway")},   {503, LIT(" Service Unavailable")},
                 {504, LIT(" Gateway Time")}};
    for (size_t i = 0; i < COUNT(names); i++)
        if (names[i].status == status)
            return str_istarts(behind, names[i].name);
    return false;
}

/* True if a status that may pass is said of who stands behind a proxy: "Upstream returned 429". It is why the proxy's
 * own is what it is. What refuses the proxy's key, not ours, says nothing of us. */
static bool is_upstream(int64_t status, daruma_str before)
{
    before = str_from(before, before.n > UPSTREAM_BYTES_MAX ? before.n - UPSTREAM_BYTES_MAX : 0);
    return (status == 429 || status >= 500) && str_ifind(before, S("upstream")) != STR_NONE;
}

/* True if the name of a class or of an error may stand there; mostly there is none. */
static bool may_name(daruma_str t)
{
    static const daruma_str within[] = {LIT("rror"), LIT("xception"), LIT("imeout"), LIT("ault"),
                                        LIT(") when calling")};
    return STR_ANY(str_has, t, within);
}

static bool ends_in(daruma_str text, const daruma_str *words, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (text.n >= words[k].n && str_ieq(str_from(text, text.n - words[k].n), words[k]))
            return true;
    return false;
}

/* Class names and status numbers of the text around a message, or of a bare message. Only the
 * beginning counts: further on a number is anything. */
void reader_prefix(reader *r, daruma_str t, bool is_all)
{
    static const daruma_str says_status[] = {
        LIT("error code"), LIT("status code"),    LIT("statuscode"), LIT("status_code"), LIT("status"),
        LIT("http"),       LIT("http/1.1"),       LIT("code"),       LIT("http error"),  LIT("api error"),
        LIT("error"),      LIT("returned"),       LIT("response"),   LIT("with status"), LIT("api"),
        LIT("http/2"),     LIT("responded with"), LIT("success"),
    };
    static const daruma_str may_count[] = {LIT("got"), LIT("received")}; /* "got 512 values" */
    t = str_sub(t, 0, 300);
    if (!chars_digit(t) && !may_name(t))
        return;
    for (size_t i = 0; i < t.n;) {
        if (!char_is(t.p[i], CHAR_WORD)) {
            i++;
            continue;
        }
        size_t end = i + 1;
        while (end < t.n) {
            if (char_is(t.p[end], CHAR_WORD))
                end++;
            else if (t.p[end] == '.' && end + 1 < t.n && char_is(t.p[end + 1], CHAR_WORD))
                end += 2;
            else
                break;
        }
        daruma_str w = str_sub(t, i, end - i);
        int64_t n;
        if (is_class(w)) {
            for (size_t dot; (dot = str_findch(w, '.')) != STR_NONE;)
                w = str_from(w, dot + 1);
            reader_code(r, w, -1, true);
        } else if (w.n == 5 && i && t.p[i - 1] == '-' && str_starts(w, S("32"))) { /* of JSON-RPC */
            reader_code(r, str_sub(t, i - 1, 6), -1, true);
        } else if (i && t.p[i - 1] == '(' && str_starts(str_from(t, end), S(") when calling"))) { /* botocore */
            reader_code(r, w, 0, false);
        } else if (i == 0 && str_ends(w, S("_error"))) { /* "invalid_request_error: ..." */
            reader_code(r, w, 0, true);
        } else if (w.n == 3 && str_int(w, &n) && reader_is_status(n) &&
                   (!r->s->status || is_upstream(n, str_sub(t, 0, i)))) {
            size_t b = i;
            while (b && (memchr(" :=([\"'/-", t.p[b - 1], 9)))
                b--;
            daruma_str before = str_sub(t, 0, b);
            bool quoted = i && char_is(t.p[i - 1], CHAR_QUOTE); /* it may be a value of the request */
            bool told =
                b == 0 && !quoted && (!is_all || end == t.n || t.p[end] == ' ' || t.p[end] == ':' || t.p[end] == '-');
            told |= before.n && before.n < 11 && is_class(before);
            told |= ends_in(before, says_status, COUNT(says_status));
            bool maybe = i && t.p[i - 1] == '(' && end < t.n && t.p[end] == ')'; /* "width (500) must be ..." */
            maybe |= ends_in(before, may_count, COUNT(may_count));
            if (told || maybe || (!quoted && is_status_line(n, str_from(t, end))))
                reader_status(r, n, told ? SAID_NAMED : SAID_IN_LINE);
        }
        i = end;
    }
}
