/* tokens.c - how many tokens a request has, estimated so that it errs high: whoever asks wants to stay below a limit.
 * Bytes are counted as they stand on the wire, escapes and brackets and all; only media have a rate of their own. */
#include "model/convo.h"
#include "base/limits.h"
#include "base/scan.h"
#include "base/str.h"

/* What one token covers. English prose has about four characters a token, code and JSON fewer; of Chinese and Japanese
 * a character is between one and two tokens in the tokenizers of OpenAI and Anthropic, of Cyrillic, Greek or Arabic at
 * most one, of emoji two or three. In thousandths. */
enum { ASCII_MILLI = 286, NARROW_MILLI = 1000, WIDE_MILLI = 1500, EMOJI_MILLI = 3000 };

typedef struct byte_counts {
    size_t ascii, two, three, four; /* characters by their length in UTF-8 */
} byte_counts;

static byte_counts count_bytes(daruma_str s)
{
    scan_high n = scan_high_bytes(s.p, s.n);
    return (byte_counts){
        .ascii = s.n - n.from80, .two = n.fromc0 - n.frome0, .three = n.frome0 - n.fromf0, .four = n.fromf0};
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
    if (p->kind == PART_MEDIA)
        return CONVO_PART_TOKENS + media_rate(p) + (p->media_url ? bytes_tokens(p->media.n) : 0);
    int64_t n = CONVO_PART_TOKENS + bytes_tokens(p->id.n) + text_tokens(p->name);
    if (p->kind == PART_RESULT && p->nparts) {
        for (size_t i = 0; i < p->nparts; i++)
            n += part_tokens(&p->parts[i]);
        return n;
    }
    if (p->kind != PART_RESULT)
        n += bytes_tokens(p->signature.n);
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
