/* messages_content.c - content that a provider does not take, wherever it stands: media, unknown blocks, lists, and
 * what calls are made of. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/answer/repair.h"
#include "engine/mend/history.h"
#include "engine/mend/request/wrong.h"
#include "engine/mend/shorten/shorten.h"
#include <xxhash.h>

/* Ours, in the place of what had to go. */
#define SAY_MEDIA "[A file or image that stood here is not accepted by the model and was left out.]"
#define SAY_BLOCK "[Content that stood here is not accepted by the model and was left out.]"

static bool meant(const mending *x, size_t message, size_t part)
{
    return x->at.message == STR_NONE || (x->at.message == message && (x->at.part == STR_NONE || x->at.part == part));
}

/* A piece of a result becomes words of ours. */
static void say_within(convo *c, convo_message *m, convo_part *result, convo_part *piece, daruma_str words)
{
    history_text(c, m, piece, words);
    result->edited = true;
    result->ready = false;
}

void mending_media(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages && !c->full; i++) {
        convo_message *m = &c->messages[i];
        for (size_t j = 0; j < m->nparts && history_on(m); j++) {
            convo_part *p = &m->parts[j];
            if (p->dropped || !meant(x, i, j))
                continue;
            for (size_t k = 0; k < p->nparts && p->kind == PART_RESULT; k++)
                if (p->parts[k].kind == PART_MEDIA && !p->parts[k].dropped &&
                    (x->at.inner == STR_NONE || x->at.inner == k)) {
                    say_within(c, m, p, &p->parts[k], S(SAY_MEDIA));
                    x->n[MENDED_MEDIA]++;
                }
            if (p->kind == PART_MEDIA) {
                history_text(c, m, p, S(SAY_MEDIA));
                x->n[MENDED_MEDIA]++;
            }
        }
    }
}

bool mend_named_media(convo *c, const daruma_failure *f, const mend_sent *sent, mend_report *rep)
{
    mending x = {.c = c, .f = f, .at = wrong_at(c, f, sent), .wrong = wrong_of(f, c->arena) & WRONG_MEDIA};
    if (c->full || !x.wrong || x.at.message == STR_NONE)
        return false;
    mending_media(&x);
    mend_report r = mending_told(&x);
    mend_merge(rep, &r);
    return mend_did(&r);
}

/* Is it of a kind that the words name? */
static bool tag_named(const mending *x, const convo_part *p)
{
    daruma_str type = json_get(p->raw, S("type")), word;
    for (size_t n = 0; n < 4 && (word = wrong_quoted(x->f->message, n)).n; n++)
        if (json_is_string(type) && json_raw_eq(str_sub(type, 1, type.n - 2), word))
            return true;
    return false;
}

void mending_blocks(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages && !c->full; i++) {
        convo_message *m = &c->messages[i];
        for (size_t j = 0; j < m->nparts && history_on(m); j++) {
            convo_part *p = &m->parts[j];
            bool here = x->at.message == i && x->at.part == j;
            for (size_t k = 0; k < p->nparts && p->kind == PART_RESULT && !p->dropped; k++)
                if (p->parts[k].kind == PART_OTHER && !p->parts[k].dropped && tag_named(x, &p->parts[k])) {
                    say_within(c, m, p, &p->parts[k], S(SAY_BLOCK));
                    x->n[MENDED_BLOCKS]++;
                }
            if (p->dropped || p->kind == PART_CALL || p->kind == PART_RESULT || p->kind == PART_TEXT)
                continue;
            if (!here && (x->at.part != STR_NONE || !tag_named(x, p)))
                continue;
            if (m->role == CONVO_ASSISTANT || history_parts(m) > 1)
                convo_drop_part(c, m, p);
            else
                history_text(c, m, p, S(SAY_BLOCK));
            x->n[MENDED_BLOCKS]++;
        }
    }
}

static bool is_list(const convo *c, const convo_message *m)
{
    return history_on(m) && !m->apart && json_is_array(json_get(m->raw, S("content"))) &&
           !(c->quirks & (WIRE_RESULTS_IN_USER | WIRE_FLAT));
}

