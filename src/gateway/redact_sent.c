/* redact_sent.c - removes the credentials that were sent from what a provider says. A provider that refuses a call may
 * repeat its key ("Incorrect API key provided: ..."). daruma_redact() guesses what looks like a secret; what was sent
 * is known, so it is removed before the judge, the client or an event sees the text. */
#include "base/arena.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/tell/redact.h"
#include "gateway/inside.h"
#include "gateway/keep/keep.h"
#include "sys/arena.h"

enum {
    SECRETS_MAX = 64, /* of a client; ours are all looked for */
    ENCODED_MAX = 8   /* ... and of these what they are in base64 and in digits */
};

/* Does this line hold a secret, as far as its name and form tell? */
static bool gives_away(daruma_str name, const char *between, daruma_str value)
{
    char room[4096];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_buf line = buf_in(&a);
    BUF_SAY(&line, name, between, str_sub(value, 0, 512));
    daruma_str clean = daruma_redact(buf_str(&line), &a);
    return !line.full && !a.full && !str_eq(clean, buf_str(&line));
}

/* What is taken out of one text. */
typedef struct hiding {
    redaction r;
    size_t theirs; /* credentials of the client so far */
} hiding;

static void hide_theirs(hiding *h, daruma_str secret)
{
    size_t n = h->theirs++;
    if (n < SECRETS_MAX)
        redact_add(&h->r, secret, n < ENCODED_MAX);
}

/* "Bearer ..." */
static daruma_str secret_of(daruma_str value)
{
    size_t space = str_findch(value, ' ');
    return space == STR_NONE ? value : str_trim(str_from(value, space));
}

/* "Basic ..." is a name and a password, which a provider may say as well. */
static void hide_basic(hiding *h, daruma_str value)
{
    daruma_buf both = buf_in(h->r.index);
    if (!str_istarts(value, S("basic ")) || !base64_put(&both, secret_of(value)))
        return;
    size_t colon = str_findch(buf_str(&both), ':');
    if (colon != STR_NONE)
        redact_add(&h->r, str_from(buf_str(&both), colon + 1), true);
}

/* Of a call: its key, and the fields that the provider's configuration adds, whatever they are called (who
 * writes them there is promised that nobody sees them). */
static void hide_own(hiding *h, const exchange *x, const daruma_target *t, daruma_str secret)
{
    redact_add(&h->r, secret, true);
    if (!t)
        return;
    const config_provider *p = exchange_provider(x, t);
    for (size_t i = 0; i < p->nheaders; i++) {
        redact_add(&h->r, secret_of(p->headers[i].value), true);
        hide_basic(h, p->headers[i].value);
    }
}

/* All keys that we have: a provider that is a gateway itself may name one that an earlier call was made with. */
static void hide_keys(hiding *h, const setup *s)
{
    for (size_t p = 0; p < s->cfg.nproviders; p++)
        for (size_t k = 0; k < s->cfg.providers[p].nkeys; k++) {
            const key_state *key = &s->keys[p][k];
            redact_add(&h->r, key->secret ? (daruma_str){key->secret, key->secret_n} : key->key->value, true);
        }
}

/* Those in fields and query of the client. */
static void hide_clients(hiding *h, const http_head *head)
{
    for (size_t i = 0; i < head->nheaders; i++) {
        daruma_header one = head->headers[i];
        if (head_is_credential(one.name) || gives_away(one.name, ": ", one.value)) {
            hide_theirs(h, secret_of(one.value));
            if (h->theirs <= ENCODED_MAX)
                hide_basic(h, one.value);
        }
    }
    daruma_str rest = head->query;
    while (rest.n && h->theirs < SECRETS_MAX) {
        daruma_str value = str_cut(&rest, '&'), name = str_cut(&value, '=');
        if (str_eq(name, S("key")) || gives_away(name, "=", value))
            hide_theirs(h, value);
    }
}

void exchange_redact(void *user, const daruma_target *t, daruma_str secret, daruma_str *texts, size_t n)
{
    exchange *x = user;
    daruma_arena index;
    hiding h = {.r = {.arena = x->c->arena, .index = &index}};
    for (size_t i = 0; i < n; i++)
        h.r.longest = texts[i].n > h.r.longest ? texts[i].n : h.r.longest;
    if (h.r.longest < REDACT_BYTES_MIN)
        return;
    sys_arena_init(&index, REDACT_INDEX_BYTES_USUAL, CALL_ARENA_BYTES_MAX); /* without memory it is full */
    hide_own(&h, x, t, secret);
    if (h.r.longest <= CLASSIFY_BODY_BYTES_MAX) /* what is longer passes through, and nobody judges it */
        hide_keys(&h, x->s);
    hide_clients(&h, &x->c->head);
    for (size_t i = 0; i < n; i++)
        texts[i] = redact_known(&h.r, texts[i]);
    sys_arena_done(&index);
}
