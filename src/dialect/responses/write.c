/* write.c - a conversation as a Responses request; the reader is in read.c. */
#include "dialect/responses/responses.h"

/* ---- content ---- */

/* Calls, results and reasoning are items, and so is what came as one; all else is content of a message. */
static bool is_item(const convo_message *m, const convo_part *p)
{
    if (p->kind == PART_OTHER)
        return p->raw.n && p->raw.p == m->raw.p && json_is_object(m->raw);
    return p->kind == PART_CALL || p->kind == PART_RESULT || p->kind == PART_THINKING;
}

/* Reasoning of others says nothing here: it is not written. */
static bool is_written(const convo_part *p)
{
    if (p->dropped || p->raw.n)
        return !p->dropped;
    return p->kind != PART_OTHER && p->kind != PART_THINKING && (p->kind != PART_MEDIA || p->media.n);
}

static bool is_message_item(const convo_message *m)
{
    return json_is_object(m->raw) && responses_item_of(m->raw) == ITEM_MESSAGE;
}

static void put_media(daruma_buf *out, const convo_part *p)
{
    bool image = str_starts(p->media_type, S("image/")) || (p->media_url && !p->media_type.n);
    put_text(out, "type", image ? S("input_image") : S("input_file"));
    if (image) {
        put_key(out, "image_url");
        put_media_url(out, p);
        if (p->about.n)
            put_text(out, "detail", p->about);
    } else if (p->media_url) {
        put_text(out, "file_url", p->media);
    } else {
        bool pdf = str_eq(p->media_type, S("application/pdf"));
        put_text(out, "filename", p->about.n ? p->about : pdf ? S("file.pdf") : S("file"));
        put_key(out, "file_data");
        put_media_url(out, p);
    }
}

static void put_piece(const convo *c, const convo_part *p, bool said, daruma_buf *out)
{
    daruma_str type = value_raw(json_get(p->raw, S("type")));
    bool piece = str_ends(type, S("text")) || str_eq(type, S("refusal")); /* not a result that became a text */
    if (p->kind == PART_TEXT && piece && lies_in(p->value, p->raw)) {
        put_changed(out, p->raw, &(change){.at = p->value.p, .text = convo_part_text(c, p)}, 1, c, p);
        return;
    }
    if (p->raw.n && p->kind != PART_TEXT) {
        buf_put(out, p->raw);
        return;
    }
    buf_putc(out, '{');
    if (p->kind == PART_TEXT) {
        put_text(out, "type", said ? S("output_text") : S("input_text"));
        put_key(out, "text");
        put_said(out, c, p);
    } else {
        put_media(out, p);
    }
    buf_putc(out, '}');
}

/* A piece that came as a text alone becomes an object among others. */
static void weave_piece(const convo *c, const convo_part *p, bool said, weave *w)
{
    if (part_as_read(p) && json_is_object(p->raw)) {
        weave_raw(w, p->raw);
    } else {
        weave_next(w, p->raw);
        put_piece(c, p, said, w->out);
    }
}

static size_t content_of(const convo_message *m, const convo_part **only)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nparts; i++)
        if (!is_item(m, &m->parts[i]) && is_written(&m->parts[i])) {
            *only = &m->parts[i];
            n++;
        }
    return n;
}

/* One text is a string, unless it was a list before. */
static bool put_message_content(const convo *c, const void *message, daruma_str old, daruma_buf *out)
{
    const convo_message *m = message;
    const convo_part *only = NULL;
    size_t n = content_of(m, &only);
    if (n <= 1 && !json_is_array(old) && (!only || only->kind == PART_TEXT)) {
        if (only && !old.n)
            put_said(out, c, only);
        else
            put_same(out, old, only ? convo_part_text(c, only) : (daruma_str){0});
        return true;
    }
    weave w = weave_open(out, old);
    for (size_t i = 0; i < m->nparts; i++)
        if (!is_item(m, &m->parts[i]) && is_written(&m->parts[i]))
            weave_piece(c, &m->parts[i], m->role == CONVO_ASSISTANT, &w);
    weave_close(&w);
    return true;
}

static daruma_str role_word(const convo_message *m)
{
    static const daruma_str words[] = {[CONVO_SYSTEM] = LIT("system"),
                                       [CONVO_USER] = LIT("user"),
                                       [CONVO_ASSISTANT] = LIT("assistant"),
                                       [CONVO_TOOL] = LIT("user")}; /* its results are items: the rest is the user's */
    bool developer = m->role == CONVO_SYSTEM && str_eq(convo_wire_role(m), S("developer"));
    return developer ? *m->wire_role : words[m->role];
}

