/* head.c - header fields on their way to providers and to clients. */
#include "base/arena.h"
#include "base/buf.h"
#include "gateway/inside.h"
#include "gateway/see/trace.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <xxhash.h>

/* Where any client puts its credentials. */
bool head_is_credential(daruma_str name)
{
    switch (name.n) {
    case 7:
        return str_ieq(name, S("api-key"));
    case 9:
        return str_ieq(name, S("x-api-key"));
    case 13:
        return str_ieq(name, S("authorization"));
    case 14:
        return str_ieq(name, S("x-goog-api-key")) || str_ieq(name, S("x-daruma-token"));
    default:
        return false;
    }
}

daruma_str head_query_key(const http_head *h)
{
    daruma_str rest = h->query;
    while (rest.n) {
        daruma_str one = str_cut(&rest, '&');
        if (str_starts(one, S("key=")))
            return str_from(one, 4);
    }
    return (daruma_str){0};
}

const dialect *head_dialect(const http_head *h)
{
    if (http_header(h, S("anthropic-version")).n || str_find(h->path, S("/v1/messages")) != STR_NONE)
        return &dialect_anthropic;
    bool gemini = http_header(h, S("x-goog-api-key")).n || head_query_key(h).n || str_starts(h->path, S("/v1beta/"));
    return gemini ? &dialect_gemini : &dialect_openai;
}

uint64_t head_credential(const gateway *g, const http_head *h, bool *ret_ours)
{
    uint64_t sum = g->secret.process;
    daruma_str key = head_query_key(h), we = str_from(str_of(g->via), sizeof "1.1 " - 1);
    *ret_ours = false;
    for (size_t i = 0; i < h->nheaders; i++) {
        const daruma_header *f = &h->headers[i];
        if (head_is_credential(f->name))
            sum = XXH3_64bits_withSeed(f->value.p, f->value.n, sum);
        else if (str_ieq(f->name, S("via")))
            *ret_ours |= str_find(f->value, we) != STR_NONE;
    }
    return key.n ? XXH3_64bits_withSeed(key.p, key.n, sum) : sum;
}

void head_credentials(const http_head *h, daruma_buf *out)
{
    for (size_t i = 0; i < h->nheaders; i++)
        if (head_is_credential(h->headers[i].name))
            BUF_SAY(out, h->headers[i].value, "\n");
    buf_put(out, head_query_key(h));
}

void head_beside(const http_head *h, daruma_buf *out)
{
    for (size_t i = 0; i < h->nheaders; i++) {
        const daruma_header *f = &h->headers[i];
        if (head_is_credential(f->name) || str_ieq(f->name, S("cookie")))
            continue;
        BUF_SAY(out, f->name, ": ", f->value, "\n");
    }
    for (daruma_str rest = h->query; rest.n;) {
        daruma_str value = str_cut(&rest, '&'), name = str_cut(&value, '=');
        if (str_eq(name, S("key")))
            continue;
        BUF_SAY(out, name, ": ", value, "\n");
    }
}

/* Fields that the configuration gives a provider stand in the place of the client's. */
static bool is_configured(const config_provider *p, daruma_str name)
{
    for (size_t i = 0; i < p->nheaders; i++)
        if (str_ieq(p->headers[i].name, name))
            return true;
    return false;
}

/* What a client's field is, where not all providers see it. */
enum {
    OURS = 1,        /* none sees it as it came */
    CODING = 2,      /* none whose answer is read here */
    CREDENTIAL = 4,  /* only one that is called with the client's own key ... */
    COOKIE = 8,      /* ... and of this, too */
    OF_DIALECT = 16, /* only clients of a dialect send it, and it says nothing to providers of another */
    ACCEPT = 32,     /* Bedrock's body says it */
    PARENT = 64,     /* another traceparent stands for it ... */
    STATE = 128,     /* ... and this belongs to the trace that it was of */
};

static unsigned trait(daruma_str name, daruma_str of, unsigned is)
{
    return str_ieq(name, of) ? is : 0;
}

