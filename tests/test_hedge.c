/* Calls that are silent: how long is usual, who is asked beside them, and what becomes of both. */
#include "decide_kit.h"
#include "engine/decide/health.h"

/* A request that is out at `t[0]` since `now`. */
static daruma_case silent(daruma_health *w, const daruma_policy *p, const daruma_target *t, size_t n, daruma_ms now)
{
    daruma_case c;
    daruma_case_open(&c, w, p, t, n, -1, -1, of_another(now));
    assert_int_equal(out(&c, now), 0);
    return c;
}

/* Answers of this model whose head and content come after `ms`, often enough to know. */
static void takes(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms ms)
{
    for (int i = 0; i < 60; i++) {
        daruma_case c;
        daruma_case_open(&c, w, p, t, 1, -1, -1, of_another(0));
        out(&c, 0);
        daruma_case_headed(&c, at(ms));
        daruma_case_begun(&c, at(ms));
        daruma_case_done(&c, at(ms));
    }
}

#define assert_waits(c, now)                                                                                           \
    do {                                                                                                               \
        daruma_silence s_ = daruma_case_silence(c, at(now));                                                           \
        assert_int_equal(s_.act, DARUMA_SILENCE_WAIT);                                                                 \
        assert_in_range(s_.look_in, 1, HEDGE_LOOK_MS);                                                                 \
    } while (0)
#define assert_hedges(c, now, to)                                                                                      \
    do {                                                                                                               \
        daruma_silence s_ = daruma_case_silence(c, at(now));                                                           \
        assert_int_equal(s_.act, DARUMA_SILENCE_HEDGE);                                                                \
        assert_int_equal(s_.target, to);                                                                               \
    } while (0)
#define assert_never(c, now)                                                                                           \
    do {                                                                                                               \
        daruma_silence s_ = daruma_case_silence(c, at(now));                                                           \
        assert_int_equal(s_.act, DARUMA_SILENCE_WAIT);                                                                 \
        assert_int_equal(s_.look_in, -1);                                                                              \
    } while (0)

/* How a place is counted: calls and failures of the model of `t`. */
static daruma_place model_of(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    daruma_place list[32];
    size_t n = daruma_health_list(w, now, list, 32);
    for (size_t i = 0; i < n && i < 32; i++)
        if (list[i].id == t->model_id)
            return list[i];
    return (daruma_place){0};
}

static void a_call_is_first_looked_at_when_it_may_be_hedged(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_health *w = a_health();
    takes(w, &p, &t[0], 10); /* a usual time far below the shortest silence that counts */
    daruma_case c = silent(w, &p, t, 2, 0);
    assert_int_equal(daruma_case_silence(&c, at(0)).look_in, HEDGE_MS_MIN);
    assert_int_equal(daruma_case_silence(&c, at(HEDGE_MS_MIN - 1)).look_in, 1);
    assert_hedges(&c, HEDGE_MS_MIN, 1);
    c = silent(w, &p, t, 2, 1000);
    assert_int_equal(daruma_case_silence(&c, at(400)).look_in, HEDGE_MS_MIN); /* the clock went back */
}

static void a_knock_goes_where_calls_fail_but_not_all(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "m")};
    daruma_health *w = a_health();
    for (int i = 0; i < BREAKER_OPEN_ROW; i++)
        fails(w, &p, &t[1], failure(DARUMA_SERVER_ERROR, 500), 0);
    fails(w, &p, &t[2], surely(DARUMA_AUTH, 401), 0); /* what does not pass is not asked again for that */
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 3, -1, 20000, of_another(0));
    assert_int_equal(out(&c, 0), 0);
    int went[3] = {0};
    for (daruma_ms now = 0; now < 20000; now += 500) {
        daruma_silence look = daruma_case_silence(&c, at(now));
        if (look.act != DARUMA_SILENCE_HEDGE)
            continue;
        went[look.target]++;
        hedge(&c, look.target, at(now));
    }
    assert_true(went[1] > 0);
    assert_int_equal(went[2], 0);
}

static void a_silent_call_with_nobody_else_goes_on(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c = silent(a_health(), &p, &t, 1, 0);
    int knocks = 0; /* ask whether it is back, a minute after nothing was heard, and ever more seldom */
    for (daruma_ms now = 0; now < 600000; now += 500) {
        daruma_silence look = daruma_case_silence(&c, at(now));
        if (look.act != DARUMA_SILENCE_HEDGE)
            continue;
        assert_int_equal(look.target, 0);
        assert_true(now >= HEDGE_BEGUN_MS);
        hedge(&c, 0, at(now));
        knocks++;
    }
    assert_in_range(knocks, 3, 10);
    assert_int_equal(c.hedges, 0);
    daruma_tally n = model_of(c.health, &t, 600000).tally;
    assert_int_equal(n.knocks, knocks);
    assert_int_equal(n.hedges + n.sick + n.probes + n.waits, 0);
    assert_true(c.out);
}

static void who_is_refused_while_it_is_silent_asks_ever_more_seldom(void **state)
{
    (void)state;
    static const daruma_kind kinds[] = {DARUMA_RATE_LIMIT, DARUMA_SERVER_ERROR, DARUMA_NETWORK};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        daruma_policy p = calm();
        daruma_target t = target("p", "m", "a", "k");
        daruma_health *w = a_health();
        daruma_case c = silent(w, &p, &t, 1, 0), other;
        daruma_case_open(&other, w, &p, &t, 1, -1, -1, of_another(0)); /* that is answered meanwhile */
        out(&other, 1000);
        daruma_case_headed(&other, at(1500));
        daruma_case_begun(&other, at(1500));
        daruma_case_done(&other, at(2000));
        daruma_failure f = {.kind = kinds[i], .status = 429, .retryable = true, .wait = -1, .limit = -1, .used = -1};
        int asked = 0;
        for (daruma_ms now = 0; now < 600000; now += 100) { /* it thinks for ten minutes, say */
            if (daruma_case_silence(&c, at(now)).act != DARUMA_SILENCE_HEDGE)
                continue;
            hedge(&c, 0, at(now));
            daruma_case_hedge_ended(&c, &f, at(now + 50));
            asked++;
        }
        assert_in_range(asked, 3, 40);
        assert_true(c.out);
    }
}

