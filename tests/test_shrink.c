/* test_shrink.c - conversations that became too long: targets, masks, summaries, compaction, known compressions. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "dialect/dialect.h"
#include "engine/mend/remedy.h"
#include "engine/mend/words.h"

static char mem[48u << 20];
static daruma_arena arena(void)
{
    return arena_over(mem, sizeof mem);
}

static daruma_failure judged(int status, const char *message, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":");
    buf_json(&b, str_of(message));
    BUF_LIT(&b, "}}");
    daruma_evidence ev = {.status = status, .body = buf_str(&b)};
    return daruma_classify(&ev, at(0), a);
}

/* ---- histories, written for two wires ---- */

typedef struct history {
    bool anthropic;
    daruma_buf b;
    size_t n;
} history;

static history begin(bool anthropic, daruma_arena *a, const char *more)
{
    history h = {.anthropic = anthropic, .b = buf_in(a)};
    BUF_LIT(&h.b, "{\"model\":\"m\",");
    buf_putz(&h.b, more);
    if (anthropic)
        BUF_LIT(&h.b, "\"max_tokens\":1000,\"system\":\"You are careful.\",\"messages\":[");
    else
        BUF_LIT(&h.b, "\"messages\":[{\"role\":\"system\",\"content\":\"You are careful.\"}");
    h.n = !anthropic;
    return h;
}

static void comma(history *h)
{
    if (h->n++)
        buf_putc(&h->b, ',');
}

static void say(history *h, const char *role, daruma_str text)
{
    comma(h);
    BUF_LIT(&h->b, "{\"role\":\"");
    buf_putz(&h->b, role);
    BUF_LIT(&h->b, "\",\"content\":");
    buf_json(&h->b, text);
    buf_putc(&h->b, '}');
}

static void call(history *h, const char *id, const char *tool, bool thinking)
{
    comma(h);
    if (h->anthropic)
        buf_printf(&h->b,
                   "{\"role\":\"assistant\",\"content\":[%s{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"%s\","
                   "\"input\":{\"q\":1}}]}",
                   thinking ? "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"c2ln\"}," : "", id, tool);
    else
        buf_printf(&h->b,
                   "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"%s\",\"type\":\"function\","
                   "\"function\":{\"name\":\"%s\",\"arguments\":\"{}\"}}]}",
                   id, tool);
}

static void result(history *h, const char *id, daruma_str text, bool failed)
{
    comma(h);
    if (h->anthropic)
        buf_printf(&h->b,
                   "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"%s\",%s\"content\":",
                   id, failed ? "\"is_error\":true," : "");
    else
        buf_printf(&h->b, "{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"content\":", id);
    buf_json(&h->b, text);
    buf_putz(&h->b, h->anthropic ? "}]}" : "}");
}

static daruma_str end(history *h)
{
    BUF_LIT(&h->b, "]}");
    assert_false(h->b.full);
    return buf_str(&h->b);
}

static const dialect *wire_of(bool anthropic)
{
    return anthropic ? &dialect_anthropic : &dialect_openai;
}

static convo read_of(bool anthropic, daruma_str body, daruma_arena *a)
{
    convo c;
    assert_int_equal(wire_of(anthropic)->read(body, a, &c), DARUMA_OK);
    return c;
}

static daruma_str written(bool anthropic, const convo *c, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    wire_of(anthropic)->write(c, &b);
    assert_false(b.full);
    assert_true(json_valid(buf_str(&b)));
    return buf_str(&b);
}

/* Lines that look alike, as logs and listings do. */
static daruma_str noise(daruma_arena *a, size_t bytes, unsigned salt)
{
    daruma_buf b = buf_in(a);
    for (unsigned i = 0; b.n < bytes; i++)
        buf_printf(&b, "2026-01-%02u 10:%02u:%02u INFO worker-%u handled row %u in %u ms\n", i % 28 + 1, i % 60,
                   (i * 7) % 60, (i + salt) % 8, i * 31 + salt, i % 900);
    return str_sub(buf_str(&b), 0, bytes);
}

static convo_part *result_part(convo *c, size_t nth)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++)
            if (c->messages[i].parts[j].kind == PART_RESULT && nth-- == 0)
                return &c->messages[i].parts[j];
    return NULL;
}

/* A task and `rounds` calls with results of `bytes`; an answer and a new question at the end when `turns`. */
static daruma_str rounds_of(bool anthropic, daruma_arena *a, unsigned rounds, size_t bytes, bool turns)
{
    history h = begin(anthropic, a, "");
    say(&h, "user", S("Find out why the nightly build fails."));
    for (unsigned i = 0; i < rounds; i++) {
        char id[24];
        snprintf(id, sizeof id, "call_%u", i);
        call(&h, id, "read_log", false);
        result(&h, id, noise(a, bytes, i), false);
        if (turns) {
            say(&h, "assistant", S("Nothing in there."));
            say(&h, "user", S("Then look at the next one."));
        }
    }
    return end(&h);
}

/* ---- target.c ---- */

static convo sized(daruma_arena *a, size_t bytes, int64_t max_output)
{
    char more[64];
    snprintf(more, sizeof more, "\"max_tokens\":%lld,", (long long)max_output);
    history h = begin(false, a, max_output >= 0 ? more : "");
    say(&h, "user", noise(a, bytes, 0));
    return read_of(false, end(&h), a);
}

static void target_leaves_room(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *says;
        int64_t limit, prompt, output; /* output: what has to fit beside, in the provider's tokens */
    } rows[] = {
        {400, "prompt is too long: 213462 tokens > 200000 maximum", 200000, 213462, 1000},
        {400,
         "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or "
         "`max_tokens` and try again",
         200000, 190000, 32000},
        {400,
         "This model's maximum context length is 128000 tokens. However, your messages resulted in 140512 tokens. "
         "Please reduce the length of the messages.",
         128000, 140512, 1000},
        {400,
         "This model's maximum context length is 8192 tokens. However, you requested 9711 tokens (5711 in the "
         "messages, 4000 in the completion). Please reduce the length of the messages or completion.",
         8192, 5711, 4000},
        {429,
         "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 41234. "
         "The input or output tokens must be reduced in order to run successfully.",
         30000, 40234, 1000},
        {413,
         "Request too large for model `llama-3.3-70b-versatile` in organization `org_1` on tokens per minute (TPM): "
         "Limit 12000, Requested 14137, please reduce your message size and try again.",
         12000, 13137, 1000},
        {400, "The input token count (1048999) exceeds the maximum number of tokens allowed (1048576).", 1048576,
         1048999, 1000},
        {400,
         "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (118000 "
         "of text input, 32000 in the output). Please reduce the length of either one.",
         131072, 118000, 32000},
        {400,
         "This model's maximum context length is 4096 tokens. You requested 1000 output tokens and your prompt "
         "contains 3500 input tokens.",
         4096, 3500, 1000},
        {400, "request (16452 tokens) exceeds the available context size (8192 tokens), try increasing it", 8192, 16452,
         1000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_arena a = arena();
        for (int scale = 0; scale < 3; scale++) { /* our estimate: about right, half, double */
            size_t bytes = (size_t)rows[i].prompt * 7 / 2;
            convo c = sized(&a, scale == 1 ? bytes / 2 : scale == 2 ? bytes * 2 : bytes, 1000);
            daruma_failure f = judged(rows[i].status, rows[i].says, &a);
            int64_t target = mend_target(&c, &f, -1), estimate = convo_tokens(&c);
            double provider = (double)target * (double)rows[i].prompt / (double)estimate;
            int64_t output = rows[i].output < rows[i].limit / 2 ? rows[i].output : rows[i].limit / 2;
            if (target >= estimate || provider + (double)output > 0.9501 * (double)rows[i].limit ||
                provider + (double)output < 0.85 * (double)rows[i].limit)
                fail_msg("row %zu scale %d: target %lld of %lld is %.0f of the provider's", i, scale, (long long)target,
                         (long long)estimate, provider);
        }
    }
}

