/* convert.h - the parts of a conversion: what was said (convert.c), what is asked for (convert_settings.c), what calls
 * and tools are called (convert_names.c). */
#ifndef DIALECT_CONVERT_H
#define DIALECT_CONVERT_H
#include "dialect/parts.h"
#include "base/map.h"

void dialect_lose(dialect_losses *lost, const char *what); /* each once */
/* The names of a conversation's tools that the target does not take, as they would be with other letters in place of
 * those it does not know: by that, how many tools would be called so. */
typedef struct convert_names {
    const dialect *to;
    str_map plain;
} convert_names;
/* Of the tools that are declared or were called. All zero but `to` when the target takes all of them. */
convert_names convert_names_of(const convo *from, const dialect *to, daruma_arena *a);
/* The name of a tool as the target takes it: itself; with '_' for what it does not take (`fs.read`: `fs_read`), where
 * no other tool is called so; else what can stay of it and a hash of it. The same each time. In `a`. */
daruma_str convert_name(const convert_names *names, daruma_str name, daruma_arena *a);

/* Tools of `from`, and how those are called there that were called without being declared, into `out`. */
void convert_tools(const convo *from, const convert_names *names, convo *out, dialect_losses *lost);
/* Settings of `from` into `out`, whose messages and tools are there already and whose settings are still the source's.
 */
void convert_settings(const convo *from, const convert_names *names, convo *out, dialect_losses *lost);
/* Does the target take that id of a call? Another one is made of it by convert_put_id, the same each time. */
bool convert_id_fits(const dialect *to, daruma_str id);
void convert_put_id(daruma_buf *out, uint64_t hash);
uint64_t convert_hash(daruma_str s, uint64_t seed);
#endif
