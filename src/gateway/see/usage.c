/* usage.c - the usage log: a JSON line for each request that is over. It says who asked whom for how much, and nothing
 * of what was said. Lines of one turn of the loop go out together, before it waits for the next one: of a process that
 * is killed those of its last turn are lost. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/see/see.h"
#include "gateway/see/log_file.h"
#include <stdlib.h>

struct usage_log {
    log_file file;
    uv_prepare_t before_wait; /* runs while lines are held */
    char held[LOG_HELD_BYTES];
};

usage_log *usage_new(uv_loop_t *loop)
{
    usage_log *l = malloc(sizeof *l);
    if (!l)
        return NULL;
    l->file = (log_file){.fd = -1, .aloud = true, .key = "usage.file", .note = "{\"usage\":\"lost\"", .held = l->held};
    l->before_wait.data = l;
    uv_prepare_init(loop, &l->before_wait);
    uv_unref((uv_handle_t *)&l->before_wait);
    return l;
}

bool usage_open(usage_log *l, daruma_str file, char why[512])
{
    return log_file_open(&l->file, file, why);
}

static void closed(uv_handle_t *h)
{
    free(h->data);
}

void usage_free(usage_log *l)
{
    if (!l)
        return;
    log_file_close(&l->file);
    uv_close((uv_handle_t *)&l->before_wait, closed);
}

static void before_wait(uv_prepare_t *h)
{
    usage_log *l = h->data;
    log_file_flush(&l->file);
    uv_prepare_stop(h);
}

static void put_text(daruma_buf *b, const char *name, daruma_str text)
{
    char room[JOIN_ID_MAX * 16];
    daruma_arena a = arena_over(room, sizeof room);
    if (!text.n)
        return;
    BUF_MEMBERS(b, name, str_sub(daruma_redact(str_sub(text, 0, JOIN_ID_MAX * 4), &a), 0, JOIN_ID_MAX * 2));
}

static void put_target(daruma_buf *b, const daruma_target *t)
{
    char text[JOIN_ID_MAX * 4];
    daruma_buf name = buf_over(text, sizeof text);
    BUF_SAY(&name, t->provider, t->model.n ? "/" : "", str_sub(t->model, 0, JOIN_ID_MAX * 2));
    put_text(b, "target", buf_str(&name));
}

void usage_put(const exchange *x, const drive_result *r, int64_t cost)
{
    char line[EVENT_LINE_MAX], ts[21];
    daruma_buf b = buf_over(line, sizeof line);
    usage_log *l = x->g->usage;
    if (l->file.fd < 0)
        return;
    daruma_moment at = gateway_now(x->g);
    date_write(at.wall, ts);
    BUF_SAY(&b, "{\"ts\":\"", ts, "\",\"case\":\"");
    buf_hex64(&b, r->case_id);
    BUF_LIT(&b, "\"");
    put_text(&b, "client", x->client ? x->client->name : (daruma_str){0});
    put_text(&b, "asked", r->model);
    if (r->target)
        put_target(&b, r->target);
    BUF_MEMBERS(&b, "input_tokens", BUF_IF(r->input_tokens >= 0, r->input_tokens), "output_tokens",
                BUF_IF(r->output_tokens >= 0, r->output_tokens));
    if (cost >= 0)
        buf_printf(&b, ",\"cost\":%lld.%09lld", (long long)(cost / 1000000000), (long long)(cost % 1000000000));
    BUF_MEMBERS(&b, "status", BUF_IF(x->status > 0, x->status), "outcome", daruma_outcome_name(r->outcome), "calls",
                r->attempts, "ms", BUF_IF(r->took >= 0, r->took));
    BUF_LIT(&b, "}\n");
    if (b.full)
        return;
    log_file_hold(&l->file, buf_str(&b), at.wall);
    uv_prepare_start(&l->before_wait, before_wait);
}
