/* The ends of runs of tests, builds and linters, as their programs print them. */
#include "engine/watch/facts.h"
#include "engine/watch/words/words.h"
#include "test.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct run_end {
    const char *program;
    const char *reads;
} run_end;

static const run_end reds[] = {
    {"pytest", "FAILED tests/test_a.py::test_b - assert 1 == 2\n========================= 1 failed, 2 passed in 0.31s "
               "========================="},
    {"pytest, short", "1 failed, 2 passed in 0.31s"},
    {"pytest, cannot collect", "ERROR tests/test_a.py\n!!!!!!!!!!! Interrupted: 1 error during collection "
                               "!!!!!!!!!!!\n=============== 1 error in 0.10s ==============="},
    {"unittest", "----------------------------------------------------------------------\nRan 3 tests in "
                 "0.001s\n\nFAILED (failures=1, errors=1)"},
    {"jest", "Test Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 9 passed, 10 total\nSnapshots:   0 "
             "total\nTime:        1.2 s\nRan all test suites."},
    {"vitest", " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 9 passed (10)\n   Start at  10:00:11\n   "
               "Duration  312ms (transform 20ms)"},
    {"mocha", "  2 passing (8ms)\n  1 failing\n\n  1) adds:\n     AssertionError: expected 3 to equal 4"},
    {"node --test", "# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0"},
    {"TAP", "ok 1 - adds\nnot ok 2 - takes away"},
    {"TAP without names", "ok 1\nnot ok 2"},
    {"counts, what is ok at last", "failed=2 ok=3"},
    {"a version that is none", "error: 1.2.3 is no version"},
    {"a missing file", "ERROR no such file"},
    {"playwright", "  1 failed\n    [chromium] \xe2\x80\xba a.spec.ts:3:1 \xe2\x80\xba shows it\n  4 passed (3.1s)"},
    {"cypress", "    \xe2\x9c\x96  1 of 2 failed (50%)                     00:04        6        5        1\nTests: 1 "
                "failed"},
    {"bun test", " 2 pass\n 1 fail\n 3 expect() calls\nRan 3 tests across 1 files. [12.00ms]"},
    {"deno test", "FAILED | 2 passed | 1 failed (12ms)\n\nerror: Test failed"},
    {"cargo test", "failures:\n    tests::adds\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 "
                   "filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`"},
    {"rustc", "error: aborting due to 1 previous error\n\nFor more information about this error, try `rustc --explain "
              "E0308`.\nerror: could not compile `a` (lib) due to 1 previous error"},
    {"go test", "--- FAIL: TestA (0.00s)\n    a_test.go:7: got 3\nFAIL\nFAIL\texample.com/a\t0.002s\nFAIL"},
    {"gcc", "a.c: In function 'main':\na.c:3:5: error: 'x' undeclared (first use in this function)\n    3 |     x = "
            "1;\n      |     ^"},
    {"clang", "a.c:3:5: error: use of undeclared identifier 'x'\n    x = 1;\n    ^\n1 error generated."},
    {"make", "make[1]: *** [Makefile:12: a.o] Error 1\nmake: *** [Makefile:3: all] Error 2"},
    {"ninja", "FAILED: a.o \ncc -c a.c\nninja: build stopped: subcommand failed."},
    {"tsc", "src/a.ts:3:1 - error TS2304: Cannot find name 'x'.\n\nFound 1 error in src/a.ts:3"},
    {"tsc, plain", "src/a.ts(3,1): error TS2304: Cannot find name 'x'."},
    {"eslint", "  3:1  error  'x' is not defined  no-undef\n\n\xe2\x9c\x96 3 problems (2 errors, 1 warning)"},
    {"ruff", "a.py:1:8: F401 `os` imported but unused\nFound 2 errors."},
    {"mypy", "a.py:3: error: Name \"x\" is not defined  [name-defined]\nFound 1 error in 1 file (checked 1 source "
             "file)"},
    {"rspec", "Finished in 0.01 seconds\n3 examples, 1 failure\n\nFailed examples:\n\nrspec ./a_spec.rb:3 # adds"},
    {"minitest", "3 runs, 3 assertions, 1 failures, 0 errors, 0 skips"},
    {"PHPUnit", "FAILURES!\nTests: 3, Assertions: 3, Failures: 1."},
    {"maven", "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n[INFO] Total time:  1.2 "
              "s"},
    {"gradle",
     "> There were failing tests. See the report at: file:///a/index.html\n\nBUILD FAILED in 3s\n2 actionable "
     "tasks: 2 executed"},
    {"dotnet", "Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 9 ms - a.dll"},
    {"msbuild", "    1 Warning(s)\n    2 Error(s)\n\nTime Elapsed 00:00:01.20"},
    {"ctest", "67% tests passed, 1 tests failed out of 3\n\nThe following tests FAILED:\n\t  2 - b (Failed)"},
    {"ExUnit", "Finished in 0.03 seconds\n3 tests, 1 failure\n\nRandomized with seed 0"},
    {"sbt", "[error] Failed: Total 3, Failed 1, Errors 0, Passed 2\n[error] (Test / test) sbt.TestsFailedException: "
            "Tests unsuccessful"},
    {"swift", "Executed 3 tests, with 1 failure (0 unexpected) in 0.01 (0.02) seconds"},
    {"vite", "error during build:\nRollupError: Could not resolve \"./x\" from \"src/a.js\""},
    {"webpack", "webpack 5.90.0 compiled with 1 error in 312 ms"},
    {"npm", "npm ERR! Test failed.  See above for more details."},
    {"npm 10", "npm error Lifecycle script `test` failed with error:\nnpm error code 1\nnpm error path /a"},
    {"terraform", "Error: Invalid reference\n\n  on main.tf line 3, in resource \"a\" \"b\":\n   3:   x = y"},
    {"a share that is too small", "FAIL: 71.2% coverage"},
    {"another", "error: 12.5% coverage, 80% wanted"},
    {"a version", "error: 1.5 is not a valid version"},
    {"a size", "Error: 1.2 GB over quota"},
    {"counts in capitals, two of failures", "FAIL 0 ERROR 2"},
    {"a linker", "ld.lld: error: undefined symbol: foo"},
    {"Node", "Error: undefined is not a function"},
    {"kubectl", "Error: 0/3 nodes are available: 3 Insufficient cpu."},
    {"a number that is an error", "ERROR: -1"},
    {"the same", "ERROR 0 FAILED 2"},
    {"a number that is told behind a failure", "FAIL: got 0 rows, want 3"},
    {"a test that wants another number", "FAILED a.py::test_b - assert 0 == 3"},
    {"a build that fails at once", "BUILD FAILED in 0 s"},
    {"what failed, and how long it took", "Test failed in 3s"},
    {"yarn", "error Command failed with exit code 1.\ninfo Visit https://yarnpkg.com/en/docs/cli/run for documentation "
             "about this command."},
    {"golangci-lint", "1 issues:\n* errcheck: 1\nmake: *** [lint] Error 1"},
};

