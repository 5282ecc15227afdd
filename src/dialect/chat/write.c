/* write.c - a conversation as a request of Chat Completions; what was read and not edited goes out as it
 * came. The reader is read.c, the settings are in settings.c. */
#include "dialect/chat/chat.h"
#include "base/arena.h"

/* ---- one element of a content ---- */

static void put_audio(const convo_part *p, daruma_buf *out)
{
    put_text(out, "type", S("input_audio"));
    put_key(out, "input_audio");
    put_open(out, '{');
    put_text(out, "data", p->media);
    put_text(out, "format",
             str_ieq(p->media_type, S("audio/mpeg")) || str_ieq(p->media_type, S("audio/mp3")) ? S("mp3") : S("wav"));
    buf_putc(out, '}');
}

static void put_document(const convo_part *p, daruma_buf *out)
{
    put_text(out, "type", S("file"));
    put_key(out, "file");
    put_open(out, '{');
    bool pdf = str_ieq(p->media_type, S("application/pdf"));
    put_text(out, "filename", p->about.n ? p->about : pdf ? S("document.pdf") : S("document"));
    put_key(out, "file_data");
    put_media_url(out, p);
    buf_putc(out, '}');
}

static void put_media(const convo_part *p, daruma_buf *out)
{
    bool image = p->media_url || !p->media_type.n || str_istarts(p->media_type, S("image/"));
    buf_putc(out, '{');
    if (image) {
        put_text(out, "type", S("image_url"));
        put_key(out, "image_url");
        put_open(out, '{');
        put_key(out, "url");
        put_media_url(out, p);
        if (p->about.n)
            put_text(out, "detail", p->about);
        buf_putc(out, '}');
    } else if (str_istarts(p->media_type, S("audio/"))) {
        put_audio(p, out);
    } else {
        put_document(p, out);
    }
    buf_putc(out, '}');
}

static void put_text_piece(const convo *c, const convo_part *p, daruma_buf *out)
{
    const change words = {.key = S("text"), .at = p->value.p, .text = convo_part_text(c, p), .add = true};
    if (json_is_object(p->raw)) /* its "text", or "refusal" */
        put_changed(out, p->raw, &words, 1, c, p);
    else
        put_text_block(c, p, out);
}

static bool has_piece(const convo *c, const convo_part *p)
{
    (void)c;
    return !p->dropped && p->kind != PART_RESULT && p->kind != PART_CALL && (p->kind != PART_OTHER || p->raw.n);
}

static void put_piece(const convo *c, const convo_part *p, daruma_buf *out)
{
    if (p->kind == PART_MEDIA)
        put_media(p, out);
    else if (p->kind == PART_OTHER)
        buf_put(out, p->raw);
    else
        put_text_piece(c, p, out);
}

static const content_wire chat_content = {has_piece, put_piece};

/* ---- results ---- */

static bool put_said_by(const convo *c, const void *result, daruma_str old, daruma_buf *out)
{
    (void)old;
    content_put_result(c, &chat_content, result, out);
    return true;
}

static void compose_result(const convo *c, const convo_message *m, const convo_part *p, daruma_buf *out)
{
    bool legacy = str_eq(convo_wire_role(m), S("function")) && p->name.n;
    buf_putc(out, '{');
    put_text(out, "role", legacy ? S("function") : S("tool"));
    put_text(out, legacy ? "name" : "tool_call_id", legacy ? p->name : p->id);
    put_key(out, "content");
    put_said_by(c, p, (daruma_str){0}, out);
    buf_putc(out, '}');
}

static void put_result(const convo *c, const convo_message *m, const convo_part *p, daruma_buf *out)
{
    const change rows[] = {{.key = S("tool_call_id"), .text = p->id, .add = p->id.n},
                           {.key = S("content"), .put = put_said_by, .add = true}};
    if (part_as_read(p))
        buf_put(out, p->raw);
    else if (json_is_object(p->raw))
        put_changed(out, p->raw, rows, COUNT(rows), c, p);
    else
        compose_result(c, m, p, out);
}

/* ---- calls ---- */

/* "function", "custom" or the older function_call: its name and arguments. What is no object stays as it is. */
static bool put_function(const convo *c, const void *call, daruma_str old, daruma_buf *out)
{
    const convo_part *p = call;
    bool bare = !json_get(old, S("arguments")).n && !json_get(old, S("input")).n;
    daruma_str said = p->ready || bare ? convo_part_text(c, p) : (daruma_str){0};
    const change rows[] = {{.key = S("name"), .text = p->name, .add = true},
                           {.key = S("arguments"), .text = said, .add = bare},
                           {.key = S("input"), .text = said}};
    if (json_is_object(old))
        put_changed(out, old, rows, p->ready || bare ? COUNT(rows) : 1, c, p);
    else
        buf_put(out, old);
    return true;
}

