#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/judge/match.h"
#include "engine/read/sentence.h"
#include "engine/tell/redact.h"
#include <dirent.h>
#include <stdlib.h>

#define CORPUS "tests/corpus/errors"

static char work[2u << 20];

static daruma_failure judge(const daruma_evidence *ev, daruma_arena *a)
{
    *a = arena_over(work, sizeof work);
    return daruma_classify(ev, at(0), a);
}

/* ---- the corpus -------------------------------------------------------------------------- */

static daruma_net net_of(daruma_str name)
{
    for (int n = 0; n < DARUMA_NETS; n++)
        if (str_eq(name, str_of(daruma_net_name((daruma_net)n))))
            return (daruma_net)n;
    return DARUMA_NET_NONE;
}

static daruma_flaw flaw_of(daruma_str name)
{
    return str_eq(name, S("broken"))     ? DARUMA_FLAW_BROKEN
           : str_eq(name, S("cut"))      ? DARUMA_FLAW_CUT
           : str_eq(name, S("silent"))   ? DARUMA_FLAW_SILENT
           : str_eq(name, S("filtered")) ? DARUMA_FLAW_FILTERED
           : str_eq(name, S("encoded"))  ? DARUMA_FLAW_ENCODED
                                         : DARUMA_FLAW_NONE;
}

static daruma_evidence evidence_of(daruma_str line, daruma_arena *a)
{
    return (daruma_evidence){.phase = DARUMA_AT_HEAD,
                             .status = (int)json_int(json_get(line, S("status")), 0),
                             .net = net_of(json_text(json_get(line, S("net")), a)),
                             .flaw = flaw_of(json_text(json_get(line, S("flaw")), a)),
                             .provider = json_text(json_get(line, S("provider")), a),
                             .body = json_text(json_get(line, S("body")), a),
                             .took = -1};
}

/* Calls `see` with each line of each file of the corpus. */
static size_t each_line(void (*see)(daruma_str line, void *arg), void *arg)
{
    DIR *dir = opendir(CORPUS);
    size_t lines = 0;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[512];
        if (!str_ends(str_of(e->d_name), S(".jsonl")))
            continue;
        snprintf(path, sizeof path, CORPUS "/%s", e->d_name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        char *text = malloc(4u << 20);
        assert_non_null(text);
        daruma_str rest = {text, fread(text, 1, 4u << 20, f)};
        fclose(f);
        while (rest.n) {
            daruma_str line = str_trim(str_cut(&rest, '\n'));
            if (line.n) {
                see(line, arg);
                lines++;
            }
        }
        free(text);
    }
    closedir(dir);
    return lines;
}

/* What is wrong with the verdict on a line, NULL nothing. */
static const char *flaw_in(const daruma_failure *f, daruma_str line, daruma_arena *keep)
{
    daruma_str kind = json_text(json_get(line, S("kind")), keep);
    daruma_str tool_kind = json_text(json_get(line, S("tool_kind")), keep);
    daruma_str retryable = json_get(line, S("retryable")), wait = json_get(line, S("retry_after_s"));
    if (!str_eq(kind, str_of(daruma_kind_name(f->kind))))
        return "kind";
    if (f->kind == DARUMA_TOOL_ERROR && !str_eq(tool_kind, str_of(daruma_tool_kind_name(f->tool_kind))))
        return "tool_kind";
    if (retryable.n && json_is_true(retryable) != f->retryable)
        return "retryable";
    return json_is_number(wait) && f->wait / 1000 != json_int(wait, -1) ? "wait" : NULL;
}

/* The verdict in the words of `judged`: "quota", "tool_error validation". */
static bool is_judged_so(const daruma_failure *f, daruma_str judged)
{
    char text[64];
    bool tool = f->kind == DARUMA_TOOL_ERROR;
    snprintf(text, sizeof text, "%s%s%s", daruma_kind_name(f->kind), tool ? " " : "",
             tool ? daruma_tool_kind_name(f->tool_kind) : "");
    return str_eq(judged, str_of(text));
}

/* `judged` marks a line that is known to be judged wrongly, and says how: it may not become wrong in another way. */
static void check_line(daruma_str line, void *arg)
{
    static char mem[1u << 20];
    (void)arg;
    daruma_arena a, keep = arena_over(mem, sizeof mem);
    daruma_evidence ev = evidence_of(line, &keep);
    daruma_failure f = judge(&ev, &a);
    const char *flaw = flaw_in(&f, line, &keep);
    daruma_str not_kind = json_text(json_get(line, S("not")), &keep);
    daruma_str judged = json_text(json_get(line, S("judged")), &keep);
    assert_false(not_kind.n && str_eq(not_kind, str_of(daruma_kind_name(f.kind))));
    if (flaw && (!judged.n || !is_judged_so(&f, judged)))
        fail_msg("%s: %s %s, retryable %d, wait %lld ms by %s: " STR_FMT, flaw, daruma_kind_name(f.kind),
                 daruma_tool_kind_name(f.tool_kind), f.retryable, (long long)f.wait, daruma_rule_name(f.rule),
                 STR_ARG(line));
    if (!flaw && judged.n)
        fail_msg("judged rightly now, \"judged\" may go: " STR_FMT, STR_ARG(line));
}

static void every_line_says_what_it_is(void **state)
{
    (void)state;
    assert_true(each_line(check_line, NULL) > 600);
}

/* Whatever a tool says is the model's when a model was called, and whatever the provider is called. */
static void check_model_call(daruma_str line, void *arg)
{
    static char mem[1u << 20];
    (void)arg;
    daruma_arena a, keep = arena_over(mem, sizeof mem);
    daruma_evidence ev = evidence_of(line, &keep);
    ev.model_call = true;
    for (int named = 0; named < 2; named++) {
        daruma_failure f = judge(&ev, &a);
        if (f.kind == DARUMA_TOOL_ERROR || f.tool_kind != DARUMA_TOOL_NONE_KIND)
            fail_msg("a tool's by %s: " STR_FMT, daruma_rule_name(f.rule), STR_ARG(line));
        ev.provider = S("github-mcp");
    }
}

static void a_call_of_a_model_is_no_tool(void **state)
{
    (void)state;
    assert_true(each_line(check_model_call, NULL) > 600);
}

static void a_name_that_nobody_knows_makes_no_tool(void **state)
{
    static const struct {
        int status;
        const char *body;
        daruma_kind kind;
    } rows[] = {
        {401, "{\"message\":\"Unauthorized\"}", DARUMA_AUTH},
        {0, "quota exhausted", DARUMA_QUOTA},
        {504, "<html><head><title>504 Gateway Time-out</title></head></html>", DARUMA_TIMEOUT},
        {0, "error sending request for url (https://models.example/v1)", DARUMA_NETWORK},
        {0, "Tool lookup returned: no such file", DARUMA_TOOL_ERROR},
        /* an address says nothing: gateways of models stand under any */
        {429, "429 Client Error: Too Many Requests for url: https://api.example.org/v2/quotes?id=8", DARUMA_RATE_LIMIT},
        {429,
         "{\"error\":{\"code\":429,\"message\":\"Quota exceeded for requests per minute\",\"details\":[{\"url\":"
         "\"https://cloud.example.com/docs/quotas/help\"}]}}",
         DARUMA_RATE_LIMIT},
        {0, "Get \"https://gw.example.com/route/plums\": connection refused", DARUMA_NETWORK},
        {0, "Post \"https://gw.example.com/v1/chat/completions\": EOF", DARUMA_NETWORK},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.provider = S("quux"), .status = rows[i].status, .body = str_of(rows[i].body)};
        assert_int_equal(judge(&ev, &a).kind, rows[i].kind);
    }
}

/* ---- anything goes in ---------------------------------------------------------------------- */

