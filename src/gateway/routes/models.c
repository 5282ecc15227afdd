/* models.c - lists of models. Clients are shown what they may ask for: the names of the configuration first, then what
 * the providers of their dialect list, all of them asked at the same time. Clients that ask at the same time share one
 * call of each provider, and its list is shown again for MODELS_FRESH_MS. A provider that fails is shown with what it
 * listed last, or left out, and the answer says so.
 *
 *   GET /v1/models      --+--> provider --+
 *                         +--> provider --+--> one list in the client's dialect
 *   GET /v1/models      -------> (waits for it, or has its list of a moment ago)
 *   GET /v1/models/NAME ---> a name of the configuration is described here, every other by a provider
 */
#include "gateway/routes/models_list.h"
#include "gateway/keep/keep.h"
#include "gateway/routes/routes.h"
#include "gateway/see/see.h"
#include "model/kinds.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include <xxhash.h>

/* ---- paths ------------------------------------------------------------------------------ */

bool models_path(const http_head *h, daruma_str *ret_name)
{
    if (!str_eq(h->method, S("GET")) && !str_eq(h->method, S("HEAD")))
        return false;
    daruma_str rest = str_from(h->path, 1), segment = str_cut(&rest, '/');
    while (path_is_lead(segment) && rest.n)
        segment = str_cut(&rest, '/');
    *ret_name = rest;
    str_cut(&rest, '/');
    str_cut(&rest, '/'); /* of a name of two words */
    return str_eq(segment, S("models")) && !rest.n;
}

/* ---- a list under way ------------------------------------------------------------------- */

typedef struct list list;

/* One provider that is asked. It stands in an exchange of its own, which has no session. */
typedef struct leg {
    exchange x;
    list *all;
    const config_provider *p;
    const models_shape *as;  /* that it lists in */
    size_t key;              /* of the provider: the one that is asked with */
    fetch *call;             /* NULL: it is not out */
    bool waits;              /* for the command that prints the key */
    int status;              /* of its answer */
    daruma_buf body;         /* ... and its bytes, in the memory of the client's call */
    daruma_str models;       /* ... the array in it; empty: there is none */
    const char *lack;        /* why it gave no list; NULL: it did, or is still asked */
    daruma_ms stale;         /* age of the list that is shown in its place; -1: it is left out */
    uint64_t of;             /* which list it is: the same for all who would be given the same one */
    struct leg *asks_for;    /* another leg, which asks for the same list; NULL: it asks itself, or is over */
    struct leg *next_same;   /* of the legs that wait for this one, or with it */
    struct leg *next_asking; /* in setup.asking */
} leg;

struct list {
    exchange x; /* the client's */
    const models_shape *as;
    const config_client *client; /* whose names are shown alone; NULL: all */
    daruma_ms began;
    leg *legs;
    size_t nlegs, open; /* providers that are asked, and of them those that have not ended yet */
};

/* ---- its answer --------------------------------------------------------------------------- */

/* Those that gave no list, "main (HTTP 503), b (it was too slow)": with `stale` those of which an older one is shown,
 * else those that are left out. */
static daruma_str lacking(const list *l, bool stale, bool reasons)
{
    daruma_buf b = buf_in(l->x.c->arena);
    for (size_t i = 0; i < l->nlegs; i++) {
        const leg *g = &l->legs[i];
        if (!g->lack || (g->stale >= 0) != stale)
            continue;
        BUF_SAY(&b, b.n ? ", " : "", g->p->name);
        if (reasons && g->status && g->status != 200)
            buf_printf(&b, " (HTTP %d)", g->status);
        else if (reasons)
            buf_printf(&b, " (%s)", g->lack);
        if (reasons && stale)
            buf_printf(&b, ", its list of %lld s ago", (long long)(g->stale / 1000));
    }
    return buf_str(&b);
}

static void tell_lacking(const list *l, bool stale)
{
    daruma_event e = DARUMA_EVENT_INIT;
    daruma_str whom = lacking(l, stale, true);
    if (!whom.n)
        return;
    e.name = stale ? "models_stale" : "models_left_out";
    e.at = gateway_now(l->x.g);
    e.client = l->client ? l->client->name : (daruma_str){0};
    e.reason = whom;
    events_emit(l->x.g->events, &e);
}

