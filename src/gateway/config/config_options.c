/* config_options.c - the options of the configuration, as rows: name, type, bounds, default, help. Reading, `daruma
 * check` and doc/config.md are made from them; nothing else knows an option's name. Above the tables stands what their
 * rows call: readers of values that only a gateway has, and how the parts of lists fit together. */
#include "gateway/config/config_inside.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdio.h>

/* ---- places ------------------------------------------------------------------------ */

static bool read_url(conf *r, const conf_option *o, daruma_str s, void *at)
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
    if (u->host.n)
        url_say(u, out);
}

static bool read_proxy(conf *r, const conf_option *o, daruma_str s, void *at)
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

static void show_text(const void *root, const void *at, daruma_buf *out)
{
    (void)root;
    buf_put(out, *(const daruma_str *)at);
}

/* ---- names of things ------------------------------------------------------------------ */

static bool meant_another(conf *r, const conf_option *o, str_near near, const char *otherwise)
{
    char remedy[80];
    snprintf(remedy, sizeof remedy, "did you mean " STR_FMT "?", STR_ARG(near.best));
    return conf_expected(r, o, near.best.n ? remedy : otherwise);
}

static bool is_not_there(conf *r, const char *what, daruma_str word, daruma_str best)
{
    return conf_wrong(r, "there is no %s \"" STR_FMT "\"\ndid you mean \"" STR_FMT "\"?", what,
                      STR_ARG(conf_word(r, word)), STR_ARG(best));
}

static bool read_dialect(conf *r, const conf_option *o, daruma_str s, void *at)
{
    str_near near = str_near_to(s);
    const dialect *known;
    const dialect *d = dialect_find(s);
    *(const dialect **)at = d;
    for (size_t i = 0; (known = dialect_at(i)); i++)
        str_near_try(&near, str_of(known->name));
    if (str_ieq(s, S("google")))
        return conf_expected(r, o, "it is called gemini");
    return d || meant_another(r, o, near, "take the one whose SDK your program uses");
}

static void show_dialect(const void *root, const void *at, daruma_buf *out)
{
    (void)root;
    buf_putz(out, (*(const dialect *const *)at)->name);
}

static bool read_profile(conf *r, const conf_option *o, daruma_str s, void *at)
{
    daruma_str rest = s, name = str_cut(&rest, '/');
    const daruma_policy *p = daruma_policy_stack(s, r->a);
    conf_near near = conf_near_to(name);
    const char *known;
    char remedy[200];
    for (size_t i = 0; !p && (known = daruma_policy_name(i)); i++)
        conf_near_try(&near, str_of(known));
    if (p) {
        *(daruma_policy *)at = *p;
        return true;
    }
    if (near.to.best.n)
        return is_not_there(r, "profile", s, near.to.best);
    snprintf(remedy, sizeof remedy, "there are %s", near.known);
    return conf_expected(r, o, remedy);
}

static void show_profile(const void *root, const void *at, daruma_buf *out)
{
    const daruma_policy *p = at;
    (void)root;
    buf_printf(out, "%s%s%s", p->profile, p->variant ? "/" : "", p->variant ? p->variant : "");
}

static bool read_target(conf *r, const conf_option *o, daruma_str s, void *at)
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
    model.value = NULL;
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
    if (near.to.best.n)
        return is_not_there(r, "provider", provider, near.to.best);
    return conf_wrong(
        r, "there is no provider \"" STR_FMT "\"\nwhat stands before the first slash has to be one of `providers`",
        STR_ARG(conf_word(r, provider)));
}

static void show_target(const void *root, const void *at, daruma_buf *out)
{
    const config *c = root;
    const config_target *t = (const config_target *)(const void *)((const char *)at - offsetof(config_target, model));
    if (!t->model.n)
        return;
    BUF_SAY(out, c->providers[t->provider].name, "/", t->model);
}

/* ---- parts of lists --------------------------------------------------------------------- */

static void path_fits(conf *r, void *base, void *item, size_t index)
{
    daruma_str path = *(daruma_str *)item;
    (void)base, (void)index;
    if (path.p[0] != '/')
        conf_wrong(r, "a path begins with a slash, e.g. /api");
    if (str_findch(path, '?') != STR_NONE)
        conf_wrong(r, "a path ends before its `?`\nleave out the rest");
}

static void key_fits(conf *r, void *base, void *item, size_t index)
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

static void *header_named(conf *r, void *base, void *item, daruma_str key)
{
    /* They frame the message or name its receiver: daruma writes them itself. */
    static const char *const ours[] = {"host",    "content-length", "connection", "transfer-encoding", "te",
                                       "trailer", "upgrade",        "expect",     "accept-encoding"};
    (void)base;
    if (!is_token(key))
        conf_wrong(r, "this is not the name of a header\nletters, digits and '-'");
    for (size_t i = 0; i < COUNT(ours); i++)
        if (str_ieq(key, str_of(ours[i])))
            conf_wrong(r, "daruma writes this header itself\nremove it");
    return item;
}

