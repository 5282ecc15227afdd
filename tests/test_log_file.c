/* Logs that never make anybody wait: lines are whole or lost, and what is lost is counted and noted. */
#include "test.h"
#include "../src/gateway/see/log_file.c"
#include <fcntl.h>
#include <sys/resource.h>

static char folder[] = "/tmp/daruma-log-XXXXXX";
static char path[100];

static int begin(void **state)
{
    (void)state;
    sys_ignore_sigpipe();
    return mkdtemp(folder) == NULL;
}

static int end(void **state)
{
    (void)state;
    return rmdir(folder);
}

static log_file fresh(void)
{
    return (log_file){.fd = -1, .key = "test.file", .note = "{\"event\":\"events_lost\""};
}

static void at_path(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
}

/* A line of n bytes, the number `i` in it. */
static bool put(log_file *f, int i, size_t n)
{
    char line[8192];
    int head = snprintf(line, sizeof line, "{\"i\":%d,\"x\":\"", i);
    memset(line + head, 'x', n);
    memcpy(line + n - 3, "\"}\n", 3);
    return log_file_put(f, (daruma_str){line, n}, 1767225600 + i);
}

static char text[1 << 18];

/* All that can be read now. */
static daruma_str all(int fd)
{
    ssize_t n;
    size_t have = 0;
    while ((n = read(fd, text + have, sizeof text - have)) > 0)
        have += (size_t)n;
    return (daruma_str){text, have};
}

/* How many lines of `s` begin so; each is whole. */
static size_t lines(daruma_str s, const char *begin_)
{
    size_t n = 0;
    assert_true(!s.n || s.p[s.n - 1] == '\n');
    while (s.n) {
        daruma_str line = str_cut(&s, '\n');
        assert_true(line.n > 2 && line.p[0] == '{' && line.p[line.n - 1] == '}' &&
                    str_findch(str_from(line, 1), '{') == STR_NONE);
        n += str_starts(line, str_of(begin_));
    }
    return n;
}

