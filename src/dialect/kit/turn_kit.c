#include "dialect/kit/turn_kit.h"
#include "dialect/kit/convo_kit.h"
#include "base/arena.h"
#include "base/utf8.h"

static bool has_room(turn_deltas *l)
{
    if (l->n < l->cap)
        return true;
    turn_delta *more = ARENA_NEW(l->arena, turn_delta, 2 * l->cap);
    l->full |= !more;
    if (!more)
        return false;
    memcpy(more, l->p, l->n * sizeof *more);
    l->p = more;
    l->cap *= 2;
    return true;
}

turn_delta *delta_add(turn_deltas *l, delta_kind kind)
{
    turn_delta *d = has_room(l) ? &l->p[l->n++] : &l->spare;
    *d = (turn_delta){.kind = kind, .index = -1, .usage = TURN_USAGE_NONE};
    return d;
}

turn_delta *delta_text(turn_deltas *l, delta_kind kind, int index, daruma_str text)
{
    if (!text.n)
        return NULL;
    turn_delta *d = delta_add(l, kind);
    d->index = index;
    d->text = text;
    return d;
}

void keep_cut(char *to, size_t cap, daruma_str s)
{
    size_t n = utf8_floor(s, cap - 1);
    if (n)
        memcpy(to, s.p, n);
    to[n] = 0;
}

static daruma_str kept_long(const turn_reader *r, size_t cap, daruma_str id)
{
    return id.n < cap || !r->keep ? (daruma_str){0} : arena_copy(r->keep, id);
}

/* The answer has that id. */
static void reader_id(turn_reader *r, daruma_str id)
{
    KEEP(r->id, id);
    r->long_id = kept_long(r, sizeof r->id, id);
}

void reader_item(turn_reader *r, daruma_str id)
{
    KEEP(r->item, id);
    r->long_item = kept_long(r, sizeof r->item, id);
}

bool reader_is_item(const turn_reader *r, daruma_str id)
{
    char cut[sizeof r->item];
    if (r->long_item.n)
        return str_eq(id, r->long_item);
    KEEP(cut, id);
    return strcmp(cut, r->item) == 0;
}

turn_delta *reader_start(turn_deltas *l, turn_reader *r, const dialect_said *e, daruma_arena *a)
{
    if (r->began)
        return NULL;
    turn_delta *d = delta_add(l, DELTA_START);
    d->id = json_text(e->id, a);
    d->model = json_text(e->model, a);
    reader_id(r, d->id);
    KEEP(r->model, d->model);
    r->created = json_int(e->created, 0);
    block_open(r, -1, DELTA_OTHER);
    r->began = true;
    return d;
}

int call_begin(turn_reader *r, int at)
{
    int16_t *slot = &r->call_block[r->calls % TURN_CALLS_MAX];
    if (r->calls >= TURN_CALLS_MAX && *slot >= r->gone)
        r->gone = *slot + 1;
    *slot = (int16_t)(at < 0 || at > INT16_MAX ? INT16_MAX : at);
    return r->calls++;
}

int call_find(const turn_reader *r, int at)
{
    for (int i = r->calls; i-- > call_oldest(r);)
        if (r->call_block[i % TURN_CALLS_MAX] == at)
            return i;
    return -1;
}

int call_told(turn_reader *r, int at)
{
    int nth = call_find(r, at);
    r->lost |= nth < 0 && at < r->gone;
    return nth;
}

daruma_str reader_piece(turn_reader *r, int nth, daruma_str value, daruma_arena *a)
{
    if (r->half_of != nth)
        r->half = 0;
    r->half_of = (int16_t)nth;
    return json_text_on(value, &r->half, a);
}

void block_open(turn_reader *r, int at, delta_kind kind)
{
    r->half = 0;
    r->open = at;
    r->open_kind = kind;
    r->open_bytes = 0;
    if (at >= r->blocks && at < INT32_MAX)
        r->blocks = at + 1;
}

static const finish_name *finish_row(const finish_table *t, daruma_str said)
{
    for (size_t i = 0; said.n && i < t->n; i++)
        if (str_eq(said, t->rows[i].name))
            return &t->rows[i];
    return NULL;
}

turn_finish finish_of(const finish_table *t, daruma_str said)
{
    const finish_name *row = finish_row(t, said);
    return row ? row->finish : said.n ? FINISH_STOP : FINISH_NONE;
}

