/* actions.c - models that answer with an action written as JSON, {"thought", "next_node", "args"}, instead of calling
 * tools: what is meant is found in what they write, the first action that can be done is done, and what cannot be read
 * is asked for again (PenguiFlow's protocol, P-F31 to P-F36). */
#include "engine/agent/inside.h"
#include "engine/mend/answer/answer.h"

/* ---- finding JSON in a text ---- */

/* Length of the braces that open at text[0], whatever stands between; 0: they do not close. */
static size_t balanced(daruma_str text)
{
    size_t depth = 0;
    char quote = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (quote && c == '\\')
            i++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '{')
            depth++;
        else if (c == '}' && --depth == 0)
            return i + 1;
    }
    return 0;
}

/* The next object of *rest, as JSON; what is nearly JSON is mended. Empty: there is none. */
static daruma_str next_object(daruma_str *rest, daruma_arena *a)
{
    for (size_t at; (at = str_findch(*rest, '{')) != STR_NONE;) {
        daruma_str from = str_from(*rest, at), value;
        size_t n = json_skip(from, 0, &value);
        if (n != STR_NONE && json_valid(value)) {
            *rest = str_from(from, n);
            return value;
        }
        n = balanced(from);
        value = n ? json_repair(str_sub(from, 0, n), a, NULL) : (daruma_str){0};
        *rest = str_from(from, n ? n : 1);
        if (json_is_object(value))
            return value;
        if (!n) /* it ends within a value: nothing is completed */
            return (daruma_str){0};
    }
    return (daruma_str){0};
}

static daruma_str string_of(daruma_str object, daruma_str key, daruma_arena *a)
{
    daruma_str v = json_get(object, key);
    return json_is_string(v) ? str_trim(json_text(v, a)) : (daruma_str){0};
}

/* What an object says. False: it names no node, and may be anything. */
static bool read_action(daruma_str object, daruma_arena *a, agent_action *ret)
{
    daruma_str inner = json_get(object, S("action"));
    object = json_is_object(inner) ? inner : object;
    *ret = (agent_action){.thought = string_of(object, S("thought"), a), .args = json_get(object, S("args"))};
    ret->node = string_of(object, S("next_node"), a);
    if (!ret->node.n)
        ret->node = string_of(object, S("node"), a);
    bool named = ret->node.n > 0;
    if (!named)
        ret->node = S("final_response");
    if (!json_is_object(ret->args))
        ret->args = named ? S("{}") : object;
    if (!ret->thought.n)
        ret->thought = S("planning next step");
    return named;
}

size_t actions_read(daruma_str text, daruma_arena *a, agent_action *out, size_t max)
{
    agent_action loose = {0};
    size_t n = 0, objects = 0;
    for (daruma_str rest = text, v; n < max && (v = next_object(&rest, a)).n;) {
        daruma_str plan = json_get(v, S("plan")), one;
        json_iter it = json_open(plan);
        objects++;
        while (json_is_array(plan) && n < max && json_next(&it, NULL, &one))
            if (json_is_object(one) && read_action(one, a, &out[n]))
                out[n++].beside = true;
        if (json_is_array(plan))
            continue;
        if (read_action(v, a, &out[n]))
            n++;
        else
            loose = out[n];
    }
    if (!n && objects == 1) /* an object that names nothing is an answer, even an empty one */
        out[n++] = loose;
    return n;
}

/* ---- answers ---- */

static bool is_placeholder(daruma_str s)
{
    static const daruma_str none[] = {LIT("<auto>"),       LIT("unknown"),         LIT("n/a"),
                                      LIT("<fill_value>"), LIT("your value here"), LIT("...")};
    for (size_t i = 0; i < COUNT(none); i++)
        if (str_ieq(s, none[i]))
            return true;
    return !s.n;
}

bool actions_placeholder(daruma_str s)
{
    return is_placeholder(str_trim(s));
}

static const daruma_str keys[] = {LIT("raw_answer"), LIT("answer"),  LIT("text"),
                                  LIT("response"),   LIT("content"), LIT("result")};

/* The answer among arguments, or in a text that is one; empty: there is none that can be used. */
daruma_str actions_answer(daruma_str text, daruma_arena *a)
{
    daruma_str rest = text, v = next_object(&rest, a), said = str_trim(text);
    if (json_is_object(v)) {
        daruma_str inner = json_get(v, S("args"));
        for (size_t i = 0; i < COUNT(keys); i++) {
            said = string_of(v, keys[i], a);
            if (!said.n)
                said = string_of(inner, keys[i], a);
            if (said.n)
                return is_placeholder(said) ? (daruma_str){0} : said;
        }
        return (daruma_str){0};
    }
    for (size_t i = 0; i < COUNT(keys); i++) /* raw_answer: the text */
        if (said.n > keys[i].n && str_ieq(str_sub(said, 0, keys[i].n), keys[i]) && said.p[keys[i].n] == ':')
            said = str_trim(str_from(said, keys[i].n + 1));
    return str_starts(said, S("{")) || is_placeholder(said) ? (daruma_str){0} : said;
}

