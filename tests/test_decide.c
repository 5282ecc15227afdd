#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"

/* ---- help ---------------------------------------------------------------------- */

static char memory[1 << 20];

static daruma_ward *a_ward(void)
{
    static char room[1 << 20];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_ward *w = daruma_ward_new(&a, 64);
    assert_non_null(w);
    return w;
}

static daruma_target target(const char *provider, const char *model, const char *account, const char *key)
{
    daruma_target t = {.provider = str_of(provider),
                       .model = str_of(model),
                       .account = str_of(account),
                       .key = str_of(key),
                       .window = -1,
                       .max_output = -1};
    daruma_target_seal(&t);
    return t;
}

static daruma_policy calm(void) /* the standard policy without chance */
{
    daruma_policy p = *daruma_policy_find(S("default"));
    for (int k = 0; k < DARUMA_KINDS; k++)
        p.kinds[k].backoff.jitter_milli = 0;
    return p;
}

static daruma_failure failure(daruma_kind k, int status)
{
    return (daruma_failure){.kind = k,
                            .severity = daruma_kind_severity(k),
                            .retryable = daruma_kind_passes(k),
                            .status = status,
                            .wait = -1,
                            .limit = -1,
                            .used = -1,
                            .requested = -1};
}

static daruma_failure advised(daruma_kind k, int status, daruma_ms wait)
{
    daruma_failure f = failure(k, status);
    f.wait = wait;
    return f;
}

/* Goes out at `now`, which must work at once, and tells where. */
static int out(daruma_case *c, daruma_ms now)
{
    daruma_admission a = daruma_case_admit(c, at(now));
    assert_int_equal(a.act, DARUMA_SEND);
    assert_int_equal(a.wait, 0);
    assert_true(c->out);
    return a.target;
}

#define assert_remedy(r, what, ms, to)                                                                                 \
    do {                                                                                                               \
        daruma_remedy got = (r);                                                                                       \
        assert_string_equal(daruma_remedy_name(got.remedy), daruma_remedy_name(DARUMA_REMEDY_##what));                 \
        assert_int_equal(got.wait, ms);                                                                                \
        assert_int_equal(got.target, to);                                                                              \
    } while (0)

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

/* ---- ward ---------------------------------------------------------------------- */

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

/* One attempt of a fresh case at `t` that fails so. */
static void fails(daruma_ward *w, const daruma_policy *p, const daruma_target *t, daruma_failure f, daruma_ms now)
{
    daruma_case c;
    daruma_case_open(&c, w, p, t, 1, -1, -1, at(now));
    out(&c, now);
    daruma_case_next(&c, &f, 0, at(now));
    daruma_case_close(&c, DARUMA_OUTCOME_EXPLAINED, at(now));
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
        {DARUMA_QUOTA, 402, -1, WARD_QUOTA_MS, DARUMA_SICK_ACCOUNT, false, false, true, true},
        {DARUMA_AUTH, 401, -1, WARD_CREDENTIALS_MS, DARUMA_SICK_KEY, true, false, true, true},
        {DARUMA_PERMISSION, 403, -1, WARD_CREDENTIALS_MS, DARUMA_SICK_TARGET, false, true, true, true},
        {DARUMA_MODEL_NOT_FOUND, 404, -1, WARD_CREDENTIALS_MS, DARUMA_SICK_MODEL, false, true, false, true},
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
        daruma_ward *w = a_ward();
        fails(w, &p, &t, advised(rows[i].kind, rows[i].status, rows[i].wait), 1000);
        daruma_health h = daruma_ward_look(w, &t, 1000);
        assert_int_equal(h.well, rows[i].in == 0);
        assert_int_equal(h.in, rows[i].in);
        assert_int_equal(h.who, rows[i].who);
        if (!h.well)
            assert_int_equal(h.why, rows[i].kind);
        assert_int_equal(daruma_ward_look(w, &key, 1000).well, rows[i].other_key);
        assert_int_equal(daruma_ward_look(w, &model, 1000).well, rows[i].other_model);
        assert_int_equal(daruma_ward_look(w, &account, 1000).well, rows[i].other_account);
        assert_int_equal(daruma_ward_look(w, &provider, 1000).well, rows[i].other_provider);
    }
}

static void cooldowns_combine_by_the_later_end(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case a, b;
    daruma_case_open(&a, w, &p, &t, 1, -1, -1, at(0));
    daruma_case_open(&b, w, &p, &t, 1, -1, -1, at(0));
    out(&a, 0);
    out(&b, 0);
    daruma_failure longer = advised(DARUMA_RATE_LIMIT, 429, 30000), shorter = advised(DARUMA_RATE_LIMIT, 429, 1000);
    daruma_case_next(&a, &longer, 0, at(10));
    daruma_case_next(&b, &shorter, 0, at(20));
    assert_int_equal(daruma_ward_look(w, &t, 20).in, 29990);
}

static void an_empty_account_rests_longer_each_time_it_is_probed(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k");
    daruma_ms now = 0, rest = WARD_QUOTA_MS;
    for (int i = 0; i < 6; i++) {
        fails(w, &p, &t, failure(DARUMA_QUOTA, 402), now);
        assert_int_equal(daruma_ward_look(w, &t, now).in, rest);
        now += rest;
        rest = rest * 2 < WARD_QUOTA_MS_MAX ? rest * 2 : WARD_QUOTA_MS_MAX;
    }
}

static void a_rested_key_is_probed_by_one_call_alone(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k");
    fails(w, &p, &t, failure(DARUMA_AUTH, 401), 0);
    daruma_ms now = WARD_CREDENTIALS_MS;
    daruma_case c, d;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(now));
    daruma_case_open(&d, w, &p, &t, 1, -1, -1, at(now));
    out(&c, now);
    assert_false(daruma_ward_look(w, &t, now).well);
    assert_int_equal(daruma_case_admit(&d, at(now)).wait, WARD_PROBE_MS);
    daruma_case_done(&c, at(now + 50));
    assert_true(daruma_ward_look(w, &t, now + 50).well);
}

