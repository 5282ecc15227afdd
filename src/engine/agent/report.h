/* report.h - agents that end by calling a tool of their own, the report, and are told when they should. */
#ifndef ENGINE_AGENT_REPORT_H
#define ENGINE_AGENT_REPORT_H
#include "engine/agent/inside.h"

daruma_str report_name(const agent *a);          /* of the tool; empty: there is none */
bool report_is(const agent *a, daruma_str tool); /* the one that ends the run */
void report_begin(agent *a);
void report_take(agent *a, agent_step *s); /* carries out one that is the agent's own */
void report_made(agent *a, const agent_step *s);
bool report_missing(agent *a, daruma_str text);

#endif
