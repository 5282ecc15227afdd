/* script.c - the tables of what a script may say, and what only a script has: kinds of faults as keys, answers and
 * circles of models, expectations. */
#include "chaos/report.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "conf/conf.h"
#include "sys/sys.h"
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

enum { ANSWERS_MAX = 4096, FAULTS_MAX = 4096 };

#define AT CONF_AT

/* ---- hooks of models ---- */

static void answer_fits(conf *r, void *base, void *item, size_t index)
{
    scripted *x = item;
    (void)base, (void)index;
    if (x->call.name.n && x->ncalls) {
        conf_wrong(r, "`call` and `calls` exclude each other");
    } else if (x->call.name.n && (x->calls = ARENA_NEW(r->a, scripted_call, 1))) {
        x->calls[x->ncalls++] = x->call;
    }
}

static void lap_fits(conf *r, void *base, void *item, size_t index)
{
    answer_fits(r, base, item, index);
    if (((scripted *)item)->times < 1)
        conf_wrong(r, "in a lap `times` is 1 at least");
}

static bool read_never(conf *r, const conf_option *o, daruma_str s, void *field)
{
    *(bool *)field = str_eq(s, S("never"));
    return *(bool *)field || conf_expected(r, o, "");
}

static bool read_no_tools(conf *r, const conf_option *o, daruma_str s, void *field)
{
    *(bool *)field = str_eq(s, S("none"));
    return *(bool *)field || conf_expected(r, o, "");
}

static bool read_expression(conf *r, const conf_option *o, daruma_str s, void *field)
{
    regex_t re;
    char why[120];
    int bad = s.n ? regcomp(&re, s.p, REG_EXTENDED | REG_NOSUB) : 0;
    if (!s.n)
        return conf_expected(r, o, "");
    if (bad) {
        regerror(bad, &re, why, sizeof why);
        return conf_wrong(r, "`" STR_FMT "` is no regular expression: %s", STR_ARG(conf_word(r, s)), why);
    }
    regfree(&re);
    *(daruma_str *)field = s;
    return true;
}

static void until_fits(conf *r, void *base, void *item, size_t index)
{
    loop_manner *l = item;
    (void)base, (void)index;
    if (!l->text.n && !l->tools)
        conf_wrong(r, "it is empty\ngive a `text` or `tools: none`, or write never in its place");
}

static void loop_fits(conf *r, void *base, void *item, size_t index)
{
    loop_manner *l = item;
    (void)base, (void)index;
    if (l->never && (l->nthen || l->ignores))
        conf_wrong(r, "what never listens has no `then` and ignores everything");
}

/* "exact", "repeat 20", ... */
static bool read_way(conf *r, const conf_option *o, daruma_str s, void *field)
{
    static const char *const names[] = {"as_told", "exact", "repeat", "restart", "unrelated", "apologise"};
    manner *m = field;
    daruma_str rest = s, word = str_cut(&rest, ' ');
    conf_near near = conf_near_to(word);
    going_on *way = &m->ways[m->nways];
    (void)o;
    for (size_t i = 0; i < COUNT(names); i++) {
        conf_near_try(&near, str_of(names[i]));
        if (!str_eq(word, str_of(names[i])))
            continue;
        way->how = (goes_on)i;
        if (way->how == GO_ON_REPEAT && !str_int(str_trim(rest), &way->repeat))
            return conf_wrong(r, "`repeat` wants a number of bytes: repeat 20");
        m->nways++;
        return true;
    }
    return conf_unknown(r, "way to go on", &near);
}

/* A word for a way to fail, else the summary itself. */
static bool read_summary(conf *r, const conf_option *o, daruma_str s, void *field)
{
    manner *m = field;
    (void)r, (void)o;
    m->summarises = str_eq(s, S("fails"))    ? SUMMARY_FAILS
                    : str_eq(s, S("empty"))  ? SUMMARY_EMPTY
                    : str_eq(s, S("larger")) ? SUMMARY_LARGER
                    : str_eq(s, S("short"))  ? SUMMARY_SHORT
                                             : SUMMARY_TEXT;
    m->summary = s;
    return true;
}

