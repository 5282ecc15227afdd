/* convert.c - a conversation of one dialect as another would have read it. Everything is said anew from fields, in the
 * order it was said; what the other wire cannot say is lost by name. The same conversation becomes the same bytes each
 * time, and a longer one begins with them: prompt caches hit.
 *
 *     messages -- unit by unit: text, media, call, result --> messages in the shape of the target's quirks
 *     tools, settings -- field by field --> what the target knows */
#include "dialect/convert/convert.h"
#include "dialect/kit/convo_kit.h"
#include "dialect/kit/shapes.h"
#include "base/arena.h"

/* Media of a result that must stand outside of it. */
typedef struct stray {
    const convo_part *media;
    daruma_str id; /* of the call */
} stray;

typedef struct conversion {
    convo src; /* the source with our arena */
    const dialect *to;
    convert_names names;
    convo *out;
    dialect_losses *lost;
    convert_calls calls;
    stray *strays;
    size_t nstrays, strays_cap;
    size_t at, counted_to; /* message of the source that is carried; there is room for the parts of those before */
    convo_message now;     /* that message: what is made takes its place, and those of the ones before it */
    size_t expected;       /* messages that will be made, more or less */
    convo_part *place;     /* of the part that is carried: free, as those before it in its run; NULL: it is not */
    convo_part *run;       /* first part of the messages, up to that one, whose parts follow each other in memory */
    bool fresh;            /* the source's message is new: its first unit begins one, unless the wire wants it merged */
    bool spoken;           /* anything but system prompts was written */
    bool openai, anthropic, gemini;
} conversion;

void dialect_lose(dialect_losses *lost, const char *what)
{
    for (size_t i = 0; i < lost->n; i++)
        if (strcmp(lost->what[i], what) == 0)
            return;
    if (lost->n < COUNT(lost->what))
        lost->what[lost->n++] = what;
}

static void lose(conversion *c, const char *what)
{
    dialect_lose(c->lost, what);
}

/* ---- where a unit goes ---- */

static convo_message *newest(conversion *c)
{
    return c->out->nmessages ? &c->out->messages[c->out->nmessages - 1] : NULL;
}

/* Is a unit a message of its own? */
static bool stands_alone(const conversion *c, part_kind kind)
{
    return kind == PART_RESULT ? !(c->to->quirks & WIRE_RESULTS_IN_USER)
                               : kind == PART_CALL && (c->to->quirks & WIRE_FLAT);
}

/* Are neighbours of that role one message? */
static bool merges(const conversion *c, convo_role role)
{
    return (c->to->quirks & WIRE_ALTERNATE) || (role == CONVO_ASSISTANT && !(c->to->quirks & WIRE_FLAT));
}

/* One more message: in the list of the source as far as that was carried, else in a list of its own. */
static convo_message *add_message(conversion *c, convo_role role)
{
    convo *out = c->out;
    if (out->messages == c->src.messages && out->nmessages > c->at) {
        size_t most = c->expected > out->nmessages ? c->expected : out->nmessages;
        convo_message *own = ARENA_NEW(out->arena, convo_message, most + CONVO_MESSAGES_FIRST);
        out->full |= !own;
        if (!own)
            return NULL;
        memcpy(own, out->messages, out->nmessages * sizeof *own);
        out->messages = own;
        out->cap = most + CONVO_MESSAGES_FIRST;
    }
    return convo_add_message(out, role, (daruma_str){0});
}

/* The message for one more unit of a role. The model's words are one message until somebody else speaks, but where
 * every call stands alone; the user's are as many as they were, but where roles take turns. */
static convo_message *message_for(conversion *c, convo_role role, part_kind kind)
{
    convo_message *m = newest(c);
    bool after_call = m && (c->to->quirks & WIRE_FLAT) && m->nparts && m->parts[m->nparts - 1].kind != PART_TEXT &&
                      m->parts[m->nparts - 1].kind != PART_MEDIA;
    bool joins =
        m && m->role == role && !m->apart && !stands_alone(c, kind) && !after_call && (!c->fresh || merges(c, role));
    c->fresh = false;
    c->spoken |= role != CONVO_SYSTEM;
    return joins ? m : add_message(c, role);
}

