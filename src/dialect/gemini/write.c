/* write.c - a conversation as a generateContent request; the reader is in read.c. */
#include "dialect/gemini/gemini.h"

/* What a call is signed with that another model made: Google takes it instead of checking
 * (https://ai.google.dev/gemini-api/docs/thought-signatures). */
#define FOREIGN_SIGNATURE "skip_thought_signature_validator"

/* ---- parts ---- */

/* Gemini refuses parts without content; what we cannot say in its words is left out. */
static bool is_written(const convo *c, const convo_part *p)
{
    if (p->dropped || p->raw.n)
        return !p->dropped;
    switch (p->kind) {
    case PART_TEXT:
    case PART_THINKING:
        return p->signature.n || part_says(c, p);
    case PART_MEDIA:
        return p->media.n > 0;
    case PART_CALL:
    case PART_RESULT:
        return true;
    case PART_OTHER:
        return false;
    }
    return false;
}

/* The name of the tool whose result this is: its own, else that of the call with its id. */
static daruma_str result_name(const convo *c, const convo_part *p)
{
    const convo_part *call = p->name.n ? NULL : call_of_id(c, p->id);
    return p->name.n ? p->name : call ? call->name : S("unknown_tool");
}

static void put_media(daruma_buf *out, const convo_part *p)
{
    put_key(out, p->media_url ? "fileData" : "inlineData");
    buf_putc(out, '{');
    if (p->media_type.n || !p->media_url)
        put_text(out, "mimeType", p->media_type.n ? p->media_type : S("application/octet-stream"));
    put_text(out, p->media_url ? "fileUri" : "data", p->media);
    buf_putc(out, '}');
}

static void put_response(const convo *c, const convo_part *p, daruma_buf *out)
{
    buf_putc(out, '{');
    put_key(out, p->failed ? "error" : "output");
    put_said(out, c, p);
    buf_putc(out, '}');
}

/* Ids only where the body has some: Vertex AI refuses them. */
static void gemini_put_id(const convo *c, daruma_buf *out, const convo_part *p)
{
    if (c->body.n && p->id.n)
        put_text(out, "id", p->id);
}

/* Gemini 3 and later want a signature at the first call of each step. */
static bool wants_signature(const convo *c)
{
    size_t at = str_find(c->set.model, S("gemini-"));
    int64_t version;
    return at != STR_NONE && str_scan_int(str_from(c->set.model, at + 7), &version) && version >= 3;
}

/* What a result holds: its text, and its media as parts of their own behind it. */
static void compose_result(const convo *c, const convo_part *p, daruma_buf *out)
{
    BUF_LIT(out, "{\"functionResponse\":{");
    gemini_put_id(c, out, p);
    put_text(out, "name", result_name(c, p));
    put_key(out, "response");
    put_response(c, p, out);
    BUF_LIT(out, "}}");
    for (size_t i = 0; i < p->nparts; i++)
        if (part_lives(&p->parts[i], PART_MEDIA) && p->parts[i].media.n) {
            put_open(out, '{');
            put_media(out, &p->parts[i]);
            buf_putc(out, '}');
        }
}

static void compose_part(const convo *c, const convo_part *p, bool first_call, daruma_buf *out)
{
    if (p->kind == PART_RESULT) {
        compose_result(c, p, out);
        return;
    }
    daruma_str signature = p->signature;
    buf_putc(out, '{');
    switch (p->kind) {
    case PART_TEXT:
    case PART_THINKING:
        put_key(out, "text");
        put_said(out, c, p);
        if (p->kind == PART_THINKING)
            put_bool(out, "thought", true);
        break;
    case PART_CALL:
        put_key(out, "functionCall");
        buf_putc(out, '{');
        gemini_put_id(c, out, p);
        put_text(out, "name", p->name);
        put_key(out, "args");
        put_arguments(c, p, (daruma_str){0}, out);
        buf_putc(out, '}');
        if (!signature.n && first_call && wants_signature(c))
            signature = S(FOREIGN_SIGNATURE);
        break;
    case PART_MEDIA:
        put_media(out, p);
        break;
    case PART_RESULT:
    case PART_OTHER:
        break;
    }
    if (signature.n)
        put_text(out, "thoughtSignature", signature);
    buf_putc(out, '}');
}

/* The response with another text in the place where its text stood. */
static bool edit_response(const convo *c, const void *result, daruma_str old, daruma_buf *out)
{
    const convo_part *p = result;
    const change words = {.at = p->value.p, .text = convo_part_text(c, p)};
    if (lies_in(p->value, old) && p->value.n != old.n)
        put_changed(out, old, &words, 1, c, p);
    else
        put_response(c, p, out);
    return true;
}