static void a_place_that_refuses_for_good_is_not_asked_whether_it_is_back(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure none = surely(DARUMA_QUOTA, 429);
    daruma_case c = silent(a_health(), &p, &t, 1, 0);
    assert_hedges(&c, HEDGE_BEGUN_MS, 0);
    hedge(&c, 0, at(HEDGE_BEGUN_MS));
    daruma_case_hedge_ended(&c, &none, at(HEDGE_BEGUN_MS + 50));
    for (daruma_ms now = HEDGE_BEGUN_MS + 100; now < 600000; now += 100)
        assert_int_equal(daruma_case_silence(&c, at(now)).act, DARUMA_SILENCE_WAIT);
    assert_true(c.out);
}

/* Three providers: the first is silent, nobody has heard the second yet, the third is free. */
static void second_calls_of_several_requests_do_not_all_go_to_one_that_is_silent_too(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "j")};
    daruma_health *w = a_health();
    daruma_case c[2];
    for (int i = 0; i < 2; i++)
        c[i] = silent(w, &p, t, 3, 0);
    assert_hedges(&c[0], HEDGE_UNKNOWN_MS, 1);
    hedge(&c[0], 1, at(HEDGE_UNKNOWN_MS));
    assert_hedges(&c[1], HEDGE_UNKNOWN_MS + HEDGE_LOOK_MS - 1, 1);
    assert_hedges(&c[1], HEDGE_UNKNOWN_MS + HEDGE_LOOK_MS, 2);
    daruma_case_hedge_ended(&c[0], NULL, at(HEDGE_UNKNOWN_MS + HEDGE_LOOK_MS)); /* the first was answered */
    assert_hedges(&c[1], HEDGE_UNKNOWN_MS + HEDGE_LOOK_MS, 1);
    hedge(&c[1], 1, at(HEDGE_UNKNOWN_MS + HEDGE_LOOK_MS));
    assert_true(health_second_is_out(w, &t[1], 2 * HEDGE_UNKNOWN_MS));
    daruma_case_hedge_headed(&c[1], at(2 * HEDGE_UNKNOWN_MS)); /* the second is well */
    assert_false(health_second_is_out(w, &t[1], 3 * HEDGE_UNKNOWN_MS));
}

static void a_call_from_before_its_place_failed_has_its_time(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    static const daruma_kind kinds[] = {DARUMA_SERVER_ERROR, DARUMA_TIMEOUT};
    for (int i = 0; i < 2; i++) {
        daruma_health *w = a_health();
        takes(w, &p, &t[0], 2000);
        takes(w, &p, &t[1], 200);
        daruma_case c = silent(w, &p, t, 2, 10000);
        for (int n = 0; n < 2; n++)
            fails(w, &p, t, failure(kinds[i], i ? 0 : 500), 10100);
        daruma_silence s = daruma_case_silence(&c, at(11000)); /* the other one is well, and answers in 200 ms */
        assert_int_equal(s.act, i ? DARUMA_SILENCE_HEDGE : DARUMA_SILENCE_WAIT);
    }
}

static void a_model_that_nobody_knows_has_its_time(void **state)
{
    (void)state;
    static const struct {
        bool plain, headed, bare;
        daruma_ms usual;
    } rows[] = {{false, false, false, HEDGE_UNKNOWN_MS},
                {true, false, false, HEDGE_PLAIN_MS},
                {false, true, false, HEDGE_BEGUN_MS},
                {false, true, true, HEDGE_PLAIN_MS}};
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_case c = silent(a_health(), &p, t, 2, 0);
        c.plain = rows[i].plain;
        c.headed = rows[i].headed; /* at once: nothing is learned of that */
        c.bare = rows[i].bare;
        assert_waits(&c, rows[i].usual - 1);
        assert_hedges(&c, rows[i].usual, 1);
    }
    daruma_case c = silent(a_health(), &p, t, 2, 0);
    c.plain = true; /* its body is on its way, and stops */
    daruma_case_headed(&c, at(40000));
    daruma_case_begun(&c, at(40000));
    daruma_case_piece(&c, 50000);
    assert_waits(&c, 50000 + HEDGE_STALL_MS - 1);
    assert_hedges(&c, 50000 + HEDGE_STALL_MS, 1);
}

/* A request to `t[0]` and `t[1]`: where it goes. A stream that goes to the first is silent there until the second
 * answers, while `hangs`; all else is answered at once. */
static int asks(daruma_health *w, const daruma_policy *p, const daruma_target *t, bool plain, bool hangs,
                daruma_ms *now)
{
    daruma_case c;
    daruma_case_open(&c, w, p, t, 2, -1, -1, of_another(*now));
    c.plain = plain;
    int to = out(&c, *now);
    if (to == 0 && !plain && hangs) {
        *now += 10000;
        daruma_case_headed(&c, at(*now));
        hedge(&c, 1, at(*now));
        daruma_case_hedge_takes_over(&c, NULL, at(*now += 100));
    }
    daruma_case_begun(&c, at(++*now));
    daruma_case_done(&c, at(++*now));
    return to;
}

