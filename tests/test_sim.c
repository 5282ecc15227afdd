/* Worlds with outages: how they are made, what was possible in them, and how it is counted. Times of calls are zero
 * where they are added up by hand. */
#include "test.h"
#include "base/arena.h"
#include "sim/clairvoyant.h"
#include "sim/dice.h"
#include "sim/regret.h"
#include "base/limits.h"
#include "sim/rules.h"
#include "sim/timers.h"
#include <stdlib.h>

enum { T0 = SIM_BEGIN_MS };
static sim_world w;

/* A world with one request and so many targets, each a provider of its own, in which nothing takes time. */
static void a_world(int targets)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    memset(&w, 0, sizeof w);
    w.class = sim_class_find(S("healthy"));
    w.seed = 7;
    w.ntargets = targets;
    for (int i = 0; i < targets; i++) {
        w.targets[i] = (daruma_target){.provider = str_of(names[i]),
                                       .model = S("m"),
                                       .key = S("k"),
                                       .account = S("k"),
                                       .window = -1,
                                       .max_output = -1};
        daruma_target_seal(&w.targets[i]);
    }
    w.nrequests = 1;
    w.requests[0] = (sim_request){.at = T0, .deadline = -1, .leaves = -1};
}

static sim_fault *ill(sim_ill what, uint32_t who, daruma_ms from, daruma_ms until)
{
    sim_fault *f = &w.faults[w.nfaults++];
    *f = (sim_fault){
        .ill = what, .who = who, .from = T0 + from, .until = T0 + until, .share = SIM_WHOLE, .share_until = SIM_WHOLE};
    return f;
}

static sim_host *a_host(void)
{
    static char *room;
    static daruma_arena a;
    static sim_host *h;
    if (!room) {
        room = malloc(4 << 20);
        assert_non_null(room);
        a = arena_over(room, 4 << 20);
        h = sim_host_new(&a);
    }
    assert_non_null(h);
    return h;
}

static const daruma_policy *standard(void)
{
    return daruma_policy_find(S("default"));
}

/* ---- worlds ---------------------------------------------------------------------- */

static void the_same_seed_makes_the_same_world(void **state)
{
    (void)state;
    static sim_world one, two, other;
    for (size_t i = 0; i < nsim_classes; i++) {
        memset(&one, 0, sizeof one);
        memset(&two, 0, sizeof two);
        memset(&other, 0, sizeof other);
        sim_world_make(&one, &sim_classes[i], 3, 14, NULL);
        sim_world_make(&two, &sim_classes[i], 3, 14, NULL);
        sim_world_make(&other, &sim_classes[i], 3, 15, NULL);
        assert_memory_equal(&one, &two, sizeof one);
        assert_int_not_equal(one.seed, other.seed);
    }
}

/* Somebody is well in every class whose words say so. */
static bool leaves_one_well(sim_where where)
{
    return where == SIM_MODEL || where == SIM_ONE_KEY || where == SIM_ACCOUNT || where == SIM_REGION;
}

static void worlds_keep_within_their_class(void **state)
{
    (void)state;
    for (size_t i = 0; i < nsim_classes; i++)
        for (uint64_t k = 0; k < 200; k++) {
            const sim_class *c = &sim_classes[i];
            sim_world_make(&w, c, 1, k, NULL);
            uint32_t all = w.ntargets == 32 ? UINT32_MAX : (1u << w.ntargets) - 1;
            assert_in_range(w.ntargets, 1, SIM_TARGETS_MAX);
            assert_in_range(w.nrequests, 1, c->requests[1]);
            assert_int_equal(w.nfaults == 0, c->where == SIM_NOWHERE);
            for (int f = 0; f < w.nfaults; f++) {
                assert_true(w.faults[f].who && !(w.faults[f].who & ~all));
                assert_true(w.faults[f].from < w.faults[f].until);
                assert_true(c->ills & 1u << w.faults[f].ill);
                if (leaves_one_well(c->where) && w.faults[f].ill != SIM_REFUSED) /* which closes all of a provider */
                    assert_int_not_equal(w.faults[f].who, all);
            }
            for (int r = 1; r < w.nrequests && !w.agents; r++)
                assert_true(w.requests[r].at >= w.requests[r - 1].at);
            for (int t = 0; t < w.ntargets; t++) {
                daruma_ms usual = w.pace[t].head + w.pace[t].begin + w.pace[t].body;
                if (w.requests[0].deadline >= 0 && !(c->shape & SIM_THINKS))
                    assert_true(usual <= w.requests[0].deadline / 5);
            }
        }
}

