/* embed.c - recovery inside your own program, with daruma_parts.h alone. The provider here is a
 * function that fails twice; yours is your HTTP client. Nothing sleeps: time is a number. */
#include <daruma_parts.h>
#include <stdio.h>

static char ward_room[1 << 20], room[1 << 16];

/* What the scripted provider answers: "slow down", "I broke", then an answer. */
static bool call(const daruma_target *t, int nth, daruma_evidence *ev)
{
    static const daruma_header retry_after = {{"retry-after", 11}, {"2", 1}};
    printf("call %d to %.*s\n", nth, (int)t->model.n, t->model.p);
    *ev = (daruma_evidence){.phase = DARUMA_AT_ANSWER, .took = 40};
    if (nth == 1) {
        ev->status = 429;
        ev->body = DARUMA_STR("{\"error\":{\"message\":\"Rate limit reached\",\"code\":\"rate_limit_exceeded\"}}");
        ev->headers = &retry_after;
        ev->nheaders = 1;
    } else if (nth == 2) {
        ev->status = 500;
        ev->body = DARUMA_STR("{\"error\":{\"message\":\"The server had an error\",\"type\":\"server_error\"}}");
    }
    return nth > 2;
}

int main(void)
{
    daruma_arena for_ward = {.beg = ward_room, .end = ward_room + sizeof ward_room};
    daruma_health *health = daruma_health_new(&for_ward, 256); /* one for all requests: it remembers who is sick */
    daruma_target targets[] = {
        {.provider = DARUMA_STR("main"),
         .model = DARUMA_STR("m-main"),
         .account = DARUMA_STR("a"),
         .key = DARUMA_STR("k1"),
         .window = -1,
         .max_output = -1},
    };
    daruma_target_seal(&targets[0]);

    daruma_moment at = {.now = 0, .wall = 1767225600, .dice = 12345};
    daruma_failure failure = {0};
    daruma_case c; /* one for each request */
    daruma_case_open(&c, health, daruma_policy_find(DARUMA_STR("default")), targets, 1, -1, 60000, at);
    while (c.outcome == DARUMA_OUTCOME_PENDING) {
        daruma_arena a = {.beg = room, .end = room + sizeof room};
        daruma_admission go = daruma_case_admit(&c, at);
        if (go.act == DARUMA_STOP) {
            daruma_case_close(&c, DARUMA_OUTCOME_FAILED, at);
        } else if (go.wait > 0) {
            printf("wait %lld ms\n", (long long)go.wait);
            at.now += go.wait; /* your program sleeps here */
        } else {
            daruma_evidence ev;
            if (call(&targets[go.target], (int)c.attempts, &ev)) {
                daruma_case_done(&c, at);
                continue;
            }
            failure = daruma_classify(&ev, at, &a);
            daruma_remedy r = daruma_case_next(&c, &failure, 0, at);
            printf("%s, so: %s\n", daruma_kind_name(failure.kind), daruma_remedy_name(r.remedy));
            if (r.act != DARUMA_SEND)
                daruma_case_close(&c, DARUMA_OUTCOME_EXPLAINED, at);
        }
    }
    printf("%s after %u calls\n", daruma_outcome_name(c.outcome), c.attempts);
    return c.outcome == DARUMA_OUTCOME_RECOVERED && c.attempts == 3 ? 0 : 1;
}
