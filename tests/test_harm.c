/* What a client would get alone, it gets through a case, too: nobody gives up earlier than an SDK would, and nobody
 * asks more than is of use. */
#include "decide_kit.h"
#include "engine/decide/case.h"
#include "engine/decide/health.h"

/* One request of its own that goes out at `now` and is refused so; returns what is done about it. */
static daruma_remedy refused(daruma_case *c, daruma_health *w, const daruma_policy *p, const daruma_target *t, size_t n,
                             daruma_failure f, daruma_ms now)
{
    daruma_case_open(c, w, p, t, n, -1, -1, of_another(now));
    out(c, now);
    return daruma_case_next(c, &f, 0, at(now));
}

static void a_refusal_behind_answers_is_waited_for_so_long_since_the_first(void **state)
{
    (void)state;
    static const struct {
        daruma_kind kind;
        int status;
        daruma_ms passes;
    } kinds[] = {{DARUMA_AUTH, 401, 20000}, {DARUMA_MODEL_NOT_FOUND, 404, 20000}, {DARUMA_QUOTA, 429, 3000}};
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    for (size_t i = 0; i < COUNT(kinds); i++) {
        daruma_health *w = a_health();
        daruma_failure f = surely(kinds[i].kind, kinds[i].status);
        daruma_case c;
        for (int n = 0; n < 3; n++)
            succeeds(w, &p, &t, 1000 * n);
        assert_int_equal(refused(&c, w, &p, &t, 1, f, 10000).remedy, DARUMA_REMEDY_WAIT_RETRY);
        assert_int_equal(refused(&c, w, &p, &t, 1, f, 9999 + kinds[i].passes).remedy, DARUMA_REMEDY_WAIT_RETRY);
        assert_int_equal(refused(&c, w, &p, &t, 1, f, 10000 + kinds[i].passes).remedy, DARUMA_REMEDY_EXPLAIN);
    }
}

static void an_account_that_never_answered_costs_one_call_when_it_is_empty(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c;
    assert_int_equal(refused(&c, a_health(), &p, &t, 1, surely(DARUMA_QUOTA, 429), 0).remedy, DARUMA_REMEDY_EXPLAIN);
}

/* The calls of one request that is refused so wherever it asks, until nothing can be done any more. */
static uint32_t calls_of(daruma_health *w, const daruma_policy *p, const daruma_target *t, size_t n, daruma_failure f,
                         daruma_ms now)
{
    daruma_case c;
    daruma_case_open(&c, w, p, t, n, -1, -1, of_another(now));
    daruma_remedy r = {.act = DARUMA_SEND};
    while (r.act == DARUMA_SEND) {
        now += r.wait;
        out(&c, now);
        r = daruma_case_next(&c, &f, 0, at(now));
    }
    assert_int_equal(r.remedy, DARUMA_REMEDY_EXPLAIN);
    return c.attempts;
}

/* Of several keys that are refused for good each request asks each, unless another request was told just now. What is
 * refused for one request, perhaps, is asked all the same, and so is a key that may be taken again. */
static void keys_that_others_were_refused_just_now_are_not_asked_again(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "b", "k2"), target("p", "m", "c", "k3")};
    daruma_target u[] = {target("p", "m", "a", "k1"), target("q", "m", "b", "k2"), target("r", "m", "c", "k3")};
    static const struct {
        daruma_kind kind;
        int status;
        daruma_ms later;
        uint32_t calls;
    } rows[] = {{DARUMA_AUTH, 401, ALONE_MS_MIN - 1, 1},
                {DARUMA_AUTH, 401, ALONE_MS_MIN, 3},
                {DARUMA_QUOTA, 429, 1, 3},
                {DARUMA_MODEL_NOT_FOUND, 404, 1, 3}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_health *w = a_health();
        const daruma_target *of = rows[i].kind == DARUMA_MODEL_NOT_FOUND ? u : t;
        daruma_failure f = surely(rows[i].kind, rows[i].status);
        for (int n = 0; n < 3; n++)
            fails(w, &p, &of[n], f, 1000);
        assert_int_equal(calls_of(w, &p, of, 3, f, 1000 + rows[i].later), rows[i].calls);
    }
}

