/* test_target.c - how short a conversation has to become, and output caps that are lowered instead. */
#include "shrink_kit.h"
#include "engine/mend/request/request.h"
#include "engine/mend/shorten/shorten.h"

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
        {400, "Prompt contains 9663 tokens and 0 draft tokens, too large for model with 8000 maximum context length",
         8000, 9663, 1000},
        {400, "The input (61709 tokens) is longer than the model's context length (40960 tokens).", 40960, 61709, 1000},
        {400,
         "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context "
         "length of only 7866 tokens, which is not enough.",
         7866, 10136, 1000},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
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

static void target_without_numbers_is_a_half_or_a_part_of_a_known_window(void **state)
{
    (void)state;
    daruma_arena a = arena();
    convo c = sized(&a, 350000, 1000);
    daruma_failure f = judged(400, "Input is too long for requested model.", &a);
    assert_int_equal(mend_target(&c, &f, 64000), 44800);
    assert_int_equal(mend_target(&c, &f, -1), convo_tokens(&c) / 2);
    assert_int_equal(mend_target(&c, NULL, -1), convo_tokens(&c) / 2);
    f.status = 0; /* nobody refused it yet: it is about as long as what was */
    assert_int_equal(mend_target(&c, &f, -1), convo_tokens(&c) * 7 / 10);
    f.status = 400;
    /* a window that we fill by our count only in part: it must go down all the same */
    assert_int_equal(mend_target(&c, &f, 1000000), convo_tokens(&c) / 2);
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
    for (size_t i = 0; i < COUNT(lies); i++) {
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

/* MiniMax ends its messages with the number of the error. */
static void the_number_of_an_error_is_no_window(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        bool none; /* as when no number is said */
    } rows[] = {
        {"invalid params, context window exceeds limit (2013)", true},
        {"{\"error\":{\"code\":8000,\"message\":\"context window exceeds limit: 8000\"}}", true},
        {"context window exceeds limit (2048)", false},
        {"the prompt exceeds the available context size (4097)", false},
        {"context window exceeds limit of 2013 tokens", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena();
        convo c = sized(&a, 40000, -1);
        daruma_failure f = judged(400, rows[i].says, &a), bare = judged(400, "context window exceeds limit", &a);
        if ((mend_target(&c, &f, -1) == mend_target(&c, &bare, -1)) != rows[i].none)
            fail_msg("%s: %lld", rows[i].says, (long long)mend_target(&c, &f, -1));
    }
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
    for (size_t i = 0; i < COUNT(rows); i++) {
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
    for (size_t i = 0; i < COUNT(rows); i++) {
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
        assert_int_equal(named, i + 1 < COUNT(rows)); /* the last one names no number */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_leaves_room),
        cmocka_unit_test(target_without_numbers_is_a_half_or_a_part_of_a_known_window),
        cmocka_unit_test(target_is_never_above_the_estimate_nor_silly),
        cmocka_unit_test(the_number_of_an_error_is_no_window),
        cmocka_unit_test(output_cap_is_lowered_where_it_is_what_overflows),
        cmocka_unit_test(a_lower_cap_adds_nothing_that_a_wire_does_not_know),
        cmocka_unit_test(output_limit_is_lowered_to_what_the_provider_names),
        cmocka_unit_test(thinking_budget_goes_down_with_the_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
