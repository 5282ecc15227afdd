#include "gateway/config_table.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

#define AT(type, field) .at = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define NEEDED          .flags = OPTION_REQUIRED
#define SECOND          1000
#define MINUTE          (60 * SECOND)
#define HOUR            (60 * MINUTE)
#define TOKENS_MAX      1000000000

// clang-format off
const option options[] = {
    {"listen", OPTION_LISTEN, AT(config, listen_host), .fallback = "127.0.0.1:4141",
     .help = "Where clients connect. `:4141` is the loopback too; any other address is used only when it is written here, since whoever reaches it can use your keys. Port 0 takes a free one."},
    {"hosts", OPTION_LIST, .list = &config_list_hosts, .says = "none",
     .help = "Names by which clients reach a daruma that listens on the loopback, beside `localhost`, names below it and loopback addresses. A request for any other name is refused with 403, since a page of another site may be behind it (DNS rebinding); pages of these hosts may ask as well. Where daruma listens on another address every name is answered."},
    {"hosts[]", OPTION_NAME, .size = sizeof(daruma_str), .min = 1, .max = 253,
     .help = "A host name, without a port."},
    {"passthrough", OPTION_LIST, .list = &config_list_passthrough, .says = "none",
     .help = "Paths that go to a provider, beside those of the APIs of OpenAI, Anthropic and Gemini. Every other path is answered with 404."},
    {"passthrough[]", OPTION_STRING, .size = sizeof(daruma_str), .min = 1, .max = 1000,
     .help = "The beginning of a path in whole segments: `/api` opens `/api` and `/api/tags`. `/` opens all."},

    {"providers", OPTION_LIST, .list = &config_list_providers, .says = "`anthropic`, `openai` and `gemini`, with the clients' own keys",
     .help = "Who answers. A model that no `models` entry names goes, under the name the client gave, to the first provider that speaks the request's dialect."},
    {"providers[].name", OPTION_NAME, NEEDED, AT(config_provider, name), .min = 1, .max = 64,
     .help = "How targets, events and metrics call it."},
    {"providers[].dialect", OPTION_DIALECT, NEEDED, AT(config_provider, dialect),
     .help = "How it speaks: `openai` (Chat Completions), `openai-responses`, `anthropic` (Messages) or `gemini` (generateContent)."},
    {"providers[].url", OPTION_URL, NEEDED, AT(config_provider, to),
     .help = "Its address, with or without the `/v1` that clients add: it is never doubled."},
    {"providers[].keys", OPTION_LIST, .list = &config_list_keys, .says = "the clients' own",
     .help = "Keys that are used in place of the clients' own. When one is refused or limited, the next one that is well takes over."},
    {"providers[].keys[]", OPTION_STRING, .flags = OPTION_SECRET, AT(config_key, value), .min = 1, .max = 16384,
     .help = "A key alone; the same as `{ value: ... }`."},
    {"providers[].keys[].value", OPTION_STRING, .flags = OPTION_SECRET, AT(config_key, value), .min = 1, .max = 16384,
     .help = "The key. Better not written out: `${OPENAI_API_KEY}`."},
    {"providers[].keys[].command", OPTION_STRING, .flags = OPTION_SECRET | OPTION_LINES, AT(config_key, command), .min = 1, .max = 16384,
     .help = "A shell command that prints the key in its first line. It is run again once when the key is refused."},
    {"providers[].keys[].account", OPTION_NAME, AT(config_key, account), .min = 1, .max = 64, .says = "the key's name",
     .help = "Whose key it is. Keys of one account share its limits: when the account is empty, all of them are."},
    {"providers[].keys[].name", OPTION_NAME, AT(config_key, name), .min = 1, .max = 64, .says = "key1, key2, ...",
     .help = "How events call the key."},
    {"providers[].headers", OPTION_NAMED, .list = &config_list_headers,
     .help = "Headers that are sent along with every request to it, by name."},
    {"providers[].headers.*", OPTION_STRING, .flags = OPTION_SECRET, AT(daruma_header, value), .min = 0, .max = 8192,
     .help = "The header's value."},

    {"models", OPTION_LIST, .list = &config_list_models,
     .help = "Models with more than one place to go."},
    {"models[].name", OPTION_STRING, NEEDED, AT(config_model, name), .min = 1, .max = 200,
     .help = "The name clients ask for."},
    {"models[].targets", OPTION_LIST, NEEDED, .list = &config_list_targets,
     .help = "Where to go, preferred first. Targets of another dialect than the client's get the conversation translated: doc/dialects.md."},
    {"models[].targets[]", OPTION_TARGET, AT(config_target, model), .min = 1, .max = 300,
     .help = "`provider/model`: what stands behind the first slash goes to the provider as it is. The same as `{ target: ... }`."},
    {"models[].targets[].target", OPTION_TARGET, NEEDED, AT(config_target, model), .min = 1, .max = 300,
     .help = "`provider/model`."},
    {"models[].targets[].window", OPTION_INTEGER, AT(config_target, window), .min = 1, .max = TOKENS_MAX, .fallback = "model", .word = "model", .word_is = -1,
     .help = "Tokens that fit into its context window, where it differs from the model's."},
    {"models[].targets[].max_output", OPTION_INTEGER, AT(config_target, max_output), .min = 1, .max = TOKENS_MAX, .fallback = "model", .word = "model", .word_is = -1,
     .help = "Tokens that one of its answers may have, where it differs from the model's."},
    {"models[].window", OPTION_INTEGER, AT(config_model, window), .min = 1, .max = TOKENS_MAX, .fallback = "learned", .word = "learned", .word_is = -1,
     .help = "Tokens that fit into the context window: what a conversation is shortened to, and which target is wider. Learned from what a model refuses when it is not said."},
    {"models[].max_output", OPTION_INTEGER, AT(config_model, max_output), .min = 1, .max = TOKENS_MAX, .fallback = "learned", .word = "learned", .word_is = -1,
     .help = "Tokens that one answer may have."},
    {"models[].watch", OPTION_ENUM, AT(config_model, watch), .fallback = "default", .words = "default off observe guide enforce",
     .help = "What is done about agents that go in circles with this model; `default` is the file's `watch`."},

    {"watch", OPTION_ENUM, AT(config, watch), .fallback = "guide", .words = "off observe guide enforce",
     .help = "Agents that go in circles, seen by the histories they send: `off`, nobody looks; `observe`, events tell of it; `guide`, the model is told what it keeps doing, at the end of the request; `enforce`, repeated calls are refused, and in the end the run is stopped with what is known. doc/loops.md"},
    {"strategies", OPTION_ENUM, AT(config, strategies), .fallback = "log", .words = "log ask auto",
     .help = "What becomes of other approaches that are proposed for an agent in circles (with `watch: enforce`): `log`, an event tells of them; `ask`, the event asks a person to look; `auto`, the model is told those that are sure enough."},
    {"tool_errors", OPTION_ENUM, AT(config, tool_errors), .fallback = "full", .words = "full compact",
     .help = "How the model sees failed tool results (with `watch: guide` or `enforce`): `full`, as they came; `compact`, the newest as a short structured error, older ones as a line, and what was resolved since as a word. What the tool itself says to do stays (`suggestion`, `hint`, `next_steps`, \"did you mean\"). It saves tokens, but changes bytes that the provider may have cached."},

    {"timeouts", OPTION_GROUP, .help = "How long a call to a provider may take. `none` switches a clock off."},
    {"timeouts.connect", OPTION_DURATION, AT(config, clocks.connect), .min = 10, .max = 10 * MINUTE, .fallback = "5s", .word = "none",
     .help = "Name, connection, proxy and TLS together."},
    {"timeouts.first_byte", OPTION_DURATION, AT(config, clocks.first_byte), .min = 10, .max = 24 * HOUR, .says = "`none`", .word = "none", .word_is = -1,
     .help = "From the request being sent to the first byte of the answer; a call that takes longer has failed. Not needed for a model that hangs: beside a call that is silent for longer than usual another target is asked (`recovery.hedge`), and where there is none nothing is better than waiting."},
    {"timeouts.plain_first_byte", OPTION_DURATION, AT(config, plain_first_byte), .min = 10, .max = 24 * HOUR, .says = "as `first_byte` where that is written, else `none`", .word = "none", .word_is = -1,
     .help = "The same for answers that are not streamed: their first byte comes when the model has finished, which may take minutes."},
    {"timeouts.idle", OPTION_DURATION, AT(config, clocks.idle), .min = 10, .max = 24 * HOUR, .fallback = "none", .word = "none",
     .help = "Silence between two pieces of an answer; models may think for minutes."},
    {"timeouts.total", OPTION_DURATION, AT(config, clocks.total), .min = 10, .max = 24 * HOUR, .fallback = "none", .word = "none",
     .help = "The whole request, all its calls together. A client that says how long it waits (`x-stainless-timeout`) is believed without it."},

    {"recovery", OPTION_GROUP, .help = "What is done when a call fails."},
    {"recovery.profile", OPTION_PROFILE, AT(config, policy), .fallback = "default",
     .help = "The set of ladders; `daruma policy --profile NAME` prints it. The rows below change its numbers. `swarm/code` names a variant."},
    {"recovery.enabled", OPTION_BOOL, AT(config, policy.enabled), .fallback = "true",
     .help = "`false`: everything passes through and the first failure is final."},
    {"recovery.on_failure", OPTION_ENUM, AT(config, on_failure), .fallback = "auto", .words = "auto error message",
     .help = "What the client gets when nothing helps: the provider's own `error`; a readable assistant `message`; `auto` is `message` where an agent can read it and the error means nothing to its client."},
    {"recovery.max_attempts", OPTION_INTEGER, AT(config, policy.max_attempts), .min = 1, .max = 100, .says = "the profile's",
     .help = "Calls to one target, the first included; other targets add theirs, deadline and budget bound all."},
    {"recovery.max_wait", OPTION_DURATION, AT(config, policy.max_wait), .min = 0, .max = 24 * HOUR, .says = "the profile's",
     .help = "A longer wait is not slept: another target is tried, or the failure told."},
    {"recovery.patience", OPTION_DURATION, AT(config, policy.patience), .min = 0, .max = 24 * HOUR, .says = "the profile's", .word = "none", .word_is = -1,
     .help = "So long a request waits in all for what passes by itself (a provider that is down, busy or limited), from its first failure on and never beyond the client's own deadline. `none`: only the ladder ends it."},
    {"recovery.hedge", OPTION_ENUM, AT(config, hedge), .fallback = "auto", .words = "auto off",
     .help = "A call that is silent for longer than is usual for its model, while another target is well: `auto` asks that one beside it, the first that brings content is the answer and the other is cancelled. They are 5 % of all calls at most, but for those beside a call that is known to go nowhere; six for one request."},
    {"recovery.mend", OPTION_BOOL, AT(config, policy.mend.enabled), .says = "`true`",
     .help = "`false`: nothing is mended in requests and answers; what fails is sent again, or elsewhere."},
    {"recovery.side_calls", OPTION_BOOL, AT(config, policy.mend.side_calls), .says = "`true`",
     .help = "Whether a model may be asked on the side: for summaries of large tool output and of long conversations, and for an explanation of what cannot be mended."},
    {"recovery.summariser", OPTION_TARGET, AT(config, summariser.model), .min = 1, .max = 300, .says = "the model that was asked",
     .help = "Who is asked on the side, as `provider/model`: a small, cheap model does."},
    {"recovery.max_compress_retries", OPTION_INTEGER, AT(config, policy.mend.max_compress_retries), .min = 0, .max = 10, .says = "the profile's",
     .help = "How often one request is sent again shorter when it is too long for the model."},
    {"recovery.compression_threshold_chars", OPTION_INTEGER, AT(config, policy.mend.compression_threshold_chars), .min = 100, .max = 100000000, .says = "the profile's",
     .help = "Tool output longer than this is summarised when masking old output does not suffice."},
    {"recovery.summarize_on_compress", OPTION_BOOL, AT(config, policy.mend.summarize_on_compress), .says = "the profile's",
     .help = "`false`: tool output is only masked, never summarised by a model."},
    {"recovery.orphans", OPTION_ENUM, AT(config, orphans), .fallback = "profile", .words = "profile answer prune",
     .help = "What becomes of a tool call whose result was lost: `answer` gives it a neutral result, `prune` removes it."},
    {"recovery.kinds", OPTION_NAMED, .list = &config_list_kinds,
     .help = "Numbers of one kind of failure, by its name: `rate_limit`, `overloaded`, `timeout`, ..."},
    {"recovery.kinds.*.max_attempts", OPTION_INTEGER, AT(daruma_kind_policy, max_attempts), .min = 1, .max = 100, .says = "the profile's, else `recovery.max_attempts`",
     .help = "Calls to one target, the first included."},
    {"recovery.kinds.*.delay", OPTION_DURATION, AT(daruma_kind_policy, backoff.base), .min = 0, .max = HOUR, .says = "the profile's",
     .help = "Before the first retry, where the provider gave no advice."},
    {"recovery.kinds.*.factor", OPTION_FRACTION, AT(daruma_kind_policy, backoff.factor_milli), .min = 1000, .max = 100000, .says = "the profile's",
     .help = "How the delay grows with each retry; 2 doubles it."},
    {"recovery.kinds.*.max_delay", OPTION_DURATION, AT(daruma_kind_policy, backoff.cap), .min = 0, .max = HOUR, .says = "the profile's",
     .help = "No delay is longer."},
    {"recovery.kinds.*.jitter", OPTION_FRACTION, AT(daruma_kind_policy, backoff.jitter_milli), .min = 0, .max = 1000, .says = "the profile's",
     .help = "Share of the delay that chance decides, so that clients do not come back all at once; 1 is all of it."},

    {"events", OPTION_GROUP, .help = "Where recoveries are told. They are also at `GET /daruma/events`."},
    {"events.file", OPTION_STRING, AT(config, events_file), .min = 1, .max = 4096, .says = "none",
     .help = "One JSON line each is appended to it."},
    {"events.stderr", OPTION_TERMINAL, AT(config, events_stderr), .fallback = "auto",
     .help = "One readable line each on standard error; `auto`: when that is a terminal."},

    {"limits", OPTION_GROUP, .help = "What is accepted from clients."},
    {"limits.body", OPTION_SIZE, AT(config, body_bytes_max), .min = 1024, .max = 1 << 30, .fallback = "64MiB",
     .help = "Of one request body."},
    {"limits.memory", OPTION_SIZE, AT(config, all_bytes_max), .min = 1024, .max = INT64_C(1) << 40, .fallback = "1GiB",
     .help = "Of the bodies of all requests at a time, and of what is written of them for providers. Who brings more is asked to come again: 503 with `retry-after`."},
    {"limits.connections", OPTION_INTEGER, AT(config, connections_max), .min = 1, .max = 1000000, .fallback = "8192",
     .help = "Open at the same time."},

    {"proxy", OPTION_GROUP, .help = "How providers are reached from behind a proxy. `\"\"` is none, whatever the environment says."},
    {"proxy.https_proxy", OPTION_PROXY, .flags = OPTION_SECRET, AT(config, https_proxy), .max = 2048, .env = "https_proxy HTTPS_PROXY",
     .help = "For `https` providers."},
    {"proxy.http_proxy", OPTION_PROXY, .flags = OPTION_SECRET, AT(config, http_proxy), .max = 2048, .env = "http_proxy HTTP_PROXY",
     .help = "For `http` providers."},
    {"proxy.no_proxy", OPTION_STRING, AT(config, no_proxy), .min = 0, .max = 8192, .env = "no_proxy NO_PROXY",
     .help = "Hosts that are reached directly, separated by commas, as curl reads it."},

    {"tls", OPTION_GROUP, .help = "Providers' certificates and names are always verified."},
    {"tls.ca_file", OPTION_STRING, AT(config, ca_file), .min = 1, .max = 4096, .says = "the system's",
     .help = "Certificates that are trusted, as a PEM file."},
};
// clang-format on
const size_t noptions = sizeof options / sizeof *options;

