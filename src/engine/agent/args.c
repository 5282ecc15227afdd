/* args.c - arguments that do not do: fields that are missing are asked for, one small question a tool; what fails again
 * and again ends in an apology (P-F38 to P-F42). Only what lacks or only pretends a value counts, not a wrong type
 * (P-W12). */
#include "engine/agent/inside.h"
#include "engine/mend/answer/answer.h"

/* ---- looking ---- */

static bool is_simple(daruma_str schema, daruma_str field, daruma_arena *a)
{
    static const daruma_str types[] = {LIT("string"), LIT("integer"), LIT("number"), LIT("boolean")};
    daruma_str type = json_text(json_get(json_get(json_get(schema, S("properties")), field), S("type")), a);
    return STR_ANY(str_eq, type, types);
}

/* The path of the first value that only pretends to be one, as "list[0].name". False: there is none. */
static bool put_placeholder(daruma_str v, int levels, daruma_buf *path, daruma_arena *a)
{
    daruma_str key, value;
    size_t begun = path->n, i = 0;
    if (json_is_string(v))
        return str_eq(json_text(v, a), S("<auto>"));
    bool list = json_is_array(v), nested = levels > 0 && (list || json_is_object(v));
    for (json_iter it = json_open(v); nested && json_next(&it, &key, &value); i++, path->n = begun) {
        if (list)
            buf_printf(path, "[%zu]", i);
        else
            buf_printf(path, "%s" STR_FMT, begun ? "." : "", STR_ARG(key));
        if (put_placeholder(value, levels - 1, path, a))
            return true;
    }
    return false;
}

bool args_look(agent *a, const agent_tool *t, daruma_str args, args_bad *bad)
{
    daruma_str schema = t->about.schema, value;
    json_iter need = json_open(json_get(schema, S("required")));
    daruma_buf why = buf_in(&a->scratch), path = buf_in(&a->scratch);
    *bad = (args_bad){0};
    while (json_next(&need, NULL, &value) && bad->nmissing < AGENT_FILL_FIELDS_MAX) {
        daruma_str field = json_text(value, &a->scratch);
        if (json_get(args, field).n)
            continue;
        bad->complex |= !is_simple(schema, field, &a->scratch);
        bad->missing[bad->nmissing++] = field;
    }
    if (put_placeholder(args, SCHEMA_DEPTH_MAX, &path, &a->scratch))
        bad->placeholder = buf_str(&path);
    if (bad->nmissing || bad->placeholder.n) {
        BUF_LIT(&why, "the arguments of the tool did not validate:");
        for (size_t i = 0; i < bad->nmissing; i++)
            BUF_SAY(&why, i ? ", " : " missing ", bad->missing[i]);
        if (bad->placeholder.n)
            BUF_SAY(&why, " a placeholder stands in ", bad->placeholder);
        bad->why = buf_str(&why);
        return false;
    }
    convo c = {.arena = &a->scratch};
    traj_tools(a, &c);
    args_check check = mend_args(&c, traj_wire_name(a, t->about.name, &a->scratch), args, false, &a->scratch);
    bad->why = check.why;
    return check.verdict == ARGS_GOOD || check.verdict == ARGS_REPAIRED;
}

static args_count *count_of(agent *a, daruma_str tool)
{
    for (size_t i = 0; i < a->s.ntools; i++)
        if (str_eq(a->s.tools[i].about.name, tool))
            return &a->args.counts[i];
    return &a->args.counts[a->s.ntools];
}

void args_worked(agent *a, daruma_str tool)
{
    a->args.failures = 0;
    *count_of(a, tool) = (args_count){.filled = count_of(a, tool)->filled};
}

/* ---- what becomes of a call ---- */

/* The missing ones, "a,b". */
static daruma_str fields_of(agent *a, const args_bad *bad)
{
    daruma_buf list = buf_in(&a->scratch);
    for (size_t i = 0; i < bad->nmissing; i++)
        BUF_SAY(&list, i ? "," : "", bad->missing[i]);
    return buf_str(&list);
}

static void tell(agent *a, const agent_step *s, const char *name, const args_bad *bad, const args_count *n)
{
    LOG(a, name, "tool", s->tool, "error_summary", bad->why, "autofilled_fields", fields_of(a, bad), "placeholders",
        bad->placeholder, "consecutive_arg_failures", a->args.failures, "of_tool", n->in_row);
}

