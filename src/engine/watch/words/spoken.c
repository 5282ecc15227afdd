/* spoken.c - what a tool's text says of itself. It speaks only where it begins or ends with what nobody writes but who
 * failed: a file may be about errors, a log may hold some. */
#include "engine/watch/facts.h"
#include "base/limits.h"
#include "base/str.h"

/* What a text begins with that is one failure and nothing else; lower case. */
// clang-format off
static const char *const begins[] = {
    "error:", "error executing", "error calling", "error while", "error running", "error reading", "error writing",
    "[error]", "fatal:", "fatal error", "failed to ", "failure:", "exception:", "unhandled exception", "uncaught ",
    "traceback (most ", "panic:", "thread 'main' pan", "command failed", "command exited with", "process exited",
    "mcp error", "npm err", "api error", "tool execution failed", "permission denied", "access denied",
    "request failed", "internal error", "<tool_use_error>", "<error>", "timed out", "timeout:", "connection refused",
    "segmentation fault", "exception in thread", "unauthorized", "forbidden", "bad request",
    "no such file or directory", "unexpected error", "an error occurred", "an exception occ", "invalid arguments",
    "invalid argument", "inputvalidationerror", "unknown tool", "tool not found", "\xe2\x9d\x8c",
};
// clang-format on

/* Behind an exit code that is not 0: "Exit code 1", "(exit status 2)", "[exit code: 1]". Each has the word. */
// clang-format off
static const char *const exits[] = {
    "exit code", "exit status", "exited with code", "exited with status", "returned non-zero exit status",
    "exited with error code", "(exit", "[exit", "<returncode>", "<exit_code>",
};
// clang-format on

/* Nothing but what closes a line. */
static bool ends_so(daruma_str rest)
{
    size_t i = 0;
    while (i < rest.n && (rest.p[i] == ')' || rest.p[i] == ']' || rest.p[i] == '.'))
        i++;
    return i == rest.n;
}

/* The exit code that stands in a line; its words are cut from `*before` to `*behind`. */
static int exit_at(daruma_str line, size_t *before, size_t *behind)
{
    if (str_ifind(line, S("exit")) == STR_NONE && str_ifind(line, S("returncode")) == STR_NONE)
        return 0;
    for (size_t i = 0; i < COUNT(exits); i++) {
        size_t at = str_ifind(line, str_of(exits[i])), from = at + strlen(exits[i]);
        int64_t n = 0;
        if (at == STR_NONE)
            continue;
        while (from < line.n && (line.p[from] == ' ' || line.p[from] == ':' || line.p[from] == '='))
            from++;
        size_t used = str_scan_int(str_from(line, from), &n);
        bool leads = at == 0 || (at == 1 && !ch_word(line.p[0]));
        if (used && n > 0 && n <= 255 && (leads || ends_so(str_from(line, from + used)))) {
            *before = at;
            *behind = from + used;
            return (int)n;
        }
    }
    return 0;
}

/* The number in "Exit code 1", "(exit status 2)"; 0 none. */
static int exit_in(daruma_str line)
{
    size_t before, behind;
    return exit_at(line, &before, &behind);
}

bool facts_exit_alone(daruma_str line)
{
    static const daruma_str who[] = {LIT(""),        LIT("["),     LIT("("),           LIT("command"),
                                     LIT("process"), LIT("shell"), LIT("the command"), LIT("the process"),
                                     LIT("error:")};
    size_t before, behind;
    if (!exit_at(line, &before, &behind) || !ends_so(str_trim(str_from(line, behind))))
        return false;
    daruma_str head = str_trim(str_sub(line, 0, before));
    return STR_ANY(str_ieq, head, who);
}

