/* Limits that a provider states with its answers: when they hold a request up, and when not. */
#include "decide_kit.h"
#include "engine/decide/health.h"
#include "engine/decide/place.h"

/* The answer at hand states that so many requests are left for so many ms. */
static void told(daruma_case *c, int64_t left, daruma_ms reset, daruma_ms now)
{
    daruma_left l = {.left = {left, -1}, .limit = {-1, -1}, .reset = {reset, 0}};
    daruma_case_told_left(c, &l, now);
}

/* A call goes out, its answer states that so many are left for so many ms, and it is well. */
static void states(daruma_health *w, const daruma_policy *p, const daruma_target *t, int64_t left, daruma_ms reset,
                   daruma_ms now)
{
    daruma_case c;
    daruma_case_open(&c, w, p, t, 1, -1, -1, at(now));
    assert_int_equal(out(&c, now), 0);
    told(&c, left, reset, now + 10);
    daruma_case_done(&c, at(now + 20));
}

/* So long a new request waits; with nobody else to ask. */
static daruma_ms waits(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms now)
{
    daruma_case c;
    daruma_case_open(&c, w, p, t, 1, -1, -1, at(now));
    daruma_admission a = daruma_case_admit(&c, at(now));
    assert_int_equal(a.act, DARUMA_SEND);
    daruma_case_close(&c, DARUMA_OUTCOME_CANCELLED_, at(now));
    return a.wait;
}

static void who_has_none_left_is_asked_last_and_waited_for_where_nobody_else_is(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "b", "k2")};
    daruma_case c;
    states(w, &p, &t[0], 2, 3000, 0); /* the question takes one of them */
    assert_int_equal(waits(w, &p, &t[0], 100), 0);
    states(w, &p, &t[0], 0, 3000, 100);
    assert_int_equal(waits(w, &p, &t[0], 1110), 2000);
    daruma_case_open(&c, w, &p, t, 2, -1, -1, at(1110));
    assert_int_equal(out(&c, 1110), 1);
    assert_int_equal(waits(w, &p, &t[0], 3110), 0);
}

static void what_goes_out_is_counted_before_an_answer_says_so(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c[3];
    states(w, &p, &t, 2, 3000, 0);
    for (int i = 0; i < 2; i++) {
        daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, at(100));
        assert_int_equal(out(&c[i], 100), 0);
    }
    assert_int_equal(waits(w, &p, &t, 110), 2900);
    told(&c[0], 1, 2900, 110); /* the other one is not in it */
    assert_int_equal(waits(w, &p, &t, 110), 2900);
    told(&c[1], 7, 2900, 110); /* there is more than was known */
    assert_int_equal(waits(w, &p, &t, 110), 0);
}

static void what_is_stated_is_believed_once_then_tested(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c;
    states(w, &p, &t, 0, 1000, 0);
    assert_int_equal(waits(w, &p, &t, 10), 1000);
    states(w, &p, &t, 0, 1000, 1010);
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(1100));
    assert_int_equal(out(&c, 1100), 0); /* this one tests it */
    assert_true(waits(w, &p, &t, 1100) > 0);
    told(&c, 0, 1000, 1110);
    daruma_case_done(&c, at(1120));
    for (daruma_ms now = 1200; now < 9000; now += 100) { /* it was not true */
        assert_int_equal(waits(w, &p, &t, now), 0);
        states(w, &p, &t, 0, 1000, now);
    }
}

static void a_limit_that_refused_is_kept_from_then_on(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, 900);
    daruma_case c;
    states(w, &p, &t, 0, 1000, 0);
    states(w, &p, &t, 0, 1000, 1010);
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(1100));
    assert_int_equal(out(&c, 1100), 0);
    told(&c, 0, 900, 1110);
    daruma_case_next(&c, &f, 0, at(1110));
    daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at(1110));
    for (daruma_ms now = 2020; now < 9000; now += 1020) {
        states(w, &p, &t, 0, 1000, now);
        assert_true(waits(w, &p, &t, now + 20) > 900);
    }
}

/* A call to the first target is silent, one to the second goes out beside it. */
static void goes_beside(daruma_case *c, daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms now)
{
    daruma_case_open(c, w, p, t, 2, -1, -1, at(now));
    assert_int_equal(out(c, now), 0);
    hedge(c, 1, at(now + 5));
}

