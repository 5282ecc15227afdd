/* driver.c - what the sessions of one host share, and what is told of a session. */
#include "engine/drive/session.h"
#include "base/arena.h"
#include "base/buf.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/recall.h"
#include "engine/drive/request/apis.h"
#include "engine/mend/request/request.h"

bool driver_begin(driver *v)
{
    v->mem = memory_new(v->rooms);
    return v->mem != NULL;
}

void driver_end(driver *v)
{
    v->rooms->close(&v->event);
    while (v->nspare_rooms)
        v->rooms->close(&v->spare_rooms[--v->nspare_rooms]);
    memory_free(v->mem);
    mended_free(v->rooms, v->mended);
    watch_free(v->rooms, v->watch);
    v->rooms->give(v->told);
    v->told = NULL;
    v->mem = NULL;
    v->mended = NULL;
    v->watch = NULL;
}

int64_t driver_window(const driver *v, uint64_t lane)
{
    return memory_lane(v->mem, lane, v->at.now)->window;
}

size_t driver_sessions(const driver *v)
{
    return memory_sessions(v->mem);
}

void driver_learned_status(const driver *v, daruma_buf *b)
{
    static const char *const formats[] = {"any", "text", "json_object", "json_schema"};
    static const char *const abilities[] = {"tools", "media", "response_format", "reasoning"}; /* daruma_ability */
    bool first = true;
    BUF_LIT(b, "\"models_learned\":[");
    for (size_t i = 0; i < LANES_MAX; i++) {
        const lane_fact *m = memory_lane_at(v->mem, i, v->at.now);
        if (!m)
            continue;
        const char *api = m->api == API_CHAT ? dialect_openai.name : dialect_openai_responses.name;
        buf_putz(b, first ? "{" : ",{");
        BUF_MEMBERS(b, "provider", str_of(m->provider), "model", str_of(m->name), "account", str_of(m->account),
                    "window", BUF_IF(m->window > 0, m->window), "response_format",
                    BUF_IF(m->format, formats[m->format]), "prefill", BUF_IF(m->no_prefill, (bool)false), "api",
                    BUF_IF(m->api, api), "betas_refused", buf_any(str_of(m->betas)));
        if (m->habits) {
            const char *name;
            BUF_LIT(b, ",\"messages\":[");
            for (size_t k = 0; (name = mend_habit_name(m->habits, k)); k++)
                buf_printf(b, "%s\"%s\"", k ? "," : "", name);
            buf_putc(b, ']');
        }
        for (size_t k = 0, n = 0; k < COUNT(abilities); k++)
            if (m->lacks & 1u << k)
                buf_printf(b, "%s\"%s\"", n++ ? "," : ",\"lacks\":[", abilities[k]);
        if (m->lacks)
            buf_putc(b, ']');
        BUF_LIT(b, ",\"parameters\":");
        driver_lessons_status(v, m->lane, b);
        BUF_LIT(b, ",\"case\":\"");
        buf_hex64(b, m->by);
        buf_printf(b, "\",\"ago_ms\":%lld}", (long long)(v->at.now - m->at));
        first = false;
    }
    BUF_LIT(b, "],");
}

/* ---- of a session ---- */

const dialect *session_dialect_of(const session *x, const daruma_target *t)
{
    return session_dialect(x, (int)(t - x->targets));
}

daruma_str session_model(const session *x)
{
    return x->out.scan.model;
}

uint32_t session_attempts(const session *x)
{
    return x->kase.attempts;
}

daruma_outcome session_outcome(const session *x)
{
    return x->kase.outcome;
}

void session_say_remedies(const session *x, daruma_buf *b)
{
    if (!x->kase.ndid)
        BUF_LIT(b, "none");
    for (size_t i = 0; i < x->kase.ndid; i++) {
        if (i)
            BUF_LIT(b, ",");
        buf_putz(b, daruma_remedy_name((daruma_remedy_kind)x->kase.did[i]));
    }
}

