/* demo_show.c - asks a faulty provider as a bare client would, with one call, and then through the gateway, and prints
 * both answers side by side. What the gateway does in between it says itself (events on stderr). */
#include "cli/demo_show.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "net/upstream.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SHOW_TOTAL_MS   30000        /* no request of the demonstration takes longer */
#define SHOW_ROOM_BYTES (256u << 10) /* for one request and its answer */
#define SHOW_TEXT_BYTES 110          /* of an error that a bare client gets: a line */

struct demo_show {
    uv_loop_t *loop;
    upstream *up;
    fetch *f;
    const demo_try *tries;
    size_t n, i;
    bool through; /* through daruma; else a bare client asks the provider */
    int ports[2];
    url to;
    daruma_header fields[2];
    uint64_t began;
    int status;
    size_t answered[2]; /* requests of the bare client, and those through daruma */
    daruma_str outcome, remedies, attempts;
    daruma_buf body;
    daruma_arena room;
    bool colour;
    void (*done)(void *user);
    void *user;
    char memory[SHOW_ROOM_BYTES];
};

static void next(demo_show *s);

/* ---- what came ---- */

/* The words of a stream; `*whole`: its end was seen. */
static daruma_str stream_text(daruma_str body, daruma_arena *a, bool *whole)
{
    daruma_buf b = buf_in(a);
    while (body.n) {
        daruma_str line = str_trim(str_cut(&body, '\n'));
        if (!str_starts(line, S("data:")))
            continue;
        daruma_str data = str_trim(str_from(line, 5));
        *whole |= str_eq(data, S("[DONE]"));
        buf_put(&b, json_text(json_path(data, "choices.0.delta.content"), a));
    }
    return buf_str(&b);
}

static bool is_stream(const demo_show *s)
{
    daruma_str body = str_trim(buf_str(&s->body));
    return str_starts(body, S("data:")) || str_starts(body, S(":"));
}

/* What somebody reads of an answer: the model's words, or those of the error. */
static daruma_str text_of(demo_show *s, bool *whole)
{
    daruma_str body = str_trim(buf_str(&s->body));
    *whole = false;
    if (is_stream(s))
        return stream_text(body, &s->room, whole);
    daruma_str said = json_text(json_path(body, "choices.0.message.content"), &s->room);
    if (!said.n)
        said = json_text(json_path(body, "error.daruma.explanation"), &s->room);
    if (!said.n)
        said = json_text(json_path(body, "error.message"), &s->room);
    *whole = said.n > 0;
    return said.n ? said : body;
}

