/* report.c - `daruma report`: what failed, what was saved and wasted, and where to look, out of event files. Everything
 * is a sum or a table of fixed size: files of any length are read in the same memory. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/event_lines.h"
#include "sys/sys.h"
#include <stdlib.h>

enum {
    TARGETS_KEPT = 256, /* the first that failed; what others did is told of `other targets` */
    TARGETS_SHOWN = 5,
    CLIENTS_KEPT = 64,
    LOOK_SHOWN = 8, /* kinds of cases to look at */
    NAME_MAX_BYTES = 120,
    OUTCOMES = DARUMA_OUTCOME_CANCELLED_ + 1
};

typedef struct tokens {
    uint64_t input, output;
    int64_t cost; /* billionths */
    bool priced;  /* some of it had a price */
} tokens;

typedef struct target_row {
    char name[NAME_MAX_BYTES];
    uint64_t failed, kinds[DARUMA_KINDS];
    int64_t ms; /* in calls that failed */
} target_row;

typedef struct client_row {
    char name[NAME_MAX_BYTES];
    uint64_t requests;
    tokens used;
} client_row;

/* The newest case of a kind that no remedy helped. */
typedef struct lost_row {
    uint64_t n;
    char id[20], ts[24], target[NAME_MAX_BYTES], outcome[16];
    int64_t calls, took;
} lost_row;

/* Requests that were late by the same most. */
typedef struct late_row {
    uint64_t n;
    int64_t ms;      /* so much later, all together */
    char words[256]; /* of the newest, and its case */
    char id[20];
} late_row;

typedef struct report {
    char first[24], last[24];
    uint64_t events, lost, unreadable, outcomes[OUTCOMES];
    uint64_t failed, retries, kinds[DARUMA_KINDS], saved[DARUMA_KINDS], remedies[DARUMA_REMEDIES];
    int64_t failed_ms, waited_ms;
    tokens of_saved, of_wasted;
    target_row targets[TARGETS_KEPT + 1];
    size_t ntargets;
    lost_row look[DARUMA_KINDS];
    late_row late[DARUMA_SPENT];
    client_row clients[CLIENTS_KEPT + 1];
    size_t nclients;
    uint64_t requests; /* lines of usage logs */
    tokens used;
} report;

/* ---- reading ------------------------------------------------------------------------- */

static void add_tokens(tokens *t, const event_seen *e)
{
    t->input += e->input_tokens > 0 ? (uint64_t)e->input_tokens : 0;
    t->output += e->output_tokens > 0 ? (uint64_t)e->output_tokens : 0;
    t->priced |= e->cost >= 0;
    if (e->cost > 0)
        t->cost = add_sat(t->cost, e->cost);
}

static void target_name(const event_seen *e, char name[NAME_MAX_BYTES])
{
    daruma_buf b = buf_over(name, NAME_MAX_BYTES - 1);
    BUF_SAY(&b, str_sub(e->provider, 0, NAME_MAX_BYTES / 2 - 2), e->model.n ? "/" : "",
            str_sub(e->model, 0, NAME_MAX_BYTES / 2));
    name[b.n] = 0;
}

static target_row *target_of(report *r, const char *name)
{
    size_t i = 0;
    while (i < r->ntargets && strcmp(r->targets[i].name, name) != 0)
        i++;
    if (i < r->ntargets)
        return &r->targets[i];
    if (r->ntargets == TARGETS_KEPT) {
        i = TARGETS_KEPT;
        name = "other targets";
    } else {
        r->ntargets++;
    }
    cli_keep(r->targets[i].name, sizeof r->targets[i].name, str_of(name));
    return &r->targets[i];
}

static void take_failure(report *r, const event_seen *e, daruma_kind kind)
{
    char name[NAME_MAX_BYTES];
    target_name(e, name);
    target_row *t = target_of(r, name);
    r->failed++;
    r->kinds[kind]++;
    r->failed_ms = add_sat(r->failed_ms, e->took);
    t->failed++;
    t->kinds[kind]++;
    t->ms = add_sat(t->ms, e->took);
    add_tokens(&r->of_wasted, e);
}