static void tear_line(daruma_str line, void *arg)
{
    static char mem[1u << 20], torn[1u << 16];
    uint64_t *dice = arg;
    daruma_arena a, keep = arena_over(mem, sizeof mem);
    daruma_evidence ev = evidence_of(line, &keep);
    daruma_str whole = str_sub(ev.body, 0, sizeof torn);
    for (size_t n = 0; n <= whole.n; n += 1 + whole.n / 40) {
        ev.body = str_sub(whole, 0, n);
        assert_true(judge(&ev, &a).kind < DARUMA_KINDS);
    }
    for (int round = 0; round < 8 && whole.n; round++) {
        memcpy(torn, whole.p, whole.n);
        for (int k = 0; k < 6; k++) {
            *dice ^= *dice << 13, *dice ^= *dice >> 7, *dice ^= *dice << 17;
            torn[*dice % whole.n] = (char)(*dice >> 32);
        }
        ev.body = (daruma_str){torn, whole.n};
        assert_true(judge(&ev, &a).kind < DARUMA_KINDS);
    }
}

static void torn_and_spoiled_bodies_are_judged_too(void **state)
{
    uint64_t dice = 0x9e3779b97f4a7c15u;
    (void)state;
    each_line(tear_line, &dice);
}

static void no_memory_is_no_failure_of_classify(void **state)
{
    (void)state;
    char mem[256];
    daruma_evidence ev = {.status = 429, .body = S("{\"error\":{\"message\":\"Slow\\u0020down\",\"code\":\"x\"}}")};
    for (size_t n = 0; n < sizeof mem; n++) {
        daruma_arena a = arena_over(mem, n);
        assert_true(daruma_classify(&ev, at(0), &a).kind < DARUMA_KINDS);
    }
}

static void json_is_unwrapped_eight_levels_deep_and_no_deeper(void **state)
{
    (void)state;
    static char text[2][1u << 16];
    daruma_arena a;
    size_t n = 0;
    for (int i = 0; i < 2000; i++)
        n += (size_t)snprintf(text[0] + n, sizeof text[0] - n, "{\"error\":");
    daruma_evidence ev = {.body = {text[0], n}};
    assert_int_equal(judge(&ev, &a).kind, DARUMA_MALFORMED_OUTPUT); /* it breaks off */
    ev.body = S("prompt is too long");
    for (int level = 0; level <= JSON_UNWRAP_LEVELS_MAX + 1; level++) { /* of JSON in strings of the body */
        daruma_buf b = buf_over(text[level % 2], sizeof text[0]);
        BUF_LIT(&b, "{\"message\":");
        buf_json(&b, ev.body);
        BUF_LIT(&b, "}");
        assert_false(b.full);
        ev.body = buf_str(&b);
        bool bare = str_eq(judge(&ev, &a).message, S("prompt is too long"));
        assert_int_equal(bare, level <= JSON_UNWRAP_LEVELS_MAX);
    }
    ev.body = S("{\"error\":{\"error\":{\"error\":{\"message\":\"{\\\"message\\\":\\\"prompt is too long\\\"}\"}}}}");
    daruma_failure f = judge(&ev, &a);
    assert_int_equal(f.kind, DARUMA_CONTEXT_LENGTH);
    assert_str(f.message, "prompt is too long");
}

static void gateways_behind_gateways_are_unwrapped(void **state)
{
    (void)state;
    static char text[2][1u << 16];
    daruma_arena a;
    daruma_evidence ev = {.status = 500,
                          .body = S("{\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\","
                                    "\"code\":\"context_length_exceeded\"}}")};
    for (int level = 0; level < JSON_UNWRAP_LEVELS_MAX; level++) { /* each of them with objects, a type and a code */
        daruma_buf b = buf_over(text[level % 2], sizeof text[0]);
        BUF_LIT(&b, "{\"error\":{\"type\":\"server_error\",\"code\":\"upstream_");
        buf_int(&b, level);
        BUF_LIT(&b, "\",\"param\":null,\"message\":");
        buf_json(&b, ev.body);
        BUF_LIT(&b, "}}");
        assert_false(b.full);
        ev.body = buf_str(&b);
        daruma_failure f = judge(&ev, &a);
        assert_int_equal(f.kind, DARUMA_CONTEXT_LENGTH);
        assert_str(f.message, "too long");
        assert_str(f.code, "context_length_exceeded");
    }
}

static void only_the_error_itself_is_read(void **state)
{
    (void)state;
    daruma_arena a;
    daruma_evidence ev = {.status = 500,
                          .body = S("{\"error\":{\"message\":\"It "
                                    "broke\"},\"request\":{\"messages\":[{\"content\":\"prompt is too long\"}]}}")};
    assert_int_equal(judge(&ev, &a).kind, DARUMA_SERVER_ERROR);
}

static void bytes_that_went_out_make_a_broken_wire_an_interruption(void **state)
{
    (void)state;
    daruma_arena a;
    daruma_evidence ev = {.phase = DARUMA_AT_STREAM, .status = 200, .net = DARUMA_NET_CUT};
    assert_int_equal(judge(&ev, &a).kind, DARUMA_NETWORK);
    ev.forwarded = 10;
    assert_int_equal(judge(&ev, &a).kind, DARUMA_INTERRUPTED);
}

static void numbers_of_a_limit_are_read(void **state)
{
    (void)state;
    daruma_arena a;
    daruma_evidence ev = {
        .status = 429, .body = S("Request too large on tokens per min (TPM): Limit 30,000, Used 12, Requested 41000.")};
    daruma_failure f = judge(&ev, &a);
    assert_int_equal(f.limit, 30000);
    assert_int_equal(f.used, 12);
    assert_int_equal(f.requested, 41000);
    assert_false(f.retryable);
    ev.body = S("prompt is too long: 213462 tokens > 200000 maximum");
    f = judge(&ev, &a);
    assert_int_equal(f.used, 213462);
    assert_int_equal(f.limit, 200000);
    ev.body = S("input length and `max_tokens` exceed context limit: 188,240 + 21333 > 200000, decrease input length");
    f = judge(&ev, &a);
    assert_int_equal(f.used, 188240);
    assert_int_equal(f.requested, 188240 + 21333);
    assert_int_equal(f.limit, 200000);
    static const char *const no_sums[] = {"Limit: + 5 > 3", "Limit: 5 + > 3", "Limit: 5 + 5 < 30", "Limit: 5 + 5 > ",
                                          "Limit: a5 + "};
    for (size_t i = 0; i < COUNT(no_sums); i++) {
        ev.body = str_of(no_sums[i]);
        f = judge(&ev, &a);
        assert_true(f.limit <= 5 && f.requested == -1);
    }
}

