/* lesson.c - what helped against which failure, in a table of fixed size. A lesson is known by whose it is, the tool
 * that failed, how it failed, the schema of its arguments, and what was done about it. Its worth is how likely it
 * helps: the mean of a Beta distribution over the times it did and did not, which begins at one half and fades back to
 * there, half of the way in 45 days. Only what helped at least once is a lesson at all.
 *
 *     (worked + 1) / (worked + failed + 2)      both fading
 *
 * Keys are hashes: two tenants have no place in common. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/record.h"
#include "base/str.h"
#include <xxhash.h>

enum { ONE = 1000 }; /* of a count, in thousandths */

typedef struct place {
    uint64_t tenant, tool, error; /* of the failure; tool 0: the place is free */
    uint32_t held;                /* by its tenant, at the newest count; see make_room() */
    uint64_t schema;              /* 0 unknown */
    uint64_t fix;                 /* what was done */
    uint32_t good, bad;           /* times it helped and did not, in thousandths, faded until `lesson.wall` */
    daruma_lesson lesson;         /* but for its score */
} place;

struct daruma_lessons {
    uint32_t n; /* of `places` */
    place places[];
};

size_t daruma_lessons_bytes(uint32_t places)
{
    return sizeof(daruma_lessons) + sizeof(place) * (size_t)places + _Alignof(daruma_lessons);
}

daruma_lessons *daruma_lessons_new(daruma_arena *a, uint32_t places)
{
    daruma_lessons *l = arena_take(a, sizeof *l + sizeof(place) * (size_t)places, _Alignof(daruma_lessons));
    if (l)
        l->n = places;
    return l;
}

static uint64_t hash(daruma_str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.n ? s.p : "", s.n, seed) | 1;
}

/* ---- worth ---- */

/* What is left of a count. Between the halves a straight line serves. */
static uint32_t faded(uint32_t count, int64_t from, int64_t to)
{
    int64_t s = to > from ? to - from : 0, halves = s / LESSON_HALF_LIFE_S, rest = s % LESSON_HALF_LIFE_S;
    if (halves > 31)
        return 0;
    int64_t left = count >> halves;
    return (uint32_t)(left - left * rest / (2 * (int64_t)LESSON_HALF_LIFE_S));
}

static int16_t worth(const place *p, int64_t wall)
{
    int64_t good = faded(p->good, p->lesson.wall, wall), bad = faded(p->bad, p->lesson.wall, wall);
    return (int16_t)((good + ONE) * 1000 / (good + bad + 2 * ONE));
}

/* ---- places ---- */

static bool same_schema(const place *p, uint64_t schema)
{
    return !p->schema || !schema || p->schema == schema;
}

static uint64_t schema_of(const daruma_lesson_key *k)
{
    return k->schema.n ? hash(k->schema, 2) : 0;
}

static bool is_about(const place *p, const daruma_lesson_key *k)
{
    return p->tool && p->tenant == k->tenant && p->tool == hash(k->tool, 1);
}

/* Each place of the tenant says how many it holds, and `more`. */
static void count_held(daruma_lessons *l, uint64_t tenant, uint32_t more)
{
    for (uint32_t i = 0; i < l->n; i++)
        more += l->places[i].tool && l->places[i].tenant == tenant;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->places[i].tool && l->places[i].tenant == tenant)
            l->places[i].held = more;
}

/* The schema is another now: what was learned of the tool before may be wrong. */
static void forget_outdated(daruma_lessons *l, const daruma_lesson_key *k)
{
    uint64_t schema = schema_of(k);
    for (uint32_t i = 0; i < l->n; i++)
        if (is_about(&l->places[i], k) && !same_schema(&l->places[i], schema))
            l->places[i] = (place){0};
    count_held(l, k->tenant, 0);
}

static place *older(place *a, place *b)
{
    return !a || b->lesson.wall < a->lesson.wall ? b : a;
}

/* A free place, or the oldest of the tenant who holds the most, the new one counted; NULL: the table has none at all.
 */
