/* lock.c - who may come in: clients show a token, each may have models of its own and a number of requests a minute.
 * Whoever asks what daruma knows shows the admin token. A token is compared in a time that says nothing of it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/routes/routes.h"
#include "net/multipart.h"
#include <xxhash.h>

/* A bucket of requests: it fills by `rate` shares a millisecond, and a request takes SHARES. */
enum { SHARES = 60000 };
struct client_rate {
    uint64_t left; /* shares */
    daruma_ms at;  /* ... at that time; 0: it was not asked yet, and is full */
};

/* How long it takes depends on what was shown alone, not on how much of it is right. */
static bool same_secret(daruma_str shown, daruma_str secret)
{
    unsigned char other = shown.n != secret.n;
    if (!secret.n)
        return false;
    for (size_t i = 0, at = 0; i < shown.n; i++) {
        other |= (unsigned char)(shown.p[i] ^ secret.p[at]);
        at = at + 1 < secret.n ? at + 1 : 0; /* no division: it takes longer than all else here */
    }
    return !other;
}

static daruma_str without_scheme(daruma_str value)
{
    return str_trim(str_istarts(value, S("bearer ")) ? str_from(value, sizeof "bearer " - 1) : value);
}

static uint64_t hash_of(daruma_str token)
{
    return XXH3_64bits(token.p, token.n);
}

/* Whose token it is; NULL: nobody's. All are looked at, by what they hash to: whoever shows one that is nobody's learns
 * from the time it takes how long theirs is, and nothing of ours. */
static const config_client *client_of(const config *c, daruma_str value)
{
    daruma_str shown = without_scheme(value);
    uint64_t hash = shown.n ? hash_of(shown) : 0;
    const config_client *found = NULL;
    for (size_t i = 0; i < c->nclients && shown.n; i++)
        if (c->clients[i].token_hash == hash && same_secret(shown, c->clients[i].token.value))
            found = &c->clients[i];
    return found;
}

bool lock_is_token(const config *c, daruma_str value)
{
    return client_of(c, value) != NULL;
}

/* Wherever clients put their keys. */
const config_client *lock_client(const config *c, const http_head *h)
{
    const config_client *found = client_of(c, head_query_key(h));
    for (size_t i = 0; i < h->nheaders && !found; i++)
        if (head_is_credential(h->headers[i].name))
            found = client_of(c, h->headers[i].value);
    return found;
}

/* ---- models ---------------------------------------------------------------------- */

bool lock_allows(const config_client *k, daruma_str model)
{
    if (!k || !k->nmodels)
        return true;
    for (size_t i = 0; i < k->nmodels; i++)
        if (str_glob(k->models[i], model))
            return true;
    return false;
}

/* May the client ask for the model that a form names, as audio and images come with? It names one: of two, who knows
 * which counts? */
static bool form_model_allows(const config_client *k, daruma_str type, daruma_str body, daruma_str *ret)
{
    multipart m;
    daruma_str name, value;
    size_t n = 0;
    multipart_open(&m, type, body);
    while (multipart_next(&m, &name, &value))
        if (str_eq(name, S("model")) && ++n)
            *ret = value;
    return !m.bad && n == 1 && lock_allows(k, *ret);
}

/* May the client ask for that model? "gpt-x:countTokens" is a call of gpt-x, "llama3:8b" a model. */
static bool may_call(const config_client *k, daruma_str name)
{
    size_t colon = name.n;
    while (colon && name.p[colon - 1] != ':')
        colon--;
    return lock_allows(k, name) || (colon && lock_allows(k, str_sub(name, 0, colon - 1)));
}

/* May the client ask for every model that the path names? Providers take the model from there, and do not look at the
 * body then: "/openai/deployments/m/embeddings", "/v1beta/models/m:countTokens". A name may have two words ("org/m"),
 * and Vertex AI's endpoint "openapi" takes the model from the body. A batch names its models in a file or within its
 * requests. *ret: one that it may not ask for. */
