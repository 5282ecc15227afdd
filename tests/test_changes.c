#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include <stdlib.h>

/* What stands around a failure and means nothing must not change what it is taken for. Each row of `changes` puts
 * something around every record that somebody said; of a hundred verdicts at most one may move. */

static const char *const files[] = {"said-by-providers", "near-misses", "near-misses-tools", "sentences",
                                    "from-issues"};
static char text[1u << 20], changed[64u << 10], work[2u << 20];

enum how { AS_IT_IS, AS_JSON };

static const struct {
    const char *name, *before, *behind;
    enum how how;
} changes[] = {
    {"traceback",
     "Traceback (most recent call last):\n  File \"/srv/x.py\", line 3, in a\n    y = f(a,\n          ^^^^\n", "",
     AS_IT_IS},
    {"two tracebacks",
     "Traceback (most recent call last):\n  File \"/srv/x.py\", line 3, in a\n    y = f(a)\n\nDuring handling of the "
     "above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/srv/x.py\", line "
     "9, in b\n    raise E from e\n",
     "", AS_IT_IS},
    {"traceback on one line",
     "Traceback (most recent call last): File \"/srv/x.py\", line 3, in a File \"/srv/y.py\", line 88, in send ", "",
     AS_IT_IS},
    {"Java stack", "",
     "\n\tat com.acme.llm.Client.send(Client.java:231)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n\t... "
     "12 more",
     AS_IT_IS},
    {"Go stack", "", "\n\ngoroutine 1 [running]:\nmain.main()\n\t/app/main.go:12 +0x1d", AS_IT_IS},
    {"Rust stack", "",
     "\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/a/library/std/src/panicking.rs:645:5",
     AS_IT_IS},
    {"Node stack", "",
     "\n    at async Agent.run (file:///app/dist/agent.js:10:3)\n    at async Promise.all (index 0)\n    at new "
     "Promise "
     "(<anonymous>)",
     AS_IT_IS},
    {"lead", "Something went wrong while running this step: ", "", AS_IT_IS},
    {"lead of an operation", "Failed to complete the operation after several attempts: ", "", AS_IT_IS},
    {"class", "APIError: ", "", AS_IT_IS},
    {"Error:", "Error: ", "", AS_IT_IS},
    {"clock", "[12:01:02] [error] ", "", AS_IT_IS},
    {"Python's log", "2026-11-23 07:12:31,482 - app.llm.client - ERROR - ", "", AS_IT_IS},
    {"syslog", "Nov 23 07:12:31 host-1 agent[812]: ", "", AS_IT_IS},
    {"pairs", "time=2026-11-23T07:12:31Z level=error msg=", "", AS_JSON},
    {"trace id", "", " [trace_id=4bf92f3577b34da6a3ce929d0e0e4736]", AS_IT_IS},
    {"request id", "", ". Request ID: 7f3c9b1e-1111-4c2a-9d3e-0123456789ab", AS_IT_IS},
    {"id for support", "", " Please include the request ID req_0f9a8b7c6d in your message to support.", AS_IT_IS},
    {"address", "", "\nFor more information, visit https://docs.example.org/en/errors#codes.", AS_IT_IS},
    {"envelope", "{\"ok\":false,\"ts\":1795460000,\"result\":{\"error\":{\"message\":", "}}}", AS_JSON},
    {"fields", "{\"timestamp\":\"2026-11-23T07:12:31Z\",\"requestId\":\"a1b2\",\"error\":{\"message\":",
     "},\"trace\":[\"x\"]}", AS_JSON},
    {"event", "event: error\ndata: {\"error\":{\"message\":", "}}\n\n", AS_JSON},
    {"string", "", "", AS_JSON},
    {"attempts", "", " (attempt 3/5)", AS_IT_IS},
    {"duration", "", " (took 2.31s)", AS_IT_IS},
    {"colours", "\x1b[31m", "\x1b[0m", AS_IT_IS},
    {"mark", "\xe2\x9d\x8c ", "", AS_IT_IS},
    {"item of a list", "  - ", "", AS_IT_IS},
    {"white space", "\r\n  ", "  \r\n", AS_IT_IS},
    {"fence", "```\n", "\n```", AS_IT_IS},
    {"cut traceback", "conversation/x.py\", line 957, in check_limit\n    raise quota_error from e\n", "", AS_IT_IS},
    {"rules", "====================\n", "\n--------------------", AS_IT_IS},
    {"agent's call", "\xe2\x8f\xba Read(page: login, key: invalid)\n  \xe2\x8e\xbf  ", "", AS_IT_IS},
    {"last words", "", "\n\nThe agent stopped here.", AS_IT_IS},
};

static daruma_failure judge(const daruma_evidence *ev)
{
    daruma_arena a = arena_over(work, sizeof work);
    return daruma_classify(ev, at(0), &a);
}

static void change(void **state)
{
    size_t c = (size_t)*state, moved = 0, all = 0;
    char why[2048] = "";
    for (size_t f = 0; f < COUNT(files); f++) {
        char path[128];
        snprintf(path, sizeof path, "tests/corpus/errors/%s.jsonl", files[f]);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        daruma_str rest = {text, fread(text, 1, sizeof text, file)};
        fclose(file);
        while (rest.n) {
            static char keep[256u << 10];
            daruma_arena a = arena_over(keep, sizeof keep);
            daruma_str line = str_trim(str_cut(&rest, '\n'));
            daruma_evidence ev = {.phase = DARUMA_AT_HEAD,
                                  .status = (int)json_int(json_get(line, S("status")), 0),
                                  .provider = json_text(json_get(line, S("provider")), &a),
                                  .body = json_text(json_get(line, S("body")), &a),
                                  .took = -1};
            if (!ev.body.n || json_get(line, S("net")).n || json_get(line, S("flaw")).n)
                continue;
            daruma_kind was = judge(&ev).kind;
            daruma_buf b = buf_over(changed, sizeof changed);
            buf_put(&b, str_of(changes[c].before));
            if (changes[c].how == AS_JSON)
                buf_json(&b, ev.body);
            else
                buf_put(&b, ev.body);
            buf_put(&b, str_of(changes[c].behind));
            assert_false(b.full);
            ev.body = buf_str(&b);
            daruma_failure got = judge(&ev);
            all++;
            if (got.kind == was)
                continue;
            moved++;
            size_t n = strlen(why);
            snprintf(why + n, sizeof why - n, "\n  %s by %s, was %s: " STR_FMT, daruma_kind_name(got.kind),
                     daruma_rule_name(got.rule), daruma_kind_name(was), STR_ARG(str_sub(line, 0, 160)));
        }
    }
    assert_true(all > 500);
    if (moved * 100 > all)
        fail_msg("%s: %zu of %zu verdicts move:%s", changes[c].name, moved, all, why);
}

int main(void)
{
    static struct CMUnitTest tests[COUNT(changes)];
    for (size_t i = 0; i < COUNT(changes); i++)
        tests[i] = (struct CMUnitTest){.name = changes[i].name, .test_func = change, .initial_state = (void *)i};
    return _cmocka_run_group_tests("changes", tests, COUNT(tests), NULL, NULL);
}
