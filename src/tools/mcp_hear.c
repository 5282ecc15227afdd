/* mcp_hear.c - what an MCP server says: which tools it has, answers to calls, requests of its own, and noise. */
#include "tools/mcp_inside.h"
#include <xxhash.h>

/* ---- its tools ---- */

void mcp_list_tools(mcp *m, daruma_str cursor)
{
    char room[2048];
    daruma_buf b = buf_over(room, sizeof room);
    if (cursor.n)
        BUF_OBJECT(&b, "cursor", buf_raw(cursor));
    if (!cursor.n) {
        m->pages = 0;
        m->again = false;
        for (size_t i = 0; i < m->n; i++)
            m->list[i].seen = false;
    }
    m->state = MCP_LISTING;
    m->asked = ++m->ids;
    m->due = m->fresh ? mcp_now(m) + MCP_START_MS : INT64_MAX; /* else it may be at work, and answers behind that */
    mcp_send(m, m->asked, "tools/list", b.full ? (daruma_str){0} : buf_str(&b));
}

static void take_tool(mcp *m, daruma_str json)
{
    agent_tool row = {0};
    daruma_str own;
    uint64_t print = XXH3_64bits(json.p, json.n);
    size_t i = 0;
    for (; i < m->n; i++)
        if (m->list[i].print == print) { /* as it was: nothing of it is kept again */
            m->list[i].seen = true;
            return;
        }
    i = 0;
    if (!mcp_read_tool(m->s->name, json, &m->keep, &row.about, &own))
        return;
    row.ask = !(row.about.traits & DARUMA_TOOL_READS);
    while (i < m->n && !str_eq(m->list[i].own_name, own))
        i++;
    daruma_str output = json_get(json, S("outputSchema"));
    output = json_is_object(output) ? arena_copy(&m->keep, output) : (daruma_str){0};
    if (i < m->n) {
        m->list[i].seen = true;
        m->list[i].output = output;
        m->list[i].print = print;
        m->altered |= toolset_change(m->tools, &row);
        return;
    }
    if (m->n == MCP_TOOLS_MAX || !toolset_add(m->tools, &row, &mcp_source, &m->list[m->n])) {
        mcp_tell(m, "mcp_noise", "message", S("a tool of that name is there already, or there are too many"), -1);
        return;
    }
    m->list[m->n++] = (mcp_tool){
        .m = m, .name = row.about.name, .own_name = own, .output = output, .print = print, .there = true, .seen = true};
}

/* Its list is another now, it says, or may be: it is read, unless that was done so often that it has to rest. */
static void changed(mcp *m)
{
    if (!m->again || m->state != MCP_UP || m->due != INT64_MAX)
        return;
    if (++m->lists < MCP_LISTS_MAX) {
        mcp_list_tools(m, (daruma_str){0});
    } else {
        m->lists = 0;
        m->due = mcp_now(m) + MCP_LISTS_REST_MS;
    }
}

static void up(mcp *m)
{
    size_t n = 0;
    bool other = m->altered;
    for (size_t i = 0; i < m->n; i++) {
        other |= m->list[i].there != m->list[i].seen;
        m->list[i].there = m->list[i].seen;
        n += m->list[i].there;
    }
    m->state = MCP_UP;
    m->due = INT64_MAX;
    if (other || m->fresh)
        mcp_tell(m, m->fresh ? "mcp_started" : "mcp_changed", "", (daruma_str){0}, (int64_t)n);
    m->fresh = m->altered = false;
    for (mcp_call *k = m->calls; k; k = k->next)
        if (!k->id)
            mcp_send_call(m, k);
    mcp_tell_ready(m, NULL);
}

static void take_list(mcp *m, daruma_str result)
{
    daruma_str list = json_get(result, S("tools")), cursor = json_get(result, S("nextCursor")), one;
    json_iter it = json_open(list);
    while (json_is_array(list) && json_next(&it, NULL, &one))
        take_tool(m, one);
    for (size_t i = 0; i < m->n && (m->keep.full || !json_is_array(list)); i++)
        m->list[i].seen |= m->list[i].there; /* it cannot say what there is, or there is no memory: the old stays */
    if (json_is_string(cursor) && cursor.n > 2 && ++m->pages < MCP_PAGES_MAX) {
        mcp_list_tools(m, cursor);
    } else if (m->again && ++m->lists < MCP_LISTS_MAX) { /* one that changes with each reading is up, too */
        mcp_list_tools(m, (daruma_str){0});
    } else {
        up(m);
        changed(m);
    }
}

