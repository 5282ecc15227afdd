/* Delays, budgets, breakers, and what is sick. */
#include "decide_kit.h"

/* ---- backoff ------------------------------------------------------------------- */

static void a_delay_doubles_up_to_its_cap(void **state)
{
    (void)state;
    daruma_backoff b = {.base = 500, .cap = 3000, .factor_milli = 2000};
    static const daruma_ms want[] = {500, 1000, 2000, 3000, 3000};
    for (uint32_t n = 1; n <= 5; n++)
        assert_int_equal(daruma_backoff_delay(&b, n, 77), want[n - 1]);
}

static void full_jitter_reaches_both_ends_and_never_leaves_them(void **state)
{
    (void)state;
    daruma_backoff b = {.base = 10, .cap = 100, .factor_milli = 2000, .jitter_milli = 1000};
    daruma_ms least = 1000, most = 0;
    for (uint64_t dice = 0; dice < 1000; dice++) {
        daruma_ms d = daruma_backoff_delay(&b, 2, dice);
        least = d < least ? d : least;
        most = d > most ? d : most;
    }
    assert_int_equal(least, 0);
    assert_int_equal(most, 20);
}

static void a_huge_delay_saturates(void **state)
{
    (void)state;
    daruma_backoff b = {.base = INT64_MAX / 2, .cap = INT64_MAX, .factor_milli = UINT32_MAX, .jitter_milli = 1000};
    for (uint32_t n = 0; n < 200; n++)
        assert_true(daruma_backoff_delay(&b, n, UINT64_MAX - n) >= 0);
    b.jitter_milli = 0;
    assert_int_equal(daruma_backoff_delay(&b, UINT32_MAX, 5), INT64_MAX);
    b = (daruma_backoff){.base = -5, .cap = 10};
    assert_int_equal(daruma_backoff_delay(&b, 3, 9), 0);
}

/* ---- budget -------------------------------------------------------------------- */

static void a_quiet_provider_has_its_floor(void **state)
{
    (void)state;
    daruma_budget b = {.percent = 30, .floor = 10};
    assert_int_equal(daruma_budget_left(&b, 5), 10);
    for (int i = 0; i < 10; i++)
        assert_true(daruma_budget_take(&b, 5));
    assert_false(daruma_budget_take(&b, 5));
    assert_int_equal(daruma_budget_left(&b, 5), 0);
    assert_int_equal(daruma_budget_left(&b, 60001), 0); /* no rounding gives one away */
}

static void calls_earn_retries_and_a_minute_forgets_both(void **state)
{
    (void)state;
    daruma_budget b = {.percent = 30, .floor = 10};
    for (int i = 0; i < 100; i++)
        daruma_budget_call(&b, 0);
    assert_int_equal(daruma_budget_left(&b, 0), 40);
    for (int i = 0; i < 40; i++)
        assert_true(daruma_budget_take(&b, 0));
    assert_int_equal(daruma_budget_left(&b, 60000), 0); /* they count fully still */
    assert_int_equal(daruma_budget_left(&b, 90000), 5); /* half of both: 15 + 10 - 20 */
    assert_int_equal(daruma_budget_left(&b, 120000), 10);
}

static void a_clock_that_goes_back_gives_nothing(void **state)
{
    (void)state;
    daruma_budget b = {.percent = 0, .floor = 3};
    for (int i = 0; i < 3; i++)
        assert_true(daruma_budget_take(&b, 500000));
    assert_false(daruma_budget_take(&b, 0));
    assert_int_equal(daruma_budget_left(&b, INT64_MIN), 0);
    assert_false(daruma_budget_take(&b, -100000));
    assert_true(daruma_budget_take(&b, 100000)); /* nor does it get stuck */
}

static void a_budget_stays_within_its_bounds_whatever_the_clock_does(void **state)
{
    (void)state;
    daruma_budget b = {.percent = 30, .floor = 10};
    uint64_t dice = 1;
    for (int i = 0; i < 200000; i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        daruma_ms now = dice >> 60 ? (daruma_ms)(dice >> 44) : (daruma_ms)dice;
        int64_t before = daruma_budget_left(&b, now);
        assert_true(before >= 0);
        assert_true(before <= (int64_t)(((uint64_t)b.calls + b.was_calls) * 30 / 100 + 10));
        if (dice & 256)
            daruma_budget_call(&b, now);
        else
            assert_int_equal(daruma_budget_take(&b, now), before > 0);
    }
    b = (daruma_budget){.percent = UINT32_MAX, .floor = UINT32_MAX, .calls = UINT32_MAX, .was_calls = UINT32_MAX};
    daruma_budget_call(&b, 1);
    assert_true(daruma_budget_left(&b, 1) > 0);
}

/* ---- breaker ------------------------------------------------------------------- */

static void bad(daruma_breaker *b, daruma_ms now, uint64_t witness)
{
    daruma_breaker_tell(b, daruma_breaker_ask(b, now), false, witness, now);
}

static void good(daruma_breaker *b, daruma_ms now)
{
    daruma_breaker_tell(b, daruma_breaker_ask(b, now), true, 0, now);
}

static void trip(daruma_breaker *b, daruma_ms now) /* opens it, once */
{
    bad(b, now, 1);
    bad(b, now, 2);
}

static void pass(daruma_breaker *b, int times)
{
    for (int i = 0; i < times; i++)
        daruma_breaker_pass(b);
}

static void two_failures_in_a_row_open_a_breaker(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    bad(&b, 100, 1);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), 0); /* one may be chance */
    good(&b, 100);
    bad(&b, 100, 1);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), 0);
    bad(&b, 100, 1);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), BREAKER_OPEN_MS);
    assert_int_equal(daruma_breaker_alone_in(&b, 100), 0); /* who has nobody else asks it */
}

static void so_does_half_of_the_recent_calls_and_old_ones_are_forgotten(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    for (int i = 0; i < BREAKER_CALLS_MIN - 1; i++)
        i % 2 ? bad(&b, 100, 1) : good(&b, 100);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), 0);
    bad(&b, 100, 1);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), BREAKER_OPEN_MS);
    b = (daruma_breaker){0};
    for (int i = 0; i < 300; i++) /* a third */
        i % 3 == 1 ? bad(&b, 100, 1) : good(&b, 100);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), 0);
    b = (daruma_breaker){0};
    for (int i = 0; i < 100; i++) /* half, but never six within 30 s */
        i % 2 ? bad(&b, i * 8000, 1) : good(&b, i * 8000);
    assert_int_equal(daruma_breaker_opens_in(&b, 800000), 0);
}