/* How many of a message's parts will be said: not what is dropped, cannot be said elsewhere or is empty. */
static size_t parts_said(const conversion *c, const convo_message *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nparts; i++) {
        const convo_part *p = &m->parts[i];
        bool empty = p->kind == PART_TEXT && (c->to->quirks & WIRE_NO_EMPTY) && !p->ready && p->value.n <= 2;
        n += !p->dropped && !empty && !stands_alone(c, p->kind) && p->kind != PART_THINKING && p->kind != PART_OTHER;
    }
    return n;
}

/* True if the parts of the source's message behind `i` follow its own in memory. */
static bool parts_follow(const conversion *c, size_t i)
{
    const convo_message *m = i == c->at ? &c->now : &c->src.messages[i];
    return i + 1 < c->src.nmessages && m->parts && c->src.messages[i + 1].parts == m->parts + m->nparts;
}

/* Room in a message that begins for the parts of all messages of the source that become this one, counted once. Those
 * of a single one need none, nor those that follow each other: they take their places. */
static void expect_parts(conversion *c, convo_message *m, convo_role role, part_kind kind)
{
    size_t n = 0, i = c->at;
    bool follow = true;
    if (m->parts || stands_alone(c, kind) || i < c->counted_to || i >= c->src.nmessages)
        return;
    bool model = c->now.role == CONVO_ASSISTANT;
    do {
        n += parts_said(c, i == c->at ? &c->now : &c->src.messages[i]);
        follow &= i == c->at || parts_follow(c, i - 1);
    } while (++i < c->src.nmessages && merges(c, role) && (c->src.messages[i].role == CONVO_ASSISTANT) == model);
    c->counted_to = i;
    m->parts = n > 1 && i > c->at + 1 && !follow ? ARENA_NEW(c->out->arena, convo_part, n) : NULL;
    m->cap = m->parts ? n : 0;
}

/* A place in the source's messages, which is used no more, behind the parts that the new one has. */
static bool takes_place(const conversion *c, const convo_message *m)
{
    if (!c->place || m->nparts < m->cap)
        return false;
    if (!m->nparts)
        return true;
    const convo_part *next = m->parts + m->nparts;
    return next <= c->place && next > c->run;
}

static convo_part *add_to(conversion *c, convo_message *m, part_kind kind)
{
    if (takes_place(c, m)) {
        m->parts = m->nparts ? m->parts : c->place;
        m->cap++;
        c->place = m->parts + m->nparts == c->place ? NULL : c->place;
    }
    convo_part *p = convo_add_part(c->out, m, kind, (daruma_str){0});
    if (p)
        p->ready = true;
    return p;
}

static convo_part *add(conversion *c, convo_role role, part_kind kind)
{
    convo_message *m = message_for(c, role, kind);
    if (m)
        expect_parts(c, m, role, kind);
    return m ? add_to(c, m, kind) : NULL;
}

static void add_text(conversion *c, convo_role role, daruma_str text)
{
    convo_part *p = add(c, role, PART_TEXT);
    if (p)
        p->text = text;
}

/* What a part says, as it is: a string of JSON is decoded by who writes it, and nobody keeps that. */
static void take_text(conversion *c, convo_part *to, const convo_part *from)
{
    if (part_encoded(from)) {
        to->ready = false;
        to->value = from->value;
    } else {
        to->text = convo_part_text(&c->src, from);
    }
}

static void carry_text(conversion *c, convo_role role, const convo_part *from)
{
    convo_part *p = part_says(&c->src, from) || !(c->to->quirks & WIRE_NO_EMPTY) ? add(c, role, PART_TEXT) : NULL;
    if (p)
        take_text(c, p, from);
}

