/* test_room.c - what an agent with a large system prompt, many tools and a large output cap leaves to its conversation
 * in a small window: how far it is shortened, and which cap goes out beside it. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "dialect/dialect.h"
#include "engine/mend/remedy.h"

static char mem[32u << 20];

static const daruma_mend_policy plain = {.enabled = true,
                                         .side_calls = true,
                                         .summarize_on_compress = true,
                                         .max_compress_retries = 2,
                                         .compression_threshold_chars = 2000};

static void filling(daruma_buf *b, size_t bytes)
{
    for (size_t end = b->n + bytes, i = 0; b->n < end; i++)
        buf_printf(b, "line %u: int value = %u; ", (unsigned)i, (unsigned)(i * 7919 % 1000));
}

/* Reads a file of `bytes` each round, as coding agents do; its thinking binds the rounds together. */
static convo agent(daruma_arena *a, size_t system, unsigned rounds, size_t bytes, int64_t cap)
{
    daruma_buf b = buf_in(a);
    convo c;
    buf_printf(&b, "{\"model\":\"m\",\"max_tokens\":%lld,\"system\":\"", (long long)cap);
    filling(&b, system / 2);
    BUF_LIT(&b, "\",\"tools\":[{\"name\":\"read\",\"description\":\"");
    filling(&b, system / 2);
    BUF_LIT(&b, "\",\"input_schema\":{\"type\":\"object\"}}],\"messages\":[{\"role\":\"user\",\"content\":\"go\"}");
    for (unsigned i = 0; i < rounds; i++) {
        buf_printf(&b,
                   ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":"
                   "\"c2ln\"},{\"type\":\"tool_use\",\"id\":\"toolu_%u\",\"name\":\"read\","
                   "\"input\":{\"n\":%u}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
                   "\"toolu_%u\",\"content\":\"",
                   i, i, i);
        filling(&b, bytes);
        BUF_LIT(&b, "\"}]}");
    }
    BUF_LIT(&b, "]}");
    assert_false(b.full);
    assert_int_equal(dialect_anthropic.read(buf_str(&b), a, &c), DARUMA_OK);
    return c;
}

/* What the provider says; it counts a tenth less than we. */
static int64_t counted(const convo *c)
{
    return convo_tokens(c) * 9 / 10;
}

static daruma_failure refusal(const convo *c, int64_t window, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_printf(&b, "input length and `max_tokens` exceed context limit: %lld + %lld > %lld, decrease input length",
               (long long)counted(c), (long long)c->set.max_output, (long long)window);
    return (daruma_failure){.kind = DARUMA_CONTEXT_LENGTH,
                            .status = 400,
                            .message = buf_str(&b),
                            .limit = window,
                            .used = counted(c),
                            .requested = counted(c) + c->set.max_output};
}

static void a_large_cap_takes_half_of_what_the_prompt_leaves(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    convo c = agent(&a, 42000, 12, 5000, 32000), bare = agent(&a, 42000, 0, 0, 32000);
    daruma_failure f = refusal(&c, 28000, &a);
    int64_t stands = convo_tokens(&bare), target = mend_target(&c, &f, -1);
    assert_true(counted(&c) < 28000 && counted(&bare) < 14000);
    assert_true(target > stands + (convo_tokens(&c) - stands) / 4); /* some of the conversation can stay */
    assert_true(target * 9 / 10 < 28000 - 4096);                    /* and an answer has room */
}

static void what_is_shorter_goes_out_with_a_cap_that_fits(void **state)
{
    (void)state;
    for (int64_t window = 20000; window <= 60000; window += 1000) {
        daruma_arena a = arena_over(mem, sizeof mem);
        mending m = {.c = agent(&a, 42000, 60, 3000, 32000), .policy = &plain};
        daruma_failure f = refusal(&m.c, window, &a);
        daruma_mend_policy masks = plain;
        masks.side_calls = false;
        m.policy = &masks;
        if (mending_begin(&m, DARUMA_REMEDY_MASK_TOOL_OUTPUT, &f, -1) != MENDING_DONE)
            continue;
        if (counted(&m.c) + m.c.set.max_output > window)
            fail_msg("%lld: %lld + %lld", (long long)window, (long long)counted(&m.c), (long long)m.c.set.max_output);
        assert_true(m.c.set.max_output >= OUTPUT_CAP_TOKENS_MIN);
    }
}

/* Old output that was masked may be enough, and no more than that: then large output is summed up where there is any,
 * and what fits is sent where there is none. It is never given up. */
static void what_fits_is_sent_though_it_is_not_roomy(void **state)
{
    (void)state;
    unsigned fits = 0;
    for (size_t bytes = 1200; bytes <= 4800; bytes += 1200)
        for (int64_t window = 17000; window <= 40000; window += 250) {
            daruma_arena a = arena_over(mem, sizeof mem);
            mending m = {.c = agent(&a, 42000, 12, bytes, 32000), .policy = &plain};
            daruma_failure f = refusal(&m.c, window, &a);
            mending_result r = mending_begin(&m, DARUMA_REMEDY_MASK_TOOL_OUTPUT, &f, -1);
            if (r == MENDING_DONE || convo_tokens(&m.c) > m.target || !m.unsent)
                continue;
            fits++;
            r = mending_begin(&m, DARUMA_REMEDY_SUMMARISE, &f, -1);
            if (r == MENDING_UNFIT)
                r = mending_begin(&m, DARUMA_REMEDY_COMPACT, &f, -1);
            if (r == MENDING_UNFIT)
                fail_msg("%zu, %lld: %lld of %lld was given up", bytes, (long long)window,
                         (long long)convo_tokens(&m.c), (long long)m.target);
        }
    assert_true(fits > 0);
}

static void a_cap_stays_where_it_fits(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    convo c = agent(&a, 4000, 2, 1000, 2000);
    mend_report r = {0};
    mend_cap_beside(&c, (mend_share){.limit = 28000, .scale = 900}, &r);
    assert_int_equal(c.set.max_output, 2000);
    mend_cap_beside(&c, (mend_share){.limit = -1, .scale = 1000}, &r);         /* nobody knows the window */
    mend_cap_beside(&c, (mend_share){.limit = counted(&c), .scale = 900}, &r); /* no answer would have room */
    assert_int_equal(c.set.max_output, 2000);
    assert_false(mend_did(&r));
    mend_cap_beside(&c, (mend_share){.limit = counted(&c) + 1500, .scale = 900}, &r);
    assert_true(c.set.max_output < 1500 && c.set.max_output >= OUTPUT_CAP_TOKENS_MIN && mend_did(&r));
    c.quirks |= WIRE_NO_IDS; /* Google's windows are of the input alone */
    daruma_failure f = refusal(&c, 28000, &a);
    assert_int_equal(mend_share_of(&c, &f, -1).limit, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_cap_takes_half_of_what_the_prompt_leaves),
        cmocka_unit_test(what_is_shorter_goes_out_with_a_cap_that_fits),
        cmocka_unit_test(what_fits_is_sent_though_it_is_not_roomy),
        cmocka_unit_test(a_cap_stays_where_it_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
