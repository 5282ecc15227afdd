/* test_mask.c - masks of old tool output, and the words that they keep. */
#include "engine/mend/shorten/words.h"
#include "engine/mend/shorten/shorten.h"
#include "shrink_kit.h"

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
    for (size_t i = 0; i < COUNT(planted); i++)
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

static void a_mask_is_masked_again_where_the_rules_say_so(void **state)
{
    (void)state;
    static const mend_mask_rules bare = MEND_MASK_BARE;
    daruma_arena a = arena();
    daruma_buf b = buf_in(&a);
    buf_put(&b, noise(&a, 9000, 1));
    BUF_LIT(&b, "\n12:00:01 ERROR cannot open /var/lib/db/main.ldb: Permission denied\n");
    buf_put(&b, noise(&a, 9000, 2));
    daruma_str one = mend_masked(buf_str(&b), NULL, &a), two = mend_masked(one, &bare, &a);
    char whole[40];
    snprintf(whole, sizeof whole, " of %zu bytes of this tool output]", b.n);
    assert_true(two.n > 0 && two.n + 300 < one.n);
    assert_true(str_eq(mend_mask_kept(one), mend_mask_kept(two)) && mend_mask_kept(two).n > 0);
    assert_true(str_find(two, str_of(whole)) != STR_NONE);
    assert_memory_equal(two.p, one.p, 50);
    assert_memory_equal(two.p + two.n - 40, one.p + one.n - 40, 40);
    assert_int_equal(mend_masked(two, &bare, &a).n, 0);
    assert_true(str_eq(two, mend_masked(one, &bare, &a)));
}

/* A tool loop whose thinking is signed can be no summary: its old output goes to the bone before its newest is touched.
 */
static void what_cannot_be_summed_up_is_masked_to_the_bone(void **state)
{
    (void)state;
    static const daruma_mend_policy asks = {.enabled = true,
                                            .side_calls = true,
                                            .summarize_on_compress = true,
                                            .compression_threshold_chars = 2000,
                                            .max_compress_retries = 2};
    daruma_arena a = arena();
    daruma_buf b = buf_in(&a);
    BUF_LIT(&b, "{\"model\":\"c\",\"max_tokens\":500,\"messages\":[{\"role\":\"user\",\"content\":\"the task\"}");
    for (unsigned i = 0; i < 40; i++) {
        buf_printf(&b,
                   ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"so\",\"signature\":"
                   "\"s%u\"},{\"type\":\"tool_use\",\"id\":\"c%u\",\"name\":\"read\",\"input\":{}}]},"
                   "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c%u\",\"content\":",
                   i, i, i);
        buf_json(&b, noise(&a, 4000, i));
        BUF_LIT(&b, "}]}");
    }
    BUF_LIT(&b, "]}");
    convo c = read_of(true, buf_str(&b), &a);
    daruma_failure f = judged(400, "prompt is too long: 45000 tokens > 12000 maximum", &a);
    mending m = {.c = c, .policy = &asks};
    assert_int_equal(mending_begin(&m, DARUMA_REMEDY_MASK_TOOL_OUTPUT, &f, -1), MENDING_DONE);
    for (size_t i = c.nmessages - 6; i < c.nmessages; i++)
        assert_false(m.c.messages[i].edited);
}

/* Our estimate errs: what became a good deal shorter is worth a call where nothing else is left. */
static void the_provider_has_the_last_word(void **state)
{
    (void)state;
    static const daruma_mend_policy plain = {.enabled = true};
    for (int last = 0; last < 2; last++) {
        daruma_arena a = arena();
        convo c = read_of(false, rounds_of(false, &a, 10, 7000, false), &a);
        convo_message *task = &c.messages[0];
        daruma_buf b = buf_in(&a);
        for (unsigned i = 0; i < 8; i++)
            buf_put(&b, noise(&a, 4000, i));
        assert_true(task->nparts > 0);
        convo_set_text(&c, task, &task->parts[0], buf_str(&b));
        daruma_failure f = judged(400, "prompt is too long: 33000 tokens > 8000 maximum", &a);
        mending m = {.c = c, .policy = &plain, .last = last};
        assert_int_equal(mending_begin(&m, DARUMA_REMEDY_MASK_TOOL_OUTPUT, &f, -1),
                         last ? MENDING_DONE : MENDING_UNFIT);
    }
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
        word_bits b = word_bits_of(block);
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
        cmocka_unit_test(a_mask_keeps_identifiers),
        cmocka_unit_test(a_mask_keeps_ids_of_json_and_error_lines),
        cmocka_unit_test(bits_of_words_are_those_of_their_bytes),
        cmocka_unit_test(where_a_word_lies_does_not_matter),
        cmocka_unit_test(a_mask_has_head_tail_and_whole_characters),
        cmocka_unit_test(a_mask_is_the_same_each_time_and_never_masked),
        cmocka_unit_test(a_mask_is_masked_again_where_the_rules_say_so),
        cmocka_unit_test(what_cannot_be_summed_up_is_masked_to_the_bone),
        cmocka_unit_test(the_provider_has_the_last_word),
        cmocka_unit_test(masking_begins_with_the_oldest_and_stops_at_the_target),
        cmocka_unit_test(newest_results_stay_when_old_ones_suffice),
        cmocka_unit_test(error_results_stay_until_nothing_else_helps),
        cmocka_unit_test(images_of_old_results_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