/* `*` in a target needs one in the name that clients ask for. */
static void star_fits(conf *r, const config_model *m, const config_target *t)
{
    if (str_findch(t->model, '*') != STR_NONE && str_findch(m->name, '*') == STR_NONE)
        conf_wrong(
            r,
            "`*` stands for the name that is asked for, and this model has one name\nwrite the provider's name for it");
}

static void model_fits(conf *r, void *base, void *item, size_t index)
{
    const config_model *m = item;
    (void)base, (void)index;
    size_t mark = conf_step(r, "on_content_filter");
    star_fits(r, m, &m->on_filter);
    if (m->ntargets && m->on_filter.model.n && m->targets[0].provider == m->on_filter.provider &&
        str_eq(m->targets[0].model, m->on_filter.model))
        conf_wrong(r, "this is the model's first target, which refused\nname another one");
    conf_back(r, mark);
}

static void target_fits(conf *r, void *base, void *item, size_t index)
{
    config_model *m = base;
    config_target *t = item;
    star_fits(r, m, t);
    for (size_t i = 0; i < index; i++)
        if (m->targets[i].provider == t->provider && str_eq(m->targets[i].model, t->model)) {
            conf_wrong(r, "this target stands here twice\nremove one");
            return;
        }
}

/* ---- who may ask ---------------------------------------------------------------------------- */

static void token_fits(conf *r, const config_token *t)
{
    if (!t->value.n == !t->file.n)
        conf_wrong(r, t->value.n ? "both `token` and `file` are given\nkeep one"
                                 : "`token` is missing (or `file`, which holds it)");
    if (t->value.n)
        config_token_fits(r, t->value);
}

static void client_fits(conf *r, void *base, void *item, size_t index)
{
    (void)base, (void)index;
    token_fits(r, &((config_client *)item)->token);
}

static void admin_fits(conf *r, void *base, void *item, size_t index)
{
    (void)item, (void)index;
    token_fits(r, &((config *)base)->admin);
}

static void tls_fits(conf *r, void *base, void *item, size_t index)
{
    const config *c = base;
    (void)item, (void)index;
    if (!c->cert_file.n != !c->key_file.n)
        conf_wrong(r, "`cert_file` and `key_file` belong together\nadd `%s`",
                   c->cert_file.n ? "key_file" : "cert_file");
}

/* ---- kinds ------------------------------------------------------------------------------------ */

static const char *kind_name(size_t i)
{
    return i < DARUMA_KINDS ? daruma_kind_name((daruma_kind)i) : NULL;
}

static bool read_kind(conf *r, const conf_option *o, daruma_str s, void *at)
{
    bool ok;
    daruma_kind kind = daruma_kind_parse(s, &ok);
    str_near near = str_near_to(s);
    for (size_t i = 0; kind_name(i); i++)
        str_near_try(&near, str_of(kind_name(i)));
    *(uint32_t *)at = (uint32_t)kind;
    return ok || meant_another(r, o, near, NULL);
}

static void show_kind(const void *root, const void *at, daruma_buf *out)
{
    (void)root;
    buf_putz(out, daruma_kind_name((daruma_kind) * (const uint32_t *)at));
}

static void judgement_fits(conf *r, void *base, void *item, size_t index)
{
    config_judgement *j = item;
    (void)base, (void)index;
    if (!j->code.n && !j->nwords && !j->status)
        conf_wrong(r, "this would judge every failure\nsay which: `code`, `words` or `status`");
}

static void *kind_named(conf *r, void *base, void *item, daruma_str key)
{
    bool ok;
    (void)r, (void)item;
    return &((config *)base)->policy.kinds[daruma_kind_parse(key, &ok)];
}

static void kind_fits(conf *r, void *base, void *item, size_t index)
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

/* ---- what is not the gateway's ----------------------------------------------------------------- */

/* Agents of `daruma run` stand in the same file, and are read by its own tables. */
static const char *other_key(size_t i)
{
    static const char *const keys[] = {"agents", "tools", "mcp"};
    return i < COUNT(keys) ? keys[i] : NULL;
}

static bool skip(conf *r, const conf_option *o, const conf_node *n, void *at)
{
    (void)r, (void)o, (void)n, (void)at;
    return true;
}

/* ---- without a file ------------------------------------------------------------------------------ */

static void builtin(conf *r, void *base)
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

/* ---- the tables ----------------------------------------------------------------------------------- */

#define AT                        CONF_AT
#define ITEMS                     CONF_ITEMS
#define NEEDED                    .flags = CONF_REQUIRED
#define VALUE(reads, shows, what) CONF_VALUE, .value = reads, .show = shows, .expects = what
#define SECOND                    1000
#define MINUTE                    (60 * SECOND)
#define HOUR                      (60 * MINUTE)

