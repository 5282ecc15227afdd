/* mend_stream.c - a stream that was held goes out as it came but for what was mended: names and arguments of calls, or
 * its text.
 *
 *     event -- read_delta --> where it stands in it --> the same bytes, with other values there
 *
 * What a wire says piece by piece stands whole in the first piece, and the others are empty. Responses says it up to
 * four times more when it is whole. */
#include "dialect/gemini/gemini.h"
#include "dialect/responses/responses.h"
#include "base/arena.h"

/* What is put in the place of a value. */
typedef enum mend_place {
    PLACE_NOTHING, /* an empty string */
    PLACE_WORDS,   /* the text */
    PLACE_INDEX,   /* Chat: of a call */
    PLACE_NAME,
    PLACE_NAME_AND_ARGS, /* of a call that has no member for its arguments */
    PLACE_ARGS,          /* the arguments as a string ... */
    PLACE_OBJECT,        /* ... and as an object */
    PLACE_PART,          /* a call that came in pieces, whole */
    PLACE_NO_PART,       /* nothing, where a part must stand */
    PLACE_KINDS
} mend_place;

typedef struct mending_stream {
    const dialect *d;
    turn_reader r;
    const stream_mend *what;
    bool spoke;                /* the text is out ... */
    int64_t item_at, words_at; /* ... Responses: as the text of this item, at this place in it */
    int64_t at;                /* Responses: the item of the event at hand, as the reader sees it */
    hole *holes;               /* of the event at hand: what = call * PLACE_KINDS + place */
    size_t nholes, cap;
    daruma_arena *a;
    bool lost; /* no memory */
} mending_stream;

/* False: there is no such place. */
static bool add_place(mending_stream *m, daruma_str span, size_t call, mend_place place)
{
    if (!span.n)
        return false;
    hole *more = arena_grow(m->a, m->holes, m->nholes, &m->cap, sizeof *more, 8);
    m->lost |= !more;
    if (!more)
        return false;
    m->holes = more;
    m->holes[m->nholes++] = (hole){span, (int)(call * PLACE_KINDS + place)};
    return true;
}

/* Chat and Gemini begin a call with all that there is of it. */
static bool begins_whole(const dialect *d)
{
    return d == &dialect_openai || d == &dialect_gemini;
}

static mend_place args_place(const dialect *d, daruma_str span)
{
    bool object = d == &dialect_gemini || (d == &dialect_anthropic && json_is_object(span));
    return object ? PLACE_OBJECT : PLACE_ARGS;
}

/* `again`: the event says the call whole. */
static void place_call(mending_stream *m, const turn_delta *d, bool again)
{
    size_t i = (size_t)d->index;
    call_mend *call = d->index >= 0 && i < m->what->ncalls ? &m->what->calls[i] : NULL;
    if (!call || !call->edited)
        return;
    if (m->what->renumbered)
        add_place(m, d->index_at, i, PLACE_INDEX);
    if (d->part_at.n) {
        add_place(m, d->part_at, i, d->kind == DELTA_CALL ? PLACE_PART : PLACE_NO_PART);
        call->said = true;
        return;
    }
    if (d->kind == DELTA_CALL && begins_whole(m->d) && !d->custom) {
        call->named = add_place(m, d->name_at, i, d->text_at.n ? PLACE_NAME : PLACE_NAME_AND_ARGS);
        call->said = add_place(m, d->text_at, i, args_place(m->d, d->text_at)) || call->named;
    } else if (d->kind == DELTA_CALL) {
        call->named = add_place(m, d->name_at, i, PLACE_NAME);
    } else if (d->kind == DELTA_ARGUMENTS) {
        /* what it adds to the name, or the name of a call that began without any */
        call->named |= add_place(m, d->name_at, i, call->named ? PLACE_NOTHING : PLACE_NAME);
        if (d->custom)
            return;
        /* in the event that begins the call they stand there already: of two at one place the first counts */
        mend_place place = call->said && !again ? PLACE_NOTHING : args_place(m->d, d->text_at);
        call->said |= add_place(m, d->text_at, i, place);
    }
}