static void a_users_targets_are_taken_as_they_are(void **state)
{
    (void)state;
    static sim_places p;
    a_world(2);
    memcpy(p.targets, w.targets, sizeof w.targets);
    p.ntargets = 2;
    assert_true(sim_class_fits(sim_class_find(S("provider")), &p));
    assert_false(sim_class_fits(sim_class_find(S("region")), &p));
    assert_false(sim_class_fits(sim_class_find(S("key")), &(sim_places){.ntargets = 1}));
    sim_world_make(&w, sim_class_find(S("provider")), 1, 5, &p);
    assert_int_equal(w.ntargets, 2);
    assert_str(w.targets[1].provider, "b");
    assert_int_equal(__builtin_popcount(w.faults[0].who), 1);
}

static void turns_are_never_both_at_once(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 100; k++) {
        sim_world_make(&w, sim_class_find(S("turns")), 1, k, NULL);
        assert_int_equal(w.nfaults, 2);
        for (daruma_ms t = T0; t < T0 + 200000; t += 97)
            assert_false(sim_fault_share(&w.faults[0], t) && sim_fault_share(&w.faults[1], t));
    }
}

static void faults_flap_and_grow(void **state)
{
    (void)state;
    sim_fault f = {.from = 1000, .until = 5000, .share = 0, .share_until = 1000};
    assert_int_equal(sim_fault_share(&f, 999), 0);
    assert_int_equal(sim_fault_share(&f, 2000), 250);
    assert_int_equal(sim_fault_share(&f, 4000), 750);
    assert_int_equal(sim_fault_share(&f, 5000), 0);
    assert_int_equal(sim_fault_clear(&f, 2000), 5000);
    f = (sim_fault){.from = 1000, .until = 5000, .share = 1000, .share_until = 1000, .flaps = 700};
    assert_int_equal(sim_fault_share(&f, 1699), 1000);
    assert_int_equal(sim_fault_share(&f, 1700), 0);
    assert_int_equal(sim_fault_share(&f, 2400), 1000);
    assert_int_equal(sim_fault_clear(&f, 1000), 1700);
    assert_int_equal(sim_fault_clear(&f, 1800), 1800);
    f.until = 4300;
    assert_int_equal(sim_fault_clear(&f, 4000), 4300);
}

static void a_call_is_a_function_of_the_world(void **state)
{
    (void)state;
    sim_world_make(&w, sim_class_find(S("noise")), 1, 3, NULL);
    int differ = 0;
    for (int r = 0; r < w.nrequests; r++) {
        sim_fate a = sim_world_fate(&w, r, 0, 0, T0, SIM_WHOLE), b = sim_world_fate(&w, r, 0, 0, T0, SIM_WHOLE);
        sim_fate next = sim_world_fate(&w, r, 0, 1, T0, SIM_WHOLE);
        assert_memory_equal(&a, &b, sizeof a);
        differ += a.end != next.end;
    }
    assert_true(differ > w.nrequests / 2);
}