static void streams_that_are_silent_rest_while_plain_answers_are_well(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_health *w = a_health();
    daruma_ms now = 0;
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < 4; i++)
            assert_int_equal(asks(w, &p, t, true, true, &now), 0);
        assert_int_equal(asks(w, &p, t, false, true, &now), 0);
    }
    assert_int_equal(asks(w, &p, t, true, true, &now), 0); /* which concerns no other form of an answer */
    assert_int_equal(asks(w, &p, t, false, true, &now), 1);
    now += BREAKER_OPEN_MS;
    daruma_case probe = silent(w, &p, t, 2, now);           /* one finds out ... */
    assert_int_equal(asks(w, &p, t, false, true, &now), 1); /* ... and others keep off */
    daruma_case_begun(&probe, at(now));
    daruma_case_done(&probe, at(now));
    assert_int_equal(asks(w, &p, t, false, false, &now), 0);
}

static void what_is_usual_is_learned_of_each_model(void **state)
{
    (void)state;
    static const struct {
        daruma_ms takes, at_least, at_most;
    } rows[] = {{10, HEDGE_MS_MIN, HEDGE_MS_MIN}, {1000, 1500, 1520}, {70000, 105000, 105100}};
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_health *w = a_health();
        takes(w, &p, &t[0], rows[i].takes);
        daruma_case c = silent(w, &p, t, 2, 200000);
        assert_waits(&c, 200000 + rows[i].at_least - 1);
        assert_hedges(&c, 200000 + rows[i].at_most, 1);
    }
}

static void slow_answers_under_a_fault_stretch_what_is_usual_only_a_little(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    takes(w, &p, &t, 1000);
    daruma_ms was = health_usual(w, &t, HEALTH_CONTENT, false);
    health_took(w, &t, HEALTH_CONTENT, false, 0, 0, 500000);
    assert_in_range(health_usual(w, &t, HEALTH_CONTENT, false), was, 2 * was + was / 2);
    for (int i = 0; i < 20; i++) /* but it is believed when it stays so */
        health_took(w, &t, HEALTH_CONTENT, false, 0, 0, 8000);
    assert_true(health_usual(w, &t, HEALTH_CONTENT, false) > 8000);
}

/* One answer after the other, each a twentieth slower than the last; true when another target was asked. `longer`: the
 * requests get as much longer. */
static bool is_noticed(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms every, bool longer)
{
    daruma_ms now = 1000000, takes_ms = 300;
    for (int i = 0; i < 20; i++, now += 1000)
        health_took(w, &t[0], HEALTH_HEAD, false, 1000, now - takes_ms, now);
    for (; takes_ms < 20000; now += every, takes_ms += takes_ms / 20 + 1) {
        daruma_case c = silent(w, p, t, 2, now);
        c.bytes = longer ? 1000 * takes_ms / 300 : 1000;
        if (daruma_case_silence(&c, at(now + takes_ms)).act == DARUMA_SILENCE_HEDGE) {
            assert_in_range(takes_ms, 1200, 1500); /* three times what was usual at its best, 450 ms */
            return true;
        }
        daruma_case_headed(&c, at(now + takes_ms));
        daruma_case_begun(&c, at(now + takes_ms));
        daruma_case_done(&c, at(now + takes_ms));
    }
    return false;
}

static void a_model_that_gets_slower_little_by_little_is_noticed(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    assert_true(is_noticed(a_health(), &p, t, 10000, false));
    assert_false(is_noticed(a_health(), &p, t, 10000, true));          /* it is asked for more */
    assert_false(is_noticed(a_health(), &p, t, USUAL_KEPT_MS, false)); /* over hours it is another model */
    daruma_target same[] = {target("p", "m", "a", "k"), target("p", "m", "b", "l")};
    assert_false(is_noticed(a_health(), &p, same, 10000, false)); /* another key of it is as slow */
}

static void half_of_a_short_deadline_is_left_for_the_other(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_case c;
    daruma_case_open(&c, a_health(), &p, t, 2, -1, 2000, of_another(0));
    out(&c, 0);
    assert_waits(&c, 999);
    assert_hedges(&c, 1000, 1);
    assert_never(&c, 2000); /* nobody could answer in time */
}

static void who_has_half_of_his_time_left_needs_no_budget_and_another_model(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    takes(w, &p, &t[0], 1000);
    takes(w, &p, &t[1], 1000);
    while (daruma_budget_left(health_hedges(w, &t[0]), 100000) > 0)
        daruma_budget_take(health_hedges(w, &t[0]), 100000);
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 2, -1, 103000, of_another(100000));
    out(&c, 100000);
    succeeds(w, &p, &t[0], 100100); /* others are answered there meanwhile */
    assert_waits(&c, 101400);
    assert_hedges(&c, 101510, 1);
}

static void of_two_that_are_silent_the_second_is_not_waited_for_thrice_when_nobody_knows_it(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "b", "l"), target("q", "n", "b", "l"),
                         target("r", "m", "c", "o")};
    takes(w, &p, &t[0], 1000);
    daruma_case c = silent(w, &p, t, 4, 100000);
    assert_hedges(&c, 104000, 1);
    hedge(&c, 1, at(104000));
    assert_waits(&c, 104000 + HEDGE_UNKNOWN_MS - 1);
    assert_hedges(&c, 104000 + HEDGE_UNKNOWN_MS, 3); /* nobody was asked there yet */
}

static void of_two_that_are_silent_the_first_goes_on_however_late_it_is(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "o")};
    for (int known = 0; known < 2; known++) { /* all may be slow at once, and then it is the first to answer */
        daruma_health *w = a_health();
        if (known)
            takes(w, &p, &t[0], 3000);
        daruma_case c = silent(w, &p, t, 3, 100000);
        assert_hedges(&c, 105000, 1);
        hedge(&c, 1, at(105000));
        daruma_ms far = known ? 100000 + HEDGE_NOTED_TIMES * 4600 : 600000;
        assert_waits(&c, 106000);
        assert_hedges(&c, far, 2);
        hedge(&c, 2, at(far));
        assert_true(c.out && c.target == 0 && c.beside->target == 2);
        assert_int_equal(model_of(w, &t[0], far).bad > 0, known); /* which says something about its model */
        daruma_case_done(&c, at(far + 1));
        assert_int_equal(c.target, 0);
    }
}