/* The parts of a result, the first of which is its response. */
static bool edit_media(const convo *c, const void *result, daruma_str old, daruma_buf *out)
{
    const convo_part *p = result;
    weave w = weave_open(out, old);
    for (size_t i = 0; i < p->nparts; i++) {
        const convo_part *one = &p->parts[i];
        if (one->kind == PART_TEXT || !is_written(c, one))
            continue;
        weave_next(&w, one->raw);
        if (one->raw.n)
            buf_put(out, one->raw);
        else
            compose_part(c, one, false, out);
    }
    weave_close(&w);
    return w.n > 0;
}

static void edit_result(const convo *c, const convo_part *p, daruma_str old, daruma_buf *out)
{
    const change rows[] = {{.key = S("response"), .put = edit_response, .add = true},
                           {.key = S("parts"), .put = edit_media},
                           {.key = S("name"), .text = result_name(c, p)}};
    put_changed(out, old, rows, COUNT(rows), c, p);
}

static void edit_call(const convo *c, const convo_part *p, daruma_str old, daruma_buf *out)
{
    const change rows[] = {{.key = S("args"), .put = put_arguments, .add = true}, {.key = S("name"), .text = p->name}};
    put_changed(out, old, rows, COUNT(rows), c, p);
}

/* The member that holds what a part of this kind says; empty for those that have none. */
static daruma_str holder(part_kind kind)
{
    switch (kind) {
    case PART_TEXT:
    case PART_THINKING:
        return S("text");
    case PART_CALL:
        return S("functionCall");
    case PART_RESULT:
        return S("functionResponse");
    case PART_MEDIA:
    case PART_OTHER:
        break;
    }
    return (daruma_str){0};
}

/* An edited part: what it says anew, all else as it was. One that became another kind is made anew. */
static void edit_part(const convo *c, const convo_part *p, bool first_call, daruma_buf *out)
{
    daruma_str key, value, held = holder(p->kind);
    if (p->kind == PART_OTHER || p->kind == PART_MEDIA) {
        buf_put(out, p->raw);
        return;
    }
    if (!gemini_get(p->raw, held).n) {
        compose_part(c, p, first_call, out);
        return;
    }
    daruma_str signature = p->kind == PART_RESULT ? (daruma_str){0} : p->signature;
    bool sealed = !signature.n, kept = p->kind == PART_RESULT && p->sealed;
    splice s = splice_open(out, p->raw);
    while (splice_next(&s, &key, &value)) {
        if (!kept && key_camel(key, S("thoughtSignature"))) {
            if (signature.n) {
                splice_key(&s);
                put_same(out, value, signature);
            }
            sealed = true;
            continue;
        }
        if (!key_camel(key, held)) {
            splice_keep(&s);
            continue;
        }
        splice_key(&s);
        if (p->kind == PART_CALL)
            edit_call(c, p, value, out);
        else if (p->kind == PART_RESULT)
            edit_result(c, p, value, out);
        else
            put_same(out, value, convo_part_text(c, p));
    }
    if (!sealed) {
        splice_add(&s, S("thoughtSignature"));
        buf_json(out, signature);
    }
    splice_close(&s);
}

/* ---- messages ---- */

/* `first_call`: no call was written yet in this turn. */
static bool weave_parts(const convo *c, const convo_message *m, bool first_call, weave *w)
{
    for (size_t i = 0; i < m->nparts; i++) {
        const convo_part *p = &m->parts[i];
        if (!is_written(c, p))
            continue;
        if (part_as_read(p)) {
            weave_raw(w, p->raw);
        } else {
            weave_next(w, p->raw);
            if (p->raw.n)
                edit_part(c, p, first_call, w->out);
            else
                compose_part(c, p, first_call, w->out);
        }
        first_call &= p->kind != PART_CALL;
    }
    return first_call;
}

static bool says_something(const convo *c, const convo_message *m)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (is_written(c, &m->parts[i]))
            return true;
    return false;
}

static daruma_str role_word(const convo_message *m)
{
    convo_role role = m->role == CONVO_TOOL || m->role == CONVO_SYSTEM ? CONVO_USER : m->role;
    if (m->wire_role && (gemini_role(*m->wire_role) == m->role || gemini_role(*m->wire_role) == role))
        return *m->wire_role;
    return role == CONVO_ASSISTANT ? S("model") : S("user");
}

