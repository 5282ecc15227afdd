/* learner.c - learns by looking on. A failure stays open until a call reaches what it was for; what was different then
 * is what helped. A wrong lesson does more harm than none, so nothing is learned of a call that worked after something
 * was changed: then it may have been the change. */
#include "engine/watch/changes.h"
#include "engine/watch/toolfail.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

typedef struct daruma_open_failure open_failure;

static void learner_keep(char *to, size_t room, daruma_str text)
{
    size_t n = text.n < room ? text.n : 0;
    if (n)
        memcpy(to, text.p, n);
    to[n] = 0;
}

static daruma_step step_of(const open_failure *o)
{
    return (daruma_step){.tool = str_of(o->tool), .args = str_of(o->args), .ok = 0};
}

/* Does one name a part of what the other names: file.ts and src/file.ts? */
static bool is_part(daruma_str a, daruma_str b)
{
    daruma_str part = a.n < b.n ? a : b, whole = a.n < b.n ? b : a;
    if (part.n < 2 || part.n == whole.n || !str_ends(whole, part))
        return false;
    return !ch_word(whole.p[whole.n - part.n - 1]) || !ch_word(part.p[0]);
}

/* The same arguments but for one that is named more fully, or less. */
static bool is_corrected(const open_failure *o, daruma_str args, daruma_arena *scratch)
{
    daruma_str was = str_of(o->args), key, value;
    bool corrected = false;
    if (o->kind != DARUMA_TOOL_NOT_FOUND_KIND && o->kind != DARUMA_TOOL_VALIDATION_KIND)
        return false;
    json_iter it = json_open(was);
    while (json_next(&it, &key, &value)) {
        daruma_str now = json_get(args, key);
        if (!now.n || !json_is_string(now) || !json_is_string(value) || str_eq(now, value))
            continue;
        corrected |= is_part(json_text(value, scratch), json_text(now, scratch));
    }
    return corrected && !it.bad;
}

static bool same_goal(const open_failure *o, const daruma_step *step, daruma_arena *scratch)
{
    daruma_step was = step_of(o);
    if (!o->args[0] || !str_eq(was.tool, step->tool))
        return false;
    goal a = goal_of(&was, scratch), b = goal_of(step, scratch);
    return goal_reached(&a, o->kind, &b) || is_corrected(o, step->args, scratch);
}

static void learner_tell(daruma_lessons *l, uint64_t tenant, const open_failure *o, daruma_str schema,
                         daruma_strategy_kind kind, daruma_str args, bool worked, int64_t wall)
{
    daruma_lesson_key k = {
        .tenant = tenant, .tool = str_of(o->tool), .schema = schema, .error = o->error, .call = o->call};
    daruma_strategy fix = {.kind = kind, .tool = str_of(o->tool), .parameters = args};
    daruma_lessons_tell(l, &k, &fix, worked, wall);
}

/* What this call is to a failure that is open: the same again, or it with other arguments; OTHER: nothing to do with
 * it. */
static daruma_strategy_kind relation(const open_failure *o, const daruma_step *step, uint64_t call,
                                     daruma_arena *scratch)
{
    if (!o->tool[0])
        return DARUMA_STRATEGY_OTHER;
    if (o->call == call)
        return DARUMA_STRATEGY_RETRY;
    return same_goal(o, step, scratch) ? DARUMA_STRATEGY_ADJUST : DARUMA_STRATEGY_OTHER;
}

static void open_up(daruma_learner *w, const daruma_step *step, const daruma_tool_failure *f, uint64_t call)
{
    open_failure *place = NULL;
    for (int i = 0; i < DARUMA_LEARNER_OPEN; i++) /* the same once more is no second one */
        if (w->open[i].tool[0] && w->open[i].call == call && w->open[i].error == f->signature)
            return;
    for (int i = 0; i < DARUMA_LEARNER_OPEN && !place; i++)
        place = w->open[i].tool[0] ? NULL : &w->open[i];
    place = place ? place : &w->open[w->n % DARUMA_LEARNER_OPEN];
    w->n++;
    *place = (open_failure){.kind = f->kind, .error = f->signature, .call = call};
    learner_keep(place->tool, sizeof place->tool, step->tool);
    learner_keep(place->args, sizeof place->args, step->args);
}

daruma_strategy_kind daruma_learner_see(daruma_learner *w, daruma_lessons *l, uint64_t tenant, const daruma_step *step,
                                        const daruma_tool_failure *failure, daruma_str schema, int64_t wall,
                                        daruma_arena *scratch)
{
    daruma_strategy_kind helped = DARUMA_STRATEGY_OTHER;
    if (!step->tool.n || step->lost)
        return helped;
    uint64_t call = daruma_call_hash(step->tool, step->args);
    bool changes = !failure && step_changes(step);
    for (int i = 0; i < DARUMA_LEARNER_OPEN; i++) {
        open_failure *o = &w->open[i];
        daruma_strategy_kind kind = relation(o, step, call, scratch);
        if (kind != DARUMA_STRATEGY_OTHER && !o->changed) {
            learner_tell(l, tenant, o, schema, kind, step->args, !failure, wall);
            helped = failure ? helped : kind;
        }
        if (kind != DARUMA_STRATEGY_OTHER && !failure)
            *o = (open_failure){0};
        else
            o->changed |= changes;
    }
    if (failure)
        open_up(w, step, failure, call);
    return helped;
}