bool finish_told(const finish_table *t, daruma_str said)
{
    const finish_name *row = finish_row(t, said);
    return row && row->told;
}

daruma_str finish_word(const finish_table *t, turn_finish finish)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].finish == finish)
            return t->rows[i].name;
    return t->rows[0].name;
}

daruma_status answer_status(daruma_str body)
{
    daruma_status status = fields_of_body(body, NULL, 0);
    return status == DARUMA_OK ? DARUMA_EINPUT : status;
}

daruma_status answer_open(const dialect *d, daruma_str body, dialect_said *s, turn *ret, daruma_arena *a)
{
    *s = (dialect_said){0};
    d->read_whole(body, s);
    if (!s->object)
        return answer_status(body);
    *ret = (turn){.body = body, .message = {.role = CONVO_ASSISTANT, .raw = str_trim(body)}};
    ret->id = json_text(s->id, a);
    ret->model = json_text(s->model, a);
    ret->finish_raw = json_text(s->finish_at, a);
    ret->finish = d->finish(ret->finish_raw);
    return DARUMA_OK;
}

convo_part *answer_part(turn *t, daruma_arena *a, part_kind kind, daruma_str raw)
{
    convo_message *m = &t->message;
    size_t cap = m->cap;
    convo_part *parts = arena_grow(a, m->parts, m->nparts, &cap, sizeof *parts, 8);
    if (!parts || cap > UINT32_MAX)
        return NULL;
    m->parts = parts;
    m->cap = (uint32_t)cap;
    convo_part *p = &parts[m->nparts++];
    *p = (convo_part){.kind = kind, .raw = raw, .ready = true};
    return p;
}

bool answer_edited(const turn *t)
{
    if (t->message.edited)
        return true;
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->edited || p->dropped || !p->raw.n)
            return true;
    }
    return false;
}

bool answer_says(const turn *t, part_kind kind)
{
    for (size_t i = 0; i < t->message.nparts; i++)
        if (t->message.parts[i].kind == kind && !t->message.parts[i].dropped)
            return true;
    return false;
}

/* Strings put one behind the other: each is written whole as JSON and its quotes are taken off. */
void put_texts(daruma_buf *out, const turn *t, part_kind kind, const char *at_raw)
{
    size_t begun = out->n;
    bool any = false;
    buf_putc(out, '"');
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->kind != kind || p->dropped || (at_raw && p->raw.n && p->raw.p != at_raw))
            continue;
        any = true;
        size_t at = out->n;
        buf_json(out, p->text);
        if (out->full)
            return;
        memmove(out->p + at, out->p + at + 1, out->n - at - 2);
        out->n -= 2;
    }
    if (any) {
        buf_putc(out, '"');
    } else {
        out->n = begun;
        BUF_LIT(out, "null");
    }
}

daruma_str arguments_text(daruma_str text)
{
    return str_trim(text).n ? text : S("{}");
}

void fill_part(daruma_buf *out, int what, daruma_str span, const void *part)
{
    const convo_part *p = part;
    (void)span;
    if (what == HOLE_INPUT)
        put_args(out, p->text);
    else
        buf_json(out, what == HOLE_ID          ? p->id
                      : what == HOLE_NAME      ? p->name
                      : what == HOLE_ARGUMENTS ? arguments_text(p->text)
                                               : p->text);
}

void put_one_line(daruma_buf *out, daruma_str json)
{
    size_t begun = out->n;
    buf_put(out, json);
    for (const char *c = "\n\r"; *c && out->n > begun; c++)
        for (char *p = out->p + begun; (p = memchr(p, *c, (size_t)(out->p + out->n - p)));)
            *p = ' ';
}

/* What is no JSON object cannot stand where one must: it is kept as a text in one. */
void put_args(daruma_buf *out, daruma_str text)
{
    daruma_str value;
    if (!str_trim(text).n) {
        BUF_LIT(out, "{}");
    } else if (json_whole(text, &value) && json_is_object(value)) {
        put_one_line(out, value);
    } else {
        BUF_SAY(out, "{\"arguments\":", buf_quoted(text), "}");
    }
}