// clang-format off
static const conf_option hosts_element = {
    NULL, CONF_NAME, .size = sizeof(daruma_str), .min = 1, .max = 253,
    .help = "A host name, without a port.",
};
static const conf_shape hosts_shape = {.element = &hosts_element, .size = sizeof(daruma_str), .max = CONFIG_NAMES_MAX};

static const conf_option passthrough_element = {
    NULL, CONF_TEXT, .size = sizeof(daruma_str), .min = 1, .max = 1000,
    .help = "The beginning of a path in whole segments: `/api` opens `/api` and `/api/tags`. `/` opens all.",
};
static const conf_shape passthrough_shape = {.element = &passthrough_element, .size = sizeof(daruma_str), .max = CONFIG_NAMES_MAX, .fits = path_fits};

static const conf_option keys_element = {
    NULL, CONF_TEXT, .flags = CONF_SECRET, AT(config_key, value), .min = 1, .max = 16384,
    .help = "A key alone; the same as `{ value: ... }`.",
};
static const conf_option keys_rows[] = {
    {"value", CONF_TEXT, .flags = CONF_SECRET, AT(config_key, value), .min = 1, .max = 16384, .help = "The key. Better not written out: `${OPENAI_API_KEY}`."},
    {"command", CONF_TEXT, .flags = CONF_SECRET | CONF_LINES, AT(config_key, command), .min = 1, .max = 16384,
     .help = "A shell command that prints the key in its first line. It is run again once when the key is refused."},
    {"account", CONF_NAME, AT(config_key, account), .min = 1, .max = 64, .says = "the key's name",
     .help = "Whose key it is. Keys of one account share its limits: when the account is empty, all of them are."},
    {"name", CONF_NAME, AT(config_key, name), .min = 1, .max = 64, .says = "key1, key2, ...", .help = "How events call the key."},
};
static const conf_shape keys_shape = {.of = CONF_ROWS(keys_rows), .element = &keys_element, .size = sizeof(config_key), .max = CONFIG_KEYS_MAX,
    .thing = "key of this provider", .name_at = offsetof(config_key, name), .fits = key_fits};

static const conf_option headers_element = {
    NULL, CONF_TEXT, .flags = CONF_SECRET, AT(daruma_header, value), .min = 0, .max = 8192,
    .help = "The header's value.",
};
const conf_shape config_headers_shape = {.element = &headers_element, .like = "{ X-Title: my agent }", .size = sizeof(daruma_header), .max = CONFIG_HEADERS_MAX,
    .name_at = offsetof(daruma_header, name), .named = header_named};

static const conf_option providers_rows[] = {
    {"name", CONF_NAME, NEEDED, AT(config_provider, name), .min = 1, .max = 64, .help = "How targets, events and metrics call it."},
    {"dialect", VALUE(read_dialect, show_dialect, "one of openai, openai-responses, anthropic, gemini"), NEEDED, AT(config_provider, dialect),
     .help = "How it speaks: `openai` (Chat Completions), `openai-responses`, `anthropic` (Messages) or `gemini` (generateContent)."},
    {"url", VALUE(read_url, config_show_url, "a URL like https://api.openai.com"), NEEDED, AT(config_provider, to),
     .help = "Its address, with or without the `/v1` that clients add: it is never doubled."},
    {"cloud", CONF_ENUM, AT(config_provider, cloud), .fallback = "auto", .words = "auto vertex bedrock",
     .help = "The cloud that hosts Anthropic's models at this address and speaks its dialect a little otherwise: `vertex`, or `bedrock` (InvokeModel). `auto`: as the URL says it. doc/clouds.md"},
    {"keys", CONF_LIST, ITEMS(config_provider, keys), .shape = &keys_shape, .says = "the clients' own",
     .help = "Keys that are used in place of the clients' own. When one is refused or limited, the next one that is well takes over."},
    {"spread", CONF_BOOL, AT(config_provider, spread), .fallback = "false",
     .help = "`true`: new conversations are shared between its keys, and each stays with its own, for the sake of prompt caches. `false`: the first key that is well is asked."},
    {"headers", CONF_NAMED, ITEMS(config_provider, headers), .shape = &config_headers_shape, .help = "Headers that are sent along with every request to it, by name."},
};
static const conf_shape providers_shape = {.of = CONF_ROWS(providers_rows), .like = "{ name: main, dialect: openai, url: https://api.openai.com }",
    .size = sizeof(config_provider), .min = 1, .max = CONFIG_PROVIDERS_MAX,
    .thing = "provider", .name_at = offsetof(config_provider, name), .fits = config_cloud_fits, .absent = builtin};

