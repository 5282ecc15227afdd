/* tracker.c - counts what fails, forgets what worked out, and says when a person should look.
 *
 *     row    failures in a row with one signature: same tool, kind and message but for numbers and names; not of
 *            different things that are not there, as of who looks for one
 *     tool   failures of one tool without a success between
 *     total  failures in all; a success gives one back, or all that it resolved, so a long run with a few goes on
 *
 * What ends a row: its goal is reached (toolfail.h says when); or, when the failures were about different goals, the
 * tool works for another one. A failure that comes back behind a change that another tool made begins its row anew, and
 * one that then reads otherwise begins the tool's count anew: who edits and tests is not stuck while something moves.
 *
 * What may pass by itself, or waits for something that goes on by itself, may fail TOOL_PATIENCE times as often.
 *
 * Where the policy counts by_tool there is one row per key, and any success of the key ends it.
 *
 * All state is in the struct and holds no pointer. Full tables forget: of the counters the one touched longest ago, of
 * the failures the oldest that was resolved, else the oldest. */
#include "engine/watch/toolfail.h"
#include "engine/watch/changes.h"
#include "engine/watch/same/line.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include <xxhash.h>

enum { REASON_BYTES_MAX = 512, PROFILE_BYTES_MAX = 32 };

typedef struct row {
    uint64_t id;    /* key and signature, or key and tool; 0: free */
    uint64_t tool;  /* key and tool */
    uint64_t reads; /* how the newest failure read */
    goal goal;      /* of the first failure */
    uint32_t count; /* failures */
    uint32_t last;  /* step of the newest */
    uint8_t kind;   /* of the failures */
    bool mixed;     /* they were about different goals */
} row;

typedef struct kept {
    uint64_t key, signature;
    goal goal;
    int64_t wall;
    uint32_t step;
    uint16_t at, ntool, nmessage; /* its text: the tool and then the message */
    uint8_t kind;                 /* daruma_tool_kind */
    bool retryable, resolved, hidden;
    bool counted; /* in all: no person looked since */
} kept;

struct daruma_tracker {
    uint32_t same_max, tool_max, total_max, shown_max, message_chars;
    bool by_tool, decays, hides_last, escapes, own_rows;
    char profile[PROFILE_BYTES_MAX], variant[PROFILE_BYTES_MAX]; /* whose rows judge; NUL-terminated */
    uint32_t steps;                                              /* seen */
    struct {
        uint64_t tool; /* key and tool; of a shell 0: what it does has little to do with what it did */
        uint32_t step;
    } changed[2]; /* the newest change that was made, and the newest of another tool */
    uint32_t total;
    uint32_t forgotten; /* failures that were not resolved when they had to go */
    uint32_t in_row, of_tool;
    bool stopped; /* a limit was reached */
    bool apart;   /* the newest row is of several things that are not there: only their tool counts them */
    uint16_t nreason, nkept, ntext;
    row rows[TRACKED_ROWS_MAX], tools[TRACKED_ROWS_MAX];
    kept kept[TRACKED_FAILURES_MAX]; /* oldest first */
    char reason[REASON_BYTES_MAX];
    char text[TRACKED_TEXT_BYTES_MAX];
};

/* ---- policy ------------------------------------------------------------------------------------- */

static void keep_name(char out[PROFILE_BYTES_MAX], const char *name)
{
    daruma_str s = str_sub(str_of(name), 0, PROFILE_BYTES_MAX - 1);
    if (s.n)
        memcpy(out, s.p, s.n);
    out[s.n] = 0;
}

size_t daruma_tracker_bytes(void)
{
    return sizeof(daruma_tracker);
}

daruma_tracker *daruma_tracker_new(daruma_arena *a, const daruma_policy *p)
{
    daruma_tracker *t = ARENA_NEW(a, daruma_tracker, 1);
    if (!t)
        return NULL;
    if (!p)
        p = daruma_policy_find(S("default"));
    const daruma_watch_policy *w = &p->watch;
    t->same_max = w->same_max;
    t->tool_max = w->tool_max;
    t->total_max = w->total_max;
    t->shown_max = w->shown_max;
    t->message_chars = w->message_chars;
    t->by_tool = w->by_tool;
    t->decays = w->decays;
    t->hides_last = w->hides_last;
    t->escapes = w->escapes;
    t->own_rows = w->rows != NULL;
    keep_name(t->profile, p->profile);
    keep_name(t->variant, p->variant);
    return t;
}

