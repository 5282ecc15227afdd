/* The tools over files: what they do, what they refuse, and that nothing leads out of their folder. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "tools/files.h"
#include "sys/arena.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/daruma-files-XXXXXX";
static int root;
static daruma_arena room;
static daruma_buf out;
static const atomic_bool never;

static void put(const char *path, const char *text)
{
    char whole[200];
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make(const char *path, const char *link)
{
    char whole[200];
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    assert_int_equal(link ? symlink(link, whole) : mkdir(whole, 0777), 0);
}

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    make("in", NULL);
    root = -1;
    put("outside", "a secret");
    make("in/src", NULL);
    make("in/up", "..");
    make("in/link", "src/a.c");
    make("in/away", "/etc/passwd");
    put("in/src/a.c", "one\ntwo\nthree\n");
    put("in/empty", "");
    char whole[200];
    snprintf(whole, sizeof whole, "%s/in", folder);
    root = files_root(whole);
    return root < 0;
}

static int end(void **state)
{
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    close(root);
    return system(command);
}

static bool call(const char *tool, const char *args)
{
    sys_arena_done(&room);
    sys_arena_init(&room, 4096, 64 << 20);
    out = buf_in(&room);
    return files_call(&(files_place){.root = root}, str_of(tool), str_of(args), &never, &room, &out);
}

#define assert_says(z)                                                                                                 \
    do {                                                                                                               \
        if (str_find(buf_str(&out), str_of(z)) == STR_NONE)                                                            \
            fail_msg("\"%s\" is not in: " STR_FMT, (z), STR_ARG(buf_str(&out)));                                       \
    } while (0)

static void files_are_read_listed_and_searched(void **state)
{
    (void)state;
    assert_true(call("fs.read", "{\"path\":\"src/a.c\"}"));
    assert_str(buf_str(&out), "one\ntwo\nthree\n");
    assert_true(call("fs.read", "{\"path\":\"./src//a.c\",\"line\":2,\"lines\":1}"));
    assert_str(buf_str(&out), "two\n");
    assert_true(call("fs.read", "{\"path\":\"empty\"}"));
    assert_says("is empty");
    assert_false(call("fs.read", "{\"path\":\"src/a.c\",\"line\":9}"));
    assert_says("OFFSET_OUT_OF_RANGE");
    assert_false(call("fs.read", "{\"path\":\"a.c\"}"));
    assert_says("FILE_NOT_FOUND: `a.c` does not exist (ENOENT)\nNext step: ");
    assert_false(call("fs.read", "{\"path\":\"src\"}"));
    assert_says("NOT_A_FILE");
    assert_true(call("fs.list", "{}"));
    assert_str(buf_str(&out), "away\nempty\nlink\nsrc/\nup\n");
    assert_true(call("fs.search", "{\"text\":\"two\"}"));
    assert_str(buf_str(&out), "src/a.c:2: two\n");
    assert_true(call("fs.search", "{\"text\":\"three\",\"path\":\"./src/\"}"));
    assert_str(buf_str(&out), "src/a.c:3: three\n");
    assert_true(call("fs.search", "{\"text\":\"three\",\"path\":\"./src/a.c\"}"));
    assert_str(buf_str(&out), "src/a.c:3: three\n");
    assert_false(call("fs.search", "{\"text\":\"three\",\"path\":\"src/a.c/x\"}"));
    assert_says("NOT_A_DIRECTORY");
    assert_false(call("fs.search", "{\"text\":\"root\",\"path\":\"away\"}"));
    assert_says("PATH_DENIED");
    assert_true(call("fs.search", "{\"text\":\"a secret\"}"));
    assert_says("nothing was found");
    assert_false(call("fs.fly", "{}"));
}

/* Linux has a file that anybody may open and nobody can read: its first page is no memory. */
static void an_error_without_words_of_ours_is_told_in_the_systems(void **state)
{
    (void)state;
    int own = root;
    root = open("/proc/self", O_RDONLY | O_DIRECTORY);
    if (root >= 0 && faccessat(root, "mem", R_OK, 0) == 0) {
        assert_false(call("fs.read", "{\"path\":\"mem\"}"));
        assert_says("INTERNAL_ERROR: `mem` could not be used: ");
        assert_says(strerror(EIO));
    }
    close(root);
    root = own;
}

/* In words that are judged to be a full disk, and no plan of a provider that is used up. */
static void a_full_disk_is_told_as_systems_tell_it(void **state)
{
    (void)state;
    struct rlimit was, little;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    little = was;
    little.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &little);
    bool well = call("fs.write", "{\"path\":\"full.txt\",\"content\":\"x\"}");
    setrlimit(RLIMIT_FSIZE, &was);
    assert_false(well);
    assert_says("DISK_FULL: `full.txt` could not be written: no space left on device (ENOSPC)");
}

static void what_is_no_text_is_not_read_and_what_was_not_searched_is_said(void **state)
{
    (void)state;
    char whole[200];
    snprintf(whole, sizeof whole, "%s/in/large.txt", folder);
    put("in/large.txt", "needle");
    assert_int_equal(truncate(whole, FILE_SEARCH_BYTES_MAX + 1), 0); /* with NULs behind the word */
    assert_false(call("fs.read", "{\"path\":\"large.txt\"}"));
    assert_says("NOT_A_TEXT");
    assert_true(call("fs.search", "{\"text\":\"needle\"}"));
    assert_says("(nothing was found)\n(not looked into: 1 file");
    assert_int_equal(unlink(whole), 0);
}

