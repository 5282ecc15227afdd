/* pass.c - answers that pass through as they come: of paths that are nobody's dialect, of requests that cannot be read,
 * and those that nobody here can read. Only what says no is collected first: credentials are taken out of it.
 */
#include "base/buf.h"
#include "gateway/relay.h"

/* The length of the body that follows; to HEAD, of the one that GET would bring (RFC 9110 8.6). -1 not known. */
static int64_t announced(const exchange *x, const http_head *h)
{
    int64_t n;
    if (!str_eq(x->c->head.method, S("HEAD")))
        return h->length;
    return str_int(http_header(h, S("content-length")), &n) ? n : -1;
}

/* An address to go on to may be signed, which is no credential of anybody's. */
static void redact_headers(exchange *x, int status)
{
    for (size_t i = 0; i < x->nheaders; i++)
        x->headers[i].value =
            status < 400 ? exchange_veil(x, x->headers[i].value) : exchange_redact_field(x, x->headers[i]);
}

/* What passes through and says no. */
void pass_refused(exchange *x)
{
    daruma_str body = exchange_redact(x, buf_str(&x->held));
    call *c = x->c;
    bool cut = x->cut;
    relay_head(x, cut ? -1 : (int64_t)body.n);
    call_write(c, body);
    exchange_done(x, -1);
    if (cut)
        call_abort(c);
    else
        call_end(c);
}

/* The client may be able to read it. */
void pass_coded(exchange *x, const http_head *h)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "answer_not_readable";
    e.reason = S("the answer is encoded, which was not asked for: it is passed on as it is and cannot be mended");
    exchange_event(x, &e);
    x->mode = ANSWER_PASSED;
    relay_head(x, announced(x, h));
}

void pass_begin(exchange *x, const http_head *h)
{
    if (h->status >= 300)
        redact_headers(x, h->status);
    x->mode = h->status >= 400 && !str_eq(x->c->head.method, S("HEAD")) ? ANSWER_REFUSED : ANSWER_PASSED;
    if (x->mode == ANSWER_PASSED)
        relay_head(x, announced(x, h));
}

/* What was held goes to the connection, which keeps what its reader does not take; here it is not needed again. */
void pass_unread(exchange *x)
{
    http_head h = {.headers = x->headers, .nheaders = x->nheaders};
    daruma_event e = DARUMA_EVENT_INIT;
    int64_t length;
    e.name = "answer_not_checked";
    e.reason = S("the answer is too large to be checked: it is passed on as it comes and cannot be mended");
    exchange_event(x, &e);
    relay_head(x, str_int(http_header(&h, S("content-length")), &length) ? length : -1);
    relay_forward(x, buf_str(&x->held));
    exchange_scratch_reset(x);
    x->mode = ANSWER_PASSED;
}

void pass_ended(exchange *x)
{
    call *c = x->c;
    exchange_done(x, -1);
    call_end(c);
}
