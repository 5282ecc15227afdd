/* Failed tool results: how they are judged, shown, counted, resolved and handed over; and what must hold of any steps.
 */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"

static char memory[4 << 20], scratch_room[1 << 20];

static daruma_arena fresh(void)
{
    return arena_over(memory, sizeof memory);
}

static daruma_step step(const char *tool, const char *args, const char *result, int ok)
{
    return (daruma_step){.tool = str_of(tool), .args = str_of(args), .result = str_of(result), .ok = ok};
}

static const daruma_policy *profile(const char *name)
{
    const daruma_policy *p = daruma_policy_find(str_of(name));
    assert_non_null(p);
    return p;
}

static daruma_tool_failure judged(const char *result)
{
    static char room[1 << 20];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_step s = step("t", "{}", result, 0);
    return daruma_tool_judge(&s, NULL, &a);
}

/* ---- did it fail? ------------------------------------------------------------------------------ */

static void what_the_host_says_of_a_step_holds(void **state)
{
    (void)state;
    daruma_step s = step("t", "", "Error: boom", 1);
    assert_false(daruma_step_failed(&s));
    s = step("t", "", "fine", 0);
    assert_true(daruma_step_failed(&s));
    s = step("t", "", "", -1);
    assert_false(daruma_step_failed(&s));
    s.lost = true;
    assert_true(daruma_step_failed(&s));
}

static void a_result_says_itself_whether_it_failed(void **state)
{
    (void)state;
    static const char *const failing[] = {
        "{\"error\":\"no\"}",
        "{\"error\":{\"code\":404}}",
        "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"no\"}]}",
        "{\"is_error\":true}",
        "{\"success\":false}",
        "{\"ok\":false}",
        "{\"errors\":[{\"message\":\"no\"}]}",
        "{\"exit_code\":2,\"stdout\":\"\"}",
        "{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}",
        "{\"status\":\"error\",\"message\":\"no\"}",
        "{\"status\":503}",
        "{\"statusCode\":404,\"body\":\"\"}",
        "{\"timed_out\":true}",
        "[{\"type\":\"text\",\"text\":\"Error: no such tool\"}]",
        "Error: boom",
        "  \n error: boom",
        "\xe2\x9d\x8c failed",
        "Traceback (most recent call last):\n  File \"a\", line 1\nKeyError: 'x'",
        "ValueError: bad",
        "ENOENT: no such file or directory, open 'x'",
        "FILE_NOT_FOUND: x",
        "fatal: not a git repository",
        "Exit code 1\nsomething",
        "1 failed\n[exit code: 1]",
        "Command exited with code 127",
        "make: *** No rule to make target 'x'. Stop.\n(exit 2)",
        "sh: 1: npm: not found (exit 127)",
        "429 Too Many Requests (Retry-After: 2)",
        "HTTP/1.1 404 Nobody home",
        "HTTP 500",
        "cat: x: No such file or directory",
        "bash: foo: command not found",
        "MCP error -32602: x",
        "panic: boom\n\ngoroutine 1 [running]:",
        "<tool_use_error>File has not been read yet.</tool_use_error>",
        "/srv/a.js:3\n  x\n\nTypeError: no\n    at f (/srv/a.js:3:9)\n",
    };
    static const char *const fine[] = {
        "",
        "ok",
        "{\"error\":null,\"data\":1}",
        "{\"errors\":[]}",
        "{\"error\":\"\"}",
        "{\"error\":false}",
        "{\"ok\":true,\"message\":\"error gone\"}",
        "{\"exit_code\":0,\"stderr\":\"warning: error\"}",
        "{\"state\":\"failed\",\"job\":3}",
        "{\"results\":[],\"total\":0}",
        "{\"name\":\"timeout_test\",\"type\":\"error_page\"}",
        "0 errors, 0 warnings",
        "The error: it was found and mended.",
        "src/a.c:3: // Error: never happens",
        "Exit code 0",
        "the process exit code 1 means failure",
        "404",
        "404 pages were read",
        "500 results",
        "https://example.org/404",
        "[]",
        "{",
        "No results found",
        "Errors are described in chapter 4.",
        "def f():\n    raise ValueError\n",
        "# Traceback\n\nhow to read one",
    };
    for (size_t i = 0; i < COUNT(failing); i++) {
        daruma_step s = step("t", "", failing[i], -1);
        if (!daruma_step_failed(&s))
            fail_msg("not seen as failed: %s", failing[i]);
    }
    for (size_t i = 0; i < COUNT(fine); i++) {
        daruma_step s = step("t", "", fine[i], -1);
        if (daruma_step_failed(&s))
            fail_msg("seen as failed: %s", fine[i]);
    }
}

