/* proto.c - see proto.h. */
#include "gateway/see/proto.h"
#include "base/str.h"
#include <endian.h>

void proto_varint(daruma_buf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        buf_putc(b, (char)(v | 128));
    buf_putc(b, (char)v);
}

void proto_fixed64(daruma_buf *b, int field, uint64_t v)
{
    char *to = buf_room(b, 9);
    if (!to)
        return;
    b->n += 9;
    to[0] = (char)(field << 3 | PROTO_FIXED64);
    memcpy(to + 1, &(uint64_t){htole64(v)}, 8);
}

void proto_id(daruma_buf *b, int field, const uint64_t *id, size_t n)
{
    char *to = proto_begin(b, field, 8 * n);
    for (size_t i = 0; to && i < n; i++)
        memcpy(to + 8 * i, &(uint64_t){htobe64(id[i])}, 8);
}

char *proto_begin(daruma_buf *b, int field, size_t n)
{
    char *to = buf_room(b, 1 + PROTO_LENGTH_BYTES + n), *at = to;
    size_t left = n;
    if (!to)
        return NULL;
    *at++ = (char)(field << 3 | PROTO_BYTES);
    for (; left >= 128; left >>= 7)
        *at++ = (char)(left | 128);
    *at++ = (char)left;
    b->n += (size_t)(at - to) + n;
    return at;
}

void proto_bytes(daruma_buf *b, int field, daruma_str bytes)
{
    char *to = proto_begin(b, field, bytes.n);
    if (to && bytes.n)
        memcpy(to, bytes.p, bytes.n);
}

void proto_attribute_long(daruma_buf *b, int field, daruma_str key, daruma_str text)
{
    char values[PROTO_TEXT_BYTES + 16], wholes[sizeof values + 128];
    daruma_buf value = buf_over(values, sizeof values), whole = buf_over(wholes, sizeof wholes);
    proto_bytes(&value, 1, text);
    proto_bytes(&whole, 1, key);
    proto_bytes(&whole, 2, buf_str(&value));
    b->full |= value.full || whole.full;
    proto_bytes(b, field, buf_str(&whole));
}

static bool is_ascii(daruma_str s)
{
    uint64_t all = 0, eight;
    size_t i = 0;
    for (; s.n - i >= sizeof eight; i += sizeof eight) {
        memcpy(&eight, s.p + i, sizeof eight);
        all |= eight;
    }
    for (; i < s.n; i++)
        all |= (unsigned char)s.p[i];
    return !(all & 0x8080808080808080);
}

daruma_str proto_text(daruma_str text, char room[PROTO_TEXT_BYTES])
{
    daruma_str rest = str_sub(text, 0, PROTO_TEXT_BYTES);
    daruma_buf b = buf_over(room, PROTO_TEXT_BYTES);
    if (is_ascii(rest))
        return rest;
    while (rest.n && !b.full) {
        size_t n = (unsigned char)rest.p[0] < 0x80 ? 1 : str_utf8(rest);
        buf_put(&b, n ? str_sub(rest, 0, n) : S("\xef\xbf\xbd"));
        rest = str_from(rest, n ? n : 1);
    }
    return buf_str(&b);
}

static bool take_varint(daruma_str *rest, uint64_t *ret)
{
    uint64_t v = 0;
    for (size_t i = 0; i < PROTO_LENGTH_BYTES && i < rest->n; i++) {
        v |= (uint64_t)(rest->p[i] & 127) << 7 * i;
        if (rest->p[i] & 128)
            continue;
        *rest = str_from(*rest, i + 1);
        *ret = v;
        return true;
    }
    return false;
}

bool proto_next(daruma_str *rest, int *field, uint64_t *number, daruma_str *bytes)
{
    uint64_t tag, n = 0;
    if (!take_varint(rest, &tag) || tag > INT32_MAX)
        return false;
    *field = (int)(tag >> 3);
    *number = 0;
    *bytes = (daruma_str){0};
    switch (tag & 7) {
    case PROTO_VARINT:
        return take_varint(rest, number);
    case PROTO_BYTES:
        if (!take_varint(rest, &n))
            return false;
        break;
    case PROTO_FIXED64:
        n = 8;
        break;
    case PROTO_FIXED32:
        n = 4;
        break;
    default:
        return false;
    }
    if (n > rest->n)
        return false;
    *bytes = str_sub(*rest, 0, (size_t)n);
    *rest = str_from(*rest, (size_t)n);
    return true;
}
