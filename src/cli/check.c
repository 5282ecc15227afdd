/* daruma check - is a configuration file what it should be, and what does it say? */
#include "cli/agents.h"
#include "cli/cli.h"
#include "gateway/config/config.h"
#include "sys/sys.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdio.h>

static const char about[] =
    "Reads a configuration and says what it means, or all that is wrong in it, where, and what was\n"
    "expected. It looks at all for which serve would refuse the file: also at the files and the address\n"
    "that it names, and leaves nothing behind. Keys are never shown. ${NAME} in the file stands for a\n"
    "variable of the environment, so check where daruma will run.\n"
    "\n"
    "Exit code: 0 the file is fine, 1 it cannot be read, 2 something in it is wrong.\n"
    "\n"
    "With --json one object: ok; file; errors, each with line and column (0: it has no place in the\n"
    "file), key, message, and where they are known expected and remedy; more, how many errors are not\n"
    "listed; warnings; means, every option with what holds, defaults included.\n"
    "\n"
    "  daruma check --json daruma.yaml | jq -r '.errors[] | \"\\(.line): \\(.message)\"'\n"
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

static int print(const daruma_buf *b, FILE *to)
{
    return !b->full && fwrite(b->p, 1, b->n, to) == b->n ? 0 : 1;
}

static void put_json(config_verdict v, const char *file, const config *c, const agents *g, const conf_mistakes *m,
                     daruma_str warnings, daruma_buf *out)
{
    buf_printf(out, "{\"ok\":%s,\"file\":", v == CONFIG_FINE ? "true" : "false");
    BUF_SAY(out, buf_quoted(str_of(file)), ",\"errors\":");
    conf_mistakes_json(m, out);
    buf_printf(out, ",\"more\":%zu,\"warnings\":[", m->more);
    for (bool first = true; warnings.n; first = false)
        BUF_SAY(out, first ? "" : ",", buf_quoted(str_cut(&warnings, '\n')));
    BUF_LIT(out, "]");
    if (v == CONFIG_FINE) {
        BUF_LIT(out, ",\"means\":");
        config_json(c, out);
        size_t end = out->n ? out->n - 1 : 0; /* two objects become one */
        agents_json(g, out);
        if (!out->full)
            out->p[end] = ',', memmove(out->p + end + 1, out->p + end + 2, out->n - end - 2), out->n--;
    }
    BUF_LIT(out, "}\n");
}

static void put_names(const char *thing, size_t n, const void *at, size_t size, daruma_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        BUF_SAY(out, i ? ", " : thing,
                *(const daruma_str *)(const void *)((const char *)at + i * size)); /* the first field of each */
    }
    buf_putz(out, n ? "\n" : "");
}

static void put_text(const char *file, const config *c, const agents *g, daruma_str warnings, daruma_buf *out)
{
    BUF_SAY(out, file, " is fine\n");
    config_summary(c, out);
    put_names("  agents     ", g->nlist, g->list, sizeof *g->list, out);
    put_names("  mcp        ", g->nmcp, g->mcp, sizeof *g->mcp, out);
    while (warnings.n)
        BUF_SAY(out, "warning: ", str_cut(&warnings, '\n'), "\n");
}

static bool is_told(const conf_mistakes *m, const conf_mistake *one)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].line == one->line && m->at[i].column == one->column)
            return true;
    return false;
}

/* Two lists of mistakes of one file, in the order of its lines. A key that nobody knows is in both. */
static void merge(conf_mistakes *m, const conf_mistakes *more)
{
    for (size_t i = 0; i < more->n && m->n < CONF_MISTAKES_MAX; i++) {
        if (is_told(m, &more->at[i]))
            continue;
        size_t at = m->n++;
        for (; at && m->at[at - 1].line > more->at[i].line; at--)
            m->at[at] = m->at[at - 1];
        m->at[at] = more->at[i];
    }
    m->more += more->more;
}