/* What stands for an answer where asking for one fails, too (P-F43): a text within an object, a single long text, a
 * thought that is not about what comes next, the arguments as they are. */
static daruma_str stand_in(const agent_action *x, daruma_arena *a)
{
    static const daruma_str thinking[] = {LIT("planning"), LIT("thinking"), LIT("i need"),
                                          LIT("i will"),   LIT("i should"), LIT("let me")};
    json_iter it = json_open(x->args);
    daruma_str key, value, one = {0};
    size_t n = 0, real = 0;
    bool thinks = false;
    for (; json_next(&it, &key, &value); n++) {
        one = json_is_object(value) ? actions_answer(value, a) : string_of(x->args, key, a);
        if (json_is_object(value) && one.n)
            return one;
        real += !json_is_string(value) || !is_placeholder(one);
    }
    if (n == 1 && one.n >= AGENT_LONG_TEXT_BYTES_MIN)
        return one;
    for (size_t i = 0; i < COUNT(thinking); i++)
        thinks |= str_ieq(str_sub(x->thought, 0, thinking[i].n), thinking[i]);
    return !thinks ? x->thought : real ? x->args : S("No answer produced.");
}

/* Answers that are no text are not taken for one. */
static void tell_discarded(agent *a, daruma_str args)
{
    daruma_buf fields = buf_in(&a->scratch);
    for (size_t i = 0; i < COUNT(keys); i++)
        if (json_get(args, keys[i]).n && !json_is_string(json_get(args, keys[i])))
            buf_printf(&fields, "%s" STR_FMT, fields.n ? "," : "", STR_ARG(keys[i]));
    if (!fields.n)
        return;
    LOG(a, "finish_invalid_answer_type_discarded", "fields", buf_str(&fields), "action_seq", a->turn);
}

/* What is left of an answer that cannot be read: its "raw_answer" or "answer", even a truncated one, else its beginning
 * (P-F34). */
static daruma_str salvage(daruma_str text, daruma_arena *a)
{
    static const daruma_str quoted[] = {LIT("\"raw_answer\""), LIT("\"answer\"")};
    for (size_t i = 0; i < COUNT(quoted); i++) {
        size_t at = str_find(text, quoted[i]);
        daruma_str rest = at == STR_NONE ? (daruma_str){0} : str_trim(str_from(text, at + quoted[i].n)), v;
        if (!str_starts(rest, S(":")))
            continue;
        rest = str_trim(str_from(rest, 1));
        if (!str_starts(rest, S("\"")))
            continue;
        size_t n = json_skip(rest, 0, &v);
        return n != STR_NONE ? json_text(v, a) : str_from(rest, 1);
    }
    return flow_line(str_trim(text), AGENT_SALVAGE_BYTES_MAX);
}

/* ---- an answer of the model ---- */

static void unread(agent *a, daruma_str text)
{
    daruma_str prefix = str_trim(text);
    a->spent.unread++;
    if (a->repairs >= a->policy->repairs) {
        a->turn++;
        a->spent.steps++;
        a->spent.salvaged++;
        think_said(a, flow_text(a, salvage(text, &a->scratch)));
        return;
    }
    a->repairs++;
    a->spent.repairs++;
    daruma_buf said = buf_in(&a->scratch);
    LOG(a, "planner_repair_attempt", "attempt", a->repairs, "error_type", "parse", "error_summary",
        "no JSON object with an action", "next_node_detected",
        str_find(text, S("\"next_node\"")) != STR_NONE ? S("yes") : S("no"), "response_len", text.n, "had_code_fence",
        str_find(text, S("```")) != STR_NONE, "had_non_json_prefix", prefix.n > 0 && prefix.p[0] != '{');
    BUF_LIT(&said, "Your previous response was invalid JSON or did not match the schema: no JSON object with an action "
                   "was found in it. Answer with the corrected JSON only.");
    a->correction = flow_text(a, buf_str(&said));
    a->recovering = true;
    agent_failure f = router_own(a, DARUMA_MALFORMED_OUTPUT, DARUMA_RETRIABLE, S("invalid JSON"));
    router_keep(a, &f);
}

static bool is_final(daruma_str node)
{
    return str_eq(node, S("final_response")) || str_eq(node, S("finish"));
}