static const conf_option targets_element = {
    NULL, VALUE(read_target, show_target, "a target like provider/model"), AT(config_target, model), .min = 1, .max = 300,
    .help = "`provider/model`: what stands behind the first slash goes to the provider as it is. The same as `{ target: ... }`.",
};
static const conf_option targets_rows[] = {
    {"target", VALUE(read_target, show_target, "a target like provider/model"), NEEDED, AT(config_target, model), .min = 1, .max = 300, .help = "`provider/model`."},
    {"window", CONF_INTEGER, AT(config_target, window), .min = 1, .max = WINDOW_TOKENS_MAX, .fallback = "model", .word = "model", .word_is = -1,
     .help = "Tokens that fit into its context window, where it differs from the model's."},
    {"max_output", CONF_INTEGER, AT(config_target, max_output), .min = 1, .max = WINDOW_TOKENS_MAX, .fallback = "model", .word = "model", .word_is = -1,
     .help = "Tokens that one of its answers may have, where it differs from the model's."},
    {"weight", CONF_INTEGER, AT(config_target, weight), .min = 0, .max = 10000, .fallback = "0",
     .help = "Its share of conversations: of targets with the weights 3 and 1 the first gets three of four, and each conversation stays with its own while that is well. Where any target of a model has a weight, those without are asked when the others fail."},
};
static const conf_shape targets_shape = {.of = CONF_ROWS(targets_rows), .element = &targets_element, .size = sizeof(config_target),
    .min = 1, .max = DARUMA_CASE_TRIED, .fits = target_fits};
static const conf_shape others_shape = {.of = CONF_ROWS(targets_rows), .element = &targets_element, .size = sizeof(config_target),
    .min = 1, .max = DARUMA_CASE_TRIED};

static const conf_option models_rows[] = {
    {"name", CONF_TEXT, NEEDED, AT(config_model, name), .min = 1, .max = 200,
     .help = "The name clients ask for. `*` in it stands for anything: `gpt-*` is for all names of that form that have no entry of their own, the first entry that fits."},
    {"targets", CONF_LIST, NEEDED, ITEMS(config_model, targets), .shape = &targets_shape,
     .help = "Where to go, preferred first. Where the name has a `*`, a `*` in a target's model is the name that was asked for: `main/*`. Targets of another dialect than the client's get the conversation translated: doc/dialects.md."},
    {"window", CONF_INTEGER, AT(config_model, window), .min = 1, .max = WINDOW_TOKENS_MAX, .fallback = "learned", .word = "learned", .word_is = -1,
     .help = "Tokens that fit into the context window: what a conversation is shortened to, and which target is wider. Learned from what a model refuses when it is not said."},
    {"max_output", CONF_INTEGER, AT(config_model, max_output), .min = 1, .max = WINDOW_TOKENS_MAX, .fallback = "learned", .word = "learned", .word_is = -1,
     .help = "Tokens that one answer may have."},
    {"on_content_filter", VALUE(read_target, show_target, "a target like provider/model"), AT(config_model, on_filter.model), .min = 1, .max = 300, .says = "nobody",
     .help = "Who is asked, once, when a provider's content filter refused the request, or withheld its answer before any of it went out. Only when it is said: another model answers then what the first one would not."},
    {"watch", CONF_ENUM, AT(config_model, watch), .fallback = "default", .words = "default off observe guide enforce",
     .help = "What is done about agents that go in circles with this model; `default` is the file's `watch`."},
};
static const conf_shape models_shape = {.of = CONF_ROWS(models_rows), .like = "{ name: best, targets: [main/gpt-5] }", .size = sizeof(config_model), .max = CONFIG_MODELS_MAX,
    .thing = "model", .name_at = offsetof(config_model, name), .fits = model_fits};

static const conf_option client_models_element = {
    NULL, CONF_TEXT, .size = sizeof(daruma_str), .min = 1, .max = 200,
    .help = "The name of a model as clients ask for it; `*` stands for anything.",
};
static const conf_shape client_models_shape = {.element = &client_models_element, .size = sizeof(daruma_str), .max = CONFIG_NAMES_MAX};

