/* say.c - what the model says: what the script gives it to say, else a function of the request alone. */
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "chaos/oracle/validate.h"

enum {
    SUMMARY_HEAD_BYTES = 160, /* of what is summarised, kept as it stands */
    SUMMARY_TAIL_BYTES = 80,
    QUOTE_BYTES_MIN = 8, /* of the end of a text, to be seen as its quote */
    QUOTE_BYTES_MAX = 400,
};

/* Where the name of a tool stands in a text as a word of its own; STR_NONE. */
static size_t named_at(daruma_str text, daruma_str name)
{
    for (size_t at = 0; at + name.n <= text.n; at++) {
        size_t hit = str_find(str_from(text, at), name);
        if (hit == STR_NONE)
            return STR_NONE;
        at += hit;
        if ((at == 0 || !ch_word(text.p[at - 1])) && (at + name.n == text.n || !ch_word(text.p[at + name.n])))
            return at;
    }
    return STR_NONE;
}

static void call_tool(speech *s, const ask_tool *t, daruma_arena *a)
{
    daruma_buf args = buf_in(a);
    answer_instance(&args, t->schema);
    s->name[s->ncalls] = t->name;
    s->arguments[s->ncalls++] = buf_str(&args);
}

/* Calls the tools that the user names, in the order in which they are named. */
static void call_named_tools(speech *s, const ask *q, daruma_arena *a)
{
    size_t from = 0;
    while (s->ncalls < ANSWER_CALLS_MAX) {
        size_t best = STR_NONE;
        const ask_tool *next = NULL;
        for (size_t i = 0; i < q->noffered; i++) {
            size_t at = named_at(str_from(q->said, from), q->offered[i].name);
            if (at < best || (at == best && next && q->offered[i].name.n > next->name.n)) {
                best = at;
                next = &q->offered[i];
            }
        }
        if (!next)
            return;
        call_tool(s, next, a);
        from += best + next->name.n;
    }
}

/* Which tools are called: those that the user names; one that is demanded all the same. */
static void choose_tools(speech *s, const ask *q, daruma_arena *a)
{
    daruma_str demanded = q->demanded;
    if (q->no_tools || q->noffered == 0)
        return;
    for (size_t i = 0; i < q->noffered; i++)
        if (demanded.n && str_eq(q->offered[i].name, demanded)) {
            call_tool(s, &q->offered[i], a);
            return;
        }
    if (q->nresults == 0)
        call_named_tools(s, q, a);
    if (s->ncalls == 0 && q->some_tool)
        call_tool(s, &q->offered[0], a);
}

/* The answer in text to what was asked. */
static daruma_str say_text_of(const ask *q, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (q->format.n) {
        answer_instance(&b, q->format);
    } else if (q->json) {
        BUF_SAY(&b, "{\"answer\":", buf_quoted(q->said), "}");
    } else if (q->nresults) {
        BUF_LIT(&b, "The tools answered.");
        for (size_t i = 0; i < q->nresults; i++)
            BUF_SAY(&b, " ", q->results[i].name, " said: ", str_trim(q->results[i].text), ".");
    } else if (str_istarts(q->said, S("say ")) && q->said.n > 4) {
        return str_from(q->said, 4);
    } else {
        BUF_SAY(&b, "You said: ", q->said);
    }
    return buf_str(&b);
}

/* ---- what the script says ---- */

/* `{n}` in a scripted text is the number of the answer. */
static daruma_str numbered(daruma_str text, int64_t number, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t at; (at = str_find(text, S("{n}"))) != STR_NONE; text = str_from(text, at + 3))
        BUF_SAY(&b, str_sub(text, 0, at), number);
    buf_put(&b, text);
    return buf_str(&b);
}

static void say_script(speech *s, const ask *q, const manner *m, daruma_arena *a)
{
    const scripted *x = m->script;
    s->text = numbered(x->text, m->number, a);
    s->thinking = numbered(x->thinking, m->number, a);
    for (size_t i = 0; i < x->ncalls; i++) {
        daruma_buf args = buf_in(a);
        s->name[i] = x->calls[i].name;
        s->arguments[i] = numbered(x->calls[i].arguments, m->number, a);
        for (size_t t = 0; !x->calls[i].arguments.n && t < q->noffered; t++)
            if (args.n == 0 && str_eq(q->offered[t].name, x->calls[i].name))
                answer_instance(&args, q->offered[t].schema);
        if (!x->calls[i].arguments.n)
            s->arguments[i] = args.n ? buf_str(&args) : S("{}");
    }
    s->ncalls = x->ncalls;
}

/* ---- going on, summing up ---- */

