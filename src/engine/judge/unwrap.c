/* unwrap.c - takes code, type, status, parameter and message out of whatever an error came in.
 *
 *     litellm.BadRequestError: AnthropicException - {"error":{"message":"{\"type\":...}"}}
 *     ^ class names, status       text around it    ^ JSON     ^ JSON in a string, at most 8 of them
 *
 * Valid JSON is walked as JSON (reader.c). What only resembles it (Python dicts, unescaped quotes, a cut
 * body) is scanned for `"key": value` pairs; both feed the same table of key names. */
#include "engine/judge/echo.h"
#include "engine/read/chars.h"
#include "engine/read/line.h"
#include "engine/read/sentence.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* ---- text -------------------------------------------------------------------------------------- */

static bool holds(daruma_str t, daruma_str what)
{
    return str_find(t, what) != STR_NONE;
}

/* True if the code that was met after `codes` others has a seam, as names of errors have: "no_user_key". */
static bool names_error(const reader *r, size_t codes)
{
    return r->s->ncodes > codes && str_findch(r->s->codes[codes], '_') != STR_NONE;
}

/* What a text says of itself before `at`, where that which it wraps begins. */
static void read_before(reader *r, daruma_str t, size_t at, int level)
{
    reader_prefix(r, str_sub(t, 0, at), false);
    reader_text(r, str_sub(t, 0, at), level);
}

/* "rpc error: code = Unavailable desc = ...": how gRPC prints an error. False: there is none. */
static bool read_grpc(reader *r, daruma_str t, int level)
{
    static const daruma_str lead = LIT("rpc error: code = "), desc = LIT(" desc = ");
    size_t at = memchr(t.p, '=', t.n) ? str_find(t, lead) : STR_NONE,
           end = at == STR_NONE ? at : str_find(str_from(t, at), desc);
    if (end == STR_NONE || end <= lead.n || (at && char_is(t.p[at - 1], CHAR_QUOTE))) /* what is quoted is no error */
        return false;
    reader_member(r, IS_CODE, str_sub(t, at + lead.n, end - lead.n), level);
    read_before(r, t, at, level - 1);
    reader_string(r, str_from(t, at + end + desc.n), level + 1);
    return true;
}

static void read_html(reader *r, daruma_str t, int level)
{
    daruma_str words = reader_page(r, t);
    r->s->shape |= SAID_HTML;
    reader_prefix(r, words, true);
    reader_text(r, words, level);
}

/* Does a quote stand open behind `before`? What is quoted is no error. "Doesn't" and "hosts' keys" open none. */
static bool in_quotes(daruma_str before)
{
    char open = 0;
    for (size_t i = 0; i < before.n; i++) {
        char c = before.p[i];
        bool within =
            c == '\'' && i && ch_word(before.p[i - 1]) && (!open || (i + 1 < before.n && ch_word(before.p[i + 1])));
        if ((c == '"' || c == '\'') && !within && (!open || open == c))
            open = open ? 0 : c;
    }
    return open;
}

/* "Invalid key: Error fetching from https://...: [400 Bad Request] the location ...": how Google's SDKs print an error.
 * What was sent stands behind the status. False: there is none. */
static bool read_bracketed(reader *r, daruma_str t, int level)
{
    int64_t status;
    bool quoted = false;
    if (!memchr(t.p, '[', t.n))
        return false;
    for (size_t at = 0, hit; (hit = str_find(str_from(t, at), S(": ["))) != STR_NONE; at += hit + 3) {
        size_t from = at + hit + 3, end = str_find(str_from(t, from), S("] "));
        if (end == STR_NONE)
            return false;
        quoted ^= in_quotes(str_sub(t, at, hit));
        size_t address = at + hit; /* it was asked, so that these are no words of a request */
        while (address && t.p[address - 1] != ' ')
            address--;
        if (str_find(str_sub(t, address, at + hit - address), S("://")) == STR_NONE)
            continue;
        if (!str_int(str_sub(t, from, 3), &status) || !reader_is_status(status) || (end > 3 && t.p[from + 3] != ' ') ||
            quoted)
            continue;
        reader_status(r, status, SAID_NAMED);
        read_before(r, t, from - 1, level - 1);
        reader_string(r, str_from(t, from + end + 2), level);
        return true;
    }
    return false;
}