/* Responses says which text it is. */
static void place_words(mending_stream *m, const turn_delta *d, const dialect_said *e)
{
    if (!m->spoke) {
        m->item_at = m->at;
        m->words_at = e->part_at;
    }
    m->spoke |= add_place(m, d->text_at, 0, m->spoke ? PLACE_NOTHING : PLACE_WORDS);
}

/* ---- Responses says again what was said ---- */

static bool is_type(daruma_str value, daruma_str type)
{
    return value_is(json_get(value, S("type")), type);
}

static void place_words_again(mending_stream *m, daruma_str text, int64_t item_at, int64_t words_at)
{
    bool first = item_at == m->item_at && words_at == m->words_at;
    if (m->what->text)
        add_place(m, text, 0, first ? PLACE_WORDS : PLACE_NOTHING);
}

static void place_call_again(mending_stream *m, daruma_str call, int nth)
{
    if (nth < 0 || (size_t)nth >= m->what->ncalls || !m->what->calls[nth].edited)
        return;
    add_place(m, json_get(call, S("name")), (size_t)nth, PLACE_NAME);
    add_place(m, json_get(call, S("arguments")), (size_t)nth, PLACE_ARGS);
}

static bool is_call(daruma_str item)
{
    return responses_calls_function(value_raw(json_get(item, S("type"))), item);
}

/* An item that is said whole; `nth`: of a call. */
static void place_item(mending_stream *m, daruma_str item, int64_t at, int nth)
{
    daruma_str part;
    int64_t i = 0;
    if (is_type(item, S("message")))
        for (json_iter it = json_open(json_get(item, S("content"))); json_next(&it, NULL, &part); i++)
            place_words_again(m, json_get(part, S("text")), at, i);
    if (is_call(item))
        place_call_again(m, item, nth);
}

/* True: the event says again what was said. */
static bool place_again(mending_stream *m, const dialect_said *e, daruma_str data)
{
    daruma_str item;
    int64_t at = 0;
    int nth = 0;
    if (m->d != &dialect_openai_responses)
        return false;
    if (json_is_array(e->parts)) {
        for (json_iter it = json_open(e->parts); json_next(&it, NULL, &item); at++) {
            place_item(m, item, at, nth);
            nth += is_call(item);
        }
        return true;
    }
    nth = call_find(&m->r, (int)m->at);
    if (str_eq(e->type, S("response.output_text.done")))
        place_words_again(m, e->words, m->at, e->part_at);
    else if (str_eq(e->type, S("response.content_part.done")))
        place_words_again(m, json_get(e->piece, S("text")), m->at, e->part_at);
    else if (str_eq(e->type, S("response.function_call_arguments.done")))
        place_call_again(m, str_trim(data), nth);
    else if (str_eq(e->type, S("response.output_item.done")))
        place_item(m, e->item, m->at, nth);
    return str_ends(e->type, S(".done"));
}

/* ---- writing ---- */

static void fill_place(daruma_buf *out, int what, daruma_str span, const void *user)
{
    const mending_stream *m = user;
    const call_mend *call = &m->what->calls[what / PLACE_KINDS];
    switch ((mend_place)(what % PLACE_KINDS)) {
    case PLACE_NOTHING:
        BUF_LIT(out, "\"\"");
        return;
    case PLACE_WORDS:
        buf_json(out, *m->what->text);
        return;
    case PLACE_INDEX:
        buf_int(out, what / PLACE_KINDS);
        return;
    case PLACE_NAME:
        buf_json(out, call->name);
        return;
    case PLACE_NAME_AND_ARGS:
        buf_json(out, call->name);
        buf_putz(out, m->d == &dialect_gemini ? ",\"args\":" : ",\"arguments\":");
        if (m->d == &dialect_gemini)
            put_args(out, call->args);
        else
            buf_json(out, arguments_text(call->args));
        return;
    case PLACE_ARGS:
        buf_json(out, arguments_text(call->args));
        return;
    case PLACE_OBJECT:
        put_args(out, call->args);
        return;
    case PLACE_PART:
        gemini_put_call(out, json_text(json_get(gemini_get(span, S("functionCall")), S("id")), m->a), call->name,
                        call->args, (daruma_str){0});
        return;
    case PLACE_NO_PART:
        BUF_LIT(out, "{\"text\":\"\"}");
        return;
    case PLACE_KINDS:
        return;
    }
}