/* Can it be done as it stands? */
static bool can(agent *a, const agent_action *x)
{
    args_bad bad;
    const agent_tool *t = router_tool(a, x->node);
    return is_final(x->node) || (t && !t->forbidden && args_look(a, t, x->args, &bad));
}

/* The first one that can be done; else the first. */
static const agent_action *choose(agent *a, const agent_action *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!can(a, &x[i]))
            continue;
        if (!i)
            return x;
        bool known = router_tool(a, x[0].node) != NULL;
        LOG(a, "multi_action_fallback_used", known ? "tool" : "from", x[0].node, "to",
            buf_any(known ? (daruma_str){0} : x[i].node), "reason", known ? "args_validation" : "unknown_tool");
        return &x[i];
    }
    return x;
}

static void take(agent *a, const agent_action *x, size_t i)
{
    daruma_buf id = buf_in(&a->texts);
    agent_step *s = traj_add(a, AGENT_STEP_CALL);
    if (!s)
        return;
    buf_printf(&id, "call_%u_%zu", a->turn, i);
    s->id = buf_str(&id);
    s->thought = i ? (daruma_str){0} : flow_text(a, x->thought);
    s->tool = flow_text(a, x->node);
    s->args = flow_text(a, x->args);
    const agent_tool *t = router_tool(a, x->node);
    args_bad bad;
    if (!t) {
        daruma_buf why = buf_in(&a->scratch);
        BUF_SAY(&why, "there is no tool '", x->node, "'; the tools are:");
        for (size_t k = 0; k < a->s.ntools; k++)
            BUF_SAY(&why, " ", a->s.tools[k].about.name);
        calls_refuse(a, s, buf_str(&why));
    } else if (!t->forbidden && !args_look(a, t, x->args, &bad)) {
        args_reject(a, s, &bad);
    }
}

void actions_answered(agent *a, daruma_str text)
{
    agent_action found[AGENT_ACTIONS_MAX];
    size_t n = actions_read(text, &a->scratch, found, AGENT_ACTIONS_MAX);
    if (!n) {
        unread(a, text);
        return;
    }
    think_stepped(a);
    if (n > 1 && !found[0].beside)
        LOG(a, "llm_parse_extras", "count", (int64_t)n - 1);
    const agent_action *x = found[0].beside ? found : choose(a, found, n);
    if (is_final(x->node)) {
        daruma_str said = actions_answer(x->args, &a->scratch);
        if (!said.n)
            tell_discarded(a, x->args);
        if (said.n || a->args.repaired) {
            think_said(a, flow_text(a, said.n ? said : stand_in(x, &a->scratch)));
            return;
        }
        a->reporting.said = flow_keep(a, stand_in(x, &a->scratch));
        a->phase = PHASE_FINISH;
        return;
    }
    a->next = a->nsteps;
    a->phase = PHASE_TOOLS;
    for (size_t i = 0; i < (found[0].beside ? n : 1); i++)
        take(a, &x[i], i);
}

/* ---- how the model sees them ---- */

/* A call as the model wrote it. */
void actions_put_call(const agent_step *s, daruma_buf *out)
{
    BUF_OBJECT(out, "thought", s->thought, "next_node", s->tool, "args", buf_raw(s->args));
}

/* "CacheMiss: nothing is there": the class; else Error. */
static daruma_str class_of(daruma_str text)
{
    size_t n = 0;
    while (n < text.n && (ch_word(text.p[n]) || text.p[n] == '.'))
        n++;
    return n && n < text.n && text.p[n] == ':' ? str_sub(text, 0, n) : S("Error");
}

/* A failure as JSON (P-F45): who failed with what, and what the tool suggests. */
void actions_put_failure(agent *a, const agent_step *s, daruma_str result, daruma_buf *out)
{
    daruma_str hint = string_of(result, S("suggestion"), &a->scratch),
               said = string_of(result, S("message"), &a->scratch);
    if (!hint.n)
        hint = string_of(result, S("remedy"), &a->scratch);
    said = said.n ? said : flow_line(str_trim(result), FAILURE_TEXT_BYTES_MAX);
    daruma_str class = string_of(result, S("error_type"), &a->scratch);
    class = class.n ? class : class_of(said);
    daruma_buf line = buf_in(&a->scratch);
    if (s->attempts) {
        BUF_SAY(&line, "tool '", s->tool, "' raised ");
        if (!str_starts(said, class))
            BUF_SAY(&line, class, ": ");
    }
    buf_put(&line, said);
    BUF_SAY(out, "{\"error\":", buf_quoted(buf_str(&line)), ",\"failure\":");
    BUF_OBJECT(out, "node", s->tool, "args", buf_raw(s->args), "error_code", class, "message", said, "suggestion",
               buf_any(hint));
    BUF_LIT(out, "}");
}