static bool put_parts(const convo *c, const void *message, daruma_str old, daruma_buf *out)
{
    weave w = weave_open(out, old);
    weave_parts(c, message, true, &w);
    weave_close(&w);
    return true;
}

static void edit_message(const convo *c, const convo_message *m, daruma_buf *out)
{
    daruma_str word = role_word(m);
    const change rows[] = {{.key = S("parts"), .put = put_parts, .add = true},
                           {.key = S("role"), .text = word, .add = !str_eq(word, S("user"))}};
    put_changed(out, m->raw, rows, m->apart ? 1 : 2, c, m);
}

static bool is_content(const convo_message *m)
{
    return !m->apart && !m->dropped;
}

/* Neighbours that we made and that one side says are one turn: all calls of a turn stand in one, and so do their
 * results. Returns the index of the last. */
static size_t compose_turn(const convo *c, size_t first, daruma_buf *out)
{
    size_t last = first;
    bool first_call = true;
    BUF_SAY(out, "{\"role\":", buf_quoted(role_word(&c->messages[first])), ",\"parts\":");
    weave w = weave_open(out, (daruma_str){0});
    for (size_t i = first; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (!is_content(m) || (!m->raw.n && !says_something(c, m)))
            continue;
        if (m->raw.n || m->role != c->messages[first].role)
            break;
        first_call = weave_parts(c, m, first_call, &w);
        last = i;
    }
    weave_close(&w);
    buf_putc(out, '}');
    return last;
}

static void write_contents(const convo *c, daruma_str old, daruma_buf *out)
{
    weave w = weave_open(out, old);
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (!is_content(m)) {
            continue;
        } else if (m->raw.n && !m->edited) {
            weave_raw(&w, m->raw);
        } else if (m->raw.n) {
            weave_next(&w, m->raw);
            edit_message(c, m, out);
        } else if (says_something(c, m)) {
            weave_next(&w, m->raw);
            i = compose_turn(c, i, out);
        }
    }
    weave_close(&w);
}

static bool put_contents(const convo *c, daruma_str old, daruma_buf *out)
{
    size_t n = 0;
    if (json_is_array(old) || !old.n) {
        write_contents(c, old, out);
        return true;
    }
    for (size_t i = 0; i < c->nmessages; i++) /* one message without a list */
        n += is_content(&c->messages[i]) && (c->messages[i].edited || !c->messages[i].raw.n);
    if (n)
        write_contents(c, (daruma_str){0}, out);
    else
        buf_put(out, old);
    return true;
}

/* All that stands apart is one prompt, in the place of the one that was read. */
static bool put_system(const convo *c, daruma_str old, daruma_buf *out)
{
    const convo_message *read = NULL;
    size_t live = 0, fresh = 0;
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (!m->apart)
            continue;
        if (m->raw.n)
            read = m;
        if (m->dropped || (!m->raw.n && !says_something(c, m)))
            continue;
        live++;
        fresh += !m->raw.n || m->edited;
    }
    if (read ? read->raw.p != old.p : old.n > 0) { /* not ours: another spelling of it, or null */
        if (old.n)
            buf_put(out, old);
        return old.n > 0;
    }
    if (live && !fresh) {
        buf_put(out, old);
        return true;
    }
    if (!live)
        return false;
    if (live == 1 && read && !read->dropped) {
        edit_message(c, read, out);
        return true;
    }
    BUF_LIT(out, "{\"parts\":");
    weave w = weave_open(out, (daruma_str){0});
    for (size_t i = 0; i < c->nmessages; i++)
        if (c->messages[i].apart && !c->messages[i].dropped)
            weave_parts(c, &c->messages[i], true, &w);
    weave_close(&w);
    buf_putc(out, '}');
    return true;
}

static bool put_system_snake(const convo *c, daruma_str old, daruma_buf *out)
{
    return old.n && put_system(c, old, out); /* a new one is called as Google's reference does */
}

/* ---- the body ---- */

static void gemini_compose(const convo *c, daruma_buf *out)
{
    buf_putc(out, '{');
    put_by(out, "systemInstruction", put_system, c);
    put_key(out, "contents");
    write_contents(c, (daruma_str){0}, out);
    gemini_put_settings(c, out);
    buf_putc(out, '}');
}

void gemini_write(const convo *c, daruma_buf *out)
{
    static const body_member members[] = {
        {LIT("contents"), put_contents},
        {LIT("systemInstruction"), put_system},
        {LIT("system_instruction"), put_system_snake},
        {LIT("generationConfig"), gemini_put_config},
        {LIT("generation_config"), gemini_put_config},
    };
    body_write(c, members, COUNT(members), gemini_compose, out);
}