static const conf_option clients_rows[] = {
    {"name", CONF_NAME, NEEDED, AT(config_client, name), .min = 1, .max = 64, .help = "How messages, events and the usage log call it."},
    {"token", CONF_TEXT, .flags = CONF_SECRET, AT(config_client, token.value), .min = 1, .max = 4096,
     .help = "What it shows as its API key, or in `x-daruma-token` where it needs its own key for the provider. Better not written out: `${CI_TOKEN}`. 16 characters at least; `openssl rand -hex 32` makes one."},
    {"file", CONF_TEXT, AT(config_client, token.file), .min = 1, .max = 4096, .says = "none", .help = "A file whose first line is the token."},
    {"models", CONF_LIST, .flags = CONF_OR_SINGLE, ITEMS(config_client, models), .shape = &client_models_shape, .says = "all",
     .help = "The models that it may ask. With it only requests that name a model are answered, and lists of models: no files, batches or stored answers."},
    {"rate", CONF_INTEGER, AT(config_client, rate), .min = 1, .max = 1000000, .says = "no limit",
     .help = "Requests a minute. Beyond it the answer is 429 with `retry-after`."},
};
static const conf_shape clients_shape = {.of = CONF_ROWS(clients_rows), .like = "{ name: me, token: \"${DARUMA_TOKEN}\" }",
    .size = sizeof(config_client), .max = CONFIG_CLIENTS_MAX, .thing = "client", .name_at = offsetof(config_client, name), .fits = client_fits};

static const conf_option admin_rows[] = {
    {"token", CONF_TEXT, .flags = CONF_SECRET, AT(config, admin.value), .min = 1, .max = 4096, .says = "none", .help = "The token, as `clients[].token`."},
    {"file", CONF_TEXT, AT(config, admin.file), .min = 1, .max = 4096, .says = "none", .help = "A file whose first line is the token."},
};
static const conf_shape admin_shape = {.of = CONF_ROWS(admin_rows), .fits = admin_fits};

static const conf_option timeouts_rows[] = {
    {"connect", CONF_DURATION, AT(config, clocks.connect), .min = 10, .max = 10 * MINUTE, .fallback = "5s", .word = "none", .help = "Name, connection, proxy and TLS together."},
    {"first_byte", CONF_DURATION, AT(config, clocks.first_byte), .min = 10, .max = 24 * HOUR, .says = "`none`", .word = "none", .word_is = -1,
     .help = "From the request being sent to the first byte of the answer; a call that takes longer has failed. Not needed for a model that hangs: beside a call that is silent for longer than usual another target is asked (`recovery.hedge`), and where there is none nothing is better than waiting."},
    {"plain_first_byte", CONF_DURATION, AT(config, plain_first_byte), .min = 10, .max = 24 * HOUR, .says = "as `first_byte` where that is written, else `none`", .word = "none", .word_is = -1,
     .help = "The same for answers that are not streamed: their first byte comes when the model has finished, which may take minutes."},
    {"idle", CONF_DURATION, AT(config, clocks.idle), .min = 10, .max = 24 * HOUR, .fallback = "none", .word = "none",
     .help = "Silence between two pieces of an answer; models may think for minutes."},
    {"total", CONF_DURATION, AT(config, clocks.total), .min = 10, .max = 24 * HOUR, .fallback = "none", .word = "none",
     .help = "The whole request, all its calls together. A client that says how long it waits (`x-stainless-timeout`) is believed without it."},
};
static const conf_shape timeouts_shape = {.of = CONF_ROWS(timeouts_rows)};

static const conf_option kinds_rows[] = {
    {"max_attempts", CONF_INTEGER, AT(daruma_kind_policy, max_attempts), .min = 1, .max = 100, .says = "the profile's, else `recovery.max_attempts`",
     .help = "Calls to one target, the first included."},
    {"delay", CONF_DURATION, AT(daruma_kind_policy, backoff.base), .min = 0, .max = HOUR, .says = "the profile's", .help = "Before the first retry, where the provider gave no advice."},
    {"factor", CONF_FRACTION, AT(daruma_kind_policy, backoff.factor_milli), .min = 1000, .max = 100000, .says = "the profile's",
     .help = "How the delay grows with each retry; 2 doubles it."},
    {"max_delay", CONF_DURATION, AT(daruma_kind_policy, backoff.cap), .min = 0, .max = HOUR, .says = "the profile's", .help = "No delay is longer."},
    {"jitter", CONF_FRACTION, AT(daruma_kind_policy, backoff.jitter_milli), .min = 0, .max = 1000, .says = "the profile's",
     .help = "Share of the delay that chance decides, so that clients do not come back all at once; 1 is all of it."},
};
static const conf_shape kinds_shape = {.of = CONF_ROWS(kinds_rows), .like = "{ delay: 2s, max_attempts: 6 }", .max = DARUMA_KINDS,
    .thing = "kind of failure", .names = kind_name, .named = kind_named, .fits = kind_fits};

static const conf_option words_element = {
    NULL, CONF_TEXT, .size = sizeof(daruma_str), .min = 2, .max = 300,
    .help = "Words, in any case.",
};
static const conf_shape words_shape = {.element = &words_element, .size = sizeof(daruma_str), .min = 1, .max = CONFIG_NAMES_MAX};