static void fresh_credentials_make_a_key_well(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k");
    fails(w, &p, &t, failure(DARUMA_AUTH, 401), 0);
    daruma_ward_refreshed(w, &t);
    assert_true(daruma_ward_look(w, &t, 0).well);
}

static void the_place_touched_longest_ago_makes_room(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, daruma_ward_bytes(8));
    daruma_ward *w = daruma_ward_new(&a, 8);
    assert_non_null(w);
    daruma_policy p = calm();
    daruma_target sick = target("p", "m", "a", "k");
    fails(w, &p, &sick, advised(DARUMA_RATE_LIMIT, 429, 60000), 0);
    assert_false(daruma_ward_look(w, &sick, 1).well);
    char name[16];
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "p%d", i);
        daruma_target t = target(name, "m", "a", "k");
        fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 60000), 1);
        assert_false(daruma_ward_look(w, &t, 1).well);
    }
    assert_true(daruma_ward_look(w, &sick, 1).well);
    daruma_place list[16];
    assert_int_equal(daruma_ward_list(w, 1, list, 16), 8);
    assert_int_equal(daruma_ward_list(w, 1, list, 2), 8);
    daruma_arena small = arena_over(memory, 100);
    assert_null(daruma_ward_new(&small, 8));
}

static void a_provider_that_fails_mostly_is_left_alone_and_probed(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    for (int i = 0; i < 10; i++)
        fails(w, &p, t, failure(DARUMA_SERVER_ERROR, 500), 0);
    daruma_health h = daruma_ward_look(w, t, 0);
    assert_false(h.well);
    assert_int_equal(h.who, DARUMA_SICK_PROVIDER);
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 2, 0, -1, at(0));
    assert_int_equal(out(&c, 0), 1);
    daruma_case_done(&c, at(1));
    daruma_case_open(&c, w, &p, t, 2, 0, -1, at(BREAKER_SHUT_MS));
    assert_int_equal(out(&c, BREAKER_SHUT_MS), 0);
    daruma_case_drop(&c, at(BREAKER_SHUT_MS));
    assert_true(daruma_ward_look(w, t, BREAKER_SHUT_MS).well);
}

/* ---- case ---------------------------------------------------------------------- */

static void advice_is_waited_for_and_then_it_recovers(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, 60000, at(0));
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, 5000);
    assert_int_equal(out(&c, 0), 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(100)), WAIT_RETRY, 5000, 0);
    assert_int_equal(daruma_case_admit(&c, at(1100)).wait, 4000);
    assert_int_equal(out(&c, 5100), 0);
    daruma_case_done(&c, at(5200));
    assert_int_equal(c.outcome, DARUMA_OUTCOME_RECOVERED);
    assert_int_equal(c.attempts, 2);
    assert_int_equal(c.waited, 5000);
}

static void another_key_comes_before_waiting_but_not_of_the_same_account(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "a", "k2"), target("p", "m", "b", "k3")};
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 3, -1, -1, at(0));
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, 5000), g = advised(DARUMA_RATE_LIMIT, 429, 9000);
    assert_int_equal(out(&c, 0), 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_KEY, 0, 2);
    assert_int_equal(out(&c, 0), 2);
    assert_remedy(daruma_case_next(&c, &g, 0, at(0)), WAIT_RETRY, 5000, 0); /* back to the one that rests shorter */
}

static void a_refused_key_costs_one_call_and_is_not_asked_again(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m2", "a", "k1"), target("p", "m", "b", "k2")};
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 3, -1, -1, at(0));
    daruma_failure f = failure(DARUMA_AUTH, 401);
    assert_int_equal(out(&c, 0), 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_KEY, 0, 2);
    assert_int_equal(out(&c, 0), 2);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 2);
    assert_int_equal(c.attempts, 2);
    assert_int_equal(daruma_case_again_in(&c, &f, 0), -1);
}

static void credentials_are_fetched_anew_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
    c.can_refresh = true;
    daruma_failure f = failure(DARUMA_AUTH, 401);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), REFRESH_CREDENTIALS, 0, 0);
    daruma_ward_refreshed(w, &t);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);
}