static void a_row_of_five_that_two_requests_saw_is_waited_for_by_all(void **state)
{
    (void)state;
    static const daruma_ms when[] = {2000, 4000, 6000, 8000, 9000};
    for (int witnesses = 1; witnesses <= 2; witnesses++) {
        daruma_breaker b = {0};
        good(&b, 1000);
        for (int i = 0; i < BREAKER_DOWN_ROW; i++) {
            assert_int_equal(daruma_breaker_alone_in(&b, when[i]), 0);
            bad(&b, when[i], witnesses == 1 ? 7 : 7 + (uint64_t)i);
        }
        assert_true(daruma_breaker_opens_in(&b, 9000) > 0);
        /* half of the time since it last worked */
        assert_int_equal(daruma_breaker_alone_in(&b, 9000), witnesses == 1 ? 0 : 4000);
        assert_int_equal(daruma_breaker_alone_in(&b, 12999), witnesses == 1 ? 0 : 1);
        assert_int_equal(daruma_breaker_alone_in(&b, 13000), 0);
        assert_true(daruma_breaker_ask(&b, 13000).probe);
    }
}

static void calls_that_hung_and_are_ended_when_a_place_comes_back_speak_of_the_past(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    daruma_permit asked[BREAKER_DOWN_ROW];
    good(&b, 1000);
    trip(&b, 1500);
    for (uint64_t i = 0; i < BREAKER_DOWN_ROW; i++)
        asked[i] = daruma_breaker_ask(&b, 2000);
    for (uint64_t i = 0; i < BREAKER_DOWN_ROW; i++) /* a minute later the connections are reset */
        daruma_breaker_tell(&b, asked[i], false, i + 1, 60000);
    assert_true(daruma_breaker_opens_in(&b, 60000) > 0);
    assert_int_equal(daruma_breaker_alone_in(&b, 60000), 0);
}

static void a_place_that_often_fails_and_works_between_is_not_down(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    daruma_ms now = 1000;
    for (int round = 0; round < 10; round++) { /* one of four works */
        for (uint64_t i = 0; i < 3; i++)
            bad(&b, now += 100, i + 1);
        good(&b, now += 100);
    }
    for (uint64_t i = 0; i < BREAKER_DOWN_ROW + 3 * BREAKER_ROWS_TIMES - 1; i++) {
        bad(&b, now += 100, i + 1);
        if (i == 2 * BREAKER_DOWN_ROW)
            assert_int_equal(daruma_breaker_alone_in(&b, now), 0);
    }
    bad(&b, now += 100, 1);
    assert_true(daruma_breaker_alone_in(&b, now) > 0);
}

static void who_has_nobody_else_never_waits_longer_than_half_as_long_as_it_was_down(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    good(&b, 1000);
    daruma_ms now = 1100;
    for (uint64_t i = 0; i < 40; i++) {
        bad(&b, now, i);
        daruma_ms in = daruma_breaker_alone_in(&b, now), half = (now - 1000) / 2;
        half = half < ALONE_MS_MIN ? ALONE_MS_MIN : half;
        assert_in_range(in, 0, half < REST_MS_MAX ? half : REST_MS_MAX);
        now += in ? in : 1;
    }
    assert_int_equal(daruma_breaker_alone_in(&b, now), 0);
    assert_true(now > 600000); /* and calls get rare: 40 in more than ten minutes */
}

static void many_calls_or_half_a_minute_come_before_a_probe(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    pass(&b, BREAKER_PASSED_MIN); /* closed: nothing passes it */
    trip(&b, 0);
    assert_true(daruma_breaker_opens_in(&b, BREAKER_OPEN_MS) > 0);
    assert_int_equal(daruma_breaker_opens_in(&b, REST_MS_MAX - 1), 1);
    assert_int_equal(daruma_breaker_opens_in(&b, REST_MS_MAX), 0);
    pass(&b, BREAKER_PASSED_MIN - 1);
    assert_true(daruma_breaker_opens_in(&b, BREAKER_OPEN_MS) > 0);
    pass(&b, 1);
    assert_true(daruma_breaker_opens_in(&b, BREAKER_OPEN_MS - 1) > 0);
    assert_int_equal(daruma_breaker_opens_in(&b, BREAKER_OPEN_MS), 0);
}

static void one_call_of_many_probes_however_often_it_was_in_vain(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    daruma_ms now = 0;
    trip(&b, now);
    for (int i = 0; i < 8; i++) {
        pass(&b, BREAKER_PASSED_MIN);
        assert_int_equal(daruma_breaker_opens_in(&b, now), BREAKER_OPEN_MS);
        now += BREAKER_OPEN_MS;
        daruma_permit probe = daruma_breaker_ask(&b, now);
        assert_true(probe.probe);
        daruma_breaker_tell(&b, probe, false, 7, now);
    }
    assert_int_equal(daruma_breaker_opens_in(&b, now), REST_MS_MAX); /* where hardly anything passes it rests */
}

static void half_open_lets_exactly_one_probe_through(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 1000);
    pass(&b, BREAKER_PASSED_MIN);
    daruma_permit p = daruma_breaker_ask(&b, 2000);
    assert_true(p.ok && p.probe);
    for (int i = 0; i < 5; i++)
        assert_false(daruma_breaker_ask(&b, 2000 + i).ok);
    assert_int_equal(daruma_breaker_opens_in(&b, 2000), BREAKER_PROBE_LOOK_MS);
    daruma_breaker_tell(&b, p, true, 0, 7000);
    assert_true(daruma_breaker_ask(&b, 7000).ok);
    assert_false(daruma_breaker_ask(&b, 7000).probe);
}

static void a_probe_that_hangs_keeps_others_off_for_ten_seconds(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 0);
    pass(&b, BREAKER_PASSED_MIN);
    assert_true(daruma_breaker_ask(&b, 1000).probe);
    assert_false(daruma_breaker_ask(&b, 1000 + BREAKER_PROBE_MS - 1).ok);
    assert_int_equal(daruma_breaker_opens_in(&b, 1000 + BREAKER_PROBE_MS), 0);
    assert_true(daruma_breaker_ask(&b, 1000 + BREAKER_PROBE_MS).probe);
}

static void a_dropped_probe_frees_the_next(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 0);
    pass(&b, BREAKER_PASSED_MIN);
    daruma_permit p = daruma_breaker_ask(&b, 1000);
    assert_false(daruma_breaker_ask(&b, 1000).ok);
    daruma_breaker_drop(&b, p);
    assert_true(daruma_breaker_ask(&b, 1000).probe);
}

static void any_success_of_a_call_that_began_since_it_opened_closes_it(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 0);
    daruma_permit probe = daruma_breaker_ask(&b, 500), other = daruma_breaker_ask(&b, 500);
    assert_true(probe.probe);
    assert_false(other.ok);
    daruma_breaker_tell(&b, other, true, 0, 600);
    assert_int_equal(daruma_breaker_opens_in(&b, 600), 0);
    daruma_breaker_tell(&b, probe, false, 3, 700); /* it began before that */
    assert_int_equal(b.row, 0);
}