static const run_end greens[] = {
    {"pytest", "========================= 3 passed in 0.31s ========================="},
    {"pytest, expected to fail", "=================== 3 passed, 1 xfailed in 0.31s ==================="},
    {"pytest -v", "tests/test_a.py::test_error_page PASSED [ 50%]\ntests/test_a.py::test_fails_on_0 PASSED [100%]"},
    {"unittest", "Ran 3 tests in 0.001s\n\nOK (expected failures=1)"},
    {"unittest -v", "test_error (a.A) ... ok\ntest_failed (a.A) ... ok\n\nOK"},
    {"jest", "Test Suites: 3 passed, 3 total\nTests:       10 passed, 10 total\nSnapshots:   0 total"},
    {"vitest", " \xe2\x9c\x93 a.test.ts > shows 2 errors 3ms\n\n Test Files  1 passed (1)\n      Tests  9 passed (9)"},
    {"mocha", "  \xe2\x9c\x93 says error: 3\n\n  2 passing (8ms)\n  1 pending"},
    {"node --test", "# tests 3\n# pass 3\n# fail 0\n# cancelled 0"},
    {"TAP", "ok 1 - two failures\nnot ok 2 - takes away # TODO later\n1..2"},
    {"bun test", " 3 pass\n 0 fail\nRan 3 tests across 1 files. [12.00ms]"},
    {"deno test", "ok | 3 passed | 0 failed (12ms)"},
    {"cargo test", "test tests::fails_on_error ... ok\n\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 "
                   "filtered out; finished in 0.00s"},
    {"go test", "ok  \texample.com/errors\t0.002s\nok  \texample.com/fail\t(cached)"},
    {"make", "cc -c errors.c -o errors.o\ncc -o a errors.o fail.o"},
    {"tsc --watch", "Found 0 errors. Watching for file changes."},
    {"ruff", "Found 3 errors (3 fixed, 0 remaining)."},
    {"mypy", "Success: no issues found in 3 source files"},
    {"rspec", "3 examples, 0 failures"},
    {"minitest", "3 runs, 3 assertions, 0 failures, 0 errors, 0 skips"},
    {"PHPUnit", "OK (3 tests, 3 assertions)"},
    {"maven", "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS"},
    {"gradle", "ErrorTest > shows the failure PASSED\n\nBUILD SUCCESSFUL in 3s"},
    {"dotnet", "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 9 ms - a.dll"},
    {"msbuild", "    0 Warning(s)\n    0 Error(s)"},
    {"ctest", "100% tests passed, 0 tests failed out of 3\n\nTotal Test time (real) =   0.01 sec"},
    {"ExUnit", "3 doctests, 9 tests, 0 failures"},
    {"sbt", "[info] Passed: Total 3, Failed 0, Errors 0, Passed 3"},
    {"swift", "Executed 3 tests, with 0 failures (0 unexpected) in 0.01 (0.02) seconds"},
    {"valgrind", "==7== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)"},
    {"ansible", "a : ok=3 changed=1 unreachable=0 failed=0 skipped=0 rescued=0 ignored=0"},
    {"dbt", "Done. PASS=3 WARN=0 ERROR=0 SKIP=0 TOTAL=3"},
    {"JSON", "{\"passed\":3,\"failed\":0,\"error\":null}"},
    {"counts in capitals", "PASSED 12 FAILED 0"},
    {"counts in capitals, failures first", "FAIL 0 PASS 12"},
    {"a dash for none", "PASS: 12\nFAIL: -"},
    {"a measure", "epoch 3\nerror: 0.35"},
    {"measures", "acc: 1.0\nerrors: 0.0"},
    {"a share", "fail: 0.0\nerror: 12%"},
    {"numbers before words, failures first", "0 failed 12 passed"},
    {"numbers before words, failures between", "12 passed 0 failed 3 skipped"},
    {"warnings alone", "0 errors 3 warnings"},
    {"a word for none, and rows", "no errors 12 rows checked"},
    {"a count in capitals", "checked 12 files\nERROR count: 0"},
    {"the same, found", "ERRORS found: 0"},
    {"a word for none in capitals", "checked 12 files\nFAILED tests: none"},
    {"an empty list", "checked 12 files\nerrors: []\nwarnings: []"},
    {"an empty object", "Error: {}"},
    {"what is not set", "result: written\nerror: undefined"},
    {"none of twelve", "Failures: 0/12"},
    {"a share of none, and of what", "requests: 812\nerrors: 0.0% (0/812)"},
    {"a measure, and how sure it is", "error: 0.0231 +/- 0.004"},
    {"rows that failed, none", "checked 812 rows\nFailed rows:\n  none"},
    {"errors by kind, none", "812 rows read\nErrors by kind:\n  (nothing)"},
    {"tests at last, all ok", "error cases ok"},
    {"a log", "GET /a 500 error page shown\nwrote 3 error cases to errors.csv"},
};

