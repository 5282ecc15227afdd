/* event_stream.c - takes the messages of a stream of Amazon's and says them as server-sent events. */
#include "dialect/event_stream.h"
#include "dialect/kit/parts.h"
#include "base/base64.h"

enum {
    PRELUDE = 12, /* bytes before the headers */
    CRC = 4,
    STRING = 7, /* type of a header's value */
    EVENT_NAME_MAX = 48,
};

static uint32_t number(const char *p, size_t bytes)
{
    uint32_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | (unsigned char)p[i];
    return n;
}

/* CRC-32 as in gzip (RFC 1952, 8), four bits at a time. */
static uint32_t crc32(daruma_str s)
{
    static const uint32_t of[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                    0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                    0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < s.n; i++) {
        crc ^= (unsigned char)s.p[i];
        crc = crc >> 4 ^ of[crc & 15];
        crc = crc >> 4 ^ of[crc & 15];
    }
    return ~crc;
}

/* ---- headers ---- */

/* What a message is. */
typedef struct labels {
    daruma_str message; /* "event", "exception", "error" */
    daruma_str event;   /* of an event: "chunk" */
    daruma_str failure; /* of an exception or an error: its name */
    daruma_str words;   /* of an error */
} labels;

/* Bytes of a value of this type that begins at `at`; STR_NONE: there is no such type, or it is cut. */
static size_t value_bytes(daruma_str headers, size_t at, unsigned type)
{
    static const uint8_t fixed[] = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16};
    if (type >= COUNT(fixed))
        return STR_NONE;
    size_t n = fixed[type];
    if (type == STRING || type == STRING - 1) {
        if (headers.n - at < 2)
            return STR_NONE;
        n = 2 + number(headers.p + at, 2);
    }
    return n <= headers.n - at ? n : STR_NONE;
}

static void take_label(labels *l, daruma_str name, daruma_str value)
{
    if (str_eq(name, S(":message-type")))
        l->message = value;
    else if (str_eq(name, S(":event-type")))
        l->event = value;
    else if (str_eq(name, S(":exception-type")) || str_eq(name, S(":error-code")))
        l->failure = value;
    else if (str_eq(name, S(":error-message")))
        l->words = value;
}

static bool read_headers(daruma_str headers, labels *ret)
{
    for (size_t at = 0; at < headers.n;) {
        size_t n = (unsigned char)headers.p[at++];
        if (headers.n - at <= n)
            return false;
        daruma_str name = str_sub(headers, at, n);
        unsigned type = (unsigned char)headers.p[at + n];
        at += n + 1;
        n = value_bytes(headers, at, type);
        if (n == STR_NONE)
            return false;
        if (type == STRING)
            take_label(ret, name, str_sub(headers, at + 2, n - 2));
        at += n;
    }
    return true;
}

/* ---- what it says ---- */

/* Makes a server-sent event of the JSON behind `at`, under the name that it has. False: it has none. */
static bool name_event(daruma_buf *out, size_t at)
{
    daruma_str json = str_from(buf_str(out), at), type = value_raw(json_get(json, S("type")));
    char head[sizeof "event: \ndata: " + EVENT_NAME_MAX];
    daruma_buf b = buf_over(head, sizeof head);
    for (size_t i = 0; i < type.n; i++)
        if (!ch_alpha(type.p[i]) && type.p[i] != '_')
            return false;
    if (!type.n || type.n > EVENT_NAME_MAX)
        return false;
    BUF_LIT(&b, "event: ");
    buf_put(&b, type);
    BUF_LIT(&b, "\ndata: ");
    if (!buf_room(out, b.n))
        return true; /* which `out` remembers */
    char *p = out->p + at;
    for (size_t i = 0; i < json.n; i++)
        if (p[i] == '\n' || p[i] == '\r') /* white space between values */
            p[i] = ' ';
    memmove(p + b.n, p, json.n);
    memcpy(p, head, b.n);
    out->n += b.n;
    BUF_LIT(out, "\n\n");
    return true;
}

/* False: it is no event, and nothing is appended. */
static bool put_chunk(daruma_buf *out, daruma_str payload)
{
    size_t at = out->n;
    if (base64_put(out, value_raw(json_get(payload, S("bytes")))) && (out->full || name_event(out, at)))
        return true;
    out->n = at;
    return false;
}

static void put_failure(daruma_buf *out, const labels *l, daruma_str payload)
{
    daruma_str words = json_get(payload, S("message"));
    BUF_LIT(out, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":");
    buf_json(out, l->failure.n ? l->failure : S("api_error"));
    BUF_LIT(out, ",\"message\":");
    if (json_is_string(words))
        buf_put(out, words);
    else
        buf_json(out, l->words);
    BUF_LIT(out, "}}\n\n");
}

event_stream_found event_stream_next(daruma_str *rest, daruma_buf *out)
{
    labels l = {0};
    if (rest->n < PRELUDE)
        return EVENT_STREAM_MORE;
    size_t all = number(rest->p, 4), headers = number(rest->p + 4, 4);
    bool fits = all >= PRELUDE + CRC && all <= EVENT_STREAM_BYTES_MAX && headers <= all - PRELUDE - CRC;
    if (!fits || crc32(str_sub(*rest, 0, PRELUDE - CRC)) != number(rest->p + PRELUDE - CRC, CRC))
        return EVENT_STREAM_BAD;
    if (rest->n < all)
        return EVENT_STREAM_MORE;
    daruma_str payload = str_sub(*rest, PRELUDE + headers, all - PRELUDE - headers - CRC);
    if (crc32(str_sub(*rest, 0, all - CRC)) != number(rest->p + all - CRC, CRC) ||
        !read_headers(str_sub(*rest, PRELUDE, headers), &l))
        return EVENT_STREAM_BAD;
    if (str_eq(l.message, S("exception")) || str_eq(l.message, S("error")))
        put_failure(out, &l, payload);
    else if (str_eq(l.event, S("chunk")) && !put_chunk(out, payload))
        return EVENT_STREAM_BAD;
    *rest = str_from(*rest, all);
    return EVENT_STREAM_TAKEN;
}
