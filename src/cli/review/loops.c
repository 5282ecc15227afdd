/* loops.c - `daruma loops`: which agents went in circles, and from which step on, out of records of what they did. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/review/transcript.h"
#include <stdlib.h>

#define LOOPS_MEMORY_BYTES (64u << 20) /* arena for one record; a step's texts may be escaped */

typedef struct loops {
    const char *file; /* for messages */
    size_t line;
    bool jsonl;
    int bad;
} loops;

static int loops_wrong(const loops *l, const char *what)
{
    fprintf(stderr, "loops: %s, line %zu: %s; see daruma loops --help\n", l->file, l->line, what);
    return 1;
}

static void put_record(daruma_str id, const daruma_verdict *v, daruma_str why, daruma_buf *out)
{
    const buf_part null = buf_raw(S("null"));
    BUF_OBJECT(out, "id", id.n ? buf_raw(id) : null, "verdict", v->circle ? "loop" : "ok", "kind",
               v->circle ? buf_part_z(daruma_circle_name(v->circle)) : null, "at",
               v->circle ? buf_part_number(v->step) : null, "why", why);
    buf_putc(out, '\n');
}

static void say_record(daruma_str id, const daruma_verdict *v, daruma_str why, daruma_arena *a, daruma_buf *out)
{
    buf_put(out, json_is_string(id) ? json_text(id, a) : id.n ? id : S("-"));
    if (v->circle)
        buf_printf(out, ": in circles from step %u, seen at step %u (%s): ", v->first, v->step,
                   daruma_circle_name(v->circle));
    else
        BUF_LIT(out, ": ");
    BUF_SAY(out, why, "\n");
}

static int read_record(loops *l, daruma_str record, daruma_arena *a)
{
    daruma_str steps = json_get(record, S("steps")), id = json_get(record, S("id")), item;
    daruma_stall *stall = daruma_stall_new(a);
    daruma_verdict spoke = {.circle = DARUMA_CIRCLE_NONE};
    daruma_buf why = buf_in(a), out = buf_in(a);
    size_t n = 0;
    if (!json_is_array(steps) && !json_is_null(steps)) /* null: it did nothing */
        return loops_wrong(l,
                           "there is no list `steps`; a record is {\"id\":..., \"steps\":[{\"tool\":..., \"args\":..., "
                           "\"result\":..., \"ok\":true}]}");
    if (!stall)
        return loops_wrong(l, "the record is too large");
    for (json_iter it = json_open(steps); json_next(&it, NULL, &item);) {
        char what[96];
        n++;
        if (!json_is_object(item)) {
            snprintf(what, sizeof what, "step %zu is no JSON object", n);
            return loops_wrong(l, what);
        }
        daruma_step step = transcript_step(item, a);
        daruma_verdict v = daruma_stall_see(stall, &step);
        if (v.circle && !spoke.circle) {
            spoke = v;
            daruma_verdict_say(&v, &step, &why);
        }
    }
    if (!spoke.circle)
        buf_printf(&why, "%zu step%s, and no circle.", n, n == 1 ? "" : "s");
    if (l->jsonl)
        put_record(id, &spoke, buf_str(&why), &out);
    else
        say_record(id, &spoke, buf_str(&why), a, &out);
    if (out.full || a->full)
        return loops_wrong(l, "the record is too large");
    (l->jsonl ? cli_put_json : cli_put_page)(stdout, buf_str(&out));
    return 0;
}

static int read_lines(loops *l, FILE *f, char *mem)
{
    char *line = NULL;
    size_t cap = 0;
    int bad = 0;
    for (ssize_t n; (n = getline(&line, &cap, f)) >= 0;) {
        daruma_arena a = arena_over(mem, LOOPS_MEMORY_BYTES);
        daruma_str text = str_trim((daruma_str){line, (size_t)n}), record;
        if (l->line++ == 0)
            text = cli_unmarked(text);
        if (!text.n)
            continue;
        if (!json_whole(text, &record) || !json_is_object(record))
            bad |= loops_wrong(l, "this is no JSON object; each line is one record");
        else
            bad |= read_record(l, record, &a);
    }
    free(line);
    return bad;
}

int cli_loops(int argc, char **argv)
{
    loops l = {.jsonl = false};
    const cli_option options[] = {
        CLI_SWITCH("--jsonl", &l.jsonl, "answer with a JSON line for each record: id, verdict, kind, at, why"),
        {0},
    };
    int at = cli_options(
        argc, argv, options, "loops [--jsonl] [FILE]",
        "Says of each record of what an agent did whether it went in circles: in which, from which step\n"
        "on, and why. FILE (standard input without it) has one JSON object a line: id, and steps, each\n"
        "with tool, args (an object or text), result (text) and ok (true, false, or left out: then the\n"
        "result is looked at). A step without a tool is what the model said. Other members are ignored.\n"
        "\n"
        "With --jsonl: {\"id\":...,\"verdict\":\"loop\" or \"ok\",\"kind\":...,\"at\":the step, counted from\n"
        "1, at which it was first seen,\"why\":...}; kind and at are null when all is well.\n"
        "\n"
        "Try:  step='{\"tool\":\"ls\",\"args\":{\"path\":\"src\"},\"result\":\"README\"}'\n"
        "      echo \"{\\\"id\\\":1,\\\"steps\\\":[$step,$step,$step,$step]}\" | daruma loops\n");
    if (at < 0)
        return at == -2 ? 0 : 2;
    const char *file = cli_one_file(argc, argv, at);
    if (!file)
        return 2;
    bool in = str_eq(str_of(file), S("-"));
    FILE *f = in ? stdin : fopen(file, "rb");
    char *mem = f ? malloc(LOOPS_MEMORY_BYTES) : NULL;
    if (!mem) {
        fprintf(stderr, "loops: cannot read %s; name a file that is there, or give the records on standard input\n",
                file);
        if (f && !in)
            fclose(f);
        return 1;
    }
    l.file = in ? "standard input" : file;
    int bad = read_lines(&l, f, mem);
    free(mem);
    if (!in)
        fclose(f);
    return bad;
}
