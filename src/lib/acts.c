/* acts.c - what the driver wants done, kept in order until the program asks for it. */
#include "lib/inside.h"
#include <stdlib.h>

act *acts_add(daruma_session *s, const act *like, const daruma_str *pieces, size_t npieces)
{
    size_t n = sizeof(act);
    for (size_t i = 0; i < npieces; i++)
        n += pieces[i].n;
    for (int i = 0; i < ACT_TEXTS; i++)
        n += like->text[i].n + 1;
    act *a = s->over ? NULL : malloc(n);
    if (!a) {
        s->failed = true;
        return NULL;
    }
    *a = *like;
    char *to = (char *)(a + 1);
    for (int i = 0; i < ACT_TEXTS; i++) {
        daruma_str from = like->text[i];
        a->text[i].p = to;
        if (from.n)
            memcpy(to, from.p, from.n);
        to += from.n;
        for (size_t k = 0; i == ACT_BYTES && k < npieces; k++) {
            if (pieces[k].n)
                memcpy(to, pieces[k].p, pieces[k].n);
            to += pieces[k].n;
            a->text[i].n += pieces[k].n;
        }
        *to++ = 0;
    }
    a->next = NULL;
    *(s->last ? &s->last->next : &s->first) = a;
    s->last = a;
    s->waiting_bytes += a->text[ACT_BYTES].n;
    return a;
}

act *acts_take(daruma_session *s)
{
    act *a = s->first;
    if (!a)
        return NULL;
    s->first = a->next;
    if (!s->first)
        s->last = NULL;
    s->waiting_bytes -= a->text[ACT_BYTES].n;
    return a;
}

bool acts_unsend(daruma_session *s, int64_t call)
{
    act *before = NULL;
    for (act *a = s->first; a; before = a, a = a->next) {
        if (a->call != call || a->what != DARUMA_DO_SEND)
            continue;
        *(before ? &before->next : &s->first) = a->next;
        if (s->last == a)
            s->last = before;
        s->waiting_bytes -= a->text[ACT_BYTES].n;
        free(a);
        return true;
    }
    return false;
}

void acts_drop(daruma_session *s)
{
    for (act *a; (a = acts_take(s));)
        free(a);
}