static void an_unfit_remedy_is_given_back_and_the_next_one_is_tried(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "a", "k1")};
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 2, -1, -1, at(0));
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    out(&c, 0);
    daruma_budget *purse = daruma_ward_budget(w, t, 0);
    int64_t left = daruma_budget_left(purse, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), WAIT_RETRY, 500, 0);
    assert_int_equal(daruma_budget_left(purse, 0), left - 1);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_MODEL, 0, 1);
    assert_int_equal(daruma_budget_left(purse, 0), left);
    assert_int_equal(c.waited, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);
    assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act, DARUMA_STOP);
    assert_int_equal(c.attempts, 1);
}

static void before_giving_up_a_target_that_is_well_soon_is_waited_for(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "n", "a", "k1")};
    daruma_failure limited = failure(DARUMA_RATE_LIMIT, 429), broken = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case other, c;
    limited.wait = 3000;
    daruma_case_open(&other, w, &p, t + 1, 1, -1, -1, at(0));
    out(&other, 0);
    daruma_case_next(&other, &limited, 0, at(0)); /* n rests for three seconds */
    p.max_attempts = 1;
    p.kinds[DARUMA_SERVER_ERROR].max_attempts = 1;
    daruma_case_open(&c, w, &p, t, 2, -1, -1, at(0));
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &broken, 0, at(0)), SWITCH_MODEL, 3000, 1);
    assert_remedy(daruma_case_next(&c, &broken, 0, at(0)), EXPLAIN, 0, 0);
}

static void a_wait_that_does_not_fit_becomes_another_target_or_an_end(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "a", "k1")};
    static const struct {
        daruma_ms deadline, advice;
        size_t n;
        daruma_remedy_kind want;
    } rows[] = {
        {10000, 20000, 2, DARUMA_REMEDY_SWITCH_MODEL}, {10000, 20000, 1, DARUMA_REMEDY_EXPLAIN},
        {-1, 61000, 2, DARUMA_REMEDY_SWITCH_MODEL},    {-1, 61000, 1, DARUMA_REMEDY_EXPLAIN},
        {-1, 60000, 1, DARUMA_REMEDY_WAIT_RETRY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_ward *w = a_ward();
        daruma_case c;
        daruma_case_open(&c, w, &p, t, rows[i].n, -1, rows[i].deadline, at(0));
        daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, rows[i].advice);
        out(&c, 0);
        assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).remedy, rows[i].want);
        if (rows[i].want == DARUMA_REMEDY_EXPLAIN)
            assert_int_equal(daruma_case_again_in(&c, &f, 0), rows[i].advice);
    }
}

static void a_request_that_comes_again_goes_on_where_it_ended(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("openai", "gpt", "a", "k1");
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case first, again;
    daruma_ms now = 0;
    daruma_case_open(&first, w, &p, &t, 1, -1, -1, at(now));
    for (daruma_remedy r = {0}; r.act == DARUMA_SEND; now += r.wait) {
        out(&first, now);
        r = daruma_case_next(&first, &f, 0, at(now));
    }
    assert_true(first.attempts > 1);
    daruma_case_close(&first, DARUMA_OUTCOME_FAILED, at(now));

    now += 1000;
    daruma_case_open(&again, w, &p, &t, 1, -1, -1, at(now));
    daruma_case_resume(&again, &first);
    assert_int_equal(again.id, first.id);
    out(&again, now);
    assert_int_not_equal(daruma_case_next(&again, &f, 0, at(now)).act, DARUMA_SEND);
    assert_int_equal(again.attempts, first.attempts + 1);
}

static void nothing_goes_out_after_the_deadline(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c;
    daruma_case_open(&c, a_ward(), &p, &t, 1, -1, 10000, at(0));
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(9000)), WAIT_RETRY, 500, 0);
    daruma_admission a = daruma_case_admit(&c, at(10000)); /* the host overslept */
    assert_int_equal(a.act, DARUMA_STOP);
    assert_int_equal(a.why, DARUMA_SERVER_ERROR);
}

static void what_was_waited_stays_counted_when_the_clock_goes_back(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c;
    daruma_case_open(&c, a_ward(), &p, &t, 1, -1, -1, at(0));
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    out(&c, 0);
    daruma_case_next(&c, &f, 0, at(0));
    out(&c, 500);
    assert_remedy(daruma_case_next(&c, &f, 0, at(-700)), WAIT_RETRY, 1000, 0);
    assert_int_equal(c.waited, 1500);
}

static void a_ladder_without_an_end_stops_and_gives_back_once(void **state)
{
    (void)state;
    static const daruma_rung rungs[] = {{DARUMA_SERVER_ERROR, DARUMA_REMEDY_RETRY, 1, DARUMA_NEED_PURSE, DARUMA_NOW}};
    daruma_policy p = calm();
    p.rungs = rungs;
    p.nrungs = 1;
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    out(&c, 0);
    daruma_budget *b = daruma_ward_budget(w, &t, 0);
    b->retries = 5;
    assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act, DARUMA_SEND);
    for (int i = 0; i < 3; i++)
        assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act, DARUMA_STOP);
    assert_int_equal(b->retries, 5);
}

static void what_does_not_pass_is_not_worth_coming_back_for(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k1");
    fails(w, &p, &t, failure(DARUMA_QUOTA, 402), 0);
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
    assert_int_equal(daruma_case_admit(&c, at(0)).act, DARUMA_STOP);
    assert_int_equal(daruma_case_again_in(&c, NULL, 0), -1);
}

