/* toolfail.h - a failed tool result, judged: what daruma_tool_judge() gives, and what the tracker counts by. */
#ifndef WATCH_TOOLFAIL_H
#define WATCH_TOOLFAIL_H
#include "daruma_parts.h"
#include "base/limits.h"

/* What a call is about. Two calls of one tool have the same goal when
 *   - they are the same call (daruma_call_hash), or
 *   - both name a target, an argument such as path, url or id, and it is the same one; or
 *   - neither names a target, the first failed because of its arguments (validation), and they share an argument, or
 * the first had none: the second is the first, corrected. */
typedef struct goal {
    uint64_t tool;                   /* hash of its name */
    uint64_t call;                   /* daruma_call_hash() */
    uint64_t target;                 /* tool and target; 0: names none */
    uint32_t args[TRACKED_ARGS_MAX]; /* hashes of its arguments */
    uint32_t nargs;
} goal;

goal goal_of(const daruma_step *step, daruma_arena *scratch);
/* Was the goal of a call that failed with `kind` reached by a call that succeeded? */
bool goal_reached(const goal *failed, daruma_tool_kind kind, const goal *now);

/* Of a failure, what the tracker needs besides. */
typedef struct toolfail {
    daruma_tool_failure f;
    uint64_t reads; /* how it reads, numbers and all, but for what changes by itself */
    bool by_person; /* a person said no or stopped it: nobody's failure */
} toolfail;

toolfail toolfail_judge(const daruma_step *step, const daruma_watch_policy *w, daruma_arena *a);
/* daruma_tracker_see() of a step that was judged already; `judged` NULL: it was not. */
bool tracker_see(daruma_tracker *t, daruma_str key, const daruma_step *step, const toolfail *judged, daruma_moment at,
                 daruma_arena *scratch);
/* What to do about a failure of that kind; empty: nothing is advised. Static. */
daruma_str toolfail_advice(const daruma_watch_policy *w, daruma_tool_kind kind, bool retryable);
/* `times`: it came so often. `escapes`: text cannot end the block it stands in, nor begin another line of it. */
void toolfail_write(const daruma_tool_failure *f, daruma_view v, uint32_t times, bool escapes, daruma_buf *out);
/* "3 validation errors in deploy_tool" */
void toolfail_count(uint32_t n, daruma_tool_kind kind, daruma_str tool, bool escapes, daruma_buf *out);
#endif
