/* messages.c - messages that a provider does not take. What its words name is mended where they name it; without words,
 * what is surely wrong on the wire. wrong.c reads the words. */
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/history.h"
#include "engine/mend/request/wrong.h"

/* Ours, in the place of what had to go. */
#define SAY_NO_OUTPUT "[no output]"
#define SAY_BEGIN     "[What was said before this is not here.]"
#define SAY_CONTINUE  "Go on from exactly where your last message ends. Do not repeat any of it."
#define SAY_JSON      "Answer in JSON."

static bool blank(convo *c, convo_part *p)
{
    return str_trim(convo_text(c, p)).n == 0;
}

/* ---- nothing said ---- */

/* Has an answer of the model anything that can stand alone? Thinking can not, but at Gemini. */
static bool hollow(const convo *c, const convo_message *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nparts; i++)
        n += !m->parts[i].dropped && (m->parts[i].kind != PART_THINKING || m->role != CONVO_ASSISTANT ||
                                      history_wire(c, WIRE_NO_IDS | WIRE_FLAT));
    return n == 0;
}

/* A message without anything goes, unless the user has to say something there. `before` and `next`: its neighbours. */
static void mend_hollow(mending *x, size_t i, size_t before, size_t next)
{
    convo *c = x->c;
    convo_message *m = &c->messages[i];
    bool between = before != STR_NONE && c->messages[before].role == CONVO_ASSISTANT &&
                   (next >= c->nmessages || c->messages[next].role == CONVO_ASSISTANT);
    bool first = before == STR_NONE || c->messages[before].role == CONVO_SYSTEM;
    x->n[MENDED_EMPTY]++;
    if (m->role != CONVO_USER || !(between || first)) {
        convo_drop_message(c, m);
        return;
    }
    convo_part *p = convo_insert_part(c, m, m->nparts, PART_TEXT);
    if (p)
        history_text(c, m, p, S(HISTORY_NOTHING));
}

static void mend_empty_result(mending *x, convo_message *m, convo_part *p, bool here)
{
    size_t left = 0, gone = 0;
    for (size_t i = 0; i < p->nparts; i++) {
        bool empty = !p->parts[i].dropped && p->parts[i].kind == PART_TEXT && blank(x->c, &p->parts[i]);
        left += !p->parts[i].dropped && !empty;
        gone += empty;
    }
    bool nothing = p->nparts ? gone && !left : here && blank(x->c, p);
    if (nothing) {
        convo_set_text(x->c, m, p, S(SAY_NO_OUTPUT));
    } else if (gone) {
        for (size_t i = 0; i < p->nparts; i++)
            if (!p->parts[i].dropped && p->parts[i].kind == PART_TEXT && blank(x->c, &p->parts[i]))
                convo_drop_part(x->c, m, &p->parts[i]);
    }
    x->n[MENDED_EMPTY] += nothing || gone;
}

static void mend_empty(mending *x)
{
    convo *c = x->c;
    bool texts = x->named || history_wire(c, WIRE_NO_EMPTY);
    size_t before = STR_NONE; /* the newest that stayed */
    for (size_t i = 0, next = 0; i < c->nmessages && !c->full; i++) {
        convo_message *m = &c->messages[i];
        bool here = x->named && (x->at.message == STR_NONE || x->at.message == i);
        size_t others = 0;
        next = next > i ? next : history_next(c, i);
        if (!history_on(m))
            continue;
        for (size_t j = 0; j < m->nparts; j++)
            others += !m->parts[j].dropped && (m->parts[j].kind != PART_TEXT || !blank(c, &m->parts[j]));
        for (size_t j = 0; j < m->nparts && texts; j++) {
            convo_part *p = &m->parts[j];
            if (p->dropped)
                continue;
            if (p->kind == PART_RESULT)
                mend_empty_result(x, m, p, here);
            if (p->kind != PART_TEXT || !blank(c, p) || (m->apart && !others && !x->named))
                continue;
            p->dropped = true; /* the message goes below, if it has to */
            m->edited = c->edited = true;
            x->n[MENDED_EMPTY] += others > 0 || m->apart;
        }
        if (!m->apart && hollow(c, m) && m->role != CONVO_SYSTEM && m->role != CONVO_TOOL)
            mend_hollow(x, i, before, next);
        else if ((!m->apart || x->named) && m->nparts && !history_parts(m))
            convo_drop_message(c, m);
        if (history_on(m) && !m->apart)
            before = i;
    }
}