/* Text with a page somewhere in it: "unexpected status 413: <html>...". */
static bool read_embedded_page(reader *r, daruma_str t, int level)
{
    if (!memchr(t.p, '<', t.n))
        return false;
    size_t at = str_ifind(t, S("<!doctype")), html = str_ifind(t, S("<html"));
    at = html < at ? html : at;
    if (at == STR_NONE || str_findch(str_sub(t, 0, at), '{') != STR_NONE || in_quotes(str_sub(t, 0, at)))
        return false;
    read_before(r, t, at, level - 1);
    read_html(r, str_from(t, at), level);
    return true;
}

/* Text with an object somewhere in it: the object is what was said, the rest is wrapping. */
static bool read_embedded(reader *r, daruma_str t, int level)
{
    int tries = 0;
    size_t from = 0; /* behind what is an answer's */
    for (size_t i = 0; i < t.n && tries < UNWRAP_BRACES_MAX; i++) {
        size_t brace = str_findch(str_from(t, i), '{');
        if (brace == STR_NONE)
            return false;
        i += brace && t.p[i + brace - 1] == '[' ? brace - 1 : brace; /* "[{" is a list of them */
        tries++;
        daruma_str v;
        size_t had = r->s->ntexts, codes = r->s->ncodes, texts_before = had;
        size_t end = json_skip(t, i, &v);
        bool whole = end != STR_NONE;
        if (whole) {
            reader_value(r, v, level + 1);
        } else {
            daruma_str rest = str_from(t, i);
            if (reader_cut_answer(rest)) {
                r->s->shape |= SAID_ANSWER | SAID_CUT;
                return true;
            }
            bool quoted = rest.n > 2 && (rest.p[1] == '"' || rest.p[1] == '\'' || rest.p[1] == '\\');
            size_t first = 1, value;
            while (first < rest.n && ch_space(rest.p[first]))
                first++;
            if (!quoted && (first == rest.n || !reader_key(rest, first, &value).n))
                continue;
            if (rest.p[1] == '\\') /* {\"error\": one level of quoting too many */
                rest = reader_unescape(r, rest);
            if (!reader_loose(r, rest, level + 1))
                continue;
            end = t.n;
        }
        size_t enough = codes + !(whole && names_error(r, codes)); /* one type alone may be of anything */
        /* a part of an answer may come before what broke it */
        bool answer = r->s->shape & SAID_ANSWER && !holds(str_from(t, end), S("{\"error\""));
        if (r->s->ntexts > texts_before || r->s->ncodes > enough || answer) {
            if (i && (r->s->ntexts > texts_before || r->s->ncodes > codes))
                read_before(r, str_from(t, from), i - from, level - 1);
            r->s->behind = str_from(t, end);
            return true;
        }
        from = r->s->shape & SAID_ANSWER ? end : from;
        i = end - 1;
    }
    return false;
}

/* An object whose braces a printer replaced: "***'error': ***'message': ...", ("type":"error","message":"..."). What
 * replaced the first stands directly before a member, and two that say what failed behind it in the same line: members
 * without it are lines of a file that a tool shows. */
static bool embedded_members(reader *r, daruma_str t, int level)
{
    size_t first = t.n, members = 0, value;
    if (!chars_has(t, "*(") || !chars_has(t, "\"'`"))
        return false;
    for (size_t i = 1; i < t.n && members < 2; i++) {
        if (t.p[i] == '\n')
            first = t.n, members = 0;
        daruma_str key = char_is(t.p[i], CHAR_QUOTE) ? reader_key(t, i, &value) : (daruma_str){0};
        if (key.n && first == t.n && (t.p[i - 1] == '*' || t.p[i - 1] == '('))
            first = i;
        enum role role = key.n && first < t.n ? reader_role(key) : IS_NOTHING;
        members += role == IS_MESSAGE || role == IS_CODE || role == IS_TYPE || role == IS_NEST;
    }
    if (members < 2 || !reader_loose(r, str_from(t, first), level + 1))
        return false;
    read_before(r, t, first, level - 1);
    return true;
}

