/* proto.h - the little of Protocol Buffers that spans need (https://protobuf.dev/programming-guides/encoding/). */
#ifndef GATEWAY_PROTO_H
#define GATEWAY_PROTO_H
#include "base/buf.h"
#include "base/limits.h"

enum { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 }; /* how a field is written */
enum { PROTO_TEXT_BYTES = 1024 }; /* of one text of others; longer ones are cut */
enum { PROTO_LENGTH_BYTES = 10 }; /* of a varint, at most */

void proto_fixed64(daruma_buf *b, int field, uint64_t v);
/* One number or two, of eight bytes each, the most significant first. */
void proto_id(daruma_buf *b, int field, const uint64_t *id, size_t n);
void proto_begin(daruma_buf *b, int field, size_t n);         /* a field of `n` bytes, which the caller appends */
void proto_bytes(daruma_buf *b, int field, daruma_str bytes); /* bytes, a text, or a message within this one */
/* A text as it is, or with U+FFFD in place of what is not UTF-8, in `room`: one such byte makes readers refuse it all.
 */
daruma_str proto_text(daruma_str text, char room[PROTO_TEXT_BYTES]);
/* Takes the next field off the front: its number and kind, and its value, as a number or as bytes. False: there is none
 * more, or it is malformed. */
bool proto_next(daruma_str *rest, int *field, uint64_t *number, daruma_str *bytes);

/* A KeyValue of OpenTelemetry's with a text; and one with a number that stands in field `kind` of AnyValue. */
void proto_attribute(daruma_buf *b, int field, daruma_str key, daruma_str text);
void proto_attribute_number(daruma_buf *b, int field, daruma_str key, int kind, uint64_t v);
#endif
