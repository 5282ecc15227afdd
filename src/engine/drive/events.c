/* events.c - what a session tells its host: events, with what joins them to other logs, and what became of the request.
 */
#include "base/arena.h"
#include "engine/drive/open.h"

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
    l->tried[i] = (daruma_tried){.target = t, .kind = f->kind, .net = f->net, .status = f->status, .wait = f->wait};
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