static void take_end(report *r, const event_seen *e, daruma_kind kind)
{
    size_t o = 0;
    while (o < OUTCOMES && !str_eq(e->outcome, str_of(daruma_outcome_name((daruma_outcome)o))))
        o++;
    if (o == OUTCOMES)
        return;
    r->outcomes[o]++;
    if (o == DARUMA_OUTCOME_RECOVERED) {
        r->saved[kind]++;
        add_tokens(&r->of_saved, e);
    }
    if (o == DARUMA_OUTCOME_RECOVERED || o == DARUMA_OUTCOME_CANCELLED_ || o == DARUMA_OUTCOME_OK || !e->id.n)
        return;
    lost_row *l = &r->look[kind];
    l->n++;
    cli_keep(l->id, sizeof l->id, e->id);
    cli_keep(l->ts, sizeof l->ts, e->ts);
    cli_keep(l->outcome, sizeof l->outcome, e->outcome);
    target_name(e, l->target);
    l->calls = e->attempts;
    l->took = e->took;
}

static void take_late(report *r, const event_seen *e)
{
    int on = 0;
    while (on < DARUMA_SPENT && !str_eq(e->late_by, str_of(daruma_spent_name((daruma_spent_on)on))))
        on++;
    if (on == DARUMA_SPENT)
        return;
    late_row *l = &r->late[on];
    l->n++;
    l->ms = add_sat(l->ms, e->late);
    cli_keep(l->words, sizeof l->words, e->late_words);
    cli_keep(l->id, sizeof l->id, e->id);
}

static void take_usage(report *r, const event_seen *e)
{
    daruma_str name = e->client.n ? str_sub(e->client, 0, NAME_MAX_BYTES - 1) : S("-");
    size_t i = 0;
    while (i < r->nclients && !str_eq(str_of(r->clients[i].name), name))
        i++;
    if (i == r->nclients) {
        if (r->nclients < CLIENTS_KEPT)
            r->nclients++;
        else
            name = S("other clients");
        cli_keep(r->clients[i].name, sizeof r->clients[i].name, name);
    }
    r->requests++;
    r->clients[i].requests++;
    add_tokens(&r->clients[i].used, e);
    add_tokens(&r->used, e);
}

/* Of two times in RFC 3339. */
static bool is_before(daruma_str ts, const char *other)
{
    return date_rfc3339(ts) < date_rfc3339(str_of(other));
}

static void take(report *r, const event_seen *e)
{
    bool known;
    daruma_kind kind = daruma_kind_parse(e->kind, &known);
    if (e->ts.n && (!r->first[0] || is_before(e->ts, r->first)))
        cli_keep(r->first, sizeof r->first, e->ts);
    if (e->ts.n && (!r->last[0] || !is_before(e->ts, r->last)))
        cli_keep(r->last, sizeof r->last, e->ts);
    if (e->lost > 0)
        r->lost += (uint64_t)e->lost;
    if (!e->event.n) {
        if (e->lost < 0)
            take_usage(r, e);
        return;
    }
    r->events++;
    if (event_is_failure(e))
        take_failure(r, e, kind);
    if (event_is_retry(e)) {
        r->retries++;
        r->waited_ms = add_sat(r->waited_ms, e->delay > 0 ? e->delay : 0);
        for (int i = 0; i < DARUMA_REMEDIES; i++)
            r->remedies[i] += str_eq(e->remedy, str_of(daruma_remedy_name((daruma_remedy_kind)i)));
    }
    if (e->late >= 0)
        take_late(r, e);
    if (e->outcome.n)
        take_end(r, e, kind);
}

static bool read_file(report *r, const char *file, int64_t since)
{
    static event_lines l;
    event_seen e;
    if (!event_lines_open(&l, "report", file, since))
        return false;
    while (event_lines_next(&l, &e))
        take(r, &e);
    r->unreadable += l.bad;
    return event_lines_close(&l);
}