static void compose_call(const convo *c, const convo_part *p, daruma_buf *out)
{
    buf_putc(out, '{');
    put_text(out, "id", p->id);
    put_text(out, "type", S("function"));
    put_key(out, "function");
    put_open(out, '{');
    put_text(out, "name", p->name);
    put_key(out, "arguments");
    if (part_says(c, p))
        put_said(out, c, p);
    else
        buf_json(out, S("{}"));
    BUF_LIT(out, "}}");
}

static void chat_put_call(const convo *c, const convo_part *p, daruma_buf *out)
{
    const change rows[] = {{.key = S("id"), .text = p->id, .add = p->id.n},
                           {.key = S("function"), .put = put_function},
                           {.key = S("custom"), .put = put_function}};
    if (part_as_read(p) || p->kind == PART_OTHER)
        buf_put(out, p->raw);
    else if (json_is_object(p->raw))
        put_changed(out, p->raw, rows, COUNT(rows), c, p);
    else
        compose_call(c, p, out);
}

/* ---- messages ---- */

/* The member of its message that a part stands in. */
static int home_of(const convo_part *p, const field *f)
{
    static const int homes[] = {M_CONTENT, M_CALLS,   M_FUNCTION_CALL, M_REFUSAL,
                                M_AUDIO,   M_THOUGHT, M_REASONING,     M_DETAILS};
    for (size_t i = 0; i < COUNT(homes); i++)
        if (lies_in(p->raw, f[homes[i]].value))
            return homes[i];
    switch (p->kind) {
    case PART_CALL:
        return M_CALLS;
    case PART_THINKING:
        return M_THOUGHT;
    case PART_RESULT:
        return M_N; /* a message of its own */
    case PART_TEXT:
    case PART_MEDIA:
    case PART_OTHER:
        break;
    }
    return M_CONTENT;
}

/* Was anything that stands in that member edited, moved, added or dropped? */
static bool changed(const convo_message *m, const field *f, int home)
{
    const char *at = f[home].value.p;
    for (size_t i = 0; i < m->nparts; i++) {
        const convo_part *p = &m->parts[i];
        if (home_of(p, f) != home)
            continue;
        if (!part_as_read(p) || !lies_in(p->raw, f[home].value) || p->raw.p < at)
            return true;
        at = p->raw.p;
    }
    return false;
}

static size_t live_in(const convo_message *m, const field *f, int home, const convo_part **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nparts; i++)
        if (!m->parts[i].dropped && home_of(&m->parts[i], f) == home &&
            (m->parts[i].raw.n || m->parts[i].kind != PART_OTHER))
            ret[n++] = &m->parts[i];
    return n;
}

static void put_message_content(const convo *c, const convo_message *m, const field *f, const convo_part **live,
                                daruma_buf *out)
{
    size_t calls = live_in(m, f, M_CALLS, live) + live_in(m, f, M_FUNCTION_CALL, live);
    size_t n = live_in(m, f, M_CONTENT, live);
    if (n)
        content_put(c, &chat_content, live, n, f[M_CONTENT].value, out);
    else if (calls)
        BUF_LIT(out, "null");
    else
        BUF_LIT(out, "\"\"");
}

static void put_calls(const convo *c, const convo_part **live, size_t n, daruma_str old, daruma_buf *out)
{
    weave w = weave_open(out, old);
    for (size_t i = 0; i < n; i++) {
        weave_next(&w, live[i]->raw);
        chat_put_call(c, live[i], out);
    }
    weave_close(&w);
}

static void put_thought(const convo *c, const convo_part **live, size_t n, daruma_buf *out)
{
    daruma_buf all = buf_in(c->arena);
    for (size_t i = 0; i < n; i++)
        buf_put(&all, convo_part_text(c, live[i]));
    out->full |= all.full;
    buf_json(out, buf_str(&all));
}

static daruma_str wire_role_of(const convo_message *m)
{
    static const daruma_str names[] = {
        [CONVO_SYSTEM] = LIT("system"),
        [CONVO_USER] = LIT("user"),
        [CONVO_ASSISTANT] = LIT("assistant"),
        [CONVO_TOOL] = LIT("user"), /* its results are written apart: what is left is said by the user */
    };
    return m->wire_role && m->role != CONVO_TOOL ? *m->wire_role : names[m->role];
}

typedef struct speaking {
    const convo *c;
    const convo_message *m;
    field f[M_N];
    const convo_part **live; /* room for all parts */
    bool no_content;         /* its calls went and it has no content: no wire takes that */
    uint32_t seen;           /* members that were written */
} speaking;

/* A member that is one part. */
static void put_single(speaking *x, splice *s, int home)
{
    if (!changed(x->m, x->f, home)) {
        splice_keep(s);
        return;
    }
    size_t n = live_in(x->m, x->f, home, x->live);
    if (!n)
        return;
    splice_key(s);
    if (home == M_FUNCTION_CALL)
        put_function(x->c, x->live[0], x->f[home].value, s->out);
    else if (x->live[0]->kind == PART_OTHER)
        buf_put(s->out, x->live[0]->raw);
    else
        put_thought(x->c, x->live, n, s->out);
}