static void an_outage_of_all_calls_takes_no_luck_away(void **state)
{
    (void)state;
    a_world(1);
    ill(SIM_BROKEN, 1, 0, 200);
    assert_false(sim_world_fate(&w, 0, 0, 0, T0, SIM_WHOLE).by_chance);
    assert_true(sim_world_fate(&w, 0, 0, 0, T0 + 200, SIM_WHOLE).by_chance);
    sim_answer a = sim_direct(&w, 0, T0); /* its second call is the first that the dice decide */
    assert_int_equal(a.calls, 2);
    daruma_ms sent = a.ended - sim_world_fate(&w, 0, 0, 0, T0 + 1000, SIM_WHOLE).end;
    assert_in_range(sent, T0 + 375, T0 + 1500);
    w.faults[0].share = w.faults[0].share_until = SIM_WHOLE - 1;
    assert_true(sim_world_fate(&w, 0, 0, 0, T0, SIM_WHOLE).by_chance);
}

static void a_fault_that_breaks_calls_cuts_what_is_under_way(void **state)
{
    (void)state;
    a_world(1);
    w.pace[0] = (sim_pace){.head = 1000, .begin = 1000, .body = 100000};
    ill(SIM_REFUSED, 1, 20000, 30000)->breaks = true;
    sim_fate f = sim_world_fate(&w, 0, 0, 0, T0, SIM_WHOLE);
    assert_int_equal(f.ill, SIM_CUT);
    assert_int_equal(f.end, 20000);
    assert_in_range(f.came, 1, SIM_WHOLE - 1);
    w.requests[0].plain = true;
    f = sim_world_fate(&w, 0, 0, 0, T0, SIM_WHOLE);
    assert_int_equal(f.ill, SIM_RESET);
    assert_int_equal(f.came, 0);
}

/* What is filled in by hand is what the classifier says of the same. */
static void failures_are_judged_as_the_classifier_judges_them(void **state)
{
    (void)state;
    static char room[1 << 16];
    for (int i = SIM_BROKEN; i < SIM_ILLS; i++)
        for (int sent = 0; sent < 2; sent++) {
            if (i == SIM_SLOW || (sent && i != SIM_CUT && i != SIM_STALL))
                continue;
            daruma_arena a = arena_over(room, sizeof room);
            sim_fate fate = {.ill = (sim_ill)i, .wait = -1};
            daruma_evidence ev = sim_evidence((sim_ill)i, sent);
            daruma_failure is = sim_failure(&fate, sent), want = daruma_classify(&ev, at(1000), &a);
            if (is.kind != want.kind || is.retryable != want.retryable || is.status != want.status ||
                is.net != want.net)
                fail_msg("%s: got %s, want %s", sim_ill_name((sim_ill)i), daruma_kind_name(is.kind),
                         daruma_kind_name(want.kind));
            assert_int_equal(is.severity, want.severity);
        }
}

/* ---- the clairvoyant ---------------------------------------------------------------- */

static void assert_best(bool answered, uint32_t calls, daruma_ms after)
{
    sim_answer a = sim_clairvoyant(&w, 0, T0, SIM_PATIENCE_MS);
    assert_int_equal(a.answered, answered);
    assert_int_equal(a.calls, calls);
    assert_int_equal(a.ended - T0, after);
}

static void where_all_are_well_the_first_is_asked(void **state)
{
    (void)state;
    a_world(2);
    w.pace[1].body = 50000; /* whoever asked the second would be late */
    assert_best(true, 1, 0);
}

static void where_the_first_is_down_the_second_is_asked_at_once(void **state)
{
    (void)state;
    a_world(2);
    ill(SIM_BROKEN, 1, 0, 5000);
    assert_best(true, 1, 0);
}

static void where_all_are_down_the_end_of_the_first_outage_is_waited_for(void **state)
{
    (void)state;
    a_world(3);
    ill(SIM_BROKEN, 1, 0, 5000);
    ill(SIM_REFUSED, 2, 0, 3000);
    ill(SIM_RESET, 4, 0, 4000);
    assert_best(true, 1, 3000);
}

static void outages_that_follow_each_other_are_one(void **state)
{
    (void)state;
    a_world(1);
    ill(SIM_RESET, 1, 2000, 4000);
    ill(SIM_BROKEN, 1, 0, 2000);
    assert_best(true, 1, 4000);
}