static void a_call_beside_that_wins_counts_at_its_own_target(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "b", "k2")};
    daruma_case c;
    for (int i = 0; i < 50; i++)
        succeeds(w, &p, &t[0], i);
    goes_beside(&c, w, &p, t, 100);
    daruma_case_hedge_takes_over(&c, NULL, at(110));
    told(&c, 1000, 3000, 120);
    daruma_case_done(&c, at(130));
    assert_int_equal(waits(w, &p, &t[1], 140), 0);
}

static void what_is_forgotten_counts_no_calls(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    succeeds(w, &p, &t, 0);
    daruma_left l = {.left = {5, -1}, .reset = {3000}};
    daruma_call_pace call = {.upto = {700}};
    health_told_left(w, &t, &l, &call, 0, 10); /* the place of that call is another one now */
    assert_int_equal(waits(w, &p, &t, 20), 0);
}

/* Makes the target one whose limit was waited for once, and that states again that none is left, until `now` + 1000. */
static void is_to_be_tested(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms now)
{
    states(w, p, t, 0, 1000, now - 2000);
    states(w, p, t, 0, 1000, now - 20);
}

static void a_limit_is_tested_by_a_call_beside_another_as_well(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "b", "k2")};
    daruma_failure refused = advised(DARUMA_RATE_LIMIT, 429, 1), f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case c;

    daruma_health *w = a_health(); /* it is answered: the limit is not true */
    is_to_be_tested(w, &p, &t[1], 3000);
    goes_beside(&c, w, &p, t, 3000);
    assert_true(waits(w, &p, &t[1], 3010) > 0); /* one finds out, others do not */
    daruma_case_hedge_takes_over(&c, NULL, at(3020));
    told(&c, 0, 1000, 3020);
    daruma_case_done(&c, at(3030));
    states(w, &p, &t[1], 0, 1000, 3040);
    assert_int_equal(waits(w, &p, &t[1], 3060), 0);

    w = a_health(); /* it is refused: the limit is true */
    is_to_be_tested(w, &p, &t[1], 3000);
    goes_beside(&c, w, &p, t, 3000);
    daruma_case_hedge_ended(&c, &refused, at(3020));
    assert_true(waits(w, &p, &t[1], 3040) > 900);

    w = a_health(); /* the first call wins, or the one that finds out fails of something else: the next one finds out */
    for (int i = 0; i < 2; i++) {
        is_to_be_tested(w, &p, &t[1], 3000 + i * 10000);
        goes_beside(&c, w, &p, t, 3000 + i * 10000);
        daruma_case_hedge_ended(&c, i ? &f : NULL, at(3020 + i * 10000));
        daruma_case_done(&c, at(3030 + i * 10000));
        if (!i)
            assert_int_equal(waits(w, &p, &t[1], 3040), 0);
    }

    w = a_health(); /* the first call was the one, and another took over from it: it proves nothing */
    is_to_be_tested(w, &p, &t[0], 3000);
    goes_beside(&c, w, &p, t, 3000);
    daruma_case_hedge_takes_over(&c, NULL, at(3020));
    daruma_case_done(&c, at(3030));
    assert_int_equal(waits(w, &p, &t[0], 3040), 0);
    assert_int_equal(waits(w, &p, &t[1], 3040), 0);
}

static void a_call_that_finds_out_holds_others_up_no_longer_than_the_limit(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case silent, other;
    daruma_case_open(&other, w, &p, &t, 1, -1, -1, at(900)); /* out before, and answered later */
    assert_int_equal(out(&other, 900), 0);
    is_to_be_tested(w, &p, &t, 3000);
    daruma_case_open(&silent, w, &p, &t, 1, -1, -1, at(3000));
    assert_int_equal(out(&silent, 3000), 0);
    assert_true(waits(w, &p, &t, 3100) > 0);
    told(&other, 2, 5000, 3500); /* as it was then: all of that is out */
    assert_true(waits(w, &p, &t, 3600) > 0);
    assert_int_equal(waits(w, &p, &t, 4100), 0);
}

static void a_moment_that_is_far_or_over_holds_nobody_up(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    states(w, &p, &t, 0, PACE_MS_MAX + 1, 0);
    assert_int_equal(waits(w, &p, &t, 100), 0);
    states(w, &p, &t, 0, 0, 100);
    assert_int_equal(waits(w, &p, &t, 200), 0);
    states(w, &p, &t, INT64_MIN / 2, INT64_MAX, 200);
    assert_int_equal(waits(w, &p, &t, 300), 0);
    states(w, &p, &t, 0, 5000, 300);
    assert_true(waits(w, &p, &t, -1000000) <= 5000); /* a clock that goes back */
    p.health = false;
    assert_int_equal(waits(w, &p, &t, 400), 0);
}

