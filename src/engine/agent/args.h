/* args.h - arguments that do not do. */
#ifndef ENGINE_AGENT_ARGS_H
#define ENGINE_AGENT_ARGS_H
#include "engine/agent/inside.h"

bool args_look(agent *a, const agent_tool *t, daruma_str args, args_bad *bad); /* true: they do */
void args_reject(agent *a, agent_step *s, const args_bad *bad);
void args_worked(agent *a, daruma_str tool);
void args_ask(agent *a);
/* `args` with values of the missing fields out of what a model said. */
daruma_str args_merge(daruma_str args, daruma_str text, const args_bad *bad, size_t *ret_filled, daruma_arena *a);
void args_answered(agent *a, daruma_str text);
void args_ask_words(agent *a); /* FINISH, APOLOGY */
void args_words_answered(agent *a, daruma_str text);

#endif
