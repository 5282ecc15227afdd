/* answer.c - tool calls of answers on their way to the client, and answers that were asked for as JSON: arguments that
 * do not parse, do not fit or call a tool that does not exist, and words around the JSON, are mended in place where
 * only one reading is possible; else the model is asked again. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/drive/agents/steer.h"
#include "engine/drive/answer/answer.h"

bool answer_checks_calls(const session *x)
{
    return (x->kase.can_mend && x->kase.policy->mend.enabled && x->out.scan.tools_raw.n > 0) || steer_checks_calls(x);
}

bool answer_checks_format(const session *x)
{
    return x->kase.can_mend && x->kase.policy->mend.enabled && x->out.scan.format_raw.n > 0 && !x->answer.view.effects;
}

/* Tells the client, the counts and the event log that the answer goes out mended. */
static void tell_mended(session *x, daruma_str what)
{
    daruma_remedy r = {.remedy = DARUMA_REMEDY_MEND_ANSWER, .act = DARUMA_KEEP, .target = x->kase.target};
    daruma_event e = DARUMA_EVENT_INIT;
    session_did(x, r.remedy);
    e.name = "output_repair";
    e.remedy = &r;
    e.reason = what;
    session_event(x, &e);
}

bool answer_refused(session *x, const turn *t, daruma_arena *a)
{
    daruma_buf why = buf_in(a);
    bool asks = steer_checks_calls(x) && !x->answer.view.effects; /* with them it cannot be asked for again */
    for (size_t i = 0; asks && i < t->message.nparts && !why.n; i++) {
        convo_part p = t->message.parts[i];
        convo_unwrap(&p, a);
        if (p.kind == PART_CALL && !p.dropped)
            steer_refuses(x, p.name, p.text, &why);
    }
    if (!why.n)
        return false;
    session_mend_bad_answer(x, t, buf_str(&why));
    return true;
}

/* An answer that the output cap cut within a call can be ended as its provider ended it, without its calls. */
static void keep_cut(session *x, const turn *t)
{
    turn *cut = ARENA_NEW(x->arena, turn, 1);
    daruma_buf text = buf_in(x->arena);
    for (size_t i = 0; i < t->message.nparts; i++)
        if (t->message.parts[i].kind == PART_TEXT && text.n + t->message.parts[i].text.n <= TALK_SAID_BYTES_MAX)
            buf_put(&text, t->message.parts[i].text);
    convo_part *words = ARENA_NEW(x->arena, convo_part, 1);
    last_failure *l = session_last_new(x);
    if (!cut || !words || !l || text.full)
        return;
    *words = (convo_part){.kind = PART_TEXT, .ready = true, .text = buf_str(&text)};
    *cut = (turn){.finish = t->finish,
                  .usage = t->usage,
                  .message = {.role = CONVO_ASSISTANT, .parts = words, .nparts = text.n ? 1 : 0}};
    l->cut = cut;
    l->cut_by = x->kase.attempts;
}

answer_test answer_test_of(session *x, bool calls, bool words)
{
    answer_test k = {.rooms = x->v->rooms,
                     .strings = x->p == x->d && x->p == &dialect_openai,
                     .was_unfit = session_mend_was_unfit(x) != UNFIT_NEVER};
    if (words)
        session_mend_test_format(x, &k);
    if (calls)
        session_mend_test_calls(x, &k);
    return k;
}

void answer_fail(session *x, daruma_phase phase, daruma_flaw flaw)
{
    daruma_evidence ev = {.phase = phase,
                          .status = x->answer.status,
                          .flaw = flaw,
                          .headers = x->answer.headers,
                          .nheaders = x->answer.nheaders};
    daruma_case_answered(&x->kase, session_now(x)); /* wrong words are no matter of health */
    session_failed(x, &ev);
}

bool answer_test_done(session *x, const answer_test *k, const turn *t)
{
    if (k->given_up)
        session_mend_unchecked(x);
    daruma_str what = arena_copy(x->arena, k->mended);
    if (k->unfit)
        session_mend_unfit(x, !k->bad);
    if (what.n)
        tell_mended(x, what);
    if (k->made_json.n)
        tell_mended(x, k->made_json);
    if (k->bad)
        session_mend_bad_answer(x, t, k->why);
    if (k->cut)
        keep_cut(x, t);
    return !k->bad;
}

/* A stream of Anthropic's sends no pieces behind `input: {}`, and Gemini leaves `args` out. */
daruma_str answer_args(const dialect *p, turn_finish finish, daruma_str args)
{
    bool objects = p == &dialect_anthropic || p == &dialect_gemini;
    bool by_length = finish == FINISH_LENGTH || finish == FINISH_WINDOW;
    return !args.n && objects && !by_length ? S("{}") : args;
}
