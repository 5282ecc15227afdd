/* effects.c - work that must not be done twice: what a provider does itself for an answer (mail that an MCP server
 * sends, code that it runs), answers that are made in the background, and what grows with each answer (a conversation
 * at OpenAI). Whether it was begun is known only where the provider says so, or refuses the request. Where nobody
 * knows, it counts as done: the client is told, and decides. */
#include "engine/drive/attempt.h"

/* Has the model that is asked tools of its own? */
static bool acts_unasked(const session *x)
{
    return x->kase.target >= 0 && dialect_model_acts(x->targets[x->kase.target].model);
}

bool effects_possible(const session *x)
{
    return x->out.scan.effects || x->answer.view.effects || acts_unasked(x);
}

/* True if an error status says that nothing was done. Somebody between who lost sight of the provider says 502 or 504,
 * or any other 5xx in a form of his own. A streamed answer has its head before anything is done; a 500 in place of a
 * whole one may come after it. */
static bool was_refused(const session *x, const daruma_evidence *ev)
{
    if (ev->status < 500) /* but for what was lost on the way, or where a server that the provider called failed */
        return ev->status != 408 && ev->status != 424 && ev->status != 499;
    bool full = ev->status == 503 || ev->status == 529 || (ev->status == 500 && x->client.streaming);
    return full && x->d->is_error(ev->body);
}

bool effects_done(const session *x, const daruma_evidence *ev)
{
    if (x->answer.view.effects)
        return true;
    bool asked =
        x->out.scan.effects && x->p == x->d; /* what was carried over to another dialect lost its hosted tools */
    if (!asked && !acts_unasked(x))
        return false;
    if (ev->phase == DARUMA_AT_CONNECT || ev->phase == DARUMA_AT_SEND)
        return false; /* the provider does not have all of it */
    if (ev->status >= 300)
        return !was_refused(x, ev);
    bool told = x->answer.view.done || x->answer.view.finished ||
                ev->flaw == DARUMA_FLAW_ERROR_EVENT; /* nothing was left out */
    bool added =
        x->out.scan.adds && ev->flaw != DARUMA_FLAW_ERROR_EVENT; /* when the answer is complete, broken or not */
    bool announced = x->p != &dialect_openai; /* else each thing that it does is an item of the answer, and begins it */
    return x->out.scan.behind || added || !told || !announced;
}
