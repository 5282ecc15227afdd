/* The sessions of daruma.h, from outside: only what that header promises is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <daruma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char options[] = "{\"dialect\":\"openai\",\"targets\":[{\"name\":\"first\",\"model\":\"m1\"},"
                              "{\"name\":\"second\",\"model\":\"m2\"}],\"secrets\":[\"sk-very-secret-123\"]}";
static const char request[] = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}";
static const char stream_request[] =
    "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}";
static const char answer[] = "{\"id\":\"a1\",\"object\":\"chat.completion\",\"model\":\"m1\",\"choices\":[{\"index\":0,"
                             "\"message\":{\"role\":\"assistant\",\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}";

/* What one session did so far, as a line of words, and what its client has. */
typedef struct seen {
    daruma_memory *m;
    daruma_session *s;
    char did[4096], fields[4096], target[64], path[64];
    char *bytes;
    size_t n;
    int status;
    int64_t call, now;
    int most; /* acts that are carried out at a time; -1 all */
    bool over;
} seen;

static void note(seen *o, const char *word)
{
    size_t n = strlen(o->did);
    snprintf(o->did + n, sizeof o->did - n, "%s%s", n ? " " : "", word);
}

static void copy(char *to, size_t room, const char *from, size_t n)
{
    assert_true(n < room);
    assert_int_equal(strlen(from), n); /* a NUL is behind it */
    memcpy(to, from, n + 1);
}

static void carry_out(seen *o)
{
    daruma_do what;
    size_t n;
    const char *p;
    for (int i = 0; i != o->most && (what = daruma_session_next(o->s)) != DARUMA_DO_NOTHING; i++) {
        switch (what) {
        case DARUMA_DO_NOTHING:
            break;
        case DARUMA_DO_SEND:
            o->call = daruma_session_call(o->s);
            p = daruma_session_target(o->s, &n);
            copy(o->target, sizeof o->target, p, n);
            p = daruma_session_path(o->s, &n);
            copy(o->path, sizeof o->path, p, n);
            note(o, "send");
            note(o, o->target);
            break;
        case DARUMA_DO_CANCEL:
            note(o, "cancel");
            break;
        case DARUMA_DO_PAUSE:
            note(o, "pause");
            break;
        case DARUMA_DO_RESUME:
            note(o, "resume");
            break;
        case DARUMA_DO_LIMIT:
            break;
        case DARUMA_DO_HEAD:
            o->status = daruma_session_status(o->s);
            p = daruma_session_fields(o->s, &n);
            copy(o->fields, sizeof o->fields, p, n);
            note(o, "head");
            break;
        case DARUMA_DO_BYTES:
            p = daruma_session_bytes(o->s, &n);
            o->bytes = realloc(o->bytes, o->n + n + 1);
            assert_non_null(o->bytes);
            memcpy(o->bytes + o->n, p, n + 1);
            o->n += n;
            break;
        case DARUMA_DO_EVENT:
            p = daruma_session_bytes(o->s, &n);
            assert_true(p[0] == '{' && p[n - 1] == '}');
            assert_null(strstr(p, "sk-very-secret-123"));
            break;
        case DARUMA_DO_END:
            note(o, "end");
            o->over = true;
            break;
        case DARUMA_DO_BREAK:
            note(o, "break");
            o->over = true;
            break;
        }
    }
}

static void time_is(seen *o, int64_t now)
{
    o->now = now;
    daruma_memory_now(o->m, now, 1767225600 + now / 1000, 0x9e3779b97f4a7c15u * (uint64_t)(now + 1));
}

static seen begin(daruma_memory *m, const char *what, const char *body)
{
    seen o = {.m = m, .most = -1};
    char why[256] = "";
    time_is(&o, 1000);
    o.s = daruma_session_open(m, NULL, what, strlen(what), body, strlen(body), why, sizeof why);
    assert_string_equal(why, "");
    assert_non_null(o.s);
    carry_out(&o);
    return o;
}

static void says(seen *o, int status, const char *fields, const char *body)
{
    int64_t call = o->call;
    daruma_call_head(o->s, call, status, fields, strlen(fields));
    daruma_call_bytes(o->s, call, body, strlen(body));
    daruma_call_end(o->s, call);
    carry_out(o);
}

/* Time passes until the session has sent again, or is over. */
static void wait_for_it(seen *o)
{
    size_t was = strlen(o->did);
    for (int i = 0; i < 1000 && strlen(o->did) == was; i++) {
        int64_t at = daruma_session_wakes_ms(o->s);
        assert_true(at >= 0);
        time_is(o, at > o->now ? at : o->now);
        daruma_session_clock(o->s);
        carry_out(o);
    }
}

static void end(seen *o)
{
    daruma_session_free(o->s);
    daruma_memory_free(o->m);
    free(o->bytes);
}

static void a_call_that_works_is_one_call(void **state)
{
    (void)state;
    seen o = begin(daruma_memory_new(), options, request);
    assert_string_equal(o.did, "send first");
    assert_string_equal(o.path, "/v1/chat/completions");
    says(&o, 200, "content-type: application/json\r\nX-Request-Id: r1\r\nconnection: close\r\n", answer);
    assert_string_equal(o.did, "send first head end");
    assert_int_equal(o.status, 200);
    assert_string_equal(o.bytes, answer);
    assert_non_null(strstr(o.fields, "X-Request-Id: r1\r\n"));
    assert_non_null(strstr(o.fields, "x-daruma-outcome: ok\r\n"));
    assert_non_null(strstr(o.fields, "x-daruma-target: first\r\n"));
    assert_null(strstr(o.fields, "connection: close"));
    assert_string_equal(daruma_session_outcome(o.s), "ok");
    end(&o);
}