/* ---- tokens ---- */

enum { LIMIT = 10000 }; /* of tokens */

/* A call of so many tokens goes out, and its answer states that so many are left, all of which are back after
 * `reset`. */
static void spends(daruma_case *c, daruma_health *w, const daruma_policy *p, const daruma_target *t, int64_t tokens,
                   int64_t left, daruma_ms reset, daruma_ms now)
{
    daruma_left l = {.left = {-1, left}, .limit = {-1, LIMIT}, .reset = {0, reset}};
    daruma_case_open(c, w, p, t, 1, -1, -1, at(now));
    c->tokens = tokens;
    assert_int_equal(out(c, now), 0);
    daruma_case_told_left(c, &l, now);
}

/* So long a new request of so many tokens waits. */
static daruma_ms waits_for(daruma_health *w, const daruma_policy *p, const daruma_target *t, int64_t tokens,
                           daruma_ms now)
{
    daruma_case c;
    daruma_case_open(&c, w, p, t, 1, -1, -1, at(now));
    c.tokens = tokens;
    daruma_admission a = daruma_case_admit(&c, at(now));
    assert_int_equal(a.act, DARUMA_SEND);
    daruma_case_close(&c, DARUMA_OUTCOME_CANCELLED_, at(now));
    return a.wait;
}

/* A target that refused a call of more tokens than were left, and is rested from that: 1,000 are left at `now`, and
 * all are back 9 s later. */
static void is_short_of_tokens(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms now)
{
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, 10);
    daruma_case c;
    spends(&c, w, p, t, 100, 1000, 9000, now - 1000);
    daruma_case_done(&c, at(now - 1000));
    spends(&c, w, p, t, 2000, 1000, 9000, now - 900);
    daruma_case_next(&c, &f, 0, at(now - 900));
    daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at(now - 900));
    spends(&c, w, p, t, 100, 1000, 9000, now);
    daruma_case_done(&c, at(now));
}

static void a_limit_of_tokens_holds_nobody_up_before_it_refused(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c;
    for (daruma_ms now = 0; now < 5000; now += 100) {
        spends(&c, w, &p, &t, 2000, 1000, 9000, now);
        daruma_case_done(&c, at(now + 10));
        assert_int_equal(waits_for(w, &p, &t, 2000, now + 20), 0);
    }
}

static void tokens_come_back_bit_by_bit_and_who_needs_few_goes_at_once(void **state)
{
    (void)state;
    static const struct {
        int64_t tokens;
        daruma_ms at, least, most;
    } rows[] = {
        {1000, 3000, 0, 0},      {1001, 3000, 1, 3},   {2000, 3000, 990, 1010}, /* 1,000 come back in a second */
        {2000, 3500, 490, 510},  {2000, 4010, 0, 0},   {LIMIT, 3000, 8900, 9000},
        {LIMIT + 1, 3000, 0, 0}, {LIMIT, 12000, 0, 0}, /* counted otherwise there, or in vain anyway; all are back */
    };
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_health *w = a_health();
        is_short_of_tokens(w, &p, &t, 3000);
        assert_in_range(waits_for(w, &p, &t, rows[i].tokens, rows[i].at), rows[i].least, rows[i].most);
    }
}

static void tokens_that_went_out_count_before_an_answer_says_so(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c;
    is_short_of_tokens(w, &p, &t, 3000);
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(3000));
    c.tokens = 800;
    assert_int_equal(out(&c, 3000), 0);
    assert_true(waits_for(w, &p, &t, 800, 3001) > 500);
    daruma_case_drop(&c, at(3002));
}

static void a_limit_of_tokens_that_is_not_true_holds_nobody_up(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c;
    is_short_of_tokens(w, &p, &t, 3000);
    daruma_case_open(&c, w, &p, &t, 1, -1, 3100, at(3000)); /* it has no time to wait, and is answered */
    c.tokens = 2000;
    assert_int_equal(out(&c, 3000), 0);
    daruma_case_done(&c, at(3010));
    spends(&c, w, &p, &t, 10, 1000, 9000, 3100);
    daruma_case_done(&c, at(3110));
    assert_int_equal(waits_for(w, &p, &t, 2000, 3120), 0);
}

