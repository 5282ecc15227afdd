/* words_call.c - what the words of tools, actions and commands mean. A tool that nobody knows means nothing: then its
 * results decide. */
#include "base/str.h"
#include "engine/watch/words/words.h"
#include "engine/watch/words/words_find.h"
#include "engine/watch/words_call_rows.h"

#define ROWS(rows) rows, COUNT(rows)

enum {
    CLASS = DARUMA_TOOL_READS | DARUMA_TOOL_WRITES | DARUMA_TOOL_ACTS | DARUMA_TOOL_NOTES,
    NAME_WORDS_MAX = 12,
    COMMAND_BYTES_MAX = 4096
};

/* The first word that can only be a verb says what kind of tool it is; else the first that may be one. */
static unsigned add_word(unsigned have, unsigned word, unsigned *weak)
{
    if (word & CLASS & ~(unsigned)DARUMA_TOOL_NOTES && word & WORDS_WEAK) {
        if (!*weak)
            *weak = word;
        else if (word & DARUMA_TOOL_READS) /* "order_history": that is no order */
            *weak &= ~(unsigned)WORDS_ONCE;
        bool makes = (have & (DARUMA_TOOL_ACTS | DARUMA_TOOL_READS)) == DARUMA_TOOL_ACTS; /* "add_comment" */
        return have | (word & ~(unsigned)(CLASS | WORDS_WEAK | WORDS_INPUT | (makes ? 0 : WORDS_ONCE)));
    }
    if (have & CLASS)
        word &= ~(unsigned)(CLASS | WORDS_INPUT);
    return have | (word & ~(unsigned)WORDS_WEAK);
}

/* Walks the words of "mcp__files__read_file", "readFile", "read-file", "wait1". */
static bool next_word(daruma_str *rest, daruma_str *word)
{
    size_t i = 0, from;
    while (i < rest->n && !ch_alpha(rest->p[i]) && !ch_digit(rest->p[i]))
        i++;
    from = i;
    while (i < rest->n && (ch_alpha(rest->p[i]) || ch_digit(rest->p[i]))) {
        bool upper = rest->p[i] >= 'A' && rest->p[i] <= 'Z';
        bool number = i > from && ch_digit(rest->p[i]) && !ch_digit(rest->p[i - 1]);
        if (number || (i > from && upper && !(rest->p[i - 1] >= 'A' && rest->p[i - 1] <= 'Z')))
            break;
        i++;
    }
    *word = str_sub(*rest, from, i - from);
    *rest = str_from(*rest, i);
    return word->n > 0;
}

/* "send_code", "verify_code": that one is no program, unless it is run. */
static bool is_code(daruma_str word)
{
    return str_ieq(word, S("code"));
}

static bool runs_code(daruma_str word)
{
    return str_ieq(word, S("run")) || str_istarts(word, S("exec")) || str_istarts(word, S("interpret")) ||
           str_istarts(word, S("eval"));
}

static unsigned words_in(daruma_str name)
{
    unsigned have = 0, weak = 0, verbs = 0;
    bool code = false, runs = false;
    daruma_str word;
    for (int i = 0; i < NAME_WORDS_MAX && next_word(&name, &word); i++) {
        unsigned means = words_find(ROWS(tool_rows), word);
        code |= (means & WORDS_SHELL) && is_code(word);
        runs |= (means & WORDS_SHELL) ? !is_code(word) : runs_code(word);
        verbs |= means & CLASS;
        have = add_word(have, means, &weak);
    }
    if (code && verbs && !runs)
        have &= ~(unsigned)WORDS_SHELL;
    if (have & WORDS_SEEKS && have & DARUMA_TOOL_READS) /* "search_code" runs none */
        have &= ~(unsigned)WORDS_SHELL;
    if (!(have & CLASS) && weak)
        have |= weak; /* WORDS_WEAK tells that it is no more than likely */
    if ((have & WORDS_SHORTEN) && (have & WORDS_HISTORY))
        have |= DARUMA_TOOL_COMPACTS;
    if (have & WORDS_STILL)
        have &= ~(unsigned)WORDS_ASKS;
    if (have & WORDS_KEYS && have & (DARUMA_TOOL_ACTS | DARUMA_TOOL_WRITES))
        have = (have & ~(unsigned)WORDS_ONCE) | WORDS_INPUT;
    return have;
}

