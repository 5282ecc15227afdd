/* completion.c - `daruma completion SHELL`: what a shell needs to complete commands and options, made from the tables
 * that read them. */
#include "base/str.h"
#include "cli/cli.h"
#include "dialect/dialect.h"
#include <string.h>

typedef enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH } shell;

static struct {
    shell to;
    const char *command;
} now;

/* What an option's value may be; from the dialects on, a word of a list. */
typedef enum value_of { VALUE_NONE, VALUE_ANY, VALUE_FILE, VALUE_DIALECT, VALUE_PROFILE } value_of;

static value_of kind_of(const cli_option *o)
{
    daruma_str name = str_of(o->name), value = str_of(o->value);
    if (!o->value)
        return VALUE_NONE;
    if (str_eq(name, S("--dialect")) || str_eq(name, S("--from")) || str_eq(name, S("--to")))
        return VALUE_DIALECT;
    if (str_eq(name, S("--profile")))
        return VALUE_PROFILE;
    return str_find(value, S("FILE")) != STR_NONE || str_find(value, S("DIR")) != STR_NONE ? VALUE_FILE : VALUE_ANY;
}

static void put_words(value_of v)
{
    const dialect *d;
    const char *name;
    for (size_t i = 0; (d = dialect_at(i)) && v == VALUE_DIALECT; i++)
        printf("%s%s", i ? " " : "", d->name);
    for (size_t i = 0; (name = daruma_policy_name(i)) && v == VALUE_PROFILE; i++)
        printf("%s%s", i ? " " : "", name);
}

/* A text in single quotes; `twice`: within double quotes that zsh reads, too, where colons and brackets end a part. */
static void put_quoted(const char *text, bool zsh)
{
    for (const char *p = text; *p; p++)
        if (*p == '\'')
            fputs("'\\''", stdout);
        else if (zsh && strchr(":[]\\", *p))
            printf("\\%c", *p);
        else
            putchar(*p);
}

static void put_bash(const cli_option *options)
{
    printf("        %s)\n            case $prev in\n", now.command);
    for (const cli_option *o = options; o->name; o++) {
        value_of v = kind_of(o);
        if (v >= VALUE_DIALECT) {
            printf("            %s) COMPREPLY=($(compgen -W '", o->name);
            put_words(v);
            puts("' -- \"$cur\")); return ;;");
        } else if (v) {
            printf("            %s) COMPREPLY=(%s); return ;;\n", o->name,
                   v == VALUE_FILE ? "$(compgen -f -- \"$cur\")" : "");
        }
    }
    printf("            esac\n            words='--help");
    for (const cli_option *o = options; o->name; o++)
        printf(" %s", o->name);
    puts("' ;;");
}

static void put_zsh(const cli_option *options)
{
    printf("        %s) _arguments '--help[says more]'", now.command);
    for (const cli_option *o = options; o->name; o++) {
        bool again = o->take || (o->value && str_ends(str_of(o->value), S("...")));
        printf(" \\\n            '%s%s[", again ? "*" : "", o->name);
        put_quoted(o->help, true);
        putchar(']');
        value_of v = kind_of(o);
        if (v) {
            putchar(':');
            put_quoted(o->value, true);
            fputs(v == VALUE_FILE ? ":_files" : v == VALUE_ANY ? ": " : ":(", stdout);
            if (v >= VALUE_DIALECT) {
                put_words(v);
                putchar(')');
            }
        }
        putchar('\'');
    }
    puts(" \\\n            '*:file:_files' ;;");
}

static void put_fish(const cli_option *options)
{
    for (const cli_option *o = options; o->name; o++) {
        printf("complete -c daruma -n '__fish_seen_subcommand_from %s' -l %s -d '", now.command, o->name + 2);
        put_quoted(o->help, false);
        putchar('\'');
        value_of v = kind_of(o);
        if (v)
            fputs(v == VALUE_FILE ? " -r -F" : " -x", stdout);
        if (v >= VALUE_DIALECT) {
            fputs(" -a '", stdout);
            put_words(v);
            putchar('\'');
        }
        putchar('\n');
    }
}

