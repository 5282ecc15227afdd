/* messages_thinking.c - thinking that a provider does not take: of others, of turns that are over, half of it, or where
 * none may be missing. */
#include "base/json.h"
#include "engine/mend/history.h"
#include "engine/mend/request/wrong.h"

/* In the place of thinking that is lost. DeepSeek's models take no empty one. */
#define NO_THINKING " "
/* What Google documents for calls that come from elsewhere: https://ai.google.dev/gemini-api/docs/thought-signatures */
#define NO_SIGNATURE "skip_thought_signature_validator"

/* Thinking that nobody can check: it is neither signed, nor known by an id. What is here in full (the `content` of
 * reasoning in Responses) needs no check, nor do words (Chat). */
static bool is_half(const convo *c, const convo_part *p)
{
    if (p->kind != PART_THINKING || p->sealed)
        return false;
    if (history_chat(c))
        return json_is_array(p->value);
    daruma_str content = json_get(p->raw, S("content")), one;
    json_iter it = json_open(content);
    return !json_is_array(content) || !json_next(&it, NULL, &one);
}

static bool is_blank(convo *c, convo_part *p)
{
    return p->kind == PART_TEXT && !str_trim(convo_text(c, p)).n;
}

/* White space that was said ahead of half a thought: Anthropic refuses it, and what follows would not be in front. */
static void drop_blanks_ahead(convo *c, convo_message *m)
{
    for (size_t j = 0; j < m->nparts && (m->parts[j].dropped || is_blank(c, &m->parts[j])); j++)
        m->parts[j].dropped = true;
}

/* `half`: only such thinking. */
static bool drop_thinking_of(convo *c, convo_message *m, bool half)
{
    bool did = false;
    for (size_t j = 0; j < m->nparts; j++) {
        convo_part *p = &m->parts[j];
        if (p->dropped || (half && !is_half(c, p)))
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
    if (half && history_anthropic(c))
        drop_blanks_ahead(c, m);
    if (!history_parts(m))
        convo_drop_message(c, m);
    return true;
}

/* Returns of how many messages. What said nothing but its thinking is gone: where turns are taken its neighbours become
 * one. */
static uint32_t drop_thinking(convo *c, size_t end, bool half)
{
    uint32_t n = 0;
    bool gone = false;
    for (size_t i = 0; i < end && i < c->nmessages && !c->full; i++)
        if (history_on(&c->messages[i]) && drop_thinking_of(c, &c->messages[i], half)) {
            n++;
            gone |= !history_on(&c->messages[i]);
        }
    if (gone && history_wire(c, WIRE_ALTERNATE))
        history_merge(c);
    return n;
}

/* Who signs nothing of what it thinks takes it back so. */
static bool signs_thinking(const convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++)
            if (c->messages[i].parts[j].kind == PART_THINKING && c->messages[i].parts[j].sealed)
                return true;
    return false;
}

static bool thinking_off(convo *c)
{
    if (c->set.thinking == 0)
        return false;
    convo_patch_add(c, PATCH_SET, S("thinking"), S("{\"type\":\"disabled\"}"));
    c->set.thinking = 0;
    return true;
}

/* With thinking on, the loop's answers have to begin with it. Where the model chooses whether it thinks, there is no
 * budget, and they need not. */
static bool needs_thinking(const convo *c)
{
    return c->set.thinking == 1 && c->set.thinking_budget >= 0;
}

/* Anthropic's newest answer of a loop has to begin with some. */
static bool lacks_thinking(convo *c)
{
    size_t i = history_before(c, c->nmessages), loop = convo_loop_begin(c);
    while (i != STR_NONE && i >= loop && c->messages[i].role != CONVO_ASSISTANT)
        i = history_before(c, i);
    if (i == STR_NONE || i < loop || !needs_thinking(c))
        return false;
    const convo_message *m = &c->messages[i];
    for (size_t j = 0; j < m->nparts; j++)
        if (!m->parts[j].dropped && !is_blank(c, &m->parts[j]))
            return m->parts[j].kind != PART_THINKING;
    return false;
}

/* Returns of how many messages. */
static uint32_t drop_halves(convo *c)
{
    uint32_t n = drop_thinking(c, c->nmessages, true);
    if (n && history_anthropic(c) && lacks_thinking(c))
        thinking_off(c);
    return n;
}

bool mend_half_thinking(convo *c, bool signs, mend_report *rep)
{
    bool checked =
        history_wire(c, WIRE_FLAT) || ((history_anthropic(c) || history_chat(c)) && (signs || signs_thinking(c)));
    uint32_t n = checked ? drop_halves(c) : 0;
    rep->messages_mended += n;
    mend_count(rep, n, "message goes without thinking that broke off before its signature",
               "messages go without thinking that broke off before its signature");
    return n > 0;
}

uint32_t mend_drop_thinking(convo *c, bool all)
{
    return drop_thinking(c, all ? c->nmessages : convo_loop_begin(c), false);
}

void mending_thinking_off(mending *x)
{
    x->n[MENDED_THINKING] += thinking_off(x->c);
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
                x->n[MENDED_THINKING]++;
            }
            break; /* the first of parallel calls carries it */
        }
    }
}

/* Answers say that they were thought about: those that called tools have to, and to the others it does no harm. */
void mending_put_thinking(mending *x)
{
    convo *c = x->c;
    if (!history_chat(c)) /* which alone has it in words */
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
        x->n[MENDED_THOUGHTS]++;
    }
}

/* All of it, and with it what a request needs that has none in its loop. */
static void drop_all_thinking(mending *x)
{
    convo *c = x->c;
    uint32_t n = mend_drop_thinking(c, true);
    x->n[MENDED_THINKING] += n;
    if (!n)
        return;
    if (history_wire(c, WIRE_NO_IDS))
        mending_sign_calls(x);
    else if (history_wire(c, WIRE_RESULTS_IN_USER) && needs_thinking(c))
        mending_thinking_off(x);
}

bool mend_strange_thinking(convo *c)
{
    mending x = {.c = c, .at = WRONG_ANYWHERE};
    drop_all_thinking(&x);
    return x.n[MENDED_THINKING] > 0;
}

/* What lacks its signature goes first, then thinking of turns that are over; that of the loop in progress only when it
 * is what is meant. */
void mending_seal(mending *x)
{
    convo *c = x->c;
    size_t loop = convo_loop_begin(c);
    bool inside = x->at.message != STR_NONE && x->at.message >= loop;
    uint32_t n = history_anthropic(c) || history_chat(c) ? drop_halves(c) : 0;
    x->halves += n;
    if (!n && !inside)
        n = mend_drop_thinking(c, false);
    x->n[MENDED_THINKING] += n;
    if (!n)
        drop_all_thinking(x);
}