static void another_key_is_no_hope_while_the_provider_is_sick(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "b", "k2"), target("q", "m", "a", "k3")};
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 2, -1, -1, at(0));
    out(&c, 0);
    daruma_case_next(&c, &f, 0, at(0));
    assert_true(daruma_case_again_in(&c, &f, 0) > 0);
    daruma_case other;
    daruma_case_open(&other, a_ward(), &p, t, 3, -1, -1, at(0));
    out(&other, 0);
    daruma_case_next(&other, &f, 0, at(0));
    assert_int_equal(daruma_case_again_in(&other, &f, 0), 0); /* another provider may do at once */
}

static void nothing_is_sent_again_once_a_byte_went_out(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "b", "k2")};
    for (int k = 0; k < DARUMA_KINDS; k++) {
        daruma_ward *w = a_ward();
        daruma_case c;
        daruma_case_open(&c, w, &p, t, 2, -1, -1, at(0));
        c.can_refresh = true;
        out(&c, 0);
        daruma_failure f = failure((daruma_kind)k, 0);
        daruma_remedy r = daruma_case_next(&c, &f, 1, at(0));
        assert_int_not_equal(r.act, DARUMA_SEND);
        bool keeps = k == DARUMA_INTERRUPTED || k == DARUMA_RATE_LIMIT || k == DARUMA_OVERLOADED ||
                     k == DARUMA_SERVER_ERROR || k == DARUMA_TIMEOUT || k == DARUMA_NETWORK;
        assert_int_equal(r.act == DARUMA_KEEP, keeps);
    }
}

/* ---- mending ---------------------------------------------------------------------- */

/* A case whose host can mend, its first attempt out at `t[0]`. */
static daruma_case mending(const daruma_policy *p, const daruma_target *t, size_t n)
{
    daruma_case c;
    daruma_case_open(&c, a_ward(), p, t, n, -1, -1, at(0));
    c.can_mend = true;
    out(&c, 0);
    return c;
}

static void a_long_conversation_is_shortened_at_most_so_often_and_then_moved(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "wide", "a", "k")};
    t[0].window = 1000;
    t[1].window = 2000;
    daruma_case c = mending(&p, t, 2);
    daruma_failure f = failure(DARUMA_CONTEXT_LENGTH, 400);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), CLAMP_OUTPUT, 0, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), MASK_TOOL_OUTPUT, 0, 0); /* the cap was not it */
    assert_int_equal(c.shrinks, 1);
    assert_int_equal(out(&c, 0), 0); /* the same target again, its window spoils it no more */
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), CLAMP_OUTPUT, 0, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), MASK_TOOL_OUTPUT, 0, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SUMMARISE, 0, 0); /* there was nothing to mask */
    assert_int_equal(c.shrinks, 2);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), CLAMP_OUTPUT, 0, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_MODEL, 0, 1); /* shortened twice: no more of it */
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), CLAMP_OUTPUT, 0, 1);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 1);
    assert_int_equal(c.attempts, 4);
    assert_true(c.remedies & 1u << DARUMA_REMEDY_MASK_TOOL_OUTPUT);
    assert_false(c.remedies & 1u << DARUMA_REMEDY_CLAMP_OUTPUT); /* never went out */
}

static void what_may_not_be_mended_moves_or_ends(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure f = failure(DARUMA_CONTEXT_LENGTH, 400);
    p.mend.side_calls = false;
    daruma_case c = mending(&p, &t, 1);
    for (int i = 0; i < 2; i++) /* the cap, a mask; no model is asked */
        assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act, DARUMA_SEND);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);
    p.mend.side_calls = true;
    p.mend.max_compress_retries = 0;
    c = mending(&p, &t, 1);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), CLAMP_OUTPUT, 0, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);
    p.mend.enabled = false;
    c = mending(&p, &t, 1);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);
}

static void a_refused_parameter_is_mended_up_to_four_times_then_the_model_explains(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c = mending(&p, &t, 1);
    daruma_failure f = failure(DARUMA_INVALID_PARAMETER, 400);
    for (int i = 0; i < 4; i++) {
        assert_remedy(daruma_case_next(&c, &f, 0, at(0)), MEND_PARAMETER, 0, 0);
        out(&c, 0);
    }
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), APOLOGISE, 0, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);

    daruma_case d = mending(&p, &t, 1);
    daruma_failure odd = failure(DARUMA_UNKNOWN, 418), silent = failure(DARUMA_UNKNOWN, 0);
    silent.retryable = false;
    assert_remedy(daruma_case_next(&d, &odd, 0, at(0)), APOLOGISE, 0, 0);
    d = mending(&p, &t, 1);
    assert_int_not_equal(daruma_case_next(&d, &silent, 0, at(0)).remedy, DARUMA_REMEDY_APOLOGISE);
    p.enabled = false;
    d = mending(&p, &t, 1);
    assert_remedy(daruma_case_next(&d, &odd, 0, at(0)), EXPLAIN, 0, 0); /* off is off */
}

