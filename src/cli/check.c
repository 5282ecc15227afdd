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

static const char about[] =
    "Reads a configuration and says what it means, or what is wrong, where, and what was expected.\n"
    "Keys are never shown. ${NAME} in the file stands for a variable of the environment, so check\n"
    "where daruma will run.\n"
    "\n"
    "Exit code: 0 the file is fine, 1 it cannot be read, 2 something in it is wrong.\n"
    "\n"
    "A file to begin with; start it with daruma serve --config daruma.yaml\n"
    "\n"
    "  providers:\n"
    "    - name: main\n"
    "      dialect: openai\n"
    "      url: https://api.openai.com/v1\n"
    "      keys: [\"${OPENAI_API_KEY}\"]\n"
    "  models:\n"
    "    - { name: best, targets: [main/gpt-5, main/gpt-5-mini] }";

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
        fprintf(stderr, "daruma check: %s\n", why);
        return 1;
    }
    config c;
    config_error e;
    if (!config_read(text, from_environment, NULL, a, &c, &e)) {
        print_error(stderr, file, &e);
        return 2;
    }
    char missing[512];
    if (!config_files(&c, missing)) {
        fprintf(stderr, "%s: %s\n", file, missing);
        return 2;
    }
    daruma_buf summary = buf_in(a), warnings = buf_in(a);
    config_summary(&c, &summary);
    printf("%s is fine\n" STR_FMT, file, STR_ARG(buf_str(&summary)));
    config_warnings(&c, &warnings);
    for (daruma_str rest = buf_str(&warnings); rest.n;) {
        daruma_str one = str_cut(&rest, '\n');
        printf("warning: " STR_FMT "\n", STR_ARG(one));
    }
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
    bool all = false;
    const cli_option options[] = {
        {"--options", NULL, NULL, &all, "every option: type, bounds, default, what it does (as in doc/config.md)"},
        {0}};
    int at = cli_options(argc, argv, options, "check FILE", about);
    if (at < 0)
        return at == -2 ? 0 : 2;
    if (!all && at == argc) {
        fputs("daruma check: which file? daruma check FILE, or - for standard input\n", stderr);
        return 2;
    }
    const char *file = cli_one_file(argc, argv, at);
    if (!file || (all && !cli_no_more(argc, argv, at)))
        return 2;
    daruma_arena a;
    if (!sys_arena_init(&a, 64u << 10, CHECK_BYTES_MAX)) {
        fputs("daruma check: no memory\n", stderr);
        return 1;
    }
    int code = all ? print_options(&a) : check_file(file, &a);
    sys_arena_done(&a);
    return code;
}