static void target_without_numbers_is_seventy_percent(void **state)
{
    (void)state;
    daruma_arena a = arena();
    convo c = sized(&a, 350000, 1000);
    daruma_failure f = judged(400, "Input is too long for requested model.", &a);
    assert_int_equal(mend_target(&c, &f, 64000), 44800);
    assert_int_equal(mend_target(&c, &f, -1), convo_tokens(&c) * 7 / 10);
    assert_int_equal(mend_target(&c, NULL, -1), convo_tokens(&c) * 7 / 10);
    /* a window that we fill by our count only in part: it must go down all the same */
    assert_int_equal(mend_target(&c, &f, 1000000), convo_tokens(&c) * 7 / 10);
}

static void target_is_never_above_the_estimate_nor_silly(void **state)
{
    (void)state;
    static const char *const lies[] = {
        "prompt is too long: 9 tokens > 99999999999 maximum",
        "prompt is too long: 99999999999999999999 tokens > 1 maximum",
        "prompt is too long: 5000 tokens > 300 maximum",
        "This model's maximum context length is 0 tokens. However, your messages resulted in 0 tokens.",
        "input length and `max_tokens` exceed context limit: 0 + 0 > 0",
        "maximum context length is 9223372036854775807 tokens. However, you requested 9223372036854775807 tokens",
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        daruma_arena a = arena();
        convo c = sized(&a, 40000, -1);
        daruma_failure f = judged(400, lies[i], &a);
        int64_t t = mend_target(&c, &f, INT64_MAX);
        if (t >= convo_tokens(&c) || t < SHRINK_TOKENS_MIN)
            fail_msg("%s: %lld of %lld", lies[i], (long long)t, (long long)convo_tokens(&c));
    }
    daruma_arena a = arena();
    convo small = sized(&a, 100, -1);
    assert_true(mend_target(&small, NULL, -1) < convo_tokens(&small));
    assert_true(mend_target(&small, NULL, -1) > 0);
}

static void output_cap_is_lowered_where_it_is_what_overflows(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        int64_t asked, least, most; /* -1, -1: it is not the cap */
    } rows[] = {
        {"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or "
         "`max_tokens` and try again",
         32000, 9000, 9999},
        {"input length and `max_tokens` exceed context limit: 199900 + 32000 > 200000, decrease input length or "
         "`max_tokens` and try again",
         32000, -1, -1},
        {"prompt is too long: 213462 tokens > 200000 maximum", 32000, -1, -1},
        {"This model's maximum context length is 8192 tokens. However, you requested 9711 tokens (5711 in the "
         "messages, 4000 in the completion). Please reduce the length of the messages or completion.",
         4000, 2300, 2481},
        {"This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (118000 "
         "of text input, 32000 in the output). Please reduce the length of either one.",
         32000, 12000, 13072},
        {"This model's maximum context length is 4096 tokens. You requested 1000 output tokens and your prompt "
         "contains 3500 input tokens.",
         1000, 500, 596},
        {"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3900 `inputs` tokens and 512 `max_new_tokens`",
         512, 150, 196},
        {"Input is too long for requested model.", 32000, -1, -1},
        {"The input token count (1048999) exceeds the maximum number of tokens allowed (1048576).", 8192, -1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_arena a = arena();
        convo c = sized(&a, 1000, rows[i].asked);
        daruma_failure f = judged(400, rows[i].says, &a);
        int64_t cap = mend_output_cap(&c, &f, -1);
        if (cap < rows[i].least || cap > rows[i].most)
            fail_msg("row %zu: cap %lld", i, (long long)cap);
        mend_report r = {0};
        assert_int_equal(mend_clamp_output(&c, &f, -1, &r), rows[i].least >= 0);
        assert_int_equal(mend_did(&r), rows[i].least >= 0);
        assert_int_equal(c.set.max_output, rows[i].least >= 0 ? cap : rows[i].asked);
        if (rows[i].least >= 0) { /* twice is as once */
            assert_non_null(strstr(r.what, "output cap"));
            daruma_str body = written(false, &c, &a);
            assert_int_equal(json_int(json_get(body, S("max_tokens")), -1), cap);
        }
    }
}

/* Google's budget may be larger than the cap, and its wire has no member `thinking`. */
static void a_lower_cap_adds_nothing_that_a_wire_does_not_know(void **state)
{
    (void)state;
    daruma_arena a = arena();
    convo c;
    assert_int_equal(dialect_gemini.read(S("{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}],"
                                           "\"generationConfig\":{\"maxOutputTokens\":100000,\"thinkingConfig\":{"
                                           "\"thinkingBudget\":90000}}}"),
                                         &a, &c),
                     DARUMA_OK);
    daruma_failure f = {.kind = DARUMA_OUTPUT_LIMIT, .limit = 65536, .used = -1, .requested = -1, .wait = -1};
    mend_report r = {0};
    assert_true(mend_clamp_output(&c, &f, -1, &r));
    daruma_buf b = buf_in(&a);
    dialect_gemini.write(&c, &b);
    assert_non_null(strstr(r.what, "65536"));
    assert_int_equal(json_get(buf_str(&b), S("thinking")).n, 0);
    assert_int_equal(json_int(json_path(buf_str(&b), "generationConfig.maxOutputTokens"), -1), 65536);
    assert_int_equal(json_int(json_path(buf_str(&b), "generationConfig.thinkingConfig.thinkingBudget"), -1), 90000);
}

static void output_limit_is_lowered_to_what_the_provider_names(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        int64_t asked, cap;
    } rows[] = {
        {"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for "
         "claude-sonnet-4-20250514",
         100000, 64000},
        {"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided "
         "100000.",
         100000, 16384},
        {"Range of max_tokens should be [1, 8192]", 20000, 8192},
        {"Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 "
         "(inclusive) to 65537 (exclusive). Update the value and try again.",
         100000, 65536},
        {"The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that "
         "is lower than 4096.",
         8000, 4095},
        {"max_tokens is too large for this model", 32000, 4096},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_arena a = arena();
        convo c = sized(&a, 1000, rows[i].asked);
        daruma_failure f = judged(400, rows[i].says, &a);
        if (f.kind != DARUMA_OUTPUT_LIMIT)
            fail_msg("row %zu is %s", i, daruma_kind_name(f.kind));
        mend_report r = {0};
        if (!mend_clamp_output(&c, &f, -1, &r) || c.set.max_output != rows[i].cap)
            fail_msg("row %zu: %lld", i, (long long)c.set.max_output);
        r = (mend_report){0};
        assert_false(mend_clamp_output(&c, &f, -1, &r)); /* twice is as once */
        mend_lesson l;
        char want[32];
        snprintf(want, sizeof want, "..%lld", (long long)rows[i].cap);
        bool named = mend_output_lesson(&c, &f, &l);
        assert_int_equal(named, i + 1 < sizeof rows / sizeof *rows); /* the last one names no number */
        if (named) {
            assert_string_equal(l.path, "max_tokens");
            assert_string_equal(l.value, want);
        }
    }
}

