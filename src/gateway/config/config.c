/* config.c - reads a configuration by the tables of config_options.c, looks at what it names, and answers questions
 * about it. */
#include "gateway/config/config_inside.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- reading ----------------------------------------------------------------------- */

/* One reading: who asks for variables, and where the text is from. */
typedef struct reading {
    conf_env env;
    void *user;
    const config_source *from; /* NULL: only the text is looked at */
    bool waits;
} reading;

static daruma_str env_of(daruma_str name, bool *found, void *user)
{
    const reading *d = user;
    *found = false;
    return d->env ? d->env(name, found, d->user) : (daruma_str){0};
}

/* The first byte of a plain answer is its last; a clock for the first byte is meant for both. */
static void settle_clocks(config *c)
{
    daruma_ms streams = c->clocks.first_byte, plain = c->plain_first_byte;
    if (plain == 0)
        plain = streams;
    c->clocks.first_byte = streams > 0 ? streams : 0;
    c->plain_first_byte = plain > 0 ? plain : 0;
}

static bool is_store(const store_place *a, const store_place *b)
{
    return str_eq(a->host, b->host) && a->port == b->port && str_eq(a->user, b->user) &&
           str_eq(a->password, b->password) && a->database == b->database;
}

/* What is known, and where it is shared, was opened at the start. As below. */
static bool keep_places(conf *r, config *c, const config *was)
{
    bool other = !str_eq(was->state, c->state) || !is_store(&was->store, &c->store);
    c->state = arena_copy(r->a, was->state);
    c->store = was->store;
    c->store.host = arena_copy(r->a, was->store.host);
    c->store.user = arena_copy(r->a, was->store.user);
    c->store.password = arena_copy(r->a, was->store.password);
    c->store.channel = arena_copy(r->a, was->store.channel);
    return other;
}

/* The socket and its limits were made at the start and stay in force. True when the file says something else now, which
 * then waits for the next start. */
static bool keep_socket(conf *r, config *c, const config *was, bool listen_given)
{
    bool other = was->body_bytes_max != c->body_bytes_max || was->all_bytes_max != c->all_bytes_max ||
                 was->connections_max != c->connections_max;
    if (!listen_given)
        other |= !str_eq(was->listen.host, c->listen.host) || was->listen.port != c->listen.port;
    c->listen = (conf_address){arena_copy(r->a, was->listen.host), was->listen.port};
    c->body_bytes_max = was->body_bytes_max;
    c->all_bytes_max = was->all_bytes_max;
    c->connections_max = was->connections_max;
    return other;
}

static void listen_given(conf *r, config *c, const char *given)
{
    const char *why;
    conf_go(r, "--listen");
    r->raw = str_of(given);
    if (!conf_address_read(r->raw, r->a, &c->listen, &why))
        conf_expected(r, conf_row(&config_shape, S("listen")), why);
}

/* A provider at our own address would get each request back, as a new one, until nothing is left of the machine. */
static void no_provider_is_self(conf *r, const config *c)
{
    for (size_t i = 0; i < c->nproviders; i++) {
        const config_provider *p = &c->providers[i];
        char path[40];
        snprintf(path, sizeof path, "providers[%zu].url", i);
        conf_go(r, path);
        if (config_is_self(c, p))
            conf_wrong(r,
                       "provider " STR_FMT ": its address (" STR_FMT
                       ") is where daruma itself listens\ngive it the provider's own",
                       STR_ARG(p->name), STR_ARG(p->to.authority));
    }
}

/* Whoever reaches a listener beyond the loopback could spend the keys: it asks who they are. */
static void listener_is_locked(conf *r, const config *c)
{
    if (c->on_loopback || c->nclients)
        return;
    conf_go(r, ((const reading *)r->user)->from->listen ? "--listen" : "listen");
    conf_wrong(r,
               "other machines can reach " STR_FMT ", and whoever does could use your keys\nsay who may ask: "
               "clients: [{ name: me, file: token.txt }], with a token that `openssl rand -hex 32` made, or listen on "
               "127.0.0.1",
               STR_ARG(c->listen.host));
}

