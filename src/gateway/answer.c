/* answer.c - tool calls of answers on their way to the client, and answers that were asked for as JSON: arguments that
 * do not parse, do not fit or call a tool that does not exist, and words around the JSON, are mended in place where
 * only one reading is possible; else the model is asked again. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "gateway/inside.h"

bool answer_checks_calls(const exchange *x)
{
    if (x->view.effects) /* it cannot be asked for again */
        return false;
    return (x->kase.can_mend && x->kase.policy->mend.enabled && x->scan.tools_raw.n > 0) || steer_checks_calls(x);
}

bool answer_checks_format(const exchange *x)
{
    return x->kase.can_mend && x->kase.policy->mend.enabled && x->scan.format_raw.n > 0 && !x->view.effects;
}

/* Tells the client, the counts and the event log that the answer goes out mended. */
static void tell_mended(exchange *x, daruma_str what)
{
    daruma_remedy r = {.remedy = DARUMA_REMEDY_MEND_ANSWER, .act = DARUMA_KEEP, .target = x->kase.target};
    daruma_event e = DARUMA_EVENT_INIT;
    exchange_did(x, r.remedy);
    e.name = "output_repair";
    e.remedy = &r;
    e.reason = what;
    exchange_event(x, &e);
}

/* One call that was mended, for people. */
static void say_mended(daruma_buf *what, daruma_str tool, const args_check *c)
{
    buf_putz(what, what->n ? "; the arguments of a call to " : "the arguments of a call to ");
    buf_put(what, str_sub(tool, 0, 64));
    BUF_LIT(what, " were mended");
    if (c->dropped)
        buf_printf(what, ", and %zu member%s that its schema does not know left out", c->dropped,
                   c->dropped > 1 ? "s" : "");
}

bool answer_refused(exchange *x, const turn *t, daruma_arena *a)
{
    daruma_buf why = buf_in(a);
    for (size_t i = 0; steer_checks_calls(x) && i < t->message.nparts && !why.n; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->kind == PART_CALL && !p->dropped)
            steer_refuses(x, p->name, p->text, &why);
    }
    if (!why.n)
        return false;
    heal_bad_answer(x, t, buf_str(&why));
    return true;
}

/* What we would have made of a call that is not ours to change. */
static void say_anew(daruma_buf *why, const convo_part *p, const args_check *c, daruma_str args)
{
    if (why->n)
        buf_putc(why, '\n');
    BUF_LIT(why, "The call to ");
    buf_put(why, str_sub(p->name, 0, 64));
    BUF_LIT(why, " cannot be carried out as it is written. If this is what is meant, call ");
    buf_put(why, str_sub(c->name, 0, 64));
    BUF_LIT(why, " with: ");
    buf_put(why, c->verdict == ARGS_REPAIRED ? c->fixed : args);
}

/* Holds the calls of an answer against the tools and mends what can be mended in place, on any thread. */
static void test_calls(answer_test *k, turn *t, daruma_arena *a)
{
    daruma_buf why = buf_in(a), what = buf_in(a);
    for (size_t i = 0; i < t->message.nparts; i++) {
        convo_part *p = &t->message.parts[i];
        if (p->kind != PART_CALL || p->dropped)
            continue;
        daruma_str args = p->text;
        args_check c = mend_args(k->tools, p->name, args, mend_args_cut(t, i), a);
        if (c.verdict == ARGS_GOOD && str_eq(c.name, p->name))
            continue;
        if (c.verdict == ARGS_GOOD || c.verdict == ARGS_REPAIRED) {
            if (p->sealed) { /* its bytes are signed: as it came, or written anew by the model */
                if (!json_is_object(args))
                    say_anew(&why, p, &c, args);
                continue;
            }
            p->name = c.name;
            p->text = c.verdict == ARGS_REPAIRED ? c.fixed : args;
            p->ready = p->edited = t->message.edited = true;
            say_mended(&what, p->name, &c);
            continue;
        }
        if (why.n)
            buf_putc(&why, '\n');
        buf_put(&why, c.why);
    }
    k->bad = why.n > 0;
    k->why = buf_str(&why);
    k->mended = k->bad ? S("") : buf_str(&what);
}

/* The same for words that were asked for as JSON. */
static void test_format(answer_test *k, turn *t, daruma_arena *a)
{
    daruma_str schema = k->format->set.format_schema;
    convo_part *words = NULL;
    daruma_buf all = buf_in(a);
    size_t n = 0;
    if (t->refused || (t->finish != FINISH_STOP && t->finish != FINISH_NONE))
        return; /* it is no answer, or not all of one */
    for (size_t i = 0; i < t->message.nparts; i++) {
        convo_part *p = &t->message.parts[i];
        if (p->dropped || p->kind == PART_THINKING)
            continue;
        if (p->kind != PART_TEXT || mend_said(schema, p->text, a).verdict == ARGS_GOOD)
            return;
        buf_put(&all, p->text);
        words = p;
        n++;
    }
    if (!n || all.full)
        return;
    args_check c = mend_said(schema, n == 1 ? words->text : buf_str(&all), a);
    if (c.verdict == ARGS_GOOD)
        return;
    if (c.verdict == ARGS_REPAIRED && n == 1 && !words->sealed) {
        words->text = c.fixed;
        words->ready = words->edited = t->message.edited = true;
        k->made_json =
            c.dropped ? S("the answer was asked for as JSON and was made so, without what its schema does not know")
                      : S("the answer was asked for as JSON, and was made so");
        return;
    }
    if (c.verdict == ARGS_REPAIRED || (c.verdict == ARGS_UNFIT && k->was_unfit))
        return;
    k->unfit = c.verdict == ARGS_UNFIT;
    k->bad = true;
    k->why = c.why;
}

void answer_test_do(answer_test *k, turn *t, daruma_arena *a)
{
    if (k->tools)
        test_calls(k, t, a);
    if (k->format && !k->bad)
        test_format(k, t, a);
}

bool answer_test_done(exchange *x, const answer_test *k, const turn *t)
{
    daruma_str what = arena_copy(x->c->arena, k->mended);
    if (k->unfit)
        heal_unfit(x);
    if (what.n)
        tell_mended(x, what);
    if (k->made_json.n)
        tell_mended(x, k->made_json);
    if (k->bad)
        heal_bad_answer(x, t, k->why);
    return !k->bad;
}

/* A stream of Anthropic's sends no pieces behind `input: {}`, and Gemini leaves `args` out. */
daruma_str answer_args(const dialect *p, turn_finish finish, daruma_str args)
{
    bool objects = p == &dialect_anthropic || p == &dialect_gemini;
    bool by_length = finish == FINISH_LENGTH || finish == FINISH_WINDOW;
    return !args.n && objects && !by_length ? S("{}") : args;
}