static void put_message(const convo *c, const convo_message *m, daruma_buf *out)
{
    const change rows[] = {{.key = S("role"), .text = role_word(m)},
                           {.key = S("content"), .put = put_message_content, .add = true}};
    if (is_message_item(m)) {
        put_changed(out, m->raw, rows, COUNT(rows), c, m);
        return;
    }
    buf_putc(out, '{');
    put_text(out, "type", S("message"));
    put_text(out, "role", role_word(m));
    put_key(out, "content");
    put_message_content(c, m, (daruma_str){0}, out);
    buf_putc(out, '}');
}

/* ---- items ---- */

/* Is the call with this id one of a custom tool? Then its result is of another type. */
static bool is_custom(const convo *c, daruma_str id)
{
    const convo_part *call = call_of_id(c, id);
    return call && call->raw.n && responses_item_of(call->raw) == ITEM_CUSTOM_CALL;
}

static bool holds_media(const convo_part *p)
{
    for (size_t i = 0; i < p->nparts; i++)
        if (part_lives(&p->parts[i], PART_MEDIA))
            return true;
    return false;
}

static bool put_output(const convo *c, const void *result, daruma_str old, daruma_buf *out)
{
    const convo_part *p = result;
    if (!p->nparts || !(json_is_array(old) || holds_media(p))) {
        if (old.n)
            put_same(out, old, convo_part_text(c, p));
        else
            put_said(out, c, p);
        return true;
    }
    weave w = weave_open(out, old);
    for (size_t i = 0; i < p->nparts; i++)
        if (is_written(&p->parts[i]))
            weave_piece(c, &p->parts[i], false, &w);
    weave_close(&w);
    return true;
}

static bool put_arguments_text(const convo *c, const void *call, daruma_str old, daruma_buf *out)
{
    const convo_part *p = call;
    if (!old.n && part_says(c, p)) {
        put_said(out, c, p);
        return true;
    }
    daruma_str text = convo_part_text(c, p);
    put_same(out, old, text.n || p->raw.n ? text : S("{}"));
    return true;
}

static void compose_item(const convo *c, const convo_part *p, daruma_buf *out)
{
    buf_putc(out, '{');
    if (p->kind == PART_CALL) {
        put_text(out, "type", S("function_call"));
        put_text(out, "call_id", p->id);
        put_text(out, "name", p->name);
        put_key(out, "arguments");
        put_arguments_text(c, p, (daruma_str){0}, out);
    } else {
        put_text(out, "type", is_custom(c, p->id) ? S("custom_tool_call_output") : S("function_call_output"));
        put_text(out, "call_id", p->id);
        put_key(out, "output");
        put_output(c, p, (daruma_str){0}, out);
    }
    buf_putc(out, '}');
}

/* An edited call or result; edited reasoning would be refused. */
static void edit_item(const convo *c, const convo_part *p, daruma_buf *out)
{
    responses_item_kind kind = responses_item_of(p->raw);
    bool call = kind == ITEM_CALL || kind == ITEM_CUSTOM_CALL,
         result = kind == ITEM_RESULT || kind == ITEM_CUSTOM_RESULT;
    const change rows[] = {{.key = S("call_id"), .text = p->id},
                           {.key = result              ? S("output")
                                   : kind == ITEM_CALL ? S("arguments")
                                                       : S("input"),
                            .put = result ? put_output : put_arguments_text,
                            .add = true},
                           {.key = S("name"), .text = p->name}};
    if (p->kind == PART_THINKING || p->kind == PART_OTHER)
        buf_put(out, p->raw);
    else if ((p->kind == PART_CALL && !call) || (p->kind == PART_RESULT && !result))
        compose_item(c, p, out);
    else
        put_changed(out, p->raw, rows, call ? 3 : 2, c, p);
}

/* An edited or new message: its content as one message where the first of it stands, every other part as an item. */
static void weave_message(const convo *c, const convo_message *m, weave *w)
{
    bool content = false;
    if (!m->nparts && m->raw.n) {
        weave_raw(w, m->raw);
        return;
    }
    for (size_t i = 0; i < m->nparts; i++) {
        const convo_part *p = &m->parts[i];
        if (!is_written(p))
            continue;
        if (!is_item(m, p)) {
            if (content)
                continue;
            content = true;
            weave_next(w, is_message_item(m) ? m->raw : (daruma_str){0});
            put_message(c, m, w->out);
        } else if (part_as_read(p)) {
            weave_raw(w, p->raw);
        } else {
            weave_next(w, p->raw);
            if (p->raw.n)
                edit_item(c, p, w->out);
            else
                compose_item(c, p, w->out);
        }
    }
}

/* ---- the body ---- */