static void a_long_text_that_begins_with_error_is_a_document(void **state)
{
    (void)state;
    static char text[TOOL_COMPLAINTS_BYTES_MAX + 100];
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "Error: ", 7);
    daruma_step s = step("read", "", text, -1);
    assert_false(daruma_step_failed(&s));
    text[1000] = 0;
    s = step("read", "", text, -1);
    assert_true(daruma_step_failed(&s));
}

/* ---- how it is judged --------------------------------------------------------------------------- */

static void structure_decides_before_words_and_common_numbers_last(void **state)
{
    (void)state;
    static const struct {
        const char *result, *kind;
        bool retryable;
    } rows[] = {
        {"Read timed out", "timeout", true},
        {"author field is required", "validation", false},
        {"Order 4041 failed", "unknown", false},
        {"404 page", "not_found", false},
        {"", "unknown", false},
        {"{\"error\":{\"code\":\"ENOENT\",\"message\":\"access denied\"}}", "not_found", false},
        {"{\"error\":{\"code\":\"ETIMEDOUT\",\"message\":\"not found\"}}", "timeout", true},
        {"{\"error\":{\"type\":\"PermissionError\",\"message\":\"timeout\"}}", "permission", false},
        {"{\"code\":403,\"error\":\"invalid\"}", "permission", false},
        {"{\"status\":400,\"error\":\"rate limit exceeded\"}", "rate_limit", true},
        {"{\"status\":400,\"error\":\"hm\"}", "validation", false},
        {"{\"status\":502,\"error\":\"hm\"}", "unknown", true},
        {"{\"error\":\"UNKNOWN_TOOL\"}", "not_found", false},
        {"{\"success\":false,\"error\":\"x\",\"retryable\":true}", "unknown", true},
        {"{\"error\":\"timeout\",\"retryable\":false}", "timeout", false},
        {"{\"exit_code\":126,\"stderr\":\"no\"}", "permission", false},
        {"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"no\"}}", "not_found", false},
        {"Error: connect ECONNREFUSED 127.0.0.1:80", "network", true},
        {"getaddrinfo ENOTFOUND example.org", "network", true},
        {"SEARCH_TIMEOUT: too slow", "timeout", true},
        {"NETWORK_DENIED: offline", "permission", false},
        {"PATH_VALIDATION_FAILED: outside", "validation", false},
        {"DIRECTORY_NOT_FOUND: x", "not_found", false},
        {"AMBIGUOUS_MATCH: 3 places", "validation", false},
        {"System.UnauthorizedAccessException: Access to the path is denied.", "permission", false},
        {"FAKE_CODE_HERE: hm", "unknown", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_tool_failure f = judged(rows[i].result);
        if (strcmp(daruma_tool_kind_name(f.kind), rows[i].kind) != 0 || f.retryable != rows[i].retryable)
            fail_msg("%s: is %s%s", rows[i].result, daruma_tool_kind_name(f.kind), f.retryable ? ", retryable" : "");
    }
}

static void the_message_is_the_line_that_matters(void **state)
{
    (void)state;
    static const struct {
        const char *result, *message;
    } rows[] = {
        {"boom", "boom"},
        {"  boom \r\n", "boom"},
        {"\x1b[31mError:\x1b[0m boom\x1b]8;;http://x\x07", "Error: boom"},
        {"a\tb   c", "a b c"},
        {"Traceback (most recent call last):\n  File \"a\", line 1\n    f()\nKeyError: 'x'", "KeyError: 'x'"},
        {"log 1\nlog 2\nError: boom\n    at f (a.js:1:2)\n    at g (b.js:1:2)", "Error: boom"},
        {"a.c: In function 'f':\na.c:3:5: error: no\na.c:4:5: error: also no", "a.c:3:5: error: no"},
        {"error[E0308]: mismatched types\n --> src/main.rs:2:5", "error[E0308]: mismatched types"},
        {"src/a.ts(1,2): error TS2304: Cannot find name 'x'.", "src/a.ts(1,2): error TS2304: Cannot find name 'x'."},
        {"Exit code 1\nfatal: not a git repository", "fatal: not a git repository"},
        {"Exit code 1", "Exit code 1"},
        {"{\"stdout\":\"building\",\"stderr\":\"ld: symbol not found\",\"exit_code\":1}", "ld: symbol not found"},
        {"{\"error\":{\"message\":\"line one\\nline two\"}}", "line one"},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"Error: gone\"}],\"isError\":true}", "Error: gone"},
        {"{\"error\":\"ENOENT\"}", "ENOENT"},
        {"{\"error\":true,\"error_message\":\"the table is locked\"}", "the table is locked"},
        {"{\"error\":true,\"reason\":\"call_ended\",\"error_message\":\"the table is locked\"}", "the table is locked"},
        {"{\"title\":\"Failure\",\"detail\":\"see there\",\"errorMessage\":\"no such row\"}", "no such row"},
        {"   at System.X.Y() in /a.cs:line 5\nSystem.InvalidOperationException: no\n   at Z()",
         "System.InvalidOperationException: no"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_str(judged(rows[i].result).message, rows[i].message);
}

static void a_message_is_cut_between_characters_and_holds_no_secret(void **state)
{
    (void)state;
    char text[1200] = "";
    for (int i = 0; i < 300; i++)
        memcpy(text + i * 3, "\xe2\x82\xac", 4);
    daruma_tool_failure f = judged(text);
    assert_int_equal(f.message.n, 600);
    f = judged("key sk-proj-abcdefghijklmnop1234567890 was refused");
    assert_str(f.message, "key [redacted] was refused");
    assert_str(f.whole, "key [redacted] was refused");
}

static void the_same_failure_in_other_words_has_the_same_signature(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"no such file: '/a/b.txt'", "no such file: '/c/d.txt'", true},
        {"took 31 s, limit 30 s", "took 45 s, limit 30 s", true},
        {"cannot open src/a.c", "cannot open src/b.c", true},
        {"cannot open a.c", "cannot open b.c", true},
        {"request req_8f3a21 failed", "request req_91bc02 failed", true},
        {"cannot open src/a.c", "cannot close src/a.c", false},
        {"not found", "timed out", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t a = judged(rows[i].a).signature, b = judged(rows[i].b).signature;
        if ((a == b) != rows[i].same)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
}

static void without_words_only_the_same_call_is_the_same_failure(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    daruma_step one = step("sh", "{\"command\":\"grep a\"}", "Exit code 1", 0);
    daruma_step two = step("sh", "{\"command\":\"grep b\"}", "Exit code 1", 0);
    uint64_t first = daruma_tool_judge(&one, NULL, &a).signature;
    assert_true(first == daruma_tool_judge(&one, NULL, &a).signature);
    assert_true(first != daruma_tool_judge(&two, NULL, &a).signature);
}

static void each_prefix_and_each_byte_of_a_result_is_judged(void **state)
{
    (void)state;
    static const char text[] =
        "{\"error\":{\"code\":\"ENOENT\",\"message\":\"a\\nTraceback (most recent call last):\\n "
        "File \\\"x\\\"\\nKeyError: \\u00e9 <b>&\"},\"exit_code\":1}";
    for (size_t n = 0; n <= sizeof text - 1; n++) {
        daruma_arena a = fresh();
        daruma_step s = {.tool = S("t"), .result = {text, n}, .ok = -1};
        daruma_step_failed(&s);
        assert_in_range(daruma_tool_judge(&s, NULL, &a).message.n, 0, n);
    }
    for (int c = 0; c < 256; c++) {
        daruma_arena a = fresh();
        char one = (char)c;
        daruma_step s = {.tool = S("t"), .result = {&one, 1}};
        assert_in_range(daruma_tool_judge(&s, NULL, &a).message.n, 0, 1);
    }
}

static void without_memory_a_failure_is_judged_without_words(void **state)
{
    (void)state;
    char room[64];
    for (size_t n = 0; n <= sizeof room; n++) {
        daruma_arena a = arena_over(room, n);
        daruma_step s = step("deploy_tool", "{}", "Traceback (most recent call last):\n  x\nKeyError:\t'a\nb'", 0);
        daruma_tool_failure f = daruma_tool_judge(&s, NULL, &a);
        assert_in_range(f.message.n, 0, 64);
    }
}

/* ---- how it is shown ------------------------------------------------------------------------------ */

static void text_of_a_tool_cannot_leave_its_block(void **state)
{
    (void)state;
    char room[1024];
    daruma_buf b = buf_over(room, sizeof room);
    daruma_tool_failure f = {.tool = S("a\n<b>"),
                             .kind = DARUMA_TOOL_AUTH_KIND,
                             .message = S("x</error>\nmessage: & y"),
                             .suggestion = S("do it")};
    daruma_tool_failure_write(&f, DARUMA_VIEW_COMPACT, &b);
    assert_str(buf_str(&b), "<error>\ntool: a &lt;b&gt;\ntype: auth\nmessage: x&lt;/error&gt; message: &amp; y\n"
                            "suggestion: do it\n</error>");
    b.n = 0;
    daruma_tool_failure_write(&f, DARUMA_VIEW_SUMMARY, &b);
    assert_str(buf_str(&b), "1 auth error in a &lt;b&gt;");
    b.n = 0;
    daruma_tool_failure_write(&f, DARUMA_VIEW_HIDDEN, &b);
    assert_int_equal(b.n, 0);
    daruma_tool_failure_write(&f, DARUMA_VIEW_FULL, &b);
    assert_str(buf_str(&b), "x</error>\nmessage: & y");
    daruma_buf small = buf_over(room, 10);
    daruma_tool_failure_write(&f, DARUMA_VIEW_COMPACT, &small);
    assert_true(small.full);
}

/* ---- the tracker ------------------------------------------------------------------------------------ */

static daruma_tracker *a_tracker(const char *name)
{
    static char rooms[4][65536] __attribute__((aligned(16)));
    static int next;
    daruma_arena a = arena_over(rooms[next++ % 4], sizeof rooms[0]);
    daruma_tracker *t = daruma_tracker_new(&a, profile(name));
    assert_non_null(t);
    return t;
}

static bool see(daruma_tracker *t, const char *key, daruma_step s)
{
    daruma_arena a = arena_over(scratch_room, sizeof scratch_room);
    return daruma_tracker_see(t, str_of(key), &s, at(0), &a);
}

static bool fails(daruma_tracker *t, const char *tool, const char *args, const char *result)
{
    return see(t, "", step(tool, args, result, 0));
}

static bool works(daruma_tracker *t, const char *tool, const char *args)
{
    return see(t, "", step(tool, args, "fine", 1));
}

static void without_room_there_is_no_tracker(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, daruma_tracker_bytes() - 1);
    assert_null(daruma_tracker_new(&a, NULL));
    assert_in_range(daruma_tracker_bytes(), 1, 16384); /* one for each of thousands of sessions */
}

static void it_stays_handed_over_until_somebody_looked(void **state)
{
    (void)state;
    daruma_tracker *t = a_tracker("default");
    assert_true(fails(t, "a", "{}", "boom"));
    assert_false(daruma_tracker_escalation(t).needs_review);
    assert_true(fails(t, "a", "{}", "boom"));
    assert_false(fails(t, "a", "{}", "boom"));
    assert_str(daruma_tracker_escalation(t).reason, "a failed 3 times in a row in the same way: boom");
    assert_false(works(t, "b", "{}"));
    assert_false(fails(t, "b", "{}", "other"));
    assert_str(daruma_tracker_escalation(t).reason, "a failed 3 times in a row in the same way: boom");
    daruma_tracker_resume(t);
    assert_false(daruma_tracker_escalation(t).needs_review);
    assert_int_equal(daruma_tracker_escalation(t).reason.n, 0);
    assert_true(fails(t, "a", "{}", "boom"));
    assert_int_equal(daruma_tracker_list(t, NULL, 0), 5);
}

static void five_different_failures_of_one_tool_are_too_many(void **state)
{
    (void)state;
    static const char *const words[] = {"alpha", "beta", "gamma", "delta", "epsilon"};
    daruma_tracker *t = a_tracker("default");
    for (int i = 0; i < 4; i++)
        assert_true(fails(t, "a", "{}", words[i]));
    assert_false(fails(t, "a", "{}", words[4]));
    assert_str(daruma_tracker_escalation(t).reason, "a failed 5 times without a success between: epsilon");
}

static void what_may_pass_by_itself_is_given_more_patience(void **state)
{
    (void)state;
    daruma_tracker *t = a_tracker("default");
    for (int i = 0; i < 3 * TOOL_PATIENCE - 1; i++)
        assert_true(fails(t, "get", "{\"id\":1}", "429 Too Many Requests"));
    assert_false(fails(t, "get", "{\"id\":1}", "429 Too Many Requests"));
    t = a_tracker("default");
    for (int i = 0; i < 3 * TOOL_PATIENCE - 1; i++)
        assert_true(fails(t, "bash", "{\"command\":\"sleep 2 && curl -s localhost/health\"}", "000"));
    assert_false(fails(t, "bash", "{\"command\":\"sleep 2 && curl -s localhost/health\"}", "000"));
    t = a_tracker("compact");
    assert_true(fails(t, "get", "{\"id\":1}", "timeout"));
    assert_true(fails(t, "get", "{\"id\":1}", "timeout"));
    assert_false(fails(t, "get", "{\"id\":1}", "timeout"));
}

static void keys_are_counted_apart(void **state)
{
    (void)state;
    daruma_tracker *t = a_tracker("default");
    daruma_step s = step("a", "{}", "boom", 0);
    assert_true(see(t, "one", s));
    assert_true(see(t, "one", s));
    assert_true(see(t, "two", s));
    assert_true(see(t, "two", s));
    assert_false(see(t, "one", s));
}

static void words_of_the_model_are_nobodys_failure(void **state)
{
    (void)state;
    daruma_tracker *t = a_tracker("default");
    for (int i = 0; i < 20; i++)
        assert_true(see(t, "", step("", "", "Error: boom", -1)));
    assert_int_equal(daruma_tracker_list(t, NULL, 0), 0);
}

static bool resolved_by(const char *tool, const char *args, const char *failure, const char *by, const char *with)
{
    daruma_tool_failure f;
    daruma_tracker *t = a_tracker("default");
    fails(t, tool, args, failure);
    works(t, by, with);
    assert_int_equal(daruma_tracker_list(t, &f, 1), 1);
    return f.resolved;
}

static void a_failure_is_resolved_by_its_own_goal_alone(void **state)
{
    (void)state;
    assert_true(resolved_by("a", "{\"x\":1}", "boom", "a", "{\"x\":1}"));
    assert_true(resolved_by("a", "{\"x\":1,\"y\":2}", "boom", "a", "{\"x\":1,\"y\":2}"));
    assert_false(resolved_by("a", "{\"x\":1}", "boom", "a", "{\"x\":2}"));
    assert_false(resolved_by("a", "{\"x\":1}", "boom", "b", "{\"x\":1}"));
    /* the same target */
    assert_true(resolved_by("read", "{\"path\":\"a\"}", "boom", "read", "{\"path\":\"a\",\"limit\":3}"));
    assert_false(resolved_by("read", "{\"path\":\"a\"}", "boom", "read", "{\"path\":\"b\"}"));
    assert_true(resolved_by("get", "{\"id\":7,\"v\":1}", "boom", "get", "{\"v\":2,\"id\":7}"));
    assert_false(resolved_by("get", "{\"id\":7}", "boom", "get", "{\"id\":8}"));
    assert_false(resolved_by("read", "{\"path\":\"a\"}", "x is required", "read", "{\"x\":1}"));
    /* wrong arguments, corrected */
    assert_true(resolved_by("ship", "{\"to\":\"A\"}", "author is required", "ship", "{\"to\":\"A\",\"author\":\"B\"}"));
    assert_true(resolved_by("ship", "{}", "author is required", "ship", "{\"author\":\"B\"}"));
    assert_false(resolved_by("ship", "{\"to\":\"A\"}", "author is required", "ship", "{\"to\":\"C\"}"));
    assert_false(resolved_by("ship", "{\"to\":\"A\"}", "timed out", "ship", "{\"to\":\"A\",\"author\":\"B\"}"));
}

static void equal_failures_are_shown_once_with_their_number(void **state)
{
    (void)state;
    char room[2048];
    daruma_buf b = buf_over(room, sizeof room);
    daruma_tracker *t = a_tracker("default");
    fails(t, "a", "{}", "boom");
    fails(t, "b", "{}", "other");
    fails(t, "a", "{}", "boom");
    daruma_tracker_context(t, &b);
    assert_str(buf_str(&b), "<error>\ntool: b\ntype: unknown\nmessage: other\n</error>\n\n"
                            "<error>\ntool: a\ntype: unknown\nmessage: boom\ntimes: 2\n</error>");
    b.n = 0;
    daruma_tracker_summary(t, &b);
    assert_str(buf_str(&b), "2 errors in a\n1 error in b");
}

static void full_it_forgets_what_was_resolved_and_then_the_oldest(void **state)
{
    (void)state;
    static daruma_tool_failure f[TRACKED_FAILURES_MAX];
    char name[16], room[2048];
    daruma_tracker *t = a_tracker("default");
    daruma_buf b = buf_over(room, sizeof room);
    fails(t, "first", "{}", "boom");
    fails(t, "second", "{}", "boom");
    works(t, "second", "{}");
    for (int i = 0; i < TRACKED_FAILURES_MAX - 1; i++) {
        snprintf(name, sizeof name, "t%d", i);
        fails(t, name, "{}", "boom");
    }
    assert_int_equal(daruma_tracker_list(t, f, TRACKED_FAILURES_MAX), TRACKED_FAILURES_MAX);
    assert_str(f[0].tool, "first");
    assert_str(f[1].tool, "t0");
    fails(t, "last", "{}", "boom");
    assert_int_equal(daruma_tracker_list(t, f, TRACKED_FAILURES_MAX), TRACKED_FAILURES_MAX);
    assert_str(f[0].tool, "t0");
    assert_str(f[TRACKED_FAILURES_MAX - 1].tool, "last");
    daruma_tracker_context(t, &b);
    assert_true(str_starts(buf_str(&b), S("<error_summary>\n30 older errors hidden\n</error_summary>\n\n<error>")));
}

static void long_texts_are_kept_cut_and_make_each_other_room(void **state)
{
    (void)state;
    static char text[4096], name[300];
    daruma_policy p = *profile("compact");
    p.watch.message_chars = 100000;
    p.watch.same_max = p.watch.total_max = 0;
    daruma_arena a = fresh();
    daruma_tracker *t = daruma_tracker_new(&a, &p);
    memset(text, 'x', sizeof text - 1);
    memset(name, 'n', sizeof name - 1);
    daruma_tool_failure f[8];
    for (int i = 0; i < 50; i++)
        assert_true(fails(t, name, "{}", text));
    size_t n = daruma_tracker_list(t, f, 8);
    assert_in_range(n, 3, 8);
    assert_int_equal(f[n - 1].tool.n, TRACKED_NAME_BYTES_MAX);
    assert_int_equal(f[n - 1].message.n, TRACKED_TEXT_BYTES_MAX / 4);
    assert_int_equal(f[n - 1].step, 50);
}

/* ---- whatever comes ------------------------------------------------------------------------------------ */

static uint64_t dice;
static uint32_t roll(uint32_t sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 33) % sides;
}

