#include "tools/rpc.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdlib.h>

static bool keep(rpc_lines *l, daruma_str bytes)
{
    if (bytes.n > l->cap - l->n) {
        size_t cap = l->cap ? l->cap : 4096;
        while (cap < l->n + bytes.n)
            cap *= 2;
        char *p = realloc(l->p, cap);
        if (!p)
            return false;
        l->p = p;
        l->cap = cap;
    }
    if (bytes.n)
        memcpy(l->p + l->n, bytes.p, bytes.n);
    l->n += bytes.n;
    return true;
}

/* What a line too long for us answers can still be told when its id comes before its result, as it mostly does. */
static void tell_long(rpc_lines *l, rpc_hear hear, void *user)
{
    rpc_message m = {.kind = RPC_LONG, .id = -1, .line = {l->p, l->n < MCP_HEAD_BYTES ? l->n : MCP_HEAD_BYTES}};
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
        if (whole && !l->n && !l->dropping && piece.n <= MCP_LINE_BYTES_MAX) {
            rpc_read(piece, hear, user); /* nothing is copied of what comes whole */
            continue;
        }
        if (!l->dropping && (piece.n > MCP_LINE_BYTES_MAX - l->n || !keep(l, piece))) {
            l->dropping = true;
            if (l->n < MCP_HEAD_BYTES)
                keep(l, str_sub(piece, 0, MCP_HEAD_BYTES - l->n));
        }
        if (!whole)
            continue;
        if (l->dropping)
            tell_long(l, hear, user);
        else
            rpc_read((daruma_str){l->p, l->n}, hear, user);
        rpc_done(l);
    }
}

void rpc_done(rpc_lines *l)
{
    free(l->p);
    *l = (rpc_lines){0};
}