/* Whatever the order of words: the limit and what was counted, of sentences that servers say. */
static void numbers_of_an_overflow_are_read_in_any_order(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        int64_t limit, used;
    } rows[] = {
        {"Prompt contains 9663 tokens and 0 draft tokens, too large for model with 8000 maximum context length", 8000,
         9663},
        {"Prompt contains 40153 tokens, too large for model with 32768 maximum context length", 32768, 40153},
        {"Input prompt (35247 tokens) is too long and exceeds limit of 1000", 1000, 35247},
        {"The input (61709 tokens) is longer than the model's context length (40960 tokens).", 40960, 61709},
        {"The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that "
         "`max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
         4096, 25938},
        {"Requested tokens (6100) exceed context window of 512", 512, 6100},
        {"Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context "
         "length of only 7866 tokens, which is not enough.",
         7866, 10136},
        {"This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072, 537812},
        {"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1048575, 1196265},
        {"You passed 9663 input tokens and requested 1000 output tokens. However, the model's context length is only "
         "8000 tokens, resulting in a maximum input length of 7000 tokens.",
         8000, 9663},
        {"8000 token context window exceeded: the conversation has 9663 tokens", 8000, 9663},
        {"the prompt is too long: got 9,663 tokens, at most 8,000 are allowed", 8000, 9663},
        {"maximum context length exceeded: 9663 tokens, limit 8000", 8000, 9663},
        {"context length exceeded: gpt-4-8192 on node 50123 takes no more", -1, -1}, /* numbers of something else */
        {"input exceeds the context window by 1200 tokens", -1, -1},
        {"Your input exceeds the context window of this model. Please adjust your input and try again.", -1, -1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.status = 400, .body = str_of(rows[i].says)};
        daruma_failure f = judge(&ev, &a);
        if (f.kind != DARUMA_CONTEXT_LENGTH || f.limit != rows[i].limit || f.used != rows[i].used)
            fail_msg("row %zu: %s by %s, %lld of %lld", i, daruma_kind_name(f.kind), daruma_rule_name(f.rule),
                     (long long)f.used, (long long)f.limit);
    }
}

/* ---- waits ------------------------------------------------------------------------------------ */

/* How long the provider advises to wait; -1: it does not say. */
static daruma_ms waits(const daruma_evidence *ev, daruma_moment at)
{
    char mem[32 << 10];
    daruma_arena a = arena_over(mem, sizeof mem);
    return daruma_classify(ev, at, &a).wait;
}

static void advice_is_read_from_headers_and_words(void **state)
{
    (void)state;
#define H(...)                                                                                                         \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
    const struct {
        daruma_header headers[4];
        const char *body;
        daruma_ms ms;
    } rows[] = {
        {H({S("Retry-After"), S("20")}), "", 20000},
        {H({S("retry-after"), S("1.5")}), "", 1500},
        {H({S("retry-after-ms"), S("350")}, {S("retry-after"), S("1")}), "", 350},
        {H({S("x-ms-retry-after-ms"), S("900")}), "", 900},
        {H({S("retry-after-ms"), S("999999999999")}, {S("retry-after"), S("3")}), "", 3000},
        {H({S("retry-after"), S("Thu, 01 Jan 2026 00:00:30 GMT")}), "", 30000},
        {H({S("retry-after"), S("Wed, 31 Dec 2025 00:00:00 GMT")}), "", 0},
        {H({S("date"), S("Thu, 01 Jan 2026 01:00:00 GMT")}, {S("retry-after"), S("Thu, 01 Jan 2026 01:00:02 GMT")}), "",
         2000},
        {H({S("date"), S("no date")}, {S("retry-after"), S("Thu, 01 Jan 2026 00:00:30 GMT")}), "", 30000},
        {H({S("retry-after"), S("soon")}), "", -1},
        {H({S("retry-after"), S("2592000")}), "", INT64_C(2592000000)},
        {H({S("retry-after"), S("999999999")}), "", -1}, /* 31 years */
        {H({S("retry-after"), S("999999999")}), "Please try again in 11.054s.", 11054},
        {H({S("x-ratelimit-remaining-requests"), S("5")}, {S("x-ratelimit-reset-requests"), S("1s")},
           {S("x-ratelimit-remaining-tokens"), S("0")}, {S("x-ratelimit-reset-tokens"), S("6m0s")}),
         "", 360000},
        {H({S("anthropic-ratelimit-requests-remaining"), S("0")},
           {S("anthropic-ratelimit-requests-reset"), S("2026-01-01T00:00:45Z")}),
         "", 45000},
        {H({S("x-ratelimit-reset"), S("1767225610")}), "", 10000},
        {H({S("x-ratelimit-reset"), S("1767225610500")}), "", 10500},
        {H({S("x-ratelimit-reset"), S("17")}), "", 17000},
        {H({{0}, {0}}), "{\"error\":{\"details\":[{\"@type\":\"x/RetryInfo\",\"retryDelay\":\"38s\"}]}}", 38000},
        {H({{0}, {0}}), "{\"error\":{\"message\":\"full\",\"resets_in_seconds\":90}}", 90000},
        {H({{0}, {0}}), "{\"error\":{\"message\":\"full\",\"resets_at\":1767225660}}", 60000},
        {H({{0}, {0}}), "Please try again in 11.054s.", 11054},
        {H({{0}, {0}}), "Please try again in 1m30.002s. Thanks", 90002},
        {H({{0}, {0}}), "Please retry in 34.07s", 34070},
        {H({{0}, {0}}), "Please retry after 7 seconds.", 7000},
        {H({{0}, {0}}), "Limit reached. Resets in 16 days", 16 * 86400000LL},
        {H({{0}, {0}}), "Try again in 5 minutes", 300000},
        {H({{0}, {0}}), "or try again at January 1st, 2026 2:29 AM.", 8940000},
        {H({{0}, {0}}), "Try again later", -1},
        {H({{0}, {0}}), "Claude AI usage limit reached|1767225900", 300000},
        {H({{0}, {0}}), "You've hit your limit · resets 3pm (America/Los_Angeles)", 23 * 3600000LL},
        {H({{0}, {0}}), "Limit reached. It will reset at 1:30 am (Europe/Berlin).", 30 * 60000LL},
        {H({{0}, {0}}), "Limit reached, resets 12am (UTC)", 24 * 3600000LL},
        {H({{0}, {0}}), "Limit reached, resets 3pm (Middle/Earth)", -1},
        {H({{0}, {0}}), "Limit reached, resets 25:00 (UTC)", -1},
        {H({{0}, {0}}), "429 Quota exceeded. retry_delay {\n  seconds: 32\n}", 32000},
        {H({{0}, {0}}), "{\"error\":{\"message\":\"full\",\"retry_delay\":{\"seconds\":32}}}", 32000},
        {H({S("X-RateLimit-Remaining-Images"), S("0")}, {S("X-RateLimit-Reset-Images"), S("7s")},
           {S("x-ratelimit-remaining-requests"), S("9")}, {S("x-ratelimit-reset-requests"), S("90s")}),
         "", 7000},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_evidence ev = {.status = 429, .headers = rows[i].headers, .nheaders = 4, .body = str_of(rows[i].body)};
        if (waits(&ev, at(0)) != rows[i].ms)
            fail_msg("row %zu: %lld", i, (long long)waits(&ev, at(0)));
    }
}

/* The official SDKs look at x-should-retry before they look at the status. */
static void the_provider_says_whether_to_try_again(void **state)
{
    (void)state;
    static const char bad[] = "{\"error\":{\"message\":\"shard is moving\",\"type\":\"invalid_request_error\"}}",
                      named[] =
                          "{\"error\":{\"message\":\"bad\",\"param\":\"top_k\",\"type\":\"invalid_request_error\"}}",
                      slow[] = "{\"error\":{\"message\":\"Rate limit reached\"}}";
    static const struct {
        int status;
        const char *says, *body;
        daruma_kind kind;
        bool again;
    } rows[] = {
        {400, "", bad, DARUMA_INVALID_PARAMETER, false},
        {400, "true", bad, DARUMA_SERVER_ERROR, true},
        {400, "false", bad, DARUMA_INVALID_PARAMETER, false},
        {400, "true", named, DARUMA_INVALID_PARAMETER, true},
        {500, "", "", DARUMA_UNKNOWN, true},
        {500, "false", "", DARUMA_UNKNOWN, false},
        {500, "False", slow, DARUMA_RATE_LIMIT, false},
        {429, "", slow, DARUMA_RATE_LIMIT, true},
        {429, "false", slow, DARUMA_RATE_LIMIT, false},
        {429, "maybe", slow, DARUMA_RATE_LIMIT, true},
        {401, "true", "", DARUMA_AUTH, true},
        {200, "false", "{\"error\":{\"message\":\"overloaded\"}}", DARUMA_OVERLOADED, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char mem[64 << 10];
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_header h = {S("X-Should-Retry"), str_of(rows[i].says)};
        daruma_evidence ev = {
            .status = rows[i].status, .headers = &h, .nheaders = rows[i].says[0] ? 1 : 0, .body = str_of(rows[i].body)};
        daruma_failure f = daruma_classify(&ev, at(0), &a);
        if (f.kind != rows[i].kind || f.retryable != rows[i].again)
            fail_msg("row %zu: %s, again %d", i, daruma_kind_name(f.kind), f.retryable);
    }
}

static void without_a_clock_no_date_is_read(void **state)
{
    (void)state;
    daruma_header h = {S("retry-after"), S("Thu, 01 Jan 2026 00:00:30 GMT")};
    daruma_evidence ev = {.status = 429, .headers = &h, .nheaders = 1};
    assert_int_equal(waits(&ev, (daruma_moment){.now = 5}), -1);
}

/* ---- secrets ------------------------------------------------------------------------------------ */

static void secrets_go_and_words_stay(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"Incorrect API key provided: sk-abc12345XYZ.", "Incorrect API key provided: [redacted]."},
        {"key sk-proj-****abcd is wrong", "key [redacted] is wrong"},
        {"key abcd****wxyz is wrong", "key [redacted] is wrong"},
        {"sk-ant-api03-Abc_9-x and gsk_A1b2C3d4E5", "[redacted] and [redacted]"},
        {"Authorization: Bearer abc.DEF-123456", "Authorization: [redacted]"},
        {"sent Bearer abc.DEF-123456 there", "sent Bearer [redacted] there"},
        {"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_1 x", "token [redacted] x"},
        {"https://user:pa55@host/x?key=AIzaSyA1234567890abc&b=1", "https://[redacted]@host/x?key=[redacted]&b=1"},
        {"{\"api_key\": \"hunter2\", \"model\": \"m\"}", "{\"api_key\": \"[redacted]\", \"model\": \"m\"}"},
        {"OPENAI_API_KEY=verysecret1 next", "OPENAI_API_KEY=[redacted] next"},
        {"OPENAI_API_KEY=[redacted] next", "OPENAI_API_KEY=[redacted] next"},
        {"password=hunter2 host=a", "password=[redacted] host=a"},
        {"Set-Cookie: a=b; Path=/\nnext", "Set-Cookie: [redacted]\nnext"},
        {"ask jane.doe@example.org now", "ask [redacted] now"},
        {"x -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- y", "x [redacted] y"},
        {"AKIAIOSFODNN7EXAMPLE ghp_abcDEF1234 hf_abcdefGHIJKL12", "[redacted] [redacted] [redacted]"},
        {"pip install sk-learn, claude-3-5-sonnet-20241022, gpt-4o-2024-08-06", NULL},
        {"invalid api key: check the token, req_011CY3run7dBEUYF, org-a1B2c3", NULL},
        {"max_tokens: 5 > 3; tokens: 100; key: value; **bold** text", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(work, sizeof work);
        assert_str(daruma_redact(str_of(rows[i][0]), &a), rows[i][1] ? rows[i][1] : rows[i][0]);
    }
}

static void credentials_go_and_addresses_stay(void **state)
{
    (void)state;
    daruma_arena a = arena_over(work, sizeof work);
    daruma_str plain = S("Ask jane.doe@example.org, or see https://example.org/keys");
    daruma_str same = redact_credentials(plain, &a);
    assert_true(same.p == plain.p && same.n == plain.n); /* no copy */
    assert_str(redact_credentials(S("gsk_A1b2C3d4E5 is unknown; ask jane.doe@example.org"), &a),
               "[redacted] is unknown; ask jane.doe@example.org");
}

static void a_message_carries_no_secret(void **state)
{
    (void)state;
    daruma_arena a;
    daruma_evidence ev = {.status = 401,
                          .body = S("{\"error\":{\"message\":\"bad key sk-Abc123456789\\nfor\\tyou\"}}")};
    assert_str(judge(&ev, &a).message, "bad key [redacted] for you");
}

static void a_message_is_not_cut_where_an_address_stands_in_its_sentence(void **state)
{
    (void)state;
    daruma_arena a;
    static const struct {
        daruma_str said, shown; /* shown: as it was said, when empty */
    } texts[] = {
        {LIT("Incorrect API key provided: xxx. You can find your API key at https://example.org/account/api-keys."),
         {0}},
        {LIT("Key limit exceeded (total limit). Manage it using https://example.org/settings/keys"), {0}},
        {LIT("Please go to: https://example.org/settings and verify"), {0}},
        {LIT("Rate limit reached. Learn more: https://example.org/limits"), LIT("Rate limit reached.")},
        {LIT("Rate limit reached (see https://example.org/limits)"), LIT("Rate limit reached")},
        {LIT("Rate limit reached, see https://example.org/limits"), LIT("Rate limit reached,")},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        daruma_evidence ev = {.status = 400, .body = texts[i].said};
        daruma_str shown = texts[i].shown.n ? texts[i].shown : texts[i].said;
        daruma_str got = judge(&ev, &a).message;
        assert_true(str_eq(got, shown));
    }
}

static void a_failure_outlives_what_was_judged(void **state)
{
    (void)state;
    daruma_arena a;
    char body[] = "{\"error\":{\"code\":\"c123\",\"param\":\"top_p\",\"message\":\"no such thing\"}}";
    daruma_evidence ev = {.status = 400, .body = str_of(body)};
    daruma_failure f = judge(&ev, &a);
    memset(body, 'x', sizeof body);
    assert_str(f.subject, "top_p");
    assert_str(f.code, "c123");
    assert_str(f.message, "no such thing");
}

static void what_the_words_around_it_deny_is_not_said(void **state)
{
    (void)state;
    daruma_arena a;
    daruma_evidence ev = {
        .body = S("{\"error\":{\"message\":\"provider: acme\",\"details\":{\"message\":\"model: foo-7b\"}}}")};
    assert_int_equal(judge(&ev, &a).kind, DARUMA_UNKNOWN);
}

static void several_guesses_are_no_evidence(void **state)
{
    static const struct {
        const char *body;
        daruma_kind kind;
    } rows[] = {
        {"The model returned an empty response. This might be due to: * A prompt exceeding the context window. * An "
         "outage.",
         DARUMA_MALFORMED_OUTPUT},
        {"Too many requests. This may be due to an invalid API key or a maximum context length exceeded.",
         DARUMA_RATE_LIMIT},
        {"Sorry, that went badly. It could be due to a too long context or an invalid API key.", DARUMA_UNKNOWN},
        {"Sorry, that went badly. It could be due to exceeding the maximum context length.", DARUMA_CONTEXT_LENGTH},
        {"Possible causes: the context is too long, or it is not. Your API key is invalid.", DARUMA_AUTH},
        /* one guess behind what is known */
        {"The model does not exist. This may be due to a timeout.", DARUMA_MODEL_NOT_FOUND},
        {"The request failed. This is likely due to a wrong API key.", DARUMA_AUTH},
        {"Access denied due to an exhausted quota.", DARUMA_QUOTA},
        {"The API returned an empty response. This may be due to the context window being exceeded.",
         DARUMA_CONTEXT_LENGTH},
        {"Empty response. Likely due to max_tokens being too small.", DARUMA_OUTPUT_LIMIT},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.body = str_of(rows[i].body)};
        assert_int_equal(judge(&ev, &a).kind, rows[i].kind);
    }
}

