/* args.h - what the files about tool calls share. */
#ifndef ENGINE_MEND_ANSWER_ARGS_H
#define ENGINE_MEND_ANSWER_ARGS_H

/* `value` as the schema wants it, as far as nothing is lost; empty when memory ran out. It need not fit then. `steps`
 * (may be NULL) grows by the subschemas that were looked at. */
daruma_str args_coerce(daruma_str schema, daruma_str value, uint32_t *steps, daruma_arena *a);
/* True if a schema that was followed lists every member that it knows: it has properties, and nothing else in it speaks
 * of members. */
bool args_lists_all(daruma_str schema);
/* `value` without the members that its schema does not know, where a schema lists all that it knows. `value` itself
 * when there are none; empty when memory ran out. *ret_dropped: how many were left out. */
daruma_str args_known(daruma_str schema, daruma_str value, daruma_arena *a, size_t *ret_dropped);
#endif
