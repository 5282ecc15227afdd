#include "convo_kit.h"
#include "engine/mend/answer/answer.h"
#include "base/limits.h"
#include "engine/watch/errors.h"
#include "engine/watch/paths.h"
#include "engine/watch/steps.h"
#include "engine/watch/words/partial.h"
#include "pairs_kit.h"
#include <stdlib.h>
#include <time.h>

/* The same run in each dialect: two calls in parallel, one of which fails, a result that never came, words. */
static const struct {
    const dialect *d;
    const char *body;
} runs[] = {
    {&dialect_openai,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"do it\"},"
     "{\"role\":\"assistant\",\"content\":\"I look\",\"tool_calls\":["
     "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"p\\\":1}\"}},"
     "{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"p\\\":2}\"}}]},"
     "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"two\"},"
     "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"one\"},"
     "{\"role\":\"assistant\",\"tool_calls\":["
     "{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"pay\",\"arguments\":\"{}\"}}]},"
     "{\"role\":\"assistant\",\"content\":\"Hm.\"},{\"role\":\"user\",\"content\":\"go on\"}]}"},
    {&dialect_anthropic,
     "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"do it\"},"
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I look\"},"
     "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"read\",\"input\":{\"p\":1}},"
     "{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"read\",\"input\":{\"p\":2}}]},"
     "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"b\",\"content\":\"two\"},"
     "{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]}]},"
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"pay\",\"input\":{}}]},"
     "{\"role\":\"assistant\",\"content\":\"Hm.\"},{\"role\":\"user\",\"content\":\"go on\"}]}"},
    {&dialect_openai_responses,
     "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"do it\"},"
     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"I look\"}]},"
     "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"read\",\"arguments\":\"{\\\"p\\\":1}\"},"
     "{\"type\":\"function_call\",\"call_id\":\"b\",\"name\":\"read\",\"arguments\":\"{\\\"p\\\":2}\"},"
     "{\"type\":\"function_call_output\",\"call_id\":\"b\",\"output\":\"two\"},"
     "{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"one\"},"
     "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"pay\",\"arguments\":\"{}\"},"
     "{\"role\":\"user\",\"content\":\"still there?\"},"
     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Hm.\"},{\"role\":\"user\",\"content\":\"go on\"}]}"},
    {&dialect_gemini,
     "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"do it\"}]},"
     "{\"role\":\"model\",\"parts\":[{\"text\":\"I look\"},{\"functionCall\":{\"name\":\"read\",\"args\":{\"p\":1}}},"
     "{\"functionCall\":{\"name\":\"read\",\"args\":{\"p\":2}}}]},"
     "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"one\"}}},"
     "{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"two\"}}}]},"
     "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"pay\",\"args\":{}}}]},"
     "{\"role\":\"model\",\"parts\":[{\"text\":\"Hm.\"}]},{\"role\":\"user\",\"parts\":[{\"text\":\"go on\"}]}]}"},
};
enum { RUNS = COUNT(runs) };

static daruma_str told(const dialect *d, const char *body)
{
    convo *c = ARENA_NEW(&kit_arena, convo, 1);
    daruma_buf b = buf_in(&kit_arena);
    steps_item item;
    assert_int_equal(d->read(str_of(body), &kit_arena, c), DARUMA_OK);
    for (steps_iter it = {.c = c}; steps_next(&it, &item);) {
        if (item.what == STEPS_USER) {
            buf_printf(&b, "user " STR_FMT "\n", STR_ARG(item.text));
            continue;
        }
        daruma_step s = item.step;
        assert_true((item.result == NULL) == (s.lost || !s.tool.n));
        buf_printf(&b, "%s" STR_FMT " " STR_FMT " -> " STR_FMT "\n", s.lost ? "lost " : "", STR_ARG(s.tool),
                   STR_ARG(s.args), STR_ARG(s.result));
    }
    return buf_str(&b);
}

