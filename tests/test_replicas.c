/* What replicas tell each other of what is sick: lines of health_share() are learned by health_learn(). */
#include "decide_kit.h"
#include "engine/decide/health.h"
#include "engine/decide/place.h"

enum { REPLICAS = 3 };

static daruma_health *replica(int i)
{
    static char room[REPLICAS][256 << 10];
    memset(room[i], 0, sizeof room[i]);
    daruma_arena a = arena_over(room[i], sizeof room[i]);
    return daruma_health_new(&a, 64);
}

/* What `from` has to tell is learned by `to` so much later; how many lines it was. */
static size_t pass(daruma_health *from, daruma_health *to, daruma_ms now, daruma_ms late)
{
    static char room[64 << 10];
    size_t n = 0;
    daruma_buf b = buf_over(room, sizeof room);
    health_share(from, now, &b);
    for (daruma_str text = buf_str(&b); text.n; n++)
        assert_true(health_learn(to, str_cut(&text, '\n'), now + late, 0));
    return n;
}

static void a_rest_and_its_end_are_known_elsewhere_and_not_told_back(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *a = replica(0), *b = replica(1);
    daruma_target t = target("p", "m", "a", "k"), other = target("p", "m", "b", "k2");
    assert_int_equal(pass(a, b, 1000, 1), 0);
    fails(a, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 9000), 1000);
    assert_true(pass(a, b, 1000, 5) > 0);
    assert_int_equal(pass(a, b, 1000, 5), 0);
    assert_int_equal(pass(b, a, 1010, 5), 0);
    daruma_condition c = daruma_health_look(b, &t, 1100);
    assert_false(c.well);
    assert_int_equal(c.why, DARUMA_RATE_LIMIT);
    assert_in_range(c.named_in, 8800, 9010);
    assert_true(daruma_health_look(b, &other, 1100).well);
    uint32_t healed = daruma_health_healed(a);
    succeeds(b, &p, &t, 10100); /* it has rested */
    assert_true(pass(b, a, 10100, 5) > 0);
    assert_true(daruma_health_look(a, &t, 10110).well);
    assert_true(daruma_health_healed(a) > healed);
    assert_int_equal(pass(a, b, 10120, 5), 0);
}

/* What another one found to be over is over: a wait that is named later is tested anew. */
static void the_end_of_a_named_wait_that_is_known_elsewhere_lets_the_next_be_tested(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *a = replica(0), *b = replica(1);
    daruma_target t = target("p", "m", "a", "k");
    fails(a, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 60000), 1000);
    fails(b, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 60000), 1000);
    pass(a, b, 1000, 1);
    pass(b, a, 1000, 1);
    succeeds(b, &p, &t, 62000);
    pass(b, a, 62000, 1);
    assert_true(daruma_health_look(a, &t, 62010).well);
    fails(a, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 60000), 90000);
    assert_in_range(daruma_health_look(a, &t, 90000).alone_in, 1, NAMED_TEST_MS);
}

/* Two calls of one replica are under way when it learns of another's rest: what they are told makes it no longer. */
static void what_is_under_way_elsewhere_makes_no_rest_longer(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *a = replica(0), *b = replica(1);
    daruma_target t = target("p", "m", "a", "k");
    daruma_failure slower = advised(DARUMA_RATE_LIMIT, 429, -1);
    daruma_case first, c[2], finds_out;
    daruma_case_open(&first, a, &p, &t, 1, -1, -1, of_another(1000));
    out(&first, 1000);
    for (int i = 0; i < 2; i++) {
        daruma_case_open(&c[i], b, &p, &t, 1, -1, -1, of_another(1050));
        out(&c[i], 1050);
    }
    daruma_case_next(&first, &slower, 0, at(1100));
    assert_true(pass(a, b, 1100, 1) > 0);
    daruma_ms now = 1101, learned = daruma_health_look(b, &t, now).in;
    for (int i = 0; i < 2; i++) {
        now += daruma_health_look(b, &t, now).in;
        daruma_case_open(&finds_out, b, &p, &t, 1, -1, -1, of_another(now));
        out(&finds_out, now);
        now += 10;
        daruma_case_next(&c[i], &slower, 0, at(now));
        assert_true(daruma_health_look(b, &t, now).in <= learned + 1);
    }
}

static void what_was_seen_before_ends_no_rest(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *a = replica(0), *b = replica(1), *c = replica(2);
    daruma_target t = target("p", "m", "a", "k");
    fails(c, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 1000), 1000);
    succeeds(c, &p, &t, 2500); /* which it has not told yet */
    fails(a, &p, &t, advised(DARUMA_RATE_LIMIT, 429, 60000), 9000);
    pass(a, b, 9000, 1);
    pass(c, a, 9100, 1);
    pass(c, b, 9100, 1);
    for (int i = 0; i < 2; i++)
        assert_in_range(daruma_health_look(i ? b : a, &t, 9200).named_in, 59000, 60000);
}

