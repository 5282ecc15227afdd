/* convert.h - the two halves of a conversion: what was said (convert.c), what is asked for (convert_settings.c). */
#ifndef DIALECT_CONVERT_H
#define DIALECT_CONVERT_H
#include "dialect/parts.h"

void dialect_lose(dialect_losses *lost, const char *what); /* each once */
/* Tools and settings of `from` into `out`, whose messages are there already and whose settings are still the source's.
 */
void convert_settings(const convo *from, const dialect *to, convo *out, dialect_losses *lost);
/* Does the target take that id of a call? Another one is made of it by convert_put_id, the same each time. */
bool convert_id_fits(const dialect *to, daruma_str id);
void convert_put_id(daruma_buf *out, uint64_t hash);
/* The name of a tool as the target takes it: itself, or what can stay of it and a hash of it, the same each time. In
 * `a`.
 */
daruma_str convert_name(const dialect *to, daruma_str name, daruma_arena *a);
uint64_t convert_hash(daruma_str s, uint64_t seed);
#endif