static daruma_step any_step(void)
{
    static const char *const tools[] = {"read", "edit", "shell", "deploy", "", "a<b>&\n"};
    static const char *const args[] = {
        "{\"path\":\"a\"}", "{\"path\":\"b\"}", "{\"command\":\"make\"}", "{}", "", "[1"};
    static const char *const results[] = {"boom",
                                          "boom 2",
                                          "x is required",
                                          "timed out",
                                          "",
                                          "{\"error\":{\"code\":\"ENOENT\"}}",
                                          "</error>\nzap",
                                          "not\xff utf8",
                                          "Exit code 1",
                                          "user rejected it",
                                          "\x1b[31mred"};
    return step(tools[roll(6)], args[roll(6)], results[roll(11)], (int)roll(3) - 1);
}

/* Blocks are balanced: no text opens or closes one. */
static void check_blocks(daruma_str text)
{
    int open = 0;
    while (text.n) {
        daruma_str line = str_cut(&text, '\n');
        open += str_eq(line, S("<error>")) - str_eq(line, S("</error>"));
        assert_in_range(open, 0, 1);
        if (open)
            assert_true(str_findch(line, '<') == STR_NONE || str_eq(line, S("<error>")));
    }
    assert_int_equal(open, 0);
}

static void any_steps_keep_it_bounded_and_a_copy_goes_on_alike(void **state)
{
    (void)state;
    static char copy[65536] __attribute__((aligned(16))), room[2][65536];
    static daruma_tool_failure f[TRACKED_FAILURES_MAX + 1];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        dice = seed * 0x9e3779b97f4a7c15u;
        bool compact = seed % 4 == 0;
        daruma_tracker *t = a_tracker(compact ? "compact" : "default"), *twin = t;
        for (int i = 0; i < 300; i++) {
            daruma_step s = any_step();
            const char *key = roll(3) ? "" : "agent";
            uint32_t total = daruma_tracker_escalation(t).total;
            bool failed = daruma_step_failed(&s);
            if (roll(50) == 0) { /* from here on two of them */
                memcpy(copy, t, daruma_tracker_bytes());
                twin = (daruma_tracker *)(void *)copy;
            }
            bool go_on = see(t, key, s);
            if (twin != t)
                assert_int_equal(see(twin, key, s), go_on);
            daruma_escalation e = daruma_tracker_escalation(t);
            assert_int_equal(e.needs_review, !go_on);
            assert_int_equal(e.reason.n > 0, e.needs_review);
            assert_true(failed ? e.total == total || e.total == total + 1 : e.total <= total);
            if (!e.needs_review) {
                uint32_t times = compact ? 1 : TOOL_PATIENCE;
                assert_true(e.total < 10 && e.in_row < 3 * times);
                assert_true(compact || e.of_tool < 5 * times);
            }
            daruma_buf b = buf_over(room[0], sizeof room[0]);
            daruma_tracker_context(t, &b);
            BUF_LIT(&b, "\n");
            daruma_tracker_summary(t, &b);
            assert_false(b.full);
            if (!compact)
                check_blocks(buf_str(&b));
            assert_in_range(daruma_tracker_list(t, f, TRACKED_FAILURES_MAX), 0, TRACKED_FAILURES_MAX);
            if (twin != t) {
                daruma_buf c = buf_over(room[1], sizeof room[1]);
                daruma_tracker_context(twin, &c);
                BUF_LIT(&c, "\n");
                daruma_tracker_summary(twin, &c);
                assert_true(str_eq(buf_str(&b), buf_str(&c)));
                assert_memory_equal(t, twin, daruma_tracker_bytes());
            }
            if (roll(40) == 0) {
                daruma_tracker_resume(t);
                if (twin != t)
                    daruma_tracker_resume(twin);
                assert_int_equal(daruma_tracker_escalation(t).total, 0);
            }
        }
    }
}

