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

static void trip(daruma_breaker *b, daruma_ms now)
{
    for (int i = 0; i < 10; i++)
        daruma_breaker_tell(b, daruma_breaker_ask(b, now), false, now);
}

static void a_breaker_opens_at_half_of_ten(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    for (int i = 0; i < 9; i++)
        daruma_breaker_tell(&b, daruma_breaker_ask(&b, 100), i < 5, 100);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), 0);
    daruma_breaker_tell(&b, daruma_breaker_ask(&b, 100), false, 100);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), BREAKER_SHUT_MS);
    assert_false(daruma_breaker_ask(&b, 100).ok);
}

static void below_half_it_stays_closed_and_old_calls_are_forgotten(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    for (int i = 0; i < 100; i++)
        daruma_breaker_tell(&b, daruma_breaker_ask(&b, 100), i % 5 != 0, 100);
    assert_int_equal(daruma_breaker_opens_in(&b, 100), 0);
    b = (daruma_breaker){0};
    for (int i = 0; i < 30; i++) /* 9 bad ones in any 30 s */
        daruma_breaker_tell(&b, daruma_breaker_ask(&b, i * 3800), false, i * 3800);
    assert_int_equal(daruma_breaker_opens_in(&b, 30 * 3800), 0);
}

static void half_open_lets_exactly_one_probe_through(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 1000);
    daruma_permit p = daruma_breaker_ask(&b, 1000 + BREAKER_SHUT_MS);
    assert_true(p.ok && p.probe);
    for (int i = 0; i < 5; i++)
        assert_false(daruma_breaker_ask(&b, 1000 + BREAKER_SHUT_MS + i).ok);
    assert_int_equal(daruma_breaker_opens_in(&b, 1000 + BREAKER_SHUT_MS), BREAKER_PROBE_LOOK_MS);
    daruma_breaker_tell(&b, p, true, 7000);
    assert_true(daruma_breaker_ask(&b, 7000).ok);
    assert_false(daruma_breaker_ask(&b, 7000).probe);
}

static void a_bad_probe_shuts_for_longer_up_to_a_cap(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    daruma_ms now = 0, shut = BREAKER_SHUT_MS;
    trip(&b, now);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(daruma_breaker_opens_in(&b, now), shut);
        now += shut;
        daruma_breaker_tell(&b, daruma_breaker_ask(&b, now), false, now);
        shut = shut * 2 < BREAKER_SHUT_MS_MAX ? shut * 2 : BREAKER_SHUT_MS_MAX;
    }
}

static void an_answer_of_an_older_epoch_changes_nothing(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    daruma_permit old = daruma_breaker_ask(&b, 0);
    trip(&b, 0);
    daruma_breaker was = b;
    daruma_breaker_tell(&b, old, true, 10);
    daruma_breaker_tell(&b, old, false, 10);
    daruma_breaker_drop(&b, old);
    assert_memory_equal(&b, &was, sizeof b);
    daruma_breaker_tell(&b, daruma_breaker_ask(&b, 5000), true, 5000);
    daruma_breaker_tell(&b, old, false, 5000); /* closed again, but not as it was then */
    assert_int_equal(b.all, 0);
}

static void only_its_probe_can_close_a_breaker(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 0);
    daruma_breaker was = b;
    daruma_permit stray = {.epoch = b.epoch, .ok = true}; /* of a place that was forgotten and made anew */
    daruma_breaker_tell(&b, stray, true, 6000);
    daruma_breaker_tell(&b, stray, false, 6000);
    stray.probe = true;
    daruma_breaker_tell(&b, stray, true, 6000);
    assert_memory_equal(&b, &was, sizeof b);
}

static void a_dropped_probe_frees_the_next(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 0);
    daruma_breaker_drop(&b, daruma_breaker_ask(&b, 5000));
    assert_true(daruma_breaker_ask(&b, 5000).probe);
}

