/* test_chaos_loops.c - models that go in circles until a request tells them to stop, and requests that are kept. */
#include "test.h"
#include "chaos_kit.h"
#include "chaos/turns.h"
#include "base/arena.h"
#include <openssl/evp.h>

static char room[1 << 20];

// clang-format off
#define C "/v1/chat/completions"
#define M "/v1/messages"
#define R "/v1/responses"
#define G "/v1beta/models/m:generateContent"
#define S_ "{\"type\":\"object\",\"properties\":{}}"

/* A request of an agent in each wire: a task, a call, its result, then whatever `more` adds. */
#define CHAT_(stream, result, more, rest) "{\"model\":\"m\"," stream "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"parameters\":" S_ "}}]" rest ",\"messages\":[{\"role\":\"user\",\"content\":\"stop it\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"" result "\"}" more "]}"
#define MSGS_(stream, result, more, rest) "{\"model\":\"m\"," stream "\"max_tokens\":99,\"system\":\"Never stop.\",\"tools\":[{\"name\":\"a\",\"input_schema\":" S_ "}]" rest ",\"messages\":[{\"role\":\"user\",\"content\":\"stop it\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"" result "\"}" more "]}]}"
#define RESP_(stream, result, more, rest) "{\"model\":\"m\"," stream "\"instructions\":\"Never stop.\",\"store\":false,\"tools\":[{\"type\":\"function\",\"name\":\"a\",\"parameters\":" S_ "}]" rest ",\"input\":[{\"role\":\"user\",\"content\":\"stop it\"},{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"a\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"" result "\"}" more "]}"
#define GEM_(stream, result, more, rest) "{\"tools\":[{\"functionDeclarations\":[{\"name\":\"a\",\"parameters\":" S_ "}]}]" rest ",\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"stop it\"}]},{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"a\",\"args\":{}}}]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"a\",\"response\":{\"output\":\"" result "\"}}}" more "]}]}"

#define STREAM "\"stream\":true,"
static const struct wire_row {
    const char *path, *streamed;                  /* where plain and streamed answers are asked for */
    const char *goes, *told, *inside, *goes_stream; /* nothing tells; told behind the result; within it */
    const char *toolless;                         /* the tools are switched off */
    const char *call, *word;                      /* how `b` called and "done" said look, plain or streamed */
} wires[] = {
    {C, C, CHAT_("", "x", "", ""), CHAT_("", "x", ",{\"role\":\"user\",\"content\":\"Please STOP it.\"}", ""), CHAT_("", "x, so stop", "", ""), CHAT_(STREAM, "x", "", ""), CHAT_("", "x", "", ",\"tool_choice\":\"none\""), "\"name\":\"b\"", "\"content\":\"done\""},
    {M, M, MSGS_("", "x", "", ""), MSGS_("", "x", ",{\"type\":\"text\",\"text\":\"Please STOP it.\"}", ""), MSGS_("", "x, so stop", "", ""), MSGS_(STREAM, "x", "", ""), MSGS_("", "x", "", ",\"tool_choice\":{\"type\":\"none\"}"), "\"name\":\"b\"", "\"text\":\"done\""},
    {R, R, RESP_("", "x", "", ""), RESP_("", "x", ",{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"Please STOP it.\"}]}", ""), RESP_("", "x, so stop", "", ""), RESP_(STREAM, "x", "", ""), RESP_("", "x", "", ",\"tool_choice\":\"none\""), "\"name\":\"b\"", "\"text\":\"done\""},
    {G, "/v1beta/models/m:streamGenerateContent?alt=sse", GEM_("", "x", "", ""), GEM_("", "x", ",{\"text\":\"Please STOP it.\"}", ""), GEM_("", "x, so stop", "", ""), GEM_("", "x", "", ""), GEM_("", "x", "", ",\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"NONE\"}}"), "\"name\":\"b\"", "\"text\":\"done\""},
};
// clang-format on

static heard h;

/* Asks, and the answer must hold that. */
static void says(rig *r, const char *path, const char *body, const char *what)
{
    call_for(r, path, body, 2000, &h);
    if (!holds(&h, what))
        fail_msg("%s: not %s but %s", body, what, h.text);
}

static void must_hold(rig *r)
{
    control(r, "POST", "/chaos/finish", "", &h);
    if (!holds(&h, "{\"ok\":true"))
        fail_msg("%s", h.text);
}