/* A row of failures that another one saw ends with a call that went out after them, as its own does. */
static void a_call_from_before_ends_no_row_of_another(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        daruma_breaker theirs = {0}, ours = {0};
        daruma_permit out = daruma_breaker_ask(&ours, later ? 1500 : 500);
        for (int i = 0; i < BREAKER_DOWN_ROW; i++)
            daruma_breaker_tell(&theirs, daruma_breaker_ask(&theirs, 1000), false, (uint64_t)i + 1, 1100);
        assert_false(breaker_learn(&ours, &theirs, 1600));
        daruma_breaker_tell(&ours, out, true, 0, 1700);
        assert_true(ours.open_until != 0);
        assert_int_equal(ours.row, later ? 0 : theirs.row);
    }
}

static void one_replica_probes_for_all(void **state)
{
    (void)state;
    daruma_policy p = calm();
    daruma_health *a = replica(0), *b = replica(1);
    daruma_target t = target("p", "m", "a", "k");
    daruma_permit permits[DARUMA_PERMITS];
    for (int i = 0; i < 4; i++)
        fails(a, &p, &t, failure(DARUMA_SERVER_ERROR, 503), 1000 + i);
    pass(a, b, 1010, 1);
    daruma_ms then = 1020;
    assert_false(daruma_health_look(b, &t, then).well);
    while (!daruma_health_look(b, &t, then).well && then < 120000) /* until it may be probed */
        then += 10;
    assert_in_range(then, 2000, 110000);
    health_enter(a, &t, permits, then);
    pass(a, b, then, 1);
    assert_false(daruma_health_look(b, &t, then + 2).well);
    health_good(a, &t, permits, then, then + 50);
    pass(a, b, then + 50, 1);
    assert_true(daruma_health_look(b, &t, then + 52).well);
    assert_int_equal(pass(b, a, then + 60, 1), 0);
}

/* Clocks and numbers of nobody's making: whatever is learned, a place may be asked again within its bound. */
static void nothing_that_is_said_makes_a_place_sick_for_ever(void **state)
{
    (void)state;
    static const char *const times[] = {"-9223372036854775807", "-1", "1", "86400000", "9223372036854775807"};
    daruma_target t = target("p", "m", "a", "k");
    uint64_t ids[] = {t.key_id, t.account_id, t.lane_id, t.model_id, t.provider_id};
    static const char *const scopes[] = {"key", "account", "target", "model", "provider"};
    for (size_t k = 0; k < 5; k++)
        for (size_t i = 0; i < 5; i++)
            for (size_t j = 0; j < 5; j++) {
                char line[1024];
                daruma_health *w = replica(0);
                daruma_buf b = buf_over(line, sizeof line);
                buf_putz(&b, "{\"is\":\"place\",\"id\":\"");
                buf_hex64(&b, ids[k]);
                buf_printf(&b, "\",\"cool_ms\":60000,\"cool_from\":%s,\"cool_until\":%s,\"probe_until\":%s,", times[i],
                           times[j], times[j]);
                buf_printf(&b, "\"open_until\":%s,\"bad_at\":%s,\"well_at\":%s,\"trips\":65535,\"row\":4294967295,",
                           times[j], times[i], times[j]);
                buf_printf(&b, "\"breaker_probe_until\":%s,\"scope\":\"%s\",\"why\":\"overloaded\"}", times[j],
                           scopes[k]);
                health_learn(w, buf_str(&b), 1000000, 0);
                daruma_condition c = daruma_health_look(w, &t, 1000000);
                assert_true(c.well || c.in <= HEALTH_COOL_MS_MAX);
                bool again = false;
                for (daruma_ms now = 1000000; now < 1000000 + 40 * 60000 && !again; now += 1000)
                    again = daruma_health_look(w, &t, now).well;
                assert_true(again);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rest_and_its_end_are_known_elsewhere_and_not_told_back),
        cmocka_unit_test(the_end_of_a_named_wait_that_is_known_elsewhere_lets_the_next_be_tested),
        cmocka_unit_test(what_is_under_way_elsewhere_makes_no_rest_longer),
        cmocka_unit_test(what_was_seen_before_ends_no_rest),
        cmocka_unit_test(a_call_from_before_ends_no_row_of_another),
        cmocka_unit_test(one_replica_probes_for_all),
        cmocka_unit_test(nothing_that_is_said_makes_a_place_sick_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
