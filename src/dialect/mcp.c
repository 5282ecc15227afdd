/* mcp.c - what MCP servers say, in our words: messages, tools as rows, content as text. */
#include "dialect/mcp.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/utf8.h"
#include <xxhash.h>

/* ---- messages ---- */

int64_t rpc_own_id(daruma_str raw)
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
    m.result = json_get(object, S("result"));
    if (json_is_string(m.method)) {
        m.kind = m.raw_id.n && !json_is_null(m.raw_id) ? RPC_REQUEST : RPC_NOTICE;
        return m;
    }
    m.id = rpc_own_id(m.raw_id);
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

void rpc_read(daruma_str line, rpc_hear hear, void *user)
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

bool rpc_is(const rpc_message *m, daruma_str method)
{
    return json_raw_eq(str_sub(m->method, 1, m->method.n - 2), method);
}

/* ---- tools ---- */

static bool fits_name(char c)
{
    return ch_alpha(c) || ch_digit(c) || c == '_' || c == '-' || c == '.';
}

/* SERVER.TOOL, as every provider takes it: other letters become '_', what is too long ends in a hash. */
static daruma_str tool_name(daruma_str server, daruma_str own, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_SAY(&b, server, ".", own);
    bool odd = false;
    for (size_t i = server.n; i < b.n && !b.full; i++)
        if (!fits_name(b.p[i])) {
            b.p[i] = '_';
            odd = true;
        }
    if (odd || b.n > TOOL_NAME_BYTES_MAX) {
        b.n = b.n < TOOL_NAME_BYTES_MAX - 9 ? b.n : TOOL_NAME_BYTES_MAX - 9;
        buf_printf(&b, "_%08x", (unsigned)XXH3_64bits(own.p, own.n));
    }
    return b.full ? (daruma_str){0} : buf_str(&b);
}

/* A hint says nothing unless it is there. */
static bool hints(daruma_str tool, const char *name)
{
    return json_is_true(json_get(json_get(tool, S("annotations")), str_of(name)));
}

bool mcp_read_tool(daruma_str server, daruma_str json, daruma_arena *a, daruma_tool *ret, daruma_str *ret_own_name)
{
    daruma_str name = json_text(json_get(json, S("name")), a), schema = json_get(json, S("inputSchema"));
    daruma_str says = json_text(json_get(json, S("description")), a);
    if (!says.n)
        says = json_text(json_get(json, S("title")), a);
    if (!name.n || a->full)
        return false;
    bool reads = hints(json, "readOnlyHint") && !hints(json, "destructiveHint"); /* both: it contradicts itself */
    bool again = hints(json, "idempotentHint");
    *ret = (daruma_tool){.name = tool_name(server, name, a),
                         .description = arena_copy(a, str_sub(says, 0, utf8_floor(says, MCP_TOOL_SAYS_BYTES))),
                         .schema = json_is_object(schema) ? arena_copy(a, schema) : S("{\"type\":\"object\"}"),
                         .traits = DARUMA_TOOL_KNOWN | (reads   ? DARUMA_TOOL_READS
                                                        : again ? DARUMA_TOOL_WRITES
                                                                : DARUMA_TOOL_ACTS)};
    *ret_own_name = arena_copy(a, name);
    return !a->full && ret->name.n;
}

/* ---- content ---- */

/* A text of that name. */
static daruma_str text_of(daruma_str part, daruma_str name, daruma_arena *a)
{
    return json_text(json_get(part, name), a);
}

/* "[image, image/png, 17 bytes, not shown]" */
static void put_bytes(daruma_str what, daruma_str part, daruma_str base64, daruma_arena *a, daruma_buf *out)
{
    BUF_SAY(out, "[", what, ", ", text_of(part, S("mimeType"), a), ", ", base64.n > 2 ? (base64.n - 2) / 4 * 3 : 0,
            " bytes, not shown]");
}

static void put_resource(daruma_str r, daruma_arena *a, daruma_buf *out)
{
    daruma_str text = json_get(r, S("text"));
    daruma_buf what = buf_in(a);
    BUF_SAY(&what, "resource ", text_of(r, S("uri"), a));
    if (json_is_string(text))
        BUF_SAY(out, "[", buf_str(&what), "]\n", json_text(text, a));
    else
        put_bytes(buf_str(&what), r, json_get(r, S("blob")), a, out);
}

static void put_part(daruma_str part, daruma_arena *a, daruma_buf *out)
{
    daruma_str type = text_of(part, S("type"), a), says = text_of(part, S("description"), a);
    if (str_eq(type, S("text")))
        buf_put(out, text_of(part, S("text"), a));
    else if (str_eq(type, S("image")) || str_eq(type, S("audio")))
        put_bytes(type, part, json_get(part, S("data")), a, out);
    else if (str_eq(type, S("resource")))
        put_resource(json_get(part, S("resource")), a, out);
    else if (str_eq(type, S("resource_link")))
        BUF_SAY(out, "[link to ", text_of(part, S("uri"), a), ": ", text_of(part, S("name"), a), says.n ? ", " : "",
                says, "]");
    else
        buf_put(out, part); /* a kind of content that is newer than we: as it is */
}

bool mcp_write_result(daruma_str result, daruma_arena *a, daruma_buf *out)
{
    daruma_str content = json_get(result, S("content")), structured = json_get(result, S("structuredContent")), part;
    json_iter it = json_open(content);
    size_t from = out->n;
    for (bool first = true; json_is_array(content) && json_next(&it, NULL, &part); first = false) {
        if (!first)
            buf_putc(out, '\n');
        put_part(part, a, out);
    }
    if (out->n == from && structured.n)
        buf_put(out, structured);
    if (out->n == from)
        BUF_LIT(out, "(the tool gave nothing back)");
    return !json_is_true(json_get(result, S("isError")));
}

void mcp_write_error(const rpc_message *r, daruma_buf *out)
{
    daruma_str says = json_is_string(r->message) ? r->message : S("\"the server says nothing about it\"");
    BUF_LIT(out, "{\"error\":");
    BUF_OBJECT(out, "code", r->code, "message", buf_raw(says), "data", buf_raw(r->data));
    BUF_LIT(out, "}");
}

/* ---- messages of ours ---- */

void mcp_write_request(int64_t id, const char *method, daruma_str params, daruma_buf *out)
{
    BUF_OBJECT(out, "jsonrpc", "2.0", "id", BUF_IF(id, id), "method", method, "params", buf_raw(params));
    BUF_LIT(out, "\n");
}

void mcp_write_answer(const rpc_message *asked, daruma_buf *out)
{
    bool ping = rpc_is(asked, S("ping"));
    BUF_OBJECT(out, "jsonrpc", "2.0", "id", buf_raw(asked->raw_id), ping ? "result" : "error",
               buf_raw(ping ? S("{}") : S("{\"code\":-32601,\"message\":\"this client does not offer that\"}")));
    BUF_LIT(out, "\n");
}