static void a_history_is_read_call_by_call_in_every_dialect(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        kit_begin();
        daruma_str all = told(runs[i].d, runs[i].body);
        assert_true(str_find(all, S("user do it\n")) == 0);
        assert_true(str_find(all, S("read {\"p\":1} -> one\nread {\"p\":2} -> two\nlost pay {} -> \n")) != STR_NONE);
        assert_true(str_ends(all, S(" -> Hm.\nuser go on\n")));
        assert_true(str_find(all, S("I look")) == STR_NONE); /* said beside its calls */
    }
}

static void a_call_that_still_waits_is_no_step(void **state)
{
    (void)state;
    kit_begin();
    assert_str(told(&dialect_openai,
                    "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\","
                    "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}]}"),
               "");
}

/* Histories that somebody made to be slow: calls without results, one id for all, results without calls. */
static void a_history_is_read_in_one_go_whatever_it_repeats(void **state)
{
    (void)state;
    enum { CALLS = 20000 };
    static const struct {
        const char *id, *result;
        size_t steps;
    } rows[] = {{"\"call_%d\"", "\"call_%d\"", CALLS},
                {"\"call_%d\"", "\"other_%d\"", CALLS},
                {"\"same\"", "\"same\"", CALLS},
                {"null", "null", CALLS}};
    for (size_t r = 0; r < COUNT(rows); r++) {
        daruma_arena own = {0};
        char *room = malloc(256u << 20);
        assert_non_null(room);
        own = arena_over(room, 256u << 20);
        daruma_buf b = buf_in(&own);
        steps_item item;
        convo c;
        size_t n = 0;
        BUF_LIT(&b, "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[");
        for (int i = 0; i < CALLS; i++) {
            buf_putz(&b, i ? ",{\"type\":\"function\",\"id\":" : "{\"type\":\"function\",\"id\":");
            buf_printf(&b, rows[r].id, i);
            BUF_LIT(&b, ",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}");
        }
        BUF_LIT(&b, "]}");
        for (int i = 0; i < CALLS; i++) {
            BUF_LIT(&b, ",{\"role\":\"tool\",\"content\":\"r\",\"tool_call_id\":");
            buf_printf(&b, rows[r].result, i);
            buf_putc(&b, '}');
        }
        BUF_LIT(&b, ",{\"role\":\"assistant\",\"content\":\"So.\"},{\"role\":\"user\",\"content\":\"Yes.\"}]}");
        assert_false(b.full);
        assert_int_equal(dialect_openai.read(buf_str(&b), &own, &c), DARUMA_OK);
        clock_t began = clock();
        for (steps_iter it = {.c = &c}; steps_next(&it, &item);)
            n += item.call != NULL;
        assert_int_equal(n, rows[r].steps);
        assert_true((clock() - began) / CLOCKS_PER_SEC < 2); /* one by one it would be half a billion looks */
        free(room);
    }
}

static void results_without_ids_answer_in_the_order_of_their_calls(void **state)
{
    (void)state;
    kit_begin();
    assert_str(
        told(&dialect_gemini,
             "{\"contents\":[{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"a\",\"args\":{}}},"
             "{\"functionCall\":{\"name\":\"b\",\"args\":{}}},{\"functionCall\":{\"name\":\"a\",\"args\":{}}}]},"
             "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"b\",\"response\":{\"output\":\"2\"}}},"
             "{\"functionResponse\":{\"name\":\"a\",\"response\":{\"output\":\"1\"}}},"
             "{\"functionResponse\":{\"name\":\"a\",\"response\":{\"output\":\"3\"}}}]},"
             "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"a\",\"args\":{}}}]},"
             "{\"role\":\"user\",\"parts\":[{\"text\":\"no\"}]},"
             "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"a\",\"response\":{\"output\":\"late\"}}}]"
             "}]}"),
        "a {} -> 1\nb {} -> 2\na {} -> 3\nlost a {} -> \nuser no\n");
}

/* ---- what is new ---- */

static uint32_t newest[SCAN_NEWEST];

static uint64_t newest_hash(const dialect *d, const char *body, uint64_t *id)
{
    request_scan s = d->scan(str_of(body), newest, false);
    assert_true(s.ok && s.nmessages > 0);
    return dialect_message_hash(dialect_message(&s, newest, s.nmessages - 1), id);
}