enum { HERD = 8 };

/* So many go out at once, and all but `served` are refused as busy; these go on. What the refused do next: so many go
 * out. */
static int go_again(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_case c[HERD], int served)
{
    daruma_failure f = failure(DARUMA_OVERLOADED, 529);
    int n = 0;
    for (int i = 0; i < HERD; i++) {
        daruma_case_open(&c[i], w, p, t, 1, -1, -1, of_another(0));
        assert_int_equal(out(&c[i], 0), 0);
    }
    for (int i = served; i < HERD; i++)
        assert_int_equal(daruma_case_next(&c[i], &f, 0, at(10)).act, DARUMA_SEND);
    for (int i = served; i < HERD; i++) {
        c[i].not_before = 0;
        n += daruma_case_admit(&c[i], at(600)).wait == 0;
    }
    return n;
}

static void who_was_refused_by_a_busy_place_goes_again_when_another_is_served(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c[HERD], one;
    daruma_health *w = a_health();
    assert_int_equal(go_again(w, &p, &t, c, 2), 0);
    daruma_case_open(&one, w, &p, &t, 1, -1, -1, of_another(600));
    assert_int_equal(out(&one, 600), 0); /* who was not refused asks */
    daruma_case_drop(&one, at(600));
    uint32_t healed = daruma_health_healed(w);
    daruma_case_done(&c[0], at(610));
    assert_int_not_equal(daruma_health_healed(w), healed); /* who waits is woken ... */
    c[2].not_before = c[3].not_before = 0;
    assert_int_equal(daruma_case_admit(&c[2], at(610)).wait, 0);
    assert_true(daruma_case_admit(&c[3], at(610)).wait > 0); /* ... and one may go */
    c[3].not_before = 0;
    assert_int_equal(daruma_case_admit(&c[3], at(20 + BREAKER_OPEN_MS)).wait,
                     0); /* after a while without a refusal more */
}

/* Those who had their turn are refused, too: it is chance. */
static void where_those_are_refused_who_had_their_turn_nobody_waits_for_his(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_failure f = failure(DARUMA_OVERLOADED, 529);
    daruma_health *w = a_health();
    daruma_case c[HERD];
    assert_int_equal(go_again(w, &p, &t, c, 5), 0);
    for (int n = 0; n <= TURNS_BAD_MAX; n++) {
        daruma_case_done(&c[n], at(610 + 10 * n));
        c[6].not_before = c[7].not_before = 0;
        assert_int_equal(daruma_case_admit(&c[6], at(611 + 10 * n)).wait, 0);
        assert_true(daruma_case_admit(&c[7], at(611 + 10 * n)).wait > 0);
        assert_int_equal(daruma_case_next(&c[6], &f, 0, at(612 + 10 * n)).act, DARUMA_SEND);
    }
    c[7].not_before = 0;
    assert_int_equal(daruma_case_admit(&c[7], at(700)).wait, 0);
}

/* A provider that serves two calls at once: of three that go out together the third is refused, the others answered. */
static void serves_two_of_three(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms now)
{
    daruma_case c[3];
    daruma_failure f = failure(DARUMA_RATE_LIMIT, 429);
    for (int i = 0; i < 3; i++) {
        daruma_case_open(&c[i], w, p, t, 1, -1, -1, at(now));
        assert_int_equal(out(&c[i], now), 0);
    }
    daruma_case_next(&c[2], &f, 0, at(now + 10));
    daruma_case_close(&c[2], DARUMA_OUTCOME_FAILED, at(now + 10));
    daruma_case_done(&c[0], at(now + 100));
    daruma_case_done(&c[1], at(now + 100));
}

/* Several times in short order: then it is known. */
static void serves_two_of_three_each_time(daruma_health *w, const daruma_policy *p, const daruma_target *t)
{
    for (daruma_ms now = 0; now < 8000 * CROWD_TURNS; now += 8000) {
        serves_two_of_three(w, p, t, now);
        daruma_case c;
        assert_true(waits(w, p, t, now + 110) > 0); /* it rests, as who is to be asked less */
        daruma_case_open(&c, w, p, t, 1, -1, -1, at(now + 7000));
        assert_int_equal(out(&c, now + 7000), 0);
        daruma_case_done(&c, at(now + 7100));
    }
    serves_two_of_three(w, p, t, 8000 * CROWD_TURNS);
}