/* The rows by which the tracker judges: those of its profile, found by name. */
static daruma_watch_policy judging(const daruma_tracker *t)
{
    const daruma_policy *p = daruma_policy_variant(str_of(t->profile), str_of(t->variant));
    daruma_watch_policy w = {.message_chars = t->message_chars};
    if (p && t->own_rows) {
        w.rows = p->watch.rows;
        w.nrows = p->watch.nrows;
    }
    return w;
}

/* ---- counters -------------------------------------------------------------------------------------- */

static uint64_t id_of(uint64_t key, uint64_t what)
{
    uint64_t both[2] = {key, what};
    return XXH3_64bits(both, sizeof both) | 1;
}

static row *tracker_find(row rows[TRACKED_ROWS_MAX], uint64_t id)
{
    for (size_t i = 0; i < TRACKED_ROWS_MAX; i++)
        if (rows[i].id == id)
            return &rows[i];
    return NULL;
}

/* A free one, else the one that was touched longest ago. */
static row *place(row rows[TRACKED_ROWS_MAX], uint64_t id)
{
    row *r = tracker_find(rows, id);
    if (r)
        return r;
    r = &rows[0];
    for (size_t i = 1; i < TRACKED_ROWS_MAX; i++)
        if (r->id && (!rows[i].id || rows[i].last < r->last))
            r = &rows[i];
    *r = (row){.id = id};
    return r;
}

static uint32_t more(uint32_t n)
{
    return n < UINT32_MAX ? n + 1 : n;
}

static bool same_goal(const row *r, const goal *g)
{
    return goal_reached(&r->goal, (daruma_tool_kind)r->kind, g) || goal_reached(g, (daruma_tool_kind)r->kind, &r->goal);
}

/* Was something changed since, by another tool? */
static bool changed_since(const daruma_tracker *t, uint64_t of_tool, uint32_t step)
{
    return t->changed[t->changed[0].tool == of_tool].step > step;
}

static void note_change(daruma_tracker *t, uint64_t of_tool)
{
    if (t->changed[0].tool != of_tool)
        t->changed[1] = t->changed[0];
    t->changed[0].tool = of_tool;
    t->changed[0].step = t->steps;
}

/* One more failure of a row. `anew`: what went before does not count. */
static void tracker_count(row *r, const daruma_tracker *t, const toolfail *f, const goal *g, bool anew)
{
    if (anew || !r->count) {
        r->goal = *g;
        r->count = 0;
        r->mixed = false;
        r->kind = (uint8_t)f->f.kind;
    }
    r->mixed |= !same_goal(r, g);
    r->count = more(r->count);
    r->last = t->steps;
    r->reads = f->reads;
}

static void count_failure(daruma_tracker *t, uint64_t key, const toolfail *f, const goal *g)
{
    uint64_t of_tool = id_of(key, g->tool);
    row *r = place(t->rows, t->by_tool ? id_of(key, 0) : id_of(key, f->f.signature));
    row *tool = place(t->tools, of_tool);
    tracker_count(r, t, f, g, !t->by_tool && changed_since(t, of_tool, r->last));
    tracker_count(tool, t, f, g, tool->reads != f->reads && changed_since(t, of_tool, tool->last));
    r->tool = tool->tool = of_tool;
    t->total = more(t->total);
    t->in_row = r->count;
    t->apart = r->mixed && !t->by_tool && f->f.kind == DARUMA_TOOL_NOT_FOUND_KIND;
    t->of_tool = tool->count;
}

