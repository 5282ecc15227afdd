/* talk_fates.c - what becomes of what an attempt says. An answer is a list of blocks (parts, items). Where an attempt
 * before was cut, the client has the first of them, and this answer is joined to them at a seam within its text:
 *
 *     the client has   [text] [search] [text ......... |
 *     this attempt            [search] [ .. said again | new ] [search] [text] [call]
 *     place                    AGAIN       AGAIN         SEAM   BEHIND   BEHIND
 *
 * One table decides, by the place of what is said and by what it is; the rest of this file does so. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/answer/talk_inside.h"

/* What an attempt says. */
typedef enum talk_what {
    SAYS_START,
    SAYS_TEXT,
    SAYS_REFUSAL,
    SAYS_THOUGHT, /* thinking that anybody takes back */
    SAYS_SIGNED,  /* thinking, its signature, or what is redacted of it, where the client has no whole one yet */
    SAYS_SOURCES, /* Chat, Responses: sources of a text, by their places in it */
    SAYS_CITED,   /* Messages: sources of the text of a block */
    SAYS_PIECE,   /* Messages: else of a block that is not told apart: what a server's own tool did */
    SAYS_ITEM,    /* Responses: an item that is not told apart, whole: what a server's own tool did */
    SAYS_CALL,    /* Responses: a call that is no function's, whole */
    SAYS_PART,    /* Gemini: a part that is neither text nor a call: an image, code */
    SAYS_ONCE,    /* elsewhere: an image, sound; or its provider did what must not be done twice */
    SAYS_REST,    /* what is written with the end, or is of no use to this client */
} talk_what;

/* Where it is said: in a mode that joins nothing, or in an answer that is joined. */
typedef enum talk_place {
    PLAIN = TALK_PLAIN,
    BRIDGE = TALK_BRIDGE,
    ANEW = TALK_ANEW,
    REASK = TALK_REASK,
    AGAIN,  /* in front of the seam: the client may have it already */
    FIRST,  /* the same, but the answer was begun for the model, which has said no text yet: it is new */
    SEAM,   /* in the block in which the text was joined, which goes on in what the client has open */
    BEHIND, /* behind that block: it is new, and stands where it came */
    LOOSE,  /* behind it, but what it refers to may have been left out, or the client's open text would stay empty */
    PLACES,
    WAITS = PLACES,
} talk_place;

typedef enum talk_fate { SHOWN, AHEAD, HELD, NEVER, ENDS } talk_fate;

/* SHOWN at once, but where something is held that came before it: then as WAITS says. AHEAD: shown at once all the
 * same. HELD until it is clear where it goes, or for the end. NEVER shown. ENDS: the attempt is of no use, since it can
 * neither be shown nor be missing. Nothing in the last column: SHOWN, whatever is held. */
// clang-format off
static const talk_fate fates[][PLACES + 1] = {
    /*                 PLAIN  BRIDGE ANEW   REASK  AGAIN  FIRST  SEAM   BEHIND LOOSE  WAITS */
    [SAYS_START]   = { SHOWN, AHEAD, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER        },
    [SAYS_TEXT]    = { SHOWN, SHOWN, SHOWN, HELD,  HELD,  HELD,  SHOWN, SHOWN, SHOWN, HELD  },
    [SAYS_REFUSAL] = { SHOWN, AHEAD, AHEAD, ENDS,  ENDS,  ENDS,  ENDS,  ENDS,  ENDS         },
    [SAYS_THOUGHT] = { SHOWN, AHEAD, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER        },
    [SAYS_SIGNED]  = { SHOWN, NEVER, SHOWN, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER },
    [SAYS_SOURCES] = { SHOWN, NEVER, SHOWN, NEVER, NEVER, NEVER, SHOWN, SHOWN, SHOWN, HELD  },
    [SAYS_CITED]   = { SHOWN, NEVER, SHOWN, NEVER, NEVER, NEVER, NEVER, SHOWN, NEVER, HELD  },
    [SAYS_PIECE]   = { SHOWN, NEVER, SHOWN, NEVER, NEVER, SHOWN, SHOWN, SHOWN, NEVER, HELD  },
    [SAYS_ITEM]    = { SHOWN, NEVER, SHOWN, HELD,  HELD,  HELD,  SHOWN, SHOWN, HELD,  HELD  },
    [SAYS_CALL]    = { SHOWN, NEVER, HELD,  HELD,  HELD,  HELD,  HELD,  HELD,  HELD         },
    [SAYS_PART]    = { SHOWN, NEVER, SHOWN, ENDS,  ENDS,  ENDS,  SHOWN, SHOWN, SHOWN, HELD  },
    [SAYS_ONCE]    = { SHOWN, NEVER, ENDS,  ENDS,  ENDS,  ENDS,  ENDS,  ENDS,  ENDS         },
    [SAYS_REST]    = { SHOWN, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER        },
};
// clang-format on

/* True if the client has a text open that an attempt before began, and nothing of this one yet. */
static bool text_is_open(const talk *t)
{
    const turn_reader *r = &t->out->r;
    return t->shown == NONE_SHOWN && r->open >= 0 && r->open_kind == DELTA_TEXT;
}

