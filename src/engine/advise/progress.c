/* progress.c - how far an agent is from its last progress, counted in steps, and from its goal, as a model guesses. The
 * first is fact: only new information and changed state count, so it is trusted; the second is what the seed decides by
 * (K-F8), so it can be had, but is noise. */
#include "engine/advise/adapt.h"
#include "engine/advise/answer.h"
#include "engine/watch/changes.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <xxhash.h>

/* ---- steps ---- */

unsigned daruma_progress_begin(daruma_progress *g, const daruma_policy *p)
{
    const daruma_adapt_policy *how = adapt_of(p);
    g->steps++;
    g->idle++;
    for (unsigned level = DARUMA_NOTICE_LEVELS; level > g->level; level--)
        if (how->nudge_at[level - 1] && g->idle >= how->nudge_at[level - 1]) {
            g->level = (uint8_t)level;
            return level;
        }
    return 0;
}

/* Was it there before? It is from now on. */
static bool is_new(daruma_progress *g, uint64_t what)
{
    uint32_t n = g->nknown < DARUMA_PROGRESS_KNOWN ? g->nknown : DARUMA_PROGRESS_KNOWN;
    for (uint32_t i = 0; i < n; i++)
        if (g->known[i] == what)
            return false;
    g->known[g->nknown++ % DARUMA_PROGRESS_KNOWN] = what;
    return true;
}

/* New information, or a state that was changed. The answer to a change mostly is the same few words, so of those it is
 * the call that has to be new; notes change nothing. */
static bool brought_something(daruma_progress *g, const daruma_step *step)
{
    bool fresh = false;
    if (str_trim(step->result).n)
        fresh = is_new(g, daruma_result_hash(step->result, false));
    if (step_changes(step))
        fresh = is_new(g, daruma_call_hash(step->tool, step->args));
    return fresh && step->tool.n && !(step->traits & (DARUMA_TOOL_NOTES | DARUMA_TOOL_COMPACTS));
}

/* A call as it was written. */
static uint64_t words_hash(const daruma_step *step)
{
    uint64_t h = XXH3_64bits(step->tool.n ? step->tool.p : "", step->tool.n);
    return XXH3_64bits_withSeed(step->args.n ? step->args.p : "", step->args.n, h);
}

bool daruma_progress_laps(const daruma_progress *g, const daruma_policy *p)
{
    unsigned lap = adapt_of(p)->lap < DARUMA_PROGRESS_LAP ? adapt_of(p)->lap : DARUMA_PROGRESS_LAP;
    for (unsigned i = 1; i <= lap; i++)
        if (g->nlaps < 2 * lap || g->laps[(g->nlaps - i) % (2 * DARUMA_PROGRESS_LAP)] !=
                                      g->laps[(g->nlaps - i - lap) % (2 * DARUMA_PROGRESS_LAP)])
            return false;
    return lap > 0;
}

bool daruma_progress_see(daruma_progress *g, const daruma_policy *p, const daruma_step *step)
{
    const daruma_adapt_policy *how = adapt_of(p);
    bool good = !step->lost && !daruma_step_failed(step);
    g->laps[g->nlaps++ % (2 * DARUMA_PROGRESS_LAP)] = words_hash(step);
    bool progress = good && (how->any_output ? step->tool.n && step->result.n : brought_something(g, step));
    if (progress) {
        g->idle = 0;
        g->level = 0;
    } else if (!how->any_output && good && (step->traits & DARUMA_TOOL_WAITS) && g->idle) {
        g->idle--; /* as if it had not begun */
    }
    return progress;
}

/* K-F23. */
#define STUCK_1 "Try another approach: search for something else, look elsewhere, or make the goal smaller."
#define STUCK_2                                                                                                        \
    "Consider one of these: answer with the part that you have, ask the user for what is missing, or narrow the task " \
    "and take the simplest way."
#define STUCK_3                                                                                                        \
    "Do not go on as before, it does not work. Answer now with what you have found and say what is missing, or ask "   \
    "the user for help."
static const char *const advice[DARUMA_NOTICE_LEVELS] = {STUCK_1, STUCK_2, STUCK_3};

void daruma_progress_notice(const daruma_progress *g, unsigned level, daruma_buf *out)
{
    if (level == 0) {
        BUF_LIT(out, "[Notice, not from the user: your newest calls are those before them, word for word. Ask for "
                     "something else, take another tool, or answer with what you have.]");
        return;
    }
    level = level > DARUMA_NOTICE_LEVELS ? DARUMA_NOTICE_LEVELS : level;
    BUF_SAY(out, "[Notice, not from the user: ", level == 1 ? "no progress in the last " : "still no progress, for ",
            g->idle, " steps. ", advice[level - 1], "]");
}

/* ---- estimates ---- */

enum { WINDOW = 3, DONE = 1000 };

static int16_t larger(int16_t a, int16_t b)
{
    return a > b ? a : b;
}

/* The seed: three close together. Else: the newer two are no better than what was there before, and not at the goal. */
static bool stands(const daruma_progress *g, const daruma_adapt_policy *how)
{
    const int16_t *e = g->estimates;
    if (g->nestimates < WINDOW)
        return false;
    int16_t most = larger(larger(e[0], e[1]), e[2]);
    int16_t least = e[0] < e[1] ? e[0] : e[1];
    if (how->any_move)
        return most - (least < e[2] ? least : e[2]) < how->span;
    return e[2] < DONE && larger(e[1], e[2]) - larger(g->best, e[0]) < how->span;
}

bool daruma_progress_estimate(daruma_progress *g, const daruma_policy *p, int16_t progress)
{
    if (progress < 0) {
        g->standstill = false;
        return false;
    }
    if (g->nestimates == WINDOW) {
        g->best = larger(g->best, g->estimates[0]);
        for (int i = 1; i < WINDOW; i++)
            g->estimates[i - 1] = g->estimates[i];
        g->nestimates--;
    }
    g->estimates[g->nestimates++] = progress < DONE ? progress : DONE;
    g->standstill = stands(g, adapt_of(p));
    return g->standstill;
}

daruma_estimate daruma_progress_read(daruma_str answer, daruma_arena *a)
{
    static const daruma_str unread = LIT("LLM response parsing failed");
    daruma_str object = answer_object(answer, S("progressPercent"));
    daruma_estimate ret = {.progress = -1};
    int64_t milli = 0;
    if (!str_trim(answer).n)
        return ret;
    ret.progress = 0;
    if (!object.n) {
        ret.blockers = &unread;
        ret.nblockers = 1;
        return ret;
    }
    if (answer_milli(json_get(object, S("progressPercent")), &milli)) /* of a percent */
        ret.progress = (int16_t)(milli < 0 ? 0 : milli > 100 * DONE ? DONE : milli / 100);
    ret.reasoning = answer_text(object, S("reasoning"), (daruma_str){0}, a);
    ret.milestone = answer_text(object, S("nextMilestone"), (daruma_str){0}, a);
    daruma_str list = json_get(object, S("blockers")), one;
    size_t n = json_is_array(list) ? json_count(list) : 0;
    n = n < SITUATION_TEXTS_MAX ? n : SITUATION_TEXTS_MAX;
    daruma_str *blockers = n ? ARENA_NEW(a, daruma_str, n) : NULL;
    json_iter it = json_open(list);
    while (blockers && ret.nblockers < n && json_next(&it, NULL, &one))
        blockers[ret.nblockers++] = json_is_string(one) ? json_text(one, a) : one;
    ret.blockers = blockers;
    return ret;
}