static void size_fits(conf *r, const config *c)
{
    size_t ways = 0;
    for (size_t m = 0; m < c->nmodels; m++)
        for (size_t i = 0; i < c->models[m].ntargets + c->models[m].nreserve; i++)
            ways += c->providers[c->models[m].targets[i].provider].nkeys + 1;
    conf_go(r, "models");
    if (ways > CONFIG_WAYS_MAX)
        conf_wrong(r, "targets and keys of all models make %zu ways\n%d at most", ways, CONFIG_WAYS_MAX);
    conf_go(r, "");
    if (sys_arena_bytes(r->a) > CONFIG_MEMORY_BYTES_MAX)
        conf_wrong(r, "the configuration is larger than %u bytes, with the variables that it names",
                   CONFIG_MEMORY_BYTES_MAX);
}

/* `text` in lower case, with a NUL behind it; NULL when it is empty. */
static const char *lower_text(conf *r, daruma_str text)
{
    char *low = text.n ? arena_take(r->a, text.n + 1, 1) : NULL;
    if (!low)
        return NULL;
    for (size_t i = 0; i < text.n; i++)
        low[i] = ch_lower(text.p[i]);
    low[text.n] = 0;
    return low;
}

enum { ANY_STATUS = 999 };

/* The rows of `judge` come before those of the profile. */
static void lay_judgements(conf *r, config *c)
{
    if (!c->njudge)
        return;
    daruma_rule_row *rows = arena_take(r->a, (c->njudge + c->policy.nrules) * sizeof *rows, _Alignof(daruma_rule_row));
    for (size_t i = 0; rows && i < c->njudge; i++) {
        const config_judgement *j = &c->judge[i];
        const char **words = arena_take(r->a, (j->nwords + 1) * sizeof *words, _Alignof(char *));
        for (size_t k = 0; words && k < j->nwords; k++)
            if (!(words[k] = lower_text(r, j->words[k])))
                words = NULL;
        if (!words) {
            conf_full(r);
            return;
        }
        words[j->nwords] = NULL;
        rows[i] = (daruma_rule_row){.from = (int)j->status,
                                    .to = j->status ? (int)j->status : ANY_STATUS,
                                    .was = -1,
                                    .words = j->nwords ? words : NULL,
                                    .kind = (daruma_kind)j->kind,
                                    .code = lower_text(r, j->code),
                                    .wait = j->wait};
    }
    if (!rows) {
        conf_full(r);
        return;
    }
    for (size_t i = 0; i < c->policy.nrules; i++)
        rows[c->njudge + i] = c->policy.rules[i];
    c->policy.rules = rows;
    c->policy.nrules += c->njudge;
}

/* Targets in reserve stand behind the others. */
static void lay_reserves(conf *r, config *c)
{
    for (size_t i = 0; i < c->nmodels; i++) {
        config_model *m = &c->models[i];
        if (!m->on_filter.model.n)
            continue;
        config_target *all = ARENA_NEW(r->a, config_target, m->ntargets + 1);
        if (!all) {
            conf_full(r);
            return;
        }
        memcpy(all, m->targets, m->ntargets * sizeof *all);
        all[m->ntargets] = m->on_filter;
        all[m->ntargets].window = all[m->ntargets].max_output = -1;
        m->targets = all;
        m->nreserve = 1;
    }
}

