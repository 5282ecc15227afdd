/* names.c - what calls and tools are called in another dialect: itself where that takes it, else something made
 * of it, the same each time. */
#include "dialect/convert/convert.h"
#include <xxhash.h>

bool convert_id_fits(const dialect *to, daruma_str id)
{
    if (to == &dialect_gemini)
        return id.n > 0;
    if (!id.n || id.n > (to == &dialect_openai ? CHAT_CALL_ID_BYTES_MAX : CALL_ID_BYTES_MAX))
        return false;
    for (size_t i = 0; to == &dialect_anthropic && i < id.n; i++)
        if (!ch_alpha(id.p[i]) && !ch_digit(id.p[i]) && id.p[i] != '_' && id.p[i] != '-')
            return false;
    return true;
}

/* Bytes that a tool's name may have, and which. OpenAI and Anthropic: ^[a-zA-Z0-9_-]+$; Gemini has dots and colons as
 * well, and begins with a letter or underscore. */
static size_t name_bytes_max(const dialect *to)
{
    return to == &dialect_anthropic ? ANTHROPIC_TOOL_NAME_BYTES_MAX : TOOL_NAME_BYTES_MAX;
}

static bool name_takes(const dialect *to, char c, bool first)
{
    if (to == &dialect_gemini && first)
        return ch_alpha(c) || c == '_';
    return ch_alpha(c) || ch_digit(c) || c == '_' || c == '-' || (to == &dialect_gemini && (c == '.' || c == ':'));
}

static bool name_fits(const dialect *to, daruma_str name)
{
    bool fits = name.n <= name_bytes_max(to);
    for (size_t i = 0; i < name.n && fits; i++)
        fits = name_takes(to, name.p[i], i == 0);
    return fits;
}

/* At most `room` bytes of it, with '_' for each that the target does not take. */
static void put_plain(daruma_buf *b, const dialect *to, daruma_str name, size_t room)
{
    if (!name_takes(to, name.p[0], true))
        buf_putc(b, '_');
    for (size_t i = 0; i < name.n && i < room; i++)
        buf_putc(b, name_takes(to, name.p[i], false) ? name.p[i] : '_');
}

/* What it would be called when no other tool is called so; empty: it is too long for that. */
static daruma_str plain_name(const dialect *to, daruma_str name, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (name.n >= name_bytes_max(to))
        return (daruma_str){0};
    put_plain(&b, to, name, name.n);
    return b.full ? (daruma_str){0} : buf_done(&b);
}

static void count_name(convert_names *n, str_map *seen, daruma_str name, daruma_arena *a)
{
    if (!name.n || !map_add(seen, a, name))
        return;
    daruma_str is = name_fits(n->to, name) ? name : plain_name(n->to, name, a);
    uint64_t *times = is.n ? map_put(&n->plain, a, is) : NULL;
    if (times)
        ++*times;
}

static bool all_fit(const convo *from, const dialect *to)
{
    for (size_t i = 0; i < from->ntools; i++)
        if (!name_fits(to, from->tools[i].name))
            return false;
    for (size_t i = 0; i < from->nmessages; i++)
        for (size_t k = 0; k < from->messages[i].nparts; k++)
            if (from->messages[i].parts[k].kind == PART_CALL && !name_fits(to, from->messages[i].parts[k].name))
                return false;
    return true;
}

convert_names convert_names_of(const convo *from, const dialect *to, daruma_arena *a)
{
    convert_names n = {.to = to};
    str_map seen = {0};
    if (all_fit(from, to))
        return n;
    for (size_t i = 0; i < from->ntools; i++)
        count_name(&n, &seen, from->tools[i].name, a);
    for (size_t i = 0; i < from->nmessages; i++)
        for (size_t k = 0; k < from->messages[i].nparts; k++)
            if (from->messages[i].parts[k].kind == PART_CALL)
                count_name(&n, &seen, from->messages[i].parts[k].name, a);
    return n;
}

daruma_str convert_name(const convert_names *names, daruma_str name, daruma_arena *a)
{
    const dialect *to = names->to;
    if (name_fits(to, name))
        return name;
    daruma_str plain = plain_name(to, name, a);
    const uint64_t *times = plain.n ? map_get(&names->plain, plain) : NULL;
    if (times && *times == 1)
        return plain;
    daruma_buf b = buf_in(a);
    put_plain(&b, to, name, name_bytes_max(to) - sizeof "__0123456789abcdef" + 1);
    buf_putc(&b, '_');
    buf_hex64(&b, convert_hash(name, 0));
    return b.full ? (daruma_str){0} : buf_done(&b);
}

daruma_str dialect_call_id(const dialect *to, daruma_str id, daruma_arena *a)
{
    if (!id.n || convert_id_fits(to, id))
        return id;
    daruma_buf b = buf_in(a);
    convert_put_id(&b, convert_hash(id, 0));
    return b.full ? (daruma_str){0} : buf_done(&b);
}

void convert_put_id(daruma_buf *out, uint64_t hash)
{
    BUF_LIT(out, "call_");
    buf_hex64(out, hash);
}

uint64_t convert_hash(daruma_str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.n ? s.p : "", s.n, seed);
}
