/* line.c - takes away what means nothing, by its form and not by what made it.
 *
 *     2026-11-23T07:12:31Z ERROR [llm] Traceback (most recent call last):
 *       File "/app/x.py", line 8, in step            a frame: it names a place in code
 *         answer = client.complete(messages)         ... and the line of code that stands there
 *     RateLimitError: Slow down. (request id: r_81)  -> RateLimitError: Slow down. */
#include "engine/read/line.h"
#include "engine/read/chars.h"
#include "base/arena.h"
#include "base/str.h"

#define TAILS_MAX  4   /* at the end of one text: an address, an id, ... */
#define HEAD_WORDS 10  /* of a log line before its message */
#define TAIL_BYTES 400 /* a longer tail says something */

/* The word at the beginning of `t`, up to white space. */
static daruma_str first_word(daruma_str t)
{
    size_t n = 0;
    while (n < t.n && !ch_space(t.p[n]))
        n++;
    return str_sub(t, 0, n);
}

/* `w` without brackets and punctuation around it. */
static daruma_str bare(daruma_str w)
{
    while (w.n && memchr("([<{\"'`", w.p[0], 7))
        w = str_from(w, 1);
    while (w.n && memchr(")]>}\"'`.,:;|", w.p[w.n - 1], 12))
        w.n--;
    return w;
}

/* ---- heads of log lines ----------------------------------------------------------------------- */

/* "2026-11-23T07:12:31.482Z", "07:12:31,482", "07-28": digits, and what joins them. */
static bool is_time(daruma_str w)
{
    size_t digits = 0, joints = 0;
    w = bare(w);
    if (!w.n || !ch_digit(w.p[0]))
        return false;
    for (size_t i = 0; i < w.n; i++) {
        if (ch_digit(w.p[i]))
            digits++;
        else if (w.p[i] == '-' || w.p[i] == ':' || w.p[i] == '/')
            joints++;
        else if (!memchr(".,+TtZz", w.p[i], 7))
            return false;
    }
    return digits >= 4 && joints >= 1 && (joints >= 2 || digits == 4);
}

static bool is_level(daruma_str w)
{
    static const daruma_str levels[] = {LIT("error"), LIT("err"),   LIT("warn"),  LIT("warning"), LIT("info"),
                                        LIT("debug"), LIT("trace"), LIT("fatal"), LIT("notice"),  LIT("critical")};
    return STR_ANY(str_ieq, bare(w), levels);
}

/* "goose::agents::truncate:". A class, as Ruby calls its exceptions, has capitals and belongs to the message. */
static bool is_module(daruma_str w)
{
    for (size_t i = 0; i < w.n; i++)
        if (w.p[i] >= 'A' && w.p[i] <= 'Z')
            return false;
    return w.n > 3 && w.p[w.n - 1] == ':' && str_find(w, S("::")) != STR_NONE;
}

/* "[llm]", "scheduler.py:196]", "-": what logs put between the time and the message. */
static bool is_tag(daruma_str w)
{
    bool joint = w.n == 1 && memchr("-|>", w.p[0], 3);
    bool bracketed = w.n > 2 && w.p[0] == '[' && (w.p[w.n - 1] == ']' || w.p[w.n - 1] == ':');
    bool place = w.n > 3 && w.p[w.n - 1] == ']' && w.p[0] != '[' && str_findch(w, ':') != STR_NONE;
    return joint || bracketed || place || is_module(w);
}

/* "Nov" of "Nov 23 07:12:31". */
static bool is_month(daruma_str w, daruma_str rest)
{
    static const daruma_str months[] = {LIT("jan"), LIT("feb"), LIT("mar"), LIT("apr"), LIT("may"), LIT("jun"),
                                        LIT("jul"), LIT("aug"), LIT("sep"), LIT("oct"), LIT("nov"), LIT("dec")};
    rest = str_trim(rest);
    daruma_str day = first_word(rest);
    int64_t n;
    return STR_ANY(str_ieq, w, months) && str_int(day, &n) && is_time(first_word(str_trim(str_from(rest, day.n))));
}

/* The host before "agent[812]:", the logger's name between dashes. */
static bool is_source(daruma_str rest)
{
    daruma_str next = first_word(str_trim(rest));
    return str_ends(next, S("]:")) || str_eq(next, S("-")) || str_eq(next, S("|"));
}