/* ---- media ---- */

static void fill_media(conversion *c, convo_part *p, const convo_part *media)
{
    const char *lost = NULL;
    p->about = convert_media_about(c->to, media, &lost);
    if (lost)
        lose(c, lost);
    p->media_type = media->media_type;
    p->media = media->media;
    p->media_url = media->media_url;
}

static void carry_media(conversion *c, convo_role role, const convo_part *media)
{
    convo_part p = convert_media_typed(media);
    daruma_str text;
    if (role == CONVO_USER && convert_media_fits(c->to, &p)) {
        convo_part *to = add(c, role, PART_MEDIA);
        if (to)
            fill_media(c, to, &p);
    } else if (role == CONVO_ASSISTANT && c->gemini) {
        convo_part *to = add(c, role, PART_MEDIA);
        if (to)
            fill_media(c, to, &p);
    } else if (convert_media_text(&p, c->out->arena, &text)) {
        add_text(c, role, text);
    } else {
        lose(c, convert_media_name(&p));
        add_text(c, role, convert_media_words(&p, c->out->arena));
    }
}

/* ---- calls and results ---- */

static void carry_call(conversion *c, const convo_part *p)
{
    bool object = !p->custom && part_encoded(p) && p->value.p[1] == '{';
    convo_part *to = add(c, CONVO_ASSISTANT, PART_CALL);
    if (!to || !convert_calls_add(&c->calls, p))
        return;
    if (object) {
        take_text(c, to, p);
        return;
    }
    daruma_str text = convo_part_text(&c->src, p);
    daruma_str arguments = p->custom ? convo_wrap(text, c->out->arena) : text;
    to->text = str_trim(arguments).n ? arguments : S("{}");
}

static void keep_stray(conversion *c, const convo_part *media, daruma_str id)
{
    stray *s = arena_grow(c->out->arena, c->strays, c->nstrays, &c->strays_cap, sizeof *s, 32);
    if (!s)
        return; /* which the arena remembers */
    c->strays = s;
    s[c->nstrays++] = (stray){media, id};
}

/* A result's media stays in it where the wire has room for that. */
static void carry_result_media(conversion *c, convo_part *to, const convo_part *from)
{
    bool inside = c->anthropic || c->to == &dialect_openai_responses;
    for (size_t i = 0; i < from->nparts; i++) {
        convo_part p = convert_media_typed(&from->parts[i]);
        if (p.kind != PART_MEDIA || p.dropped)
            continue;
        if (!inside || !convert_media_fits(c->to, &p)) {
            keep_stray(c, &from->parts[i], to->id);
            continue;
        }
        if (!to->nparts && to->text.n) {
            convo_part *text = convo_add_inner(c->out, to, PART_TEXT, (daruma_str){0});
            if (!text)
                return;
            text->text = to->text;
            text->ready = true;
        }
        convo_part *in = convo_add_inner(c->out, to, PART_MEDIA, (daruma_str){0});
        if (!in)
            return;
        in->ready = true;
        fill_media(c, in, &p);
    }
}

/* The texts of a result, and of what in it is made of texts. */
static daruma_str result_text(conversion *c, const convo_part *p)
{
    daruma_str text = convo_part_text(&c->src, p);
    daruma_buf b = buf_in(c->out->arena);
    bool all;
    for (size_t i = 0; i < p->nparts; i++) {
        if (p->parts[i].kind != PART_OTHER)
            continue;
        daruma_str more = anthropic_words(p->parts[i].raw, &all, c->out->arena);
        if (!all)
            lose(c, "unknown_content");
        if (more.n && !b.n)
            buf_put(&b, text);
        if (more.n && b.n)
            buf_putc(&b, '\n');
        buf_put(&b, more);
    }
    c->out->full |= b.full;
    return b.n ? buf_done(&b) : text;
}

