/* buf.h - bytes to append to. Append away, ask `full` once at the end. */
#ifndef BASE_BUF_H
#define BASE_BUF_H
#include "daruma_parts.h"

static inline daruma_buf buf_over(void *mem, size_t cap)
{
    return (daruma_buf){.p = mem, .cap = cap};
}
static inline daruma_buf buf_in(daruma_arena *a)
{
    return (daruma_buf){.arena = a};
}
static inline daruma_str buf_str(const daruma_buf *b)
{
    return (daruma_str){b->p, b->n};
}
/* The same of a buffer in an arena, when nothing more will be put: what it has too much goes back, if it is the newest
 * there. */
daruma_str buf_done(daruma_buf *b);
#define BUF_LIT(b, lit) buf_put((b), DARUMA_STR(lit))

void buf_put(daruma_buf *b, daruma_str s);
static inline void buf_constant(daruma_buf *b, daruma_str s); /* the same, faster where `s` is S("...") */
void buf_putc(daruma_buf *b, char c);
void buf_putz(daruma_buf *b, const char *z);
void buf_int(daruma_buf *b, int64_t v);
void buf_hex64(daruma_buf *b, uint64_t v);                                                  /* 16 lower-case digits */
void buf_printf(daruma_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* at most 1 KiB a call */
/* `s` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void buf_json(daruma_buf *b, daruma_str s);
void buf_json_run(daruma_buf *b, daruma_str s); /* the same without the quotes */
/* The comma before an element or a member, but behind an opening bracket, a colon and at the beginning. */
void buf_comma(daruma_buf *b);
/* The same, and a member's name that is JSON without its quotes, with its colon. */
void buf_key(daruma_buf *b, daruma_str raw);
/* `name` within a path (RFC 3986, 3.3), which it does not end: letters, digits and what is in `plain` as they are, all
 * else escaped. A name that some server could read as a way to another place (segments that are empty, "." or "..",
 * '\\',
 * ';', control characters, also escaped however often) gets '_' for what would lead there: nothing is called so. */
void buf_path(daruma_buf *b, daruma_str name, const char *plain);
/* Milliseconds for people: "350 ms", "1.5 s", "12 s", "2 min 5 s". */
void buf_duration(daruma_buf *b, daruma_ms ms);
char *buf_grow(daruma_buf *b, size_t n); /* buf_room() when there is none yet */
/* Room for `n` more bytes without appending; NULL and full when there is none. */
static inline char *buf_room(daruma_buf *b, size_t n)
{
    return n <= b->cap - b->n ? b->p + b->n : buf_grow(b, n);
}

__attribute__((always_inline)) static inline void buf_constant(daruma_buf *b, daruma_str s)
{
    char *to = buf_room(b, s.n);
    if (!to)
        return;
    __builtin_memcpy(to, s.p, s.n);
    b->n += s.n;
}

/* ---- several pieces in one call, each by its type ---- */

typedef enum buf_kind { BUF_TEXT, BUF_QUOTED, BUF_RAW, BUF_ANY, BUF_NUMBER, BUF_FLAG } buf_kind;
typedef struct buf_part {
    buf_kind kind;
    daruma_str text;
    int64_t number; /* NUMBER, FLAG */
} buf_part;

/* Texts: as they are. Numbers (no characters): in decimals. Flags: "true", "false". */
#define BUF_SAY(b, ...) buf_say((b), (const buf_part[]){BUF_PARTS(__VA_ARGS__)}, BUF_COUNT(__VA_ARGS__))
/* The same as a text in an arena. */
#define STR_SAY(a, ...) str_say((a), (const buf_part[]){BUF_PARTS(__VA_ARGS__)}, BUF_COUNT(__VA_ARGS__))
/* Names and values in turn, as members of a JSON object; a text becomes a string. The comma before each but the one
 * behind the bracket is set here. */
#define BUF_MEMBERS(b, ...) buf_members((b), (const buf_part[]){BUF_PARTS(__VA_ARGS__)}, BUF_COUNT(__VA_ARGS__))
/* The same with the brackets: a whole object. */
#define BUF_OBJECT(b, ...) buf_object((b), (const buf_part[]){BUF_PARTS(__VA_ARGS__)}, BUF_COUNT(__VA_ARGS__))
/* A text as a JSON string, also in BUF_SAY. */
static inline buf_part buf_quoted(daruma_str s)
{
    return (buf_part){.kind = BUF_QUOTED, .text = s};
}
/* A value that is JSON already; the member is left out when it is empty. */
static inline buf_part buf_raw(daruma_str json)
{
    return (buf_part){.kind = BUF_RAW, .text = json};
}
/* A text; the member is left out when it is empty. */
static inline buf_part buf_any(daruma_str s)
{
    return (buf_part){.kind = BUF_ANY, .text = s};
}

void buf_say(daruma_buf *b, const buf_part *parts, size_t n);
daruma_str str_say(daruma_arena *a, const buf_part *parts, size_t n);
void buf_members(daruma_buf *b, const buf_part *parts, size_t n);
void buf_object(daruma_buf *b, const buf_part *parts, size_t n);

static inline buf_part buf_part_z(const char *z)
{
    return (buf_part){.text = {z, z ? __builtin_strlen(z) : 0}};
}
static inline buf_part buf_part_str(daruma_str s)
{
    return (buf_part){.text = s};
}
static inline buf_part buf_part_number(int64_t v)
{
    return (buf_part){.kind = BUF_NUMBER, .number = v};
}
static inline buf_part buf_part_flag(bool v)
{
    return (buf_part){.kind = BUF_FLAG, .number = v};
}
static inline buf_part buf_part_same(buf_part p)
{
    return p;
}
// clang-format off
#define BUF_PART(x) _Generic((x), char *: buf_part_z, const char *: buf_part_z, daruma_str: buf_part_str,              \
                             bool: buf_part_flag, buf_part: buf_part_same, default: buf_part_number)(x)