/* Behind the fill, or without one: the model reads it, or it was once too often. */
static void refuse(agent *a, agent_step *s, const args_bad *bad)
{
    args_count *n = count_of(a, s->tool);
    uint32_t most = a->policy->arg_failures_max;
    n->rejected += bad->nmissing > 0;
    if (n->rejected >= 2 || (most && n->in_row >= most)) {
        a->args.apology = n->rejected >= 2 ? "autofill_rejection" : "consecutive_arg_failures";
        a->args.fill = (size_t)(s - a->steps);
        a->phase = PHASE_APOLOGY;
        traj_result(a, s, bad->why, true, (daruma_str){0});
        router_keep(a, &(agent_failure){.kind = DARUMA_TOOL_ARGUMENTS,
                                        .operation = s->tool,
                                        .message = bad->why,
                                        .advice = -1,
                                        .severity = DARUMA_REPLANNING});
        return;
    }
    calls_refuse(a, s, bad->why);
}

void args_reject(agent *a, agent_step *s, const args_bad *bad)
{
    args_count *n = count_of(a, s->tool);
    if (!bad->nmissing && !bad->placeholder.n) {
        calls_refuse(a, s, bad->why);
        return;
    }
    bool fills = a->policy->fills_args && !a->policy->mute && bad->nmissing && !bad->complex && !bad->placeholder.n &&
                 !n->filled;
    if (!fills) {
        a->args.failures++;
        n->in_row++;
    }
    tell(a, s, "planner_args_suspect", bad, n);
    if (!fills)
        tell(a, s, "planner_args_invalid", bad, n);
    if (fills) {
        n->filled = true;
        a->args.fill = (size_t)(s - a->steps);
        a->phase = PHASE_FILL;
        return;
    }
    refuse(a, s, bad);
}

/* ---- filling ---- */

void args_ask(agent *a)
{
    agent_step *s = &a->steps[a->args.fill];
    const agent_tool *t = router_tool(a, s->tool);
    args_bad bad;
    daruma_buf b = buf_in(&a->scratch);
    args_look(a, t, s->args, &bad);
    LOG(a, "arg_fill_attempt", "missing_fields", fields_of(a, &bad), "field_count", bad.nmissing);
    BUF_SAY(&b, "TASK:\n", flow_line(a->task, AGENT_OUTPUT_BYTES_MAX), "\n\nTOOL: ", s->tool,
            "\nIts arguments so far: ", s->args, "\nMissing fields:");
    for (size_t i = 0; i < bad.nmissing; i++)
        BUF_SAY(&b, "\n- ", bad.missing[i], ": ", json_get(json_get(t->about.schema, S("properties")), bad.missing[i]));
    daruma_question q = {.system = S("Give values for the missing fields. Answer with JSON only: one object with just "
                                     "these fields."),
                         .user = buf_str(&b),
                         .max_tokens = AGENT_CLASSES_TOKENS};
    flow_ask(a, AGENT_FOR_ARGS, a->s.model, &q, limits_time_left(a));
}

/* The value of a field: in JSON, in its "args", or between tags; empty: none that can be used. */
static daruma_str value_of(daruma_str text, daruma_str field, daruma_arena *a)
{
    size_t open = str_findch(text, '{');
    daruma_str object = {0}, v = {0};
    if (open != STR_NONE) {
        daruma_str fixed = json_repair(str_from(text, open), a, NULL);
        object = json_is_object(fixed) ? fixed : object;
        v = json_get(object, field);
        v = v.n ? v : json_get(json_get(object, S("args")), field);
    }
    if (!v.n) {
        daruma_buf tag = buf_in(a), out = buf_in(a);
        buf_printf(&tag, "<" STR_FMT ">", STR_ARG(field));
        size_t at = str_find(text, buf_str(&tag));
        daruma_str rest = at == STR_NONE ? (daruma_str){0} : str_from(text, at + tag.n);
        size_t end = str_find(rest, S("</"));
        if (end == STR_NONE)
            return v;
        buf_json(&out, str_trim(str_sub(rest, 0, end)));
        v = buf_str(&out);
    }
    return json_is_string(v) && actions_placeholder(json_text(v, a)) ? (daruma_str){0} : v;
}

daruma_str args_merge(daruma_str args, daruma_str text, const args_bad *bad, size_t *ret_filled, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    size_t end = args.n;
    *ret_filled = 0;
    while (end && args.p[end - 1] != '}')
        end--;
    buf_put(&b, str_sub(args, 0, end ? end - 1 : 0));
    bool empty = str_eq(str_trim(buf_str(&b)), S("{"));
    for (size_t i = 0; i < bad->nmissing; i++) {
        daruma_str v = value_of(text, bad->missing[i], a);
        if (!v.n)
            continue;
        BUF_SAY(&b, empty ? "" : ",", buf_quoted(bad->missing[i]), ":", v);
        empty = false;
        ++*ret_filled;
    }
    buf_putc(&b, '}');
    return b.full ? (daruma_str){0} : buf_str(&b);
}

