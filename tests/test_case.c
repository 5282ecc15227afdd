/* One request on its way to an answer: what is tried, waited for, mended, kept. */
#include "decide_kit.h"
#include "engine/decide/health.h"
#include "engine/decide/case.h"
#include "engine/decide/waits.h"

/* ---- case ---------------------------------------------------------------------- */

static void advice_is_waited_for_and_then_it_recovers(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
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
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "a", "k2"), target("p", "m", "b", "k3")};
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 3, -1, -1, at(0));
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, 5000), g = advised(DARUMA_RATE_LIMIT, 429, 9000);
    assert_int_equal(out(&c, 0), 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_KEY, 0, 2);
    assert_int_equal(out(&c, 0), 2);
    assert_remedy(daruma_case_next(&c, &g, 0, at(0)), WAIT_RETRY, 5000, 0); /* back to the one that rests shorter */
}

static void a_switch_that_did_not_come_to_pass_is_told_as_the_wait_that_it_was(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "b", "k2")};
    daruma_failure empty = surely(DARUMA_QUOTA, 429), busy = advised(DARUMA_RATE_LIMIT, 429, 1000);
    fails(w, &p, &t[0], empty, 0); /* rests, and will not be back first */
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 2, -1, -1, at(0));
    assert_int_equal(out(&c, 0), 1);
    daruma_remedy r = daruma_case_next(&c, &busy, 0, at(0));
    assert_int_equal(r.act, DARUMA_SEND);
    daruma_admission a = {.wait = r.wait};
    for (daruma_ms now = r.wait; !c.out; now += a.wait > 0 ? a.wait : 1) {
        a = daruma_case_admit(&c, at(now));
        assert_int_equal(a.act, DARUMA_SEND);
    }
    assert_int_equal(c.ndid, 1);
    assert_int_equal(c.did[0], c.target == 1 ? DARUMA_REMEDY_WAIT_RETRY : DARUMA_REMEDY_SWITCH_ACCOUNT);
    assert_int_equal(c.target, 1);
}

static void a_refused_key_costs_one_call_and_is_not_asked_again(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m2", "a", "k1"), target("p", "m", "b", "k2")};
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 3, -1, -1, at(0));
    daruma_failure f = surely(DARUMA_AUTH, 401);
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
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
    c.can_refresh = true;
    daruma_failure f = surely(DARUMA_AUTH, 401);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), REFRESH_CREDENTIALS, 0, 0);
    daruma_health_refreshed(w, &t);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);
}

/* Nothing is wrong with a place that has only the other API: neither the case nor anybody else is kept from it. */
static void an_api_that_is_not_there_is_no_fault_of_the_model(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "a", "k1")};
    daruma_failure f = surely(DARUMA_MODEL_NOT_FOUND, 404);
    for (int i = 0; i < 5; i++) {
        daruma_case c;
        daruma_case_open(&c, w, &p, t, 2, -1, -1, at(i));
        out(&c, i);
        assert_int_equal(c.target, 0);
        c.can_mend = c.other_api = true;
        assert_remedy(daruma_case_next(&c, &f, 0, at(i)), CHANGE_API, 0, 0);
        out(&c, i);
        assert_int_equal(c.target, 0);
        c.other_api = false;
        if (i < 4)
            daruma_case_done(&c, at(i));
        else /* it has neither */
            assert_remedy(daruma_case_next(&c, &f, 0, at(i)), SWITCH_MODEL, 0, 1);
    }
}

static void an_unfit_remedy_is_given_back_and_the_next_one_is_tried(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "a", "k1")};
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 2, -1, -1, at(0));
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    out(&c, 0);
    daruma_budget *purse = daruma_health_budget(w, t, 0);
    int64_t left = daruma_budget_left(purse, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), WAIT_RETRY, 500, 0);
    assert_int_equal(daruma_budget_left(purse, 0), left - 1);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_MODEL, 0, 1);
    assert_int_equal(daruma_budget_left(purse, 0), left);
    assert_int_equal(c.waited, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), WAIT_RETRY, 500, 0); /* with patience */
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);
    assert_int_equal(daruma_budget_left(purse, 0), left);
    assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act, DARUMA_STOP);
    assert_int_equal(c.attempts, 1);
}

static void before_giving_up_a_target_that_is_well_soon_is_waited_for(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
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
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_health *w = a_health();
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
    daruma_health *w = a_health();
    daruma_target t = target("openai", "gpt", "a", "k1");
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case first, again;
    daruma_ms now = 0;
    daruma_case_open(&first, w, &p, &t, 1, -1, -1, at(now));
    for (daruma_remedy step = {0}; step.act == DARUMA_SEND; now += step.wait) {
        out(&first, now);
        step = daruma_case_next(&first, &f, 0, at(now));
    }
    assert_true(first.attempts > 1);
    daruma_case_close(&first, DARUMA_OUTCOME_FAILED, at(now));

    now += 1000;
    daruma_case_open(&again, w, &p, &t, 1, -1, -1, at(now));
    case_resume(&again, &first);
    assert_int_equal(again.id, first.id);
    out(&again, now);
    assert_int_equal(again.attempts, first.attempts + 1);
    daruma_remedy r = daruma_case_next(&again, &f, 0, at(now)); /* it is patient once more, and goes on growing */
    assert_int_equal(r.remedy, DARUMA_REMEDY_WAIT_RETRY);
    assert_true(r.wait >= 30000);
}

static void nothing_goes_out_after_the_deadline(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c;
    daruma_case_open(&c, a_health(), &p, &t, 1, -1, 10000, at(0));
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
    daruma_case_open(&c, a_health(), &p, &t, 1, -1, -1, at(0));
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
    static const daruma_rung rungs[] = {{DARUMA_SERVER_ERROR, DARUMA_REMEDY_RETRY, 1, DARUMA_NEED_TIME, DARUMA_NOW}};
    daruma_policy p = calm();
    p.rungs = rungs;
    p.nrungs = 1;
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    out(&c, 0);
    daruma_budget *b = daruma_health_budget(w, &t, 0);
    b->retries = 5;
    assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act, DARUMA_SEND);
    assert_int_equal(b->retries, 6);
    for (int i = 0; i < 3; i++)
        assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act, DARUMA_STOP);
    assert_int_equal(b->retries, 5);
}

static void what_does_not_pass_is_asked_once_and_is_not_worth_coming_back_for(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_failure f = surely(DARUMA_QUOTA, 402);
    fails(w, &p, &t, f, 0);
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(0));
    assert_int_equal(daruma_case_again_in(&c, NULL, 0), -1);
    out(&c, 0); /* health never forbids: it hears it from the provider */
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 0);
    assert_int_equal(daruma_case_again_in(&c, &f, 0), -1);
}

static void another_key_is_no_hope_while_the_provider_is_sick(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "b", "k2"), target("q", "m", "a", "k3")};
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 2, -1, -1, at(0));
    out(&c, 0);
    daruma_case_next(&c, &f, 0, at(0));
    assert_true(daruma_case_again_in(&c, &f, 0) > 0);
    daruma_case other;
    daruma_case_open(&other, a_health(), &p, t, 3, -1, -1, at(0));
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
        daruma_health *w = a_health();
        daruma_case c;
        daruma_case_open(&c, w, &p, t, 2, -1, -1, at(0));
        c.can_refresh = true;
        out(&c, 0);
        daruma_failure f = failure((daruma_kind)k, 0);
        daruma_remedy r = daruma_case_next(&c, &f, 1, at(0));
        assert_int_not_equal(r.act, DARUMA_SEND);
        bool keeps = k == DARUMA_INTERRUPTED || k == DARUMA_RATE_LIMIT || k == DARUMA_OVERLOADED ||
                     k == DARUMA_SERVER_ERROR || k == DARUMA_TIMEOUT || k == DARUMA_NETWORK || k == DARUMA_QUOTA ||
                     k == DARUMA_AUTH || k == DARUMA_PERMISSION || k == DARUMA_MODEL_NOT_FOUND ||
                     k == DARUMA_MALFORMED_OUTPUT || k == DARUMA_CONTEXT_LENGTH || k == DARUMA_UNKNOWN;
        assert_int_equal(r.act == DARUMA_KEEP, keeps);
    }
}

/* ---- mending ---------------------------------------------------------------------- */

/* A case whose host can mend, its first attempt out at `t[0]`. */
static daruma_case mending(const daruma_policy *p, const daruma_target *t, size_t n)
{
    daruma_case c;
    daruma_case_open(&c, a_health(), p, t, n, -1, -1, at(0));
    c.can_mend = true;
    out(&c, 0);
    return c;
}

static void a_long_conversation_is_shortened_at_most_so_often_and_then_moved(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "wide", "a", "k")};
    assert_int_equal(p.mend.max_compress_retries, 4);
    p.mend.max_compress_retries = 2; /* a user's word */
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

static void what_is_above_the_limit_becomes_smaller_and_rests_nobody(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "m", "b", "k2"), target("q", "n", "c", "k3")};
    daruma_case c = mending(&p, t, 3);
    daruma_failure f = failure(DARUMA_RATE_LIMIT, 413);
    f.limit = 8000;
    f.requested = 31104;
    f.retryable = false;
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), CLAMP_OUTPUT, 0, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), MASK_TOOL_OUTPUT, 0, 0);
    assert_int_equal(out(&c, 0), 0); /* the key is well for what is smaller */
    f.requested = 7000;              /* below the limit it is a matter of time */
    f.retryable = true;
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_KEY, 0, 1);
    assert_int_equal(out(&c, 0), 1);
}