static void a_short_time_is_shared_among_those_who_are_left_but_not_in_too_small_parts(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "o"),
                         target("s", "q", "d", "p")};
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 4, -1, 9000, of_another(0));
    c.plain = true;
    out(&c, 0);
    assert_waits(&c, 2999);
    assert_hedges(&c, 3000, 1);
    hedge(&c, 1, at(3000));
    assert_waits(&c, 5999);
    assert_hedges(&c, 6000, 2); /* the younger one is given up: nobody knows how long the first one takes */
}

static void a_second_call_that_fails_is_not_followed_at_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k")};
    daruma_health *w = a_health();
    takes(w, &p, &t[0], 1000);
    daruma_case c = silent(w, &p, t, 1, 10000), newer = silent(w, &p, t, 1, 10500);
    daruma_case_headed(&newer, at(11600));
    daruma_ms now = 11600;
    for (int n = 0; n < 2 * HEDGES_EACH_MAX; n++) { /* nor are such calls all that there may be */
        assert_hedges(&c, now, 0);
        hedge(&c, 0, at(now));
        daruma_failure f = failure(DARUMA_RATE_LIMIT, 429);
        daruma_case_hedge_ended(&c, &f, at(now));
        daruma_ms grown = daruma_backoff_delay(&p.kinds[DARUMA_RATE_LIMIT].backoff, (uint32_t)n + 1, 0);
        assert_waits(&c, now + grown - 1);
        now += grown;
    }
}

static void a_second_call_of_no_use_says_nothing_of_a_model_that_answered(void **state)
{
    (void)state;
    daruma_policy p = calm();
    for (int answered = 0; answered < 2; answered++) {
        daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
        daruma_health *w = a_health();
        takes(w, &p, &t[0], 1000);
        daruma_case c = silent(w, &p, t, 2, 10000);
        assert_hedges(&c, 11600, 1);
        hedge(&c, 1, at(11600));
        c.beside->answered = answered;
        daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
        daruma_case_hedge_ended(&c, &f, at(11700));
        assert_int_equal(model_of(w, &t[1], 11700).bad, !answered);
        assert_waits(&c, 11701); /* nor is it asked again at once */
    }
}

static void a_stream_that_is_silent_within_its_thinking_has_half_a_minute(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (int thinks = 0; thinks < 2; thinks++) {
        daruma_case c = silent(a_health(), &p, t, 2, 0);
        daruma_ms piece = 200, most = thinks ? HEDGE_THINKS_MS : HEDGE_STALL_MS;
        daruma_case_headed(&c, at(100));
        daruma_case_begun(&c, at(piece));
        c.goes_on = true;
        c.thinks = thinks;
        assert_waits(&c, piece + most - 1);
        assert_hedges(&c, piece + most, 1);
        hedge(&c, 1, at(piece + most));
        daruma_case_hedge_takes_over(&c, NULL, at(piece + most + 500));
        assert_false(c.thinks);
        assert_int_equal(c.target, 1);
    }
}

static void who_was_slower_than_the_one_beside_it_says_nothing_of_its_provider(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "n", "a", "k"), target("p", "o", "a", "k")};
    for (int i = 0; i < 4; i++) /* a model of this provider is down */
        fails(w, &p, &t[0], failure(DARUMA_SERVER_ERROR, 500), 100000);
    for (int i = 0; i < 2; i++) { /* another one is slow */
        daruma_case c = silent(w, &p, t + 1, 2, 100000);
        hedge(&c, 1, at(100000 + HEDGE_UNKNOWN_MS));
        daruma_case_hedge_takes_over(&c, NULL, at(100000 + HEDGE_UNKNOWN_MS + 100));
    }
    assert_true(daruma_health_look(w, &t[2], 103000).well);
}

static void only_what_is_allowed_and_does_no_harm_is_asked_twice(void **state)
{
    (void)state;
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (int i = 0; i < 6; i++) {
        daruma_policy p = calm();
        p.hedge = i != 0;
        p.health = i != 1;
        p.enabled = i != 2;
        daruma_case c = silent(a_health(), &p, t, 2, 0);
        c.safe_twice = i != 3;
        if (i == 4)
            daruma_case_done(&c, at(10));
        if (i == 5)
            assert_hedges(&c, 3600000, 1);
        else
            assert_never(&c, 3600000);
    }
}

static void second_calls_are_a_share_of_the_calls(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    int hedged = 0;
    enum { CALLS = 400 };
    for (int i = 0; i < CALLS; i++) {
        daruma_case c = silent(w, &p, t, 2, 0);
        daruma_silence s = daruma_case_silence(&c, at(HEDGE_UNKNOWN_MS));
        if (s.act == DARUMA_SILENCE_HEDGE) {
            hedged++;
            hedge(&c, s.target, at(HEDGE_UNKNOWN_MS));
        } else {
            assert_in_range(s.look_in, 1, HEDGE_LOOK_MS);
        }
        daruma_case_done(&c, at(HEDGE_UNKNOWN_MS));
    }
    assert_int_equal(hedged, CALLS * HEDGE_PERCENT / 100 + HEDGE_FLOOR);
}