/* ---- messages ---- */

static void answer(mcp *m, const rpc_message *r)
{
    char room[1024];
    daruma_buf b = buf_over(room, sizeof room);
    mcp_write_answer(r, &b);
    if (!b.full && m->program)
        child_write(m->program, buf_str(&b));
}

static void greeted(mcp *m, daruma_str result)
{
    daruma_str says = json_text(json_get(result, S("instructions")), &m->keep);
    if (!m->instructions.n)
        m->instructions = arena_copy(&m->keep, str_sub(says, 0, MCP_TOOL_SAYS_BYTES));
    mcp_send(m, 0, "notifications/initialized", (daruma_str){0});
    mcp_list_tools(m, (daruma_str){0});
}

/* Writes a result, behind what is wrong with its structured content where that does not fit `schema`; empty: there is
 * none. Returns false when the tool says it failed. */
static bool write_checked(daruma_str result, daruma_str schema, daruma_arena *a, daruma_buf *out, bool *ret_fits)
{
    daruma_str structured = json_get(result, S("structuredContent"));
    daruma_buf why = buf_in(a), said = buf_in(a);
    bool well = mcp_write_result(result, a, &said);
    *ret_fits = !schema.n || !structured.n || daruma_schema_fits(schema, structured, &why);
    if (well && !*ret_fits)
        BUF_SAY(out,
                "the tool returned data that did not validate: ", str_sub(buf_str(&why), 0, FAILURE_TEXT_BYTES_MAX),
                "\nWhat it returned:\n");
    buf_put(out, buf_str(&said));
    return well;
}

static void take_result(mcp *m, mcp_call *k, daruma_str result)
{
    const mcp_tool *t = k->c->own;
    bool fits, well = write_checked(result, t->output, &k->c->room, &k->c->out, &fits);
    bool acted = well && !fits && !(k->c->about->about.traits & DARUMA_TOOL_READS);
    mcp_end_call(m, k, well && fits, acted);
}

static void on_answer(mcp *m, const rpc_message *r)
{
    mcp_call *k = r->id > 0 ? mcp_call_of(m, r->id) : NULL;
    bool well = r->kind == RPC_RESULT;
    if (k && well) {
        take_result(m, k, r->result);
    } else if (k) {
        mcp_write_error(r, &k->c->out);
        mcp_end_call(m, k, false, false);
    } else if (r->id == m->ping && m->ping) {
        m->ping = 0;
        m->ping_due = INT64_MAX;
    } else if (r->id == m->asked && m->asked) {
        m->asked = 0;
        if (!well && m->state == MCP_GREETING)
            mcp_stop(m, "it refused to be initialized");
        else if (m->state == MCP_GREETING)
            greeted(m, r->result);
        else if (m->state == MCP_LISTING)
            take_list(m, well ? r->result : (daruma_str){0});
    }
}

void mcp_hear(const rpc_message *r, void *user)
{
    mcp *m = user;
    mcp_call *k;
    switch (r->kind) {
    case RPC_REQUEST:
        answer(m, r);
        break;
    case RPC_NOTICE:
        if (rpc_is(r, S("notifications/tools/list_changed"))) {
            m->again = true;
            changed(m);
        }
        break;
    case RPC_RESULT:
    case RPC_ERROR:
        on_answer(m, r);
        break;
    case RPC_LONG:
        k = r->id > 0 ? mcp_call_of(m, r->id) : NULL;
        if (k)
            mcp_fail_call(m, k, "RESULT_TOO_LARGE", "was carried out, but its result is too large to be read",
                          "ask for less at a time; look first what the call did", true);
        else if (m->asked)
            mcp_stop(m, "it sent a message that is too large");
        break;
    case RPC_NOISE:
        if (!m->noisy)
            mcp_tell(m, "mcp_noise", "message", r->line, -1);
        m->noisy = true;
        break;
    }
    mcp_rearm(m);
}