static void what_was_done_is_known_in_order_and_only_what_was_done(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
    daruma_case_did(&c, DARUMA_REMEDY_NONE);
    assert_int_equal(c.ndid, 0);
    daruma_case_did(&c, DARUMA_REMEDY_MEND_ANSWER);
    daruma_case_did(&c, DARUMA_REMEDY_RETRY);
    daruma_case_did(&c, DARUMA_REMEDY_MEND_ANSWER);
    assert_int_equal(c.ndid, 2);
    assert_int_equal(c.did[0], DARUMA_REMEDY_MEND_ANSWER);
    assert_int_equal(c.did[1], DARUMA_REMEDY_RETRY);
    assert_int_equal(c.remedies, 1u << DARUMA_REMEDY_MEND_ANSWER | 1u << DARUMA_REMEDY_RETRY);
    for (int i = 0; i < DARUMA_REMEDIES; i++)
        daruma_case_did(&c, (daruma_remedy_kind)i);
    assert_int_equal(c.ndid, DARUMA_REMEDIES - 1);
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

static void a_refused_parameter_is_mended_up_to_eight_times_then_the_model_explains(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_case c = mending(&p, &t, 1);
    daruma_failure f = failure(DARUMA_INVALID_PARAMETER, 400);
    for (int i = 0; i < 8; i++) {
        assert_remedy(daruma_case_next(&c, &f, 0, at(0)), MEND_PARAMETER, 0, 0);
        out(&c, 0);
    }
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), LOWER_FORMAT, 0, 0); /* it may be what is meant */
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

/* Case `c` is refused by target 0 with `f`; the next one is asked. */
static void goes_on(daruma_case *c, daruma_health *w, const daruma_policy *p, const daruma_target *t, size_t n,
                    const daruma_failure *f, daruma_ms now)
{
    daruma_case_open(c, w, p, t, n, -1, -1, of_another(now));
    assert_int_equal(out(c, now), 0);
    daruma_case_next(c, f, 0, at(now));
    assert_int_equal(out(c, now), 1);
}

static void a_place_that_refuses_without_a_reason_what_others_answer_is_asked_last_and_holds_up_nobody(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_failure odd = failure(DARUMA_UNKNOWN, 418);
    daruma_case c[8];
    for (int i = 0; i < 8; i++)
        goes_on(&c[i], w, &p, t, 2, &odd, 1000);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(daruma_health_look(w, &t[0], 1000).well, i < 2); /* one may be of the request */
        daruma_case_begun(&c[i], at(1000));                               /* its stream may take minutes */
    }
    for (int i = 0; i < 8; i++)
        daruma_case_done(&c[i], at(1100));
    assert_false(daruma_health_look(w, &t[0], 1100).well);
    assert_int_equal(daruma_health_look(w, &t[0], 1100).alone_in, 0);
    succeeds(w, &p, &t[0], 1200);
    assert_true(daruma_health_look(w, &t[0], 1200).well);
}

static void a_refusal_without_a_reason_counts_once_and_only_where_it_was(void **state)
{
    (void)state;
    daruma_policy p = calm();
    p.kinds[DARUMA_SERVER_ERROR].max_attempts = 1; /* at each place */
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "j")};
    daruma_failure odd = failure(DARUMA_UNKNOWN, 302), sick = failure(DARUMA_SERVER_ERROR, 503);
    for (int odd_first = 0; odd_first < 2; odd_first++) {
        daruma_health *w = a_health();
        for (int i = 0; i < 2; i++) {
            daruma_case c;
            goes_on(&c, w, &p, t, 3, odd_first ? &odd : &sick, 1000 + i);
            daruma_case_next(&c, odd_first ? &sick : &odd, 0, at(1000 + i));
            assert_int_equal(out(&c, 1000 + i), 2);
            daruma_case_done(&c, at(1000 + i));
            assert_int_equal(daruma_health_look(w, &t[0], 1000 + i).well, i == 0);
            assert_int_equal(daruma_health_look(w, &t[1], 1000 + i).well, i == 0);
        }
    }
}

static void a_refusal_without_a_reason_from_before_a_success_says_nothing(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_failure odd = failure(DARUMA_UNKNOWN, 302);
    daruma_case c[3];
    for (int i = 0; i < 3; i++)
        goes_on(&c[i], w, &p, t, 2, &odd, 1000);
    succeeds(w, &p, &t[0], 5000);
    for (int i = 0; i < 3; i++)
        daruma_case_done(&c[i], at(60000));
    assert_true(daruma_health_look(w, &t[0], 60000).well);
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
    assert_remedy(daruma_case_next(&c, &f, 200, at(0)), RESUME, 0, 1); /* two tries here, then elsewhere */
    assert_int_equal(out(&c, 0), 1);
    assert_remedy(daruma_case_next(&c, &f, 300, at(0)), RESUME, 500, 1); /* from here on with patience */
    assert_int_equal(out(&c, 500), 1);
    daruma_remedy r = daruma_case_next(&c, &f, 400, at(500)); /* where it was called often, it goes on all the same */
    assert_int_equal(r.remedy, DARUMA_REMEDY_RESUME);
    assert_int_equal(r.target, 0);
    assert_int_equal(out(&c, 500 + r.wait), 0);
    assert_remedy(daruma_case_next(&c, &f, 500, at(p.patience)), KEEP_PARTIAL, 0, 0);

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

static void what_was_begun_goes_on_however_often_it_was_tried_before(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k")};
    daruma_case c = mending(&p, t, 1);
    daruma_failure sick = failure(DARUMA_SERVER_ERROR, 500), cut = failure(DARUMA_INTERRUPTED, 0);
    for (int i = 0; i < 3; i++) { /* all tries of the target */
        assert_int_equal(daruma_case_next(&c, &sick, 0, at(20000 * i)).remedy, DARUMA_REMEDY_WAIT_RETRY);
        out(&c, 20000 * (i + 1) - 1);
    }
    daruma_remedy r = daruma_case_next(&c, &cut, 100, at(70000));
    assert_int_equal(r.remedy, DARUMA_REMEDY_RESUME);
    assert_int_equal(out(&c, 70000 + r.wait), 0);

    static const daruma_kind of_the_key[] = {DARUMA_AUTH, DARUMA_QUOTA, DARUMA_PERMISSION, DARUMA_MODEL_NOT_FOUND};
    for (size_t i = 0; i < 4; i++) { /* only elsewhere, when there is another place */
        daruma_target two[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
        daruma_failure f = surely(of_the_key[i], 401);
        c = mending(&p, two, 2);
        assert_remedy(daruma_case_next(&c, &f, 100, at(0)), RESUME, 0, 1);
        c = mending(&p, two, 1);
        assert_remedy(daruma_case_next(&c, &f, 100, at(0)), KEEP_PARTIAL, 0, 0);
    }
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
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_case c;
        daruma_case_open(&c, a_health(), &p, t, 2, -1, -1, at(0));
        c.safe_twice = false;
        out(&c, 0);
        daruma_failure f = failure(rows[i].kind, 0);
        assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).act == DARUMA_SEND, rows[i].again);
    }
}

static void what_may_have_been_done_is_not_sent_again_whatever_the_failure(void **state)
{
    (void)state;
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "b", "k2"), target("q", "n", "c", "k3")};
    const char *name;
    for (size_t n = 0; (name = daruma_policy_name(n)); n++) {
        const daruma_policy *p = daruma_policy_find(str_of(name));
        for (int k = 0; k < DARUMA_KINDS; k++)
            for (size_t forwarded = 0; forwarded < 2; forwarded++) {
                daruma_case c = mending(p, t, 3);
                daruma_failure f = failure((daruma_kind)k, k % 2 ? 500 : 0);
                c.can_refresh = c.done_once = true;
                daruma_remedy r = daruma_case_next(&c, &f, forwarded * 100, at(0));
                if (r.act == DARUMA_SEND)
                    fail_msg("%s: %s sends by %s", name, daruma_kind_name((daruma_kind)k),
                             daruma_remedy_name(r.remedy));
            }
    }
}

static void a_policy_that_is_off_makes_the_first_failure_final(void **state)
{
    (void)state;
    daruma_policy p = calm();
    p.enabled = false;
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    for (int i = 0; i < 30; i++) { /* and no breaker or cooldown keeps a call back */
        daruma_case c;
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(i));
        out(&c, i);
        daruma_failure f = failure(i % 2 ? DARUMA_SERVER_ERROR : DARUMA_RATE_LIMIT, 500);
        assert_int_equal(daruma_case_next(&c, &f, 0, at(i)).act, DARUMA_STOP);
    }
}

static void who_has_nobody_else_waits_for_what_is_down_and_is_woken(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    succeeds(w, &p, &t, 1000);
    for (int i = 0; i < 10; i++)
        fails(w, &p, &t, failure(DARUMA_SERVER_ERROR, 500), 9000);
    daruma_condition h = daruma_health_look(w, &t, 9000);
    assert_false(h.well);
    assert_int_equal(h.named_in, 0);
    assert_in_range(h.alone_in, ALONE_MS_MIN, 4000); /* half of the time since it last worked, at most */
    daruma_case c, d;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(9000));
    daruma_case_open(&d, w, &p, &t, 1, -1, -1, of_another(9000));
    daruma_admission a = daruma_case_admit(&c, at(9000));
    assert_int_equal(a.act, DARUMA_SEND);
    assert_int_equal(a.wait, h.alone_in);
    assert_int_equal(a.why, DARUMA_SERVER_ERROR);
    assert_int_equal(daruma_case_admit(&d, at(9000)).wait, h.alone_in);
    daruma_ms now = 9000 + h.alone_in;
    out(&c, now);                                                                 /* the probe */
    assert_int_equal(daruma_case_admit(&d, at(now)).wait, BREAKER_PROBE_LOOK_MS); /* one at a time */
    uint32_t healed = daruma_health_healed(w);
    daruma_case_done(&c, at(now + 100));
    assert_int_not_equal(daruma_health_healed(w), healed);
    out(&d, now + 100);
}

static void what_failed_twice_only_is_asked_by_who_has_nobody_else(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "a", "k2")};
    for (int i = 0; i < 2; i++)
        fails(w, &p, t, failure(DARUMA_SERVER_ERROR, 500), 0);
    assert_false(daruma_health_look(w, t, 0).well);
    daruma_case c, d;
    daruma_case_open(&c, w, &p, t, 1, -1, -1, of_another(0));
    assert_int_equal(out(&c, 0), 0);
    daruma_case_open(&d, w, &p, t, 2, 0, -1, of_another(0));
    assert_int_equal(out(&d, 0), 1);
}

