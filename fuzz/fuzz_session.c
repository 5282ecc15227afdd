/* A session from its options to its end: whatever they say, and whatever providers answer, it has one end, what comes
 * out is as daruma.h promises, and a policy that can be read is printed as it is read. The input is parts with a line
 * "---" between two: options, policy, request, then what comes of each call: "200 body", or how it fails. */
#include <daruma.h>
#include "base/check.h"
#include "base/str.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MAX = 3000, BYTES_MAX = 65536 };

static daruma_str part(daruma_str *rest)
{
    size_t at = str_find(*rest, S("\n---\n"));
    daruma_str one = str_sub(*rest, 0, at == STR_NONE ? rest->n : at);
    *rest = at == STR_NONE ? (daruma_str){0} : str_from(*rest, at + 5);
    return one;
}

static daruma_policy *policy_of(daruma_str text)
{
    char why[512] = "";
    daruma_policy *p = daruma_policy_new(text.p, text.n, why, sizeof why);
    check(!p == (why[0] != 0));
    if (!p)
        return NULL;
    size_t n = daruma_policy_json(p, NULL, 0);
    char *once = malloc(n + 1), *twice = malloc(n + 1);
    check(once && twice && daruma_policy_json(p, once, n + 1) == n);
    daruma_policy *again = daruma_policy_new(once, n, why, sizeof why);
    check(again && daruma_policy_json(again, twice, n + 1) == n && !memcmp(once, twice, n));
    daruma_policy_free(again);
    free(once);
    free(twice);
    return p;
}

static const char *text_of(const char *(*f)(const daruma_session *s, size_t *n), const daruma_session *s)
{
    size_t n;
    const char *p = f(s, &n);
    check(p && !p[n]);
    return p;
}

/* What comes of a call. */
static void answer(daruma_session *s, int64_t call, daruma_str said)
{
    int64_t status;
    char how[32] = "";
    if (str_scan_int(said, &status) == 3 && status >= 100) {
        daruma_str body = str_from(said, 4), head = str_sub(body, 0, body.n / 2);
        static const char fields[] = "content-type: text/event-stream\r\n";
        daruma_call_head(s, call, (int)status, fields, body.n && body.p[0] == '{' ? 0 : sizeof fields - 1);
        daruma_call_bytes(s, call, head.p, head.n);
        daruma_call_bytes(s, call, body.p + head.n, body.n - head.n);
        daruma_call_end(s, call);
        return;
    }
    memcpy(how, said.p ? said.p : "", said.n < sizeof how ? said.n : sizeof how - 1);
    daruma_call_failed(s, call, how);
}

static void play(daruma_memory *m, daruma_session *s, daruma_str script)
{
    int64_t now = 1000, calls[64], ncalls = 0, wakes;
    int ends = 0;
    for (int i = 0; i < STEPS_MAX && !ends; i++) {
        daruma_do what = daruma_session_next(s);
        text_of(daruma_session_bytes, s);
        text_of(daruma_session_fields, s);
        text_of(daruma_session_path, s);
        if (what == DARUMA_DO_SEND && ncalls < 64)
            calls[ncalls++] = daruma_session_call(s);
        ends += what == DARUMA_DO_END || what == DARUMA_DO_BREAK;
        if (what != DARUMA_DO_NOTHING)
            continue;
        if (ncalls && script.n) {
            answer(s, calls[--ncalls], part(&script));
        } else if ((wakes = daruma_session_wakes_ms(s)) >= 0 && script.n) {
            now = wakes > now ? wakes : now;
            daruma_memory_now(m, now, 1767225600 + now / 1000, (uint64_t)now * 0x9e3779b97f4a7c15u);
            daruma_session_clock(s);
        } else {
            break;
        }
    }
    if (!ends)
        daruma_session_gone(s);
    for (int i = 0; i < STEPS_MAX && daruma_session_next(s) != DARUMA_DO_NOTHING; i++)
        check(!ends);
    check(daruma_session_wakes_ms(s) == -1 && strcmp(daruma_session_outcome(s), "pending") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    daruma_str rest = {(const char *)data, size}, options = part(&rest), policy = part(&rest), body = part(&rest);
    char why[512] = "";
    if (size > BYTES_MAX)
        return 0;
    daruma_policy *p = policy_of(policy);
    daruma_memory *m = daruma_memory_new();
    check(m);
    daruma_memory_now(m, 1000, 1767225600, 42);
    daruma_session *s = daruma_session_open(m, p, options.p, options.n, body.p, body.n, why, sizeof why);
    check(!s == (why[0] != 0));
    if (s)
        play(m, s, rest);
    daruma_memory_free(m);
    daruma_policy_free(p);
    return 0;
}
