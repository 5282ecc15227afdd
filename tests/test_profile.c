/* The seeds' own judgement, events and words, as rows of their profiles. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"

static char memory[1 << 20];

static const daruma_policy *profile(const char *name)
{
    const daruma_policy *p = daruma_policy_find(str_of(name));
    assert_non_null(p);
    return p;
}

static daruma_failure judged(const daruma_policy *p, int status, daruma_net net, const char *body)
{
    static char room[1 << 18];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_evidence ev = {.status = status, .net = net, .body = str_of(body), .took = -1};
    daruma_failure f = daruma_classify(&ev, at(0), &a);
    return daruma_judge(p, &ev, &f);
}

static void profiles_are_found_with_their_variants(void **state)
{
    (void)state;
    assert_string_equal(profile("penguiflow")->variant, "doc");
    assert_string_equal(daruma_policy_variant(S("swarm"), S("code"))->variant, "code");
    assert_ptr_equal(daruma_policy_variant(S("default"), S("doc")), profile("default"));
    assert_null(daruma_policy_variant(S("swarm"), S("other")));
    for (size_t i = 0; daruma_policy_name(i); i++) {
        const daruma_policy *p = profile(daruma_policy_name(i));
        assert_true(p->nrungs <= DARUMA_CASE_RUNGS);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(daruma_policy_name(i), daruma_policy_name(j));
        if (p->nrules) { /* whatever comes is judged */
            const daruma_rule_row *last = &p->rules[p->nrules - 1];
            assert_true(last->from == 0 && last->to == 999 && last->was < 0 && !last->words);
        }
    }
}

static void penguiflow_judges_in_its_order_with_its_mistakes(void **state)
{
    (void)state;
    static const struct {
        int status;
        daruma_net net;
        const char *body, *type;
    } rows[] = {
        {429, DARUMA_NET_NONE, "{\"error\":{\"message\":\"context length limit\"}}", "rate_limit"},
        {400, DARUMA_NET_NONE, "{\"error\":{\"message\":\"Input is too long\"}}", "context_length_exceeded"},
        {413, DARUMA_NET_NONE, "{\"error\":{\"message\":\"too many tokens\"}}", "context_length_exceeded"},
        {400, DARUMA_NET_NONE, "{\"error\":{\"message\":\"max_tokens: must be >= 1\"}}", "context_length_exceeded"},
        {400, DARUMA_NET_NONE, "{\"error\":{\"message\":\"prompt is too long\"}}", "bad_request_other"},
        {400, DARUMA_NET_NONE, "{\"error\":{\"message\":\"litellm.ContextWindowExceededError: full\"}}", "unknown"},
        {500, DARUMA_NET_NONE, "", "service_unavailable"},
        {504, DARUMA_NET_NONE, "", "timeout"},
        {401, DARUMA_NET_NONE, "", "unknown"},
        {0, DARUMA_NET_FIRST_BYTE_TIMEOUT, "", "timeout"},
        {0, DARUMA_NET_REFUSED, "", "unknown"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_failure f =
            judged(daruma_policy_variant(S("penguiflow"), S("code")), rows[i].status, rows[i].net, rows[i].body);
        assert_string_equal(f.type, rows[i].type);
    }
    /* the document has three words for a context that is too long, and no type for timeouts */
    const daruma_policy *doc = profile("penguiflow");
    assert_string_equal(judged(doc, 504, DARUMA_NET_NONE, "").type, "unknown");
    assert_string_equal(judged(doc, 0, DARUMA_NET_FIRST_BYTE_TIMEOUT, "").type, "unknown");
    assert_string_equal(judged(doc, 503, DARUMA_NET_NONE, "").type, "service_unavailable");
    assert_string_equal(judged(doc, 500, DARUMA_NET_NONE, "").type, "unknown");
    assert_string_equal(judged(doc, 400, DARUMA_NET_NONE, "{\"error\":{\"message\":\"token limit\"}}").type,
                        "bad_request_other");
}

/* What a lower layer tries comes first, with its own waits and once; then the upper one goes on. */
static void layers_make_one_ladder(void **state)
{
    static char bytes[64 << 10];
    daruma_arena a = {.beg = bytes, .end = bytes + sizeof bytes};
    (void)state;
    const daruma_policy *p = daruma_policy_stack(S("swarm, ruby-llm"), &a);
    assert_non_null(p);
    assert_string_equal(p->profile, "swarm/doc,ruby-llm");
    size_t at = 0;
    while (p->rungs[at].kind != DARUMA_SERVER_ERROR)
        at++;
    assert_int_equal(p->rungs[at].after, DARUMA_QUICK);
    assert_int_equal(p->rungs[at].times, 3);
    assert_int_equal(p->rungs[at + 1].after, DARUMA_GROW);
    assert_int_equal(p->quick.base, 100);
    assert_int_equal(p->kinds[DARUMA_SERVER_ERROR].backoff.base, 15000);
    assert_int_equal(p->kinds[DARUMA_SERVER_ERROR].max_attempts, 7);
    assert_string_equal(judged(p, 401, DARUMA_NET_NONE, "").type, "Unauthorized");
    /* where only the lower one waits, its backoff holds, and its judgement comes first */
    p = daruma_policy_stack(S("[penguiflow:code, penguiflow-client]"), &a);
    assert_non_null(p);
    assert_int_equal(p->kinds[DARUMA_OVERLOADED].backoff.base, 1000);
    assert_string_equal(judged(p, 503, DARUMA_NET_NONE, "").type, "service_unavailable");
    assert_int_equal(judged(p, 503, DARUMA_NET_NONE, "").kind, DARUMA_OVERLOADED);
    assert_int_equal(judged(p, 400, DARUMA_NET_NONE, "{\"error\":{\"message\":\"Input is too long\"}}").kind,
                     DARUMA_CONTEXT_LENGTH);
    /* one name is that profile itself */
    assert_ptr_equal(daruma_policy_stack(S("swarm code"), &a), daruma_policy_variant(S("swarm"), S("code")));
    assert_null(daruma_policy_stack(S("swarm,nobody"), &a));
    assert_null(daruma_policy_stack(S(","), &a));
    assert_null(daruma_policy_stack((daruma_str){0}, &a));
    for (size_t n = 0; n < 4000; n += 64) { /* too little memory is none */
        daruma_arena few = {.beg = bytes, .end = bytes + n};
        p = daruma_policy_stack(S("swarm,ruby-llm"), &few);
        assert_true(!p || p->nrungs > 0);
    }
}

static void swarm_judges_by_status_and_hears_no_advice(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *type;
        daruma_kind kind;
    } rows[] = {
        {400, "{\"error\":{\"message\":\"`tool_use` ids were found\"}}", "BadRequest", DARUMA_ORPHAN_TOOL_CALL},
        {400, "{\"error\":{\"message\":\"Invalid JSON format\"}}", "BadRequest", DARUMA_INVALID_MESSAGE},
        {402, "", "PaymentRequired", DARUMA_QUOTA},
        {422, "", "UnprocessableEntity", DARUMA_INVALID_PARAMETER},
        {409, "", "ClientError", DARUMA_UNKNOWN},
        {504, "", "UnknownAPIError", DARUMA_UNKNOWN},
        {529, "", "Overloaded", DARUMA_OVERLOADED},
        {0, "", "StandardError", DARUMA_NETWORK},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_failure f = judged(profile("swarm"), rows[i].status, DARUMA_NET_NONE, rows[i].body);
        assert_string_equal(f.type, rows[i].type);
        assert_int_equal(f.kind, rows[i].kind);
        assert_int_equal(f.wait, -1);
    }
}

