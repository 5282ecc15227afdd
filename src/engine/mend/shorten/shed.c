/* shed.c - a body that is too large in bytes: old images go first, then large tool output is cut to its head and tail.
 * What was left out is said in its place. The newest turn of the user is touched when nothing else is left. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/history.h"
#include "base/utf8.h"
#include "engine/mend/shorten/shorten.h"

static size_t part_bytes(const convo *c, const convo_part *p)
{
    size_t n = 0;
    if (p->dropped)
        return 0;
    if (p->raw.n && !p->edited)
        return p->raw.n;
    if (p->kind == PART_MEDIA)
        return p->media.n + SHED_WRITTEN_BYTES;
    for (size_t i = 0; i < p->nparts; i++)
        n += part_bytes(c, &p->parts[i]) + 1;
    size_t seal = p->kind == PART_RESULT ? 0 : p->signature.n;
    return (n ? n : utf8_json_bytes(convo_part_text(c, p))) + p->id.n + p->name.n + seal + SHED_WRITTEN_BYTES;
}

/* About what the dialect would write; what was not edited counts exactly. */
static size_t body_bytes(const convo *c)
{
    size_t n = c->body.n, gone = 0;
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (m->raw.n && !m->edited && !m->dropped && c->body.n)
            continue;
        gone += c->body.n ? m->raw.n : 0;
        for (size_t j = 0; j < m->nparts && !m->dropped; j++)
            n += part_bytes(c, &m->parts[j]) + 1;
        n += m->dropped ? 0 : SHED_WRITTEN_BYTES;
    }
    return n > gone ? n - gone : 0;
}

typedef struct shedding {
    convo *c;
    size_t have, want;
    size_t newest; /* the newest turn of the user; STR_NONE none */
    uint32_t images, outputs;
    mend_report r;
} shedding;

static bool light_enough(const shedding *s)
{
    return s->have <= s->want || s->c->full;
}

static void book(shedding *s, size_t before, size_t after)
{
    s->have = s->have + after > before ? s->have + after - before : 0;
    s->r.bytes_before += before;
    s->r.bytes_after += after;
    s->r.parts_shortened++;
}

/* "[image left out: image/png, 48213 bytes]" */
static daruma_str media_note(convo *c, const convo_part *p)
{
    bool image = !p->media_type.n || str_istarts(p->media_type, S("image/"));
    daruma_buf b = buf_in(c->arena);
    buf_putz(&b, image ? "[image left out: " : "[file left out: ");
    if (p->media_type.n) {
        BUF_SAY(&b, str_sub(p->media_type, 0, 64), ", ");
    }
    BUF_SAY(&b, (int64_t)(p->media.n / 4 * 3), " bytes]");
    c->full |= b.full;
    return buf_str(&b);
}

static void shed_media(shedding *s, convo_message *m, convo_part *p, convo_part *outer)
{
    const convo_part *whole = outer ? outer : p;
    size_t before = part_bytes(s->c, whole);
    daruma_str note = media_note(s->c, p);
    if (p->media_url || utf8_json_bytes(note) + 2 * SHED_WRITTEN_BYTES >= part_bytes(s->c, p))
        return;
    history_text(s->c, m, p, note);
    if (outer) {
        outer->edited = true;
        outer->ready = false;
        outer->text = (daruma_str){0};
    }
    book(s, before, part_bytes(s->c, whole));
    s->images++;
}

/* Media of all messages, oldest first, or of the newest turn only. */
static void shed_all_media(shedding *s, bool newest)
{
    for (size_t i = 0; i < s->c->nmessages; i++) {
        convo_message *m = &s->c->messages[i];
        if (!history_on(m) || m->apart || m->role == CONVO_ASSISTANT || (i == s->newest) != newest)
            continue;
        for (size_t j = 0; j < m->nparts; j++) {
            convo_part *p = &m->parts[j];
            for (size_t k = 0; k < p->nparts && p->kind == PART_RESULT && !p->dropped && !light_enough(s); k++)
                if (p->parts[k].kind == PART_MEDIA && !p->parts[k].dropped)
                    shed_media(s, m, &p->parts[k], p);
            if (p->kind == PART_MEDIA && !p->dropped && !light_enough(s))
                shed_media(s, m, p, NULL);
        }
    }
}

/* The messages with the newest results begin here: nmessages when there are none. */
static size_t newest_results(const convo *c)
{
    size_t i = c->nmessages;
    bool seen = false;
    while (i > 0) {
        const convo_message *m = &c->messages[i - 1];
        bool has = false;
        for (size_t j = 0; j < m->nparts; j++)
            has |= m->parts[j].kind == PART_RESULT;
        if (seen && !has)
            return i;
        seen |= has;
        i--;
    }
    return seen ? 0 : c->nmessages;
}

static void shed_output(shedding *s, convo_message *m, convo_part *p)
{
    daruma_str masked = mend_masked(convo_text(s->c, p), NULL, s->c->arena);
    size_t before = part_bytes(s->c, p);
    for (size_t k = 0; k < p->nparts; k++)
        if (p->parts[k].kind != PART_TEXT && !p->parts[k].dropped)
            return; /* what else it has stays, and so its words */
    if (!masked.n || utf8_json_bytes(masked) + p->id.n + p->name.n + 2 * SHED_WRITTEN_BYTES >= before)
        return;
    convo_set_text(s->c, m, p, masked);
    book(s, before, part_bytes(s->c, p));
    s->outputs++;
}

/* The largest first: by powers of two, the oldest first among those. */
static void shed_outputs(shedding *s, size_t from, size_t to)
{
    for (size_t least = (size_t)1 << 30; least >= SHED_BYTES_MIN && !light_enough(s); least /= 2)
        for (size_t i = from; i < to && !light_enough(s); i++) {
            convo_message *m = &s->c->messages[i];
            for (size_t j = 0; j < m->nparts && history_on(m) && !light_enough(s); j++) {
                convo_part *p = &m->parts[j];
                size_t n = p->kind == PART_RESULT && !p->dropped ? part_bytes(s->c, p) : 0;
                if (n >= least && n / 2 < least)
                    shed_output(s, m, p);
            }
        }
}

mend_report mend_shed(convo *c, size_t bytes)
{
    shedding s = {.c = c, .have = c->full ? 0 : body_bytes(c), .want = bytes, .newest = convo_last_user(c)};
    if (light_enough(&s))
        return s.r;
    size_t newest = newest_results(c);
    for (uint32_t done = UINT32_MAX; done != s.r.parts_shortened && !light_enough(&s);) {
        done = s.r.parts_shortened;
        shed_all_media(&s, false);
        shed_outputs(&s, 0, newest);
        shed_outputs(&s, newest, c->nmessages);
        if (s.newest != STR_NONE)
            shed_all_media(&s, true);
        s.have = body_bytes(c); /* once more where that was too little: of a result without its image the words go */
    }
    c->full |= c->arena->full;
    mend_count(&s.r, s.images, "image or file was left out", "images or files were left out");
    mend_count(&s.r, s.outputs, "tool output was shortened", "tool outputs were shortened");
    return s.r;
}

mend_report mend_shed_old(convo *c, size_t bytes)
{
    shedding s = {.c = c, .have = c->full ? 0 : body_bytes(c), .want = bytes, .newest = convo_last_user(c)};
    if (!light_enough(&s))
        shed_outputs(&s, 0, newest_results(c));
    c->full |= c->arena->full;
    mend_count(&s.r, s.outputs, "older tool output was shortened for several turns to have room",
               "older tool outputs were shortened for several turns to have room");
    return s.r;
}
