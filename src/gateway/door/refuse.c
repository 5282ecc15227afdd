/* refuse.c - answers a request that daruma itself refuses before it becomes an exchange: no provider sees it, no case
 * is opened. It is counted by its reason, and told in an event, so that who is attacked or misconfigured sees it. */
#include "model/kinds.h"
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/see/see.h"

// clang-format off
static const struct {
    const char *name; /* in the status */
    const char *what; /* in an event; the name or path behind it is the client's word */
} refusals[REFUSALS] = {
    [REFUSED_HOST]         = {"host",         "a request for the name of another host"},
    [REFUSED_ORIGIN]       = {"origin",       "a page of another site"},
    [REFUSED_PATH]         = {"path",         "a path that could leave the provider's base URL"},
    [REFUSED_UNKNOWN_PATH] = {"unknown_path", "a path that no API has"},
    [REFUSED_TOKEN]        = {"token",        "a request without a token of ours"},
    [REFUSED_MODEL]        = {"model",        "a model or path that a client may not use"},
    [REFUSED_RATE]         = {"rate",         "a client that asks too often"},
    [REFUSED_BODY]         = {"body",         "a body larger than `limits.body`"},
    [REFUSED_ROOM]         = {"room",         "a request that there is no room for"},
};
// clang-format on

/* What the client said that it is refused for. Of the query nothing: it may hold a key. */
static daruma_str said(const call *c, refusal why)
{
    daruma_str origin = http_header(&c->head, S("origin"));
    return why == REFUSED_HOST     ? c->head.host
           : why == REFUSED_ORIGIN ? (origin.n ? origin : S("it asks without an Origin"))
                                   : c->head.path;
}

/* `h` NULL: it was not read. Of `what` the beginning is told. */
static void refuse_tell(gateway *g, const http_head *h, refusal why, daruma_str what)
{
    refused_count *n = &g->refused[why];
    daruma_moment at = gateway_now(g);
    daruma_event e = DARUMA_EVENT_INIT;
    char room[512];
    daruma_buf b = buf_over(room, sizeof room);
    n->all++;
    if (n->told_at && at.now - n->told_at < REFUSED_TOLD_EVERY_MS) {
        n->untold++;
        return;
    }
    const config_client *k = h ? lock_client(&g->now->cfg, h) : NULL;
    buf_putz(&b, refusals[why].what);
    if (k) {
        e.client = k->name;
        BUF_SAY(&b, " (", k->name, ")");
    }
    BUF_SAY(&b, ": ", str_sub(what, 0, REFUSED_SHOWN_BYTES));
    if (n->untold)
        buf_printf(&b, " (%llu more since the last event)", (unsigned long long)n->untold);
    n->untold = 0;
    n->told_at = at.now;
    e.name = "request_refused";
    e.at = at;
    e.reason = buf_str(&b);
    events_emit(g->events, &e);
}

const char *refusal_name(refusal why)
{
    return refusals[why].name;
}

void refusals_status(const gateway *g, daruma_buf *out)
{
    BUF_LIT(out, "\"refused\":{");
    for (int i = 0; i < REFUSALS; i++)
        buf_printf(out, "%s\"%s\":%llu", i ? "," : "", refusals[i].name, (unsigned long long)g->refused[i].all);
    BUF_LIT(out, "},");
}

void call_words(const http_head *h, int status, const char *words, daruma_buf *out, void *user)
{
    gateway *g = user;
    char text[400];
    daruma_buf b = buf_over(text, sizeof text);
    bool large = status == 413;
    refuse_tell(g, h, large ? REFUSED_BODY : REFUSED_ROOM, h && large ? h->path : str_of(words));
    if (!h)
        return;
    const dialect *d = dialect_of_path(h->path);
    daruma_failure f = kind_failure(large ? DARUMA_REQUEST_TOO_LARGE : DARUMA_OVERLOADED, status);
    f.wait = large ? -1 : 1000;
    if (large && h->length > 0)
        buf_printf(&b, "The body of this request has %lld bytes, and ", (long long)h->length);
    else if (large)
        BUF_LIT(&b, "The body of this request is too large: ");
    if (large)
        buf_printf(&b, "daruma takes %llu (`limits.body` in its configuration). Send less, or raise the limit.",
                   (unsigned long long)g->now->cfg.body_bytes_max);
    else
        buf_printf(&b, "daruma cannot take this request now: %s.", words);
    d = d ? d : head_dialect(h);
    d->write_error(out, &f, status, buf_str(&b), (daruma_str){0});
    BUF_LIT(out, "\n");
}

bool call_refuse(gateway *g, call *c, refusal why, int status, daruma_kind kind, daruma_ms wait, daruma_str message)
{
    char seconds[24];
    const dialect *d = dialect_of_path(c->head.path);
    daruma_failure f = kind_failure(kind, status);
    daruma_buf s = buf_over(seconds, sizeof seconds);
    f.wait = wait;
    buf_int(&s, (wait + 999) / 1000);
    daruma_header h[] = {{S("content-type"), S("application/json")},
                         wait < 0 ? (daruma_header){S("x-should-retry"), S("false")}
                                  : (daruma_header){S("retry-after"), buf_str(&s)},
                         {S("www-authenticate"), S("Bearer realm=\"daruma\"")}};
    daruma_buf body = buf_in(c->arena);
    d = d ? d : head_dialect(&c->head);
    d->write_error(&body, &f, status, message, (daruma_str){0});
    BUF_LIT(&body, "\n");
    refuse_tell(g, &c->head, why, said(c, why));
    c->user = NULL; /* no exchange */
    call_head(c, status, h, COUNT(h) - (status != 401), (int64_t)body.n);
    call_write(c, buf_str(&body));
    call_end(c);
    return true;
}