static void without_rules_of_its_own_a_profile_judges_as_daruma(void **state)
{
    (void)state;
    daruma_failure f = judged(profile("default"), 429, DARUMA_NET_NONE, "{\"error\":{\"message\":\"slow down\"}}");
    assert_int_equal(f.kind, DARUMA_RATE_LIMIT);
    assert_null(f.type);
}

static daruma_str explained(const daruma_policy *p, const daruma_failure *f)
{
    daruma_case c = {.policy = p, .target = -1};
    daruma_buf b = buf_over(memory, sizeof memory);
    daruma_explain(f, &c, &b);
    return buf_str(&b);
}

static void each_seed_speaks_in_its_own_words(void **state)
{
    (void)state;
    daruma_failure f =
        judged(profile("swarm"), 401, DARUMA_NET_NONE, "{\"error\":{\"message\":\"invalid x-api-key\"}}");
    assert_str(explained(profile("swarm"), &f),
               "I encountered an error while processing your request:\n\n**Error Type:** UnauthorizedError\n"
               "**Status Code:** 401\n**Message:** invalid x-api-key\n\nThis error indicates a problem that cannot be "
               "automatically recovered. Please check your API credentials.");
    f.status = 0; /* a line that knows nothing is left out */
    assert_str(explained(profile("swarm"), &f),
               "I encountered an error while processing your request:\n\n**Error Type:** UnauthorizedError\n"
               "**Message:** invalid x-api-key\n\nThis error indicates a problem that cannot be automatically "
               "recovered. Please check your API credentials.");
    f = judged(profile("penguiflow"), 400, DARUMA_NET_NONE, "{\"error\":{\"message\":\"Invalid request format\"}}");
    assert_str(explained(profile("penguiflow"), &f),
               "I'm sorry, but I encountered an issue while processing your request: Invalid request format. Please "
               "try again or rephrase your question.");
}