static void a_broken_stream_goes_on_here_then_elsewhere_then_what_came_is_kept(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_case c = mending(&p, t, 2);
    daruma_failure f = failure(DARUMA_INTERRUPTED, 0);
    assert_remedy(daruma_case_next(&c, &f, 100, at(0)), RESUME, 0, 0);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 200, at(0)), RESUME, 0, 1); /* two tries here are all */
    assert_int_equal(out(&c, 0), 1);
    assert_remedy(daruma_case_next(&c, &f, 300, at(0)), KEEP_PARTIAL, 0, 1);

    c = mending(&p, t, 2);
    daruma_failure busy = failure(DARUMA_OVERLOADED, 529);
    busy.wait = 5000;
    assert_remedy(daruma_case_next(&c, &busy, 100, at(0)), RESUME, 0, 1); /* it rests, the other is well */
    c = mending(&p, t, 1);
    assert_remedy(daruma_case_next(&c, &busy, 100, at(0)), RESUME, 5000, 0); /* alone, it is waited for */
    c = mending(&p, t, 2);
    c.safe_twice = false;
    assert_remedy(daruma_case_next(&c, &f, 100, at(0)), KEEP_PARTIAL, 0, 0);
}

static void what_must_not_happen_twice_is_repeated_only_after_a_refusal(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "b", "k2")};
    static const struct {
        daruma_kind kind;
        bool again;
    } rows[] = {{DARUMA_RATE_LIMIT, true},       {DARUMA_QUOTA, true},    {DARUMA_OVERLOADED, false},
                {DARUMA_SERVER_ERROR, false},    {DARUMA_TIMEOUT, false}, {DARUMA_NETWORK, false},
                {DARUMA_MALFORMED_OUTPUT, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_case c;
        daruma_case_open(&c, a_ward(), &p, t, 2, -1, -1, at(0));
        c.safe_twice = false;
        out(&c, 0);
        daruma_failure f = failure(rows[i].kind, 0);
        assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act == DARUMA_SEND, rows[i].again);
    }
}

static void a_policy_that_is_off_makes_the_first_failure_final(void **state)
{
    (void)state;
    daruma_policy p = calm();
    p.enabled = false;
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k1");
    for (int i = 0; i < 30; i++) { /* and no breaker or cooldown keeps a call back */
        daruma_case c;
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(i));
        out(&c, i);
        daruma_failure f = failure(i % 2 ? DARUMA_SERVER_ERROR : DARUMA_RATE_LIMIT, 500);
        assert_int_equal(daruma_case_next(&c, &f, 0, at(i)).act, DARUMA_STOP);
    }
}

static void the_last_lane_is_never_closed_without_a_try(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k1");
    for (int i = 0; i < 10; i++)
        fails(w, &p, &t, failure(DARUMA_SERVER_ERROR, 500), 0);
    assert_false(daruma_ward_look(w, &t, 0).well);
    daruma_case c, d;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
    daruma_case_open(&d, w, &p, &t, 1, -1, -1, at(0));
    assert_int_equal(out(&c, 0), 0);
    daruma_admission a = daruma_case_admit(&d, at(0)); /* one at a time */
    assert_int_equal(a.act, DARUMA_SEND);
    assert_int_equal(a.wait, BREAKER_PROBE_LOOK_MS);
    daruma_case_done(&c, at(100));
    assert_int_equal(out(&d, a.wait), 0);
}

static void a_rate_limited_lane_is_waited_for_or_refused_with_its_reason(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k1");
    fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 5000), 0);
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, 4000, at(0));
    daruma_admission a = daruma_case_admit(&c, at(0));
    assert_int_equal(a.act, DARUMA_STOP);
    assert_int_equal(a.why, DARUMA_RATE_LIMIT);
    assert_int_equal(daruma_case_again_in(&c, NULL, 0), 5000);
    daruma_case_open(&c, w, &p, &t, 1, -1, 40000, at(0));
    a = daruma_case_admit(&c, at(0));
    assert_int_equal(a.act, DARUMA_SEND);
    assert_int_equal(a.wait, 5000);
    out(&c, 5000);
}

static void only_a_wider_model_helps_a_conversation_that_is_too_long(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "same", "a", "k"), target("p", "unknown", "a", "k"),
                         target("p", "wide", "a", "k")};
    t[0].window = t[1].window = 1000;
    t[3].window = 2000;
    daruma_case c;
    daruma_case_open(&c, a_ward(), &p, t, 4, -1, -1, at(0));
    out(&c, 0);
    daruma_failure f = failure(DARUMA_CONTEXT_LENGTH, 400);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_MODEL, 0, 3);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 3);
}

static void a_client_that_leaves_is_nobodys_failure(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_ward *w = a_ward();
    daruma_target t = target("p", "m", "a", "k");
    for (int i = 0; i < 30; i++) {
        daruma_case c;
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
        out(&c, 0);
        daruma_case_close(&c, DARUMA_OUTCOME_CANCELLED_, at(0));
        assert_false(c.out);
    }
    daruma_place list[8];
    size_t n = daruma_ward_list(w, 0, list, 8);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(list[i].calls, 0);
}

/* ---- policy -------------------------------------------------------------------- */

static bool sends(daruma_remedy_kind r)
{
    static const daruma_act acts[] = {
#define X(sym, name, act, words) DARUMA_##act,
        DARUMA_REMEDY_MAP(X)
#undef X
    };
    return acts[r] == DARUMA_SEND;
}

