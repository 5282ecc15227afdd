/* snapshot.c - what a driver knows as lines of JSON, so that a restart costs no second failure. Each room writes and
 * reads its own lines; ids are hashes of names and mean the same in every process. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/record.h"
#include "engine/decide/health.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/memory/snapshot.h"
#include "engine/drive/mend/recall.h"

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

void snapshot_head(const driver *v, daruma_buf *out)
{
    first_line head = {.form = FORM, .wall = v->at.wall};
    record_write(out, &first, &head, 0);
    BUF_LIT(out, "}\n");
}

void driver_save(const driver *v, daruma_buf *out)
{
    snapshot_head(v, out);
    health_save(v->health, v->at.now, out);
    memory_save(v->mem, v->at.now, out);
    mended_save(v->mended, v->at.now, out);
    watch_save(v->watch, out);
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
