/* What the lists and names of the configuration hold, and how their parts have to fit together. */
#include "gateway/config_reader.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

/* ---- hosts and paths ------------------------------------------------------------- */

const option_list config_list_hosts = {
    .items = offsetof(config, hosts),
    .count = offsetof(config, nhosts),
    .size = sizeof(daruma_str),
    .max = CONFIG_NAMES_MAX,
};

static bool path_fits(config_reader *r, void *base, void *item, size_t index)
{
    daruma_str path = *(daruma_str *)item;
    (void)base, (void)index;
    if (path.p[0] != '/')
        return config_fail(r, "a path begins with a slash, e.g. /api");
    return str_findch(path, '?') == STR_NONE || config_fail(r, "a path ends before its `?`; leave out the rest");
}

const option_list config_list_passthrough = {
    .items = offsetof(config, passthrough),
    .count = offsetof(config, npassthrough),
    .size = sizeof(daruma_str),
    .max = CONFIG_NAMES_MAX,
    .fits = path_fits,
};

/* ---- keys ------------------------------------------------------------------------ */

static bool key_fits(config_reader *r, void *base, void *item, size_t index)
{
    config_provider *p = base;
    config_key *k = item;
    if (!k->value.n == !k->command.n)
        return config_fail(r, k->value.n ? "both `value` and `command` are given; keep one"
                                         : "`value` is missing (or `command`, which prints it)");
    if (!k->name.n) {
        daruma_buf b = buf_in(r->a);
        buf_printf(&b, "key%zu", index + 1);
        k->name = buf_str(&b);
    }
    if (!k->account.n)
        k->account = k->name;
    for (size_t i = 0; i < index; i++)
        if (str_eq(p->keys[i].name, k->name))
            return config_fail(r, "another key of this provider has the name \"" STR_FMT "\"; names are unique",
                               STR_ARG(k->name));
    return true;
}

const option_list config_list_keys = {
    .items = offsetof(config_provider, keys),
    .count = offsetof(config_provider, nkeys),
    .size = sizeof(config_key),
    .max = CONFIG_KEYS_MAX,
    .fits = key_fits,
};

/* ---- headers --------------------------------------------------------------------------- */

static bool is_token(daruma_str s) /* RFC 9110 5.6.2 */
{
    for (size_t i = 0; i < s.n; i++)
        if (!ch_alpha(s.p[i]) && !ch_digit(s.p[i]) && !memchr("!#$%&'*+-.^_`|~", s.p[i], 15))
            return false;
    return s.n > 0 && s.n <= 128;
}

static void *header_named(config_reader *r, void *base, void *item, daruma_str key)
{
    /* They frame the message or name its receiver: daruma writes them itself. */
    static const char *const ours[] = {"host",    "content-length", "connection", "transfer-encoding", "te",
                                       "trailer", "upgrade",        "expect",     "accept-encoding"};
    (void)base;
    daruma_header *h = item;
    if (!is_token(key)) {
        config_fail(r, "this is not the name of a header; letters, digits and '-'");
        return NULL;
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (str_ieq(key, str_of(ours[i]))) {
            config_fail(r, "daruma writes this header itself; remove it");
            return NULL;
        }
    h->name = arena_copy(r->a, key);
    return h;
}

const option_list config_list_headers = {
    .items = offsetof(config_provider, headers),
    .count = offsetof(config_provider, nheaders),
    .size = sizeof(daruma_header),
    .max = CONFIG_HEADERS_MAX,
    .named = header_named,
};

/* ---- providers -------------------------------------------------------------------------- */

static bool provider_fits(config_reader *r, void *base, void *item, size_t index)
{
    config *c = base;
    config_provider *p = item;
    for (size_t i = 0; i < index; i++)
        if (str_eq(c->providers[i].name, p->name))
            return config_fail_at(r, config_member(r, r->node, S("name")),
                                  "another provider has the name \"" STR_FMT "\"; names are unique", STR_ARG(p->name));
    return true;
}

/* The providers that need no file. */
static bool config_builtin(config_reader *r)
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
    config *c = r->ret;
    c->providers = ARENA_NEW(r->a, config_provider, ROWS);
    if (!c->providers)
        return config_fail_plain(r, "the configuration does not fit into memory");
    c->nproviders = ROWS;
    for (size_t i = 0; i < ROWS; i++) {
        bool found = false;
        daruma_str from = r->env ? r->env(str_of(rows[i].env), &found, r->user) : (daruma_str){0};
        if (!found || !from.n)
            from = str_of(rows[i].url);
        config_provider *p = &c->providers[i];
        *p = (config_provider){.name = str_of(rows[i].name), .dialect = dialect_find(str_of(rows[i].dialect))};
        const char *why = NULL;
        if (!p->dialect)
            return config_fail_plain(r, "the dialect %s is not built in", rows[i].dialect);
        if (!url_parse(arena_copy(r->a, from), r->a, &p->to, &why) || p->to.userinfo.n)
            return config_fail_plain(r, "the environment variable %s: expected a URL like %s; %s", rows[i].env,
                                     rows[i].url, why ? why : "it holds a user or password: remove them");
    }
    return true;
}

