/* talk_anew.c - what the client gets of an answer that is made again, where the one before broke off ahead of its first
 * word: its blocks as they came, behind what the client has. */
#include "base/json.h"
#include "engine/drive/answer/talk_inside.h"

bool talk_redacted(const talk *t, daruma_str block)
{
    return t->from == &dialect_anthropic && str_eq(json_get(block, S("type")), S("\"redacted_thinking\""));
}

bool talk_shows_thinking(const talk *t)
{
    return t->shows_thinking && !t->calls && !t->fresh.n;
}

/* A block of the provider is one of the client's: two thoughts have a signature each, two texts their own citations.
 * Text goes on in what is open of the attempt before: that is white space, which a provider refuses if it stands alone.
 */
static void keep_apart(session *x, delta_kind kind)
{
    talk *t = x->t;
    const turn_reader *r = &t->out->r;
    if (t->shown == NONE_SHOWN && kind == DELTA_TEXT && r->open >= 0 && r->open_kind == DELTA_TEXT)
        t->shown = t->in.open;
    turn_delta close = {.kind = DELTA_BLOCK, .index = -1, .usage = TURN_USAGE_NONE};
    if (t->shown != t->in.open)
        talk_write_delta(x, &close);
    t->shown = t->in.open;
}

void talk_show_thinking(session *x, const turn_delta *d)
{
    talk *t = x->t;
    turn_delta shown = *d;
    if (!talk_shows_thinking(t) || d->index >= 0)
        return;
    keep_apart(x, DELTA_THINKING);
    if (d->kind == DELTA_OTHER)
        shown.kind = DELTA_BLOCK;
    t->thought |= d->kind != DELTA_THINKING;
    talk_write_delta(x, &shown);
}

bool talk_show_other(session *x, const turn_delta *d)
{
    talk *t = x->t;
    turn_delta piece = *d;
    bool in_call = t->in.open >= 0 && t->in.open_kind == DELTA_CALL;  /* which is written from what is known of it */
    if (!talk_takes_signed(t) || talk_in_thinking(&t->in) || in_call) /* with its thinking */
        return true;
    if (t->calls || t->fresh.n)
        return talk_gives_up(x);
    keep_apart(x, t->in.open_kind);
    piece.kind = DELTA_BLOCK;
    piece.piece = true;
    talk_write_delta(x, &piece);
    return true;
}

void talk_show_text(session *x, daruma_str text)
{
    talk *t = x->t;
    bool anew = t->mode == TALK_ANEW;
    while (anew && text.n && t->passed < t->blanks && text.p[0] == t->said.p[t->passed]) {
        text = str_from(text, 1); /* the client has the blanks that it begins with */
        t->passed++;
    }
    if (anew && talk_takes_signed(t) && text.n)
        keep_apart(x, DELTA_TEXT);
    talk_write_text(x, text);
}