static void thinking_budget_goes_down_with_the_cap(void **state)
{
    (void)state;
    daruma_arena a = arena();
    daruma_str body =
        S("{\"model\":\"m\",\"max_tokens\":32000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":16000},"
          "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    convo c = read_of(true, body, &a);
    daruma_failure f = judged(400, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", &a);
    mend_report r = {0};
    assert_true(mend_clamp_output(&c, &f, -1, &r));
    daruma_str out = written(true, &c, &a);
    int64_t cap = json_int(json_get(out, S("max_tokens")), -1);
    int64_t budget = json_int(json_path(out, "thinking.budget_tokens"), -1);
    assert_true(cap > 9000 && cap < 10000);
    assert_true(budget >= 1024 && budget < cap);
}

/* ---- mask.c ---- */

static void a_mask_keeps_identifiers(void **state)
{
    (void)state;
    static const char *const planted[] = {"550e8400-e29b-41d4-a716-446655440000",
                                          "ORD-7F3A-9921",
                                          "/srv/data/reports/q3-final.csv",
                                          "https://example.org/runs/8812?tab=logs",
                                          "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
                                          "req_011CSHoEeqs5C35K2UUqR7Fy",
                                          "ops-team@example.org",
                                          "src/net/upstream.c:412",
                                          "10.42.7.19:8443",
                                          "KX77-2201",
                                          "4711001",
                                          "C:\\Users\\ada\\notes.txt",
                                          "v2.13.4-rc1",
                                          "INV/2024/00042"};
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++)
        for (int where = 1; where <= 5; where++) {
            daruma_arena a = arena();
            daruma_str all = noise(&a, 24000, 3), head;
            daruma_buf b = buf_in(&a);
            size_t at_byte = all.n * (size_t)where / 6;
            head = str_sub(all, 0, at_byte + str_findch(str_from(all, at_byte), '\n') + 1);
            buf_put(&b, head);
            buf_printf(&b, "see %s for it\n", planted[i]);
            buf_put(&b, str_from(all, head.n));
            daruma_str m = mend_masked(buf_str(&b), NULL, &a);
            assert_true(m.n > 0 && m.n < 2000);
            if (str_find(m, str_of(planted[i])) == STR_NONE)
                fail_msg("%s at %d/6 is lost in:\n" STR_FMT, planted[i], where, STR_ARG(m));
        }
}

static void a_mask_keeps_ids_of_json_and_error_lines(void **state)
{
    (void)state;
    daruma_arena a = arena();
    daruma_buf b = buf_in(&a);
    BUF_LIT(&b, "{\"rows\": [");
    for (int i = 0; i < 300; i++)
        buf_printf(&b, "{\"name\": \"row\", \"value\": %d, \"note\": \"nothing of interest\"}, ", i);
    BUF_LIT(&b, "{\"customer_id\": 318, \"total\": \"42.50 EUR\"}, ");
    for (int i = 0; i < 300; i++)
        buf_printf(&b, "{\"name\": \"row\", \"value\": %d, \"note\": \"nothing of interest\"}, ", i);
    BUF_LIT(&b, "{}]}");
    daruma_str m = mend_masked(buf_str(&b), NULL, &a);
    assert_true(str_find(m, S("customer_id=318")) != STR_NONE);

    b = buf_in(&a);
    buf_put(&b, noise(&a, 9000, 1));
    BUF_LIT(&b, "\n12:00:01 ERROR cannot open /var/lib/db/main.ldb: Permission denied\n");
    buf_put(&b, noise(&a, 9000, 2));
    m = mend_masked(buf_str(&b), NULL, &a);
    assert_true(str_find(m, S("cannot open /var/lib/db/main.ldb: Permission denied")) != STR_NONE);
    assert_true(str_find(m, S(" bytes of this tool output]")) != STR_NONE);
}

static void a_mask_has_head_tail_and_whole_characters(void **state)
{
    (void)state;
    static const char *const chars[] = {"\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x98\x80", "x"};
    for (size_t k = 0; k < 4; k++)
        for (size_t lead = 0; lead < 5; lead++) {
            daruma_arena a = arena();
            daruma_buf b = buf_in(&a), quoted = buf_in(&a);
            for (size_t i = 0; i < lead; i++)
                buf_putc(&b, 'a');
            while (b.n < 6000)
                buf_putz(&b, chars[k]);
            BUF_LIT(&b, "END");
            daruma_str text = buf_str(&b), m = mend_masked(text, NULL, &a);
            assert_true(m.n > 0 && m.n < 900);
            assert_memory_equal(m.p, text.p, 390);
            assert_true(str_ends(m, S("END")));
            buf_json(&quoted, m); /* what is no UTF-8 would become U+FFFD */
            assert_true(str_find(buf_str(&quoted), S("\xef\xbf\xbd")) == STR_NONE);
        }
}

static void a_mask_is_the_same_each_time_and_never_masked(void **state)
{
    (void)state;
    daruma_arena a = arena();
    daruma_str text = noise(&a, 30000, 9), one = mend_masked(text, NULL, &a), two = mend_masked(text, NULL, &a);
    assert_true(one.n > 0 && str_eq(one, two) && one.p != two.p);
    assert_int_equal(mend_masked(one, NULL, &a).n, 0);
    mend_mask_rules tight = {.over_bytes = 100, .head_bytes = 50, .tail_bytes = 50};
    assert_int_equal(mend_masked(one, &tight, &a).n, 0);
    assert_int_equal(mend_masked(noise(&a, 1000, 9), NULL, &a).n, 0); /* not over the threshold */
    assert_true(mend_masked(noise(&a, 1400, 9), NULL, &a).n > 0);
}

static void masking_begins_with_the_oldest_and_stops_at_the_target(void **state)
{
    (void)state;
    for (int anthropic = 0; anthropic < 2; anthropic++) {
        daruma_arena a = arena();
        daruma_str body = rounds_of(anthropic, &a, 10, 7000, false);
        convo c = read_of(anthropic, body, &a);
        int64_t before = convo_tokens(&c), target = before * 7 / 10;
        mend_report r = mend_mask(&c, target, NULL);
        assert_true(convo_tokens(&c) <= target);
        assert_int_equal(r.tokens_before, before);
        assert_int_equal(r.tokens_after, convo_tokens(&c));
        assert_in_range(r.parts_shortened, 3, 5);
        for (size_t i = 0; i < 10; i++)
            assert_int_equal(result_part(&c, i)->edited, i < r.parts_shortened);
        daruma_str out = written(anthropic, &c, &a);
        assert_true(out.n < body.n);
        convo again = read_of(anthropic, out, &a); /* what went out is read as what it is */
        mend_report more = mend_mask(&again, target, NULL);
        assert_false(mend_did(&more));
        /* a target that cannot be met: the newest go as well, and nothing is claimed */
        r = mend_mask(&c, 100, NULL);
        assert_true(mend_did(&r) && r.tokens_after > 100 && r.tokens_after == convo_tokens(&c));
        for (size_t i = 0; i < 10; i++)
            assert_true(result_part(&c, i)->edited);
        r = mend_mask(&c, 100, NULL);
        assert_false(mend_did(&r));
    }
}

static void newest_results_stay_when_old_ones_suffice(void **state)
{
    (void)state;
    daruma_arena a = arena();
    history h = begin(true, &a, "");
    say(&h, "user", S("go"));
    static const size_t bytes[] = {9000, 9000, 4000, 20000, 6000};
    for (unsigned i = 0; i < 5; i++) {
        char id[8];
        snprintf(id, sizeof id, "t%u", i);
        call(&h, id, "f", false);
        result(&h, id, noise(&a, bytes[i], i), false);
    }
    convo c = read_of(true, end(&h), &a);
    mend_report r = mend_mask(&c, convo_tokens(&c) - 3000, NULL);
    assert_int_equal(r.parts_shortened, 2);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(result_part(&c, i)->edited, i < 2);
    r = mend_mask(&c, convo_tokens(&c) - 3000, NULL); /* of the newest the largest first */
    assert_int_equal(r.parts_shortened, 1);
    assert_true(result_part(&c, 3)->edited);
}

static void error_results_stay_until_nothing_else_helps(void **state)
{
    (void)state;
    daruma_arena a = arena();
    history h = begin(true, &a, "");
    say(&h, "user", S("go"));
    for (unsigned i = 0; i < 8; i++) {
        char id[8];
        snprintf(id, sizeof id, "t%u", i);
        call(&h, id, "f", false);
        result(&h, id, noise(&a, i == 1 ? 3000 : 9000, i), i < 2);
    }
    convo c = read_of(true, end(&h), &a);
    mend_mask(&c, convo_tokens(&c) - 5000, NULL);
    assert_false(result_part(&c, 0)->edited);
    assert_true(result_part(&c, 2)->edited);
    mend_mask(&c, 100, NULL);
    assert_true(result_part(&c, 0)->edited);  /* a long report */
    assert_false(result_part(&c, 1)->edited); /* a short one */
}