static void a_message_is_known_again_in_other_dress(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        const char *one, *other;
        bool same, ids;
    } rows[] = {
        {&dialect_anthropic,
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_01Ab\","
         "\"content\":\"r\",\"cache_control\":{\"type\":\"ephemeral\"}}]}]}",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_01Ab\","
         "\"content\":[{\"type\":\"text\",\"text\":\"r\"}]}]}]}",
         true, true},
        {&dialect_anthropic, "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}]}", true, false},
        {&dialect_openai, "{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"call_9fK2\",\"content\":\"r\"}]}",
         "{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"call_9fK3\",\"content\":\"r\"}]}", false, true},
        {&dialect_openai, "{\"messages\":[{\"role\":\"user\",\"content\":\"r\"}]}",
         "{\"messages\":[{\"role\":\"assistant\",\"content\":\"r\"}]}", false, false},
        {&dialect_gemini, "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]}]}",
         "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"b\"}]}]}", false, false},
        {&dialect_openai_responses,
         "{\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"call_00_bT7q\",\"output\":\"o\"}]}",
         "{\"input\":[{\"type\":\"function_call_output\",\"status\":\"completed\",\"call_id\":\"call_00_bT7q\","
         "\"output\":\"o\"}]}",
         true, true},
        /* Ids that are counted are some conversation's, not this one's. */
        {&dialect_openai, "{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"call_0\",\"content\":\"r\"}]}",
         "{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"r\"}]}", false, false},
        {&dialect_openai,
         "{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"functions.read:12\",\"content\":\"r\"}]}",
         "{\"messages\":[{\"role\":\"tool\",\"tool_call_id\":null,\"content\":\"r\"}]}", false, false},
        /* Nor is what a tool is given. */
        {&dialect_gemini,
         "{\"contents\":[{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{\"id\":\"customer77\"}}}]}]}",
         "{\"contents\":[{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{\"id\":\"customer78\"}}}]}]}", false,
         false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t id, other_id;
        uint64_t one = newest_hash(rows[i].d, rows[i].one, &id);
        assert_int_equal(one == newest_hash(rows[i].d, rows[i].other, &other_id), rows[i].same);
        assert_int_equal(id != 0, rows[i].ids);
    }
}

static void only_the_newest_messages_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        kit_begin();
        request_scan s = runs[i].d->scan(str_of(runs[i].body), newest, false);
        convo c;
        assert_int_equal(dialect_read_newest(runs[i].d, &s, newest, s.nmessages - 1, S(""), &kit_arena, &c), DARUMA_OK);
        size_t on = 0;
        for (size_t m = 0; m < c.nmessages; m++)
            on += !c.messages[m].dropped;
        assert_int_equal(on, 1);
        assert_str(convo_text(&c, &c.messages[c.nmessages - 1].parts[0]), "go on");
        assert_false(dialect_message_results(dialect_message(&s, newest, s.nmessages - 1)));
        bool results = false;
        for (size_t m = 0; m < s.nmessages; m++)
            results |= dialect_message_results(dialect_message(&s, newest, m));
        assert_true(results);
        assert_int_equal(dialect_read_newest(runs[i].d, &s, newest, s.nmessages, S(""), &kit_arena, &c), DARUMA_EINPUT);
    }
}

/* Calls that the provider keeps stand in front of the results that a request brings; its input may be bare words. */
static void calls_that_stand_elsewhere_are_put_in_front(void **state)
{
    (void)state;
    static const daruma_str call =
        LIT("{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"look\",\"arguments\":\"{}\"}");
    static const char *const bodies[] = {
        "{\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"3 pipes\"}]}",
        "{\"input\":\"go on\"}"};
    for (size_t i = 0; i < 2; i++) {
        kit_begin();
        request_scan s = dialect_openai_responses.scan(str_of(bodies[i]), newest, false);
        convo c;
        steps_item item;
        assert_int_equal(dialect_read_newest(&dialect_openai_responses, &s, newest, 0, call, &kit_arena, &c),
                         DARUMA_OK);
        steps_iter it = {.c = &c};
        assert_true(steps_next(&it, &item));
        assert_true(item.what == STEPS_STEP && item.step.lost == (i == 1));
        assert_str(item.step.tool, "look");
        assert_int_equal(steps_next(&it, &item), i == 1);
        if (i == 1)
            assert_str(item.text, "go on");
    }
}

