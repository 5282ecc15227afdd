/* text.c - see text.h. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/request/text.h"
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

/* Opens room in one piece for a text of `usual` bytes: other dialects say the same in 0.6 to 1.5 times the bytes, and
 * what is short in up to 6. What is not touched is no memory, and is given back; where addresses are few it is room for
 * what is usual. *ret: the bytes of the text that it is for.
 * False: there is no memory. */
static bool open_room(const drive_rooms *rooms, size_t usual, daruma_arena *room, size_t *ret)
{
    enum { TIMES = 8 };
    size_t most = MEND_ARENA_BYTES_MAX / 2, own = sizeof(drive_text) + _Alignof(drive_text);
    *ret = usual < most / TIMES ? usual * TIMES : most;
    if (rooms->open(room, own + *ret, MEND_ARENA_BYTES_MAX))
        return true;
    usual = usual < most ? usual : most;
    *ret = usual + usual / 2;
    return rooms->open(room, own + *ret, MEND_ARENA_BYTES_MAX);
}

drive_text *drive_text_write(const drive_rooms *rooms, const dialect *d, const convo *c, size_t usual)
{
    daruma_arena room;
    size_t first;
    if (!open_room(rooms, usual, &room, &first))
        return NULL;
    drive_text *t = ARENA_NEW(&room, drive_text, 1), *exact = NULL;
    daruma_buf b = buf_in(&room);
    if (t && first)
        buf_room(&b, first);
    d->write(c, &b);
    bool good = t && !b.full && !c->full, moved = b.cap > first;
    if (good && moved) /* it stands in the last of several blocks */
        exact = drive_text_new(rooms, buf_str(&b));
    if (!good || moved) {
        rooms->close(&room);
        return exact;
    }
    size_t at = (size_t)(buf_done(&b).p - (char *)t);
    t = rooms->fit(&room, t);
    t->bytes = (daruma_str){(char *)t + at, b.n};
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
