/* convo_chat.h - what the reader and the writer of Chat Completions share: where the parts of a message stand. */
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
#endif