static void put_table(const cli_option *options)
{
    (now.to == SHELL_BASH ? put_bash : now.to == SHELL_ZSH ? put_zsh : put_fish)(options);
}

/* Has each command show its table. */
static void put_tables(const cli_command *commands, size_t n)
{
    cli_tables_to = put_table;
    for (size_t i = 0; i < n; i++) {
        now.command = commands[i].name;
        commands[i].run(2, (char *[]){(char *)(uintptr_t)commands[i].name, (char[]){"--help"}, NULL});
    }
    cli_tables_to = NULL;
}

static void put_bash_script(const cli_command *commands, size_t n)
{
    puts("# bash completion of daruma\n"
         "_daruma() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "    COMPREPLY=()\n"
         "    if [ \"$COMP_CWORD\" = 1 ]; then");
    printf("        words='");
    for (size_t i = 0; i < n; i++)
        printf("%s ", commands[i].name);
    puts("--help --version'\n"
         "    else\n"
         "        case ${COMP_WORDS[1]} in");
    put_tables(commands, n);
    puts("        esac\n"
         "        case $cur in -*) ;; *) COMPREPLY=($(compgen -f -- \"$cur\")); return ;; esac\n"
         "    fi\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "}\n"
         "complete -o filenames -F _daruma daruma");
}

static void put_zsh_script(const cli_command *commands, size_t n)
{
    puts("#compdef daruma\n"
         "_daruma() {\n"
         "    local -a commands\n"
         "    commands=(");
    for (size_t i = 0; i < n; i++) {
        printf("        '%s:", commands[i].name);
        put_quoted(commands[i].help, true);
        puts("'");
    }
    puts("    )\n"
         "    if (( CURRENT == 2 )); then\n"
         "        _describe command commands\n"
         "        return\n"
         "    fi\n"
         "    local command=$words[2]\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "    case $command in");
    put_tables(commands, n);
    puts("    esac\n"
         "}\n"
         "_daruma \"$@\"");
}

static void put_fish_script(const cli_command *commands, size_t n)
{
    puts("# fish completion of daruma");
    for (size_t i = 0; i < n; i++) {
        printf("complete -c daruma -n __fish_use_subcommand -f -a %s -d '", commands[i].name);
        put_quoted(commands[i].help, false);
        puts("'");
    }
    puts("complete -c daruma -l help -d 'Says more'");
    put_tables(commands, n);
}

int cli_completion(int argc, char **argv)
{
    static const char *const shells[] = {[SHELL_BASH] = "bash", [SHELL_ZSH] = "zsh", [SHELL_FISH] = "fish"};
    static void (*const scripts[])(const cli_command *, size_t) = {
        [SHELL_BASH] = put_bash_script, [SHELL_ZSH] = put_zsh_script, [SHELL_FISH] = put_fish_script};
    const cli_option options[] = {{0}};
    size_t n;
    int at =
        cli_options(argc, argv, options, "completion bash|zsh|fish",
                    "Prints what a shell needs to complete daruma's commands and options. `./run install` puts it\n"
                    "where the shells look; by hand:\n\n"
                    "  bash   source <(daruma completion bash)      in ~/.bashrc\n"
                    "  zsh    daruma completion zsh > _daruma       in a folder of $fpath\n"
                    "  fish   daruma completion fish > ~/.config/fish/completions/daruma.fish");
    if (at < 0)
        return at == -2 ? 0 : 2;
    for (size_t i = 0; at < argc && i < COUNT(shells); i++)
        if (str_eq(str_of(argv[at]), str_of(shells[i]))) {
            if (!cli_no_more(argc, argv, at + 1))
                return 2;
            now.to = (shell)i;
            const cli_command *commands = cli_commands(&n);
            scripts[i](commands, n);
            return 0;
        }
    return cli_say(2, "completion", "which shell? There are bash, zsh and fish");
}
