/* job.c - work on large requests and answers runs on libuv's pool, JOBS_MAX at a time: the pool looks up names as well.
 * What comes first is done first; but brief work goes before long work, and one brief job more may be under way, so
 * that somebody's long work does not keep the requests of others at the door.
 *
 *   exchange_work --> waiting --> under way --> then()
 *                  |            |
 *             client left  client left: the job keeps the call's memory --> drop() */
#include "base/limits.h"
#include "gateway/inside.h"
#include <stdlib.h>

struct job {
    uv_work_t req;
    jobs *all;
    job *next;
    exchange *x; /* NULL: the client left */
    const drive_work *kind;
    void *data;
    bool begun;
    /* of a request that is over: what the work reads */
    setup *s;
    call_memory memory;
    drive_remains remains;
};

struct jobs {
    job *first; /* that wait: the brief ones in front */
    uint32_t under_way;
    bool closed; /* the gateway is over */
};

static void begin_some(jobs *all, uv_loop_t *loop);

static void work(uv_work_t *req)
{
    job *j = req->data;
    j->kind->work(j->data);
}

static void let_go(job *j)
{
    drive_remains_close(&exchange_rooms, &j->remains); /* the gateway may be gone */
    call_memory_free(&j->memory);
    setup_drop(j->s);
}

static void over(uv_work_t *req, int status)
{
    job *j = req->data;
    jobs *all = j->all;
    (void)status;
    all->under_way--;
    begin_some(all, req->loop);
    if (j->x) {
        j->x->job = NULL;
        gateway_drive(j->x->g);
        session_worked(j->x->session, j->kind, j->data);
    } else {
        j->kind->drop(j->data);
        let_go(j);
    }
    free(j);
    if (all->closed && !all->under_way)
        free(all);
}

static void begin_some(jobs *all, uv_loop_t *loop)
{
    while (all->first && all->under_way < JOBS_MAX + (all->first->kind->brief ? 1u : 0u)) {
        job *j = all->first;
        all->first = j->next;
        all->under_way++;
        j->begun = true;
        uv_queue_work(loop, &j->req, work, over);
    }
}

static void wait_in_line(jobs *all, job *j)
{
    job **at = &all->first;
    while (*at && (!j->kind->brief || (*at)->kind->brief))
        at = &(*at)->next;
    j->next = *at;
    *at = j;
}

bool exchange_work(void *user, size_t bytes, const drive_work *kind, void *data)
{
    exchange *x = user;
    gateway *g = x->g;
    bool large = bytes >= JOB_BYTES_MIN;
    if (large && !g->jobs)
        g->jobs = calloc(1, sizeof *g->jobs);
    job *j = large && g->jobs ? calloc(1, sizeof *j) : NULL;
    if (!j) {
        kind->work(data);
        return true;
    }
    *j = (job){.all = g->jobs, .x = x, .kind = kind, .data = data};
    j->req.data = j;
    wait_in_line(g->jobs, j);
    x->job = j;
    begin_some(g->jobs, g->loop);
    return false;
}

void exchange_work_left(void *user, drive_remains *r)
{
    exchange *x = user;
    job *j = x->job;
    x->job = NULL;
    j->x = NULL;
    if (j->begun) {
        j->s = setup_hold(x->s);
        j->memory = call_take_memory(x->c);
        j->remains = *r;
        return;
    }
    job **at = &j->all->first;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    j->kind->drop(j->data);
    free(j);
    drive_remains_close(&exchange_rooms, r);
}

void jobs_free(jobs *all)
{
    if (!all)
        return;
    all->closed = true;
    if (!all->under_way)
        free(all);
}
