/* daruma check - is a configuration file what it should be, and what does it say? */
#include "cli/cli.h"
#include "gateway/config.h"
#include "sys/sys.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_BYTES_MAX (64u << 20) /* of memory: far more than the largest file (CONFIG_BYTES_MAX) can ask for */

static const char help[] =
    "daruma check FILE        reads a configuration file and says what it means, or what is wrong and where\n"
    "daruma check --options   every option: type, bounds, default, what it does (the tables of doc/config.md)\n"
    "\n"
    "Exit code: 0 the file is fine, 1 it cannot be read, 2 something in it is wrong.\n"
    "Keys are never shown. ${NAME} in the file stands for a variable of the environment, so check\n"
    "where daruma will run. A file to begin with:\n"
    "\n"
    "  providers:\n"
    "    - name: main\n"
    "      dialect: openai\n"
    "      url: https://api.openai.com/v1\n"
    "      keys: [\"${OPENAI_API_KEY}\"]\n"
    "  models:\n"
    "    - { name: best, targets: [main/gpt-5, main/gpt-5-mini] }\n"
    "\n"
    "Start it with: daruma serve --config daruma.yaml\n";

static daruma_str from_environment(daruma_str name, bool *found, void *user)
{
    (void)user;
    char z[256];
    *found = false;
    if (name.n >= sizeof z)
        return (daruma_str){0};
    memcpy(z, name.p, name.n);
    z[name.n] = 0;
    const char *value = getenv(z);
    *found = value != NULL;
    return str_of(value);
}

/* "FILE:LINE:COL: text", the line as far as it holds no secret, and a caret below the place. */
static void print_error(FILE *out, const char *file, const config_error *e)
{
    if (e->line)
        fprintf(out, "%s:%d:%d: %s\n", file, e->line, e->column, e->text);
    else
        fprintf(out, "%s: %s\n", file, e->text);
    if (e->excerpt[0])
        fprintf(out, "  %s\n  %*s^\n", e->excerpt, e->caret, "");
}

static int check_file(const char *file, daruma_arena *a)
{
    daruma_str text;
    char why[256];
    if (!sys_read_file(file, CONFIG_BYTES_MAX, a, &text, why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    config c;
    config_error e;
    if (!config_read(text, from_environment, NULL, a, &c, &e)) {
        print_error(stderr, file, &e);
        return 2;
    }
    daruma_buf summary = buf_in(a), warnings = buf_in(a);
    config_summary(&c, &summary);
    printf("%s is fine\n" STR_FMT, file, STR_ARG(buf_str(&summary)));
    config_warnings(&c, &warnings);
    for (daruma_str rest = buf_str(&warnings); rest.n;)
        printf("warning: " STR_FMT "\n", STR_ARG(str_cut(&rest, '\n')));
    return 0;
}

static int print_options(daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    config_options_print(&out);
    return fwrite(out.p, 1, out.n, stdout) == out.n ? 0 : 1;
}

int cli_check(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "-";
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        fputs(help, stdout);
        return 0;
    }
    bool options = strcmp(what, "--options") == 0;
    if (what[0] == '-' && !options) {
        fputs("usage: daruma check FILE | --options | --help\n", stderr);
        return 2;
    }
    daruma_arena a;
    if (!sys_arena_init(&a, 64u << 10, CHECK_BYTES_MAX)) {
        fputs("daruma check: no memory\n", stderr);
        return 1;
    }
    int code = options ? print_options(&a) : check_file(what, &a);
    sys_arena_done(&a);
    return code;
}
