/* test_compact.c - conversations whose older part becomes one message, also where part of it is on the server. */
#include "shrink_kit.h"
#include "sys/arena.h"
#include "engine/mend/shorten/shorten.h"

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
    c.before = true;
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
        assert_int_equal(again.before, i < 2);
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

/* What a plan needs for itself is taken from the arena of the conversation and given back: all but the end of the block
 * that it did not fit into can be had behind it. */
static void what_a_plan_takes_is_given_back(void **state)
{
    (void)state;
    enum { LIMIT = 4 << 20, TAIL = 3000, PLAN_MOST = 64 << 10 };
    daruma_arena made = arena(), a;
    daruma_str body = rounds_of(0, &made, 500, 20, true);
    assert_true(sys_arena_init(&a, 1 << 20, LIMIT));
    convo c = read_of(0, body, &a);
    assert_true(c.nmessages > TAIL / sizeof(int32_t));
    arena_raw(&a, (size_t)(a.end - a.beg) - TAIL, 1);
    size_t held = sys_arena_bytes(&a), more = 0;
    mend_compact_plan(&c, 1000);
    while (arena_raw(&a, 100, 1))
        more += 100;
    assert_true(held + more <= LIMIT && held + more + TAIL + PLAN_MOST > LIMIT);
    sys_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_older_part_becomes_one_message),
        cmocka_unit_test(an_earlier_summary_is_brought_up_to_date),
        cmocka_unit_test(compaction_knows_when_it_is_no_use),
        cmocka_unit_test(what_is_on_the_server_has_its_share_of_the_window),
        cmocka_unit_test(compaction_stays_on_one_side_of_what_is_on_the_server),
        cmocka_unit_test(a_loop_behind_a_reference_is_compacted_the_next_turn_too),
        cmocka_unit_test(a_loop_in_progress_gives_only_old_rounds_without_thinking),
        cmocka_unit_test(what_a_plan_takes_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