static bool path_models_allow(const config_client *k, daruma_str path, daruma_arena *a, daruma_str *ret)
{
    static const daruma_str folders[] = {LIT("models"), LIT("deployments"), LIT("engines"), LIT("tunedModels"),
                                         LIT("endpoints")};
    for (daruma_str rest = path; rest.n;) {
        bool bad = false;
        daruma_str folder = path_text(str_cut(&rest, '/'), a, &bad);
        if (str_ieq(folder, S("batches"))) /* "messages/batches" as well */
            return false;
        if (!STR_ANY(str_ieq, folder, folders))
            continue;
        daruma_str ahead = rest, one = str_cut(&ahead, '/');
        size_t more = ahead.n ? 1 + str_cut(&ahead, '/').n : 0;
        if (!one.n)
            continue;
        *ret = path_text(one, a, &bad);
        daruma_str two = path_text(str_sub(rest, 0, one.n + more), a, &bad);
        if (bad || !(str_eq(*ret, S("openapi")) || may_call(k, *ret) || may_call(k, two)))
            return false;
    }
    *ret = (daruma_str){0};
    return !a->full;
}

/* The same for the query: "?model=m". */
static bool query_models_allow(const config_client *k, daruma_str query, daruma_arena *a, daruma_str *ret)
{
    while (query.n) {
        bool bad = false;
        daruma_str value = str_cut(&query, '&'), name = str_cut(&value, '=');
        if (!str_ieq(path_text(name, a, &bad), S("model")))
            continue;
        *ret = path_text(value, a, &bad);
        if (bad || !lock_allows(k, *ret))
            return false;
    }
    return !a->full;
}

/* False: the client may not ask for that. *named: the model, where it names one. *read: see lock_refuses(). */
static bool models_allow(const config_client *k, call *c, const dialect *d, session_read *read, daruma_str *named)
{
    bool stream;
    daruma_str coded = http_header(&c->head, S("content-encoding")), one;
    if (!k->nmodels)
        return true;
    if (!path_models_allow(k, c->head.path, c->arena, named) || !query_models_allow(k, c->head.query, c->arena, named))
        return false;
    if (!str_eq(c->head.method, S("POST"))) /* nobody reads a body then */
        return models_path(&c->head, &one);
    if (dialect_path_model(c->head.path, named, &stream))
        return lock_allows(k, *named);
    if (coded.n && !str_ieq(coded, S("identity")))
        return false;
    daruma_str type = http_header(&c->head, S("content-type"));
    if (str_istarts(type, S("multipart/")))
        return form_model_allows(k, type, c->body, named);
    bool all = d && c->body.n < LOOK_BYTES_MAX; /* a longer one is looked at beside the loop */
    request_scan found = all ? d->scan(c->body, read->newest, true) : dialect_scan_model(c->body);
    if (all)
        read->scan = found;
    *named = json_text(found.model_raw, c->arena);
    return found.ok && found.nmodels == 1 && lock_allows(k, *named);
}

/* ---- requests a minute -------------------------------------------------------------- */

/* How long it has to wait before it may ask; 0: it may, and that is counted. */
static daruma_ms rate_wait(client_rate *r, uint32_t rate, daruma_ms now)
{
    uint64_t full = (uint64_t)rate * SHARES;
    if (!rate)
        return 0;
    if (!r->at || (uint64_t)(now - r->at) >= SHARES)
        r->left = full;
    else
        r->left += (uint64_t)(now - r->at) * rate;
    r->left = r->left < full ? r->left : full;
    r->at = now > 0 ? now : 1;
    if (r->left < SHARES)
        return (daruma_ms)((SHARES - r->left + rate - 1) / rate);
    r->left -= SHARES;
    return 0;
}

/* What a client of that name had left. */
static client_rate rate_of(const setup *s, daruma_str name)
{
    for (size_t i = 0; s && i < s->cfg.nclients; i++)
        if (str_eq(s->cfg.clients[i].name, name))
            return s->rates[i];
    return (client_rate){0};
}

