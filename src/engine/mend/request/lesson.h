/* lesson.h - how a lesson says what is to be done, and where. lesson.c carries it out, parameter.c finds it.
 *
 *     path    "generationConfig.topK", "tools.*.function.strict" (every element of a list);
 *             "tools.*.schema.pattern" is that keyword wherever it stands in the schemas of tools
 *     value   DROP nothing, of a keyword "lower", "[]" where only an empty list goes; RENAME the new name; SET one of
 *             "=false"  "0..1" (either end may be missing)  "in:low,medium,high"  "len:64"  "count:4" */
#ifndef ENGINE_MEND_REQUEST_LESSON_H
#define ENGINE_MEND_REQUEST_LESSON_H
#include "engine/mend/request/request.h"

#define LESSON_EMPTY       "[]"                    /* value of a PATCH_DROP */
#define LESSON_EMPTY_CALLS "messages.*.tool_calls" /* its path, of lists of calls */

/* A member of the body. */
typedef struct place {
    char path[sizeof((mend_lesson *)0)->path];
    size_t n;
    daruma_str value; /* as it was read */
} place;

static inline daruma_str place_path(const place *p)
{
    return (daruma_str){p->path, p->n};
}
/* Adds a step; false: it has no room. */
bool place_push(place *p, daruma_str step);
/* The last step of a path. */
daruma_str path_last(daruma_str path);
/* What a member would be set to by a lesson; empty: it may stay as it is. In `a`. */
daruma_str lesson_value(daruma_str rule, daruma_str value, daruma_arena *a);
/* Puts words into a lesson; false: they are too long. */
bool lesson_make(mend_lesson *l, patch_op op, daruma_str path, daruma_str value);

/* ---- schema.c ---- */

/* The keyword that a lesson is about; empty: it is about a parameter. */
daruma_str lesson_keyword(const mend_lesson *l);
/* The keyword that `f` complains about; empty: none alone. */
daruma_str schema_complaint(const daruma_failure *f);
/* Lowers it in all tools; how many changed. */
uint32_t schema_lower_all(convo *c, daruma_str keyword);

/* ---- subject.c ---- */

/* What `f` speaks of, if it is in the body and may be changed. */
bool parameter_find(const convo *c, const daruma_failure *f, place *ret);
/* The same, as long as the names that `f` quotes can be looked for in so many bytes of the request: it is gone through
 * for each. */
bool parameter_find_within(const convo *c, const daruma_failure *f, size_t bytes, place *ret);
/* A member by a name or path as providers write them. */
bool parameter_named(const convo *c, daruma_str name, place *ret);
bool parameter_may_go(const convo *c, daruma_str path); /* may it be left out? */
bool parameter_in_lists(daruma_str path);               /* in messages, tools and the like */
/* Is there a member of that name beside the one at `path`? */
bool parameter_beside(const convo *c, daruma_str path, daruma_str name);
#endif