static void settle(conf *r, void *root)
{
    config *c = root;
    reading *d = r->user;
    settle_clocks(c);
    lay_judgements(r, c);
    lay_reserves(r, c);
    c->policy.hedge &= c->hedge == HEDGE_AUTO;
    if (c->events_stderr == CONFIG_STDERR_AUTO)
        c->events_stderr = isatty(STDERR_FILENO);
    if (d->from && d->from->running) {
        d->waits = keep_socket(r, c, d->from->running, d->from->listen != NULL);
    } else if (d->from && d->from->listen)
        listen_given(r, c, d->from->listen);
    c->on_loopback = host_is_loopback(c->listen.host);
    if (!d->from)
        return;
    listener_is_locked(r, c);
    no_provider_is_self(r, c);
    size_fits(r, c);
    config_outside(r, c, d->from);
    if (d->from->running) /* behind: what the next start would refuse is refused now */
        d->waits |= keep_places(r, c, d->from->running);
}

static bool read_text(daruma_str text, reading *d, daruma_arena *a, config *ret, conf_mistakes *m)
{
    const conf_host host = {.root = &config_shape,
                            .what = "configuration",
                            .file = d->from ? d->from->file : NULL,
                            .bytes_max = CONFIG_BYTES_MAX,
                            .env = env_of,
                            .user = d,
                            .redact = daruma_redact,
                            .settle = settle};
    *ret = (config){0};
    return conf_read(text, &host, ret, a, m);
}

bool config_read(daruma_str text, conf_env env, void *user, daruma_arena *a, config *ret, conf_mistakes *m)
{
    return read_text(text, &(reading){.env = env, .user = user}, a, ret, m);
}

daruma_str config_env(daruma_str name, bool *found, void *user)
{
    char z[256];
    (void)user;
    *found = false;
    if (name.n >= sizeof z)
        return (daruma_str){0};
    memcpy(z, name.p, name.n);
    z[name.n] = 0;
    const char *value = getenv(z);
    *found = value != NULL;
    return str_of(value);
}

bool config_arena(daruma_arena *a)
{
    return sys_arena_init(a, 4096, 2 * (size_t)CONFIG_MEMORY_BYTES_MAX);
}

config_verdict config_load(const config_source *from, daruma_arena *a, config *ret, bool *waits, conf_mistakes *m)
{
    reading d = {.env = config_env, .from = from};
    daruma_str text = str_of(from->file ? NULL : from->text);
    char why[256];
    bool at_hand = !from->file || !from->running || sys_at_hand(from->file, CONFIG_BYTES_MAX, why);
    if (!at_hand || (from->file && !sys_read_file(from->file, CONFIG_BYTES_MAX, a, &text, why))) {
        *m = (conf_mistakes){.n = 1};
        snprintf(m->at[0].what, sizeof m->at[0].what, "%s", why);
        return CONFIG_UNREAD;
    }
    if (from->running && from->file &&
        !str_trim(text).n) { /* it is being written, or was a pipe: clients and keys must not go with it */
        *m = (conf_mistakes){.n = 1, .file = from->file};
        snprintf(m->at[0].what, sizeof m->at[0].what, "it is empty");
        return CONFIG_WRONG;
    }
    if (!read_text(text, &d, a, ret, m))
        return CONFIG_WRONG;
    if (from->file)
        ret->file = arena_copy(a, str_of(from->file));
    *waits = d.waits;
    return CONFIG_FINE;
}

/* ---- questions ----------------------------------------------------------------------- */

static bool has_version(daruma_str path)
{
    while (path.n)
        if (url_is_version(str_cut(&path, '/')))
            return true;
    return false;
}

static daruma_str last_segment(daruma_str path)
{
    daruma_str last = {0};
    while (path.n)
        last = str_cut(&path, '/');
    return last;
}

/* True if the base URL says the version of the API: it ends in one or, as of OpenAI's kind, has one before its end
 * ("/v1beta/openai"). Anthropic's SDKs add theirs to a base URL without: there it is another's, as in Cloudflare's
 * "/v1/ACCOUNT/GATEWAY/anthropic". */
static bool says_version(const config_provider *p)
{
    daruma_str prefix = p->to.prefix;
    return p->dialect == &dialect_anthropic ? url_is_version(last_segment(prefix)) : has_version(prefix);
}

