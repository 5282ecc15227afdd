/* line.c - of what a failed tool wrote, the one line that matters. Each line gets marks; the best wins, of equal ones
 * the first, or in traces that go on ("During handling of...", "Caused by:") the last.
 *
 *     Traceback (most recent call last):           a trace begins
 *       File "a.py", line 3, in <module>           frame
 *     KeyError: 'x'                                <- ends it: 100
 *     Exit code 1                                  noise: 1 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/facts.h"
#include "engine/watch/same/line.h"

/* ---- clean text -------------------------------------------------------------------------------- */

/* Behind the escape sequence at `at`: CSI, OSC and two-byte ones (ECMA-48 5.4, 8.3.89). */
static size_t behind_escape(daruma_str t, size_t at)
{
    size_t i = at + 1;
    if (i >= t.n)
        return t.n;
    if (t.p[i] == '[') {
        for (i++; i < t.n && (unsigned char)t.p[i] >= 0x20 && (unsigned char)t.p[i] < 0x40; i++) {
        }
        return i < t.n ? i + 1 : t.n;
    }
    if (t.p[i] == ']') {
        for (i++; i < t.n && t.p[i] != '\a' && t.p[i] != '\n' && t.p[i] != 0x1b; i++) {
        }
        return i < t.n && t.p[i] == 0x1b ? i + 2 < t.n ? i + 2 : t.n : i < t.n && t.p[i] == '\a' ? i + 1 : i;
    }
    return i + 1;
}

static void put_plain(daruma_buf *b, daruma_str t)
{
    size_t from = 0;
    for (size_t i = 0; i < t.n;) {
        if (t.p[i] != 0x1b) {
            i++;
            continue;
        }
        buf_put(b, str_sub(t, from, i - from));
        from = i = behind_escape(t, i);
    }
    buf_put(b, str_from(t, from));
}

daruma_str line_plain(daruma_str text, daruma_arena *a)
{
    bool is_long = text.n > TOOL_TEXT_HEAD_BYTES + TOOL_TEXT_TAIL_BYTES;
    daruma_buf b = buf_in(a);
    if (!is_long && str_findch(text, 0x1b) == STR_NONE)
        return text;
    put_plain(&b, is_long ? str_sub(text, 0, TOOL_TEXT_HEAD_BYTES) : text);
    if (is_long) {
        buf_putc(&b, '\n');
        put_plain(&b, str_from(text, text.n - TOOL_TEXT_TAIL_BYTES));
    }
    return buf_str(&b);
}