static void nobody_waits_longer_than_patience_or_the_deadline(void **state)
{
    (void)state;
    a_world(1);
    sim_fault *f = ill(SIM_BROKEN, 1, 0, SIM_PATIENCE_MS + 1);
    assert_best(false, 1, 0);
    f->until = T0 + SIM_PATIENCE_MS;
    assert_best(true, 1, SIM_PATIENCE_MS);
    w.requests[0].deadline = SIM_PATIENCE_MS;
    assert_best(false, 1, 0);
}

static void a_retry_after_is_kept(void **state)
{
    (void)state;
    a_world(1);
    ill(SIM_LIMIT_NAMED, 1, 0, 7000);
    assert_best(true, 1, 7000);
    sim_fate f = sim_world_fate(&w, 0, 0, 0, T0 + 1500, SIM_WHOLE);
    assert_int_equal(f.wait, 6000); /* whole seconds, and never less than what is left */
}

static void named_waits_that_follow_each_other_are_one(void **state)
{
    (void)state;
    a_world(1);
    ill(SIM_LIMIT_NAMED, 1, 0, 30000);
    ill(SIM_LIMIT_NAMED, 1, 20000, 59000);
    assert_best(true, 1, 59000);
    w.faults[1].until = T0 + 80000; /* longer than anybody waits */
    assert_best(false, 1, 0);
}

static void what_is_refused_for_good_is_not_waited_for(void **state)
{
    (void)state;
    a_world(1);
    ill(SIM_KEY, 1, 0, 5000);
    assert_best(false, 1, 0); /* nobody is refused unasked */
}

static void a_request_that_a_firewall_refuses_goes_elsewhere(void **state)
{
    (void)state;
    a_world(2);
    w.requests[0].walled = 1;
    assert_best(true, 1, 0);
    w.requests[0].walled = 3;
    assert_best(false, 1, 0);
}

static void dice_are_not_known_beforehand(void **state)
{
    (void)state;
    uint64_t calls = 0, answered = 0;
    a_world(1);
    ill(SIM_BROKEN, 1, 0, 300)->share = 500; /* in the middle: every other call */
    w.faults[0].share_until = 500;
    w.faults[0].until = SIM_EVER;
    for (w.seed = 0; w.seed < 1000; w.seed++) {
        sim_answer a = sim_clairvoyant(&w, 0, T0, SIM_PATIENCE_MS);
        answered += a.answered;
        calls += a.calls;
    }
    assert_in_range(answered, 980, 1000); /* all but those whose patience was over before their luck came */
    assert_in_range(calls, 1850, 2150);   /* two on average */
}

static void a_cut_answer_is_gone_on_with(void **state)
{
    (void)state;
    a_world(1);
    w.pace[0].body = 1000;
    sim_fault *f = ill(SIM_CUT, 1, 0, 10000);
    f->factor = 900;
    f->share = f->share_until = 500;
    int64_t n = 0, sum = 0;
    for (w.seed = 0; w.seed < 1000; w.seed++) {
        sim_answer a = sim_clairvoyant(&w, 0, T0, SIM_PATIENCE_MS);
        assert_true(a.answered);
        if (a.calls == 2) {
            sum += a.ended - T0;
            n++;
        }
    }
    assert_true(n > 100);
    assert_in_range(sum / n, 1400, 1750); /* with a backoff of 500; begun anew it would be 2,400 and more */
}

/* ---- a client alone ------------------------------------------------------------------ */

static void a_client_alone_tries_three_times(void **state)
{
    (void)state;
    a_world(2);
    ill(SIM_BROKEN, 1, 0, 60000);
    sim_answer a = sim_direct(&w, 0, T0);
    assert_false(a.answered);
    assert_int_equal(a.calls, 3);
    assert_in_range(a.ended - T0, 375 + 750, 500 + 1000 + 2000);
}