static void only_a_bad_probe_keeps_it_open_for_longer(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 0);
    daruma_permit probe = daruma_breaker_ask(&b, 500), other = daruma_breaker_ask(&b, 500);
    daruma_breaker_tell(&b, other, false, 3, 600);
    assert_int_equal(daruma_breaker_opens_in(&b, 600), 400 > BREAKER_PROBE_LOOK_MS ? BREAKER_PROBE_LOOK_MS : 400);
    daruma_breaker_tell(&b, probe, false, 4, 700);
    assert_int_equal(daruma_breaker_opens_in(&b, 700), 2 * BREAKER_OPEN_MS);
}

static void rests_double_up_to_half_a_minute(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    daruma_ms now = 0, open = BREAKER_OPEN_MS;
    trip(&b, now);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(daruma_breaker_opens_in(&b, now), open);
        now += open;
        pass(&b, BREAKER_PASSED_MIN);
        bad(&b, now, (uint64_t)i);
        open = open * 2 < REST_MS_MAX ? open * 2 : REST_MS_MAX;
    }
}

static void a_relapse_opens_it_at_once_and_time_forgives(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 0);
    good(&b, 1000);
    bad(&b, 1500, 1);
    assert_int_equal(daruma_breaker_opens_in(&b, 1500), 2 * BREAKER_OPEN_MS); /* it begins where it left off */
    good(&b, 4000);
    bad(&b, 100000, 1);
    assert_int_equal(daruma_breaker_opens_in(&b, 100000), 0); /* one may be chance again */
    bad(&b, 100000, 2);
    assert_int_equal(daruma_breaker_opens_in(&b, 100000), BREAKER_OPEN_MS);
}

/* Of a burst that met the failure at once all but two were out when it opened. */
static void failures_that_were_out_when_it_opened_count_in_its_row(void **state)
{
    (void)state;
    for (int well = 0; well < 3; well++) {
        daruma_breaker b = {0};
        daruma_permit early = daruma_breaker_ask(&b, 900), out[BREAKER_DOWN_ROW + 1];
        for (int i = 0; i <= BREAKER_DOWN_ROW; i++)
            out[i] = daruma_breaker_ask(&b, 1000);
        for (int i = 0; i < BREAKER_DOWN_ROW; i++)
            daruma_breaker_tell(&b, out[i], false, (uint64_t)i + 1, 1100);
        assert_int_equal(daruma_breaker_opens_in(&b, 1100), BREAKER_OPEN_MS); /* as after two */
        assert_int_equal(daruma_breaker_alone_in(&b, 1100), ALONE_MS_MIN - 100);
        if (well)
            daruma_breaker_tell(&b, well == 1 ? early : out[BREAKER_DOWN_ROW], true, 9, 1200);
        assert_int_equal(daruma_breaker_opens_in(&b, 1200), BREAKER_OPEN_MS - 100);
        /* Only a success that went out after the first failure says that some calls pass. */
        assert_int_equal(daruma_breaker_alone_in(&b, 1200), well == 2 ? 0 : ALONE_MS_MIN - 200);
    }
}

/* When a place is asked again is counted from calls that speak of it as it is, not from those that hang since before.
 */
static void calls_that_were_out_when_it_opened_put_no_question_off(void **state)
{
    (void)state;
    daruma_breaker b = {0}, was;
    daruma_permit out[3];
    for (int i = 0; i < 3; i++)
        out[i] = daruma_breaker_ask(&b, 0);
    for (int i = 0; i < 2; i++)
        daruma_breaker_tell(&b, out[i], false, (uint64_t)i + 1, 10);
    was = b;
    daruma_breaker_tell(&b, out[2], false, 3, 29000);
    assert_int_equal(b.row, was.row + 1);
    assert_int_equal(b.bad_at, was.bad_at);
    assert_int_equal(b.asked_at, was.asked_at);
    assert_int_equal(daruma_breaker_opens_in(&b, 10 + REST_MS_MAX), 0);
}

static void an_answer_of_an_older_epoch_opens_and_closes_nothing(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    daruma_permit old = daruma_breaker_ask(&b, 0);
    trip(&b, 0);
    daruma_breaker was = b;
    daruma_breaker_drop(&b, old);
    assert_memory_equal(&b, &was, sizeof b);
    daruma_breaker_tell(&b, old, true, 0, 10);
    daruma_breaker_tell(&b, old, false, 0, 10);
    assert_int_equal(daruma_breaker_opens_in(&b, 10), BREAKER_OPEN_MS - 10);
    assert_int_equal(b.epoch, was.epoch);
    assert_int_equal(b.all, was.all);
    good(&b, 5000);
    daruma_breaker_tell(&b, old, false, 0, 5000); /* closed again, but not as it was then */
    assert_int_equal(b.row, 0);
}

static void what_several_must_agree_on_opens_only_when_they_do(void **state)
{
    (void)state;
    daruma_breaker b = {.wary = true};
    for (int i = 0; i < 50; i++)
        bad(&b, i, 5);
    assert_int_equal(daruma_breaker_opens_in(&b, 50), 0);
    bad(&b, 50, 6);
    assert_true(daruma_breaker_opens_in(&b, 50) > 0);
    b = (daruma_breaker){.wary = true};
    bad(&b, 0, 0); /* needs nobody to agree */
    bad(&b, 0, 0);
    assert_true(daruma_breaker_opens_in(&b, 0) > 0);
}

static void a_breaker_survives_a_clock_that_jumps(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 1000000000);
    assert_in_range(daruma_breaker_opens_in(&b, -50), 1, REST_MS_MAX);
    assert_true(daruma_breaker_ask(&b, -50).probe); /* for who has nobody else */
    pass(&b, BREAKER_PASSED_MIN);
    assert_int_equal(daruma_breaker_opens_in(&b, -50 + BREAKER_PROBE_MS), 0); /* it follows the clock from here */
    b = (daruma_breaker){0};
    for (uint64_t i = 0; i < 9; i++)
        bad(&b, 1000000000, i);
    daruma_ms now = -50;
    for (int i = 0; i < 1000 && daruma_breaker_alone_in(&b, now) > 0; i++) {
        now += daruma_breaker_alone_in(&b, now);
        daruma_breaker_ask(&b, now);
    }
    assert_in_range(now + 50, 0, 2 * REST_MS_MAX); /* who has nobody else asks it again */
    assert_int_equal(daruma_breaker_opens_in(&b, INT64_MAX), 0);
}

/* ---- health ---------------------------------------------------------------------- */

