/* bridge.c - answers of one dialect for clients of another, whole and in flight; and questions of our own. */
#include "dialect/convert/convert.h"
#include "base/arena.h"
#include "dialect/kit/turn_kit.h"

/* A client hands thinking back with the next request. Anthropic and Responses check what they are handed, so theirs is
 * theirs alone; Chat and Gemini take it as words. */
bool dialect_takes_thinking(const dialect *d)
{
    return d == &dialect_openai || d == &dialect_gemini;
}

bool dialect_is_media(daruma_str part)
{
    static const daruma_str members[] = {LIT("inlineData"), LIT("inline_data"), LIT("fileData"), LIT("audio"),
                                         LIT("images")};
    bool is = false;
    for (size_t i = 0; i < COUNT(members); i++)
        is |= json_is_object(part) && value_given(json_get(part, members[i]));
    return is;
}

/* ---- whole ---- */

static bool is_json_object(daruma_str text)
{
    return !str_trim(text).n || (json_valid(text) && json_is_object(str_trim(text)));
}

static void carry_part(const dialect *to, const turn *t, convo_part *p, size_t nth, const write_ctx *x, daruma_arena *a)
{
    bool cut = t->finish == FINISH_LENGTH || t->finish == FINISH_WINDOW;
    if (p->kind == PART_THINKING) {
        p->dropped |= !dialect_takes_thinking(to) || !p->text.n;
        p->sealed = false;
    } else if (p->kind == PART_CALL) {
        p->dropped |= cut && !p->custom && !is_json_object(p->text); /* nobody must carry out half a call */
        if (!p->id.n && !convert_id_fits(to, p->id)) {               /* it comes back with the next request */
            daruma_buf id = buf_in(a);
            convert_put_id(&id, convert_hash(p->text, x->id + nth));
            p->id = buf_str(&id);
        }
        p->id = dialect_call_id(to, p->id, a);
    } else if (p->kind != PART_TEXT) {
        p->dropped = true;
    }
    p->signature = (daruma_str){0};
    p->raw = p->value = (daruma_str){0};
}

void dialect_carry_answer(turn *t, const dialect *to, const write_ctx *x, daruma_arena *a)
{
    t->body = t->message.raw = (daruma_str){0};
    for (size_t i = 0; i < t->message.nparts; i++)
        carry_part(to, t, &t->message.parts[i], i, x, a);
}

daruma_status dialect_convert_answer(const dialect *from, const dialect *to, daruma_str body, const write_ctx *x,
                                     daruma_buf *out, daruma_arena *a)
{
    turn t = {0};
    daruma_status s = from->read_answer(body, a, &t);
    if (s != DARUMA_OK)
        return s;
    if (from != to)
        dialect_carry_answer(&t, to, x, a);
    to->write_answer(&t, x, out);
    return out->full || a->full ? DARUMA_EFULL : DARUMA_OK;
}

/* ---- in flight ---- */

daruma_str dialect_done_item(const dialect_said *e)
{
    bool done = e->object && str_eq(e->type, S("response.output_item.done"));
    return done && json_is_object(e->item) ? e->item : (daruma_str){0};
}

void bridge_begin(stream_bridge *b, const dialect *from, const dialect *to, const write_ctx *x, daruma_arena *keep)
{
    *b = (stream_bridge){.from = from, .to = to};
    b->w.wall = x->wall;
    b->w.made = x->id;
    b->w.usage = TURN_USAGE_NONE;
    b->w.text.arena = b->r.keep = keep;
    size_t n = x->model.n < sizeof b->w.r.model ? x->model.n : sizeof b->w.r.model - 1;
    if (n)
        memcpy(b->w.r.model, x->model.p, n);
}

/* With an id that the target would take back. Without any, the writer makes one where there must be one. */
static void bridge_write_call(stream_bridge *b, const turn_delta *d, daruma_buf *out)
{
    char room[64];
    daruma_arena a = arena_over(room, sizeof room);
    turn_delta call = *d;
    call.id = dialect_call_id(b->to, d->id, &a);
    b->to->write_delta(&b->w, &call, out);
}

