/* messages_thinking.c - thinking that a provider does not take: of others, of turns that are over, or where none may be
 * missing. */
#include "engine/mend/history.h"
#include "engine/mend/request/wrong.h"

/* In the place of thinking that is lost. DeepSeek's models take no empty one. */
#define NO_THINKING " "
/* What Google documents for calls that come from elsewhere: https://ai.google.dev/gemini-api/docs/thought-signatures */
#define NO_SIGNATURE "skip_thought_signature_validator"

static bool on_wire(const convo *c, uint32_t quirk)
{
    return (c->quirks & quirk) != 0;
}

static bool drop_thinking_of(convo *c, convo_message *m)
{
    bool did = false;
    for (size_t j = 0; j < m->nparts; j++) {
        convo_part *p = &m->parts[j];
        if (p->dropped)
            continue;
        if (p->kind == PART_THINKING) {
            p->dropped = true;
            did = true;
        } else if (p->sealed) {
            if (p->kind != PART_RESULT)
                p->signature = (daruma_str){0};
            p->sealed = false;
            p->edited = true;
            did = true;
        }
    }
    if (!did)
        return false;
    m->edited = c->edited = true;
    if (!history_parts(m))
        convo_drop_message(c, m);
    return true;
}

/* What said nothing but its thinking is gone: where turns are taken its neighbours become one. */
mend_report mend_drop_thinking(convo *c, bool all)
{
    mend_report r = {0};
    size_t end = all ? c->nmessages : convo_loop_begin(c);
    bool gone = false;
    for (size_t i = 0; i < end && i < c->nmessages && !c->full; i++)
        if (history_on(&c->messages[i]) && drop_thinking_of(c, &c->messages[i])) {
            r.messages_mended++;
            gone |= !history_on(&c->messages[i]);
        }
    if (gone && on_wire(c, WIRE_ALTERNATE))
        history_merge(c);
    history_tell(&r, r.messages_mended, "message goes without its thinking", "messages go without their thinking");
    return r;
}

void mending_thinking_off(mending *x)
{
    const convo_settings *s = &x->c->set;
    if (s->thinking == 0)
        return;
    convo_patch_add(x->c, PATCH_SET, S("thinking"), S("{\"type\":\"disabled\"}"));
    x->c->set.thinking = 0;
    x->thinking++;
}

/* Calls from elsewhere in the loop in progress say that they have no signature. */
void mending_sign_calls(mending *x)
{
    convo *c = x->c;
    for (size_t i = convo_loop_begin(c); i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        for (size_t j = 0; j < m->nparts && history_on(m); j++) {
            convo_part *p = &m->parts[j];
            if (p->kind != PART_CALL || p->dropped)
                continue;
            if (!p->signature.n) {
                p->signature = S(NO_SIGNATURE);
                p->sealed = p->edited = m->edited = c->edited = true;
                x->thinking++;
            }
            break; /* the first of parallel calls carries it */
        }
    }
}

/* Answers say that they were thought about: those that called tools have to, and to the others it does no harm. */
void mending_put_thinking(mending *x)
{
    convo *c = x->c;
    if (on_wire(c, WIRE_RESULTS_IN_USER | WIRE_FLAT | WIRE_NO_IDS)) /* only Chat has it in words */
        return;
    for (size_t i = 0; i < c->nmessages && !c->full; i++) {
        convo_message *m = &c->messages[i];
        bool thought = m->role != CONVO_ASSISTANT || !history_on(m);
        for (size_t j = 0; j < m->nparts; j++)
            thought |= m->parts[j].kind == PART_THINKING && !m->parts[j].dropped && convo_text(c, &m->parts[j]).n;
        convo_part *p = thought ? NULL : convo_insert_part(c, m, 0, PART_THINKING);
        if (!p)
            continue;
        convo_set_text(c, m, p, S(NO_THINKING));
        x->thoughts++;
    }
}

/* All of it, and with it what a request needs that has none in its loop. */
static void drop_all_thinking(mending *x)
{
    convo *c = x->c;
    mend_report r = mend_drop_thinking(c, true);
    x->thinking += r.messages_mended;
    if (!r.messages_mended)
        return;
    if (on_wire(c, WIRE_NO_IDS))
        mending_sign_calls(x);
    else if (on_wire(c, WIRE_RESULTS_IN_USER) && c->set.thinking == 1)
        mending_thinking_off(x); /* with thinking on, the loop's answers would have to begin with it */
}

bool mend_strange_thinking(convo *c)
{
    mending x = {.c = c, .at = WRONG_ANYWHERE};
    drop_all_thinking(&x);
    return x.thinking > 0;
}

/* Thinking of turns that are over goes first; that of the loop in progress only when it is what is meant. */
void mending_seal(mending *x)
{
    convo *c = x->c;
    size_t loop = convo_loop_begin(c);
    bool inside = x->at.message != STR_NONE && x->at.message >= loop;
    mend_report r = {0};
    if (!inside)
        r = mend_drop_thinking(c, false);
    x->thinking += r.messages_mended;
    if (r.messages_mended)
        return;
    drop_all_thinking(x);
}
