/* value.h - JSON values compared, and schemas followed: what schema, arguments and parameters share. */
#ifndef ENGINE_MEND_VALUE_H
#define ENGINE_MEND_VALUE_H
#include "engine/mend/mend.h"

/* Is a <, =, > b (-1, 0, 1)? Both are JSON numbers; 2 when one has an exponent, which nobody writes. */
int number_compare(daruma_str a, daruma_str b);
/* The same value? Order of members and spelling of strings do not matter. */
bool value_same(daruma_str a, daruma_str b);
/* "object", "array", "string", "integer", "number", "boolean", "null"; static. */
const char *value_type(daruma_str v);
/* Are two names the same but for case, '_' and '-'? (maxTokens, max_tokens) */
bool name_same(daruma_str a, daruma_str b);

/* The schema that "$ref" of `schema` stands for, within `root`: "#", "#/$defs/Name", ...; empty when it leads nowhere.
 */
daruma_str schema_at(daruma_str root, daruma_str ref);
/* Follows references; at most as many as a chain may have. Empty: nowhere. */
daruma_str schema_follow(daruma_str root, daruma_str schema);
/* May a value be of that type ("null", "string", ...) by the schema's own `type`? True when it says none. */
bool schema_takes(daruma_str schema, const char *type);
/* schema_fits with the schema that references point into. */
bool schema_fits_in(daruma_str root, daruma_str schema, daruma_str value, daruma_buf *why);
/* The same for one of several questions, which have SCHEMA_STEPS_MAX together: adds to `steps` what it took. */
bool schema_fits_after(uint32_t *steps, daruma_str root, daruma_str schema, daruma_str value);

/* One line more for people in rep->what. */
__attribute__((format(printf, 2, 3))) void mend_say(mend_report *rep, const char *fmt, ...);
#endif