static void carry_result(conversion *c, const convo_part *p)
{
    convo_part *to = add(c, c->to->quirks & WIRE_RESULTS_IN_USER ? CONVO_USER : CONVO_TOOL, PART_RESULT);
    if (!to)
        return;
    convert_calls_answer(&c->calls, p, to);
    if (part_encoded(p))
        take_text(c, to, p);
    else
        to->text = result_text(c, p);
    to->failed = p->failed;
    if (p->failed && c->openai)
        lose(c, "is_error");
    carry_result_media(c, to, p);
}

/* What could not stay in its result follows when all results are there: nothing may stand between them. */
static void carry_strays(conversion *c)
{
    size_t n = c->nstrays;
    c->nstrays = 0;
    for (size_t i = 0; i < n; i++) {
        if (c->openai) {
            daruma_buf b = buf_in(c->out->arena);
            BUF_SAY(&b, "[From the result of tool call ", c->strays[i].id, ":]");
            c->out->full |= b.full;
            lose(c, "media_in_result");
            c->fresh = i == 0;
            add_text(c, CONVO_USER, buf_done(&b));
        }
        carry_media(c, CONVO_USER, c->strays[i].media);
    }
    c->fresh |= n > 0;
}

/* ---- messages ---- */

/* System prompts at the beginning stand apart or first; where the wire has no later ones they become the user's. */
static void carry_system(conversion *c, const convo_part *p)
{
    if (p->kind != PART_TEXT) {
        lose(c, convert_media_name(p));
        return;
    }
    daruma_str text = convo_part_text(&c->src, p);
    convo_message *m = newest(c);
    if (!text.n)
        return;
    if (c->spoken && !c->openai) {
        lose(c, "system_message_in_between");
        add_text(c, CONVO_USER, text);
        return;
    }
    if (c->spoken || !(c->to->quirks & WIRE_SYSTEM_APART)) {
        add_text(c, CONVO_SYSTEM, text);
        return;
    }
    if (!m)
        m = add_message(c, CONVO_SYSTEM);
    convo_part *to = m ? add_to(c, m, PART_TEXT) : NULL;
    if (!to)
        return;
    m->apart = true;
    to->text = text;
}

static void carry_part(conversion *c, const convo_message *m, const convo_part *p)
{
    convo_role role = m->role == CONVO_ASSISTANT ? CONVO_ASSISTANT : CONVO_USER;
    daruma_str text;
    bool all;
    if (p->kind != PART_RESULT && c->nstrays)
        carry_strays(c);
    if (m->role == CONVO_SYSTEM) {
        carry_system(c, p);
        return;
    }
    switch (p->kind) {
    case PART_TEXT:
        carry_text(c, role, p);
        break;
    case PART_MEDIA:
        carry_media(c, role, p);
        break;
    case PART_CALL:
        carry_call(c, p);
        break;
    case PART_RESULT:
        carry_result(c, p);
        break;
    case PART_THINKING:
        lose(c, "thinking");
        break;
    case PART_OTHER:
        text = anthropic_words(p->raw, &all, c->out->arena);
        if (text.n)
            add_text(c, role, text);
        if (!all)
            lose(c, "unknown_content");
        break;
    }
}

/* Room for all messages and calls at once: what a list leaves behind each time it moves is lost to the arena. */
static void expect(conversion *c)
{
    size_t messages = 0, calls = 0, without_id = 0;
    bool model = false;
    for (size_t i = 0; i < c->src.nmessages; i++) {
        const convo_message *m = &c->src.messages[i];
        bool goes_on = i && merges(c, m->role) && (m->role == CONVO_ASSISTANT) == model, others = false;
        for (size_t k = 0; k < m->nparts; k++) {
            bool alone = stands_alone(c, m->parts[k].kind);
            messages += alone;
            others |= !alone;
            calls += m->parts[k].kind == PART_CALL;
            without_id += m->parts[k].kind == PART_CALL && !m->parts[k].id.n;
        }
        messages += others && !goes_on;
        model = m->role == CONVO_ASSISTANT;
    }
    c->expected = messages;
    convert_calls_expect(&c->calls, calls, without_id);
}

