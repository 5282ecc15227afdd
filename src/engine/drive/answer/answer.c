/* answer.c - tool calls of answers on their way to the client, and answers that were asked for as JSON: arguments that
 * do not parse, do not fit or call a tool that does not exist, and words around the JSON, are mended in place where
 * only one reading is possible; else the model is asked again. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/agents/steer.h"
#include "engine/drive/answer/answer.h"
#include "engine/mend/answer/answer.h"

enum { FORMAT_ROOM_TIMES = 24 }; /* memory at once for a format of so many bytes; what is not used is never touched */

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

/* What it costs to check a call beside what stands in it, in bytes that are read: nothing for a small schema. An
 * unknown name is compared with those of all tools. */
static size_t cost_of(const convo *tools, const convo_part *p)
{
    const convo_tool *tool = convo_tool_find(tools, p->name);
    size_t n = tool ? tool->schema.n : tools->ntools * TOOL_NAME_COST;
    return n > SCHEMA_SMALL_BYTES ? n : 0;
}

/* Checks call `i` of the answer. What a large schema needs, several times its bytes, is given back at once: one answer
 * may call such tools often. Without memory nothing can be said of the call. */
static args_check check_call(const answer_test *k, const turn *t, size_t i, bool large, daruma_arena *a)
{
    const convo_part *p = &t->message.parts[i];
    daruma_arena room = {0};
    convo_tool input = {.name = p->name, .schema = S(CONVO_INPUT_SCHEMA)};
    convo inputs = {.arena = a, .tools = &input, .ntools = 1};
    if (p->wrapped) /* of a custom tool, which was a function for who called it */
        return mend_args(&inputs, p->name, p->text, mend_args_cut(t, i), a);
    if (!large || !k->rooms || !k->rooms->open(&room, 0, MEND_ARENA_BYTES_MAX))
        return mend_args(k->tools, p->name, p->text, mend_args_cut(t, i), a);
    args_check c = mend_args(k->tools, p->name, p->text, mend_args_cut(t, i), &room);
    if (room.full)
        c = (args_check){.verdict = ARGS_GOOD, .name = p->name, .unsure = true};
    c.fixed = arena_copy(a, c.fixed);
    c.why = arena_copy(a, c.why);
    c.name = arena_copy(a, c.name);
    k->rooms->close(&room);
    return c;
}

/* Holds the calls of an answer against the tools and mends what can be mended in place, on any thread. Many calls of
 * tools with large schemas are checked as far as the bound on that work; the rest stays as it came. */
static void test_calls(answer_test *k, turn *t, daruma_arena *a)
{
    daruma_buf why = buf_in(a), what = buf_in(a);
    size_t cost = 0;
    bool cut = true, readable = true, tellable = true;
    for (size_t i = 0; i < t->message.nparts; i++) {
        convo_part *p = &t->message.parts[i];
        if (p->kind != PART_CALL || p->dropped)
            continue;
        daruma_str args = p->text, whole = {0};
        size_t more = cost_of(k->tools, p);
        if (cost && cost + more > k->most) {
            k->given_up = true;
            break;
        }
        cost += more;
        args_check c = check_call(k, t, i, more > 0, a);
        cost += (size_t)c.steps * SCHEMA_STEP_COST;
        k->given_up |= c.unsure;
        if (c.verdict == ARGS_GOOD && str_eq(c.name, p->name) && !(k->strings && json_is_object(p->value)))
            continue;
        if (c.verdict == ARGS_GOOD || c.verdict == ARGS_REPAIRED) {
            if (p->sealed) { /* its bytes are signed: as it came, or written anew by the model */
                if (!json_is_object(args)) {
                    say_anew(&why, p, &c, args);
                    cut = readable = false;
                }
                continue;
            }
            readable &= json_whole(args, &whole) && json_is_object(whole); /* as it came, beside one that is bad */
            p->name = c.name;
            p->text = c.verdict == ARGS_REPAIRED ? c.fixed : args;
            p->ready = p->edited = t->message.edited = true;
            say_mended(&what, p->name, &c);
            continue;
        }
        if (why.n)
            buf_putc(&why, '\n');
        buf_put(&why, c.why);
        cut &= mend_args_cut(t, i);
        readable &= json_whole(args, &whole) && json_is_object(whole) && !mend_args_cut(t, i);
        /* Clients cannot read a call without a name, or with arguments that are no string where one belongs. */
        tellable &= p->name.n && !(k->strings && json_is_object(p->value));
    }
    k->bad = why.n > 0 && !k->only && !(k->untold && readable && tellable);
    k->cut = k->bad && cut;
    k->readable = k->bad && readable;
    k->why = buf_str(&why);
    k->mended = k->bad ? S("") : buf_str(&what);
}