static void ids_tell_parts_apart(void **state)
{
    (void)state;
    daruma_target a = target("p", "m", "a", "k"), b = target("p", "m", "a", "k2"), c = target("pm", "", "a", "k");
    assert_true(a.lane_id == b.lane_id && a.model_id == b.model_id && a.account_id == b.account_id);
    assert_true(a.key_id != b.key_id);
    assert_true(a.provider_id != c.provider_id && a.model_id != c.model_id && a.key_id != c.key_id);
    daruma_target d = target("p", "k", "k", "k");
    assert_true(d.model_id != d.account_id && d.model_id != d.key_id && d.account_id != d.key_id);
}

/* What one failure of each kind makes sick, and whether it takes another request that met the same. */
static void each_kind_makes_its_own_place_sick(void **state)
{
    (void)state;
    static const struct {
        daruma_kind kind;
        int status;
        uint8_t sure;
        int requests; /* that met it */
        daruma_ms wait, in;
        daruma_scope who;
        bool other_key, other_model, other_account, other_provider; /* well? */
    } rows[] = {
        {DARUMA_RATE_LIMIT, 429, 0, 1, 7000, 7000, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_RATE_LIMIT, 429, 0, 1, -1, 500, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_QUOTA, 402, 95, 1, -1, REST_MS_MAX, DARUMA_SICK_ACCOUNT, false, false, true, true},
        {DARUMA_QUOTA, 402, 60, 1, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_QUOTA, 402, 60, 2, -1, REST_MS_MAX, DARUMA_SICK_ACCOUNT, false, false, true, true},
        {DARUMA_AUTH, 401, 95, 1, -1, REST_MS_MAX, DARUMA_SICK_KEY, true, false, true, true},
        {DARUMA_AUTH, 401, 60, 1, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_AUTH, 401, 60, 2, -1, REST_MS_MAX, DARUMA_SICK_KEY, true, false, true, true},
        {DARUMA_PERMISSION, 403, 95, 1, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_PERMISSION, 403, 95, 2, -1, REST_MS_MAX, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_MODEL_NOT_FOUND, 404, 95, 1, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_MODEL_NOT_FOUND, 404, 95, 2, -1, REST_MS_MAX, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_OVERLOADED, 529, 0, 1, 3000, 3000, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_OVERLOADED, 529, 0, 1, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_OVERLOADED, 529, 0, 2, -1, BREAKER_OPEN_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_SERVER_ERROR, 500, 0, 1, 9000, 9000, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_SERVER_ERROR, 500, 0, 2, -1, BREAKER_OPEN_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_SERVER_ERROR, 425, 0, 2, -1, BREAKER_OPEN_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_SERVER_ERROR, 499, 0, 2, -1, BREAKER_OPEN_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_TIMEOUT, 408, 0, 2, -1, BREAKER_OPEN_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_SERVER_ERROR, 409, 0, 5, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true}, /* a lock */
        {DARUMA_INTERRUPTED, 200, 0, 2, -1, BREAKER_OPEN_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_TIMEOUT, 0, 0, 2, -1, BREAKER_OPEN_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_CONTEXT_LENGTH, 400, 0, 5, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_INVALID_PARAMETER, 422, 0, 5, 1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
    };
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_target key = target("p", "m", "a", "k2"), model = target("p", "m2", "a", "k"),
                  account = target("p", "m", "b", "kb"), provider = target("q", "m", "a", "k");
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_health *w = a_health();
        daruma_failure f = advised(rows[i].kind, rows[i].status, rows[i].wait);
        f.sure = rows[i].sure;
        for (int n = 0; n < rows[i].requests; n++)
            fails(w, &p, &t, f, 1000);
        daruma_condition h = daruma_health_look(w, &t, 1000);
        if (h.well != (rows[i].in == 0) || h.in != rows[i].in)
            fail_msg("row %zu: %s rests %lld", i, daruma_kind_name(rows[i].kind), (long long)h.in);
        assert_int_equal(h.who, rows[i].who);
        if (!h.well)
            assert_int_equal(h.why, rows[i].kind);
        assert_int_equal(h.named_in, rows[i].in && rows[i].wait > 0 ? rows[i].wait : 0);
        assert_int_equal(daruma_health_look(w, &key, 1000).well, rows[i].other_key);
        assert_int_equal(daruma_health_look(w, &model, 1000).well, rows[i].other_model);
        assert_int_equal(daruma_health_look(w, &account, 1000).well, rows[i].other_account);
        assert_int_equal(daruma_health_look(w, &provider, 1000).well, rows[i].other_provider);
    }
}

static void one_request_that_is_refused_twice_is_one_witness(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure page = failure(DARUMA_PERMISSION, 403);
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(0));
    out(&c, 0);
    daruma_remedy r = daruma_case_next(&c, &page, 0, at(0)); /* perhaps a page of somebody on the way */
    assert_int_equal(r.remedy, DARUMA_REMEDY_WAIT_RETRY);
    out(&c, r.wait);
    assert_int_equal(daruma_case_next(&c, &page, 0, at(r.wait)).remedy, DARUMA_REMEDY_EXPLAIN);
    assert_true(daruma_health_look(w, &t, r.wait).well);
    fails(w, &p, &t, page, r.wait);
    assert_false(daruma_health_look(w, &t, r.wait).well);
}

static void cooldowns_combine_by_the_later_end(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case a, b;
    daruma_case_open(&a, w, &p, &t, 1, -1, -1, at(0));
    daruma_case_open(&b, w, &p, &t, 1, -1, -1, at(0));
    out(&a, 0);
    out(&b, 0);
    daruma_failure longer = advised(DARUMA_RATE_LIMIT, 429, 30000), shorter = advised(DARUMA_RATE_LIMIT, 429, 1000);
    daruma_case_next(&a, &longer, 0, at(10));
    daruma_case_next(&b, &shorter, 0, at(20));
    assert_int_equal(daruma_health_look(w, &t, 20).in, 29990);
}

static void a_rest_that_nobody_named_ends_within_half_a_minute(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_ms now = 0;
    for (int i = 0; i < 6; i++, now += REST_MS_MAX) {
        fails(w, &p, &t, surely(DARUMA_QUOTA, 402), now);
        assert_int_equal(daruma_health_look(w, &t, now).in, REST_MS_MAX);
    }
    w = a_health();
    daruma_ms rest = 500;
    for (int i = 0; i < 14; i++, now += rest, rest = rest * 3 / 2 < REST_MS_MAX ? rest * 3 / 2 : REST_MS_MAX) {
        fails(w, &p, &t, failure(DARUMA_RATE_LIMIT, 429), now);
        assert_int_equal(daruma_health_look(w, &t, now).in, rest);
        assert_int_equal(daruma_health_look(w, &t, now).named_in, 0);
    }
}

