/* flow.h - the order of work. */
#ifndef ENGINE_AGENT_FLOW_H
#define ENGINE_AGENT_FLOW_H
#include "engine/agent/inside.h"

void flow_out(agent *a, agent_out out, agent_act act);
void flow_wait(agent *a, daruma_ms ms);              /* then what was set out before is done again */
agent_result flow_answer(agent *a, daruma_str text); /* of a task that is done */
void flow_finish(agent *a, agent_result r);
void flow_limit(agent *a, agent_limit l);   /* ends with what there is */
void flow_stop(agent *a, daruma_buf *text); /* the same, for a circle; `text` in `scratch` says which */
void flow_note(agent *a, daruma_str text);  /* words of ours to the model */
void flow_ask(agent *a, agent_purpose purpose, daruma_str model, const daruma_question *q, daruma_ms total);
daruma_str flow_keep(agent *a, daruma_str s); /* for the run */
daruma_str flow_text(agent *a, daruma_str s); /* in `texts` */
/* Room for `want` bytes at *p, memory of the rooms that holds *cap, of which `used` stay; it may move. False without
 * memory. */
bool flow_grow(agent *a, void **p, size_t used, size_t *cap, size_t want);
daruma_str flow_line(daruma_str s, size_t most); /* its first `most` bytes, between two characters */

/* `asked_tokens` are its body's. */
void flow_ask_model(agent *a, agent_purpose purpose, daruma_str model, daruma_str body, daruma_ms total);

#endif