/* Where the message of a line begins: behind its time, and what of level and tags stands with it. */
static size_t head_of(daruma_str line)
{
    bool timed = false, levelled = false;
    size_t at = 0;
    for (int i = 0; i < HEAD_WORDS; i++) {
        size_t from = at;
        while (from < line.n && ch_space(line.p[from]))
            from++;
        daruma_str w = first_word(str_from(line, from)), rest = str_from(line, from + w.n);
        bool time = is_time(w), level = is_level(w), month = w.n == 3 && is_month(w, rest);
        bool known = timed && (is_tag(w) || is_source(rest) || (w.n > 2 && str_ends(w, S("]:"))));
        int64_t day;
        if (!w.n || !(month || (i == 1 && str_int(w, &day)) || time || (level && !levelled) || known))
            break;
        if (level && !timed && !is_time(first_word(str_trim(rest))))
            break;
        if (i == 1 && !timed && !time)
            break;
        timed |= month || time;
        levelled |= level;
        at = from + w.n;
    }
    return timed ? at : 0;
}

/* ---- frames of stacks ----------------------------------------------------------------------------- */

static size_t indent_of(daruma_str line)
{
    size_t n = 0;
    while (n < line.n && ch_space(line.p[n]))
        n++;
    return n;
}

/* Does it end in the place of a line of code: "client.js:231:13)", "Api.java:88)", "main.go:12 +0x1d"? */
static bool ends_in_place(daruma_str t)
{
    size_t plus = str_find(t, S(" +0x"));
    t = str_trim(str_sub(t, 0, plus));
    while (t.n && (t.p[t.n - 1] == ')' || t.p[t.n - 1] == ','))
        t.n--;
    size_t n = t.n;
    while (n && ch_digit(t.p[n - 1]))
        n--;
    return n < t.n && n && t.p[n - 1] == ':';
}

/* `t` behind what Python prints of a place in code: `", line 8, in step`; empty: nothing stands there, or, where
 * `*ret_any` is false, it is not printed. */
static daruma_str behind_place(daruma_str t, bool *ret_any)
{
    size_t at = 0;
    for (size_t hit; (hit = str_find(str_from(t, at), S("\", line "))) != STR_NONE;)
        at += hit + S("\", line ").n;
    while (at && at < t.n && (ch_digit(t.p[at]) || t.p[at] == ','))
        at++;
    daruma_str rest = str_trim(str_from(t, at));
    *ret_any = at && str_starts(rest, S("in "));
    return *ret_any ? str_trim(str_from(rest, 3 + first_word(str_from(rest, 3)).n)) : (daruma_str){0};
}

/* True if `t` begins with the end of a path whose quote was opened before it: `app/x.py", line 8`. */
static bool begins_in_path(daruma_str t)
{
    return t.n && t.p[0] != '"' && str_ends(first_word(t), S("\","));
}

/* A line that names a place in code and says nothing. */
static bool is_frame(daruma_str t, size_t indent)
{
    if (str_starts(t, S("File \"")) && str_find(t, S("\", line ")) != STR_NONE)
        return true;
    if (str_starts(t, S("... ")) && str_ends(t, S(" more")))
        return true;
    bool of_jar = str_ends(t, S("]")) && (str_find(t, S(") [")) != STR_NONE || str_find(t, S(") ~[")) != STR_NONE);
    if (indent && str_starts(t, S("at ")) && (str_ends(t, S(")")) || of_jar)) /* "at a.b(B.java:7) ~[app.jar:1.2]" */
        return true;
    bool at = str_starts(t, S("at ")), path = t.n && (t.p[0] == '/' || str_starts(t, S("node:")));
    return (at || path) && ends_in_place(t);
}

/* A header of HTTP, as programs print it: "'content-security-policy': ...", "< x-cache: miss". What asks for a wait, or
 * names an error, says something. */
static bool is_header(daruma_str t)
{
    static const daruma_str begins[] = {LIT("content-"),          LIT("x-"),
                                        LIT("access-control-"),   LIT("cache-control"),
                                        LIT("strict-transport-"), LIT("cross-origin-"),
                                        LIT("referrer-policy")};
    if (str_istarts(t, S("headers"))) /* "Headers { 'content-type': ..." */
        t = str_from(t, 7);
    while (t.n && memchr("<>'\" :{", t.p[0], 7))
        t = str_from(t, 1);
    size_t n = 0;
    while (n < t.n && (ch_word(t.p[n]) || t.p[n] == '-'))
        n++;
    daruma_str name = str_sub(t, 0, n);
    if (n == t.n || !memchr(":'\"", t.p[n], 3) || str_ifind(name, S("error")) != STR_NONE ||
        str_ifind(name, S("limit")) != STR_NONE || str_ifind(name, S("retry")) != STR_NONE)
        return false;
    return STR_ANY(str_istarts, name, begins);
}