static void what_is_resolved_counts_no_more(void **state)
{
    (void)state;
    daruma_tracker *t = a_tracker("default");
    for (int i = 0; i < 5; i++)
        fails(t, "get", "{\"id\":1}", "429 Too Many Requests");
    fails(t, "other", "{}", "boom");
    assert_int_equal(daruma_tracker_escalation(t).total, 6);
    works(t, "get", "{\"id\":2}");
    assert_int_equal(daruma_tracker_escalation(t).total, 5);
    works(t, "get", "{\"id\":1}");
    assert_int_equal(daruma_tracker_escalation(t).total, 0);
    daruma_tracker_resume(t);
    fails(t, "get", "{\"id\":3}", "boom");
    works(t, "other", "{}"); /* a person looked at that: it gives one back, no more */
    assert_int_equal(daruma_tracker_escalation(t).total, 0);
    fails(t, "get", "{\"id\":3}", "boom");
    fails(t, "get", "{\"id\":3}", "boom");
    works(t, "nothing", "{}");
    assert_int_equal(daruma_tracker_escalation(t).total, 1);
}

static void only_failures_hand_over_and_success_never_does(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        dice = seed * 0x9e3779b97f4a7c15u;
        daruma_tracker *t = a_tracker(seed % 2 ? "compact" : "default");
        bool was = true;
        for (int i = 0; i < 100; i++) {
            daruma_step s = any_step();
            bool go_on = see(t, "", s);
            if (was && !go_on)
                assert_true(daruma_step_failed(&s));
            assert_true(was || !go_on);
            was = go_on;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_host_says_of_a_step_holds),
        cmocka_unit_test(a_result_says_itself_whether_it_failed),
        cmocka_unit_test(a_long_text_that_begins_with_error_is_a_document),
        cmocka_unit_test(structure_decides_before_words_and_common_numbers_last),
        cmocka_unit_test(the_message_is_the_line_that_matters),
        cmocka_unit_test(a_message_is_cut_between_characters_and_holds_no_secret),
        cmocka_unit_test(the_same_failure_in_other_words_has_the_same_signature),
        cmocka_unit_test(without_words_only_the_same_call_is_the_same_failure),
        cmocka_unit_test(each_prefix_and_each_byte_of_a_result_is_judged),
        cmocka_unit_test(without_memory_a_failure_is_judged_without_words),
        cmocka_unit_test(text_of_a_tool_cannot_leave_its_block),
        cmocka_unit_test(without_room_there_is_no_tracker),
        cmocka_unit_test(it_stays_handed_over_until_somebody_looked),
        cmocka_unit_test(five_different_failures_of_one_tool_are_too_many),
        cmocka_unit_test(what_may_pass_by_itself_is_given_more_patience),
        cmocka_unit_test(keys_are_counted_apart),
        cmocka_unit_test(words_of_the_model_are_nobodys_failure),
        cmocka_unit_test(a_failure_is_resolved_by_its_own_goal_alone),
        cmocka_unit_test(equal_failures_are_shown_once_with_their_number),
        cmocka_unit_test(full_it_forgets_what_was_resolved_and_then_the_oldest),
        cmocka_unit_test(long_texts_are_kept_cut_and_make_each_other_room),
        cmocka_unit_test(any_steps_keep_it_bounded_and_a_copy_goes_on_alike),
        cmocka_unit_test(what_is_resolved_counts_no_more),
        cmocka_unit_test(only_failures_hand_over_and_success_never_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
