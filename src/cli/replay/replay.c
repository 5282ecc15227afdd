/* replay.c - `daruma replay`: runs scenario files through the engine and compares what it did
 * with what the file expects, byte for byte. */
#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/replay/replay.h"
#include "sys/sys.h"
#include <stdlib.h>

typedef struct tally {
    bool tap, update;
    int passed, failed, wrong; /* scenes, and files that cannot be read */
} tally;

static void print_lines(tally *t, const char *file, int line, char sign, daruma_str text)
{
    for (; text.n; line++) {
        daruma_str one = str_cut(&text, '\n');
        printf("%s%s:%d: %c" STR_FMT "\n", t->tap ? "# " : "  ", file, line, sign, STR_ARG(one));
    }
}

/* What differs between the first and the last line that do. */
static void print_difference(tally *t, const replay_scene *s, daruma_str got)
{
    daruma_str want = s->expect;
    int line = s->expect_line;
    for (;;) {
        daruma_str w = want, g = got;
        if (!w.n || !g.n || !str_eq(str_cut(&w, '\n'), str_cut(&g, '\n')))
            break;
        want = w;
        got = g;
        line++;
    }
    size_t same = 0; /* bytes of whole equal lines at the end */
    for (size_t i = 1; i <= want.n && i <= got.n && want.p[want.n - i] == got.p[got.n - i]; i++)
        if (i < want.n && i < got.n && want.p[want.n - i - 1] == '\n' && got.p[got.n - i - 1] == '\n')
            same = i;
    print_lines(t, s->file, line, '-', str_sub(want, 0, want.n - same));
    print_lines(t, s->file, line, '+', str_sub(got, 0, got.n - same));
}

static void report(tally *t, const replay_scene *s, bool good)
{
    int n = t->passed + t->failed;
    if (t->tap)
        printf("%s %d - %s: " STR_FMT "\n", good ? "ok" : "not ok", n, s->file, STR_ARG(s->title));
    else if (!good)
        printf("%s: " STR_FMT "\n", s->file, STR_ARG(s->title));
}

/* Runs one scene into `log` and reports it. False when the log is not whole. */
static bool run_scene(tally *t, replay_scene *s, daruma_buf *log)
{
    char why[256] = "";
    bool ran = replay_run(s, log, why);
    bool good = ran && !log->full && (t->update || str_eq(buf_str(log), s->expect));
    *(good ? &t->passed : &t->failed) += 1;
    report(t, s, good);
    if (!ran)
        printf("%s%s\n", t->tap ? "# " : "  ", why);
    if (!good)
        print_difference(t, s, buf_str(log));
    return ran && !log->full;
}

static void write_file(tally *t, const char *file, daruma_str text)
{
    FILE *f = fopen(file, "wb");
    bool good = f && fwrite(text.p, 1, text.n, f) == text.n;
    if (f && fclose(f) != 0)
        good = false;
    if (!good) {
        fprintf(stderr, "daruma replay: %s cannot be written\n", file);
        t->wrong++;
    }
}

static void run_text(tally *t, const char *file, daruma_str text, char *room, char *fixed_room)
{
    char why[256];
    replay_reader r = replay_open(file, text, why);
    replay_scene *s = malloc(sizeof *s);
    daruma_buf fixed = buf_over(fixed_room, REPLAY_LOG_BYTES_MAX * 2);
    const char *copied = text.p;
    int before = t->passed + t->failed;
    while (s && replay_next(&r, s)) {
        daruma_buf log = buf_over(room, REPLAY_LOG_BYTES_MAX);
        bool ran = run_scene(t, s, &log);
        buf_put(&fixed, (daruma_str){copied, (size_t)(s->expect.p - copied)});
        buf_put(&fixed, ran ? buf_str(&log) : s->expect);
        copied = s->expect.p + s->expect.n;
    }
    buf_put(&fixed, (daruma_str){copied, (size_t)(text.p + text.n - copied)});
    if (why[0]) {
        t->wrong++;
        fprintf(stderr, "%s\n", why);
    } else if (t->passed + t->failed == before) { /* what tests nothing must not pass for tested */
        t->wrong++;
        fprintf(stderr, "daruma replay: %s: there is no scene in it; doc/cases.md tells the format\n", file);
    } else if (t->update && !fixed.full && !str_eq(buf_str(&fixed), text)) {
        write_file(t, file, buf_str(&fixed));
    }
    free(s);
}

static void run_file(tally *t, const char *file)
{
    char why[256] = "no memory", *room = malloc(REPLAY_LOG_BYTES_MAX * 3u);
    daruma_arena a = {0};
    daruma_str text;
    if (room && sys_arena_init(&a, 4096, REPLAY_FILE_BYTES_MAX * 2u) &&
        sys_read_file(file, REPLAY_FILE_BYTES_MAX, &a, &text, why)) {
        run_text(t, file, text, room, room + REPLAY_LOG_BYTES_MAX);
    } else {
        fprintf(stderr, "daruma replay: %s\n", why);
        t->wrong++;
    }
    sys_arena_done(&a);
    free(room);
}

int cli_replay(int argc, char **argv)
{
    tally t = {0};
    const cli_option options[] = {
        CLI_SWITCH("--tap", &t.tap, "report in the Test Anything Protocol"),
        CLI_SWITCH("--update", &t.update, "write what was done into the expect blocks"),
        {0},
    };
    int first =
        cli_options(argc, argv, options, "replay [--tap] [--update] CASE.md...",
                    "Runs scenario files: a script says how the provider answers, the clock is virtual, and all\n"
                    "that is decided is compared with what the file expects. doc/cases.md tells the format.");
    if (first < 0)
        return first == -2 ? 0 : 2;
    if (first >= argc)
        return cli_say(2, "replay", "name a scenario file");
    for (int i = first; i < argc; i++)
        run_file(&t, argv[i]);
    if (t.tap)
        printf("1..%d\n", t.passed + t.failed);
    else
        printf("%d passed, %d failed\n", t.passed, t.failed);
    fflush(stdout);
    return t.failed || t.wrong ? 1 : 0;
}