static void images_of_old_results_go_first(void **state)
{
    (void)state;
    daruma_arena a = arena();
    history h = begin(true, &a, "");
    say(&h, "user", S("go"));
    for (unsigned i = 0; i < 6; i++) {
        char id[8];
        snprintf(id, sizeof id, "t%u", i);
        call(&h, id, "shot", false);
        comma(&h);
        buf_printf(&h.b,
                   "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"%s\",\"content\":[{"
                   "\"type\":\"text\",\"text\":\"page 7\"},"
                   "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
                   "png\",\"data\":\"aGVsbG8=\"}}]}]}",
                   id);
    }
    convo c = read_of(true, end(&h), &a);
    mend_report r = mend_mask(&c, convo_tokens(&c) - 2000, NULL);
    assert_int_equal(r.parts_shortened, 2);
    assert_str(result_part(&c, 0)->text, "page 7\n[daruma: 1 image of this tool output left out]");
    r = mend_mask(&c, 10, NULL);
    assert_true(result_part(&c, 2)->edited);
    assert_false(result_part(&c, 3)->edited); /* what the model is looking at */
    assert_true(str_find(written(true, &c, &a), S("1 image of this tool output")) != STR_NONE);
}

/* ---- summary.c ---- */

static daruma_str letters(daruma_arena *a, size_t n)
{
    char *p = arena_take(a, n, 1);
    memset(p, 'x', n);
    return (daruma_str){p, n};
}

static convo one_result(daruma_arena *a, daruma_str text)
{
    history h = begin(false, a, "");
    say(&h, "user", S("go"));
    call(&h, "c1", "lookup", false);
    result(&h, "c1", text, false);
    return read_of(false, end(&h), a);
}

static void large_is_strictly_longer(void **state) /* P-F17, P-T14 */
{
    (void)state;
    daruma_arena a = arena();
    mend_large l;
    for (size_t n = 1990; n < 2010; n++) {
        convo c = one_result(&a, letters(&a, n));
        assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, &l, 1), n > 2000);
        assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PENGUIFLOW, &l, 1), n + 2 > 2000);
        daruma_buf b = buf_in(&a);
        BUF_LIT(&b, "{\"text\": \"");
        buf_put(&b, letters(&a, n - 12));
        BUF_LIT(&b, "\"}");
        c = one_result(&a, buf_str(&b));
        assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, &l, 1), n > 2000);
        assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PENGUIFLOW, &l, 1), n > 2000);
    }
    /* characters, not bytes; escapes count in PenguiFlow's measure */
    daruma_buf b = buf_in(&a);
    for (int i = 0; i < 2000; i++)
        BUF_LIT(&b, "\xc3\xa9");
    convo c = one_result(&a, buf_str(&b));
    assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, &l, 1), 0);
    b = buf_in(&a);
    for (int i = 0; i < 1000; i++)
        buf_putc(&b, '\n');
    c = one_result(&a, buf_str(&b));
    assert_int_equal(mend_large_results(&c, 2001, true, MEND_SUMMARY_PENGUIFLOW, &l, 1), 1);
    assert_int_equal(mend_large_results(&c, 2002, true, MEND_SUMMARY_PENGUIFLOW, &l, 1), 0);
}

static void large_results_are_told_with_their_tool(void **state) /* P-T4, P-T8, P-T16 */
{
    (void)state;
    daruma_arena a = arena();
    mend_large l[4];
    history h = begin(false, &a, "");
    say(&h, "user", letters(&a, 9000)); /* never the user's words (P-F18) */
    call(&h, "c1", "lookup", false);
    result(&h, "c1", letters(&a, 3000), false);
    call(&h, "c2", "fetch", false);
    result(&h, "c2", S("small"), false);
    result(&h, "c9", letters(&a, 3000), false); /* nobody called it */
    daruma_str body = end(&h);
    convo c = read_of(false, body, &a);
    assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, l, 4), 2);
    assert_str(l[0].tool, "lookup");
    assert_str(l[1].tool, "unknown_tool");
    assert_int_equal(mend_large_results(&c, 2000, false, MEND_SUMMARY_PLAIN, l, 4), 1); /* what is new stays */
    assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, l, 1), 1);
    assert_int_equal(mend_large_results(&c, 5000, true, MEND_SUMMARY_PLAIN, l, 4), 0);
}

static void prompt_is_cut_and_says_so(void **state) /* P-F19, P-T16 */
{
    (void)state;
    daruma_arena a = arena();
    mend_large l;
    daruma_buf b = buf_in(&a);
    buf_put(&b, letters(&a, 9990));
    BUF_LIT(&b, "LAST-WORDS");
    convo c = one_result(&a, buf_str(&b));
    assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, &l, 1), 1);
    daruma_str p = mend_summary_prompt(&c, l, MEND_SUMMARY_PLAIN);
    assert_true(str_find(p, S("truncated")) != STR_NONE && str_find(p, S("LAST-WORDS")) != STR_NONE);
    assert_true(str_find(p, S("lookup")) != STR_NONE && p.n < 8400);
    p = mend_summary_prompt(&c, l, MEND_SUMMARY_PENGUIFLOW);
    assert_true(str_find(p, S("truncated")) != STR_NONE && str_find(p, S("LAST-WORDS")) == STR_NONE);
    assert_true(str_find(mend_summary_system(), S("500 characters")) != STR_NONE);
    c = one_result(&a, letters(&a, 8000));
    assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, &l, 1), 1);
    assert_true(str_find(mend_summary_prompt(&c, l, MEND_SUMMARY_PLAIN), S("truncated")) == STR_NONE);
}

static void a_summary_takes_the_place_once(void **state)
{
    (void)state;
    daruma_arena a = arena();
    mend_large l;
    convo c = one_result(&a, letters(&a, 3000));
    mend_report r = {0};
    assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, &l, 1), 1);
    assert_false(mend_summary_put(&c, l, S("  \n "), MEND_SUMMARY_PLAIN, &r));
    assert_false(mend_summary_put(&c, l, letters(&a, 3000), MEND_SUMMARY_PLAIN, &r));
    assert_false(mend_did(&r) || c.edited);
    assert_true(mend_summary_put(&c, l, letters(&a, 2500), MEND_SUMMARY_PLAIN, &r));
    assert_int_equal(r.parts_shortened, 1);
    assert_true(str_starts(result_part(&c, 0)->text, S("[Summary of 3000 characters of tool output] x")));
    convo again = read_of(false, written(false, &c, &a), &a); /* never again, though it is long */
    assert_int_equal(mend_large_results(&again, 2000, true, MEND_SUMMARY_PLAIN, &l, 1), 0);
}

static void a_failed_summary_leaves_the_beginning(void **state) /* P-F21, P-T9 */
{
    (void)state;
    daruma_arena a = arena();
    mend_large l;
    convo c = one_result(&a, letters(&a, 3000));
    mend_report r = {0};
    mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, &l, 1);
    assert_true(mend_summary_put(&c, l, (daruma_str){0}, MEND_SUMMARY_PLAIN, &r));
    assert_int_equal(result_part(&c, 0)->text.n, strlen("[Summary unavailable] ") + 400 + 3);
    assert_true(str_starts(result_part(&c, 0)->text, S("[Summary unavailable] xxx")));
    assert_true(str_ends(result_part(&c, 0)->text, S("xxx...")));
    assert_int_equal(mend_large_results(&c, 100, true, MEND_SUMMARY_PLAIN, &l, 1), 0);
}

