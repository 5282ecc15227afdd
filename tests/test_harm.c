/* What a client would get alone, it gets through a case, too: nobody gives up earlier than an SDK would, and nobody
 * asks more than is of use. */
#include "decide_kit.h"
#include "engine/decide/case.h"
#include "engine/decide/health.h"

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
        cmocka_unit_test(a_narrow_neighbours_word_is_none_about_a_model_of_unknown_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
