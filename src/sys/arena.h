/* arena.h - arenas on malloc: all that the public library takes of this floor. */
#ifndef SYS_ARENA_H
#define SYS_ARENA_H
#include "daruma_parts.h"
#include <stdlib.h>

/* An arena on malloc: a first block of about `first_bytes`, more blocks as it grows, never more than
 * `limit_bytes` in all. False without memory. End it with sys_arena_done(), which may be called twice. */
bool sys_arena_init(daruma_arena *a, size_t first_bytes, size_t limit_bytes);
void sys_arena_done(daruma_arena *a);
/* Takes back all that it handed out: it is as it was made, for who needs one of its size next. The C library keeps few
 * blocks of a size, and none above 1 KiB: to look for one costs as much as to read a head. False: it is empty, or has
 * grown beyond its first block, and stays as it is; always where SYS_KEEPS is not. */
bool sys_arena_again(daruma_arena *a);
/* May memory that was given back be kept for the next? Not where a sanitizer is to see that nobody uses it any more. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SYS_KEEPS 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(SYS_KEEPS)
#define SYS_KEEPS 0
#endif
#ifndef SYS_KEEPS
#define SYS_KEEPS 1
#endif
void sys_arena_widen(daruma_arena *a, size_t limit_bytes); /* it may take so much from here on */
/* Gives back what it has not used of its only block, which may move. Returns where `p` in it stands then. */
void *sys_arena_fit(daruma_arena *a, void *p);
size_t
sys_arena_bytes(const daruma_arena *a); /* taken so far, without what is left: it is not touched, and no memory */
void *sys_take(size_t n);               /* zeroed, for free(); NULL without memory */
/* The drive_rooms (engine/drive/room.h) of these. */
#define SYS_ROOMS                                                                                                      \
    {                                                                                                                  \
        .open = sys_arena_init, .close = sys_arena_done, .again = sys_arena_again, .widen = sys_arena_widen,           \
        .fit = sys_arena_fit, .bytes = sys_arena_bytes, .take = sys_take, .give = free                                 \
    }
#endif
