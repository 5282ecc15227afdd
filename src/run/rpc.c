#include "run/rpc.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdlib.h>

/* ---- one message ---- */

/* The id of a request of ours, which is a number; servers that write it as a string are understood. */
static int64_t own_id(daruma_str raw)
{
    int64_t id;
    if (json_is_string(raw) && raw.n >= 2)
        raw = str_sub(raw, 1, raw.n - 2);
    return str_int(raw, &id) ? id : -1;
}

static rpc_message read_object(daruma_str object, daruma_str line)
{
    rpc_message m = {.line = line, .id = -1};
    daruma_str error = json_get(object, S("error"));
    m.raw_id = json_get(object, S("id"));
    m.method = json_get(object, S("method"));
    m.params = json_get(object, S("params"));
    m.result = json_get(object, S("result"));
    if (json_is_string(m.method)) {
        m.kind = m.raw_id.n && !json_is_null(m.raw_id) ? RPC_REQUEST : RPC_NOTICE;
        return m;
    }
    m.id = own_id(m.raw_id);
    if (json_is_object(error)) {
        m.kind = RPC_ERROR;
        m.code = json_int(json_get(error, S("code")), 0);
        m.message = json_get(error, S("message"));
        m.data = json_get(error, S("data"));
    } else if (m.result.n) {
        m.kind = RPC_RESULT;
    }
    return m;
}

/* Reads a line, and tells what it is; a batch tells each of its messages. */
static void rpc_read(daruma_str line, rpc_hear hear, void *user)
{
    daruma_str value, one;
    rpc_message m = {.line = line, .id = -1};
    line = str_trim(line);
    if (!line.n)
        return;
    if (json_whole(line, &value) && json_is_array(value)) {
        json_iter it = json_open(value);
        for (int i = 0; i < MCP_BATCH_MAX && json_next(&it, NULL, &one); i++) {
            m = read_object(one, one);
            hear(&m, user);
        }
        return;
    }
    if (json_is_object(line) && json_valid(line))
        m = read_object(line, line);
    hear(&m, user);
}

/* ---- lines ---- */

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
            m.id = own_id(value);
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