/* ---- order ----------------------------------------------------------------------------- */

/* Something that was counted, and where it stands. */
typedef struct place {
    uint64_t n;
    int at;
} place;

static int more_first(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n ? 1 : -1) : x->at - y->at;
}

/* Indexes of what is not 0, the largest first. The counts lie `apart` bytes from each other. */
static size_t in_order(const void *counts, size_t apart, size_t n, place *ret)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t count = *(const uint64_t *)(const void *)((const char *)counts + i * apart);
        if (count)
            ret[found++] = (place){count, (int)i};
    }
    qsort(ret, found, sizeof *ret, more_first);
    return found;
}

static uint64_t all_of(const uint64_t *counts, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

/* ---- for people --------------------------------------------------------------------------- */

static void put_n(daruma_buf *b, uint64_t n, const char *one, const char *many)
{
    cli_put_count(b, n);
    buf_printf(b, " %s", n == 1 ? one : many);
}

static void put_tokens(daruma_buf *b, const tokens *t, const char *what)
{
    if (!t->input && !t->output)
        return;
    BUF_LIT(b, "; ");
    cli_put_count(b, t->input);
    BUF_LIT(b, " tokens in and ");
    cli_put_count(b, t->output);
    buf_printf(b, " out%s", what);
    if (!t->priced)
        return;
    BUF_LIT(b, ", cost ");
    event_put_cost(b, t->cost);
}

static void put_kinds(daruma_buf *b, const uint64_t kinds[DARUMA_KINDS], size_t most)
{
    place order[DARUMA_KINDS];
    size_t n = in_order(kinds, sizeof *kinds, DARUMA_KINDS, order);
    for (size_t i = 0; i < n && i < most; i++) {
        buf_printf(b, "%s%s ", i ? ", " : "", daruma_kind_name((daruma_kind)order[i].at));
        cli_put_count(b, order[i].n);
    }
}

static void put_failures(daruma_buf *b, const report *r)
{
    place order[DARUMA_KINDS];
    size_t n = in_order(r->kinds, sizeof *r->kinds, DARUMA_KINDS, order);
    if (n)
        BUF_LIT(b, "\nWhat failed: calls to providers, and requests that were answered behind it\n");
    for (size_t i = 0; i < n; i++) {
        daruma_kind k = (daruma_kind)order[i].at;
        buf_printf(b, "  %-20s %8llu call%s", daruma_kind_name(k), (unsigned long long)order[i].n,
                   order[i].n == 1 ? " " : "s");
        if (r->saved[k])
            buf_printf(b, "  %8llu answered", (unsigned long long)r->saved[k]);
        if (r->look[k].n)
            buf_printf(b, "  %8llu not", (unsigned long long)r->look[k].n);
        buf_putc(b, '\n');
    }
}

static void put_balance(daruma_buf *b, const report *r)
{
    place order[DARUMA_REMEDIES];
    size_t n = in_order(r->remedies, sizeof *r->remedies, DARUMA_REMEDIES, order);
    BUF_LIT(b, "\nSaved and wasted\n  saved   ");
    put_n(b, r->outcomes[DARUMA_OUTCOME_RECOVERED], "request", "requests");
    put_tokens(b, &r->of_saved, " in their answers");
    BUF_LIT(b, "\n  wasted  ");
    put_n(b, r->failed, "call", "calls");
    BUF_LIT(b, " that failed, ");
    buf_duration(b, r->failed_ms);
    BUF_LIT(b, " in them, ");
    buf_duration(b, r->waited_ms);
    BUF_LIT(b, " of waiting");
    put_tokens(b, &r->of_wasted, " of answers that broke off");
    for (size_t i = 0; i < n; i++) {
        buf_putz(b, i ? ", " : "\n  done    ");
        buf_printf(b, "%s ", daruma_remedy_name((daruma_remedy_kind)order[i].at));
        cli_put_count(b, order[i].n);
    }
    buf_putc(b, '\n');
}

static void put_targets(daruma_buf *b, const report *r)
{
    place order[TARGETS_KEPT + 1];
    size_t n = in_order(&r->targets->failed, sizeof *r->targets, TARGETS_KEPT + 1, order);
    if (n)
        BUF_LIT(b, "\nWorst targets\n");
    for (size_t i = 0; i < n && i < TARGETS_SHOWN; i++) {
        const target_row *t = &r->targets[order[i].at];
        buf_printf(b, "  %-32s %8llu failed, ", t->name, (unsigned long long)t->failed);
        buf_duration(b, t->ms);
        BUF_LIT(b, ": ");
        put_kinds(b, t->kinds, 4);
        buf_putc(b, '\n');
    }
    if (n > TARGETS_SHOWN)
        buf_printf(b, "  and %zu more (--json has them)\n", n - TARGETS_SHOWN);
}

static void put_look(daruma_buf *b, const report *r, const char *file)
{
    const char *failed = daruma_outcome_name(DARUMA_OUTCOME_FAILED);
    place order[DARUMA_KINDS];
    size_t n = in_order(&r->look->n, sizeof *r->look, DARUMA_KINDS, order);
    if (!n)
        return;
    BUF_LIT(b, "\nCases to look at: the newest of each kind that ended without an answer\n");
    for (size_t i = 0; i < n && i < LOOK_SHOWN; i++) {
        const lost_row *l = &r->look[order[i].at];
        buf_printf(b, "  %s  %-18s %6llu  %.10s %.8s  %s%s%s", l->id, daruma_kind_name((daruma_kind)order[i].at),
                   (unsigned long long)l->n, l->ts, l->ts[0] ? l->ts + 11 : "", l->target, l->target[0] ? ", " : "",
                   !l->calls && strcmp(l->outcome, failed) == 0 ? "refused here" : l->outcome);
        if (l->calls == 0)
            BUF_LIT(b, ", nothing was sent");
        else if (l->calls > 0)
            buf_printf(b, " after %lld call%s", (long long)l->calls, l->calls == 1 ? "" : "s");
        buf_putc(b, '\n');
    }
    buf_printf(b, "  daruma explain %s --events %.200s\n", r->look[order[0].at].id, file);
}

static void put_late(daruma_buf *b, const report *r)
{
    place order[DARUMA_SPENT];
    size_t n = in_order(&r->late->n, sizeof *r->late, DARUMA_SPENT, order);
    if (n)
        BUF_LIT(b, "\nLate requests, by what took longest, each with the newest\n");
    for (size_t i = 0; i < n; i++) {
        const late_row *l = &r->late[order[i].at];
        buf_printf(b, "  %-8s ", daruma_spent_name((daruma_spent_on)order[i].at));
        put_n(b, l->n, "request", "requests");
        BUF_LIT(b, ", ");
        buf_duration(b, l->ms);
        buf_printf(b, " in all  %s  %s\n", l->id, l->words);
    }
}

static void put_clients(daruma_buf *b, const report *r)
{
    if (!r->requests)
        return;
    BUF_LIT(b, "\nUsed\n");
    for (size_t i = 0; i < r->nclients + (r->clients[CLIENTS_KEPT].requests > 0); i++) {
        const client_row *c = &r->clients[i];
        buf_printf(b, "  %-32s ", strcmp(c->name, "-") == 0 ? "without a client's name" : c->name);
        put_n(b, c->requests, "request", "requests");
        put_tokens(b, &c->used, "");
        buf_putc(b, '\n');
    }
}

static void put_text(daruma_buf *b, const report *r, const char *file)
{
    uint64_t cases = all_of(r->outcomes, OUTCOMES);
    if (!r->events && !r->requests) {
        BUF_LIT(b, "No events: nothing failed, or nothing was written.\n");
        return;
    }
    buf_printf(b, "%.10s %.8s to %.10s %.8s, ", r->first, r->first[0] ? r->first + 11 : "", r->last,
               r->last[0] ? r->last + 11 : "");
    put_n(b, r->events, "event", "events");
    BUF_LIT(b, " of ");
    put_n(b, cases, "case that is over", "cases that are over");
    for (size_t o = 0, told = 0; o < OUTCOMES; o++)
        if (r->outcomes[o]) {
            buf_putz(b, told++ ? ", " : ": ");
            cli_put_count(b, r->outcomes[o]);
            buf_printf(b, " %s", daruma_outcome_name((daruma_outcome)o));
        }
    BUF_LIT(b, "\n");
    if (r->lost) {
        BUF_LIT(b, "Missing: ");
        put_n(b, r->lost, "line", "lines");
        BUF_LIT(b, " could not be written, so all that follows is less than it was.\n");
    }
    put_failures(b, r);
    put_balance(b, r);
    put_targets(b, r);
    put_look(b, r, file);
    put_late(b, r);
    put_clients(b, r);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void json_tokens(daruma_buf *b, const tokens *t)
{
    BUF_MEMBERS(b, "input_tokens", t->input, "output_tokens", t->output);
    if (!t->priced)
        return;
    BUF_LIT(b, ",\"cost\":");
    event_put_cost(b, t->cost);
}

static void json_kinds(daruma_buf *b, const char *name, const uint64_t kinds[DARUMA_KINDS])
{
    place order[DARUMA_KINDS];
    size_t n = in_order(kinds, sizeof *kinds, DARUMA_KINDS, order);
    BUF_SAY(b, ",", buf_quoted(str_of(name)), ":{");
    for (size_t i = 0; i < n; i++)
        BUF_MEMBERS(b, daruma_kind_name((daruma_kind)order[i].at), order[i].n);
    BUF_LIT(b, "}");
}

static void json_lists(daruma_buf *b, const report *r)
{
    place order[TARGETS_KEPT + 1];
    size_t n = in_order(&r->targets->failed, sizeof *r->targets, TARGETS_KEPT + 1, order);
    BUF_LIT(b, ",\"targets\":[");
    for (size_t i = 0; i < n; i++) {
        const target_row *t = &r->targets[order[i].at];
        buf_putz(b, i ? ",{" : "{");
        BUF_MEMBERS(b, "target", t->name, "failed", t->failed, "failed_ms", t->ms);
        json_kinds(b, "kinds", t->kinds);
        BUF_LIT(b, "}");
    }
    BUF_LIT(b, "],\"look\":[");
    n = in_order(&r->look->n, sizeof *r->look, DARUMA_KINDS, order);
    for (size_t i = 0; i < n; i++) {
        const lost_row *l = &r->look[order[i].at];
        buf_putz(b, i ? "," : "");
        BUF_OBJECT(b, "case", l->id, "ts", l->ts, "kind", daruma_kind_name((daruma_kind)order[i].at), "target",
                   l->target, "outcome", l->outcome, "like_it", l->n, "calls", l->calls, "took_ms", l->took);
    }
    place late[DARUMA_SPENT];
    BUF_LIT(b, "],\"late\":[");
    n = in_order(&r->late->n, sizeof *r->late, DARUMA_SPENT, late);
    for (size_t i = 0; i < n; i++) {
        const late_row *l = &r->late[late[i].at];
        buf_putz(b, i ? "," : "");
        BUF_OBJECT(b, "by", daruma_spent_name((daruma_spent_on)late[i].at), "requests", l->n, "late_ms", l->ms, "case",
                   l->id, "words", l->words);
    }
    BUF_LIT(b, "],\"clients\":[");
    for (size_t i = 0; i < r->nclients + (r->clients[CLIENTS_KEPT].requests > 0); i++) {
        const client_row *c = &r->clients[i];
        buf_putz(b, i ? ",{" : "{");
        BUF_MEMBERS(b, "client", strcmp(c->name, "-") ? c->name : "", "requests", c->requests);
        json_tokens(b, &c->used);
        BUF_LIT(b, "}");
    }
    BUF_LIT(b, "]}\n");
}

static void put_json(daruma_buf *b, const report *r)
{
    buf_putc(b, '{');
    BUF_MEMBERS(b, "from", r->first, "to", r->last, "events", r->events, "lost", r->lost, "unreadable", r->unreadable);
    BUF_LIT(b, ",\"outcomes\":{");
    for (size_t o = 0; o < OUTCOMES; o++)
        BUF_MEMBERS(b, daruma_outcome_name((daruma_outcome)o), BUF_IF(r->outcomes[o], r->outcomes[o]));
    BUF_LIT(b, "}");
    json_kinds(b, "failures", r->kinds);
    BUF_LIT(b, ",\"saved\":{");
    BUF_MEMBERS(b, "requests", r->outcomes[DARUMA_OUTCOME_RECOVERED]);
    json_tokens(b, &r->of_saved);
    json_kinds(b, "kinds", r->saved);
    BUF_LIT(b, "},\"wasted\":{");
    BUF_MEMBERS(b, "calls", r->failed, "call_ms", r->failed_ms, "waited_ms", r->waited_ms);
    json_tokens(b, &r->of_wasted);
    BUF_LIT(b, "}");
    BUF_MEMBERS(b, "requests", r->requests);
    BUF_LIT(b, ",\"remedies\":{");
    for (size_t i = 0; i < DARUMA_REMEDIES; i++)
        BUF_MEMBERS(b, daruma_remedy_name((daruma_remedy_kind)i), BUF_IF(r->remedies[i], r->remedies[i]));
    BUF_LIT(b, "}");
    json_lists(b, r);
}

int cli_report(int argc, char **argv)
{
    static const char about[] =
        "Says what event files tell: what failed, what was saved and wasted, which targets are the worst, and which "
        "cases\n"
        "to look at. Files of usage logs (`usage: { file: ... }`) may be given as well: then also who used how much. "
        "With\n"
        "`prices` in the gateway's configuration it says what that cost.\n\n"
        "  daruma report                                    daruma.events.jsonl in this folder\n"
        "  daruma report --since 7d /var/log/daruma/*.jsonl\n"
        "  zcat old.jsonl.gz | daruma report -              standard input\n"
        "  daruma report --json | jq .wasted\n"
        "  daruma explain CASE --events FILE                one of the cases in plain words; `daruma cases` lists "
        "all\n\n"
        "Saved are requests that were answered although a call for them failed, with the tokens of those answers. "
        "Wasted\n"
        "are calls that failed, the time in them, the waiting behind them, and the tokens of answers that broke off.\n"
        "Files of any size are read in the same memory; lines that are no events are told by their numbers and left "
        "out.\n\n"
        "Exit code: 0 fine, 2 a file cannot be read.";
    const char *since = NULL;
    bool json = false;
    const cli_option options[] = {
        CLI_VALUE("--since", "TIME", &since, "only what happened since then: 7d, 12h, 30min ago, or 2026-01-31"),
        CLI_SWITCH("--json", &json, "one JSON object"),
        {0}};
    int rest = cli_options(argc, argv, options, "report [--since TIME] [--json] [FILE...]", about);
    int64_t from;
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (!event_since("report", since, &from))
        return 2;
    report *r = calloc(1, sizeof *r);
    daruma_arena a;
    if (!r || !sys_arena_init(&a, 64u << 10, 8u << 20)) {
        free(r);
        return 1;
    }
    bool read = true;
    const char *file = rest < argc ? argv[rest] : "daruma.events.jsonl";
    if (rest == argc)
        read = read_file(r, file, from);
    for (int i = rest; i < argc; i++)
        read &= read_file(r, argv[i], from);
    daruma_buf b = buf_in(&a);
    if (json)
        put_json(&b, r);
    else
        put_text(&b, r, file);
    if (read || r->events || r->requests)
        (json ? cli_put_json : cli_put_page)(stdout, buf_str(&b));
    sys_arena_done(&a);
    free(r);
    return read ? 0 : 2;
}