static void a_pipe_that_nobody_empties_loses_whole_lines_and_says_how_many(void **state)
{
    (void)state;
    char why[512];
    log_file f = fresh();
    at_path("fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(log_file_open(&f, str_of(path), why));
    size_t put_well = 0;
    for (int i = 0; i < 60; i++) /* longer than what a pipe takes at once: the last one is taken in part */
        put_well += put(&f, i, i ? 5000 : 3900);
    assert_true(put_well > 0 && f.lost == 60 - put_well);
    assert_true(f.nrest > 0 && f.failing);
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    daruma_str before = all(fd);
    assert_true(before.n && before.p[before.n - 1] != '\n'); /* the rest of it is still here */
    char *first = malloc(before.n);
    memcpy(first, before.p, before.n);
    assert_true(put(&f, 100, 200));
    daruma_str rest = all(fd);
    char *whole = malloc(before.n + rest.n);
    memcpy(whole, first, before.n);
    memcpy(whole + before.n, rest.p, rest.n);
    daruma_str got = {whole, before.n + rest.n};
    assert_int_equal(lines(got, "{\"i\":"), put_well + 1);
    assert_int_equal(lines(got, "{\"event\":\"events_lost\""), 1);
    assert_true(str_find(got, S(",\"lost\":")) != STR_NONE &&
                str_find(got, S("nobody reads it fast enough")) != STR_NONE);
    assert_false(f.failing);
    free(first);
    free(whole);
    close(fd);
    log_file_close(&f);
    unlink(path);
}

static void a_pipe_that_is_opened_again_gets_the_rest_of_its_line(void **state)
{
    (void)state;
    char why[512];
    log_file f = fresh();
    at_path("again");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(log_file_open(&f, str_of(path), why));
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    for (int i = 0; i < 60; i++)
        put(&f, i, i ? 5000 : 3900);
    assert_true(f.nrest > 0);
    assert_true(log_file_open(&f, str_of(path), why)); /* the configuration was read again */
    daruma_str before = all(fd);
    char *whole = malloc(before.n + 20000);
    memcpy(whole, before.p, before.n);
    put(&f, 100, 200);
    daruma_str rest = all(fd);
    memcpy(whole + before.n, rest.p, rest.n);
    assert_true(lines((daruma_str){whole, before.n + rest.n}, "{\"i\":100,") == 1);
    free(whole);
    close(fd);
    log_file_close(&f);
    unlink(path);
}

static void what_a_full_disk_took_of_a_line_is_taken_back(void **state)
{
    (void)state;
    char why[512];
    log_file f = fresh();
    struct rlimit was, small;
    at_path("full");
    assert_true(log_file_open(&f, str_of(path), why));
    getrlimit(RLIMIT_FSIZE, &was);
    small = (struct rlimit){10000, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    assert_true(put(&f, 1, 3000) && put(&f, 2, 3000) && put(&f, 3, 3000));
    assert_false(put(&f, 4, 3000)); /* 1,000 bytes of it fit */
    assert_false(put(&f, 5, 3000));
    assert_int_equal(f.lost, 2);
    int fd = open(path, O_RDONLY);
    assert_int_equal(lines(all(fd), "{\"i\":"), 3);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_true(put(&f, 6, 3000));
    lseek(fd, 0, SEEK_SET);
    daruma_str got = all(fd);
    assert_int_equal(lines(got, "{\"i\":"), 4);
    assert_true(str_find(got, S("\"ts\":\"2026-01-01T00:00:0")) != STR_NONE);
    uint64_t noted = 0;
    for (daruma_str s = got; s.n;) {
        daruma_str line = str_cut(&s, '\n');
        size_t at = str_find(line, S("\"lost\":"));
        noted += at == STR_NONE ? 0 : (uint64_t)(line.p[at + 7] - '0');
    }
    assert_int_equal(noted, 2); /* in one note or in two: a note may fit where a line does not */
    close(fd);
    log_file_close(&f);
    unlink(path);
}

static void a_file_that_takes_nothing_loses_all_and_goes_on(void **state)
{
    (void)state;
    char why[512] = "";
    log_file f = fresh();
    assert_true(log_file_open(&f, S("/dev/full"), why));
    for (int i = 0; i < 3; i++)
        assert_false(put(&f, i, 100));
    assert_int_equal(f.lost, 3);
    assert_false(log_file_open(&f, S("/no/such/folder/file"), why)); /* and stays what it was */
    assert_true(f.fd >= 0 && strstr(why, "test.file: /no/such/folder/file: No such file"));
    assert_true(log_file_open(&f, S(""), why));
    assert_true(put(&f, 4, 100)); /* nothing is open: nothing is lost */
    assert_int_equal(f.lost, 3);
    log_file_close(&f);
}

/* ---- lines that go out together ---- */

static char held[LOG_HELD_BYTES];

static log_file fresh_held(void)
{
    log_file f = fresh();
    f.held = held;
    return f;
}

static void hold(log_file *f, int i, size_t n)
{
    char line[8192];
    int head = snprintf(line, sizeof line, "{\"i\":%d,\"x\":\"", i);
    memset(line + head, 'x', n);
    memcpy(line + n - 3, "\"}\n", 3);
    log_file_hold(f, (daruma_str){line, n}, 1767225600 + i);
}

/* How many lines begin so in the file by now. */
static size_t lines_now(const char *begin_)
{
    int fd = open(path, O_RDONLY);
    size_t n = lines(all(fd), begin_);
    close(fd);
    return n;
}

static void held_lines_go_out_when_they_are_flushed_or_full_or_closed(void **state)
{
    (void)state;
    char why[512];
    log_file f = fresh_held();
    at_path("held");
    assert_true(log_file_open(&f, str_of(path), why));
    for (int i = 0; i < 3; i++)
        hold(&f, i, 100);
    assert_int_equal(lines_now("{\"i\":"), 0);
    log_file_flush(&f);
    assert_int_equal(lines_now("{\"i\":"), 3);
    for (int i = 0; i < 4; i++)
        hold(&f, i, 5000);
    assert_int_equal(lines_now("{\"i\":"), 6); /* three were all that fit */
    log_file_close(&f);
    assert_int_equal(lines_now("{\"i\":"), 7);
    unlink(path);
}

static void a_full_disk_takes_the_whole_ones_of_held_lines(void **state)
{
    (void)state;
    char why[512];
    log_file f = fresh_held();
    struct rlimit was, small;
    at_path("held-full");
    assert_true(log_file_open(&f, str_of(path), why));
    getrlimit(RLIMIT_FSIZE, &was);
    small = (struct rlimit){10000, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 5; i++)
        hold(&f, i, 3000); /* three of them fit, and 1,000 bytes of the fourth */
    log_file_flush(&f);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(lines_now("{\"i\":"), 3);
    assert_int_equal(f.lost, 2);
    hold(&f, 6, 3000);
    log_file_flush(&f);
    assert_int_equal(lines_now("{\"i\":6,"), 1);
    assert_int_equal(f.untold, 0); /* the file says so */
    log_file_close(&f);
    unlink(path);
}

static void held_lines_that_a_pipe_does_not_take_are_counted(void **state)
{
    (void)state;
    char why[512];
    log_file f = fresh_held();
    at_path("held-fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(log_file_open(&f, str_of(path), why));
    for (int i = 0; i < 60; i++)
        hold(&f, i, i ? 5000 : 3900);
    log_file_flush(&f);
    assert_true(f.lost > 0 && f.nrest > 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    daruma_str before = all(fd);
    char *whole = malloc(before.n + 20000);
    memcpy(whole, before.p, before.n);
    hold(&f, 100, 200);
    log_file_flush(&f);
    daruma_str rest = all(fd);
    memcpy(whole + before.n, rest.p, rest.n);
    daruma_str got = {whole, before.n + rest.n};
    assert_int_equal(lines(got, "{\"i\":"), 60 - f.lost + 1);
    assert_int_equal(lines(got, "{\"event\":\"events_lost\""), 1);
    free(whole);
    close(fd);
    log_file_close(&f);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_lines_go_out_when_they_are_flushed_or_full_or_closed),
        cmocka_unit_test(a_full_disk_takes_the_whole_ones_of_held_lines),
        cmocka_unit_test(held_lines_that_a_pipe_does_not_take_are_counted),
        cmocka_unit_test(a_pipe_that_nobody_empties_loses_whole_lines_and_says_how_many),
        cmocka_unit_test(a_pipe_that_is_opened_again_gets_the_rest_of_its_line),
        cmocka_unit_test(what_a_full_disk_took_of_a_line_is_taken_back),
        cmocka_unit_test(a_file_that_takes_nothing_loses_all_and_goes_on),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
