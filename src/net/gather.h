/* gather.h - writing to sockets. Small writes to many connections wait until the loop has worked off what it was woken
 * for, and then go out one behind the other.
 *
 * A write wakes its reader. Readers that are woken by one write at a time sleep again before the next one comes, and to
 * wake them is the dearest part of a small write; woken by many in a row they find all of them at once. */
#ifndef NET_GATHER_H
#define NET_GATHER_H
#include "daruma_parts.h"
#include <uv.h>

/* Writes what the socket takes, and the rest from a copy. That comes behind what waits already; `written` is called for
 * it alone and frees its request. An error of libuv, or 0. */
int socket_write(uv_tcp_t *tcp, const uv_buf_t *bufs, unsigned n, uv_write_cb written);

typedef struct gather gather;

/* `write` takes what was put for an owner and sends it; it puts nothing. `*held` of gather_put() is false by then.
 * NULL without memory. */
gather *gather_new(uv_loop_t *loop, void (*write)(void *owner, daruma_str bytes));
void gather_free(gather *g); /* nothing is held any more; gone once the loop has run. NULL: nothing */
/* Keeps a copy of the bytes for `owner`. *held: of the owner, true while some are kept for it. False: they are too
 * many, or `g` is NULL, and what was kept for this owner has been written: the caller writes them. */
bool gather_put(gather *g, void *owner, bool *held, const uv_buf_t *bufs, unsigned n);
void gather_flush(gather *g);             /* writes all that is kept, now; NULL: nothing */
void gather_drop(gather *g, void *owner); /* what is kept for the owner is not written */
#endif
