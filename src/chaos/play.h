/* play.h - plays one planned answer on a connection: in its pace, up to the place where it breaks. */
#ifndef CHAOS_PLAY_H
#define CHAOS_PLAY_H
#include "chaos/faults.h"
#include "net/server.h"

typedef struct play play;

/* How it ended, when it was not the client that left. */
typedef void (*play_done)(void *user, bool whole);

/* Starts to play `p`, whose bytes must live until `done` was called or play_gone(). *ret is set before anything is
 * sent, and `done` may be called from within. False without memory: nothing was sent then. `keepalive` is what
 * PLAN_PINGS sends. */
bool play_start(uv_loop_t *loop, call *c, const plan *p, daruma_str keepalive, play_done done, void *user, play **ret);
void play_drained(play *p);
void play_gone(play *p); /* the call is dead; no `done` */
#endif
