#include "base/json.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/scan.h"
#include "base/str.h"

static int hex4(const char *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = ch_lower(p[i]);
        int d = ch_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

/* Behind the byte at p, which ends a plain run within a string; NULL when it may not stand there. */
static const char *skip_odd(const char *p, const char *end)
{
    if (*p != '\\' || end - p < 2)
        return NULL;
    switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return p + 2;
    case 'u':
        return end - p >= 6 && hex4(p + 2) >= 0 ? p + 6 : NULL;
    default:
        return NULL;
    }
}

/* One bit for each of the 16 bytes at p that a string cannot simply contain: '"', '\\' or a control character. */
static inline unsigned odd16(const char *p)
{
    scan16 v = scan_load(p);
    return scan_bits(scan_is(v, '"') | scan_is(v, '\\') | scan_range(v, 0, 0x1f));
}

/* The same for the middle of a long string, from `p` on: behind its closing quote, with *closed; or where fewer than 32
 * bytes are left; NULL when broken. *closed is false before. */
SCAN_AVX2 static const char *skip_blocks_avx2(const char *p, const char *end, bool *closed)
{
    while (end - p >= 32) {
        size_t next = 32;
        scan_string32 s = scan_string32_avx2(p);
        uint32_t escaped = s.slash << 1, quote = s.quote & ~escaped;
        if (!s.control && !(escaped & ~s.usual)) { /* nearly always: text, lines and quotes */
            if (quote) {
                *closed = true;
                return p + __builtin_ctz(quote) + 1;
            }
            p += 32 - (s.slash >> 31); /* what the last byte escapes is looked at with it */
            continue;
        }
        for (uint64_t odd = s.quote | s.slash | s.control; odd; odd &= ~(uint64_t)0 << next) {
            const char *at = p + __builtin_ctzll(odd);
            if (*at == '"') {
                *closed = true;
                return at + 1;
            }
            if (!(at = end - at > 1 && *at == '\\' && (at[1] == 'n' || at[1] == '"') ? at + 2 : skip_odd(at, end)))
                return NULL;
            next = (size_t)(at - p);
            if (next >= 32)
                break;
        }
        p += next < 32 ? 32 : next;
    }
    return p;
}

/* Behind the closing quote of the string that goes on at p; NULL when broken. The hot loop of everything here: 16 bytes
 * at a time, and 32 behind the first of them where AVX2 is there. */
static __attribute__((noinline)) const char *skip_string_on(const char *p, const char *end)
{
    while (end - p >= 16) {
        unsigned odd = odd16(p);
        if (!odd) {
            bool closed = false;
            p += 16;
            if (end - p >= 32 && scan_has_avx2() && (!(p = skip_blocks_avx2(p, end, &closed)) || closed))
                return p;
            continue;
        }
        p += __builtin_ctz(odd);
        if (*p == '"')
            return p + 1;
        if (!(p = skip_odd(p, end)))
            return NULL;
    }
    while (p < end) {
        if (*p == '"')
            return p + 1;
        p = *p != '\\' && (unsigned char)*p >= 0x20 ? p + 1 : skip_odd(p, end);
        if (!p)
            return NULL;
    }
    return NULL;
}

/* Behind the closing quote of the string whose opening quote is at p; NULL when broken. Names of members, and most
 * words of a protocol, end within 16 bytes. */
static inline const char *skip_string(const char *p, const char *end)
{
    unsigned odd = end - ++p >= 16 ? odd16(p) : 0;
    const char *first = p + (odd ? __builtin_ctz(odd) : 0);
    return odd && *first == '"' ? first + 1 : skip_string_on(p, end);
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && ch_digit(*p))
        p++;
    return p;
}

