/* guide.c - what is done about an agent that goes in circles: the ladders of LOOP and STUCK, a rung at each step that
 * goes on so. Who tells the model, and how it is kept from going on, is the host's affair. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

/* Deadlines are counted per call, and each step is one. */
static uint32_t needs_met(daruma_watch_mode mode, uint32_t have)
{
    have |= DARUMA_NEED_TIME;
    if (mode >= DARUMA_WATCH_GUIDE)
        have |= DARUMA_NEED_GUIDE;
    if (mode >= DARUMA_WATCH_ENFORCE)
        have |= DARUMA_NEED_ENFORCE;
    return have;
}

static bool guide_fits(const daruma_rung *r, const daruma_verdict *v, uint32_t have)
{
    return (r->needs & ~have) == 0 && (r->remedy != DARUMA_REMEDY_BLOCK_CALL || v->ncalls);
}

static daruma_remedy_kind taken(const daruma_guide *g, const daruma_policy *p)
{
    daruma_remedy_kind r = g->rung && g->rung <= p->nrungs ? p->rungs[g->rung - 1].remedy : DARUMA_REMEDY_NONE;
    return r == DARUMA_REMEDY_EXPLAIN ? DARUMA_REMEDY_NONE : r;
}

daruma_remedy_kind daruma_guide_next(daruma_guide *g, const daruma_policy *p, const daruma_verdict *v,
                                     daruma_watch_mode mode, uint32_t have)
{
    if (v->circle == DARUMA_CIRCLE_NONE || mode < DARUMA_WATCH_GUIDE)
        return DARUMA_REMEDY_NONE;
    if (g->spoke == v->step && g->about == v->about)
        return taken(g, p);
    if (g->about != v->about)
        *g = (daruma_guide){.about = v->about, .circles = g->circles + 1};
    daruma_kind kind = daruma_circle_kind(v->circle);
    have = needs_met(mode, have);
    size_t row = g->rung ? g->rung - 1u : 0;
    if (g->rung && (p->rungs[row].kind != kind || g->times >= p->rungs[row].times))
        row++;
    while (row < p->nrungs && (p->rungs[row].kind != kind || !guide_fits(&p->rungs[row], v, have)))
        row++;
    if (row >= p->nrungs)
        return DARUMA_REMEDY_NONE;
    g->times = (uint16_t)(g->rung == row + 1 ? g->times + 1 : 1);
    g->rung = (uint16_t)(row + 1);
    g->spoke = v->step;
    if (p->rungs[row].remedy == DARUMA_REMEDY_NOTICE && g->level < DARUMA_NOTICE_LEVELS)
        g->level++;
    return taken(g, p);
}

/* What to do instead. The first time, by what the circle is: it leaves everything open that may help. */
#define ANEW "Use what you already know, take another tool or other arguments, or look for what is in the way."
static const char *const first[DARUMA_CIRCLES] = {
    [DARUMA_CIRCLE_REPEAT] = "Doing it once more will not bring anything new. " ANEW,
    [DARUMA_CIRCLE_CYCLE] = "Another round will not bring anything new. " ANEW,
    [DARUMA_CIRCLE_INTERLEAVED] = "Doing it once more will not bring anything new. " ANEW,
    [DARUMA_CIRCLE_SAME_FAILURE] = "Other arguments will not change that. Find out what is in the way and remove it, "
                                   "or take another way.",
    [DARUMA_CIRCLE_STAGNATION] = "Asking for it otherwise will not change the answer. Use what you already know, look "
                                 "elsewhere, or say that it cannot be found.",
    [DARUMA_CIRCLE_GROWING] = "More of the same will not help. Do something else, or use what you already know.",
    [DARUMA_CIRCLE_EDIT_REVERT] = "Decide for one of them and keep it, or find out why none of them is right.",
    [DARUMA_CIRCLE_DEAD_POLL] = "Stop asking. Go on from the state that it is in, or begin anew what it was about.",
    [DARUMA_CIRCLE_RESENT] = "Do not send it again: look first whether it took effect.",
    [DARUMA_CIRCLE_MONOLOGUE] = "Do not announce it once more: call a tool, or give your answer.",
    [DARUMA_CIRCLE_COMPACTION] = "Making the history shorter will not help any more. Take a smaller step, or answer "
                                 "with what you know.",
    [DARUMA_CIRCLE_NO_PROGRESS] = "Find out what the next step lacks, take another way, or answer with what you know.",
};
#define UNREACHED                                                                                                      \
    "The changes do not reach it: read what the failure says, and check that what you change is what is run."

/* Then: the last leaves two ways. */
static const char *const later[DARUMA_NOTICE_LEVELS - 1] = {
    "You were told before. Do not do it again: do something else, or say what is missing and ask for it.",
    "Stop repeating this. Either take a step that you have not taken yet, or answer now with what you know, and say "
    "what could not be done and why.",
};

static const char *instead_of(const daruma_verdict *v, unsigned level)
{
    if (level > 1)
        return later[level - 2];
    if (v->circle == DARUMA_CIRCLE_NO_PROGRESS && v->period > 1)
        return UNREACHED;
    const char *ret = (unsigned)v->circle < DARUMA_CIRCLES ? first[v->circle] : NULL;
    return ret ? ret : first[DARUMA_CIRCLE_REPEAT];
}

void daruma_guide_notice(const daruma_guide *g, const daruma_verdict *v, const daruma_step *last, daruma_buf *out)
{
    unsigned level = g->level < 1 ? 1 : g->level > DARUMA_NOTICE_LEVELS ? DARUMA_NOTICE_LEVELS : g->level;
    BUF_LIT(out, "[Notice, not from the user: you are going in circles. ");
    daruma_verdict_say(v, last, out);
    buf_putc(out, ' ');
    buf_putz(out, instead_of(v, level));
    buf_putc(out, ']');
}