static void nobody_fails_without_having_asked_unless_a_wait_was_named(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    for (int named = 0; named < 2; named++) {
        daruma_health *w = a_health();
        succeeds(w, &p, &t, 1);
        for (int i = 0; i < 10; i++)
            fails(w, &p, &t, advised(DARUMA_SERVER_ERROR, 500, named ? 20000 : -1), 60000);
        assert_true(daruma_health_look(w, &t, 60000).alone_in > 5000);
        daruma_case c; /* its time is shorter than the rest */
        daruma_case_open(&c, w, &p, &t, 1, -1, 63000, of_another(60000));
        if (!named) { /* nobody waits for more than a part of his time without asking */
            assert_int_equal(daruma_case_admit(&c, at(60000)).wait, ALONE_LOOK_MS);
            assert_int_equal(daruma_case_admit(&c, at(60000 + ALONE_MS_MIN)).wait, ALONE_LOOK_MS);
            assert_int_equal(out(&c, 60000 + 3000 / HURRY_DIV), 0);
            continue;
        }
        daruma_admission a = daruma_case_admit(&c, at(60000));
        assert_int_equal(a.act, DARUMA_STOP);
        assert_int_equal(a.why, DARUMA_SERVER_ERROR);
        assert_in_range(daruma_case_again_in(&c, NULL, 60000), 20000, REST_MS_MAX);
    }
}

static void nobody_is_given_up_while_there_is_time_for_one_more_call(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    succeeds(w, &p, &t, 0);
    daruma_case c; /* it was silent for all of this time, and so were others; now all of them are hung up on */
    daruma_case_open(&c, w, &p, &t, 1, -1, 10000, of_another(0));
    assert_int_equal(out(&c, 0), 0);
    daruma_failure f = failure(DARUMA_NETWORK, 0);
    for (daruma_ms now = 500; now <= 8500; now += 500)
        fails(w, &p, &t, f, now);
    assert_true(daruma_health_look(w, &t, 8500).alone_in > 1500);
    daruma_remedy r = daruma_case_next(&c, &f, 0, at(8500));
    assert_int_equal(r.act, DARUMA_SEND);
    assert_in_range(r.wait, WAIT_MS_MIN, 1500 / 2);
    daruma_case_open(&c, w, &p, &t, 1, -1, 8500 + WAIT_MS_MIN, of_another(8400));
    while (daruma_case_admit(&c, at(8400)).wait > 0)
        c.not_before = 8400;
    assert_int_equal(daruma_case_next(&c, &f, 0, at(8500)).act, DARUMA_STOP); /* now there is not */
}

static void what_broke_off_goes_on_with_everybody_who_was_not_asked(void **state)
{
    (void)state;
    static const daruma_kind kinds[] = {DARUMA_PERMISSION, DARUMA_QUOTA, DARUMA_AUTH, DARUMA_MODEL_NOT_FOUND};
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("r", "o", "c", "j"),
                         target("s", "o", "d", "i")};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        daruma_case c;
        daruma_case_open(&c, a_health(), &p, t, 4, -1, -1, of_another(0));
        c.can_mend = true;
        for (int to = 0; to < 4; to++) {
            daruma_failure f = surely(kinds[i], 400);
            assert_int_equal(out(&c, 0), to);
            daruma_remedy r = daruma_case_next(&c, &f, 100, at(0));
            assert_int_equal(r.remedy, to < 3 ? DARUMA_REMEDY_RESUME : DARUMA_REMEDY_KEEP_PARTIAL);
        }
    }
}

static void the_last_call_of_a_request_leaves_time_for_its_answer(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_health *w = a_health();
    daruma_case c;
    for (int i = 0; i < 20; i++) { /* its answers take a second */
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(0));
        out(&c, 0);
        daruma_case_headed(&c, at(1000));
        daruma_case_begun(&c, at(1000));
        daruma_case_done(&c, at(1000));
    }
    for (int i = 0; i < 10; i++)
        fails(w, &p, &t, failure(DARUMA_SERVER_ERROR, 500), 60000);
    daruma_case_open(&c, w, &p, &t, 1, -1, 62000, of_another(60000));
    daruma_ms now = 60000, taken = 60000; /* somebody else asks each time that one may */
    for (daruma_admission a = {0}; !c.out; now += a.wait) {
        if (now - taken >= ALONE_MS_MIN - ALONE_LOOK_MS) {
            fails(w, &p, &t, failure(DARUMA_SERVER_ERROR, 500), now);
            taken = now;
        }
        a = daruma_case_admit(&c, at(now));
        assert_int_equal(a.act, DARUMA_SEND);
    }
    assert_in_range(now, 60400, 60600);
}

static void the_last_call_is_none_where_somebody_asks_just_now(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    for (int first = 0; first < 2; first++) { /* but nobody is refused unasked */
        daruma_health *w = a_health();
        daruma_case c;
        succeeds(w, &p, &t, 1000);
        for (daruma_ms now = 40000; now <= 59500; now += 1500)
            fails(w, &p, &t, failure(DARUMA_SERVER_ERROR, 500), now);
        for (int i = 0; i < 20; i++)
            health_took(w, &t, HEALTH_CONTENT, false, 0, 58000, 60000); /* as much as it has */
        daruma_case_open(&c, w, &p, &t, 1, -1, 62000, of_another(57000));
        daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
        c.policy = &p;
        if (!first) {
            c.attempts = 1;
            c.calls[0] = 1;
            c.last = f.kind;
            c.sent_at = 57000;
        }
        fails(w, &p, &t, f, 60400);
        daruma_admission a = daruma_case_admit(&c, at(60500));
        assert_int_equal(a.act, DARUMA_SEND);
        assert_int_equal(a.wait > 0, !first);
    }
}

static void each_target_is_asked_before_it_ends_however_sick_they_are(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "a", "k2"), target("r", "m", "a", "k3")};
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 10; i++)
            fails(w, &p, &t[k], down, 10000);
    daruma_case c;
    daruma_case_open(&c, w, &p, t, 3, -1, 10000 + 20000, of_another(10000));
    bool asked[3] = {0};
    daruma_ms now = 10000;
    for (int i = 0; i < 1000; i++) {
        daruma_admission a = daruma_case_admit(&c, at(now));
        if (a.act != DARUMA_SEND)
            break;
        if (a.wait) {
            now += a.wait;
            continue;
        }
        asked[a.target] = true;
        daruma_remedy r = daruma_case_next(&c, &down, 0, at(now));
        if (r.act != DARUMA_SEND)
            break;
        now += r.wait;
    }
    assert_true(asked[0] && asked[1] && asked[2]);
    assert_true(now < 30000);
}

static void patience_ends_in_an_honest_failure(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case c;
    daruma_ms now = 0;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(0));
    daruma_remedy r = {.act = DARUMA_SEND};
    while (r.act == DARUMA_SEND && c.attempts < 100) {
        daruma_admission a = daruma_case_admit(&c, at(now));
        assert_int_equal(a.act, DARUMA_SEND);
        now += a.wait;
        if (a.wait)
            continue;
        r = daruma_case_next(&c, &down, 0, at(now));
        now += r.wait;
    }
    assert_int_equal(r.remedy, DARUMA_REMEDY_EXPLAIN);
    assert_in_range(now, p.patience / 2, p.patience);
    assert_in_range(c.attempts, 6, p.max_attempts);
    assert_true(daruma_case_again_in(&c, &down, now) > 0);
    assert_true(c.waited <= p.patience);
}

/* Another request is answered, or fails, behind each failure of one that fails always. How long that one is tried. */
static daruma_ms tried_beside_others(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_failure f,
                                     int others_fail_each)
{
    daruma_case c;
    daruma_ms now = 0;
    daruma_case_open(&c, w, p, t, 1, -1, -1, of_another(0));
    daruma_remedy r = {.act = DARUMA_SEND};
    while (r.act == DARUMA_SEND && c.attempts < 100) {
        daruma_admission a = daruma_case_admit(&c, at(now));
        assert_int_equal(a.act, DARUMA_SEND);
        now += a.wait;
        if (a.wait)
            continue;
        r = daruma_case_next(&c, &f, 0, at(now));
        if (c.attempts > UNFIT_TELLS + 1 && !others_fail_each && f.kind == DARUMA_SERVER_ERROR)
            assert_true(daruma_health_look(w, t, now).well); /* it spoils nothing for others */
        succeeds(w, p, t, now + 1);
        if (others_fail_each && c.attempts % others_fail_each == 0)
            fails(w, p, t, f, now + 2);
        now += r.wait;
    }
    assert_int_equal(r.remedy, DARUMA_REMEDY_EXPLAIN);
    return now;
}

static void what_fails_while_others_are_answered_is_given_up_sooner_and_spoils_nothing(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_ms most = p.patience / UNFIT_PATIENCE_DIV;
    assert_in_range(tried_beside_others(a_health(), &p, &t, failure(DARUMA_SERVER_ERROR, 500), 0), most / 2, most);
    /* others fail as well, now and then: it is the place */
    assert_true(tried_beside_others(a_health(), &p, &t, failure(DARUMA_SERVER_ERROR, 500), 2) > most);
    /* there is no room for it, perhaps */
    assert_true(tried_beside_others(a_health(), &p, &t, failure(DARUMA_OVERLOADED, 529), 0) > most);
}

static void patience_counts_from_the_first_failure_not_from_the_call(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case c;
    daruma_case_open(&c, a_health(), &p, &t, 1, -1, -1, of_another(0));
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &down, 0, at(10 * p.patience)), WAIT_RETRY, 500, 0); /* it thought for long */
}

static void a_client_without_patience_waits_only_for_its_ladder(void **state)
{
    (void)state;
    daruma_policy p = calm();
    p.patience = 0;
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "a", "k2")};
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case c;
    daruma_case_open(&c, a_health(), &p, t, 2, -1, -1, of_another(0));
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &down, 0, at(0)), SWITCH_MODEL, 0, 1);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &down, 0, at(0)), EXPLAIN, 0, 1);
}