static void penguiflow_writes_its_own_form(void **state) /* P-F22, P-F23 */
{
    (void)state;
    daruma_arena a = arena();
    mend_large l;
    convo c = one_result(&a, letters(&a, 3000));
    mend_report r = {0};
    mend_large_results(&c, 2000, true, MEND_SUMMARY_PENGUIFLOW, &l, 1);
    assert_true(mend_summary_put(&c, l, S("short \"one\""), MEND_SUMMARY_PENGUIFLOW, &r));
    assert_str(result_part(&c, 0)->text, "{\"_compressed\": true, \"summary\": \"short \\\"one\\\"\"}");
    assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PENGUIFLOW, &l, 1), 0);
    c = one_result(&a, letters(&a, 3000));
    for (int i = 0; i < 3; i++) { /* a long summary is summarised again, and nobody asks whether it got smaller */
        assert_int_equal(mend_large_results(&c, 2000, true, MEND_SUMMARY_PENGUIFLOW, &l, 1), 1);
        assert_true(mend_summary_put(&c, l, letters(&a, 2500), MEND_SUMMARY_PENGUIFLOW, &r));
        assert_int_equal(result_part(&c, 0)->text.n, 2500 + strlen("{\"_compressed\": true, \"summary\": \"\"}"));
    }
}

/* ---- compact.c ---- */

static bool alive(const convo *c, size_t i)
{
    return !c->messages[i].dropped;
}

/* Every result on the wire answers a call before it; every call of before that stayed has its result. */
static void check_pairs(const convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; alive(c, i) && j < c->messages[i].nparts; j++) {
            const convo_part *p = &c->messages[i].parts[j];
            if (p->kind != PART_RESULT || p->dropped)
                continue;
            bool found = false;
            for (size_t k = 0; k < i && !found; k++)
                for (size_t q = 0; alive(c, k) && q < c->messages[k].nparts; q++)
                    found |= c->messages[k].parts[q].kind == PART_CALL && str_eq(c->messages[k].parts[q].id, p->id);
            assert_true(found);
        }
}

static void check_turns(const convo *c)
{
    convo_role before = CONVO_SYSTEM;
    for (size_t i = 0; i < c->nmessages; i++) {
        if (!alive(c, i) || c->messages[i].apart)
            continue;
        assert_true(c->messages[i].role != before);
        before = c->messages[i].role;
    }
}

static void the_older_part_becomes_one_message(void **state)
{
    (void)state;
    for (int anthropic = 0; anthropic < 2; anthropic++)
        for (int64_t keep = 0; keep < 9000; keep += 500) {
            daruma_arena a = arena();
            daruma_str body = rounds_of(anthropic, &a, 8, 3000, true);
            convo c = read_of(anthropic, body, &a);
            size_t newest = convo_last_user(&c);
            mend_cut cut = mend_compact_plan(&c, keep);
            if (keep > 7000 && cut.to <= cut.from)
                continue;
            assert_true(cut.to > cut.from && cut.to <= newest);
            int64_t stays = 0;
            for (size_t i = cut.to; i < c.nmessages; i++)
                stays += convo_message_tokens(&c.messages[i]);
            daruma_str prompt = mend_compact_prompt(&c, cut, 6000);
            assert_true(prompt.n > 100 && prompt.n <= 6000);
            assert_true(str_find(prompt, S("nightly build")) != STR_NONE);
            mend_report r = {0};
            int64_t before = convo_tokens(&c);
            if (!mend_compact_put(&c, cut, S("## Goal\nThe logs 0 to 5 say nothing.\n"), &r)) {
                assert_int_equal(convo_tokens(&c), before);
                continue;
            }
            assert_true(convo_tokens(&c) * 10 <= before * 9);
            assert_true(stays >= keep || cut.to == cut.from + 2);
            check_pairs(&c);
            if (anthropic)
                check_turns(&c);
            daruma_str out = written(anthropic, &c, &a);
            assert_true(str_find(out, S("nightly build")) != STR_NONE &&
                        str_find(out, S("You are careful.")) != STR_NONE);
            assert_true(str_find(out, S(MEND_COMPACT_MARK)) != STR_NONE);
            convo again = read_of(anthropic, out, &a);
            check_pairs(&again);
            assert_true(convo_last_user(&again) != STR_NONE);
        }
}

static void an_earlier_summary_is_brought_up_to_date(void **state)
{
    (void)state;
    for (int anthropic = 0; anthropic < 2; anthropic++)
        for (int wire = 0; wire < 2; wire++) { /* in memory, and as it went over the wire */
            daruma_arena a = arena();
            convo c = read_of(anthropic, rounds_of(anthropic, &a, 8, 3000, true), &a);
            mend_report r = {0};
            assert_true(mend_compact_put(&c, mend_compact_plan(&c, 4000), S("first summary"), &r));
            if (wire)
                c = read_of(anthropic, written(anthropic, &c, &a), &a);
            mend_cut cut = mend_compact_plan(&c, 10);
            assert_true(cut.to > cut.from);
            for (size_t i = 0; i < c.nmessages; i++)
                for (size_t j = 0; j < c.messages[i].nparts; j++)
                    convo_text(&c, &c.messages[i].parts[j]);
            daruma_str prompt = mend_compact_prompt(&c, cut, 60000);
            assert_true(str_find(prompt, S("<summary>\nfirst summary\n</summary>")) != STR_NONE);
            assert_true(mend_compact_put(&c, cut, S("second summary"), &r));
            daruma_str out = written(anthropic, &c, &a);
            assert_true(str_find(out, S("first summary")) == STR_NONE &&
                        str_find(out, S("second summary")) != STR_NONE);
            check_pairs(&c);
            if (anthropic)
                check_turns(&c);
            cut = mend_compact_plan(&c, 10);
            assert_true(cut.to <= cut.from || !mend_compact_put(&c, cut, S("third"), &r)); /* nothing left */
        }
}

static void compaction_knows_when_it_is_no_use(void **state)
{
    (void)state;
    daruma_arena a = arena();
    convo c = read_of(false, rounds_of(false, &a, 6, 3000, true), &a);
    mend_cut cut = mend_compact_plan(&c, 100);
    mend_report r = {0};
    assert_false(mend_compact_put(&c, cut, S(" \n"), &r));
    assert_false(mend_compact_put(&c, cut, noise(&a, 18000, 1), &r));
    assert_false(mend_compact_put(&c, (mend_cut){cut.from, c.nmessages}, S("x"), &r));
    assert_false(mend_compact_put(&c, (mend_cut){0, cut.to}, S("x"), &r));
    assert_false(mend_compact_put(&c, (mend_cut){cut.from, cut.from + 1}, S("x"), &r)); /* before a result */
    assert_false(c.edited || mend_did(&r));
    c.whole_on_server = true;
    cut = mend_compact_plan(&c, 100);
    assert_true(cut.to <= cut.from);
}

/* ---- history on the server ---- */

static convo items_of(daruma_arena *a, daruma_buf *b, const char *head)
{
    convo c = {0};
    daruma_buf body = buf_in(a);
    buf_printf(&body, "{\"model\":\"m\",%s\"input\":[", head);
    buf_put(&body, str_sub(buf_str(b), 0, b->n - 1)); /* without the last comma */
    BUF_LIT(&body, "]}");
    assert_false(body.full);
    assert_int_equal(dialect_openai_responses.read(buf_str(&body), a, &c), DARUMA_OK);
    return c;
}

static void output(daruma_buf *b, unsigned id, daruma_str text)
{
    buf_printf(b, "{\"type\":\"function_call_output\",\"call_id\":\"c%u\",\"output\":", id);
    buf_json(b, text);
    BUF_LIT(b, "},");
}

static void words(daruma_buf *b, const char *role, daruma_str text)
{
    buf_printf(b, "{\"role\":\"%s\",\"content\":", role);
    buf_json(b, text);
    BUF_LIT(b, "},");
}

#define REFERENCE(id) "{\"type\":\"item_reference\",\"id\":\"" id "\"},"

