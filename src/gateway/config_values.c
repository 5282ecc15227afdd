/* config_values.c - what the rows of the table call: values that only a gateway has, and how the parts of its lists fit
 * together. */
#include "gateway/config_inside.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdio.h>

/* ---- places ------------------------------------------------------------------------ */

bool config_read_url(conf *r, const conf_option *o, daruma_str s, void *at)
{
    url u;
    const char *why = NULL;
    if (!url_parse(s, r->a, &u, &why))
        return conf_expected(r, o, why);
    if (u.userinfo.n)
        return conf_wrong(r, "a provider's URL holds no user or password\nput the key under `keys`");
    if (dialect_of_path(u.prefix))
        return conf_expected(r, o,
                             "it ends with what clients add to it (/chat/completions, /messages, ...): leave that out");
    *(url *)at = u;
    return true;
}

void config_show_url(const void *root, const void *at, daruma_buf *out)
{
    const url *u = at;
    (void)root;
    buf_printf(out, "http%s://", u->tls ? "s" : "");
    buf_put(out, u->authority);
    buf_put(out, u->prefix);
}

bool config_read_proxy(conf *r, const conf_option *o, daruma_str s, void *at)
{
    url u;
    const char *why = NULL;
    daruma_buf b = buf_in(r->a);
    if (s.n && str_find(s, S("://")) == STR_NONE) /* as curl and Go read it: a host alone is an http proxy */
        BUF_LIT(&b, "http://");
    buf_put(&b, s);
    s = buf_str(&b);
    if (s.n && !url_parse(s, r->a, &u, &why))
        return conf_expected(r, o, why);
    if (s.n && u.tls)
        return conf_expected(r, o, "a proxy is spoken to without TLS: write http://");
    *(daruma_str *)at = s;
    return true;
}

void config_show_text(const void *root, const void *at, daruma_buf *out)
{
    (void)root;
    buf_put(out, *(const daruma_str *)at);
}

/* ---- names of things ------------------------------------------------------------------ */

bool config_read_dialect(conf *r, const conf_option *o, daruma_str s, void *at)
{
    conf_near near = conf_near_to(s);
    const char *known;
    char remedy[80] = "take the one whose SDK your program uses";
    const dialect *d = dialect_find(s);
    *(const dialect **)at = d;
    for (size_t i = 0; (known = dialect_name(i)); i++)
        conf_near_try(&near, str_of(known));
    if (near.best.n)
        snprintf(remedy, sizeof remedy, "did you mean " STR_FMT "?", STR_ARG(near.best));
    return d || conf_expected(r, o, str_ieq(s, S("google")) ? "it is called gemini" : remedy);
}

void config_show_dialect(const void *root, const void *at, daruma_buf *out)
{
    (void)root;
    buf_putz(out, (*(const dialect *const *)at)->name);
}

bool config_read_profile(conf *r, const conf_option *o, daruma_str s, void *at)
{
    daruma_str variant = s, name = str_cut(&variant, '/');
    const daruma_policy *p = daruma_policy_variant(name, variant);
    conf_near near = conf_near_to(name);
    const char *known;
    char remedy[200];
    for (size_t i = 0; !p && (known = daruma_policy_name(i)); i++)
        conf_near_try(&near, str_of(known));
    if (p) {
        *(daruma_policy *)at = *p;
        return true;
    }
    if (near.best.n)
        return conf_wrong(r, "there is no profile \"" STR_FMT "\"\ndid you mean \"" STR_FMT "\"?",
                          STR_ARG(conf_word(r, s)), STR_ARG(near.best));
    snprintf(remedy, sizeof remedy, "there are %s", near.known);
    return conf_expected(r, o, remedy);
}

void config_show_profile(const void *root, const void *at, daruma_buf *out)
{
    const daruma_policy *p = at;
    (void)root;
    buf_printf(out, "%s%s%s", p->profile, p->variant ? "/" : "", p->variant ? p->variant : "");
}

bool config_read_target(conf *r, const conf_option *o, daruma_str s, void *at)
{
    config *c = r->root;
    config_target *t = (config_target *)(void *)((char *)at - offsetof(config_target, model));
    size_t slash = str_findch(s, '/');
    if (slash == STR_NONE || slash == 0 || slash + 1 == s.n)
        return conf_expected(r, o, "name the provider before the first slash");
    daruma_str provider = str_sub(s, 0, slash);
    conf_near near = conf_near_to(provider);
    conf_option model = *o;
    bool unsure = c->nproviders == 0; /* something is wrong with the list, or with a name in it, and that is told */
    model.type = CONF_TEXT;
    model.at = 0;
    for (size_t i = 0; i < c->nproviders; i++) {
        if (str_eq(c->providers[i].name, provider)) {
            t->provider = (int)i;
            return conf_value(r, &model, str_from(s, slash + 1), at);
        }
        unsure |= c->providers[i].name.n == 0;
        conf_near_try(&near, c->providers[i].name);
    }
    if (unsure)
        return conf_value(r, &model, str_from(s, slash + 1), at);
    daruma_str word = conf_word(r, provider);
    if (near.best.n)
        return conf_wrong(r, "there is no provider \"" STR_FMT "\"\ndid you mean \"" STR_FMT "\"?", STR_ARG(word),
                          STR_ARG(near.best));
    return conf_wrong(
        r, "there is no provider \"" STR_FMT "\"\nwhat stands before the first slash has to be one of `providers`",
        STR_ARG(word));
}