/* Data of several lines was joined, and is put on several lines again. */
static void put_lines(mending_stream *m, const sse_event *e, daruma_buf *out)
{
    daruma_buf data = buf_in(m->a);
    put_filled(&data, e->data, m->holes, m->nholes, fill_place, m);
    if (e->event.n) {
        BUF_LIT(out, "event: ");
        buf_put(out, e->event);
        buf_putc(out, '\n');
    }
    for (daruma_str rest = buf_str(&data); rest.n;) {
        size_t end = str_findch(rest, '\n');
        BUF_LIT(out, "data: ");
        buf_put(out, str_sub(rest, 0, end == STR_NONE ? rest.n : end));
        buf_putc(out, '\n');
        rest = end == STR_NONE ? S("") : str_from(rest, end + 1);
    }
    buf_putc(out, '\n');
    m->lost |= data.full;
}

static void mend_event(mending_stream *m, const sse_event *e, daruma_buf *out)
{
    turn_delta few[TURN_DELTAS_FEW];
    dialect_said event;
    dialect_read_event(m->d, e, &event);
    m->at = event.at >= 0 ? event.at : m->r.open >= 0 ? m->r.open : m->r.blocks; /* some say no output_index */
    turn_deltas said = m->d->read_delta(&m->r, &event, few, m->a);
    m->nholes = 0;
    m->lost |= said.full;
    for (size_t i = 0; m->what->text && i < said.n; i++)
        if (said.p[i].kind == DELTA_TEXT)
            place_words(m, &said.p[i], &event);
    bool again = event.object && place_again(m, &event, e->data);
    for (size_t i = 0; i < said.n; i++)
        place_call(m, &said.p[i], again);
    bool slice = e->data.p >= e->raw.p && e->data.p + e->data.n <= e->raw.p + e->raw.n;
    if (!m->nholes)
        buf_put(out, e->raw);
    else if (slice)
        put_filled(out, e->raw, m->holes, m->nholes, fill_place, m);
    else
        put_lines(m, e, out);
}

bool dialect_mend_stream(const dialect *d, const turn_reader *at, daruma_str events, const stream_mend *what,
                         daruma_buf *out, daruma_arena *a)
{
    mending_stream m = {.d = d, .r = *at, .what = what, .a = a};
    sse_event e;
    m.r.keep = a;
    while (sse_next(&events, &e, a))
        mend_event(&m, &e, out);
    buf_put(out, events);
    return !m.lost && !a->full && !out->full;
}

bool dialect_take_edits(const turn *t, stream_mend *ret, daruma_arena *a)
{
    ret->calls = ARENA_NEW(a, call_mend, t->message.nparts + 1);
    for (size_t i = 0; ret->calls && i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->kind == PART_CALL)
            ret->calls[ret->ncalls++] = (call_mend){.name = p->name, .args = p->text, .edited = p->edited};
        else if (p->kind == PART_TEXT && p->edited)
            ret->text = &p->text;
    }
    return ret->calls != NULL;
}

bool dialect_mend_array(const dialect *d, const turn *t, daruma_buf *out, daruma_arena *a)
{
    stream_mend what = {0};
    mending_stream m = {.d = d, .r = {.sequence = -1, .keep = a}, .what = &what, .a = a};
    const char *at = t->body.p;
    daruma_str response;
    if (!dialect_take_edits(t, &what, a))
        return false;
    for (json_iter it = json_open(str_trim(t->body)); json_next(&it, NULL, &response);) {
        sse_event e = {.raw = response, .data = response};
        buf_put(out, (daruma_str){at, (size_t)(response.p - at)});
        mend_event(&m, &e, out);
        at = response.p + response.n;
    }
    buf_put(out, (daruma_str){at, (size_t)(t->body.p + t->body.n - at)});
    return !m.lost && !a->full && !out->full;
}