static const conf_option judge_rows[] = {
    {"kind", VALUE(read_kind, show_kind, "the name of a kind of failure, like rate_limit"), NEEDED, AT(config_judgement, kind),
     .help = "What such a failure is: `rate_limit`, `quota`, `overloaded`, `context_length`, ... doc/errors.md"},
    {"code", CONF_TEXT, AT(config_judgement, code), .min = 1, .max = 80, .says = "any",
     .help = "The error's code or type, as the provider sends it; `daruma explain` and events show it."},
    {"words", CONF_LIST, .flags = CONF_OR_SINGLE, ITEMS(config_judgement, words), .shape = &words_shape, .says = "any",
     .help = "One of these stands in the answer."},
    {"status", CONF_INTEGER, AT(config_judgement, status), .min = 200, .max = 599, .says = "any", .help = "The HTTP status it came with."},
    {"wait", CONF_DURATION, AT(config_judgement, wait), .min = 1, .max = 24 * HOUR, .says = "what the provider said", .help = "How long to wait before the next call."},
};
static const conf_shape judge_shape = {.of = CONF_ROWS(judge_rows), .like = "{ kind: rate_limit, code: slow_down, wait: 5s }",
    .size = sizeof(config_judgement), .max = CONFIG_NAMES_MAX, .fits = judgement_fits};

static const conf_option recovery_rows[] = {
    {"profile", VALUE(read_profile, show_profile, "the name of a profile"), AT(config, policy), .flags = CONF_OR_LIST, .fallback = "default",
     .help = "The set of ladders; `daruma policy --profile NAME` prints it. The rows below change its numbers. `swarm/code` names a variant, `swarm, ruby-llm` or `[swarm, ruby-llm]` profiles one above the other."},
    {"enabled", CONF_BOOL, AT(config, policy.enabled), .fallback = "true", .help = "`false`: everything passes through and the first failure is final."},
    {"on_failure", CONF_ENUM, AT(config, on_failure), .fallback = "auto", .words = DRIVE_FORM_WORDS,
     .help = "What the client gets when nothing helps: the provider's own `error`; a readable assistant `message`; `auto` is `message` where an agent can read it and the error means nothing to its client. Profiles whose way it is to answer (`swarm`, `penguiflow`) do, whatever it says."},
    {"max_attempts", CONF_INTEGER, AT(config, policy.max_attempts), .min = 1, .max = 100, .says = "the profile's",
     .help = "Calls to one target, the first included; other targets add theirs, deadline and budget bound all."},
    {"max_wait", CONF_DURATION, AT(config, policy.max_wait), .min = 0, .max = 24 * HOUR, .says = "the profile's",
     .help = "A longer wait is not slept: another target is tried, or the failure told."},
    {"patience", CONF_DURATION, AT(config, policy.patience), .min = 0, .max = 24 * HOUR, .says = "the profile's", .word = "none", .word_is = -1,
     .help = "So long a request waits in all for what passes by itself (a provider that is down, busy or limited), from its first failure on and never beyond the client's own deadline. `none`: only the ladder ends it."},
    {"hedge", CONF_ENUM, AT(config, hedge), .fallback = "auto", .words = "auto off",
     .help = "A call that is silent for longer than is usual for its model, while another target is well: `auto` asks that one beside it, the first that brings content is the answer and the other is cancelled. Those that were in vain are 3 % of all calls at most, but for those beside a call that is known to go nowhere; six for one request."},
    {"mend", CONF_BOOL, AT(config, policy.mend.enabled), .says = "`true`", .help = "`false`: nothing is mended in requests and answers; what fails is sent again, or elsewhere."},
    {"side_calls", CONF_BOOL, AT(config, policy.mend.side_calls), .says = "`true`",
     .help = "Whether a model may be asked on the side: for summaries of large tool output and of long conversations, and for an explanation of what cannot be mended."},
    {"summariser", VALUE(read_target, show_target, "a target like provider/model"), AT(config, summariser.model), .min = 1, .max = 300, .says = "the model that was asked",
     .help = "Who is asked on the side, as `provider/model`: a small, cheap model does."},
    {"max_compress_retries", CONF_INTEGER, AT(config, policy.mend.max_compress_retries), .min = 0, .max = 10, .says = "the profile's",
     .help = "How often one request is sent again shorter when it is too long for the model."},
    {"compression_threshold_chars", CONF_INTEGER, AT(config, policy.mend.compression_threshold_chars), .min = 100, .max = 100000000, .says = "the profile's",
     .help = "Tool output longer than this is summarised when masking old output does not suffice."},
    {"summarize_on_compress", CONF_BOOL, AT(config, policy.mend.summarize_on_compress), .says = "the profile's",
     .help = "`false`: tool output is only masked, never summarised by a model."},
    {"orphans", CONF_ENUM, AT(config, orphans), .fallback = "profile", .words = DRIVE_ORPHANS_WORDS,
     .help = "What becomes of a tool call whose result was lost: `answer` gives it a neutral result, `prune` removes it."},
    {"kinds", CONF_NAMED, .shape = &kinds_shape, .help = "Numbers of one kind of failure, by its name: `rate_limit`, `overloaded`, `timeout`, ..."},
};
static const conf_shape recovery_shape = {.of = CONF_ROWS(recovery_rows)};

