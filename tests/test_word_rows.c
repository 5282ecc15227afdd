/* test_word_rows.c - what tools/word_rows.c makes of lists of words, and which lists stop the build. It ends the
 * program when it refuses one: each is read in a process of its own. */
#include "test.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int word_rows_main(int argc, char **argv);
#define WORD_LISTS "word_rows.def"
#define main       word_rows_main
#include "../tools/word_rows.c"
#undef main

/* What `run` prints on both ways, and its exit code. */
static int printed(void (*run)(const char *), const char *about, char *ret, size_t room)
{
    int ways[2], status = 0;
    size_t n = 0;
    assert_int_equal(pipe(ways), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ways[1], 1);
        dup2(ways[1], 2);
        run(about);
        exit(0);
    }
    close(ways[1]);
    for (ssize_t got; (got = read(ways[0], ret + n, room - 1 - n)) > 0;)
        n += (size_t)got;
    close(ways[0]);
    ret[n] = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

static void add_word(const char *word)
{
    add(word, strlen(word), 1);
}

static void add_many(const char *word)
{
    for (int i = 0; i <= ROWS_MAX; i++)
        add(word, strlen(word), 1);
}

static void lists_become_sorted_rows(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(printed(print_table, "tool_rows", text, sizeof text), 0);
    char *cat = strstr(text, "{\"cat\", "), *ls = strstr(text, "{\"ls\", "), *put = strstr(text, "{\"put\", "),
         *file = strstr(text, "{\"read file\", ");
    assert_true(cat && ls && put && file && cat < ls && ls < put && put < file);
}

static void a_word_that_is_never_met_is_refused(void **state)
{
    static const char *const words[] = {"", "Read", " read", "read ", "read  file", "read,file", "read, "};
    char text[4096], longest[WORDS_ROW_BYTES + 1], says[64];
    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        snprintf(says, sizeof says, "no row has room for \"%s\", or it is never met", words[i]);
        assert_int_equal(printed(add_word, words[i], text, sizeof text), 1);
        assert_non_null(strstr(text, says));
    }
    memset(longest, 'x', sizeof longest);
    longest[WORDS_ROW_BYTES - 1] = 0;
    assert_int_equal(printed(add_word, longest, text, sizeof text), 0);
    longest[WORDS_ROW_BYTES - 1] = 'x';
    longest[WORDS_ROW_BYTES] = 0;
    assert_int_equal(printed(add_word, longest, text, sizeof text), 1);
}

static void more_words_than_rows_are_refused(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(printed(add_many, "read", text, sizeof text), 1);
    assert_non_null(strstr(text, "no row has room for \"read\"")); /* a program that crashes may end with 1, too */
}

static void a_word_that_stands_twice_is_refused(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(printed(print_table, "command_rows", text, sizeof text), 1);
    assert_non_null(strstr(text, "\"cat\" stands in command_rows twice"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_become_sorted_rows),
        cmocka_unit_test(a_word_that_is_never_met_is_refused),
        cmocka_unit_test(more_words_than_rows_are_refused),
        cmocka_unit_test(a_word_that_stands_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