/* ---- who speaks when ---- */

static void mend_first(mending *x)
{
    convo *c = x->c;
    size_t i = 0;
    while (i < c->nmessages && (!history_on(&c->messages[i]) || c->messages[i].role == CONVO_SYSTEM))
        i++;
    if (i < c->nmessages && c->messages[i].role != CONVO_ASSISTANT)
        return;
    history_say(c, i, CONVO_USER, i < c->nmessages ? S(SAY_BEGIN) : S(HISTORY_GO_ON));
    x->n[MENDED_ORDER]++;
}

/* A last message of the model becomes a part of the history like any other. */
static void mend_last(mending *x)
{
    convo *c = x->c;
    for (size_t i = c->nmessages; (i = history_before(c, i)) != STR_NONE;) {
        convo_message *m = &c->messages[i];
        bool said = false;
        if (m->role != CONVO_ASSISTANT || history_has(m, PART_CALL))
            return;
        x->n[MENDED_ORDER]++;
        for (size_t j = 0; j < m->nparts; j++)
            said |= !m->parts[j].dropped && m->parts[j].kind != PART_THINKING &&
                    (m->parts[j].kind != PART_TEXT || !blank(c, &m->parts[j]));
        if (said) {
            history_say(c, c->nmessages, CONVO_USER, S(SAY_CONTINUE));
            return;
        }
        convo_drop_message(c, m);
    }
}

static void mend_trailing(mending *x)
{
    convo *c = x->c;
    size_t i = history_before(c, c->nmessages);
    if (i == STR_NONE || c->messages[i].role != CONVO_ASSISTANT)
        return;
    convo_message *m = &c->messages[i];
    size_t j = m->nparts;
    while (j && m->parts[j - 1].dropped)
        j--;
    if (!j || m->parts[j - 1].kind != PART_TEXT)
        return;
    daruma_str text = convo_text(c, &m->parts[j - 1]), cut = text;
    while (cut.n && ch_space(cut.p[cut.n - 1]))
        cut.n--;
    if (cut.n == text.n)
        return;
    x->n[MENDED_ORDER]++;
    if (cut.n)
        convo_set_text(c, m, &m->parts[j - 1], cut);
    else
        convo_drop_part(c, m, &m->parts[j - 1]);
}

/* The texts of a message become the last ones of another; NULL: there was no memory for that one. */
static void say_in(mending *x, convo_message *to, convo_message *from)
{
    convo *c = x->c;
    for (size_t j = 0; to && j < from->nparts; j++) {
        bool text = from->parts[j].kind == PART_TEXT && !from->parts[j].dropped;
        convo_part *p = text ? convo_insert_part(c, to, to->nparts, PART_TEXT) : NULL;
        if (p)
            convo_set_text(c, to, p, convo_text(c, &from->parts[j]));
    }
    convo_drop_message(c, from);
    x->n[MENDED_ROLES]++;
}

/* "developer" is called system where nobody knows it. */
static void mend_developer(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        if (!history_on(m) || m->apart || m->role != CONVO_SYSTEM || !str_eq(convo_wire_role(m), S("developer")))
            continue;
        convo_set_wire_role(c, m, S("system"));
        m->edited = c->edited = true;
        x->n[MENDED_ROLES]++;
    }
}

/* Where there may be no system prompt that stands apart: what it says, the user says first. */
static void mend_prompt(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages; i++)
        if (history_on(&c->messages[i]) && c->messages[i].apart) {
            convo_message *to = convo_insert_message(c, i + 1, CONVO_USER);
            say_in(x, to, &c->messages[i]);
        }
}

