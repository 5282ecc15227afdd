/* convo_chat.h - what the files share that read and write Chat Completions: where the parts of a message stand. */
#ifndef DIALECT_CONVO_CHAT_H
#define DIALECT_CONVO_CHAT_H
#include "dialect/convo_write.h"

/* Members of a message that are parts, or say what they are. */
enum {
    M_ROLE,
    M_CONTENT,
    M_CALLS,
    M_FUNCTION_CALL,
    M_ID,
    M_NAME,
    M_REFUSAL,
    M_AUDIO,
    M_THOUGHT,   /* DeepSeek and others */
    M_REASONING, /* OpenRouter, and its pieces: */
    M_DETAILS,
    M_N
};
void chat_message_fields(daruma_str message, field f[M_N]);

/* ---- convo_chat_settings.c ---- */

/* A writer of a member: the response format. */
bool chat_put_format(const convo *c, daruma_str old, daruma_buf *out);
/* All members of a new body but its model and its messages. */
void chat_put_settings(const convo *c, daruma_buf *out);
#endif