/* A line that announces frames, or joins two stacks. */
static bool is_seam(daruma_str t)
{
    static const daruma_str seams[] = {LIT("Traceback (most recent call last):"),
                                       LIT("During handling of the above exception, another"),
                                       LIT("The above exception was the direct cause"), LIT("Stack trace:")};
    return STR_ANY(str_istarts, t, seams);
}

/* Frames are all that stands behind it. */
static bool is_last(daruma_str t)
{
    return str_istarts(t, S("stack backtrace:")) || (str_starts(t, S("goroutine ")) && str_ends(t, S("]:")));
}

/* Only marks under a line of code. */
static bool is_underline(daruma_str t)
{
    bool any = false;
    for (size_t i = 0; i < t.n; i++) {
        any |= t.p[i] == '^';
        if (t.p[i] != '^' && t.p[i] != '~')
            return false;
    }
    return any;
}

/* True if what stands behind a line is an empty one and then more, as where Node shows the code that failed. */
static bool has_paragraph(daruma_str behind, size_t column)
{
    daruma_str next = str_from(str_cut(&behind, '\n'), column);
    if (str_trim(str_from(next, head_of(next))).n)
        return false;
    while (behind.n && ch_space(behind.p[0]))
        behind = str_from(behind, 1);
    return behind.n > 0;
}

/* `line` without marks that only divide what is printed: "***** Result *****", "-----". */
static daruma_str without_rules(daruma_str line)
{
    enum { RULE_MARKS_MIN = 5 };
    daruma_str t = str_trim(line);
    size_t from = 0, to = t.n;
    while (from < t.n && memchr("*-=#~_", t.p[0], 6) && t.p[from] == t.p[0])
        from++;
    if (from < RULE_MARKS_MIN)
        return line;
    while (to > from && t.p[to - 1] == t.p[0])
        to--;
    return str_trim(str_sub(t, from, to - from));
}

/* What a line of code makes and throws, which names the failure where nothing stands behind the stack: "raise
 * X("...")". */
static daruma_str thrown(daruma_str code)
{
    static const daruma_str verbs[] = {LIT("raise "), LIT("throw new ")};
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (str_starts(code, verbs[i]) && str_findch(first_word(str_from(code, verbs[i].n)), '(') != STR_NONE)
            return str_from(code, verbs[i].n);
    return (daruma_str){0};
}

/* U+2500 to U+259F: the lines and blocks that terminals draw boxes and logos of. */
static bool is_drawn(daruma_str t, size_t i)
{
    unsigned char second = i + 2 < t.n ? (unsigned char)t.p[i + 1] : 0;
    return (unsigned char)t.p[i] == 0xe2 && (second >= 0x94 && second <= 0x96) &&
           (second < 0x96 || (unsigned char)t.p[i + 2] < 0xa0);
}

/* `text` without the sequences that colour it in a terminal; what is drawn around it becomes white space. */
static daruma_str without_drawing(daruma_str text, daruma_arena *a)
{
    bool any = memchr(text.p, 0x1b, text.n) || memchr(text.p, 0xe2, text.n);
    char *out = any ? arena_take(a, text.n, 1) : NULL;
    size_t n = 0;
    if (!out)
        return text;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == 0x1b && i + 1 < text.n && text.p[i + 1] == '[') {
            for (i += 2; i < text.n && !ch_alpha(text.p[i]);)
                i++;
            continue;
        }
        bool drawn = is_drawn(text, i);
        out[n++] = drawn ? ' ' : text.p[i];
        i += drawn ? 2 : 0;
    }
    return str_trim((daruma_str){out, n});
}

/* A tool's result as an agent shows it, without what the tool was given: "⏺ Bash(npm test) timeout: 10s\n  ⎿ Error:
 * ..." is "⏺ Bash", a line break, and "Error: ...". */
