/* test_shrink.c - conversations that became too long: summaries, known compressions, all of it on random ones. Targets,
 * masks and compaction have files of their own. */
#include "shrink_kit.h"
#include "engine/mend/shorten/shorten.h"

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

/* Somebody whose tools are often masked leaves what others have, and in the end has all the rest. */
static void texts_of_one_tenant_push_out_no_others(void **state)
{
    (void)state;
    enum { ROOM = 64 << 10, HERS = 77, HIS = 78, TEXT_BYTES = 600, MANY = 10000 };
    daruma_arena a = arena();
    mend_known *k = known_of(ROOM);
    daruma_str body = rounds_of(true, &a, 8, 4000, false);
    convo before = read_of(true, body, &a), after = read_of(true, body, &a);
    mend_report r = mend_mask(&after, convo_tokens(&after) / 2, NULL);
    assert_true(r.parts_shortened > 1);
    mend_known_learn(k, HERS, &before, &after);
    size_t hers = mend_known_count(k).bytes;
    for (unsigned i = 0; i < MANY; i++) {
        daruma_arena scratch = a;
        daruma_buf b = buf_in(&scratch);
        buf_printf(&b,
                   "{\"is\":\"" MEND_KNOWN_RECORD
                   "\",\"id\":\"%016x\",\"id_high\":\"0000000000000001\",\"owner\":%d,\"text\":",
                   i + 1, HIS);
        buf_json(&b, letters(&scratch, TEXT_BYTES + i % 7 * 100));
        buf_putc(&b, '}');
        assert_true(mend_known_load(k, buf_str(&b), &scratch));
        assert_true(mend_known_count(k).bytes <= ROOM);
    }
    convo c = read_of(true, body, &a);
    mend_report applied = mend_known_apply(k, HERS, &c);
    assert_int_equal(applied.parts_shortened, r.parts_shortened);
    for (size_t i = 0; i < r.parts_shortened; i++)
        assert_true(str_eq(result_part(&c, i)->text, result_part(&after, i)->text));
    assert_true(mend_known_count(k).bytes > ROOM - hers - 2 * (TEXT_BYTES + 600));
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
        buf_putz(&b, words[roll(COUNT(words))]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_is_strictly_longer),
        cmocka_unit_test(large_results_are_told_with_their_tool),
        cmocka_unit_test(prompt_is_cut_and_says_so),
        cmocka_unit_test(a_summary_takes_the_place_once),
        cmocka_unit_test(a_failed_summary_leaves_the_beginning),
        cmocka_unit_test(penguiflow_writes_its_own_form),
        cmocka_unit_test(what_was_masked_is_masked_again_at_once),
        cmocka_unit_test(a_tool_called_again_is_seen_in_full_again),
        cmocka_unit_test(a_compaction_is_known_by_its_prefix),
        cmocka_unit_test(texts_of_one_tenant_push_out_no_others),
        cmocka_unit_test(known_texts_stay_within_their_memory),
        cmocka_unit_test(random_histories_stay_whole),
        cmocka_unit_test(little_memory_is_said_and_nothing_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
