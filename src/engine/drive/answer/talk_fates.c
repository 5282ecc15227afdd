/* talk_fates.c - what becomes of what an attempt says. One table decides, by what the client has of the answer and what
 * it is that is said; the rest of this file does so. */
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
    SAYS_PIECE,   /* Messages: of a block that is not told apart: what a server's own tool did, sources of a text */
    SAYS_ITEM,    /* Responses: an item that is not told apart, whole: what a server's own tool did */
    SAYS_CALL,    /* Responses: a call that is no function's, whole */
    SAYS_PART,    /* Gemini: a part that is neither text nor a call: an image, code */
    SAYS_MEDIA,   /* elsewhere: an image, sound */
    SAYS_ACT,     /* its provider did what must not be done twice */
    SAYS_STRAY,   /* a piece that has no place in a joined answer, or perhaps a wrong one */
    SAYS_REST,    /* what is written with the end, and what nobody takes from this provider */
} talk_what;

typedef enum talk_fate { SHOWN, AHEAD, HELD, NEVER, ENDS } talk_fate;
enum { BEHIND = TALK_MODES };

/* SHOWN at once, but where something is held that came before it: then as BEHIND says. AHEAD: shown at once all the
 * same. HELD until it is clear where it goes, or for the end. NEVER shown. ENDS: the attempt is of no use, since it can
 * neither be shown nor be missing. Nothing in the last column: SHOWN, whatever is held. */
// clang-format off
static const talk_fate fates[][TALK_MODES + 1] = {
    /*                 PLAIN  BRIDGE ANEW   JOIN   JOINED REASK  BEHIND */
    [SAYS_START]   = { SHOWN, AHEAD, NEVER, NEVER, NEVER, NEVER        },
    [SAYS_TEXT]    = { SHOWN, SHOWN, SHOWN, HELD,  SHOWN, HELD,  HELD  },
    [SAYS_REFUSAL] = { SHOWN, AHEAD, AHEAD, ENDS,  ENDS,  ENDS         },
    [SAYS_THOUGHT] = { SHOWN, AHEAD, NEVER, NEVER, NEVER, NEVER        },
    [SAYS_SIGNED]  = { SHOWN, NEVER, SHOWN, NEVER, NEVER, NEVER, NEVER },
    [SAYS_SOURCES] = { SHOWN, NEVER, SHOWN, NEVER, SHOWN, NEVER, HELD  },
    [SAYS_PIECE]   = { SHOWN, NEVER, SHOWN, SHOWN, SHOWN, NEVER, HELD  },
    [SAYS_ITEM]    = { SHOWN, NEVER, SHOWN, HELD,  SHOWN, HELD,  HELD  },
    [SAYS_CALL]    = { SHOWN, NEVER, HELD,  HELD,  HELD,  HELD         },
    [SAYS_PART]    = { SHOWN, NEVER, SHOWN, ENDS,  SHOWN, ENDS,  HELD  },
    [SAYS_MEDIA]   = { SHOWN, NEVER, ENDS,  ENDS,  ENDS,  ENDS         },
    [SAYS_ACT]     = { SHOWN, NEVER, ENDS,  ENDS,  ENDS,  ENDS         },
    [SAYS_STRAY]   = { SHOWN, NEVER, NEVER, NEVER, NEVER, NEVER        },
    [SAYS_REST]    = { SHOWN, NEVER, NEVER, NEVER, NEVER, NEVER        },
};
// clang-format on

static talk_fate fate_of(const talk *t, talk_what what)
{
    bool waits = t->calls && t->last != t->ahead;
    bool behind = t->mode == TALK_PLAIN ? t->holding : waits || t->fresh.n;
    talk_fate fate = fates[what][t->mode];
    return fate == SHOWN && behind ? fates[what][BEHIND] : fate;
}

bool talk_flows(const talk *t)
{
    return t->mode != TALK_PLAIN && fates[SAYS_TEXT][t->mode] != HELD;
}

bool talk_shows_thinking(const talk *t)
{
    return t->shows_thinking && fate_of(t, SAYS_SIGNED) == SHOWN;
}

bool talk_redacted(const talk *t, daruma_str block)
{
    return t->from == &dialect_anthropic && str_eq(json_get(block, S("type")), S("\"redacted_thinking\""));
}

/* True if the text of the block at hand goes on in the one that the client has open of the attempt before: not behind
 * sources, which would name what follows as well, nor once the block is over in which the answer was joined. */
static bool glues(const talk *t)
{
    const turn_reader *r = &t->out->r;
    bool over = r->open == t->sourced || (t->mode == TALK_JOINED && t->in.open != t->seam_at);
    bool open = r->open >= 0 && r->open_kind == DELTA_TEXT && (!over || !r->open_bytes);
    return t->shown == NONE_SHOWN && open;
}

