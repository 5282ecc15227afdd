#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/tell/redact.h"

static char memory[1 << 20];

/* The rules' names come from another room: one here is enough. */
const char *daruma_rule_name(uint16_t rule)
{
    return rule ? "openai.code.rate_limit_exceeded" : "";
}

static daruma_target target(const char *provider, const char *model, const char *key)
{
    daruma_target t = {.provider = str_of(provider), .model = str_of(model), .account = S("a"), .key = str_of(key)};
    daruma_target_seal(&t);
    return t;
}

static daruma_failure failure(daruma_kind k, const char *message)
{
    return (daruma_failure){.kind = k,
                            .severity = daruma_kind_severity(k),
                            .retryable = daruma_kind_passes(k),
                            .wait = -1,
                            .limit = -1,
                            .used = -1,
                            .requested = -1,
                            .message = str_of(message)};
}

static daruma_str written(const daruma_event *e)
{
    daruma_buf b = buf_over(memory, sizeof memory);
    daruma_event_write(e, &b);
    assert_false(b.full);
    return buf_str(&b);
}

static daruma_str said(const daruma_event *e)
{
    daruma_buf b = buf_over(memory, sizeof memory);
    daruma_event_say(e, &b);
    assert_false(b.full);
    return buf_str(&b);
}

static daruma_str explained(const daruma_failure *f, const daruma_case *c)
{
    daruma_buf b = buf_over(memory, sizeof memory);
    daruma_explain(f, c, &b);
    assert_false(b.full);
    return buf_str(&b);
}

/* ---- events -------------------------------------------------------------------------- */

static void an_event_is_one_line_of_json_with_all_it_knows(void **state)
{
    (void)state;
    daruma_target t = target("main", "m-main", "k1");
    daruma_failure f = failure(DARUMA_RATE_LIMIT, "Rate limit reached");
    daruma_remedy r = {.remedy = DARUMA_REMEDY_WAIT_RETRY, .act = DARUMA_SEND, .wait = 2000};
    f.status = 429;
    f.wait = 2000;
    f.rule = 7;
    f.code = S("rate_limit_exceeded");
    f.limit = 100;
    f.requested = 120;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "llm_retry_attempt";
    e.at = at(0);
    e.case_id = 0x1a2b;
    e.failure = &f;
    e.target = &t;
    e.remedy = &r;
    e.attempt = 2;
    e.max_attempts = 4;
    assert_str(written(&e),
               "{\"event\":\"llm_retry_attempt\",\"ts\":\"2026-01-01T00:00:00Z\",\"case\":\"0000000000001a2b\","
               "\"kind\":\"rate_limit\",\"severity\":\"retriable\",\"retryable\":true,\"status\":429,"
               "\"code\":\"rate_limit_exceeded\",\"message\":\"Rate limit reached\",\"retry_after_ms\":2000,"
               "\"limit\":100,\"requested\":120,\"rule\":\"openai.code.rate_limit_exceeded\","
               "\"remedy\":\"wait_retry\",\"delay_ms\":2000,\"attempt\":2,\"max_attempts\":4,"
               "\"provider\":\"main\",\"model\":\"m-main\",\"account\":\"a\",\"key\":\"k1\"}\n");
}