static void of_a_long_history_the_newest_places_are_kept(void **state)
{
    (void)state;
    kit_begin();
    daruma_buf b = buf_in(&kit_arena);
    BUF_LIT(&b, "{\"messages\":[");
    for (int i = 0; i < 3 * SCAN_NEWEST; i++)
        buf_printf(&b, "%s{\"role\":\"user\",\"content\":\"%d\"}", i ? "," : "", i);
    BUF_LIT(&b, "],\"messages\":[{\"role\":\"user\",\"content\":\"a\"}");
    for (int i = 0; i < 2 * SCAN_NEWEST; i++)
        buf_printf(&b, " , {\"role\":\"user\",\"content\":\"n%d\"}", i);
    BUF_LIT(&b, "]}");
    request_scan s = dialect_openai.scan(buf_str(&b), newest, false);
    assert_int_equal(s.nmessages, 2 * SCAN_NEWEST + 1); /* of duplicate keys the last wins */
    assert_str(dialect_message(&s, newest, s.nmessages - 1), "{\"role\":\"user\",\"content\":\"n127\"}");
    assert_str(dialect_message(&s, newest, s.nmessages - SCAN_NEWEST), "{\"role\":\"user\",\"content\":\"n64\"}");
    assert_int_equal(dialect_message(&s, newest, s.nmessages - SCAN_NEWEST - 1).n, 0);
}

/* ---- what the model is shown ---- */

static void a_notice_stands_at_the_end_and_before_it_nothing_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        kit_begin();
        mend_report rep = {0};
        convo c;
        assert_int_equal(runs[i].d->read(str_of(runs[i].body), &kit_arena, &c), DARUMA_OK);
        assert_true(mend_notice(&c, S("look out"), &rep));
        daruma_str out = kit_write(runs[i].d->write, &c), was = str_of(runs[i].body);
        size_t same = 0;
        while (same < out.n && same < was.n && out.p[same] == was.p[same])
            same++;
        assert_true(same > str_find(was, S("go on")) - 80); /* the newest message at most is written anew */
        assert_true(str_find(out, S("look out")) > str_find(out, S("go on")));
        request_scan s = runs[i].d->scan(out, newest, false);
        assert_true(s.ok && str_find(dialect_message(&s, newest, s.nmessages - 1), S("look out")) != STR_NONE);
    }
}

static void failed_results_are_shown_compactly_and_resolved_ones_hidden(void **state)
{
    (void)state;
    kit_begin();
    daruma_buf b = buf_in(&kit_arena);
    BUF_LIT(&b, "{\"messages\":[{\"role\":\"user\",\"content\":\"u\"}");
    static const struct {
        const char *args;
        bool fails;
    } steps[] = {{"1", true}, {"2", true}, {"3", true}, {"4", true}, {"5", true}, {"1", false}};
    for (size_t i = 0; i < COUNT(steps); i++) {
        buf_printf(&b,
                   ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t%zu\",\"name\":\"f\","
                   "\"input\":{\"path\":\"%s\"}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
                   "\"tool_use_id\":\"t%zu\",\"is_error\":%s,\"content\":\"%s",
                   i, steps[i].args, i, steps[i].fails ? "true" : "false",
                   steps[i].fails ? "Error: no such file" : "fine");
        for (int k = 0; k < 40 && steps[i].fails; k++)
            BUF_LIT(&b, "\\n    at frame (/srv/app/node_modules/x/y.js:1:2)");
        BUF_LIT(&b, "\"}]}");
    }
    BUF_LIT(&b, "]}");
    convo c;
    assert_int_equal(dialect_anthropic.read(buf_str(&b), &kit_arena, &c), DARUMA_OK);
    const daruma_policy *p = daruma_policy_find(S("default"));
    assert_int_equal(watch_compact_errors(&c, p), 5);
    daruma_str out = kit_write(dialect_anthropic.write, &c);
    size_t blocks = 0;
    for (size_t at = 0; (at = str_find(str_from(out, at), S("<error>")) == STR_NONE
                                  ? STR_NONE
                                  : at + str_find(str_from(out, at), S("<error>")) + 1) != STR_NONE;)
        blocks++;
    assert_int_equal(blocks, p->watch.shown_max);
    assert_true(str_find(out, S("was reached later")) != STR_NONE);
    assert_true(str_find(out, S("node_modules")) == STR_NONE);
    assert_false(kit_pairs_broken(&c));
    assert_int_equal(watch_compact_errors(&c, p), 0); /* twice is as once */
}