static void print_text(daruma_str text, size_t max)
{
    for (size_t i = 0; i < text.n && i < max; i++)
        putchar(text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
    if (text.n > max)
        fputs("...", stdout);
}

static const char *paint(const demo_show *s, const char *code)
{
    return s->colour ? code : "";
}

/* `broke`: how the connection ended; NULL: well. */
static void report(demo_show *s, const char *broke)
{
    bool whole;
    daruma_str text = text_of(s, &whole);
    bool good = s->status == 200 && whole && !broke;
    s->answered[s->through] += good;
    printf("  %s%s%s ", paint(s, good ? "\033[32m" : "\033[31m"), s->through ? "through daruma" : "a bare client ",
           paint(s, "\033[0m"));
    if (s->status)
        printf("%d after %llu ms", s->status, (unsigned long long)(uv_now(s->loop) - s->began));
    else
        fputs("no answer", stdout);
    if (s->outcome.n && !is_stream(s)) /* the head of a stream went out before the stream failed */
        printf(", " STR_FMT " (" STR_FMT "), calls: " STR_FMT, STR_ARG(s->outcome), STR_ARG(s->remedies),
               STR_ARG(s->attempts));
    if (broke)
        printf(", then %s", broke);
    else if (s->status == 200 && !good)
        fputs(", but no whole answer", stdout);
    fputs(": ", stdout);
    print_text(text, s->through ? SHOW_ROOM_BYTES : SHOW_TEXT_BYTES);
    fputs("\n", stdout);
    if (s->through)
        fputs("\n", stdout);
    fflush(stdout);
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    demo_show *s = user;
    (void)f;
    s->status = h->status;
    s->outcome = arena_copy(&s->room, http_header(h, S("x-daruma-outcome")));
    s->remedies = arena_copy(&s->room, http_header(h, S("x-daruma-remedies")));
    s->attempts = arena_copy(&s->room, http_header(h, S("x-daruma-attempts")));
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    (void)f;
    buf_put(&((demo_show *)user)->body, bytes);
}

static void over(demo_show *s, const char *broke)
{
    s->f = NULL;
    report(s, broke);
    s->i += s->through;
    s->through = !s->through;
    next(s);
}

static void on_end(fetch *f, void *user)
{
    (void)f;
    over(user, NULL);
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    (void)f, (void)net, (void)phase;
    over(user, why);
}

/* ---- asking ---- */

static void ask(demo_show *s)
{
    static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};
    const demo_try *t = &s->tries[s->i];
    s->room = arena_over(s->memory, sizeof s->memory);
    daruma_buf at = buf_in(&s->room), body = buf_in(&s->room);
    const char *why = NULL;
    buf_printf(&at, "http://127.0.0.1:%d", s->ports[s->through]);
    buf_printf(&body, "{\"model\":\"%s\"%s}", t->model, t->rest);
    s->fields[0] = (daruma_header){S("content-type"), S("application/json")};
    s->fields[1] = (daruma_header){S("authorization"), S("Bearer demo-key-one")};
    s->began = uv_now(s->loop);
    s->status = 0;
    s->outcome = s->remedies = s->attempts = (daruma_str){0};
    s->body = buf_in(&s->room);
    if (!url_parse(buf_str(&at), &s->room, &s->to, &why)) {
        over(s, why);
        return;
    }
    fetch_request q = {.to = &s->to,
                       .method = S("POST"),
                       .target = S("/v1/chat/completions"),
                       .headers = s->fields,
                       .nheaders = 2,
                       .body = {buf_str(&body)},
                       .has_body = true,
                       .fresh = true,
                       .clocks = {2000, 0, 0, SHOW_TOTAL_MS}};
    s->f = fetch_start(s->up, &q, &ops, s);
    if (!s->f)
        over(s, "there is no memory for a call");
}

static void next(demo_show *s)
{
    if (s->i < s->n) {
        if (!s->through) {
            printf("%s%zu of %zu  %s%s: %s\n", paint(s, "\033[1m"), s->i + 1, s->n, s->tries[s->i].model,
                   paint(s, "\033[0m"), s->tries[s->i].what);
            fflush(stdout);
        }
        ask(s);
        return;
    }
    printf("%sA bare client got an answer to %zu of %zu requests; through daruma %zu were answered.%s\n",
           paint(s, "\033[1m"), s->answered[0], s->n, s->answered[1], paint(s, "\033[0m"));
    fflush(stdout);
    s->done(s->user);
}

demo_show *demo_show_start(uv_loop_t *loop, int provider, int gateway, const demo_try *tries, size_t n,
                           void (*done)(void *user), void *user)
{
    char why[256];
    demo_show *s = calloc(1, sizeof *s);
    if (s)
        s->up = upstream_new(loop, &(upstream_settings){0}, why);
    if (!s || !s->up) {
        free(s);
        return NULL;
    }
    s->loop = loop;
    s->ports[0] = provider;
    s->ports[1] = gateway;
    s->tries = tries;
    s->n = n;
    s->done = done;
    s->user = user;
    s->colour = isatty(STDOUT_FILENO) && !sys_env("NO_COLOR").n;
    next(s);
    return s;
}

void demo_show_close(demo_show *s)
{
    if (!s)
        return;
    if (s->f)
        fetch_cancel(s->f);
    upstream_close(s->up);
    free(s);
}
