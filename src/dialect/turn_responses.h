/* turn_responses.h - what the two files of Responses answers share: how its objects are written. */
#ifndef DIALECT_TURN_RESPONSES_H
#define DIALECT_TURN_RESPONSES_H
#include "dialect/turn_kit.h"

/* An output item. */
typedef struct responses_item {
    delta_kind kind; /* TEXT, REFUSAL, THINKING, CALL */
    bool done;
    bool custom; /* CALL: of a custom tool */
    daruma_str id, call_id, name, signature;
    daruma_str text; /* text, summary or arguments */
} responses_item;

void responses_put_item(daruma_buf *out, const responses_item *i);
void responses_put_text_part(daruma_buf *out, bool refusal, daruma_str text);
/* A response object up to the value of its error, from there to the opening bracket of its output, and its usage. */
void responses_put_head(daruma_buf *out, daruma_str id, int64_t created, const char *status);
void responses_put_settings(daruma_buf *out, daruma_str model, const char *reason);
void responses_put_usage(daruma_buf *out, const turn_usage *u);
const char *responses_reason(turn_finish finish); /* why it is incomplete; NULL when it is not */
#endif