/* "<tool_use_error>...</tool_use_error>", perhaps behind "[tool_result] ": what agents put around a tool's words. */
static bool read_tagged(reader *r, daruma_str t, int level)
{
    static const daruma_str tools[] = {LIT("tool_use_error"), LIT("tool_result"), LIT("tool_error"),
                                       LIT("web_fetch"),      LIT("web_search"),  LIT("stderr")};
    size_t from = t.p[t.n - 1] == '>' ? str_findch(t, '<') : STR_NONE, n = 0;
    daruma_str before = str_sub(t, 0, from);
    if (from == STR_NONE || (from && !str_ends(before, S("] ")) && !str_ieq(before, S("Error: "))))
        return false;
    daruma_str inner = str_sub(t, from + 1, t.n - from - 2); /* "name>...</name" */
    while (n < inner.n && (ch_word(inner.p[n]) || inner.p[n] == '-'))
        n++;
    daruma_str name = str_sub(inner, 0, n), end = str_from(inner, inner.n - n);
    if (!STR_ANY(str_has, name, tools) || inner.p[n] != '>' || inner.n < 2 * n + 3 || !str_eq(end, name) ||
        !str_ends(str_sub(inner, 0, inner.n - n), S("</")))
        return false;
    r->s->shape |= SAID_TAGGED;
    reader_string(r, str_sub(inner, n + 1, inner.n - 2 * n - 3), level);
    return true;
}

/* "Gave up. Last error: ...", "The key is wrong. HTTPSConnectionPool(host=...): Read timed out": what was tried, or
 * what somebody made of it, says less than how it ended. False: nothing names a cause there. */
static bool read_trail(reader *r, daruma_str t, int level)
{
    static const daruma_str last = LIT(" Last error: "), pool = LIT("ConnectionPool(host=");
    size_t at = memchr(t.p, 'L', t.n) ? str_find(t, last) : STR_NONE, from = at + last.n; /* few texts hold an L */
    if (at == STR_NONE) {
        from = memchr(t.p, '=', t.n) ? str_find(t, pool) : STR_NONE;
        while (from != STR_NONE && from && ch_alpha(t.p[from - 1]))
            from--;
        at = from;
    }
    if (!at || at == STR_NONE || in_quotes(str_sub(t, 0, at)) || !sentence_names_cause(str_from(t, from)))
        return false;
    r->s->ended = true;
    read_before(r, t, at, level - 1);
    reader_string(r, str_from(t, from), level + 1);
    return true;
}

/* Behind what Python prints in quotes from `at` on. */
static size_t repr_end(daruma_str t, size_t at)
{
    char q = t.p[at++];
    while (at < t.n && t.p[at] != q)
        at += t.p[at] == '\\' ? 2 : 1;
    return at + 1;
}

/* Does a member of a printed answer whose value `value` begins with say what is wrong? The message of a choice is an
 * object. `empty`: of an answer that holds nothing. */
static bool member_speaks(daruma_str key, daruma_str value, bool empty)
{
    static const daruma_str silent[] = {LIT("None"), LIT("''"), LIT("\"\""), LIT("{}"), LIT("[]")};
    if (STR_ANY(str_starts, value, silent))
        return false;
    if (str_eq(key, S("error")))
        return true;
    enum role role = empty ? reader_role(key) : IS_NOTHING;
    return role == IS_NEST || role == IS_CODE || (role == IS_MESSAGE && char_is(value.p[0], CHAR_QUOTE));
}

/* True if a member of an answer that Python prints says what is wrong: "error=ResponseError(...)", "detail='...'". */
static bool printed_speaks(daruma_str t, bool empty)
{
    for (size_t at = 0, from = 0; at + 1 < t.n; at++) {
        if (char_is(t.p[at], CHAR_QUOTE))
            at = repr_end(t, at) - 1;
        else if (t.p[at] == '=' && member_speaks(str_sub(t, from, at - from), str_from(t, at + 1), empty))
            return true;
        if (at < t.n && !ch_word(t.p[at]))
            from = at + 1;
    }
    return false;
}

