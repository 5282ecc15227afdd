/* think.h - the question to the model for the next step, and its answer. */
#ifndef ENGINE_AGENT_THINK_H
#define ENGINE_AGENT_THINK_H
#include "engine/agent/inside.h"

void think_ask(agent *a);                                    /* for the next step */
void think_answered(agent *a, daruma_str body);              /* the model answered that */
void think_failed(agent *a, const agent_failure *f);         /* a model failed */
void think_recovered(agent *a, const char *how);             /* something worked behind a failure */
bool think_text(agent *a, daruma_str body, daruma_str *ret); /* of a plain answer; false: there is none */

void think_stepped(agent *a);               /* the model answered with something to do */
void think_said(agent *a, daruma_str text); /* with words, which lie in `keep` */

#endif