/* Ends the client's call. `missing`: the providers that were left out; `stale`: those with an older list. */
static void answer(call *c, int status, daruma_outcome o, daruma_str missing, daruma_str stale, daruma_buf *body)
{
    daruma_header h[4] = {{S("content-type"), S("application/json")},
                          {S("x-daruma-outcome"), str_of(daruma_outcome_name(o))}};
    size_t n = 2;
    bool whole = !body->full;
    if (missing.n)
        h[n++] = (daruma_header){S("x-daruma-left-out"), missing};
    if (stale.n)
        h[n++] = (daruma_header){S("x-daruma-stale"), stale};
    call_head(c, whole ? status : 503, h, n, whole ? (int64_t)body->n : 0);
    if (whole)
        call_write(c, buf_str(body));
    call_end(c);
}

/* There is nothing to list. The status is that of the first provider that gave one. */
static int status_of(const list *l)
{
    for (size_t i = 0; i < l->nlegs; i++)
        if (l->legs[i].status >= 400)
            return l->legs[i].status;
    return 502;
}

static void put_nothing(daruma_buf *out, const list *l, int status, daruma_str whom)
{
    daruma_failure f = kind_failure(status == 401   ? DARUMA_AUTH
                                    : status == 429 ? DARUMA_RATE_LIMIT
                                                    : DARUMA_SERVER_ERROR,
                                    status);
    l->as->d->write_error(out, &f, status, STR_SAY(l->x.c->arena, "No provider gave a list of its models: ", whom, "."),
                          (daruma_str){0});
    BUF_LIT(out, "\n");
}

/* All of it in one list. False: there is no memory. */
static bool gather(const list *l, models_list *all, daruma_arena *a)
{
    const config *c = &l->x.s->cfg;
    size_t room = c->nmodels;
    for (size_t i = 0; i < l->nlegs; i++)
        room += json_count(l->legs[i].models);
    *all = (models_list){.as = l->as, .client = l->client};
    if (!models_list_begin(all, room, a))
        return false;
    models_list_own(all, c);
    for (size_t i = 0; i < l->nlegs; i++)
        models_list_add(all, l->legs[i].models, l->legs[i].as, a);
    return !a->full;
}

static void finish(list *l)
{
    call *c = l->x.c;
    setup *s = l->x.s;
    models_list all;
    daruma_buf body = buf_in(c->arena);
    daruma_str names = lacking(l, false, false), stale = lacking(l, true, false);
    bool gathered = gather(l, &all, c->arena);
    tell_lacking(l, false);
    tell_lacking(l, true);
    if (gathered && (all.n || !names.n)) {
        models_list_put(&body, &all, c->head.query, c->arena);
        answer(c, 200, names.n || stale.n ? DARUMA_OUTCOME_DEGRADED : DARUMA_OUTCOME_OK, names, stale, &body);
    } else {
        int status = status_of(l);
        put_nothing(&body, l, status, lacking(l, false, true));
        answer(c, status, DARUMA_OUTCOME_FAILED, names, stale, &body);
    }
    setup_drop(s);
}

/* ---- asking ------------------------------------------------------------------------------ */

/* True if an older list may stand in for one that this status came in place of. Who is refused for what he is, or asks
 * where nothing is, is not shown what he saw before. */
static bool passes(int status)
{
    return status == 0 || status == 200 || status == 429 || status >= 500;
}

/* It has its list, or a reason why not; `array` may live in memory of others. */
static void leg_ended(leg *g, daruma_str array, int status, const char *lack)
{
    list *l = g->all;
    g->lack = lack;
    g->status = status;
    if (lack && passes(status))
        array = models_kept_get(l->x.s->lists, g->of, gateway_now(l->x.g).now, MODELS_STALE_MS, &g->stale);
    g->models = arena_copy(l->x.c->arena, array);
    if (!--l->open)
        finish(l);
}

/* It asks for nothing any more. */
static void leg_unlist(leg *g)
{
    leg **at = &g->x.s->asking;
    while (*at && *at != g)
        at = &(*at)->next_asking;
    if (*at)
        *at = g->next_asking;
}