/* How many bytes at the end of `text` the user quotes. */
static size_t quoted(daruma_str text, daruma_str user)
{
    size_t best = 0;
    for (size_t n = QUOTE_BYTES_MIN; n <= text.n && n <= QUOTE_BYTES_MAX; n++) {
        size_t from = text.n - n;
        if (from && (text.p[from] & 0xc0) == 0x80)
            continue;
        if (str_find(user, str_from(text, from)) == STR_NONE)
            break;
        best = n;
    }
    while (best && ch_space(text.p[text.n - best]))
        best--;
    return best;
}

/* How much of the beginning of `text` has been said at the end of `said`. What stands before it in one message was
 * there before the answer began; a few bytes alone are chance. */
static size_t begun(daruma_str text, daruma_str said)
{
    if (str_starts(text, said))
        return said.n;
    for (size_t n = said.n < text.n ? said.n : text.n; n >= QUOTE_BYTES_MIN; n--)
        if (str_ends(said, str_sub(text, 0, n)))
            return n;
    return 0;
}

/* Turns the whole text into what is said when `partial` of it has been said. False: that was not its beginning. */
static bool go_on(speech *s, const ask *q, const manner *m, daruma_arena *a)
{
    daruma_str said = str_trim(q->partial);
    size_t there = begun(s->text, said), again = 0;
    daruma_buf b = buf_in(a);
    if (!there) /* it is given anew */
        return false;
    said = str_sub(s->text, 0, there);
    switch (m->goes_on.how) {
    case GO_ON_APOLOGISE:
        if (!q->prefills)
            BUF_LIT(&b, "I apologise for the interruption. Here is the rest of it:\n\n");
        again = q->prefills ? 0 : quoted(said, q->said);
        break;
    case GO_ON_AS_TOLD:
        again = q->prefills ? 0 : quoted(said, q->said);
        break;
    case GO_ON_EXACT:
        break;
    case GO_ON_REPEAT:
        again = q->prefills ? 0 : (uint64_t)m->goes_on.repeat < said.n ? (size_t)m->goes_on.repeat : said.n;
        break;
    case GO_ON_RESTART:
        return true;
    case GO_ON_UNRELATED:
        s->ncalls = 0;
        s->text = S("By the way, penguins sleep in naps of four seconds, and nobody has ever complained.");
        return true;
    }
    while (again && again < said.n && (said.p[said.n - again] & 0xc0) == 0x80)
        again--;
    buf_put(&b, str_from(s->text, said.n - again));
    s->thinking = (daruma_str){0};
    s->text = buf_str(&b);
    return true;
}

static void say_summary(speech *s, const ask *q, const manner *m, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    size_t tail = q->said.n > SUMMARY_TAIL_BYTES ? q->said.n - SUMMARY_TAIL_BYTES : 0;
    while (tail && tail < q->said.n && (q->said.p[tail] & 0xc0) == 0x80)
        tail++;
    switch (m->summarises) {
    case SUMMARY_FAILS: /* the caller answers with an error */
    case SUMMARY_SHORT: {
        daruma_str rest = q->said;
        buf_printf(&b, "Summary of %zu bytes: ", q->said.n);
        buf_put(&b, answer_piece(&rest, SUMMARY_HEAD_BYTES));
        if (tail > SUMMARY_HEAD_BYTES)
            BUF_SAY(&b, " ... ", str_from(q->said, tail));
        break;
    }
    case SUMMARY_TEXT:
        buf_put(&b, m->summary);
        break;
    case SUMMARY_EMPTY:
        break;
    case SUMMARY_LARGER:
        BUF_SAY(&b, "A summary that is longer than what it sums up: ", q->said);
        break;
    }
    s->text = buf_str(&b);
}

/* ---- what the model does wrong ---- */

static void replace_all(daruma_buf *b, daruma_str s, char from, char to)
{
    for (size_t i = 0; i < s.n; i++)
        buf_putc(b, s.p[i] == from ? to : s.p[i]);
}

static daruma_str python_literal(daruma_str value)
{
    if (str_eq(value, S("true")))
        return S("True");
    if (str_eq(value, S("false")))
        return S("False");
    return str_eq(value, S("null")) ? S("None") : value;
}

/* The arguments as a model gets them wrong. */
static daruma_str break_arguments(daruma_str args, daruma_str form, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    daruma_str inner = str_sub(args, 1, args.n > 2 ? args.n - 2 : 0), key, value;
    bool array = str_eq(form, S("wrong_type"));
    if (str_eq(form, S("empty")))
        return S("");
    if (str_eq(form, S("trailing_comma"))) {
        BUF_SAY(&b, "{", inner, ",}");
    } else if (str_eq(form, S("single_quotes"))) {
        replace_all(&b, args, '"', '\'');
    } else if (str_eq(form, S("fenced"))) {
        BUF_SAY(&b, "```json\n", args, "\n```");
    } else if (array || str_eq(form, S("literals"))) { /* each value in an array; or as Python writes them */
        json_iter it = json_open(args);
        buf_putc(&b, '{');
        while (json_next(&it, &key, &value)) {
            if (array)
                BUF_SAY(&b, b.n > 1 ? "," : "", "\"", key, "\":[", value, "]");
            else
                BUF_SAY(&b, b.n > 1 ? ", " : "", "\"", key, "\": ", python_literal(value));
        }
        buf_putc(&b, '}');
    } else if (str_eq(form, S("length"))) {
        buf_put(&b, str_sub(args, 0, args.n / 2));
    } else {
        buf_put(&b, str_sub(args, 0, args.n ? args.n - 1 : 0));
    }
    return buf_str(&b);
}