static void where_calls_are_served_and_refused_at_once_no_more_go_out_than_were_served(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case first, second, third;
    daruma_failure f = failure(DARUMA_RATE_LIMIT, 429);
    serves_two_of_three_each_time(w, &p, &t);
    daruma_ms t0 = 8000 * CROWD_TURNS;
    assert_int_equal(waits(w, &p, &t, t0 + 200), 0); /* it need not rest, and two may go at once */
    daruma_case_open(&first, w, &p, &t, 1, -1, -1, at(t0 + 200));
    daruma_case_open(&second, w, &p, &t, 1, -1, -1, at(t0 + 200));
    assert_int_equal(out(&first, t0 + 200), 0);
    assert_int_equal(out(&second, t0 + 200), 0);
    assert_true(waits(w, &p, &t, t0 + 300) > 0);
    uint32_t healed = daruma_health_healed(w);
    daruma_case_done(&first, at(t0 + 400));
    assert_int_not_equal(daruma_health_healed(w), healed); /* who waits is woken */
    assert_int_equal(waits(w, &p, &t, t0 + 400), 0);
    daruma_case_open(&third, w, &p, &t, 1, -1, -1, at(t0 + 400));
    assert_int_equal(out(&third, t0 + 400), 0);
    assert_true(waits(w, &p, &t, t0 + 500) > 0);
    assert_int_equal(waits(w, &p, &t, t0 + 10 + BREAKER_OPEN_MS), 0); /* nobody was refused for a while */
    daruma_case_drop(&second, at(t0 + 1200));
    daruma_case_drop(&third, at(t0 + 1200));
    daruma_case_open(&first, w, &p, &t, 1, -1, -1, at(t0 + 1300));
    assert_int_equal(out(&first, t0 + 1300), 0);
    daruma_case_next(&first, &f, 0, at(t0 + 1310)); /* who is refused beside fewer is to be asked less: all wait */
    daruma_case_close(&first, DARUMA_OUTCOME_FAILED, at(t0 + 1310));
    assert_true(waits(w, &p, &t, t0 + 1320) > 0);
}

static void refuse(daruma_case *c, daruma_ms now)
{
    daruma_failure f = failure(DARUMA_RATE_LIMIT, 429);
    daruma_case_next(c, &f, 0, at(now));
    daruma_case_close(c, DARUMA_OUTCOME_FAILED, at(now));
}

/* Calls that go out together arrive in any order. Those that go out behind them are refused for another reason, even
 * where each goes out before the refusal of the one before came. */
static void refusals_beside_fewer_end_it_but_for_those_who_went_out_with_one_too_many(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c[3], later;
    serves_two_of_three_each_time(w, &p, &t);
    daruma_ms t1 = 8000 * CROWD_TURNS + 100 + BREAKER_OPEN_MS;
    for (int i = 0; i < 3; i++) {
        daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, at(t1));
        assert_int_equal(out(&c[i], t1), 0);
    }
    refuse(&c[2], t1 + 10);
    daruma_case_done(&c[0], at(t1 + 12));
    daruma_case_open(&later, w, &p, &t, 1, -1, -1, at(t1 + 15));
    assert_int_equal(out(&later, t1 + 15), 0);
    refuse(&c[1], t1 + 20);
    assert_int_equal(waits(w, &p, &t, t1 + 21), 0);
    refuse(&later, t1 + 30);
    assert_true(waits(w, &p, &t, t1 + 31) > 0);
}

/* Three at once are served each time between: what refused the third was no limit of calls at once. */
static void where_more_are_served_than_were_out_when_one_was_refused_all_go_out(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c[3];
    for (daruma_ms now = 0; now <= 8000 * CROWD_TURNS; now += 8000) {
        serves_two_of_three(w, &p, &t, now);
        assert_true(waits(w, &p, &t, now + 110) > 0);
        daruma_case_open(&c[0], w, &p, &t, 1, -1, -1, at(now + 6000));
        assert_int_equal(out(&c[0], now + 6000), 0);
        daruma_case_done(&c[0], at(now + 6100));
        for (int i = 0; i < 3; i++) {
            daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, at(now + 7000));
            assert_int_equal(out(&c[i], now + 7000), 0);
        }
        for (int i = 0; i < 3; i++)
            daruma_case_done(&c[i], at(now + 7100));
    }
}