/* Several go out at once, and are refused one after the other, each while somebody finds out whether the place is back.
 */
static void refusals_that_were_under_way_make_no_rest_longer(void **state)
{
    (void)state;
    enum { MANY = TEMPO_CALLS_MIN };
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_case c[MANY], finds_out;
    daruma_failure slower = advised(DARUMA_RATE_LIMIT, 429, -1);
    for (int i = 0; i < MANY; i++) {
        daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, of_another(0));
        out(&c[i], 0);
    }
    daruma_ms now = 100;
    daruma_case_next(&c[0], &slower, 0, at(now));
    daruma_ms first = daruma_health_look(w, &t, now).in;
    for (int i = 1; i < MANY; i++) {
        now += daruma_health_look(w, &t, now).in;
        daruma_case_open(&finds_out, w, &p, &t, 1, -1, -1, of_another(now));
        out(&finds_out, now);
        now += 10;
        daruma_case_next(&c[i], &slower, 0, at(now));
        assert_true(daruma_health_look(w, &t, now).in <= first);
    }
}

/* How long others are kept off behind the call that asks depends on how long a refusal takes there: not on how long
 * one was out that came late. */
static void a_late_refusal_does_not_say_how_long_one_takes(void **state)
{
    (void)state;
    daruma_ms kept_off[2];
    for (int late = 0; late < 2; late++) {
        daruma_policy p = calm();
        daruma_target t = target("p", "m", "a", "k");
        daruma_health *w = a_health();
        daruma_failure slower = advised(DARUMA_RATE_LIMIT, 429, -1);
        daruma_case c[2], finds_out, other;
        for (int i = 0; i < 2; i++) {
            daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, of_another(0));
            out(&c[i], 0);
        }
        daruma_case_next(&c[0], &slower, 0, at(100));
        daruma_ms now = late ? 4500 : 600;
        if (late)
            daruma_case_next(&c[1], &slower, 0, at(4000));
        daruma_case_open(&finds_out, w, &p, &t, 1, -1, -1, of_another(now));
        out(&finds_out, now);
        daruma_case_open(&other, w, &p, &t, 1, -1, -1, of_another(now));
        kept_off[late] = 0;
        for (daruma_ms wait; (wait = daruma_case_admit(&other, at(now + kept_off[late])).wait) > 0;)
            kept_off[late] += wait;
    }
    assert_true(kept_off[0] > 0);
    assert_int_equal(kept_off[1], kept_off[0]);
}

static void nor_lets_an_older_success_end_the_rest(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_failure slower = advised(DARUMA_RATE_LIMIT, 429, -1);
    daruma_case c[3];
    for (int i = 0; i < 3; i++) {
        daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, of_another(i * 50));
        out(&c[i], i * 50);
    }
    daruma_case_next(&c[2], &slower, 0, at(200));
    daruma_case_next(&c[0], &slower, 0, at(800));
    daruma_case_done(&c[1], at(900));
    assert_true(daruma_health_look(w, &t, 900).in > 0);
}

/* Calls that went out before a place began to rest and are refused behind that. */
static void calls_under_way_say_nothing_of_a_rest_that_began_meanwhile(void **state)
{
    (void)state;
    enum { CALLS = 10 };
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure at_once = advised(DARUMA_RATE_LIMIT, 429, 0);
    daruma_health *w = a_health();
    daruma_case c[CALLS];
    for (int i = 0; i < CALLS; i++) {
        daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, of_another(0));
        out(&c[i], 0);
    }
    for (int i = 1; i < CALLS; i++) { /* all are told to come again at once: that is one refusal */
        daruma_case_next(&c[i], &at_once, 0, at(i));
        assert_true(daruma_health_look(w, &t, i).well);
    }
    for (int i = 0; i < CALLS; i++)
        fails(w, &p, &t, failure(DARUMA_RATE_LIMIT, 429), (i + 1) * REST_MS_MAX);
    daruma_ms now = (CALLS + 1) * REST_MS_MAX;
    fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 5000), now); /* who names seconds means them */
    assert_int_equal(daruma_health_look(w, &t, now).named_in, 5000);
    daruma_case_next(&c[0], &at_once, 0, at(now + 1));
    assert_int_equal(daruma_health_look(w, &t, now + 1).named_in, 4999);
    assert_int_equal(daruma_health_look(w, &t, now + 1).in, 4999);
}

static void a_rested_key_is_probed_by_one_call_while_others_go_elsewhere(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "m", "b", "k2")};
    fails(w, &p, t, surely(DARUMA_AUTH, 401), 0);
    daruma_ms now = REST_MS_MAX;
    daruma_case c, d;
    daruma_case_open(&c, w, &p, t, 2, 0, -1, at(now));
    daruma_case_open(&d, w, &p, t, 2, 0, -1, at(now));
    assert_int_equal(out(&c, now), 0);
    assert_false(daruma_health_look(w, t, now).well);
    assert_int_equal(out(&d, now), 1);
    daruma_case_done(&c, at(now + 50));
    assert_true(daruma_health_look(w, t, now + 50).well);
}

/* It went out before the key rested, and is refused while a probe is out: that is the refusal of then. */
static void a_call_from_before_a_rest_that_is_over_begins_no_new_one(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "m", "b", "k2")};
    daruma_failure refused = surely(DARUMA_AUTH, 401);
    daruma_case old, c;
    daruma_case_open(&old, w, &p, t, 1, -1, -1, of_another(5));
    out(&old, 5);
    fails(w, &p, t, refused, 10);
    daruma_ms now = 10 + REST_MS_MAX;
    daruma_case_open(&c, w, &p, t, 2, 0, -1, at(now));
    assert_int_equal(out(&c, now), 0);
    daruma_ms probed = daruma_health_look(w, t, now).in;
    daruma_case_next(&old, &refused, 0, at(now));
    assert_int_equal(daruma_health_look(w, t, now).in, probed);
    daruma_case_done(&c, at(now + 50));
    assert_true(daruma_health_look(w, t, now + 50).well);
}

static void nobody_waits_for_what_does_not_pass(void **state)
{
    (void)state;
    static const daruma_kind kinds[] = {DARUMA_AUTH, DARUMA_QUOTA, DARUMA_PERMISSION, DARUMA_MODEL_NOT_FOUND};
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    for (size_t i = 0; i < 4; i++) {
        daruma_health *w = a_health();
        fails(w, &p, &t, surely(kinds[i], 403), 0);
        fails(w, &p, &t, surely(kinds[i], 403), 0);
        assert_false(daruma_health_look(w, &t, 1).well);
        daruma_case c; /* with nobody else it asks, and hears it from the provider */
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(1));
        out(&c, 1);
    }
}

