/* main.c - the daruma program: a table of subcommands. */
#include "base/str.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdlib.h>

static const cli_command commands[] = {
    {"serve", cli_serve, "the gateway: point any agent or SDK at it"},
    {"run", cli_run, "an agent that finishes a task over your files, whatever its provider does"},
    {"with", cli_with, "run one command behind a gateway of its own: daruma with -- COMMAND..."},
    {"demo", cli_demo, "a request through each failure, without daruma and through it; what ./run shows"},
    {"chaos", cli_chaos, "a provider that misbehaves on purpose, for your tests"},
    {"check", cli_check, "read a configuration and say whether it is fine"},
    {"policy", cli_policy, "print what is done about each kind of failure"},
    {"profiles", cli_profiles, "what each profile does, side by side"},
    {"classify", cli_classify, "judge error texts: what is it, does waiting help, how long"},
    {"explain", cli_explain, "an error, or a case from the event log, in plain words"},
    {"report", cli_report, "what failed, what was saved and wasted, where to look: out of event files"},
    {"cases", cli_cases, "the cases of an event file, one a line"},
    {"doctor", cli_doctor, "is everything that a gateway needs there? Each line with its remedy"},
    {"health", cli_health, "does the gateway that listens here answer? For health checks"},
    {"replay", cli_replay, "run scenario files through the engine"},
    {"simulate", cli_simulate, "outages in virtual time: what would your configuration survive?"},
    {"loops", cli_loops, "which agents went in circles, out of records of their steps"},
    {"review", cli_review, "a run of an agent on one page: what went wrong, what it cost, what would have helped"},
    {"mend", cli_mend, "the history of a request put right, and shortened"},
    {"convert", cli_convert, "a request or an answer in the words of another API"},
    {"completion", cli_completion, "what bash, zsh or fish need to complete commands and options"},
    {"version", cli_version, "print the version"},
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