unsigned words_of_tool(daruma_str name)
{
    size_t server = str_find(name, S("__")); /* mcp__server__tool: the server's name says nothing */
    if (str_starts(name, S("mcp__")) && server != STR_NONE) {
        size_t tool = str_find(str_from(name, 5), S("__"));
        if (tool != STR_NONE)
            name = str_from(name, 5 + tool + 2);
    }
    unsigned means = words_in(name);
    return means ? means : words_find(ROWS(command_rows), name) & DARUMA_TOOL_READS; /* a tool "date" is that command */
}

unsigned words_of_action(daruma_str value)
{
    return value.n <= 64 ? words_in(value) : 0;
}

/* ---- command lines ------------------------------------------------------------------------------ */

static daruma_str part_word(daruma_str *part)
{
    *part = str_trim(*part);
    size_t n = 0;
    while (n < part->n && !ch_space(part->p[n]))
        n++;
    daruma_str word = str_sub(*part, 0, n);
    *part = str_from(*part, n);
    return word;
}

/* "/usr/bin/ls" is "ls"; "./deploy" and "build/" stay what they are. */
static daruma_str program_name(daruma_str word)
{
    if (word.p[0] == '.' || word.p[word.n - 1] == '/')
        return word;
    for (size_t slash; (slash = str_findch(word, '/')) != STR_NONE;)
        word = str_from(word, slash + 1);
    return word;
}

/* "cargo test", "pip list", "npm run lint:js", "docker compose logs": of a program that no row names, the word behind
 * it says that it only looks. */
static bool looks_by(daruma_str word)
{
    static const daruma_str rows[] = {LIT("test"),  LIT("tests"),    LIT("check"),  LIT("lint"),     LIT("list"),
                                      LIT("ls"),    LIT("show"),     LIT("status"), LIT("info"),     LIT("log"),
                                      LIT("logs"),  LIT("view"),     LIT("diff"),   LIT("plan"),     LIT("version"),
                                      LIT("ps"),    LIT("tree"),     LIT("top"),    LIT("validate"), LIT("describe"),
                                      LIT("audit"), LIT("outdated"), LIT("images"), LIT("inspect"),  LIT("--version")};
    return STR_ANY(str_eq, str_sub(word, 0, str_findch(word, ':')), rows);
}

/* Between a program and what it does: "npm run test", "gh pr view". */
static bool leads_on(daruma_str word)
{
    return str_eq(word, S("run")) || str_eq(word, S("compose")) || str_eq(word, S("pr")) || str_eq(word, S("issue"));
}

/* The words of a row stand at the beginning of `part`; the longest row counts. */
static unsigned row_of(daruma_str part)
{
    char line[64];
    size_t n = 0, ends[3];
    int words = 0;
    daruma_str rest = part;
    for (; words < 3; words++) {
        daruma_str word = part_word(&rest);
        if (!word.n || n + word.n + 1 > sizeof line)
            break;
        if (n)
            line[n++] = ' ';
        if (words == 0)
            word = program_name(word);
        for (size_t i = 0; i < word.n; i++)
            line[n++] = word.p[i];
        ends[words] = n;
    }
    while (words-- > 0) {
        unsigned got = words_find(ROWS(command_rows), (daruma_str){line, ends[words]});
        if (got)
            return got;
    }
    rest = part;
    part_word(&rest);
    daruma_str what = part_word(&rest);
    if (leads_on(what))
        what = part_word(&rest);
    return looks_by(what) ? DARUMA_TOOL_READS : 0;
}

static bool is_filler(daruma_str w) /* what may stand before a command */
{
    static const daruma_str rows[] = {LIT("sudo"),  LIT("do"),      LIT("then"),   LIT("else"), LIT("if"),
                                      LIT("while"), LIT("until"),   LIT("!"),      LIT("{"),    LIT("("),
                                      LIT("exec"),  LIT("command"), LIT("nohup"),  LIT("nice"), LIT("xargs"),
                                      LIT("npx"),   LIT("uv"),      LIT("poetry"), LIT("run")};
    size_t eq = str_findch(w, '=');
    return STR_ANY(str_eq, w, rows) ||
           (eq != STR_NONE && eq > 0 && ch_alpha(w.p[0]) && str_findch(str_sub(w, 0, eq), '/') == STR_NONE);
}