static void put_member(speaking *x, splice *s, int member, daruma_str value)
{
    size_t n;
    x->seen |= 1u << member;
    switch (member) {
    case M_ROLE:
        splice_key(s);
        put_role(s->out, value, x->m, wire_role_of(x->m));
        return;
    case M_CONTENT:
        if (!changed(x->m, x->f, M_CONTENT) && !x->no_content) {
            splice_keep(s);
            return;
        }
        splice_key(s);
        put_message_content(x->c, x->m, x->f, x->live, s->out);
        return;
    case M_CALLS:
        if (!changed(x->m, x->f, M_CALLS)) {
            if (!x->m->no_empty_calls || !json_is_array(value) || json_count(value))
                splice_keep(s);
        } else if ((n = live_in(x->m, x->f, M_CALLS, x->live)) > 0) {
            splice_key(s);
            put_calls(x->c, x->live, n, value, s->out);
        }
        return;
    case M_FUNCTION_CALL:
    case M_REFUSAL:
    case M_AUDIO:
    case M_THOUGHT:
    case M_REASONING:
    case M_DETAILS:
        put_single(x, s, member);
        return;
    default:
        splice_keep(s);
    }
}

/* What it did not have. */
static void put_new_members(speaking *x, splice *s)
{
    size_t n = live_in(x->m, x->f, M_CONTENT, x->live);
    bool ours = !x->m->raw.n;
    if (!(x->seen >> M_CONTENT & 1) && (n || ours || x->no_content)) {
        splice_add(s, S("content"));
        put_message_content(x->c, x->m, x->f, x->live, s->out);
    }
    if (!(x->seen >> M_THOUGHT & 1) && (n = live_in(x->m, x->f, M_THOUGHT, x->live)) > 0) {
        splice_add(s, S("reasoning_content"));
        put_thought(x->c, x->live, n, s->out);
    }
    if (!(x->seen >> M_CALLS & 1) && (n = live_in(x->m, x->f, M_CALLS, x->live)) > 0) {
        splice_add(s, S("tool_calls"));
        put_calls(x->c, x->live, n, (daruma_str){0}, s->out);
    }
}

/* The message without its results. */
static void put_spoken(const convo *c, const convo_message *m, daruma_buf *out)
{
    speaking x = {.c = c, .m = m};
    daruma_str key, value, raw = json_is_object(m->raw) && m->role != CONVO_TOOL ? m->raw : (daruma_str){0};
    chat_message_fields(raw, x.f);
    x.live = ARENA_NEW(c->arena, const convo_part *, m->nparts + 1);
    if (!x.live) {
        out->full = true;
        return;
    }
    x.no_content = null_or_none(x.f[M_CONTENT].value) && changed(m, x.f, M_CALLS) &&
                   live_in(m, x.f, M_CALLS, x.live) == 0 && live_in(m, x.f, M_FUNCTION_CALL, x.live) == 0;
    splice s = splice_open(out, raw);
    if (!raw.n) {
        splice_add(&s, S("role"));
        buf_json(out, wire_role_of(m));
    }
    while (splice_next(&s, &key, &value)) {
        int member = 0;
        while (member < M_N && !key_is(key, x.f[member].key))
            member++;
        if (member < M_N && x.f[member].value.p != value.p)
            member = M_N; /* an earlier one of that name */
        put_member(&x, &s, member, value);
    }
    put_new_members(&x, &s);
    splice_close(&s);
}

/* A message of ours may hold results: each is a message here, before what else was said. */
static void put_message(const convo *c, const convo_message *m, weave *w, daruma_buf *out)
{
    size_t results = 0, rest = 0;
    for (size_t i = 0; i < m->nparts; i++) {
        const convo_part *p = &m->parts[i];
        rest += !p->dropped && p->kind != PART_RESULT;
        if (!part_lives(p, PART_RESULT))
            continue;
        weave_next(w, p->raw);
        put_result(c, m, p, out);
        results++;
    }
    if (!rest && (results || m->nparts))
        return;
    if (m->raw.n && !json_is_object(m->raw)) {
        weave_raw(w, m->raw);
        return;
    }
    weave_next(w, results ? (daruma_str){0} : m->raw);
    put_spoken(c, m, out);
}

static bool put_messages(const convo *c, daruma_str old, daruma_buf *out)
{
    weave w = weave_open(out, old);
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (m->dropped)
            continue;
        if (m->raw.n && !m->edited)
            weave_raw(&w, m->raw);
        else
            put_message(c, m, &w, out);
    }
    weave_close(&w);
    return true;
}

/* ---- the body ---- */

static void chat_compose(const convo *c, daruma_buf *out)
{
    buf_putc(out, '{');
    put_text(out, "model", c->set.model);
    put_key(out, "messages");
    put_messages(c, (daruma_str){0}, out);
    chat_put_settings(c, out);
    buf_putc(out, '}');
}

void chat_write(const convo *c, daruma_buf *out)
{
    static const body_member members[] = {
        {LIT("messages"), put_messages},
        {LIT("response_format"), chat_put_format},
    };
    body_write(c, members, COUNT(members), chat_compose, out);
}