/* Google has several versions side by side, and `upload` and `download` before them. What a client's path says of that
 * stands in the place of the version that ends the base URL; but "v1", which may stand for any. Empty: there is
 * neither. */
static daruma_str google_path(daruma_str prefix, daruma_str path, daruma_arena *a)
{
    daruma_str ours = last_segment(prefix), lead = {0}, rest = str_from(path, 1), version = str_cut(&rest, '/');
    if (str_eq(version, S("upload")) || str_eq(version, S("download"))) {
        lead = version;
        version = str_cut(&rest, '/');
    }
    bool any = str_eq(version, S("v1")) || str_eq(version, ours);
    if (!url_is_version(ours) || !url_is_version(version) || (any && !lead.n))
        return (daruma_str){0};
    return STR_SAY(a, str_sub(prefix, 0, prefix.n - ours.n), lead, lead.n ? "/" : "", any ? ours : version,
                   str_from(path, (size_t)(version.p - path.p) + version.n));
}

/* True if the client says the base path itself, as SDKs of other hosts do ("/openai/v1/..." of Groq's). */
static bool says_prefix(daruma_str prefix, daruma_str path)
{
    return prefix.n && path.n > prefix.n && str_starts(path, prefix) && path.p[prefix.n] == '/';
}

/* Bytes of a base path up to "/v1" that is another host's, before the words of a dialect. 0: there is none, or the
 * prefix does not end in a version and the words are another dialect's, so that what the path says may stand behind it
 * ("/anthropic/v1/messages" behind Cloudflare's "/v1/ACCOUNT/GATEWAY"). */
static size_t other_base(const config_provider *p, daruma_str path)
{
    const dialect *d = dialect_of_path(path);
    bool gives_way = d && (d == p->dialect || url_is_version(last_segment(p->to.prefix)));
    size_t version = gives_way ? str_find(path, S("/v1/")) : STR_NONE;
    return version == STR_NONE ? 0 : version + sizeof "/v1" - 1;
}

/* True for the path of a dialect, without a query, that begins with a word of its API: "/chat/completions", and not
 * "/v1/chat/completions" or "/openai/deployments/d/chat/completions". */
static bool lacks_version(daruma_str path)
{
    static const daruma_str words[] = {LIT("/chat/completions"), LIT("/messages"), LIT("/responses")};
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_eq(path, words[i]))
            return true;
    return dialect_of_path(path) == &dialect_gemini && !has_version(path);
}

daruma_str config_upstream_path(const config_provider *p, daruma_str path, daruma_arena *a)
{
    daruma_str prefix = p->to.prefix;
    if (!path.n || path.p[0] != '/')
        return path; /* "*" of OPTIONS has no prefix */
    daruma_str google = p->dialect == &dialect_gemini ? google_path(prefix, path, a) : (daruma_str){0};
    if (google.n)
        return google;
    if (says_prefix(prefix, path))
        return path;
    daruma_str rest = str_from(path, 1), whole = rest;
    size_t query = str_findch(rest, '?');
    rest = str_sub(rest, 0, query == STR_NONE ? rest.n : query);
    daruma_str first = str_cut(&rest, '/'), bare = str_sub(path, 0, query == STR_NONE ? path.n : query + 1);
    daruma_buf out = buf_in(a);
    buf_room(&out, prefix.n + path.n + sizeof "/v1");
    buf_put(&out, prefix);
    if (says_version(p)) {
        bool said = str_eq(first, S("v1")) || (url_is_version(first) && str_ends(prefix, first));
        buf_put(&out, said ? str_from(whole, first.n) : str_from(path, other_base(p, bare)));
        return buf_str(&out);
    }
    if (!prefix.n && !lacks_version(bare))
        return path; /* others' paths are not ours to complete */
    if (!prefix.n)
        BUF_LIT(&out, "/v1");
    buf_put(&out, path);
    return buf_str(&out);
}