static bool begins_json(daruma_str text)
{
    text = str_trim(text);
    return text.n && (text.p[0] == '{' || text.p[0] == '[');
}

/* The same for words that were asked for as JSON. Works in `a`, and what stays is in `keep`. */
static void test_format(answer_test *k, turn *t, daruma_arena *keep, daruma_arena *a)
{
    daruma_str schema = k->format->set.format_schema;
    convo_part *words = NULL;
    daruma_buf all = buf_in(a);
    args_check c = {0};
    size_t n = 0;
    if (t->refused || (t->finish != FINISH_STOP && t->finish != FINISH_NONE))
        return; /* it is no answer, or not all of one */
    for (size_t i = 0; i < t->message.nparts; i++) {
        convo_part *p = &t->message.parts[i];
        if (p->dropped || p->kind == PART_THINKING)
            continue;
        if (p->kind != PART_TEXT)
            return;
        c = mend_said(schema, p->text, a);
        k->given_up |= c.unsure;
        if (c.verdict == ARGS_GOOD)
            return;
        buf_put(&all, p->text);
        words = p;
        n++;
    }
    if (n > 1 && !all.full)
        c = mend_said(schema, buf_str(&all), a);
    k->given_up |= c.unsure || a->full;
    if (!n || a->full || c.verdict == ARGS_GOOD)
        return; /* without memory nothing can be said of it */
    if (c.verdict == ARGS_REPAIRED && n == 1 && !words->sealed) {
        words->text = arena_copy(keep, c.fixed);
        words->ready = words->edited = t->message.edited = true;
        k->made_json =
            c.dropped ? S("the answer was asked for as JSON and was made so, without what its schema does not know")
                      : S("the answer was asked for as JSON, and was made so");
        return;
    }
    k->unfit = c.verdict == ARGS_UNFIT;
    k->bad = c.verdict != ARGS_REPAIRED && !(k->unfit && k->was_unfit);
    if (!k->bad)
        return;
    k->readable = k->unfit || !begins_json(buf_str(&all)); /* else it may be cut */
    k->why = arena_copy(keep, c.why);
}

/* The same with a format that was not read yet, in memory of its own: an index of what it names takes several times its
 * bytes. */
static void test_large_format(answer_test *k, turn *t, daruma_arena *keep)
{
    daruma_arena room = {0};
    convo format;
    size_t first = k->unread_format.n * FORMAT_ROOM_TIMES;
    if (first > MEND_ARENA_BYTES_MAX / 2)
        first = MEND_ARENA_BYTES_MAX / 2;
    if (k->rooms->open(&room, first, MEND_ARENA_BYTES_MAX) &&
        answer_format_read(k->d, k->unread_format, &room, &format)) {
        k->format = &format;
        test_format(k, t, keep, &room);
        k->format = NULL;
    }
    k->given_up |= room.full;
    k->rooms->close(&room);
}

bool answer_tools_read(const dialect *d, daruma_str raw, daruma_arena *a, convo *ret)
{
    if (dialect_read_tools(d, raw, a, ret) != DARUMA_OK)
        return false;
    for (size_t i = 0; i < ret->ntools; i++)
        if (!ret->tools[i].name.n && !ret->tools[i].hosted)
            return false; /* a tool that we cannot name: any call may be to it */
    convo_tools_index(ret);
    return ret->ntools > 0;
}

bool answer_format_read(const dialect *d, daruma_str raw, daruma_arena *a, convo *ret)
{
    return dialect_read_format(d, raw, a, ret) == DARUMA_OK &&
           (ret->set.format == FORMAT_SCHEMA || ret->set.format == FORMAT_JSON);
}

void answer_test_do(answer_test *k, turn *t, daruma_arena *a)
{
    convo *own = k->unread.n ? ARENA_NEW(a, convo, 1) : NULL;
    if (own && answer_tools_read(k->d, k->unread, a, own)) {
        own->more_tools |= k->more_tools;
        k->tools = own;
    }
    if (k->tools)
        test_calls(k, t, a);
    if (k->format && !k->bad)
        test_format(k, t, a, a);
    if (k->unread_format.n && !k->bad)
        test_large_format(k, t, a);
}

