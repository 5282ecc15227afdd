/* The table of tools and its calls: each is told once, from the loop, and never when it was cancelled. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "run/files.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static uv_loop_t loop;
static toolset *all;

/* What was heard. */
static struct {
    int times, ok;
    bool lost;
    char result[4096];
} heard;

static void on_done(daruma_str result, int ok, bool lost, void *user)
{
    assert_ptr_equal(user, &heard);
    heard.times++;
    heard.ok = ok;
    heard.lost = lost;
    snprintf(heard.result, sizeof heard.result, STR_FMT, STR_ARG(result));
}

static tool_call *call(const char *name, const char *args)
{
    memset(&heard, 0, sizeof heard);
    return toolset_call(all, str_of(name), str_of(args), -1, on_done, &heard);
}

static void wait_for_it(void)
{
    for (int i = 0; i < 2000 && !heard.times; i++)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(heard.times, 1);
}

/* A source that ends at once, and one that never does unless it is stopped. */
static void at_once(tool_call *c)
{
    buf_put(&c->out, c->args);
    tool_over(c, 1, false);
}

static void never(tool_call *c)
{
    *(tool_call **)c->own = c;
}

static void stopped(tool_call *c)
{
    *(tool_call **)c->own = NULL;
    tool_over(c, 0, true);
}

static tool_call *hanging;
static const tool_source quick = {.start = at_once}, slow = {.start = never, .stop = stopped};

static int begin(void **state)
{
    (void)state;
    static const agent_tool one = {.about = {.name = LIT("echo")}}, two = {.about = {.name = LIT("hang")}};
    uv_loop_init(&loop);
    all = toolset_new(&loop);
    return !all || !toolset_add(all, &one, &quick, NULL) || !toolset_add(all, &two, &slow, &hanging);
}

static int end(void **state)
{
    (void)state;
    toolset_close(all);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static void a_call_is_told_once_and_not_from_within_its_beginning(void **state)
{
    (void)state;
    assert_non_null(call("echo", "{\"a\":1}"));
    assert_int_equal(heard.times, 0);
    wait_for_it();
    assert_string_equal(heard.result, "{\"a\":1}");
    assert_int_equal(heard.ok, 1);
    call("fly", "{}");
    wait_for_it();
    assert_int_equal(heard.ok, 0);
    assert_non_null(strstr(heard.result, "COMMAND_NOT_FOUND: `fly`"));
}

static void a_call_that_is_cancelled_is_stopped_and_never_told(void **state)
{
    (void)state;
    tool_call *c = call("hang", "{}");
    assert_non_null(hanging);
    tool_cancel(c);
    assert_null(hanging);
    c = call("echo", "{}");
    tool_cancel(c); /* it is over, but not told */
    for (int i = 0; i < 5; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(heard.times, 0);
}

static void a_name_stands_in_the_table_once(void **state)
{
    (void)state;
    static const agent_tool again = {.about = {.name = LIT("echo")}};
    size_t n;
    assert_false(toolset_add(all, &again, &quick, NULL));
    toolset_rows(all, &n);
    assert_int_equal(n, 2);
}

/* A search through many files ends soon when nobody waits for it. */
static void a_long_search_in_files_is_cancelled(void **state)
{
    (void)state;
    char folder[] = "/tmp/daruma-tools-XXXXXX", path[100], command[100];
    assert_non_null(mkdtemp(folder));
    static char text[1 << 20];
    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fwrite(text, 1, sizeof text - 1, f);
        fclose(f);
    }
    for (int i = 8; i < 1500; i++) {
        char from[100];
        snprintf(from, sizeof from, "%s/%d", folder, i % 8);
        snprintf(path, sizeof path, "%s/%d", folder, i);
        assert_int_equal(link(from, path), 0);
    }
    int root = files_root(folder);
    assert_true(root >= 0);
    assert_true(files_add(all, &root));
    call("fs.read", "{\"path\":\"none\"}");
    wait_for_it();
    assert_int_equal(heard.ok, 0);
    assert_non_null(strstr(heard.result, "FILE_NOT_FOUND"));
    tool_call *c = call("fs.search", "{\"text\":\"y\"}");
    uv_run(&loop, UV_RUN_NOWAIT);
    uint64_t began = uv_hrtime();
    usleep(20000); /* a thread is at work */
    tool_cancel(c);
    toolset_close(all);
    uv_run(&loop, UV_RUN_DEFAULT);
    all = NULL;
    assert_int_equal(heard.times, 0);
    uint64_t took = (uv_hrtime() - began) / 1000000;
    if (took > 500)
        fail_msg("it took %d ms", (int)took);
    close(root);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_told_once_and_not_from_within_its_beginning),
        cmocka_unit_test(a_call_that_is_cancelled_is_stopped_and_never_told),
        cmocka_unit_test(a_name_stands_in_the_table_once),
        cmocka_unit_test(a_long_search_in_files_is_cancelled),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
