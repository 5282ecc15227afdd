/* write.c - a conversation as a request of Anthropic Messages; what was read and not edited goes out as
 * it came. The reader is read.c. */
#include "dialect/kit/convo_kit.h"
#include "dialect/kit/shapes.h"
#include "base/arena.h"
#include "base/limits.h"

/* ---- blocks ---- */

/* Ids have letters, digits, '_' and '-' only (400 "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"). Those
 * that came in this dialect stay what they are: their other half may go out as it came. */
static void put_id(const convo *c, daruma_buf *out, const char *key, daruma_str id)
{
    if (c->body.n) {
        put_text(out, key, id);
        return;
    }
    put_key(out, key);
    buf_putc(out, '"');
    for (size_t i = 0; i < id.n; i++) {
        char b = id.p[i];
        buf_putc(out, ch_alpha(b) || ch_digit(b) || b == '-' ? b : '_');
    }
    buf_putc(out, '"');
}

static bool is_image(const convo_part *p)
{
    return !p->media_type.n || str_istarts(p->media_type, S("image/"));
}

static bool is_pdf(const convo_part *p)
{
    return str_ieq(p->media_type, S("application/pdf"));
}

/* Is there anything to write of a part? Empty text, unsigned thinking and other media are refused by the provider. */
static bool has_block(const convo *c, const convo_part *p)
{
    if (p->dropped)
        return false;
    if (part_as_read(p))
        return true;
    switch (p->kind) {
    case PART_TEXT:
        return part_says(c, p);
    case PART_THINKING:
        return p->signature.n > 0;
    case PART_MEDIA:
        return p->media.n && (is_image(p) || is_pdf(p));
    case PART_OTHER:
        return p->raw.n > 0;
    case PART_CALL:
    case PART_RESULT:
        break;
    }
    return true;
}

static void compose_media(const convo_part *p, daruma_buf *out)
{
    buf_putc(out, '{');
    put_text(out, "type", is_image(p) ? S("image") : S("document"));
    put_key(out, "source");
    put_open(out, '{');
    put_text(out, "type", p->media_url ? S("url") : S("base64"));
    if (!p->media_url)
        put_text(out, "media_type", p->media_type.n ? p->media_type : S("image/png"));
    put_text(out, p->media_url ? "url" : "data", p->media);
    buf_putc(out, '}');
    if (p->about.n && !is_image(p))
        put_text(out, "title", p->about);
    buf_putc(out, '}');
}

static void compose_thinking(const convo *c, const convo_part *p, daruma_buf *out)
{
    daruma_str text = convo_part_text(c, p);
    buf_putc(out, '{');
    put_text(out, "type", text.n ? S("thinking") : S("redacted_thinking"));
    if (text.n)
        put_text(out, "thinking", text);
    put_text(out, text.n ? "signature" : "data", p->signature);
    buf_putc(out, '}');
}

static void compose_call(const convo *c, const convo_part *p, daruma_buf *out)
{
    buf_putc(out, '{');
    put_text(out, "type", S("tool_use"));
    put_id(c, out, "id", p->id);
    put_text(out, "name", p->name);
    put_key(out, "input");
    put_arguments(c, p, (daruma_str){0}, out);
    buf_putc(out, '}');
}

static void put_edited(const convo *c, const convo_part *p, daruma_buf *out);
static const content_wire anthropic_content = {has_block, put_edited};

static bool put_block_content(const convo *c, const void *result, daruma_str old, daruma_buf *out)
{
    (void)old;
    content_put_result(c, &anthropic_content, result, out);
    return true;
}

static void compose_result(const convo *c, const convo_part *p, daruma_buf *out)
{
    buf_putc(out, '{');
    put_text(out, "type", S("tool_result"));
    put_id(c, out, "tool_use_id", p->id);
    put_key(out, "content");
    put_block_content(c, p, (daruma_str){0}, out);
    if (p->failed)
        put_bool(out, "is_error", true);
    buf_putc(out, '}');
}

static void edit_text(const convo *c, const convo_part *p, daruma_buf *out)
{
    if (json_get(p->raw, S("text")).p != p->value.p || !p->value.n) /* a document of plain text becomes text */
        put_text_block(c, p, out);
    else
        put_changed(out, p->raw, &(change){.at = p->value.p, .text = convo_part_text(c, p)}, 1, c, p);
}

