/* same_lines.c - which lines of a result count by themselves: of a failure the one that says what went wrong, of what a
 * shell hands on those that the program wrote. */
#include "engine/watch/same_lines.h"
#include "base/str.h"

/* What is said of a process that ended, whatever was in its way. */
static bool is_general(daruma_str line)
{
    static const daruma_str rows[] = {
        {"*** [", 5},           {"exit code", 9},        {"exit status", 11},      {"error generated", 15},
        {"aborting due", 12},   {"complete log", 12},    {"debug log", 9},         {"non-zero", 8},
        {"command failed", 14}, {"build failed", 12},    {"tests failed", 12},     {"test failed", 11},
        {"see above", 9},       {"errors occurred", 15}, {"errors generated", 16}, {"error occurred", 14},
        {"for more info", 13},  {"full log", 8},         {"see the", 7},           {"try --help", 10},
        {"terminated", 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_ifind(line, rows[i]) != STR_NONE)
            return true;
    return false;
}

static bool says_error(daruma_str text)
{
    static const daruma_str marks[] = {{"error", 5},  {"exception", 9}, {"fatal", 5},
                                       {"denied", 6}, {"errno", 5},     {"cannot", 6}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
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

daruma_str without_envelope(daruma_str text)
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