static void the_body_goes_out_with_the_name_of_the_target(void **state)
{
    (void)state;
    daruma_memory *m = daruma_memory_new();
    daruma_memory_now(m, 1, 0, 1);
    daruma_session *s = daruma_session_open(m, NULL, options, strlen(options), request, strlen(request), NULL, 0);
    assert_int_equal(daruma_session_next(s), DARUMA_DO_SEND);
    size_t n;
    assert_string_equal(daruma_session_bytes(s, &n),
                        "{\"model\":\"m1\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}");
    assert_string_equal(daruma_session_model(s, NULL), "m1");
    assert_string_equal(daruma_session_dialect(s, NULL), "openai");
    assert_int_equal(daruma_session_total_ms(s), -1);
    assert_string_equal(daruma_session_fields(s, NULL),
                        "content-type: application/json\r\naccept-encoding: identity\r\n");
    daruma_memory_free(m); /* and its sessions */
}

static void who_is_limited_is_left_for_another(void **state)
{
    (void)state;
    seen o = begin(daruma_memory_new(), options, request);
    says(&o, 429, "retry-after: 30\r\ncontent-type: application/json\r\n",
         "{\"error\":{\"message\":\"Rate limit reached\",\"code\":\"rate_limit_exceeded\"}}");
    assert_string_equal(o.did, "send first send second");
    says(&o, 200, "content-type: application/json\r\n", answer);
    assert_string_equal(o.did, "send first send second head end");
    assert_non_null(strstr(o.fields, "x-daruma-outcome: recovered\r\n"));
    char remedies[64];
    assert_int_equal(daruma_session_remedies(o.s, remedies, sizeof remedies), strlen("switch_model"));
    assert_string_equal(remedies, "switch_model");
    assert_int_equal(daruma_session_attempts(o.s), 2);
    end(&o);
}

/* Each call that fails counts, at whichever target, and no wait is begun for one that may not go out. */
static void no_more_calls_go_out_than_may(void **state)
{
    (void)state;
    for (int most = 0; most <= 4; most++) {
        char own[1024];
        int sent = 0;
        snprintf(own, sizeof own, "{\"max_calls\":%d,%s", most, options + 1);
        seen o = begin(daruma_memory_new(), own, request);
        for (; !o.over && sent < 5; sent++) {
            daruma_call_failed(o.s, o.call, "reset");
            carry_out(&o);
            while (!o.over && daruma_session_attempts(o.s) == sent + 1)
                wait_for_it(&o);
        }
        assert_int_equal(sent, most ? most : 5);
        assert_int_equal(o.over, most != 0);
        assert_int_equal(daruma_session_attempts(o.s), most ? most : 6);
        end(&o);
    }
}

/* The request comes again by itself: it has as many calls as any other. */
static void a_request_that_comes_again_has_its_calls_anew(void **state)
{
    (void)state;
    static const char ways[][32] = {"{\"max_calls\":1,", "{\"max_calls\":1,\"retry\":true,"};
    daruma_memory *m = daruma_memory_new();
    for (int again = 0; again < 4; again++) {
        char own[1024];
        snprintf(own, sizeof own, "%s%s", ways[again > 0], options + 1);
        seen o = begin(m, own, request);
        assert_int_equal(strncmp(o.did, "send ", 5), 0);
        says(&o, 503, "content-type: application/json\r\n", "{\"error\":{\"message\":\"no\"}}");
        assert_true(o.over);
        daruma_session_free(o.s);
        free(o.bytes);
    }
    daruma_memory_free(m);
}

static void a_call_that_cannot_go_out_is_none(void **state)
{
    (void)state;
    static const char own[] = "{\"dialect\":\"openai-responses\",\"max_calls\":1,\"targets\":["
                              "{\"name\":\"other\",\"provider\":\"p\",\"account\":\"a\",\"dialect\":\"anthropic\"},"
                              "{\"name\":\"same\",\"provider\":\"p\",\"account\":\"a\"}]}";
    seen o = begin(daruma_memory_new(), own, "{\"model\":\"m\",\"input\":\"hello\",\"previous_response_id\":\"r1\"}");
    assert_string_equal(o.did, "send same");
    assert_int_equal(daruma_session_attempts(o.s), 1);
    end(&o);
}

static void an_outage_of_everybody_is_waited_for(void **state)
{
    (void)state;
    seen o = begin(daruma_memory_new(), options, request);
    for (int i = 0; i < 4; i++) {
        daruma_call_failed(o.s, o.call, i % 2 ? "reset" : "refused");
        carry_out(&o);
        assert_false(o.over);
        if (i)
            wait_for_it(&o);
    }
    says(&o, 200, "content-type: application/json\r\n", answer);
    assert_string_equal(daruma_session_outcome(o.s), "recovered");
    assert_true(o.now > 1000);
    end(&o);
}

/* The client has a part of an answer whose rest is waited for, when another request is told of a wait that is too long.
 */