static void a_client_alone_keeps_a_retry_after_up_to_a_minute(void **state)
{
    (void)state;
    a_world(1);
    ill(SIM_LIMIT_NAMED, 1, 0, 20000);
    sim_answer a = sim_direct(&w, 0, T0);
    assert_true(a.answered);
    assert_int_equal(a.ended - T0, 20000);
    w.faults[0].until = T0 + 90000;
    a = sim_direct(&w, 0, T0);
    assert_false(a.answered);
    assert_int_equal(a.calls, 3);
}

static void a_client_alone_does_not_see_empty_answers_and_does_not_repeat_refusals(void **state)
{
    (void)state;
    static const sim_ill ills[] = {SIM_EMPTY, SIM_KEY, SIM_FORBIDDEN, SIM_UNKNOWN_MODEL};
    for (size_t i = 0; i < COUNT(ills); i++) {
        a_world(1);
        ill(ills[i], 1, 0, 1000);
        sim_answer a = sim_direct(&w, 0, T0);
        assert_false(a.answered);
        assert_int_equal(a.calls, 1);
    }
}

/* ---- the host --------------------------------------------------------------------------- */

static const sim_ending *run_it(void)
{
    int request;
    assert_int_equal(sim_host_run(a_host(), &w, standard(), NULL, NULL, &request), SIM_RULE_NONE);
    return sim_host_ending(a_host(), 0);
}

static void a_healthy_world_takes_one_call(void **state)
{
    (void)state;
    a_world(2);
    const sim_ending *e = run_it();
    assert_true(e->answered);
    assert_int_equal(e->calls, 1);
    assert_int_equal(e->ended, T0);
}

static void a_sick_first_target_costs_a_call(void **state)
{
    (void)state;
    a_world(2);
    ill(SIM_FORBIDDEN, 1, 0, 60000);
    const sim_ending *e = run_it();
    assert_true(e->answered);
    assert_int_equal(e->calls, 2);
    assert_int_equal(e->sick, 0);
}

/* Blind are the calls that went out before a failure of the same outage had been told. */
static void blind_calls_are_those_that_nobody_could_know_better(void **state)
{
    (void)state;
    a_world(2);
    w.nrequests = 3;
    w.requests[1] = w.requests[2] = w.requests[0];
    w.requests[2].at += 5000;
    w.pace[0].head = w.pace[1].head = 100;
    ill(SIM_BROKEN, 1, 0, 60000);
    assert_int_equal(run_it()->blind, 1);
    assert_int_equal(sim_host_ending(a_host(), 1)->blind, 1); /* it came in the same moment */
    assert_int_equal(sim_host_ending(a_host(), 2)->blind, 0); /* it may go there again, but it knows */
    w.faults[0].flaps = 5000;                                 /* the next turn is another outage */
    w.requests[2].at = w.requests[0].at + 10000;
    run_it();
    assert_int_equal(sim_host_ending(a_host(), 2)->blind, sim_host_ending(a_host(), 2)->calls > 1);
    a_world(1); /* what is only slow does not fail */
    ill(SIM_SLOW, 1, 0, 60000);
    w.faults[0].factor = 2000;
    assert_int_equal(run_it()->blind, 0);
}

/* How long a model pauses is learned from its pieces, not from when the host looks at a call. */
static void a_stream_that_stands_still_is_noticed_by_the_pauses_of_its_model(void **state)
{
    (void)state;
    a_world(2);
    w.nrequests = 21;
    for (int i = 0; i < 2; i++)
        w.pace[i].body = 8000;
    for (int i = 1; i < w.nrequests; i++) {
        w.requests[i] = w.requests[0];
        w.requests[i].at = w.requests[0].at + i * 12000;
    }
    ill(SIM_STALL, 1, 20 * 12000 - 1000, 30 * 12000);
    run_it();
    const sim_ending *e = sim_host_ending(a_host(), 20);
    assert_true(e->answered);
    assert_int_equal(e->hedges, 1);
    /* pieces are a second apart; usually 1.5 s and some, three times that, and then an answer of the other */
    assert_in_range(e->ended - e->arrived, 1000, 20000);
}