bool lock_prepare(setup *s)
{
    size_t n = s->cfg.nclients ? s->cfg.nclients : 1;
    s->rates = ARENA_NEW(&s->arena, client_rate, n);
    for (size_t i = 0; i < s->cfg.nclients && s->rates; i++) {
        config_client *k = &s->cfg.clients[i];
        k->token_hash = hash_of(k->token.value);
        s->rates[i] = rate_of(s->g->now, k->name);
    }
    return s->rates != NULL;
}

/* ---- the door ---------------------------------------------------------------------------- */

static bool refuse_stranger(gateway *g, call *c)
{
    return call_refuse(
        g, c, REFUSED_TOKEN, 401, DARUMA_AUTH, -1,
        S("This daruma answers its clients alone, and the request shows no token of theirs. Set the client's "
          "API key to the token that daruma's configuration gives it under `clients`, or send the token in the "
          "header x-daruma-token."));
}

static bool refuse_model(gateway *g, call *c, const config_client *k, daruma_str model)
{
    daruma_buf b = buf_in(c->arena);
    BUF_SAY(&b, "The client \"", k->name);
    if (model.n && !lock_allows(k, model)) {
        BUF_SAY(&b, "\" may not ask for the model ", str_sub(model, 0, REFUSED_SHOWN_BYTES), ". Its models are: ");
    } else {
        BUF_LIT(&b, "\" may only send requests that name one of its models, once, and list models. Its models are: ");
    }
    for (size_t i = 0; i < k->nmodels; i++)
        BUF_SAY(&b, i ? ", " : "", k->models[i]);
    BUF_LIT(&b, ". They stand in daruma's configuration under `clients`.");
    return call_refuse(g, c, REFUSED_MODEL, 403, DARUMA_PERMISSION, -1, buf_str(&b));
}

static bool refuse_rate(gateway *g, call *c, const config_client *k, daruma_ms wait)
{
    daruma_buf b = buf_in(c->arena);
    BUF_SAY(&b, "The client \"", k->name);
    buf_printf(&b, "\" may ask %u times a minute (`rate` in daruma's configuration). It may ask again in ", k->rate);
    buf_duration(&b, wait);
    BUF_LIT(&b, ".");
    return call_refuse(g, c, REFUSED_RATE, 429, DARUMA_RATE_LIMIT, wait, buf_str(&b));
}

bool lock_refuses(gateway *g, call *c, const dialect *d, session_read *read, const config_client **ret)
{
    const config *cfg = &g->now->cfg;
    daruma_str model = {0};
    if (!cfg->nclients)
        return false;
    const config_client *k = *ret = *ret ? *ret : lock_client(cfg, &c->head);
    if (!k)
        return refuse_stranger(g, c);
    if (!models_allow(k, c, d, read, &model))
        return refuse_model(g, c, k, model);
    daruma_ms wait = rate_wait(&g->now->rates[k - cfg->clients], k->rate, (daruma_ms)uv_now(g->loop));
    return wait > 0 && refuse_rate(g, c, k, wait);
}

bool lock_refuses_admin(gateway *g, call *c)
{
    const config *cfg = &g->now->cfg;
    daruma_str own = http_header(&c->head, S("x-daruma-token")), bearer = http_header(&c->head, S("authorization"));
    if (!cfg->admin.value.n && cfg->on_loopback)
        return false;
    if (!cfg->admin.value.n)
        return call_refuse(
            g, c, REFUSED_TOKEN, 403, DARUMA_PERMISSION, -1,
            S("daruma listens beyond this machine and shows what it knows to nobody until its configuration "
              "says who may see it: admin: { token: \"${DARUMA_ADMIN_TOKEN}\" }"));
    if (same_secret(without_scheme(own.n ? own : bearer), cfg->admin.value))
        return false;
    return call_refuse(g, c, REFUSED_TOKEN, 401, DARUMA_AUTH, -1,
                       S("This is shown to whoever has the admin token: send it as `Authorization: Bearer TOKEN` or in "
                         "x-daruma-token. It stands in daruma's configuration under `admin`."));
}
