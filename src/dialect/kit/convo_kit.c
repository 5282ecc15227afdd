/* convo_kit.c - finding members, walking and replacing, composing. Patches and whole bodies are in patch.c. */
#include "dialect/kit/convo_kit.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"

/* ---- reading ---- */

json_iter quick_open(daruma_str value)
{
    json_iter it = json_open(value);
    it.quick = true;
    return it;
}

void field_take(field *f, size_t n, daruma_str key, daruma_str value)
{
    for (size_t i = 0; i < n; i++)
        if (key_is(key, f[i].key)) {
            f[i].value = value;
            return;
        }
}

void fields_of(daruma_str object, field *f, size_t n)
{
    daruma_str key, value;
    if (!json_is_object(object))
        return;
    for (json_iter it = quick_open(object); json_next(&it, &key, &value);)
        field_take(f, n, key, value);
}

/* Is it nested deeper than we read? Asked only when reading failed. */
static bool too_deep(daruma_str text)
{
    size_t depth = 0;
    for (size_t i = 0; i < text.n; i++) {
        char b = text.p[i];
        if (b == '"') {
            const char *end = json_string_end_quick(text.p + i, text.p + text.n);
            if (!end)
                return false;
            i = (size_t)(end - text.p) - 1;
        } else if (b == '{' || b == '[') {
            if (++depth > JSON_DEPTH_MAX)
                return true;
        } else if ((b == '}' || b == ']') && depth) {
            depth--;
        }
    }
    return false;
}

bool pass_counted(json_iter *it, size_t *ret_count, daruma_str *value)
{
    daruma_str one;
    *ret_count = 0;
    if (*it->p != '[')
        return json_pass(it, value);
    json_iter in = json_enter(it);
    while (json_next(&in, NULL, &one))
        ++*ret_count;
    return json_leave(it, &in, value);
}

daruma_status whole_status(daruma_str body, const json_iter *it)
{
    if (whole_ok(it))
        return DARUMA_OK;
    return too_deep(body) ? DARUMA_EDEEP : DARUMA_EINPUT;
}

daruma_status fields_of_request(daruma_str body, field *f, size_t n, size_t which, size_t *ret_count)
{
    daruma_str key, value;
    json_iter it = whole_open(body);
    while (json_step(&it, &key))
        if (which < n && key_is(key, f[which].key) ? pass_counted(&it, ret_count, &value) : json_pass(&it, &value))
            field_take(f, n, key, value);
    return whole_status(body, &it);
}

daruma_status fields_of_body(daruma_str body, field *f, size_t n)
{
    return fields_of_request(body, f, n, n, NULL);
}

daruma_str text_of(convo *c, daruma_str value)
{
    daruma_str text = json_text(value, c->arena);
    c->full |= c->arena->full;
    return text;
}

bool null_or_none(daruma_str value)
{
    return value.n == 0 || json_is_null(value);
}

int tri_of(daruma_str value)
{
    return json_is_true(value) ? 1 : value.n == 5 && value.p[0] == 'f' ? 0 : -1;
}

void media_from_url(convo_part *p, daruma_str url)
{
    size_t comma = str_istarts(url, S("data:")) ? str_findch(url, ',') : STR_NONE;
    daruma_str head = comma == STR_NONE ? (daruma_str){0} : str_sub(url, 5, comma - 5);
    if (str_ends(head, S(";base64"))) {
        p->media = str_from(url, comma + 1);
        p->media_type = str_cut(&head, ';');
    } else {
        p->media = url;
        p->media_url = true;
    }
}

void read_each(convo *c, daruma_str list, void (*one)(convo *c, daruma_str raw, size_t i, size_t of))
{
    daruma_str raw;
    size_t i = 0, of = json_count(list);
    json_iter it = json_is_array(list) ? quick_open(list) : (json_iter){.bad = true};
    while (!c->full && json_next(&it, NULL, &raw))
        one(c, raw, i++, of);
}