static void an_empty_budget_stretches_the_backoff_and_leaves_the_way_out_free(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("q", "m", "a", "k2")};
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500);
    for (int empty = 0; empty < 2; empty++) {
        daruma_health *w = a_health();
        daruma_budget *b = daruma_health_budget(w, t, 0);
        while (empty && daruma_budget_take(b, 0))
            continue;
        daruma_case c;
        daruma_case_open(&c, w, &p, t, 2, -1, -1, of_another(0));
        out(&c, 0);
        assert_remedy(daruma_case_next(&c, &down, 0, at(0)), WAIT_RETRY, empty ? 500 << BUDGET_EMPTY_STEPS : 500, 0);
        int64_t left = daruma_budget_left(b, 0);
        daruma_budget *other = daruma_health_budget(w, &t[1], 0);
        assert_int_equal(daruma_budget_left(other, 0), BUDGET_FLOOR);
        assert_remedy(daruma_case_next(&c, &down, 0, at(0)), SWITCH_MODEL, 0, 1);
        assert_int_equal(daruma_budget_left(b, 0), left + !empty); /* the repeat was not made */
        assert_int_equal(daruma_budget_left(other, 0), BUDGET_FLOOR);
    }
}

static void no_repeat_waits_less_than_its_floor_whatever_the_dice_say(void **state)
{
    (void)state;
    const daruma_policy *p = daruma_policy_find(S("default"));
    static const daruma_kind kinds[] = {DARUMA_SERVER_ERROR, DARUMA_OVERLOADED, DARUMA_RATE_LIMIT};
    daruma_target t = target("p", "m", "a", "k1");
    for (size_t k = 0; k < 3; k++)
        for (uint64_t dice = 0; dice < 2000; dice++) {
            daruma_case c;
            daruma_failure f = failure(kinds[k], 503);
            daruma_moment m = {.now = 0, .dice = dice * 0x9e3779b97f4a7c15u};
            daruma_case_open(&c, a_health(), p, &t, 1, -1, -1, m);
            out(&c, 0);
            daruma_remedy r = daruma_case_next(&c, &f, 0, m);
            assert_in_range(r.wait, WAIT_MS_MIN, p->kinds[kinds[k]].backoff.base * 9 / 8);
            daruma_admission a = daruma_case_admit(&c, m); /* a host that asks early is told the same */
            assert_in_range(a.wait, WAIT_MS_MIN, r.wait);
        }
}

static void a_vague_refusal_is_asked_once_more_and_a_clear_one_is_not(void **state)
{
    (void)state;
    static const daruma_kind kinds[] = {DARUMA_AUTH, DARUMA_PERMISSION};
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    for (size_t k = 0; k < 2; k++) {
        daruma_case c;
        daruma_failure vague = failure(kinds[k], 403), sure = surely(kinds[k], 403);
        vague.sure = VAGUE_BELOW - 1;
        sure.sure = VAGUE_BELOW;
        daruma_case_open(&c, a_health(), &p, &t, 1, -1, -1, of_another(0));
        out(&c, 0);
        assert_remedy(daruma_case_next(&c, &vague, 0, at(0)), WAIT_RETRY, 500, 0);
        out(&c, 500);
        assert_remedy(daruma_case_next(&c, &vague, 0, at(500)), EXPLAIN, 0, 0);
        daruma_case_open(&c, a_health(), &p, &t, 1, -1, -1, of_another(0));
        out(&c, 0);
        assert_remedy(daruma_case_next(&c, &sure, 0, at(0)), EXPLAIN, 0, 0);
    }
}

static void a_model_whose_words_are_wrong_is_not_waited_for(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k1"), target("p", "m", "b", "k2")};
    static const struct {
        int status;
        bool answered; /* all of an answer came: the host says so */
        bool waits;
    } rows[] = {{200, false, true}, {200, true, false}, {400, false, false}, {500, false, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_case c;
        daruma_failure f = failure(DARUMA_MALFORMED_OUTPUT, rows[i].status);
        f.retryable = true;
        daruma_case_open(&c, a_health(), &p, t, 2, -1, -1, of_another(0));
        bool waited = false;
        daruma_remedy r = {.act = DARUMA_SEND};
        for (daruma_ms now = 0; r.act == DARUMA_SEND && now < 300000; now += r.wait) {
            out(&c, now);
            if (rows[i].answered)
                daruma_case_answered(&c, at(now));
            r = daruma_case_next(&c, &f, 0, at(now));
            waited |= r.act == DARUMA_SEND && r.wait > 0;
        }
        assert_int_equal(waited, rows[i].waits);
        assert_int_equal(r.act, DARUMA_STOP);
        if (!rows[i].waits)
            assert_true(c.attempts <= 5);
    }
}

static void without_health_each_request_goes_out_as_if_it_were_the_first(void **state)
{
    (void)state;
    daruma_policy p = calm();
    p.health = false;
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    for (int i = 0; i < 30; i++) {
        static const daruma_kind kinds[] = {DARUMA_SERVER_ERROR, DARUMA_RATE_LIMIT, DARUMA_AUTH, DARUMA_QUOTA};
        daruma_case c;
        daruma_failure f = advised(kinds[i % 4], 500, i % 3 ? -1 : 50000);
        f.sure = 95;
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(i));
        out(&c, i);
        daruma_case_next(&c, &f, 0, at(i));
        daruma_case_close(&c, DARUMA_OUTCOME_EXPLAINED, at(i));
    }
    for (size_t i = 0; daruma_policy_name(i); i++) { /* so do those whose rules are a seed's */
        const daruma_policy *seed = daruma_policy_find(str_of(daruma_policy_name(i)));
        bool own = str_eq(str_of(seed->profile), S("default"));
        assert_int_equal(seed->health, own);
        assert_int_equal(seed->patience >= 0, own);
    }
}

static void a_rate_limited_lane_is_waited_for_or_refused_with_its_reason(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k1");
    fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 5000), 0);
    assert_int_equal(daruma_health_look(w, &t, 0).named_in, 5000);
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
    daruma_case_open(&c, a_health(), &p, t, 4, -1, -1, at(0));
    out(&c, 0);
    daruma_failure f = failure(DARUMA_CONTEXT_LENGTH, 400);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_MODEL, 0, 3);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 3);
}

/* The page of a proxy that takes fewer bytes: it says nothing of another provider. */
static void a_request_of_too_many_bytes_is_asked_of_another_provider(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "n", "a", "k"), target("q", "m", "a", "k")};
    for (int i = 0; i < 3; i++)
        t[i].window = -1;
    daruma_case c;
    daruma_case_open(&c, a_health(), &p, t, 3, -1, -1, at(0));
    out(&c, 0);
    daruma_failure f = failure(DARUMA_REQUEST_TOO_LARGE, 413);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_MODEL, 0, 2);
    out(&c, 0);
    assert_remedy(daruma_case_next(&c, &f, 0, at(0)), EXPLAIN, 0, 2);
}

/* What a request may be refused for, by one place and not by another. */
static const struct {
    daruma_kind kind;
    int status;
} refusals[] = {{DARUMA_UNKNOWN, 400},          {DARUMA_INVALID_PARAMETER, 400},   {DARUMA_INVALID_MESSAGE, 400},
                {DARUMA_ORPHAN_TOOL_CALL, 400}, {DARUMA_INVALID_TOOL_SCHEMA, 400}, {DARUMA_OUTPUT_LIMIT, 400},
                {DARUMA_CONTENT_FILTER, 400},   {DARUMA_REQUEST_TOO_LARGE, 413},   {DARUMA_CONTEXT_LENGTH, 400}};

static void a_neighbours_refusal_ends_nothing_while_the_first_place_rests(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    for (size_t i = 0; i < COUNT(refusals); i++) {
        daruma_health *w = a_health();
        daruma_case c;
        for (int n = 0; n < 8; n++) /* down altogether */
            fails(w, &p, &t[0], failure(DARUMA_NETWORK, 0), 1000 * n);
        daruma_case_open(&c, w, &p, t, 2, -1, -1, of_another(7100));
        assert_int_equal(out(&c, 7100), 1);
        daruma_failure f = failure(refusals[i].kind, refusals[i].status);
        daruma_remedy r = daruma_case_next(&c, &f, 0, at(7100));
        assert_int_equal(r.remedy, DARUMA_REMEDY_SWITCH_MODEL);
        assert_int_equal(r.target, 0);
        assert_true(r.wait > 0 && r.wait <= 4000);
        assert_int_equal(out(&c, 7100 + r.wait), 0);
        daruma_case_done(&c, at(7300 + r.wait));
        assert_int_equal(c.outcome, DARUMA_OUTCOME_RECOVERED);
        assert_int_equal(c.attempts, 2);
    }
}

static void a_neighbours_refusal_goes_on_to_the_next_and_back_to_who_only_failed(void **state)
{
    (void)state;
    daruma_policy p = calm();
    p.kinds[DARUMA_SERVER_ERROR].max_attempts = 1;
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l"), target("q", "n", "b", "l2"),
                         target("r", "o", "c", "j")};
    daruma_failure sick = failure(DARUMA_SERVER_ERROR, 503);
    for (size_t i = 0; i < COUNT(refusals); i++) {
        daruma_failure f = failure(refusals[i].kind, refusals[i].status);
        daruma_case c;
        goes_on(&c, a_health(), &p, t, 4, &sick, 0);
        bool narrow = f.kind == DARUMA_CONTEXT_LENGTH || f.kind == DARUMA_REQUEST_TOO_LARGE;
        daruma_remedy r = daruma_case_next(&c, &f, 0, at(0));
        assert_remedy(r, SWITCH_MODEL, 0, 3);
        assert_int_equal(out(&c, 0), 3);
        r = daruma_case_next(&c, &f, 0, at(0));
        assert_int_equal(r.remedy, DARUMA_REMEDY_SWITCH_MODEL);
        assert_int_equal(r.target, 0);
        assert_true(r.wait >= 500 || narrow);
        assert_int_equal(out(&c, r.wait), 0);
        assert_int_equal(daruma_case_next(&c, &f, 0, at(r.wait)).remedy,
                         DARUMA_REMEDY_EXPLAIN); /* all have refused it */
    }
}