/* What a value has to be, by type. */
static const char *const expectations[OPTION_TYPES] = {
    [OPTION_GROUP] = "a mapping",
    [OPTION_LIST] = "a list",
    [OPTION_NAMED] = "a mapping",
    [OPTION_STRING] = "a text",
    [OPTION_NAME] = "a name of letters, digits, '.', '_' and '-'",
    [OPTION_DURATION] = "a duration like 5s",
    [OPTION_SIZE] = "a size like 64MiB",
    [OPTION_INTEGER] = "a whole number",
    [OPTION_FRACTION] = "a number like 1.5",
    [OPTION_BOOL] = "true or false",
    [OPTION_ENUM] = "one of ",
    [OPTION_TERMINAL] = "true, false or auto",
    [OPTION_LISTEN] = "an address like 127.0.0.1:4141",
    [OPTION_URL] = "a URL like https://api.openai.com",
    [OPTION_PROXY] = "a URL like http://proxy.example:3128",
    [OPTION_DIALECT] = "one of openai, openai-responses, anthropic, gemini",
    [OPTION_PROFILE] = "the name of a profile",
    [OPTION_TARGET] = "a target like provider/model",
};

/* What stands between a row's path and those of its members. */
static daruma_str inner(const option *o)
{
    return o->type == OPTION_LIST ? S("[]") : o->type == OPTION_NAMED ? S(".*") : S("");
}