convo_tool *tool_add(convo *c, daruma_str raw, size_t of)
{
    if (!c->tools && !(c->tools = ARENA_NEW(c->arena, convo_tool, of))) {
        c->full = true;
        return NULL;
    }
    convo_tool *t = &c->tools[c->ntools++];
    *t = (convo_tool){.raw = raw};
    return t;
}

void format_read(convo *c, daruma_str format, daruma_str schema)
{
    convo_settings *s = &c->set;
    daruma_str type = json_get(format, S("type"));
    s->format = value_is(type, S("json_schema"))   ? FORMAT_SCHEMA
                : value_is(type, S("json_object")) ? FORMAT_JSON
                : value_is(type, S("text"))        ? FORMAT_TEXT
                                                   : FORMAT_UNSAID;
    if (s->format != FORMAT_SCHEMA)
        return;
    s->format_schema = json_get(schema, S("schema"));
    s->format_name = text_of(c, json_get(schema, S("name")));
    s->format_strict = json_is_true(json_get(schema, S("strict")));
}

void settings_tidy(convo_settings *s)
{
    daruma_str *const raws[] = {&s->temperature,      &s->top_p, &s->top_k, &s->seed, &s->frequency_penalty,
                                &s->presence_penalty, &s->stop};
    for (size_t i = 0; i < COUNT(raws); i++)
        if (json_is_null(*raws[i]))
            *raws[i] = (daruma_str){0};
}

/* ---- walking and replacing ---- */

splice splice_open(daruma_buf *out, daruma_str value)
{
    static const daruma_str empty = LIT("{}");
    if (!json_is_object(value) && !json_is_array(value))
        value = empty;
    splice s = {.out = out, .it = quick_open(value), .at = value.p + 1, .close = value.p[0] == '{' ? '}' : ']'};
    buf_putc(out, value.p[0]);
    return s;
}

bool splice_next(splice *s, daruma_str *key, daruma_str *value)
{
    daruma_str name;
    if (s->from) { /* the member before, kept or not, lies behind us */
        s->at = s->value.p + s->value.n;
        s->passed++;
        s->from = NULL;
    }
    if (!json_step(&s->it, &name))
        return false;
    s->from = s->close == '}' ? name.p - 1 : s->it.p;
    if (!json_pass(&s->it, &s->value)) {
        s->from = NULL;
        return false;
    }
    *value = s->value;
    if (key)
        *key = name;
    return true;
}

/* What stands before the member in hand: as it was, but no comma before the first that is written. */
static void splice_lead(splice *s)
{
    if (s->kept == 0 ? s->passed == 0 : s->passed > 0)
        buf_put(s->out, (daruma_str){s->at, (size_t)(s->from - s->at)});
    else if (s->kept)
        buf_putc(s->out, ',');
    s->kept++;
}

void splice_keep(splice *s)
{
    splice_lead(s);
    buf_put(s->out, (daruma_str){s->from, (size_t)(s->value.p + s->value.n - s->from)});
}

void splice_key(splice *s)
{
    splice_lead(s);
    buf_put(s->out, (daruma_str){s->from, (size_t)(s->value.p - s->from)});
}

void splice_named(splice *s, daruma_str name)
{
    splice_lead(s);
    if (s->close != '}')
        return;
    BUF_SAY(s->out, buf_quoted(name), ":");
}

void splice_add(splice *s, daruma_str name)
{
    if (s->kept++)
        buf_putc(s->out, ',');
    if (s->close != '}')
        return;
    buf_json(s->out, name);
    buf_putc(s->out, ':');
}

void splice_close(splice *s)
{
    const char *end = s->it.p ? s->it.p - 1 : s->at;
    if (s->kept && end > s->at)
        buf_put(s->out, (daruma_str){s->at, (size_t)(end - s->at)}); /* the white space before it */
    buf_putc(s->out, s->close);
}