static void a_second_call_that_was_right_takes_nothing_from_those_behind_it(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    takes(w, &p, &t[0], 1000);
    int64_t all = daruma_budget_left(health_hedges(w, &t[0]), 0);
    for (daruma_ms now = 0; now < 3000 * (all + 3); now += 3000) {
        daruma_case c = silent(w, &p, t, 2, now);
        assert_hedges(&c, now + 1600, 1);
        hedge(&c, 1, at(now + 1600));
        daruma_case_hedge_takes_over(&c, NULL, at(now + 1700));
        daruma_case_done(&c, at(now + 1700));
        succeeds(w, &p, &t[0], now + 1800); /* others are answered there meanwhile */
        assert_true(daruma_budget_left(health_hedges(w, &t[0]), now + 1800) >= all);
    }
}

static void without_budget_a_call_is_looked_at_when_it_needs_none_any_more(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    takes(w, &p, &t[0], 1000);
    daruma_case c = silent(w, &p, t, 2, 0);
    while (daruma_budget_take(health_hedges(w, &t[0]), 0))
        ;
    daruma_ms far = 2 * health_usual(w, &t[0], HEALTH_HEAD, false);
    daruma_silence s = daruma_case_silence(&c, at(far - 10));
    assert_int_equal(s.act, DARUMA_SILENCE_WAIT);
    assert_int_equal(s.look_in, 10);
    assert_hedges(&c, far, 1);
}

static void a_probe_of_what_is_sick_is_hedged_soon_and_without_budget(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (int known = 0; known < 2; known++) {
        daruma_health *w = a_health();
        for (int i = 0; known && i < 3; i++)
            takes(w, &p, &t[1], 400);
        fails(w, &p, t, failure(DARUMA_TIMEOUT, 0), 0);
        fails(w, &p, t, failure(DARUMA_TIMEOUT, 0), 0);
        for (int i = 0; i < 50; i++) { /* nothing is left for those that are only slow */
            daruma_case c = silent(w, &p, &t[1], 1, 0);
            daruma_case_drop(&c, at(0));
        }
        daruma_ms now = REST_MS_MAX;
        daruma_case c = silent(w, &p, t, 2, now); /* it rested: this one probes */
        assert_true(c.permits[3].probe);
        daruma_ms most = known ? 600 + 40 : HEDGE_SICK_MS;
        assert_waits(&c, now + (known ? 599 : HEDGE_SICK_MS - 1));
        assert_hedges(&c, now + most, 1);
    }
}

static void while_others_are_answered_there_the_same_place_is_asked_once_more(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_health *w = a_health();
    takes(w, &p, &t[0], 1000);
    daruma_case both = silent(w, &p, t, 2, 10000), c = silent(w, &p, t, 1, 10000), newer = silent(w, &p, t, 1, 10500);
    assert_waits(&c, 11600);
    daruma_case_headed(&newer, at(11600));
    assert_hedges(&both, 11600, 1); /* it may be slow, too: another model is the better answer */
    assert_hedges(&c, 11600, 0);    /* the place is well: it is this call that hangs */
    hedge(&c, 0, at(11600));
    daruma_case_hedge_takes_over(&c, NULL, at(12000));
    assert_int_equal(model_of(w, t, 12000).bad, 0); /* nor is it blamed */
    daruma_case_done(&c, at(12100));
    assert_int_equal(c.outcome, DARUMA_OUTCOME_RECOVERED);
}

static void calls_between_two_that_hung_need_no_budget(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_health *w = a_health();
    takes(w, &p, &t[0], 1000);
    daruma_case first = silent(w, &p, t, 1, 100000), between = silent(w, &p, t, 1, 100200),
                last = silent(w, &p, t, 1, 100400), behind = silent(w, &p, t, 1, 102050),
                newer = silent(w, &p, t, 1, 101000);
    daruma_case_headed(&newer, at(102000));
    hedge(&first, 0, at(102000));
    daruma_case_hedge_takes_over(&first, NULL, at(102100));
    hedge(&last, 0, at(102200));
    daruma_case_hedge_takes_over(&last, NULL, at(102300));
    while (daruma_budget_left(health_hedges(w, &t[0]), 104300) > 0)
        daruma_budget_take(health_hedges(w, &t[0]), 104300);
    assert_hedges(&between, 104400, 0);
    assert_waits(&behind, 104400);
}

/* A burst at a model that hangs: who comes first asks at the usual time, and so do the others, who need no budget. */
static void several_that_are_overdue_at_once_need_no_budget(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (int heard = 0; heard < 2; heard++) {
        daruma_health *w = a_health();
        daruma_case c[HEDGE_MUTE_CALLS];
        for (int i = 0; i < 3; i++)
            takes(w, &p, &t[0], 1000);
        for (int i = 0; i < HEDGE_MUTE_CALLS; i++)
            c[i] = silent(w, &p, t, 2, 100000);
        daruma_case newer = silent(w, &p, t, 1, 101000);
        while (daruma_budget_left(health_hedges(w, &t[0]), 101600) > 0)
            daruma_budget_take(health_hedges(w, &t[0]), 101600);
        for (int i = 0; i < HEDGE_MUTE_CALLS - 1; i++)
            assert_waits(&c[i], 101600);
        if (heard) /* another one is answered there meanwhile: so these may only take long */
            daruma_case_headed(&newer, at(101600));
        if (heard)
            assert_waits(&c[HEDGE_MUTE_CALLS - 1], 101600);
        else
            for (int i = HEDGE_MUTE_CALLS - 1; i >= 0; i--)
                assert_hedges(&c[i], 101600, 1);
    }
}

