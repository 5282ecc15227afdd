/* gather.c - see gather.h. */
#include "net/gather.h"
#include "base/limits.h"
#include "base/str.h"
#include "net/timer.h"
#include <stdlib.h>

typedef struct copy {
    uv_write_t req;
    char bytes[];
} copy;

int socket_write(uv_tcp_t *tcp, const uv_buf_t *bufs, unsigned n, uv_write_cb written)
{
    int sent = tcp->write_queue_size ? UV_EAGAIN : uv_try_write((uv_stream_t *)tcp, bufs, n);
    if (sent < 0 && sent != UV_EAGAIN)
        return sent;
    size_t skip = sent > 0 ? (size_t)sent : 0, rest = 0;
    for (unsigned i = 0; i < n; i++)
        rest += bufs[i].len;
    rest -= skip;
    if (rest == 0)
        return 0;
    copy *c = malloc(sizeof *c + rest);
    if (!c)
        return UV_ENOMEM;
    size_t at = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t cut = skip < bufs[i].len ? skip : bufs[i].len;
        skip -= cut;
        memcpy(c->bytes + at, bufs[i].base + cut, bufs[i].len - cut);
        at += bufs[i].len - cut;
    }
    uv_buf_t buf = uv_buf_init(c->bytes, (unsigned)rest);
    int failed = uv_write(&c->req, (uv_stream_t *)tcp, &buf, 1, written);
    if (failed)
        free(c);
    return failed;
}

struct gather {
    uv_idle_t before_wait; /* runs while something is kept: the loop does not wait then */
    void (*write)(void *owner, daruma_str bytes);
    size_t nkept, n; /* pieces; their bytes */
    struct {
        void *owner; /* NULL: dropped */
        bool *held;
        size_t at, n;
    } kept[GATHERED_MAX];
    char bytes[GATHERED_BYTES];
};

void gather_flush(gather *g)
{
    size_t n = g ? g->nkept : 0;
    if (!n)
        return;
    g->nkept = g->n = 0;
    uv_idle_stop(&g->before_wait);
    for (size_t i = 0; i < n; i++) {
        if (!g->kept[i].owner)
            continue;
        *g->kept[i].held = false;
        g->write(g->kept[i].owner, (daruma_str){g->bytes + g->kept[i].at, g->kept[i].n});
    }
}

static void before_wait(uv_idle_t *h)
{
    gather_flush(h->data);
}

bool gather_put(gather *g, void *owner, bool *held, const uv_buf_t *bufs, unsigned n)
{
    size_t more = 0;
    for (unsigned i = 0; i < n; i++)
        more += bufs[i].len;
    bool fits = g && more <= GATHERED_PIECE_BYTES_MAX;
    bool goes_on = fits && *held && g->kept[g->nkept - 1].owner == owner && more <= sizeof g->bytes - g->n;
    if (!fits && !*held)
        return false;
    if (!goes_on && (*held || g->nkept == GATHERED_MAX || more > sizeof g->bytes - g->n))
        gather_flush(g);
    if (!fits)
        return false;
    if (!goes_on) {
        if (!g->nkept)
            uv_idle_start(&g->before_wait, before_wait);
        g->kept[g->nkept].owner = owner;
        g->kept[g->nkept].held = held;
        g->kept[g->nkept].at = g->n;
        g->kept[g->nkept++].n = 0;
        *held = true;
    }
    g->kept[g->nkept - 1].n += more;
    for (unsigned i = 0; i < n; i++) {
        memcpy(g->bytes + g->n, bufs[i].base, bufs[i].len);
        g->n += bufs[i].len;
    }
    return true;
}

void gather_drop(gather *g, void *owner)
{
    for (size_t i = 0; i < g->nkept; i++)
        if (g->kept[i].owner == owner) {
            *g->kept[i].held = false;
            g->kept[i].owner = NULL;
        }
}

gather *gather_new(uv_loop_t *loop, void (*write)(void *owner, daruma_str bytes))
{
    gather *g = malloc(sizeof *g);
    if (!g)
        return NULL;
    g->write = write;
    g->nkept = g->n = 0;
    uv_idle_init(loop, &g->before_wait);
    g->before_wait.data = g;
    return g;
}

void gather_free(gather *g)
{
    if (g)
        loop_close((uv_handle_t *)&g->before_wait);
}