static void behind_a_part_of_an_answer_stands_an_error_and_no_message_of_ours(void **state)
{
    (void)state;
    static const char *const dialects[] = {"openai", "openai-responses"};
    static const char asked[] =
        "{\"model\":\"m\",\"stream\":true,\"%s\":[{\"role\":\"user\",\"content\":\"hello\"}],\"tools\":[{\"type\":"
        "\"function\",\"name\":\"look\",\"function\":{\"name\":\"look\",\"parameters\":{\"type\":\"object\"}}}]}";
    static const char *const parts[] = {
        "data: {\"id\":\"a\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":"
        "\"assistant\",\"content\":\"the first part of an answer\"}}]}\n\n",
        "event: response.created\ndata: "
        "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\","
        "\"object\":\"response\",\"status\":\"in_progress\",\"output\":[]}}\n\n"
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,"
        "\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"the first part of an answer\"}\n\n"};
    for (int d = 0; d < 2; d++) {
        char what[256], body[512];
        snprintf(what, sizeof what, "{\"dialect\":\"%s\",\"targets\":[{\"name\":\"only\",\"model\":\"m1\"}]}",
                 dialects[d]);
        snprintf(body, sizeof body, asked, d ? "input" : "messages");
        seen o = begin(daruma_memory_new(), what, body);
        daruma_call_head(o.s, o.call, 200, "content-type: text/event-stream\r\n", 33);
        daruma_call_bytes(o.s, o.call, parts[d], strlen(parts[d]));
        carry_out(&o);
        for (int64_t failed = -1; !o.over && o.call != failed;) {
            failed = o.call;
            daruma_call_failed(o.s, failed, "reset");
            carry_out(&o);
        }
        assert_false(o.over);
        seen other = {.m = o.m, .most = -1, .now = o.now};
        other.s = daruma_session_open(o.m, NULL, what, strlen(what), body, strlen(body), NULL, 0);
        carry_out(&other);
        while (!strstr(other.did, "send"))
            wait_for_it(&other);
        says(&other, 429, "retry-after: 300\r\n", "{\"error\":{\"message\":\"Rate limit reached\"}}");
        assert_true(other.over);
        time_is(&o, other.now);
        for (int64_t told = o.call; !o.over;) { /* it may find out whether that wait is true */
            if (o.call == told) {
                wait_for_it(&o);
                continue;
            }
            told = o.call;
            says(&o, 429, "retry-after: 300\r\n", "{\"error\":{\"message\":\"Rate limit reached\"}}");
        }
        assert_non_null(strstr(o.bytes, "the first part of an answer"));
        assert_null(strstr(o.bytes, "[daruma]"));
        assert_non_null(strstr(o.bytes, "error"));
        assert_string_equal(daruma_session_outcome(o.s), "degraded");
        daruma_session_free(other.s);
        free(other.bytes);
        end(&o);
    }
}

/* Its history lies with one account: who else there is says nothing to its client unless it is told why. */
static void who_cannot_go_on_from_a_stored_answer_is_said_to_be_not_asked(void **state)
{
    (void)state;
    static const char what[] = "{\"dialect\":\"openai-responses\",\"targets\":[{\"name\":\"first\",\"model\":"
                               "\"m1\"},{\"name\":\"second\",\"model\":\"m2\",\"dialect\":\"anthropic\"}]}",
                      asked[] = "{\"model\":\"m\",\"input\":\"hello\",\"previous_response_id\":\"resp_1\"}";
    seen o = begin(daruma_memory_new(), what, asked);
    while (!o.over) {
        assert_string_equal(o.target, "first");
        says(&o, 400, "", "{\"error\":{\"message\":\"Your credit balance is too low\",\"type\":\"invalid\"}}");
    }
    assert_non_null(strstr(o.bytes, "Not asked: second/m2, since this request goes on from an answer"));
    end(&o);
}

static void a_secret_that_a_provider_repeats_is_taken_out(void **state)
{
    (void)state;
    seen o = begin(daruma_memory_new(), options, request);
    for (int i = 0; i < 8 && !o.over; i++)
        says(&o, 401, "content-type: application/json\r\n",
             "{\"error\":{\"message\":\"Incorrect API key provided: "
             "sk-very-secret-123\",\"code\":\"invalid_api_key\"}}");
    assert_true(o.over);
    assert_int_equal(o.status, 401);
    assert_null(strstr(o.bytes, "sk-very-secret-123"));
    assert_non_null(strstr(o.bytes, "[redacted]"));
    end(&o);
}

static void a_slow_reader_pauses_the_call_and_loses_nothing(void **state)
{
    (void)state;
    enum { PIECES = 3000, PIECE = 400 };
    seen o = begin(daruma_memory_new(), options, stream_request);
    static char event[PIECE + 200], text[PIECE + 1];
    size_t sent = 0;
    memset(text, 'x', PIECE);
    daruma_call_head(o.s, o.call, 200, "content-type: text/event-stream\r\n", 33);
    o.most = 40;
    for (int i = 0; i < PIECES; i++) {
        if (i % 100 == 99)
            carry_out(&o); /* it reads half of what comes */
        int n =
            snprintf(event, sizeof event,
                     "data: {\"id\":\"a\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{"
                     "\"content\":\"%s\"}}]}\n\n",
                     text);
        daruma_call_bytes(o.s, o.call, event, (size_t)n);
        sent += (size_t)n;
    }
    assert_non_null(strstr(o.did, "pause")); /* it does not wait behind the bytes */
    assert_true(o.n < sent * 3 / 4);
    o.most = -1;
    carry_out(&o);
    assert_non_null(strstr(o.did, "resume"));
    const char last[] =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    daruma_call_bytes(o.s, o.call, last, sizeof last - 1);
    daruma_call_end(o.s, o.call);
    carry_out(&o);
    assert_true(o.over);
    size_t got = 0;
    for (const char *p = o.bytes; (p = strstr(p, "xxxx")); got++)
        while (*p == 'x')
            p++;
    assert_int_equal(got, PIECES);
    assert_true(o.n >= sent);
    end(&o);
}