daruma_str option_name_in(const option *parent, const option *row)
{
    daruma_str rest = str_of(row->path);
    if (parent) {
        daruma_str head = str_of(parent->path), in = inner(parent);
        if (row == parent || !str_starts(rest, head) || !str_starts(str_from(rest, head.n), in))
            return (daruma_str){0};
        rest = str_from(rest, head.n + in.n);
        if (!rest.n || rest.p[0] != '.')
            return (daruma_str){0};
        rest = str_from(rest, 1);
    }
    bool deeper = str_findch(rest, '.') != STR_NONE || str_findch(rest, '[') != STR_NONE || str_eq(rest, S("*"));
    return deeper ? (daruma_str){0} : rest;
}

const option *option_element(const option *list)
{
    daruma_str head = str_of(list->path), in = inner(list);
    for (size_t i = 0; i < noptions; i++) {
        daruma_str path = str_of(options[i].path);
        if (path.n == head.n + in.n && str_starts(path, head) && str_ends(path, in))
            return &options[i];
    }
    return NULL;
}

bool option_known(daruma_str name, bool *secret)
{
    bool known = false;
    *secret = false;
    for (size_t i = 0; i < noptions; i++) {
        daruma_str path = str_of(options[i].path);
        size_t from = path.n;
        while (from && path.p[from - 1] != '.')
            from--;
        daruma_str last = str_from(path, from);
        size_t bracket = str_findch(last, '[');
        if (!str_eq(bracket == STR_NONE ? last : str_sub(last, 0, bracket), name))
            continue;
        known = true;
        *secret |= (options[i].flags & OPTION_SECRET) != 0;
    }
    *secret |= str_eq(name, S("headers"));
    return known;
}