static void edit_call(const convo *c, const convo_part *p, daruma_buf *out)
{
    const change rows[] = {{.key = S("id"), .text = p->id},
                           {.key = S("name"), .text = p->name},
                           {.key = S("input"), .put = put_arguments, .add = true}};
    put_changed(out, p->raw, rows, p->ready ? 3 : 2, c, p);
}

static bool put_failed(const convo *c, const void *result, daruma_str old, daruma_buf *out)
{
    const convo_part *p = result;
    (void)c;
    buf_put(out, old.n && json_is_true(old) == p->failed ? old : p->failed ? S("true") : S("false"));
    return true;
}

static void edit_result(const convo *c, const convo_part *p, daruma_buf *out)
{
    const change rows[] = {{.key = S("tool_use_id"), .text = p->id},
                           {.key = S("content"), .put = put_block_content, .add = p->nparts || p->text.n},
                           {.key = S("is_error"), .put = put_failed, .add = p->failed}};
    put_changed(out, p->raw, rows, COUNT(rows), c, p);
}

static void edit_thinking(const convo *c, const convo_part *p, daruma_buf *out)
{
    const change words = {.at = p->value.p, .text = convo_part_text(c, p)};
    put_changed(out, p->raw, &words, p->ready && p->value.n, c, p);
}

/* A part that is not as it was read. */
static void put_edited(const convo *c, const convo_part *p, daruma_buf *out)
{
    bool raw = json_is_object(p->raw);
    switch (p->kind) {
    case PART_TEXT:
        (raw ? edit_text : put_text_block)(c, p, out);
        return;
    case PART_THINKING:
        (raw ? edit_thinking : compose_thinking)(c, p, out);
        return;
    case PART_CALL:
        (raw ? edit_call : compose_call)(c, p, out);
        return;
    case PART_RESULT:
        (raw ? edit_result : compose_result)(c, p, out);
        return;
    case PART_MEDIA:
        compose_media(p, out);
        return;
    case PART_OTHER:
        buf_put(out, p->raw);
        return;
    }
}

/* ---- messages ---- */

/* What is written of some messages: results of ours before everything else. */
typedef struct chosen {
    const convo_part **p;
    size_t n;
} chosen;

static bool has_new_result(const convo_message *m)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (part_lives(&m->parts[i], PART_RESULT) && !m->parts[i].raw.n)
            return true;
    return false;
}

static void choose(const convo *c, const convo_message *m, chosen *ret, bool results, bool others)
{
    for (size_t i = 0; i < m->nparts; i++)
        if ((m->parts[i].kind == PART_RESULT ? results : others) && has_block(c, &m->parts[i]))
            ret->p[ret->n++] = &m->parts[i];
}

static chosen chosen_of(const convo *c, const convo_message *m, size_t n, daruma_buf *out)
{
    chosen ret = {0};
    size_t most = 0;
    bool results_first = n > 1;
    for (size_t i = 0; i < n; i++) {
        most += m[i].nparts;
        results_first |= has_new_result(&m[i]);
    }
    if (!(ret.p = ARENA_NEW(c->arena, const convo_part *, most + 1))) {
        out->full = true;
        return ret;
    }
    for (size_t i = 0; results_first && i < n; i++)
        if (!m[i].dropped)
            choose(c, &m[i], &ret, true, false);
    for (size_t i = 0; i < n; i++)
        if (!m[i].dropped)
            choose(c, &m[i], &ret, !results_first, true);
    return ret;
}

static daruma_str wire_role_of(const convo_message *m)
{
    if (m->wire_role && m->raw.n)
        return *m->wire_role;
    return m->role == CONVO_ASSISTANT ? S("assistant") : m->role == CONVO_SYSTEM ? S("system") : S("user");
}

