#include "chaos/report.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdlib.h>

static struct tally_row *report_find(const tally *t, daruma_str name)
{
    for (size_t i = 0; i < t->nrows; i++)
        if (str_eq(str_of(t->rows[i].name), name))
            return &t->rows[i];
    return NULL;
}

static char *copied(daruma_str s)
{
    char *p = malloc(s.n + 1);
    if (!p)
        return NULL;
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

void tally_add(tally *t, daruma_str name)
{
    struct tally_row *row = report_find(t, name);
    if (!row && t->nrows == CHAOS_NAMES_MAX && !(row = report_find(t, S("others")))) {
        free(t->rows[t->nrows - 1].name); /* the last name makes room for all that have none */
        t->rows[t->nrows - 1].name = copied(S("others"));
        row = &t->rows[t->nrows - 1];
    }
    if (!row && t->nrows == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 8;
        struct tally_row *rows = realloc(t->rows, cap * sizeof *rows);
        if (!rows)
            return;
        t->rows = rows;
        t->cap = cap;
    }
    if (!row) {
        char *p = copied(str_sub(name, 0, 128));
        if (!p)
            return;
        row = &t->rows[t->nrows++];
        *row = (struct tally_row){p, 0};
    }
    row->n++;
}

/* Of one name, or of all when it is empty. */
static int64_t tally_of(const tally *t, daruma_str name)
{
    const struct tally_row *row = report_find(t, name);
    int64_t all = 0;
    for (size_t i = 0; i < t->nrows; i++)
        all += t->rows[i].n;
    return !name.n ? all : row ? row->n : 0;
}

static void tally_done(const tally *t)
{
    for (size_t i = 0; i < t->nrows; i++)
        free(t->rows[i].name);
    free(t->rows);
}

void report_init(report *r, daruma_ms now)
{
    *r = (report){.aborted_after_ms = -1, .mark = -1, .noticed_ms = -1, .began = now};
}

/* A tally, as JSON calls it, and as people read it; NULL: those are not told of it. */
typedef struct titled {
    const tally *of;
    const char *name, *words;
} titled;
enum { TALLIES = 11 };

static void tallies_of(const report *r, titled ret[TALLIES])
{
    const titled all[] = {
        {&r->models, "models", "models"},
        {&r->answered_models, "answered_models", NULL},
        {&r->keys, "keys", "keys"},
        {&r->faults, "faults", "faults"},
        {&r->paths, "paths", NULL},
        {&r->statuses, "statuses", "statuses"},
        {&r->refusals, "refusals", "refused"},
        {&r->purposes, "asks", "asked for"},
        {&r->circled, "circled", "circled"},
        {&r->told, "told", "told"},
        {&r->listened, "listened", "listened"},
    };
    _Static_assert(COUNT(all) == TALLIES, "one row each");
    memcpy(ret, all, sizeof all);
}

void report_done(report *r)
{
    titled all[TALLIES];
    tallies_of(r, all);
    for (size_t i = 0; i < TALLIES; i++)
        tally_done(all[i].of);
    free(r->bodies);
    *r = (report){0};
}

/* ---- calls of one body ---- */

static struct body_count *slot(struct body_count *bodies, size_t cap, uint64_t hash)
{
    size_t i = hash & (cap - 1);
    while (bodies[i].n && bodies[i].hash != hash)
        i = (i + 1) & (cap - 1);
    return &bodies[i];
}

static bool grow(report *r)
{
    size_t cap = r->bodies_cap ? r->bodies_cap * 2 : 256;
    struct body_count *p = calloc(cap, sizeof *p);
    if (!p)
        return false;
    for (size_t i = 0; i < r->bodies_cap; i++)
        if (r->bodies[i].n)
            *slot(p, cap, r->bodies[i].hash) = r->bodies[i];
    free(r->bodies);
    r->bodies = p;
    r->bodies_cap = cap;
    return true;
}

void report_body(report *r, uint64_t hash)
{
    if (r->nbodies * 2 >= r->bodies_cap && (r->nbodies >= CHAOS_BODIES_MAX || !grow(r)))
        return; /* enough were seen: those that come now are not counted one by one */
    struct body_count *c = slot(r->bodies, r->bodies_cap, hash);
    if (c->n++ == 0)
        r->nbodies++;
    c->hash = hash;
    if (c->n > r->most_calls)
        r->most_calls = c->n;
}

/* ---- writing ---- */

static void tally_json(daruma_buf *b, const char *name, const tally *t)
{
    BUF_SAY(b, ",\"", name, "\":{");
    for (size_t i = 0; i < t->nrows; i++)
        BUF_MEMBERS(b, t->rows[i].name, t->rows[i].n);
    buf_putc(b, '}');
}

void report_json(const report *r, daruma_ms now, daruma_buf *b)
{
    titled all[TALLIES];
    tallies_of(r, all);
    buf_putc(b, '{');
    BUF_MEMBERS(b, "calls", r->calls, "answered", r->answered, "refused", r->refused, "open", r->open, "most_open",
                r->most_open, "aborted_by_client", r->aborted, "aborted_after_ms", r->aborted_after_ms, "noticed_ms",
                r->noticed_ms, "max_calls_per_request", r->most_calls, "requests", r->nbodies, "largest_tokens",
                r->largest, "ms", now - r->began);
    for (size_t i = 0; i < TALLIES; i++)
        tally_json(b, all[i].name, all[i].of);
    buf_putc(b, '}');
}

/* Is `v` what `e` wants? */
static bool expect_holds(const expect *e, int64_t v)
{
    bool equal = v == e->value;
    switch (e->op[0]) {
    case '<':
        return v < e->value || (e->op[1] && equal);
    case '>':
        return v > e->value || (e->op[1] && equal);
    case '!':
        return !equal;
    }
    return equal;
}

static int64_t actual(const report *r, const expect *e)
{
    const char *at = (const char *)r;
    if (e->subject.n || e->what->all == EXPECT_SUM)
        return tally_of((const tally *)(const void *)(at + e->what->each), e->subject);
    return *(const int64_t *)(const void *)(at + e->what->all);
}

bool report_judge(const report *r, const script *s, bool plain, daruma_buf *b)
{
    size_t failed = 0;
    for (size_t i = 0; i < s->nexpects; i++)
        failed += !expect_holds(&s->expects[i], actual(r, &s->expects[i]));
    if (!plain)
        buf_printf(b, "{\"ok\":%s,\"expectations\":%zu,\"failed\":[", failed ? "false" : "true", s->nexpects);
    for (size_t i = 0, n = 0; i < s->nexpects; i++) {
        int64_t was = actual(r, &s->expects[i]);
        bool holds = expect_holds(&s->expects[i], was);
        if (plain) {
            buf_printf(b, "  %s  ", holds ? "ok    " : "FAILED");
            buf_put(b, s->expects[i].text);
            if (!holds)
                buf_printf(b, "; it was %lld", (long long)was);
            buf_putc(b, '\n');
        } else if (!holds) {
            BUF_SAY(b, n++ ? ",{\"expected\":" : "{\"expected\":", buf_quoted(s->expects[i].text));
            buf_printf(b, ",\"was\":%lld}", (long long)was);
        }
    }
    if (!plain)
        BUF_LIT(b, "]}");
    return failed == 0;
}

static void tally_text(daruma_buf *b, const char *name, const tally *t)
{
    if (t->nrows == 0)
        return;
    buf_printf(b, "  %-9s ", name);
    for (size_t i = 0; i < t->nrows; i++) {
        BUF_SAY(b, i ? ", " : "", t->rows[i].name);
        buf_printf(b, " %lld", (long long)t->rows[i].n);
    }
    buf_putc(b, '\n');
}

void report_text(const report *r, daruma_ms now, daruma_buf *b)
{
    titled all[TALLIES];
    tallies_of(r, all);
    buf_printf(b, "%lld calls in ", (long long)r->calls);
    buf_duration(b, now - r->began);
    buf_printf(
        b, ": %lld answered, %lld refused, %lld left by the client, %lld still open; at most %lld for one request\n",
        (long long)r->answered, (long long)r->refused, (long long)r->aborted, (long long)r->open,
        (long long)r->most_calls);
    for (size_t i = 0; i < TALLIES; i++)
        if (all[i].words)
            tally_text(b, all[i].words, all[i].of);
}
