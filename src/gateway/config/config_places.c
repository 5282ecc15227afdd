/* config_places.c - where spans go (`traces`); the store that several daruma share, as a URL:
 * redis://[user:password@]host[:port][/database]; and clouds that host Anthropic's models: which one a provider is at,
 * and whether the rest of its entry fits that. */
#include "base/buf.h"
#include "base/str.h"
#include "gateway/config/config_inside.h"

/* As OpenTelemetry's own variables are read: an address without a path gets the one that OTLP has. */
static bool read_collector(conf *r, const conf_option *o, daruma_str s, void *at)
{
    url u;
    const char *why = NULL;
    if (!url_parse(s, r->a, &u, &why))
        return conf_expected(r, o, why);
    if (u.userinfo.n)
        return conf_wrong(r, "a collector's URL holds no user or password\nput it under `headers`");
    if (!u.prefix.n)
        u.prefix = S("/v1/traces");
    *(url *)at = u;
    return true;
}

static void show_collector(const void *root, const void *at, daruma_buf *out)
{
    const url *u = at;
    (void)root;
    if (!u->host.n)
        return;
    buf_printf(out, "http%s://", u->tls ? "s" : "");
    BUF_SAY(out, u->authority, u->prefix);
}

// clang-format off
static const conf_option traces_rows[] = {
    {"url", CONF_VALUE, .value = read_collector, .show = show_collector, .expects = "a URL like http://127.0.0.1:4318/v1/traces", CONF_AT(config, traces), .says = "none: nothing is traced",
     .help = "Where an OpenTelemetry collector takes OTLP over HTTP. Without a path it is `/v1/traces`. Spans go there once a second as JSON: one of each request, one of each call to a provider. doc/events.md"},
    {"headers", CONF_NAMED, CONF_ITEMS(config, trace_headers), .shape = &config_headers_shape,
     .help = "Headers that are sent along, by name. What is secret in them is better not written out: `{ authorization: \"Bearer ${COLLECTOR_TOKEN}\" }`."},
};
// clang-format on
const conf_shape config_traces_shape = {.of = CONF_ROWS(traces_rows)};

/* ---- the store ---- */

static daruma_str unescaped(daruma_str s, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t at = 0; at < s.n;)
        buf_putc(&b, (char)str_unescaped(s, &at));
    return buf_str(&b);
}

bool config_read_store(conf *r, const conf_option *o, daruma_str s, void *at)
{
    store_place to = {.port = STORE_PORT};
    int64_t database = 0;
    if (str_istarts(s, S("rediss://")))
        return conf_expected(r, o, "it is spoken to without TLS: write redis://, and keep it in a network of your own");
    if (!str_istarts(s, S("redis://")))
        return conf_expected(r, o, NULL);
    s = str_from(s, 8);
    size_t sign = s.n;
    while (sign && s.p[sign - 1] != '@')
        sign--;
    daruma_str who = str_sub(s, 0, sign ? sign - 1 : 0), number = str_from(s, sign), place = str_cut(&number, '/');
    if (number.n && (!str_int(number, &database) || database < 0 || database > STORE_DATABASE_MAX))
        return conf_expected(r, o, "behind the slash stands the number of a database");
    if (!url_host_port(place, &to.host, &to.port))
        return conf_expected(r, o, "after redis:// comes host or host:port");
    to.user = unescaped(str_cut(&who, ':'), r->a);
    to.password = unescaped(who, r->a);
    if (str_findch(to.user, 0) != STR_NONE || str_findch(to.password, 0) != STR_NONE)
        return conf_expected(r, o, "user and password hold no %00");
    if (to.user.n && !to.password.n)
        return conf_expected(r, o, "before the @ stands user:password, or :password");
    to.database = (int)database;
    *(store_place *)at = to;
    return true;
}

void config_show_store(const void *root, const void *at, daruma_buf *out)
{
    const store_place *to = at;
    (void)root;
    if (to->host.n)
        buf_printf(out, "redis://" STR_FMT ":%d/%d", STR_ARG(to->host), to->port, to->database);
}

/* ---- clouds ---- */

#define VERTEX_END "/publishers/anthropic"

static const struct {
    const char *name; /* as in `cloud` */
    const char *keys; /* an example of its keys */
} clouds[] = {
    [CONFIG_VERTEX] = {"vertex", "[{ command: \"gcloud auth print-access-token\" }]"},
    [CONFIG_BEDROCK] = {"bedrock", "[\"${AWS_BEARER_TOKEN_BEDROCK}\"]"},
};

const char *config_cloud_name(const config_provider *p)
{
    return clouds[p->cloud].name;
}

/* True for the hosts of Bedrock's runtime, also those in a network of one's own. With a path they speak another API. */
static bool is_bedrock(const url *u)
{
    static const daruma_str label = LIT("bedrock-runtime");
    size_t at = str_find(u->host, label);
    char behind = at == STR_NONE || at + label.n == u->host.n ? 0 : u->host.p[at + label.n];
    bool begins = at == 0 || (at != STR_NONE && u->host.p[at - 1] == '.');
    return begins && (behind == '.' || behind == '-') && str_find(u->host, S(".amazonaws.com")) != STR_NONE &&
           !u->prefix.n;
}

/* Its URL says it where the file does not. */
static uint32_t found(const config_provider *p)
{
    if (str_ends(p->to.prefix, S(VERTEX_END)))
        return CONFIG_VERTEX;
    return is_bedrock(&p->to) ? CONFIG_BEDROCK : CONFIG_NO_CLOUD;
}

/* The id of an access key, which signs requests. It is no secret, what belongs to it is. */
static bool has_access_key(const config_provider *p)
{
    for (size_t i = 0; i < p->nkeys; i++)
        if (str_starts(p->keys[i].value, S("AKIA")) || str_starts(p->keys[i].value, S("ASIA")))
            return true;
    return false;
}

void config_cloud_fits(conf *r, void *base, void *item, size_t index)
{
    config_provider *p = item;
    bool anthropic = p->dialect == &dialect_anthropic;
    (void)base, (void)index;
    if (anthropic && !p->cloud)
        p->cloud = found(p);
    if (!p->cloud)
        return;
    if (!anthropic) {
        conf_step(r, "cloud");
        conf_wrong(r, "`cloud` is for Anthropic's own dialect\nwrite `dialect: anthropic`, or remove `cloud`");
    } else if (p->cloud == CONFIG_VERTEX && !str_ends(p->to.prefix, S(VERTEX_END))) {
        conf_step(r, "url");
        conf_wrong(r, "the address of Anthropic's models on Vertex AI ends with " VERTEX_END
                      "\nwrite https://aiplatform.googleapis.com/v1/projects/PROJECT/locations/global" VERTEX_END);
    } else if (p->cloud == CONFIG_BEDROCK && has_access_key(p)) {
        conf_step(r, "keys");
        conf_wrong(
            r, "an access key of AWS signs requests, and daruma signs none\nmake an API key of Bedrock, and give that");
    } else if (!config_has_key(p)) {
        conf_wrong(r,
                   "this provider is at a cloud (%s), which takes no client's key for Anthropic\nadd its own, e.g. "
                   "keys: %s",
                   clouds[p->cloud].name, clouds[p->cloud].keys);
    }
}