/* "> /dev/null", ">nul": nobody reads it. */
static bool goes_nowhere(daruma_str to)
{
    daruma_str name = str_trim(str_from(to, 1));
    return str_find(str_sub(to, 0, 12), S("/dev/null")) != STR_NONE ||
           (str_istarts(name, S("nul")) && !(name.n > 3 && ch_word(name.p[3])));
}

/* Commands of Windows that are used to wait: "timeout /t 5", "ping -n 6 127.0.0.1 >nul". */
static bool is_windows_pause(daruma_str part)
{
    char first = part.n ? ch_lower(part.p[0]) : 0;
    if (first != 't' && first != 'p')
        return false;
    daruma_str rest = part, word = part_word(&rest), option = part_word(&rest);
    size_t to = str_findch(rest, '>');
    return (str_ieq(word, S("timeout")) && str_istarts(option, S("/t"))) ||
           (str_ieq(word, S("ping")) && str_eq(option, S("-n")) && to != STR_NONE && goes_nowhere(str_from(rest, to)));
}

/* Of a part that writes into a file or sends something CHANGES, of one that is told to wait WAITS. */
static unsigned options_mean(daruma_str part, daruma_str program)
{
    static const daruma_str sends[] = {LIT("-X P"), LIT("-X D"), LIT("-d "), LIT("--data"), LIT("--request P")},
                            to[] = {LIT("curl"), LIT("gh"), LIT("git"), LIT("wget")}, /* "cut -d ," sends nothing */
        asks[] = {LIT("select"), LIT("with")};                                        /* "age > 40" compares */
    daruma_str name = program_name(program);
    bool speaks = STR_ANY(str_eq, name, to), compares = STR_ANY(str_ieq, name, asks);
    unsigned got = 0;
    for (size_t i = 0; i < part.n; i++) {
        const daruma_str rest = str_from(part, i);
        bool plain = part.p[i] == '>' && !compares && !(rest.n > 1 && rest.p[1] == '&');
        if (plain && !goes_nowhere(rest))
            got |= WORDS_CHANGES;
        if (part.p[i] != '-')
            continue;
        if (str_starts(rest, S("--wait")) || (str_starts(rest, S("--watch")) && !str_starts(rest, S("--watch=false"))))
            got |= DARUMA_TOOL_WAITS; /* wherever it stands: ["ctl","--wait"] */
        if (i == 0 || !memchr(" \t\"'", part.p[i - 1], 4))
            continue;
        got |= speaks && STR_ANY(str_starts, rest, sends) ? WORDS_CHANGES : 0u;
        if (str_starts(rest, S("-f")) && str_find(str_sub(part, 0, i), S("tail")) != STR_NONE)
            got |= DARUMA_TOOL_WAITS;
    }
    return got;
}

/* "echo $?", "echo %PATH%", "echo (date)", "echo *.py", "echo !VAR!": what it prints does not stand in it. */
static bool is_expanded(daruma_str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (memchr("$`%(<*?[~{", part.p[i], 10) || (part.p[i] == '!' && i + 1 < part.n && ch_word(part.p[i + 1])))
            return true;
    return false;
}

static unsigned part_means(daruma_str part)
{
    daruma_str from = str_trim(part), rest = from, word = part_word(&rest);
    bool loop = (str_eq(word, S("while")) && str_find(rest, S("read ")) == STR_NONE) || str_eq(word, S("until"));
    if (is_windows_pause(from))
        return DARUMA_TOOL_WAITS | WORDS_PAUSES;
    if (str_eq(word, S("timeout"))) {
        word = part_word(&rest);
        from = str_trim(rest);
        word = part_word(&rest);
    }
    while (word.n && is_filler(word)) {
        from = str_trim(rest);
        word = part_word(&rest);
    }
    if (!word.n || word.p[0] == '#' || str_eq(word, S("done")) || str_eq(word, S("fi")))
        return loop ? DARUMA_TOOL_WAITS : 0;
    unsigned got = row_of(from);
    if ((got & WORDS_IDLE) && is_expanded(part))
        got &= ~(unsigned)WORDS_IDLE;
    unsigned options = options_mean(from, word);
    if (options & WORDS_CHANGES)
        got &= ~(unsigned)(DARUMA_TOOL_READS | WORDS_IDLE);
    got |= options | (loop ? DARUMA_TOOL_WAITS : 0);
    return got ? got : WORDS_WEAK;
}