static void a_lap_is_run_round_and_round_until_a_text_of_the_newest_turn_says_so(void **state)
{
    (void)state;
    for (size_t w = 0; w < 4; w++) {
        const struct wire_row *x = &wires[w];
        rig r;
        rig_up(&r, "models:\n  m:\n    loop:\n"
                   "      lap: [ { call: a, arguments: { at: \"{n}\" } }, { call: c, times: 2 } ]\n"
                   "      until: { text: \"please stop\" }\n"
                   "      then: [ { call: b }, done ]\n"
                   "expect: { circled: { m: 5 }, told: 1, listened: { m: 1 }, answered: 8 }\n");
        says(&r, x->path, x->goes, "at");
        says(&r, x->streamed, x->goes_stream,
             "\"name\":\"c\""); /* the task says "stop it", and is not the newest turn */
        says(&r, x->path, x->inside, "\"name\":\"c\"");
        says(&r, x->path, x->goes, "4"); /* the number of the answer */
        says(&r, x->path, x->goes, "\"name\":\"c\"");
        says(&r, x->path, x->told, x->call);
        says(&r, x->streamed, x->goes_stream, x->word);               /* once told it needs no second word */
        says(&r, x->path, x->goes, "The tools answered. a said: x."); /* behind the last: by the request alone */
        must_hold(&r);
        rig_down(&r);
    }
}

static void a_text_within_a_result_tells_as_well_as_one_behind_it(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        bool told, inside;
    } rows[] = {
        {"models: { m: { loop: { lap: [ x ], until: { text: \"SO stop|Please Stop\" } } } }", true, true},
        {"models: { m: { loop: { lap: [ x ], until: { text: \"^x, so .{3}p$\" } } } }", false, true},
        {"models: { m: { loop: { lap: [ x ], until: { text: \"^please [a-z]+ it[.]$\" } } } }", true, false},
        {"models: { m: { loop: { lap: [ x ], until: { text: \"never|tool|user|call|^a$|^t1$\" } } } }", false, false},
        {"models: { m: { loop: { lap: [ x ], until: never } } }", false, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        conf_mistakes err;
        script *s = script_read(str_of(rows[i].script), NULL, &err);
        assert_non_null(s);
        for (size_t w = 0; w < 4; w++) {
            daruma_arena a = arena_over(room, sizeof room);
            const struct wire_row *x = &wires[w];
            const struct {
                const char *body;
                bool told;
            } asks[] = {{x->goes, false},
                        {x->goes_stream, false},
                        {x->toolless, false},
                        {x->told, rows[i].told},
                        {x->inside, rows[i].inside}};
            for (size_t k = 0; k < 5; k++) {
                ask q = read_ask(x->path, asks[k].body, &a);
                assert_true(q.tooled);
                assert_int_equal(loop_told(&s->models[0].loop, &q, &a), asks[k].told);
            }
        }
        script_drop(s);
    }
}

static void tools_that_are_taken_away_end_a_loop_that_listens_to_that(void **state)
{
    (void)state;
    for (size_t w = 0; w < 4; w++) {
        const struct wire_row *x = &wires[w];
        rig r;
        rig_up(&r,
               "models: { m: { loop: { lap: [ { call: a } ], until: { tools: none, text: stop }, then: [ { call: b }, "
               "{ text: done } ] } } }\nexpect: { circled: 2, told: 1, listened: 1 }");
        says(&r, x->path, x->goes, "\"name\":\"a\"");
        says(&r, x->streamed, x->goes_stream, "\"name\":\"a\"");
        says(&r, x->path, x->toolless, x->word); /* a call that it would make then is left out */
        must_hold(&r);
        rig_down(&r);
    }
}

static void what_is_ignored_is_counted_and_what_never_listens_goes_on(void **state)
{
    (void)state;
    for (size_t w = 0; w < 4; w++) {
        const struct wire_row *x = &wires[w];
        rig r;
        rig_up(&r,
               "models: { m: { loop: { lap: [ { call: a } ], until: { text: stop }, ignores: 2, then: [ done ] } } }\n"
               "expect: { circled: 3, told: { m: 3 }, listened: 1 }");
        says(&r, x->path, x->told, "\"name\":\"a\"");
        says(&r, x->path, x->goes, "\"name\":\"a\"");
        says(&r, x->path, x->told, "\"name\":\"a\"");
        says(&r, x->path, x->told, x->word);
        must_hold(&r);
        control(&r, "POST", "/chaos/script",
                "models: { m: { loop: { lap: [ { call: a } ], until: never } } }\nexpect: { told: 0, circled: 3 }", &h);
        control(&r, "POST", "/chaos/reset", "", &h);
        says(&r, x->path, x->told, "\"name\":\"a\"");
        says(&r, x->path, x->inside, "\"name\":\"a\"");
        says(&r, x->path, x->toolless, "\"name\":\"a\"");
        must_hold(&r);
        rig_down(&r);
    }
}

