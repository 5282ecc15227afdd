/* What an MCP server prints: however the bytes are split, the messages are the same; tools and results in them are read
 * without harm, and what is written of them is text and names that providers take. */
#include "tools/rpc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "exact.h"
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char memory[4 << 20];

/* What was heard, as one number. */
typedef struct heard {
    uint64_t hash;
    size_t n;
    bool read; /* tools and results are read, too */
} heard;

static void add(heard *h, daruma_str s)
{
    h->hash = XXH3_64bits_withSeed(s.n ? s.p : "", s.n, h->hash + s.n);
}

static void read_tools(daruma_str result)
{
    daruma_str list = json_get(result, S("tools")), one, own;
    json_iter it = json_open(list);
    daruma_tool t;
    while (json_is_array(list) && json_next(&it, NULL, &one)) {
        daruma_arena a = arena_over(memory, sizeof memory);
        if (!mcp_read_tool(S("server"), one, &a, &t, &own))
            continue;
        check(t.name.n && t.name.n <= TOOL_NAME_BYTES_MAX && own.n);
        for (size_t i = 0; i < t.name.n; i++)
            check(ch_word(t.name.p[i]) || strchr(".-", t.name.p[i]));
        check(json_is_object(t.schema));
    }
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_buf out = buf_in(&a);
    mcp_write_result(result, &a, &out);
    check(out.n || a.full);
}

static void hear(const rpc_message *m, void *user)
{
    heard *h = user;
    h->n++;
    add(h, (daruma_str){(const char *)&m->kind, sizeof m->kind});
    add(h, (daruma_str){(const char *)&m->id, sizeof m->id});
    const daruma_str parts[] = {m->raw_id, m->method, m->result, m->message, m->data, m->line};
    for (size_t i = 0; i < COUNT(parts); i++)
        add(h, parts[i]);
    check(m->kind != RPC_REQUEST || (json_is_string(m->method) && m->raw_id.n));
    check(m->kind != RPC_RESULT || m->result.n);
    if (h->read && m->kind == RPC_RESULT)
        read_tools(m->result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    daruma_str bytes = {(const char *)data + 1, size - 1};
    heard whole = {.read = true}, apart = {0};
    rpc_lines a = {0}, b = {0};
    size_t step = 1 + data[0] % 32;
    rpc_feed(&a, bytes, hear, &whole);
    for (size_t i = 0; i < bytes.n; i += step) {
        exact_pieces pieces = {0};
        rpc_feed(&b, exact(&pieces, str_sub(bytes, i, step)), hear, &apart);
        exact_end(&pieces);
    }
    check(whole.n == apart.n && whole.hash == apart.hash);
    rpc_done(&a);
    rpc_done(&b);
    return 0;
}
