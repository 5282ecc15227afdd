#include "dialect/streamed.h"
#include "base/arena.h"
#include "base/buf.h"

streamed streamed_begin(const dialect *d, daruma_arena *room)
{
    return (streamed){
        .d = d, .room = room, .fold = dialect_fold_begin(d, room), .rest = buf_in(room), .said = buf_in(room)};
}

daruma_str streamed_take(streamed *s, daruma_str bytes, daruma_arena *scratch)
{
    sse_event e;
    s->said.n = 0;
    buf_put(&s->rest, bytes);
    daruma_str rest = buf_str(&s->rest);
    s->full |= s->rest.full || !s->fold;
    if (s->full)
        return (daruma_str){0};
    while (sse_next(&rest, &e, scratch)) {
        dialect_said said;
        dialect_read_event(s->d, &e, &said);
        dialect_watch_said(&s->view, &said);
        if (s->view.error && !s->error.n)
            s->error = arena_copy(s->room, s->view.error_body);
        dialect_fold_event(s->fold, &said, scratch, &s->said);
    }
    if (rest.n < s->rest.n) {
        memmove(s->rest.p, rest.p, rest.n);
        s->rest.n = rest.n;
    }
    s->full |= scratch->full || s->room->full || s->said.full;
    return buf_str(&s->said);
}

daruma_str streamed_whole(streamed *s)
{
    turn t = {0};
    bool all; /* what has no place is nothing that agents read */
    if (s->full || !s->view.began || !dialect_fold_end(s->fold, &t, &all))
        return (daruma_str){0};
    daruma_buf out = buf_in(s->room);
    s->d->write_answer(&t, &(write_ctx){.model = t.model}, &out);
    return out.full ? (daruma_str){0} : buf_str(&out);
}