static daruma_str without_call(daruma_str text, daruma_arena *a)
{
    size_t result = str_find(text, S("\u23bf")), at = 1;
    if (result == STR_NONE)
        return text;
    while (at < text.n && ch_word(text.p[at]))
        at++;
    bool named = text.p[0] >= 'A' && text.p[0] <= 'Z' && at < text.n && text.p[at] == '('; /* the mark is not copied */
    if (!named && !str_starts(text, S("\u23fa")) && !str_starts(text, S("\u25cf")))
        return text;
    while (at < result && (text.p[at] != '(' || !(ch_word(text.p[at - 1]) || text.p[at - 1] == ')')))
        at++;
    char *out = at < result ? arena_take(a, text.n, 1) : NULL;
    if (!out)
        return text;
    daruma_str said = str_from(text, result + 3);
    memcpy(out, text.p, at);
    out[at] = '\n';
    memcpy(out + at + 1, said.p, said.n);
    return (daruma_str){out, at + 1 + said.n};
}

/* What all lines begin with, up to a bar: "web-1  | ", as those who run programs put their names before what these say.
 */
static size_t column_of(daruma_str text)
{
    daruma_str rest = text, first = str_cut(&rest, '\n');
    size_t n = rest.n ? first.n : 0;
    while (rest.n && n) {
        daruma_str line = str_cut(&rest, '\n');
        size_t same = 0;
        while (same < n && same < line.n && line.p[same] == first.p[same])
            same++;
        n = same;
    }
    while (n && first.p[n - 1] != '|')
        n--;
    return n;
}

/* The text without frames and without the heads of its lines. */
static daruma_str without_frames(daruma_str text, daruma_arena *a)
{
    char *out = arena_take(a, text.n + 1, 1);
    size_t column = column_of(text), n = 0, last = 0;
    size_t code = STR_NONE; /* lines that are indented further are code of a frame */
    daruma_str threw = {0};
    if (!out)
        return text;
    for (daruma_str rest = text; rest.n;) {
        daruma_str line = str_cut(&rest, '\n');
        line = str_from(line, column);
        line = str_from(line, head_of(line));
        daruma_str t = str_trim(line);
        size_t indent = indent_of(line);
        if (is_last(t))
            break;
        bool seam = is_seam(t), place;
        daruma_str behind = behind_place(t, &place); /* a stack that somebody put on one line */
        place = place && !behind.n && (begins_in_path(t) || str_starts(t, S("File \"")));
        if (seam && behind.n) {
            line = t = behind;
        } else if (seam || place || is_frame(t, indent)) {
            code = !seam && (t.p[0] == 'F' || place) ? indent : code;
            continue;
        }
        if (code != STR_NONE && t.n && indent > code) {
            threw = thrown(t).n ? thrown(t) : threw;
            continue;
        }
        if (is_underline(t) && code == STR_NONE && has_paragraph(rest, column))
            n = last; /* what it stands under is code, too */
        if (is_underline(t) || is_header(t))
            continue;
        line = without_rules(line);
        if (t.n && !line.n)
            continue;
        last = n;
        code = t.n ? STR_NONE : code;
        if (n && line.n)
            out[n++] = '\n';
        for (size_t i = 0; i < line.n; i++)
            out[n++] = line.p[i];
    }
    daruma_str left = str_trim((daruma_str){out, n});
    return left.n ? left : threw.n ? threw : text;
}

/* ---- tails that point elsewhere --------------------------------------------------------------------- */

static bool is_address(daruma_str w)
{
    return str_find(w, S("://")) != STR_NONE && str_findch(w, '}') == STR_NONE; /* that is an end of JSON */
}

/* A word for an id, or an id that says of itself what it is: "request_id=81", "req_81". */
static bool is_id(daruma_str w)
{
    static const daruma_str ids[] = {LIT("id"), LIT("ids"), LIT("uuid"), LIT("trace"), LIT("ref"), LIT("reference")};
    w = bare(w);
    size_t sign = 0;
    while (sign < w.n && w.p[sign] != '=' && w.p[sign] != ':')
        sign++;
    daruma_str name = str_sub(w, 0, sign);
    return STR_ANY(str_ieq, name, ids) ||
           (sign < w.n && (str_ends(name, S("id")) || str_ends(name, S("Id")) || str_ends(name, S("ID"))));
}