static void count_success(daruma_tracker *t, uint64_t key, const goal *g)
{
    uint64_t of_tool = id_of(key, g->tool), of_key = id_of(key, 0);
    for (size_t i = 0; i < TRACKED_ROWS_MAX; i++) {
        row *r = &t->rows[i];
        if (t->by_tool ? r->id == of_key : r->id && r->tool == of_tool && (r->mixed || same_goal(r, g)))
            *r = (row){0};
        if (t->tools[i].id == of_tool)
            t->tools[i] = (row){0};
    }
}

/* ---- failures that are kept ----------------------------------------------------------------------- */

static void forget(daruma_tracker *t, size_t i)
{
    kept k = t->kept[i];
    size_t n = (size_t)k.ntool + k.nmessage;
    if (!k.resolved && !k.hidden)
        t->forgotten = more(t->forgotten);
    memmove(t->text + k.at, t->text + k.at + n, t->ntext - k.at - n);
    t->ntext = (uint16_t)(t->ntext - n);
    t->nkept--;
    memmove(&t->kept[i], &t->kept[i + 1], (t->nkept - i) * sizeof *t->kept);
    for (; i < t->nkept; i++)
        t->kept[i].at = (uint16_t)(t->kept[i].at - n);
}

static void make_room(daruma_tracker *t, size_t bytes)
{
    while (t->nkept == TRACKED_FAILURES_MAX || t->ntext + bytes > sizeof t->text) {
        size_t oldest = 0;
        for (size_t i = t->nkept; i-- > 0;)
            if (t->kept[i].resolved)
                oldest = i;
        forget(t, oldest);
    }
}

static kept *tracker_keep(daruma_tracker *t, uint64_t key, const toolfail *f, const goal *g, daruma_str name,
                          int64_t wall)
{
    daruma_str tool = line_within(name, TRACKED_NAME_BYTES_MAX);
    daruma_str message = line_within(f->f.message, sizeof t->text / 4);
    make_room(t, tool.n + message.n);
    kept *k = &t->kept[t->nkept++];
    *k = (kept){.key = key,
                .signature = f->f.signature,
                .goal = *g,
                .wall = wall,
                .step = t->steps,
                .at = t->ntext,
                .ntool = (uint16_t)tool.n,
                .nmessage = (uint16_t)message.n,
                .kind = (uint8_t)f->f.kind,
                .retryable = f->f.retryable,
                .counted = true};
    if (tool.n)
        memcpy(t->text + t->ntext, tool.p, tool.n);
    if (message.n)
        memcpy(t->text + t->ntext + tool.n, message.p, message.n);
    t->ntext = (uint16_t)(t->ntext + tool.n + message.n);
    check(t->ntext <= sizeof t->text);
    return k;
}

/* A success: what it resolves is resolved, and counts in all no more; it gives one back in any case. */
static void resolve(daruma_tracker *t, uint64_t key, const goal *g)
{
    uint32_t back = 0;
    for (size_t i = 0; i < t->nkept; i++) {
        kept *k = &t->kept[i];
        if (k->resolved || k->key != key || !(t->by_tool || goal_reached(&k->goal, (daruma_tool_kind)k->kind, g)))
            continue;
        k->resolved = true;
        back += k->counted;
    }
    back = back ? back : 1;
    if (t->decays)
        t->total -= back < t->total ? back : t->total;
}

/* ---- what others call -------------------------------------------------------------------------------- */

static void say_reason(daruma_tracker *t, daruma_str key, const daruma_tool_failure *f)
{
    daruma_buf b = {.p = t->reason, .cap = sizeof t->reason};
    daruma_str tool = line_within(f->tool, TRACKED_NAME_BYTES_MAX);
    if (t->by_tool) {
        BUF_LIT(&b, "Too many errors with ");
        buf_put(&b, line_within(key, TRACKED_NAME_BYTES_MAX));
    } else if (t->same_max && !t->apart && t->in_row >= t->same_max) {
        buf_put(&b, tool);
        buf_printf(&b, " failed %u times in a row in the same way", t->in_row);
    } else if (t->tool_max && t->of_tool >= t->tool_max) {
        buf_put(&b, tool);
        buf_printf(&b, " failed %u times without a success between", t->of_tool);
    } else {
        buf_printf(&b, "%u calls failed, the last one of ", t->total);
        buf_put(&b, tool);
    }
    if (!t->by_tool && f->message.n) {
        BUF_LIT(&b, ": ");
        buf_put(&b, line_within(f->message, sizeof t->reason - b.n));
    }
    t->nreason = (uint16_t)b.n;
}