static void model_fits(conf *r, void *base, void *item, size_t index)
{
    script_model *m = item;
    (void)r, (void)base, (void)index;
    m->manner.thinks = m->limits.signatures;
    if (m->manner.nways == 1) /* nothing is drawn */
        m->manner.goes_on = m->manner.ways[--m->manner.nways];
}

/* ---- hooks of faults ---- */

static const char *kind_name(size_t i)
{
    return i < nfault_kinds ? fault_kinds[i].name : NULL;
}

/* The kind of fault of that name; NULL after telling which there are. */
static const fault_kind *named_kind(conf *r, daruma_str name)
{
    const fault_kind *k = fault_find(name);
    conf_near near = conf_near_to(name);
    for (size_t i = 0; i < nfault_kinds; i++)
        conf_near_try(&near, str_of(fault_kinds[i].name));
    if (!k)
        conf_unknown(r, "kind", &near);
    return k;
}

static bool read_kind(conf *r, const conf_option *o, daruma_str s, void *field)
{
    fault *f = field;
    const fault_kind *k = named_kind(r, s);
    (void)o;
    if (k && f->nkinds == FAULT_KINDS_MAX)
        return conf_wrong(r, "at most %d kinds in one list", FAULT_KINDS_MAX);
    if (k)
        f->kinds[f->nkinds++] = k;
    return k != NULL;
}

static void check_form(conf *r, const fault *f)
{
    for (size_t i = 0; f->form.n && i < f->nkinds; i++) {
        const char *const *forms = f->kinds[i]->forms;
        char list[200] = "none";
        bool has = false;
        for (size_t n = 0, at = 0; n < FAULT_FORMS && forms[n]; n++) {
            has |= str_eq(f->form, str_of(forms[n]));
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", n ? ", " : "", forms[n]);
        }
        if (!has)
            conf_wrong(r, "`%s` has no form `" STR_FMT "`\nit has %s", f->kinds[i]->name,
                       STR_ARG(conf_word(r, f->form)), list);
    }
}

static void fault_fits(conf *r, void *base, void *item, size_t index)
{
    fault *f = item;
    (void)base, (void)index;
    f->line = conf_line(r);
    if (f->nkinds == 0 && (f->status >= 0 || f->delay >= 0))
        f->kinds[f->nkinds++] = fault_find(f->status >= 0 ? S("status") : S("delay"));
    if (f->nkinds == 0)
        conf_wrong(r, "a fault wants a `kind`\n`daruma chaos --list` prints them");
    for (size_t i = 0; i < f->nkinds; i++)
        if (f->kinds[i]->effect == FAULT_REFUSE &&
            (f->nkinds > 1 || f->model.n || f->key.n || f->account.n || f->path.n)) {
            conf_wrong(r, "`refuse` stands alone: a connection has no model, key or path yet");
            break;
        }
    check_form(r, f);
}

static bool read_kind_key(conf *r, const conf_option *o, const conf_node *n, void *field);

static void key_fits(conf *r, void *base, void *item, size_t index)
{
    script_key *k = item;
    daruma_buf name = buf_in(r->a);
    (void)base;
    buf_printf(&name, "key%zu", index + 1);
    k->name = k->name.n ? k->name : buf_str(&name);
    k->per = k->per ? k->per : 60000;
}

/* ---- hooks of expectations ---- */

/* A count of what cannot happen is always 0, and an expectation of at most so many would always hold. Models are not
 * looked up: requests may name any. */
static bool one_of(conf *r, const char *what, daruma_str word, const char *names)
{
    daruma_str rest = str_of(names);
    conf_near near = conf_near_to(word);
    while (rest.n) {
        daruma_str name = str_cut(&rest, ' ');
        if (str_eq(word, name))
            return true;
        conf_near_try(&near, name);
    }
    return conf_unknown(r, what, &near);
}

static bool known_kind(conf *r, daruma_str word)
{
    return named_kind(r, word) != NULL;
}

