/* value.h - JSON values compared, and schemas followed: what schema, arguments and parameters share. */
#ifndef ENGINE_MEND_VALUE_H
#define ENGINE_MEND_VALUE_H
#include "engine/mend/mend.h"
#include "base/map.h"

/* Is a <, =, > b (-1, 0, 1), exactly? Both are JSON numbers; 2 when one has an exponent beyond EXPONENT_MAX, which
 * nobody writes. */
int number_compare(daruma_str a, daruma_str b);
/* The same value? Order of members and spelling of strings do not matter. */
bool value_same(daruma_str a, daruma_str b);
/* "object", "array", "string", "integer", "number", "boolean", "null"; static. */
const char *value_type(daruma_str v);
/* Are two names the same but for case, '_' and '-'? (maxTokens, max_tokens) */
bool name_same(daruma_str a, daruma_str b);

/* Members of an object by name, or which names a list has, for who asks for many: a large one gets an index with the
 * first question. Begin with {.of = value, .a = arena}; without an arena there is none. */
typedef struct lookup {
    daruma_str of;
    daruma_arena *a;
    str_map at; /* name -> 1 + where its value stands in `of` */
} lookup;
/* `raw`: a name between its quotes, as json_next() gives it. How it is spelt does not matter. */
daruma_str lookup_get(lookup *l, daruma_str raw); /* as json_get */
bool lookup_has(lookup *l, daruma_str raw);       /* is it a string of the list? */
bool lookup_scans(const lookup *l);               /* every question costs a walk through all of it */

/* The schema that "$ref" of `schema` stands for, within `root`: "#", "#/$defs/Name", ...; empty when it leads nowhere.
 */
daruma_str schema_at(daruma_str root, daruma_str ref);
/* Follows references; at most as many as a chain may have. Empty: nowhere. */
daruma_str schema_follow(daruma_str root, daruma_str schema);
/* May a value be of that type ("null", "string", ...) by the schema's own `type`? True when it says none. */
bool schema_takes(daruma_str schema, const char *type);
/* schema_fits with the schema that references point into. What is made on the way lies in `a` and goes again. */
bool schema_fits_in(daruma_str root, daruma_str schema, daruma_str value, daruma_buf *why, uint32_t *steps,
                    const daruma_arena *a);
/* The same for one of several questions, which have SCHEMA_STEPS_MAX together: adds to `steps` what it took. */
bool schema_fits_after(uint32_t *steps, daruma_str root, daruma_str schema, daruma_str value, const daruma_arena *a);

/* Does a JSON value fit a schema? On failure `why` (path, expected, got) is written for the model. Unknown keywords
 * pass. */
bool schema_fits(daruma_str schema, daruma_str value, daruma_buf *why);
#endif