/* The end is written by bridge_end alone: usage may still come behind the stop reason. */
void bridge_event(stream_bridge *b, const sse_event *e, daruma_buf *out, daruma_arena *a)
{
    turn_delta few[TURN_DELTAS_FEW];
    turn_deltas said = dialect_read_delta(b->from, &b->r, e, few, a);
    b->w.broken |= b->r.lost || said.full;
    for (size_t i = 0; i < said.n; i++)
        if (said.p[i].kind == DELTA_USAGE) /* the beginning may have to say it */
            writer_finish(&b->w, &said.p[i]);
    for (size_t i = 0; i < said.n; i++) {
        const turn_delta *d = &said.p[i];
        bool thought = d->kind == DELTA_THINKING || d->kind == DELTA_SIGNATURE;
        if (thought && b->from != b->to && (d->kind == DELTA_SIGNATURE || !dialect_takes_thinking(b->to)))
            continue;
        if ((d->kind == DELTA_SOURCES && b->from != b->to) || (d->kind == DELTA_ARGUMENTS && !d->text.n))
            continue;
        if (d->kind == DELTA_END)
            bridge_end(b, out);
        else if (d->kind == DELTA_CALL && b->from != b->to)
            bridge_write_call(b, d, out);
        else
            b->to->write_delta(&b->w, d, out);
    }
}

bool bridge_end(stream_bridge *b, daruma_buf *out)
{
    if (b->w.r.ended)
        return !b->w.broken;
    if ((!b->r.finished && !b->r.ended) || b->w.finish == FINISH_ERROR || b->w.broken)
        return false;
    b->to->write_delta(&b->w, &(turn_delta){.kind = DELTA_END, .index = -1, .usage = TURN_USAGE_NONE}, out);
    return !b->w.broken;
}

/* ---- a whole answer ---- */

static void put(turn_writer *w, const dialect *to, turn_delta d, daruma_buf *out)
{
    if (d.kind != DELTA_USAGE && d.kind != DELTA_START)
        d.usage = TURN_USAGE_NONE;
    to->write_delta(w, &d, out);
}

daruma_str dialect_call_name(daruma_str so_far, const turn_delta *d, bool has_args, daruma_arena *a)
{
    daruma_buf name = buf_in(a);
    if (!d->name.n || (so_far.n && has_args))
        return so_far;
    BUF_SAY(&name, str_starts(d->name, so_far) ? S("") : so_far, d->name);
    return buf_str(&name);
}

void dialect_put_call(turn_writer *w, const dialect *to, const convo_part *call, int index, daruma_buf *out)
{
    convo owner = {.arena = w->text.arena};
    daruma_str args = convo_part_text(&owner, call);
    turn_delta begin = {.kind = DELTA_CALL, .index = index, .custom = call->custom, .id = call->id, .name = call->name};
    put(w, to, begin, out);
    put(w, to, (turn_delta){.kind = DELTA_ARGUMENTS, .index = index, .custom = call->custom, .text = args}, out);
    if (call->signature.n)
        put(w, to, (turn_delta){.kind = DELTA_SIGNATURE, .index = index, .text = call->signature}, out);
    put(w, to, (turn_delta){.kind = DELTA_CALL_END, .index = index}, out);
}

/* Thinking that goes out as it stands: an item of Responses with its id and what is encrypted, and of Anthropic what
 * has no words that a delta could say. */
static bool is_block(const turn *t, const dialect *to, const convo_part *p, daruma_str said)
{
    bool whole = to == &dialect_openai_responses || (to == &dialect_anthropic && !said.n);
    return t->body.n && p->raw.n && whole;
}

static void put_part(turn_writer *w, const dialect *to, const turn *t, const convo_part *p, int call, daruma_buf *out)
{
    delta_kind text = t->refused ? DELTA_REFUSAL : DELTA_TEXT;
    convo owner = {.arena = w->text.arena};
    daruma_str said = convo_part_text(&owner, p);
    switch (p->kind) {
    case PART_TEXT:
        put(w, to, (turn_delta){.kind = text, .index = -1, .text = said}, out);
        break;
    case PART_THINKING:
        if (is_block(t, to, p, said)) {
            put(w, to, (turn_delta){.kind = DELTA_BLOCK, .index = -1, .text = p->raw}, out);
            break;
        }
        put(w, to, (turn_delta){.kind = DELTA_BLOCK, .index = -1}, out); /* two thoughts are two */
        put(w, to, (turn_delta){.kind = DELTA_THINKING, .index = -1, .text = said}, out);
        if (p->signature.n)
            put(w, to, (turn_delta){.kind = DELTA_SIGNATURE, .index = -1, .text = p->signature}, out);
        break;
    case PART_CALL:
        dialect_put_call(w, to, p, call, out);
        break;
    case PART_RESULT:
    case PART_MEDIA:
    case PART_OTHER:
        if (t->body.n && p->raw.n) /* else it is of another dialect */
            put(w, to, (turn_delta){.kind = DELTA_BLOCK, .index = -1, .text = p->raw}, out);
        break;
    }
}