static bool put_change(const change *x, const convo *c, const void *of, daruma_str old, daruma_buf *out)
{
    if (x->put)
        return x->put(c, of, old, out);
    put_same(out, old, x->text);
    return true;
}

size_t put_changed(daruma_buf *out, daruma_str object, const change *changes, size_t n, const convo *c, const void *of)
{
    daruma_str key, value;
    uint32_t there = 0;
    splice s = splice_open(out, object), before;
    while (splice_next(&s, &key, &value)) {
        size_t i = 0, was = out->n;
        while (i < n && !(changes[i].at ? value.p == changes[i].at : key_is(key, changes[i].key)))
            i++;
        before = s;
        if (i == n) {
            splice_keep(&s);
            continue;
        }
        there |= 1u << i;
        splice_key(&s);
        if (!put_change(&changes[i], c, of, value, out)) {
            s = before;
            out->n = was;
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t was = out->n;
        before = s;
        if (!changes[i].add || there >> i & 1)
            continue;
        splice_add(&s, changes[i].key);
        if (!put_change(&changes[i], c, of, (daruma_str){0}, out)) {
            s = before;
            out->n = was;
        }
    }
    splice_close(&s);
    return s.kept;
}

weave weave_open(daruma_buf *out, daruma_str list)
{
    weave w = {.out = out, .list = json_is_array(list) ? list : (daruma_str){0}};
    buf_putc(out, '[');
    w.at = w.list.n ? w.list.p + 1 : NULL;
    return w;
}

/* Do `raw` and what was written last follow each other in the list, with a comma between them or (before the first)
 * none? */
static bool weave_follows(const weave *w, daruma_str raw)
{
    if (!w->at || !lies_in(raw, w->list) || raw.p < w->at)
        return false;
    const char *p = space_end(w->at, raw.p);
    if (w->n) {
        if (p == raw.p || *p != ',')
            return false;
        p = space_end(p + 1, raw.p);
    }
    return p == raw.p;
}

void weave_next(weave *w, daruma_str raw)
{
    if (weave_follows(w, raw))
        buf_put(w->out, (daruma_str){w->at, (size_t)(raw.p - w->at)});
    else if (w->n)
        buf_putc(w->out, ',');
    w->at = lies_in(raw, w->list) ? raw.p + raw.n : NULL;
    w->n++;
}

void weave_raw(weave *w, daruma_str raw)
{
    weave_next(w, raw);
    buf_put(w->out, raw);
}

void weave_close(weave *w)
{
    const char *end = w->list.n ? w->list.p + w->list.n - 1 : NULL;
    if (w->at && space_end(w->at, end) == end)
        buf_put(w->out, (daruma_str){w->at, (size_t)(end - w->at)});
    buf_putc(w->out, ']');
}

/* ---- calls by id ---- */

static void index_calls(const convo *c)
{
    size_t n = 1;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++)
            n += c->messages[i].parts[k].kind == PART_CALL;
    map_expect(c->calls, c->arena, n);
    map_put(c->calls, c->arena, (daruma_str){0}); /* no call's id: it says that the conversation was looked through */
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++) {
            const convo_part *p = &c->messages[i].parts[k];
            uint64_t *at = p->kind == PART_CALL && p->id.n && p->name.n ? map_put(c->calls, c->arena, p->id) : NULL;
            if (at && !*at)
                *at = (uint64_t)i << 32 | (k + 1);
        }
}

const convo_part *call_of_id(const convo *c, daruma_str id)
{
    check(c->calls);
    if (!c->calls->n && !c->arena->full)
        index_calls(c);
    const uint64_t *at = id.n ? map_get(c->calls, id) : NULL;
    return at ? &c->messages[*at >> 32].parts[(*at & UINT32_MAX) - 1] : NULL;
}

/* ---- composing ---- */