/* The user says it, or it belongs to the prompt that stands apart. */
static void no_system(mending *x, convo_message *m, bool begun)
{
    if (!begun && history_wire(x->c, WIRE_SYSTEM_APART)) {
        m->apart = true;
        m->raw = (daruma_str){0};
    } else {
        m->role = CONVO_USER;
    }
    m->wire_role = NULL;
    m->edited = x->c->edited = true;
    x->n[MENDED_ROLES]++;
}

/* System messages that are not taken at all, or behind the first, of which those at the beginning become a part. */
static void mend_system(mending *x)
{
    convo *c = x->c;
    convo_message *first = NULL;
    bool begun = false;
    if (x->did & WRONG_DEVELOPER) /* which was meant */
        return;
    for (size_t i = 0; i < c->nmessages && !c->full; i++) {
        convo_message *m = &c->messages[i];
        if (!history_on(m) || m->apart)
            continue;
        if (m->role != CONVO_SYSTEM)
            begun = true;
        else if (x->wrong & WRONG_SYSTEM || begun)
            no_system(x, m, begun);
        else if (first)
            say_in(x, first, m);
        else
            first = m;
    }
}

/* A role by another wire's name ("assistant" for "model") gets the one it has here. */
static void mend_role_names(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        if (!history_on(m) || m->apart || !m->wire_role)
            continue;
        m->wire_role = NULL;
        m->edited = c->edited = true;
        x->n[MENDED_ROLES]++;
    }
}

/* Between results and the user's next words the model says something. */
static void mend_silence(mending *x)
{
    convo *c = x->c;
    history_inserts said = {0};
    for (size_t i = 0, next; i < c->nmessages && !c->full; i = next) {
        next = history_next(c, i);
        if (!history_on(&c->messages[i]) || c->messages[i].role != CONVO_TOOL || next >= c->nmessages ||
            c->messages[next].role != CONVO_USER)
            continue;
        history_insert_later(c, &said, next, CONVO_ASSISTANT, S(HISTORY_NOTHING));
        x->n[MENDED_ORDER]++;
    }
    history_insert(c, &said);
}

static uint32_t done(const mending *x)
{
    uint32_t n = 0;
    for (size_t i = 0; i < MENDED_KINDS; i++)
        n += x->n[i];
    return n;
}

/* ---- content that is not there ---- */

/* Answers that only call tools get a content: `text`. */
static void put_content(mending *x, daruma_str text)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages && !c->full; i++) {
        convo_message *m = &c->messages[i];
        daruma_str content = json_get(m->raw, S("content"));
        bool none = !content.n || json_is_null(content) || (text.n && str_eq(content, S("\"\"")));
        size_t at = 0;
        if (!history_on(m) || m->role != CONVO_ASSISTANT || !history_has(m, PART_CALL) || !none ||
            !json_is_object(m->raw))
            continue;
        while (at < m->nparts && m->parts[at].kind == PART_THINKING)
            at++;
        convo_part *p = convo_insert_part(c, m, at, PART_TEXT);
        if (!p)
            continue;
        convo_set_text(c, m, p, text);
        x->n[MENDED_FLAT]++;
    }
}

void mending_content(mending *x, bool alone)
{
    uint32_t before = done(x);
    bool bare = x->wrong & WRONG_BARE && alone;
    if (!history_chat(x->c) || (!bare && !(x->wrong & WRONG_NULL)))
        return;
    put_content(x, bare ? S(HISTORY_NOTHING) : S(""));
    if (done(x) > before)
        x->did |= bare ? WRONG_BARE : WRONG_NULL;
}

static void say_json(mending *x)
{
    if (x->c->set.format != FORMAT_JSON)
        return;
    mend_say_first(x->c, S(SAY_JSON));
    x->n[MENDED_ORDER]++;
}

/* ---- all of it ---- */

