#include "cli/ask.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"
#include "sys/sys.h"

static void on_head(fetch *f, const http_head *h, void *user)
{
    cli_answer *a = user;
    (void)f;
    a->status = h->status;
    a->date = date_http(http_header(h, S("date")));
    a->took = sys_moment().now - a->began;
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    cli_answer *a = user;
    daruma_buf b = {.p = a->text, .cap = sizeof a->text, .n = a->n};
    (void)f;
    buf_put(&b, str_sub(bytes, 0, sizeof a->text - a->n));
    a->n = b.n;
}

static void on_end(fetch *f, void *user)
{
    (void)f;
    ((cli_answer *)user)->over = true;
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    cli_answer *a = user;
    (void)f, (void)phase, (void)why; /* which may carry a peer's bytes */
    a->over = true;
    a->net = net;
}

cli_answer cli_ask(upstream *up, const fetch_request *q)
{
    static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};
    cli_answer a = {.began = sys_moment().now, .date = -1};
    a.over = !fetch_start(up, q, &ops, &a);
    while (!a.over && uv_run(uv_default_loop(), UV_RUN_ONCE))
        ;
    return a;
}