/* "429 Too Many Requests", "HTTP/1.1 404 ...": a status line, or its number with its own words (RFC 9110 15). */
static bool is_status_line(daruma_str line)
{
    // clang-format off
    static const char *const reasons[] = {
        "bad request", "unauthorized", "payment required", "forbidden", "not found", "method not allowed",
        "not acceptable", "proxy authentication", "request timeout", "conflict", "gone", "payload too large",
        "content too large", "unsupported media", "unprocessable", "locked", "too many requests", "internal server error",
        "not implemented", "bad gateway", "service unavailable", "gateway timeout", "error",
    };
    // clang-format on
    bool http = str_istarts(line, S("http"));
    if (http) {
        size_t at = str_findch(line, ' ');
        line = str_trim(str_from(line, at == STR_NONE ? line.n : at));
        if (str_istarts(line, S("error ")))
            line = str_trim(str_from(line, 6));
    }
    int64_t n = 0;
    size_t used = str_scan_int(line, &n);
    if (used != 3 || n < 400 || n > 599)
        return false;
    daruma_str rest = str_from(line, used);
    if (http && (!rest.n || !ch_word(rest.p[0])))
        return true;
    while (rest.n && (rest.p[0] == ' ' || rest.p[0] == ':' || rest.p[0] == '-'))
        rest = str_from(rest, 1);
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (str_istarts(rest, str_of(reasons[i])))
            return true;
    return false;
}

/* "TypeError: ", "java.io.IOException: ", "ENOENT: ", "FILE_NOT_FOUND: ": a name of a failure and a colon. */
static daruma_str leading(daruma_str line)
{
    size_t colon = str_findch(str_sub(line, 0, CODE_BYTES_MAX), ':');
    daruma_str name = str_sub(line, 0, colon == STR_NONE ? 0 : colon);
    bool capitals = name.n > 3;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!ch_alpha(c) && !ch_digit(c) && c != '_' && c != '.' && c != '$')
            return (daruma_str){0};
        capitals &= !(c >= 'a' && c <= 'z') && c != '.';
    }
    bool class =
        str_eq(name, S("Error")) || (name.n > 5 && (str_ends(name, S("Error")) || str_ends(name, S("Exception"))));
    bool code = capitals && (name.p[0] == 'E' || str_findch(name, '_') != STR_NONE) &&
                facts_code(name, NULL) != DARUMA_TOOL_NONE_KIND;
    return class || code ? name : (daruma_str){0};
}

daruma_str facts_leading(daruma_str line)
{
    static const daruma_str before[] = {LIT("Unhandled exception. "), LIT("Uncaught "), LIT("Caused by: "),
                                        LIT("Exception in thread \"main\" "), LIT("Error: ")};
    daruma_str name = leading(line);
    for (size_t i = 0; i < COUNT(before); i++)
        if (str_istarts(line, before[i])) {
            daruma_str behind = leading(str_from(line, before[i].n));
            return behind.n ? behind : name;
        }
    return name;
}

static bool begins_so(daruma_str text)
{
    for (size_t i = 0; text.n && i < COUNT(begins); i++)
        if (ch_lower(text.p[0]) == begins[i][0] && str_istarts(text, str_of(begins[i])))
            return true;
    return false;
}

/* "cat: x.txt: No such file or directory": one line of a program about its own failure. */
static bool is_complaint(daruma_str line)
{
    // clang-format off
    static const char *const ends[] = {
        "no such file or directory", "permission denied", "command not found", "not found", "is a directory",
        "not a directory", "connection refused", "operation not permitted", "unrecognized option",
        "operation timed out",
    };
    // clang-format on
    if (line.n > TOOL_COMPLAINT_BYTES_MAX || str_find(line, S(": ")) == STR_NONE)
        return false;
    for (size_t i = 0; i < COUNT(ends); i++) {
        size_t n = strlen(ends[i]);
        if (line.n > n + 2 && str_ieq(str_from(line, line.n - n), str_of(ends[i])))
            return true;
    }
    return false;
}

/* "Invalid patch: the first line ...", "str_replace failed: no match": a tool names what it did not take, or itself,
 * and says why. A list of what is invalid, "Invalid rows: 3", is an answer, and so is what became of a job. */
static bool is_rejection(daruma_str line)
{
    enum { WORDS = 3 };
    size_t colon = str_find(line, S(": "));
    if (colon == STR_NONE || line.n > TOOL_COMPLAINT_BYTES_MAX)
        return false;
    daruma_str head = str_sub(line, 0, colon), why = str_trim(str_from(line, colon + 1));
    size_t words = 1, first = str_findch(head, ' ');
    for (size_t i = 0; i < head.n; i++) {
        words += head.p[i] == ' ';
        if (!ch_alpha(head.p[i]) && head.p[i] != ' ' && head.p[i] != '_')
            return false;
    }
    if (words < 2 || words > WORDS || !why.n || ch_digit(why.p[0]) || str_findch(why, ' ') == STR_NONE)
        return false;
    if (str_istarts(head, S("invalid ")))
        return ch_lower(head.p[head.n - 1]) != 's';
    return str_ends(head, S(" failed")) && str_findch(str_sub(head, 0, first), '_') != STR_NONE;
}