static void a_client_that_leaves_is_counted_apart(void **state)
{
    (void)state;
    a_world(1);
    ill(SIM_SILENT, 1, 0, 60000);
    w.requests[0].leaves = 1234;
    const sim_ending *e = run_it();
    assert_true(e->left && !e->answered);
    assert_int_equal(e->ended - T0, 1234);
}

static void an_agent_asks_when_it_has_its_answer(void **state)
{
    (void)state;
    a_world(1);
    w.agents = 1;
    w.nrequests = 3;
    w.requests[1] = w.requests[2] = w.requests[0];
    w.requests[1].at = 500;
    w.requests[2].at = 700;
    run_it();
    assert_int_equal(sim_host_ending(a_host(), 1)->arrived - T0, 500);
    assert_int_equal(sim_host_ending(a_host(), 2)->arrived - T0, 1200);
}

static void the_same_world_ends_the_same_way(void **state)
{
    (void)state;
    static sim_ending was[SIM_REQUESTS_MAX];
    sim_world_make(&w, sim_class_find(S("mixed")), 1, 11, NULL);
    run_it();
    for (int r = 0; r < w.nrequests; r++)
        was[r] = *sim_host_ending(a_host(), r);
    run_it();
    for (int r = 0; r < w.nrequests; r++)
        assert_memory_equal(&was[r], sim_host_ending(a_host(), r), sizeof *was);
}

/* ---- what must always hold --------------------------------------------------------------- */

static sim_rules rules;
static char health_room[1 << 18];

static daruma_health *a_health(void)
{
    daruma_arena a = arena_over(health_room, sizeof health_room);
    daruma_health *h = daruma_health_new(&a, 64);
    assert_non_null(h);
    return h;
}

static void rules_are_noticed_when_they_break(void **state)
{
    (void)state;
    daruma_case c;
    a_world(1);
    daruma_health *h = a_health();
    daruma_case_open(&c, h, standard(), w.targets, 1, -1, T0 + 1000, at(T0));

    rules_begin(&rules, &w);
    rules_before_admit(&rules, 0, &c, false);
    assert_int_equal(rules.broken, SIM_RULE_NONE);
    rules_before_admit(&rules, 0, &c, true);
    assert_int_equal(rules.broken, SIM_RULE_ADMISSION);

    rules_begin(&rules, &w);
    daruma_case_admit(&c, at(T0));
    rules_sent(&rules, 0, &c, c.permits, 0, T0 + 999);
    assert_int_equal(rules.broken, SIM_RULE_NONE);
    rules_sent(&rules, 0, &c, c.permits, 0, T0 + 1000);
    assert_int_equal(rules.broken, SIM_RULE_DEADLINE);

    rules_begin(&rules, &w);
    rules_closed(&rules, 0, &c, 0, 0); /* a call is out yet */
    assert_int_equal(rules.broken, SIM_RULE_ENDS);
    rules_begin(&rules, &w);
    daruma_case_done(&c, at(T0));
    rules_closed(&rules, 0, &c, 0, 0);
    assert_int_equal(rules.broken, SIM_RULE_NONE);
    rules_finally(&rules, 0, true, false);
    assert_int_equal(rules.broken, SIM_RULE_NONE);
    rules_closed(&rules, 0, &c, 0, 0); /* a second outcome */
    assert_int_equal(rules.broken, SIM_RULE_ENDS);
    uint32_t most = HEDGES_EACH_MAX + 1 + 10; /* beside a silent call: once a second, at last */
    rules_begin(&rules, &w);
    rules_closed(&rules, 0, &c, most, 10 * BREAKER_OPEN_MS);
    assert_int_equal(rules.broken, SIM_RULE_NONE);
    rules_begin(&rules, &w);
    rules_closed(&rules, 0, &c, most + 1, 10 * BREAKER_OPEN_MS);
    assert_int_equal(rules.broken, SIM_RULE_ATTEMPTS);
    rules_begin(&rules, &w);
    c.attempts = 2; /* without a remedy */
    rules_closed(&rules, 0, &c, 0, 0);
    assert_int_equal(rules.broken, SIM_RULE_ATTEMPTS);
}

