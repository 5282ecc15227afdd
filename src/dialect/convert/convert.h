/* convert.h - the parts of a conversion: what was said (convert.c), calls and their results (calls.c), media
 * (media.c), what is asked for (settings.c), what calls and tools are called (names.c). */
#ifndef DIALECT_CONVERT_H
#define DIALECT_CONVERT_H
#include "dialect/kit/parts.h"
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

/* ---- calls.c ---- */

typedef struct carried carried;
/* Which call has a text: 1 + where that stands in the list, in a hash table; 0 is a free place. The texts stand in the
 * calls. */
typedef struct call_index {
    uint32_t *calls;
    size_t n, cap;
} call_index;
/* The calls that were carried so far. All zero but `names`, `out` and `a`. */
typedef struct convert_calls {
    const convert_names *names;
    const convo *out; /* in which they stand */
    daruma_arena *a;
    carried *calls;
    size_t ncalls, nanswered, cap; /* all before nanswered have their result */
    call_index by_was;             /* the newest call with the id it had */
    call_index ids;                /* by ids that were given in place of others */
    str_map by_name;               /* the newest call with its name */
} convert_calls;
/* Room for so many calls, of which some have no id. */
void convert_calls_expect(convert_calls *c, size_t calls, size_t without_id);
/* Enters a call whose place is the newest part of `out`, and gives it its id, its own where it has one that fits and is
 * nobody else's, and the name of its tool. False: no memory. */
bool convert_calls_add(convert_calls *c, const convo_part *call);
/* Gives `to` the id of the call that a result belongs to, and the name of its tool. */
void convert_calls_answer(convert_calls *c, const convo_part *result, convo_part *to);

/* ---- media.c ---- */

/* Can the target take it? */
bool convert_media_fits(const dialect *to, const convo_part *media);
/* The same with a type where it came without. */
convo_part convert_media_typed(const convo_part *media);
/* True if it is a file of text that is here: *ret is what it says, under its name, in `a`. */
bool convert_media_text(const convo_part *media, daruma_arena *a, daruma_str *ret);
/* What stands beside it as the target has it: OpenAI's `detail` is no file's name. `*lost`: what it cannot say. */
daruma_str convert_media_about(const dialect *to, const convo_part *media, const char **lost);
/* The words that stand where it cannot, in `a`; and what is lost then. */
daruma_str convert_media_words(const convo_part *media, daruma_arena *a);
const char *convert_media_name(const convo_part *media);
#endif