static bool no_providers(config_reader *r, void *base)
{
    (void)base;
    return config_builtin(r);
}

const option_list config_list_providers = {
    .items = offsetof(config, providers),
    .count = offsetof(config, nproviders),
    .size = sizeof(config_provider),
    .min = 1,
    .max = CONFIG_PROVIDERS_MAX,
    .fits = provider_fits,
    .absent = no_providers,
};

/* ---- models -------------------------------------------------------------------------------- */

static bool target_fits(config_reader *r, void *base, void *item, size_t index)
{
    config_model *m = base;
    config_target *t = item;
    for (size_t i = 0; i < index; i++)
        if (m->targets[i].provider == t->provider && str_eq(m->targets[i].model, t->model))
            return config_fail(r, "this target stands here twice; remove one");
    return true;
}

const option_list config_list_targets = {
    .items = offsetof(config_model, targets),
    .count = offsetof(config_model, ntargets),
    .size = sizeof(config_target),
    .min = 1,
    .max = DARUMA_CASE_TRIED,
    .fits = target_fits,
};

static bool model_fits(config_reader *r, void *base, void *item, size_t index)
{
    config *c = base;
    config_model *m = item;
    for (size_t i = 0; i < index; i++)
        if (str_eq(c->models[i].name, m->name))
            return config_fail_at(r, config_member(r, r->node, S("name")),
                                  "another model has the name \"" STR_FMT "\"; give it both lists of targets",
                                  STR_ARG(m->name));
    return true;
}

const option_list config_list_models = {
    .items = offsetof(config, models),
    .count = offsetof(config, nmodels),
    .size = sizeof(config_model),
    .max = CONFIG_MODELS_MAX,
    .fits = model_fits,
};

/* ---- kinds ------------------------------------------------------------------------------------ */

static void *kind_named(config_reader *r, void *base, void *item, daruma_str key)
{
    (void)item;
    config *c = base;
    bool ok;
    daruma_kind kind = daruma_kind_parse(key, &ok);
    if (ok)
        return &c->policy.kinds[kind];
    nearest near = nearest_to(key);
    for (int k = 0; k < DARUMA_KINDS; k++)
        nearest_try(&near, str_of(daruma_kind_name((daruma_kind)k)));
    if (near.best.n)
        config_fail_plain(r, "unknown kind of failure `" STR_FMT "`; did you mean `" STR_FMT "`?",
                          STR_ARG(str_sub(key, 0, 40)), STR_ARG(near.best));
    else
        config_fail_plain(r, "unknown kind of failure `" STR_FMT "`; `daruma policy` lists them",
                          STR_ARG(str_sub(key, 0, 40)));
    return NULL;
}

static bool kind_fits(config_reader *r, void *base, void *item, size_t index)
{
    (void)index;
    config *c = base;
    daruma_backoff *b = &((daruma_kind_policy *)item)->backoff;
    if (b->cap == 0 && !config_member(r, r->node, S("max_delay"))) { /* the profile never waits for this kind */
        const daruma_backoff *usual = &c->policy.kinds[DARUMA_SERVER_ERROR].backoff;
        b->cap = usual->cap;
        b->factor_milli = b->factor_milli ? b->factor_milli : usual->factor_milli;
    }
    if (b->base <= b->cap)
        return true;
    char first[32], longest[32];
    daruma_buf b1 = buf_over(first, sizeof first - 1), b2 = buf_over(longest, sizeof longest - 1);
    buf_duration(&b1, b->base);
    buf_duration(&b2, b->cap);
    first[b1.n] = longest[b2.n] = 0;
    daruma_str has = config_member(r, r->node, S("delay")) ? S("delay") : S("max_delay");
    return config_fail_at(r, config_member(r, r->node, has),
                          "the first delay (%s) is longer than the longest (%s); change `delay` or `max_delay`", first,
                          longest);
}

const option_list config_list_kinds = {
    .max = DARUMA_KINDS,
    .named = kind_named,
    .fits = kind_fits,
};
