/* cases.c - `daruma cases`: the cases of an event file, one a line. Those that are open are kept in a table of fixed
 * size: a file of any length is read in the same memory. */
#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/event_lines.h"
#include <stdlib.h>
#include <xxhash.h>

enum {
    WAYS = 16, /* cases whose numbers fall into one row of the table */
    ROWS = 256,
    OPEN_MAX = ROWS * WAYS, /* cases under way at a time: each lives for seconds */
    NAME_MAX_BYTES = 80,
    ID_DIGITS = 16
};

typedef struct one_case {
    char id[ID_DIGITS + 1]; /* empty: this place is free */
    char ts[24];            /* of its first event */
    char asked[NAME_MAX_BYTES], target[NAME_MAX_BYTES], kind[40], outcome[24];
    uint32_t remedies; /* a bit each */
    uint8_t did[DARUMA_REMEDIES], ndid;
    bool failed; /* a call of it did */
    int64_t calls, took, late;
    char late_by[16]; /* what made it late most */
    uint64_t order;   /* the older the smaller */
} one_case;

typedef struct wanted {
    const char *outcome, *kind, *target;
    bool json;
} wanted;

/* Keeps what is said last. */
static void keep(char *to, size_t room, daruma_str s)
{
    if (s.n)
        cli_keep(to, room, s);
}

static bool fits(const wanted *w, const one_case *c)
{
    return (!w->outcome || strcmp(w->outcome, c->outcome) == 0) && (!w->kind || strcmp(w->kind, c->kind) == 0) &&
           (!w->target || str_glob(str_of(w->target), str_of(c->target)));
}

static void put_remedies(const one_case *c, daruma_buf *b, const char *quote, const char *between)
{
    for (size_t i = 0; i < c->ndid; i++)
        buf_printf(b, "%s%s%s%s", i ? between : "", quote, daruma_remedy_name((daruma_remedy_kind)c->did[i]), quote);
}

static buf_part known(const char *text)
{
    return buf_any(str_of(text));
}

static void put_json(const one_case *c, daruma_buf *b)
{
    BUF_LIT(b, "{");
    BUF_MEMBERS(b, "ts", known(c->ts), "case", known(c->id), "model", known(c->asked), "target", known(c->target),
                "kind", known(c->kind), "outcome", known(c->outcome), "calls", BUF_IF(c->calls >= 0, c->calls),
                "took_ms", BUF_IF(c->took >= 0, c->took), "late_ms", BUF_IF(c->late >= 0, c->late), "late_by",
                known(c->late_by));
    BUF_LIT(b, ",\"remedies\":[");
    put_remedies(c, b, "\"", ",");
    BUF_LIT(b, "]}\n");
}

static void print(const wanted *w, const one_case *c)
{
    char text[4096];
    daruma_buf b = buf_over(text, sizeof text);
    if (!fits(w, c))
        return;
    if (w->json) {
        put_json(c, &b);
        cli_put_json(stdout, buf_str(&b));
        return;
    }
    buf_printf(&b, "%.10s %.8s  %s  %-9s  %-18s  ", c->ts, c->ts[0] ? c->ts + 11 : "", c->id, c->outcome, c->kind);
    buf_printf(&b, "%-24s  %-28s  ", c->asked[0] ? c->asked : "-", c->target[0] ? c->target : "-");
    if (c->ndid)
        put_remedies(c, &b, "", ", ");
    else
        buf_putc(&b, '-');
    if (c->late >= 0) {
        BUF_LIT(&b, "  late by ");
        buf_duration(&b, c->late);
        buf_printf(&b, " (%s)", c->late_by);
    }
    BUF_LIT(&b, "\n");
    cli_put_page(stdout, buf_str(&b));
}

static void end(const wanted *w, one_case *c)
{
    if (!c->outcome[0])
        keep(c->outcome, sizeof c->outcome, S("open"));
    if (c->failed || strcmp(c->outcome, "open") != 0)
        print(w, c);
    c->id[0] = 0;
}

/* The place of a case; one that began longest ago gives way, and is printed as far as it is known. */
static one_case *place_of(one_case *open, daruma_str id, const wanted *w, uint64_t order)
{
    one_case *row = open + XXH3_64bits(id.p, id.n) % ROWS * WAYS, *oldest = row, *unused = NULL;
    for (size_t i = 0; i < WAYS; i++) {
        if (!row[i].id[0])
            unused = unused ? unused : &row[i];
        else if (str_eq(str_of(row[i].id), id))
            return &row[i];
        if (row[i].order < oldest->order)
            oldest = &row[i];
    }
    if (!unused) {
        end(w, oldest);
        unused = oldest;
    }
    *unused = (one_case){.calls = -1, .took = -1, .late = -1, .order = order};
    keep(unused->id, sizeof unused->id, id);
    return unused;
}