void config_show_target(const void *root, const void *at, daruma_buf *out)
{
    const config *c = root;
    const config_target *t = (const config_target *)(const void *)((const char *)at - offsetof(config_target, model));
    if (!t->model.n)
        return;
    buf_put(out, c->providers[t->provider].name);
    BUF_LIT(out, "/");
    buf_put(out, t->model);
}

/* ---- parts of lists --------------------------------------------------------------------- */

void config_path_fits(conf *r, void *base, void *item, size_t index)
{
    daruma_str path = *(daruma_str *)item;
    (void)base, (void)index;
    if (path.p[0] != '/')
        conf_wrong(r, "a path begins with a slash, e.g. /api");
    if (str_findch(path, '?') != STR_NONE)
        conf_wrong(r, "a path ends before its `?`\nleave out the rest");
}

void config_key_fits(conf *r, void *base, void *item, size_t index)
{
    config_key *k = item;
    (void)base;
    if (!k->value.n == !k->command.n)
        conf_wrong(r, k->value.n ? "both `value` and `command` are given\nkeep one"
                                 : "`value` is missing (or `command`, which prints it)");
    if (!k->name.n) {
        daruma_buf b = buf_in(r->a);
        buf_printf(&b, "key%zu", index + 1);
        k->name = buf_str(&b);
    }
    if (!k->account.n)
        k->account = k->name;
}

static bool is_token(daruma_str s) /* RFC 9110 5.6.2 */
{
    for (size_t i = 0; i < s.n; i++)
        if (!ch_alpha(s.p[i]) && !ch_digit(s.p[i]) && !memchr("!#$%&'*+-.^_`|~", s.p[i], 15))
            return false;
    return s.n > 0 && s.n <= 128;
}

void *config_header_named(conf *r, void *base, void *item, daruma_str key)
{
    /* They frame the message or name its receiver: daruma writes them itself. */
    static const char *const ours[] = {"host",    "content-length", "connection", "transfer-encoding", "te",
                                       "trailer", "upgrade",        "expect",     "accept-encoding"};
    (void)base;
    if (!is_token(key))
        conf_wrong(r, "this is not the name of a header\nletters, digits and '-'");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (str_ieq(key, str_of(ours[i])))
            conf_wrong(r, "daruma writes this header itself\nremove it");
    return item;
}

void config_target_fits(conf *r, void *base, void *item, size_t index)
{
    config_model *m = base;
    config_target *t = item;
    for (size_t i = 0; i < index; i++)
        if (m->targets[i].provider == t->provider && str_eq(m->targets[i].model, t->model)) {
            conf_wrong(r, "this target stands here twice\nremove one");
            return;
        }
}

/* ---- kinds ------------------------------------------------------------------------------------ */

const char *config_kind_name(size_t i)
{
    return i < DARUMA_KINDS ? daruma_kind_name((daruma_kind)i) : NULL;
}

void *config_kind_named(conf *r, void *base, void *item, daruma_str key)
{
    bool ok;
    (void)r, (void)item;
    return &((config *)base)->policy.kinds[daruma_kind_parse(key, &ok)];
}

void config_kind_fits(conf *r, void *base, void *item, size_t index)
{
    config *c = base;
    daruma_backoff *b = &((daruma_kind_policy *)item)->backoff;
    (void)index;
    if (b->cap == 0 && !conf_has(r, "max_delay")) { /* the profile never waits for this kind */
        const daruma_backoff *usual = &c->policy.kinds[DARUMA_SERVER_ERROR].backoff;
        b->cap = usual->cap;
        b->factor_milli = b->factor_milli ? b->factor_milli : usual->factor_milli;
    }
    if (b->base <= b->cap)
        return;
    char first[32], longest[32];
    daruma_buf b1 = buf_over(first, sizeof first - 1), b2 = buf_over(longest, sizeof longest - 1);
    buf_duration(&b1, b->base);
    buf_duration(&b2, b->cap);
    first[b1.n] = longest[b2.n] = 0;
    conf_step(r, conf_has(r, "delay") ? "delay" : "max_delay");
    conf_wrong(r, "the first delay (%s) is longer than the longest (%s)\nchange `delay` or `max_delay`", first,
               longest);
}

/* ---- without a file ------------------------------------------------------------------------------ */

void config_builtin(conf *r, void *base)
{
    static const struct {
        const char *name, *dialect, *url, *env;
    } rows[] = {
        /* Not ANTHROPIC_BASE_URL and the like: those point clients at daruma itself. */
        {"anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_UPSTREAM_URL"},
        {"openai", "openai", "https://api.openai.com", "OPENAI_UPSTREAM_URL"},
        {"gemini", "gemini", "https://generativelanguage.googleapis.com", "GEMINI_UPSTREAM_URL"},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    config *c = base;
    c->providers = ARENA_NEW(r->a, config_provider, ROWS);
    c->nproviders = c->providers ? ROWS : 0;
    for (size_t i = 0; i < c->nproviders; i++) {
        bool found = false;
        daruma_str from = r->host->env ? r->host->env(str_of(rows[i].env), &found, r->user) : (daruma_str){0};
        if (!found || !from.n)
            from = str_of(rows[i].url);
        config_provider *p = &c->providers[i];
        *p = (config_provider){.name = str_of(rows[i].name), .dialect = dialect_find(str_of(rows[i].dialect))};
        const char *why = NULL;
        if (!url_parse(arena_copy(r->a, from), r->a, &p->to, &why) || p->to.userinfo.n)
            conf_wrong(r, "the environment variable %s: expected a URL like %s\n%s", rows[i].env, rows[i].url,
                       why ? why : "it holds a user or password: remove them");
    }
}