static void put_bytes(const char *path, const char *bytes, size_t n, off_t size)
{
    char whole[200];
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    assert_int_equal(truncate(whole, size), 0);
}

static void one_file_that_is_no_text_says_so_and_its_lines_of_text_are_read(void **state)
{
    (void)state;
    static const char log[] = "one\ntwo\n\0\nfour\n", wide[] = "\xff\xfeo\0n\0e\0";
    put_bytes("in/crash.log", log, sizeof log - 1, sizeof log - 1);
    assert_true(call("fs.read", "{\"path\":\"crash.log\",\"lines\":2}"));
    assert_says("one\ntwo\n");
    assert_true(call("fs.read", "{\"path\":\"crash.log\",\"line\":4}"));
    assert_says("four\n");
    assert_false(call("fs.read", "{\"path\":\"crash.log\",\"line\":2}"));
    assert_says("NOT_A_TEXT");
    assert_false(call("fs.search", "{\"text\":\"two\",\"path\":\"crash.log\"}"));
    assert_says("NOT_A_TEXT");
    assert_true(call("fs.search", "{\"text\":\"two\",\"path\":\".\"}"));
    assert_says("src/a.c:2: two\n(not looked into: 1 file");
    put_bytes("in/crash.log", wide, sizeof wide - 1, sizeof wide - 1);
    assert_false(call("fs.read", "{\"path\":\"crash.log\"}"));
    assert_says("NOT_A_TEXT: `crash.log` is UTF-16");
    put_bytes("in/crash.log", "needle", 6, FILE_BYTES_MAX + 1);
    assert_false(call("fs.search", "{\"text\":\"needle\",\"path\":\"crash.log\"}"));
    assert_says("FILE_TOO_LARGE");
    assert_true(str_find(buf_str(&out), S("fs.search")) == STR_NONE); /* that is what it did */
    char whole[200];
    snprintf(whole, sizeof whole, "%s/in/crash.log", folder);
    assert_int_equal(unlink(whole), 0);
}

static void files_are_written_and_edited(void **state)
{
    (void)state;
    assert_true(call("fs.write", "{\"path\":\"new/deep/b.c\",\"content\":\"x = 1; y = 1;\"}"));
    assert_false(call("fs.edit", "{\"path\":\"new/deep/b.c\",\"old\":\"= 1\",\"new\":\"= 2\"}"));
    assert_says("AMBIGUOUS_MATCH");
    assert_false(call("fs.edit", "{\"path\":\"new/deep/b.c\",\"old\":\"z\",\"new\":\"= 2\"}"));
    assert_says("MATCH_NOT_FOUND");
    assert_false(call("fs.edit", "{\"path\":\"new/deep/b.c\",\"old\":\"x\",\"new\":\"x\"}"));
    assert_says("NO_CHANGE");
    assert_true(call("fs.edit", "{\"path\":\"new/deep/b.c\",\"old\":\"x = 1\",\"new\":\"x = 2\"}"));
    assert_true(call("fs.read", "{\"path\":\"new/deep/b.c\"}"));
    assert_str(buf_str(&out), "x = 2; y = 1;");
    assert_true(call("fs.list", "{\"path\":\"new/deep\"}")); /* nothing is left over */
    assert_str(buf_str(&out), "b.c\n");
}

static void nothing_leads_out_of_the_root(void **state)
{
    (void)state;
    static const char *const paths[] = {"../outside",
                                        "src/../../outside",
                                        "/etc/passwd",
                                        "up/outside",
                                        "up",
                                        "link",
                                        "away",
                                        "src/..",
                                        "..",
                                        "../in/src/a.c",
                                        "src\\u0000/../../outside",
                                        "/"};
    static const char *const tools[] = {"fs.read", "fs.list", "fs.search", "fs.write", "fs.edit"};
    for (size_t i = 0; i < COUNT(paths); i++)
        for (size_t k = 0; k < COUNT(tools); k++) {
            char args[300];
            snprintf(args, sizeof args,
                     "{\"path\":\"%s\",\"text\":\"s\",\"content\":\"x\",\"old\":\"s\",\"new\":\"t\"}", paths[i]);
            if (call(tools[k], args))
                fail_msg("%s %s worked: " STR_FMT, tools[k], paths[i], STR_ARG(buf_str(&out)));
            bool named = str_starts(buf_str(&out), S("PATH_DENIED")) || str_starts(buf_str(&out), S("NOT_A_DIRECTORY"));
            if (!named)
                fail_msg("%s %s: " STR_FMT, tools[k], paths[i], STR_ARG(buf_str(&out)));
        }
    char whole[200];
    struct stat st;
    snprintf(whole, sizeof whole, "%s/outside", folder);
    assert_int_equal(stat(whole, &st), 0);
    assert_int_equal(st.st_size, 8);
    char name[300] = "{\"path\":\"";
    memset(name + 9, 'n', 280);
    memcpy(name + 289, "\"}", 3);
    assert_false(call("fs.read", name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_listed_and_searched),
        cmocka_unit_test(an_error_without_words_of_ours_is_told_in_the_systems),
        cmocka_unit_test(a_full_disk_is_told_as_systems_tell_it),
        cmocka_unit_test(what_is_no_text_is_not_read_and_what_was_not_searched_is_said),
        cmocka_unit_test(one_file_that_is_no_text_says_so_and_its_lines_of_text_are_read),
        cmocka_unit_test(files_are_written_and_edited),
        cmocka_unit_test(nothing_leads_out_of_the_root),
    };
    int code = cmocka_run_group_tests(tests, begin, end);
    sys_arena_done(&room);
    return code;
}