static int goes(daruma_health *w, const daruma_policy *p, const daruma_target *t, int64_t bytes, daruma_ms now)
{
    daruma_case c;
    daruma_case_open(&c, w, p, t, 2, -1, -1, of_another(now));
    c.bytes = bytes;
    int to = out(&c, now);
    daruma_case_done(&c, at(now));
    return to;
}

static void a_body_that_is_too_large_goes_elsewhere_first(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    daruma_failure f = failure(DARUMA_REQUEST_TOO_LARGE, 413);
    for (int window = 0; window < 2; window++) {
        daruma_health *w = a_health();
        daruma_case c;
        f.limit = window ? 8000 : -1; /* tokens, which bytes say nothing of */
        daruma_case_open(&c, w, &p, t, 1, -1, -1, of_another(0));
        c.bytes = 5000;
        out(&c, 0);
        daruma_case_next(&c, &f, 0, at(0));
        daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at(0));
        assert_int_equal(goes(w, &p, t, 4999, 10), 0);
        assert_int_equal(goes(w, &p, t, 5000, 10), !window);
        assert_int_equal(goes(w, &p, t, 6000, 10), !window);
        assert_int_equal(goes(w, &p, t, 6000, NARROW_MS), 0); /* it takes more now */
        assert_int_equal(goes(w, &p, t, 5000, NARROW_MS), 0);
    }
}

/* A key that answered several requests, or a model that did, is refused: that may pass, and is waited for, but no
 * longer than for an outage. */
static void a_key_that_was_taken_several_times_is_waited_for_when_it_is_refused(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    static const daruma_kind kinds[] = {DARUMA_AUTH, DARUMA_MODEL_NOT_FOUND, DARUMA_PERMISSION};
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (int answers = 0; answers <= KEY_TRUSTED_MIN; answers++) {
            bool waits = i < 2 && answers == KEY_TRUSTED_MIN;
            daruma_health *w = a_health();
            daruma_failure f = surely(kinds[i], i ? 404 : 401);
            daruma_case c;
            for (int n = 1; n <= answers; n++) {
                daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(n));
                out(&c, n);
                daruma_case_done(&c, at(n));
            }
            daruma_ms now = 1000;
            for (int n = 0; n < 2; n++, now = 2000 + PATIENCE_MS) { /* then it does not pass */
                daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(now));
                out(&c, now);
                int calls = 1;
                while (daruma_case_next(&c, &f, 0, at(now)).act == DARUMA_SEND && calls < 4) {
                    daruma_admission a = {.wait = 1};
                    for (; a.wait; now += a.wait)
                        a = daruma_case_admit(&c, at(now));
                    calls++;
                }
                assert_int_equal(calls, waits && n == 0 ? 4 : kinds[i] == DARUMA_AUTH && answers && !n ? 2 : 1);
                daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at(now));
            }
        }
}

static void fresh_credentials_make_a_key_well(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    fails(w, &p, &t, surely(DARUMA_AUTH, 401), 0);
    assert_false(daruma_health_look(w, &t, 0).well);
    daruma_health_refreshed(w, &t);
    assert_true(daruma_health_look(w, &t, 0).well);
}

static void the_place_touched_longest_ago_makes_room(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, daruma_health_bytes(8));
    daruma_health *w = daruma_health_new(&a, 8);
    assert_non_null(w);
    daruma_policy p = calm();
    daruma_target sick = target("p", "m", "a", "k");
    fails(w, &p, &sick, advised(DARUMA_RATE_LIMIT, 429, 60000), 0);
    assert_false(daruma_health_look(w, &sick, 1).well);
    char name[16];
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "p%d", i);
        daruma_target t = target(name, "m", "a", "k");
        fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 60000), 1);
        assert_false(daruma_health_look(w, &t, 1).well);
    }
    assert_true(daruma_health_look(w, &sick, 1).well);
    daruma_place list[16];
    assert_int_equal(daruma_health_list(w, 1, list, 16), 8);
    assert_int_equal(daruma_health_list(w, 1, list, 2), 8);
    daruma_arena small = arena_over(memory, 100);
    assert_null(daruma_health_new(&small, 8));
}

static void memory_that_is_not_zero_makes_no_difference_and_stays_untouched(void **state)
{
    (void)state;
    size_t n = daruma_health_bytes(64);
    memset(memory, 0xa5, n);
    daruma_arena a = arena_over(memory, n);
    daruma_health *w = daruma_health_new(&a, 64);
    assert_non_null(w);
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k"), other = target("q", "m", "a", "k");
    assert_true(daruma_health_look(w, &t, 0).well);
    fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 1000), 0);
    assert_int_equal(daruma_health_look(w, &t, 0).in, 1000);
    assert_true(daruma_health_look(w, &t, 1001).well);
    assert_true(daruma_health_look(w, &other, 0).well);
    daruma_place list[16];
    assert_in_range(daruma_health_list(w, 0, list, 16), 1, 5); /* parts of one target */
    size_t untouched = 0;
    for (size_t i = 0; i < n; i++)
        untouched += (unsigned char)memory[i] == 0xa5;
    assert_true(untouched > n / 2); /* of a gateway's table of thousands most pages are never used */
}

static void a_sick_model_makes_neither_its_sibling_nor_its_provider_sick(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target m = target("p", "m", "a", "k"), n = target("p", "n", "a", "k");
    for (int i = 0; i < 50; i++)
        fails(w, &p, &m, failure(i % 2 ? DARUMA_SERVER_ERROR : DARUMA_TIMEOUT, i % 2 ? 500 : 0), i * 100);
    daruma_condition h = daruma_health_look(w, &m, 5000);
    assert_false(h.well);
    assert_int_equal(h.who, DARUMA_SICK_TARGET); /* the lowest place that explains it */
    assert_true(daruma_health_look(w, &n, 5000).well);
}

static void one_account_that_fails_makes_its_sibling_not_sick_and_two_make_the_model(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target a = target("p", "m", "a", "k"), b = target("p", "m", "b", "l"), c = target("p", "m", "c", "n");
    for (int i = 0; i < 20; i++)
        fails(w, &p, &a, failure(i % 2 ? DARUMA_SERVER_ERROR : DARUMA_TIMEOUT, i % 2 ? 500 : 0), i * 10);
    assert_false(daruma_health_look(w, &a, 200).well);
    assert_true(daruma_health_look(w, &b, 200).well);
    fails(w, &p, &b, failure(DARUMA_SERVER_ERROR, 500), 200);
    assert_false(daruma_health_look(w, &c, 200).well);
    assert_int_equal(daruma_health_look(w, &c, 200).who, DARUMA_SICK_MODEL);
    succeeds(w, &p, &c, 40000);
    assert_true(daruma_health_look(w, &c, 40000).well);
}

