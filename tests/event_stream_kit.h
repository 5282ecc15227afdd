/* event_stream_kit.h - writes messages of Amazon's event stream, with a CRC bit by bit: not the one that is tested. */
#ifndef EVENT_STREAM_KIT_H
#define EVENT_STREAM_KIT_H
#include "base/buf.h"
#include "base/str.h"

static inline void kit_number(daruma_buf *b, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_putc(b, (char)(n >> shift));
}

static inline uint32_t kit_crc(daruma_str s)
{
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < s.n; i++) {
        crc ^= (unsigned char)s.p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0xedb88320) : crc >> 1;
    }
    return ~crc;
}

/* Appends a message; `headers` are written out. */
static inline void kit_message(daruma_buf *b, daruma_str headers, daruma_str payload)
{
    size_t at = b->n;
    kit_number(b, (uint32_t)(16 + headers.n + payload.n));
    kit_number(b, (uint32_t)headers.n);
    kit_number(b, kit_crc(str_from(buf_str(b), at)));
    buf_put(b, headers);
    buf_put(b, payload);
    kit_number(b, kit_crc(str_from(buf_str(b), at)));
}

/* Appends a header that is a string. */
static inline void kit_header(daruma_buf *b, const char *name, const char *value)
{
    daruma_str v = str_of(value);
    buf_putc(b, (char)str_of(name).n);
    buf_putz(b, name);
    buf_putc(b, 7);
    buf_putc(b, (char)(v.n >> 8));
    buf_putc(b, (char)v.n);
    buf_put(b, v);
}
#endif