void args_answered(agent *a, daruma_str text)
{
    agent_step *s = &a->steps[a->args.fill];
    args_bad bad, still;
    size_t filled = 0;
    args_look(a, router_tool(a, s->tool), s->args, &bad);
    daruma_str args = args_merge(s->args, text, &bad, &filled, &a->scratch);
    a->phase = PHASE_TOOLS;
    bool fits = filled && args_look(a, router_tool(a, s->tool), args, &still);
    bool some = filled && !fits && still.nmissing && still.nmissing < bad.nmissing; /* the model mends the rest */
    daruma_str fields = fields_of(a, some ? &still : &bad);
    if (fits || some) {
        s->args = flow_text(a, args);
        LOG(a, "arg_fill_success", fits ? "filled_fields" : "missing_fields", fields);
    } else {
        LOG(a, "arg_fill_failure", "error", "parse_failed", "raw_response_len", text.n, "missing_fields", fields);
    }
    if (fits)
        return;
    if (some)
        bad = still;
    a->args.failures++;
    count_of(a, s->tool)->in_row++;
    tell(a, s, "planner_args_invalid", &bad, count_of(a, s->tool));
    refuse(a, s, &bad);
}

/* ---- ending ---- */

/* A usable answer is asked for, or an apology in words that are not technical. */
void args_ask_words(agent *a)
{
    bool sorry = a->phase == PHASE_APOLOGY;
    daruma_buf b = buf_in(&a->scratch);
    if (sorry)
        LOG(a, "graceful_failure_attempt", "tool", a->steps[a->args.fill].tool, "failure_reason", a->args.apology);
    else
        LOG(a, "finish_repair_attempt");
    BUF_SAY(&b, "TASK:\n", flow_line(a->task, AGENT_OUTPUT_BYTES_MAX));
    traj_partial(a, &b);
    daruma_question q = {.system = sorry
                                       ? S("The task cannot be finished. Apologise to the user in plain words, without "
                                           "technical terms, and say what they could do.")
                                       : S("Give the final answer to the task as plain text."),
                         .user = buf_str(&b),
                         .max_tokens = AGENT_CLASSES_TOKENS};
    flow_ask(a, sorry ? AGENT_FOR_APOLOGY : AGENT_FOR_FINISH, a->s.model, &q, limits_time_left(a));
}

static void put_reason(agent *a, daruma_buf *meta, bool apologised)
{
    const agent_step *s = &a->steps[a->args.fill];
    args_bad bad;
    const agent_tool *t = router_tool(a, s->tool);
    BUF_SAY(meta, apologised ? "{\"graceful_failure\":true" : "{\"requires_followup\":true",
            ",\"failure_reason\":", buf_quoted(str_of(a->args.apology)), ",\"tool\":", buf_quoted(s->tool));
    if (!apologised && t && !args_look(a, t, s->args, &bad)) {
        BUF_SAY(meta, ",\"last_error\":", buf_quoted(bad.why), ",\"missing_fields\":[");
        for (size_t i = 0; i < bad.nmissing; i++)
            BUF_SAY(meta, i ? "," : "", buf_quoted(bad.missing[i]));
        buf_putc(meta, ']');
    }
    buf_putc(meta, '}');
}

void args_words_answered(agent *a, daruma_str text)
{
    bool sorry = a->phase == PHASE_APOLOGY;
    daruma_str said = flow_keep(a, actions_answer(text, &a->scratch));
    LOG(a,
        sorry && said.n ? "graceful_failure_success"
        : sorry         ? "graceful_failure_failure"
        : said.n        ? "finish_repair_success"
                        : "finish_repair_failure",
        said.n ? "answer_len" : "raw_len", (int64_t)(said.n ? said.n : text.n));
    a->args.repaired = true;
    a->phase = PHASE_THINK;
    if (!sorry) {
        said = said.n ? said : a->reporting.said;
        a->reporting.said = (daruma_str){0};
        think_said(a, said);
        return;
    }
    daruma_buf meta = buf_in(&a->keep);
    put_reason(a, &meta, said.n > 0);
    flow_finish(a, (agent_result){.outcome = said.n ? DARUMA_OUTCOME_EXPLAINED : DARUMA_OUTCOME_FAILED,
                                  .end = said.n ? AGENT_END_ANSWER : AGENT_END_NO_PATH,
                                  .failure = a->failure,
                                  .reason = a->failure.message,
                                  .text = said.n ? said : a->failure.message,
                                  .recovery = meta.full ? (daruma_str){0} : buf_str(&meta)});
}