#define BUF_1(x)       BUF_PART(x)
#define BUF_2(x, ...)  BUF_PART(x), BUF_1(__VA_ARGS__)
#define BUF_3(x, ...)  BUF_PART(x), BUF_2(__VA_ARGS__)
#define BUF_4(x, ...)  BUF_PART(x), BUF_3(__VA_ARGS__)
#define BUF_5(x, ...)  BUF_PART(x), BUF_4(__VA_ARGS__)
#define BUF_6(x, ...)  BUF_PART(x), BUF_5(__VA_ARGS__)
#define BUF_7(x, ...)  BUF_PART(x), BUF_6(__VA_ARGS__)
#define BUF_8(x, ...)  BUF_PART(x), BUF_7(__VA_ARGS__)
#define BUF_9(x, ...)  BUF_PART(x), BUF_8(__VA_ARGS__)
#define BUF_10(x, ...) BUF_PART(x), BUF_9(__VA_ARGS__)
#define BUF_11(x, ...) BUF_PART(x), BUF_10(__VA_ARGS__)
#define BUF_12(x, ...) BUF_PART(x), BUF_11(__VA_ARGS__)
#define BUF_13(x, ...) BUF_PART(x), BUF_12(__VA_ARGS__)
#define BUF_14(x, ...) BUF_PART(x), BUF_13(__VA_ARGS__)
#define BUF_15(x, ...) BUF_PART(x), BUF_14(__VA_ARGS__)
#define BUF_16(x, ...) BUF_PART(x), BUF_15(__VA_ARGS__)
#define BUF_17(x, ...) BUF_PART(x), BUF_16(__VA_ARGS__)
#define BUF_18(x, ...) BUF_PART(x), BUF_17(__VA_ARGS__)
#define BUF_19(x, ...) BUF_PART(x), BUF_18(__VA_ARGS__)
#define BUF_20(x, ...) BUF_PART(x), BUF_19(__VA_ARGS__)
#define BUF_21(x, ...) BUF_PART(x), BUF_20(__VA_ARGS__)
#define BUF_22(x, ...) BUF_PART(x), BUF_21(__VA_ARGS__)
#define BUF_23(x, ...) BUF_PART(x), BUF_22(__VA_ARGS__)
#define BUF_24(x, ...) BUF_PART(x), BUF_23(__VA_ARGS__)
#define BUF_AT(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, n, ...) n
/* `x`, or a member that is left out. */
#define BUF_IF(there, x) ((there) ? BUF_PART(x) : buf_any((daruma_str){0}))
#define BUF_COUNT(...)  BUF_AT(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define BUF_GLUE(a, b)  a##b
#define BUF_NAMED(n)    BUF_GLUE(BUF_, n)
#define BUF_PARTS(...)  BUF_NAMED(BUF_COUNT(__VA_ARGS__))(__VA_ARGS__)
// clang-format on
#endif
