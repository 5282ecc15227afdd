/* question.c - questions of our own to a model: summaries of tool output, of the older part of a conversation, an
 * apology. They are calls of the case they belong to: its deadline and its provider's retry budget bound them, the
 * client's leaving ends them, and they are never recovered themselves. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/decide/choice.h"
#include "engine/drive/late.h"
#include "engine/drive/mend/mending.h"

struct side {
    session *x;
    size_t index;     /* of the question */
    const dialect *d; /* of the answer */
    drive_call call;
    int status;
    daruma_arena arena; /* the answer */
    daruma_buf got;
    struct side *next;
};

static void side_over(side *s, daruma_str text);

static void on_head(drive_call *c, const drive_head *h)
{
    ((side *)c->owner)->status = h->status;
}

static void on_body(drive_call *c, daruma_str bytes)
{
    side *s = c->owner;
    if (s->got.n + bytes.n <= SIDE_ANSWER_BYTES_MAX)
        buf_put(&s->got, bytes);
    else
        s->status = 0; /* whatever this is, it is no answer to what was asked */
}

/* The text of an answer, in the memory of the call. */
static daruma_str text_of(session *x, side *s)
{
    turn t;
    daruma_buf text = buf_in(x->arena);
    if (s->status != 200 || dialect_check(s->d, buf_str(&s->got)).flaw != DARUMA_FLAW_NONE ||
        s->d->read_answer(buf_str(&s->got), &s->arena, &t) != DARUMA_OK || t.finish == FINISH_LENGTH)
        return (daruma_str){0};
    convo owner = {.arena = &s->arena};
    for (size_t i = 0; i < t.message.nparts; i++)
        if (t.message.parts[i].kind == PART_TEXT)
            buf_put(&text, convo_text(&owner, &t.message.parts[i]));
    return text.full ? (daruma_str){0} : str_trim(buf_str(&text));
}

static void on_end(drive_call *c)
{
    side *s = c->owner;
    side_over(s, text_of(s->x, s));
}

static void on_fail(drive_call *c, daruma_net net, daruma_phase phase)
{
    (void)net;
    (void)phase;
    side_over(c->owner, (daruma_str){0});
}

static void on_again(drive_call *c, daruma_net net)
{
    (void)net;
    c->x->v->counts.side_calls++;
    c->x->kase.asides++;
}

static const drive_call_ops side_ops = {
    .head = on_head, .body = on_body, .again = on_again, .end = on_end, .fail = on_fail};

static void side_free(side *s)
{
    const drive_rooms *rooms = s->x->v->rooms;
    session_cancel(&s->call);
    rooms->close(&s->arena);
    rooms->give(s);
}

static daruma_ms patience(const session *x)
{
    daruma_ms now = session_now(x).now, left = SIDE_MS_MAX;
    if (x->kase.deadline >= 0 && x->kase.deadline - now < left)
        left = x->kase.deadline - now;
    return left;
}

/* One question is one retry out of the provider's budget: what mends must not keep a provider down either. */
static bool start(session *x, size_t i)
{
    session_mending *h = x->h;
    daruma_ms now = session_now(x).now;
    daruma_budget *purse = daruma_health_budget(x->v->health, &x->targets[x->kase.target], now);
    bool last = choice_calls_left(&x->kase) < 2; /* the request has to go out yet */
    bool may = !last && patience(x) > 0 && daruma_budget_left(purse, now) > 0;
    side *s = may ? x->v->rooms->take(sizeof *s) : NULL;
    if (!s)
        return false;
    const mend_question *one = &h->questions[i];
    daruma_question q = {.system = one->system,
                         .user = one->user,
                         .about = one->about,
                         .max_tokens = h->ask_tokens,
                         .temperature_milli = one->temperature_milli};
    *s = (side){.x = x, .index = i, .call = {.ops = &side_ops, .x = x, .owner = s}};
    x->v->rooms->open(&s->arena, 0, SIDE_ANSWER_BYTES_MAX * 4);
    s->got = buf_in(&s->arena);
    s->d = x->v->host->ask(x->user, &s->call, &x->targets[x->kase.target], &q, patience(x));
    if (!s->d) {
        side_free(s);
        return false;
    }
    daruma_budget_take(purse, now);
    daruma_budget_call(purse, now);
    x->v->counts.side_calls++;
    x->kase.asides++;
    s->next = h->sides;
    h->sides = s;
    return true;
}

/* Keeps some questions under way; those that cannot be asked count as failed. */
static void go_on(session *x)
{
    session_mending *h = x->h;
    while (h->asked < h->nquestions && h->asked - h->answered < SIDE_PARALLEL_MAX) {
        size_t i = h->asked++;
        if (!start(x, i)) {
            h->answered++;
            session_mend_answer(x, i, (daruma_str){0});
        }
    }
}

static void side_over(side *s, daruma_str text)
{
    session *x = s->x;
    session_mending *h = x->h;
    for (side **at = &h->sides; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    h->answered++;
    session_mend_answer(x, s->index, text);
    side_free(s);
    go_on(x);
    if (h->answered == h->nquestions) {
        h->asked_ms += session_now(x).now - h->asked_at;
        late_add(x, (daruma_spent){.on = DARUMA_SPENT_SUMMARY, .ms = x->v->at.now - h->asked_at, .usual = -1});
        session_mend_asked(x);
    }
}

bool side_ask(session *x, const mend_question *q, size_t n, int64_t max_output)
{
    session_mending *h = x->h;
    if (!n || x->kase.target < 0)
        return false;
    h->questions = q;
    h->nquestions = n;
    h->asked = h->answered = 0;
    h->ask_tokens = max_output;
    h->asked_at = session_now(x).now;
    go_on(x);
    session_timer(x);       /* heartbeats go on */
    return h->answered < n; /* none could be asked: nothing more will come */
}

void side_cancel(session *x)
{
    while (x->h && x->h->sides) {
        side *s = x->h->sides;
        x->h->sides = s->next;
        side_free(s);
    }
}