void put_key(daruma_buf *out, const char *key)
{
    buf_key(out, str_of(key));
}

void put_open(daruma_buf *out, char bracket)
{
    buf_comma(out);
    buf_putc(out, bracket);
}

void put_text(daruma_buf *out, const char *key, daruma_str text)
{
    put_key(out, key);
    buf_json(out, text);
}

void put_raw(daruma_buf *out, const char *key, daruma_str raw)
{
    if (!raw.n)
        return;
    put_key(out, key);
    buf_put(out, raw);
}

void put_int(daruma_buf *out, const char *key, int64_t n)
{
    if (n < 0)
        return;
    put_key(out, key);
    buf_int(out, n);
}

void put_bool(daruma_buf *out, const char *key, bool yes)
{
    put_raw(out, key, yes ? S("true") : S("false"));
}

void put_same(daruma_buf *out, daruma_str old, daruma_str text)
{
    bool alike = text.n >= old.n - old.n / 4 || old.n < 64; /* much shorter is not the same: not worth a look */
    if (alike && value_is(old, text))
        buf_put(out, old);
    else
        buf_json(out, text);
}

void put_said(daruma_buf *out, const convo *c, const convo_part *p)
{
    if (part_encoded(p))
        json_put_anew(out, p->value);
    else
        buf_json(out, convo_part_text(c, p));
}

void put_role(daruma_buf *out, daruma_str old, const convo_message *m, daruma_str role)
{
    bool named = json_is_string(old) && old.n > 2;
    if (!named && !m->wire_role && m->role == CONVO_USER)
        buf_put(out, old);
    else
        put_same(out, old, role);
}

void put_media_url(daruma_buf *out, const convo_part *p)
{
    if (p->media_url) {
        buf_json(out, p->media);
        return;
    }
    size_t from = out->n;
    buf_json(out, p->media_type.n ? p->media_type : S("application/octet-stream"));
    daruma_str head = S("\"data:");
    char *room = buf_room(out, head.n - 1);
    if (!room)
        return;
    memmove(out->p + from + head.n, out->p + from + 1, out->n - from - 1);
    memcpy(out->p + from, head.p, head.n);
    out->n += head.n - 2; /* the closing quote of the type goes */
    BUF_LIT(out, ";base64,");
    size_t quote = out->n;
    buf_json(out, p->media);
    if (out->full)
        return;
    memmove(out->p + quote, out->p + quote + 1, out->n - quote - 1); /* and the opening one of the data */
    out->n--;
}

void put_by(daruma_buf *out, const char *key, bool (*put)(const convo *c, daruma_str old, daruma_buf *out),
            const convo *c)
{
    size_t n = out->n;
    put_key(out, key);
    if (!put(c, (daruma_str){0}, out))
        out->n = n;
}

bool put_tools(const convo *c, const char *head, void (*put)(const convo_tool *t, daruma_buf *out), const char *tail,
               daruma_buf *out)
{
    bool some = false;
    for (size_t i = 0; i < c->ntools; i++) {
        const convo_tool *t = &c->tools[i];
        if (t->hosted || !t->name.n)
            continue;
        if (!some) {
            put_key(out, "tools");
            buf_putz(out, head);
        }
        some = true;
        put_open(out, '{');
        put(t, out);
        buf_putc(out, '}');
    }
    if (some)
        buf_putz(out, tail);
    return some;
}

void openai_put_choice(const convo_settings *s, bool within, daruma_buf *out)
{
    static const char *const words[] = {
        [CHOICE_AUTO] = "\"auto\"", [CHOICE_NONE] = "\"none\"", [CHOICE_ANY] = "\"required\""};
    if (s->choice == CHOICE_ONE) {
        put_key(out, "tool_choice");
        BUF_SAY(out, "{\"type\":\"function\",", within ? "\"function\":{" : "", "\"name\":", buf_quoted(s->choice_name),
                within ? "}}" : "}");
    } else if (s->choice != CHOICE_UNSAID) {
        put_raw(out, "tool_choice", str_of(words[s->choice]));
    }
    if (s->parallel >= 0)
        put_bool(out, "parallel_tool_calls", s->parallel);
}