static void what_the_first_place_refuses_is_final_unless_its_model_lacks_it(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("p", "m", "a2", "k2"), target("q", "n", "b", "l")};
    for (size_t i = 1; i < COUNT(refusals) - 2; i++) { /* not of what nobody explained, nor of its size */
        daruma_failure f = failure(refusals[i].kind, refusals[i].status);
        daruma_case c;
        daruma_case_open(&c, a_health(), &p, t, 3, -1, -1, at(0));
        out(&c, 0);
        assert_int_equal(daruma_case_next(&c, &f, 0, at(0)).remedy, DARUMA_REMEDY_EXPLAIN);
        assert_int_equal(daruma_case_again_in(&c, &f, 0), -1);
        f.lacks = DARUMA_CAN_TOOLS;
        daruma_case_open(&c, a_health(), &p, t, 3, -1, -1, at(0));
        out(&c, 0);
        assert_remedy(daruma_case_next(&c, &f, 0, at(0)), SWITCH_MODEL, 0, 2);
        assert_int_equal(out(&c, 0), 2);
    }
}

static void a_neighbours_refusal_says_when_to_come_again_where_the_first_place_was_not_back(void **state)
{
    (void)state;
    daruma_policy p = calm();
    p.patience = 100;
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_health *w = a_health();
    daruma_case c;
    for (int n = 0; n < 8; n++)
        fails(w, &p, &t[0], failure(DARUMA_NETWORK, 0), 1000 * n);
    daruma_case_open(&c, w, &p, t, 2, -1, -1, of_another(7100));
    assert_int_equal(out(&c, 7100), 1);
    daruma_failure f = failure(DARUMA_INVALID_PARAMETER, 400);
    daruma_ms now = 7100;
    daruma_remedy r = daruma_case_next(&c, &f, 0, at(now));
    if (r.act == DARUMA_SEND) { /* it finds out itself, since its patience is over */
        now += r.wait;
        assert_int_equal(out(&c, now), 0);
        f = failure(DARUMA_NETWORK, 0);
        r = daruma_case_next(&c, &f, 0, at(now));
    }
    assert_int_equal(r.remedy, DARUMA_REMEDY_EXPLAIN);
    assert_true(daruma_case_again_in(&c, &f, now) > 0);
}

/* Another request's answer is wrong at `now`: its target works, or says so with a status. */
static void is_wrong(daruma_health *w, const daruma_policy *p, const daruma_target *t, bool capped, daruma_ms now)
{
    daruma_case c;
    daruma_policy off = *p;
    off.enabled = false;
    daruma_failure f = failure(DARUMA_MALFORMED_OUTPUT, 200);
    daruma_case_open(&c, w, &off, t, 1, -1, -1, of_another(now));
    out(&c, now);
    daruma_case_answered(&c, at(now));
    c.capped = capped;
    daruma_case_next(&c, &f, 0, at(now));
    daruma_case_close(&c, DARUMA_OUTCOME_EXPLAINED, at(now));
}

static void a_model_whose_answers_are_wrong_for_two_requests_is_asked_last_and_holds_up_nobody(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k"), same = target("p", "m", "b", "l"), other = target("p", "n", "a", "k");
    is_wrong(w, &p, &t, false, 1000);
    assert_true(daruma_health_look(w, &t, 1000).well); /* it may be what that request asks for */
    is_wrong(w, &p, &t, true, 1050);
    assert_true(daruma_health_look(w, &t, 1050).well); /* its own cap cut it */
    succeeds(w, &p, &t, 1060);
    is_wrong(w, &p, &t, false, 1070);
    assert_true(daruma_health_look(w, &t, 1070).well); /* not in a row */
    daruma_ms now = 1100;
    for (daruma_ms rest = 2000; rest <= 16000; rest *= 2) {
        is_wrong(w, &p, &t, false, now);
        assert_int_equal(daruma_health_look(w, &t, now).in, rest);
        assert_int_equal(daruma_health_look(w, &t, now).alone_in, 0);
        assert_false(daruma_health_look(w, &same, now).well);
        assert_true(daruma_health_look(w, &other, now).well);
        is_wrong(w, &p, &t, false, now + 100); /* of somebody who asked all the same */
        assert_int_equal(daruma_health_look(w, &t, now + 100).in, rest - 100);
        now += rest;
    }
    assert_true(daruma_health_look(w, &t, now).well); /* one finds out */
    succeeds(w, &p, &t, now);
    is_wrong(w, &p, &t, false, now + 1);
    assert_true(daruma_health_look(w, &t, now + 1).well);
}

static void a_wrong_answer_of_a_model_that_rests_for_such_is_asked_of_another_at_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "n", "b", "l")};
    daruma_failure f = failure(DARUMA_MALFORMED_OUTPUT, 200);
    for (int i = 0; i < 3; i++) {
        daruma_case c;
        daruma_case_open(&c, w, &p, t, 2, 0, -1, of_another(1000));
        c.can_mend = true;
        assert_int_equal(out(&c, 1000), i < 2 ? 0 : 1);
        if (i == 2)
            break;
        daruma_case_answered(&c, at(1000));
        c.anew = i == 1; /* the client has the beginning of a stream */
        daruma_remedy r = daruma_case_next(&c, &f, (size_t)i, at(1000));
        if (r.remedy == DARUMA_REMEDY_RESUME) /* which is unfit where a call was wrong */
            r = daruma_case_next(&c, &f, (size_t)i, at(1000));
        assert_int_equal(r.remedy, i == 0 ? DARUMA_REMEDY_ASK_AGAIN : DARUMA_REMEDY_SWITCH_MODEL);
        daruma_case_close(&c, DARUMA_OUTCOME_EXPLAINED, at(1000));
    }
}

static void a_client_that_leaves_is_nobodys_failure(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    for (int i = 0; i < 30; i++) {
        daruma_case c;
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
        out(&c, 0);
        daruma_case_close(&c, DARUMA_OUTCOME_CANCELLED_, at(0));
        assert_false(c.out);
    }
    daruma_place list[8];
    size_t n = daruma_health_list(w, 0, list, 8);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(list[i].calls, 0);
}

/* Calls and bad ones of all places together. */
static void told_to_health(const daruma_health *w, uint32_t *all, uint32_t *bad)
{
    daruma_place list[8];
    size_t n = daruma_health_list(w, 0, list, 8);
    *all = *bad = 0;
    for (size_t i = 0; i < n && i < 8; i++) {
        *all += list[i].calls;
        *bad += list[i].bad;
    }
}

static void a_continuation_that_cannot_be_joined_is_no_fault_of_its_target(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    uint32_t all, bad;
    for (int answered = 0; answered < 2; answered++) {
        daruma_health *w = a_health();
        daruma_case c;
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
        c.can_mend = true;
        out(&c, 0);
        daruma_failure f = failure(DARUMA_INTERRUPTED, 200), down = failure(DARUMA_SERVER_ERROR, 500);
        assert_remedy(daruma_case_next(&c, &f, 100, at(0)), RESUME, 0, 0);
        out(&c, 0);
        if (answered)
            daruma_case_answered(&c, at(0));
        daruma_case_next(&c, answered ? &f : &down, 100, at(0));
        told_to_health(w, &all, &bad);
        assert_int_equal(bad, 3 + 3 * !answered); /* the cut one counts, for the lane, the model and its provider */
        assert_int_equal(all, 6);
        out(&c, 60000);
        daruma_case_next(&c, &down, 100, at(60000)); /* what was said of one attempt holds for that one alone */
        told_to_health(w, &all, &bad);
        assert_true(bad > 0);
    }
}

static void a_target_that_answers_is_well_again_whatever_use_its_answer_is(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500), f = failure(DARUMA_INTERRUPTED, 200);
    for (int i = 0; i < 40 && daruma_health_look(w, &t, 0).well; i++) {
        daruma_case c;
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
        out(&c, 0);
        daruma_case_next(&c, &down, 0, at(0));
        daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at(0));
    }
    daruma_condition sick = daruma_health_look(w, &t, 0);
    assert_false(sick.well);
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(sick.in));
    out(&c, sick.in); /* the probe */
    daruma_case_answered(&c, at(sick.in));
    daruma_case_next(&c, &f, 100, at(sick.in));
    daruma_place list[8];
    size_t n = daruma_health_list(w, sick.in, list, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        assert_string_equal(list[i].breaker, "closed");
}

static void a_model_whose_answers_break_off_is_left_alone_but_gone_on_with(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *w = a_health();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    daruma_failure cut = failure(DARUMA_INTERRUPTED, 200);
    daruma_case c;
    for (int i = 0; i < BREAKER_CALLS_MIN; i++) {
        daruma_case_open(&c, w, &p, t, 1, -1, -1, at(0));
        out(&c, 0);
        daruma_case_next(&c, &cut, 100, at(0));
        daruma_case_close(&c, DARUMA_OUTCOME_DEGRADED, at(0));
    }
    assert_false(daruma_health_look(w, &t[0], 0).well);
    daruma_case_open(&c, w, &p, t, 2, 0, -1, at(1));
    assert_int_equal(out(&c, 1), 1);
    daruma_case_drop(&c, at(1));
    daruma_case_open(&c, w, &p, t, 1, -1, -1, at(1)); /* where there is no other it is tried, */
    c.can_mend = true;
    out(&c, 1);
    assert_remedy(daruma_case_next(&c, &cut, 100, at(1)), RESUME, 0, 0);
    out(&c, 1); /* and nobody waits in the middle of an answer */
}