/* A broken answer moves nothing; a question without tools is none of the agent's turns; a reset begins anew. */
static void only_good_turns_of_the_agent_move_a_loop(void **state)
{
    (void)state;
    rig r;
    rig_up(&r, "models:\n  m:\n    answers: [ { call: first } ]\n    loop:\n      lap: [ { call: a }, { call: c } ]\n"
               "      until: { text: please stop }\n      then: [ done ]\n"
               "faults: [ { skip: 2, times: 1, kind: server_error }, { skip: 4, times: 1, kind: overloaded } ]");
    says(&r, C, CHAT_("", "x", "", ""), "\"name\":\"first\"");
    says(&r, C, CHAT_("", "x", "", ""), "\"name\":\"a\"");
    says(&r, C, CHAT_("", "x", "", ""), "HTTP/1.1 500");
    says(&r, C, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"say please stop\"}]}",
         "\"content\":\"please stop\"");
    says(&r, C, CHAT_("", "x", "", ""), "\"name\":\"c\"");
    says(&r, C, CHAT_("", "please stop", "", ""), "HTTP/1.1 503");
    says(&r, C, CHAT_("", "x", "", ""), "\"name\":\"a\"");
    control(&r, "GET", "/chaos/report", "", &h);
    assert_true(holds(&h, "\"circled\":{\"m\":3},\"told\":{},\"listened\":{}"));
    says(&r, C, CHAT_("", "please stop", "", ""), "\"content\":\"done\"");
    control(&r, "GET", "/chaos/report", "", &h);
    assert_true(holds(&h, "\"circled\":{\"m\":3},\"told\":{\"m\":1},\"listened\":{\"m\":1}"));
    control(&r, "POST", "/chaos/reset", "", &h);
    control(&r, "POST", "/chaos/script", "faults: []", &h); /* and a model that is taken over goes on */
    says(&r, C, CHAT_("", "x", "", ""), "\"name\":\"first\"");
    says(&r, C, CHAT_("", "x", "", ""), "\"name\":\"a\"");
    control(&r, "POST", "/chaos/script", "seed: 2", &h);
    says(&r, C, CHAT_("", "x", "", ""), "\"name\":\"c\"");
    rig_down(&r);
}

/* With previous_response_id only what is new is sent: all of it is the newest turn. */
static void who_goes_on_with_what_is_stored_is_told_too(void **state)
{
    (void)state;
    conf_mistakes err;
    daruma_arena a = arena_over(room, sizeof room);
    script *s = script_read(S("models: { m: { loop: { lap: [ x ], until: { text: stop } } } }"), NULL, &err);
    assert_non_null(s);
    ask q =
        read_ask(R,
                 "{\"model\":\"m\",\"previous_response_id\":\"resp_1\",\"input\":[{\"type\":\"function_call_output\","
                 "\"call_id\":\"c\",\"output\":\"x\"},{\"role\":\"user\",\"content\":\"stop\"}]}",
                 &a);
    assert_int_equal(q.nnewest, 2);
    assert_true(q.tooled && loop_told(&s->models[0].loop, &q, &a));
    q = read_ask(R, "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"stop\"}]}", &a);
    assert_int_equal(q.nnewest, 0);
    assert_false(q.tooled || loop_told(&s->models[0].loop, &q, &a));
    script_drop(s);
}

static void google_gives_its_calls_ids_where_the_script_says_so(void **state)
{
    (void)state;
    rig r;
    rig_up(&r, "models: { m: { call_ids: true, answers: [ { call: a, times: 2 } ] } }");
    for (size_t i = 0; i < 2; i++)
        says(&r, i ? G : wires[3].streamed, wires[3].goes, "{\"functionCall\":{\"id\":\"call_");
    control(&r, "POST", "/chaos/script", "models: { m: { answers: [ { call: a, times: 2 } ] } }", &h);
    says(&r, G, wires[3].goes, "{\"functionCall\":{\"name\":\"a\"");
    rig_down(&r);
}

/* ---- requests that are kept ------------------------------------------------------------------------------ */