/* "ChatCompletion(id='c1', choices=[], ...)": an answer as Python prints it. Its form is read, none of its words, where
 * no member says what is wrong. */
static bool read_printed_answer(reader *r, daruma_str t)
{
    size_t n = 0;
    while (n < t.n && ch_word(t.p[n]))
        n++;
    if (!n || n == t.n || t.p[n] != '(' || t.p[t.n - 1] != ')' ||
        !(holds(t, S(" choices=")) || holds(t, S(" output=["))))
        return false;
    bool empty = holds(t, S(" choices=[]")) || holds(t, S(" choices=None")) || holds(t, S(" output=[]")) ||
                 holds(t, S("content=None")) || holds(t, S("content=''"));
    empty = empty && !holds(t, S("tool_calls=["));
    if (printed_speaks(t, empty))
        return false;
    r->s->shape |= SAID_ANSWER | (empty ? 0 : SAID_CONTENT);
    return true;
}

/* ---- pages and streams -------------------------------------------------------------------- */

static bool is_html(daruma_str t)
{
    static const daruma_str starts[] = {LIT("!doctype"), LIT("html"),  LIT("head"), LIT("body"),
                                        LIT("center>"),  LIT("title"), LIT("h1"),   LIT("h2"),
                                        LIT("h3"),       LIT("?xml"),  LIT("!--"),  LIT("div")};
    daruma_str tag = str_from(t, str_starts(t, S("</")) ? 2 : 1); /* the beginning of the page may be cut off */
    return t.p[0] == '<' && STR_ANY(str_istarts, tag, starts);
}

static bool is_sse(daruma_str t)
{
    static const daruma_str starts[] = {LIT("data:"), LIT("event:"), LIT(": "), LIT(":\n"), LIT("id:"), LIT("retry:")};
    return STR_ANY(str_starts, t, starts);
}

static bool is_error_event(daruma_str name)
{
    return str_ifind(name, S("error")) != STR_NONE || str_ifind(name, S("exception")) != STR_NONE ||
           str_eq(name, S("response.failed"));
}

static void read_sse(reader *r, daruma_str t, int level)
{
    daruma_str rest = t, event = {0};
    r->s->shape |= SAID_STREAM;
    while (rest.n && r->values++ < UNWRAP_VALUES_MAX * 4) {
        daruma_str line = str_trim(str_cut(&rest, '\n')), v;
        if (str_starts(line, S("event:"))) {
            event = str_trim(str_from(line, 6));
            if (str_eq(event, S("message_stop")) || str_eq(event, S("response.completed")))
                r->s->shape |= SAID_FINISHED | SAID_ANSWER;
        }
        if (!str_starts(line, S("data:")))
            continue;
        daruma_str data = str_trim(str_from(line, 5));
        if (str_eq(data, S("[DONE]"))) {
            r->s->shape |= SAID_FINISHED | SAID_ANSWER;
        } else if (is_error_event(event)) {
            r->s->shape |= SAID_ERROR_EVENT;
            reader_any(r, data, level + 1);
        } else if (json_whole(data, &v)) {
            reader_value(r, v, level + 1);
        } else if (data.n && data.p[0] == '{') {
            daruma_str all = {data.p, (size_t)(t.p + t.n - data.p)};
            size_t end = json_skip(all, 0, &v); /* over several lines, though none but the first says "data:" */
            if (end != STR_NONE) {
                reader_value(r, v, level + 1);
                rest = str_from(all, end);
                continue;
            }
            r->s->shape |= SAID_CUT;
            reader_loose(r, data, level + 1);
        } else {
            reader_text(r, data, level + 1);
        }
    }
}

/* ---- anything ----------------------------------------------------------------------------- */

/* Words for people, perhaps in a log or behind a stack; not JSON, a page or a stream of events. */
static bool is_of_lines(daruma_str t)
{
    daruma_str v;
    char next = t.n > 1 ? t.p[1] : 0;
    bool json = t.p[0] == '{' || t.p[0] == '<' || (t.p[0] == '[' && !ch_digit(next) && !ch_alpha(next)) ||
                (t.p[0] == '"' && json_whole(t, &v));
    return !json && !is_sse(t);
}