/* Chat has no place in its streams for what has no kind of its own. */
static bool is_sayable(const turn *t, const dialect *to)
{
    for (size_t i = 0; i < t->message.nparts && to == &dialect_openai; i++) {
        const convo_part *p = &t->message.parts[i];
        if (!p->dropped && (p->kind == PART_OTHER || p->kind == PART_MEDIA || p->kind == PART_RESULT))
            return false;
    }
    return true;
}

bool dialect_stream_answer(const turn *t, const dialect *to, const write_ctx *x, bool usage_asked, daruma_buf *out,
                           daruma_arena *a)
{
    turn_writer w = {.wall = x->wall,
                     .made = x->id,
                     .usage = t->usage,
                     .usage_asked = usage_asked,
                     .functions = x->functions,
                     .text = buf_in(a)};
    int calls = 0;
    if (!is_sayable(t, to))
        return false;
    turn_delta start = {.kind = DELTA_START, .index = -1, .id = t->id, .usage = t->usage};
    start.model = t->model.n ? t->model : x->model;
    put(&w, to, start, out);
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (!p->dropped)
            put_part(&w, to, t, p, calls, out);
        calls += !p->dropped && p->kind == PART_CALL;
    }
    put(&w, to, (turn_delta){.kind = DELTA_FINISH, .index = -1, .finish = t->finish, .finish_raw = t->finish_raw}, out);
    put(&w, to, (turn_delta){.kind = DELTA_USAGE, .index = -1, .usage = t->usage}, out);
    put(&w, to, (turn_delta){.kind = DELTA_END, .index = -1}, out);
    return !w.broken && !out->full && !a->full;
}

bool dialect_say(daruma_str text, const dialect *to, const write_ctx *x, bool stream, bool usage_asked, daruma_buf *out,
                 daruma_arena *a)
{
    convo_part part = {.kind = PART_TEXT, .ready = true, .text = text};
    turn t = {.finish = FINISH_STOP,
              .message = {.role = CONVO_ASSISTANT, .parts = &part, .nparts = 1}}; /* which took no tokens */
    if (stream && to->ends_streams)
        return dialect_stream_answer(&t, to, x, usage_asked, out, a);
    buf_putz(out, stream ? "data: " : ""); /* one event is all of it: a client keeps each as a turn of its own */
    to->write_answer(&t, x, out);
    buf_putz(out, stream ? "\n\n" : "");
    return !out->full;
}

/* ---- questions of our own ---- */

void dialect_write_ask(const dialect *d, daruma_str model, const daruma_question *q, daruma_buf *out, daruma_arena *a)
{
    char digits[32];
    daruma_buf temperature = buf_over(digits, sizeof digits);
    convo_part words[] = {{.kind = PART_TEXT, .ready = true, .text = q->system},
                          {.kind = PART_TEXT, .ready = true, .text = q->user}};
    bool apart = d->quirks & WIRE_SYSTEM_APART;
    convo_message said[] = {{.role = CONVO_SYSTEM, .apart = apart, .parts = &words[0], .nparts = 1},
                            {.role = CONVO_USER, .parts = &words[1], .nparts = 1}};
    size_t first = q->system.n ? 0 : 1;
    if (q->temperature_milli > 0)
        buf_printf(&temperature, "%d.%03d", (int)(q->temperature_milli / 1000), (int)(q->temperature_milli % 1000));
    convo c = {.quirks = d->quirks,
               .arena = a,
               .messages = said + first,
               .nmessages = 2 - first,
               .set = {.model = model,
                       .stream = -1,
                       .max_output = q->max_tokens > 0 ? q->max_tokens : -1,
                       .temperature = buf_str(&temperature),
                       .parallel = -1,
                       .thinking = -1,
                       .thinking_budget = -1}};
    d->write(&c, out);
}

daruma_str dialect_path(const dialect *d, daruma_str model, bool stream, daruma_arena *a)
{
    if (d->path.n)
        return d->path;
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "/v1beta/");
    if (!str_starts(model, S("models/")) && !str_starts(model, S("tunedModels/")))
        BUF_LIT(&b, "models/");
    buf_path(&b, model, "-._~/@");
    buf_put(&b, stream ? S(":streamGenerateContent?alt=sse") : S(":generateContent"));
    return b.full ? (daruma_str){0} : buf_str(&b);
}