static void the_ladders_are_whole(void **state)
{
    (void)state;
    const daruma_policy *p = daruma_policy_find(S("default"));
    assert_non_null(p);
    assert_null(daruma_policy_find(S("none")));
    assert_true(p->nrungs <= DARUMA_CASE_RUNGS);
    int ends[DARUMA_KINDS] = {0};
    bool left[DARUMA_KINDS] = {0};
    for (size_t i = 0; i < p->nrungs; i++) {
        const daruma_rung *r = &p->rungs[i];
        assert_false(left[r->kind]); /* rungs of a kind stand together */
        bool last = i + 1 == p->nrungs || p->rungs[i + 1].kind != r->kind;
        left[r->kind] = last;
        assert_int_equal(r->needs == 0, last); /* only the last needs nothing */
        ends[r->kind] += last;
        assert_true(r->times > 0);
        if (last)
            assert_false(sends(r->remedy));
        if (r->after != DARUMA_NOW)
            assert_true(r->needs & DARUMA_NEED_TIME);
        if (sends(r->remedy))
            assert_true(r->needs & DARUMA_NEED_TIME);
        if (sends(r->remedy) && r->remedy != DARUMA_REMEDY_ASK_AGAIN)
            assert_true(r->needs & (r->remedy == DARUMA_REMEDY_RESUME ? DARUMA_NEED_PARTIAL : DARUMA_NEED_CLEAN));
        if (r->remedy == DARUMA_REMEDY_WAIT_RETRY || r->remedy == DARUMA_REMEDY_RETRY ||
            r->remedy == DARUMA_REMEDY_RETRY_FRESH)
            assert_true((r->needs & DARUMA_NEED_PURSE) && (r->needs & DARUMA_NEED_TRIES));
    }
    for (int k = 0; k < DARUMA_KINDS; k++)
        assert_int_equal(ends[k], 1);
}

static void the_printed_policy_is_the_page_in_doc(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_buf b = buf_in(&a);
    daruma_policy_print(daruma_policy_find(S("default")), &b);
    FILE *f = fopen("doc/policy.md", "rb");
    assert_non_null(f);
    char *page = arena_take(&a, 65536, 1);
    size_t n = fread(page, 1, 65536, f);
    fclose(f);
    if (!str_eq(buf_str(&b), (daruma_str){page, n}))
        fail_msg("doc/policy.md is not what `daruma policy` prints:\n" STR_FMT, STR_ARG(buf_str(&b)));
}

/* ---- any faults, any targets, any clock ------------------------------------------ */