static void two_models_that_fail_make_their_provider_sick_unless_one_succeeds(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target m = target("p", "m", "a", "k"), n = target("p", "n", "a", "k"), o = target("p", "o", "a", "k"),
                  q = target("q", "o", "a", "k");
    for (int succeeded = 0; succeeded < 2; succeeded++) {
        daruma_health *w = a_health();
        for (int i = 0; i < 5; i++)
            fails(w, &p, &m, failure(DARUMA_SERVER_ERROR, 500), 0);
        if (succeeded)
            succeeds(w, &p, &o, 0);
        fails(w, &p, &n, failure(DARUMA_SERVER_ERROR, 500), 0);
        daruma_condition h = daruma_health_look(w, &o, 0);
        assert_int_equal(h.well, succeeded);
        assert_int_equal(h.who, succeeded ? DARUMA_SICK_REQUEST : DARUMA_SICK_PROVIDER);
        assert_true(daruma_health_look(w, &q, 0).well);
    }
}

/* ... and a third one that nobody has seen fail is asked last, but not waited for. */
static void a_model_of_a_sick_provider_that_never_failed_is_asked_before_anybody_waits(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "n", "a", "k"), target("p", "o", "a", "k")};
    for (int net = 0; net < 2; net++) {
        daruma_health *w = a_health();
        daruma_failure f = net ? failure(DARUMA_NETWORK, 0) : failure(DARUMA_SERVER_ERROR, 500);
        f.net = net ? DARUMA_NET_REFUSED : DARUMA_NET_NONE;
        for (int i = 0; i < 20; i++)
            fails(w, &p, &t[i % 2], f, 1000);
        daruma_case c;
        daruma_case_open(&c, w, &p, t, 3, -1, -1, of_another(1000));
        daruma_admission a = daruma_case_admit(&c, at(1000));
        assert_int_equal(a.wait == 0, !net); /* nobody comes through the door */
        if (net)
            continue;
        assert_int_equal(a.target, 2);
        daruma_case_drop(&c, at(1000));
        fails(w, &p, &t[2], f, 1000);
        daruma_case_open(&c, w, &p, t, 3, -1, -1, of_another(1000));
        assert_true(daruma_case_admit(&c, at(1000)).wait > 0); /* now it is known */
    }
}

static void connections_that_are_not_made_are_the_providers_fault(void **state)
{
    (void)state;
    static const daruma_net nets[] = {DARUMA_NET_DNS, DARUMA_NET_REFUSED, DARUMA_NET_UNREACHABLE,
                                      DARUMA_NET_TLS, DARUMA_NET_PROXY,   DARUMA_NET_CONNECT_TIMEOUT};
    daruma_policy p = calm();
    daruma_target m = target("p", "m", "a", "k"), n = target("p", "n", "a", "k");
    for (size_t i = 0; i < COUNT(nets); i++) {
        daruma_health *w = a_health();
        daruma_failure f = failure(DARUMA_NETWORK, 0);
        f.net = nets[i];
        fails(w, &p, &m, f, 0);
        assert_true(daruma_health_look(w, &n, 0).well);
        fails(w, &p, &m, f, 0);
        assert_int_equal(daruma_health_look(w, &n, 0).who, DARUMA_SICK_PROVIDER);
        succeeds(w, &p, &n, 10); /* it was the network, and is well */
        assert_true(daruma_health_look(w, &m, 10).well);
    }
}

static void what_this_machine_lacks_is_nobodys_fault(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target m = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_failure f = failure(DARUMA_NETWORK, 0);
    f.net = DARUMA_NET_LOCAL;
    for (int i = 0; i < 40; i++)
        fails(w, &p, &m, f, i * 100);
    daruma_condition h = daruma_health_look(w, &m, 4000);
    assert_true(h.well);
    assert_int_equal(h.in, 0);
}

static void a_success_clears_what_stands_above_it_and_nothing_beside(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target m = target("p", "m", "a", "k"), n = target("p", "n", "a", "k"), o = target("p", "o", "a", "k");
    for (int i = 0; i < 3; i++) {
        fails(w, &p, &m, failure(DARUMA_SERVER_ERROR, 500), 0);
        fails(w, &p, &n, failure(DARUMA_SERVER_ERROR, 500), 0);
    }
    assert_false(daruma_health_look(w, &o, 0).well);
    uint32_t healed = daruma_health_healed(w);
    succeeds(w, &p, &n, 10);
    assert_int_not_equal(daruma_health_healed(w), healed); /* who waits is woken */
    assert_true(daruma_health_look(w, &n, 10).well);
    assert_true(daruma_health_look(w, &o, 10).well);
    assert_int_equal(daruma_health_look(w, &m, 10).who, DARUMA_SICK_TARGET);
}

static void a_success_ends_a_rest_but_no_wait_that_the_provider_named(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    for (int named = 0; named < 2; named++) {
        daruma_health *w = a_health();
        daruma_case before, c;
        daruma_case_open(&before, w, &p, &t, 1, -1, -1, of_another(0));
        out(&before, 0);
        fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, named ? 7000 : -1), 10);
        assert_false(daruma_health_look(w, &t, 10).well);
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(10));
        c.out = true;
        c.target = 0;
        c.sent_at = 15;
        daruma_case_done(&before, at(20)); /* it went out before: that says nothing of now */
        assert_false(daruma_health_look(w, &t, 20).well);
        daruma_case_done(&c, at(20));
        assert_int_equal(daruma_health_look(w, &t, 20).well, !named);
        assert_int_equal(daruma_health_look(w, &t, 20).named_in, named ? 6990 : 0);
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(20));
        assert_int_equal(daruma_case_admit(&c, at(20)).wait, named ? 6990 : 0);
    }
}

static void one_call_asks_whether_a_limit_is_over_and_all_others_when_it_is_served(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    for (int named = 0; named < 2; named++) {
        daruma_health *w = a_health();
        daruma_case c[3];
        daruma_case_open(&c[0], w, &p, &t, 1, -1, -1, of_another(0));
        out(&c[0], 0);
        daruma_failure limit = advised(DARUMA_RATE_LIMIT, 429, named ? 500 : -1);
        daruma_case_next(&c[0], &limit, 0, at(400)); /* so long a refusal takes here */
        for (int i = 0; i < 3; i++)
            daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, of_another(900));
        assert_int_equal(daruma_case_admit(&c[0], at(900)).wait, 0);
        assert_int_equal(daruma_case_admit(&c[1], at(901)).wait > 0, !named);
        assert_int_equal(daruma_health_look(w, &t, 899 + 400 * BREAKER_SERVED_TIMES).well, named);
        assert_true(daruma_health_look(w, &t, 900 + 400 * BREAKER_SERVED_TIMES).well); /* else it had been refused */
        assert_int_equal(daruma_case_admit(&c[2], at(3000)).wait, 0);
        assert_true(daruma_health_look(w, &t, 3000).well);
    }
}