/* Words that a sentence is made of that only points elsewhere. */
static bool points(daruma_str w)
{
    static const daruma_str words[] = {
        LIT("see"),     LIT("visit"),   LIT("refer"),   LIT("to"),          LIT("read"),          LIT("learn"),
        LIT("more"),    LIT("for"),     LIT("the"),     LIT("docs"),        LIT("doc"),           LIT("at"),
        LIT("details"), LIT("info"),    LIT("about"),   LIT("this"),        LIT("documentation"), LIT("guide"),
        LIT("our"),     LIT("in"),      LIT("and"),     LIT("on"),          LIT("please"),        LIT("information"),
        LIT("help"),    LIT("request"), LIT("session"), LIT("correlation"), LIT("call"),          LIT("span"),
        LIT("error"),   LIT("errors"),  LIT("event"),   LIT("link"),        LIT("here"),          LIT("support"),
        LIT("a"),       LIT("is"),      LIT("with"),    LIT("include"),     LIT("your"),          LIT("url")};
    return STR_ANY(str_ieq, bare(w), words);
}

/* "req_011CY3", "81-2f": one word with a digit in it. */
static bool is_token(daruma_str w)
{
    bool digit = false;
    w = bare(w);
    for (size_t i = 0; i < w.n; i++) {
        digit |= ch_digit(w.p[i]);
        if (!ch_word(w.p[i]) && !memchr("-=:./#+", w.p[i], 7))
            return false;
    }
    return digit && w.n > 5;
}

/* True if a sentence or something quoted ends with the word: the tail begins behind it. "message='Bad Request'," does.
 */
static bool ends_more(daruma_str w)
{
    if (w.n > 1 && w.p[w.n - 1] == ',')
        w.n--;
    else if (memchr(".;!?)]", w.p[w.n - 1], 6))
        return true;
    return char_is(w.p[w.n - 1], CHAR_QUOTE);
}

/* True if a tail that begins at `from` leaves whole sentences before it: "..., see URL". Else it would be cut out of
 * one, and what is left would not be one: "You can find your API key at URL". */
static bool is_apart(daruma_str t, size_t from)
{
    daruma_str before = str_trim(str_sub(t, 0, from));
    return !before.n || memchr(".,;!?)]-|", before.p[before.n - 1], 9) || char_is(before.p[before.n - 1], CHAR_QUOTE);
}

/* Where the tail of `t` begins: the last words of it when they hold an address or an id and else only what points
 * there; t.n when there is none. */
static size_t tail_of(daruma_str t)
{
    size_t at = t.n, end = t.n, tail = t.n;
    bool told = false, token = false, address = false;
    daruma_str last = str_from(t, t.n > TAIL_BYTES ? t.n - TAIL_BYTES : 0);
    if (!chars_digit(last) && !chars_has(last, "/")) /* neither an id nor an address */
        return t.n;
    while (end && t.n - end < TAIL_BYTES) {
        while (end && ch_space(t.p[end - 1]))
            end--;
        size_t from = end;
        while (from && !ch_space(t.p[from - 1]))
            from--;
        daruma_str w = str_sub(t, from, end - from);
        bool leads = is_address(w), id = is_id(w), digits = is_token(w);
        if (!w.n || (at < t.n && ends_more(w) && !leads))
            break;
        token |= digits;
        address |= leads;
        bool names = leads || (token && id);
        if (!names && !digits && !id && bare(w).n && !points(w))
            break;
        told |= names;
        at = end = from;
        /* where it begins */
        bool first = memchr("([", w.p[0], 2) || (w.p[0] >= 'A' && w.p[0] <= 'Z' && points(w));
        if (told && (first || !address || is_apart(t, at)))
            tail = at;
        if (first)
            break;
    }
    return tail;
}

static daruma_str without_tails(daruma_str t)
{
    for (int i = 0; i < TAILS_MAX; i++) {
        t = str_trim(t);
        size_t tail = tail_of(t);
        if (tail == t.n || !tail)
            break;
        t = str_sub(t, 0, tail);
    }
    return str_trim(t);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

daruma_str line_strip(daruma_str text, daruma_arena *a)
{
    daruma_str t = without_call(without_drawing(text, a), a);
    t = memchr(t.p, '\n', t.n) || is_seam(t) ? without_frames(t, a) : str_from(t, head_of(t));
    t = without_tails(t);
    return t.n ? t : text;
}