/* A piece behind the place where an answer is joined is new, and stands where it came. One in front of it may be what
 * the client has already, unless the answer was begun for the model; what refers to that has no place, either. Sources
 * of the text that is joined would name what stands in front of it, too, or a text without a word. */
static talk_what piece_of(talk *t, daruma_str piece)
{
    bool source = json_get(piece, S("citation")).n, joins = t->mode == TALK_JOIN;
    bool empties = glues(t) && !t->out->r.open_bytes; /* an empty text would be refused when it comes back */
    bool early = empties || (joins && (t->going != GOING_PREFILLED || t->fresh.n));
    t->left_out |= early && !source;
    bool of_seam = source && (joins || t->in.open == t->seam_at);
    bool strays = early || t->left_out || of_seam;
    return (joins || t->mode == TALK_JOINED) && strays ? SAYS_STRAY : SAYS_PIECE;
}

/* True if the client's open text is that of this attempt from its first byte on: places in the one are places in the
 * other. */
static bool same_text(const talk *t)
{
    const turn_reader *r = &t->out->r;
    bool open = r->open >= 0 && r->open_kind == DELTA_TEXT && t->in.open_kind == DELTA_TEXT;
    return t->to == &dialect_openai_responses && open && r->open_bytes == t->in.open_bytes;
}

static talk_what what_of(talk *t, const turn_delta *d)
{
    bool in_call = t->in.open >= 0 && t->in.open_kind == DELTA_CALL; /* which is written from what is known of it */
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
        if (t->from == t->to && t->to == &dialect_gemini)
            return SAYS_PART;
        if (dialect_is_media(d->text))
            return SAYS_MEDIA;
        if (talk_redacted(t, d->text))
            return t->shows_thinking ? SAYS_SIGNED : SAYS_REST;
        return talk_takes_signed(t) && !talk_in_thinking(&t->in) && !in_call ? piece_of(t, d->text) : SAYS_REST;
    case DELTA_SOURCES:
        return t->from != t->to ? SAYS_REST : t->mode != TALK_JOINED || same_text(t) ? SAYS_SOURCES : SAYS_STRAY;
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

/* In Messages a block of the provider is one of the client's: two thoughts have a signature each, two texts their own
 * citations. Text goes on in what is open of the attempt before. */
static void keep_apart(session *x, delta_kind kind)
{
    talk *t = x->t;
    if (!talk_takes_signed(t))
        return;
    if (kind == DELTA_TEXT && glues(t))
        t->shown = t->in.open;
    turn_delta close = {.kind = DELTA_BLOCK, .index = -1, .usage = TURN_USAGE_NONE};
    if (t->shown != t->in.open)
        talk_write_delta(x, &close);
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
    if (what == SAYS_SIGNED || what == SAYS_PIECE)
        keep_apart(x, what == SAYS_PIECE ? t->in.open_kind : DELTA_THINKING);
    if (d->kind == DELTA_OTHER)
        shown.kind = DELTA_BLOCK;
    shown.piece = what == SAYS_PIECE;
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
    t->ahead = t->last;
    if (t->shown == NONE_SHOWN || r.skip == fresh.n)
        t->seam_at = t->in.open;
    show_text(x, str_from(buf_str(&fresh), r.skip));
    return true;
}

static bool hold_text(session *x, daruma_str text)
{
    talk *t = x->t;
    bool flows = talk_flows(t), much = t->fresh.n + text.n > TALK_SAID_BYTES_MAX;
    if (flows && t->calls) { /* the client gets both in the order in which they came */
        bool same = t->last->words && str_eq(t->last->name, talk_phase(t));
        held_call *c = same ? t->last : talk_collect(t);
        if (c) {
            c->words = true;
            c->name = arena_copy(&t->arena, talk_phase(t));
            buf_put(&c->args, text);
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
    held_call *c = talk_collect(t);
    if (c) {
        c->block = arena_copy(&t->arena, d->text);
        c->sources = what == SAYS_SOURCES;
    }
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

/* True if an item that is shown now would leave a message without a word in the answer: the text behind it goes there.
 */
static bool leaves_empty(const talk *t)
{
    const turn_reader *r = &t->out->r;
    bool joined = t->mode == TALK_JOINED && t->last == t->ahead;
    return joined && r->open >= 0 && r->open_kind == DELTA_TEXT && !r->open_bytes;
}

bool talk_rewrite_event(session *x, const dialect_said *e)
{
    turn_delta item = {.kind = DELTA_OTHER, .index = -1, .usage = TURN_USAGE_NONE};
    item.text = x->p == x->d ? dialect_done_item(e) : (daruma_str){0};
    bool acts = x->answer.view.effects && !obey(x, SAYS_ACT, &item);
    bool fills = leaves_empty(x->t);
    talk_what what = dialect_client_call(item.text) || fills ? SAYS_CALL : SAYS_ITEM;
    bool good = !acts && (!item.text.n || is_told_apart(item.text) || obey(x, what, &item));
    if (fills)
        x->t->ahead = x->t->last;
    return good;
}