/* Texts one below the other, a word for everything else. */
static void flatten(mending *x, convo_message *m)
{
    convo *c = x->c;
    daruma_buf b = buf_in(c->arena);
    size_t n = 0, at = STR_NONE;
    for (size_t j = 0; j < m->nparts; j++) {
        convo_part *p = &m->parts[j];
        if (p->dropped || p->kind == PART_CALL || p->kind == PART_THINKING)
            continue;
        if (p->kind == PART_RESULT) {
            convo_set_text(c, m, p, convo_text(c, p));
            x->n[MENDED_FLAT]++;
            continue;
        }
        if (n++)
            buf_putc(&b, '\n');
        else
            at = j;
        buf_put(&b, p->kind == PART_TEXT ? convo_text(c, p) : p->kind == PART_MEDIA ? S(SAY_MEDIA) : S(SAY_BLOCK));
        p->dropped = true;
    }
    c->full |= b.full;
    if (!n)
        return;
    history_text(c, m, &m->parts[at], buf_done(&b));
    m->raw = (daruma_str){0};
    x->n[MENDED_FLAT]++;
}

void mending_list(mending *x)
{
    for (size_t i = 0; i < x->c->nmessages && !x->c->full; i++)
        if (is_list(x->c, &x->c->messages[i]))
            flatten(x, &x->c->messages[i]);
}

static bool only_texts(const convo_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const convo_part *p = &parts[i];
        if (!p->dropped && (p->kind == PART_MEDIA || p->kind == PART_OTHER || !only_texts(p->parts, p->nparts)))
            return false;
    }
    return true;
}

void mending_texts(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages && !c->full; i++)
        if (is_list(c, &c->messages[i]) && only_texts(c->messages[i].parts, c->messages[i].nparts))
            flatten(x, &c->messages[i]);
}

/* ---- calls ---- */

/* Letters and digits, and but for Mistral _ and -. */
static bool is_plain(daruma_str s, bool marks)
{
    for (size_t i = 0; i < s.n; i++)
        if (!ch_alpha(s.p[i]) && !ch_digit(s.p[i]) && !(marks && (s.p[i] == '_' || s.p[i] == '-')))
            return false;
    return true;
}

/* "maximum length 40" */
static size_t longest_said(const daruma_failure *f, size_t otherwise)
{
    size_t at = f ? str_find(f->message, S("maximum length")) : STR_NONE;
    int64_t n = 0;
    if (at == STR_NONE)
        return otherwise;
    daruma_str rest = str_trim(str_from(f->message, at + 14));
    if (str_starts(rest, S("of ")))
        rest = str_from(rest, 3);
    return str_scan_int(rest, &n) && n >= MEND_ID_BYTES_MIN ? (size_t)n : otherwise;
}

void mending_ids(mending *x, size_t longest, mending_id rule)
{
    enum { NINE = 9, HEX64 = 16 };
    convo *c = x->c;
    if (x->wrong & WRONG_ID && rule != ID_OF_NINE)
        longest = longest_said(x->f, longest);
    for (size_t i = 0; i < c->nmessages && !c->full; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            convo_part *p = &c->messages[i].parts[j];
            if ((p->kind != PART_CALL && p->kind != PART_RESULT) || p->dropped || !p->id.n)
                continue;
            if (rule == ID_OF_NINE ? p->id.n == NINE && is_plain(p->id, false)
                                   : p->id.n <= longest && (rule == ID_SHORT || is_plain(p->id, true)))
                continue;
            daruma_buf b = buf_in(c->arena); /* made of nothing but the old one: call and result get the same */
            BUF_LIT(&b, "call_");
            buf_hex64(&b, XXH3_64bits(p->id.p, p->id.n));
            c->full |= b.full;
            p->id = rule == ID_OF_NINE ? str_from(buf_done(&b), sizeof "call_" - 1 + HEX64 - NINE)
                                       : str_sub(buf_str(&b), 0, longest);
            p->edited = c->messages[i].edited = c->edited = true;
            x->n[MENDED_IDS] += p->kind == PART_CALL;
        }
}

void mending_nine(mending *x)
{
    mending_ids(x, 0, ID_OF_NINE);
}

