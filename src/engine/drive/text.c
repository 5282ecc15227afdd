/* text.c - see text.h. */
#include "engine/drive/text.h"
#include "base/arena.h"
#include <string.h>

drive_text *drive_text_new(const drive_rooms *rooms, daruma_str bytes)
{
    daruma_arena room;
    size_t most = sizeof(drive_text) + _Alignof(drive_text) + bytes.n;
    if (bytes.n > SIZE_MAX / 2 || !rooms->open(&room, most, most))
        return NULL;
    drive_text *t = ARENA_NEW(&room, drive_text, 1);
    char *p = t ? arena_raw(&room, bytes.n, 1) : NULL;
    if (!p) {
        rooms->close(&room);
        return NULL;
    }
    if (bytes.n)
        memcpy(p, bytes.p, bytes.n);
    t->bytes = (daruma_str){p, bytes.n};
    t->room = room;
    return t;
}

void drive_texts_close(const drive_rooms *rooms, drive_text *list)
{
    for (drive_text *next; list; list = next) {
        daruma_arena room = list->room; /* the struct lies in it */
        next = list->next;
        rooms->close(&room);
    }
}
