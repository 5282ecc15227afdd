/* The ladders, and any faults at any time. */
#include "decide_kit.h"
#include "engine/decide/health.h"

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
        /* What a model is asked again goes on behind what the client has; so does a call that is refused. */
        bool behind = r->remedy == DARUMA_REMEDY_ASK_AGAIN || r->needs & (DARUMA_NEED_GUIDE | DARUMA_NEED_ENFORCE);
        if (sends(r->remedy) && !behind)
            assert_true(r->needs & (r->remedy == DARUMA_REMEDY_RESUME ? DARUMA_NEED_PARTIAL : DARUMA_NEED_CLEAN));
        if (r->remedy == DARUMA_REMEDY_WAIT_RETRY || r->remedy == DARUMA_REMEDY_RETRY ||
            r->remedy == DARUMA_REMEDY_RETRY_FRESH)
            assert_true(r->needs & DARUMA_NEED_TRIES);
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

/* While the attempt is silent others may be asked beside it, and one of those may become the attempt. */
static size_t hedged, took_over;
static uint32_t for_free; /* of these in the case at hand: knocks, and those that were refused */
static void any_silence(daruma_case *c, const bool *sick_key, uint64_t *s, daruma_ms *now)
{
    for (uint64_t looks = roll(s) % 8; looks; looks--) {
        *now = skew(s, *now);
        daruma_moment m = {.now = *now, .dice = roll(s)};
        daruma_silence look = daruma_case_silence(c, m);
        if (look.act == DARUMA_SILENCE_HEDGE) {
            assert_true(c->safe_twice && c->policy->hedge);
            assert_true(c->hedges < HEDGES_EACH_MAX);
            assert_true(look.target >= 0 && (size_t)look.target < c->ntargets);
            assert_false(sick_key[look.target]);
            assert_true(c->deadline < 0 || *now < c->deadline);
            uint8_t before = c->hedges;
            hedge(c, look.target, m);
            for_free += c->hedges == before;
            assert_true(c->beside && c->beside->target == look.target);
            hedged++;
        } else {
            assert_true(look.look_in == -1 || (look.look_in > 0 && look.look_in <= HEDGE_LOOK_MS));
        }
        if (roll(s) % 8 == 0)
            daruma_case_headed(c, m);
        if (!c->beside)
            continue;
        daruma_failure f = any_failure(s);
        int took = c->beside->target;
        switch (roll(s) % 5) {
        case 0:
            for_free += c->hedges;
            daruma_case_hedge_ended(c, roll(s) % 2 ? &f : NULL, m);
            for_free -= c->hedges;
            break;
        case 1:
            daruma_case_hedge_takes_over(c, roll(s) % 2 ? &f : NULL, m);
            assert_true(c->out && c->target == took);
            took_over++;
            break;
        case 2:
            daruma_case_hedge_headed(c, m);
            break;
        default:
            break;
        }
    }
}

