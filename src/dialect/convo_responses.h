/* convo_responses.h - what reader and writer of Responses requests share. */
#ifndef DIALECT_CONVO_RESPONSES_H
#define DIALECT_CONVO_RESPONSES_H
#include "dialect/convo_write.h"
#include "dialect/shapes.h"

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
#endif