static const struct {
    option_type type;
    int64_t is;
    const char *name;
} units[] = {
    /* longest first: the first that divides is shown */
    {OPTION_DURATION, HOUR, "h"},  {OPTION_DURATION, MINUTE, "m"}, {OPTION_DURATION, SECOND, "s"},
    {OPTION_DURATION, 1, "ms"},    {OPTION_SIZE, 1 << 30, "GiB"},  {OPTION_SIZE, 1 << 20, "MiB"},
    {OPTION_SIZE, 1 << 10, "KiB"}, {OPTION_SIZE, 1, "B"},
};

/* "5s", "64MiB", "2.5": as a file may say it. */
static void option_show(const option *o, int64_t value, daruma_buf *out)
{
    if (o->type == OPTION_FRACTION) {
        buf_int(out, value / 1000);
        if (value % 1000)
            buf_printf(out, ".%03d", (int)(value % 1000));
        return;
    }
    if (o->type == OPTION_DURATION && value == 0) {
        BUF_LIT(out, "0s");
        return;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].type == o->type && value % units[i].is == 0) {
            buf_int(out, value / units[i].is);
            buf_putz(out, units[i].name);
            return;
        }
    }
    buf_int(out, value);
}

void option_expects(const option *o, daruma_buf *out)
{
    buf_putz(out, expectations[o->type]);
    if (o->words) {
        daruma_str rest = str_of(o->words);
        for (bool first = true; rest.n; first = false) {
            if (!first)
                BUF_LIT(out, ", ");
            buf_put(out, str_cut(&rest, ' '));
        }
    }
    bool number =
        o->type == OPTION_DURATION || o->type == OPTION_SIZE || o->type == OPTION_INTEGER || o->type == OPTION_FRACTION;
    if (number) {
        BUF_LIT(out, " from ");
        option_show(o, o->min, out);
        BUF_LIT(out, " to ");
        option_show(o, o->max, out);
    }
    if (o->word)
        buf_printf(out, ", or %s", o->word);
}

static void print_default(const option *o, daruma_buf *out)
{
    if (o->env) {
        daruma_str rest = str_of(o->env);
        BUF_LIT(out, "environment: ");
        for (bool first = true; rest.n; first = false) {
            if (!first)
                BUF_LIT(out, ", ");
            BUF_LIT(out, "`");
            buf_put(out, str_cut(&rest, ' '));
            BUF_LIT(out, "`");
        }
    } else if (o->flags & OPTION_REQUIRED)
        BUF_LIT(out, "**required**");
    else if (o->says)
        buf_putz(out, o->says);
    else if (o->fallback)
        buf_printf(out, "`%s`", o->fallback);
}

void config_options_print(daruma_buf *out)
{
    BUF_LIT(out, "| option | value | default | what it does |\n|---|---|---|---|\n");
    for (size_t i = 0; i < noptions; i++) {
        const option *o = &options[i];
        buf_printf(out, "| `%s` | ", o->path);
        option_expects(o, out);
        BUF_LIT(out, " | ");
        print_default(o, out);
        BUF_LIT(out, " | ");
        buf_putz(out, o->help);
        BUF_LIT(out, " |\n");
    }
}
