/* strategy_read.c - what a model proposes, held against what is known: a strategy that exists, a tool that exists,
 * arguments that fit, nothing that was tried. Its own confidence says little, so nothing is believed that can be
 * checked (K-W2). */
#include "engine/advise/answer.h"
#include "engine/advise/strategy.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

enum { SURE = 1000 };

/* 0 and what is no number is as if nothing was said (K-F4); else between 0 and 1. */
static int16_t confidence_of(daruma_str value, int16_t blind)
{
    int64_t milli = json_is_true(value) ? SURE : 0;
    if (!json_is_true(value) && (!answer_milli(value, &milli) || milli == 0))
        return blind;
    return (int16_t)(milli < 0 ? 0 : milli > SURE ? SURE : milli);
}

static daruma_strategy_kind kind_of(daruma_str name)
{
    for (int k = DARUMA_STRATEGY_OTHER + 1; k < DARUMA_STRATEGIES; k++)
        if (str_eq(name, str_of(daruma_strategy_name((daruma_strategy_kind)k))))
            return (daruma_strategy_kind)k;
    return DARUMA_STRATEGY_OTHER;
}

/* What stands in the object, with the words that stand for what is missing. */
static daruma_strategy proposal(daruma_str object, const daruma_adapt_policy *how, daruma_arena *a)
{
    daruma_str action = json_get(object, S("action")), parameters = json_get(action, S("parameters"));
    daruma_strategy x = {
        .source = DARUMA_FROM_MODEL,
        .name = answer_text(object, S("strategy"), (daruma_str){0}, a),
        .reasoning = answer_text(object, S("reasoning"), S("No reasoning provided"), a),
        .tool = answer_text(action, S("toolName"), (daruma_str){0}, a),
        .message = answer_text(action, S("escalationMessage"), (daruma_str){0}, a),
        .expected = answer_text(object, S("expectedOutcome"), S("Unknown"), a),
        .parameters = json_is_object(parameters) && json_count(parameters) ? parameters : (daruma_str){0},
        .confidence = confidence_of(json_get(object, S("confidence")), how->blind),
    };
    x.kind = kind_of(x.name);
    return x;
}

static bool strategy_refuse(daruma_buf *why, const char *words, daruma_str about)
{
    if (why) {
        buf_putz(why, words);
        if (about.n) {
            BUF_SAY(why, ": ", str_sub(about, 0, SITUATION_TEXT_CHARS_MAX));
        }
    }
    return false;
}

/* What it calls itself must be what it is: with other arguments it is no retry, with another tool no adjustment. */
static void name_rightly(daruma_strategy *x, const daruma_situation *s)
{
    daruma_str tool = strategy_tool(s), args = strategy_args(s, tool);
    bool about_it = x->kind == DARUMA_STRATEGY_RETRY || x->kind == DARUMA_STRATEGY_ADJUST;
    if (about_it && !x->tool.n)
        x->tool = tool;
    if (about_it && tool.n && !str_eq(x->tool, tool))
        x->kind = DARUMA_STRATEGY_ALTERNATIVE;
    if (x->kind == DARUMA_STRATEGY_ALTERNATIVE && str_eq(x->tool, tool))
        x->kind = DARUMA_STRATEGY_ADJUST;
    if (x->kind == DARUMA_STRATEGY_RETRY && !x->parameters.n)
        x->parameters = args;
    bool same = x->parameters.n && args.n && daruma_call_hash(tool, x->parameters) == daruma_call_hash(tool, args);
    if (x->kind == DARUMA_STRATEGY_RETRY && args.n && !same)
        x->kind = DARUMA_STRATEGY_ADJUST;
    else if (x->kind == DARUMA_STRATEGY_ADJUST && same)
        x->kind = DARUMA_STRATEGY_RETRY;
    x->name = str_of(daruma_strategy_name(x->kind));
}

/* Failures that come again when the same call does. */
static bool comes_again(const daruma_tool_failure *f)
{
    return f && !f->retryable &&
           (f->kind == DARUMA_TOOL_VALIDATION_KIND || f->kind == DARUMA_TOOL_NOT_FOUND_KIND ||
            f->kind == DARUMA_TOOL_AUTH_KIND || f->kind == DARUMA_TOOL_PERMISSION_KIND);
}

static bool may_retry(const daruma_strategy *x, const daruma_situation *s, const daruma_tries *t,
                      const daruma_policy *p, daruma_buf *why)
{
    const daruma_tool_failure *f = strategy_failure(s);
    unsigned most = p ? p->watch.retries_max : TOOL_RECOVERIES_MAX;
    if (strategy_times(t, x->tool) >= most)
        return strategy_refuse(why, "this tool was tried again often enough", x->tool);
    if (!f && s->circle.n)
        return strategy_refuse(why, "the same call again is what it is stuck with", x->tool);
    if (comes_again(f))
        return strategy_refuse(why, "this failure does not pass by itself", f->message);
    return true;
}

static bool is_good(daruma_strategy *x, const daruma_situation *s, const daruma_tries *t, const daruma_policy *p,
                    daruma_buf *why)
{
    if (x->kind == DARUMA_STRATEGY_OTHER)
        return strategy_refuse(why, "there is no such strategy", x->name);
    if (x->kind == DARUMA_STRATEGY_ESCALATE && !x->message.n)
        x->message = x->reasoning;
    if (x->kind != DARUMA_STRATEGY_ESCALATE && x->kind != DARUMA_STRATEGY_GIVE_UP) {
        name_rightly(x, s);
        if (!x->tool.n)
            return strategy_refuse(why, "no tool is named", (daruma_str){0});
        const daruma_tool *tool = strategy_find_tool(s, x->tool);
        if (s->ntools && !tool)
            return strategy_refuse(why, "there is no such tool", x->tool);
        char room[ARGS_WHY_BYTES_MAX];
        daruma_buf wrong = buf_over(room, sizeof room);
        if (tool && tool->schema.n && s->fits && x->parameters.n && !s->fits(tool->schema, x->parameters, &wrong))
            return strategy_refuse(why, "the parameters do not fit the tool", buf_str(&wrong));
    }
    if (x->kind == DARUMA_STRATEGY_RETRY && !may_retry(x, s, t, p, why))
        return false;
    if (strategy_tried(t, x))
        return strategy_refuse(why, "this was tried already", x->name);
    return true;
}

daruma_strategy daruma_strategy_read(daruma_str answer, const daruma_situation *s, const daruma_tries *t,
                                     const daruma_policy *p, daruma_arena *a, daruma_buf *why)
{
    const daruma_adapt_policy *how = adapt_of(p);
    if (!str_trim(answer).n) {
        strategy_refuse(why, "the model did not answer", (daruma_str){0});
        return daruma_strategy_guess(s, t, p, a);
    }
    daruma_str object = how->greedy ? answer_greedy(answer) : answer_object(answer, S("strategy"));
    if (!object.n) {
        strategy_refuse(why, "the answer has no JSON object with a strategy", (daruma_str){0});
        return how->unread ? strategy_of_row(how->unread, s, (daruma_str){0}, a) : daruma_strategy_guess(s, t, p, a);
    }
    daruma_strategy x = proposal(object, how, a);
    if (!how->greedy && !is_good(&x, s, t, p, why))
        return daruma_strategy_guess(s, t, p, a);
    x.checked = strategy_holds(s, &x, NULL);
    return x;
}
