#include "cli/cli.h"
#include "base/buf.h"
#include "base/str.h"
#include "dialect/dialect.h"
#include <stdarg.h>

#define DIALECTS "openai, openai-responses, anthropic, gemini"

void (*cli_tables_to)(const cli_option *options);

static void help(const cli_option *options, const char *usage, const char *about)
{
    printf("Usage: daruma %s\n\n%s\n", usage, about);
    if (options->name)
        printf("\nOptions\n");
    for (const cli_option *o = options; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-24s %s\n", left, o->help);
    }
}

/* Returns 0, as take() does. */
static int unknown(const char *command, daruma_str name, const cli_option *options)
{
    str_near near = str_near_to(name);
    for (const cli_option *o = options; o->name; o++)
        str_near_try(&near, str_of(o->name));
    str_near_try(&near, S("--help"));
    fprintf(stderr, "daruma %s: there is no option " STR_FMT, command, STR_ARG(name));
    if (near.best.n)
        fprintf(stderr, "; did you mean " STR_FMT "?\n", STR_ARG(near.best));
    else
        fprintf(stderr, "; daruma %s --help lists them\n", command);
    return 0;
}

static bool store(const char *command, const cli_option *o, const char *value)
{
    if (!*value)
        return cli_say(false, command, "%s needs a value: %s %s", o->name, o->name, o->value);
    if (!o->text)
        return o->take(o, value);
    const char **at = o->text;
    if (str_ends(str_of(o->value), S("...")))
        while (*at)
            at++;
    if (at == o->text + CLI_AGAIN_MAX)
        return cli_say(false, command, "%s at most %d times", o->name, CLI_AGAIN_MAX);
    *at = value;
    return true;
}

/* One argument that begins with "-". Returns how many it used, 0 after an error was told. */
static int take(const char *command, int left, char **argv, const cli_option *options)
{
    daruma_str given = str_of(argv[0]), rest = given, name = str_cut(&rest, '=');
    bool joined = name.n < given.n; /* --listen=:4141 */
    for (const cli_option *o = options; o->name; o++) {
        if (!str_eq(name, str_of(o->name)))
            continue;
        if (!o->value) {
            if (!joined)
                return *o->on = true;
            return cli_say(0, command, "%s takes no value", o->name);
        }
        if (joined)
            return store(command, o, argv[0] + name.n + 1);
        return store(command, o, left < 2 ? "" : argv[1]) ? 2 : 0;
    }
    return unknown(command, name, options);
}

/* Moves `n` arguments from argv[at] on in front of argv[first]. */
static void move_before(char **argv, int first, int at, int n)
{
    for (; n > 0; n--, first++, at++) {
        char *moved = argv[at];
        memmove(argv + first + 1, argv + first, (size_t)(at - first) * sizeof *argv);
        argv[first] = moved;
    }
}

static int read_options(int argc, char **argv, const cli_option *options, const char *usage, const char *about,
                        bool anywhere)
{
    int words = 1; /* where what is no option begins */
    for (int i = 1; i < argc;) {
        daruma_str arg = str_of(argv[i]);
        if (arg.n < 2 || arg.p[0] != '-') {
            if (!anywhere)
                break;
            i++;
            continue;
        }
        if (str_eq(arg, S("--help")) || str_eq(arg, S("-h"))) {
            if (cli_tables_to)
                cli_tables_to(options);
            else
                help(options, usage, about);
            return -2;
        }
        bool last = str_eq(arg, S("--"));
        int used = last ? 1 : take(argv[0], argc - i, argv + i, options);
        if (!used)
            return -1;
        move_before(argv, words, i, used);
        words += used;
        i += used;
        if (last)
            break;
    }
    return words;
}

int cli_options(int argc, char **argv, const cli_option *options, const char *usage, const char *about)
{
    return read_options(argc, argv, options, usage, about, true);
}

int cli_options_before(int argc, char **argv, const cli_option *options, const char *usage, const char *about)
{
    return read_options(argc, argv, options, usage, about, false);
}

int cli_say(int ret, const char *command, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "daruma %s: ", command);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return ret;
}

void cli_refused(const char *command, const daruma_buf *why)
{
    fprintf(stderr, "daruma %s: " STR_FMT "\n", command, STR_ARG(str_trim(buf_str(why))));
}

bool cli_no_more(int argc, char **argv, int at)
{
    if (at >= argc)
        return true;
    return cli_say(false, argv[0], "what is `%s`? daruma %s --help says what it takes", argv[at], argv[0]);
}

const dialect *cli_dialect(const char *command, const char *option, const char *name)
{
    const dialect *d = name ? dialect_find(str_of(name)) : NULL;
    if (!name)
        fprintf(stderr, "daruma %s: %s is missing; it is one of " DIALECTS "\n", command, option);
    else if (!d)
        fprintf(stderr, "daruma %s: there is no dialect `%s`; there are " DIALECTS "\n", command, name);
    return d;
}

const char *cli_one_file(int argc, char **argv, int at)
{
    if (argc - at > 1)
        return CLI_NULL(argv[0], "one file only, not also %s", argv[at + 1]);
    return at < argc ? argv[at] : "-";
}

bool cli_status(const char *command, const char *text, int *ret)
{
    int64_t code = 0;
    bool well = !text || (str_int(str_of(text), &code) && code >= 100 && code <= 999);
    if (!well)
        fprintf(stderr, "daruma %s: --status %s is no HTTP status\n", command, text);
    *ret = (int)code;
    return well;
}
