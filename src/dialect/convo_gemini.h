/* convo_gemini.h - what the files share that read and write Gemini's requests. Names come in camelCase or in
 * snake_case, and what is one of many may stand without its array. */
#ifndef DIALECT_CONVO_GEMINI_H
#define DIALECT_CONVO_GEMINI_H
#include "dialect/convo_write.h"
#include "dialect/shapes.h"

typedef struct named {
    daruma_str key, value; /* as spelt; empty: not there, or null */
} named;
/* The member of a valid object that is called so in either spelling; the last of several. */
named gemini_named(daruma_str object, daruma_str camel);
daruma_str gemini_get(daruma_str object, daruma_str camel); /* its value */
convo_role gemini_role(daruma_str word);                    /* "user", "model", "function"; empty: the user */

/* A schema of Google's kind as JSON Schema: itself where it is one. */
daruma_str gemini_json_schema(convo *c, daruma_str schema);

/* ---- convo_gemini_settings.c ---- */

/* A writer of a member: the configuration, with another response format. */
bool gemini_put_config(const convo *c, daruma_str old, daruma_buf *out);
/* All members of a new body but its prompt and its contents. */
void gemini_put_settings(const convo *c, daruma_buf *out);
#endif
