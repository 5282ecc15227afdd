#include "cli/ask.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/process.h"
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

typedef struct printed {
    daruma_arena *a;
    daruma_str *ret;
    char *why;
} printed;

static void on_printed(int exit_code, daruma_str out, const char *why, void *user)
{
    const printed *p = user;
    (void)exit_code;
    snprintf(p->why, CLI_KEY_WHY_BYTES, "%s", why ? why : "");
    if (!why)
        *p->ret = arena_copy(p->a, out);
}

bool cli_key_printed(const char *command, daruma_arena *a, daruma_str *ret, char why[CLI_KEY_WHY_BYTES])
{
    uv_loop_t loop;
    printed to = {a, ret, why};
    uv_loop_init(&loop);
    process_run(&loop, command, KEY_COMMAND_MS_MAX, on_printed, &to);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return !why[0];
}
