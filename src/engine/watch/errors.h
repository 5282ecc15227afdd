/* errors.h - failed tool results in a history, as a model should see them (E-F8). */
#ifndef WATCH_ERRORS_H
#define WATCH_ERRORS_H
#include "model/convo.h"

/* Newest failures, as many as the policy shows, become compact; older ones a line; those whose goal was reached later a
 * word. Nothing grows, what is short already stays, twice is as once. Returns how many results were changed. */
size_t watch_compact_errors(convo *c, const daruma_policy *p);
#endif