/* What may pass by itself may fail `patience` times as often; but not in all. */
static bool is_over(const daruma_tracker *t, uint32_t patience)
{
    return (t->same_max && !t->apart && t->in_row >= (uint64_t)t->same_max * patience) ||
           (t->tool_max && t->of_tool >= (uint64_t)t->tool_max * patience) ||
           (t->total_max && t->total >= t->total_max);
}

static void failed(daruma_tracker *t, daruma_str name, uint64_t key, const daruma_step *step, toolfail f, const goal *g,
                   int64_t wall)
{
    if (f.by_person)
        return; /* E-I1: a person's no is not the agent's failure */
    if (!f.f.tool.n)
        f.f.tool = name;
    count_failure(t, key, &f, g);
    kept *k = tracker_keep(t, key, &f, g, f.f.tool, wall);
    if (t->stopped || !is_over(t, !t->by_tool && (f.f.retryable || step_waits(step)) ? TOOL_PATIENCE : 1))
        return;
    t->stopped = true;
    k->hidden = t->hides_last;
    say_reason(t, name, &f.f);
}

/* Has nothing failed that a success could end or resolve? */
static bool is_quiet(const daruma_tracker *t)
{
    uint64_t counted = t->total;
    for (size_t i = 0; i < TRACKED_ROWS_MAX; i++)
        counted |= t->rows[i].id | t->tools[i].id;
    for (size_t i = 0; i < t->nkept; i++)
        counted |= !t->kept[i].resolved;
    return counted == 0;
}

static toolfail judge(const daruma_tracker *t, const daruma_step *step, daruma_arena *scratch)
{
    daruma_watch_policy w = judging(t);
    return toolfail_judge(step, &w, scratch);
}

bool tracker_see(daruma_tracker *t, daruma_str key, const daruma_step *step, const toolfail *judged, daruma_moment at,
                 daruma_arena *scratch)
{
    daruma_str name = key.n ? key : step->tool;
    if (!name.n)
        return !t->stopped; /* words without a call: nobody that could fail */
    t->steps = more(t->steps);
    bool bad = daruma_step_failed(step);
    if (!bad && is_quiet(t))
        return !t->stopped; /* nearly always */
    uint64_t id = id_of(XXH3_64bits(name.p, name.n), 1);
    goal g = goal_of(step, scratch);
    if (bad) {
        failed(t, name, id, step, judged ? *judged : judge(t, step, scratch), &g, at.wall);
    } else {
        count_success(t, id, &g);
        resolve(t, id, &g);
        if (step_changes(step))
            note_change(t, step_is_shell(step) ? 0 : id_of(id, g.tool));
    }
    return !t->stopped;
}

bool daruma_tracker_see(daruma_tracker *t, daruma_str key, const daruma_step *step, daruma_moment at,
                        daruma_arena *scratch)
{
    return tracker_see(t, key, step, NULL, at, scratch);
}

daruma_escalation daruma_tracker_escalation(const daruma_tracker *t)
{
    return (daruma_escalation){.needs_review = t->stopped,
                               .reason = {t->reason, t->stopped ? t->nreason : 0},
                               .in_row = t->in_row,
                               .of_tool = t->of_tool,
                               .total = t->total};
}

void daruma_tracker_resume(daruma_tracker *t)
{
    for (size_t i = 0; i < TRACKED_ROWS_MAX; i++)
        t->rows[i] = t->tools[i] = (row){0};
    for (size_t i = 0; i < t->nkept; i++)
        t->kept[i].counted = false;
    t->total = t->in_row = t->of_tool = 0;
    t->stopped = false;
    t->nreason = 0;
}

