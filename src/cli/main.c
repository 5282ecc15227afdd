/* main.c - the daruma program: a table of subcommands. */
#include "base/str.h"
#include "cli/cli.h"
#include "sys/sys.h"
#include <errno.h>
#include <stdlib.h>

static const cli_command commands[] = {
#define X(name, help) {#name, cli_##name, help},
    CLI_COMMAND_MAP(X)
#undef X
};

const cli_command *cli_commands(size_t *n)
{
    *n = COUNT(commands);
    return commands;
}

static void help(FILE *to)
{
    fprintf(to, "daruma " DARUMA_VERSION ": error recovery for LLM agents\n\nUsage: daruma COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; i < COUNT(commands); i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\n`daruma COMMAND --help` tells more. Start with:\n\n"
                "  daruma serve                     then set OPENAI_BASE_URL=http://127.0.0.1:4141/v1\n"
                "                                   or ANTHROPIC_BASE_URL=http://127.0.0.1:4141\n"
                "  daruma with -- COMMAND...        does both for one command\n");
}

static int unknown(const char *name)
{
    str_near near = str_near_to(str_of(name));
    for (size_t i = 0; i < COUNT(commands); i++)
        str_near_try(&near, str_of(commands[i].name));
    str_near_try(&near, S("--help"));
    str_near_try(&near, S("--version"));
    fprintf(stderr, "daruma: there is no command `%s`", name);
    if (near.best.n)
        fprintf(stderr, "; did you mean `" STR_FMT "`?", STR_ARG(near.best));
    fprintf(stderr, "\nSee daruma --help.\n");
    return 2;
}

static int run(int argc, char **argv)
{
    daruma_str name = str_of(argv[1]);
    if (str_eq(name, S("help")) && argc == 3) /* `daruma help serve` */
        return run(3, (char *[]){argv[0], argv[2], (char[]){"--help"}, NULL});
    if (str_eq(name, S("--help")) || str_eq(name, S("-h")) || str_eq(name, S("help"))) {
        help(stdout);
        return 0;
    }
    if (str_eq(name, S("--version")) || str_eq(name, S("-V")) || str_eq(name, S("-v")))
        name = S("version");
    for (size_t i = 0; i < COUNT(commands); i++)
        if (str_eq(name, str_of(commands[i].name)))
            return commands[i].run(argc - 1, argv + 1);
    return unknown(argv[1]);
}

/* What was printed must have arrived: a full disk makes half an answer, which a script would take for all of it. */
static bool printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    fprintf(stderr, "daruma: standard output could not be written: %s\n", errno ? strerror(errno) : "lost before");
    return false;
}

int main(int argc, char **argv)
{
    sys_standard_descriptors();
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    int code = run(argc, argv);
    errno = 0;
    return printed() || code ? code : 1;
}

int cli_version(int argc, char **argv)
{
    const cli_option options[] = {{0}};
    int rest = cli_options(argc, argv, options, "version", "Prints the version.");
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (!cli_no_more(argc, argv, rest))
        return 2;
    printf("daruma " DARUMA_VERSION "\n");
    return 0;
}