static bool put_input(const convo *c, daruma_str old, daruma_buf *out)
{
    const convo_message *only = NULL;
    const convo_part *part = NULL;
    size_t n = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        if (!c->messages[i].apart && !c->messages[i].dropped) {
            only = &c->messages[i];
            n++;
        }
    if (n == 1 && json_is_string(old) && only->raw.p == old.p && content_of(only, &part) == 1 && only->nparts == 1) {
        put_same(out, old, convo_part_text(c, part));
        return true;
    }
    if (!n && !json_is_array(old) && c->body.n) {
        buf_put(out, old);
        return old.n > 0;
    }
    weave w = weave_open(out, old);
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (m->apart || m->dropped)
            continue;
        if (m->raw.n && !m->edited && !json_is_string(old))
            weave_raw(&w, m->raw);
        else
            weave_message(c, m, &w);
    }
    weave_close(&w);
    return true;
}

/* All that stands apart, as one text. */
static bool put_instructions(const convo *c, daruma_str old, daruma_buf *out)
{
    daruma_buf all = buf_in(c->arena);
    bool fresh = false, live = false;
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (!m->apart)
            continue;
        fresh |= m->dropped || m->edited || !m->raw.n;
        for (size_t k = 0; !m->dropped && k < m->nparts; k++) {
            daruma_str text = convo_part_text(c, &m->parts[k]);
            if (!part_lives(&m->parts[k], PART_TEXT) || !text.n)
                continue;
            if (live)
                BUF_LIT(&all, "\n\n");
            buf_put(&all, text);
            live = true;
        }
    }
    if (!fresh) {
        buf_put(out, old);
        return old.n > 0;
    }
    out->full |= all.full;
    if (live)
        put_same(out, old, buf_str(&all));
    return live;
}

static bool put_format(const convo *c, const void *of, daruma_str old, daruma_buf *out)
{
    const convo_settings *s = &c->set;
    (void)of;
    (void)old;
    if (s->format == FORMAT_UNSAID)
        return false;
    buf_putc(out, '{');
    put_text(out, "type",
             s->format == FORMAT_SCHEMA ? S("json_schema")
             : s->format == FORMAT_JSON ? S("json_object")
                                        : S("text"));
    if (s->format == FORMAT_SCHEMA)
        openai_put_schema(s, out);
    buf_putc(out, '}');
    return true;
}

/* The format among what else is said about the text. */
static bool put_text_config(const convo *c, daruma_str old, daruma_buf *out)
{
    const change format = {.key = S("format"), .put = put_format, .add = true};
    if (c->set.format_edited && (old.n || c->set.format != FORMAT_UNSAID)) {
        put_changed(out, old, &format, 1, c, NULL);
        return true;
    }
    if (!c->set.format_edited)
        buf_put(out, old);
    return !c->set.format_edited && old.n;
}

/* Without a word functions are strict here, and their schemas must be of a stricter kind than elsewhere. */
static void put_tool(const convo_tool *t, daruma_buf *out)
{
    put_text(out, "type", S("function"));
    put_text(out, "name", t->name);
    if (t->description.n)
        put_text(out, "description", t->description);
    put_raw(out, "parameters", t->schema.n ? t->schema : S("{\"type\":\"object\",\"properties\":{}}"));
    put_bool(out, "strict", t->strict);
}

/* Nothing is stored: the client did not ask for it, where it speaks another dialect. */
static void responses_compose(const convo *c, daruma_buf *out)
{
    const convo_settings *s = &c->set;
    buf_putc(out, '{');
    put_text(out, "model", s->model);
    put_by(out, "instructions", put_instructions, c);
    put_key(out, "input");
    put_input(c, (daruma_str){0}, out);
    if (put_tools(c, "[", put_tool, "]", out))
        openai_put_choice(s, false, out);
    put_int(out, "max_output_tokens", s->max_output);
    put_raw(out, "temperature", s->temperature);
    put_raw(out, "top_p", s->top_p);
    bool format = s->format == FORMAT_JSON || s->format == FORMAT_SCHEMA;
    if (format || s->verbosity.n) {
        put_key(out, "text");
        buf_putc(out, '{');
        if (format) {
            put_key(out, "format");
            put_format(c, NULL, (daruma_str){0}, out);
        }
        put_raw(out, "verbosity", s->verbosity);
        buf_putc(out, '}');
    }
    if (s->effort.n) {
        put_key(out, "reasoning");
        buf_putc(out, '{');
        put_text(out, "effort", s->effort);
        buf_putc(out, '}');
    }
    if (s->user.n)
        put_text(out, "user", s->user);
    buf_put(out, s->openai);
    put_bool(out, "store", false);
    if (s->stream >= 0)
        put_bool(out, "stream", s->stream);
    buf_putc(out, '}');
}

void responses_write(const convo *c, daruma_buf *out)
{
    static const body_member members[] = {
        {LIT("input"), put_input},
        {LIT("instructions"), put_instructions},
        {LIT("text"), put_text_config},
    };
    body_write(c, members, COUNT(members), responses_compose, out);
}