/* A name that is nearly that of a tool that was offered. */
static daruma_str misspelt(daruma_str name, daruma_arena *a)
{
    return STR_SAY(a, name, name.n > 60 ? S("") : S("s"));
}

static void twist_speech(speech *s, answer_twist twist, daruma_str form, daruma_arena *a)
{
    s->twist = twist;
    if (twist == ANSWER_NOTHING || twist == ANSWER_CHOICELESS) {
        s->text = s->thinking = S("");
        s->ncalls = 0;
    } else if (twist == ANSWER_FILTERED) {
        s->text = s->thinking = str_sub(s->text, 0, 0);
        s->ncalls = 0;
    } else if (twist == ANSWER_CUT_SHORT) {
        daruma_str rest = s->text;
        s->text = answer_piece(&rest, s->text.n / 2);
        s->cut = true;
        s->ncalls = 0;
    }
    for (size_t i = 0; i < s->ncalls; i++) {
        if (twist == ANSWER_BAD_ARGUMENTS)
            s->arguments[i] = break_arguments(s->arguments[i], form, a);
        else if (twist == ANSWER_BAD_TOOL)
            s->name[i] = str_eq(form, S("misspelt")) ? misspelt(s->name[i], a) : S("tool_that_nobody_offered");
    }
    if (twist == ANSWER_BAD_ARGUMENTS && s->ncalls && str_eq(form, S("length")))
        s->cut = true;
}

static int64_t tokens_of(const speech *s)
{
    size_t n = s->text.n + s->thinking.n;
    for (size_t i = 0; i < s->ncalls; i++)
        n += s->name[i].n + s->arguments[i].n;
    return (int64_t)(n + 3) / 4;
}

/* At its output limit. */
static void cut_speech(speech *s, int64_t max)
{
    size_t n = (size_t)max * 4;
    while (n && (s->text.p[n] & 0xc0) == 0x80)
        n--;
    s->text = str_sub(s->text, 0, n);
    s->cut = true;
}

static void think(speech *s, const ask *q, const manner *m, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    daruma_str rest = q->said;
    if (m->thinks && q->thinks && !s->thinking.n) {
        BUF_SAY(&b, "Let me think about what was said: ", answer_piece(&rest, 60));
        s->thinking = buf_str(&b);
    }
    if (s->thinking.n)
        s->signature = sign_thought(m->secret, s->thinking, a);
    for (size_t i = 0; m->thinks && q->wire == WIRE_GEMINI && i < s->ncalls; i++)
        s->signed_call[i] = i ? S("") : sign_thought(m->secret, s->name[i], a);
}

/* The answer to what was asked, when nothing of it was said yet. */
static speech whole(const ask *q, const manner *m, daruma_arena *a)
{
    speech s = {.input = q->tokens};
    if (m->script) {
        say_script(&s, q, m, a);
        return s;
    }
    choose_tools(&s, q, a);
    if (s.ncalls == 0)
        s.text = say_text_of(q, a);
    return s;
}

speech answer_say(const ask *q, const manner *m, answer_twist twist, daruma_arena *a)
{
    static const manner plain;
    speech s = {.input = q->tokens};
    m = m ? m : &plain;
    if (q->purpose == ASK_SUMMARY && !str_istarts(q->said, S("say "))) {
        say_summary(&s, q, m, a);
    } else if (q->purpose == ASK_CONTINUE) {
        ask before = *q;
        before.said = q->asked;
        before.nresults = q->asked_nresults;
        s = whole(&before, m, a);
        think(&s, &before, m, a);
        if (!go_on(&s, q, m, a) && !q->prefills && m->goes_on.how != GO_ON_RESTART && !m->script) {
            s = whole(q, m, a); /* what the user said is just another question */
            think(&s, q, m, a);
        }
    } else {
        s = whole(q, m, a);
        think(&s, q, m, a);
    }
    s.output = tokens_of(&s);
    if (q->max_output > 0 && s.ncalls == 0 && s.output > q->max_output && (size_t)q->max_output * 4 < s.text.n)
        cut_speech(&s, q->max_output);
    twist_speech(&s, twist, m->form, a);
    s.call_ids = m->call_ids;
    s.output = tokens_of(&s);
    return s;
}