static void take(one_case *c, const event_seen *e)
{
    if (!c->ts[0])
        keep(c->ts, sizeof c->ts, e->ts);
    keep(c->asked, sizeof c->asked, e->asked);
    if (e->provider.n && !event_is_retry(e)) {
        char name[NAME_MAX_BYTES * 2];
        daruma_buf b = buf_over(name, sizeof name);
        BUF_SAY(&b, e->provider, e->model.n ? "/" : "", e->model);
        keep(c->target, sizeof c->target, buf_str(&b));
    }
    if (event_is_failure(e) || e->outcome.n) /* that of a tool says nothing of the case */
        keep(c->kind, sizeof c->kind, e->kind);
    c->failed |= event_is_failure(e);
    for (int r = DARUMA_REMEDY_NONE + 1; r < DARUMA_REMEDIES && e->remedy.n && !e->outcome.n; r++)
        if (str_eq(e->remedy, str_of(daruma_remedy_name((daruma_remedy_kind)r))) && !(c->remedies & 1u << r)) {
            c->remedies |= 1u << r;
            c->did[c->ndid++] = (uint8_t)r;
        }
    if (e->attempts >= 0)
        c->calls = e->attempts;
    if (e->late >= 0) {
        c->late = e->late;
        keep(c->late_by, sizeof c->late_by, e->late_by);
    }
    if (e->outcome.n) {
        keep(c->outcome, sizeof c->outcome, e->outcome);
        c->took = e->took;
    }
}

static bool read_file(const char *file, int64_t since, const wanted *w, one_case *open)
{
    static event_lines l;
    event_seen e;
    uint64_t order = 0;
    if (!event_lines_open(&l, "cases", file, since))
        return false;
    while (event_lines_next(&l, &e)) {
        if (!e.event.n || e.id.n != ID_DIGITS)
            continue;
        one_case *c = place_of(open, e.id, w, ++order);
        take(c, &e);
        if (e.outcome.n)
            end(w, c);
    }
    for (size_t i = 0; i < OPEN_MAX; i++)
        if (open[i].id[0])
            end(w, &open[i]);
    return event_lines_close(&l);
}

/* False, and told: nothing is called so. */
static bool is_known(const char *option, const char *word, const char *(*name)(int i), int n)
{
    str_near near = str_near_to(str_of(word));
    for (int i = 0; word && i < n; i++) {
        if (strcmp(word, name(i)) == 0)
            return true;
        str_near_try(&near, str_of(name(i)));
    }
    if (!word)
        return true;
    fprintf(stderr, "daruma cases: %s %s: there is none of that name", option, word);
    if (near.best.n)
        fprintf(stderr, "; did you mean " STR_FMT "?", STR_ARG(near.best));
    for (int i = 0; !near.best.n && i < n; i++)
        fprintf(stderr, "%s%s", i ? ", " : "; take one of ", name(i));
    fputc('\n', stderr);
    return false;
}

static const char *outcome_name(int i)
{
    return i ? daruma_outcome_name((daruma_outcome)i) : "open";
}

static const char *kind_name(int i)
{
    return daruma_kind_name((daruma_kind)i);
}

int cli_cases(int argc, char **argv)
{
    static const char about[] =
        "Lists the cases of an event file, one a line: when, its number, what became of it, what failed last, the "
        "model\n"
        "as the client asked for it, the target that was called last, what was done about it, and whether it was "
        "late.\n\n"
        "  daruma cases --outcome failed                      what nothing helped\n"
        "  daruma cases --kind rate_limit --since 1h          limits of the last hour\n"
        "  daruma cases --target 'main/*' events.jsonl        of one provider\n"
        "  daruma explain CASE --events events.jsonl          one of them in plain words\n\n"
        "Without FILE it reads daruma.events.jsonl; `-` is standard input. A file of any size is read in the same "
        "memory;\n"
        "lines that are no events are told by their numbers and left out. `open`: its end is not in the file.\n\n"
        "Exit code: 0 fine, 2 the file cannot be read.";
    const char *since = NULL;
    wanted w = {0};
    const cli_option options[] = {
        CLI_VALUE("--outcome", "OUTCOME", &w.outcome,
                  "only recovered, degraded, explained, failed, cancelled, ... or open"),
        CLI_VALUE("--kind", "KIND", &w.kind, "only those whose last failure is of that kind: `daruma policy`"),
        CLI_VALUE("--target", "TARGET", &w.target, "only those whose last target is that one: provider/model, with *"),
        CLI_VALUE("--since", "TIME", &since, "only events since then: 7d, 12h, 30min ago, or 2026-01-31"),
        CLI_SWITCH("--json", &w.json, "a JSON object a line"),
        {0}};
    int rest =
        cli_options(argc, argv, options, "cases [--outcome O] [--kind K] [--target T] [--since TIME] [FILE]", about);
    int64_t from;
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (!cli_one_file(argc, argv, rest) || !event_since("cases", since, &from) ||
        !is_known("--outcome", w.outcome, outcome_name, DARUMA_OUTCOME_CANCELLED_ + 1) ||
        !is_known("--kind", w.kind, kind_name, DARUMA_KINDS))
        return 2;
    one_case *open = calloc(OPEN_MAX, sizeof *open);
    if (!open)
        return 1;
    bool read = read_file(rest < argc ? argv[rest] : "daruma.events.jsonl", from, &w, open);
    free(open);
    return read ? 0 : 2;
}