/* What validate*.c calls the reasons for which it refuses. */
static bool known_refusal(conf *r, daruma_str word)
{
    return one_of(
        r, "refusal", word,
        "orphan_tool_call orphan_tool_result invalid_message invalid_tool_schema invalid_parameter not_stored "
        "auth model_not_found invalid_request context_length output_limit request_too_large");
}

static bool known_purpose(conf *r, daruma_str word)
{
    return one_of(r, "purpose", word, "turn continue summary");
}

static bool known_status(conf *r, daruma_str word)
{
    int64_t status;
    return (str_int(word, &status) && status >= 100 && status <= 599) ||
           conf_wrong(r, "`" STR_FMT "` is no HTTP status", STR_ARG(conf_word(r, word)));
}

#define AT_COUNT(member) offsetof(report, member)
static const expect_row expect_rows[] = {
    {"calls", AT_COUNT(calls), AT_COUNT(models), "==", NULL},
    {"answered", AT_COUNT(answered), AT_COUNT(answered_models), "==", NULL},
    {"faults", EXPECT_SUM, AT_COUNT(faults), "==", known_kind},
    {"aborted", AT_COUNT(aborted), 0, "==", NULL},
    {"refused", AT_COUNT(refused), AT_COUNT(refusals), "==", known_refusal},
    {"asks", AT_COUNT(calls), AT_COUNT(purposes), "==", known_purpose},
    {"statuses", AT_COUNT(calls), AT_COUNT(statuses), "==", known_status},
    {"largest_tokens", AT_COUNT(largest), 0, "<=", NULL},
    {"circled", EXPECT_SUM, AT_COUNT(circled), "==", NULL},
    {"max_calls_per_request", AT_COUNT(most_calls), 0, "<=", NULL},
    {"told", EXPECT_SUM, AT_COUNT(told), "==", NULL},
    {"listened", EXPECT_SUM, AT_COUNT(listened), "==", NULL},
};

static const char *expect_name(size_t i)
{
    return i < COUNT(expect_rows) ? expect_rows[i].name : NULL;
}

/* "<= 3", "== 2", "3" */
static void read_expect(conf *r, const conf_node *n, const expect_row *row, daruma_str subject, script *s)
{
    static const char *const ops[] = {"<=", ">=", "==", "!=", "<", ">"};
    daruma_str text = str_trim(conf_text_of(n)), rest = text;
    const char *op = row->bare;
    daruma_buf words = buf_in(r->a);
    conf_at(r, n);
    for (size_t i = 0; i < COUNT(ops); i++)
        if (str_starts(text, str_of(ops[i]))) {
            op = ops[i];
            rest = str_trim(str_from(text, str_of(op).n));
            break;
        }
    int64_t value;
    if (!str_int(rest, &value)) {
        conf_wrong(r, "`%s` wants something like \"<= 3\", not `" STR_FMT "`", row->name, STR_ARG(conf_word(r, text)));
        return;
    }
    expect *list = arena_grow(r->a, s->expects, s->nexpects, &s->expects_cap, sizeof *list, 16);
    if (!list)
        return;
    s->expects = list;
    expect *e = &list[s->nexpects++];
    *e = (expect){.what = row, .subject = arena_copy(r->a, subject), .value = value};
    memcpy(e->op, op, str_of(op).n + 1);
    buf_putz(&words, row->name);
    if (subject.n)
        BUF_SAY(&words, " of ", e->subject);
    buf_printf(&words, " %s %lld", op, (long long)value);
    e->text = buf_str(&words);
}

static bool read_expects(conf *r, const conf_option *o, const conf_node *n, void *field)
{
    const expect_row *row = expect_rows;
    size_t mark;
    daruma_str subject;
    const conf_node *value;
    (void)o;
    while (!str_eq(r->key, str_of(row->name)))
        row++;
    if (!conf_is_map(n))
        read_expect(r, n, row, (daruma_str){0}, field);
    else if (!row->each)
        conf_wrong(r, "`%s` is not counted one by one", row->name);
    else
        for (size_t i = 0; conf_next(r, n, &i, &subject, &value, &mark); conf_back(r, mark))
            if (!row->subject || row->subject(r, subject))
                read_expect(r, value, row, subject, field);
    return true;
}

