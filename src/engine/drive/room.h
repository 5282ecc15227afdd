/* room.h - memory that the host gives to the driver. */
#ifndef ENGINE_DRIVE_ROOM_H
#define ENGINE_DRIVE_ROOM_H
#include "daruma_parts.h"

/* How the host makes arenas. The functions are called from any thread; one arena is used by one thread. */
typedef struct drive_rooms {
    /* Makes *a an arena with a first block of about `first_bytes` that grows up to `limit_bytes`. False: there is no
     * memory, and *a is empty. */
    bool (*open)(daruma_arena *a, size_t first_bytes, size_t limit_bytes);
    /* Gives all of it back and leaves *a empty. An empty arena may be closed, too. */
    void (*close)(daruma_arena *a);
    /* Takes back all that the arena handed out: it is as it was opened. False: it is empty, or has grown beyond its
     * first block, and stays as it is. */
    bool (*again)(daruma_arena *a);
    /* Lets the arena grow up to `limit_bytes` from here on. */
    void (*widen)(daruma_arena *a, size_t limit_bytes);
    /* Gives back what an arena has not used of its only block, which may move. Returns where `p` in it stands then. */
    void *(*fit)(daruma_arena *a, void *p);
    /* Returns the bytes that the arena has handed out so far, and what it left behind: what is not touched is none. */
    size_t (*bytes)(const daruma_arena *a);
    /* Returns `n` zeroed bytes for a table or a struct; NULL: there is no memory. */
    void *(*take)(size_t n);
    void (*give)(void *p); /* gives them back; NULL is allowed */
} drive_rooms;

#endif