void reader_any(reader *r, daruma_str t, int level)
{
    t = reader_straight(r, str_trim(t));
    if (!t.n)
        return;
    if (level > UNWRAP_DEPTH_MAX || r->strings > JSON_UNWRAP_LEVELS_MAX) {
        reader_text(r, t, level);
        return;
    }
    daruma_str inner = t.n > 4 ? str_sub(t, 1, t.n - 2) : (daruma_str){0};
    if (inner.n && t.p[0] == '"' && t.p[t.n - 1] == '"' && memchr("{[", inner.p[0], 2) && json_whole(inner, &inner)) {
        reader_value(r, inner, level); /* JSON in quotes that nobody escaped */
        return;
    }
    if (is_of_lines(t)) {
        t = line_strip(t, r->a);
        t = str_from(t, sentence_lead(t));
    }
    size_t value;
    if (t.p[0] == '"' && reader_key(t, 0, &value).n) { /* a member alone */
        if (reader_loose(r, t, level))
            return;
        t = str_from(t, value);
    }
    if (t.p[0] == '{' || t.p[0] == '[') {
        daruma_str v, rest = t;
        size_t end = json_skip(rest, 0, &v);
        if (end != STR_NONE) { /* one value, or one a line */
            size_t texts = r->s->ntexts;
            while (end != STR_NONE && r->values++ < UNWRAP_VALUES_MAX) {
                if (json_is_object(v) || json_is_array(v))
                    reader_value(r, v, level);
                rest = str_trim(str_from(rest, end));
                end = rest.n ? json_skip(rest, 0, &v) : STR_NONE;
            }
            if (rest.n && t.p[0] == '[' && r->s->ntexts == texts)
                reader_text(r, t, level); /* "[Tool] failed": not JSON after all */
            else if (rest.n && rest.p[0] == '{')
                r->s->shape |= SAID_CUT;
            return;
        }
        if (reader_cut_answer(t)) {
            r->s->shape |= SAID_ANSWER | SAID_CUT;
            return;
        }
        if (reader_loose(r, t, level)) {
            if (r->s->ntexts == 0)
                r->s->shape |= SAID_CUT;
            return;
        }
        if (t.p[0] == '{')
            r->s->shape |= SAID_CUT;
    }
    daruma_str quoted = reader_logged(t);
    if (quoted.n || (t.p[0] == '"' && json_whole(t, &quoted) && json_is_string(quoted))) {
        reader_string(r, json_text(quoted, r->a), level + 1);
        return;
    }
    if (read_tagged(r, t, level))
        return;
    if (is_html(t)) {
        read_html(r, t, level);
    } else if (is_sse(t)) {
        read_sse(r, t, level);
    } else if (!read_printed_answer(r, t) && !read_embedded_page(r, t, level) && !read_grpc(r, t, level) &&
               !read_trail(r, t, level) && !read_bracketed(r, t, level) && !read_embedded(r, t, level) &&
               !embedded_members(r, t, level)) {
        reader_prefix(r, t, true);
        reader_text(r, t, level);
    }
}

void unwrap(said *s, daruma_str body, echo *e, daruma_arena *a)
{
    *s = (said){.wait = -1, .reset_wall = -1, .limit = -1, .used = -1, .requested = -1};
    reader r = {.s = s, .a = a, .best = -9, .code_rank = -9, .echo = e};
    body = str_sub(body, 0, CLASSIFY_BODY_BYTES_MAX);
    if (body.n >= 3 && memcmp(body.p, "\xef\xbb\xbf", 3) == 0)
        body = str_from(body, 3);
    reader_any(&r, body, 0);
    if (!s->finish.n && !s->ncodes) /* an error may name one in passing */
        reader_member(&r, IS_FINISH, reader_finish(body), 0);
    if (!s->ntexts && !s->ncodes && !(s->shape & (SAID_ANSWER | SAID_STREAM | SAID_CUT)))
        s->shape |= SAID_NOTHING;
}