/* By its first letter: most names need no comparison. X-Original-URL and X-Rewrite-URL name another path, and some
 * servers answer for that one. */
static unsigned traits_of(daruma_str name)
{
    switch (ch_lower(name.p[0])) {
    case 'a':
        return (head_is_credential(name) ? CREDENTIAL : 0) | trait(name, S("accept"), ACCEPT) |
               trait(name, S("accept-encoding"), CODING) | (str_istarts(name, S("anthropic-")) ? OF_DIALECT : 0);
    case 'c':
        return trait(name, S("content-length"), OURS) | trait(name, S("cookie"), COOKIE);
    case 'h':
        return trait(name, S("host"), OURS);
    case 'o':
        return str_istarts(name, S("openai-")) ? OF_DIALECT : 0;
    case 't':
        return trait(name, S("traceparent"), PARENT) | trait(name, S("tracestate"), STATE);
    case 'x':
        return (head_is_credential(name) ? CREDENTIAL : 0) | (str_istarts(name, S("x-daruma-")) ? OURS : 0) |
               (str_istarts(name, S("x-goog-")) ? OF_DIALECT : 0) | trait(name, S("x-original-url"), OURS) |
               trait(name, S("x-rewrite-url"), OURS);
    default:
        return 0;
    }
}

/* What we say ourselves: who we are, the key, and what is configured. */
static void put_ours(const exchange *x, const config_provider *p, daruma_str secret, daruma_arena *a,
                     daruma_header *out, size_t *n)
{
    out[(*n)++] = (daruma_header){S("via"), str_of(x->g->via)};
    if (secret.n)
        out[(*n)++] = config_key_field(p, secret, a);
    for (size_t i = 0; i < p->nheaders; i++)
        out[(*n)++] = p->headers[i];
}

/* Words of a field without those that the provider refuses. */
static daruma_str kept_betas(daruma_str value, daruma_str without, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    while (value.n) {
        daruma_str word = str_trim(str_cut(&value, ','));
        if (!word.n || !betas_keeps(without, word))
            continue;
        if (b.n)
            buf_putc(&b, ',');
        buf_put(&b, word);
    }
    return buf_str(&b);
}

daruma_str head_betas(const exchange *x, daruma_str without, daruma_arena *a)
{
    return kept_betas(http_header(&x->c->head, S(BETA_FIELD)), without, a);
}

/* Where a request goes, as its fields have to know. */
typedef struct bound {
    const config_provider *p;
    bool moved;  /* it speaks another dialect than the client */
    bool theirs; /* the client's own key is used */
    bool plain;  /* what comes back is read, or to be searched for our key: not encoded */
    bool traced; /* with a traceparent of ours */
} bound;

static bool goes_along(const exchange *x, const bound *to, const daruma_header *f)
{
    unsigned is = traits_of(f->name);
    unsigned never = OURS | (to->plain ? CODING : 0) | (to->theirs ? 0 : CREDENTIAL | COOKIE);
    if (!is)
        return true;
    if (to->moved)
        never |= OF_DIALECT;
    if (to->p->cloud == CONFIG_BEDROCK)
        never |= OF_DIALECT | ACCEPT;
    if (to->traced)
        never |= PARENT | (x->trace->own ? STATE : 0);
    return !(is & never) && !(is & CREDENTIAL && lock_is_token(&x->s->cfg, f->value));
}