/* What the provider counted beyond what is here does not become less: all that is too much goes from what is here. */
static void what_is_on_the_server_has_its_share_of_the_window(void **state)
{
    (void)state;
    static const char *const heads[] = {"\"max_output_tokens\":500,\"previous_response_id\":\"resp_1\",",
                                        "\"max_output_tokens\":500,\"conversation\":\"conv_1\",",
                                        "\"max_output_tokens\":500,"};
    static const daruma_mend_policy plain = {.enabled = true};
    for (size_t i = 0; i < 3; i++) {
        daruma_arena a = arena();
        daruma_buf b = buf_in(&a);
        if (i == 2)
            BUF_LIT(&b, REFERENCE("fc_0") REFERENCE("fc_1") REFERENCE("fc_2") REFERENCE("fc_3"));
        for (unsigned k = 0; k < 4; k++)
            output(&b, k, noise(&a, 6000, k));
        convo c = items_of(&a, &b, heads[i]);
        int64_t estimate = convo_tokens(&c), over = 18000 - (16000 * 95 / 100 - 500);
        daruma_failure f = judged(400,
                                  "This model's maximum context length is 16000 tokens. However, your messages "
                                  "resulted in 18000 tokens. Please reduce the length of the messages.",
                                  &a);
        assert_int_equal(f.kind, DARUMA_CONTEXT_LENGTH);
        assert_int_equal(mend_target(&c, &f, -1), estimate - over);
        mending m = {.c = c, .policy = &plain};
        assert_int_equal(mending_begin(&m, DARUMA_REMEDY_MASK_TOOL_OUTPUT, &f, -1), MENDING_DONE);
        assert_true(convo_tokens(&m.c) <= estimate - over);
        assert_int_equal(m.report.calls_answered + m.report.results_to_text + m.report.results_dropped, 0);
        daruma_buf out = buf_in(&a);
        dialect_openai_responses.write(&m.c, &out);
        convo again = {0};
        assert_int_equal(dialect_openai_responses.read(buf_str(&out), &a, &again), DARUMA_OK);
        assert_int_equal(again.nmessages, c.nmessages);
        for (size_t k = 0; k < c.nmessages; k++) {
            const convo_message *was = &c.messages[k], *is = &again.messages[k];
            assert_int_equal(is->parts[0].kind, was->parts[0].kind);
            if (was->parts[0].kind == PART_RESULT)
                assert_true(str_eq(is->parts[0].id, was->parts[0].id));
            else
                assert_true(str_eq(is->raw, was->raw));
        }
        assert_int_equal(again.whole_on_server, i < 2);
    }
}

static size_t place_of(const convo *c, const char *what)
{
    for (size_t i = 0; i < c->nmessages; i++)
        if (str_find(c->messages[i].raw, str_of(what)) != STR_NONE)
            return i;
    return STR_NONE;
}

/* Neither a reference nor a result of a call that is behind one goes for a summary. */
static void compaction_stays_on_one_side_of_what_is_on_the_server(void **state)
{
    (void)state;
    for (int before = 0; before < 2; before++) {
        daruma_arena a = arena();
        daruma_buf b = buf_in(&a);
        if (before)
            BUF_LIT(&b, REFERENCE("fc_1") REFERENCE("fc_2"));
        words(&b, "user", S("the task"));
        for (unsigned i = 0; i < 6; i++) {
            if (before && i < 2)
                output(&b, i + 1, noise(&a, 3000, i));
            words(&b, "assistant", noise(&a, 3000, i));
            words(&b, "user", S("and then?"));
        }
        if (!before) {
            BUF_LIT(&b, REFERENCE("fc_1"));
            output(&b, 1, noise(&a, 3000, 9));
            words(&b, "user", S("go on"));
        }
        for (unsigned i = 0; i < 3; i++) {
            words(&b, "assistant", noise(&a, 3000, i + 20));
            words(&b, "user", S("now?"));
        }
        convo c = items_of(&a, &b, "");
        mend_cut cut = mend_compact_plan(&c, 10);
        assert_true(cut.to > cut.from + 2);
        if (before)
            assert_true(cut.from > place_of(&c, "\"c2\""));
        else
            assert_true(cut.to <= place_of(&c, "\"fc_1\""));
        if (before) { /* a known compaction that goes further is not put there */
            mend_report r = {0};
            size_t from = place_of(&c, "the task") + 1;
            assert_false(mend_compact_put(&c, (mend_cut){from, cut.to}, S("in short"), &r));
        }
    }
}

/* What went for a summary while its turn was the newest one does so a turn later, too, though a reference of before
 * stands between it and the task. */
static void a_loop_behind_a_reference_is_compacted_the_next_turn_too(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        daruma_arena a = arena();
        daruma_buf b = buf_in(&a);
        words(&b, "user", S("the task"));
        BUF_LIT(&b, REFERENCE("msg_1"));
        words(&b, "user", S("go on"));
        size_t from = 3, rounds = COMPACT_ROUNDS_MIN + 4;
        for (unsigned i = 0; i < rounds; i++) {
            buf_printf(&b, "{\"type\":\"function_call\",\"call_id\":\"c%u\",\"name\":\"f\",\"arguments\":\"{}\"},", i);
            output(&b, i, noise(&a, 3000, i));
        }
        if (later) {
            words(&b, "assistant", S("So."));
            words(&b, "user", S("And now?"));
        }
        convo c = items_of(&a, &b, "");
        mend_cut cut = {from, from + 4 * 2};
        if (!later) {
            mend_cut plan = mend_compact_plan(&c, 0);
            assert_int_equal(plan.from, cut.from);
            assert_int_equal(plan.to, cut.to);
        }
        assert_false(
            mend_compact_put(&c, (mend_cut){1, cut.to}, S("in short"), &(mend_report){0})); /* not the reference */
        assert_true(mend_compact_put(&c, cut, S("in short"), &(mend_report){0}));
    }
}

static void a_loop_in_progress_gives_only_old_rounds_without_thinking(void **state)
{
    (void)state;
    for (int thinking = 0; thinking < 2; thinking++) {
        daruma_arena a = arena();
        history h = begin(true, &a, "");
        say(&h, "user", S("the task"));
        for (unsigned i = 0; i < 12; i++) {
            char id[8];
            snprintf(id, sizeof id, "t%u", i);
            call(&h, id, "f", thinking);
            result(&h, id, noise(&a, 3000, i), false);
        }
        convo c = read_of(true, end(&h), &a);
        mend_cut cut = mend_compact_plan(&c, 0);
        assert_int_equal(cut.to > cut.from, !thinking);
        if (thinking)
            continue;
        mend_report r = {0};
        assert_true(mend_compact_put(&c, cut, S("rounds so far"), &r));
        check_pairs(&c);
        check_turns(&c);
        size_t results = 0;
        for (size_t i = 0; i < c.nmessages; i++)
            for (size_t j = 0; alive(&c, i) && j < c.messages[i].nparts; j++)
                results += c.messages[i].parts[j].kind == PART_RESULT;
        assert_int_equal(results, COMPACT_ROUNDS_MIN);
        assert_true(str_find(written(true, &c, &a), S("the task")) != STR_NONE);
    }
}

/* ---- known.c ---- */

static char known_mem[1u << 20];

static mend_known *known_of(size_t texts)
{
    daruma_arena a = arena_over(known_mem, mend_known_bytes(texts));
    assert_true(mend_known_bytes(texts) <= sizeof known_mem);
    mend_known *k = mend_known_new(&a, texts);
    assert_non_null(k);
    return k;
}