void openai_put_schema(const convo_settings *s, daruma_buf *out)
{
    put_text(out, "name", s->format_name.n ? s->format_name : S("answer"));
    put_raw(out, "schema", s->format_schema);
    if (s->format_strict)
        put_bool(out, "strict", true);
}

void put_stops(daruma_buf *out, const char *key, daruma_str stop)
{
    if (!json_is_string(stop)) {
        put_raw(out, key, stop);
        return;
    }
    put_key(out, key);
    BUF_SAY(out, "[", stop, "]");
}

/* True if what was appended from `from` on is one JSON object and nothing else. */
static bool is_object_from(const daruma_buf *out, size_t from)
{
    daruma_str text = str_from(buf_str(out), from);
    return json_is_object(text) && text.p[text.n - 1] == '}' && json_valid(text);
}

bool put_arguments(const convo *c, const void *call, daruma_str old, daruma_buf *out)
{
    const convo_part *p = call;
    size_t from = out->n;
    (void)old;
    if (part_encoded(p)) {
        json_put_text(out, p->value);
        if (out->full || is_object_from(out, from))
            return true;
        out->n = from;
    }
    daruma_str text = str_trim(convo_part_text(c, p));
    if (json_is_object(text) && json_valid(text)) {
        buf_put(out, text);
    } else if (!text.n || json_is_null(text)) {
        BUF_LIT(out, "{}");
    } else {
        BUF_SAY(out, "{\"arguments\":", buf_quoted(text), "}");
    }
    return true;
}

void put_text_block(const convo *c, const convo_part *p, daruma_buf *out)
{
    BUF_LIT(out, "{\"type\":\"text\",\"text\":");
    put_said(out, c, p);
    buf_putc(out, '}');
}

void content_put(const convo *c, const content_wire *w, const convo_part *const *parts, size_t n, daruma_str old,
                 daruma_buf *out)
{
    const convo_part *only = n == 1 ? parts[0] : NULL;
    bool list = json_is_array(old);
    if (only && only->kind == PART_TEXT && !list && !json_is_object(only->raw)) {
        if (part_as_read(only))
            buf_put(out, only->raw);
        else
            put_said(out, c, only);
        return;
    }
    if (only && part_as_read(only) && only->raw.p == old.p) {
        buf_put(out, old); /* a content of no shape we know */
        return;
    }
    weave rows = weave_open(out, old);
    for (size_t i = 0; i < n; i++) {
        const convo_part *p = parts[i];
        weave_next(&rows, p->raw);
        if (!part_as_read(p))
            w->put(c, p, out);
        else if (json_is_string(p->raw) && !(list && lies_in(p->raw, old))) /* it was a whole content */
            BUF_SAY(out, "{\"type\":\"text\",\"text\":", p->raw, "}");
        else
            buf_put(out, p->raw);
    }
    weave_close(&rows);
}

void content_put_result(const convo *c, const content_wire *w, const convo_part *p, daruma_buf *out)
{
    const convo_part **live = p->nparts ? ARENA_NEW(c->arena, const convo_part *, p->nparts) : NULL;
    size_t n = 0;
    out->full |= p->nparts && !live;
    for (size_t i = 0; live && i < p->nparts; i++)
        if (w->has(c, &p->parts[i]))
            live[n++] = &p->parts[i];
    if (n)
        content_put(c, w, live, n, p->value, out);
    else if (part_encoded(p) && !p->raw.n)
        put_said(out, c, p);
    else if (p->nparts || p->ready || !p->value.n)
        put_same(out, p->value, p->nparts ? (daruma_str){0} : convo_part_text(c, p));
    else
        buf_put(out, p->value);
}