static void a_key_that_was_taken_lately_is_asked_whatever_others_were_told(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "dead"), target("p", "m", "b", "k2")};
    daruma_failure f = surely(DARUMA_AUTH, 401);
    static const struct {
        daruma_ms since; /* it has been refused */
        bool asked;
    } rows[] = {{1, true}, {19999, true}, {20000, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_health *w = a_health();
        daruma_ms now = 10000;
        daruma_case c;
        succeeds(w, &p, &t[1], 5000); /* once: it takes two answers until a refusal is waited for */
        fails(w, &p, &t[1], f, now);
        fails(w, &p, &t[0], f, now += rows[i].since - 1);
        fails(w, &p, &t[1], f, now);
        daruma_case_open(&c, w, &p, t, 2, 0, -1, of_another(++now));
        assert_int_equal(out(&c, now), 0);
        daruma_remedy r = daruma_case_next(&c, &f, 0, at(now));
        assert_int_equal(r.act == DARUMA_SEND, rows[i].asked);
        if (rows[i].asked)
            assert_int_equal(r.target, 1);
    }
}

/* A place that fails most calls and not all: what is left of the tries lasts for the policy's patience. */
static void the_last_calls_to_who_answers_others_are_farther_apart(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case c;
    daruma_ms now = 1000, half = 0;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(now));
    while (true) {
        out(&c, now);
        succeeds(w, &p, &t, now += 5);
        fails(w, &p, &t, f, now += 5); /* others fail, too: it is not this request that cannot be answered */
        daruma_remedy r = daruma_case_next(&c, &f, 0, at(now));
        if (r.act != DARUMA_SEND)
            break;
        now += r.wait;
        half = c.attempts == p.max_attempts / 2 - 1u ? now : half;
    }
    assert_int_equal(c.attempts, p.max_attempts);
    assert_in_range(half, 1000, 31000);
    assert_in_range(now, 75000, 121000);
}

/* Its breaker is open, one call of others was answered since this client came, and it has ten seconds. */
static void who_is_short_of_time_asks_himself_where_some_calls_are_answered(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    for (int answered = 0; answered < 2; answered++) {
        daruma_health *w = a_health();
        daruma_case c;
        daruma_ms now = 1000;
        for (int n = 0; n < 12; n++)
            fails(w, &p, &t, f, now += 1000);
        daruma_case_open(&c, w, &p, &t, 1, -1, now + 10000, of_another(now));
        assert_true(daruma_case_admit(&c, at(now)).wait > 0);
        if (answered)
            succeeds(w, &p, &t, now + 100);
        for (int n = 0; n < 24; n++)
            fails(w, &p, &t, f, now + 110 + 100 * n);
        c.not_before = now += 2500;
        assert_int_equal(daruma_case_admit(&c, at(now)).wait == 0, answered);
    }
}

/* A model with a small window refuses what the first one, which is down, would take. Nobody knows how much a third one
 * takes: it is asked before anybody waits. */
static void a_narrow_neighbours_word_is_none_about_a_model_of_unknown_window(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "first", "a", "k"), target("q", "narrow", "b", "l"),
                         target("r", "wide", "c", "j")};
    daruma_health *w = a_health();
    daruma_failure f = surely(DARUMA_CONTEXT_LENGTH, 400);
    f.limit = 8192;
    daruma_case c;
    for (int n = 0; n < 8; n++)
        fails(w, &p, &t[0], failure(DARUMA_NETWORK, 0), 1000 * n);
    daruma_case_open(&c, w, &p, t, 3, -1, -1, of_another(7100));
    assert_int_equal(out(&c, 7100), 1);
    assert_remedy(daruma_case_next(&c, &f, 0, at(7100)), SWITCH_MODEL, 0, 2);
    out(&c, 7100);
    daruma_case_done(&c, at(7200));
    assert_int_equal(c.outcome, DARUMA_OUTCOME_RECOVERED);

    daruma_case_open(&c, a_health(), &p, t, 3, -1, -1, of_another(7100)); /* the word of the first one counts */
    assert_int_equal(out(&c, 7100), 0);
    assert_int_equal(daruma_case_next(&c, &f, 0, at(7100)).remedy, DARUMA_REMEDY_EXPLAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_behind_answers_is_waited_for_so_long_since_the_first),
        cmocka_unit_test(an_account_that_never_answered_costs_one_call_when_it_is_empty),
        cmocka_unit_test(keys_that_others_were_refused_just_now_are_not_asked_again),
        cmocka_unit_test(a_key_that_was_taken_lately_is_asked_whatever_others_were_told),
        cmocka_unit_test(the_last_calls_to_who_answers_others_are_farther_apart),
        cmocka_unit_test(who_is_short_of_time_asks_himself_where_some_calls_are_answered),
        cmocka_unit_test(a_narrow_neighbours_word_is_none_about_a_model_of_unknown_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
