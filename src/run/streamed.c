#include "run/streamed.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/arena.h"
#include <string.h>

struct streamed_call {
    streamed_call *next;
    int index; /* among the calls of the answer */
    daruma_str id, name;
    daruma_buf args;
};

streamed streamed_begin(const dialect *d, daruma_arena *room)
{
    return (streamed){.d = d,
                      .room = room,
                      .in = {.sequence = -1, .keep = room},
                      .rest = buf_in(room),
                      .text = buf_in(room),
                      .usage = TURN_USAGE_NONE};
}

static void begin_call(streamed *s, const turn_delta *d)
{
    streamed_call *c = ARENA_NEW(s->room, streamed_call, 1);
    if (!c)
        return;
    *c = (streamed_call){.index = d->index,
                         .id = arena_copy(s->room, d->id),
                         .name = arena_copy(s->room, d->name),
                         .args = buf_in(s->room)};
    if (s->last)
        s->last->next = c;
    else
        s->calls = c;
    s->last = c;
}

static void put_arguments(streamed *s, const turn_delta *d)
{
    streamed_call *c = s->last; /* nearly always: calls come one after the other */
    if (c && c->index != d->index)
        for (c = s->calls; c && c->index != d->index;)
            c = c->next;
    if (c)
        buf_put(&c->args, d->text);
}

static void learn_usage(turn_usage *u, const turn_usage *said)
{
    u->input = said->input >= 0 ? said->input : u->input;
    u->output = said->output >= 0 ? said->output : u->output;
}

static void learn(streamed *s, const turn_delta *d)
{
    switch (d->kind) {
    case DELTA_START:
        s->model = d->model.n ? arena_copy(s->room, d->model) : s->model;
        break;
    case DELTA_TEXT:
    case DELTA_REFUSAL:
        buf_put(&s->text, d->text);
        s->refused |= d->kind == DELTA_REFUSAL;
        break;
    case DELTA_CALL:
        begin_call(s, d);
        break;
    case DELTA_ARGUMENTS:
        put_arguments(s, d);
        break;
    case DELTA_FINISH:
        s->finish = d->finish;
        s->finish_raw = arena_copy(s->room, d->finish_raw);
        break;
    case DELTA_USAGE:
    case DELTA_END:
    case DELTA_CALL_END:
    case DELTA_THINKING: /* agents hand back neither thinking nor what the provider alone can read */
    case DELTA_SIGNATURE:
    case DELTA_BLOCK:
    case DELTA_OTHER:
        break;
    }
    learn_usage(&s->usage, &d->usage);
}

static void take_event(streamed *s, const sse_event *e, daruma_arena *scratch)
{
    turn_delta few[TURN_DELTAS_FEW];
    s->d->watch(&s->view, e, scratch);
    if (s->view.error && !s->error.n)
        s->error = arena_copy(s->room, s->view.error_body);
    turn_deltas said = s->d->read_delta(&s->in, e, few, scratch);
    for (size_t i = 0; i < said.n; i++)
        learn(s, &said.p[i]);
    s->full |= said.full || scratch->full;
}

daruma_str streamed_take(streamed *s, daruma_str bytes)
{
    daruma_arena scratch;
    sse_event e;
    size_t told = s->text.n;
    buf_put(&s->rest, bytes);
    daruma_str rest = buf_str(&s->rest);
    if (s->rest.full || !sys_arena_init(&scratch, 16 << 10, RUN_ANSWER_BYTES_MAX)) {
        s->full = true;
        return (daruma_str){0};
    }
    while (sse_next(&rest, &e, &scratch))
        take_event(s, &e, &scratch);
    if (rest.n < s->rest.n) {
        memmove(s->rest.p, rest.p, rest.n);
        s->rest.n = rest.n;
    }
    sys_arena_done(&scratch);
    s->full |= s->room->full || s->text.full;
    return str_from(buf_str(&s->text), told);
}

daruma_str streamed_whole(const streamed *s)
{
    turn t = {.model = s->model,
              .refused = s->refused,
              .finish = s->finish,
              .finish_raw = s->finish_raw,
              .usage = s->usage,
              .message = {.role = CONVO_ASSISTANT}};
    size_t n = 1;
    for (const streamed_call *c = s->calls; c; c = c->next)
        n++;
    t.message.parts = ARENA_NEW(s->room, convo_part, n);
    if (s->full || !s->view.began || s->in.lost || !t.message.parts)
        return (daruma_str){0};
    if (s->text.n)
        t.message.parts[t.message.nparts++] = (convo_part){.kind = PART_TEXT, .ready = true, .text = buf_str(&s->text)};
    for (const streamed_call *c = s->calls; c; c = c->next)
        t.message.parts[t.message.nparts++] =
            (convo_part){.kind = PART_CALL, .ready = true, .id = c->id, .name = c->name, .text = buf_str(&c->args)};
    daruma_buf out = buf_in(s->room);
    s->d->write_answer(&t, &(write_ctx){.model = s->model}, &out);
    return out.full ? (daruma_str){0} : buf_str(&out);
}