static place *make_room(daruma_lessons *l, uint64_t tenant)
{
    place *spare = NULL;
    for (uint32_t i = 0; i < l->n; i++)
        if (!l->places[i].tool)
            return &l->places[i];
    count_held(l, tenant, 1);
    for (uint32_t i = 0; i < l->n; i++) {
        place *p = &l->places[i];
        spare = !spare || p->held > spare->held ? p : p->held == spare->held ? older(spare, p) : spare;
    }
    if (spare) {
        uint64_t whose = spare->tenant;
        *spare = (place){0};
        count_held(l, whose, 0);
    }
    return spare;
}

static void keep_text(char *to, size_t room, daruma_str text)
{
    check(room > 0);
    size_t n = text.n < room ? text.n : 0; /* whole or not at all: half of an argument is a wrong one */
    if (n)
        memcpy(to, text.p, n);
    to[n] = 0;
}

/* Arguments without secrets; empty when there were any: with a part of them the call would be another. */
static daruma_str harmless(daruma_str text, daruma_arena *a)
{
    daruma_str clean = text.n < DARUMA_LESSON_BYTES ? daruma_redact(text, a) : (daruma_str){0};
    return str_eq(clean, text) ? text : (daruma_str){0};
}

void daruma_lessons_tell(daruma_lessons *l, const daruma_lesson_key *k, const daruma_strategy *fix, bool worked,
                         int64_t wall)
{
    if (fix->kind != DARUMA_STRATEGY_RETRY && fix->kind != DARUMA_STRATEGY_ALTERNATIVE &&
        fix->kind != DARUMA_STRATEGY_ADJUST)
        return;
    char room[4 * DARUMA_LESSON_BYTES];
    daruma_arena scratch = arena_over(room, sizeof room);
    bool retry = fix->kind == DARUMA_STRATEGY_RETRY;
    daruma_str parameters = retry ? (daruma_str){0} : harmless(fix->parameters, &scratch);
    uint64_t id = hash(parameters, hash(retry ? (daruma_str){0} : fix->tool, (uint64_t)fix->kind));
    place *p = NULL;
    forget_outdated(l, k);
    for (uint32_t i = 0; i < l->n && !p; i++)
        if (is_about(&l->places[i], k) && l->places[i].error == k->error && l->places[i].fix == id)
            p = &l->places[i];
    if (!p && (!worked || !(p = make_room(l, k->tenant))))
        return;
    if (p->fix != id || p->error != k->error || !is_about(p, k)) {
        *p = (place){.tenant = k->tenant, .tool = hash(k->tool, 1), .error = k->error, .fix = id};
        p->lesson.kind = fix->kind;
        keep_text(p->lesson.tool, sizeof p->lesson.tool, retry ? k->tool : fix->tool);
        keep_text(p->lesson.parameters, sizeof p->lesson.parameters, parameters);
        count_held(l, k->tenant, 0);
    }
    p->schema = schema_of(k) ? schema_of(k) : p->schema;
    p->good = faded(p->good, p->lesson.wall, wall) + (worked ? ONE : 0);
    p->bad = faded(p->bad, p->lesson.wall, wall) + (worked ? 0 : ONE);
    p->lesson.worked += worked && p->lesson.worked < UINT16_MAX;
    p->lesson.failed += !worked && p->lesson.failed < UINT16_MAX;
    p->lesson.wall = wall > p->lesson.wall ? wall : p->lesson.wall;
    p->lesson.call = worked ? k->call : p->lesson.call;
}

size_t daruma_lessons_find(const daruma_lessons *l, const daruma_lesson_key *k, int64_t wall, daruma_lesson *out,
                           size_t max)
{
    size_t n = 0;
    uint64_t schema = schema_of(k);
    for (uint32_t i = 0; i < l->n && max; i++) {
        const place *p = &l->places[i];
        int16_t score = is_about(p, k) ? worth(p, wall) : 0;
        if (score <= LESSON_SHOWN_MIN || p->error != k->error || !same_schema(p, schema))
            continue;
        size_t at = n;
        while (at && (out[at - 1].score < score || (out[at - 1].score == score && out[at - 1].wall < p->lesson.wall)))
            at--;
        if (at == max)
            continue;
        n += n < max;
        for (size_t j = n - 1; j > at; j--)
            out[j] = out[j - 1];
        out[at] = p->lesson;
        out[at].score = score;
    }
    return n;
}