static talk_place place_of(const talk *t)
{
    if (t->mode < TALK_JOIN)
        return (talk_place)t->mode;
    bool loose = t->left_out || (text_is_open(t) && !t->out->r.open_bytes);
    if (t->mode == TALK_JOIN)
        return t->going == GOING_PREFILLED && !t->fresh.n && !loose ? FIRST : AGAIN;
    return loose ? LOOSE : t->in.open == t->seam_at ? SEAM : BEHIND;
}

static talk_fate fate_of(const talk *t, talk_what what)
{
    bool waits = t->mode == TALK_PLAIN ? t->holding : t->waits || t->fresh.n;
    talk_fate fate = fates[what][place_of(t)];
    return fate == SHOWN && waits ? fates[what][WAITS] : fate;
}

bool talk_flows(const talk *t)
{
    return t->mode != TALK_PLAIN && fates[SAYS_TEXT][place_of(t)] != HELD;
}

bool talk_shows_thinking(const talk *t)
{
    return t->shows_thinking && fate_of(t, SAYS_SIGNED) == SHOWN;
}

bool talk_redacted(const talk *t, daruma_str block)
{
    return t->from == &dialect_anthropic && str_eq(json_get(block, S("type")), S("\"redacted_thinking\""));
}

/* True if places in the text of this attempt are places in the client's: a text that began behind the seam. */
static bool same_text(const talk *t)
{
    const turn_reader *r = &t->out->r;
    bool open = r->open >= 0 && r->open_kind == DELTA_TEXT && t->in.open_kind == DELTA_TEXT;
    return t->to == &dialect_openai_responses && open && r->open_bytes == t->in.open_bytes;
}

/* What a delta is that no other kind of delta says. */
static talk_what other_of(const talk *t, daruma_str piece)
{
    bool in_call = t->in.open >= 0 && t->in.open_kind == DELTA_CALL; /* which is written from what is known of it */
    if (t->from == t->to && t->to == &dialect_gemini)
        return SAYS_PART;
    if (dialect_is_media(piece))
        return SAYS_ONCE;
    if (talk_redacted(t, piece))
        return t->shows_thinking ? SAYS_SIGNED : SAYS_REST;
    if (!talk_takes_signed(t) || talk_in_thinking(&t->in) || in_call)
        return SAYS_REST;
    return json_get(piece, S("citation")).n ? SAYS_CITED : SAYS_PIECE;
}

static talk_what what_of(const talk *t, const turn_delta *d)
{
    switch (d->kind) {
    case DELTA_START:
        return SAYS_START;
    case DELTA_TEXT:
        return SAYS_TEXT;
    case DELTA_REFUSAL:
        return SAYS_REFUSAL;
    case DELTA_THINKING:
        if (dialect_takes_thinking(t->to))
            return SAYS_THOUGHT;
        return t->shows_thinking ? SAYS_SIGNED : SAYS_REST;
    case DELTA_SIGNATURE:
        return t->shows_thinking && d->index < 0 ? SAYS_SIGNED : SAYS_REST;
    case DELTA_OTHER:
        return other_of(t, d->text);
    case DELTA_SOURCES:
        return t->from == t->to && (t->mode != TALK_JOINED || same_text(t)) ? SAYS_SOURCES : SAYS_REST;
    case DELTA_CALL:
    case DELTA_ARGUMENTS:
    case DELTA_CALL_END:
    case DELTA_FINISH:
    case DELTA_USAGE:
    case DELTA_END:
    case DELTA_BLOCK:
        break;
    }
    return SAYS_REST;
}

/* ---- shown ---- */

/* True if the text of the block at hand goes on in the one that the client has open of the attempt before: not behind
 * sources, which would name what follows as well, nor once the block is over in which the answer was joined. */
static bool goes_on_open(const talk *t)
{
    bool over = t->out->r.open == t->sourced || (t->mode == TALK_JOINED && t->in.open != t->seam_at);
    return text_is_open(t) && (!over || !t->out->r.open_bytes);
}

/* In Messages a block of the provider is one of the client's: two thoughts have a signature each, two texts their own
 * citations. Text goes on in what is open of the attempt before. */
static void keep_apart(session *x, delta_kind kind)
{
    talk *t = x->t;
    if (!talk_takes_signed(t))
        return;
    if (kind == DELTA_TEXT && goes_on_open(t))
        t->shown = t->in.open;
    turn_delta close = {.kind = DELTA_BLOCK, .index = -1, .usage = TURN_USAGE_NONE};
    if (t->shown != t->in.open) {
        talk_write_delta(x, &close);
        if (t->seam_at == t->in.open)
            t->seam_at = NONE_SHOWN; /* it has a block of its own, and sources name nothing else there */
    }
    t->shown = t->in.open;
}