static void several_silent_calls_to_a_model_that_nobody_knows_need_no_budget_and_get_no_third(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "o"),
                         target("s", "q", "d", "p")};
    daruma_health *w = a_health();
    daruma_case c[HEDGE_MUTE_CALLS];
    for (int i = 0; i < HEDGE_MUTE_CALLS; i++) {
        daruma_case_open(&c[i], w, &p, t, 4, -1, 30000, of_another(0));
        out(&c[i], 0);
    }
    while (daruma_budget_left(health_hedges(w, &t[0]), 2000) > 0)
        daruma_budget_take(health_hedges(w, &t[0]), 2000);
    for (int i = 0; i < HEDGE_MUTE_CALLS; i++) /* silent for long, but not for its share: that needs budget */
        assert_waits(&c[i], HEDGE_UNKNOWN_MS);
    daruma_ms share = 30000 / 4; /* three others are left */
    for (int i = 0; i < HEDGE_MUTE_CALLS - 1; i++)
        assert_waits(&c[i], share);
    for (int i = HEDGE_MUTE_CALLS - 1; i >= 0; i--) {
        assert_hedges(&c[i], share, 1);
        hedge(&c[i], 1, at(share));
    }
    daruma_ms next = share + (30000 - share) / 3; /* less than a third of its time: so do the next two */
    for (int i = 0; i < HEDGE_MUTE_CALLS - 1; i++)
        daruma_case_silence(&c[i], at(next));
    for (int i = HEDGE_MUTE_CALLS - 1; i >= 0; i--)
        assert_hedges(&c[i], next, 2);
}

static void what_a_sick_place_costs_is_counted(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")}, busy = target("r", "o", "c", "m");
    daruma_health *w = a_health();
    daruma_failure named = failure(DARUMA_RATE_LIMIT, 429);
    named.wait = 5000;
    for (int i = 0; i < 2; i++)
        fails(w, &p, t, failure(DARUMA_OVERLOADED, 529), 0);
    fails(w, &p, &busy, named, REST_MS_MAX);
    assert_false(daruma_health_look(w, t, 100).well);
    daruma_case only, both, probe = silent(w, &p, t, 2, REST_MS_MAX);
    assert_true(probe.permits[3].probe);
    assert_hedges(&probe, REST_MS_MAX + HEDGE_SICK_MS, 1);
    hedge(&probe, 1, at(REST_MS_MAX + HEDGE_SICK_MS));
    daruma_case_open(&both, w, &p, t, 2, -1, -1, of_another(REST_MS_MAX));
    assert_int_equal(out(&both, REST_MS_MAX), 1); /* the probe is out */
    daruma_case_open(&only, w, &p, &busy, 1, -1, -1, of_another(REST_MS_MAX));
    assert_true(daruma_case_admit(&only, at(REST_MS_MAX)).wait > 0);
    daruma_place list[32];
    daruma_tally lane = {0}, busy_lane = {0}, other = {0};
    for (size_t i = 0, n = daruma_health_list(w, REST_MS_MAX, list, 32); i < n && i < 32; i++) {
        lane = list[i].id == t[0].lane_id ? list[i].tally : lane;
        busy_lane = list[i].id == busy.lane_id ? list[i].tally : busy_lane;
        other = list[i].id == t[1].lane_id ? list[i].tally : other;
    }
    assert_int_equal(lane.sick, 1);
    assert_int_equal(lane.probes, 1);
    assert_int_equal(lane.waits, 0);
    assert_int_equal(busy_lane.waits, 1);
    assert_int_equal(busy_lane.sick, 0);
    assert_int_equal(model_of(w, t, REST_MS_MAX).tally.hedges, 1);
    assert_int_equal(other.sick + other.probes + other.waits, 0);
}

/* One call that is silent and then fails is one failure of the row, and opens nothing by itself. */
static void a_silent_call_that_fails_in_the_end_has_failed_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500);
    for (int others = 0; others < 2; others++) { /* of which two open it behind the silence */
        daruma_health *w = a_health();
        takes(w, &p, &t, 1000);
        daruma_case c = silent(w, &p, &t, 1, 100000);
        daruma_case_silence(&c, at(100000 + HEDGE_NOTED_TIMES * 2000));
        assert_true(c.late);
        for (int i = 1; others && i < BREAKER_DOWN_ROW - 1; i++)
            fails(w, &p, &t, down, 110000);
        daruma_case_next(&c, &down, 0, at(110000));
        daruma_condition h = daruma_health_look(w, &t, 110000);
        assert_int_equal(h.well, !others);
        assert_int_equal(h.alone_in, 0); /* one less than makes it seem down */
    }
}

static void a_silence_far_beyond_the_usual_counts_as_a_failure_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    takes(w, &p, &t, 1000);
    daruma_case c = silent(w, &p, &t, 1, 100000), d = silent(w, &p, &t, 1, 100000);
    assert_waits(&c, 103000);
    assert_int_equal(model_of(w, &t, 103000).bad, 0);
    for (daruma_ms now = 104600; now < 108000; now += 100)
        daruma_case_silence(&c, at(now));
    assert_int_equal(model_of(w, &t, 108000).bad, 1);
    assert_true(daruma_health_look(w, &t, 108000).well); /* one may be chance */
    daruma_case_silence(&d, at(108000));
    assert_false(daruma_health_look(w, &t, 108000).well); /* new requests go elsewhere */
    daruma_case_done(&c, at(109000));                     /* both go on, and may be answered */
    assert_int_equal(c.outcome, DARUMA_OUTCOME_OK);
}

static void where_nobody_else_is_well_a_second_call_finds_out_whether_it_is_back(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    takes(w, &p, &t, 400);
    daruma_case c = silent(w, &p, &t, 1, 100000), d = silent(w, &p, &t, 1, 100000);
    assert_waits(&c, 100000 + HEDGE_KNOCK_MS - 1);
    assert_waits(&d, 100000 + HEDGE_KNOCK_MS - 1);
    assert_hedges(&c, 100000 + HEDGE_KNOCK_TIMES * 640, 0);
    hedge(&c, 0, at(106400));
    assert_waits(&d, 106400); /* one asks for all */
    daruma_case_hedge_takes_over(&c, NULL, at(106800));
    daruma_case_begun(&c, at(106800));
    assert_hedges(&d, 106900, 0); /* it is back: what went out before hangs */
    daruma_case_done(&c, at(107000));
    assert_int_equal(c.target, 0);
}

