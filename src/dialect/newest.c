/* newest.c - agents send their whole history each time. What of it is new is found from its end: messages are known
 * again by what they say, however they are dressed, and only the new ones are read. */
#include "dialect/responses/responses.h"
#include "base/buf.h"
#include "base/limits.h"
#include <xxhash.h>

/* Members that change from turn to turn and are none of what is said: marks for caches, what says only that a text is
 * a text, thinking that clients may leave out later. */
static bool is_dress(daruma_str key)
{
    static const char *const dress[] = {"cache_control",     "type",      "status",           "thinking",
                                        "signature",         "summary",   "thoughtSignature", "thought",
                                        "reasoning_content", "reasoning", "encrypted_content"};
    for (size_t i = 0; i < COUNT(dress); i++)
        if (key_is(key, str_of(dress[i])))
            return true;
    return false;
}

static bool is_id(daruma_str key)
{
    return key_is(key, S("id")) || key_is(key, S("tool_call_id")) || key_is(key, S("tool_use_id")) ||
           key_is(key, S("call_id"));
}

/* What a tool was given and what it gave: an "id" in there is no id of a call. */
static bool is_payload(daruma_str key)
{
    return key_is(key, S("input")) || key_is(key, S("args")) || key_is(key, S("response")) || key_is(key, S("output"));
}

/* Ids that are counted ("call_0", "functions.read:3") come again in other conversations, and in some programs in every
 * turn. Only one that ends in something long enough to be made by chance says whose it is. */
static bool is_unique(daruma_str id)
{
    size_t n = 0;
    bool letters = false;
    id = value_raw(id);
    for (; n < id.n && (ch_alpha(id.p[id.n - 1 - n]) || ch_digit(id.p[id.n - 1 - n])); n++)
        letters |= !ch_digit(id.p[id.n - 1 - n]);
    return n >= (letters ? 4 : 6);
}

/* What a message is hashed with. */
typedef struct hashing {
    uint64_t h, id;
    size_t left; /* values that are told apart; what stands behind the last of them is hashed as it is written */
} hashing;

/* `ids`: an id in there may be that of a call. */
static void hash_value(hashing *s, daruma_str v, int depth, bool ids)
{
    daruma_str key, inner;
    bool object = json_is_object(v);
    if (json_is_null(v))
        return;
    if (!object && !json_is_array(v)) {
        s->h = hash_text(s->h, v);
        return;
    }
    json_iter it = json_open(v);
    it.quick = true;
    while (depth > 0 && s->left && json_next(&it, &key, &inner)) {
        s->left--;
        if (object && is_dress(key))
            continue;
        if (object && ids && is_id(key) && is_unique(inner))
            s->id = XXH3_64bits(inner.p, inner.n) | 1;
        hash_value(s, inner, depth - 1, ids && !(object && is_payload(key)));
    }
    if (depth == 0 || !s->left)
        s->h = XXH3_64bits_withSeed(it.p, (size_t)(it.end - it.p), s->h);
}

uint64_t dialect_message_hash(daruma_str message, uint64_t *id)
{
    hashing s = {.h = 1, .left = MESSAGE_HASH_VALUES};
    hash_value(&s, message, MESSAGE_HASH_DEPTH, id != NULL);
    if (id)
        *id = s.id;
    return s.h ? s.h : 1;
}

/* Anthropic's blocks and Gemini's parts. Results stand in front of what is said beside them. */
static bool any_result(daruma_str list)
{
    daruma_str block, key, v;
    json_iter it = json_open(list);
    it.quick = true;
    for (size_t left = MESSAGE_HASH_VALUES; left && json_next(&it, NULL, &block); left--) {
        json_iter members = json_open(block);
        members.quick = true;
        while (json_is_object(block) && json_next(&members, &key, &v))
            if (key_is(key, S("functionResponse")) || key_is(key, S("function_response")) ||
                (key_is(key, S("type")) && str_eq(v, S("\"tool_result\""))))
                return true;
    }
    return false;
}

/* How each dialect says that a message brings what a tool gave. Asked of every request without tools: the text of one
 * who has said a role is not read. */
bool dialect_message_results(daruma_str message)
{
    daruma_str key, v;
    bool somebody = false; /* who is no tool */
    json_iter it = json_open(message);
    it.quick = true;
    while (json_is_object(message) && json_step(&it, &key)) {
        if (somebody && *it.p == '"' && key_is(key, S("content")))
            return false;
        if (!json_pass(&it, &v))
            return false;
        if (key_is(key, S("role"))) {
            if (str_eq(v, S("\"tool\"")) || str_eq(v, S("\"function\"")))
                return true;
            somebody = true;
        }
        if (key_is(key, S("type")) && str_ends(v, S("_call_output\"")))
            return true;
        if (json_is_array(v) && any_result(v))
            return true;
    }
    return false;
}

daruma_str dialect_message(const request_scan *s, const uint32_t *newest, size_t i)
{
    if (i >= s->nmessages || s->nmessages - i > SCAN_NEWEST)
        return (daruma_str){0};
    size_t from = newest[i % SCAN_NEWEST];
    size_t to = i + 1 < s->nmessages ? newest[(i + 1) % SCAN_NEWEST] : s->messages.n;
    daruma_str m = str_trim(str_sub(s->messages, from, to - from));
    m.n -= m.n > 0; /* the comma, or the bracket behind the last */
    return str_trim(m);
}

daruma_status dialect_read_newest(const dialect *d, const request_scan *s, const uint32_t *newest, size_t i,
                                  daruma_str before, daruma_arena *a, convo *ret)
{
    daruma_buf b = buf_in(a);
    bool alone = json_is_string(s->messages); /* Responses: the words of the user, and nothing else */
    if (!alone && (i >= s->nmessages || s->nmessages - i > SCAN_NEWEST))
        return DARUMA_EINPUT;
    daruma_str news = alone ? s->messages : str_from(s->messages, newest[i % SCAN_NEWEST]);
    buf_room(&b, news.n + before.n + 64); /* of a large one there is room once */
    BUF_SAY(&b, "{\"", d->messages, "\":[", before);
    if (before.n)
        buf_putc(&b, ',');
    if (alone)
        BUF_LIT(&b, "{\"role\":\"user\",\"content\":");
    BUF_SAY(&b, news, alone ? "}]}" : "}");
    if (b.full)
        return DARUMA_EFULL;
    daruma_status did = d->read(buf_str(&b), a, ret);
    if (did == DARUMA_OK && d == &dialect_openai_responses)
        responses_read_shells(ret);
    return did;
}