static void who_waits_for_a_probe_waits_until_it_speaks(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    for (size_t targets = 1; targets <= 2; targets++) {
        daruma_health *w = a_health();
        daruma_case probe, waits;
        daruma_ms now = REST_MS_MAX; /* by then it may be probed */
        for (int i = 0; i < BREAKER_CALLS_MIN; i++)
            fails(w, &p, t, failure(DARUMA_SERVER_ERROR, 500), 0);
        daruma_case_open(&probe, w, &p, t, targets, 0, -1, at(now));
        assert_int_equal(out(&probe, now), 0);
        daruma_case_open(&waits, w, &p, t, 1, 0, -1, at(now));
        assert_true(daruma_case_admit(&waits, at(now)).wait > 0);
        daruma_case_begun(&probe, at(now + 100));
        assert_int_equal(daruma_health_look(w, t, now + 100).well, targets == 1); /* else: to the other */
        daruma_case_done(&probe, at(now + 9000));
        assert_true(daruma_health_look(w, t, now + 9000).well);
    }
}

static void the_head_of_a_probe_shows_that_its_place_is_back_where_calls_failed_before_it(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    for (int i = 0; i < 3; i++) {
        daruma_health *w = a_health();
        daruma_failure f = i < 2 ? failure(DARUMA_SERVER_ERROR, 500) : failure(DARUMA_MALFORMED_OUTPUT, 200);
        size_t targets = i == 0 ? 2 : 1 + (size_t)(i == 2);
        daruma_case probe;
        f.retryable = true;
        for (int n = 0; n < BREAKER_CALLS_MIN; n++)
            fails(w, &p, t, f, 0);
        daruma_case_open(&probe, w, &p, t, targets, 0, -1, at(REST_MS_MAX));
        assert_int_equal(out(&probe, REST_MS_MAX), 0);
        daruma_case_headed(&probe, at(REST_MS_MAX + 100));
        assert_int_equal(daruma_health_look(w, t, REST_MS_MAX + 100).well, i == 0);
    }
}

static void what_was_closed_after_a_long_silence_goes_out_again_at_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    for (int silent = 0; silent < 2; silent++) {
        daruma_health *w = a_health();
        daruma_case c;
        succeeds(w, &p, &t, 0);
        daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(0));
        out(&c, silent ? 0 : 60000 - 100);
        for (daruma_ms now = 30000; now <= 60000; now += 2000) /* meanwhile others met that it is down */
            fails(w, &p, &t, failure(DARUMA_NETWORK, 0), now);
        assert_true(daruma_health_look(w, &t, 60000).alone_in > 5000);
        daruma_failure f = failure(DARUMA_NETWORK, 0);
        f.net = DARUMA_NET_RESET;
        daruma_remedy r = daruma_case_next(&c, &f, 0, at(60000));
        assert_int_equal(r.act, DARUMA_SEND);
        if (silent) {
            assert_in_range(r.wait, WAIT_MS_MIN, 2 * WAIT_MS_MIN);
            assert_int_equal(out(&c, 60000 + r.wait), 0);
        } else {
            assert_true(r.wait > 5000);
        }
    }
}

/* Answers of `t` that take so long, often enough to know. */
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

static void a_repeat_goes_out_while_there_is_time_for_its_answer_but_only_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case c;
    takes(w, &p, &t, 1000); /* at most 1500 usually */
    p.kinds[DARUMA_SERVER_ERROR].backoff.base = 3000;
    daruma_case_open(&c, w, &p, &t, 1, -1, 14000, of_another(0));
    out(&c, 10000);
    assert_in_range(daruma_case_next(&c, &f, 0, at(10000)).wait, 1, 1000); /* by its backoff 3000 */
    out(&c, 12200);
    assert_in_range(daruma_case_next(&c, &f, 0, at(12400)).wait, WAIT_MS_MIN, 200);
    out(&c, 12600); /* from here on an answer would come too late */
    assert_true(daruma_case_next(&c, &f, 0, at(12700)).wait > 200);
}

static void a_named_wait_that_leaves_no_time_for_an_answer_is_asked_about_again(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_health *w = a_health();
    daruma_case c, other;
    takes(w, &p, &t, 3000); /* at most 4500 usually */
    fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 8000), 10000);
    daruma_case_open(&other, w, &p, &t, 1, -1, 60000, of_another(10100));
    assert_int_equal(daruma_case_admit(&other, at(10100)).wait, 7900); /* it has the time: it waits */
    daruma_case_open(&c, w, &p, &t, 1, -1, 20000, of_another(10100));
    assert_in_range(daruma_case_admit(&c, at(10100)).wait, 1, ALONE_MS_MIN); /* somebody asked just now */
    assert_int_equal(out(&c, 10100 + ALONE_MS_MIN), 0);
    uint32_t healed = daruma_health_healed(w);
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, 5000);
    daruma_case_next(&c, &f, 0, at(10700)); /* the newer word ends at 15700, not at 18000 */
    assert_int_equal(daruma_health_look(w, &t, 10700).named_in, 5000);
    assert_true(daruma_health_healed(w) > healed); /* so that those who wait look again */
    assert_int_equal(daruma_case_admit(&other, at(10700)).wait, 5000);
    fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 5000), 11000); /* whole seconds, rounded up: that is no news */
    assert_int_equal(daruma_health_look(w, &t, 11000).named_in, 4700);
    fails(w, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 9000), 11000); /* but this is */
    assert_int_equal(daruma_health_look(w, &t, 11000).named_in, 9000);
}

static void of_two_named_waits_the_sooner_end_holds_for_whoever_asked(void **state)
{
    (void)state;
    daruma_policy p = calm(), off = p;
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_case c;
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, 10000);
    fails(w, &p, &t, f, 10000);
    off.enabled = false; /* it goes out whatever health says */
    daruma_case_open(&c, w, &off, &t, 1, -1, -1, of_another(10100));
    out(&c, 10100);
    c.policy = &p;
    daruma_remedy r = daruma_case_next(&c, &f, 0, at(10900)); /* in whole seconds, rounded up: 20000 is the end */
    assert_remedy(r, WAIT_RETRY, 9100, 0);
}

/* A case that is told to wait goes out, 1.5 s after the wait was named, to find out whether it is true. */
static daruma_case tests_named(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms told)
{
    daruma_case c, other;
    fails(w, p, t, advised(DARUMA_RATE_LIMIT, 429, told), 0);
    daruma_case_open(&c, w, p, t, 1, -1, -1, of_another(100));
    assert_int_equal(daruma_case_admit(&c, at(100)).wait, NAMED_TEST_MS - 100);
    out(&c, NAMED_TEST_MS);
    daruma_case_open(&other, w, p, t, 1, -1, -1, of_another(NAMED_TEST_MS));
    assert_true(daruma_case_admit(&other, at(NAMED_TEST_MS)).wait > 0); /* one at a time */
    return c;
}

static void a_long_wait_that_was_named_is_tested_and_ends_for_all(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_case c = tests_named(w, &p, &t, 45000);
    daruma_case_done(&c, at(1600));
    assert_true(daruma_health_look(w, &t, 1600).well);
}

static void a_wait_that_is_told_twice_to_end_then_holds(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    static const daruma_ms again[] = {43500, 44000, 45000, 30000}; /* ... rounded up; a constant; a guess that falls */
    for (size_t i = 0; i < COUNT(again); i++) {
        daruma_health *w = a_health();
        daruma_case c = tests_named(w, &p, &t, 45000);
        daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, again[i]);
        daruma_remedy r = daruma_case_next(&c, &f, 0, at(1500));
        daruma_condition h = daruma_health_look(w, &t, 1500);
        assert_true(i < 3 ? h.named_in >= 43500 : h.named_in == 30000);
        assert_int_equal(h.alone_in, i < 2 ? h.named_in : NAMED_TEST_MS);
        assert_true(i < 2 ? r.wait >= 43500 : r.wait < 3000);
    }
}

static void who_is_refused_gives_way_to_one_that_was_refused_before(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_case old, young, other;
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case_open(&old, w, &p, &t, 1, -1, -1, at(0));
    out(&old, 0);
    assert_remedy(daruma_case_next(&old, &f, 0, at(0)), WAIT_RETRY, 500, 0);
    assert_false(waits_may_turn(&old, 0, 300)); /* nobody was answered since */
    daruma_case_open(&other, w, &p, &t, 1, -1, -1, of_another(100));
    out(&other, 100);
    daruma_case_done(&other, at(200));
    assert_true(waits_may_turn(&old, 0, 300));
    daruma_case_open(&young, w, &p, &t, 1, -1, 600, of_another(250));
    assert_false(waits_gives_turn(&young, &old, 300)); /* it has the sooner deadline */
    young.deadline = -1;
    assert_true(waits_gives_turn(&young, &old, 300));
    assert_int_equal(daruma_case_admit(&old, at(300)).wait, 0);
    assert_int_equal(young.not_before, 500);
}

static void who_is_refused_again_and_again_beside_others_keeps_its_last_tries(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_case c, other;
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, at(0));
    daruma_ms now = 0;
    for (int turns = 0; turns <= TURNS_GIVEN_MAX; turns++, now += 1000) {
        out(&c, now);
        assert_int_equal(daruma_case_next(&c, &f, 0, at(now)).remedy, DARUMA_REMEDY_WAIT_RETRY);
        c.not_before = now + 4000;
        daruma_case_open(&other, w, &p, &t, 1, -1, -1, of_another(now + 100));
        out(&other, now + 100);
        daruma_case_done(&other, at(now + 200));
        assert_false(waits_may_turn(&c, 0, now + WAITERS_EACH_MS * (turns + 1) - 1));
        assert_int_equal(waits_may_turn(&c, 0, now + 999), turns < TURNS_GIVEN_MAX);
        if (turns < TURNS_GIVEN_MAX)
            waits_turn(&c, now + 1000);
    }
}

static void a_silence_that_is_closed_ends_the_outage_for_all(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure f = failure(DARUMA_NETWORK, 0);
    f.net = DARUMA_NET_RESET;
    daruma_health *w = a_health();
    daruma_case c;
    takes(w, &p, &t, 1000); /* at most 1500 usually */
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(54900));
    out(&c, 54900);
    for (daruma_ms now = 30000; now <= 59000; now += 1000)
        fails(w, &p, &t, failure(DARUMA_TIMEOUT, 0), now);
    assert_true(daruma_health_look(w, &t, 60000).alone_in > 5000);
    daruma_remedy r = daruma_case_next(&c, &f, 0, at(60000)); /* three times as long as is usual */
    assert_int_equal(r.act, DARUMA_SEND);
    assert_in_range(r.wait, WAIT_MS_MIN, 2 * WAIT_MS_MIN);
    assert_int_equal(daruma_health_look(w, &t, 60000).alone_in, 0);
}