static const conf_option events_rows[] = {
    {"file", CONF_TEXT, AT(config, events_file), .min = 1, .max = 4096, .says = "none", .help = "One JSON line each is appended to it."},
    {"stderr", CONF_BOOL, AT(config, events_stderr), .fallback = "auto", .word = "auto", .word_is = CONFIG_STDERR_AUTO,
     .help = "One readable line each on standard error; `auto`: when that is a terminal."},
};
static const conf_shape events_shape = {.of = CONF_ROWS(events_rows)};

static const conf_option usage_rows[] = {
    {"file", CONF_TEXT, AT(config, usage_file), .min = 1, .max = 4096, .says = "none", .help = "One JSON line for each request is appended to it: time, client, model, target, tokens, status, outcome, milliseconds; nothing of what was said, and no key. doc/events.md"},
};
static const conf_shape usage_shape = {.of = CONF_ROWS(usage_rows)};

static const conf_option limits_rows[] = {
    {"body", CONF_SIZE, AT(config, body_bytes_max), .min = 1024, .max = 1 << 30, .fallback = "64MiB", .help = "Of one request body."},
    {"memory", CONF_SIZE, AT(config, all_bytes_max), .min = 1024, .max = INT64_C(1) << 40, .fallback = "1GiB",
     .help = "Of the bodies of all requests at a time, and of what is written of them for providers. Who brings more is asked to come again: 503 with `retry-after`."},
    {"connections", CONF_INTEGER, AT(config, connections_max), .min = 1, .max = 1000000, .fallback = "8192", .help = "Open at the same time."},
};
static const conf_shape limits_shape = {.of = CONF_ROWS(limits_rows)};

static const conf_option proxy_rows[] = {
    {"https_proxy", VALUE(read_proxy, show_text, "a URL like http://proxy.example:3128"), .flags = CONF_SECRET, AT(config, https_proxy), .env = "https_proxy HTTPS_PROXY",
     .help = "For `https` providers."},
    {"http_proxy", VALUE(read_proxy, show_text, "a URL like http://proxy.example:3128"), .flags = CONF_SECRET, AT(config, http_proxy), .env = "http_proxy HTTP_PROXY",
     .help = "For `http` providers."},
    {"no_proxy", CONF_TEXT, AT(config, no_proxy), .min = 0, .max = 8192, .env = "no_proxy NO_PROXY", .help = "Hosts that are reached directly, separated by commas, as curl reads it."},
};
static const conf_shape proxy_shape = {.of = CONF_ROWS(proxy_rows)};

static const conf_option tls_rows[] = {
    {"ca_file", CONF_TEXT, AT(config, ca_file), .min = 1, .max = 4096, .says = "the system's", .help = "Certificates of providers that are trusted, as a PEM file."},
    {"cert_file", CONF_TEXT, AT(config, cert_file), .min = 1, .max = 4096, .says = "none: clients speak plain HTTP",
     .help = "What daruma shows its clients: its certificate and those that it is signed by, as a PEM file. With it only TLS is spoken to them. Read again with the file (SIGHUP)."},
    {"key_file", CONF_TEXT, AT(config, key_file), .min = 1, .max = 4096, .says = "none", .help = "The key of that certificate, as a PEM file without a password."},
};
static const conf_shape tls_shape = {.of = CONF_ROWS(tls_rows), .fits = tls_fits};