static void a_reader_that_stops_and_goes_on_hears_that_it_may(void **state)
{
    (void)state;
    seen o = begin(daruma_memory_new(), options, stream_request);
    static char event[70000];
    int n = snprintf(event, sizeof event,
                     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%060000d\"}}]}\n\n", 7);
    daruma_call_head(o.s, o.call, 200, "content-type: text/event-stream\r\n", 33);
    for (int i = 0; i < 5; i++)
        daruma_call_bytes(o.s, o.call, event, (size_t)n);
    assert_int_equal(daruma_session_next(o.s), DARUMA_DO_LIMIT);
    assert_int_equal(daruma_session_next(o.s), DARUMA_DO_PAUSE);
    while (daruma_session_next(o.s) != DARUMA_DO_BYTES)
        ;
    daruma_call_bytes(o.s, o.call, event, (size_t)n); /* was on its way */
    carry_out(&o);
    assert_non_null(strstr(o.did, "resume"));
    end(&o);
}

static void only_fields_of_the_answer_go_on(void **state)
{
    (void)state;
    seen o = begin(daruma_memory_new(), options, request);
    daruma_call_head(o.s, o.call, 103, "link: early\r\n", 13); /* no answer yet */
    carry_out(&o);
    assert_string_equal(o.did, "send first");
    says(&o, 200,
         "connection: close, x-private\r\nX-Private: 1\r\nproxy-authorization: p\r\nx-daruma-case: forged\r\nx-odd: "
         "a\rb: c\r\nno colon\r\nx-kept: 1\r\n",
         answer);
    assert_null(strstr(o.fields, "X-Private"));
    assert_null(strstr(o.fields, "proxy-authorization"));
    assert_null(strstr(o.fields, "forged"));
    assert_null(strstr(o.fields, "x-odd"));
    assert_non_null(strstr(o.fields, "x-kept: 1\r\n"));
    end(&o);
    o = begin(daruma_memory_new(), options, request);
    daruma_call_head(o.s, o.call, 0, "", 0);
    carry_out(&o);
    assert_string_equal(o.did, "send first send first"); /* a failure, which is repeated */
    end(&o);
}

/* Opens a session whose request meets a place that failed often, and waits for it. */
static seen begin_waiting(daruma_memory *m, const char *one, int64_t now)
{
    seen o = {.m = m, .most = -1};
    time_is(&o, now);
    o.s = daruma_session_open(m, NULL, one, strlen(one), request, strlen(request), NULL, 0);
    carry_out(&o);
    return o;
}

/* Google's SDK fails on comments in a stream: a message of ours behind a heartbeat has none. */
static void a_message_behind_a_heartbeat_has_no_comment_where_clients_fail_on_them(void **state)
{
    (void)state;
    static const char at[] = "{\"dialect\":\"%s\",\"model\":\"m\",\"stream\":true,\"on_failure\":\"message\","
                             "\"targets\":[{\"name\":\"only\",\"model\":\"m1\"}]}";
    static const struct {
        const char *dialect, *request;
        bool comments;
    } wires[] = {
        {"openai", stream_request, true},
        {"gemini", "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hello\"}]}]}", false},
    };
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        char what[256];
        snprintf(what, sizeof what, at, wires[i].dialect);
        seen o = begin(daruma_memory_new(), what, wires[i].request);
        for (int k = 0; k < 100 && !o.n; k++) { /* until the first heartbeat */
            time_is(&o, daruma_session_wakes_ms(o.s));
            daruma_session_clock(o.s);
            carry_out(&o);
        }
        assert_int_equal(o.status, 200);
        size_t beat = o.n;
        says(&o, 400, "content-type: application/json\r\n",
             "{\"error\":{\"code\":400,\"message\":\"User location is not supported for the API use.\","
             "\"status\":\"FAILED_PRECONDITION\"}}");
        assert_true(o.over);
        assert_string_equal(daruma_session_outcome(o.s), "explained");
        assert_true((strstr(o.bytes + beat, "\n: daruma outcome=explained") != NULL) == wires[i].comments);
        end(&o);
    }
}

static void who_waits_is_ready_when_another_finds_the_place_well(void **state)
{
    (void)state;
    static const char one[] = "{\"dialect\":\"openai\",\"targets\":[{\"name\":\"only\",\"model\":\"m1\"}]}";
    static const char no_retry[] = "{\"rungs\":[{\"kind\":\"server_error\",\"remedy\":\"explain\"}]}";
    daruma_memory *m = daruma_memory_new();
    daruma_policy *p = daruma_policy_new(no_retry, strlen(no_retry), NULL, 0);
    int64_t now = 1000;
    for (int i = 0; i < 30; i++) {
        seen o = {.m = m, .most = -1};
        time_is(&o, now += 50);
        o.s = daruma_session_open(m, p, one, strlen(one), request, strlen(request), NULL, 0);
        carry_out(&o);
        says(&o, 500, "", "{\"error\":{\"message\":\"boom\"}}");
        daruma_session_free(o.s);
        free(o.bytes);
    }
    seen a = begin_waiting(m, one, now), b = begin_waiting(m, one, now);
    seen *probe = NULL, *waits = NULL;
    for (int i = 0; i < 50 && !probe; i++) {
        int64_t wakes = daruma_session_wakes_ms(a.s), other = daruma_session_wakes_ms(b.s);
        time_is(&a, wakes < other ? wakes : other);
        for (daruma_session *s; (s = daruma_memory_ready(m));)
            carry_out(s == a.s ? &a : &b);
        if (a.call || b.call) {
            probe = a.call ? &a : &b;
            waits = a.call ? &b : &a;
        }
    }
    assert_non_null(probe);
    assert_int_equal(waits->call, 0);
    int64_t was = daruma_session_wakes_ms(waits->s);
    time_is(probe, was - 300); /* further than those who may go on are spread */
    assert_null(daruma_memory_ready(m));
    says(probe, 200, "content-type: application/json\r\n", answer);
    assert_ptr_equal(daruma_memory_ready(m), waits->s);
    carry_out(waits); /* the second one does not come in the same instant as the third */
    time_is(waits, daruma_session_wakes_ms(waits->s));
    assert_true(waits->now < was);
    carry_out(waits);
    assert_string_equal(waits->did, "send only");
    daruma_session_free(a.s);
    free(a.bytes);
    daruma_policy_free(p);
    end(&b);
}