void put_filled(daruma_buf *out, daruma_str whole, hole *holes, size_t n,
                void (*fill)(daruma_buf *out, int what, daruma_str span, const void *user), const void *user)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k && holes[k].span.p < holes[k - 1].span.p; k--) {
            hole h = holes[k];
            holes[k] = holes[k - 1];
            holes[k - 1] = h;
        }
    const char *at = whole.p;
    for (size_t i = 0; i < n; i++) {
        if (!holes[i].span.n || holes[i].span.p < at)
            continue;
        buf_put(out, (daruma_str){at, (size_t)(holes[i].span.p - at)});
        fill(out, holes[i].what, holes[i].span, user);
        at = holes[i].span.p + holes[i].span.n;
    }
    buf_put(out, (daruma_str){at, (size_t)(whole.p + whole.n - at)});
}

void put_elements(daruma_buf *out, daruma_str array, const turn *t, bool (*mine)(const convo_part *p),
                  void (*put)(daruma_buf *out, const convo_part *p))
{
    const char *at = array.p + 1; /* behind what was written or left out last */
    bool any = false, gap = true; /* the bytes between `at` and the next element may be kept */
    buf_putc(out, '[');
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if ((mine && !mine(p)) || (p->dropped && !p->raw.n))
            continue;
        if (p->dropped) {
            at = p->raw.p + p->raw.n;
            gap = false;
            continue;
        }
        if (p->raw.n && gap)
            buf_put(out, (daruma_str){at, (size_t)(p->raw.p - at)});
        else if (any)
            buf_putc(out, ',');
        if (p->raw.n && !p->edited)
            buf_put(out, p->raw);
        else
            put(out, p);
        if (p->raw.n) {
            at = p->raw.p + p->raw.n;
            gap = true;
        } else if (!any) {
            gap = false;
        }
        any = true;
    }
    if (gap)
        buf_put(out, (daruma_str){at, (size_t)(array.p + array.n - at)});
    else
        buf_putc(out, ']');
}

void writer_keep(turn_writer *w, daruma_buf *b, daruma_str s)
{
    if (!b->arena && !b->cap)
        b->arena = w->text.arena;
    buf_put(b, s);
}

void writer_put_usage(const turn_writer *w, void (*put)(daruma_buf *out, const turn_usage *u), daruma_buf *out)
{
    if (w->usage_raw.n)
        put_one_line(out, w->usage_raw);
    else
        put(out, &w->usage);
}

void writer_finish(turn_writer *w, const turn_delta *d)
{
    if (d->kind == DELTA_USAGE || d->kind == DELTA_START) {
        usage_merge(&w->usage, &d->usage);
    } else if (d->kind == DELTA_FINISH && d->finish != FINISH_NONE) {
        w->finish = d->finish;
    }
}

bool writer_begin(turn_writer *w, const turn_delta *start, const char *prefix)
{
    turn_reader *r = &w->r;
    if (r->began)
        return false;
    r->began = true;
    block_open(r, -1, DELTA_OTHER);
    if (start && start->id.n) {
        r->keep = w->text.arena;
        reader_id(r, start->id);
    } else {
        daruma_buf id = buf_over(r->id, sizeof r->id - 1);
        put_made_id(&id, prefix, w->made, 0);
        r->id[id.n] = 0;
    }
    if (start && start->model.n)
        KEEP(r->model, start->model);
    return true;
}

bool writer_in_call(const turn_writer *w, const turn_delta *d)
{
    return w->r.open >= 0 && w->r.open_kind == DELTA_CALL && d->index + w->call_shift == w->r.calls - 1;
}

turn_finish writer_ends(const turn_writer *w)
{
    return w->r.calls && (w->finish == FINISH_STOP || !w->finish) ? FINISH_CALLS : w->finish;
}

void put_made_id(daruma_buf *out, const char *prefix, uint64_t made, uint64_t nth)
{
    buf_putz(out, prefix);
    BUF_LIT(out, "daruma");
    buf_hex64(out, made + nth * 0x9e3779b97f4a7c15u); /* steps of the golden ratio never meet */
}

void put_id(daruma_buf *out, daruma_str id, const char *prefix, uint64_t made, uint64_t nth)
{
    if (id.n) {
        buf_json(out, id);
    } else {
        buf_putc(out, '"');
        put_made_id(out, prefix, made, nth);
        buf_putc(out, '"');
    }
}