static void a_class_says_less_than_a_known_sentence_and_more_than_a_vague_one(void **state)
{
    static const struct {
        const char *body;
        daruma_kind kind;
    } rows[] = {
        {"acme.RateLimitError: You exceeded your current plan, please top up.", DARUMA_QUOTA},
        {"acme.RateLimitError: slower", DARUMA_RATE_LIMIT},
        {"ReadTimeout: connection failed", DARUMA_TIMEOUT},
        {"acme.APIConnectionError: failed to generate a completion", DARUMA_NETWORK},
        {"OutOfCapacityError: 17", DARUMA_OVERLOADED},
        {"acme.RequestThrottledError: hello", DARUMA_RATE_LIMIT},
        {"{\"error\":{\"type\":\"credit_exhausted_error\",\"message\":\"The cluster is overloaded\"}}", DARUMA_QUOTA},
        {"acme.RateLimitError: {\"error\":{\"code\":17,\"message\":\"The cluster is overloaded\"}}", DARUMA_OVERLOADED},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.body = str_of(rows[i].body)};
        assert_int_equal(judge(&ev, &a).kind, rows[i].kind);
    }
}

static void what_an_error_is_wrapped_in_is_taken_apart(void **state)
{
    static const struct {
        int status;
        const char *body;
        daruma_kind kind;
    } rows[] = {
        {0, "rpc error: code = Unavailable desc = the backend is gone", DARUMA_SERVER_ERROR},
        {0, "could not load it: rpc error: code = ResourceExhausted desc = slower", DARUMA_RATE_LIMIT},
        {413, "unexpected status: <html><title>Too Large</title><script>(function(){schema()})()</script></html>",
         DARUMA_REQUEST_TOO_LARGE},
        {0,
         "Data: {\xe2\x80\x9c"
         "code\xe2\x80\x9d:\xe2\x80\x9cinsufficient_quota\xe2\x80\x9d,"
         "\xe2\x80\x9cmessage\xe2\x80\x9d:\xe2\x80\x9cx\xe2\x80\x9d}",
         DARUMA_QUOTA},
        {400, "{\"error\":\"the endpoint said no\",\"upstream_message\":{\"message\":\"prompt is too long\"}}",
         DARUMA_CONTEXT_LENGTH},
        {200, "{'choices': [{'finish_reason': 'content_filter', 'message': {'content': None}}]}",
         DARUMA_CONTENT_FILTER},
        {200, "object(Answer)#1 { [\"finishReason\"]=> enum(Gemini\\FinishReason::RECITATION) }",
         DARUMA_CONTENT_FILTER},
        {0, "aborting: {\"type\":\"invalid_api_key\"}", DARUMA_AUTH},
        {0, "acme.Exception: {\n  code : 503,\n  message : \"The model is overloaded.\"\n}", DARUMA_OVERLOADED},
        {400, "{'error': {'message':\n\n\"The prompt is\n\ntoo long\", 'type':\n'x'}}", DARUMA_CONTEXT_LENGTH},
        {400, "Invalid API key: fetching from https://x.example: [400 Bad Request] Your country is not supported.",
         DARUMA_PERMISSION},
        {0,
         "[SYS] 2023/10/18 - 08:50:03 | error unmarshalling stream response: invalid character 'Y' looking for "
         "beginning "
         "of value\n    at Client.request (/app/node_modules/llm/client.js:231:13)\n"
         "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
         DARUMA_MALFORMED_OUTPUT},
        /* an answer that Python prints with the status of one that failed */
        /* modules of Rust before a message */
        {0, "2026-02-13T18:09:02Z ERROR acme::rate::limit: Error: The prompt is too long", DARUMA_CONTEXT_LENGTH},
        /* "400 Bad Request" around words hides nothing */
        {400, "Completion failed: 400 Bad Request: {\"error\":{\"message\":\"suffix is not supported\"}}",
         DARUMA_INVALID_PARAMETER},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.status = rows[i].status, .body = str_of(rows[i].body)};
        daruma_failure f = judge(&ev, &a);
        if (f.kind != rows[i].kind)
            fail_msg("%s by %s: %s", daruma_kind_name(f.kind), daruma_rule_name(f.rule), rows[i].body);
    }
}

