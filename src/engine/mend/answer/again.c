/* again.c - asking a model once more: with what was wrong in its answer, or to go on where it broke off. What it said
 * stands before that as its own words, so that it sees what it is asked about. */
#include "engine/mend/history.h"
#include "engine/mend/value.h"
#include "engine/mend/answer/answer.h"
#include "engine/mend/request/request.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/utf8.h"

/* The newest message on the wire; NULL when there is none. */
static convo_message *newest(convo *c)
{
    size_t at = history_before(c, c->nmessages);
    return at == STR_NONE ? NULL : &c->messages[at];
}

/* An answer that the client had begun for the model goes on in its message, where the wire takes that for one or wants
 * turns. Elsewhere it is a message of its own, as the client's next request would have it. */
static void say_as_model(convo *c, daruma_str text)
{
    convo_message *m = newest(c);
    bool joins = (c->quirks & (WIRE_PREFILL | WIRE_ALTERNATE)) && !(c->quirks & WIRE_FLAT);
    if (!m || m->role != CONVO_ASSISTANT || !joins || history_has(m, PART_CALL))
        m = convo_insert_message(c, c->nmessages, CONVO_ASSISTANT);
    history_add(c, m, text);
}

/* ---- what was wrong ---- */

/* What the model said, in words: its calls have no results and may be no JSON, so they are told. */
static daruma_str again_told(convo *c, const turn *bad)
{
    daruma_buf b = buf_in(c->arena);
    for (size_t i = 0; i < bad->message.nparts; i++) {
        const convo_part *p = &bad->message.parts[i];
        if (p->dropped || (p->kind != PART_TEXT && p->kind != PART_CALL))
            continue;
        daruma_str text = convo_part_text(c, p);
        size_t room = b.n < ASK_ANSWER_BYTES_MAX ? ASK_ANSWER_BYTES_MAX - b.n : 0;
        bool cut = text.n > room;
        text = str_sub(text, 0, utf8_floor(text, room));
        if (b.n && (text.n || p->kind == PART_CALL))
            BUF_LIT(&b, "\n\n");
        if (p->kind == PART_CALL) {
            BUF_SAY(&b, "(call of the tool ", str_sub(p->name, 0, 128), ", not carried out, with the arguments: ", text,
                    cut ? " ...)" : ")");
        } else {
            buf_put(&b, text);
        }
    }
    c->full |= b.full;
    return str_trim(buf_str(&b));
}

bool mend_ask_again(convo *c, const turn *bad, daruma_str why, mend_report *rep)
{
    daruma_buf b = buf_in(c->arena);
    daruma_str said = bad ? again_told(c, bad) : (daruma_str){0};
    bool called = bad && history_has(&bad->message, PART_CALL);
    if (said.n)
        say_as_model(c, said);
    if (called)
        BUF_LIT(&b, "Your last tool call could not be carried out.\n");
    else
        buf_putz(&b, said.n ? "Your last answer could not be used.\n" : "Your last answer was empty.\n");
    buf_put(&b, str_trim(why));
    if (called)
        BUF_LIT(
            &b,
            "\nCall the tool again, as a tool call and not in words, with arguments that are one valid JSON object.");
    else
        buf_putz(&b, said.n ? "\nAnswer again, with that corrected, and with nothing else." : "\nPlease answer.");
    c->full |= b.full;
    history_tell_model(c, buf_str(&b));
    rep->messages_mended += 1 + (said.n > 0);
    mend_say(rep, "the model was asked again and told what was wrong");
    return !c->full;
}

bool mend_refuse_calls(convo *c, const turn *bad, daruma_str why, mend_report *rep)
{
    daruma_str said = again_told(c, bad);
    if (said.n)
        say_as_model(c, said);
    history_tell_model(c, str_trim(why));
    rep->messages_mended += 1 + (said.n > 0);
    mend_say(rep, "a call was refused to the model");
    return !c->full;
}

/* Nothing of the history is changed for it: providers' caches keep hitting, and on the next turn it is gone by itself,
 * since clients never saw it. */
bool mend_notice(convo *c, daruma_str text, mend_report *rep)
{
    size_t last = history_before(c, c->nmessages);
    text = str_trim(text);
    if (!text.n || last == STR_NONE || c->messages[last].role == CONVO_ASSISTANT)
        return false; /* the model is in the middle of its turn */
    history_tell_model(c, text);
    rep->messages_mended++;
    mend_say(rep, "the model was told what it keeps doing");
    return !c->full;
}

/* ---- where it broke off ---- */

static bool is_formatted(const convo *c)
{
    return c->set.format == FORMAT_SCHEMA || c->set.format == FORMAT_JSON;
}

bool mend_can_prefill(const convo *c)
{
    /* Anthropic refuses a begun answer when thinking is on, a tool is forced or a format is asked for. */
    return (c->quirks & WIRE_PREFILL) && c->set.thinking != 1 && c->set.choice != CHOICE_ANY &&
           c->set.choice != CHOICE_ONE && !is_formatted(c);
}

static daruma_str without_end_space(daruma_str s)
{
    while (s.n && ch_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static void ask_with_anchor(convo *c, daruma_str text, daruma_str anchor)
{
    daruma_buf b = buf_in(c->arena);
    say_as_model(c, text);
    BUF_SAY(&b, "The connection was lost before your answer was complete. What arrived ends with:\n\n", anchor,
            "\n\nGo on exactly there. Begin by repeating these last words unchanged, then write what comes next. No "
            "introduction, no apology, and nothing of what comes before.");
    c->full |= b.full;
    history_tell_model(c, buf_str(&b));
}

/* It is shown less than arrived: what it says next is the rest, and shows whether it is still the same answer. Of a
 * short one, and of one whose end repeats itself so that nobody can say where it ends, it is shown nothing and answers
 * anew. A format that holds from the first byte would not let it go on. */
static void ask_from_before(convo *c, daruma_str text, mend_report *rep)
{
    daruma_str kept = mend_anchor(text, JOIN_KEPT_BYTES);
    daruma_str shown = without_end_space(str_sub(text, 0, text.n - kept.n));
    if (!kept.n || !str_trim(shown).n)
        return;
    while (is_formatted(c) && mend_format(c, rep))
        ;
    say_as_model(c, shown);
    history_tell_model(c, S("The connection was lost before your answer was complete. All that arrived stands above. "
                            "Continue it: write only what comes next, from exactly where it stops. Do not begin anew, "
                            "repeat nothing, and add no introduction."));
}

bool mend_continue(convo *c, daruma_str so_far, mend_going how, mend_report *rep)
{
    daruma_str text = without_end_space(so_far); /* Anthropic: must not end with trailing white space */
    daruma_str anchor = mend_anchor(text, JOIN_TAIL_BYTES);
    if (!str_trim(text).n)
        return false;
    if (how == GOING_PREFILLED && mend_can_prefill(c))
        say_as_model(c, text);
    else if (how == GOING_FROM_BEFORE || !anchor.n)
        ask_from_before(c, text, rep);
    else
        ask_with_anchor(c, text, anchor);
    rep->messages_mended++;
    mend_say(rep, "the model was asked to go on after %zu bytes%s", so_far.n,
             how == GOING_FROM_BEFORE ? ", in other words" : "");
    return !c->full;
}