static uint64_t roll(uint64_t *s) /* splitmix64 */
{
    uint64_t z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static daruma_failure any_failure(uint64_t *s)
{
    daruma_failure f = failure((daruma_kind)(roll(s) % DARUMA_KINDS), 0);
    static const int statuses[] = {0, 400, 401, 404, 429, 500, 503, 529};
    f.status = statuses[roll(s) % 8];
    if (roll(s) % 3 == 0)
        f.wait = (daruma_ms)(roll(s) % 100000);
    if (roll(s) % 50 == 0)
        f.wait = INT64_MAX;
    if (roll(s) % 8 == 0)
        f.retryable = !f.retryable;
    if (roll(s) % 8 == 0)
        f.limit = (int64_t)(roll(s) % 5000);
    return f;
}

static daruma_ms skew(uint64_t *s, daruma_ms now)
{
    switch (roll(s) % 40) {
    case 0:
        return now - (daruma_ms)(roll(s) % 1000000);
    case 1:
        return now + (daruma_ms)(roll(s) % 10000000);
    default:
        return now + (daruma_ms)(roll(s) % 2000);
    }
}

/* One case with random faults; the invariants of the design are checked as it runs. */
static void any_case(daruma_ward *w, const daruma_policy *p, const daruma_target *all, uint64_t *s, daruma_ms *now)
{
    size_t n = 1 + roll(s) % 6;
    const daruma_target *t = all + roll(s) % 10;
    daruma_ms deadline = roll(s) % 4 ? *now + (daruma_ms)(roll(s) % 120000) : -1;
    daruma_case c;
    daruma_case_open(&c, w, p, t, n, (int)(roll(s) % (n + 1)) - 1, deadline,
                     (daruma_moment){.now = *now, .dice = roll(s)});
    c.safe_twice = roll(s) % 4 != 0;
    c.can_refresh = roll(s) % 4 == 0;
    bool sick_key[16] = {0};
    bool goes_on = false;
    size_t steps = 0, forwarded = 0, waits = 0;
    c.can_mend = roll(s) % 2;
    while (c.outcome == DARUMA_OUTCOME_PENDING) {
        assert_true(++steps < 5000);
        daruma_moment m = {.now = *now, .dice = roll(s)};
        daruma_admission a = daruma_case_admit(&c, m);
        if (a.act == DARUMA_STOP) {
            daruma_case_close(&c, DARUMA_OUTCOME_EXPLAINED, m);
            break;
        }
        assert_int_equal(a.act, DARUMA_SEND);
        if (a.wait > 0) {
            assert_true(a.wait <= p->max_wait);
            assert_false(c.out);
            *now += a.wait;
            if (++waits > 2000) /* an hour of this clock going back and forth */
                daruma_case_close(&c, DARUMA_OUTCOME_FAILED, m);
            continue;
        }
        assert_true(c.out && a.target >= 0 && (size_t)a.target < n && a.target == c.target);
        assert_true(deadline < 0 || *now < deadline); /* never past its deadline */
        assert_true(!forwarded || goes_on);           /* an answer is never restarted */
        assert_false(sick_key[a.target]);             /* a refuser is not asked again */
        *now = skew(s, *now);
        m = (daruma_moment){.now = *now, .dice = roll(s)};
        uint64_t end = roll(s) % 10;
        if (end == 0) {
            daruma_case_done(&c, m);
            break;
        }
        if (end == 1) {
            daruma_case_drop(&c, m);
            daruma_case_close(&c, DARUMA_OUTCOME_CANCELLED_, m);
            break;
        }
        daruma_failure f = any_failure(s);
        forwarded = forwarded || roll(s) % 8 == 0;
        daruma_remedy r = daruma_case_next(&c, &f, forwarded, m);
        for (int unfit = 0; r.act == DARUMA_SEND && roll(s) % 6 == 0; unfit++) {
            uint32_t before = c.round * DARUMA_CASE_RUNGS + r.rung;
            r = daruma_case_next(&c, &f, forwarded, m);
            assert_true(c.round * DARUMA_CASE_RUNGS + (uint32_t)r.rung > before); /* it climbs */
            assert_true(unfit < DARUMA_CASE_RUNGS);
        }
        assert_false(c.out);
        if (r.act != DARUMA_SEND) {
            daruma_case_close(&c, r.act == DARUMA_KEEP ? DARUMA_OUTCOME_DEGRADED : DARUMA_OUTCOME_EXPLAINED, m);
            break;
        }
        goes_on = r.remedy == DARUMA_REMEDY_RESUME || r.remedy == DARUMA_REMEDY_ASK_AGAIN;
        assert_true(r.wait >= 0 && r.wait <= p->max_wait);
        assert_true(r.target >= 0 && (size_t)r.target < n);
        bool refresh = r.remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS;
        if (refresh)
            daruma_ward_refreshed(w, &t[c.target]);
        for (size_t i = 0; f.kind == DARUMA_AUTH && i < n; i++)
            if (t[i].key_id == t[c.target].key_id && !((int)i == c.target && refresh))
                sick_key[i] = true;
    }
    daruma_outcome o = c.outcome;
    assert_int_not_equal(o, DARUMA_OUTCOME_PENDING);
    daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at(*now)); /* exactly one outcome */
    assert_int_equal(c.outcome, o);
    assert_false(c.out);
    uint32_t climbed = 0, mended = 0;
    for (size_t i = 0; i < p->nrungs; i++) {
        assert_true(c.used[i] <= p->rungs[i].times);
        climbed += c.used[i];
        mended += p->rungs[i].needs & DARUMA_NEED_MEND ? c.used[i] : 0;
    }
    assert_true(c.attempts <= 1 + climbed); /* never more attempts than its ladder allows */
    for (size_t i = 0; i < n; i++)
        assert_true(c.calls[i] <= p->max_attempts + 1 + mended); /* fetched credentials may cost one more */
    assert_true(c.shrinks <= p->mend.max_compress_retries);
    assert_true(c.waited >= 0 && c.waited <= p->max_wait * ((int64_t)c.attempts + 1));
}

static void a_hundred_thousand_random_cases_keep_every_promise(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_ward *w = daruma_ward_new(&a, 24); /* small: places are forgotten in the middle of cases */
    daruma_target all[16];
    static const char *const names[] = {"a", "b", "c"};
    uint64_t s = 42;
    for (int i = 0; i < 16; i++) {
        all[i] = target(names[roll(&s) % 3], names[roll(&s) % 3], names[roll(&s) % 3], names[roll(&s) % 3]);
        all[i].window = (int64_t)(roll(&s) % 4) * 1000 - 1;
    }
    const daruma_policy *p = daruma_policy_find(S("default"));
    daruma_ms now = 0;
    for (int i = 0; i < 100000; i++) {
        if (roll(&s) % 1000 == 0)
            now = (daruma_ms)(roll(&s) % 3) * 1000000007 - 500000000;
        any_case(w, p, all, &s, &now);
        daruma_place list[24];
        size_t n = daruma_ward_list(w, now, list, 24);
        assert_true(n <= 24);
        for (size_t j = 0; j < n; j++)
            assert_true(list[j].cool_in >= 0 && list[j].cool_in <= WARD_COOL_MS_MAX && list[j].bad <= list[j].calls);
        for (int j = 0; j < 16; j += 5) {
            int64_t left = daruma_budget_left(daruma_ward_budget(w, &all[j], now), now);
            assert_true(left >= 0);
        }
    }
}

/* ---- many cases at once ----------------------------------------------------------- */

enum { AT_ONCE = 12 };

/* Of the calls that are out, no two are probes of one breaker. */
static void no_breaker_is_probed_twice(const daruma_case *c)
{
    for (int i = 0; i < AT_ONCE; i++)
        for (int j = 0; j < i; j++) {
            if (!c[i].out || !c[j].out)
                continue;
            const daruma_target *t = &c[i].targets[c[i].target], *u = &c[j].targets[c[j].target];
            assert_false(t->model_id == u->model_id && c[i].permits[0].probe && c[j].permits[0].probe);
            assert_false(t->provider_id == u->provider_id && c[i].permits[1].probe && c[j].permits[1].probe);
        }
}