void mending_named(mending *x)
{
    static const struct {
        uint32_t bits;
        void (*mend)(mending *x);
    } known[] = {
        {WRONG_ITEM, mending_items},
        {WRONG_PROMPT, mend_prompt},
        {WRONG_DEVELOPER, mend_developer},
        {WRONG_SYSTEM | WRONG_LATER, mend_system},
        {WRONG_SEAL, mending_seal},
        {WRONG_UNTHOUGHT, mending_thinking_off},
        {WRONG_UNSIGNED, mending_sign_calls},
        {WRONG_MEDIA, mending_media},
        {WRONG_BLOCK, mending_blocks},
        {WRONG_LIST, mending_list},
        {WRONG_NAME, mending_names},
        {WRONG_ARGUMENTS, mending_arguments},
        {WRONG_ROLE, mend_role_names},
        {WRONG_PIECE, mending_pieces},
        {WRONG_SILENT, mend_silence},
        {WRONG_TEXTS, mending_texts},
        {WRONG_NINE, mending_nine},
        {WRONG_REASONED, mending_put_thinking},
        {WRONG_JSON, say_json},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        uint32_t before = done(x);
        if (x->wrong & known[i].bits)
            known[i].mend(x);
        if (done(x) > before)
            x->did |= x->wrong & known[i].bits;
    }
    if (x->wrong & WRONG_THINKING)
        x->n[MENDED_THINKING] += mend_drop_thinking(x->c, true);
    if (x->wrong & WRONG_ID)
        mending_ids(x, MEND_NAME_BYTES_MAX, ID_PLAIN);
    if (!done(x) && x->at.part != STR_NONE)
        mending_blocks(x);
}

/* In an order in which none undoes what another did. */
static void mend_wire(mending *x)
{
    convo *c = x->c;
    if (history_wire(c, WIRE_RESULTS_IN_USER) && !history_wire(c, WIRE_NO_IDS))
        mending_ids(x, MEND_ID_BYTES_MAX, ID_PLAIN);
    if (history_wire(c, WIRE_FLAT))
        mending_ids(x, MEND_NAME_BYTES_MAX, ID_SHORT);
    if (x->wrong & WRONG_TRAILING || (history_wire(c, WIRE_PREFILL) && history_wire(c, WIRE_NO_EMPTY)))
        mend_trailing(x);
    x->named = (x->wrong & WRONG_EMPTY) != 0;
    if (!history_wire(c, WIRE_FLAT) || x->named)
        mend_empty(x);
    if (x->wrong & WRONG_TURNS || history_wire(c, WIRE_ALTERNATE))
        x->n[MENDED_MERGED] += history_merge(c);
    if (x->n[MENDED_MERGED])
        x->did |= x->wrong & WRONG_TURNS;
    if (x->wrong & WRONG_FIRST || history_wire(c, WIRE_USER_FIRST))
        mend_first(x);
    if (x->wrong & WRONG_LAST)
        mend_last(x);
}

mend_report mend_arguments(convo *c)
{
    mending x = {.c = c, .at = WRONG_ANYWHERE};
    mending_arguments(&x);
    return mending_told(&x);
}

mend_report mending_told(const mending *x)
{
    static const char *const words[][2] = {
#define X(name, one, many) {one, many},
        MENDED_MAP(X)
#undef X
    };
    mend_report r = {.messages_mended = done(x), .halves_dropped = x->halves};
    for (size_t i = 0; i < MENDED_KINDS; i++)
        mend_count(&r, x->n[i], words[i][0], words[i][1]);
    return r;
}

mend_report mend_messages(convo *c, const daruma_failure *f, const mend_sent *sent, uint32_t *habits)
{
    mending x = {.c = c, .f = f, .at = WRONG_ANYWHERE};
    if (c->full)
        return (mend_report){0};
    if (f) {
        x.wrong = wrong_of(f, c->arena);
        x.at = wrong_at(c, f, sent);
        if (sent && sent->elsewhere && x.at.message == STR_NONE && wrong_is_placed(f))
            x.wrong &= ~(uint32_t)WRONG_MEDIA; /* one of them is meant, and nobody knows which */
        mending_named(&x);
    }
    mend_wire(&x);
    mending_content(&x, !done(&x));
    c->full |= c->arena->full;
    if (habits)
        *habits = f ? x.did & wrong_lasts(f, c->arena) : 0;
    return mending_told(&x);
}
