/* question.c - the question to the model for the next step, as a request in its dialect. What was written for the last
 * one is kept, and what is new is put at its end, unless anything before that changed. */
#include "engine/agent/inside.h"

/* Names of tools that the wire does not take are others there: they are known again by this list. */
static void keep_renames(agent *a, const convo *c)
{
    for (size_t i = 0; i < c->nrenames; i++) {
        bool known = false;
        for (size_t k = 0; k < a->nrenames; k++)
            known |= str_eq(a->renames[k].is, c->renames[i].is);
        if (!known && a->nrenames < a->s.ntools)
            a->renames[a->nrenames++] =
                (convo_rename){.was = flow_keep(a, c->renames[i].was), .is = flow_keep(a, c->renames[i].is)};
    }
}

/* Says what is the same in every dialect; false without memory. */
static bool write_convo(agent *a, convo *c, daruma_buf *out)
{
    convo said;
    dialect_losses lost = {0};
    if (c->full || dialect_convert(c, a->s.d, &a->scratch, &said, &lost) != DARUMA_OK)
        return false;
    keep_renames(a, &said);
    a->s.d->write(&said, out);
    return !out->full && !a->scratch.full;
}

bool question_anew(agent *a, daruma_buf *out)
{
    convo c;
    if (!agent_view(a, &a->scratch, &c))
        return false;
    if (a->last) {
        c.set.choice = c.ntools ? CHOICE_NONE : CHOICE_UNSAID;
        traj_say(&c, CONVO_USER,
                 S("This is the last step: no tool can be called any more. Answer now with what you have found, and "
                   "say plainly what is missing."));
    }
    if (a->reporting.forced) {
        c.set.choice = CHOICE_ONE;
        c.set.choice_name = traj_wire_name(a, report_name(a), &a->scratch);
    }
    return write_convo(a, &c, out);
}

/* The messages of the new steps as they stand in a request, behind one of the user that is left out. Empty: they are
 * not to be told apart. */
static daruma_str new_messages(agent *a)
{
    convo c = traj_convo(a, &a->scratch);
    daruma_buf out = buf_in(&a->scratch);
    daruma_str first, second;
    traj_say(&c, CONVO_USER, S("x"));
    traj_tools(a, &c); /* names are said as they are with the tools in view */
    traj_put(a, &c, a->written.nsteps);
    if (!write_convo(a, &c, &out))
        return (daruma_str){0};
    request_scan scan = a->s.d->scan(buf_str(&out), NULL, false);
    json_iter it = json_open(scan.messages);
    if (!scan.ok || !json_is_array(scan.messages) || !json_next(&it, NULL, &first) || !json_next(&it, NULL, &second))
        return (daruma_str){0};
    const char *end = scan.messages.p + scan.messages.n - 1; /* the bracket */
    return (daruma_str){second.p, (size_t)(end - second.p)};
}

/* True if the question is the conversation alone, which only grows. */
static bool is_plain(const agent *a)
{
    return !a->last && !a->reporting.forced && !a->correction.n && !a->policy->actions && a->s.mode == AGENT_REACTIVE;
}

/* True if the next question is the last one and new messages at its end. */
static bool only_grows(const agent *a)
{
    const agent_written *w = &a->written;
    if (!w->p || a->nsteps <= w->nsteps || !is_plain(a))
        return false;
    return a->steps[w->nsteps].kind != AGENT_STEP_NOTE; /* the model's own words come between: no two messages join */
}

static bool has_room(agent *a, size_t n)
{
    agent_written *w = &a->written;
    return flow_grow(a, (void **)&w->p, w->n, &w->cap, n);
}

/* Keeps a question that was written anew, where the next one may be made from it. */
static void keep(agent *a, daruma_str body)
{
    agent_written *w = &a->written;
    request_scan scan = a->s.d->scan(body, NULL, false);
    w->n = 0;
    if (!scan.ok || !json_is_array(scan.messages) || !is_plain(a) || !has_room(a, body.n)) {
        question_close(a);
        return;
    }
    memcpy(w->p, body.p, body.n);
    w->n = body.n;
    w->end = (size_t)(scan.messages.p + scan.messages.n - 1 - body.p);
    w->nsteps = a->nsteps;
    w->mark = traj_mark(a, 0, 0, a->nsteps, &a->scratch);
}

static bool append(agent *a)
{
    agent_written *w = &a->written;
    if (!only_grows(a) || traj_mark(a, 0, 0, w->nsteps, &a->scratch) != w->mark)
        return false;
    daruma_str more = new_messages(a);
    if (!more.n || !has_room(a, w->n + more.n + 1))
        return false;
    memmove(w->p + w->end + 1 + more.n, w->p + w->end, w->n - w->end);
    w->p[w->end] = ',';
    memcpy(w->p + w->end + 1, more.p, more.n);
    w->end += 1 + more.n;
    w->n += 1 + more.n;
    w->mark = traj_mark(a, w->mark, w->nsteps, a->nsteps, &a->scratch);
    w->nsteps = a->nsteps;
    return true;
}

bool question_write(agent *a, daruma_str *ret)
{
    daruma_buf b = buf_in(&a->scratch);
    if (append(a)) {
        *ret = (daruma_str){a->written.p, a->written.n};
        return true;
    }
    if (!question_anew(a, &b))
        return false;
    *ret = buf_str(&b);
    keep(a, *ret);
    return true;
}

void question_close(agent *a)
{
    a->rooms->give(a->written.p);
    a->written = (agent_written){0};
}