static void patience_waits_for_a_call_that_finds_out(void **state)
{
    (void)state;
    daruma_policy p = calm();
    p.patience = 20000;
    daruma_target t = target("p", "m", "a", "k");
    daruma_health *w = a_health();
    daruma_case c, probe;
    daruma_case_open(&c, w, &p, &t, 1, -1, -1, of_another(49000)); /* while it was well */
    out(&c, 49000);
    daruma_failure f = failure(DARUMA_SERVER_ERROR, 500);
    for (daruma_ms now = 50000; now < 100000; now += 10000)
        fails(w, &p, &t, f, now);
    daruma_remedy r = daruma_case_next(&c, &f, 0, at(100000));
    assert_int_equal(r.act, DARUMA_SEND);
    daruma_case_open(&probe, w, &p, &t, 1, -1, -1, of_another(119900));
    daruma_ms asks = 119900;
    for (daruma_admission a; !probe.out; asks += a.wait)
        a = daruma_case_admit(&probe, at(asks));
    assert_true(asks < 120100);
    daruma_admission a = daruma_case_admit(&c, at(120100)); /* patience is over */
    assert_int_equal(a.act, DARUMA_SEND);
    assert_in_range(a.wait, 1, ALONE_LOOK_MS);
    daruma_case_done(&probe, at(120200));
    assert_int_equal(out(&c, 120200 + WAIT_MS_MIN), 0);
}

/* It was down for a minute, so that our own guess is longer than what it says now. */
static void a_named_wait_is_not_lengthened_by_a_guess_beyond_the_time_there_is(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k1");
    daruma_health *w = a_health();
    takes(w, &p, &t, 100);
    for (int i = 0; i < 10; i++)
        fails(w, &p, &t, failure(DARUMA_SERVER_ERROR, 500), 60000);
    fails(w, &p, &t, advised(DARUMA_SERVER_ERROR, 503, 5000), 60000);
    daruma_condition h = daruma_health_look(w, &t, 60000);
    assert_int_equal(h.named_in, 5000);
    assert_true(h.alone_in > 10000);
    daruma_case c;
    daruma_case_open(&c, w, &p, &t, 1, -1, 70000, of_another(60000));
    daruma_admission a = daruma_case_admit(&c, at(60000));
    assert_int_equal(a.act, DARUMA_SEND);
    assert_int_equal(a.wait, 5000);
}

/* All are told ten seconds, and have no more than thirty. */
static void those_who_were_told_the_same_wait_do_not_come_back_in_the_same_instant(void **state)
{
    (void)state;
    const daruma_policy *p = daruma_policy_find(S("default"));
    daruma_target t = target("p", "m", "a", "k1");
    daruma_failure f = advised(DARUMA_RATE_LIMIT, 429, 10000);
    daruma_ms least = INT64_MAX, most = 0;
    for (int i = 0; i < 20; i++) {
        daruma_health *w = a_health();
        daruma_case c;
        daruma_case_open(&c, w, p, &t, 1, -1, 30000, of_another(0));
        out(&c, 0);
        daruma_moment m = at(0);
        m.dice = (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15);
        daruma_ms wait = daruma_case_next(&c, &f, 0, m).wait;
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_true(least >= 10000);
    assert_true(most > least + 100);
}

static void what_is_down_for_long_is_asked_less_often_by_those_who_are_short_of_time(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    for (int i = 0; i < 3; i++) {
        daruma_health *w = a_health();
        daruma_ms down = i == 0 ? 4000 : 64000, now = 1000 + down;
        daruma_case c;
        succeeds(w, &p, &t, 1000);
        for (int n = 0; n < 20; n++)
            fails(w, &p, &t, failure(DARUMA_SERVER_ERROR, 500), now - 19 + n);
        /* 4 s down: twice a second. 64 s: every 4 s, but sooner for a request whose time is short itself. */
        daruma_ms every = i == 0 ? ALONE_MS_MIN : i == 1 ? down / HURRY_DOWN_DIV : 1000;
        daruma_case_open(&c, w, &p, &t, 1, -1, i == 2 ? now + every * (HURRY_DIV + 1) : now + 100000, of_another(now));
        assert_true(daruma_case_admit(&c, at(now + every - 1)).wait > 0);
        c.not_before = now;
        if (i)
            assert_int_equal(out(&c, now + every), 0);
    }
}

static void who_is_short_of_time_asks_another_place_while_the_first_was_asked_just_now(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    daruma_health *w = a_health();
    daruma_case c[3];
    for (int i = 0; i < 2; i++)
        succeeds(w, &p, &t[i], 1000);
    for (int n = 0; n < 40; n++)
        fails(w, &p, &t[n / 20], failure(DARUMA_SERVER_ERROR, 500), 9000 + n);
    for (int i = 0; i < 3; i++)
        daruma_case_open(&c[i], w, &p, t, 2, -1, 19000, of_another(9100));
    assert_int_equal(out(&c[0], 10000), 0); /* and is out for a while */
    assert_int_equal(out(&c[1], 10001), 1);
    assert_true(daruma_case_admit(&c[2], at(10002)).wait > 0);
}

/* A place that only has to slow down has no breaker that is open. */
static void a_place_that_rests_is_not_asked_by_all_at_once_who_are_short_of_time(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    daruma_health *w = a_health();
    int went[2] = {0};
    for (int i = 0; i < 2; i++)
        succeeds(w, &p, &t[i], 2000);
    for (daruma_ms now = 2400; now < 9000; now += daruma_health_look(w, &t[1], now).in)
        fails(w, &p, &t[1], failure(DARUMA_RATE_LIMIT, 429), now);
    assert_true(daruma_health_look(w, &t[1], 10000).in > 2500);
    for (int n = 0; n < 20; n++)
        fails(w, &p, &t[0], failure(DARUMA_SERVER_ERROR, 500), 9000 + n);
    for (int i = 0; i < 20; i++) {
        daruma_case c;
        daruma_case_open(&c, w, &p, t, 2, -1, 19000, of_another(9100));
        if (daruma_case_admit(&c, at(10000 + i)).wait == 0)
            went[c.target]++;
    }
    assert_int_equal(went[0], 1);
    assert_int_equal(went[1], 1);
}

static void answers_that_one_restart_cut_go_on_at_once(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure cut = failure(DARUMA_INTERRUPTED, 200), reset = failure(DARUMA_NETWORK, 0);
    reset.net = DARUMA_NET_RESET;
    for (int begun = 0; begun < 2; begun++) {
        daruma_health *w = a_health();
        daruma_case c[3 * BREAKER_DOWN_ROW];
        for (int i = 0; i < 3 * BREAKER_DOWN_ROW; i++) {
            daruma_case_open(&c[i], w, &p, &t, 1, -1, -1, of_another(1900));
            out(&c[i], 1900);
        }
        for (int i = 0; i < 3 * BREAKER_DOWN_ROW; i++) {
            if (begun)
                daruma_case_begun(&c[i], at(1950));
            daruma_case_next(&c[i], begun ? &cut : &reset, begun ? 100 : 0, at(2000));
        }
        daruma_condition h = daruma_health_look(w, &t, 2000);
        assert_false(h.well);
        assert_int_equal(h.alone_in > 0, !begun);
    }
}

static void nobody_waits_for_a_breaker_while_another_provider_is_well(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t[] = {target("p", "m", "a", "k"), target("q", "m", "a", "k")};
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500);
    for (size_t targets = 1; targets <= 2; targets++) {
        daruma_health *w = a_health();
        daruma_case c;
        fails(w, &p, t, down, 0);
        daruma_case_open(&c, w, &p, t, targets, 0, -1, of_another(0));
        assert_int_equal(out(&c, 0), 0); /* this one opens it */
        daruma_remedy r = daruma_case_next(&c, &down, 0, at(0));
        if (targets == 1)
            assert_remedy(r, WAIT_RETRY, 500, 0);
        else
            assert_remedy(r, SWITCH_MODEL, 0, 1);
    }
}

static void who_waits_goes_when_somebody_else_found_it_well(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure down = failure(DARUMA_SERVER_ERROR, 500);
    daruma_health *w = a_health();
    daruma_case waits;
    daruma_case_open(&waits, w, &p, &t, 1, -1, -1, at(0));
    out(&waits, 0);
    for (int i = 0; i < BREAKER_CALLS_MIN; i++)
        fails(w, &p, &t, down, 0);
    uint32_t healed = daruma_health_healed(w);
    daruma_case_next(&waits, &down, 0, at(0));
    daruma_ms rest = daruma_case_admit(&waits, at(100)).wait;
    assert_in_range(rest, 300, REST_MS_MAX);
    succeeds(w, &p, &t, 200); /* somebody else finds it well */
    assert_int_not_equal(daruma_health_healed(w), healed);
    daruma_admission a = daruma_case_admit(&waits, at(200));
    assert_int_equal(a.act, DARUMA_SEND);
    assert_int_equal(a.wait, 0); /* the floor of its own wait is behind it */
    assert_true(waits.out);
    assert_in_range(waits.waited, WAIT_MS_MIN, 200);
}

/* Calls of a case whose every attempt fails so, each half a minute later than it may. */
static uint32_t calls_until_the_end(daruma_case *c, const daruma_failure *f, daruma_ms *now)
{
    for (int i = 0; i < 64; i++) {
        daruma_admission a = daruma_case_admit(c, at(*now));
        if (a.act != DARUMA_SEND)
            return c->attempts;
        *now += a.wait;
        if (a.wait > 0)
            continue;
        daruma_remedy r = daruma_case_next(c, f, 0, at(*now));
        if (r.act != DARUMA_SEND)
            return c->attempts;
        *now += r.wait + 30000; /* no breaker shuts */
    }
    return UINT32_MAX;
}