static void check_ends(const run_end *ends, size_t n, bool red)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++)
        if ((facts_red(str_of(ends[i].reads)) != 0) != red) {
            print_error("%s is %s\n", ends[i].program, red ? "no red run" : "a red run");
            wrong++;
        }
    assert_int_equal(wrong, 0);
}

static void red_runs_are_known_by_their_ends(void **state)
{
    (void)state;
    check_ends(reds, COUNT(reds), true);
}

static void green_runs_are_not_taken_for_red(void **state)
{
    (void)state;
    check_ends(greens, COUNT(greens), false);
}

/* How long it took does not count; what failed does. */
static void a_run_is_known_again(void **state)
{
    (void)state;
    uint32_t first = facts_red(S("FAILED a.py::b\n1 failed, 2 passed in 0.31s"));
    assert_int_equal(first, facts_red(S("FAILED a.py::b\n1 failed, 2 passed in 12.02s")));
    assert_int_not_equal(first, facts_red(S("FAILED a.py::c\n1 failed, 2 passed in 0.31s")));
    assert_int_not_equal(facts_red(S("Failures: 2")), facts_red(S("Failures: 3")));
    assert_int_not_equal(first, facts_red(S("FAILED a.py::b\n2 failed, 1 passed in 0.31s")));
}

/* A line is read to its end, wherever it stops. */
static void every_beginning_of_an_end_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(reds); i++) {
        daruma_str all = str_of(reds[i].reads);
        for (size_t n = 0; n <= all.n; n++) {
            char *part = malloc(n + 1);
            memcpy(part, all.p, n);
            facts_red((daruma_str){part, n});
            free(part);
        }
    }
}

/* `text` where no byte behind it can be read. */
static daruma_str at_the_end(char *room, size_t bytes, const char *begin, char fill, size_t n, const char *end)
{
    char *text = room + bytes - n;
    memset(text, fill, n);
    for (size_t i = 4; i < n; i += 5)
        text[i] = ' ';
    memcpy(text + 500, begin, strlen(begin));
    memcpy(text + n - strlen(end), end, strlen(end));
    return (daruma_str){text, n};
}

/* Beginning and end of a result are read apart: where they meet, nothing is read twice. */
static void a_result_is_read_within_its_bytes(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *room = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(room != MAP_FAILED);
    assert_int_equal(mprotect(room + page, page, PROT_NONE), 0);
    words_of_result(at_the_end(room, page, "closed closed", 'x', 601, "wxyz\""), (daruma_str){0}, false);
    for (size_t n = 600; n <= 810; n++)
        words_of_result(at_the_end(room, page, "closed ", 'x', n, "wxyz"), (daruma_str){0}, false);
    munmap(room, 2 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(red_runs_are_known_by_their_ends),
        cmocka_unit_test(green_runs_are_not_taken_for_red),
        cmocka_unit_test(a_run_is_known_again),
        cmocka_unit_test(every_beginning_of_an_end_is_read),
        cmocka_unit_test(a_result_is_read_within_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