static void a_sick_model_is_asked_last_and_probed_when_it_rested(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    for (int i = 0; i < 10; i++)
        fails(w, &p, t, failure(DARUMA_SERVER_ERROR, 500), 0);
    daruma_case c;
    for (int i = 0; i < BREAKER_PASSED_MIN; i++) {
        daruma_case_open(&c, w, &p, t, 2, 0, -1, of_another(0));
        assert_int_equal(out(&c, 0), 1);
        daruma_case_done(&c, at(1));
    }
    daruma_ms now = daruma_health_look(w, t, 1).in + 1; /* enough went elsewhere: the next one probes */
    daruma_case_open(&c, w, &p, t, 2, 0, -1, of_another(now));
    assert_int_equal(out(&c, now), 0);
    daruma_case_drop(&c, at(now));
    assert_true(daruma_health_look(w, t, now).well); /* it was dropped: another one may */
}

static void a_changed_configuration_forgets_refusals_but_no_limits(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k"), target("r", "m", "a", "k")};
    fails(w, &p, &t[0], surely(DARUMA_AUTH, 401), 0);
    fails(w, &p, &t[1], surely(DARUMA_QUOTA, 402), 0);
    fails(w, &p, &t[2], advised(DARUMA_RATE_LIMIT, 429, 9000), 0);
    for (size_t i = 0; i < 3; i++)
        assert_false(daruma_health_look(w, &t[i], 1).well);
    daruma_health_reconsider(w);
    assert_true(daruma_health_look(w, &t[0], 1).well);
    assert_true(daruma_health_look(w, &t[1], 1).well);
    assert_false(daruma_health_look(w, &t[2], 1).well);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_that_were_under_way_make_no_rest_longer),
        cmocka_unit_test(a_late_refusal_does_not_say_how_long_one_takes),
        cmocka_unit_test(nor_lets_an_older_success_end_the_rest),
        cmocka_unit_test(a_delay_doubles_up_to_its_cap),
        cmocka_unit_test(full_jitter_reaches_both_ends_and_never_leaves_them),
        cmocka_unit_test(a_huge_delay_saturates),
        cmocka_unit_test(a_quiet_provider_has_its_floor),
        cmocka_unit_test(calls_earn_retries_and_a_minute_forgets_both),
        cmocka_unit_test(a_clock_that_goes_back_gives_nothing),
        cmocka_unit_test(a_budget_stays_within_its_bounds_whatever_the_clock_does),
        cmocka_unit_test(two_failures_in_a_row_open_a_breaker),
        cmocka_unit_test(so_does_half_of_the_recent_calls_and_old_ones_are_forgotten),
        cmocka_unit_test(a_row_of_five_that_two_requests_saw_is_waited_for_by_all),
        cmocka_unit_test(calls_that_hung_and_are_ended_when_a_place_comes_back_speak_of_the_past),
        cmocka_unit_test(a_place_that_often_fails_and_works_between_is_not_down),
        cmocka_unit_test(who_has_nobody_else_never_waits_longer_than_half_as_long_as_it_was_down),
        cmocka_unit_test(many_calls_or_half_a_minute_come_before_a_probe),
        cmocka_unit_test(one_call_of_many_probes_however_often_it_was_in_vain),
        cmocka_unit_test(half_open_lets_exactly_one_probe_through),
        cmocka_unit_test(a_probe_that_hangs_keeps_others_off_for_ten_seconds),
        cmocka_unit_test(a_dropped_probe_frees_the_next),
        cmocka_unit_test(any_success_of_a_call_that_began_since_it_opened_closes_it),
        cmocka_unit_test(only_a_bad_probe_keeps_it_open_for_longer),
        cmocka_unit_test(rests_double_up_to_half_a_minute),
        cmocka_unit_test(a_relapse_opens_it_at_once_and_time_forgives),
        cmocka_unit_test(failures_that_were_out_when_it_opened_count_in_its_row),
        cmocka_unit_test(calls_that_were_out_when_it_opened_put_no_question_off),
        cmocka_unit_test(an_answer_of_an_older_epoch_opens_and_closes_nothing),
        cmocka_unit_test(what_several_must_agree_on_opens_only_when_they_do),
        cmocka_unit_test(a_breaker_survives_a_clock_that_jumps),
        cmocka_unit_test(ids_tell_parts_apart),
        cmocka_unit_test(each_kind_makes_its_own_place_sick),
        cmocka_unit_test(one_request_that_is_refused_twice_is_one_witness),
        cmocka_unit_test(cooldowns_combine_by_the_later_end),
        cmocka_unit_test(a_rest_that_nobody_named_ends_within_half_a_minute),
        cmocka_unit_test(calls_under_way_say_nothing_of_a_rest_that_began_meanwhile),
        cmocka_unit_test(a_rested_key_is_probed_by_one_call_while_others_go_elsewhere),
        cmocka_unit_test(a_call_from_before_a_rest_that_is_over_begins_no_new_one),
        cmocka_unit_test(nobody_waits_for_what_does_not_pass),
        cmocka_unit_test(a_body_that_is_too_large_goes_elsewhere_first),
        cmocka_unit_test(a_key_that_was_taken_several_times_is_waited_for_when_it_is_refused),
        cmocka_unit_test(fresh_credentials_make_a_key_well),
        cmocka_unit_test(the_place_touched_longest_ago_makes_room),
        cmocka_unit_test(memory_that_is_not_zero_makes_no_difference_and_stays_untouched),
        cmocka_unit_test(a_sick_model_makes_neither_its_sibling_nor_its_provider_sick),
        cmocka_unit_test(one_account_that_fails_makes_its_sibling_not_sick_and_two_make_the_model),
        cmocka_unit_test(two_models_that_fail_make_their_provider_sick_unless_one_succeeds),
        cmocka_unit_test(a_model_of_a_sick_provider_that_never_failed_is_asked_before_anybody_waits),
        cmocka_unit_test(connections_that_are_not_made_are_the_providers_fault),
        cmocka_unit_test(what_this_machine_lacks_is_nobodys_fault),
        cmocka_unit_test(a_success_clears_what_stands_above_it_and_nothing_beside),
        cmocka_unit_test(a_success_ends_a_rest_but_no_wait_that_the_provider_named),
        cmocka_unit_test(one_call_asks_whether_a_limit_is_over_and_all_others_when_it_is_served),
        cmocka_unit_test(a_sick_model_is_asked_last_and_probed_when_it_rested),
        cmocka_unit_test(a_changed_configuration_forgets_refusals_but_no_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