static void who_leaves_ends_its_call(void **state)
{
    (void)state;
    seen o = begin(daruma_memory_new(), options, request);
    daruma_session_gone(o.s);
    carry_out(&o);
    assert_string_equal(o.did, "send first cancel break");
    assert_string_equal(daruma_session_outcome(o.s), "cancelled");
    daruma_call_bytes(o.s, o.call, "x", 1); /* too late, and nobody minds */
    daruma_call_end(o.s, o.call);
    daruma_call_failed(o.s, 999, "reset");
    daruma_session_clock(o.s);
    carry_out(&o);
    assert_string_equal(o.did, "send first cancel break");
    end(&o);
}

static void another_dialect_is_spoken_to_in_its_own(void **state)
{
    (void)state;
    seen o =
        begin(daruma_memory_new(),
              "{\"dialect\":\"openai\",\"targets\":[{\"name\":\"c\",\"model\":\"claude\",\"dialect\":\"anthropic\"}]}",
              request);
    assert_string_equal(o.path, "/v1/messages");
    says(&o, 200, "content-type: application/json\r\n",
         "{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude\",\"content\":[{\"type\":"
         "\"text\","
         "\"text\":\"hi\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}");
    assert_non_null(strstr(o.bytes, "\"choices\""));
    end(&o);
}

/* ---- answers that meet a limit of daruma's own ---- */

enum { LONG_BYTES = 18 << 20 };

#define CHUNK "data: {\"id\":\"a\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":"
static const char part[] = CHUNK "{\"role\":\"assistant\",\"content\":\"the first part\"}}]}\n\n";
static const char last[] = CHUNK "{},\"finish_reason\":\"stop\"}]}\n\n";

/* `open` and so much behind it that nobody holds an event, or an answer, of that length. */
static void says_long(seen *o, int64_t call, const char *open)
{
    static char piece[1 << 20];
    memset(piece, 'x', sizeof piece);
    daruma_call_bytes(o->s, call, open, strlen(open));
    for (size_t n = 0; n < LONG_BYTES; n += sizeof piece) {
        daruma_call_bytes(o->s, call, piece, sizeof piece);
        carry_out(o);
    }
}

/* A stream whose first part is out. */
static seen begun(const char *what)
{
    seen o = begin(daruma_memory_new(), what, stream_request);
    daruma_call_head(o.s, o.call, 200, "content-type: text/event-stream\r\n", 33);
    daruma_call_bytes(o.s, o.call, part, strlen(part));
    carry_out(&o);
    assert_non_null(strstr(o.bytes, "the first part"));
    return o;
}

static void nothing_is_written_into_an_event_that_goes_out_in_pieces(void **state)
{
    (void)state;
    seen o = begun("{\"dialect\":\"openai\",\"targets\":[{\"name\":\"only\",\"model\":\"m1\"}]}");
    says_long(&o, o.call, CHUNK "{\"content\":\"");
    size_t n = o.n;
    for (int i = 0; i < 3; i++) { /* as long as two heartbeats are apart, each */
        time_is(&o, o.now + 20000);
        daruma_session_clock(o.s);
        carry_out(&o);
        assert_int_equal(o.n, n);
        daruma_call_bytes(o.s, o.call, "y", 1);
        carry_out(&o);
        n++;
    }
    assert_true(o.n > LONG_BYTES);
    daruma_call_bytes(o.s, o.call, "\"}}]}\n\n", 7);
    daruma_call_bytes(o.s, o.call, last, strlen(last));
    daruma_call_end(o.s, o.call);
    carry_out(&o);
    assert_non_null(strstr(o.did, " end"));
    assert_int_equal(memcmp(o.bytes + n - 3, "yyy\"}}]}\n\n" CHUNK, sizeof "yyy\"}}]}\n\n" CHUNK - 1), 0);
    assert_string_equal(daruma_session_outcome(o.s), "ok");
    end(&o);
}

static void half_a_long_event_ends_no_answer(void **state)
{
    (void)state;
    for (int finished = 0; finished < 2; finished++) {
        seen o = begun("{\"dialect\":\"openai\",\"targets\":[{\"name\":\"only\",\"model\":\"m1\"}]}");
        if (finished)
            daruma_call_bytes(o.s, o.call, last, strlen(last));
        says_long(&o, o.call, CHUNK "{\"content\":\"");
        daruma_call_end(o.s, o.call);
        carry_out(&o);
        assert_non_null(strstr(o.did, " break"));
        assert_int_equal(o.bytes[o.n - 1], 'x');
        end(&o);
    }
}

static void a_long_error_event_does_not_pass(void **state)
{
    (void)state;
    seen o = begun(options);
    says_long(&o, o.call, "data: {\"error\":{\"message\":\"sk-very-secret-123 ");
    assert_true(o.over);
    assert_null(strstr(o.bytes, "sk-very-secret-123"));
    assert_non_null(strstr(o.bytes, "too long"));
    end(&o);
}

static void a_second_call_does_not_speak_within_an_event(void **state)
{
    (void)state;
    seen o = begun(options);
    int64_t first = o.call;
    while (!strstr(o.did, "send second"))
        wait_for_it(&o);
    int64_t second = o.call;
    assert_true(second != first);
    says_long(&o, first, CHUNK "{\"content\":\"");
    daruma_call_head(o.s, second, 200, "content-type: text/event-stream\r\n", 33);
    daruma_call_bytes(o.s, second, part, strlen(part));
    daruma_call_bytes(o.s, second, last, strlen(last));
    daruma_call_end(o.s, second);
    carry_out(&o);
    assert_false(o.over);
    assert_int_equal(o.bytes[o.n - 1], 'x');
    end(&o);
}

