/* see.h - what can be seen of a gateway: events, pages, metrics, usage, the loop's turns. */
#ifndef GATEWAY_SEE_H
#define GATEWAY_SEE_H
#include "gateway/inside.h"

/* ---- events.c: the event log ---- */

event_log *events_new(void);
bool events_open(event_log *l, daruma_str file, bool to_stderr, char why[512]);
void events_free(event_log *l);
void events_emit(event_log *l, const daruma_event *e);
void events_say(gateway *g, const char *name, daruma_str reason); /* an event of no request */
/* To those who listen alone: what is told while it happens, and again when it is over; that a request is over of which
 * something was told, and no event said so. */
void events_live(event_log *l, const daruma_event *e);
void events_status(const event_log *l, daruma_buf *out); /* a member of a JSON object: events written and lost */
void events_count(const event_log *l, uint64_t *written, uint64_t *lost);
bool events_has_room(const event_log *l); /* for one more who listens */
/* GET /daruma/events: the answer was begun by the caller, who made sure that there is room. `after`: the
 * client's Last-Event-ID; with one it gets the events that are kept since then first. */
void events_subscribe(event_log *l, call *c, daruma_str after, daruma_ms now);
void events_unsubscribe(event_log *l, call *c);
void events_end(event_log *l); /* ends every subscriber's answer */

/* ---- turn.c: how long the loop is at work at a time ---- */

turns *turns_new(uv_loop_t *loop); /* NULL: there is no memory */
void turns_free(turns *t);
void turns_status(const turns *t, daruma_buf *out); /* a member of a JSON object */
int64_t turns_longest_ms(const turns *t);

/* ---- usage.c: who used how much ---- */

usage_log *usage_new(uv_loop_t *loop);                         /* NULL without memory */
bool usage_open(usage_log *l, daruma_str file, char why[512]); /* as log_file_open() */
void usage_free(usage_log *l);
/* A line for a request that is over, which is written within LOG_HELD_MS. `cost`: as config_cost() says. */
void usage_put(const exchange *x, const drive_result *r, int64_t cost);

/* ---- metrics.c ---- */

bool metrics_open(const http_head *h); /* does who asks read OpenMetrics? */
void metrics_write(gateway *g, bool open, daruma_buf *out);

/* ---- admin.c ---- */

bool admin_answers(daruma_str path);     /* is it one that daruma itself answers? */
bool admin_handles(gateway *g, call *c); /* /daruma/..., /, /health, /ready: answers and returns true */
#endif