/* What somebody said stands innermost, whatever is printed around it; what carried it and the code it went through say
 * nothing. */
static void what_somebody_said_is_heard_behind_what_carried_it(void **state)
{
    static const struct {
        int status;
        const char *body;
        daruma_kind kind;
    } rows[] = {
        /* a log whose quotes nobody escaped */
        {0, "level=error turn=9 error=\"400 {\"error\":{\"message\":\"image exceeds 5 MB maximum\"}}\" text=\"\"",
         DARUMA_REQUEST_TOO_LARGE},
        {0, "level=error turn=9 error=\"model \"plum-2\" does not exist\" took=8ms", DARUMA_MODEL_NOT_FOUND},
        /* gRPC, as C++ prints it */
        {0,
         "debug_error_string = \"UNKNOWN:Error received from peer ipv4:192.0.2.8:443 {created_time:\"2026-11-20\", "
         "grpc_status:9, grpc_message:\"User location is not supported\"}\"",
         DARUMA_PERMISSION},
        {0, "UNKNOWN:Error received from peer  {grpc_message:\"API key expired\", grpc_status:3}", DARUMA_AUTH},
        /* who answered was reached */
        {0, "streaming error: POST \"https://models.example/v1/messages\": 500 Internal Server Error",
         DARUMA_SERVER_ERROR},
        {500, "stream error: 500 {\"error\":{\"type\":\"api_error\",\"message\":\"Internal server error\"}}",
         DARUMA_SERVER_ERROR},
        {0, "streaming error: connection reset by peer", DARUMA_NETWORK},
        {0, "APIError: stream request failed: 404 page not found", DARUMA_MODEL_NOT_FOUND},
        /* lines of code, and names in it */
        {0,
         "  File \"/app/a.py\", line 8, in ask\n    field = load(missing_param)\n  File \"/app/b.py\", line 9, in "
         "load\n"
         "    raise JSONDecodeError(\"Expecting value\", s, 0)",
         DARUMA_MALFORMED_OUTPUT},
        {0,
         "/app/a.js:8\n        throw new Error('permission denied')\n        ^\n\nRateLimitError: Slow down\n    at "
         "ask "
         "(/app/a.js:8:15)",
         DARUMA_RATE_LIMIT},
        {400, "OpenAiBackend process(): error, status code: 400, message: ", DARUMA_UNKNOWN},
        /* the column and the clock that every line begins with */
        {0,
         "gw-1  | request failed: 400, {\ngw-1  |   \"error\": {\ngw-1  |     \"message\": \"The model is "
         "overloaded\"\n"
         "gw-1  |   }\ngw-1  | }",
         DARUMA_OVERLOADED},
        {0,
         "2026-11-20T06:25:57.737Z web.1: /app/a.js:8\n2026-11-20T06:25:57.738Z web.1:   reject(denied)\n"
         "2026-11-20T06:25:57.739Z web.1:   ^\n2026-11-20T06:25:57.740Z web.1: \n2026-11-20T06:25:57.741Z web.1: "
         "RateLimitError: Slow down",
         DARUMA_RATE_LIMIT},
        /* marks under what was said */
        {0, "Request failed\nInvalid API key: sk-x\n   ^", DARUMA_AUTH},
        {0, "Model call failed:\n  prompt is too long: 9 tokens > 8 maximum\n  ^^^^^^", DARUMA_CONTEXT_LENGTH},
        {0, "Invalid API key: sk-x\n   ^\n\n", DARUMA_AUTH},
        /* a name of code may be all that says what failed */
        {0, "authenticate() failed", DARUMA_AUTH},
        {0, "model() not found", DARUMA_MODEL_NOT_FOUND},
        /* a map, as protobuf prints it */
        {429,
         "429 Quota exceeded for requests per minute. [metadata {\n  key: \"quota_limit_value\"\n  value: \"0\"\n}\n]",
         DARUMA_QUOTA},
        {429,
         "429 Quota exceeded for requests per minute. [metadata {\n  key: \"quota_limit_value\"\n  value: \"60\"\n}\n]",
         DARUMA_RATE_LIMIT},
        /* a frame whose beginning is cut off, and marks that divide what is printed */
        {0, "conversation/app.py\", line 7, in send_context\n    raise limit from why\nHalted: a good while",
         DARUMA_UNKNOWN},
        {0, "********** Tool Execution **********\nResult:\n-----\nplums are not installed\n-----", DARUMA_TOOL_ERROR},
        /* what a tool was given, before what it said */
        {0, "\xe2\x8f\xba Notes(query: context limit exceeded)\n  \xe2\x8e\xbf  Error: Slow down", DARUMA_RATE_LIMIT},
        /* Python prints that there is no parameter */
        {400, "{\"error\":{\"message\":\"Invalid model name\",\"param\":\"None\",\"code\":\"400\"}}",
         DARUMA_MODEL_NOT_FOUND},
        /* answers, as Python prints them */
        {0, "Response(id='r1', error=None, output=[], safety_identifier=None, tool_choice='auto', tools=[], limit=1)",
         DARUMA_MALFORMED_OUTPUT},
        {0, "Answer(id='c1', choices=[Choice(finish_reason='length', message=Message(content=''))], blocked=None)",
         DARUMA_OUTPUT_LIMIT},
        {0, "Answer(id=None, choices=None, error={'message': 'Slow down', 'code': 429})", DARUMA_RATE_LIMIT},
        {200, "{\"done\":true,\"response\":{\"raiMediaFilteredReasons\":[\"Try rephrasing the prompt.\"]}}",
         DARUMA_CONTENT_FILTER},
        /* errors that stand where only their members say so */
        {0,
         "{\"id\":\"1\",\"value\":{\"stopReason\":\"Rate Limit\",\"stopReasonMessage\":\"You used up your daily "
         "allowance\",\"isError\":true}}",
         DARUMA_QUOTA},
        {502, "{\"error\":{\"attempts\":[{\"error\":\"400 Invalid API key\"}],\"message\":\"All providers failed\"}}",
         DARUMA_AUTH},
        /* of attempts the last one, and only where nothing says why all failed */
        {0,
         "{\"error\":{\"attempts\":[{\"error\":\"Request timed out\"},{\"error\":\"Invalid API "
         "key\"}],\"message\":\"All "
         "providers failed\"}}",
         DARUMA_AUTH},
        {402, "{\"error\":{\"message\":\"Insufficient credits\",\"attempts\":[{\"error\":\"timeout\"}]}}",
         DARUMA_QUOTA},
        {404, "{\"error\":{\"message\":\"Model not found\",\"attempts\":[{\"error\":\"fetch failed\"}]}}",
         DARUMA_MODEL_NOT_FOUND},
        /* what describes no error */
        {500, "{\"tools\":[{\"type\":\"function\",\"description\":\"Returns the quota that was used up\"}]}",
         DARUMA_UNKNOWN},
        {0, "{\"user\":{\"status\":\"active\",\"description\":\"account suspended in 2020\"}}", DARUMA_UNKNOWN},
        {0, "{\"output\":[{\"isError\":false,\"description\":\"account suspended\"}]}", DARUMA_UNKNOWN},
        /* a part of an answer before what broke it */
        {0,
         "Working: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning_content\":\"no key\"}}]}\n"
         "{\"error\":{\"message\":\"Slow down\"}}",
         DARUMA_RATE_LIMIT},
        {0, "Working: {\"choices\":[{\"delta\":{\"content\":null}}]}\n{\"error\":{\"code\":\"sentinel_block\"}}",
         DARUMA_UNKNOWN},
        /* a lead that is all that says anything */
        {0, "llama runner process has terminated: exit status 2", DARUMA_SERVER_ERROR},
        /* the name of a file */
        {0, "Details: [Errno 2] No such file or directory: 'plums.json'", DARUMA_TOOL_ERROR},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.provider = S("quux"), .status = rows[i].status, .body = str_of(rows[i].body)};
        daruma_failure f = judge(&ev, &a);
        if (f.kind != rows[i].kind)
            fail_msg("%s by %s: %s", daruma_kind_name(f.kind), daruma_rule_name(f.rule), rows[i].body);
    }
}