static void show_text(session *x, daruma_str text)
{
    talk *t = x->t;
    while (text.n && t->passed < t->blanks && text.p[0] == t->said.p[t->passed]) {
        text = str_from(text, 1); /* the client has the blanks that it begins with */
        t->passed++;
    }
    if (text.n)
        keep_apart(x, DELTA_TEXT);
    talk_write_text(x, text);
}

static void show(session *x, talk_what what, const turn_delta *d)
{
    talk *t = x->t;
    turn_delta shown = *d;
    if (what == SAYS_TEXT) {
        show_text(x, d->text);
        return;
    }
    if (what == SAYS_START) {
        shown.model = x->out.scan.model;
        shown.usage = t->usage;
        if (shown.usage.input < 0 && x->moved && x->d == &dialect_anthropic) /* which alone says it here */
            shown.usage.input = x->moved->tokens;
    }
    shown.piece = what == SAYS_PIECE || what == SAYS_CITED;
    if (shown.piece || what == SAYS_SIGNED)
        keep_apart(x, shown.piece ? t->in.open_kind : DELTA_THINKING);
    if (d->kind == DELTA_OTHER)
        shown.kind = DELTA_BLOCK;
    talk_write_delta(x, &shown);
}

/* ---- held ---- */

bool talk_join(session *x, bool whole)
{
    talk *t = x->t;
    if (!t->seam) {
        t->seam = ARENA_NEW(&t->arena, join_seam, 1);
        if (!t->seam)
            return false;
        *t->seam = join_begin(buf_str(&t->said), t->going);
    }
    join_result r = join_next(t->seam, buf_str(&t->fresh), whole);
    if (r.verdict == JOIN_MORE && !whole)
        return true;
    if (r.verdict != JOIN_AT)
        return false;
    daruma_buf fresh = t->fresh; /* said grows while it is written */
    t->fresh = (daruma_buf){.arena = fresh.arena};
    t->mode = TALK_JOINED;
    t->waits = false;
    t->seam_at = t->in.open;
    show_text(x, str_from(buf_str(&fresh), r.skip));
    return true;
}

static bool hold_text(session *x, daruma_str text)
{
    talk *t = x->t;
    bool flows = talk_flows(t), much = t->fresh.n + text.n > TALK_SAID_BYTES_MAX;
    if (flows && t->parts) { /* the client gets both in the order in which they came */
        bool same = t->last->part.kind == PART_TEXT && str_eq(t->last->part.name, talk_phase(t));
        held_part *h = same ? t->last : talk_collect(t, PART_TEXT);
        if (h) {
            h->part.name = arena_copy(&t->arena, talk_phase(t));
            buf_put(&h->text, text);
        }
        return true;
    }
    if (flows && much) { /* unchecked, as it came */
        talk_write_text(x, buf_str(&t->fresh));
        talk_write_text(x, text);
        t->fresh.n = 0;
        return true;
    }
    if (much)
        return talk_gives_up(x);
    buf_put(&t->fresh, text);
    return t->mode != TALK_JOIN || talk_join(x, false) || talk_gives_up(x);
}

static bool hold(session *x, talk_what what, const turn_delta *d)
{
    talk *t = x->t;
    if (what == SAYS_TEXT)
        return hold_text(x, d->text);
    held_part *h = talk_collect(t, PART_OTHER);
    if (h)
        *(what == SAYS_SOURCES ? &h->part.value : &h->part.raw) = arena_copy(&t->arena, d->text);
    return true;
}

static bool obey(session *x, talk_what what, const turn_delta *d)
{
    switch (fate_of(x->t, what)) {
    case SHOWN:
    case AHEAD:
        if (what == SAYS_TEXT && talk_strays(x, d->text))
            return hold(x, what, d);
        show(x, what, d);
        return true;
    case HELD:
        return hold(x, what, d);
    case ENDS:
        return talk_gives_up(x);
    case NEVER:
        x->t->left_out |= what == SAYS_PIECE;
        break;
    }
    return true;
}

bool talk_rewrite(session *x, const turn_delta *d)
{
    return obey(x, what_of(x->t, d), d);
}

/* Text, thinking and calls of functions are said by deltas. */
static bool is_told_apart(daruma_str item)
{
    daruma_str type = json_get(item, S("type"));
    return (str_eq(type, S("\"function_call\"")) && !dialect_client_call(item)) || str_eq(type, S("\"message\"")) ||
           str_eq(type, S("\"reasoning\""));
}

bool talk_rewrite_event(session *x, const dialect_said *e)
{
    talk *t = x->t;
    daruma_str done = x->p == x->d ? dialect_done_item(e) : (daruma_str){0};
    turn_delta item = {.kind = DELTA_OTHER, .index = -1, .text = done, .usage = TURN_USAGE_NONE};
    bool waited = t->waits, loose = place_of(t) == LOOSE;
    if (x->answer.view.effects && !obey(x, SAYS_ONCE, &item))
        return false;
    bool good = !done.n || is_told_apart(done) || obey(x, dialect_client_call(done) ? SAYS_CALL : SAYS_ITEM, &item);
    if (loose) /* the text that fills the open message does not wait for what is written behind it */
        t->waits = waited;
    return good;
}