/* ---- the tables ---- */

// clang-format off
static const conf_option word_element = {NULL, CONF_TEXT, AT(daruma_header, name), .min = 1};
static const conf_option pair_element = {NULL, CONF_TEXT, AT(daruma_header, value), .min = 1};
static const conf_option header_element = {NULL, CONF_TEXT, AT(daruma_header, value)};
static const conf_shape words_shape = {.element = &word_element, .size = sizeof(daruma_header)};
static const conf_shape pairs_shape = {.element = &pair_element, .like = "{ parameter: value }",
    .size = sizeof(daruma_header), .name_at = offsetof(daruma_header, name)};
static const conf_shape headers_shape = {.element = &header_element, .like = "{ retry-after: \"1\" }",
    .size = sizeof(daruma_header), .name_at = offsetof(daruma_header, name)};

static const conf_option call_rows[] = {
    {"call", CONF_TEXT, AT(scripted_call, name), .help = "the tool"},
    {"arguments", CONF_JSON, AT(scripted_call, arguments), .help = "a mapping, or JSON as text"},
};
static const conf_shape calls_shape = {.of = CONF_ROWS(call_rows), .like = "{ call: NAME, arguments: {...} }",
    .size = sizeof(scripted_call), .max = ANSWER_CALLS_MAX};

static const conf_option answer_text = {NULL, CONF_TEXT, AT(scripted, text)};
static const conf_option answer_rows[] = {
    {"text", CONF_TEXT, AT(scripted, text), .help = "what it says"},
    {"thinking", CONF_TEXT, AT(scripted, thinking), .help = "what it thinks first"},
    {"call", CONF_TEXT, AT(scripted, call.name), .help = "the tool that it calls"},
    {"arguments", CONF_JSON, AT(scripted, call.arguments), .help = "a mapping, or JSON as text"},
    {"calls", CONF_LIST, CONF_ITEMS(scripted, calls), .shape = &calls_shape, .help = "several calls"},
    {"times", CONF_INTEGER, AT(scripted, times), .help = "so often in a row"},
};
static const scripted answer_once = {.times = 1};
#define ANSWERS .of = CONF_ROWS(answer_rows), .element = &answer_text, .like = "{ text: ... } or { call: NAME }", \
    .size = sizeof(scripted), .blank = &answer_once, .max = ANSWERS_MAX
static const conf_shape answers_shape = {ANSWERS, .fits = answer_fits};
static const conf_shape lap_shape = {ANSWERS, .min = 1, .fits = lap_fits};

static const char until[] = "never, { text: EXPRESSION } or { tools: none }";
static const conf_option until_never = {NULL, CONF_VALUE, AT(loop_manner, never), .value = read_never, .expects = until};
static const conf_option until_rows[] = {
    {"text", CONF_VALUE, AT(loop_manner, text), .value = read_expression, .expects = "a regular expression", .help = "a text of the newest turn"},
    {"tools", CONF_VALUE, AT(loop_manner, tools), .value = read_no_tools, .expects = "none", .help = "none: they are taken away"},
};
static const conf_shape until_shape = {.of = CONF_ROWS(until_rows), .element = &until_never, .like = "{ text: EXPRESSION }",
    .fits = until_fits};
static const conf_option loop_rows[] = {
    {"lap", CONF_LIST, CONF_REQUIRED, CONF_ITEMS(loop_manner, lap), .shape = &lap_shape, .help = "a list of answers, given round and round"},
    {"until", CONF_GROUP, CONF_REQUIRED, .shape = &until_shape, .help = until},
    {"ignores", CONF_INTEGER, AT(loop_manner, ignores), .help = "so many requests that tell it are in vain"},
    {"then", CONF_LIST, CONF_ITEMS(loop_manner, then), .shape = &answers_shape, .help = "what it does once it listens"},
};
static const conf_shape loop_shape = {.of = CONF_ROWS(loop_rows), .like = "{ lap: [...], until: ... }", .fits = loop_fits};