/* ---- of a session ---- */

bool answer_checks_calls(const session *x)
{
    return (x->kase.can_mend && x->kase.policy->mend.enabled && x->out.scan.tools_raw.n > 0) || steer_checks_calls(x);
}

bool answer_checks_format(const session *x)
{
    return x->kase.can_mend && x->kase.policy->mend.enabled && x->out.scan.format_raw.n > 0 && !x->answer.view.effects;
}

void answer_tell_mended(session *x, daruma_str what)
{
    daruma_remedy r = {.remedy = DARUMA_REMEDY_MEND_ANSWER, .act = DARUMA_KEEP, .target = x->kase.target};
    daruma_event e = DARUMA_EVENT_INIT;
    session_did(x, r.remedy);
    e.name = "output_repair";
    e.remedy = &r;
    e.reason = what;
    session_event(x, &e);
}

bool answer_refused(session *x, const turn *t, daruma_arena *a)
{
    daruma_buf why = buf_in(a);
    bool asks = steer_checks_calls(x) && !x->answer.view.effects; /* with them it cannot be asked for again */
    for (size_t i = 0; asks && i < t->message.nparts && !why.n; i++) {
        convo_part p = t->message.parts[i];
        convo_unwrap(&p, a);
        if (p.kind == PART_CALL && !p.dropped)
            steer_refuses(x, p.name, p.text, &why);
    }
    if (!why.n)
        return false;
    session_mend_bad_answer(x, t, buf_str(&why));
    return true;
}

/* An answer that the output cap cut within a call can be ended as its provider ended it, without its calls. */
static void keep_cut(session *x, const turn *t)
{
    turn *cut = ARENA_NEW(x->arena, turn, 1);
    daruma_buf text = buf_in(x->arena);
    for (size_t i = 0; i < t->message.nparts; i++)
        if (t->message.parts[i].kind == PART_TEXT && text.n + t->message.parts[i].text.n <= TALK_SAID_BYTES_MAX)
            buf_put(&text, t->message.parts[i].text);
    convo_part *words = ARENA_NEW(x->arena, convo_part, 1);
    last_failure *l = session_last_new(x);
    if (!cut || !words || !l || text.full)
        return;
    *words = (convo_part){.kind = PART_TEXT, .ready = true, .text = buf_str(&text)};
    *cut = (turn){.finish = t->finish,
                  .usage = t->usage,
                  .message = {.role = CONVO_ASSISTANT, .parts = words, .nparts = text.n ? 1 : 0}};
    l->cut = cut;
    l->cut_by = x->kase.attempts;
}

answer_test answer_test_of(session *x, bool calls, bool words)
{
    answer_test k = {.rooms = x->v->rooms,
                     .untold = x->kase.policy->mend.prunes_only,
                     .strings = x->p == x->d && x->p == &dialect_openai,
                     .was_unfit = session_mend_was_unfit(x) != UNFIT_NEVER};
    if (words)
        session_mend_test_format(x, &k);
    if (calls)
        session_mend_test_calls(x, &k);
    return k;
}

void answer_fail(session *x, daruma_phase phase, daruma_flaw flaw)
{
    daruma_evidence ev = {.phase = phase,
                          .status = x->answer.status,
                          .flaw = flaw,
                          .headers = x->answer.headers,
                          .nheaders = x->answer.nheaders};
    daruma_case_answered(&x->kase, session_now(x)); /* wrong words are no matter of health */
    session_failed(x, &ev);
}

bool answer_test_done(session *x, const answer_test *k, const turn *t)
{
    if (k->given_up)
        session_mend_unchecked(x);
    daruma_str what = arena_copy(x->arena, k->mended);
    if (k->unfit)
        session_mend_unfit(x, !k->bad);
    if (what.n)
        answer_tell_mended(x, what);
    if (k->made_json.n)
        answer_tell_mended(x, k->made_json);
    if (k->bad)
        session_mend_bad_answer(x, t, k->why);
    if (k->cut)
        keep_cut(x, t);
    return !k->bad;
}

/* A stream of Anthropic's sends no pieces behind `input: {}`, and Gemini leaves `args` out. */
daruma_str answer_args(const dialect *p, turn_finish finish, daruma_str args)
{
    bool objects = p == &dialect_anthropic || p == &dialect_gemini;
    bool by_length = finish == FINISH_LENGTH || finish == FINISH_WINDOW;
    return !args.n && objects && !by_length ? S("{}") : args;
}