static void the_first_goes_on_when_the_second_fails_or_is_not_needed(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (int failed = 0; failed < 2; failed++) {
        daruma_health *w = a_health();
        daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
        daruma_case c = silent(w, &p, t, 2, 0);
        assert_hedges(&c, HEDGE_UNKNOWN_MS, 1);
        hedge(&c, 1, at(HEDGE_UNKNOWN_MS));
        assert_int_equal(c.attempts, 2);
        daruma_case_hedge_ended(&c, failed ? &f : NULL, at(4000));
        assert_true(c.out && !c.beside);
        assert_int_equal(c.target, 0);
        assert_int_equal(model_of(w, &t[1], 4000).bad, failed);
        assert_int_equal(model_of(w, &t[1], 4000).calls, failed);
        daruma_case_done(&c, at(5000));
        assert_int_equal(c.outcome, DARUMA_OUTCOME_OK); /* it recovered from nothing */
        assert_int_equal(model_of(w, &t[0], 5000).bad, 0);
    }
}

static void the_second_takes_over_and_the_first_is_blamed(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_failure broken = failure(DARUMA_SERVER_ERROR, 500);
    for (int broke = 0; broke < 2; broke++) {
        daruma_health *w = a_health();
        daruma_case c = silent(w, &p, t, 2, 0);
        hedge(&c, 1, at(HEDGE_UNKNOWN_MS));
        daruma_case_hedge_takes_over(&c, broke ? &broken : NULL,
                                     at(HEDGE_UNKNOWN_MS * 3 / 2)); /* three times as fast */
        assert_true(c.out && !c.beside);
        assert_int_equal(c.target, 1);
        assert_int_equal(c.sent_at, HEDGE_UNKNOWN_MS);
        assert_int_equal(c.last, broke ? DARUMA_SERVER_ERROR : DARUMA_TIMEOUT);
        assert_int_equal(model_of(w, &t[0], 4000).bad, 1);
        daruma_case_done(&c, at(5000));
        assert_int_equal(c.outcome, DARUMA_OUTCOME_RECOVERED);
        assert_int_equal(c.remedies, 1u << DARUMA_REMEDY_HEDGE);
        assert_int_equal(model_of(w, &t[1], 5000).calls, 1);
        assert_int_equal(model_of(w, &t[1], 5000).bad, 0);
    }
}

static void who_is_only_slower_is_not_blamed_and_has_more_time(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (int plain = 0; plain < 2; plain++) {
        daruma_health *w = a_health();
        daruma_ms now = 0, at_first = plain ? HEDGE_PLAIN_MS : HEDGE_BEGUN_MS, took = at_first + 60000;
        for (int i = 0; i < 3; i++, now += 600000) { /* it thinks for two minutes, its neighbour for one */
            daruma_case c;
            daruma_case_open(&c, w, &p, t, 2, -1, -1, of_another(now));
            c.plain = plain;
            assert_int_equal(out(&c, now), 0); /* it stands first, and is well */
            if (!plain)
                daruma_case_headed(&c, at(now + 100));
            if (i == 0) {
                assert_waits(&c, now + at_first - 1);
                assert_hedges(&c, now + at_first, 1);
                hedge(&c, 1, at(now + at_first));
                daruma_case_hedge_takes_over(&c, NULL, at(now + took));
                assert_int_equal(model_of(w, &t[0], now).bad, 0);
                daruma_case_done(&c, at(now + took + 1));
                continue;
            }
            assert_waits(&c, now + took + took / 4); /* and so the next one has its time */
            daruma_case_begun(&c, at(now + took + took / 4));
            daruma_case_done(&c, at(now + took * 2));
        }
    }
}

static void who_took_over_and_fails_climbs_on(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "j")};
    daruma_failure f = failure(DARUMA_TIMEOUT, 504);
    daruma_case c = silent(a_health(), &p, t, 3, 0);
    hedge(&c, 1, at(3000));
    daruma_case_hedge_takes_over(&c, &f, at(4000));
    assert_remedy(daruma_case_next(&c, &f, 0, at(5000)), SWITCH_MODEL, 0, 2); /* not the one that was silent */
    out(&c, 5000);
    daruma_case_done(&c, at(6000));
    assert_int_equal(c.attempts, 3);
    assert_int_equal(c.calls[0] + c.calls[1] + c.calls[2], 3);
}

static void when_both_are_silent_a_third_is_asked_but_not_for_ever(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "j"),
                         target("s", "o", "d", "i"), target("u", "o", "e", "h")};
    daruma_case c = silent(a_health(), &p, t, 5, 0);
    daruma_ms now = 0;
    bool asked[5] = {0};
    for (int hedges = 0; now < 600000; now += 100) {
        daruma_silence s = daruma_case_silence(&c, at(now));
        if (s.act != DARUMA_SILENCE_HEDGE)
            continue;
        assert_true(++hedges <= HEDGES_EACH_MAX);
        assert_int_not_equal(s.target, c.target);
        asked[s.target] = true;
        hedge(&c, s.target, at(now)); /* the one before it is given up */
    }
    assert_true(asked[1] && asked[2]);
    assert_int_equal(c.attempts, 1 + HEDGES_EACH_MAX);
    assert_true(c.out && c.beside); /* and the last two are waited for */
    daruma_case_done(&c, at(now));
    assert_int_equal(c.target, 0);
}