static void what_was_masked_is_masked_again_at_once(void **state)
{
    (void)state;
    for (int anthropic = 0; anthropic < 2; anthropic++) {
        daruma_arena a = arena();
        mend_known *k = known_of(256u << 10);
        daruma_str first = rounds_of(anthropic, &a, 8, 4000, false), next = rounds_of(anthropic, &a, 10, 4000, false);
        convo before = read_of(anthropic, first, &a), after = read_of(anthropic, first, &a);
        mend_report r = mend_mask(&after, convo_tokens(&after) / 2, NULL);
        mend_known_learn(k, 77, &before, &after);
        mend_known_learn(k, 77, &before, &after);
        assert_int_equal(mend_known_count(k).entries, r.parts_shortened);
        convo c = read_of(anthropic, next, &a), other = read_of(anthropic, next, &a);
        mend_report applied = mend_known_apply(k, 77, &c);
        assert_int_equal(applied.parts_shortened, r.parts_shortened);
        for (size_t i = 0; i < r.parts_shortened; i++)
            assert_true(str_eq(result_part(&c, i)->text, result_part(&after, i)->text));
        daruma_str one = written(anthropic, &c, &a), was = written(anthropic, &after, &a);
        assert_memory_equal(one.p, was.p, was.n - 2); /* what a provider's cache sees is the same to its end */
        applied = mend_known_apply(k, 77, &c);
        assert_false(mend_did(&applied)); /* twice is as once */
        applied = mend_known_apply(k, 78, &other);
        assert_false(mend_did(&applied) || other.edited); /* tenants share nothing */
        assert_true(mend_known_count(k).hit == r.parts_shortened);
    }
}

static void a_tool_called_again_is_seen_in_full_again(void **state)
{
    (void)state;
    daruma_arena a = arena();
    mend_known *k = known_of(64u << 10);
    daruma_str text = noise(&a, 5000, 1);
    history h = begin(true, &a, "");
    say(&h, "user", S("go"));
    call(&h, "t1", "f", false);
    result(&h, "t1", text, false);
    history more = h;
    daruma_str first = end(&h);
    convo before = read_of(true, first, &a), after = read_of(true, first, &a);
    mend_mask(&after, 10, NULL);
    mend_known_learn(k, 1, &before, &after);
    more = begin(true, &a, "");
    say(&more, "user", S("go"));
    call(&more, "t1", "f", false);
    result(&more, "t1", text, false);
    call(&more, "t2", "f", false);
    result(&more, "t2", text, false);
    convo c = read_of(true, end(&more), &a);
    mend_known_apply(k, 1, &c);
    assert_true(result_part(&c, 0)->edited);
    assert_false(result_part(&c, 1)->edited);
}

static void a_compaction_is_known_by_its_prefix(void **state)
{
    (void)state;
    for (int anthropic = 0; anthropic < 2; anthropic++)
        for (int loop = 0; loop < 2; loop++) {
            daruma_arena a = arena();
            mend_known *k = known_of(64u << 10);
            daruma_str first = rounds_of(anthropic, &a, 8, 3000, !loop),
                       next = rounds_of(anthropic, &a, 11, 3000, !loop);
            convo before = read_of(anthropic, first, &a), after = read_of(anthropic, first, &a);
            mend_report r = {0};
            assert_true(mend_compact_put(&after, mend_compact_plan(&after, 3000), S("what was found"), &r));
            mend_known_learn(k, 5, &before, &after);
            assert_int_equal(mend_known_count(k).entries, 1);
            convo c = read_of(anthropic, next, &a), c2 = read_of(anthropic, next, &a);
            mend_report applied = mend_known_apply(k, 5, &c);
            assert_int_equal(applied.messages_mended, r.messages_mended);
            daruma_str one = written(anthropic, &c, &a), was = written(anthropic, &after, &a);
            assert_memory_equal(one.p, was.p, was.n - 2);
            check_pairs(&c);
            /* a second one on top; the longer one is used from then on */
            assert_true(mend_compact_put(&c, mend_compact_plan(&c, 2000), S("all of it"), &r));
            mend_known_learn(k, 5, &c2, &c);
            convo c3 = read_of(anthropic, rounds_of(anthropic, &a, 12, 3000, !loop), &a);
            mend_known_apply(k, 5, &c3);
            daruma_str two = written(anthropic, &c3, &a);
            assert_true(str_find(two, S("all of it")) != STR_NONE && str_find(two, S("what was found")) == STR_NONE);
            check_pairs(&c3);
            /* a fork: the first message is another */
            daruma_buf b = buf_in(&a);
            size_t where = str_find(next, S("nightly"));
            buf_put(&b, str_sub(next, 0, where));
            BUF_LIT(&b, "weekly!");
            buf_put(&b, str_from(next, where + 7));
            convo fork = read_of(anthropic, buf_str(&b), &a);
            applied = mend_known_apply(k, 5, &fork);
            assert_false(mend_did(&applied));
            /* cut back to before its end: nothing to apply, nothing lost */
            convo back = read_of(anthropic, rounds_of(anthropic, &a, 2, 3000, !loop), &a);
            applied = mend_known_apply(k, 5, &back);
            assert_false(mend_did(&applied));
        }
}

static void known_texts_stay_within_their_memory(void **state)
{
    (void)state;
    for (size_t room = 1000; room < 40000; room = room * 3 / 2) {
        mend_known *k = known_of(room);
        for (unsigned i = 0; i < 300; i++) {
            daruma_arena a = arena();
            history h = begin(false, &a, "");
            char id[16];
            snprintf(id, sizeof id, "c%u", i);
            call(&h, id, "f", false);
            result(&h, id, noise(&a, 1500 + i * 37 % 4000, i), false);
            daruma_str body = end(&h);
            convo before = read_of(false, body, &a), after = read_of(false, body, &a);
            mend_mask(&after, 10, NULL);
            mend_known_learn(k, 1, &before, &after);
            mend_known_counts n = mend_known_count(k);
            assert_true(n.bytes <= room && n.bytes_max == room);
            if (result_part(&after, 0)->text.n > room / 4)
                continue;
            convo c = read_of(false, body, &a); /* the newest is always there */
            mend_known_apply(k, 1, &c);
            assert_true(str_eq(result_part(&c, 0)->text, result_part(&after, 0)->text));
        }
    }
}

/* ---- random histories ---- */

static uint64_t dice = 1;
static unsigned roll(unsigned n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

static daruma_str random_text(daruma_arena *a, size_t max)
{
    static const char *const words[] = {"the ",
                                        "ORD-71 ",
                                        "\n",
                                        "\xc3\xa9\xc3\xa9",
                                        "\xe4\xb8\xad\xe6\x96\x87",
                                        "\"q\": ",
                                        "error: ",
                                        "/a/b/c ",
                                        "id=77 ",
                                        "\\n",
                                        "\xf0\x9f\x98\x80",
                                        "user_id: 5 ",
                                        "0x1f ",
                                        "\\",
                                        "[daruma left out ",
                                        "xxxxxxxxxxxxxxxxxxxxxxxx"};
    daruma_buf b = buf_in(a);
    size_t want = roll((unsigned)max);
    while (b.n < want)
        buf_putz(&b, words[roll(sizeof words / sizeof *words)]);
    return buf_str(&b);
}

static daruma_str random_history(bool anthropic, daruma_arena *a)
{
    history h = begin(anthropic, a, "");
    say(&h, "user", random_text(a, 100));
    unsigned n = roll(7), id = 0;
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        for (unsigned j = roll(3); j--;) {
            snprintf(name, sizeof name, "t%u", id++);
            call(&h, name, "tool", roll(6) == 0);
            result(&h, name, random_text(a, 1 + roll(6000)), roll(5) == 0);
        }
        if (roll(3)) {
            say(&h, "assistant", random_text(a, 300));
            say(&h, "user", random_text(a, 200));
        }
    }
    return end(&h);
}