/* ---- words ---- */

static void put_plain(daruma_buf *b, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            BUF_LIT(b, "&lt;");
        else
            buf_putc(b, (unsigned char)*text < ' ' ? ' ' : *text);
}

static void put_lesson(daruma_buf *b, const daruma_lesson *l)
{
    BUF_SAY(b, "\n- ", daruma_strategy_name(l->kind), ": ");
    put_plain(b, l->tool);
    if (l->parameters[0]) {
        buf_putc(b, ' ');
        put_plain(b, l->parameters);
    }
    buf_printf(b, " (helped %u of %u times)", l->worked, (unsigned)l->worked + l->failed);
}

void daruma_lessons_write(const daruma_lesson *lessons, size_t n, daruma_buf *out)
{
    static const char end[] = "\n</lessons>";
    char room[LESSON_BYTES_MAX];
    daruma_buf b = buf_over(room, sizeof room - sizeof end);
    BUF_LIT(&b, "This helped against the same failure before. Arguments are those of then: an example.\n<lessons>");
    for (size_t i = 0; i < n && i < DARUMA_LESSONS_SHOWN; i++) {
        size_t so_far = b.n;
        put_lesson(&b, &lessons[i]);
        if (b.full) { /* whole or not at all */
            b.n = so_far;
            break;
        }
    }
    BUF_SAY(out, buf_str(&b), end);
}

/* ---- a snapshot ---- */

// clang-format off
static const record_member members[] = {
    RECORD_MEMBER(RECORD_ID,     place, "tenant", tenant),
    RECORD_MEMBER(RECORD_ID,     place, "tool", tool),
    RECORD_MEMBER(RECORD_ID,     place, "error", error),
    RECORD_MEMBER(RECORD_ID,     place, "schema", schema),
    RECORD_MEMBER(RECORD_ID,     place, "fix", fix),
    RECORD_MEMBER(RECORD_WHOLE,  place, "good", good),
    RECORD_MEMBER(RECORD_WHOLE,  place, "bad", bad),
    RECORD_MEMBER(RECORD_WHOLE,  place, "kind", lesson.kind),
    RECORD_MEMBER(RECORD_WHOLE,  place, "worked", lesson.worked),
    RECORD_MEMBER(RECORD_WHOLE,  place, "failed", lesson.failed),
    RECORD_MEMBER(RECORD_SIGNED, place, "wall", lesson.wall),
    RECORD_MEMBER(RECORD_ID,     place, "call", lesson.call),
    RECORD_MEMBER(RECORD_TEXT,   place, "name", lesson.tool),
    RECORD_MEMBER(RECORD_TEXT,   place, "parameters", lesson.parameters),
};
// clang-format on
static const record_table table = {DARUMA_LESSON_RECORD, members, COUNT(members)};

void daruma_lessons_save(const daruma_lessons *l, daruma_buf *out)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->places[i].tool) {
            record_write(out, &table, &l->places[i], 0);
            BUF_LIT(out, "}\n");
        }
}

bool daruma_lessons_load(daruma_lessons *l, daruma_str line)
{
    place got = {0}, *p = NULL;
    bool teaches;
    if (!record_read(&table, line, &got, 0, 0) || !got.tool || got.lesson.wall < 0)
        return false;
    teaches = got.lesson.kind == DARUMA_STRATEGY_RETRY || got.lesson.kind == DARUMA_STRATEGY_ALTERNATIVE ||
              got.lesson.kind == DARUMA_STRATEGY_ADJUST;
    for (uint32_t i = 0; i < l->n && !p; i++)
        if (l->places[i].tool == got.tool && l->places[i].tenant == got.tenant && l->places[i].error == got.error &&
            l->places[i].fix == got.fix)
            p = &l->places[i];
    p = !teaches ? NULL : p ? p : make_room(l, got.tenant);
    if (p) {
        *p = got;
        count_held(l, got.tenant, 0);
    }
    return p != NULL;
}
