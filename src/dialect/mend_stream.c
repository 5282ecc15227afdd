/* mend_stream.c - a stream that was held goes out as it came but for the names and arguments of calls that were mended.
 *
 *     event -- read_delta --> where calls stand in it --> the same bytes, with other values there
 *
 * What a wire says piece by piece stands whole in the first piece, and the others are empty. Responses says each call
 * three times more when it is whole. */
#include "dialect/turn_kit.h"
#include "base/arena.h"

/* What is put in the place of a value. */
typedef enum call_place {
    PLACE_NAME,
    PLACE_NAME_AND_TEXT, /* of a call that has no member for its arguments */
    PLACE_TEXT,          /* the arguments as a string ... */
    PLACE_OBJECT,        /* ... and as an object */
    PLACE_NOTHING,       /* an empty string */
    PLACE_KINDS
} call_place;

typedef struct mending_stream {
    const dialect *d;
    turn_reader r;
    call_mend *calls;
    size_t ncalls;
    hole *holes; /* of the event at hand: what = call * PLACE_KINDS + place */
    size_t nholes, cap;
    daruma_arena *a;
    bool lost; /* no memory */
} mending_stream;

static void add_place(mending_stream *m, daruma_str span, size_t call, call_place place)
{
    if (!span.n)
        return;
    hole *more = arena_grow(m->a, m->holes, m->nholes, &m->cap, sizeof *more, 8);
    m->lost |= !more;
    if (!more)
        return;
    m->holes = more;
    m->holes[m->nholes++] = (hole){span, (int)(call * PLACE_KINDS + place)};
}

/* Chat and Gemini begin a call with all that there is of it. */
static bool begins_whole(const dialect *d)
{
    return d == &dialect_openai || d == &dialect_gemini;
}

static call_place place_of(const dialect *d, daruma_str span)
{
    bool object = d == &dialect_gemini || (d == &dialect_anthropic && json_is_object(span));
    return object ? PLACE_OBJECT : PLACE_TEXT;
}

/* `again`: the event says the call whole. */
static void place_delta(mending_stream *m, const turn_delta *d, bool again)
{
    size_t i = (size_t)d->index;
    call_mend *call = d->index >= 0 && i < m->ncalls ? &m->calls[i] : NULL;
    if (!call || !call->edited)
        return;
    if (d->kind == DELTA_CALL && begins_whole(m->d)) {
        add_place(m, d->name_at, i, d->text_at.n ? PLACE_NAME : PLACE_NAME_AND_TEXT);
        add_place(m, d->text_at, i, place_of(m->d, d->text_at));
        call->said = true;
    } else if (d->kind == DELTA_CALL) {
        add_place(m, d->name_at, i, PLACE_NAME);
    } else if (d->kind == DELTA_ARGUMENTS) { /* in the event that begins the call it stands there already */
        add_place(m, d->text_at, i, call->said && !again ? PLACE_NOTHING : place_of(m->d, d->text_at));
        call->said = true;
    }
}

/* A call of Responses that is said whole. */
static void place_item(mending_stream *m, daruma_str item, size_t nth)
{
    if (nth >= m->ncalls || !m->calls[nth].edited)
        return;
    add_place(m, json_get(item, S("name")), nth, PLACE_NAME);
    add_place(m, json_get(item, S("arguments")), nth, PLACE_TEXT);
}

static bool is_function(daruma_str item)
{
    return value_is(json_get(item, S("type")), S("function_call"));
}

/* The events of Responses that say again what was said. True: this is one. */
static bool place_again(mending_stream *m, daruma_str data)
{
    daruma_str type = value_raw(json_get(data, S("type"))), item = json_get(data, S("item"));
    daruma_str output = json_get(json_get(data, S("response")), S("output"));
    int nth = call_find(&m->r, (int)json_int(json_get(data, S("output_index")), -1));
    size_t i = 0;
    if (m->d != &dialect_openai_responses)
        return false;
    if (json_is_array(output)) {
        for (json_iter it = json_open(output); json_next(&it, NULL, &item);)
            if (is_function(item))
                place_item(m, item, i++);
        return true;
    }
    if (!str_ends(type, S(".done")) || nth < 0)
        return false;
    if (str_eq(type, S("response.function_call_arguments.done")))
        place_item(m, data, (size_t)nth);
    else if (is_function(item))
        place_item(m, item, (size_t)nth);
    return true;
}

static void fill_place(daruma_buf *out, int what, daruma_str span, const void *user)
{
    const mending_stream *m = user;
    const call_mend *call = &m->calls[what / PLACE_KINDS];
    (void)span;
    switch ((call_place)(what % PLACE_KINDS)) {
    case PLACE_NAME:
        buf_json(out, call->name);
        return;
    case PLACE_NAME_AND_TEXT:
        buf_json(out, call->name);
        buf_putz(out, m->d == &dialect_gemini ? ",\"args\":" : ",\"arguments\":");
        if (m->d == &dialect_gemini)
            put_args(out, call->args);
        else
            buf_json(out, arguments_text(call->args));
        return;
    case PLACE_TEXT:
        buf_json(out, arguments_text(call->args));
        return;
    case PLACE_OBJECT:
        put_args(out, call->args);
        return;
    case PLACE_NOTHING:
        BUF_LIT(out, "\"\"");
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
    daruma_str data;
    turn_deltas said = m->d->read_delta(&m->r, e, few, m->a);
    m->nholes = 0;
    m->lost |= said.full;
    bool again = json_whole(e->data, &data) && place_again(m, data);
    for (size_t i = 0; i < said.n; i++)
        place_delta(m, &said.p[i], again);
    bool slice = e->data.p >= e->raw.p && e->data.p + e->data.n <= e->raw.p + e->raw.n;
    if (!m->nholes)
        buf_put(out, e->raw);
    else if (slice)
        put_filled(out, e->raw, m->holes, m->nholes, fill_place, m);
    else
        put_lines(m, e, out);
}

bool dialect_mend_stream(const dialect *d, const turn_reader *at, daruma_str events, call_mend *calls, size_t n,
                         daruma_buf *out, daruma_arena *a)
{
    mending_stream m = {.d = d, .r = *at, .calls = calls, .ncalls = n, .a = a};
    sse_event e;
    m.r.keep = a;
    while (sse_next(&events, &e, a))
        mend_event(&m, &e, out);
    buf_put(out, events);
    return !m.lost && !a->full && !out->full;
}
