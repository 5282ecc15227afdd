/* turn.c - how long the loop was at work at a time: from one wait for events to the next, everybody else waits. CPU
 * time of the loop's thread is measured, not time on the clock: what a busy machine does to the loop is not the work of
 * the loop.
 *
 *   wait | read, judge, write ... | wait | ...
 *        |<------ one turn ------>|
 *
 * The kernel is asked once a millisecond at most: brief turns within the same millisecond count as one. */
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/see/see.h"
#include "net/timer.h"
#include "sys/sys.h"
#include <stdlib.h>

struct turns {
    uv_prepare_t before_wait;
    uint64_t asked_at;  /* milliseconds of the loop */
    int64_t cpu_ns;     /* as it was then */
    int64_t longest_ns; /* since the start */
    uint64_t nlong;     /* turns that took longer than LOOP_TURN_MS_LONG */
};

static void before_wait(uv_prepare_t *h)
{
    turns *t = h->data;
    uint64_t now = uv_now(h->loop);
    if (now == t->asked_at)
        return;
    int64_t cpu = sys_thread_cpu_ns(), took = cpu - t->cpu_ns;
    if (took > t->longest_ns)
        t->longest_ns = took;
    t->nlong += took > LOOP_TURN_MS_LONG * INT64_C(1000000);
    t->cpu_ns = cpu;
    t->asked_at = now;
}

turns *turns_new(uv_loop_t *loop)
{
    turns *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->before_wait.data = t;
    t->asked_at = uv_now(loop);
    t->cpu_ns = sys_thread_cpu_ns();
    uv_prepare_init(loop, &t->before_wait);
    uv_prepare_start(&t->before_wait, before_wait);
    uv_unref((uv_handle_t *)&t->before_wait);
    return t;
}

void turns_free(turns *t)
{
    if (t)
        loop_close((uv_handle_t *)&t->before_wait);
}

void turns_status(const turns *t, daruma_buf *out)
{
    buf_printf(out, "\"loop\":{\"longest_turn_ms\":%lld,\"turns_over_%d_ms\":%llu},",
               (long long)(t->longest_ns / 1000000), LOOP_TURN_MS_LONG, (unsigned long long)t->nlong);
}

int64_t turns_longest_ms(const turns *t)
{
    return t->longest_ns / 1000000;
}
