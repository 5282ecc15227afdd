/* print.c - what the tables say: what a value has to be, the list of all options, and what was read. */
#include "base/check.h"
#include "conf/conf_inside.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdio.h>

enum { LEVELS_MAX = 8, SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

/* What stands between the path of a row and those of its members: "", "[]" or ".*". */
static const char *option_inner(const conf_option *o)
{
    return o->type == CONF_LIST ? "[]" : o->type == CONF_NAMED ? ".*" : "";
}

/* `level` ends tables that hold themselves. */
static bool walk(const conf_shape *s, const conf_option *in, const char *path, int level, option_visit visit,
                 void *user)
{
    char below[256];
    const char *inner = in ? option_inner(in) : "";
    if (level > LEVELS_MAX)
        return false;
    int n = snprintf(below, sizeof below, "%s%s", path, inner);
    check(n >= 0 && (size_t)n < sizeof below); /* names of our own tables, LEVELS_MAX deep */
    if (inner[0] && s->element && visit(below, s->element, in, user))
        return true;
    for (size_t i = 0; i < s->of.n; i++) {
        const conf_option *o = &s->of.at[i];
        n = snprintf(below, sizeof below, "%s%s%s%s", path, inner, in ? "." : "", o->name);
        check(n >= 0 && (size_t)n < sizeof below);
        if (visit(below, o, in, user) || (o->shape && walk(o->shape, o, below, level + 1, visit, user)))
            return true;
    }
    return false;
}

bool options_walk(const conf_shape *s, const conf_option *in, const char *path, option_visit visit, void *user)
{
    return walk(s, in, path, 0, visit, user);
}

/* ---- values ----------------------------------------------------------------------------- */

/* What a value has to be, by type. */
static const char *const expectations[] = {
    [CONF_GROUP] = "a mapping",
    [CONF_LIST] = "a list",
    [CONF_NAMED] = "a mapping",
    [CONF_TEXT] = "a text",
    [CONF_NAME] = "a name of letters, digits, '.', '_' and '-'",
    [CONF_DURATION] = "a duration like 5s",
    [CONF_SIZE] = "a size like 64MiB",
    [CONF_INTEGER] = "a whole number",
    [CONF_FRACTION] = "a number like 1.5",
    [CONF_BOOL] = "true or false",
    [CONF_ENUM] = "one of ",
    [CONF_ADDRESS] = "an address like 127.0.0.1:4141",
    [CONF_JSON] = "a mapping, or JSON as text",
    [CONF_VALUE] = "a value",
    [CONF_NODE] = "a value",
};

static const struct {
    conf_type type;
    int64_t is;
    const char *name;
} units[] = {
    /* longest first: the first that divides is shown */
    {CONF_DURATION, HOUR, "h"},  {CONF_DURATION, MINUTE, "m"}, {CONF_DURATION, SECOND, "s"}, {CONF_DURATION, 1, "ms"},
    {CONF_SIZE, 1 << 30, "GiB"}, {CONF_SIZE, 1 << 20, "MiB"},  {CONF_SIZE, 1 << 10, "KiB"},  {CONF_SIZE, 1, "B"},
};

/* "5s", "64MiB", "2.5": as a file may say it. */
static void put_number(const conf_option *o, int64_t value, daruma_buf *out)
{
    if (o->type == CONF_FRACTION) {
        buf_int(out, value / 1000);
        if (value % 1000)
            buf_printf(out, ".%03d", (int)(value % 1000));
        return;
    }
    if (o->type == CONF_DURATION && value == 0) {
        BUF_LIT(out, "0s");
        return;
    }
    for (size_t i = 0; i < COUNT(units); i++) {
        if (units[i].type == o->type && value % units[i].is == 0) {
            BUF_SAY(out, value / units[i].is, units[i].name);
            return;
        }
    }
    buf_int(out, value);
}

static void put_words(const char *words, const char *quote, daruma_buf *out)
{
    daruma_str rest = str_of(words);
    for (bool first = true; rest.n; first = false) {
        BUF_SAY(out, first ? "" : ", ", quote, str_cut(&rest, ' '), quote);
    }
}

static bool is_number_type(const conf_option *o)
{
    return o->type == CONF_DURATION || o->type == CONF_SIZE || o->type == CONF_INTEGER || o->type == CONF_FRACTION;
}

void conf_expects(const conf_option *o, daruma_buf *out)
{
    if (o->type == CONF_BOOL && o->word) {
        buf_printf(out, "true, false or %s", o->word);
        return;
    }
    buf_putz(out, o->expects ? o->expects : expectations[o->type]);
    if (o->words)
        put_words(o->words, "", out);
    if (is_number_type(o) && (o->max || o->type == CONF_INTEGER)) {
        BUF_LIT(out, " from ");
        put_number(o, o->min, out);
        BUF_LIT(out, " ");
        if (o->max) {
            BUF_LIT(out, "to ");
            put_number(o, o->max, out);
        } else {
            BUF_LIT(out, "on");
        }
    }
    if (o->word)
        buf_printf(out, ", or %s", o->word);
}

/* ---- the list of options ------------------------------------------------------------------ */

static bool put_row(const char *path, const conf_option *o, const conf_option *in, void *user)
{
    daruma_buf *out = user;
    (void)in;
    buf_printf(out, "| `%s` | ", path);
    conf_expects(o, out);
    BUF_LIT(out, " | ");
    if (o->env) {
        BUF_LIT(out, "environment: ");
        put_words(o->env, "`", out);
    } else if (o->flags & CONF_REQUIRED) {
        BUF_LIT(out, "**required**");
    } else if (o->says) {
        buf_putz(out, o->says);
    } else if (o->fallback) {
        buf_printf(out, "`%s`", o->fallback);
    }
    BUF_SAY(out, " | ", o->help, " |\n");
    return false;
}

void conf_print_options(const conf_shape *root, daruma_buf *out)
{
    BUF_LIT(out, "| option | value | default | what it does |\n|---|---|---|---|\n");
    options_walk(root, NULL, "", put_row, out);
}

/* ---- what was read ------------------------------------------------------------------------- */

static void put_shape(const conf_shape *s, const void *root, const void *at, daruma_buf *out);

static int64_t stored(const conf_option *o, const void *at)
{
    return o->size == sizeof(int64_t)    ? *(const int64_t *)at
           : o->size == sizeof(uint32_t) ? (int64_t) * (const int32_t *)at
                                         : *(const bool *)at;
}

static void put_text(const conf_option *o, daruma_str s, daruma_buf *out)
{
    if (!s.n)
        BUF_LIT(out, "null");
    else
        buf_json(out, o->flags & CONF_SECRET ? S("[redacted]") : s);
}

/* As a file may say it. What is below its bounds means the word for that ("none"), or nothing. */
static void put_stored(const conf_option *o, int64_t v, daruma_buf *out)
{
    daruma_str rest = str_of(o->words);
    if (o->word && (v == o->word_is || v < o->min)) {
        buf_json(out, str_of(o->word));
    } else if (o->type == CONF_ENUM) {
        for (; v > 0 && rest.n; v--)
            str_cut(&rest, ' ');
        buf_json(out, str_cut(&rest, ' '));
    } else if (o->type == CONF_BOOL) {
        buf_putz(out, v ? "true" : "false");
    } else if (v < o->min) {
        BUF_LIT(out, "null");
    } else {
        const char *quote = o->type == CONF_DURATION || o->type == CONF_SIZE ? "\"" : "";
        buf_putz(out, quote);
        put_number(o, v, out);
        buf_putz(out, quote);
    }
}

static void put_elements(const conf_option *o, const void *root, const void *at, daruma_buf *out)
{
    const conf_shape *s = o->shape;
    const struct items {
        const char *at;
        size_t n;
    } *items = at;
    bool list = o->type == CONF_LIST;
    buf_putc(out, list ? '[' : '{');
    for (size_t i = 0; s->size ? i < items->n : s->names && s->names(i); i++) {
        daruma_str name =
            s->size ? *(const daruma_str *)(const void *)(items->at + i * s->size + s->name_at) : str_of(s->names(i));
        const void *item = s->size ? items->at + i * s->size : s->named(NULL, (void *)(uintptr_t)root, NULL, name);
        buf_putz(out, i ? "," : "");
        if (!list) {
            BUF_SAY(out, buf_quoted(name), ":");
        }
        put_shape(s, root, item, out);
    }
    buf_putc(out, list ? ']' : '}');
}

static void put_address(const conf_address *x, daruma_buf *out)
{
    bool six = str_findch(x->host, ':') != STR_NONE;
    buf_printf(out, "%s" STR_FMT "%s:%d", six ? "[" : "", STR_ARG(x->host), six ? "]" : "", x->port);
}

static void put_option(const conf_option *o, const void *root, const void *base, daruma_buf *out)
{
    const void *at = (const char *)base + o->at;
    char room[4096];
    daruma_buf text = buf_over(room, sizeof room);
    if (o->type == CONF_GROUP) {
        put_shape(o->shape, root, at, out);
    } else if (o->type == CONF_LIST || o->type == CONF_NAMED) {
        put_elements(o, root, at, out);
    } else if (o->type == CONF_TEXT || o->type == CONF_NAME || o->type == CONF_JSON) {
        put_text(o, *(const daruma_str *)at, out);
    } else if (o->type == CONF_ADDRESS || o->type == CONF_VALUE || o->type == CONF_NODE) {
        if (o->type == CONF_ADDRESS)
            put_address(at, &text);
        else if (o->show)
            o->show(root, at, &text);
        put_text(o, buf_str(&text), out);
    } else {
        put_stored(o, stored(o, at), out);
    }
}

static void put_shape(const conf_shape *s, const void *root, const void *at, daruma_buf *out)
{
    if (!s->of.n) {
        put_option(s->element, root, at, out);
        return;
    }
    buf_putc(out, '{');
    for (size_t i = 0; i < s->of.n; i++) {
        buf_printf(out, "%s\"%s\":", i ? "," : "", s->of.at[i].name);
        put_option(&s->of.at[i], root, at, out);
    }
    buf_putc(out, '}');
}

void conf_print_values(const conf_shape *root, const void *at, daruma_buf *out)
{
    put_shape(root, at, at, out);
}