/* Code that gives a session nothing looks what comes: write_stdin({session_id:3,chars:""}), as code or as the JSON of
 * it. */
static bool code_types_nothing(daruma_str code)
{
    static const daruma_str nothing[] = {LIT(":\"\""), LIT(": \"\""), LIT(":\\\"\\\""), LIT(": \\\"\\\""), LIT("''")};
    return str_has(code, S("session")) && STR_ANY(str_has, code, nothing);
}

unsigned words_of_code(daruma_str code)
{
    code = str_sub(code, 0, COMMAND_BYTES_MAX);
    bool waits = false;
    daruma_str rest = code, before;
    for (size_t at; !waits && (at = str_findch(rest, '(')) != STR_NONE; rest = str_from(rest, at + 1)) {
        before = str_sub(rest, 0, at);
        waits = str_ends(before, S("sleep")) || str_ends(before, S("setTimeout"));
    }
    return waits || code_types_nothing(code) ? DARUMA_TOOL_WAITS : 0;
}

/* Bytes of the end of a line at `i`, which is "\n" in JSON; 0: there is none. */
static size_t line_end(daruma_str s, size_t i)
{
    return s.p[i] == '\n' ? 1 : s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == 'n' ? 2 : 0;
}

/* The next part of a command line, up to what stands between two commands; *i is behind that. A comment is no part. */
static daruma_str next_part(daruma_str s, size_t *i)
{
    size_t from = *i, n = 0;
    char quote = 0;
    while (from < s.n && (s.p[from] == ' ' || (n = line_end(s, from))))
        from += n ? n : 1, n = 0;
    bool comment = from < s.n && s.p[from] == '#';
    for (*i = from; *i < s.n; ++*i) {
        char c = s.p[*i];
        n = !quote ? line_end(s, *i) : 0;
        if (n || (!quote && !comment && (c == ';' || c == '|' || (c == '&' && (*i == 0 || s.p[*i - 1] != '>')))))
            break;
        if (quote ? c == quote : !comment && (c == '\'' || c == '"'))
            quote = quote ? 0 : c;
        *i += c == '\\' && *i + 1 < s.n && s.p[*i + 1] == '\\';
    }
    daruma_str part = comment ? (daruma_str){0} : str_sub(s, from, *i - from);
    *i += n ? n : 1;
    return part;
}

/* "#general", "#c0ffee" and "#mine 3" begin no comment, and "\r" is the key that ends a line. */
static bool begins_comment(daruma_str s)
{
    daruma_str text = str_trim(s);
    return s.n <= COMMAND_BYTES_MAX && text.n && text.p[0] == '#' && !(text.n > 1 && ch_word(text.p[1])) &&
           str_findch(text, '\r') == STR_NONE && str_find(text, S("\\r")) == STR_NONE;
}

unsigned words_of_command(daruma_str command)
{
    unsigned got = 0, idle = WORDS_IDLE;
    bool reads = false, unknown = false, comment = begins_comment(command);
    command = str_sub(command, 0, COMMAND_BYTES_MAX);
    for (size_t i = 0; i <= command.n;) {
        daruma_str words = next_part(command, &i);
        unsigned part = part_means(words);
        if (idle && !(part & WORDS_IDLE) && str_trim(words).n && !str_starts(words, S("cd "))) /* "cd src && true" */
            idle = 0;
        comment &= !str_trim(words).n;
        reads |= (part & DARUMA_TOOL_READS) != 0;
        unknown |= (part & WORDS_WEAK) != 0;
        got |= part & ~(unsigned)(DARUMA_TOOL_READS | WORDS_WEAK);
    }
    if (comment) /* it does nothing, as "true" does, but who writes it may wait */
        return WORDS_IDLE;
    if (str_find(command, S("--sort")) != STR_NONE) /* the order was asked for */
        got &= ~(unsigned)WORDS_FINDS;
    got = (got & ~(unsigned)WORDS_IDLE) | (got & idle);
    if (unknown && !(got & WORDS_CHANGES))
        return got | WORDS_WEAK;
    return got & WORDS_CHANGES ? got : got | (reads || got ? DARUMA_TOOL_READS : 0);
}