static void keys_share_the_tries_of_what_is_sick(void **state)
{
    (void)state;
    static const struct {
        daruma_kind kind;
        int status;
        uint32_t calls; /* two models of four keys, two of each account */
    } rows[] = {{DARUMA_OVERLOADED, 529, 2 * 4},
                {DARUMA_SERVER_ERROR, 500, 2 * 4},
                {DARUMA_NETWORK, 0, 2 * 4},
                {DARUMA_TIMEOUT, 504, 2 * 4},
                {DARUMA_UNKNOWN, 599, 2 * 4},
                {DARUMA_INTERRUPTED, 0, 2 * 4},
                {DARUMA_MALFORMED_OUTPUT, 200, 2 * 4},
                {DARUMA_AUTH, 401, 4},
                {DARUMA_QUOTA, 402, 2},
                {DARUMA_PERMISSION, 403, 2 * 2},
                {DARUMA_MODEL_NOT_FOUND, 404, 2},
                {DARUMA_RATE_LIMIT, 429, 4 * 4}};
    daruma_target t[8];
    for (int i = 0; i < 8; i++)
        t[i] = target("p", i < 4 ? "m" : "n", i % 4 < 2 ? "a" : "b", (const char *[]){"k1", "k2", "k3", "k4"}[i % 4]);
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_policy p = calm();
        p.max_attempts = 4;
        p.patience = -1; /* the ladder alone ends it */
        daruma_failure f = surely(rows[i].kind, rows[i].status);
        f.retryable = true;
        daruma_case c, again;
        daruma_ms now = 0;
        daruma_case_open(&c, a_health(), &p, t, 8, -1, -1, at(now));
        uint32_t calls = calls_until_the_end(&c, &f, &now);
        if (calls != rows[i].calls)
            fail_msg("%s: %u calls, not %u", daruma_kind_name(rows[i].kind), calls, rows[i].calls);
        now += 86400000;
        daruma_case_open(&again, a_health(), &p, t, 8, -1, -1, at(now));
        case_resume(&again, &c);
        calls_until_the_end(&again, &f, &now);
        if (again.attempts - c.attempts > rows[i].calls)
            fail_msg("%s: %u calls when it comes again", daruma_kind_name(rows[i].kind), again.attempts - c.attempts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advice_is_waited_for_and_then_it_recovers),
        cmocka_unit_test(another_key_comes_before_waiting_but_not_of_the_same_account),
        cmocka_unit_test(a_switch_that_did_not_come_to_pass_is_told_as_the_wait_that_it_was),
        cmocka_unit_test(a_refused_key_costs_one_call_and_is_not_asked_again),
        cmocka_unit_test(credentials_are_fetched_anew_once),
        cmocka_unit_test(an_api_that_is_not_there_is_no_fault_of_the_model),
        cmocka_unit_test(an_unfit_remedy_is_given_back_and_the_next_one_is_tried),
        cmocka_unit_test(before_giving_up_a_target_that_is_well_soon_is_waited_for),
        cmocka_unit_test(a_wait_that_does_not_fit_becomes_another_target_or_an_end),
        cmocka_unit_test(a_request_that_comes_again_goes_on_where_it_ended),
        cmocka_unit_test(nothing_goes_out_after_the_deadline),
        cmocka_unit_test(what_was_waited_stays_counted_when_the_clock_goes_back),
        cmocka_unit_test(a_ladder_without_an_end_stops_and_gives_back_once),
        cmocka_unit_test(what_does_not_pass_is_asked_once_and_is_not_worth_coming_back_for),
        cmocka_unit_test(another_key_is_no_hope_while_the_provider_is_sick),
        cmocka_unit_test(nothing_is_sent_again_once_a_byte_went_out),
        cmocka_unit_test(a_long_conversation_is_shortened_at_most_so_often_and_then_moved),
        cmocka_unit_test(what_is_above_the_limit_becomes_smaller_and_rests_nobody),
        cmocka_unit_test(what_may_not_be_mended_moves_or_ends),
        cmocka_unit_test(a_refused_parameter_is_mended_up_to_eight_times_then_the_model_explains),
        cmocka_unit_test(a_place_that_refuses_without_a_reason_what_others_answer_is_asked_last_and_holds_up_nobody),
        cmocka_unit_test(a_refusal_without_a_reason_counts_once_and_only_where_it_was),
        cmocka_unit_test(a_refusal_without_a_reason_from_before_a_success_says_nothing),
        cmocka_unit_test(a_broken_stream_goes_on_here_then_elsewhere_then_what_came_is_kept),
        cmocka_unit_test(what_was_begun_goes_on_however_often_it_was_tried_before),
        cmocka_unit_test(what_must_not_happen_twice_is_repeated_only_after_a_refusal),
        cmocka_unit_test(what_may_have_been_done_is_not_sent_again_whatever_the_failure),
        cmocka_unit_test(a_policy_that_is_off_makes_the_first_failure_final),
        cmocka_unit_test(who_has_nobody_else_waits_for_what_is_down_and_is_woken),
        cmocka_unit_test(what_failed_twice_only_is_asked_by_who_has_nobody_else),
        cmocka_unit_test(nobody_fails_without_having_asked_unless_a_wait_was_named),
        cmocka_unit_test(nobody_is_given_up_while_there_is_time_for_one_more_call),
        cmocka_unit_test(what_broke_off_goes_on_with_everybody_who_was_not_asked),
        cmocka_unit_test(the_last_call_of_a_request_leaves_time_for_its_answer),
        cmocka_unit_test(the_last_call_is_none_where_somebody_asks_just_now),
        cmocka_unit_test(each_target_is_asked_before_it_ends_however_sick_they_are),
        cmocka_unit_test(patience_ends_in_an_honest_failure),
        cmocka_unit_test(what_fails_while_others_are_answered_is_given_up_sooner_and_spoils_nothing),
        cmocka_unit_test(patience_counts_from_the_first_failure_not_from_the_call),
        cmocka_unit_test(a_client_without_patience_waits_only_for_its_ladder),
        cmocka_unit_test(an_empty_budget_stretches_the_backoff_and_leaves_the_way_out_free),
        cmocka_unit_test(no_repeat_waits_less_than_its_floor_whatever_the_dice_say),
        cmocka_unit_test(a_vague_refusal_is_asked_once_more_and_a_clear_one_is_not),
        cmocka_unit_test(a_model_whose_words_are_wrong_is_not_waited_for),
        cmocka_unit_test(without_health_each_request_goes_out_as_if_it_were_the_first),
        cmocka_unit_test(a_rate_limited_lane_is_waited_for_or_refused_with_its_reason),
        cmocka_unit_test(only_a_wider_model_helps_a_conversation_that_is_too_long),
        cmocka_unit_test(a_request_of_too_many_bytes_is_asked_of_another_provider),
        cmocka_unit_test(a_neighbours_refusal_ends_nothing_while_the_first_place_rests),
        cmocka_unit_test(a_neighbours_refusal_goes_on_to_the_next_and_back_to_who_only_failed),
        cmocka_unit_test(what_the_first_place_refuses_is_final_unless_its_model_lacks_it),
        cmocka_unit_test(a_neighbours_refusal_says_when_to_come_again_where_the_first_place_was_not_back),
        cmocka_unit_test(a_model_whose_answers_are_wrong_for_two_requests_is_asked_last_and_holds_up_nobody),
        cmocka_unit_test(a_wrong_answer_of_a_model_that_rests_for_such_is_asked_of_another_at_once),
        cmocka_unit_test(a_client_that_leaves_is_nobodys_failure),
        cmocka_unit_test(what_was_done_is_known_in_order_and_only_what_was_done),
        cmocka_unit_test(a_continuation_that_cannot_be_joined_is_no_fault_of_its_target),
        cmocka_unit_test(a_target_that_answers_is_well_again_whatever_use_its_answer_is),
        cmocka_unit_test(a_model_whose_answers_break_off_is_left_alone_but_gone_on_with),
        cmocka_unit_test(who_waits_for_a_probe_waits_until_it_speaks),
        cmocka_unit_test(the_head_of_a_probe_shows_that_its_place_is_back_where_calls_failed_before_it),
        cmocka_unit_test(what_was_closed_after_a_long_silence_goes_out_again_at_once),
        cmocka_unit_test(a_repeat_goes_out_while_there_is_time_for_its_answer_but_only_once),
        cmocka_unit_test(a_named_wait_that_leaves_no_time_for_an_answer_is_asked_about_again),
        cmocka_unit_test(of_two_named_waits_the_sooner_end_holds_for_whoever_asked),
        cmocka_unit_test(a_long_wait_that_was_named_is_tested_and_ends_for_all),
        cmocka_unit_test(a_wait_that_is_told_twice_to_end_then_holds),
        cmocka_unit_test(who_is_refused_gives_way_to_one_that_was_refused_before),
        cmocka_unit_test(who_is_refused_again_and_again_beside_others_keeps_its_last_tries),
        cmocka_unit_test(a_silence_that_is_closed_ends_the_outage_for_all),
        cmocka_unit_test(patience_waits_for_a_call_that_finds_out),
        cmocka_unit_test(a_named_wait_is_not_lengthened_by_a_guess_beyond_the_time_there_is),
        cmocka_unit_test(those_who_were_told_the_same_wait_do_not_come_back_in_the_same_instant),
        cmocka_unit_test(what_is_down_for_long_is_asked_less_often_by_those_who_are_short_of_time),
        cmocka_unit_test(who_is_short_of_time_asks_another_place_while_the_first_was_asked_just_now),
        cmocka_unit_test(answers_that_one_restart_cut_go_on_at_once),
        cmocka_unit_test(a_place_that_rests_is_not_asked_by_all_at_once_who_are_short_of_time),
        cmocka_unit_test(nobody_waits_for_a_breaker_while_another_provider_is_well),
        cmocka_unit_test(who_waits_goes_when_somebody_else_found_it_well),
        cmocka_unit_test(keys_share_the_tries_of_what_is_sick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