static void who_speaks_the_dialect_of_the_client_is_asked_for_what_is_too_long(void **state)
{
    (void)state;
    static const char two[] = "{\"dialect\":\"openai\",\"targets\":[{\"name\":\"c\",\"model\":\"claude\",\"dialect\":"
                              "\"anthropic\"},{\"name\":\"d\",\"model\":\"claude\",\"dialect\":\"anthropic\"},"
                              "{\"name\":\"own\",\"model\":\"m1\"}]}";
    static const char one[] =
        "{\"dialect\":\"openai\",\"targets\":[{\"name\":\"c\",\"model\":\"claude\",\"dialect\":\"anthropic\"}]}";
    for (int own = 0; own < 2; own++) {
        seen o = begin(daruma_memory_new(), own ? two : one, request);
        daruma_call_head(o.s, o.call, 200, "content-type: application/json\r\n", 32);
        says_long(&o, o.call,
                  "{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
                  "\"text\":\"");
        while (own && !strstr(o.did, "send own"))
            wait_for_it(&o);
        assert_null(strstr(o.did, "send d"));
        if (own)
            says(&o, 200, "content-type: application/json\r\n", answer);
        assert_true(o.over);
        assert_string_equal(daruma_session_outcome(o.s), own ? "recovered" : "failed");
        assert_int_equal(o.status, own ? 200 : 502);
        assert_int_equal(strstr(o.bytes, "daruma holds 16 MiB") != NULL, !own);
        end(&o);
    }
}

static void wrong_options_say_what_is_wrong(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "options: this is no JSON text"},
        {"[]", "options: a JSON object is expected"},
        {"{}", "dialect: it is missing: what does the client speak?"},
        {"{\"dialect\":\"opnai\"}", "dialect: there is no such word; did you mean \"openai\"?"},
        {"{\"dialect\":\"openai\"}", "targets: there is none: who can be asked?"},
        {"{\"dialect\":\"openai\",\"targets\":[]}", "targets: there is none: who can be asked?"},
        {"{\"dialect\":\"openai\",\"targets\":[{}]}", "targets: each target needs a name without control characters"},
        {"{\"dialect\":\"openai\",\"targets\":[{\"name\":\"a\"},{\"name\":\"b\",\"windw\":1}]}",
         "targets[1].windw: there is no such member; did you mean \"window\"?"},
        {"{\"dialect\":\"openai\",\"targets\":[{\"name\":\"a\",\"window\":0}]}",
         "targets[0].window: a whole number from 1 to 1000000000 is expected"},
        {"{\"dialect\":\"openai\",\"targets\":[{\"name\":\"a\",\"window\":1.5}]}",
         "targets[0].window: a whole number from 1 to 1000000000 is expected"},
        {"{\"dialect\":\"openai\",\"targets\":[{\"name\":7}]}", "targets[0].name: a string is expected"},
        {"{\"dialect\":\"openai\",\"targets\":7}", "targets: a list of at most 32 objects is expected"},
        {"{\"dialect\":\"gemini\",\"targets\":[{\"name\":\"a\"}]}",
         "model: it is missing: Gemini's clients say it in the path"},
        {"{\"dialect\":\"openai\",\"targets\":[{\"name\":\"a\\r\\nset-cookie: x\"}]}",
         "targets: each target needs a name without control characters"},
        {"{\"dialect\":\"openai\",\"targets\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
         "targets: two targets have the same name"},
        {"{\"dialect\":\"openai\",\"targets\":[7]}", "targets[0]: a JSON object is expected"},
        {"{\"dialect\":\"openai\",\"secrets\":[\"sk-one-1\"],\"secrets\":[\"sk-two-2\"]}", "secrets: it stands twice"},
        {"{\"dialect\":\"openai\",\"secrets\":[\"short\"]}",
         "secrets: one of them is shorter than 6 bytes: what is no word is expected"},
        {"{\"dialect\":\"openai\",\"retry\":1,\"targets\":[{\"name\":\"a\"}]}", "retry: true or false is expected"},
        {"{\"dialect\":\"openai\",\"secrets\":[1],\"targets\":[{\"name\":\"a\"}]}",
         "secrets: a list of strings is expected"},
        {"{\"dialect\":\"openai\",\"watch\":\"all\",\"targets\":[{\"name\":\"a\"}]}",
         "watch: one of these words is expected: off observe guide enforce"},
    };
    daruma_memory *m = daruma_memory_new();
    daruma_memory_now(m, 1, 0, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char why[256] = "";
        assert_null(
            daruma_session_open(m, NULL, rows[i][0], strlen(rows[i][0]), request, strlen(request), why, sizeof why));
        assert_string_equal(why, rows[i][1]);
        assert_null(daruma_session_open(m, NULL, rows[i][0], strlen(rows[i][0]), request, strlen(request), NULL, 0));
    }
    daruma_memory_free(m);
}