static daruma_tool_failure failure_of(const daruma_tracker *t, const kept *k, const daruma_watch_policy *w)
{
    return (daruma_tool_failure){.tool = {t->text + k->at, k->ntool},
                                 .kind = (daruma_tool_kind)k->kind,
                                 .message = {t->text + k->at + k->ntool, k->nmessage},
                                 .suggestion = toolfail_advice(w, (daruma_tool_kind)k->kind, k->retryable),
                                 .wall = k->wall,
                                 .signature = k->signature,
                                 .call = k->goal.call,
                                 .step = k->step,
                                 .retryable = k->retryable,
                                 .resolved = k->resolved};
}

static bool is_open(const kept *k)
{
    return !k->resolved && !k->hidden;
}

static bool same_text(const daruma_tracker *t, const kept *a, const kept *b, bool whole)
{
    size_t n = (size_t)a->ntool + (whole ? a->nmessage : 0);
    return a->kind == b->kind && a->ntool == b->ntool && (!whole || a->nmessage == b->nmessage) &&
           memcmp(t->text + a->at, t->text + b->at, n) == 0;
}

/* How many open failures say the same as the one at `i`, which is the newest of them; 0: it is not, or not open. By
 * key each is shown for itself (E-F7). */
static uint32_t same_open(const daruma_tracker *t, size_t i)
{
    uint32_t n = 1;
    if (!is_open(&t->kept[i]) || t->by_tool)
        return is_open(&t->kept[i]);
    for (size_t k = 0; k < t->nkept; k++) {
        if (k == i || !is_open(&t->kept[k]) || !same_text(t, &t->kept[i], &t->kept[k], true))
            continue;
        if (k > i)
            return 0;
        n++;
    }
    return n;
}

void daruma_tracker_context(const daruma_tracker *t, daruma_buf *out)
{
    daruma_watch_policy w = judging(t);
    uint32_t blocks = 0, open = 0, passed = 0, older = t->forgotten;
    for (size_t i = 0; i < t->nkept; i++) {
        blocks += same_open(t, i) > 0;
        open += is_open(&t->kept[i]);
    }
    if (!open)
        return;
    for (size_t i = 0; i < t->nkept; i++) {
        uint32_t n = same_open(t, i);
        older += n && passed + t->shown_max < blocks ? n : 0;
        passed += n > 0;
    }
    if (older)
        buf_printf(out, "<error_summary>\n%u older error%s hidden\n</error_summary>", older,
                   older == 1 && !t->by_tool ? "" : "s");
    bool first = !older;
    passed = 0;
    for (size_t i = 0; i < t->nkept; i++) {
        uint32_t n = same_open(t, i);
        if (!n || passed++ + t->shown_max < blocks)
            continue;
        daruma_tool_failure f = failure_of(t, &t->kept[i], &w);
        if (!first)
            BUF_LIT(out, "\n\n");
        first = false;
        toolfail_write(&f, DARUMA_VIEW_COMPACT, n, t->escapes, out);
    }
}

void daruma_tracker_summary(const daruma_tracker *t, daruma_buf *out)
{
    bool first = true;
    for (size_t i = 0; i < t->nkept; i++) {
        uint32_t n = 0;
        bool told = false;
        for (size_t k = 0; k < t->nkept; k++)
            if (is_open(&t->kept[k]) && same_text(t, &t->kept[i], &t->kept[k], false)) {
                n++;
                told |= k < i;
            }
        if (!is_open(&t->kept[i]) || told)
            continue;
        if (!first)
            buf_putc(out, '\n');
        first = false;
        toolfail_count(n, (daruma_tool_kind)t->kept[i].kind, (daruma_str){t->text + t->kept[i].at, t->kept[i].ntool},
                       t->escapes, out);
    }
}

size_t daruma_tracker_list(const daruma_tracker *t, daruma_tool_failure *out, size_t max)
{
    daruma_watch_policy w = judging(t);
    for (size_t i = 0; i < t->nkept && i < max; i++)
        out[i] = failure_of(t, &t->kept[i], &w);
    return t->nkept;
}