daruma_str config_own_path(const config_provider *p, daruma_str path, daruma_arena *a)
{
    daruma_str rest = str_from(path, 1);
    if (says_version(p) && url_is_version(str_cut(&rest, '/')))
        path = str_from(path, (size_t)(rest.p - path.p) - 1);
    return config_upstream_path(p, path, a);
}

/* The first provider that speaks `d`, whatever it is when that is NULL. */
static int first_of(const config *c, const dialect *d, bool clouds)
{
    for (size_t i = 0; i < c->nproviders; i++)
        if ((!d || c->providers[i].dialect == d) && (clouds || !c->providers[i].cloud))
            return (int)i;
    return -1;
}

int config_provider_of(const config *c, const dialect *d)
{
    int i = first_of(c, d, true);
    return i < 0 && d == &dialect_openai_responses ? first_of(c, &dialect_openai, true) : i;
}

int config_provider_of_path(const config *c, const dialect *d)
{
    int i = first_of(c, d, false);
    if (i < 0 && d != &dialect_anthropic)
        i = first_of(c, &dialect_openai_responses, false);
    return i < 0 ? first_of(c, NULL, false) : i;
}

static bool is_form(daruma_str name)
{
    return str_findch(name, '*') != STR_NONE;
}

const config_model *config_model_of(const config *c, daruma_str asked)
{
    for (size_t i = 0; i < c->nmodels; i++)
        if (str_eq(c->models[i].name, asked))
            return &c->models[i];
    for (size_t i = 0; i < c->nmodels; i++)
        if (is_form(c->models[i].name) && str_glob(c->models[i].name, asked))
            return &c->models[i];
    return NULL;
}

daruma_header config_key_field(const config_provider *p, daruma_str key, daruma_arena *a)
{
    const dialect *d = p->cloud ? &dialect_openai : p->dialect; /* clouds take a bearer token */
    daruma_buf value = buf_in(a);
    if (key.n && buf_room(&value, strlen(d->key_prefix) + key.n))
        BUF_SAY(&value, d->key_prefix, key);
    return (daruma_header){str_of(d->key_header), buf_str(&value)};
}

bool config_has_key(const config_provider *p)
{
    if (p->nkeys)
        return true;
    daruma_str field = config_key_field(p, (daruma_str){0}, NULL).name;
    bool has = false;
    for (size_t i = 0; i < p->nheaders; i++) /* Azure's is called api-key */
        has |= str_ieq(p->headers[i].name, field) || str_ieq(p->headers[i].name, S("api-key"));
    return has;
}

/* True if the target speaks `d` without a conversion; exchange_dialect() says the same of a request's targets. */
static bool speaks(const config *c, const config_model *m, const dialect *d, size_t i)
{
    const dialect *is = c->providers[m->targets[i].provider].dialect;
    bool either = d == &dialect_openai_responses && is == &dialect_openai;
    for (size_t k = 0; k < m->ntargets && either; k++)
        either = c->providers[m->targets[k].provider].dialect != d;
    return is == d || either;
}

/* True if the target is asked with the client's key when nothing speaks against it. */
static bool takes_client_key(const config *c, const config_model *m, const dialect *d, size_t i)
{
    return !config_has_key(&c->providers[m->targets[i].provider]) && speaks(c, m, d, i);
}

bool config_out_of_reach(const config *c, const config_model *m, const dialect *d, size_t i)
{
    size_t first = 0;
    if (!takes_client_key(c, m, d, i))
        return false;
    while (!takes_client_key(c, m, d, first)) /* i at the latest */
        first++;
    const url *meant = &c->providers[m->targets[first].provider].to, *is = &c->providers[m->targets[i].provider].to;
    return !str_ieq(meant->host, is->host) || meant->port != is->port || meant->tls != is->tls;
}