static void a_policy_is_printed_as_it_is_read(void **state)
{
    (void)state;
    static const char *const profiles[] = {"default",       "penguiflow", "penguiflow-client", "penguiflow-native",
                                           "swarm",         "swarm/code", "compact",           "adaptive",
                                           "adaptive-head", "osprey",     "swarm,ruby-llm"};
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        char json[64], why[256] = "";
        int n = snprintf(json, sizeof json, "{\"profile\":\"%s\"}", profiles[i]);
        daruma_policy *p = daruma_policy_new(json, (size_t)n, why, sizeof why);
        assert_string_equal(why, "");
        size_t bytes = daruma_policy_json(p, NULL, 0);
        char *once = malloc(bytes + 1), *twice = malloc(bytes + 1);
        assert_int_equal(daruma_policy_json(p, once, bytes + 1), bytes);
        daruma_policy_free(p);
        p = daruma_policy_new(once, bytes, why, sizeof why);
        assert_string_equal(why, "");
        assert_int_equal(daruma_policy_json(p, twice, bytes + 1), bytes);
        assert_string_equal(once, twice);
        char few[8];
        assert_int_equal(daruma_policy_json(p, few, sizeof few), bytes);
        assert_int_equal(strlen(few), 7);
        daruma_policy_free(p);
        free(once);
        free(twice);
    }
}

static void wrong_policies_say_what_is_wrong(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{", "policy: this is no JSON text"},
        {"{\"profile\":\"defalt\"}", "profile: there is no such profile; did you mean \"default\"?"},
        {"[]", "policy: a JSON object is expected"},
        {"{\"profile\":\"swarm\",\"profile\":\"default\"}", "profile: it stands twice"},
        {"{\"patience\":1}", "patience: there is no such member; did you mean \"patience_ms\"?"},
        {"{\"kinds\":{\"rate_limt\":{}}}", "kinds: there is no such kind of failure; did you mean \"rate_limit\"?"},
        {"{\"kinds\":{\"timeout\":{},\"timeout\":{}}}", "kinds: one stands twice"},
        {"{\"kinds\":{\"rate_limit\":{\"jitter\":1.5}}}",
         "kinds.rate_limit.jitter: a number from 0 to 1 with at most three digits behind its point is expected"},
        {"{\"rungs\":[{\"kind\":\"timeout\",\"remedy\":\"explan\"}]}",
         "rungs[0].remedy: there is no such word; did you mean \"explain\"?"},
        {"{\"rungs\":[{\"kind\":\"timeout\",\"remedy\":\"explain\"},{\"kind\":\"auth\",\"remedy\":\"explain\"},"
         "{\"kind\":\"timeout\",\"remedy\":\"explain\"}]}",
         "rungs[2]: the rungs of one kind stand together"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char why[256] = "";
        assert_null(daruma_policy_new(rows[i][0], strlen(rows[i][0]), why, sizeof why));
        if (!strstr(why, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], why);
    }
    char why[8];
    assert_null(daruma_policy_new("{", 1, why, sizeof why));
    assert_string_equal(why, "policy:");
}

static void a_policy_of_ones_own_decides(void **state)
{
    (void)state;
    char why[256] = "";
    static const char json[] = "{\"rungs\":[{\"kind\":\"rate_limit\",\"remedy\":\"explain\"}]}";
    daruma_policy *p = daruma_policy_new(json, strlen(json), why, sizeof why);
    assert_string_equal(why, "");
    daruma_memory *m = daruma_memory_new();
    seen o = {.m = m, .most = -1};
    time_is(&o, 1);
    o.s = daruma_session_open(m, p, options, strlen(options), request, strlen(request), why, sizeof why);
    daruma_policy_free(p); /* the session has its own */
    carry_out(&o);
    says(&o, 429, "", "{\"error\":{\"message\":\"Rate limit reached\",\"code\":\"rate_limit_exceeded\"}}");
    assert_string_equal(o.did, "send first head end");
    assert_int_equal(o.status, 429);
    end(&o);
}

static void what_one_session_learns_the_next_one_knows(void **state)
{
    (void)state;
    seen o = begin(daruma_memory_new(), options, request);
    says(&o, 401, "", "{\"error\":{\"message\":\"Incorrect API key provided\",\"code\":\"invalid_api_key\"}}");
    says(&o, 200, "content-type: application/json\r\n", answer);
    daruma_session_free(o.s);
    free(o.bytes);
    char status[4096];
    assert_true(daruma_memory_status(o.m, status, sizeof status) < sizeof status);
    assert_non_null(strstr(status, "\"recovered\":1"));
    assert_null(daruma_memory_ready(o.m));
    o = begin(o.m, options, request);
    assert_string_equal(o.did, "send second");
    end(&o);
}

/* A memory that knows what `from` knew when it was saved, `gone_s` later in another process. */
static daruma_memory *moved(daruma_memory *from, int64_t gone_s, char **ret_text)
{
    size_t n = daruma_memory_save(from, NULL, 0);
    char *text = malloc(n + 1), why[128] = "";
    daruma_memory *m = daruma_memory_new();
    assert_non_null(text);
    assert_int_equal(daruma_memory_save(from, text, n + 1), n);
    daruma_memory_now(m, 77, 1767225601 + gone_s, 1); /* its clock has nothing to do with the one before */
    assert_true(daruma_memory_load(m, text, n, why, sizeof why) > 0);
    assert_string_equal(why, "");
    *ret_text = text;
    return m;
}

static void first_of(daruma_memory *m, const char *body, int64_t now, int64_t wall, const char *did)
{
    seen o = {.m = m, .most = -1};
    char why[128] = "";
    daruma_memory_now(m, now, wall, 7);
    o.s = daruma_session_open(m, NULL, options, strlen(options), body, strlen(body), why, sizeof why);
    assert_non_null(o.s);
    carry_out(&o);
    assert_string_equal(o.did, did);
    daruma_session_free(o.s);
    free(o.bytes);
}

static void what_is_saved_is_known_to_another_process(void **state)
{
    (void)state;
    static const char hot[] =
        "{\"model\":\"m\",\"temperature\":0.3,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    seen o = begin(daruma_memory_new(), options, request);
    says(&o, 429, "retry-after: 30\r\n",
         "{\"error\":{\"message\":\"Rate limit reached\",\"code\":\"rate_limit_exceeded\"}}");
    says(&o, 200, "content-type: application/json\r\n", answer);
    daruma_session_free(o.s);
    free(o.bytes);
    o = begin(o.m, options, hot); /* the second place refuses a parameter, and then takes the request without it */
    says(&o, 400, "content-type: application/json\r\n",
         "{\"error\":{\"message\":\"Unsupported parameter: 'temperature' is not supported with this model.\","
         "\"type\":\"invalid_request_error\",\"param\":\"temperature\",\"code\":\"unsupported_parameter\"}}");
    says(&o, 200, "content-type: application/json\r\n", answer);
    assert_string_equal(o.did, "send second send second head end");
    daruma_session_free(o.s);
    free(o.bytes);
    char *text, *later, status[8192];
    daruma_memory *m = moved(o.m, 9, &text), *late = moved(o.m, 40, &later);
    assert_null(strstr(text, "sk-very-secret-123"));
    daruma_memory_status(m, status, sizeof status);
    assert_non_null(strstr(status, "temperature"));             /* the lesson */
    first_of(m, request, 77, 1767225610, "send second");        /* the first one rests for another 20 s */
    first_of(m, request, 77 + 22000, 1767225632, "send first"); /* and no longer */
    first_of(late, request, 77, 1767225641, "send first");      /* times that went by in between count */
    daruma_memory_free(m);
    daruma_memory_free(late);
    free(text);
    free(later);
    daruma_memory_free(o.m);
}

static void a_broken_snapshot_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    char why[128] = "";
    daruma_memory *m = daruma_memory_new();
    static const char foreign[] = "{\"is\":\"daruma_memory\",\"form\":99}\n";
    static const char broken[] =
        "{\"is\":\"daruma_memory\",\"form\":1,\"wall\":5}\n"
        "{\"is\":\"lane\",\"id\":\"00000000000000ff\",\"window\":128000,\"model\":\"m\"}\n"
        "{\"is\":\"lane\",\"id\":\"ff\",\"window\":128000}\n"
        "{\"is\":\"lane\",\"id\":\"00000000000000fe\",\"window\":-7}\n"
        "{\"is\":\"place\",\"id\":\"00000000000000fe\",\"scope\":\"moon\",\"why\":\"timeout\"}\n"
        "{\"is\":\"something\"}\n"
        "\n"
        "{\"is\":\"conversation\",\"id\":\"00000000000000fe\",\"key\":\"0000";
    assert_int_equal(daruma_memory_load(m, foreign, sizeof foreign - 1, why, sizeof why), -1);
    assert_string_equal(why, "This is no snapshot of daruma's memory, or one of another form.");
    assert_int_equal(daruma_memory_load(m, "", 0, NULL, 0), -1);
    assert_int_equal(daruma_memory_load(m, broken, sizeof broken - 1, why, sizeof why), 1);
    assert_string_equal(why, "5 of 6 lines were broken or not known, and were left out.");
    daruma_memory_free(m);
}