static void a_limit_that_begins_while_calls_are_out_is_none_of_calls_at_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case before, c;
    daruma_failure f = failure(DARUMA_RATE_LIMIT, 429);
    daruma_case_open(&before, w, &p, &t, 1, -1, -1, at(0));
    assert_int_equal(out(&before, 0), 0);
    for (daruma_ms now = 1000; now <= 5000; now += 4000) { /* nobody who went out later is answered */
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(now));
        assert_int_equal(out(&c, now), 0);
        daruma_case_next(&c, &f, 0, at(now + 10));
        daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at(now + 10));
        assert_true(waits(w, &p, &t, now + 20) > 0);
    }
    daruma_case_done(&before, at(6000));
}

/* However a call ends, it leaves its place once: else the place would seem full for ever. */
static void ends_somehow(daruma_case *c, uint64_t dice, daruma_ms now)
{
    daruma_failure limit = failure(DARUMA_RATE_LIMIT, 429), gone = failure(DARUMA_SERVER_ERROR, 500);
    daruma_failure *f = dice & 1 ? &limit : &gone;
    if (dice & 2)
        hedge(c, dice & 4 ? c->target : !c->target, at(now));
    if (dice & 8)
        daruma_case_headed(c, at(now));
    if (dice & 16)
        daruma_case_begun(c, at(now));
    if (dice & 32)
        daruma_case_answered(c, at(now));
    if (c->beside && dice & 64)
        hedge(c, dice & 128 ? c->target : !c->target, at(now));
    if (c->beside && dice & 256)
        daruma_case_hedge_takes_over(c, dice & 512 ? f : NULL, at(now));
    else if (c->beside && dice & 512)
        daruma_case_hedge_ended(c, f, at(now));
    int end = (int)(dice >> 10 & 7);
    if (end == 0 && !c->beside)
        daruma_case_next(c, f, 0, at(now));
    else if (end == 1)
        daruma_case_drop(c, at(now));
    else if (end == 2)
        daruma_case_unsent(c, at(now));
    else if (end > 4)
        daruma_case_done(c, at(now));
    if (end != 2)
        daruma_case_close(c, DARUMA_OUTCOME_CANCELLED_, at(now));
    if (c->out)
        daruma_case_close(c, DARUMA_OUTCOME_FAILED, at(now));
}

static void however_calls_end_none_is_counted_as_out_behind_that(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "b", "k2")};
    enum { CASES = 16 };
    static daruma_case c[CASES];
    uint64_t dice = 1;
    for (daruma_ms now = 0; now < 2000000; now += 100) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        daruma_case *one = &c[now / 100 % CASES];
        if (one->out)
            ends_somehow(one, dice >> 32, now);
        daruma_case_open(one, w, &p, t, 2, -1, -1, at(now));
        if (daruma_case_admit(one, at(now)).wait > 0)
            daruma_case_close(one, DARUMA_OUTCOME_CANCELLED_, at(now));
        uint32_t seen = 0, counted = 0;
        for (int i = 0; i < CASES; i++)
            seen += (c[i].out && c[i].paced.nth) + (c[i].beside && c[i].beside->paced.nth);
        for (int i = 0; i < 2; i++) {
            place *lane = place_look(w, &t[i], LANE);
            counted += lane ? lane->crowd.out : 0;
        }
        assert_int_equal(counted, seen);
    }
}

/* A place that serves five calls a second and says of each other how long until the next. */
typedef struct bucket {
    daruma_ms full_at; /* five are there again then */
} bucket;

static daruma_ms refused_for(bucket *b, daruma_ms now)
{
    enum { EACH_MS = 200, HOLDS = 5 };
    daruma_ms base = b->full_at > now ? b->full_at : now;
    if (base - now > (HOLDS - 1) * EACH_MS)
        return base - now - (HOLDS - 1) * EACH_MS;
    b->full_at = base + EACH_MS;
    return 0;
}

/* So many come at once; what becomes of them, in steps of 5 ms. Returns how many calls they made; `*last` is when the
 * newest of them was served, or -1: not all were. */