static const conf_option way_element = {NULL, CONF_VALUE, .value = read_way, .expects = "a way like exact or repeat 20"};
static const conf_shape ways_shape = {.element = &way_element, .max = GO_ON_WAYS_MAX};
static const conf_option model_rows[] = {
    {"window", CONF_INTEGER, AT(script_model, limits.window), .help = "tokens, input and output together"},
    {"max_output", CONF_INTEGER, AT(script_model, limits.max_output), .help = "tokens"},
    {"max_bytes", CONF_INTEGER, AT(script_model, limits.max_bytes), .help = "of a request"},
    {"overflow", CONF_ENUM, AT(script_model, limits.overflow), .words = "plain no_numbers vllm llama_cpp empty_400 empty_413 usage length", .help = "how it says that the window is full"},
    {"alternate", CONF_BOOL, AT(script_model, limits.alternate), .help = "user and assistant must take turns"},
    {"prefill", CONF_ENUM, AT(script_model, limits.refuse_prefill), .words = "accept refuse", .help = "refuse: the last message must not be the model's"},
    {"signatures", CONF_BOOL, AT(script_model, limits.signatures), .help = "thinking is signed, and taken back only as it was"},
    {"strict", CONF_BOOL, AT(script_model, limits.strict), .help = "unknown members are refused"},
    {"unsupported", CONF_LIST, AT(script_model, limits.unsupported), .shape = &words_shape, .help = "parameters that it refuses"},
    {"renamed", CONF_NAMED, AT(script_model, limits.renamed), .shape = &pairs_shape, .help = "parameters and what they are called now"},
    {"max", CONF_NAMED, AT(script_model, limits.max), .shape = &pairs_shape, .help = "parameters and their largest value"},
    {"fixed", CONF_NAMED, AT(script_model, limits.fixed), .shape = &pairs_shape, .help = "parameters and the only value they may have"},
    {"refused_keywords", CONF_LIST, AT(script_model, limits.keywords), .shape = &words_shape, .help = "of JSON Schema, in tools and formats"},
    {"response_format", CONF_ENUM, AT(script_model, limits.formats), .words = "json_schema json_object text", .help = "the best it takes: json_schema, json_object, text"},
    {"format_error", CONF_ENUM, AT(script_model, limits.format_words), .words = "plain invalid_json_schema invalid_schema invalid output_format must_be", .help = "how it refuses a better one"},
    {"call_ids", CONF_BOOL, AT(script_model, manner.call_ids), .help = "Google: calls have ids"},
    {"answers", CONF_LIST, CONF_ITEMS(script_model, answers), .shape = &answers_shape, .help = "what it says, one after the other"},
    {"loop", CONF_GROUP, AT(script_model, loop), .shape = &loop_shape, .help = "what it does round and round, and until when"},
    {"continue", CONF_LIST, .flags = CONF_OR_SINGLE, AT(script_model, manner), .shape = &ways_shape, .help = "how it goes on with a text that broke off"},
    {"summary", CONF_VALUE, AT(script_model, manner), .value = read_summary, .expects = "a text, or fails, empty, larger or short", .help = "how it sums up: a text, or fails, empty, larger, short"},
};
static const script_model model_blank = {.limits = {.window = -1, .max_output = -1}};
static const conf_shape models_shape = {.of = CONF_ROWS(model_rows), .like = "{ window: 8000 }", .size = sizeof(script_model),
    .blank = &model_blank, .name_at = offsetof(script_model, name), .fits = model_fits};

static const conf_option key_rows[] = {
    {"account", CONF_TEXT, AT(script_key, account), .help = "who it belongs to"},
    {"name", CONF_TEXT, AT(script_key, name), .help = "what reports call it"},
    {"limit", CONF_INTEGER, AT(script_key, limit), .min = 1, .max = 1000000, .help = "calls that it may make in `per`; answers say what is left"},
    {"tokens", CONF_INTEGER, AT(script_key, tokens), .min = 1, .max = 1000000000, .help = "tokens of input that it may send in `per`; they come back bit by bit"},
    {"per", CONF_DURATION, AT(script_key, per), .min = 1, .max = 24 * 3600 * 1000, .help = "how long that is: 10s, a minute unless said"},
};
static const conf_shape keys_shape = {.of = CONF_ROWS(key_rows), .like = "{ key: { account: a } }", .size = sizeof(script_key),
    .name_at = offsetof(script_key, value), .fits = key_fits};

