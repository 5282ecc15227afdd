/* same_lines.c - which lines of a result count by themselves: of a failure the one that says what went wrong, of what a
 * shell hands on those that the program wrote. */
#include "engine/watch/same_lines.h"
#include "base/str.h"

/* What is said of a process that ended, whatever was in its way. */
static bool is_general(daruma_str line)
{
    static const daruma_str rows[] = {
        LIT("*** ["),          LIT("exit code"),       LIT("exit status"),      LIT("error generated"),
        LIT("aborting due"),   LIT("complete log"),    LIT("debug log"),        LIT("non-zero"),
        LIT("command failed"), LIT("build failed"),    LIT("tests failed"),     LIT("test failed"),
        LIT("see above"),      LIT("errors occurred"), LIT("errors generated"), LIT("error occurred"),
        LIT("for more info"),  LIT("full log"),        LIT("see the"),          LIT("try --help"),
        LIT("terminated"),
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_ifind(line, rows[i]) != STR_NONE)
            return true;
    return false;
}

static bool says_error(daruma_str text)
{
    static const daruma_str marks[] = {LIT("error"),  LIT("exception"), LIT("fatal"),
                                       LIT("denied"), LIT("errno"),     LIT("cannot")};
    for (size_t i = 0; i < COUNT(marks); i++)
        if (str_ifind(text, marks[i]) != STR_NONE)
            return true;
    return false;
}

/* The first line of a failure, where it says what went wrong and others follow; else nothing. */
static daruma_str first_words(daruma_str text)
{
    enum { SHORTEST = 20, LONGEST = 400 };
    size_t ends = str_findch(text, '\n');
    daruma_str line = str_trim(str_sub(text, 0, ends == STR_NONE ? 0 : ends));
    bool told = line.n >= SHORTEST && line.n <= LONGEST && line.p[0] != '{';
    return told && says_error(line) && !is_general(line) ? line : (daruma_str){0};
}

/* The last line of a failure, where it alone says what went wrong, whatever was done before; else nothing. */
static daruma_str last_words(daruma_str text)
{
    enum { SHORTEST = 20, LONGEST = 400, BEFORE = 2000 };
    bool inside = text.n && (text.p[0] == '{' || text.p[0] == '"'); /* there "\\n" is a line break */
    size_t from = text.n;
    while (from > 0 && text.p[from - 1] != '\n' &&
           !(inside && from > 1 && text.p[from - 1] == 'n' && text.p[from - 2] == '\\'))
        from--;
    daruma_str line = str_trim(str_from(text, from)), before = str_sub(text, 0, from);
    if (from == 0 || from > BEFORE || line.n < SHORTEST || line.n > LONGEST)
        return (daruma_str){0};
    return says_error(line) && !says_error(before) && !is_general(line) ? line : (daruma_str){0};
}

daruma_str line_of_failure(daruma_str text)
{
    daruma_str last = last_words(text);
    return last.n ? last : first_words(text);
}

static bool has_any(daruma_str text, const daruma_str *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ifind(text, words[i]) != STR_NONE)
            return true;
    return false;
}

/* "[call 3 of read_file, 57 calls left]": what a harness counts, on a line of its own. */
static bool is_count(daruma_str line)
{
    enum { LONGEST = 200 };
    static const daruma_str words[] = {LIT(" call"), LIT("calls "), LIT("token"), LIT("budget"), LIT("context")};
    bool digits = false;
    if (line.n < 4 || line.n > LONGEST || (line.p[0] != '[' && line.p[0] != '(' && line.p[0] != '<'))
        return false;
    for (size_t i = 0; i < line.n; i++)
        digits |= ch_digit(line.p[i]);
    return digits && has_any(line, words, COUNT(words));
}

/* What is left above what the harness wrote below the answer: a reminder, or how often it was asked. */
static daruma_str without_footer(daruma_str text)
{
    static const daruma_str opens[] = {LIT("<system-reminder>"), LIT("<system_reminder>"), LIT("<system_warning>")},
                            closes[] = {LIT("</system-reminder>"), LIT("</system_reminder>"), LIT("</system_warning>")};
    char last = text.n ? text.p[text.n - 1] : 0;
    if (last != ']' && last != ')' && last != '>')
        return text;
    for (size_t i = 0; last == '>' && i < 3; i++) {
        size_t at = str_ends(text, closes[i]) ? str_find(text, opens[i]) : STR_NONE;
        if (at != STR_NONE && at > 0)
            return str_trim(str_sub(text, 0, at));
    }
    size_t from = text.n;
    while (from > 0 && text.p[from - 1] != '\n')
        from--;
    return from > 0 && is_count(str_from(text, from)) ? str_trim(str_sub(text, 0, from)) : text;
}

/* Lines that each name something, and how it ended is one of them, down to "Output:". */
static daruma_str without_header(daruma_str text)
{
    enum { LONGEST = 240 };
    if (!text.n || (text.p[0] != 'C' && text.p[0] != 'W' && text.p[0] != 'E')) /* Chunk, Wall, Exit */
        return text;
    daruma_str head = str_sub(text, 0, LONGEST);
    size_t at = str_find(head, S("\nOutput:\n"));
    if (at == STR_NONE || str_find(head, S("Wall time: ")) > at ||
        str_ifind(str_sub(head, 0, at), S("exit")) == STR_NONE)
        return text;
    return str_trim(str_from(text, at + 9));
}

daruma_str without_envelope(daruma_str text)
{
    return without_footer(without_header(text));
}
