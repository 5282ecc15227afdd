/* chat.h - what the files of Chat Completions share. */
#ifndef DIALECT_CHAT_H
#define DIALECT_CHAT_H
#include "dialect/kit/convo_kit.h"
#include "dialect/kit/shapes.h"
#include "dialect/kit/turn_kit.h"

/* ---- requests ---- */

/* Members of a message that are parts, or say what they are. reasoning_content is of DeepSeek and others, reasoning of
 * OpenRouter, and reasoning_details are its pieces. */
#define CHAT_MESSAGE_FIELDS(X)                                                                                         \
    X(M_ROLE, "role")                                                                                                  \
    X(M_CONTENT, "content")                                                                                            \
    X(M_CALLS, "tool_calls")                                                                                           \
    X(M_FUNCTION_CALL, "function_call")                                                                                \
    X(M_ID, "tool_call_id")                                                                                            \
    X(M_NAME, "name")                                                                                                  \
    X(M_REFUSAL, "refusal")                                                                                            \
    X(M_AUDIO, "audio")                                                                                                \
    X(M_THOUGHT, "reasoning_content")                                                                                  \
    X(M_REASONING, "reasoning")                                                                                        \
    X(M_DETAILS, "reasoning_details")
enum { CHAT_MESSAGE_FIELDS(FIELD_SYMBOL) M_N };
void chat_message_fields(daruma_str message, field f[M_N]);

/* ---- settings.c ---- */

/* A writer of a member: the response format. */
bool chat_put_format(const convo *c, daruma_str old, daruma_buf *out);
/* All members of a new body but its model and its messages. */
void chat_put_settings(const convo *c, daruma_buf *out);

/* ---- answers ---- */

/* As OpenAI says it; `functions`: in the older spelling. */
daruma_str chat_finish_word(turn_finish finish, bool functions);
turn_usage chat_read_usage(daruma_str usage);
void chat_put_usage(daruma_buf *out, const turn_usage *u);
#endif