/* The call is over: what came of it is everybody's who waited for it. */
static void leg_over(leg *g, daruma_str array, const char *lack)
{
    leg *same = g->next_same;
    int status = g->status;
    setup *s = setup_hold(g->x.s); /* it may end with the last of them */
    leg_unlist(g);
    g->next_same = NULL;
    if (!lack)
        models_kept_put(&s->lists, g->of, array, gateway_now(g->x.g).now);
    while (same) { /* before this one, whose memory has the array */
        leg *next = same->next_same;
        same->asks_for = same->next_same = NULL;
        leg_ended(same, array, status, lack);
        same = next;
    }
    leg_ended(g, array, status, lack);
    setup_drop(s);
}

static void leg_ask(leg *g);

/* Asks for its list, unless somebody is asking for the same one. */
static void leg_begin(leg *g)
{
    setup *s = g->x.s;
    for (leg *other = s->asking; other; other = other->next_asking)
        if (g->of && other->of == g->of) {
            g->asks_for = other;
            g->next_same = other->next_same;
            other->next_same = g;
            return;
        }
    g->next_asking = s->asking;
    s->asking = g;
    leg_ask(g);
}

/* Its client left. Who waited for its list asks in its place. Nothing happens to one that is over. */
static void leg_gone(leg *g)
{
    if (g->asks_for) {
        leg **at = &g->asks_for->next_same;
        while (*at != g)
            at = &(*at)->next_same;
        *at = g->next_same;
        return;
    }
    leg_unlist(g);
    leg *heir = g->next_same;
    if (!heir)
        return;
    g->next_same = NULL;
    for (leg *same = heir->next_same; same; same = same->next_same)
        same->asks_for = heir;
    heir->asks_for = NULL;
    heir->next_asking = g->x.s->asking;
    g->x.s->asking = heir;
    leg_ask(heir);
}

/* It did not work with this key. */
static void leg_next_key(leg *g, const char *lack)
{
    if (g->key + 1 < g->p->nkeys) {
        g->key++;
        leg_ask(g);
    } else {
        leg_over(g, (daruma_str){0}, lack);
    }
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    leg *g = user;
    (void)f;
    g->status = h->status;
    g->body.n = 0;
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    leg *g = user;
    if (g->status != 200)
        return;
    if (bytes.n <= MODELS_LIST_BYTES_MAX - g->body.n) {
        buf_put(&g->body, bytes);
        return;
    }
    g->call = NULL;
    fetch_cancel(f);
    leg_over(g, (daruma_str){0}, "its list is too large");
}

static void on_end(fetch *f, void *user)
{
    leg *g = user;
    (void)f;
    g->call = NULL;
    if (g->status == 401 || g->status == 402 || g->status == 403 || g->status == 429)
        leg_next_key(g, "it refused its key");
    else {
        daruma_str array = g->status == 200 ? models_array(buf_str(&g->body), g->as) : (daruma_str){0};
        leg_over(g, array, array.n ? NULL : g->status == 200 ? "it sent no list" : "it refused");
    }
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    leg *g = user;
    (void)f, (void)phase, (void)why; /* which may carry a peer's bytes */
    g->call = NULL;
    g->status = 0;
    leg_over(g, (daruma_str){0}, daruma_net_words(net));
}

static const fetch_ops asks = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};

/* The client's path where the provider is of its dialect; the client's query is its own where there are no pages. */
static daruma_str leg_path(leg *g)
{
    const list *l = g->all;
    daruma_arena *a = l->x.c->arena;
    daruma_str path =
        g->as == l->as ? config_upstream_path(g->p, l->x.c->head.path, a) : config_own_path(g->p, g->as->path, a);
    daruma_str query = g->as->all.n || g->as != l->as ? g->as->all : exchange_query(&g->x, g->p);
    return STR_SAY(a, path, query.n ? "?" : "", query);
}

/* Leaves out what asks for a part of an answer, or for none where it has not changed. */
static void whole_answer(daruma_header *h, size_t *n)
{
    size_t kept = 0;
    for (size_t i = 0; h && i < *n; i++)
        if (!str_istarts(h[i].name, S("if-")) && !str_ieq(h[i].name, S("range")))
            h[kept++] = h[i];
    *n = kept;
}