static const conf_option kind_element = {NULL, CONF_VALUE, .value = read_kind, .expects = "the name of a kind"};
static const conf_shape kinds_shape = {.element = &kind_element, .max = FAULT_KINDS_MAX};
static const conf_option fault_rows[] = {
    {"kind", CONF_LIST, .flags = CONF_OR_SINGLE, .shape = &kinds_shape, .help = "what happens: a name, or a list of which one is drawn"},
    {"model", CONF_TEXT, AT(fault, model), .help = "only calls for this model; a * at the end stands for anything"},
    {"key", CONF_TEXT, AT(fault, key), .help = "only calls with this key"},
    {"account", CONF_TEXT, AT(fault, account), .help = "only calls with a key of this account"},
    {"path", CONF_TEXT, AT(fault, path), .help = "only calls to this path"},
    {"stream", CONF_BOOL, AT(fault, stream), .help = "true: only streams; false: only others"},
    {"asks", CONF_ENUM, AT(fault, asks), .words = "turn continue summary", .help = "only requests for this: turn, continue (a text that broke off), summary"},
    {"skip", CONF_INTEGER, AT(fault, skip), .help = "leaves so many fitting calls alone first"},
    {"times", CONF_INTEGER, AT(fault, times), .help = "hits so many calls, then no more"},
    {"rate", CONF_FRACTION, AT(fault, rate), .max = 1000, .help = "hits this share of the calls: 0.2"},
    {"status", CONF_INTEGER, AT(fault, status), .min = 200, .max = 599, .help = "the status to answer with"},
    {"headers", CONF_NAMED, CONF_ITEMS(fault, headers), .shape = &headers_shape, .help = "headers to set: { retry-after: \"1\" }"},
    {"message", CONF_TEXT, AT(fault, message), .help = "the text of the error, instead of the provider's"},
    {"form", CONF_TEXT, AT(fault, form), .help = "which form of the kind; see --list"},
    {"in_band", CONF_BOOL, AT(fault, in_band), .help = "true: the error comes inside a 200"},
    {"after_events", CONF_INTEGER, AT(fault, after_events), .help = "it happens behind so many events of the stream"},
    {"after_bytes", CONF_INTEGER, AT(fault, after_bytes), .help = "it happens behind so many bytes of the body"},
    {"after_wire_bytes", CONF_INTEGER, AT(fault, after_wire_bytes), .help = "... of the answer, head and framing included"},
    {"within", CONF_ENUM, AT(fault, within), .words = "any text arguments thinking", .help = "it happens within this part of a stream: text, arguments, thinking"},
    {"after_pieces", CONF_INTEGER, AT(fault, after_pieces), .help = "... behind so many pieces of it; of the text unless said"},
    {"for", CONF_DURATION, AT(fault, hold), .word = "0", .help = "how long it lasts: 40s"},
    {"every", CONF_DURATION, AT(fault, every), .word = "0", .help = "time between two bytes or events: 20ms"},
    {"delay", CONF_DURATION, AT(fault, delay), .word = "0", .help = "time before the answer begins"},
};
static const conf_option kind_key = {NULL, CONF_NODE, .node = read_kind_key};
static const conf_shape kind_shape = {.of = CONF_ROWS(fault_rows), .like = "{ after_events: 2 }"};
static const conf_shape faults_shape = {.of = CONF_ROWS(fault_rows), .like = "{ kind: rate_limit, times: 2 }",
    .names = kind_name, .further = &kind_key, .size = sizeof(fault), .blank = &fault_none, .max = FAULTS_MAX,
    .fits = fault_fits};

static const conf_option expect_element = {NULL, CONF_NODE, .node = read_expects};
static const conf_shape expects_shape = {.element = &expect_element, .like = "{ calls: \"<= 3\" }", .thing = "expectation",
    .names = expect_name};

