/* responses.h - what the files of OpenAI Responses share. */
#ifndef DIALECT_RESPONSES_H
#define DIALECT_RESPONSES_H
#include "dialect/kit/convo_kit.h"
#include "dialect/kit/shapes.h"
#include "dialect/kit/turn_kit.h"

/* ---- requests ---- */

typedef enum responses_item_kind {
    ITEM_OTHER, /* calls of hosted tools and what they gave, ...; also what is no object */
    ITEM_MESSAGE,
    ITEM_CALL,
    ITEM_CUSTOM_CALL,
    ITEM_RESULT,
    ITEM_CUSTOM_RESULT,
    ITEM_REASONING,
    ITEM_REFERENCE,
} responses_item_kind;
responses_item_kind responses_item_of(daruma_str item);
/* Shells and patches have items of their own. They stay as they are; who only reads what was done sees calls and
 * results in them. */
void responses_read_shells(convo *c);

/* ---- answers: how its objects are written ---- */

/* An output item. */
typedef struct responses_item {
    delta_kind kind; /* TEXT, REFUSAL, THINKING, CALL */
    bool done;
    bool custom; /* CALL: of a custom tool */
    daruma_str id, call_id, name, signature;
    daruma_str phase;   /* TEXT, REFUSAL: of the message; empty: none */
    daruma_str text;    /* text, summary or arguments */
    daruma_str sources; /* TEXT: of it, JSON with commas between */
    size_t at, n;       /* `text` as it stands in `out` already, as JSON: it is copied from there. n 0: it does not */
} responses_item;

/* A made-up id of an item. */
void responses_put_id(daruma_buf *out, delta_kind kind, bool custom, uint64_t made, uint64_t nth);
void responses_put_item(daruma_buf *out, const responses_item *i);
void responses_put_text_part(daruma_buf *out, const responses_item *i);
void responses_put_said(daruma_buf *out, const responses_item *i); /* its text */
/* A response object up to the value of its error, from there to the opening bracket of its output, and its usage. */
void responses_put_head(daruma_buf *out, daruma_str id, int64_t created, const char *status);
void responses_put_settings(daruma_buf *out, daruma_str model, const char *reason);
void responses_put_usage(daruma_buf *out, const turn_usage *u);
const char *responses_reason(turn_finish finish); /* why it is incomplete; NULL when it is not */
bool responses_in_namespace(daruma_str item);     /* is it a call of a function within a namespace of tools? */
/* A call of a function of its own. One within a namespace is the client's to read, as calls of other kinds: its name
 * alone does not say which function it calls, and it stays as it came. */
bool responses_calls_function(daruma_str type, daruma_str item);
turn_finish responses_finish_of_status(daruma_str status, daruma_str reason, bool calls);
turn_usage responses_read_usage(daruma_str usage);
/* The texts of content or summary parts, joined; `*only` is the one text value when there is one. */
daruma_str responses_texts(daruma_str parts, daruma_str between, daruma_str *only, daruma_arena *a);
#endif