static unsigned come_at_once(unsigned many, bool named, daruma_ms *last)
{
    enum { MOST = 60, SERVED = 1, TAKES_MS = 50 };
    daruma_policy p = *daruma_policy_find(S("default"));
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    static daruma_case c[MOST];
    daruma_ms due[MOST] = {0}, told[MOST] = {0};
    bool served[MOST] = {false};
    bucket b = {0};
    unsigned calls = 0, left = many;
    uint64_t dice = 7;
    for (unsigned i = 0; i < many; i++)
        daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, of_another(0));
    uint32_t healed = 0;
    for (daruma_ms now = 0; now < 60000 && left; now += 5) {
        bool woken = daruma_health_healed(w) != healed; /* as hosts do */
        healed = daruma_health_healed(w);
        for (unsigned i = 0; i < many; i++) {
            if (served[i] || (due[i] > now && (c[i].out || !woken)))
                continue;
            daruma_moment m = {.now = now, .dice = dice = dice * 6364136223846793005u + 1442695040888963407u};
            m.dice >>= 32;
            if (c[i].out && !told[i]) {
                daruma_case_done(&c[i], m);
                served[i] = true;
                left--;
                *last = now;
            } else if (c[i].out) {
                daruma_failure f = named ? advised(DARUMA_RATE_LIMIT, 429, told[i]) : failure(DARUMA_RATE_LIMIT, 429);
                assert_int_equal(daruma_case_next(&c[i], &f, 0, m).act, DARUMA_SEND);
            } else {
                daruma_ms wait = daruma_case_admit(&c[i], m).wait;
                due[i] = now + wait;
                if (wait)
                    continue;
                calls++;
                told[i] = refused_for(&b, now);
                due[i] = now + (told[i] ? 5 : TAKES_MS);
            }
        }
    }
    *last = left ? -1 : *last;
    return calls;
}

static void where_many_come_back_at_once_and_a_few_are_served_they_take_turns(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        daruma_ms last = -1;
        unsigned calls = come_at_once(60, named, &last);
        assert_in_range(last, 10000, 20000); /* eleven seconds are possible */
        assert_in_range(calls, 60, 3 * 60);
    }
}

/* Many are out, and each is refused: nobody knows whether that is an outage, or one too many. */
static void all_are_refused(daruma_case *c, int n, daruma_health *w, const daruma_policy *p, const daruma_target *t)
{
    for (int i = 0; i < n; i++) {
        daruma_case_open(&c[i], w, p, t, 1, -1, -1, at(0));
        assert_int_equal(out(&c[i], 0), 0);
    }
    for (int i = 0; i < n; i++)
        refuse(&c[i], 10);
}

static void turns_end_with_the_first_answer_behind_an_outage(void **state)
{
    (void)state;
    enum { MANY = TEMPO_CALLS_MIN + 2 };
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c[MANY];
    all_are_refused(c, MANY, w, &p, &t);
    tempo *o = &place_look(w, &t, LANE)->tempo;
    assert_int_equal(o->ms, TEMPO_MS);
    for (daruma_ms now = 100; o->ms < TEMPO_VAIN_TIMES * TEMPO_MS; now += 1000) {
        tempo_refused(o, now, true, now + 10);
        assert_true(tempo_in(o, now + 10) > 0);
    }
    daruma_ms now = o->refused_at + 1;
    tempo_answered(o, now - 100); /* it had gone out before */
    assert_true(tempo_in(o, now) > 0);
    tempo_answered(o, now);
    assert_int_equal(tempo_in(o, now), 0);
    tempo_refused(o, now + 10, true, now + 20); /* it was none: what nearly served is known */
    assert_int_equal(tempo_in(o, now + 20), TEMPO_VAIN_TIMES * TEMPO_MS);
    tempo_answered(o, now + 30);
    assert_true(tempo_in(o, now + 30) > TEMPO_VAIN_TIMES * TEMPO_MS / 2);
}

static void turns_end_when_nobody_was_refused_for_long_or_nobody_is_served(void **state)
{
    (void)state;
    tempo o = {0};
    tempo_refused(&o, 0, false, 10);
    assert_int_equal(tempo_in(&o, 10), 0); /* a few do not hinder each other */
    tempo_refused(&o, 20, true, 30);
    assert_int_equal(tempo_in(&o, 30), TEMPO_MS);
    tempo_takes(&o, 30 + TEMPO_MS);
    assert_int_equal(tempo_in(&o, 30 + TEMPO_MS), TEMPO_MS);
    o.next = INT64_MAX;
    assert_int_equal(tempo_in(&o, 30 + TEMPO_QUIET_TIMES * TEMPO_MS - 1), TEMPO_MS);
    assert_int_equal(tempo_in(&o, 30 + TEMPO_QUIET_TIMES * TEMPO_MS), 0);
    for (daruma_ms now = 30; o.ms; now += 1000) {
        assert_true(o.ms <= TEMPO_MS_MAX);
        tempo_refused(&o, now + 1, true, now + 2);
    }
    assert_int_equal(tempo_in(&o, 100000), 0);
}