static void leg_send(leg *g, daruma_str secret)
{
    const list *l = g->all;
    daruma_arena *a = l->x.c->arena;
    daruma_ms left = MODELS_MS_MAX - (gateway_now(l->x.g).now - l->began);
    fetch_request q = {.to = &g->p->to,
                       .method = S("GET"),
                       .target = leg_path(g),
                       .clocks = {.connect = g->x.s->cfg.clocks.connect, .total = left > 1 ? left : 1}};
    /* the key's own may be another before the answer ends */
    daruma_header *h = head_for_provider(&g->x, g->p, g->p->dialect, arena_copy(a, secret), (daruma_str){0},
                                         (daruma_str){0}, &q.nheaders, a);
    whole_answer(h, &q.nheaders);
    q.headers = h;
    g->status = 0;
    g->call = a->full ? NULL : fetch_start(g->x.s->up, &q, &asks, g);
    if (!g->call)
        leg_over(g, (daruma_str){0}, "there is no memory");
}

/* What of a request makes no other list: who asks, by what tool and for which try of it. */
static bool is_passing(daruma_str name)
{
    static const daruma_str names[] = {LIT("user-agent"),   LIT("accept"),          LIT("accept-language"),
                                       LIT("content-type"), LIT("cache-control"),   LIT("pragma"),
                                       LIT("priority"),     LIT("traceparent"),     LIT("tracestate"),
                                       LIT("x-request-id"), LIT("idempotency-key"), LIT("x-client-request-id")};
    bool is = str_istarts(name, S("x-stainless-")) || str_istarts(name, S("sec-"));
    for (size_t i = 0; i < COUNT(names); i++)
        is |= str_ieq(name, names[i]);
    return is;
}

/* Which list the leg asks for: whom, by what path and query, and with all that the client says to that one, its own key
 * where that is used. 0: there is no memory. */
static uint64_t which_list(leg *g)
{
    daruma_arena *a = g->all->x.c->arena;
    size_t n;
    daruma_header *h =
        head_for_provider(&g->x, g->p, g->p->dialect, (daruma_str){0}, (daruma_str){0}, (daruma_str){0}, &n, a);
    daruma_str path = leg_path(g);
    if (!h || a->full)
        return 0;
    whole_answer(h, &n);
    uint64_t sum =
        XXH3_64bits_withSeed(path.p, path.n, g->x.g->secret.process + (uint64_t)(g->p - g->x.s->cfg.providers));
    for (size_t i = 0; i < n; i++)
        if (!is_passing(h[i].name)) {
            sum = XXH3_64bits_withSeed(h[i].name.p, h[i].name.n, sum);
            sum = XXH3_64bits_withSeed(h[i].value.p, h[i].value.n, sum);
        }
    return sum;
}

/* Has its list at hand, or asks for it. */
static void leg_start(leg *g)
{
    const list *l = g->all;
    bool anew = str_find(http_header(&l->x.c->head, S("cache-control")), S("no-cache")) != STR_NONE;
    daruma_ms age;
    g->of = which_list(g);
    daruma_str array = models_kept_get(l->x.s->lists, g->of, l->began, anew ? -1 : MODELS_FRESH_MS, &age);
    if (array.n)
        leg_ended(g, array, 200, NULL);
    else
        leg_begin(g);
}

static key_state *leg_key(const leg *g)
{
    const config *c = &g->x.s->cfg;
    return g->p->nkeys ? &g->x.s->keys[g->p - c->providers][g->key] : NULL;
}

static void leg_ask(leg *g)
{
    key_state *k = leg_key(g);
    daruma_str secret = {0};
    if (!k || key_ready(k, &secret)) {
        leg_send(g, secret);
        return;
    }
    g->waits = true;
    key_fetch(g->x.s, k, &g->x);
}

static void leg_key_here(exchange *x)
{
    leg *g = (leg *)x;
    daruma_str secret;
    g->waits = false;
    if (key_ready(leg_key(g), &secret))
        leg_send(g, secret);
    else
        leg_next_key(g, "the command that prints its key failed");
}

static void list_gone(exchange *x)
{
    list *l = (list *)x;
    for (size_t i = 0; i < l->nlegs; i++) {
        leg *g = &l->legs[i];
        if (g->waits)
            key_forget(leg_key(g), &g->x);
        if (g->call)
            fetch_cancel(g->call);
        leg_gone(g);
    }
    setup_drop(l->x.s);
}

