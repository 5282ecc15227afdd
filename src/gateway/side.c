/* side.c - questions of our own to a model: summaries of tool output, of the older part of a conversation, an apology.
 * They are calls of the case they belong to: its deadline and its provider's retry budget bound them, the client's
 * leaving ends them, and they are never recovered themselves. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/heal.h"
#include "sys/sys.h"
#include <stdlib.h>

struct side {
    exchange *x;
    size_t index; /* of the question */
    fetch *f;
    int status;
    daruma_arena arena; /* the answer */
    daruma_buf got;
    struct side *next;
};

/* Who is asked: the summariser if one is configured, else the target at hand. */
typedef struct asked {
    const config_provider *provider;
    const dialect *d;
    daruma_str model, secret;
    bool at_hand; /* the provider that the request itself goes to: what the client showed it is for its eyes */
} asked;

static bool whom(exchange *x, asked *ret)
{
    const config *c = &x->s->cfg;
    if (c->summariser.model.n) {
        const config_provider *p = &c->providers[c->summariser.provider];
        key_state *k = p->nkeys ? &x->s->keys[c->summariser.provider][0] : NULL;
        *ret = (asked){.provider = p, .d = p->dialect, .model = c->summariser.model};
        ret->at_hand = x->kase.target >= 0 && exchange_provider(x, x->kase.target) == p;
        if (!k || key_ready(k, &ret->secret))
            return true;
        key_fetch(x->s, k, NULL); /* for the next time */
        return false;
    }
    if (x->kase.target < 0)
        return false;
    const key_state *k = exchange_key(x, x->kase.target);
    *ret = (asked){.provider = exchange_provider(x, x->kase.target),
                   .d = exchange_dialect(x, x->kase.target),
                   .at_hand = true,
                   .model = x->targets[x->kase.target].model};
    if (!ret->model.n)
        ret->model = x->scan.model;
    return !k || key_ready(k, &ret->secret);
}

static void side_over(side *s, daruma_str text);

static void on_head(fetch *f, const http_head *h, void *user)
{
    (void)f;
    ((side *)user)->status = h->status;
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    side *s = user;
    (void)f;
    if (s->got.n + bytes.n <= SIDE_ANSWER_BYTES_MAX)
        buf_put(&s->got, bytes);
    else
        s->status = 0; /* whatever this is, it is no answer to what was asked */
}

/* The text of an answer, in the memory of the call. */
static daruma_str text_of(exchange *x, side *s)
{
    asked a;
    turn t;
    daruma_buf text = buf_in(x->c->arena);
    if (s->status != 200 || !whom(x, &a) || a.d->check(buf_str(&s->got), &s->arena).flaw != DARUMA_FLAW_NONE ||
        a.d->read_answer(buf_str(&s->got), &s->arena, &t) != DARUMA_OK || t.finish == FINISH_LENGTH)
        return (daruma_str){0};
    convo owner = {.arena = &s->arena};
    for (size_t i = 0; i < t.message.nparts; i++)
        if (t.message.parts[i].kind == PART_TEXT)
            buf_put(&text, convo_text(&owner, &t.message.parts[i]));
    return text.full ? (daruma_str){0} : str_trim(buf_str(&text));
}

static void on_end(fetch *f, void *user)
{
    side *s = user;
    (void)f;
    s->f = NULL;
    side_over(s, text_of(s->x, s));
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    side *s = user;
    (void)f;
    (void)net;
    (void)phase;
    (void)why;
    s->f = NULL;
    side_over(s, (daruma_str){0});
}

static void on_again(fetch *f, daruma_net net, void *user)
{
    const side *s = user;
    (void)f;
    (void)net;
    s->x->g->counts.side_calls++;
}

static const fetch_ops side_ops = {.head = on_head, .body = on_body, .again = on_again, .end = on_end, .fail = on_fail};

static void side_free(side *s)
{
    if (s->f)
        fetch_cancel(s->f);
    sys_arena_done(&s->arena);
    free(s);
}

static daruma_ms patience(const exchange *x)
{
    daruma_ms now = gateway_now(x->g).now, left = SIDE_MS_MAX;
    if (x->kase.deadline >= 0 && x->kase.deadline - now < left)
        left = x->kase.deadline - now;
    return left;
}

/* One question is one retry out of the provider's budget: what mends must not keep a provider down either. */
static bool start(exchange *x, size_t i)
{
    heal *h = x->h;
    daruma_ms now = gateway_now(x->g).now;
    daruma_budget *purse = daruma_health_budget(x->g->health, &x->targets[x->kase.target], now);
    asked a;
    daruma_buf body = buf_in(x->c->arena);
    if (!whom(x, &a) || patience(x) <= 0)
        return false;
    side *s = calloc(1, sizeof *s);
    if (!s)
        return false;
    s->x = x;
    s->index = i;
    sys_arena_init(&s->arena, 0, SIDE_ANSWER_BYTES_MAX * 4);
    s->got = buf_in(&s->arena);
    const mend_question *one = &h->questions[i];
    daruma_question q = {.system = one->system,
                         .user = one->user,
                         .max_tokens = h->ask_tokens,
                         .temperature_milli = one->temperature_milli};
    dialect_write_ask(a.d, a.model, &q, &body);
    daruma_str path = dialect_path(a.d, a.model, false, x->c->arena);
    fetch_request r = {.to = &a.provider->to,
                       .method = S("POST"),
                       .target = config_upstream_path(a.provider, path, x->c->arena),
                       .body = {buf_str(&body)},
                       .has_body = true,
                       .clocks = {.connect = x->s->cfg.clocks.connect, .total = patience(x)}};
    r.headers = head_for_question(x, a.provider, a.d, a.secret, a.at_hand, &r.nheaders);
    if (x->c->arena->full || !daruma_budget_take(purse, now) || !(s->f = fetch_start(x->s->up, &r, &side_ops, s))) {
        side_free(s);
        return false;
    }
    daruma_budget_call(purse, now);
    x->g->counts.side_calls++;
    s->next = h->sides;
    h->sides = s;
    return true;
}

/* Keeps some questions under way; those that cannot be asked count as failed. */
static void go_on(exchange *x)
{
    heal *h = x->h;
    while (h->asked < h->nquestions && h->asked - h->answered < SIDE_PARALLEL_MAX) {
        size_t i = h->asked++;
        if (!start(x, i)) {
            h->answered++;
            heal_answer(x, i, (daruma_str){0});
        }
    }
}

static void side_over(side *s, daruma_str text)
{
    exchange *x = s->x;
    heal *h = x->h;
    for (side **at = &h->sides; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    h->answered++;
    heal_answer(x, s->index, text);
    side_free(s);
    go_on(x);
    if (h->answered == h->nquestions)
        heal_asked(x);
}

bool side_ask(exchange *x, const mend_question *q, size_t n, int64_t max_output)
{
    heal *h = x->h;
    asked a;
    if (!n || !whom(x, &a))
        return false;
    h->questions = q;
    h->nquestions = n;
    h->asked = h->answered = 0;
    h->ask_tokens = max_output;
    go_on(x);
    return h->answered < n; /* none could be asked: nothing more will come */
}

void side_cancel(exchange *x)
{
    while (x->h && x->h->sides) {
        side *s = x->h->sides;
        x->h->sides = s->next;
        side_free(s);
    }
}
