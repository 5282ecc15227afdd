/* share.c - what a driver tells others of its kind, and learns from them, while all of them run. A line that says what
 * a driver knows is told once; what was only heard is told once more, and then all know it. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/record.h"
#include "engine/decide/health.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/memory/snapshot.h"
#include "engine/drive/mend/recall.h"
#include <xxhash.h>

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

static void save_all(const driver *v, daruma_ms now, daruma_buf *out)
{
    memory_save(v->mem, now, out);
    mended_save(v->mended, now, out);
    watch_save(v->watch, out);
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
    size_t before;
    daruma_arena room = {0};
    snapshot_head(v, out);
    before = out->n;
    health_share(v->health, v->at.now, out);
    if (all && v->rooms->open(&room, 65536, LIB_SNAPSHOT_BYTES_MAX)) {
        daruma_buf lines = buf_in(&room), timeless = {0};
        save_all(v, v->at.now, &lines);
        timeless = buf_in(&room);
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