static const conf_option config_rows[] = {
    {"listen", CONF_ADDRESS, AT(config, listen), .fallback = "127.0.0.1:4141",
     .help = "Where clients connect. `:4141` is the loopback too. Any other address needs `clients`, since whoever reaches it could use your keys. Port 0 takes a free one."},
    {"hosts", CONF_LIST, ITEMS(config, hosts), .shape = &hosts_shape, .says = "none",
     .help = "Names by which clients reach a daruma that listens on the loopback, beside `localhost`, names below it and loopback addresses. A request for any other name is refused with 403, since a page of another site may be behind it (DNS rebinding); pages of these hosts may ask as well. Where daruma listens on another address every name is answered."},
    {"clients", CONF_LIST, ITEMS(config, clients), .shape = &clients_shape, .says = "whoever reaches the loopback",
     .help = "Who may ask. Everybody else gets 401. The token goes to no provider."},
    {"admin", CONF_GROUP, .shape = &admin_shape,
     .help = "What `/daruma/status`, `/daruma/events` and `/metrics` ask for, as `Authorization: Bearer` or `x-daruma-token`. Without it they answer on the loopback alone. `/`, `/health`, `/ready` and `/daruma/health` answer everybody."},
    {"passthrough", CONF_LIST, ITEMS(config, passthrough), .shape = &passthrough_shape, .says = "none",
     .help = "Paths that go to a provider, beside those of the APIs of OpenAI, Anthropic and Gemini. Every other path is answered with 404."},
    {"providers", CONF_LIST, ITEMS(config, providers), .shape = &providers_shape, .says = "`anthropic`, `openai` and `gemini`, with the clients' own keys",
     .help = "Who answers. A model that no `models` entry names goes, under the name the client gave, to the first provider that speaks the request's dialect."},
    {"models", CONF_LIST, ITEMS(config, models), .shape = &models_shape, .help = "Models with more than one place to go."},
    {"default", CONF_LIST, ITEMS(config, others), .shape = &others_shape, .says = "the same name at the first provider that speaks the request's dialect",
     .help = "Where models go that nobody named. `*` in a target's model is the name that was asked for."},
    {"watch", CONF_ENUM, AT(config, watch), .fallback = "guide", .words = "off observe guide enforce",
     .help = "Agents that go in circles, seen by the histories they send: `off`, nobody looks; `observe`, events tell of it; `guide`, the model is told what it keeps doing, at the end of the request; `enforce`, repeated calls are refused, and in the end the run is stopped with what is known. doc/loops.md"},
    {"strategies", CONF_ENUM, AT(config, strategies), .fallback = "log", .words = "log ask auto",
     .help = "What becomes of other approaches that are proposed for an agent in circles (with `watch: enforce`): `log`, an event tells of them; `ask`, the event asks a person to look; `auto`, the model is told those that are sure enough."},
    {"tool_errors", CONF_ENUM, AT(config, tool_errors), .fallback = "full", .words = "full compact",
     .help = "How the model sees failed tool results (with `watch: guide` or `enforce`): `full`, as they came; `compact`, the newest as a short structured error, older ones as a line, and what was resolved since as a word. What the tool itself says to do stays (`suggestion`, `hint`, `next_steps`, \"did you mean\"). It saves tokens, but changes bytes that the provider may have cached."},
    {"judge", CONF_LIST, ITEMS(config, judge), .shape = &judge_shape, .says = "none",
     .help = "What you know of your providers' errors and daruma does not: tried first, in this order, before the profile and before daruma's own judgement."},
    {"timeouts", CONF_GROUP, .shape = &timeouts_shape, .help = "How long a call to a provider may take. `none` switches a clock off."},
    {"recovery", CONF_GROUP, .shape = &recovery_shape, .help = "What is done when a call fails."},
    {"events", CONF_GROUP, .shape = &events_shape, .help = "Where recoveries are told. They are also at `GET /daruma/events`."},
    {"state", CONF_TEXT, AT(config, state), .min = 1, .max = 4096, .says = "none: it ends with the process",
     .help = "A folder where what is known is kept over a restart: who is limited and until when, what models take, windows, compressions, keys of conversations. It holds texts of conversations and no key. Holds from the next start on."},
    {"store", VALUE(config_read_store, config_show_store, "a URL like redis://127.0.0.1:6379"), .flags = CONF_SECRET, AT(config, store), .says = "none: each daruma learns for itself",
     .help = "A Redis or Valkey by which several daruma know what one of them learned: who is limited and until when, who is being probed, and all that `state` keeps. `redis://[user:password@]host[:port][/database]`. No request waits for it. Whoever can read it reads texts of conversations. Holds from the next start on."},
    {"usage", CONF_GROUP, .shape = &usage_shape, .help = "Who used how much: a line for each request."},
    {"traces", CONF_GROUP, .shape = &config_traces_shape, .help = "Where spans of OpenTelemetry go. Off without a `url`."},
    {"prices", CONF_LIST, ITEMS(config, prices), .shape = &config_prices_shape, .says = "none",
     .help = "What tokens cost: events, the usage log, `/metrics` and `daruma report` say then what was wasted and saved. The first row that fits a model counts."},
    {"limits", CONF_GROUP, .shape = &limits_shape, .help = "What is accepted from clients."},
    {"proxy", CONF_GROUP, .shape = &proxy_shape, .help = "How providers are reached from behind a proxy. `\"\"` is none, whatever the environment says."},
    {"tls", CONF_GROUP, .shape = &tls_shape, .help = "Providers' certificates and names are always verified; to clients daruma speaks TLS with `cert_file` and `key_file`."},
};
static const conf_option elsewhere = {NULL, CONF_NODE, .node = skip};
const conf_shape config_shape = {.of = CONF_ROWS(config_rows), .like = "`listen: 127.0.0.1:4141`", .names = other_key, .further = &elsewhere};
// clang-format on

const char *config_key_name(size_t i)
{
    return i < COUNT(config_rows) ? config_rows[i].name : NULL;
}
