/* texts.c - the requests that were written anew for one exchange, and which of them somebody still needs. */
#include "gateway/heal.h"
#include "sys/sys.h"

const drive_rooms gateway_rooms = {.open = sys_arena_init, .close = sys_arena_done, .bytes = sys_arena_bytes};

daruma_str exchange_own(exchange *x, drive_text *t)
{
    if (!t)
        return (daruma_str){0};
    t->next = x->texts;
    x->texts = t;
    return t->bytes;
}

static bool holds(const drive_text *t, daruma_str s)
{
    return s.n && s.p == t->bytes.p;
}

static bool history_needs(const history *h, const drive_text *t)
{
    return holds(t, h->from) || holds(t, h->read_from) || holds(t, h->resume_of);
}

void exchange_sweep(exchange *x)
{
    for (drive_text **at = &x->texts; !x->rival && *at;) {
        drive_text *t = *at;
        if (holds(t, x->body) || (x->h && history_needs(&x->h->past, t)) || (x->moved && holds(t, x->moved->body)) ||
            holds(t, x->variant)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        t->next = NULL;
        drive_texts_close(&gateway_rooms, t);
    }
}
