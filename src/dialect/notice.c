/* notice.c - what daruma wrote itself: beside a provider's error, and in the model's place. The
 * latter is taken out of later requests, so that no model takes it for its own words. */
#include "base/arena.h"
#include "dialect/kit/parts.h"
#include <xxhash.h>

bool dialect_add_note(daruma_buf *out, daruma_str body, daruma_str note)
{
    daruma_str key, value, error = {0};
    json_iter w = whole_open(body);
    while (json_next(&w, &key, &value))
        if (key_is(key, S("error")))
            error = value;
    if (!whole_ok(&w) || !json_is_object(error))
        return false;
    size_t at = (size_t)(error.p - body.p) + error.n - 1; /* before its closing bracket */
    buf_put(out, str_sub(body, 0, at));
    if (value_given(error))
        buf_putc(out, ',');
    BUF_SAY(out, "\"daruma\":{\"explanation\":", buf_quoted(note), "}", str_from(body, at));
    return true;
}

/* Clients trim what they store. */
uint64_t dialect_notice_hash(daruma_str text)
{
    text = str_trim(text);
    return text.n ? XXH3_64bits(text.p, text.n) : 0;
}

/* The text of a content that is one text: a string, one text part, or an array of one. */
static daruma_str only_text(daruma_str content)
{
    daruma_str part, more;
    if (json_is_string(content))
        return content;
    if (!json_is_array(content))
        return json_get(content, S("text"));
    json_iter it = json_open(content);
    if (!json_next(&it, NULL, &part) || json_next(&it, NULL, &more))
        return (daruma_str){0};
    return json_get(part, S("text"));
}

/* The text of a message that only speaks, and as the assistant; empty for every other. */
static daruma_str assistant_text(daruma_str message)
{
    daruma_str key, value, content = {0};
    bool assistant = false, other = false;
    if (!json_is_object(message))
        return (daruma_str){0};
    for (json_iter it = json_open(message); json_next(&it, &key, &value);)
        if (key_is(key, S("role")))
            assistant = value_is(value, S("assistant")) || value_is(value, S("model"));
        else if (key_is(key, S("content")) || key_is(key, S("parts")))
            content = value;
        else if (key_is(key, S("tool_calls")) || key_is(key, S("function_call")))
            other |= value_given(value);
        else if (key_is(key, S("type"))) /* items of Responses */
            other |= !value_is(value, S("message"));
    return assistant && !other ? only_text(content) : (daruma_str){0};
}

typedef struct strip {
    bool (*ours)(uint64_t hash, const void *user);
    const void *user;
    daruma_arena *scratch;
} strip;

static bool is_notice(const strip *s, daruma_str message)
{
    daruma_str raw = value_raw(assistant_text(message));
    if (!str_starts(str_trim(raw), S(DIALECT_MARK))) /* no writer of JSON escapes any of its characters */
        return false;
    daruma_arena was = *s->scratch;
    daruma_str text = json_text((daruma_str){raw.p - 1, raw.n + 2}, s->scratch);
    bool ours = text.n && s->ours(dialect_notice_hash(text), s->user);
    arena_back(s->scratch, was);
    return ours;
}

bool dialect_strip_notices(const dialect *d, daruma_str body, bool (*ours)(uint64_t hash, const void *user),
                           const void *user, daruma_buf *out, daruma_arena *scratch)
{
    strip s = {ours, user, scratch};
    if (str_find(body, S(DIALECT_NOTICE)) == STR_NONE)
        return false;
    request_scan r = d->scan(body, NULL, false);
    if (!r.ok || !json_is_array(r.messages))
        return false;

    daruma_str message;
    size_t gone = 0, kept = 0;
    const char *from = r.messages.p + 1; /* what is not yet copied of the array */
    buf_put(out, str_sub(body, 0, (size_t)(from - body.p)));
    for (json_iter it = json_open(r.messages); json_next(&it, NULL, &message); from = message.p + message.n) {
        if (is_notice(&s, message)) {
            gone++;
            continue;
        }
        /* A message takes the comma before it along; the first one that stays has none to take. */
        const char *p = kept++ || !gone ? from : message.p;
        buf_put(out, (daruma_str){p, (size_t)(message.p + message.n - p)});
    }
    buf_put(out, str_from(body, (size_t)(from - body.p)));
    return gone > 0;
}
