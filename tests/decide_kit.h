/* decide_kit.h - targets, failures and cases for the tests of what is decided. */
#ifndef TESTS_DECIDE_KIT_H
#define TESTS_DECIDE_KIT_H
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"

static char memory[1 << 20] __attribute__((unused));

static inline daruma_health *a_health(void)
{
    static char room[1 << 20];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_health *w = daruma_health_new(&a, 64);
    assert_non_null(w);
    return w;
}

/* A second call goes out to `target`. Few cases of a test have one at the same time. */
static inline void hedge(daruma_case *c, int target, daruma_moment at)
{
    static daruma_beside rooms[64];
    static size_t next;
    daruma_case_hedge(c, &rooms[next++ % 64], target, at);
}

static inline daruma_target target(const char *provider, const char *model, const char *account, const char *key)
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

static inline daruma_policy calm(void) /* the standard policy without chance */
{
    daruma_policy p = *daruma_policy_find(S("default"));
    for (int k = 0; k < DARUMA_KINDS; k++)
        p.kinds[k].backoff.jitter_milli = 0;
    return p;
}

static inline daruma_failure failure(daruma_kind k, int status)
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

static inline daruma_failure advised(daruma_kind k, int status, daruma_ms wait)
{
    daruma_failure f = failure(k, status);
    f.wait = wait;
    return f;
}

static inline daruma_failure surely(daruma_kind k, int status) /* the provider's words leave no doubt */
{
    daruma_failure f = failure(k, status);
    f.sure = 95;
    return f;
}

/* Goes out at `now`, which must work at once, and tells where. */
static inline int out(daruma_case *c, daruma_ms now)
{
    daruma_admission a = daruma_case_admit(c, at(now));
    assert_int_equal(a.act, DARUMA_SEND);
    assert_int_equal(a.wait, 0);
    assert_true(c->out);
    return a.target;
}

/* A moment of a request of its own: each has another id. */
static inline daruma_moment of_another(daruma_ms now)
{
    static uint64_t ids = 1000;
    daruma_moment m = at(now);
    m.dice = ++ids;
    return m;
}

/* One attempt of another request at `t` that fails so. It goes out whatever health says. */
static inline void fails(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_failure f,
                         daruma_ms now)
{
    daruma_case c;
    daruma_policy off = *p;
    off.enabled = false;
    daruma_case_open(&c, w, &off, t, 1, -1, -1, of_another(now));
    out(&c, now);
    daruma_case_next(&c, &f, 0, at(now));
    daruma_case_close(&c, DARUMA_OUTCOME_EXPLAINED, at(now));
}

/* ... that succeeds. */
static inline void succeeds(daruma_health *w, const daruma_policy *p, const daruma_target *t, daruma_ms now)
{
    daruma_case c;
    daruma_policy off = *p;
    off.enabled = false;
    daruma_case_open(&c, w, &off, t, 1, -1, -1, of_another(now));
    out(&c, now);
    daruma_case_done(&c, at(now));
}

#define assert_remedy(r, what, ms, to)                                                                                 \
    do {                                                                                                               \
        daruma_remedy got = (r);                                                                                       \
        assert_string_equal(daruma_remedy_name(got.remedy), daruma_remedy_name(DARUMA_REMEDY_##what));                 \
        assert_int_equal(got.wait, ms);                                                                                \
        assert_int_equal(got.target, to);                                                                              \
    } while (0)

#endif