static const char *skip_number(const char *p, const char *end)
{
    const char *from;
    if (*p == '-')
        p++;
    if (p == end || !ch_digit(*p))
        return NULL;
    p = *p == '0' ? p + 1 : skip_digits(p, end);
    if (p < end && *p == '.') {
        p = skip_digits(from = p + 1, end);
        if (p == from)
            return NULL;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        p = skip_digits(from = p, end);
        if (p == from)
            return NULL;
    }
    return p;
}

static inline const char *skip_space(const char *p, const char *end)
{
    /* Most often there is none: one comparison tells. */
    while (p < end && (unsigned char)*p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

static const char *skip_scalar(const char *p, const char *end)
{
    size_t room = (size_t)(end - p);
    switch (*p) {
    case '"':
        return skip_string(p, end);
    case 't':
        return room >= 4 && memcmp(p, "true", 4) == 0 ? p + 4 : NULL;
    case 'f':
        return room >= 5 && memcmp(p, "false", 5) == 0 ? p + 5 : NULL;
    case 'n':
        return room >= 4 && memcmp(p, "null", 4) == 0 ? p + 4 : NULL;
    default:
        return *p == '-' || ch_digit(*p) ? skip_number(p, end) : NULL;
    }
}

/* Behind the object or array at p. One loop, no recursion: a bit per open bracket says which it is. */
static const char *skip_nested(const char *p, const char *end)
{
    uint8_t object[JSON_DEPTH_MAX / 8] = {0};
    int depth = 0;
    for (;;) {
        p = skip_space(p, end);
        if (p == end)
            return NULL;
        if (*p == '{' || *p == '[') {
            bool is_object = *p == '{';
            p = skip_space(p + 1, end);
            if (p < end && *p == (is_object ? '}' : ']')) {
                p++;
            } else {
                if (depth == JSON_DEPTH_MAX)
                    return NULL;
                object[depth / 8] =
                    (uint8_t)((object[depth / 8] & ~(1u << depth % 8)) | (unsigned)is_object << depth % 8);
                depth++;
                goto member;
            }
        } else if (!(p = skip_scalar(p, end))) {
            return NULL;
        }
        for (;;) { /* a value is complete: close what it closes */
            if (depth == 0)
                return p;
            p = skip_space(p, end);
            if (p == end)
                return NULL;
            bool is_object = object[(depth - 1) / 8] >> (depth - 1) % 8 & 1;
            if (*p == (is_object ? '}' : ']')) {
                p++;
                depth--;
                continue;
            }
            if (*p++ != ',')
                return NULL;
            p = skip_space(p, end);
            break;
        }
    member:
        if (object[(depth - 1) / 8] >> (depth - 1) % 8 & 1) {
            if (p == end || *p != '"' || !(p = skip_string(p, end)))
                return NULL;
            p = skip_space(p, end);
            if (p == end || *p++ != ':')
                return NULL;
        }
    }
}

/* Behind the value at p. */
static inline const char *skip_value(const char *p, const char *end)
{
    if (*p == '"')
        return skip_string(p, end);
    return *p == '{' || *p == '[' ? skip_nested(p, end) : skip_scalar(p, end);
}

size_t json_skip(daruma_str text, size_t at, daruma_str *value)
{
    const char *end, *p, *q;
    if (at >= text.n)
        return STR_NONE;
    end = text.p + text.n;
    p = skip_space(text.p + at, end);
    if (p == end || !(q = skip_value(p, end)))
        return STR_NONE;
    if (value)
        *value = (daruma_str){p, (size_t)(q - p)};
    return (size_t)(q - text.p);
}

bool json_whole(daruma_str text, daruma_str *value)
{
    size_t at = json_skip(text, 0, value);
    return at != STR_NONE && skip_space(text.p + at, text.p + text.n) == text.p + text.n;
}

bool json_valid(daruma_str text)
{
    return json_whole(text, NULL);
}

json_iter json_open(daruma_str v)
{
    if (!json_is_object(v) && !json_is_array(v))
        return (json_iter){.bad = true};
    return (json_iter){.p = v.p + 1, .end = v.p + v.n, .close = v.p[0] == '{' ? '}' : ']', .first = true};
}

static bool iter_stop(json_iter *it, const char *behind)
{
    it->p = behind ? behind : it->end;
    it->close = 0;
    it->bad |= !behind;
    return false;
}

/* A member behind another that stands as most do: `,"name":value`, with no white space and a name of 15 bytes at most.
 * False: it may be any other. */
static inline bool step_quick(json_iter *it, daruma_str *key)
{
    const char *p = it->p;
    if (it->first || it->close != '}' || it->end - p < 20 || p[0] != ',' || p[1] != '"')
        return false;
    unsigned odd = odd16(p + 2);
    const char *q = p + 2 + (odd ? __builtin_ctz(odd) : 0);
    if (!odd || q[0] != '"' || q[1] != ':' || (unsigned char)q[2] <= ' ')
        return false;
    if (key)
        *key = (daruma_str){p + 2, (size_t)(q - p) - 2};
    it->p = q + 2;
    return true;
}

bool json_step(json_iter *it, daruma_str *key)
{
    if (step_quick(it, key))
        return true;
    if (!it->close)
        return false;
    const char *p = skip_space(it->p, it->end);
    if (p == it->end)
        return iter_stop(it, NULL);
    if (*p == it->close)
        return iter_stop(it, p + 1);
    if (!it->first) {
        if (*p != ',')
            return iter_stop(it, NULL);
        p = skip_space(p + 1, it->end);
    }
    it->first = false;
    if (it->close == '}') {
        const char *q = p < it->end && *p == '"' ? skip_string(p, it->end) : NULL;
        if (!q)
            return iter_stop(it, NULL);
        if (key)
            *key = (daruma_str){p + 1, (size_t)(q - p) - 2};
        p = skip_space(q, it->end);
        if (p == it->end || *p != ':')
            return iter_stop(it, NULL);
        p = skip_space(p + 1, it->end);
    } else if (key) {
        *key = (daruma_str){0};
    }
    if (p == it->end)
        return iter_stop(it, NULL);
    it->p = p;
    return true;
}

/* The value at it->p ends at `q`; NULL: it is broken. */
static bool iter_pass(json_iter *it, const char *q, daruma_str *value)
{
    if (!q)
        return iter_stop(it, NULL);
    if (value)
        *value = (daruma_str){it->p, (size_t)(q - it->p)};
    it->p = q;
    return true;
}

static const char *quick_end(const char *p, const char *end)
{
    if (*p == '{' || *p == '[')
        return json_end_quick(p, end);
    return *p == '"' ? json_string_end_quick(p, end) : skip_value(p, end);
}

bool json_pass(json_iter *it, daruma_str *value)
{
    if (!it->close)
        return false;
    return iter_pass(it, it->quick ? quick_end(it->p, it->end) : skip_value(it->p, it->end), value);
}

json_iter json_enter(const json_iter *it)
{
    json_iter in = json_open((daruma_str){it->p, (size_t)(it->end - it->p)});
    in.quick = it->quick;
    return in;
}

bool json_leave(json_iter *it, json_iter *in, daruma_str *value)
{
    while (json_step(in, NULL))
        if (in->quick)
            iter_stop(in, json_rest_quick(in->p, in->end));
        else
            json_pass(in, NULL);
    return iter_pass(it, in->bad ? NULL : in->p, value);
}

bool json_next(json_iter *it, daruma_str *key, daruma_str *value)
{
    return json_step(it, key) && json_pass(it, value);
}

/* A character as UTF-8 into out (4 bytes). */
static size_t put_utf8(int c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

#define NO_CHARACTER 0xfffd /* what stands for half of one */
static bool first_half(int c)
{
    return c >= 0xd800 && c < 0xdc00;
}
static bool second_half(int c)
{
    return c >= 0xdc00 && c < 0xe000;
}
static int both_halves(int first, int second)
{
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

/* The character an escape at p (behind the backslash) stands for, as UTF-8 into out (4 bytes);
 * *used is how many bytes of input it took. The text was checked by skip_string before. */
static size_t unescape(const char *p, const char *end, char *out, size_t *used)
{
    static const char control['u' - 'b'] = {
        ['b' - 'b'] = '\b', ['f' - 'b'] = '\f', ['n' - 'b'] = '\n', ['r' - 'b'] = '\r', ['t' - 'b'] = '\t'};
    *used = 1;
    if (*p != 'u') {
        char c = *p >= 'b' && *p < 'u' ? control[*p - 'b'] : 0;
        out[0] = c ? c : *p;
        return 1;
    }
    int c = end - p >= 5 ? hex4(p + 1) : -1;
    *used = c < 0 ? 1 : 5;
    if (first_half(c) && end - p >= 11 && p[5] == '\\' && p[6] == 'u' && second_half(hex4(p + 7))) {
        c = both_halves(c, hex4(p + 7));
        *used = 11;
    }
    return put_utf8(c < 0 || first_half(c) || second_half(c) ? NO_CHARACTER : c, out);
}

bool json_raw_eq(daruma_str raw, daruma_str text)
{
    if (raw.n < text.n)
        return false;
    if (str_findch(raw, '\\') == STR_NONE)
        return str_eq(raw, text);
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t at = 0;
    while (p < end) {
        char c[4] = {*p};
        size_t n = 1, used = 1;
        if (*p == '\\' && p + 1 < end) {
            n = unescape(p + 1, end, c, &used);
            used++;
        }
        if (at + n > text.n || memcmp(text.p + at, c, n) != 0)
            return false;
        at += n;
        p += used;
    }
    return at == text.n;
}

daruma_str json_get(daruma_str object, daruma_str key)
{
    daruma_str name, value, found = {0};
    json_iter it = json_open(object);
    if (it.close != '}')
        return found;
    while (json_next(&it, &name, &value))
        if (json_raw_eq(name, key))
            found = value;
    return found;
}

daruma_str json_path(daruma_str value, const char *path)
{
    daruma_str rest = str_of(path);
    while (rest.n && value.n) {
        daruma_str step = str_cut(&rest, '.');
        int64_t want, i = 0;
        if (json_is_array(value) && str_int(step, &want)) {
            json_iter it = json_open(value);
            daruma_str item, hit = {0};
            while (json_next(&it, NULL, &item))
                if (i++ == want) {
                    hit = item;
                    break;
                }
            value = hit;
        } else {
            value = json_get(value, step);
        }
    }
    return value;
}

bool json_is_string(daruma_str v)
{
    return v.n >= 2 && v.p[0] == '"' && v.p[v.n - 1] == '"';
}

/* What a string says, between its quotes, into `out`, where there is room for `raw`. Returns the bytes it is. */
static size_t decode(daruma_str raw, char *out)
{
    size_t n = 0;
    for (const char *p = raw.p, *end = raw.p + raw.n; p < end;) {
        size_t used;
        if (end - p >= 16) { /* what is written is never ahead of what was read: there is room for 16 bytes here, too */
            scan16 b = scan_load(p);
            unsigned slash = scan_bits(scan_is(b, '\\'));
            size_t plain = slash ? (size_t)__builtin_ctz(slash) : 16;
            memcpy(out + n, &b, sizeof b);
            n += plain;
            p += plain;
            if (plain == 16)
                continue;
        }
        if (*p != '\\' || p + 1 == end) {
            out[n++] = *p++;
            continue;
        }
        n += unescape(p + 1, end, out + n, &used); /* never longer than its escape */
        p += used + 1;
    }
    return n;
}

static daruma_str unquoted(daruma_str v)
{
    return json_is_string(v) ? str_sub(v, 1, v.n - 2) : (daruma_str){0};
}

daruma_str json_text(daruma_str v, daruma_arena *a)
{
    daruma_str raw = unquoted(v);
    if (str_findch(raw, '\\') == STR_NONE)
        return raw;
    char *out = arena_raw(a, raw.n, 1);
    if (!out)
        return (daruma_str){0};
    size_t n = decode(raw, out);
    a->beg = out + n; /* what the escapes took is given back */
    return (daruma_str){out, n};
}

#define ESCAPE_BYTES 6 /* of \uXXXX */

/* The code of the escape at `at`; -1: none stands there. */
static int escape_at(daruma_str raw, size_t at)
{
    if (at + ESCAPE_BYTES > raw.n || raw.p[at] != '\\' || raw.p[at + 1] != 'u')
        return -1;
    size_t before = at;
    while (before && raw.p[before - 1] == '\\')
        before--;
    return (at - before) % 2 ? -1 : hex4(raw.p + at + 2);
}

daruma_str json_text_on(daruma_str v, uint16_t *half, daruma_arena *a)
{
    daruma_str raw = unquoted(v);
    if (!raw.n || (!*half && str_findch(raw, '\\') == STR_NONE))
        return raw;
    char *out = arena_raw(a, raw.n + 3, 1); /* U+FFFD for a half that nothing follows */
    if (!out)
        return (daruma_str){0};
    size_t n = 0;
    if (*half && second_half(escape_at(raw, 0))) {
        n = put_utf8(both_halves(*half, escape_at(raw, 0)), out);
        raw = str_from(raw, ESCAPE_BYTES);
    } else if (*half) {
        n = put_utf8(NO_CHARACTER, out);
    }
    int last = raw.n < ESCAPE_BYTES ? -1 : escape_at(raw, raw.n - ESCAPE_BYTES);
    *half = first_half(last) ? (uint16_t)last : 0;
    if (*half)
        raw.n -= ESCAPE_BYTES;
    n += decode(raw, out + n);
    a->beg = out + n;
    return (daruma_str){out, n};
}

void json_put_text(daruma_buf *out, daruma_str v)
{
    daruma_str raw = unquoted(v);
    char *room = buf_room(out, raw.n);
    if (room)
        out->n += decode(raw, room);
}

void json_put_anew(daruma_buf *out, daruma_str v)
{
    daruma_str raw = unquoted(v);
    buf_putc(out, '"');
    for (size_t at; (at = str_findch(raw, '\\')) < raw.n; raw = str_from(raw, at)) {
        char c[4] = "\\";
        size_t n = 1, used = 0;
        if (at + 1 < raw.n)
            n = unescape(raw.p + at + 1, raw.p + raw.n, c, &used);
        buf_json_run(out, str_sub(raw, 0, at));
        buf_json_run(out, (daruma_str){c, n});
        at += used + 1;
    }
    buf_json_run(out, raw);
    buf_putc(out, '"');
}

int64_t json_int(daruma_str v, int64_t otherwise)
{
    if (!json_is_number(v))
        return otherwise;
    bool minus = v.p[0] == '-';
    int64_t n = 0;
    size_t i = minus;
    for (; i < v.n && i < 18 && ch_digit(v.p[i]); i++) /* so many cannot be too many */
        n = n * 10 + (v.p[i] - '0');
    for (; i < v.n && ch_digit(v.p[i]); i++)
        n = add_sat(mul_sat(n, 10), v.p[i] - '0');
    for (size_t e = i; e < v.n; e++) /* 1e3 and 1.5e3 are integers too, but nobody sends them: read the plain ones */
        if (v.p[e] == 'e' || v.p[e] == 'E')
            return otherwise;
    return minus ? -n : n;
}

size_t json_count(daruma_str value)
{
    json_iter it = json_open(value);
    daruma_str member;
    size_t n = 0;
    while (json_next(&it, NULL, &member))
        n++;
    return n;
}
