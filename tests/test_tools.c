/* The table of tools and its calls: each is told once, from the loop, and never when it was cancelled. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "net/address.h"
#include "run/agents.h"
#include "tools/files.h"
#include "tools/web.h"
#include "sys/beneath.h"
#include "sys/child.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
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
    return toolset_call(all, str_of(name), str_of(args), 0, -1, on_done, &heard);
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
    files_place place = {.root = root};
    assert_true(files_add(all, &place));
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

static void urls_are_read_and_joined(void **state)
{
    (void)state;
    static char mem[64 << 10];
    static const struct {
        const char *text, *target; /* NULL: it is refused */
    } places[] = {
        {"https://a.example", "/"},
        {" http://a.example:81?x#y ", "/?x"},
        {"https://a.example/b c/\xc3\xbc?q={1}#frag", "/b%20c/%C3%BC?q=%7B1%7D"},
        {"https://a.example/%20", "/%20"},
        {"ftp://a.example/", NULL},
        {"a.example", NULL},
        {"http://u:p@a.example/", NULL},
        {"http://\xc3\xa4.example/", NULL},
        {"http:///x", NULL},
        {"http://a.example:x/", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(places); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        url_page p = {0};
        const char *why = url_read_page(str_of(places[i].text), &a, &p);
        if ((why == NULL) != (places[i].target != NULL))
            fail_msg("%s: %s", places[i].text, why ? why : "it was taken");
        if (!why)
            assert_str(p.target, places[i].target);
    }
    /* RFC 3986 5.4, as far as it is about http */
    static const struct {
        const char *location, *url;
    } joins[] = {
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p#s"},
        {"", "http://a/b/c/d;p"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/../h", "http://a/b/c/h"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"https://o/x", "https://o/x"},
    };
    for (size_t i = 0; i < COUNT(joins); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        url_page from = {0};
        assert_null(url_read_page(S("http://a/b/c/d;p?q"), &a, &from));
        assert_str(url_join(&from, str_of(joins[i].location), &a), joins[i].url);
    }
}

static void addresses_that_are_nobodys_or_our_own_are_not_public(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool open;
    } rows[] = {
        {"8.8.8.8", true},
        {"172.15.0.1", true},
        {"172.32.0.1", true},
        {"192.169.0.1", true},
        {"100.63.0.1", true},
        {"100.128.0.1", true},
        {"11.0.0.1", true},
        {"223.255.0.1", true},
        {"0.0.0.0", false},
        {"10.1.2.3", false},
        {"100.64.0.1", false},
        {"127.0.0.1", false},
        {"127.255.0.1", false},
        {"169.254.169.254", false},
        {"172.16.0.1", false},
        {"172.31.255.1", false},
        {"192.168.0.1", false},
        {"198.18.0.1", false},
        {"224.0.0.1", false},
        {"255.255.255.255", false},
        {"2606:4700::1111", true},
        {"::ffff:8.8.8.8", true},
        {"64:ff9b::808:808", true},
        {"::", false},
        {"::1", false},
        {"::ffff:127.0.0.1", false},
        {"fe80::1", false},
        {"fc00::1", false},
        {"fd12::1", false},
        {"ff02::1", false},
        {"2001:db8::1", false},
        {"2002:7f00:1::", false},
        {"2001::1", false},
        {"64:ff9b::7f00:1", false},
        {"::127.0.0.1", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sockaddr_storage s;
        if (uv_ip4_addr(rows[i].text, 80, (struct sockaddr_in *)&s) != 0)
            assert_int_equal(uv_ip6_addr(rows[i].text, 80, (struct sockaddr_in6 *)&s), 0);
        if (address_is_public((struct sockaddr *)&s) != rows[i].open)
            fail_msg("%s", rows[i].text);
    }
}

/* A proxy would read them all. */
static void an_address_is_ones_own_however_it_is_written(void **state)
{
    (void)state;
    static const char *const own[] = {"localhost",
                                      "a.localhost",
                                      "127.0.0.1",
                                      "127.1",
                                      "2130706433",
                                      "0x7f000001",
                                      "0177.0.0.1",
                                      "2852039166",
                                      "0xa9.254.43518",
                                      "10.1",
                                      "::1",
                                      "::ffff:10.0.0.1",
                                      "fe80::1",
                                      "fe80::1%25eth0",
                                      "::1%25lo",
                                      "::ffff:169.254.169.254%25x",
                                      "localhost.",
                                      "127.0.0.1.",
                                      "169.254.169.254.",
                                      "%31%32%37.0.0.1",
                                      "fe80::1%",
                                      "%3a%3a1"};
    static const char *const others[] = {"example.org",
                                         "8.8.8.8",
                                         "134744072",
                                         "2606:4700::1111",
                                         "2606:4700::1111%25eth0",
                                         "localhost.example.org",
                                         "127.0.0.1.example.org",
                                         "example.org.",
                                         "8.8.8.8."};
    for (size_t i = 0; i < COUNT(own); i++)
        if (!host_is_own(str_of(own[i])))
            fail_msg("%s is own", own[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        if (host_is_own(str_of(others[i])))
            fail_msg("%s is not own", others[i]);
}

/* ---- files ---- */

static int new_root(char folder[64])
{
    snprintf(folder, 64, "/tmp/daruma-files-XXXXXX");
    assert_non_null(mkdtemp(folder));
    int root = files_root(folder);
    assert_true(root >= 0);
    return root;
}

static size_t names_in(int root, daruma_arena *a, char **names, size_t max)
{
    int fd = beneath_folder(root, S("."));
    size_t n = beneath_names(fd, a, names, max);
    close(fd);
    return n;
}

static void remove_root(int root, const char *folder)
{
    char command[100];
    close(root);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

typedef struct writer {
    int root;
    char letter;
    int wrong; /* it was told that the file is written, and it is not what was written */
} writer;

static void write_often(void *user)
{
    writer *w = user;
    char path[2] = {w->letter}, text[3000];
    memset(text, w->letter, sizeof text);
    for (int i = 0; i < 200; i++) {
        char mem[512 << 10];
        daruma_arena a = arena_over(mem, sizeof mem);
        size_t n = 1000 + (size_t)i;
        daruma_str is;
        bool well = beneath_write(w->root, str_of(path), (daruma_str){text, n}, (daruma_str){0}) &&
                    beneath_read(w->root, str_of(path), sizeof text, &a, &is) && is.n == n && !memcmp(is.p, text, n);
        w->wrong += !well;
    }
}

static void two_writers_in_one_folder_do_not_share_a_file(void **state)
{
    (void)state;
    char folder[64], mem[4096];
    int root = new_root(folder);
    int fd = openat(root, ".daruma-new", O_WRONLY | O_CREAT | O_EXCL, 0600); /* the user's own */
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    writer w[] = {{.root = root, .letter = 'a'}, {.root = root, .letter = 'b'}};
    uv_thread_t threads[COUNT(w)];
    for (size_t i = 0; i < COUNT(w); i++)
        assert_int_equal(uv_thread_create(&threads[i], write_often, &w[i]), 0);
    for (size_t i = 0; i < COUNT(w); i++)
        uv_thread_join(&threads[i]);
    assert_int_equal(w[0].wrong + w[1].wrong, 0);
    daruma_arena a = arena_over(mem, sizeof mem);
    char *names[16];
    assert_int_equal(names_in(root, &a, names, COUNT(names)), 3);
    assert_string_equal(names[0], ".daruma-new");
    remove_root(root, folder);
}

static void what_a_killed_writer_left_goes_and_nothing_else(void **state)
{
    (void)state;
    static const char *const files[] = {
        "sub/.daruma-new-one-0", "sub/.daruma-new-one-17", "sub/.daruma-new-one-1-2", "sub/.daruma-new-two-0",
        "sub/.daruma-new-one-x", "sub/.daruma-new-one-",   "sub/.daruma-new",         ".daruma-new-one-3",
    };
    static const char *const stay[] = {".daruma-new",
                                       ".daruma-new-one-",
                                       ".daruma-new-one-1-2",
                                       ".daruma-new-one-9",
                                       ".daruma-new-one-x",
                                       ".daruma-new-two-0",
                                       "a"};
    char folder[64], mem[8192];
    int root = new_root(folder);
    assert_int_equal(mkdirat(root, "sub", 0777), 0);
    for (size_t i = 0; i < COUNT(files); i++)
        close(openat(root, files[i], O_WRONLY | O_CREAT | O_EXCL, 0600));
    assert_int_equal(mkdirat(root, "sub/.daruma-new-one-9", 0777), 0);
    assert_true(beneath_write(root, S("sub/a"), S("x"), S("one"))); /* that one is taken: the next name is tried */
    beneath_clear(root, S("sub/a"), S("one"));
    beneath_clear(root, S("none/a"), S("one"));
    beneath_clear(root, S("../a"), S("one"));
    daruma_arena a = arena_over(mem, sizeof mem);
    char *names[16];
    int sub = beneath_folder(root, S("sub"));
    assert_int_equal(names_in(sub, &a, names, COUNT(names)), COUNT(stay));
    for (size_t i = 0; i < COUNT(stay); i++)
        assert_string_equal(names[i], stay[i]);
    close(sub);
    assert_int_equal(faccessat(root, ".daruma-new-one-3", F_OK, 0), 0); /* another folder's */
    remove_root(root, folder);
}

/* What was synced, in order: bytes of a file, or the number of names in a folder. The program's own fsync() takes the
 * library's place, and writes down what the one test does that looks: others sync on threads of their own. */
static struct {
    bool looks;
    int n;
    bool folder[16];
    int names[16];
} synced;

int fsync(int fd)
{
    struct stat st;
    if (synced.looks && fstat(fd, &st) == 0 && synced.n < (int)COUNT(synced.names)) {
        char mem[4096], *names[16];
        daruma_arena a = arena_over(mem, sizeof mem);
        synced.folder[synced.n] = S_ISDIR(st.st_mode);
        synced.names[synced.n] = S_ISDIR(st.st_mode) ? (int)names_in(fd, &a, names, COUNT(names)) : (int)st.st_size;
        synced.n++;
    }
    return 0;
}

static void a_write_is_synced_with_its_folder_and_those_that_were_made(void **state)
{
    (void)state;
    char folder[64];
    int root = new_root(folder);
    synced.looks = true;
    assert_true(beneath_write(root, S("x/y/a"), S("four"), (daruma_str){0}));
    assert_int_equal(synced.n, 4);
    assert_true(synced.folder[0] && synced.names[0] == 1);  /* x, in the root */
    assert_true(synced.folder[1] && synced.names[1] == 1);  /* y, in x */
    assert_true(!synced.folder[2] && synced.names[2] == 4); /* what was written, before it has its name ... */
    assert_true(synced.folder[3] && synced.names[3] == 1);  /* ... and the name */
    synced.n = 0;
    assert_true(beneath_write(root, S("x/y/a"), S("five5"), (daruma_str){0}));
    assert_int_equal(synced.n, 2);
    assert_true(!synced.folder[0] && synced.names[0] == 5);
    assert_true(synced.folder[1] && synced.names[1] == 1);
    synced.looks = false;
    remove_root(root, folder);
}

static void a_file_that_may_not_grow_is_a_full_disk_and_stays_as_it_was(void **state)
{
    (void)state;
    static char text[64 << 10], mem[512 << 10];
    char folder[64], little_mem[4096];
    int root = new_root(folder);
    struct rlimit was, little;
    memset(text, 'x', sizeof text);
    assert_true(beneath_write(root, S("a"), S("old"), (daruma_str){0}));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    little = was;
    little.rlim_cur = 32 << 10;
    setrlimit(RLIMIT_FSIZE, &little);
    bool well = beneath_write(root, S("a"), (daruma_str){text, sizeof text}, (daruma_str){0});
    int error = errno;
    setrlimit(RLIMIT_FSIZE, &was);
    assert_false(well);
    assert_int_equal(error, ENOSPC);
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str is;
    assert_false(beneath_read(root, S("a"), 2, &a, &is));
    assert_int_equal(errno, EFBIG);
    daruma_arena none = arena_over(little_mem, sizeof little_mem);
    assert_false(beneath_read(root, S("a"), 100, &none, &is)); /* no room for a piece */
    assert_int_equal(errno, ENOMEM);
    char *names[16];
    assert_int_equal(names_in(root, &a, names, COUNT(names)), 1);
    remove_root(root, folder);
}

static void no_credential_is_in_the_environment_of_a_child(void **state)
{
    (void)state;
    static char mem[64 << 10];
    daruma_arena a = arena_over(mem, sizeof mem);
    static const char *const out[] = {"OPENAI_API_KEY", "GITHUB_TOKEN", "MY_SECRET", "AWS_ACCESS_KEY_ID",
                                      "DB_PASSWORD",    "npm_token",    "A_KEY_B",   "DB_URL"};
    static const char *const in[] = {"KEYBOARD", "TOKENIZER", "PATHX", "SITE_URL"};
    for (size_t i = 0; i < COUNT(out); i++)
        setenv(out[i], strcmp(out[i], "DB_URL") == 0 ? "postgres://u:pw@h/db" : "sk-secret", 1);
    for (size_t i = 0; i < COUNT(in); i++)
        setenv(in[i], "https://u@h:80/:x@y", 1);
    static const char *const more[] = {"PATHX=mine", "GITHUB_TOKEN=given", NULL};
    char **env = child_env(more, &a);
    assert_non_null(env);
    bool given = false;
    int paths = 0;
    size_t seen = 0;
    for (; *env; env++) {
        assert_null(strstr(*env, "sk-secret"));
        assert_null(strstr(*env, ":pw@"));
        paths += strncmp(*env, "PATHX=", 6) == 0;
        given |= strcmp(*env, "GITHUB_TOKEN=given") == 0;
        for (size_t i = 0; i < COUNT(in); i++)
            seen += strncmp(*env, in[i], strlen(in[i])) == 0 && (*env)[strlen(in[i])] == '=';
    }
    assert_true(given);
    assert_int_equal(paths, 1);
    assert_int_equal(seen, COUNT(in));
}

static void the_document_has_the_options_of_agents_as_they_are_printed(void **state)
{
    (void)state;
    static char out[1 << 16], text[1 << 17];
    daruma_buf b = buf_over(out, sizeof out);
    agents_options_print(&b);
    assert_false(b.full);
    FILE *f = fopen("doc/config.md", "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    if (str_find((daruma_str){text, n}, buf_str(&b)) == STR_NONE)
        fail_msg("doc/config.md: put in what `daruma check --options` prints of agents");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_told_once_and_not_from_within_its_beginning),
        cmocka_unit_test(a_call_that_is_cancelled_is_stopped_and_never_told),
        cmocka_unit_test(a_name_stands_in_the_table_once),
        cmocka_unit_test(a_long_search_in_files_is_cancelled),
        cmocka_unit_test(urls_are_read_and_joined),
        cmocka_unit_test(addresses_that_are_nobodys_or_our_own_are_not_public),
        cmocka_unit_test(the_document_has_the_options_of_agents_as_they_are_printed),
        cmocka_unit_test(an_address_is_ones_own_however_it_is_written),
        cmocka_unit_test(two_writers_in_one_folder_do_not_share_a_file),
        cmocka_unit_test(what_a_killed_writer_left_goes_and_nothing_else),
        cmocka_unit_test(a_write_is_synced_with_its_folder_and_those_that_were_made),
        cmocka_unit_test(a_file_that_may_not_grow_is_a_full_disk_and_stays_as_it_was),
        cmocka_unit_test(no_credential_is_in_the_environment_of_a_child),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
