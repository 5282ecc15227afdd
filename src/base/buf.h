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
void buf_putc(daruma_buf *b, char c);
void buf_putz(daruma_buf *b, const char *z);
void buf_int(daruma_buf *b, int64_t v);
void buf_hex64(daruma_buf *b, uint64_t v);                                                  /* 16 lower-case digits */
void buf_printf(daruma_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* at most 1 KiB a call */
/* `s` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void buf_json(daruma_buf *b, daruma_str s);
void buf_json_run(daruma_buf *b, daruma_str s); /* the same without the quotes */
/* `name` within a path (RFC 3986, 3.3), which it does not end: letters, digits and what is in `plain` as they are, all
 * else escaped. */
void buf_path(daruma_buf *b, daruma_str name, const char *plain);
/* Milliseconds for people: "350 ms", "1.5 s", "12 s", "2 min 5 s". */
void buf_duration(daruma_buf *b, daruma_ms ms);
char *buf_grow(daruma_buf *b, size_t n); /* buf_room() when there is none yet */
/* Room for `n` more bytes without appending; NULL and full when there is none. */
static inline char *buf_room(daruma_buf *b, size_t n)
{
    return n <= b->cap - b->n ? b->p + b->n : buf_grow(b, n);
}
#endif
