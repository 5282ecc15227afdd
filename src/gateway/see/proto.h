/* proto.h - the little of Protocol Buffers that spans need (https://protobuf.dev/programming-guides/encoding/). */
#ifndef GATEWAY_PROTO_H
#define GATEWAY_PROTO_H
#include "base/buf.h"
#include "base/limits.h"

enum { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 }; /* how a field is written */
enum { PROTO_TEXT_BYTES = 1024 }; /* of one text of others; longer ones are cut */
enum { PROTO_LENGTH_BYTES = 10 }; /* of a varint, at most */

void proto_varint(daruma_buf *b, uint64_t v);
void proto_fixed64(daruma_buf *b, int field, uint64_t v);
/* One number or two, of eight bytes each, the most significant first. */
void proto_id(daruma_buf *b, int field, const uint64_t *id, size_t n);
/* Begins a field of `n` bytes and returns the room for them; NULL and full without it. */
char *proto_begin(daruma_buf *b, int field, size_t n);
void proto_bytes(daruma_buf *b, int field, daruma_str bytes); /* bytes, a text, or a message within this one */
/* A text as it is, or with U+FFFD in place of what is not UTF-8, in `room`: one such byte makes readers refuse it all.
 */
daruma_str proto_text(daruma_str text, char room[PROTO_TEXT_BYTES]);
/* Takes the next field off the front: its number and kind, and its value, as a number or as bytes. False: there is none
 * more, or it is malformed. */
bool proto_next(daruma_str *rest, int *field, uint64_t *number, daruma_str *bytes);

/* Of a KeyValue its beginning: all lengths are below 128. The value's message has `n` bytes. */
__attribute__((always_inline)) static inline char *proto_key(daruma_buf *b, int field, daruma_str key, size_t n)
{
    char *to = buf_room(b, 6 + key.n + n);
    if (!to)
        return NULL;
    b->n += 6 + key.n + n;
    to[0] = (char)(field << 3 | PROTO_BYTES);
    to[1] = (char)(4 + key.n + n);
    to[2] = 1 << 3 | PROTO_BYTES;
    to[3] = (char)key.n;
    __builtin_memcpy(to + 4, key.p, key.n);
    to[4 + key.n] = 2 << 3 | PROTO_BYTES;
    to[5 + key.n] = (char)n;
    return to + 6 + key.n;
}

/* proto_attribute() for a text of any length up to PROTO_TEXT_BYTES. */
void proto_attribute_long(daruma_buf *b, int field, daruma_str key, daruma_str text);

/* A KeyValue of OpenTelemetry's with a text. `key`: S("..."). */
__attribute__((always_inline)) static inline void proto_attribute(daruma_buf *b, int field, daruma_str key,
                                                                  daruma_str text)
{
    if (6 + key.n + text.n >= 128) {
        proto_attribute_long(b, field, key, text);
        return;
    }
    char *to = proto_key(b, field, key, 2 + text.n);
    if (!to)
        return;
    to[0] = 1 << 3 | PROTO_BYTES;
    to[1] = (char)text.n;
    __builtin_memcpy(to + 2, text.p, text.n);
}

/* One with a number that stands in field `kind` of AnyValue. */
__attribute__((always_inline)) static inline void proto_attribute_number(daruma_buf *b, int field, daruma_str key,
                                                                         int kind, uint64_t v)
{
    size_t n = 2;
    for (uint64_t rest = v; rest >= 128; rest >>= 7)
        n++;
    char *to = proto_key(b, field, key, n);
    if (!to)
        return;
    to[0] = (char)(kind << 3 | PROTO_VARINT);
    for (size_t i = 1; i + 1 < n; i++, v >>= 7)
        to[i] = (char)(v | 128);
    to[n - 1] = (char)v;
}
#endif