static void versions_are_told(void **state)
{
    (void)state;
    assert_string_equal(daruma_version(), DARUMA_VERSION);
    assert_int_equal(daruma_abi(), DARUMA_ABI);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_works_is_one_call),
        cmocka_unit_test(the_body_goes_out_with_the_name_of_the_target),
        cmocka_unit_test(who_is_limited_is_left_for_another),
        cmocka_unit_test(no_more_calls_go_out_than_may),
        cmocka_unit_test(a_request_that_comes_again_has_its_calls_anew),
        cmocka_unit_test(a_call_that_cannot_go_out_is_none),
        cmocka_unit_test(an_outage_of_everybody_is_waited_for),
        cmocka_unit_test(behind_a_part_of_an_answer_stands_an_error_and_no_message_of_ours),
        cmocka_unit_test(who_cannot_go_on_from_a_stored_answer_is_said_to_be_not_asked),
        cmocka_unit_test(a_secret_that_a_provider_repeats_is_taken_out),
        cmocka_unit_test(a_slow_reader_pauses_the_call_and_loses_nothing),
        cmocka_unit_test(a_reader_that_stops_and_goes_on_hears_that_it_may),
        cmocka_unit_test(only_fields_of_the_answer_go_on),
        cmocka_unit_test(a_message_behind_a_heartbeat_has_no_comment_where_clients_fail_on_them),
        cmocka_unit_test(who_waits_is_ready_when_another_finds_the_place_well),
        cmocka_unit_test(who_leaves_ends_its_call),
        cmocka_unit_test(another_dialect_is_spoken_to_in_its_own),
        cmocka_unit_test(nothing_is_written_into_an_event_that_goes_out_in_pieces),
        cmocka_unit_test(half_a_long_event_ends_no_answer),
        cmocka_unit_test(a_long_error_event_does_not_pass),
        cmocka_unit_test(a_second_call_does_not_speak_within_an_event),
        cmocka_unit_test(who_speaks_the_dialect_of_the_client_is_asked_for_what_is_too_long),
        cmocka_unit_test(wrong_options_say_what_is_wrong),
        cmocka_unit_test(a_policy_is_printed_as_it_is_read),
        cmocka_unit_test(wrong_policies_say_what_is_wrong),
        cmocka_unit_test(a_policy_of_ones_own_decides),
        cmocka_unit_test(what_one_session_learns_the_next_one_knows),
        cmocka_unit_test(what_is_saved_is_known_to_another_process),
        cmocka_unit_test(a_broken_snapshot_is_read_as_far_as_it_goes),
        cmocka_unit_test(versions_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