static void an_event_joins_to_the_logs_of_both_sides(void **state)
{
    (void)state;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "x";
    e.request_id = S("9f1c2d3e-1111-4222-8333-444455556666");
    e.provider_request_id = S("req_011CSHoEeqs5C35K2UUqR7Fy");
    e.conversation = 0xabc;
    e.traceparent = S("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    e.input_tokens = 12;
    e.output_tokens = 3;
    e.cost = 1500000042;
    assert_str(written(&e), "{\"event\":\"x\",\"request_id\":\"9f1c2d3e-1111-4222-8333-444455556666\","
                            "\"provider_request_id\":\"req_011CSHoEeqs5C35K2UUqR7Fy\",\"session\":\"0000000000000abc\","
                            "\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"span_id\":\"00f067aa0ba902b7\","
                            "\"input_tokens\":12,\"output_tokens\":3,\"cost\":1.500000042}\n");
    e.session = S("night");
    assert_true(str_find(written(&e), S("\"session\":\"night\"")) != STR_NONE);
}

static void what_is_no_traceparent_gives_no_trace(void **state)
{
    (void)state;
    static const char *const no[] = {"",
                                     "00",
                                     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                                     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
                                     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
                                     "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
                                     "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                     "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                     "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                     "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                     "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                     "00-4bf92f3577b34da6a3ce929d0e0e4736\"00f067aa0ba902b7-01"};
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "x";
    for (size_t i = 0; i < COUNT(no); i++) {
        e.traceparent = str_of(no[i]);
        assert_str(written(&e), "{\"event\":\"x\"}\n");
    }
    e.traceparent = S(" 01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later ");
    assert_true(str_find(written(&e), S("\"span_id\":\"00f067aa0ba902b7\"")) != STR_NONE);
}

static void what_failed_at_each_target_is_a_short_list_without_keys(void **state)
{
    (void)state;
    daruma_target t[12];
    daruma_tried tried[12];
    daruma_event e = DARUMA_EVENT_INIT;
    static const char *const models[] = {"m", "m", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    for (size_t i = 0; i < 12; i++) {
        t[i] = target("main", models[i], "the-key");
        tried[i] = (daruma_tried){.target = &t[i], .kind = DARUMA_RATE_LIMIT, .status = 429, .wait = 1000};
    }
    tried[1] = (daruma_tried){.target = &t[1], .kind = DARUMA_NETWORK, .net = DARUMA_NET_DNS, .wait = -1};
    e.name = "x";
    e.tried = tried;
    e.ntried = 2;
    assert_str(written(&e),
               "{\"event\":\"x\",\"tried\":[{\"kind\":\"rate_limit\",\"target\":\"main/m\",\"key\":\"the-key\","
               "\"status\":429,\"wait_ms\":1000},{\"kind\":\"network\",\"target\":\"main/m\",\"key\":\"the-key\","
               "\"net\":\"dns\"}]}\n");
    daruma_buf b = buf_over(memory, sizeof memory);
    daruma_tried_say(tried, 1, &b);
    assert_int_equal(b.n, 0); /* one target: the explanation is about it */
    daruma_tried_say(tried, 2, &b);
    assert_str(buf_str(&b), " What failed where: main/m rate_limit (HTTP 429), wait 1 s; main/m network (the host name "
                            "could not be resolved).");
    b.n = 0;
    tried[1] = tried[0];
    daruma_tried_say(tried, 2, &b);
    assert_int_equal(b.n, 0); /* two keys, one thing to say */
    daruma_tried_say(tried, 3, &b);
    assert_str(buf_str(&b), " What failed where: main/m rate_limit (HTTP 429) with each of 2 keys, wait 1 s; main/c "
                            "rate_limit (HTTP 429), wait 1 s.");
    tried[1] = (daruma_tried){.target = &t[1], .kind = DARUMA_NETWORK, .net = DARUMA_NET_DNS, .wait = -1};
    daruma_tried_say(tried, 12, &b);
    assert_true(str_ends(buf_str(&b), S("; and 4 more.")));
    assert_true(str_find(buf_str(&b), S("the-key")) == STR_NONE);
}

static void where_time_went_says_whose_state_it_was_in_plain_words(void **state)
{
    (void)state;
    daruma_target t = target("main", "m", "k1"), odd = target("main", "sk-proj-0123456789abcdefghijklmnopqrstuv", "");
    const struct {
        daruma_spent s;
        const char *words;
    } rows[] = {
        {{.on = DARUMA_SPENT_REST, .kind = DARUMA_QUOTA, .who = DARUMA_SICK_ACCOUNT, .target = &t, .ms = 2700},
         "2.7 s of waiting for the account a of main, which rested because calls there had failed: the account has no "
         "credit or allowance left"},
        {{.on = DARUMA_SPENT_RATE, .who = DARUMA_SICK_KEY, .target = &t, .ms = 14200, .times = 2},
         "14 s of waiting for the key k1 of main, which had said that its rate limit was used up until then (2 times)"},
        {{.on = DARUMA_SPENT_TURN, .who = DARUMA_SICK_PROVIDER, .target = &t, .ms = 900},
         "900 ms of waiting while another request found out whether main is well again"},
        {{.on = DARUMA_SPENT_ROOM, .who = DARUMA_SICK_MODEL, .target = &t, .ms = 900},
         "900 ms of waiting for a free place at main/m, which serves no more calls at once than were under way"},
        {{.on = DARUMA_SPENT_FAILED, .kind = DARUMA_OVERLOADED, .target = &t, .ms = 30, .times = 3},
         "30 ms in 3 calls to main/m (k1) that failed: the model is too busy"},
        {{.on = DARUMA_SPENT_FAILED, .kind = DARUMA_OVERLOADED, .ms = 30, .times = 1},
         "30 ms in a call to the provider that failed: the model is too busy"},
        {{.on = DARUMA_SPENT_BEGIN, .target = &t, .ms = 4000, .usual = 800},
         "main/m (k1) took 4 s to begin its answer; it usually takes 800 ms"},
        {{.on = DARUMA_SPENT_BEGIN, .target = &t, .ms = 4000, .usual = 99},
         "main/m (k1) took 4 s to begin its answer; it usually takes less than 0.1 s"},
        {{.on = DARUMA_SPENT_BEGIN, .whole = true, .target = &t, .ms = 8000, .usual = 2000},
         "main/m (k1) took 8 s for its answer, which came in one piece and may just be long; it usually takes 2 s"},
        {{.on = DARUMA_SPENT_PAUSE, .target = &t, .ms = 4000, .usual = -1},
         "main/m (k1) paused for 4 s within its answer; how long its longest pause usually takes is not known yet"},
        {{.on = DARUMA_SPENT_ANSWER, .target = &odd, .ms = 0}, "0 ms for the answer itself"},
        {{.on = DARUMA_SPENT_SILENT, .target = &odd, .ms = 5000, .usual = -1},
         "5 s in a call to main/[redacted] that had not begun to answer; how long it usually takes is not known yet"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_buf b = buf_over(memory, sizeof memory);
        daruma_spent_say(&rows[i].s, &b);
        assert_str(buf_str(&b), rows[i].words);
    }
    for (int on = 0; on < DARUMA_SPENT; on++) {
        daruma_spent s = {.on = (daruma_spent_on)on, .usual = -1};
        daruma_buf b = buf_over(memory, sizeof memory);
        daruma_spent_say(&s, &b);
        assert_true(b.n > 10 && daruma_spent_name(s.on)[0]);
        assert_true(str_find(buf_str(&b), S("0 ms")) != STR_NONE); /* each says how long */
    }
}

static void what_an_event_does_not_know_it_leaves_out(void **state)
{
    (void)state;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "error_recovery_success";
    e.outcome = DARUMA_OUTCOME_RECOVERED;
    e.attempts = 2;
    e.took = 15;
    assert_str(written(&e), "{\"event\":\"error_recovery_success\",\"outcome\":\"recovered\","
                            "\"attempts\":2,\"took_ms\":15}\n");
}

static void no_text_breaks_the_line_or_shows_a_secret(void **state)
{
    (void)state;
    static const char secret[] = "sk-proj-Abc123Def456Ghi789Jkl012";
    daruma_target t = target("main", "m\n\"x\"", "k");
    daruma_failure f = failure(DARUMA_AUTH, "Incorrect API key\r\nprovided: sk-proj-Abc123Def456Ghi789Jkl012 \x01\xff");
    f.subject = f.code = str_of(secret);
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "llm_request_failed";
    e.at = at(0);
    e.failure = &f;
    e.target = &t;
    e.reason = S("Authorization: Bearer sk-proj-Abc123Def456Ghi789Jkl012");
    daruma_str line = written(&e);
    assert_true(json_valid(line));
    assert_int_equal(str_findch(line, '\n'), line.n - 1);
    assert_true(str_find(line, S("Abc123")) == STR_NONE);
    line = said(&e);
    assert_int_equal(str_findch(line, '\n'), line.n - 1);
    assert_true(str_find(line, S("Abc123")) == STR_NONE);
}

static void a_message_is_cut_between_characters_and_no_secret_hides_in_the_cut(void **state)
{
    (void)state;
    static char text[1200];
    daruma_failure f = failure(DARUMA_AUTH, "");
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "llm_request_failed";
    e.failure = &f;
    for (size_t lead = 440; lead < 520; lead++) {
        size_t n = 0;
        for (; n < lead; n++)
            text[n] = n % 7 ? 'x' : ' ';
        memcpy(text + n, " sk-proj-Abc123Def456Ghi789Jkl012Mno345", 39);
        n += 39;
        while (n + 2 < sizeof text) {
            memcpy(text + n, "\xc3\xa9", 2);
            n += 2;
        }
        f.message = (daruma_str){text, n};
        daruma_str line = written(&e);
        assert_true(json_valid(line));
        assert_true(str_find(line, S("Abc")) == STR_NONE);
        assert_true(str_find(line, S("\xef\xbf\xbd")) == STR_NONE); /* no half character */
        assert_true(json_get(line, S("message")).n <= 502);
    }
}

static void an_event_is_said_in_one_readable_line(void **state)
{
    (void)state;
    daruma_target t = target("main", "m-main", "k1");
    daruma_failure f = failure(DARUMA_RATE_LIMIT, "Slow down");
    daruma_remedy r = {.remedy = DARUMA_REMEDY_WAIT_RETRY, .act = DARUMA_SEND, .wait = 2000};
    f.status = 429;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "llm_retry_attempt";
    e.at = at(1000);
    e.case_id = 0x1a2b3c4d00000000;
    e.failure = &f;
    e.target = &t;
    e.remedy = &r;
    e.attempt = 2;
    assert_str(said(&e), "2026-01-01 00:00:01  1a2b3c4d  llm_retry_attempt  main/m-main key k1  rate_limit (429)"
                         "  -> wait_retry in 2 s  call 2\n");
    e.name = "llm_request_failed"; /* the provider's words stand where it failed, once */
    e.remedy = NULL;
    e.attempt = 1;
    assert_str(said(&e),
               "2026-01-01 00:00:01  1a2b3c4d  llm_request_failed  main/m-main key k1  rate_limit (429): Slow down"
               "  call 1\n");
}

static void a_buffer_without_room_says_so_and_nothing_else_happens(void **state)
{
    (void)state;
    char small[16];
    daruma_failure f = failure(DARUMA_AUTH, "no");
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "llm_request_failed";
    e.failure = &f;
    daruma_buf b = buf_over(small, sizeof small);
    daruma_event_write(&e, &b);
    assert_true(b.full);
    b = buf_over(small, sizeof small);
    daruma_explain(&f, NULL, &b);
    assert_true(b.full);
}

/* ---- explanations -------------------------------------------------------------------- */

/* What passes, usually, and does not this time: what else can be done stands alone, not behind "or". */
static void what_does_not_pass_by_itself_says_what_to_do(void **state)
{
    (void)state;
    for (daruma_kind k = 0; k < DARUMA_KINDS; k++) {
        daruma_failure f = failure(k, "");
        f.retryable = false;
        daruma_str s = explained(&f, NULL), lead = S("not help by itself");
        size_t at = str_find(s, lead);
        if (at != STR_NONE && !str_starts(str_from(s, at + lead.n), S(": ")))
            fail_msg("%s: %.*s", daruma_kind_name(k), (int)s.n, s.p);
        assert_int_equal(str_find(s, S("itself: or ")), STR_NONE);
    }
    daruma_failure f = failure(DARUMA_RATE_LIMIT, "");
    f.retryable = false;
    assert_true(str_find(explained(&f, NULL), S("by itself: add another key or a second model")) != STR_NONE);
}

static void every_kind_is_explained_in_one_plain_paragraph(void **state)
{
    (void)state;
    daruma_target t = target("main", "m-main", "k1");
    daruma_case c = {.targets = &t, .ntargets = 1, .target = 0, .attempts = 1, .calls = {1}};
    for (int k = 0; k < DARUMA_KINDS; k++) {
        daruma_failure f = failure((daruma_kind)k, "{\"error\":{\"message\":\"<html>\"}}");
        const daruma_case *cases[] = {NULL, &c};
        for (int i = 0; i < 2; i++) {
            daruma_str said_ = explained(&f, cases[i]);
            assert_true(said_.n > 40 && str_ends(said_, S(".")));
            assert_true(said_.p[0] >= 'A' && said_.p[0] <= 'Z');
            for (size_t j = 0; j < said_.n; j++)
                assert_null(memchr("{}<>\n", said_.p[j], 5));
            assert_true(str_find(said_, S("..")) == STR_NONE);
            if (k == DARUMA_INVALID_PARAMETER) /* none is named */
                continue;
            daruma_str words = str_from(str_of(daruma_kind_words((daruma_kind)k)), 1);
            assert_true(str_find(said_, words) != STR_NONE);
        }
    }
}

static void an_explanation_says_what_happened_what_was_tried_and_the_next_step(void **state)
{
    (void)state;
    daruma_target t[] = {target("main", "m-main", "k1"), target("main", "m-main", "k2")};
    daruma_failure f = failure(DARUMA_RATE_LIMIT, "Rate limit reached for requests.");
    f.status = 429;
    f.wait = 20000;
    daruma_case c = {.targets = t, .ntargets = 2, .target = 1, .attempts = 3, .calls = {2, 1}, .waited = 4000};
    c.remedies = 1u << DARUMA_REMEDY_WAIT_RETRY | 1u << DARUMA_REMEDY_SWITCH_KEY | 1u << DARUMA_REMEDY_EXPLAIN;
    assert_str(
        explained(&f, &c),
        "The call to m-main at main failed: the provider asked to slow down (HTTP 429). The provider says: \"Rate "
        "limit reached for requests\". daruma waited and tried again and used another key (3 calls to 2 targets, 4 "
        "s of waiting), without success. Try again in about 20 s, or add another key or a second model to the "
        "configuration.");
}

static void an_explanation_without_a_case_says_nothing_of_tries(void **state)
{
    (void)state;
    daruma_failure f = failure(DARUMA_CONTEXT_LENGTH, "<!doctype html><p>too long");
    f.limit = 128000;
    f.requested = 130000;
    assert_str(explained(&f, NULL),
               "The call failed: the conversation is too long for the model (130000 where 128000 are allowed). Shorten "
               "the conversation, begin a new one, or use a model with a larger window.");
}

static void an_explanation_of_what_passes_through_names_its_provider_alone(void **state)
{
    (void)state;
    daruma_target t = target("main", "", "k1");
    daruma_case c = {.targets = &t, .ntargets = 1, .target = 0, .attempts = 1};
    daruma_failure f = failure(DARUMA_AUTH, "");
    assert_true(str_starts(explained(&f, &c), S("The call to main failed: ")));
}

static void an_explanation_says_who_said_it(void **state)
{
    (void)state;
    daruma_failure tool = failure(DARUMA_TOOL_ERROR, "the file is not there");
    assert_true(str_find(explained(&tool, NULL), S(". It says: \"the file is not there\".")) != STR_NONE);
    daruma_failure own = failure(DARUMA_AUTH, "The command failed: it printed nothing.");
    own.code = S("key_command_failed");
    assert_true(str_find(explained(&own, NULL),
                         S(". The command failed: it printed nothing. Run the command by hand")) != STR_NONE);
}

static void an_explanation_is_honest_when_nothing_was_sent(void **state)
{
    (void)state;
    daruma_target t = target("main", "m-main", "k1");
    daruma_case c = {.targets = &t, .ntargets = 1, .target = -1};
    daruma_failure f = failure(DARUMA_OVERLOADED, "");
    assert_str(
        explained(&f, &c),
        "The call failed: the model is too busy. daruma sent nothing, because all it could call is resting after "
        "earlier failures. Try again in about a minute, or add a second model to the configuration.");
    static char room[1 << 16];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_case first;
    c.health = daruma_health_new(&a, 16);
    c.opened = 60000;
    daruma_case_open(&first, c.health, daruma_policy_find(S("default")), &t, 1, -1, -1, at(0));
    assert_int_equal(daruma_case_admit(&first, at(0)).act, DARUMA_SEND);
    f = failure(DARUMA_RATE_LIMIT, "");
    f.wait = 300000; /* what a provider names is the one reason to send nothing */
    daruma_case_next(&first, &f, 0, at(0));
    daruma_str words = explained(&f, &c);
    assert_true(str_find(words, S("resting after earlier failures; it asks there again in about 4 min.")) != STR_NONE);
}

static void daruma_does_not_put_its_own_words_into_a_providers_mouth(void **state)
{
    (void)state;
    daruma_case c = {.target = -1};
    daruma_failure f = failure(DARUMA_MODEL_NOT_FOUND, "No provider here speaks the dialect of this path.");
    f.ours = true;
    assert_str(explained(&f, &c),
               "The call failed: the model does not exist here. No provider here speaks the dialect of "
               "this path. daruma sent nothing. Add a provider for it to the configuration, or ask for "
               "another model.");
}

/* OpenRouter: the name is right. */
static void a_model_that_nobody_serves_so_is_not_said_to_be_spelt_wrong(void **state)
{
    (void)state;
    daruma_failure f = {.kind = DARUMA_MODEL_NOT_FOUND,
                        .status = 404,
                        .message = S("No endpoints found that support tool use."),
                        .wait = -1,
                        .limit = -1,
                        .used = -1,
                        .requested = -1};
    char mem[1024];
    daruma_buf b = buf_over(mem, sizeof mem);
    daruma_explain(&f, NULL, &b);
    assert_str(buf_str(&b),
               "The call failed: nobody there serves the model with what this request asks for (HTTP 404). The "
               "provider says: \"No endpoints found that support tool use\". Ask for a model that can do it, "
               "or let the provider route to more endpoints in its settings.");
}

static void who_names_nothing_is_not_said_to_have_named_a_parameter(void **state)
{
    (void)state;
    daruma_failure f = failure(DARUMA_INVALID_PARAMETER, "what is this request about?");
    f.status = 400;
    assert_str(explained(&f, NULL),
               "The call failed: the request is not accepted (HTTP 400). The provider says: \"what is "
               "this request about?\". Look what the provider's documentation says of such a request: "
               "it did not say what is wrong with it.");
    f.subject = S("temperature");
    assert_true(str_find(explained(&f, NULL),
                         S("a parameter is not accepted by the model (HTTP 400, about temperature)")) != STR_NONE);
}

static void an_explanation_shows_no_secret(void **state)
{
    (void)state;
    daruma_failure f = failure(DARUMA_AUTH, "Incorrect API key provided: sk-proj-Abc123Def456Ghi789Jkl012");
    f.subject = S("sk-proj-Abc123Def456Ghi789Jkl012");
    daruma_str said_ = explained(&f, NULL);
    assert_true(str_find(said_, S("Abc123")) == STR_NONE);
    assert_true(str_find(said_, S("Incorrect API key")) != STR_NONE);
}

/* ---- known keys ---- */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

/* `bytes` in base64 (0), in that of URLs (1) or in digits (2, 3). */
static daruma_str encoded(daruma_str bytes, int how, daruma_arena *a)
{
    static const char *const signs[] = {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
                                        "0123456789abcdef", "0123456789ABCDEF"};
    daruma_buf out = buf_in(a);
    int size = how < 2 ? 6 : 4, have = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < bytes.n; i++) {
        bits = (bits << 8 | (unsigned char)bytes.p[i]) & 0xffff;
        for (have += 8; have >= size; have -= size)
            buf_putc(&out, signs[how][bits >> (have - size) & ((1u << size) - 1)]);
    }
    if (have)
        buf_putc(&out, signs[how][bits << (size - have) & 63]);
    return buf_str(&out);
}

/* The same with a line end here and there. */
static daruma_str lined(daruma_str text, const char *end, size_t width, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    for (size_t i = 0; i < text.n; i++) {
        if (i && i % width == 0)
            buf_putz(&out, end);
        buf_putc(&out, text.p[i]);
    }
    return buf_str(&out);
}

static void a_known_key_is_taken_out_of_base64_and_digits_wherever_it_stands(void **state)
{
    static const char *const ends[] = {"", "\n", "\r\n", " ", "\\n", "\\r\\n", "\\\\n"};
    enum { TRIES = 20000, ROUND_BYTES = 300 };
    uint32_t seed = 7;
    (void)state;
    for (int n = 0; n < TRIES; n++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        char bytes[ROUND_BYTES];
        size_t before = draw(&seed, 20), key = 6 + draw(&seed, n % 2 ? 20 : 200), all = before + key + draw(&seed, 20);
        for (size_t i = 0; i < all; i++)
            bytes[i] = (char)(' ' + 1 + draw(&seed, 94));
        bytes[before] = '7'; /* no word */
        int how = (int)draw(&seed, 4), size = how < 2 ? 6 : 4;
        daruma_str code = encoded((daruma_str){bytes, all}, how, &a);
        daruma_str shown = lined(code, ends[draw(&seed, COUNT(ends))], 1 + draw(&seed, 80), &a);
        daruma_buf text = buf_in(&a);
        BUF_LIT(&text, "No: ");
        buf_put(&text, shown);
        BUF_LIT(&text, " was sent");
        redaction r = {.longest = text.n, .arena = &a, .index = &a};
        redact_add(&r, (daruma_str){bytes + before, key}, true);
        daruma_str clean = redact_known(&r, buf_str(&text));
        assert_true(str_find(clean, S("[redacted]")) != STR_NONE);
        assert_true(str_starts(clean, S("No: ")) && str_ends(clean, S(" was sent")));
        /* what stood before and behind it stays, as far as it shares no sign with it */
        size_t first = before * 8 / (size_t)size, last = ((before + key) * 8 + (size_t)size - 1) / (size_t)size;
        daruma_buf rest = buf_in(&a), left = buf_in(&a);
        buf_put(&rest, str_sub(code, 0, first));
        BUF_LIT(&rest, "[redacted]");
        buf_put(&rest, str_from(code, last < code.n ? last : code.n));
        daruma_str inside = str_sub(clean, 4, clean.n - 4 - 9);
        for (size_t i = 0; i < inside.n; i++) { /* without the line ends */
            size_t run = i;
            while (run < inside.n && inside.p[run] == '\\')
                run++;
            if (run > i)
                i = run; /* and the letter behind it */
            else if (!ch_space(inside.p[i]))
                buf_putc(&left, inside.p[i]);
        }
        assert_true(str_eq(buf_str(&left), buf_str(&rest)));
    }
}

static void what_is_no_known_key_stays(void **state)
{
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_str text = S("aGVsbG8gd29ybGQsIHRoaXMgaXMgbm8ga2V5 68656c6c6f20776f726c64 \\n %zz &#x;");
    redaction r = {.longest = text.n, .arena = &a, .index = &a};
    (void)state;
    redact_add(&r, S("sk-another-key-4711"), true);
    redact_add(&r, S("hello"), true); /* too short to be one */
    redact_add(&r, S("hello world, this is no key"), false);
    assert_ptr_equal(redact_known(&r, text).p, text.p);
    redact_add(&r, S("hello world, this is no key"), true);
    assert_true(str_starts(redact_known(&r, text), S("[redacted] 68656c6c6f20776f726c64")));
}

/* As hostile fields may be. The one that the text says most of is taken out. */
static void of_secrets_that_begin_alike_the_longest_is_taken_out(void **state)
{
#define ALIKE "Aaaaaaa1Aaaaaaa1Aaaaaaa1Aaaaaaa1Aaaaaaa1Aaaaaaa1Aaaaaaa1Aaaaaaa1"
    static const daruma_str secrets[] = {LIT(ALIKE "B11"),  LIT(ALIKE "B2yz"), LIT(ALIKE "B"),  LIT(ALIKE "B2"),
                                         LIT(ALIKE "B2yx"), LIT(ALIKE "C"),    LIT(ALIKE "B11")};
    static const struct {
        daruma_str said, left;
    } rows[] = {
        {LIT(ALIKE "B2yz!"), LIT("!")}, {LIT(ALIKE "B2yx!"), LIT("!")},
        {LIT(ALIKE "B2y!"), LIT("!")},  {LIT(ALIKE "B2x!"), LIT("x!")},
        {LIT(ALIKE "B11!"), LIT("!")},  {LIT(ALIKE "C1!"), LIT("1!")},
        {LIT(ALIKE "D!"), LIT("D!")},   {LIT(ALIKE "B2yz1!"), LIT("1!")},
        {LIT(ALIKE), LIT("")},          {LIT(ALIKE "B3" ALIKE "C2"), LIT("3[redacted]2")},
    };
    (void)state;
    for (size_t turn = 0; turn < COUNT(secrets); turn++)
        for (size_t i = 0; i < COUNT(rows); i++) {
            daruma_arena a = arena_over(memory, sizeof memory);
            redaction r = {.longest = SIZE_MAX, .arena = &a, .index = &a};
            for (size_t k = 0; k < COUNT(secrets); k++)
                redact_add(&r, secrets[(turn + k) % COUNT(secrets)], true);
            daruma_str clean = redact_known(&r, rows[i].said);
            assert_true(str_starts(clean, S("[redacted]")));
            assert_str(str_from(clean, 10), rows[i].left.p);
        }
}

/* What is kept for the time of a call: a stream has an id of its provider, and many keys that it could name. */
static void looking_for_secrets_keeps_nothing(void **state)
{
    static char room[64 << 10];
    daruma_arena a = arena_over(memory, sizeof memory), index = arena_over(room, sizeof room);
    redaction r = {.longest = SIZE_MAX, .arena = &a, .index = &index};
    const char *at = a.beg;
    (void)state;
    redact_add(&r, S("sk-own-key-0123456789"), true);
    daruma_str id = S("7d1f4b1e-8a5c-4c0e-9f35-2f7b6f1f\\u0030");
    assert_ptr_equal(redact_known(&r, id).p, id.p);
    assert_ptr_equal(a.beg, at);
    assert_str(redact_known(&r, S("sk-own-key-0123456789?")), "[redacted]?");
    assert_true(a.beg > at && a.beg < at + 256);
}

/* Rather nothing than a secret that there was no memory to look for. */
static void without_memory_to_look_for_a_secret_nothing_is_shown(void **state)
{
    char room[100];
    daruma_arena a = arena_over(memory, sizeof memory), index = arena_over(room, sizeof room);
    redaction r = {.longest = SIZE_MAX, .arena = &a, .index = &index};
    (void)state;
    assert_str(redact_known(&r, S("hello")), "hello");
    redact_add(&r, S("sk-own-key-0123456789"), true);
    assert_int_equal(redact_known(&r, S("hello")).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_secrets_that_begin_alike_the_longest_is_taken_out),
        cmocka_unit_test(looking_for_secrets_keeps_nothing),
        cmocka_unit_test(without_memory_to_look_for_a_secret_nothing_is_shown),
        cmocka_unit_test(an_event_is_one_line_of_json_with_all_it_knows),
        cmocka_unit_test(an_event_joins_to_the_logs_of_both_sides),
        cmocka_unit_test(what_is_no_traceparent_gives_no_trace),
        cmocka_unit_test(what_failed_at_each_target_is_a_short_list_without_keys),
        cmocka_unit_test(where_time_went_says_whose_state_it_was_in_plain_words),
        cmocka_unit_test(what_an_event_does_not_know_it_leaves_out),
        cmocka_unit_test(no_text_breaks_the_line_or_shows_a_secret),
        cmocka_unit_test(a_message_is_cut_between_characters_and_no_secret_hides_in_the_cut),
        cmocka_unit_test(an_event_is_said_in_one_readable_line),
        cmocka_unit_test(a_buffer_without_room_says_so_and_nothing_else_happens),
        cmocka_unit_test(what_does_not_pass_by_itself_says_what_to_do),
        cmocka_unit_test(every_kind_is_explained_in_one_plain_paragraph),
        cmocka_unit_test(an_explanation_says_what_happened_what_was_tried_and_the_next_step),
        cmocka_unit_test(an_explanation_without_a_case_says_nothing_of_tries),
        cmocka_unit_test(an_explanation_of_what_passes_through_names_its_provider_alone),
        cmocka_unit_test(an_explanation_says_who_said_it),
        cmocka_unit_test(an_explanation_is_honest_when_nothing_was_sent),
        cmocka_unit_test(daruma_does_not_put_its_own_words_into_a_providers_mouth),
        cmocka_unit_test(a_model_that_nobody_serves_so_is_not_said_to_be_spelt_wrong),
        cmocka_unit_test(who_names_nothing_is_not_said_to_have_named_a_parameter),
        cmocka_unit_test(an_explanation_shows_no_secret),
        cmocka_unit_test(a_known_key_is_taken_out_of_base64_and_digits_wherever_it_stands),
        cmocka_unit_test(what_is_no_known_key_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
