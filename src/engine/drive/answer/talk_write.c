/* talk_write.c - the client's stream, where it is written by us: of another dialect, behind a seam, or asked for again.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/talk_inside.h"
#include "engine/drive/mend/recall.h"

/* Server tools of Messages that only read, so that an answer may be gone on with behind them. */
static const daruma_str server_tools[] = {LIT("web_search"), LIT("web_fetch"), LIT("tool_search")};

static void leave_thinking(talk *t)
{
    const turn_reader *r = &t->out->r;
    t->out->half = r->open >= 0 && r->open_kind == DELTA_THINKING;
}

/* A server's tool call without a result would be refused when it comes back: it has none, and says so as its provider
 * does when the tool fails. */
void talk_leave_off(session *x)
{
    talk *t = x->t;
    daruma_buf b = buf_in(x->arena);
    leave_thinking(t);
    daruma_str tool = json_text(json_get(t->tool, S("name")), x->arena);
    for (size_t i = 0; i < COUNT(server_tools); i++)
        if (str_starts(tool, server_tools[i]))
            BUF_SAY(&b, "{\"type\":\"", server_tools[i], "_tool_result\",\"tool_use_id\":", json_get(t->tool, S("id")),
                    ",\"content\":{\"type\":\"", server_tools[i],
                    "_tool_result_error\",\"error_code\":\"unavailable\"}}");
    turn_delta d = {.kind = DELTA_BLOCK, .index = -1, .text = buf_str(&b), .piece = true, .usage = TURN_USAGE_NONE};
    t->room = x->arena;
    if (b.n && !b.full) {
        talk_write_delta(x, &d);
        session_did(x, DARUMA_REMEDY_MEND_ANSWER);
    }
    t->tool = (daruma_str){0}; /* whoever goes on, of whatever dialect */
}

turn_writer *talk_writer(talk *t)
{
    if (t->out)
        return t->out;
    t->out = ARENA_NEW(&t->arena, turn_writer, 1);
    if (!t->out)
        return NULL;
    t->out->usage = TURN_USAGE_NONE;
    t->out->wall = t->wall;
    t->out->made = t->made;
    t->out->text = buf_in(&t->arena);
    t->out->usage_asked = t->usage_asked;
    t->out->functions = t->functions;
    if (t->begun && !t->writing) { /* it goes on with what was passed on */
        t->out->r = t->at_hold ? *t->at_hold : t->in;
        if (t->to == &dialect_openai_responses) /* the end of no other says it again */
            buf_put(&t->out->text, buf_str(&t->said));
        if (t->items)
            t->out->items = *t->items;
        leave_thinking(t);
    }
    t->writing = true;
    return t->out;
}

