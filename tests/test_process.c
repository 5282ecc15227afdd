#include "test.h"
#include "sys/process.h"
#include "base/limits.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct result {
    int calls, exit_code;
    char out[256], why[256];
} result;

static void keep(int exit_code, daruma_str out, const char *why, void *user)
{
    result *r = user;
    r->calls++;
    r->exit_code = exit_code;
    snprintf(r->out, sizeof r->out, STR_FMT, STR_ARG(out));
    snprintf(r->why, sizeof r->why, "%s", why ? why : "");
}

static result run(const char *command, daruma_ms deadline)
{
    result r = {0};
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    char *copy = strdup(command);
    process_run(&loop, copy, deadline, keep, &r);
    free(copy);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0); /* no handle was left */
    assert_int_equal(r.calls, 1);
    return r;
}

static void the_first_line_comes_trimmed(void **state)
{
    (void)state;
    result r = run("printf '  sk-one \\r\\nsk-two\\n'", 10000);
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.out, "sk-one");
    assert_string_equal(r.why, "");
    assert_string_equal(run("printf sk-no-line-end", 10000).out, "sk-no-line-end");
    assert_string_equal(run("printf a; printf b; echo c", 10000).out, "abc");
}

static void a_failure_is_told_without_the_output(void **state)
{
    (void)state;
    result r = run("echo sk-secret; exit 3", 10000);
    assert_int_equal(r.exit_code, 3);
    assert_string_equal(r.out, "");
    assert_string_equal(r.why, "it ended with exit code 3");
    assert_int_equal(run("/no/such/command-here", 10000).exit_code, 127);
    r = run("kill -TERM $$", 10000);
    assert_int_equal(r.exit_code, 128 + SIGTERM);
    assert_string_equal(r.why, "it was ended by signal 15");
    r = run("true", 10000);
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.why, "it printed nothing");
}

static void its_input_is_empty_and_its_errors_are_not_taken(void **state)
{
    (void)state;
    assert_string_equal(run("cat; echo oops >&2; echo key", 10000).out, "key");
}

/* Gone, or about to be: what was killed may wait for its reaping by init. */
static bool is_gone(long pid)
{
    char name[64], state = 'X';
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    FILE *f = fopen(name, "r");
    if (!f)
        return true;
    if (fscanf(f, "%*d %*s %c", &state) != 1)
        state = 'X';
    fclose(f);
    return state == 'Z' || state == 'X';
}

static void the_whole_group_is_killed_at_the_deadline(void **state)
{
    (void)state;
    char name[] = "/tmp/daruma-test-XXXXXX", command[200];
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    snprintf(command, sizeof command, "sleep 600 & echo $! > %s; echo key; wait", name);
    result r = run(command, 500);
    assert_int_equal(r.exit_code, -1);
    assert_string_equal(r.out, "");
    assert_string_equal(r.why, "it did not end in time and was killed");
    char text[32] = {0};
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    unlink(name);
    bool gone = false;
    for (int i = 0; i < 200 && !gone; i++) {
        gone = is_gone(strtol(text, NULL, 10));
        usleep(10000);
    }
    assert_true(gone);
}

static void what_stays_in_the_background_is_not_waited_for(void **state)
{
    (void)state;
    result r = run("sleep 20 & echo key", 60000);
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.out, "key");
}

static void too_much_output_ends_it(void **state)
{
    (void)state;
    result r = run("yes", 60000);
    assert_int_equal(r.exit_code, -1);
    assert_non_null(strstr(r.why, "too much"));
}

static void one_that_is_stopped_says_so_at_once_and_leaves_nothing(void **state)
{
    (void)state;
    result r = {0};
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    process *p = process_run(&loop, "echo sk-secret; sleep 100", 100000, keep, &r);
    process_stop(p);
    assert_int_equal(r.calls, 1);
    assert_int_equal(r.exit_code, -1);
    assert_string_equal(r.out, "");
    assert_string_equal(r.why, "it was stopped");
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(r.calls, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_comes_trimmed),
        cmocka_unit_test(a_failure_is_told_without_the_output),
        cmocka_unit_test(its_input_is_empty_and_its_errors_are_not_taken),
        cmocka_unit_test(the_whole_group_is_killed_at_the_deadline),
        cmocka_unit_test(what_stays_in_the_background_is_not_waited_for),
        cmocka_unit_test(too_much_output_ends_it),
        cmocka_unit_test(one_that_is_stopped_says_so_at_once_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