/* The name told of, "" for silence. */
static const char *told(const char *name, daruma_when when, daruma_kind kind, daruma_remedy_kind remedy,
                        uint8_t shrinks)
{
    daruma_target t = {0};
    daruma_case c = {.policy = daruma_policy_stack(str_of(name), NULL),
                     .targets = &t,
                     .ntargets = 1,
                     .shrinks = shrinks,
                     .attempts = 2};
    daruma_failure f = {.kind = kind};
    daruma_remedy r = {.remedy = remedy};
    daruma_event e = DARUMA_EVENT_INIT;
    e.failure = &f;
    e.remedy = &r;
    return daruma_event_when(&e, when, &c) ? e.name : "";
}
#define TOLD(p, when, kind, remedy, shrinks) told(p, DARUMA_WHEN_##when, DARUMA_##kind, DARUMA_REMEDY_##remedy, shrinks)

static void each_seed_tells_under_its_own_names(void **state)
{
    (void)state;
    assert_string_equal(TOLD("default", FAILED, TIMEOUT, NONE, 0), "llm_request_failed");
    assert_string_equal(TOLD("default", MENDED, CONTEXT_LENGTH, COMPACT, 1), "trajectory_compressed");
    assert_string_equal(TOLD("default", MENDED, ORPHAN_TOOL_CALL, REPAIR_HISTORY, 0), "history_repaired");
    assert_string_equal(TOLD("default", GIVEN_UP, TIMEOUT, EXPLAIN, 0), "error_recovery_failed");
    assert_string_equal(TOLD("penguiflow", FAILED, TIMEOUT, NONE, 0), "error_recovery_attempt");
    assert_string_equal(TOLD("penguiflow", AGAIN, CONTEXT_LENGTH, SUMMARISE, 1), "");
    assert_string_equal(TOLD("penguiflow/code", RECOVERED, CONTEXT_LENGTH, SUMMARISE, 1), "");
    assert_string_equal(TOLD("penguiflow", RECOVERED, CONTEXT_LENGTH, SUMMARISE, 1), "error_recovery_success");
    assert_string_equal(TOLD("penguiflow/code", GIVEN_UP, CONTEXT_LENGTH, EXPLAIN, 0),
                        ""); /* nothing was large: silence */
    assert_string_equal(TOLD("penguiflow", GIVEN_UP, CONTEXT_LENGTH, EXPLAIN, 1), "error_recovery_failed");
    assert_string_equal(TOLD("penguiflow", GIVEN_UP, INVALID_MESSAGE, EXPLAIN, 0), "error_recovery_success");
    assert_string_equal(TOLD("swarm", FAILED, RATE_LIMIT, NONE, 0), "");
    assert_string_equal(TOLD("swarm", AGAIN, ORPHAN_TOOL_CALL, REPAIR_HISTORY, 0), "");
    assert_string_equal(TOLD("swarm", EXHAUSTED, SERVER_ERROR, NONE, 0), "llm_retry_exhausted");
    assert_string_equal(TOLD("swarm", GIVEN_UP, AUTH, EXPLAIN, 0), "llm_request_failed");
}

static void an_event_of_mending_says_what_was_done(void **state)
{
    (void)state;
    daruma_case c = {.policy = profile("default"), .shrinks = 2};
    daruma_remedy r = {.remedy = DARUMA_REMEDY_SUMMARISE};
    daruma_event e = DARUMA_EVENT_INIT;
    e.remedy = &r;
    e.case_id = 0xda00000000000000;
    assert_true(daruma_event_when(&e, DARUMA_WHEN_MENDED, &c));
    e.steps_compressed = 2;
    e.original_size = 6223;
    e.compressed_size = 287;
    daruma_buf b = buf_over(memory, sizeof memory);
    daruma_event_write(&e, &b);
    assert_str(buf_str(&b), "{\"event\":\"trajectory_compressed\",\"case\":\"da00000000000000\",\"remedy\":"
                            "\"summarise_observations\",\"delay_ms\":0,\"attempt\":2,\"reason\":\"context_length\","
                            "\"steps_compressed\":2,\"original_size_chars\":6223,\"compressed_size_chars\":287,"
                            "\"strategy\":\"summarise\"}\n");
    b = buf_over(memory, sizeof memory);
    e.what = S("2 texts were summarised");
    daruma_event_say(&e, &b);
    assert_str(buf_str(&b),
               "da000000  trajectory_compressed  -> summarise_observations  call 2  context_length  2 texts "
               "were summarised  6223 -> 287 characters\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_are_found_with_their_variants),
        cmocka_unit_test(penguiflow_judges_in_its_order_with_its_mistakes),
        cmocka_unit_test(layers_make_one_ladder),
        cmocka_unit_test(swarm_judges_by_status_and_hears_no_advice),
        cmocka_unit_test(without_rules_of_its_own_a_profile_judges_as_daruma),
        cmocka_unit_test(each_seed_speaks_in_its_own_words),
        cmocka_unit_test(each_seed_tells_under_its_own_names),
        cmocka_unit_test(an_event_of_mending_says_what_was_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
