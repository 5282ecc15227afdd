/* turn_chat.h - what the two files of Chat answers share. */
#ifndef DIALECT_TURN_CHAT_H
#define DIALECT_TURN_CHAT_H
#include "dialect/turn_kit.h"

/* As OpenAI says it; `functions`: in the older spelling. */
daruma_str chat_finish_word(turn_finish finish, bool functions);
void chat_put_usage(daruma_buf *out, const turn_usage *u);
#endif
