/* texts.c - bytes of requests as they were written anew. Each stands alone in memory of its own, so that what it was
 * made in (many times its size) is given back before anybody waits for a provider. */
#include "base/buf.h"
#include "gateway/heal.h"
#include <stdlib.h>

struct request_text {
    struct request_text *next;
    size_t n;
    char bytes[];
};

request_text *text_new(daruma_str bytes)
{
    request_text *b = malloc(sizeof *b + bytes.n);
    if (!b)
        return NULL;
    b->next = NULL;
    b->n = bytes.n;
    memcpy(b->bytes, bytes.p ? bytes.p : "", bytes.n);
    return b;
}

daruma_str text_str(const request_text *b)
{
    return (daruma_str){b->bytes, b->n};
}

daruma_str exchange_own(exchange *x, request_text *b)
{
    if (!b)
        return (daruma_str){0};
    server_holds_more(x->g->srv, b->n);
    b->next = x->texts;
    x->texts = b;
    return text_str(b);
}

void texts_free(request_text *list)
{
    for (request_text *next; list; list = next) {
        next = list->next;
        free(list);
    }
}

static bool holds(const request_text *b, daruma_str s)
{
    return s.n && s.p == b->bytes;
}

static bool heal_needs(const heal *h, const request_text *b)
{
    return holds(b, h->from) || holds(b, h->read_from) || holds(b, h->resume_of);
}

void exchange_sweep(exchange *x)
{
    for (request_text **at = &x->texts; !x->rival && *at;) {
        request_text *b = *at;
        if (holds(b, x->body) || (x->h && heal_needs(x->h, b)) || (x->moved && holds(b, x->moved->body)) ||
            holds(b, x->variant)) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        server_holds_less(x->g->srv, b->n);
        free(b);
    }
}

request_text *exchange_disown(exchange *x)
{
    request_text *list = x->texts;
    for (const request_text *b = list; b; b = b->next)
        server_holds_less(x->g->srv, b->n);
    x->texts = NULL;
    return list;
}
