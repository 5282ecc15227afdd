#include "base/record.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"

static bool is_zero(const char *p, size_t n)
{
    while (n && !*p) {
        p++;
        n--;
    }
    return n == 0;
}

/* ---- writing ---- */

static int64_t whole_of(const char *p, size_t bytes)
{
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        int64_t i64;
    } v = {0};
    memcpy(&v, p, bytes);
    return bytes == 1 ? v.u8 : bytes == 2 ? v.u16 : bytes == 4 ? v.u32 : v.i64;
}

static void put_row(daruma_buf *out, const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(int32_t); i++) {
        int32_t v;
        memcpy(&v, p + i * sizeof v, sizeof v);
        buf_putc(out, i ? ',' : '[');
        buf_int(out, v);
    }
    buf_putc(out, ']');
}

static void put_value(daruma_buf *out, const record_member *m, const char *p, daruma_ms now)
{
    uint64_t id;
    int64_t v;
    switch ((record_type)m->type) {
    case RECORD_ID:
        memcpy(&id, p, sizeof id);
        buf_putc(out, '"');
        buf_hex64(out, id);
        buf_putc(out, '"');
        break;
    case RECORD_WHOLE:
    case RECORD_COUNT:
        buf_int(out, whole_of(p, m->bytes));
        break;
    case RECORD_SIGNED:
    case RECORD_TIME:
        memcpy(&v, p, sizeof v);
        buf_int(out, m->type == RECORD_TIME ? add_sat(v, -now) : v);
        break;
    case RECORD_FLAG:
        BUF_LIT(out, "true");
        break;
    case RECORD_ROW:
        put_row(out, p, m->bytes);
        break;
    case RECORD_TEXT:
        buf_json(out, str_of(p));
        break;
    }
}

void record_write(daruma_buf *out, const record_table *t, const void *p, daruma_ms now)
{
    buf_printf(out, "{\"is\":\"%s\"", t->what);
    for (size_t i = 0; i < t->n; i++) {
        const record_member *m = &t->members[i];
        const char *at = (const char *)p + m->at;
        bool passes = m->type == RECORD_TIME || m->type == RECORD_COUNT;
        if (is_zero(at, m->bytes) || (passes && now == RECORD_TIMELESS))
            continue;
        buf_printf(out, ",\"%s\":", m->name);
        put_value(out, m, at, now);
    }
}

/* ---- reading ---- */

bool record_id(daruma_str value, uint64_t *ret)
{
    uint64_t id = 0;
    if (value.n != 18 || !json_is_string(value)) /* 16 digits and the quotes */
        return false;
    for (size_t i = 1; i < 17; i++) {
        int d = ch_hex(value.p[i]);
        if (d < 0)
            return false;
        id = id << 4 | (uint64_t)d;
    }
    *ret = id;
    return true;
}

static bool take_whole(daruma_str value, char *p, size_t bytes)
{
    int64_t v = json_is_number(value) ? json_int(value, -1) : -1;
    int64_t most = bytes == 8 ? INT64_MAX : ((int64_t)1 << (8 * bytes)) - 1;
    uint8_t u8 = (uint8_t)v;
    uint16_t u16 = (uint16_t)v;
    uint32_t u32 = (uint32_t)v;
    if (v < 0 || v > most)
        return false;
    memcpy(p, bytes == 1 ? (void *)&u8 : bytes == 2 ? (void *)&u16 : bytes == 4 ? (void *)&u32 : (void *)&v, bytes);
    return true;
}

static bool take_row(daruma_str value, char *p, size_t bytes)
{
    size_t i = 0;
    json_iter it = json_open(value);
    for (daruma_str one; json_next(&it, NULL, &one); i++) {
        int64_t v = json_is_number(one) ? json_int(one, INT64_MAX) : INT64_MAX;
        int32_t kept = (int32_t)v;
        if (i == bytes / sizeof kept || v > INT32_MAX || v < INT32_MIN)
            return false;
        memcpy(p + i * sizeof kept, &kept, sizeof kept);
    }
    return !it.bad;
}

static bool take_text(daruma_str value, char *p, size_t bytes)
{
    char room[512];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_str text = json_is_string(value) ? json_text(value, &a) : (daruma_str){0};
    if (!json_is_string(value) || a.full || text.n >= bytes || memchr(text.n ? text.p : "", 0, text.n))
        return false;
    if (text.n)
        memcpy(p, text.p, text.n);
    return true;
}

static bool take_value(const record_member *m, daruma_str value, char *p, daruma_ms now, daruma_ms aged)
{
    uint64_t id;
    bool yes = true;
    int64_t v;
    switch ((record_type)m->type) {
    case RECORD_ID:
        if (!record_id(value, &id))
            return false;
        memcpy(p, &id, sizeof id);
        return true;
    case RECORD_WHOLE:
    case RECORD_COUNT:
        return take_whole(value, p, m->bytes);
    case RECORD_SIGNED:
    case RECORD_TIME:
        if (!json_is_number(value))
            return false;
        v = json_int(value, 0);
        if (m->type == RECORD_TIME) {
            v = add_sat(add_sat(v, now), -aged);
            v = v ? v : 1; /* 0 is none */
        }
        memcpy(p, &v, sizeof v);
        return true;
    case RECORD_FLAG:
        if (!json_is_true(value))
            return false;
        memcpy(p, &yes, sizeof yes);
        return true;
    case RECORD_ROW:
        return take_row(value, p, m->bytes);
    case RECORD_TEXT:
        return take_text(value, p, m->bytes);
    }
    return false;
}

bool record_read(const record_table *t, daruma_str line, void *p, daruma_ms now, daruma_ms aged)
{
    json_iter it = json_open(line);
    daruma_str key, value;
    check(now >= 0 && aged >= 0);
    while (json_next(&it, &key, &value)) {
        size_t i = 0;
        while (i < t->n && !str_eq(key, str_of(t->members[i].name)))
            i++;
        if (i < t->n && !take_value(&t->members[i], value, (char *)p + t->members[i].at, now, aged))
            return false;
    }
    return !it.bad;
}

daruma_str record_name(daruma_str line)
{
    daruma_str value = json_get(line, S("is"));
    return json_is_string(value) ? str_sub(value, 1, value.n - 2) : (daruma_str){0};
}
