/* staff.h - the agents of one run, made ready: their tools with what was said about them, the places of their models.
 */
#ifndef RUN_STAFF_H
#define RUN_STAFF_H
#include "net/url.h"
#include "engine/agent/crew.h"
#include "run/host.h"
#include "tools/mcp.h"

typedef struct staff staff;

/* A target of a model, as calls reach it. */
typedef struct staff_place {
    const run_target *target;
    url to;
} staff_place;

/* Lives in `a`. NULL and a sentence in `why`. All tools are in the table; `up` may be NULL. */
staff *staff_open(const run_settings *s, toolset *t, const mcp_servers *up, daruma_arena *a, char why[256]);
const crew_member *staff_members(const staff *s, size_t *ret_n);
/* Tools of the table have changed: agents see them as they are now. */
void staff_refresh(staff *s);

/* What the sessions of a member do about calls that fail; NULL: the default. */
const daruma_policy *staff_recovery(const crew_member *m);
/* The options of a session for an act of a member. `streams`: its answer is wanted as a stream. */
void staff_options(const crew_member *m, const agent_act *x, bool streams, daruma_buf *out);
/* Where a call to a target of that act goes. NULL: there is no such target. */
const staff_place *staff_place_of(const crew_member *m, daruma_str model, daruma_str target);
/* The path of a call there, behind its host: "/v1" stands in it once. In `a`. */
daruma_str staff_path(const staff_place *p, daruma_str path, daruma_arena *a);
/* What the host says that a call of a tool may take; 0: nothing. */
daruma_ms staff_usual(const run_settings *s, daruma_str tool);
#endif
