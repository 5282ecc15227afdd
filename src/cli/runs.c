/* runs.c - finds and lists the journals of `daruma run`, and keeps the options that a run began with. */
#include "cli/runs.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"

const char *runs_folder(const char *state, char room[JOURNAL_PATH_BYTES])
{
    daruma_str xdg = sys_env("XDG_STATE_HOME"), home = sys_env("HOME");
    if (state)
        return state;
    int n = xdg.n    ? snprintf(room, JOURNAL_PATH_BYTES, STR_FMT "/daruma", STR_ARG(xdg))
            : home.n ? snprintf(room, JOURNAL_PATH_BYTES, STR_FMT "/.local/state/daruma", STR_ARG(home))
                     : -1;
    return n > 0 && n < (int)JOURNAL_PATH_BYTES ? room : NULL;
}

daruma_str runs_id(const char *folder, const char *name, daruma_arena *a)
{
    daruma_str *ids;
    if (!str_eq(str_of(name), S("last")))
        return str_of(name);
    size_t n = journal_list(folder, &ids, a);
    while (n && str_ends(ids[n - 1], S(".broken")))
        n--;
    return n ? ids[n - 1] : (daruma_str){0};
}

/* ---- the list ---- */

/* How it stands, in a word. */
static const char *state_word(journal_state s, bool busy, bool broken)
{
    static const char *const words[] = {"stopped", "interrupted", "escalated", "over"};
    return broken ? "broken" : busy ? "running" : words[s];
}

static void list_one(const char *folder, daruma_str id, bool json, daruma_arena *a)
{
    char why[256], date[21] = "?", plain[RUN_SHOWN_BYTES];
    bool busy = false, broken = str_ends(id, S(".broken"));
    journal *j = journal_read(folder, id, &busy, why);
    int64_t began = 0;
    if (!j) {
        fprintf(stderr, "daruma run: %s\n", why);
        return;
    }
    daruma_str task = journal_text(j, "task", a), result = journal_text(j, "result", a);
    journal_state s = journal_state_of(j);
    daruma_str status = s == JOURNAL_OVER && !broken ? json_text(json_get(result, S("status")), a) : (daruma_str){0};
    if (str_int(journal_text(j, "began", a), &began))
        date_write(began, date);
    journal_close(j);
    daruma_str word = status.n ? status : str_of(state_word(s, busy, broken));
    daruma_str rest = str_trim(task), line = str_cut(&rest, '\n');
    if (json) {
        daruma_str b = STR_SAY(a, "{\"run\":", buf_quoted(id), ",\"began\":", buf_quoted(str_of(date)),
                               ",\"state\":", buf_quoted(word), ",\"task\":", buf_quoted(line));
        printf(STR_FMT "}\n", STR_ARG(b));
        return;
    }
    line = cli_plain(str_sub(line, 0, sizeof plain - 1), plain, sizeof plain);
    printf("%-22.*s  %s  %-11.*s  " STR_FMT "\n", STR_ARG(id), date, STR_ARG(word), STR_ARG(line));
}

int runs_list(const char *folder, bool json)
{
    daruma_arena a, one;
    daruma_str *ids;
    if (!sys_arena_init(&a, 64 << 10, RUN_ANSWER_BYTES_MAX))
        return 1;
    size_t n = journal_list(folder, &ids, &a);
    for (size_t i = 0; i < n && sys_arena_init(&one, 16 << 10, RUN_ANSWER_BYTES_MAX); i++) {
        list_one(folder, ids[i], json, &one);
        sys_arena_done(&one);
    }
    if (!n && !json)
        fprintf(stderr, "there is no run in %s\n", folder);
    sys_arena_done(&a);
    return 0;
}

/* ---- options ---- */

typedef enum rule {
    RULE_SAME,  /* it makes the run what it is */
    RULE_OTHER, /* it is kept, and may be another one when the run goes on */
    RULE_NOT,   /* it is of this process */
} rule;

static rule rule_of(const char *name)
{
    static const struct {
        const char *name;
        rule is;
    } rows[] = {{"--base-url", RULE_OTHER},     {"--root", RULE_OTHER},     {"--config", RULE_OTHER},
                {"--json", RULE_NOT},           {"--yes", RULE_NOT},        {"--resume", RULE_NOT},
                {"--state", RULE_NOT},          {"--no-journal", RULE_NOT}, {"--approve", RULE_NOT},
                {"--approve-within", RULE_NOT}, {"--list", RULE_NOT},       {"--stream", RULE_NOT}};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].is;
    return RULE_SAME;
}

static bool is_list(const cli_option *o)
{
    return o->value && str_ends(str_of(o->value), S("..."));
}

static bool was_given(const runs_options *o, size_t i)
{
    const cli_option *x = &o->options[i];
    return x->value ? *x->text != o->was[i] : *x->on;
}

runs_options runs_options_before(const cli_option *options)
{
    runs_options o = {.options = options};
    for (size_t i = 0; options[i].name && i < RUNS_OPTIONS_MAX; i++)
        o.was[i] = options[i].value ? *options[i].text : NULL;
    return o;
}

static void write_value(const cli_option *x, daruma_buf *out)
{
    if (!x->value) {
        BUF_LIT(out, "true");
        return;
    }
    if (!is_list(x)) {
        buf_json(out, str_of(*x->text));
        return;
    }
    buf_putc(out, '[');
    for (size_t i = 0; x->text[i]; i++) {
        if (i)
            buf_putc(out, ',');
        buf_json(out, str_of(x->text[i]));
    }
    buf_putc(out, ']');
}

void runs_options_write(const runs_options *o, daruma_buf *out)
{
    bool first = true;
    buf_putc(out, '{');
    for (size_t i = 0; o->options[i].name && i < RUNS_OPTIONS_MAX; i++) {
        if (rule_of(o->options[i].name) == RULE_NOT || !was_given(o, i))
            continue;
        if (!first)
            buf_putc(out, ',');
        first = false;
        BUF_SAY(out, buf_quoted(str_of(o->options[i].name)), ":");
        write_value(&o->options[i], out);
    }
    buf_putc(out, '}');
}

static void take_value(const cli_option *x, daruma_str value, daruma_arena *a)
{
    if (!x->value) {
        *x->on = json_is_true(value);
    } else if (!is_list(x)) {
        *x->text = arena_copy(a, json_text(value, a)).p;
    } else {
        json_iter it = json_open(value);
        daruma_str one;
        for (size_t i = 0; i < CLI_AGAIN_MAX && json_next(&it, NULL, &one); i++)
            x->text[i] = arena_copy(a, json_text(one, a)).p;
    }
}

bool runs_options_read(const runs_options *o, daruma_str settings, daruma_arena *a)
{
    for (size_t i = 0; o->options[i].name && i < RUNS_OPTIONS_MAX; i++) {
        const cli_option *x = &o->options[i];
        rule r = rule_of(x->name);
        daruma_str value = json_get(settings, str_of(x->name));
        if (r == RULE_NOT || (r == RULE_OTHER && was_given(o, i)))
            continue;
        if (was_given(o, i)) {
            daruma_buf now = buf_in(a);
            write_value(x, &now);
            if (str_eq(buf_str(&now), value))
                continue;
            return cli_say(false, "run",
                           "the run began with another %s (" STR_FMT "): it goes on with the options that it began "
                           "with; leave %s out",
                           x->name, STR_ARG(value.n ? value : S("none")), x->name);
        }
        if (value.n)
            take_value(x, value, a);
    }
    return !a->full;
}