/* A status says what somebody answered, and a broken connection behind it only that he did not go on. */
static void a_status_says_more_than_that_the_connection_broke(void **state)
{
    static const struct {
        const char *body;
        daruma_tool_kind kind;
        bool retryable;
    } rows[] = {
        {"error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403\nfatal: the remote end hung up",
         DARUMA_TOOL_PERMISSION_KIND, false},
        {"error: RPC failed; HTTP 429 curl 22 The requested URL returned error: 429\nfatal: the remote end hung up",
         DARUMA_TOOL_RATE_LIMIT_KIND, true},
        {"error: RPC failed; HTTP 503 curl 22 The requested URL returned error: 503\nfatal: the remote end hung up",
         DARUMA_TOOL_NETWORK_KIND, true},
        {"fatal: the remote end hung up unexpectedly", DARUMA_TOOL_NETWORK_KIND, true},
    };
    static const char *const carried =
        "{\"error\":{\"message\":\"ssh: connect to host x port 22: Connection refused\"}}";
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.provider = S("git"), .body = str_of(rows[i].body)};
        daruma_failure f = judge(&ev, &a);
        assert_int_equal(f.kind, DARUMA_TOOL_ERROR);
        assert_int_equal(f.tool_kind, rows[i].kind);
        assert_int_equal(f.retryable, rows[i].retryable);
    }
    daruma_arena a; /* the status is of who carried it, unless that is the tool */
    daruma_evidence ev = {.provider = S("quux"), .status = 400, .body = str_of(carried)};
    assert_int_equal(judge(&ev, &a).tool_kind, DARUMA_TOOL_NETWORK_KIND);
    ev.provider = S("git");
    assert_int_equal(judge(&ev, &a).tool_kind, DARUMA_TOOL_VALIDATION_KIND);
}

/* A value of the request may say anything, cut short or not. */
static void a_status_that_is_quoted_is_none_of_the_answer(void **state)
{
    static const char *const rows[] = {
        "Invalid 'user': string '500 Internal Server Error' too long",
        "Invalid 'user': string '500 Internal Server Err...' too long",
        "Invalid 'user': string 'fix 503 Service Unavailable' too long",
        "Invalid parameter: stop = \"500 Internal Server Error\"",
        "'500 Internal Server Error' is too long",
    };
    static const char *const request = "{\"user\":\"500 Internal Server Error and more\"}";
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.provider = S("quux"), .status = 400, .body = str_of(rows[i / 2])};
        ev.request = i % 2 ? str_of(request) : S("");
        ev.model_call = i % 2;
        daruma_failure f = judge(&ev, &a);
        if (f.kind != DARUMA_INVALID_PARAMETER || f.retryable)
            fail_msg("%s by %s: %s", daruma_kind_name(f.kind), daruma_rule_name(f.rule), rows[i / 2]);
    }
}

static void what_is_quoted_is_not_taken_apart(void **state)
{
    static const char *const quotes[] = {"rpc error: code = ResourceExhausted desc = slower",
                                         ("{\xe2\x80\x9c" /* else \x9c would go on with the c */
                                          "code\xe2\x80\x9d:\xe2\x80\x9cinsufficient_quota\xe2\x80\x9d}"),
                                         "FinishReason.SAFETY", "x: [402 Payment Required] pay"};
    (void)state;
    for (size_t i = 0; i < COUNT(quotes); i++) {
        char body[256];
        daruma_arena a;
        snprintf(body, sizeof body,
                 "{\"error\":{\"message\":\"Invalid value: '%s'. Supported values are: 'user'.\",\"type\":"
                 "\"invalid_request_error\",\"param\":\"messages[0].role\",\"code\":\"invalid_value\"}}",
                 quotes[i]);
        daruma_evidence ev = {.status = 400, .body = str_of(body)};
        daruma_kind k = judge(&ev, &a).kind;
        if (k != DARUMA_INVALID_MESSAGE && k != DARUMA_INVALID_PARAMETER)
            fail_msg("%s: %s", daruma_kind_name(k), quotes[i]);
    }
}

/* Also where no parameter is named. */
static void words_beside_the_code_of_a_wrong_value_rest_nobody(void **state)
{
    daruma_arena a;
    daruma_evidence ev = {.status = 400,
                          .body = S("{\"error\":{\"message\":\"Expected a string but got: your api key is invalid\","
                                    "\"param\":null,\"code\":\"invalid_type\"}}")};
    (void)state;
    assert_int_equal(judge(&ev, &a).kind, DARUMA_INVALID_PARAMETER);
}

#define TOOL_SAID                                                                                                      \
    "{\\\"role\\\":\\\"user\\\",\\\"content\\\":[{\\\"type\\\":\\\"tool_result\\\",\\\"is_error\\\":true,"             \
    "\\\"content\\\":\\\"no such file\\\"}]}"

/* Results of tools, stop reasons and forms of answers that stand beside what is wrong, and what only looks like them.
 */
