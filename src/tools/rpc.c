#include "tools/rpc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/arena.h"

static bool keep(rpc_lines *l, daruma_str bytes)
{
    if (!l->line.arena && sys_arena_init(&l->room, 4096, 4 * (size_t)MCP_LINE_BYTES_MAX)) /* as it grows it moves */
        l->line = buf_in(&l->room);
    buf_put(&l->line, bytes);
    return !l->line.full;
}

/* What a line too long for us answers can still be told when its id comes before its result, as it mostly does. */
static void tell_long(rpc_lines *l, rpc_hear hear, void *user)
{
    rpc_message m = {.kind = RPC_LONG, .id = -1, .line = str_sub(buf_str(&l->line), 0, MCP_HEAD_BYTES)};
    json_iter it = json_open(m.line);
    daruma_str key, value;
    while (json_is_object(m.line) && json_next(&it, &key, &value))
        if (json_raw_eq(key, S("id")))
            m.id = rpc_own_id(value);
    hear(&m, user);
}

void rpc_feed(rpc_lines *l, daruma_str bytes, rpc_hear hear, void *user)
{
    while (bytes.n) {
        size_t end = str_findch(bytes, '\n');
        daruma_str piece = str_sub(bytes, 0, end);
        bytes = end == STR_NONE ? (daruma_str){0} : str_from(bytes, end + 1);
        bool whole = end != STR_NONE;
        if (whole && !l->line.n && !l->dropping && piece.n <= MCP_LINE_BYTES_MAX) {
            rpc_read(piece, hear, user); /* nothing is copied of what comes whole */
            continue;
        }
        if (!l->dropping && (piece.n > MCP_LINE_BYTES_MAX - l->line.n || !keep(l, piece))) {
            l->dropping = true;
            if (l->line.n < MCP_HEAD_BYTES)
                keep(l, str_sub(piece, 0, MCP_HEAD_BYTES - l->line.n));
        }
        if (!whole)
            continue;
        if (l->dropping)
            tell_long(l, hear, user);
        else
            rpc_read(buf_str(&l->line), hear, user);
        rpc_done(l);
    }
}

void rpc_done(rpc_lines *l)
{
    sys_arena_done(&l->room);
    *l = (rpc_lines){0};
}
