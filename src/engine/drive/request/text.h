/* text.h - bytes of a request that was written anew. Each text stands alone in memory of its own, so that the memory in
 * which it was made (many times its size) is given back before anybody waits for a provider. */
#ifndef ENGINE_DRIVE_REQUEST_TEXT_H
#define ENGINE_DRIVE_REQUEST_TEXT_H
#include "dialect/dialect.h"
#include "engine/drive/room.h"

typedef struct drive_text {
    struct drive_text *next; /* in the list of its owner */
    daruma_arena room;       /* holds the bytes and this struct */
    daruma_str bytes;
    bool stays; /* in place of what the client sent: what its request asks for is read in it until the session ends */
} drive_text;

/* Returns `c` as `d` writes it, into the memory that the text keeps: nothing is copied behind it. `usual`: bytes that
 * it has more or less. NULL without memory, and where `c` ran full. End it with drive_texts_close(). Any thread. */
drive_text *drive_text_write(const drive_rooms *rooms, const dialect *d, const convo *c, size_t usual);
/* Returns a copy of `bytes`; NULL without memory. End it with drive_texts_close(). Any thread. */
drive_text *drive_text_new(const drive_rooms *rooms, daruma_str bytes);
/* Gives all texts of a list back; NULL is the empty list. */
void drive_texts_close(const drive_rooms *rooms, drive_text *list);

#endif