static void a_client_that_leaves_must_leave_no_trace(void **state)
{
    (void)state;
    daruma_case c;
    sim_fate fate = {.ill = SIM_BROKEN, .wait = -1};
    daruma_failure f = sim_failure(&fate, false);
    a_world(1);
    daruma_health *h = a_health();
    rules_begin(&rules, &w);
    daruma_case_open(&c, h, standard(), w.targets, 1, -1, -1, at(T0));
    daruma_case_admit(&c, at(T0));
    rules_before_drop(&rules, h, T0);
    daruma_case_drop(&c, at(T0));
    rules_dropped(&rules, 0, h, T0);
    assert_int_equal(rules.broken, SIM_RULE_NONE);
    daruma_case_admit(&c, at(T0));
    rules_before_drop(&rules, h, T0);
    daruma_case_next(&c, &f, 0, at(T0)); /* told as a failure */
    rules_dropped(&rules, 0, h, T0);
    assert_int_equal(rules.broken, SIM_RULE_LEAVING);
}

/* ---- counting ------------------------------------------------------------------------------ */

static void times_are_kept_within_a_tenth(void **state)
{
    (void)state;
    static regret sum;
    static const daruma_ms tops[] = {3, 90, 4000, 600000};
    for (size_t i = 0; i < COUNT(tops); i++) {
        regret_times t = {0};
        for (daruma_ms ms = 1; ms <= 1000; ms++)
            regret_times_note(&t, tops[i] * ms / 1000);
        for (uint32_t milli = 100; milli <= 1000; milli += 100) {
            daruma_ms got = regret_times_at(&t, milli), want = tops[i] * milli / 1000;
            assert_true(got * 10 <= want * 11 + 10 && got * 11 + 10 >= want * 10);
        }
    }
    assert_int_equal(regret_times_at(&sum.all.daruma.added, 500), 0);
}

static void timers_fire_in_order(void **state)
{
    (void)state;
    static sim_timers t;
    dice d = {5};
    enum { N = 200 };
    daruma_ms when[N];
    sim_timers_clear(&t, N);
    for (int i = 0; i < N; i++)
        sim_timers_set(&t, i, when[i] = dice_range(&d, 0, 50));
    for (int i = 0; i < 500; i++) {
        int who = (int)dice_range(&d, 0, N - 1);
        sim_timers_set(&t, who, when[who] = dice_range(&d, -1, 50));
    }
    daruma_ms last = -1;
    int last_who = -1, left = 0;
    for (int i = 0; i < N; i++)
        left += when[i] >= 0;
    assert_int_equal(t.n, left);
    for (int who; (who = sim_timers_first(&t)) >= 0; left--) {
        assert_true(when[who] > last || (when[who] == last && who > last_who));
        last = when[last_who = who];
        sim_timers_set(&t, who, -1);
    }
    assert_int_equal(left, 0);
}

