/* usage.c - the usage log: a JSON line for each request that is over. It says who asked whom for how much, and nothing
 * of what was said. Lines wait a moment for others to go out with them: a write costs as much as ten lines. Of a
 * process that is killed those of that moment are lost. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/see/see.h"
#include "gateway/see/log_file.h"
#include "net/timer.h"
#include <stdlib.h>

enum { NAME_BYTES = JOIN_ID_MAX * 4, CLEAN_BYTES = JOIN_ID_MAX * 2 }; /* that are looked at of a name, and shown */

struct usage_log {
    log_file file;
    uv_timer_t timer; /* runs while lines are held */
    int64_t ts_wall;  /* the second that `ts` says */
    char ts[21];
    size_t nasked, nclean;   /* the model that was asked last, mostly the next as well: ... */
    char asked[NAME_BYTES];  /* ... as it came ... */
    char clean[CLEAN_BYTES]; /* ... and without keys */
    char held[LOG_HELD_BYTES];
};

usage_log *usage_new(uv_loop_t *loop)
{
    usage_log *l = malloc(sizeof *l);
    if (!l)
        return NULL;
    l->file = (log_file){.fd = -1, .aloud = true, .key = "usage.file", .note = "{\"usage\":\"lost\"", .held = l->held};
    l->timer.data = l;
    l->ts_wall = -1;
    l->nasked = l->nclean = 0;
    uv_timer_init(loop, &l->timer);
    uv_unref((uv_handle_t *)&l->timer);
    return l;
}

bool usage_open(usage_log *l, daruma_str file, char why[512])
{
    return log_file_open(&l->file, file, why);
}

void usage_free(usage_log *l)
{
    if (!l)
        return;
    log_file_close(&l->file);
    loop_close((uv_handle_t *)&l->timer);
}

static void on_timer(uv_timer_t *t)
{
    usage_log *l = t->data;
    log_file_flush(&l->file);
}

/* A text of a client's or a provider's, without keys. It lives in `a`. */
static daruma_str clean(daruma_str text, daruma_arena *a)
{
    return str_sub(daruma_redact(str_sub(text, 0, NAME_BYTES), a), 0, CLEAN_BYTES);
}

static daruma_str clean_asked(usage_log *l, daruma_str model)
{
    char room[JOIN_ID_MAX * 16];
    daruma_str name = str_sub(model, 0, NAME_BYTES);
    if (str_eq(name, (daruma_str){l->asked, l->nasked}))
        return (daruma_str){l->clean, l->nclean};
    daruma_arena a = arena_over(room, sizeof room);
    daruma_buf asked = buf_over(l->asked, sizeof l->asked), shown = buf_over(l->clean, sizeof l->clean);
    buf_put(&asked, name);
    buf_put(&shown, clean(name, &a));
    l->nasked = asked.n;
    l->nclean = shown.n;
    return buf_str(&shown);
}

/* The text that `member`, S("..."), begins; none when it is empty. */
__attribute__((always_inline)) static inline void put_text(daruma_buf *b, daruma_str member, daruma_str text)
{
    if (!text.n)
        return;
    buf_constant(b, member);
    buf_json_run(b, text);
    buf_constant(b, S("\""));
}

__attribute__((always_inline)) static inline void put_number(daruma_buf *b, daruma_str member, int64_t v)
{
    buf_constant(b, member);
    buf_int(b, v);
}

static void put_target(daruma_buf *b, const daruma_target *t, daruma_str asked, daruma_str asked_clean)
{
    char room[JOIN_ID_MAX * 16];
    daruma_arena a = arena_over(room, sizeof room);
    buf_constant(b, S(",\"target\":\""));
    buf_json_run(b, t->provider);
    if (t->model.n) {
        buf_putc(b, '/');
        buf_json_run(b, str_eq(t->model, asked) ? asked_clean : clean(t->model, &a));
    }
    buf_putc(b, '"');
}

/* Billionths, as what they are of. */
static void put_cost(daruma_buf *b, int64_t cost)
{
    char text[24];
    daruma_buf part = buf_over(text, sizeof text);
    buf_int(&part, INT64_C(1000000000) + cost % 1000000000);
    put_number(b, S(",\"cost\":"), cost / 1000000000);
    buf_putc(b, '.');
    buf_put(b, str_from(buf_str(&part), 1));
}

void usage_put(const exchange *x, const drive_result *r, int64_t cost)
{
    char line[EVENT_LINE_MAX];
    daruma_buf b = buf_over(line, sizeof line);
    usage_log *l = x->g->usage;
    if (l->file.fd < 0)
        return;
    int64_t wall = x->g->drive.at.wall;
    daruma_str asked = clean_asked(l, r->model);
    if (wall != l->ts_wall)
        date_write(l->ts_wall = wall, l->ts);
    buf_constant(&b, S("{\"ts\":\""));
    buf_constant(&b, (daruma_str){l->ts, sizeof l->ts - 1});
    buf_constant(&b, S("\",\"case\":\""));
    buf_hex64(&b, r->case_id);
    buf_putc(&b, '"');
    put_text(&b, S(",\"client\":\""), x->client ? x->client->name : (daruma_str){0});
    put_text(&b, S(",\"asked\":\""), asked);
    if (r->target)
        put_target(&b, r->target, r->model, asked);
    if (r->input_tokens >= 0)
        put_number(&b, S(",\"input_tokens\":"), r->input_tokens);
    if (r->output_tokens >= 0)
        put_number(&b, S(",\"output_tokens\":"), r->output_tokens);
    if (cost >= 0)
        put_cost(&b, cost);
    if (x->status > 0)
        put_number(&b, S(",\"status\":"), x->status);
    buf_constant(&b, S(",\"outcome\":\""));
    buf_putz(&b, daruma_outcome_name(r->outcome));
    buf_constant(&b, S("\""));
    put_number(&b, S(",\"calls\":"), r->attempts);
    if (r->took >= 0)
        put_number(&b, S(",\"ms\":"), r->took);
    buf_constant(&b, S("}\n"));
    if (b.full)
        return;
    log_file_hold(&l->file, buf_str(&b), wall);
    if (!uv_is_active((uv_handle_t *)&l->timer))
        uv_timer_start(&l->timer, on_timer, LOG_HELD_MS, 0);
}