static void say(talk *t, daruma_str text)
{
    if (text.n)
        t->blanks = 0; /* what follows is behind it */
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

/* Another attempt would say it again, or could not go on with it: a refusal, a call that the client carries out, sound,
 * an image. */
static bool settles(const turn_delta *d)
{
    return (d->kind == DELTA_REFUSAL && d->text.n) || ((d->kind == DELTA_OTHER || d->kind == DELTA_BLOCK) &&
                                                       (dialect_client_call(d->text) || dialect_is_media(d->text)));
}

/* What of a piece of Messages decides how another attempt may go on. */
static void note_piece(talk *t, daruma_str block)
{
    daruma_str type = json_get(block, S("type"));
    if (str_eq(type, S("\"citations_delta\"")))
        t->sourced = t->writing ? t->out->r.open : t->in.open;
    else if (str_eq(type, S("\"server_tool_use\"")))
        t->tool = arena_copy(&t->arena, block);
    else if (str_eq(json_get(block, S("tool_use_id")), json_get(t->tool, S("id"))))
        t->tool = (daruma_str){0};
}

void talk_shown(talk *t, const turn_delta *d)
{
    bool other = d->kind == DELTA_OTHER || d->kind == DELTA_BLOCK;
    if (d->kind == DELTA_TEXT)
        say(t, d->text);
    if (other && talk_takes_signed(t))
        note_piece(t, d->text);
    t->settled |= settles(d);
    t->thought |= (d->kind == DELTA_SIGNATURE && d->index < 0) || (other && talk_redacted(t, d->text));
}

static void was_put(talk *t, const daruma_buf *out)
{
    if (out->full)
        t->lost = t->unsure = true; /* the client must not take what follows for all of it */
    t->begun = true;
}

/* What of a delta the client reads, behind what `out` holds. */
static void put_delta(talk *t, const turn_delta *d, daruma_buf *out)
{
    t->to->write_delta(t->out, d, out);
    talk_shown(t, d);
    was_put(t, out);
}

static void put_text(talk *t, daruma_str text, daruma_str phase, daruma_buf *out)
{
    turn_delta d = {.kind = DELTA_TEXT, .index = -1, .name = phase, .text = text, .usage = TURN_USAGE_NONE};
    if (text.n)
        put_delta(t, &d, out);
}

void talk_write_delta(session *x, const turn_delta *d)
{
    daruma_buf out = buf_in(x->t->room);
    put_delta(x->t, d, &out);
    if (!out.full)
        relay_forward(x, buf_str(&out));
    else
        x->answer.too_long = LONG_WRITTEN;
}

void talk_write_text(session *x, daruma_str text)
{
    turn_delta d = {.kind = DELTA_TEXT, .index = -1, .name = talk_phase(x->t), .text = text, .usage = TURN_USAGE_NONE};
    d.piece = x->t->in.open != x->t->seam_at;
    if (text.n)
        talk_write_delta(x, &d);
}

static void put_parts(talk *t, const turn *got, daruma_buf *out)
{
    int calls = 0;
    bool behind = false; /* a call or a block; what was said before them is out */
    for (size_t i = 0; i < got->message.nparts; i++) {
        const convo_part *p = &got->message.parts[i];
        turn_delta d = {.kind = DELTA_BLOCK, .index = -1, .text = p->raw, .usage = TURN_USAGE_NONE};
        d.piece = t->to == &dialect_anthropic;
        if (!p->raw.n) {
            d.kind = DELTA_SOURCES;
            d.text = p->value;
        }
        if (p->kind == PART_OTHER)
            put_delta(t, &d, out);
        if (p->kind == PART_TEXT && behind)
            put_text(t, p->text, p->name, out);
        behind |= p->kind != PART_TEXT;
        if (p->kind != PART_CALL)
            continue;
        dialect_put_call(t->out, t->to, p, calls++, out);
        was_put(t, out);
    }
}

static void put_end(talk *t, daruma_buf *out)
{
    turn_delta d = {
        .kind = DELTA_FINISH, .index = -1, .finish = t->finish, .finish_raw = t->finish_raw, .usage = TURN_USAGE_NONE};
    if (t->from != t->to)
        t->finish_raw = t->stopped_by = d.finish_raw = (daruma_str){0};
    t->out->finish_raw = t->finish_raw;
    t->out->stopped_by = t->stopped_by;
    put_delta(t, &d, out);
    d = (turn_delta){.kind = DELTA_USAGE, .index = -1, .usage = t->usage};
    put_delta(t, &d, out);
    t->out->usage_raw = t->usage_raw ? buf_str(t->usage_raw) : (daruma_str){0};
    d = (turn_delta){.kind = DELTA_END, .index = -1, .usage = TURN_USAGE_NONE};
    put_delta(t, &d, out);
}

bool talk_put_rest(talk *t, const turn *got, daruma_buf *out)
{
    if (talk_flows(t))
        put_text(t, buf_str(&t->fresh), (daruma_str){0}, out);
    if (t->mode == TALK_REASK && (!t->said.n || !t->parts)) { /* but for what the client has */
        join_result r = join_find(buf_str(&t->said), buf_str(&t->fresh), true, GOING_ANCHORED);
        put_text(t, str_from(buf_str(&t->fresh), r.verdict == JOIN_AT ? r.skip : 0), (daruma_str){0}, out);
    }
    put_parts(t, got, out);
    if (!t->out->broken && !t->unsure && !t->arena.full) {
        put_end(t, out);
        if (!t->unsure)
            return true;
    }
    t->lost = true; /* not all of it could be written */
    return false;
}

bool talk_close(session *x, daruma_str words, turn_finish how)
{
    talk *t = x->t;
    if (!t || !t->begun || t->lost || !talk_writer(t) || t->arena.full)
        return false;
    if (talk_thought_half(x))
        mended_half_thought(x, false);
    talk_leave_off(x);
    t->parts = t->last = NULL;
    t->hold.n = 0;
    if (t->said.n && words.n)
        talk_write_text(x, S("\n\n"));
    talk_write_text(x, words);
    t->finish = how;
    t->finish_raw = t->stopped_by = (daruma_str){0};
    daruma_buf out = buf_in(t->room);
    put_end(t, &out);
    relay_forward(x, buf_str(&out));
    return !t->lost && !t->out->broken;
}
