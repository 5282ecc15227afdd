/* memory.c - what sessions share; and strings at the edge. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "lib/inside.h"
#include "sys/arena.h"
#include <stdlib.h>

static const drive_rooms lib_rooms = SYS_ROOMS;

const char *daruma_version(void)
{
    return DARUMA_VERSION;
}

int daruma_abi(void)
{
    return DARUMA_ABI;
}

daruma_memory *daruma_memory_new(void)
{
    daruma_memory *m = calloc(1, sizeof *m);
    size_t bytes = daruma_health_bytes(HEALTH_PLACES);
    if (!m)
        return NULL;
    m->health_room = malloc(bytes);
    daruma_arena a = arena_over(m->health_room, m->health_room ? bytes : 0);
    m->drive.host = &lib_host;
    m->drive.rooms = &lib_rooms;
    m->drive.health = daruma_health_new(&a, HEALTH_PLACES);
    if (m->drive.health && driver_begin(&m->drive))
        return m;
    free(m->health_room);
    free(m);
    return NULL;
}

void daruma_memory_free(daruma_memory *m)
{
    if (!m)
        return;
    while (m->sessions)
        daruma_session_free(m->sessions);
    driver_end(&m->drive);
    free(m->health_room);
    free(m);
}

void daruma_memory_now(daruma_memory *m, int64_t now_ms, int64_t wall_s, uint64_t dice)
{
    m->drive.at = (daruma_moment){.now = now_ms < 0 ? 0 : now_ms, .wall = wall_s, .dice = dice};
}

daruma_session *daruma_memory_ready(const daruma_memory *m)
{
    for (daruma_session *s = m->sessions; s; s = s->next)
        if (s->words.first || s->answer.first || s->failed || (s->timer >= 0 && s->timer <= m->drive.at.now))
            return s;
    return NULL;
}

static void put_counts(const drive_counts *n, daruma_buf *out)
{
    BUF_LIT(out, "{\"counts\":");
    BUF_OBJECT(out, "requests", n->requests, "ok", n->ok, "recovered", n->recovered, "degraded", n->degraded,
               "explained", n->explained, "failed", n->failed, "cancelled", n->cancelled, "calls", n->calls, "hedges",
               n->hedges, "side_calls", n->side_calls, "waited_ms", n->waited_ms, "wasted_ms", n->wasted_ms);
    buf_putc(out, ',');
}

static void put_places(const daruma_memory *m, daruma_buf *out)
{
    enum { SHOWN = 64 };
    daruma_place places[SHOWN];
    size_t n = daruma_health_list(m->drive.health, m->drive.at.now, places, SHOWN);
    BUF_LIT(out, "\"places\":[");
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        const daruma_place *p = &places[i];
        buf_putz(out, i ? ",{\"id\":\"" : "{\"id\":\"");
        buf_hex64(out, p->id);
        buf_putc(out, '"');
        BUF_MEMBERS(out, "scope", daruma_scope_name(p->scope), "why", daruma_kind_name(p->why), "breaker", p->breaker,
                    "cool_in_ms", p->cool_in);
        buf_putc(out, '}');
    }
    BUF_LIT(out, "],");
}

static void write_status(const void *of, daruma_buf *all)
{
    const daruma_memory *m = of;
    put_counts(&m->drive.counts, all);
    put_places(m, all);
    driver_learned_status(&m->drive, all);
    buf_printf(all, "\"conversations\":%zu}", driver_sessions(&m->drive));
}

size_t daruma_memory_status(const daruma_memory *m, char *out, size_t out_bytes)
{
    return lib_written(out, out_bytes, write_status, m, LIB_STATUS_BYTES_MAX);
}

static void write_snapshot(const void *of, daruma_buf *all)
{
    driver_save(&((const daruma_memory *)of)->drive, all);
}

size_t daruma_memory_save(const daruma_memory *m, char *out, size_t out_bytes)
{
    return lib_written(out, out_bytes, write_snapshot, m, LIB_SNAPSHOT_BYTES_MAX);
}

int64_t daruma_memory_load(daruma_memory *m, const char *text, size_t text_bytes, char *why, size_t why_bytes)
{
    driver_loaded got = driver_load(&m->drive, (daruma_str){text, text_bytes});
    if (!got.ours) {
        lib_text(why, why_bytes, S("This is no snapshot of daruma's memory, or one of another form."));
        return -1;
    }
    char room[96];
    daruma_buf said = buf_over(room, sizeof room);
    if (got.dropped)
        buf_printf(&said, "%zu of %zu lines were broken or not known, and were left out.", got.dropped,
                   got.taken + got.dropped);
    lib_text(why, why_bytes, buf_str(&said));
    return (int64_t)got.taken;
}

size_t lib_text(char *out, size_t out_bytes, daruma_str text)
{
    size_t n = text.n < out_bytes ? text.n : out_bytes ? out_bytes - 1 : 0;
    if (out && out_bytes) {
        if (n)
            memcpy(out, text.p, n);
        out[n] = 0;
    }
    return text.n;
}

size_t lib_written(char *out, size_t out_bytes, void (*put)(const void *of, daruma_buf *all), const void *of,
                   size_t most)
{
    daruma_arena room;
    if (!sys_arena_init(&room, 16384, most))
        return lib_text(out, out_bytes, (daruma_str){0});
    daruma_buf all = buf_in(&room);
    put(of, &all);
    size_t n = lib_text(out, out_bytes, all.full ? (daruma_str){0} : buf_str(&all));
    sys_arena_done(&room);
    return n;
}
