/* talk_write.c - the client's stream, where it is written by us: of another dialect, behind a seam, or mended. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/talk.h"

turn_writer *talk_writer(session *x)
{
    talk *t = x->t;
    if (t->out)
        return t->out;
    t->out = ARENA_NEW(&t->arena, turn_writer, 1);
    if (!t->out)
        return NULL;
    t->out->usage = TURN_USAGE_NONE;
    t->out->wall = session_now(x).wall;
    t->out->made = x->kase.id;
    t->out->text = buf_in(&t->arena);
    t->out->usage_asked = json_is_true(json_path(x->body, "stream_options.include_usage"));
    if (t->begun && !t->writing) { /* it goes on with what was passed on */
        t->out->r = t->at_hold ? *t->at_hold : t->in;
        buf_put(&t->out->text, buf_str(&t->said));
        t->out->items = t->items;
    }
    t->writing = true;
    return t->out;
}

void talk_say(talk *t, daruma_str text)
{
    if (t->lost || !text.n)
        return;
    if (t->said.n + text.n > TALK_SAID_BYTES_MAX) {
        t->lost = true;
        t->said = (daruma_buf){.arena = t->said.arena};
        return;
    }
    buf_put(&t->said, text);
    t->lost = t->said.full;
}

void talk_write_delta(session *x, const turn_delta *d)
{
    talk *t = x->t;
    daruma_buf out = buf_in(t->room);
    if (d->kind == DELTA_TEXT)
        talk_say(t, d->text);
    x->d->write_delta(t->out, d, &out);
    if (out.full)
        t->lost = t->unsure = true; /* the client must not take what follows for all of it */
    else
        relay_forward(x, buf_str(&out));
    t->begun = true;
}

void talk_write_text(session *x, daruma_str text)
{
    turn_delta d = {.kind = DELTA_TEXT, .index = -1, .text = text, .usage = TURN_USAGE_NONE};
    if (text.n)
        talk_write_delta(x, &d);
}

void talk_write_calls(session *x, const turn *t)
{
    int index = 0;
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->kind != PART_CALL)
            continue;
        turn_delta d = {.kind = DELTA_CALL, .index = index, .id = p->id, .name = p->name, .usage = TURN_USAGE_NONE};
        talk_write_delta(x, &d);
        d = (turn_delta){.kind = DELTA_ARGUMENTS, .index = index, .text = p->text, .usage = TURN_USAGE_NONE};
        talk_write_delta(x, &d);
        d = (turn_delta){.kind = DELTA_SIGNATURE, .index = index, .text = p->signature, .usage = TURN_USAGE_NONE};
        if (p->signature.n && x->p == x->d) /* another provider's is worth nothing */
            talk_write_delta(x, &d);
        d = (turn_delta){.kind = DELTA_CALL_END, .index = index, .usage = TURN_USAGE_NONE};
        talk_write_delta(x, &d);
        index++;
    }
}

void talk_write_end(session *x)
{
    talk *t = x->t;
    turn_delta d = {
        .kind = DELTA_FINISH, .index = -1, .finish = t->finish, .finish_raw = t->finish_raw, .usage = TURN_USAGE_NONE};
    if (x->p != x->d)
        d.finish_raw = (daruma_str){0};
    talk_write_delta(x, &d);
    d = (turn_delta){.kind = DELTA_USAGE, .index = -1, .usage = t->usage};
    talk_write_delta(x, &d);
    d = (turn_delta){.kind = DELTA_END, .index = -1, .usage = TURN_USAGE_NONE};
    talk_write_delta(x, &d);
}

void talk_write_again(session *x)
{
    talk *t = x->t;
    join_result r = join_find(buf_str(&t->said), buf_str(&t->fresh), true, GOING_ANCHORED);
    talk_write_text(x, str_from(buf_str(&t->fresh), r.verdict == JOIN_AT ? r.skip : 0));
}

bool talk_close(session *x, daruma_str words)
{
    talk *t = x->t;
    if (!t || !t->begun || t->lost || !talk_writer(x))
        return false;
    t->room = x->arena;
    t->calls = t->last = NULL;
    t->hold.n = 0;
    if (t->said.n)
        talk_write_text(x, S("\n\n"));
    talk_write_text(x, words);
    t->finish = FINISH_STOP;
    t->finish_raw = (daruma_str){0};
    talk_write_end(x);
    return !t->lost && !t->out->broken;
}