static void what_stands_beside_an_error_does_not_change_it(void **state)
{
    static const struct {
        const char *provider;
        int status;
        const char *body;
        daruma_kind kind;
    } rows[] = {
        /* what a tool said in a conversation */
        {"", 500, "{\"error\":{\"message\":\"Internal error while processing " TOOL_SAID "\"}}", DARUMA_SERVER_ERROR},
        {"", 401, "{\"error\":{\"message\":\"Invalid API key. Request was: " TOOL_SAID "\"}}", DARUMA_AUTH},
        {"", 429, "{\"error\":{\"message\":\"You exceeded your current quota: " TOOL_SAID "\"}}", DARUMA_QUOTA},
        {"", 400, "{\"error\":{\"message\":\"prompt is too long: 250000 tokens > 200000 maximum " TOOL_SAID "\"}}",
         DARUMA_CONTEXT_LENGTH},
        /* what looks like a tool's result */
        {"", 200,
         "got: Result(id=4, result={'content': [{'type': 'text', 'text': 'Invalid API key provided'}], 'isError': "
         "True})",
         DARUMA_UNKNOWN},
        {"", 400,
         "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Invalid value for messages[3].content: "
         "{'content': [{'type': 'text', 'text': 'Invalid API key provided'}], 'isError': True}\"}}",
         DARUMA_INVALID_MESSAGE},
        {"", 200,
         "got: {'content': [{'type': 'text', 'text': 'see the isError flag. Your api key is invalid'}], 'isError': "
         "False}",
         DARUMA_UNKNOWN},
        /* what is quoted behind a number */
        {"", 400, "{\"error\":{\"message\":\"400 body: \\\"Your api key is invalid\\\" ...\"}}",
         DARUMA_INVALID_PARAMETER},
        {"", 0, "line 404 response: 'Your api key is invalid'", DARUMA_UNKNOWN},
        /* why an answer ended */
        {"", 429, "{\"finish_reason\":\"length\",\"error\":\"Rate limit exceeded\"}", DARUMA_RATE_LIMIT},
        {"", 403, "{\"finish_reason\":\"length\",\"error\":\"Your account is deactivated\"}", DARUMA_PERMISSION},
        /* a class of Ruby is no module */
        {"", 0, "12:40:11 OpenAI::AuthenticationError: no", DARUMA_AUTH},
        {"", 0, "2026-01-02T03:04:05Z RubyLLM::ContextLengthExceededError: x", DARUMA_CONTEXT_LENGTH},
        /* a printed answer with something around it */
        {"", 0, "402 ChatCompletion(id='', choices=[])", DARUMA_QUOTA},
        {"", 0, "TypeError: create(model, choices=[]) failed, invalid api key (see docs)", DARUMA_AUTH},
        /* tokens of users, and of keys */
        {"", 0, "Input user token count exceeds the maximum", DARUMA_CONTEXT_LENGTH},
        {"", 429, "user token bucket is empty, retry in 2s", DARUMA_RATE_LIMIT},
        {"", 401, "Authorization header: token size too large", DARUMA_AUTH},
        /* a code that denies the model */
        {"", 404, "{\"error\":{\"code\":\"model_not_found\",\"message\":\"Your plan does not include model x\"}}",
         DARUMA_MODEL_NOT_FOUND},
        {"", 0, "{\"error\":{\"code\":\"model_not_found\",\"message\":\"invalid api key or model\"}}",
         DARUMA_MODEL_NOT_FOUND},
        {"", 0, "In this region, you can not use the model", DARUMA_PERMISSION},
        {"", 0,
         "Malformed input request: #/max_tokens: 300000 is not less or equal to 4096, please reformat your input",
         DARUMA_OUTPUT_LIMIT},
        /* names of statuses that are said of other things */
        {"", 0, "{\"status\":\"error\",\"message\":\"Not Found\",\"tool\":\"fetch\"}", DARUMA_UNKNOWN},
        {"", 0, "Method Not Allowed", DARUMA_PERMISSION},
        {"", 200, "1 validation error for Settings OPENAI_API_KEY Field required", DARUMA_AUTH},
        {"", 200, "Failed json validation: the model gpt-9 does not exist", DARUMA_MODEL_NOT_FOUND},
        {"openai", 0, "Tools are disabled: permission denied", DARUMA_PERMISSION},
        {"", 0, "invalid tool_call_id in response", DARUMA_ORPHAN_TOOL_CALL},
        {"browser-use", 0, "404 Not Found: no such page", DARUMA_TOOL_ERROR},
        {"browser-use", 0, "permission denied", DARUMA_TOOL_ERROR},
    };
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {
            .provider = str_of(rows[i].provider), .status = rows[i].status, .body = str_of(rows[i].body)};
        ev.model_call = str_find(ev.body, S("tool_result")) != STR_NONE;
        daruma_failure f = judge(&ev, &a);
        if (f.kind != rows[i].kind)
            print_error("%s by %s: %s\n", daruma_kind_name(f.kind), daruma_rule_name(f.rule), rows[i].body);
        wrong += f.kind != rows[i].kind;
    }
    assert_int_equal(wrong, 0);
}

/* Words are looked up by four bytes, at the last one, too. */
static void behind_a_sentence_stands_nothing(void **state)
{
    static sentence s;
    static char text[SENTENCE_BYTES_MAX];
    (void)state;
    for (size_t spaces = 0; spaces < 900; spaces += 7) { /* of many one is left, and that makes room for words */
        memset(&s, 'x', sizeof s);
        memset(text, ' ', sizeof text);
        for (size_t i = spaces; i < sizeof text; i++)
            text[i] = " > 5"[i % 4];
        sentence_open(&s, (daruma_str){text, sizeof text}, false);
        assert_true(s.n + 3 <= sizeof s.words);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(s.words[s.n + i], 0);
    }
}

/* A provider's name comes from a request and may hold any byte. */
static void a_zero_in_a_name_ends_no_search_behind_the_names(void **state)
{
    (void)state;
    assert_true(match_begins(S("ab\0zq"), "ab\0z", true)); /* what stands behind the names is none of them */
    assert_false(match_begins(S("a\0b"), "ab/ac", true));
}

