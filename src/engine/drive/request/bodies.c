/* bodies.c - the requests that were written anew for one session, and which of them somebody still needs. */
#include "engine/drive/mend/mending.h"

/* Tells the host that so many bytes more, or less, are held. */
static void tell_held(session *x, int64_t bytes)
{
    if (x->v->host->holds)
        x->v->host->holds(x->user, bytes);
}

daruma_str session_own(session *x, drive_text *t)
{
    if (!t)
        return (daruma_str){0};
    tell_held(x, (int64_t)t->bytes.n);
    t->next = x->out.texts;
    x->out.texts = t;
    return t->bytes;
}

void session_use(session *x, daruma_str body)
{
    x->out.body = body;
    x->out.edition = ++x->out.editions;
}

static bool holds(const drive_text *t, daruma_str s)
{
    return s.n && s.p == t->bytes.p;
}

static bool history_needs(const history *h, const drive_text *t)
{
    return holds(t, h->from) || holds(t, h->read_from) || holds(t, h->resume_of);
}

void session_sweep(session *x)
{
    for (drive_text **at = &x->out.texts; !x->hedge.call && *at;) {
        drive_text *t = *at;
        if (t->stays || holds(t, x->out.body) || (x->h && history_needs(&x->h->past, t)) ||
            (x->moved && holds(t, x->moved->body)) || (x->variant && holds(t, x->variant->body))) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        tell_held(x, -(int64_t)t->bytes.n);
        t->next = NULL;
        drive_texts_close(x->v->rooms, t);
    }
}

drive_text *session_disown(session *x)
{
    drive_text *list = x->out.texts;
    for (const drive_text *t = list; t; t = t->next)
        tell_held(x, -(int64_t)t->bytes.n);
    x->out.texts = NULL;
    return list;
}
