/* snapshot.c - what a driver knows as lines of JSON, so that a restart costs no second failure. Each room writes and
 * reads its own lines; ids are hashes of names and mean the same in every process. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/record.h"
#include "engine/decide/health.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/recall.h"
#include <xxhash.h>

enum { FORM = 1 }; /* of the lines; another one is not read */

/* Wall time in ms stands beside each snapshot: monotonic clocks of two processes have nothing in common. */
typedef struct first_line {
    uint32_t form;
    int64_t wall; /* unix seconds, 0 unknown */
} first_line;

static const record_member members[] = {
    RECORD_MEMBER(RECORD_WHOLE, first_line, "form", form),
    RECORD_MEMBER(RECORD_SIGNED, first_line, "wall", wall),
};
static const record_table first = {"daruma_memory", members, COUNT(members)};

static void put_head(const driver *v, daruma_buf *out)
{
    first_line head = {.form = FORM, .wall = v->at.wall};
    record_write(out, &first, &head, 0);
    BUF_LIT(out, "}\n");
}

static void save_all(const driver *v, daruma_ms now, daruma_buf *out)
{
    memory_save(v->mem, now, out);
    mended_save(v->mended, now, out);
    watch_save(v->watch, out);
}

void driver_save(const driver *v, daruma_buf *out)
{
    put_head(v, out);
    health_save(v->health, v->at.now, out);
    save_all(v, v->at.now, out);
}

/* `shared`: others are at work meanwhile, and so are we. */
static bool load_line(driver *v, daruma_str line, daruma_ms aged, bool shared)
{
    daruma_str what = record_name(line);
    daruma_ms now = v->at.now;
    if (str_eq(what, S(HEALTH_RECORD)))
        return (shared ? health_learn : health_load)(v->health, line, now, aged);
    if (str_eq(what, S(DARUMA_LESSON_RECORD)))
        return watch_load(v, line);
    return memory_load(v->mem, line, now, aged) || mended_load(v, line, now, aged);
}

/* `ages`: time may have gone by since it was written; else it is said just now, whatever the clocks show. */
static driver_loaded load(driver *v, daruma_str text, bool shared, bool ages)
{
    driver_loaded ret = {0};
    first_line head = {0};
    daruma_str line = str_cut(&text, '\n');
    if (!str_eq(record_name(line), str_of(first.what)) || !record_read(&first, line, &head, 0, 0) || head.form != FORM)
        return ret;
    ret.ours = true;
    int64_t gone_s = ages && head.wall > 0 && v->at.wall > head.wall ? v->at.wall - head.wall : 0;
    daruma_ms aged = gone_s < INT64_MAX / 1000 ? gone_s * 1000 : INT64_MAX / 2;
    while (text.n) {
        line = str_trim(str_cut(&text, '\n'));
        if (line.n)
            ++*(load_line(v, line, aged, shared) ? &ret.taken : &ret.dropped);
    }
    return ret;
}

driver_loaded driver_load(driver *v, daruma_str text)
{
    return load(v, text, false, true);
}

driver_loaded driver_learn(driver *v, daruma_str text, bool kept)
{
    driver_loaded got = load(v, text, true, kept);
    got.busy = got.dropped && mended_busy(v);
    driver_wake(v);
    return got;
}

/* ---- what is told to other drivers while all of them run: a line once, and what was only heard once more ---- */

/* Hashes of lines, found by their low bits; 0 is none. */
struct told {
    size_t cap; /* a power of two */
    uint64_t slots[];
};

static uint64_t *slot_of(struct told *t, uint64_t hash)
{
    size_t i = hash & (t->cap - 1);
    while (t->slots[i] && t->slots[i] != hash)
        i = (i + 1) & (t->cap - 1);
    return &t->slots[i];
}

static struct told *told_for(const drive_rooms *rooms, size_t lines)
{
    size_t cap = 64;
    while (cap < lines * 2)
        cap *= 2;
    struct told *t = rooms->take(sizeof *t + cap * sizeof *t->slots);
    if (t)
        t->cap = cap;
    return t;
}

static size_t lines_of(daruma_str text)
{
    size_t n = 0;
    for (; text.n; n++)
        str_cut(&text, '\n');
    return n;
}

/* The same things stand in both texts in the same order: in one with times, in the other as they are known. */
static void put_news(driver *v, daruma_str lines, daruma_str timeless, daruma_buf *out)
{
    struct told *now = told_for(v->rooms, lines_of(timeless));
    if (!now)
        return;
    while (lines.n && timeless.n) {
        daruma_str line = str_cut(&lines, '\n'), known = str_cut(&timeless, '\n');
        uint64_t hash = XXH3_64bits(known.p, known.n) | 1;
        *slot_of(now, hash) = hash;
        if (v->told && *slot_of(v->told, hash))
            continue;
        buf_put(out, line);
        BUF_LIT(out, "\n");
    }
    v->rooms->give(v->told);
    v->told = now;
}

bool driver_share(driver *v, bool all, daruma_buf *out)
{
    daruma_arena room = {0};
    put_head(v, out);
    size_t before = out->n;
    health_share(v->health, v->at.now, out);
    if (all && v->rooms->open(&room, 65536, LIB_SNAPSHOT_BYTES_MAX)) {
        daruma_buf lines = buf_in(&room);
        save_all(v, v->at.now, &lines);
        daruma_buf timeless = buf_in(&room);
        save_all(v, RECORD_TIMELESS, &timeless);
        if (!lines.full && !timeless.full)
            put_news(v, buf_str(&lines), buf_str(&timeless), out);
    }
    v->rooms->close(&room);
    return out->n > before && !out->full;
}

void driver_unshare(driver *v)
{
    health_unshare(v->health);
    v->rooms->give(v->told);
    v->told = NULL;
}