static void a_code_is_shown_rather_than_a_type_or_a_status(void **state)
{
    static const char *const rows[][2] = {
        {"{\"error\":{\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", "rate_limit_exceeded"},
        {"{\"error\":{\"code\":\"rate_limit_exceeded\",\"type\":\"tokens\"}}", "rate_limit_exceeded"},
        {"{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}}", "RESOURCE_EXHAUSTED"},
        {"{\"error\":{\"type\":\"overloaded_error\",\"code\":null}}", "overloaded_error"},
        {"{\"code\":\"outer\",\"error\":{\"type\":\"inner\"}}", "inner"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_evidence ev = {.status = 429, .body = str_of(rows[i][0])};
        assert_str(judge(&ev, &a).code, rows[i][1]);
    }
}

static void a_page_behind_5xx_is_an_outage_whatever_it_says(void **state)
{
    (void)state;
    static const char *const pages[] = {
        "<html><title>Back soon</title><p>Please accept the terms of use while we are away.</p></html>",
        "<!doctype html><body><p>Sign in: your account has no access to this page.</p></body>",
        "<html><body>Model not found</body></html>"};
    for (size_t i = 0; i < COUNT(pages); i++)
        for (int status = 500; status < 505; status++) {
            char room[16384];
            daruma_arena a = arena_over(room, sizeof room);
            daruma_evidence ev = {.phase = DARUMA_AT_ANSWER, .status = status, .body = str_of(pages[i])};
            daruma_failure f = daruma_classify(&ev, at(0), &a);
            if (!f.retryable || f.kind == DARUMA_PERMISSION || f.kind == DARUMA_MODEL_NOT_FOUND)
                fail_msg("%d %s: %s", status, pages[i], daruma_kind_name(f.kind));
        }
}

/* Amazon's servers name the error in a header, and their words are few. A code in the body says more. */
static void a_header_names_an_error_of_amazons(void **state)
{
    static const struct {
        int status;
        const char *name, *body;
        daruma_kind kind;
        const char *code;
    } rows[] = {
        {424, "ModelErrorException:http://internal.amazon.com/coral/com.amazon.bedrock/",
         "{\"message\":\"The request failed due to an error while processing the model.\"}", DARUMA_SERVER_ERROR,
         "ModelErrorException"},
        {403, "AccessDeniedException", "{}", DARUMA_PERMISSION, "AccessDeniedException"},
        {400, "ValidationException:", "{\"message\":\"Input is too long for requested model.\"}", DARUMA_CONTEXT_LENGTH,
         "ValidationException"},
        {429, "ModelErrorException", "{\"error\":{\"type\":\"rate_limit_error\",\"message\":\"hm\"}}",
         DARUMA_RATE_LIMIT, "rate_limit_error"},
        {424, "no name: x", "{\"message\":\"The request failed due to an error while processing the model.\"}",
         DARUMA_UNKNOWN, ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_header h = {S("x-amzn-ErrorType"), str_of(rows[i].name)};
        daruma_evidence ev = {.phase = DARUMA_AT_HEAD,
                              .status = rows[i].status,
                              .headers = &h,
                              .nheaders = 1,
                              .body = str_of(rows[i].body)};
        daruma_failure f = judge(&ev, &a);
        if (f.kind != rows[i].kind || !str_eq(f.code, str_of(rows[i].code)))
            fail_msg("row %zu: %s, code " STR_FMT, i, daruma_kind_name(f.kind), STR_ARG(f.code));
    }
}

static void what_a_model_lacks_is_known_by_its_words_and_not_what_was_asked_wrongly(void **state)
{
    (void)state;
    enum { T = DARUMA_CAN_TOOLS, M = DARUMA_CAN_MEDIA, F = DARUMA_CAN_FORMAT, R = DARUMA_CAN_REASON };
    static const struct {
        int status;
        unsigned lacks;
        const char *says;
    } rows[] = {
        {400, T, "registry.ollama.ai/library/gemma:2b does not support tools"},
        {400, T, "`tool calling` is not supported with this model"},
        {400, T, "deepseek-reasoner does not support Function Calling"},
        {400, T, "\\\"auto\\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"},
        {404, T, "No endpoints found that support tool use. To learn more about provider routing, visit the docs"},
        {400, T, "Function calling is not enabled for models/gemma-3-27b-it"},
        {400, T, "tools is not supported in this model. For a list of supported models, see the docs."},
        {400, T, "This model doesn't support tool use."},
        {400, T, "Tool use with function calling is unsupported by the model"},
        {400, T, "The model nova-2-pro does not support function tools"},
        {404, M, "No endpoints found that support image input"},
        {400, M, "This model does not support image input"},
        {400, M, "Model llama3.2 does not support images"},
        {400, M, "Invalid content type. image_url is only supported by certain models."},
        {400, M, "Image input modality is not enabled for models/gemma-3-1b-it"},
        {400, M, "At most 0 image(s) may be provided in one request."},
        {400, M,
         "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected "
         "`text` at line 1 column 200"},
        {400, F, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."},
        {400, F, "JSON mode is not enabled for models/gemma-3-27b-it"},
        {400, F, "This model does not support structured outputs"},
        {400, R, "\\\"gemma:2b\\\" does not support thinking"},
        {400, R, "This model does not support the reasoning_effort parameter"},
        {400, R, "Value error, current model does not support parameter `enable_thinking.`"},
        /* how something was asked for, or with what */
        {400, 0, "Invalid request: tenant feature set mismatch."},
        {400, 0, "Invalid schema for function 'write_file': 'strict' is not supported"},
        {400, 0, "tools[0].type: 'custom' is not supported"},
        {400, 0, "Custom tools are not supported. Use function tools."},
        {400, 0, "tools.0.custom.strict: this field is not supported"},
        {400, 0, "Parallel tool calling is not supported"},
        {400, 0, "This model doesn't support tool use in streaming mode."},
        {400, 0, "Function tools with reasoning_effort are not supported"},
        {400, 0, "Tool 'web_search_preview' is not supported with gpt-4.1-nano."},
        {400, 0, "tool_choice 'required' is not supported by this model"},
        {400, 0,
         "Unsupported tool_choice with thinking: Thinking may not be enabled when tool_choice forces tool use."},
        {400, 0, "Empty tool_calls is not supported in message"},
        {400, 0, "Tool names must match ^[a-zA-Z0-9_-]+$; tools without a name are not accepted"},
        {400, 0, "You uploaded an unsupported image. Please make sure your image is below 20 MB in size."},
        {400, 0, "Image format not supported: image/bmp"},
        {400, 0, "Could not process image"},
        {400, 0, "image urls are not supported, send the bytes"},
        {400, 0, "thinking.type: adaptive thinking is not supported on this model"},
        {400, 0, "temperature is not supported when thinking is on"},
        {400, 0, "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."},
        {400, 0,
         "Unsupported parameter: 'response_format'. In the Responses API, this parameter has moved to 'text.format'."},
        {400, 0,
         "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
        {400, 0, "JSON Schema not supported: could not understand the instance `{'required': ['criteria']}`."},
        {400, 0, "messages.3: tools are described in words only; a tool call without result is not supported"},
        {503, 0, "The model is overloaded: it does not support tools right now"},
        {200, 0, "This model does not support tools"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char body[1024];
        daruma_arena a;
        int n = snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\",\"type\":\"invalid_request_error\"}}",
                         rows[i].says);
        daruma_evidence ev = {.phase = DARUMA_AT_HEAD,
                              .status = rows[i].status,
                              .body = {body, (size_t)n},
                              .took = -1,
                              .model_call = true};
        daruma_failure f = judge(&ev, &a);
        if (f.lacks != rows[i].lacks)
            fail_msg("%s: %u, not %u (%s)", rows[i].says, f.lacks, rows[i].lacks, daruma_kind_name(f.kind));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_behind_5xx_is_an_outage_whatever_it_says),
        cmocka_unit_test(every_line_says_what_it_is),
        cmocka_unit_test(a_call_of_a_model_is_no_tool),
        cmocka_unit_test(a_name_that_nobody_knows_makes_no_tool),
        cmocka_unit_test(a_header_names_an_error_of_amazons),
        cmocka_unit_test(torn_and_spoiled_bodies_are_judged_too),
        cmocka_unit_test(no_memory_is_no_failure_of_classify),
        cmocka_unit_test(json_is_unwrapped_eight_levels_deep_and_no_deeper),
        cmocka_unit_test(gateways_behind_gateways_are_unwrapped),
        cmocka_unit_test(only_the_error_itself_is_read),
        cmocka_unit_test(bytes_that_went_out_make_a_broken_wire_an_interruption),
        cmocka_unit_test(numbers_of_a_limit_are_read),
        cmocka_unit_test(numbers_of_an_overflow_are_read_in_any_order),
        cmocka_unit_test(advice_is_read_from_headers_and_words),
        cmocka_unit_test(the_provider_says_whether_to_try_again),
        cmocka_unit_test(without_a_clock_no_date_is_read),
        cmocka_unit_test(secrets_go_and_words_stay),
        cmocka_unit_test(credentials_go_and_addresses_stay),
        cmocka_unit_test(a_message_carries_no_secret),
        cmocka_unit_test(a_message_is_not_cut_where_an_address_stands_in_its_sentence),
        cmocka_unit_test(a_failure_outlives_what_was_judged),
        cmocka_unit_test(what_the_words_around_it_deny_is_not_said),
        cmocka_unit_test(several_guesses_are_no_evidence),
        cmocka_unit_test(what_an_error_is_wrapped_in_is_taken_apart),
        cmocka_unit_test(a_status_that_is_quoted_is_none_of_the_answer),
        cmocka_unit_test(what_is_quoted_is_not_taken_apart),
        cmocka_unit_test(what_somebody_said_is_heard_behind_what_carried_it),
        cmocka_unit_test(a_status_says_more_than_that_the_connection_broke),
        cmocka_unit_test(a_class_says_less_than_a_known_sentence_and_more_than_a_vague_one),
        cmocka_unit_test(words_beside_the_code_of_a_wrong_value_rest_nobody),
        cmocka_unit_test(what_stands_beside_an_error_does_not_change_it),
        cmocka_unit_test(behind_a_sentence_stands_nothing),
        cmocka_unit_test(a_code_is_shown_rather_than_a_type_or_a_status),
        cmocka_unit_test(a_zero_in_a_name_ends_no_search_behind_the_names),
        cmocka_unit_test(what_a_model_lacks_is_known_by_its_words_and_not_what_was_asked_wrongly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