daruma_str line_flat(daruma_str text, daruma_arena *a)
{
    size_t n = 0;
    bool odd = false;
    text = str_trim(text);
    for (size_t i = 0; i < text.n; i++)
        odd |= (unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f || (i && text.p[i] == ' ' && text.p[i - 1] == ' ');
    if (!odd)
        return text;
    char *out = arena_raw(a, text.n, 1);
    if (!out)
        return (daruma_str){0};
    for (size_t i = 0; i < text.n; i++) {
        bool space = (unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f;
        if (!space)
            out[n++] = text.p[i];
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    return str_trim((daruma_str){out, n});
}

daruma_str line_within(daruma_str s, size_t bytes)
{
    size_t n = s.n < bytes ? s.n : bytes;
    while (n < s.n && n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return str_sub(s, 0, n);
}

daruma_str line_cut(daruma_str s, size_t chars)
{
    size_t i = 0;
    for (; i < s.n; i++)
        if (((unsigned char)s.p[i] & 0xc0) != 0x80 && chars-- == 0)
            break;
    return str_sub(s, 0, i);
}

/* ---- what a line is -------------------------------------------------------------------------- */

static bool line_has(daruma_str s, const char *what)
{
    return str_find(s, str_of(what)) != STR_NONE;
}

/* `line` trimmed; `indented` in the text. */
static bool is_frame(daruma_str line, bool indented)
{
    static const char *const starts[] = {"File \"",      "goroutine ",       "created by ",  "stack backtrace",
                                         "Stack trace:", "Backtrace:",       "... ",         "--- End of ",
                                         "[Previous li", "note: run with `", "note: Some de"};
    for (size_t i = 0; i < COUNT(starts); i++)
        if (str_starts(line, str_of(starts[i])))
            return true;
    if (str_starts(line, S("at ")) && (indented || line_has(line, "(")))
        return true; /* JavaScript, Java, C#, Rust */
    if (line_has(line, ".go:") && (indented || line_has(line, " +0x")))
        return true;
    if (indented && (str_starts(line, S("^")) || str_starts(line, S("~"))))
        return true; /* Python marks the place */
    int64_t n;
    size_t digits = str_scan_int(line, &n);
    return digits && digits + 1 < line.n && line.p[digits] == ':' && line.p[digits + 1] == ' ' && line_has(line, "::");
}

/* Lines that tell nothing by themselves. */
static bool is_noise(daruma_str line)
{
    static const char *const starts[] = {"stdout",           "stderr",           "$ ",
                                         "output:",          "command exited",   "process exited",
                                         "npm err! code",    "npm err! errno",   "npm err! path",
                                         "npm err! syscall", "npm error code",   "npm error errno",
                                         "npm error path",   "npm error syscall"};
    for (size_t i = 0; i < COUNT(starts); i++)
        if (str_istarts(line, str_of(starts[i])))
            return true;
    return facts_exit_alone(line);
}

/* Does one of the `words` (lower case) stand in the line as a word? One pass: a row is compared where a word begins. */
static bool says(daruma_str line, const char *const *words, size_t n)
{
    for (size_t i = 0; i < line.n; i++) {
        if (!ch_alpha(line.p[i]) || (i && ch_word(line.p[i - 1])))
            continue;
        for (size_t k = 0; k < n; k++) {
            if (ch_lower(line.p[i]) != words[k][0] || !str_istarts(str_from(line, i), str_of(words[k])))
                continue;
            size_t end = i + strlen(words[k]);
            if (end >= line.n || !ch_word(line.p[end]))
                return true;
        }
    }
    return false;
}

enum marks { FRAME = 0, NOISE = 1, PLAIN = 10, SAYS = 50, ERROR = 75, CLASS = 80, CAUSE = 90, PANIC = 95, LAST = 100 };

static enum marks marks_of(daruma_str line, bool indented)
{
    // clang-format off
    static const struct {
        const char *begins;
        enum marks marks;
    } rows[] = {
        {"panic: ", PANIC},       {"caused by: ", CAUSE},       {"unhandled exception", CLASS}, {"uncaught ", CLASS},
        {"exception in ", CLASS}, {"fatal: ", ERROR},           {"fatal error: ", ERROR},       {"error: ", ERROR},
        {"error[", ERROR},        {"error ts", ERROR},          {"[error] ", ERROR},            {"npm err! ", ERROR},
        {"npm error ", ERROR},    {"e   ", CLASS},
    };
    static const char *const words[] = {
        "error", "errors", "failed", "failure", "fail", "exception", "denied", "cannot", "can't", "could not", "couldn't",
        "unable", "not found", "no such", "invalid", "timed out", "timeout", "refused", "forbidden", "unauthorized",
        "missing", "required", "must", "unknown", "unexpected", "does not exist", "not allowed", "aborted", "killed",
    };
    // clang-format on
    if (is_frame(line, indented))
        return FRAME;
    if (is_noise(line))
        return NOISE;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_istarts(line, str_of(rows[i].begins)))
            return rows[i].marks;
    if (facts_leading(line).n)
        return CLASS;
    static const char *const compiler[] = {"error:"};
    if (!says(line, words, COUNT(words)))
        return PLAIN;
    if (says(line, compiler, 1) || line_has(line, ": error ") || line_has(line, ": fatal error:"))
        return ERROR; /* of a compiler: "a.c:3:5: error: ..." */
    return SAYS;
}

daruma_str line_telling(daruma_str text)
{
    daruma_str best = {0}, first = {0}, rest = text;
    int most = -1;
    bool in_trace = false, panicked = false;
    for (int i = 0; i < TOOL_TEXT_LINES_MAX && rest.n; i++) {
        daruma_str raw = str_cut(&rest, '\n'), line = str_trim(raw);
        bool indented = raw.n && (raw.p[0] == ' ' || raw.p[0] == '\t');
        if (!line.n)
            continue;
        first = first.n ? first : str_sub(line, 0, TOOL_LINE_BYTES_MAX);
        if (str_istarts(line, S("traceback (most recent"))) {
            in_trace = true;
            continue;
        }
        if (in_trace && indented)
            continue;
        line = str_sub(line, 0, TOOL_LINE_BYTES_MAX);
        int marks = in_trace ? LAST : panicked ? PANIC : (int)marks_of(line, indented);
        in_trace = panicked = false;
        if (str_starts(line, S("thread '")) && line_has(line, "panicked at")) {
            marks = PANIC; /* Rust since 1.73 tells why on the line behind */
            panicked = line.p[line.n - 1] == ':';
        }
        bool later = marks == most && (marks == LAST || marks == CAUSE || (marks == PANIC && most == PANIC));
        if (marks > most || later) {
            best = line;
            most = marks;
        }
    }
    if (str_istarts(best, S("caused by: ")))
        best = str_from(best, 11);
    else if (str_starts(best, S("E   "))) /* pytest */
        best = str_trim(str_from(best, 4));
    return best.n ? best : first;
}

daruma_str line_without_frames(daruma_str text, size_t max, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (int i = 0; i < TOOL_TEXT_LINES_MAX && text.n && b.n < max; i++) {
        daruma_str raw = str_cut(&text, '\n'), line = str_trim(raw);
        bool indented = raw.n && (raw.p[0] == ' ' || raw.p[0] == '\t');
        if (!line.n || is_frame(line, indented) || is_noise(line))
            continue;
        buf_put(&b, str_sub(line, 0, max - b.n));
        buf_putc(&b, '\n');
    }
    return buf_str(&b);
}