static void random_histories_stay_whole(void **state)
{
    (void)state;
    for (int n = 0; n < 50000; n++) {
        daruma_arena a = arena();
        bool anthropic = n & 1;
        daruma_str body = random_history(anthropic, &a);
        convo was = read_of(anthropic, body, &a), c = read_of(anthropic, body, &a);
        int64_t before = convo_tokens(&c), target = before * roll(110) / 100;
        mend_report r = {0};
        if (roll(2)) {
            r = mend_mask(&c, target, NULL);
            if (r.tokens_after > before || (mend_did(&r) && r.bytes_after >= r.bytes_before))
                fail_msg("history %d grew", n);
        }
        for (size_t i = 0; i < c.nmessages; i++) /* nothing but results is touched */
            for (size_t j = 0; j < c.messages[i].nparts; j++)
                assert_true(!c.messages[i].parts[j].edited || c.messages[i].parts[j].kind == PART_RESULT);
        mend_cut cut = mend_compact_plan(&c, roll(1500));
        size_t newest = convo_last_user(&was);
        if (cut.to > cut.from) {
            convo_message last = c.messages[newest];
            assert_true(mend_compact_prompt(&c, cut, 3000).n <= 3000);
            if (mend_compact_put(&c, cut, S("short"), &r)) {
                bool there = false;
                for (size_t i = 0; i < c.nmessages; i++)
                    there |= alive(&c, i) && c.messages[i].raw.p == last.raw.p;
                assert_true(there);
            }
        }
        assert_false(c.full);
        check_pairs(&c);
        daruma_str out = written(anthropic, &c, &a);
        if (!c.edited)
            assert_true(str_eq(out, body));
        convo again = read_of(anthropic, out, &a);
        check_pairs(&again);
        daruma_str same = written(anthropic, &again, &a);
        assert_true(str_eq(out, same));
    }
}

static void little_memory_is_said_and_nothing_breaks(void **state)
{
    (void)state;
    static char room[700u << 10];
    unsigned done = 0;
    for (size_t n = 0; n < sizeof room; n += n < 40000 ? 997 : 9973) {
        daruma_arena big = arena(), a = arena_over(room, n);
        daruma_str body = rounds_of(true, &big, 8, 5000, true);
        convo c;
        if (dialect_anthropic.read(body, &a, &c) != DARUMA_OK)
            continue;
        mend_report r = mend_mask(&c, convo_tokens(&c) / 2, NULL);
        mend_large l[4];
        size_t large = c.full ? 0 : mend_large_results(&c, 2000, true, MEND_SUMMARY_PLAIN, l, 4);
        if (large && mend_summary_prompt(&c, l[0], MEND_SUMMARY_PLAIN).n)
            mend_summary_put(&c, l[0], S("short"), MEND_SUMMARY_PLAIN, &r);
        mend_cut cut = mend_compact_plan(&c, 1000);
        if (!c.full && cut.to > cut.from && mend_compact_prompt(&c, cut, 10000).n)
            mend_compact_put(&c, cut, S("short"), &r);
        mend_known *k = known_of(64u << 10);
        convo before = read_of(true, body, &big);
        mend_known_learn(k, 1, &before, &c);
        done += !c.full && !a.full;
        assert_true(c.full || !a.full || !mend_did(&r) || c.edited);
    }
    assert_true(done > 0);
}

/* The bits of 64 bytes say what the bytes say one by one, for every byte at every place. */
static void bits_of_words_are_those_of_their_bytes(void **state)
{
    (void)state;
    uint8_t kinds[256];
    char block[64];
    for (int c = 0; c < 256; c++)
        kinds[c] = word_kind((unsigned char)c);
    for (int first = 0; first < 256; first++) {
        for (int i = 0; i < 64; i++)
            block[i] = (char)(first + i * 37);
        word_bits b = word_bits_of(block, kinds);
        for (int i = 0; i < 64; i++) {
            uint8_t k = kinds[(unsigned char)block[i]];
            assert_int_equal(b.any >> i & 1, k != 0);
            assert_int_equal(b.odd >> i & 1, (k & (DIGIT | MARK | SLASH | AT)) != 0);
            assert_int_equal(b.letter >> i & 1, k == LETTER);
            assert_int_equal(b.digit >> i & 1, k == DIGIT);
            assert_int_equal(b.slash >> i & 1, k == SLASH);
            assert_int_equal(b.at >> i & 1, k == AT);
        }
    }
}

/* Words are found wherever they lie in the blocks that a text is looked at in, and so are the bytes of characters. */
static void where_a_word_lies_does_not_matter(void **state)
{
    (void)state;
    static const char words[] = " ORD-7731 \"order_id\": \"x42\"\nbuild failed\n\xe4\xbd\xa0 ";
    for (size_t before = 0; before < 140; before++) {
        daruma_arena a = arena();
        daruma_buf b = buf_in(&a);
        for (size_t i = 0; i < 1000 + before; i++)
            buf_putc(&b, i < 500 && i % 5 ? 'a' : ' ');
        int64_t tokens = text_tokens(buf_str(&b));
        buf_putz(&b, words);
        assert_in_range(text_tokens(buf_str(&b)) - tokens, 13, 16);
        for (size_t i = 0; i < 1000; i++)
            buf_putc(&b, ' ');
        daruma_str m = mend_masked(buf_str(&b), NULL, &a);
        assert_true(str_find(m, S("kept: ORD-7731, order_id=x42\n")) != STR_NONE);
        assert_true(str_find(m, S("\nerror: build failed\n")) != STR_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_leaves_room),
        cmocka_unit_test(target_without_numbers_is_seventy_percent),
        cmocka_unit_test(target_is_never_above_the_estimate_nor_silly),
        cmocka_unit_test(output_cap_is_lowered_where_it_is_what_overflows),
        cmocka_unit_test(a_lower_cap_adds_nothing_that_a_wire_does_not_know),
        cmocka_unit_test(output_limit_is_lowered_to_what_the_provider_names),
        cmocka_unit_test(thinking_budget_goes_down_with_the_cap),
        cmocka_unit_test(a_mask_keeps_identifiers),
        cmocka_unit_test(a_mask_keeps_ids_of_json_and_error_lines),
        cmocka_unit_test(bits_of_words_are_those_of_their_bytes),
        cmocka_unit_test(where_a_word_lies_does_not_matter),
        cmocka_unit_test(a_mask_has_head_tail_and_whole_characters),
        cmocka_unit_test(a_mask_is_the_same_each_time_and_never_masked),
        cmocka_unit_test(masking_begins_with_the_oldest_and_stops_at_the_target),
        cmocka_unit_test(newest_results_stay_when_old_ones_suffice),
        cmocka_unit_test(error_results_stay_until_nothing_else_helps),
        cmocka_unit_test(images_of_old_results_go_first),
        cmocka_unit_test(large_is_strictly_longer),
        cmocka_unit_test(large_results_are_told_with_their_tool),
        cmocka_unit_test(prompt_is_cut_and_says_so),
        cmocka_unit_test(a_summary_takes_the_place_once),
        cmocka_unit_test(a_failed_summary_leaves_the_beginning),
        cmocka_unit_test(penguiflow_writes_its_own_form),
        cmocka_unit_test(the_older_part_becomes_one_message),
        cmocka_unit_test(an_earlier_summary_is_brought_up_to_date),
        cmocka_unit_test(compaction_knows_when_it_is_no_use),
        cmocka_unit_test(what_is_on_the_server_has_its_share_of_the_window),
        cmocka_unit_test(compaction_stays_on_one_side_of_what_is_on_the_server),
        cmocka_unit_test(a_loop_behind_a_reference_is_compacted_the_next_turn_too),
        cmocka_unit_test(a_loop_in_progress_gives_only_old_rounds_without_thinking),
        cmocka_unit_test(what_was_masked_is_masked_again_at_once),
        cmocka_unit_test(a_tool_called_again_is_seen_in_full_again),
        cmocka_unit_test(a_compaction_is_known_by_its_prefix),
        cmocka_unit_test(known_texts_stay_within_their_memory),
        cmocka_unit_test(random_histories_stay_whole),
        cmocka_unit_test(little_memory_is_said_and_nothing_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