static void who_is_told_to_come_back_in_seconds_takes_no_turns(void **state)
{
    (void)state;
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, TEMPO_MS_MAX);
    assert_int_equal(health_pace_of(&f), PACE_REFUSED);
    f.wait++;
    assert_int_equal(health_pace_of(&f), PACE_SHUT);
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_call_pace call = {.nth = TEMPO_CALLS_MIN + 1, .sent_at = 10};
    place_for(w, &t, LANE);
    health_pace_shown(w, &t, &call, PACE_REFUSED, 20);
    assert_true(health_takes_turns(w, &t, 20));
    call = (daruma_call_pace){.nth = TEMPO_CALLS_MIN + 1, .sent_at = 30};
    health_pace_shown(w, &t, &call, PACE_SHUT, 40);
    assert_false(health_takes_turns(w, &t, 40));
}

/* Chance refuses some of many: slower they would be refused as often. */
static void where_most_may_still_be_served_nobody_takes_turns(void **state)
{
    (void)state;
    enum { MANY = 20, REFUSED = MANY / 2 };
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_call_pace calls[MANY];
    for (int i = 0; i < MANY; i++)
        calls[i] = health_pace_takes(w, &t, 0, false, 0);
    for (int i = 0; i < REFUSED; i++)
        health_pace_shown(w, &t, &calls[MANY - 1 - i], PACE_REFUSED, 10 + i);
    assert_false(health_takes_turns(w, &t, 10 + REFUSED));
    health_pace_shown(w, &t, &calls[REFUSED - 1], PACE_REFUSED, 10 + REFUSED); /* more than are out */
    assert_true(health_takes_turns(w, &t, 10 + REFUSED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_most_may_still_be_served_nobody_takes_turns),
        cmocka_unit_test(who_has_none_left_is_asked_last_and_waited_for_where_nobody_else_is),
        cmocka_unit_test(what_goes_out_is_counted_before_an_answer_says_so),
        cmocka_unit_test(what_is_stated_is_believed_once_then_tested),
        cmocka_unit_test(a_limit_that_refused_is_kept_from_then_on),
        cmocka_unit_test(a_call_beside_that_wins_counts_at_its_own_target),
        cmocka_unit_test(where_many_come_back_at_once_and_a_few_are_served_they_take_turns),
        cmocka_unit_test(turns_end_with_the_first_answer_behind_an_outage),
        cmocka_unit_test(turns_end_when_nobody_was_refused_for_long_or_nobody_is_served),
        cmocka_unit_test(who_is_told_to_come_back_in_seconds_takes_no_turns),
        cmocka_unit_test(what_is_forgotten_counts_no_calls),
        cmocka_unit_test(a_limit_is_tested_by_a_call_beside_another_as_well),
        cmocka_unit_test(a_call_that_finds_out_holds_others_up_no_longer_than_the_limit),
        cmocka_unit_test(a_moment_that_is_far_or_over_holds_nobody_up),
        cmocka_unit_test(a_limit_of_tokens_holds_nobody_up_before_it_refused),
        cmocka_unit_test(tokens_come_back_bit_by_bit_and_who_needs_few_goes_at_once),
        cmocka_unit_test(tokens_that_went_out_count_before_an_answer_says_so),
        cmocka_unit_test(a_limit_of_tokens_that_is_not_true_holds_nobody_up),
        cmocka_unit_test(who_was_refused_by_a_busy_place_goes_again_when_another_is_served),
        cmocka_unit_test(where_those_are_refused_who_had_their_turn_nobody_waits_for_his),
        cmocka_unit_test(where_calls_are_served_and_refused_at_once_no_more_go_out_than_were_served),
        cmocka_unit_test(however_calls_end_none_is_counted_as_out_behind_that),
        cmocka_unit_test(refusals_beside_fewer_end_it_but_for_those_who_went_out_with_one_too_many),
        cmocka_unit_test(where_more_are_served_than_were_out_when_one_was_refused_all_go_out),
        cmocka_unit_test(a_limit_that_begins_while_calls_are_out_is_none_of_calls_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