static void a_stopped_run_leaves_what_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        kit_begin();
        convo c;
        daruma_buf out = buf_in(&kit_arena);
        daruma_verdict v = {.circle = DARUMA_CIRCLE_REPEAT, .period = 1, .times = 3, .first = 1, .step = 3};
        daruma_step last = {.tool = S("read"), .args = S("{}"), .result = S("one"), .ok = 1};
        assert_int_equal(runs[i].d->read(str_of(runs[i].body), &kit_arena, &c), DARUMA_OK);
        watch_partial(&c, &v, &last, &out);
        daruma_str text = buf_str(&out);
        assert_true(str_find(text, S("last words were: Hm.")) != STR_NONE);
        assert_true(str_find(text, S("- read: one")) != STR_NONE && str_find(text, S("- read: two")) != STR_NONE);
    }
}

/* A tool printed a path, `failures` calls failed behind it; the path that is found for its name. */
static daruma_str path_behind(int failures)
{
    daruma_buf b = {0};
    kit_begin();
    b = buf_in(&kit_arena);
    BUF_LIT(&b, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"go\"}");
    for (int i = 0; i <= failures; i++)
        buf_printf(&b,
                   ",{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c%d\",\"type\":\"function\",\"function\":"
                   "{\"name\":\"read\",\"arguments\":\"{}\"}}]},"
                   "{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"%s\"}",
                   i, i, i ? "Error: no such file" : "src/executor/progress.ts:50: class");
    BUF_LIT(&b, "]}");
    convo c = {0};
    assert_int_equal(dialect_openai.read(buf_str(&b), &kit_arena, &c), DARUMA_OK);
    return paths_printed(&c, S("{\"path\":\"progress.ts\"}"));
}

static void a_path_is_looked_for_in_the_newest_results_failed_ones_as_well(void **state)
{
    (void)state;
    assert_true(str_eq(path_behind(1), S("src/executor/progress.ts")));
    assert_true(str_eq(path_behind(AGENT_PATH_RESULTS - 1), S("src/executor/progress.ts")));
    assert_int_equal(path_behind(AGENT_PATH_RESULTS).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_history_is_read_call_by_call_in_every_dialect),
        cmocka_unit_test(a_call_that_still_waits_is_no_step),
        cmocka_unit_test(a_history_is_read_in_one_go_whatever_it_repeats),
        cmocka_unit_test(results_without_ids_answer_in_the_order_of_their_calls),
        cmocka_unit_test(a_message_is_known_again_in_other_dress),
        cmocka_unit_test(only_the_newest_messages_are_read),
        cmocka_unit_test(calls_that_stand_elsewhere_are_put_in_front),
        cmocka_unit_test(of_a_long_history_the_newest_places_are_kept),
        cmocka_unit_test(a_notice_stands_at_the_end_and_before_it_nothing_changes),
        cmocka_unit_test(failed_results_are_shown_compactly_and_resolved_ones_hidden),
        cmocka_unit_test(a_stopped_run_leaves_what_is_known),
        cmocka_unit_test(a_path_is_looked_for_in_the_newest_results_failed_ones_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
