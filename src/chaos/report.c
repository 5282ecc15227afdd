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

static int64_t tally_of(const tally *t, daruma_str name)
{
    const struct tally_row *row = report_find(t, name);
    return row ? row->n : 0;
}

/* Of one name, or of all when it is empty. */
static int64_t tally_or_all(const tally *t, daruma_str name)
{
    int64_t all = 0;
    for (size_t i = 0; i < t->nrows; i++)
        all += t->rows[i].n;
    return name.n ? tally_of(t, name) : all;
}

static void tally_done(tally *t)
{
    for (size_t i = 0; i < t->nrows; i++)
        free(t->rows[i].name);
    free(t->rows);
}

void report_init(report *r, daruma_ms now)
{
    *r = (report){.aborted_after_ms = -1, .mark = -1, .noticed_ms = -1, .began = now};
}

void report_done(report *r)
{
    tally *const all[] = {&r->models,   &r->answered_models, &r->keys,    &r->faults, &r->paths,   &r->statuses,
                          &r->refusals, &r->purposes,        &r->circled, &r->told,   &r->listened};
    for (size_t i = 0; i < COUNT(all); i++)
        tally_done(all[i]);
    free(r->bodies);
    *r = (report){0};
}

/* ---- calls of one body -------------------------------------------------------------------------------- */

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

/* ---- writing -------------------------------------------------------------------------------------------- */

static void number(daruma_buf *b, const char *name, int64_t v)
{
    buf_printf(b, ",\"%s\":%lld", name, (long long)v);
}

static void tally_json(daruma_buf *b, const char *name, const tally *t)
{
    buf_printf(b, ",\"%s\":{", name);
    for (size_t i = 0; i < t->nrows; i++) {
        if (i)
            buf_putc(b, ',');
        buf_json(b, str_of(t->rows[i].name));
        buf_printf(b, ":%lld", (long long)t->rows[i].n);
    }
    buf_putc(b, '}');
}

void report_json(const report *r, daruma_ms now, daruma_buf *b)
{
    buf_printf(b, "{\"calls\":%lld", (long long)r->calls);
    number(b, "answered", r->answered);
    number(b, "refused", r->refused);
    number(b, "open", r->open);
    number(b, "most_open", r->most_open);
    number(b, "aborted_by_client", r->aborted);
    number(b, "aborted_after_ms", r->aborted_after_ms);
    number(b, "noticed_ms", r->noticed_ms);
    number(b, "max_calls_per_request", r->most_calls);
    number(b, "requests", (int64_t)r->nbodies);
    number(b, "largest_tokens", r->largest);
    number(b, "ms", now - r->began);
    tally_json(b, "models", &r->models);
    tally_json(b, "answered_models", &r->answered_models);
    tally_json(b, "keys", &r->keys);
    tally_json(b, "faults", &r->faults);
    tally_json(b, "paths", &r->paths);
    tally_json(b, "statuses", &r->statuses);
    tally_json(b, "refusals", &r->refusals);
    tally_json(b, "asks", &r->purposes);
    tally_json(b, "circled", &r->circled);
    tally_json(b, "told", &r->told);
    tally_json(b, "listened", &r->listened);
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
    switch (e->what) {
    case EXPECT_CALLS:
        return e->subject.n ? tally_of(&r->models, e->subject) : r->calls;
    case EXPECT_ANSWERED:
        return e->subject.n ? tally_of(&r->answered_models, e->subject) : r->answered;
    case EXPECT_FAULTS:
        return tally_or_all(&r->faults, e->subject);
    case EXPECT_CIRCLED:
        return tally_or_all(&r->circled, e->subject);
    case EXPECT_TOLD:
        return tally_or_all(&r->told, e->subject);
    case EXPECT_LISTENED:
        return tally_or_all(&r->listened, e->subject);
    case EXPECT_ABORTED:
        return r->aborted;
    case EXPECT_MOST:
        return r->most_calls;
    case EXPECT_REFUSED:
        return e->subject.n ? tally_of(&r->refusals, e->subject) : r->refused;
    case EXPECT_ASKS:
        return e->subject.n ? tally_of(&r->purposes, e->subject) : r->calls;
    case EXPECT_STATUSES:
        return e->subject.n ? tally_of(&r->statuses, e->subject) : r->calls;
    case EXPECT_LARGEST:
        return r->largest;
    }
    return 0;
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
    buf_printf(b, "%lld calls in ", (long long)r->calls);
    buf_duration(b, now - r->began);
    buf_printf(
        b, ": %lld answered, %lld refused, %lld left by the client, %lld still open; at most %lld for one request\n",
        (long long)r->answered, (long long)r->refused, (long long)r->aborted, (long long)r->open,
        (long long)r->most_calls);
    tally_text(b, "models", &r->models);
    tally_text(b, "keys", &r->keys);
    tally_text(b, "faults", &r->faults);
    tally_text(b, "statuses", &r->statuses);
    tally_text(b, "refused", &r->refusals);
    tally_text(b, "asked for", &r->purposes);
    tally_text(b, "circled", &r->circled);
    tally_text(b, "told", &r->told);
    tally_text(b, "listened", &r->listened);
}