static void edit_message(const convo *c, const convo_message *m, daruma_buf *out)
{
    daruma_str key, value;
    bool said = false;
    chosen parts = chosen_of(c, m, 1, out);
    field content[] = {FIELD("content")}; /* of several the last counts */
    fields_of(m->raw, FIELDS(content));
    splice s = splice_open(out, m->raw);
    while (splice_next(&s, &key, &value))
        if (value.p == content[0].value.p) {
            splice_key(&s);
            if (parts.n)
                content_put(c, &anthropic_content, parts.p, parts.n, value, out);
            else
                buf_put(out, m->nparts ? S("\"\"") : value); /* it had none */
            said = true;
        } else if (key_is(key, S("role"))) {
            splice_key(&s);
            put_role(out, value, m, wire_role_of(m));
        } else {
            splice_keep(&s);
        }
    if (!said && parts.n) {
        splice_add(&s, S("content"));
        content_put(c, &anthropic_content, parts.p, parts.n, (daruma_str){0}, out);
    }
    splice_close(&s);
}

static bool is_ours(const convo_message *m)
{
    return !m->raw.n && (m->role == CONVO_USER || m->role == CONVO_TOOL);
}

/* Is it written as the system prompt? A system message in the list stays there where a client put it. */
static bool is_prompt(const convo *c, const convo_message *m)
{
    return m->role == CONVO_SYSTEM && (m->apart || !m->raw.n || !c->body.n);
}

/* Messages of ours from `m` on that become one: results and what else the user says. */
static size_t group_of(const convo *c, const convo_message *m)
{
    const convo_message *end = c->messages + c->nmessages;
    size_t n = 1;
    if (is_ours(m))
        while (m + n < end && (m[n].dropped || is_ours(&m[n])))
            n++;
    return n;
}

static void compose_message(const convo *c, const convo_message *m, size_t n, weave *w, daruma_buf *out)
{
    chosen parts = chosen_of(c, m, n, out);
    if (!parts.n)
        return; /* an empty message is refused */
    weave_next(w, (daruma_str){0});
    buf_putc(out, '{');
    put_text(out, "role", wire_role_of(m));
    put_key(out, "content");
    content_put(c, &anthropic_content, parts.p, parts.n, (daruma_str){0}, out);
    buf_putc(out, '}');
}

static bool put_messages(const convo *c, daruma_str old, daruma_buf *out)
{
    weave w = weave_open(out, old);
    for (size_t i = 0, n; i < c->nmessages; i += n) {
        const convo_message *m = &c->messages[i];
        n = 1;
        if (m->dropped || is_prompt(c, m))
            continue;
        if (m->raw.n && (!m->edited || !json_is_object(m->raw))) {
            weave_raw(&w, m->raw);
        } else if (m->raw.n) {
            weave_next(&w, m->raw);
            edit_message(c, m, out);
        } else {
            n = group_of(c, m);
            compose_message(c, m, n, &w, out);
        }
    }
    weave_close(&w);
    return true;
}

static bool put_system(const convo *c, daruma_str old, daruma_buf *out)
{
    chosen all = {0};
    size_t most = 0;
    bool as_read = false;
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (!is_prompt(c, m) || m->dropped)
            continue;
        as_read = !most && m->raw.n && m->raw.p == old.p && !m->edited;
        most += m->nparts + 1;
    }
    if (as_read || (null_or_none(old) && !most)) {
        buf_put(out, old);
        return old.n > 0;
    }
    if (most && !(all.p = ARENA_NEW(c->arena, const convo_part *, most)))
        out->full = true;
    for (size_t i = 0; all.p && i < c->nmessages; i++)
        if (is_prompt(c, &c->messages[i]) && !c->messages[i].dropped)
            choose(c, &c->messages[i], &all, false, true);
    if (all.n)
        content_put(c, &anthropic_content, all.p, all.n, old, out);
    return all.n > 0;
}

/* ---- the rest of the body ---- */

static bool put_schema_format(const convo *c, const void *of, daruma_str old, daruma_buf *out)
{
    (void)of;
    (void)old;
    if (c->set.format != FORMAT_SCHEMA)
        return false;
    BUF_LIT(out, "{\"type\":\"json_schema\"");
    put_raw(out, "schema", c->set.format_schema);
    buf_putc(out, '}');
    return true;
}

static bool put_output_format(const convo *c, daruma_str old, daruma_buf *out)
{
    if (c->set.format_edited)
        return old.n && put_schema_format(c, NULL, old, out);
    buf_put(out, old);
    return old.n > 0;
}