#define SAID(part) .said = offsetof(script, says_##part)
static const conf_option script_rows[] = {
    {"listen", CONF_ADDRESS, AT(script, listen), .help = "where it listens"},
    {"seed", CONF_INTEGER, AT(script, seed), SAID(seed), .help = "of what happens at random"},
    {"keep", CONF_INTEGER, AT(script, keep), SAID(keep), .help = "how many requests are kept as they came"},
    {"models", CONF_NAMED, CONF_ITEMS(script, models), .shape = &models_shape, SAID(models), .help = "which models there are"},
    {"keys", CONF_NAMED, CONF_ITEMS(script, keys), .shape = &keys_shape, SAID(keys), .help = "which keys there are"},
    {"faults", CONF_LIST, CONF_ITEMS(script, faults), .shape = &faults_shape, SAID(faults), .help = "what goes wrong when"},
    {"expect", CONF_NAMED, .shape = &expects_shape, SAID(expect), .help = "what must be true at the end"},
};
// clang-format on
static const conf_shape script_shape = {.of = CONF_ROWS(script_rows), .like = "`faults:`"};

/* `cut: { after_bytes: 300 }`, `html: 502`, `truncated_json: true`: a kind as a key, its details as the value. */
static bool read_kind_key(conf *r, const conf_option *o, const conf_node *n, void *field)
{
    bool yes = true;
    daruma_str name = r->key;
    if (!read_kind(r, o, name, field))
        return false;
    const fault_kind *k = fault_find(name);
    const conf_option *row = conf_row(&kind_shape, str_of(k->main));
    conf_at(r, n);
    if (conf_is_single(n) && (conf_is_bool(conf_text_of(n), &yes) || !conf_text_of(n).n || !row))
        return yes || conf_wrong(r, "`%s: false` says nothing\nleave it out", k->name);
    if (conf_is_single(n))
        conf_option_read(r, row, n, field);
    else
        conf_members(r, &kind_shape, n, field);
    return true;
}

/* ---- what others call ---- */

const char *script_fault_key(size_t i, const char **words)
{
    if (i >= kind_shape.of.n)
        return NULL;
    if (words)
        *words = fault_rows[i].help;
    return fault_rows[i].name;
}

script *script_read(daruma_str yaml, const char *file, conf_mistakes *m)
{
    const conf_host host = {
        .root = &script_shape, .what = "script", .file = file, .bytes_max = CHAOS_SCRIPT_BYTES_MAX, .open = true};
    script *s = calloc(1, sizeof *s);
    if (!s || !sys_arena_init(&s->memory, 4096, CHAOS_SCRIPT_BYTES_MAX)) {
        free(s);
        *m = (conf_mistakes){.n = 1};
        snprintf(m->at[0].what, sizeof m->at[0].what, "out of memory");
        return NULL;
    }
    s->users = 1;
    s->seed = 1;
    if (conf_read(yaml, &host, s, &s->memory, m))
        return s;
    script_drop(s);
    return NULL;
}

script *script_hold(script *s)
{
    s->users++;
    return s;
}

void script_drop(script *s)
{
    if (!s || --s->users)
        return;
    for (size_t i = 0; i < COUNT(s->of); i++)
        script_drop(s->of[i]);
    sys_arena_done(&s->memory);
    free(s);
}

void script_inherit(script *b, script *a)
{
    bool says[] = {b->says_models, b->says_keys, b->says_expect};
    if (!b->says_seed)
        b->seed = a->seed;
    if (!b->says_keep)
        b->keep = a->keep;
    for (size_t i = 0; i < COUNT(says); i++)
        if (!says[i])
            b->of[i] = script_hold(a->of[i] ? a->of[i] : a);
    if (!b->says_models)
        b->models = a->models, b->nmodels = a->nmodels;
    if (!b->says_keys)
        b->keys = a->keys, b->nkeys = a->nkeys;
    if (!b->says_expect)
        b->expects = a->expects, b->nexpects = a->nexpects;
}