static void carry_messages(conversion *c)
{
    expect(c);
    for (; c->at < c->src.nmessages && !c->out->full; c->at++) {
        const convo_message *m = &c->now;
        bool follows = c->at && c->run && c->now.parts + c->now.nparts == c->src.messages[c->at].parts;
        c->now = c->src.messages[c->at];
        c->run = follows ? c->run : c->now.parts;
        c->fresh = true;
        for (size_t k = 0; !m->dropped && k < m->nparts; k++) {
            const convo_part p = m->parts[k];
            c->place = &m->parts[k];
            if (!p.dropped)
                carry_part(c, m, &p);
        }
        c->place = NULL;
    }
    carry_strays(c);
}

/* Where the user must speak first, and where a begun answer is or is not gone on with. */
static void mend_ends(conversion *c)
{
    convo *out = c->out;
    size_t first = 0;
    while (first < out->nmessages && out->messages[first].role == CONVO_SYSTEM)
        first++;
    if (first < out->nmessages && (c->to->quirks & WIRE_USER_FIRST) && out->messages[first].role == CONVO_ASSISTANT) {
        convo_message *m = convo_insert_message(out, first, CONVO_USER);
        convo_part *p = m ? convo_add_part(out, m, PART_TEXT, (daruma_str){0}) : NULL;
        if (!p)
            return;
        p->ready = true;
        p->text = S("(The assistant begins.)");
    }
    convo_message *last = newest(c);
    convo_part *end = last && last->nparts ? &last->parts[last->nparts - 1] : NULL;
    if (!end || last->role != CONVO_ASSISTANT || end->kind != PART_TEXT)
        return;
    if (!(c->to->quirks & WIRE_PREFILL))
        lose(c, "prefill");
    if (c->anthropic)
        convo_text(out, end);
    while (c->anthropic && end->text.n && ch_space(end->text.p[end->text.n - 1]))
        end->text.n--; /* refused otherwise */
}

/* ---- what lives elsewhere ---- */

bool dialect_stuck(const convo *from)
{
    bool thinking = false;
    if (from->before)
        return true;
    for (size_t i = 0; i < from->nmessages; i++) {
        const convo_message *m = &from->messages[i];
        for (size_t k = 0; !m->dropped && k < m->nparts; k++) {
            const convo_part *p = &m->parts[k];
            if (p->remote && !p->dropped && p->kind != PART_THINKING)
                return true;
            thinking |= p->remote && p->kind == PART_THINKING;
        }
    }
    return from->remote && !thinking;
}

daruma_status dialect_convert(convo *from, const dialect *to, daruma_arena *a, convo *ret, dialect_losses *lost)
{
    convo out = {.quirks = to->quirks, .arena = a, .messages = from->messages, .cap = from->cap, .set = from->set};
    conversion c = {.src = *from,
                    .to = to,
                    .out = &out,
                    .lost = lost,
                    .openai = to == &dialect_openai || to == &dialect_openai_responses,
                    .anthropic = to == &dialect_anthropic,
                    .gemini = to == &dialect_gemini};
    c.src.arena = a;
    if (dialect_stuck(from))
        return DARUMA_EINPUT;
    c.names = convert_names_of(&c.src, to, a);
    c.calls = (convert_calls){.names = &c.names, .out = &out, .a = a};
    convert_tools(&c.src, &c.names, &out, lost);
    carry_messages(&c);
    if (!c.spoken && !out.full && !c.src.full)
        return DARUMA_EINPUT;
    mend_ends(&c);
    convert_settings(&c.src, &c.names, &out, lost);
    if (out.full || c.src.full || a->full)
        return DARUMA_EFULL;
    *ret = out;
    return DARUMA_OK;
}