static bool put_output_config(const convo *c, daruma_str old, daruma_buf *out)
{
    const change format = {.key = S("format"), .put = put_schema_format};
    if (c->set.format_edited && json_get(old, S("format")).n)
        return put_changed(out, old, &format, 1, c, NULL) > 0;
    buf_put(out, old);
    return old.n > 0;
}

static void put_tool(const convo_tool *t, daruma_buf *out)
{
    put_text(out, "name", t->name);
    if (t->description.n)
        put_text(out, "description", t->description);
    put_raw(out, "input_schema", t->schema.n ? t->schema : S("{\"type\":\"object\",\"properties\":{}}"));
}

static void put_tools_and_choice(const convo *c, daruma_buf *out)
{
    static const daruma_str words[] = {[CHOICE_UNSAID] = LIT("auto"),
                                       [CHOICE_AUTO] = LIT("auto"),
                                       [CHOICE_NONE] = LIT("none"),
                                       [CHOICE_ANY] = LIT("any"),
                                       [CHOICE_ONE] = LIT("tool")};
    const convo_settings *s = &c->set;
    if (!put_tools(c, "[", put_tool, "]", out) || (s->choice == CHOICE_UNSAID && s->parallel != 0))
        return;
    put_key(out, "tool_choice");
    put_open(out, '{');
    put_text(out, "type", words[s->choice]);
    if (s->choice == CHOICE_ONE)
        put_text(out, "name", s->choice_name);
    if (s->parallel == 0 && s->choice != CHOICE_NONE)
        put_bool(out, "disable_parallel_tool_use", true);
    buf_putc(out, '}');
}

static void put_thinking(const convo_settings *s, int64_t max_output, daruma_buf *out)
{
    enum { LEAST = 1024 }; /* and less than max_tokens: docs.claude.com, "Extended thinking" */
    int64_t budget = s->thinking_budget >= max_output ? max_output - 1 : s->thinking_budget;
    if (s->thinking == 0)
        put_raw(out, "thinking", S("{\"type\":\"disabled\"}"));
    if (s->thinking != 1 || (s->thinking_budget >= 0 && budget < LEAST))
        return;
    put_key(out, "thinking");
    put_open(out, '{');
    put_text(out, "type", s->thinking_budget >= 0 ? S("enabled") : S("adaptive"));
    if (s->thinking_budget >= 0)
        put_int(out, "budget_tokens", budget);
    buf_putc(out, '}');
}

static void put_output(const convo *c, daruma_buf *out)
{
    bool schema = c->set.format == FORMAT_SCHEMA;
    if (!schema && !c->set.effort.n)
        return;
    put_key(out, "output_config");
    put_open(out, '{');
    if (c->set.effort.n)
        put_text(out, "effort", c->set.effort);
    if (schema) {
        put_key(out, "format");
        put_schema_format(c, NULL, (daruma_str){0}, out);
    }
    buf_putc(out, '}');
}

static void anthropic_compose(const convo *c, daruma_buf *out)
{
    const convo_settings *s = &c->set;
    int64_t max_output = s->max_output > 0 ? s->max_output : ANTHROPIC_MAX_TOKENS;
    buf_putc(out, '{');
    put_text(out, "model", s->model);
    put_int(out, "max_tokens", max_output);
    put_by(out, "system", put_system, c);
    put_key(out, "messages");
    put_messages(c, (daruma_str){0}, out);
    put_tools_and_choice(c, out);
    put_thinking(s, max_output, out);
    put_output(c, out);
    put_raw(out, "temperature", s->temperature);
    put_raw(out, "top_p", s->top_p);
    put_raw(out, "top_k", s->top_k);
    put_stops(out, "stop_sequences", s->stop);
    if (s->user.n) {
        put_key(out, "metadata");
        put_open(out, '{');
        put_text(out, "user_id", s->user);
        buf_putc(out, '}');
    }
    if (s->stream >= 0)
        put_bool(out, "stream", s->stream);
    buf_putc(out, '}');
}

void anthropic_write(const convo *c, daruma_buf *out)
{
    static const body_member members[] = {
        {LIT("messages"), put_messages},
        {LIT("system"), put_system},
        {LIT("output_format"), put_output_format},
        {LIT("output_config"), put_output_config},
    };
    body_write(c, members, COUNT(members), anthropic_compose, out);
}