static void an_end_ends_both_calls_and_leaves_no_probe_behind(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (int how = 0; how < 3; how++) {
        daruma_health *w = a_health();
        fails(w, &p, &t[1], failure(DARUMA_SERVER_ERROR, 500), 0);
        fails(w, &p, &t[1], failure(DARUMA_SERVER_ERROR, 500), 0);
        daruma_ms now = REST_MS_MAX;
        daruma_case c = silent(w, &p, t, 2, now);
        hedge(&c, 1, at(now));
        assert_true(c.beside->permits[3].probe);
        assert_false(daruma_health_look(w, &t[1], now).well);
        if (how == 0)
            daruma_case_done(&c, at(now + 10));
        else if (how == 1)
            daruma_case_drop(&c, at(now + 10));
        else
            daruma_case_close(&c, DARUMA_OUTCOME_CANCELLED_, at(now + 10));
        assert_false(c.out || c.beside);
        assert_true(daruma_health_look(w, &t[1], now + 10).well); /* the next one may probe */
    }
}

static void the_head_of_the_second_call_is_learned_from(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_health *w = a_health();
    daruma_case c = silent(w, &p, t, 2, 0);
    hedge(&c, 1, at(3000));
    daruma_case_hedge_headed(&c, at(3300));
    daruma_case_hedge_headed(&c, at(9999)); /* once */
    daruma_case_hedge_takes_over(&c, NULL, at(3400));
    assert_true(c.headed);
    daruma_case_done(&c, at(3500));
    daruma_target turned[] = {t[1], target("r", "o", "c", "j")};
    daruma_case d = silent(w, &p, turned, 2, 10000);
    assert_waits(&d, 10599);
    assert_hedges(&d, 10600, 1); /* 300 ms, and as much again while little is known */
}

static void a_clock_that_goes_back_hedges_nothing(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_case c = silent(a_health(), &p, t, 2, 1000000);
    assert_waits(&c, 0);
    assert_waits(&c, INT64_MIN);
    assert_hedges(&c, INT64_MAX, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_that_is_silent_within_its_thinking_has_half_a_minute),
        cmocka_unit_test(a_call_is_first_looked_at_when_it_may_be_hedged),
        cmocka_unit_test(a_silent_call_with_nobody_else_goes_on),
        cmocka_unit_test(a_knock_goes_where_calls_fail_but_not_all),
        cmocka_unit_test(who_is_refused_while_it_is_silent_asks_ever_more_seldom),
        cmocka_unit_test(a_place_that_refuses_for_good_is_not_asked_whether_it_is_back),
        cmocka_unit_test(second_calls_of_several_requests_do_not_all_go_to_one_that_is_silent_too),
        cmocka_unit_test(a_call_from_before_its_place_failed_has_its_time),
        cmocka_unit_test(a_model_that_nobody_knows_has_its_time),
        cmocka_unit_test(streams_that_are_silent_rest_while_plain_answers_are_well),
        cmocka_unit_test(what_is_usual_is_learned_of_each_model),
        cmocka_unit_test(slow_answers_under_a_fault_stretch_what_is_usual_only_a_little),
        cmocka_unit_test(a_model_that_gets_slower_little_by_little_is_noticed),
        cmocka_unit_test(half_of_a_short_deadline_is_left_for_the_other),
        cmocka_unit_test(who_has_half_of_his_time_left_needs_no_budget_and_another_model),
        cmocka_unit_test(of_two_that_are_silent_the_second_is_not_waited_for_thrice_when_nobody_knows_it),
        cmocka_unit_test(a_second_call_that_fails_is_not_followed_at_once),
        cmocka_unit_test(a_second_call_of_no_use_says_nothing_of_a_model_that_answered),
        cmocka_unit_test(a_short_time_is_shared_among_those_who_are_left_but_not_in_too_small_parts),
        cmocka_unit_test(of_two_that_are_silent_the_first_goes_on_however_late_it_is),
        cmocka_unit_test(who_was_slower_than_the_one_beside_it_says_nothing_of_its_provider),
        cmocka_unit_test(only_what_is_allowed_and_does_no_harm_is_asked_twice),
        cmocka_unit_test(second_calls_are_a_share_of_the_calls),
        cmocka_unit_test(a_second_call_that_was_right_takes_nothing_from_those_behind_it),
        cmocka_unit_test(without_budget_a_call_is_looked_at_when_it_needs_none_any_more),
        cmocka_unit_test(a_probe_of_what_is_sick_is_hedged_soon_and_without_budget),
        cmocka_unit_test(while_others_are_answered_there_the_same_place_is_asked_once_more),
        cmocka_unit_test(calls_between_two_that_hung_need_no_budget),
        cmocka_unit_test(several_that_are_overdue_at_once_need_no_budget),
        cmocka_unit_test(several_silent_calls_to_a_model_that_nobody_knows_need_no_budget_and_get_no_third),
        cmocka_unit_test(what_a_sick_place_costs_is_counted),
        cmocka_unit_test(a_silent_call_that_fails_in_the_end_has_failed_once),
        cmocka_unit_test(a_silence_far_beyond_the_usual_counts_as_a_failure_once),
        cmocka_unit_test(where_nobody_else_is_well_a_second_call_finds_out_whether_it_is_back),
        cmocka_unit_test(the_first_goes_on_when_the_second_fails_or_is_not_needed),
        cmocka_unit_test(the_second_takes_over_and_the_first_is_blamed),
        cmocka_unit_test(who_is_only_slower_is_not_blamed_and_has_more_time),
        cmocka_unit_test(who_took_over_and_fails_climbs_on),
        cmocka_unit_test(when_both_are_silent_a_third_is_asked_but_not_for_ever),
        cmocka_unit_test(an_end_ends_both_calls_and_leaves_no_probe_behind),
        cmocka_unit_test(the_head_of_the_second_call_is_learned_from),
        cmocka_unit_test(a_clock_that_goes_back_hedges_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