/* One case with random faults; the invariants of the design are checked as it runs. */
static void any_case(daruma_health *w, const daruma_policy *p, const daruma_target *all, uint64_t *s, daruma_ms *now)
{
    size_t n = 1 + roll(s) % 6;
    const daruma_target *t = all + roll(s) % 10;
    daruma_ms deadline = roll(s) % 4 ? *now + (daruma_ms)(roll(s) % 120000) : -1;
    daruma_case c;
    daruma_case_open(&c, w, p, t, n, (int)(roll(s) % (n + 1)) - 1, deadline,
                     (daruma_moment){.now = *now, .dice = roll(s)});
    c.safe_twice = roll(s) % 4 != 0;
    c.can_refresh = roll(s) % 4 == 0;
    c.other_api = roll(s) % 16 == 0;
    bool sick_key[16] = {0};
    bool goes_on = false;
    for_free = 0;
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
        assert_false(sick_key[a.target]);             /* a refuser is not asked again, unless it was taken lately */
        any_silence(&c, sick_key, s, now);
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
        f.sure = 95;    /* what is vague is asked once more */
        if (c.beside) { /* the host ends it, or it is the attempt from here on and fails as well */
            daruma_failure first = any_failure(s);
            if (roll(s) % 2)
                daruma_case_hedge_takes_over(&c, &first, m);
            else
                daruma_case_hedge_ended(&c, NULL, m);
        }
        forwarded = forwarded || roll(s) % 8 == 0;
        bool doubted = c.calls[c.target] < 2 && health_trusts_key(w, &t[c.target], *now);
        daruma_remedy r = daruma_case_next(&c, &f, forwarded, m);
        doubted |= health_may_pass(w, &t[c.target], f.kind, *now);
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
        assert_true(deadline < 0 || add_sat(*now, r.wait) < deadline);
        daruma_ms failing = *now > c.since ? *now - c.since : 0;
        assert_true(r.wait == 0 || failing + r.wait <= p->patience); /* no wait leads beyond its patience */
        assert_true(r.target >= 0 && (size_t)r.target < n);
        bool refresh = r.remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS;
        if (refresh)
            daruma_health_refreshed(w, &t[c.target]);
        for (size_t i = 0; f.kind == DARUMA_AUTH && !doubted && i < n; i++)
            if (t[i].key_id == t[c.target].key_id && !((int)i == c.target && refresh))
                sick_key[i] = true;
    }
    daruma_outcome o = c.outcome;
    assert_int_not_equal(o, DARUMA_OUTCOME_PENDING);
    daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at(*now)); /* exactly one outcome */
    assert_int_equal(c.outcome, o);
    assert_false(c.out || c.beside);
    uint32_t climbed = 0, mended = 0;
    for (size_t i = 0; i < p->nrungs; i++) {
        assert_true(c.used[i] <= p->rungs[i].times);
        climbed += c.used[i];
        mended += p->rungs[i].needs & DARUMA_NEED_MEND ? c.used[i] : 0;
    }
    assert_true(c.attempts <=
                1 + climbed + HEDGES_EACH_MAX + for_free); /* never more attempts than its ladder allows */
    for (size_t i = 0; i < n; i++)
        assert_true(c.calls[i] <= p->max_attempts + 1 + mended + HEDGES_EACH_MAX +
                                      for_free); /* fetched credentials may cost one more */
    assert_true(c.shrinks <= p->mend.max_compress_retries);
    assert_true(c.waited >= 0);
}

static void a_hundred_thousand_random_cases_keep_every_promise(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_health *w = daruma_health_new(&a, 24); /* small: places are forgotten in the middle of cases */
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
        size_t n = daruma_health_list(w, now, list, 24);
        assert_true(n <= 24);
        for (size_t j = 0; j < n; j++)
            assert_true(list[j].cool_in >= 0 && list[j].cool_in <= HEALTH_COOL_MS_MAX && list[j].bad <= list[j].calls);
        for (int j = 0; j < 16; j += 5) {
            int64_t left = daruma_budget_left(daruma_health_budget(w, &all[j], now), now);
            assert_true(left >= 0);
        }
    }
    assert_true(hedged > 500 && took_over > 100); /* the walk meets them */
}

/* ---- many cases at once ----------------------------------------------------------- */

enum { AT_ONCE = 12 };

/* Two probes of one breaker: the second may go only when the first has been out for BREAKER_PROBE_MS. */
static bool probe_too_soon(const daruma_permit *p, const daruma_permit *q)
{
    daruma_ms apart = p->until > q->until ? p->until - q->until : q->until - p->until;
    return p->probe && q->probe && p->epoch == q->epoch && apart < BREAKER_PROBE_MS;
}

static void no_breaker_is_probed_twice(const daruma_case *c)
{
    for (int i = 0; i < AT_ONCE; i++)
        for (int j = 0; j < i; j++) {
            if (!c[i].out || !c[j].out)
                continue;
            const daruma_target *t = &c[i].targets[c[i].target], *u = &c[j].targets[c[j].target];
            assert_false(t->model_id == u->model_id && probe_too_soon(&c[i].permits[0], &c[j].permits[0]));
            assert_false(t->provider_id == u->provider_id && probe_too_soon(&c[i].permits[1], &c[j].permits[1]));
        }
}

static void cases_side_by_side_probe_one_at_a_time_and_stay_within_the_budget(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_health *w = daruma_health_new(&a, 256);
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
        cmocka_unit_test(the_ladders_are_whole),
        cmocka_unit_test(the_printed_policy_is_the_page_in_doc),
        cmocka_unit_test(a_hundred_thousand_random_cases_keep_every_promise),
        cmocka_unit_test(cases_side_by_side_probe_one_at_a_time_and_stay_within_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