static void cases_side_by_side_probe_one_at_a_time_and_stay_within_the_budget(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_ward *w = daruma_ward_new(&a, 256);
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "b", "k2"), target("q", "m", "c", "k3")};
    const daruma_policy *p = daruma_policy_find(S("default"));
    daruma_case c[AT_ONCE] = {0};
    uint64_t s = 7, calls = 0, repeated = 0, probes = 0;
    daruma_ms now = 0;
    for (int i = 0; i < AT_ONCE; i++)
        c[i].outcome = DARUMA_OUTCOME_OK;
    for (int step = 0; step < 300000; step++) {
        daruma_case *one = &c[roll(&s) % AT_ONCE];
        bool bad_time = step / 10000 % 2; /* the world is ill half of the time */
        now += (daruma_ms)(roll(&s) % 20);
        daruma_moment m = {.now = now, .dice = roll(&s)};
        if (one->outcome != DARUMA_OUTCOME_PENDING) {
            daruma_case_open(one, w, p, t, 3, -1, now + 60000, m);
        } else if (!one->out) {
            daruma_admission got = daruma_case_admit(one, m);
            if (got.act == DARUMA_STOP)
                daruma_case_close(one, DARUMA_OUTCOME_EXPLAINED, m);
            else if (got.wait == 0) {
                calls++;
                repeated += one->attempts > 1;
                probes += one->permits[0].probe || one->permits[1].probe;
            }
            no_breaker_is_probed_twice(c);
        } else if (roll(&s) % 16 == 0) {
            daruma_case_drop(one, m);
            daruma_case_close(one, DARUMA_OUTCOME_CANCELLED_, m);
        } else if (roll(&s) % 100 < (bad_time ? 10 : 80)) {
            daruma_case_done(one, m);
        } else {
            static const daruma_kind kinds[] = {DARUMA_OVERLOADED, DARUMA_SERVER_ERROR, DARUMA_NETWORK};
            daruma_failure f = failure(kinds[roll(&s) % 3], 0);
            if (daruma_case_next(one, &f, 0, m).act != DARUMA_SEND)
                daruma_case_close(one, DARUMA_OUTCOME_EXPLAINED, m);
        }
    }
    assert_true(probes > 100);
    assert_true(calls > 10000);
    /* 30 % of all calls and ten a minute for each of two providers */
    assert_true(repeated <= calls * 30 / 100 + (uint64_t)(now / 60000 + 2) * 20);
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
        cmocka_unit_test(a_provider_that_fails_mostly_is_left_alone_and_probed),
        cmocka_unit_test(advice_is_waited_for_and_then_it_recovers),
        cmocka_unit_test(another_key_comes_before_waiting_but_not_of_the_same_account),
        cmocka_unit_test(a_refused_key_costs_one_call_and_is_not_asked_again),
        cmocka_unit_test(credentials_are_fetched_anew_once),
        cmocka_unit_test(an_unfit_remedy_is_given_back_and_the_next_one_is_tried),
        cmocka_unit_test(before_giving_up_a_target_that_is_well_soon_is_waited_for),
        cmocka_unit_test(a_wait_that_does_not_fit_becomes_another_target_or_an_end),
        cmocka_unit_test(a_request_that_comes_again_goes_on_where_it_ended),
        cmocka_unit_test(nothing_goes_out_after_the_deadline),
        cmocka_unit_test(what_was_waited_stays_counted_when_the_clock_goes_back),
        cmocka_unit_test(a_ladder_without_an_end_stops_and_gives_back_once),
        cmocka_unit_test(what_does_not_pass_is_not_worth_coming_back_for),
        cmocka_unit_test(another_key_is_no_hope_while_the_provider_is_sick),
        cmocka_unit_test(nothing_is_sent_again_once_a_byte_went_out),
        cmocka_unit_test(a_long_conversation_is_shortened_at_most_so_often_and_then_moved),
        cmocka_unit_test(what_may_not_be_mended_moves_or_ends),
        cmocka_unit_test(a_refused_parameter_is_mended_up_to_four_times_then_the_model_explains),
        cmocka_unit_test(a_broken_stream_goes_on_here_then_elsewhere_then_what_came_is_kept),
        cmocka_unit_test(what_must_not_happen_twice_is_repeated_only_after_a_refusal),
        cmocka_unit_test(a_policy_that_is_off_makes_the_first_failure_final),
        cmocka_unit_test(the_last_lane_is_never_closed_without_a_try),
        cmocka_unit_test(a_rate_limited_lane_is_waited_for_or_refused_with_its_reason),
        cmocka_unit_test(only_a_wider_model_helps_a_conversation_that_is_too_long),
        cmocka_unit_test(a_client_that_leaves_is_nobodys_failure),
        cmocka_unit_test(the_ladders_are_whole),
        cmocka_unit_test(the_printed_policy_is_the_page_in_doc),
        cmocka_unit_test(a_hundred_thousand_random_cases_keep_every_promise),
        cmocka_unit_test(cases_side_by_side_probe_one_at_a_time_and_stay_within_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