static void sha256_of(const char *s, char out[65])
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n;
    assert_true(EVP_Digest(s, strlen(s), sum, &n, EVP_sha256(), NULL));
    for (unsigned i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

static void the_newest_requests_are_kept_byte_for_byte(void **state)
{
    (void)state;
    static const char odd[] = "{ \"model\":\"m\",  \"messages\":[{\"role\":\"user\",\"content\":\"say \\u0061\"}]}\n";
    char sum[65], row[256];
    rig r;
    rig_up(&r, "keep: 2\nkeys: { sk-test-key: { account: a } }");
    says(&r, C, CHAT_("", "x", "", ""), "HTTP/1.1 200");
    says(&r, C, odd, "HTTP/1.1 200");
    says(&r, M, "no JSON", "HTTP/1.1 400");
    control(&r, "GET", "/chaos/requests", "", &h);
    sha256_of(odd, sum);
    snprintf(row, sizeof row,
             "{\"requests\":[{\"number\":2,\"path\":\"" C "\",\"model\":\"m\",\"key\":\"key1\",\"status\":200,"
             "\"bytes\":%zu,\"sha256\":\"%s\"},{\"number\":3,",
             strlen(odd), sum);
    if (!holds(&h, row) || holds(&h, "sk-test-key"))
        fail_msg("not %s but %s", row, h.text);
    control(&r, "GET", "/chaos/requests/2", "", &h);
    assert_true(holds(&h, odd) && holds(&h, "HTTP/1.1 200"));
    control(&r, "GET", "/chaos/requests/1", "", &h);
    assert_true(holds(&h, "HTTP/1.1 404"));
    control(&r, "GET", "/chaos/requests/x", "", &h);
    assert_true(holds(&h, "HTTP/1.1 404"));
    control(&r, "POST", "/chaos/script", "keep: 0", &h); /* what is kept stays until the next call */
    control(&r, "GET", "/chaos/requests/2", "", &h);
    assert_true(holds(&h, "HTTP/1.1 200"));
    control(&r, "POST", "/chaos/reset", "", &h);
    says(&r, C, odd, "HTTP/1.1 200");
    control(&r, "GET", "/chaos/requests", "", &h);
    assert_true(holds(&h, "{\"requests\":[]}"));
    rig_down(&r);
}

/* ---- scripts ------------------------------------------------------------------------------------------------ */

static void a_wrong_word_in_a_loop_says_what_was_meant(void **state)
{
    (void)state;
#define LOOP(text) "models: { m: { loop: " text " } }"
    static const char *const rows[][2] = {
        {LOOP("{ lap: [ x ] }"), "`until` is missing; add it: never, { text: EXPRESSION } or { tools: none }"},
        {LOOP("{ until: never }"), "`lap` is missing; add it: a list of answers, given round and round"},
        {LOOP("{ lap: x, until: never }"), "expected a list, found a single value; begin each element with \"- \""},
        {LOOP("{ lap: [ x ], until: told }"),
         "expected never, { text: EXPRESSION } or { tools: none }, found \"told\""},
        {LOOP("{ lap: [ x ], until: {} }"), "it is empty; give a `text` or `tools: none`, or write never in its place"},
        {LOOP("{ lap: [ x ], until: { txt: a } }"), "unknown key `txt`; did you mean `text`?"},
        {LOOP("{ lap: [ x ], until: { tools: some } }"), "expected none, found \"some\""},
        {LOOP("{ lap: [ x ], until: { text: \"\" } }"), "expected a regular expression, found \"\""},
        {LOOP("{ lap: [ x ], until: never, then: [ y ] }"), "what never listens has no `then` and ignores everything"},
        {LOOP("{ lap: [ { text: x, times: 0 } ], until: never }"), "in a lap `times` is 1 at least"},
        {LOOP("{ lapp: [ x ], until: never }"), "unknown key `lapp`; did you mean `lap`?"},
        {"keep: some", "expected a whole number from 0 on, found \"some\""},
    };
    conf_mistakes err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_null(script_read(str_of(rows[i][0]), NULL, &err));
        assert_string_equal(mistake(&err), rows[i][1]);
    }
    assert_null(script_read(S(LOOP("{ lap: [ x ], until: { text: \"(a\" } }")), NULL, &err));
    assert_true(str_starts(str_of(mistake(&err)), S("`(a` is no regular expression: ")));
}

static void the_example_is_read(void **state)
{
    (void)state;
    daruma_arena a = arena_over(room, sizeof room);
    conf_mistakes err;
    daruma_str yaml;
    char why[256];
    if (!sys_read_file("examples/chaos-loop.yaml", sizeof room / 2, &a, &yaml, why))
        fail_msg("%s", why);
    script *s = script_read(yaml, NULL, &err);
    if (!s)
        fail_msg("%d:%d: %s", err.at[0].line, err.at[0].column, mistake(&err));
    assert_int_equal(s->nmodels, 4);
    script_drop(s);
    for (size_t n = 0; n < yaml.n; n++) /* and each part of it does no harm */
        script_drop(script_read(str_sub(yaml, 0, n), NULL, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lap_is_run_round_and_round_until_a_text_of_the_newest_turn_says_so),
        cmocka_unit_test(a_text_within_a_result_tells_as_well_as_one_behind_it),
        cmocka_unit_test(tools_that_are_taken_away_end_a_loop_that_listens_to_that),
        cmocka_unit_test(what_is_ignored_is_counted_and_what_never_listens_goes_on),
        cmocka_unit_test(only_good_turns_of_the_agent_move_a_loop),
        cmocka_unit_test(who_goes_on_with_what_is_stored_is_told_too),
        cmocka_unit_test(google_gives_its_calls_ids_where_the_script_says_so),
        cmocka_unit_test(the_newest_requests_are_kept_byte_for_byte),
        cmocka_unit_test(the_example_is_read),
        cmocka_unit_test(a_wrong_word_in_a_loop_says_what_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