static void a_breaker_survives_a_clock_that_goes_back(void **state)
{
    (void)state;
    daruma_breaker b = {0};
    trip(&b, 1000000000);
    assert_true(daruma_breaker_opens_in(&b, -50) <= BREAKER_SHUT_MS);
    assert_false(daruma_breaker_ask(&b, -50).ok); /* it follows the clock from here */
    assert_true(daruma_breaker_ask(&b, -50 + BREAKER_SHUT_MS).probe);
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

static void each_kind_makes_its_own_place_sick(void **state)
{
    (void)state;
    static const struct {
        daruma_kind kind;
        int status;
        daruma_ms wait, in;
        daruma_scope who;
        bool other_key, other_model, other_account, other_provider; /* well? */
    } rows[] = {
        {DARUMA_RATE_LIMIT, 429, 7000, 7000, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_RATE_LIMIT, 429, -1, 2000, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_QUOTA, 402, -1, HEALTH_QUOTA_MS, DARUMA_SICK_ACCOUNT, false, false, true, true},
        {DARUMA_AUTH, 401, -1, HEALTH_CREDENTIALS_MS, DARUMA_SICK_KEY, true, false, true, true},
        {DARUMA_PERMISSION, 403, -1, HEALTH_CREDENTIALS_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_MODEL_NOT_FOUND, 404, -1, HEALTH_CREDENTIALS_MS, DARUMA_SICK_MODEL, false, true, false, true},
        {DARUMA_OVERLOADED, 529, 3000, 3000, DARUMA_SICK_MODEL, false, true, false, true},
        {DARUMA_OVERLOADED, 529, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_SERVER_ERROR, 500, 9000, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_CONTEXT_LENGTH, 400, -1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
        {DARUMA_INVALID_PARAMETER, 422, 1, 0, DARUMA_SICK_REQUEST, true, true, true, true},
    };
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_target key = target("p", "m", "a", "k2"), model = target("p", "m2", "a", "k"),
                  account = target("p", "m", "b", "kb"), provider = target("q", "m", "a", "k");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_health *w = a_health();
        fails(w, &p, &t, advised(rows[i].kind, rows[i].status, rows[i].wait), 1000);
        daruma_condition h = daruma_health_look(w, &t, 1000);
        assert_int_equal(h.well, rows[i].in == 0);
        assert_int_equal(h.in, rows[i].in);
        assert_int_equal(h.who, rows[i].who);
        if (!h.well)
            assert_int_equal(h.why, rows[i].kind);
        assert_int_equal(daruma_health_look(w, &key, 1000).well, rows[i].other_key);
        assert_int_equal(daruma_health_look(w, &model, 1000).well, rows[i].other_model);
        assert_int_equal(daruma_health_look(w, &account, 1000).well, rows[i].other_account);
        assert_int_equal(daruma_health_look(w, &provider, 1000).well, rows[i].other_provider);
    }
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

static void an_empty_account_rests_longer_each_time_it_is_probed(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_ms now = 0, rest = HEALTH_QUOTA_MS;
    for (int i = 0; i < 6; i++) {
        fails(w, &p, &t, failure(DARUMA_QUOTA, 402), now);
        assert_int_equal(daruma_health_look(w, &t, now).in, rest);
        now += rest;
        rest = rest * 2 < HEALTH_QUOTA_MS_MAX ? rest * 2 : HEALTH_QUOTA_MS_MAX;
    }
}

static void a_rested_key_is_probed_by_one_call_alone(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    fails(w, &p, &t, failure(DARUMA_AUTH, 401), 0);
    daruma_ms now = HEALTH_CREDENTIALS_MS;
    daruma_case c, d;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(now));
    daruma_case_open(&d, w, &p, &t, 1, -1, -1, at(now));
    out(&c, now);
    assert_false(daruma_health_look(w, &t, now).well);
    assert_int_equal(daruma_case_admit(&d, at(now)).wait, HEALTH_PROBE_MS);
    daruma_case_done(&c, at(now + 50));
    assert_true(daruma_health_look(w, &t, now + 50).well);
}

static void fresh_credentials_make_a_key_well(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    fails(w, &p, &t, failure(DARUMA_AUTH, 401), 0);
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

static void locks_shut_no_breaker(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    for (int status = 409; status <= 503; status += 503 - 409) {
        daruma_health *w = a_health();
        for (int i = 0; i < BREAKER_CALLS_MIN; i++)
            fails(w, &p, &t, failure(DARUMA_SERVER_ERROR, status), 0);
        assert_int_equal(daruma_health_look(w, &t, 0).well, status == 409);
    }
}

static void a_provider_that_fails_mostly_is_left_alone_and_probed(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    for (int i = 0; i < 10; i++)
        fails(w, &p, t, failure(DARUMA_SERVER_ERROR, 500), 0);
    daruma_condition h = daruma_health_look(w, t, 0);
    assert_false(h.well);
    assert_int_equal(h.who, DARUMA_SICK_PROVIDER);
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 2, 0, -1, at(0));
    assert_int_equal(out(&c, 0), 1);
    daruma_case_done(&c, at(1));
    daruma_case_open(&c, w, &p, t, 2, 0, -1, at(BREAKER_SHUT_MS));
    assert_int_equal(out(&c, BREAKER_SHUT_MS), 0);
    daruma_case_drop(&c, at(BREAKER_SHUT_MS));
    assert_true(daruma_health_look(w, t, BREAKER_SHUT_MS).well);
}

static void a_changed_configuration_forgets_refusals_but_no_limits(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k"), target("r", "m", "a", "k")};
    fails(w, &p, &t[0], failure(DARUMA_AUTH, 401), 0);
    fails(w, &p, &t[1], failure(DARUMA_QUOTA, 402), 0);
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
        cmocka_unit_test(a_delay_doubles_up_to_its_cap),
        cmocka_unit_test(full_jitter_reaches_both_ends_and_never_leaves_them),
        cmocka_unit_test(a_huge_delay_saturates),
        cmocka_unit_test(a_quiet_provider_has_its_floor),
        cmocka_unit_test(calls_earn_retries_and_a_minute_forgets_both),
        cmocka_unit_test(a_clock_that_goes_back_gives_nothing),
        cmocka_unit_test(a_budget_stays_within_its_bounds_whatever_the_clock_does),
        cmocka_unit_test(a_breaker_opens_at_half_of_ten),
        cmocka_unit_test(below_half_it_stays_closed_and_old_calls_are_forgotten),
        cmocka_unit_test(half_open_lets_exactly_one_probe_through),
        cmocka_unit_test(a_bad_probe_shuts_for_longer_up_to_a_cap),
        cmocka_unit_test(an_answer_of_an_older_epoch_changes_nothing),
        cmocka_unit_test(only_its_probe_can_close_a_breaker),
        cmocka_unit_test(a_dropped_probe_frees_the_next),
        cmocka_unit_test(a_breaker_survives_a_clock_that_goes_back),
        cmocka_unit_test(ids_tell_parts_apart),
        cmocka_unit_test(each_kind_makes_its_own_place_sick),
        cmocka_unit_test(cooldowns_combine_by_the_later_end),
        cmocka_unit_test(an_empty_account_rests_longer_each_time_it_is_probed),
        cmocka_unit_test(a_rested_key_is_probed_by_one_call_alone),
        cmocka_unit_test(fresh_credentials_make_a_key_well),
        cmocka_unit_test(the_place_touched_longest_ago_makes_room),
        cmocka_unit_test(memory_that_is_not_zero_makes_no_difference_and_stays_untouched),
        cmocka_unit_test(locks_shut_no_breaker),
        cmocka_unit_test(a_provider_that_fails_mostly_is_left_alone_and_probed),
        cmocka_unit_test(a_changed_configuration_forgets_refusals_but_no_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