/* A name as every provider takes it: letters, digits, _ and -, at most 64. */
static daruma_str name_for(convo *c, daruma_str old)
{
    daruma_buf b = buf_in(c->arena);
    for (size_t i = 0; i < old.n && b.n < MEND_NAME_BYTES_MAX; i++)
        buf_putc(&b, is_plain(str_sub(old, i, 1), true) ? old.p[i] : '_');
    if (!old.n)
        BUF_LIT(&b, "unknown");
    c->full |= b.full;
    return buf_done(&b);
}

void mending_names(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages && !c->full; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            convo_part *p = &c->messages[i].parts[j];
            bool call = p->kind == PART_CALL;
            if ((!call && (p->kind != PART_RESULT || !p->name.n)) || p->dropped)
                continue;
            if (p->name.n && p->name.n <= MEND_NAME_BYTES_MAX && is_plain(p->name, true))
                continue;
            p->name = name_for(c, p->name);
            p->edited = c->messages[i].edited = c->edited = true;
            x->n[MENDED_NAMES] += call;
        }
    if (x->n[MENDED_NAMES] || x->at.message == STR_NONE || str_find(x->f->message, S("tool")) != STR_NONE)
        return;
    convo_message *m = &c->messages[x->at.message]; /* a name of who speaks: it can go */
    if (m->raw.n && json_get(m->raw, S("name")).n) {
        m->raw = (daruma_str){0};
        m->edited = c->edited = true;
        x->n[MENDED_NAMES]++;
    }
}

void mending_arguments(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages && !c->full; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            convo_message *m = &c->messages[i];
            convo_part *p = &m->parts[j];
            daruma_str v, text;
            if (p->kind != PART_CALL || p->dropped)
                continue;
            text = convo_text(c, p);
            daruma_str type = json_get(p->raw, S("type"));
            if (json_is_string(type) && str_find(type, S("custom")) != STR_NONE) /* words, no JSON */
                continue;
            bool whole = json_whole(text, &v) && json_is_object(v);
            bool as_text = json_is_string(p->value) && !(c->quirks & WIRE_OPAQUE_ARGS);
            if (whole && !as_text)
                continue;
            daruma_str fixed = whole ? text : repair_alone(text, c->arena);
            if (!json_is_object(fixed)) {
                daruma_buf b = buf_in(c->arena);
                BUF_LIT(&b, "{");
                if (text.n) {
                    BUF_SAY(&b, "\"unreadable\":", buf_quoted(text));
                }
                BUF_LIT(&b, "}");
                c->full |= b.full;
                fixed = buf_str(&b);
            }
            convo_set_text(c, m, p, fixed);
            x->n[MENDED_ARGUMENTS]++;
        }
}

/* ---- items of the Responses wire ---- */

/* Texts are said anew where their type is not the one of who speaks: "input_text", of the model "output_text". */
void mending_pieces(mending *x)
{
    convo *c = x->c;
    for (size_t i = 0; i < c->nmessages && c->quirks & WIRE_FLAT; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            convo_message *m = &c->messages[i];
            convo_part *p = &m->parts[j];
            daruma_str type = json_get(p->raw, S("type"));
            daruma_str other = m->role == CONVO_ASSISTANT ? S("\"input_text\"") : S("\"output_text\"");
            if (p->kind != PART_TEXT || p->dropped || !history_on(m) || !str_eq(type, other))
                continue;
            convo_text(c, p);
            p->raw = (daruma_str){0};
            p->edited = m->edited = c->edited = true;
            x->n[MENDED_PIECES]++;
        }
}

/* An item that the server does not have: thinking and references go, others are sent without their id. */
void mending_items(mending *x)
{
    convo *c = x->c;
    daruma_str id = wrong_quoted(x->f->message, 0);
    if (x->at.message != STR_NONE) /* "Invalid 'input[2].id': 'call_1'. Expected an ID ..." */
        id = (daruma_str){0};
    for (size_t i = 0; i < c->nmessages && !c->full; i++) {
        convo_message *m = &c->messages[i];
        daruma_str own = json_get(m->raw, S("id"));
        bool here = id.n ? json_is_string(own) && json_raw_eq(str_sub(own, 1, own.n - 2), id) : x->at.message == i;
        if (!here || !history_on(m) || !m->nparts)
            continue;
        x->n[MENDED_ITEMS]++;
        history_drop_id(c, m);
    }
}