/* Reads what the file says about agents. Where the rest is wrong nothing is said of their models. */
static config_verdict check_agents(daruma_str text, const char *file, const config *c, config_verdict v, agents *g,
                                   daruma_arena *a, conf_mistakes *m)
{
    static conf_mistakes of_agents;
    if (agents_of_config(text, file, v == CONFIG_FINE ? c : NULL, NULL, a, g, &of_agents))
        return v;
    if (v == CONFIG_FINE)
        *m = (conf_mistakes){.file = of_agents.file};
    merge(m, &of_agents);
    return CONFIG_WRONG;
}

/* The file is read twice, by the gateway's tables and by those of agents; standard input can be read once. */
static config_verdict check_both(const config_source *from, daruma_arena *a, config *c, agents *g, conf_mistakes *m)
{
    bool waits;
    config_source source = *from;
    daruma_str text;
    char why[256];
    bool input = strcmp(from->file, "-") == 0, read = sys_read_file(from->file, CONFIG_BYTES_MAX, a, &text, why);
    if (input && read) {
        source.file = NULL;
        source.text = text.p;
    }
    config_verdict v = !read && input ? CONFIG_UNREAD : config_load(&source, a, c, &waits, m);
    if (!read && input) {
        *m = (conf_mistakes){.n = 1};
        snprintf(m->at[0].what, sizeof m->at[0].what, "%s", why);
    }
    if (v != CONFIG_UNREAD && read)
        v = check_agents(text, from->file, c, v, g, a, m);
    if (v == CONFIG_WRONG)
        m->file = from->file;
    return v;
}

static int check_file(const config_source *from, bool json, daruma_arena *a)
{
    static conf_mistakes m;
    static config c;
    static agents g;
    config_verdict v = check_both(from, a, &c, &g, &m);
    static const char *const commands[] = {[CONFIG_UNREAD] = "daruma check: ", [CONFIG_WRONG] = ""};
    daruma_arena rest;
    if (!sys_arena_init(&rest, 64u << 10, CONFIG_MEMORY_BYTES_MAX))
        return 1;
    daruma_buf out = buf_in(&rest), warnings = buf_in(&rest);
    if (v == CONFIG_FINE)
        config_warnings(&c, &warnings);
    if (json) {
        put_json(v, from->file, &c, &g, &m, buf_str(&warnings), &out);
    } else if (v == CONFIG_FINE) {
        put_text(from->file, &c, &g, buf_str(&warnings), &out);
    } else {
        buf_putz(&out, commands[v]);
        conf_mistakes_say(&m, &out);
    }
    int code = print(&out, json || v == CONFIG_FINE ? stdout : stderr);
    sys_arena_done(&rest);
    return v == CONFIG_FINE ? code : (int)v;
}

static int print_options(daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    config_options_print(&out);
    buf_putc(&out, '\n');
    agents_options_print(&out);
    return print(&out, stdout);
}

int cli_check(int argc, char **argv)
{
    bool all = false, json = false;
    config_source from = {0};
    const cli_option options[] = {
        CLI_SWITCH("--json", &json, "what is wrong, or what the file means, as a JSON object"),
        CLI_VALUE("--listen", "HOST:PORT", &from.listen, "as for serve: where clients connect, over the file's word"),
        CLI_SWITCH("--options", &all, "every option: type, bounds, default, what it does (as in doc/config.md)"),
        {0}};
    int at = cli_options(argc, argv, options, "check FILE", about);
    if (at < 0)
        return at == -2 ? 0 : 2;
    if (!all && at == argc)
        return cli_say(2, "check", "which file? daruma check FILE, or - for standard input");
    from.file = cli_one_file(argc, argv, at);
    if (!from.file || (all && !cli_no_more(argc, argv, at)))
        return 2;
    daruma_arena a;
    if (!config_arena(&a))
        return cli_say(1, "check", "no memory");
    int code = all ? print_options(&a) : check_file(&from, json, &a);
    sys_arena_done(&a);
    return code;
}