/* What is lost or needed is the same whatever runs before it, and the sum is that of its classes. */
static void sums_add_up(void **state)
{
    (void)state;
    static regret sum;
    memset(&sum, 0, sizeof sum);
    uint64_t lost = 0, could = 0, requests = 0, beyond = 0, explained = 0;
    for (uint64_t k = 0; k < 2 * nsim_classes; k++)
        regret_run(&sum, a_host(), &w, regret_class(k, NULL, NULL), 1, k, NULL, standard());
    regret_total(&sum);
    for (size_t i = 0; i < nsim_classes; i++) {
        assert_int_equal(sum.of[i].worlds, 2);
        assert_true(sum.of[i].daruma.lost <= sum.of[i].could && sum.of[i].could <= sum.of[i].requests);
        assert_true(sum.of[i].sick <= sum.of[i].daruma.calls && sum.of[i].blind <= sum.of[i].daruma.calls);
        assert_true(sum.of[i].beyond <= sum.of[i].both && sum.of[i].both <= sum.of[i].could);
        explained += sum.of[i].beyond_blind + sum.of[i].beyond_first + sum.of[i].beyond_back;
        beyond += sum.of[i].beyond;
        lost += sum.of[i].daruma.lost;
        could += sum.of[i].could;
        requests += sum.of[i].requests;
    }
    assert_int_equal(sum.all.daruma.lost, lost);
    assert_int_equal(sum.all.could, could);
    assert_int_equal(sum.all.requests, requests);
    assert_int_equal(sum.all.beyond, beyond);
    assert_int_equal(sum.all.beyond_blind + sum.all.beyond_first + sum.all.beyond_back, explained);
    assert_in_range(explained, 1, beyond);
    assert_int_equal(sum.judged, 2 * nsim_classes);
    assert_true(sum.nworst > 0);
    for (int i = 1; i < sum.nworst; i++)
        assert_true(sum.worst[i - 1].lost >= sum.worst[i].lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_makes_the_same_world),
        cmocka_unit_test(worlds_keep_within_their_class),
        cmocka_unit_test(a_users_targets_are_taken_as_they_are),
        cmocka_unit_test(turns_are_never_both_at_once),
        cmocka_unit_test(faults_flap_and_grow),
        cmocka_unit_test(a_call_is_a_function_of_the_world),
        cmocka_unit_test(an_outage_of_all_calls_takes_no_luck_away),
        cmocka_unit_test(a_fault_that_breaks_calls_cuts_what_is_under_way),
        cmocka_unit_test(failures_are_judged_as_the_classifier_judges_them),
        cmocka_unit_test(where_all_are_well_the_first_is_asked),
        cmocka_unit_test(where_the_first_is_down_the_second_is_asked_at_once),
        cmocka_unit_test(where_all_are_down_the_end_of_the_first_outage_is_waited_for),
        cmocka_unit_test(outages_that_follow_each_other_are_one),
        cmocka_unit_test(nobody_waits_longer_than_patience_or_the_deadline),
        cmocka_unit_test(a_retry_after_is_kept),
        cmocka_unit_test(named_waits_that_follow_each_other_are_one),
        cmocka_unit_test(what_is_refused_for_good_is_not_waited_for),
        cmocka_unit_test(a_request_that_a_firewall_refuses_goes_elsewhere),
        cmocka_unit_test(dice_are_not_known_beforehand),
        cmocka_unit_test(a_cut_answer_is_gone_on_with),
        cmocka_unit_test(a_client_alone_tries_three_times),
        cmocka_unit_test(a_client_alone_keeps_a_retry_after_up_to_a_minute),
        cmocka_unit_test(a_client_alone_does_not_see_empty_answers_and_does_not_repeat_refusals),
        cmocka_unit_test(a_healthy_world_takes_one_call),
        cmocka_unit_test(a_sick_first_target_costs_a_call),
        cmocka_unit_test(blind_calls_are_those_that_nobody_could_know_better),
        cmocka_unit_test(a_stream_that_stands_still_is_noticed_by_the_pauses_of_its_model),
        cmocka_unit_test(a_client_that_leaves_is_counted_apart),
        cmocka_unit_test(an_agent_asks_when_it_has_its_answer),
        cmocka_unit_test(the_same_world_ends_the_same_way),
        cmocka_unit_test(rules_are_noticed_when_they_break),
        cmocka_unit_test(a_client_that_leaves_must_leave_no_trace),
        cmocka_unit_test(times_are_kept_within_a_tenth),
        cmocka_unit_test(timers_fire_in_order),
        cmocka_unit_test(sums_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