daruma_header *head_for_provider(exchange *x, const config_provider *p, const dialect *d, daruma_str secret,
                                 daruma_str traceparent, daruma_str without, size_t *n, daruma_arena *a)
{
    const http_head *in = &x->c->head;
    daruma_header *out = ARENA_RAW(a, daruma_header, in->nheaders + p->nheaders + 6);
    daruma_str connection = http_header(in, S("connection"));
    bound to = {.p = p,
                .moved = d != x->d,
                .theirs = !config_has_key(p) && d == x->d,
                .plain = x->d || config_has_key(p),
                .traced = traceparent.n > 0};
    *n = 0;
    if (!out)
        return NULL;
    for (size_t i = 0; i < in->nheaders; i++) {
        daruma_str name = in->headers[i].name;
        if (drive_field_is_hop(name, connection) || is_configured(p, name) || !goes_along(x, &to, &in->headers[i]))
            continue;
        out[*n] = in->headers[i];
        if (without.n && str_ieq(name, S(BETA_FIELD)))
            out[*n].value = kept_betas(in->headers[i].value, without, a);
        *n += out[*n].value.n > 0 || !without.n;
    }
    if (to.plain)
        out[(*n)++] = (daruma_header){S("accept-encoding"), S("identity")};
    if (d != x->d && d->version.name.n && !p->cloud)
        out[(*n)++] = d->version;
    if (traceparent.n)
        out[(*n)++] = (daruma_header){S("traceparent"), traceparent};
    put_ours(x, p, secret, a, out, n);
    return out;
}

daruma_header *head_for_question(exchange *x, const config_provider *p, const dialect *d, daruma_str secret,
                                 bool at_hand, daruma_str traceparent, size_t *n)
{
    daruma_header *out;
    if (at_hand) {
        size_t all, kept = 0;
        out = head_for_provider(x, p, d, secret, traceparent, (daruma_str){0}, &all, x->c->arena);
        for (size_t i = 0; i < all; i++) /* it is another request than the client's */
            if (!str_ieq(out[i].name, S("idempotency-key")))
                out[kept++] = out[i];
        *n = kept;
        return out;
    }
    *n = 0;
    out = ARENA_RAW(x->c->arena, daruma_header, p->nheaders + 6);
    if (!out)
        return NULL;
    out[(*n)++] = (daruma_header){S("content-type"), S("application/json")};
    out[(*n)++] = (daruma_header){S("accept-encoding"), S("identity")};
    if (d->version.name.n)
        out[(*n)++] = d->version;
    if (traceparent.n)
        out[(*n)++] = (daruma_header){S("traceparent"), traceparent};
    put_ours(x, p, secret, x->c->arena, out, n);
    return out;
}

/* "provider/model"; a client's model name may hold anything. */
static daruma_str target_name(const daruma_target *t, daruma_arena *a)
{
    daruma_buf name = buf_in(a);
    if (!t)
        return (daruma_str){0};
    buf_room(&name, t->provider.n + t->model.n + 1);
    buf_put(&name, t->provider);
    if (t->model.n)
        buf_putc(&name, '/');
    size_t from = name.n;
    buf_put(&name, t->model);
    for (size_t i = from; i < name.n; i++)
        if ((unsigned char)name.p[i] <= 0x20 || (unsigned char)name.p[i] >= 0x7f)
            name.p[i] = '_';
    return name.full ? (daruma_str){0} : buf_str(&name);
}

daruma_header *head_for_client(exchange *x, const drive_answer *answer, size_t *n)
{
    /* call_head() keeps nothing of it */
    return session_fields(x->session, answer, target_name(session_target(x->session), answer->a), n);
}

/* ---- whose request it is: what is known of a conversation is kept under a keyed hash of the credential it came with.
 * Whoever has another credential gets another number, and the numbers mean nothing outside this process. ---- */

/* Made when it is first needed: it wakes a good part of OpenSSL, which plain traffic never does. */
bool tenant_key_made(gateway *g)
{
    if (!g->tenant_keyed)
        g->tenant_keyed = RAND_bytes(g->secret.tenants, sizeof g->secret.tenants) == 1;
    return g->tenant_keyed;
}

uint64_t exchange_tenant(const exchange *x)
{
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    daruma_buf all = buf_in(x->c->arena);
    head_credentials(&x->c->head, &all);
    uint64_t tenant = x->credential; /* a hash with the secret of this process: second best */
    if (!all.full && tenant_key_made(x->g) &&
        HMAC(EVP_sha256(), x->g->secret.tenants, sizeof x->g->secret.tenants, (const unsigned char *)all.p, all.n, out,
             &n))
        memcpy(&tenant, out, sizeof tenant);
    return tenant;
}
