/* acts.c - what the driver wants done, kept in order until the program asks for it. */
#include "lib/inside.h"
#include <stdlib.h>

/* Is it about a call? Such acts do not wait behind the bytes of the answer, which a slow reader takes. */
static bool is_word(daruma_do what)
{
    return what >= DARUMA_DO_SEND && what <= DARUMA_DO_LIMIT;
}

/* True if that is the whole request as it came in, which the session keeps: it need not be there twice. */
static bool is_request(const daruma_session *s, daruma_str t)
{
    return t.n && t.p == s->body && t.n == s->body_bytes;
}

act *acts_add(daruma_session *s, const act *like, const daruma_str *pieces, size_t npieces)
{
    bool whole = npieces && is_request(s, pieces[0]); /* nothing is behind it then */
    size_t n = sizeof(act);
    for (size_t i = 0; !whole && i < npieces; i++)
        n += pieces[i].n;
    for (int i = 0; i < ACT_TEXTS; i++)
        n += like->text[i].n + 1;
    act *a = s->over ? NULL : malloc(n);
    if (!a) {
        s->failed |= like->what != DARUMA_DO_EVENT; /* an answer does without its log */
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
        for (size_t k = 0; i == ACT_BYTES && !whole && k < npieces; k++) {
            if (pieces[k].n)
                memcpy(to, pieces[k].p, pieces[k].n);
            to += pieces[k].n;
            a->text[i].n += pieces[k].n;
        }
        *to++ = 0;
    }
    if (whole)
        a->text[ACT_BYTES] = pieces[0];
    act_line *l = is_word(a->what) ? &s->words : &s->answer;
    a->next = NULL;
    *(l->last ? &l->last->next : &l->first) = a;
    l->last = a;
    s->waiting_bytes += is_word(a->what) ? 0 : a->text[ACT_BYTES].n;
    return a;
}

static act *take(act_line *l)
{
    act *a = l->first;
    if (!a)
        return NULL;
    l->first = a->next;
    if (!l->first)
        l->last = NULL;
    return a;
}

act *acts_take(daruma_session *s)
{
    act *a = take(&s->words);
    if (a)
        return a;
    a = take(&s->answer);
    if (a)
        s->waiting_bytes -= a->text[ACT_BYTES].n;
    return a;
}

bool acts_forget(daruma_session *s, int64_t call)
{
    act *before = NULL, *next;
    bool unsent = false;
    for (act *a = s->words.first; a; a = next) {
        next = a->next;
        if (a->call != call) {
            before = a;
            continue;
        }
        unsent |= a->what == DARUMA_DO_SEND;
        *(before ? &before->next : &s->words.first) = next;
        if (s->words.last == a)
            s->words.last = before;
        free(a);
    }
    return unsent;
}

void acts_drop(daruma_session *s)
{
    for (act *a; (a = acts_take(s));)
        free(a);
}
