/* tokens.c - how many tokens a request has, estimated so that it errs high: whoever asks wants to stay below a limit.
 * Bytes are counted as they stand on the wire, escapes and brackets and all; only media have a rate of their own. */
#include "model/convo.h"
#include "base/limits.h"
#include "base/str.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* What one token covers. English prose has about four characters a token, code and JSON fewer; of Chinese and Japanese
 * a character is between one and two tokens in the tokenizers of OpenAI and Anthropic, of Cyrillic, Greek or Arabic at
 * most one, of emoji two or three. In thousandths. */
enum { ASCII_MILLI = 286, NARROW_MILLI = 1000, WIDE_MILLI = 1500, EMOJI_MILLI = 3000 };

typedef struct byte_counts {
    size_t ascii, two, three, four; /* characters by their length in UTF-8 */
} byte_counts;

/* The bytes from 0x80, 0xc0, 0xe0, 0xf0 up: of 64 at a time where SSE2 is there. Returns how many were looked at. */
#if defined(__SSE2__)
enum { TURNS_MAX = 255 / 4 }; /* of 64 bytes: what a counter of 8 bits holds */

static size_t sum_bytes(__m128i counters)
{
    __m128i s = _mm_sad_epu8(counters, _mm_setzero_si128());
    return (size_t)_mm_cvtsi128_si32(s) + (size_t)_mm_cvtsi128_si32(_mm_srli_si128(s, 8));
}

static __m128i load16(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* As signed bytes those from 0x80 up are below zero, in the same order. */
static void count16(__m128i v, __m128i n[4])
{
    __m128i high = _mm_cmplt_epi8(v, _mm_setzero_si128());
    n[0] = _mm_sub_epi8(n[0], high);
    n[1] = _mm_sub_epi8(n[1], _mm_and_si128(high, _mm_cmpgt_epi8(v, _mm_set1_epi8((char)0xbf))));
    n[2] = _mm_sub_epi8(n[2], _mm_and_si128(high, _mm_cmpgt_epi8(v, _mm_set1_epi8((char)0xdf))));
    n[3] = _mm_sub_epi8(n[3], _mm_and_si128(high, _mm_cmpgt_epi8(v, _mm_set1_epi8((char)0xef))));
}

static size_t count_from(daruma_str s, size_t from[4])
{
    const char *p = s.p;
    size_t left = s.n / 64;
    while (left) {
        size_t turns = left < TURNS_MAX ? left : TURNS_MAX;
        __m128i n[4] = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};
        for (const char *end = p + turns * 64; p < end; p += 64) {
            __m128i a = load16(p), b = load16(p + 16), c = load16(p + 32), d = load16(p + 48);
            if (!_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))))
                continue; /* ASCII: most are */
            count16(a, n);
            count16(b, n);
            count16(c, n);
            count16(d, n);
        }
        for (int k = 0; k < 4; k++)
            from[k] += sum_bytes(n[k]);
        left -= turns;
    }
    return s.n & ~(size_t)63;
}
#else
static size_t count_from(daruma_str s, size_t from[4])
{
    (void)s;
    (void)from;
    return 0;
}
#endif

static byte_counts count_bytes(daruma_str s)
{
    size_t from[4] = {0};
    for (size_t i = count_from(s, from); i < s.n; i++) {
        unsigned char b = (unsigned char)s.p[i];
        from[0] += b >= 0x80;
        from[1] += b >= 0xc0;
        from[2] += b >= 0xe0;
        from[3] += b >= 0xf0;
    }
    return (byte_counts){.ascii = s.n - from[0], .two = from[1] - from[2], .three = from[2] - from[3], .four = from[3]};
}

static int64_t tokens_of(byte_counts n)
{
    uint64_t milli = (uint64_t)n.ascii * ASCII_MILLI + (uint64_t)n.two * NARROW_MILLI + (uint64_t)n.three * WIDE_MILLI +
                     (uint64_t)n.four * EMOJI_MILLI;
    return (int64_t)((milli + 999) / 1000);
}

int64_t text_tokens(daruma_str text)
{
    return tokens_of(count_bytes(text));
}

static int64_t bytes_tokens(size_t ascii)
{
    return tokens_of((byte_counts){.ascii = ascii});
}

static bool is_media(const convo_part *p)
{
    return p->kind == PART_MEDIA && !p->dropped;
}

static int64_t media_rate(const convo_part *p)
{
    return p->media_type.n && !str_istarts(p->media_type, S("image/")) ? CONVO_DOCUMENT_TOKENS : CONVO_IMAGE_TOKENS;
}

/* Base64 of the parts, which is on the wire and is no text; their rate is added to *tokens. */
static size_t media_bytes(const convo_part *parts, size_t n, int64_t *tokens)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_media(&parts[i])) {
            *tokens += media_rate(&parts[i]);
            bytes += parts[i].media_url ? 0 : parts[i].media.n;
        }
        if (parts[i].kind == PART_RESULT && !parts[i].dropped)
            bytes += media_bytes(parts[i].parts, parts[i].nparts, tokens);
    }
    return bytes;
}

/* Something that goes out as its raw bytes. */
static int64_t raw_tokens(daruma_str raw, const convo_part *parts, size_t n)
{
    int64_t tokens = 0;
    byte_counts b = count_bytes(raw);
    size_t media = media_bytes(parts, n, &tokens);
    b.ascii -= media < b.ascii ? media : b.ascii;
    return tokens + tokens_of(b);
}

static int64_t part_tokens(const convo_part *p)
{
    if (p->dropped)
        return 0;
    if (p->raw.n && !p->edited)
        return raw_tokens(p->raw, p, 1);
    int64_t n = CONVO_PART_TOKENS + bytes_tokens(p->id.n) + text_tokens(p->name) + bytes_tokens(p->signature.n);
    if (p->kind == PART_MEDIA)
        return n + media_rate(p) + (p->media_url ? bytes_tokens(p->media.n) : 0);
    if (p->kind == PART_RESULT && p->nparts) {
        for (size_t i = 0; i < p->nparts; i++)
            n += part_tokens(&p->parts[i]);
        return n;
    }
    return n + text_tokens(p->ready || p->text.n ? p->text : p->value);
}

int64_t convo_message_tokens(const convo_message *m)
{
    if (m->dropped)
        return 0;
    if (m->raw.n && !m->edited)
        return CONVO_MESSAGE_TOKENS + raw_tokens(m->raw, m->parts, m->nparts);
    int64_t n = CONVO_MESSAGE_TOKENS + CONVO_PART_TOKENS;
    for (size_t i = 0; i < m->nparts; i++)
        n += part_tokens(&m->parts[i]);
    return n;
}

int64_t convo_tokens(const convo *c)
{
    int64_t n = CONVO_PART_TOKENS + text_tokens(c->set.format_schema);
    for (size_t i = 0; i < c->nmessages; i++)
        n += convo_message_tokens(&c->messages[i]);
    for (size_t i = 0; i < c->ntools; i++) {
        const convo_tool *t = &c->tools[i];
        n += CONVO_PART_TOKENS;
        n += t->raw.n ? text_tokens(t->raw)
                      : text_tokens(t->name) + text_tokens(t->description) + text_tokens(t->schema);
    }
    return n;
}