static void no_matter(exchange *x)
{
    (void)x;
}

static const exchange_ops list_ops = {.gone = list_gone, .drained = no_matter, .key_here = leg_key_here};

/* ---- who is asked ---- */

static bool is_of(const config_provider *p, const dialect *d)
{
    return models_shape_of(p->dialect) == models_shape_of(d);
}

/* A cloud lists none. */
static bool lists_models(const config_provider *p)
{
    return config_has_key(p) && !p->cloud;
}

/* Marks the providers of the client's dialect that it may use: those with keys, and the one that its own key is meant
 * for. Where none speaks its dialect it is the one that would answer it. Returns how many. */
static size_t choose(const config *c, const dialect *d, bool *chosen)
{
    size_t n = 0;
    int own = config_provider_of_path(c, d);
    for (size_t i = 0; i < c->nproviders; i++)
        n += chosen[i] = is_of(&c->providers[i], d) && (lists_models(&c->providers[i]) || (int)i == own);
    for (size_t i = 0; !n && i < c->nproviders; i++)
        n += chosen[i] = lists_models(&c->providers[i]);
    return n;
}

static size_t count_own_names(const config *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nmodels; i++)
        n += models_is_name(&c->models[i]);
    return n;
}

static bool list_begin(gateway *g, call *c, const config_client *client)
{
    const config *cfg = &g->now->cfg;
    const dialect *d = head_dialect(&c->head);
    bool *chosen = ARENA_NEW(c->arena, bool, cfg->nproviders);
    list *l = ARENA_NEW(c->arena, list, 1);
    leg *legs = ARENA_NEW(c->arena, leg, cfg->nproviders);
    size_t n = chosen && legs && l ? choose(cfg, d, chosen) : 0;
    bool one = n == 1 && !count_own_names(cfg) && !(client && client->nmodels);
    for (size_t i = 0; one && i < cfg->nproviders; i++)
        one &= !chosen[i] || is_of(&cfg->providers[i], d);
    if (one || (!n && !count_own_names(cfg)) || !legs || !l)
        return false;
    *l = (list){.x = {.ops = &list_ops, .g = g, .c = c, .s = setup_hold(g->now)},
                .as = models_shape_asked(&c->head),
                .client = client,
                .began = gateway_now(g).now,
                .legs = legs};
    c->user = &l->x;
    for (size_t i = 0; i < cfg->nproviders; i++) {
        if (!chosen[i])
            continue;
        const config_provider *p = &cfg->providers[i];
        leg *one_leg = &l->legs[l->nlegs++];
        bool same = is_of(p, d);
        *one_leg = (leg){.x = {.ops = &list_ops, .g = g, .c = c, .s = l->x.s, .d = same ? p->dialect : d},
                         .all = l,
                         .p = p,
                         .as = same ? l->as : models_shape_of(p->dialect),
                         .stale = -1,
                         .body = buf_in(c->arena)};
    }
    l->open = l->nlegs + 1; /* it does not end while they are begun */
    for (size_t i = 0; i < l->nlegs; i++)
        leg_start(&l->legs[i]);
    if (!--l->open)
        finish(l);
    return true;
}

bool models_answers(gateway *g, call *c)
{
    const config *cfg = &g->now->cfg;
    daruma_str raw;
    bool bad = false, came_back;
    if (!models_path(&c->head, &raw))
        return false;
    head_credential(g, &c->head, &came_back);
    if (came_back) /* it is refused, as all that this program sent itself is */
        return false;
    if (!raw.n)
        return list_begin(g, c, lock_client(cfg, &c->head));
    daruma_str name = path_text(raw, c->arena, &bad);
    for (size_t i = 0; i < cfg->nmodels && !bad; i++)
        if (models_is_name(&cfg->models[i]) && str_eq(cfg->models[i].name, name)) {
            daruma_buf body = buf_in(c->arena);
            models_put(&body, models_shape_asked(&c->head), name, &cfg->models[i], c->arena);
            BUF_LIT(&body, "\n");
            c->user = NULL;
            answer(c, 200, DARUMA_OUTCOME_OK, (daruma_str){0}, (daruma_str){0}, &body);
            return true;
        }
    return false;
}