static daruma_str first_line(daruma_str text)
{
    return str_trim(str_cut(&text, '\n'));
}

daruma_str facts_last_line(daruma_str text)
{
    size_t from = text.n;
    while (from > 0 && text.n - from < TOOL_COMPLAINT_BYTES_MAX && text.p[from - 1] != '\n')
        from--;
    return str_trim(str_from(text, from));
}

static daruma_str without_tags(daruma_str text, bool *failed)
{
    static const daruma_str tags[] = {LIT("<tool_use_error>"), LIT("<error>")};
    for (size_t i = 0; i < COUNT(tags); i++)
        if (str_istarts(text, tags[i])) {
            *failed = true;
            text = str_from(text, tags[i].n);
            size_t end = str_find(text, S("</"));
            return str_trim(end == STR_NONE ? text : str_sub(text, 0, end));
        }
    return text;
}

/* Of a notebook: a rule, then "KeyError    Traceback (most recent call last)". */
static bool is_cell_trace(daruma_str first, daruma_str text)
{
    enum { RULE = 10 };
    size_t dashes = 0;
    while (dashes < first.n && first.p[dashes] == '-')
        dashes++;
    str_cut(&text, '\n');
    return dashes >= RULE && dashes == first.n && str_ends(first_line(text), S("Traceback (most recent call last)"));
}

/* "TypeError: ..." and behind it a frame of a stack, "    at foo (...)". */
static bool has_trace(daruma_str text)
{
    daruma_str before = {0};
    while (text.n) {
        daruma_str raw = str_cut(&text, '\n');
        size_t gap = 0;
        while (gap < raw.n && ch_space(raw.p[gap]))
            gap++;
        if (gap < raw.n && raw.p[gap] == 'a') { /* only then is it looked at more closely */
            daruma_str line = str_trim(raw);
            if (line.n < raw.n && str_starts(line, S("at ")) && facts_leading(str_trim(before)).n)
                return true;
        }
        before = raw;
    }
    return false;
}

/* A page that stands where the one that was asked for should be. */
bool facts_wall(daruma_str text)
{
    static const char *const walls[] = {
        "just a moment...",        "checking your browser",   "attention required!",
        "verify you are human",    "verifying you are human", "please verify you are",
        "pardon our interruption", "are you a robot",         "access to this page has been denied"};
    text = str_trim(text);
    for (size_t i = 0; text.n && i < COUNT(walls); i++)
        if (ch_lower(text.p[0]) == walls[i][0] && str_istarts(text, str_of(walls[i])))
            return true;
    return false;
}

void facts_plain(facts *f, daruma_str text)
{
    f->plain = true;
    text = without_tags(text, &f->failed);
    daruma_str first = first_line(text), last = facts_last_line(text);
    bool shown =
        first.n && (first.p[0] == '[' || first.p[0] == '(' || first.p[0] == '<' || str_istarts(first, S("exit")) ||
                    str_istarts(first, S("command")) || str_istarts(first, S("process")));
    int code = shown || first.n == text.n ? exit_in(first) : 0;
    if (!code && last.n <= TOOL_COMPLAINT_BYTES_MAX)
        code = exit_in(last);
    f->exit = code;
    f->failed |= code != 0;
    facts_add_code(f, facts_leading(first));
    /* A long text that begins so is a document about errors, unless it is a trace. */
    bool trace = str_istarts(text, S("traceback (most ")) || is_cell_trace(first, text);
    f->failed |= is_cell_trace(first, text);
    if (trace || text.n <= TOOL_COMPLAINTS_BYTES_MAX)
        f->failed |= f->ncodes || begins_so(first) || facts_wall(first);
    if (first.n == text.n)
        f->failed |= is_complaint(first) || is_status_line(first) || is_rejection(first);
    else if (text.n <= TOOL_COMPLAINTS_BYTES_MAX)
        f->failed |= has_trace(text);
    f->texts[f->ntexts++] = text;
}