daruma_ms session_again_in(const session *x)
{
    return daruma_case_again_in(&x->kase, x->kase.attempts ? &session_last(x)->failure : NULL, x->v->at.now);
}

const daruma_target *session_target(const session *x)
{
    return x->kase.target >= 0 && (size_t)x->kase.target < x->kase.ntargets ? &x->targets[x->kase.target] : NULL;
}

/* ---- events, and what became of a request ---- */

daruma_str session_their_id(const daruma_header *h, size_t n)
{
    static const daruma_str names[] = {LIT("x-request-id"), LIT("request-id"), LIT("apim-request-id"),
                                       LIT("x-amzn-requestid"), LIT("cf-ray")};
    for (size_t k = 0; k < COUNT(names); k++)
        for (size_t i = 0; i < n; i++)
            if (str_ieq(h[i].name, names[k]) && h[i].value.n)
                return h[i].value;
    return (daruma_str){0};
}

void session_event(session *x, daruma_event *e)
{
    e->at = session_now(x);
    e->case_id = x->kase.id;
    if (!e->target && x->kase.target >= 0 && (size_t)x->kase.target < x->kase.ntargets)
        e->target = &x->targets[x->kase.target];
    if (!e->provider_request_id.n)
        e->provider_request_id = x->answer.theirs;
    e->asked = x->out.scan.model;
    daruma_str name = x->agent.named;
    e->session = str_trim(str_cut(&name, ';'));
    if (x->out.scan.conversation && x->targets)
        e->conversation = session_session(x);
    x->v->host->tell(x->user, e);
}

void session_say(session *x, const char *name, daruma_str reason)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = name;
    e.reason = reason;
    session_event(x, &e);
}

void session_tell(session *x, daruma_when when, daruma_event *e)
{
    daruma_event as = *e;
    bool end = when == DARUMA_WHEN_RECOVERED || when == DARUMA_WHEN_GIVEN_UP;
    if (!daruma_event_when(&as, when, &x->kase))
        return;
    as.tried = end ? session_last(x)->tried : NULL;
    as.ntried = end ? session_last(x)->ntried : 0;
    session_event(x, &as);
}

void session_tried(session *x, int target, const daruma_failure *f)
{
    const daruma_target *t = &x->targets[target];
    size_t i = 0;
    last_failure *l = session_last_new(x);
    if (l && !l->tried)
        l->tried = ARENA_NEW(x->arena, daruma_tried, DARUMA_CASE_TRIED);
    if (!l || !l->tried)
        return;
    while (i < l->ntried && l->tried[i].target != t)
        i++;
    if (i == DARUMA_CASE_TRIED)
        return;
    l->ntried += i == l->ntried;
    l->tried[i] = (daruma_tried){
        .target = t, .kind = f->kind, .net = f->net, .status = f->status, .wait = f->wait, .lacks = f->lacks};
}

void session_say_tried(const session *x, daruma_buf *out)
{
    if (!x->kase.policy->text) /* the profile has words of its own */
        daruma_tried_say(session_last(x)->tried, session_last(x)->ntried, out);
}

void session_tell_result(session *x, daruma_outcome o)
{
    const stream_view *v = &x->answer.view;
    int at = x->kase.target;
    drive_result r = {.target = at >= 0 && x->targets ? &x->targets[at] : NULL,
                      .model = x->out.scan.model,
                      .case_id = x->kase.id,
                      .attempts = x->kase.attempts,
                      .outcome = o,
                      .took = x->v->at.now - x->opened,
                      .first = x->client.first_ms ? (daruma_ms)x->client.first_ms : -1,
                      .input_tokens = v->input_tokens > 0 ? v->input_tokens : -1,
                      .output_tokens = v->output_tokens > 0 ? v->output_tokens : -1,
                      .stream = x->client.streaming,
                      .passed = !x->d};
    if (x->v->host->done)
        x->v->host->done(x->user, &r);
}
