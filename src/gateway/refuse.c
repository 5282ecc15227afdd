/* refuse.c - answers a request that daruma itself refuses before it becomes an exchange: no provider sees it, no case
 * is opened, nothing is counted. */
#include "base/buf.h"
#include "gateway/inside.h"

void call_refuse(call *c, int status, daruma_kind kind, daruma_str message)
{
    const dialect *d = dialect_of_path(c->head.path);
    daruma_failure f = {.kind = kind, .status = status, .wait = -1, .limit = -1, .used = -1, .requested = -1};
    daruma_header h[] = {{S("content-type"), S("application/json")}, {S("x-should-retry"), S("false")}};
    daruma_buf body = buf_in(c->arena);
    d = d ? d : head_dialect(&c->head);
    d->write_error(&body, &f, status, message, (daruma_str){0});
    BUF_LIT(&body, "\n");
    c->user = NULL; /* no exchange */
    call_head(c, status, h, sizeof h / sizeof *h, (int64_t)body.n);
    call_write(c, buf_str(&body));
    call_end(c);
}
