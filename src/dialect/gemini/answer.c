/* answer.c - what an answer of Gemini says (one response, all the responses of a stream as one array, or one event),
 * and how a whole one is written: https://ai.google.dev/api/generate-content. Each byte is walked once; only the
 * members of the parts are read again, by those who want more than flags. A stream is whole responses one after the
 * other; calls come whole, unless their arguments are asked for in pieces. It has no terminal marker, so that DELTA_END
 * is never read: it is over when it ends behind a stop reason. */
#include "dialect/gemini/gemini.h"

/* Thoughts are counted beside the candidates, and what Google's own tools read beside the prompt. */
turn_usage gemini_read_usage(daruma_str usage)
{
    turn_usage u = TURN_USAGE_NONE;
    daruma_str key, value;
    int64_t tools = -1;
    for (json_iter it = json_open(usage); json_next(&it, &key, &value);) {
        int64_t *count = key_camel(key, S("promptTokenCount"))          ? &u.input
                         : key_camel(key, S("candidatesTokenCount"))    ? &u.output
                         : key_camel(key, S("cachedContentTokenCount")) ? &u.cached
                         : key_camel(key, S("thoughtsTokenCount"))      ? &u.thinking
                         : key_camel(key, S("toolUsePromptTokenCount")) ? &tools
                                                                        : NULL;
        int64_t n = count ? json_int(value, -1) : -1;
        if (n >= 0)
            *count = n;
    }
    if (u.input >= 0)
        u.input = add_sat(u.input, tokens_said(tools));
    if (u.output >= 0 || u.thinking >= 0)
        u.output = add_sat(tokens_said(u.output), tokens_said(u.thinking));
    return u;
}

void gemini_put_usage(daruma_buf *out, const turn_usage *u)
{
    int64_t output = tokens_said(u->output), thinking = tokens_said(u->thinking);
    BUF_SAY(out, "{\"promptTokenCount\":", tokens_said(u->input),
            ",\"candidatesTokenCount\":", output > thinking ? output - thinking : 0,
            ",\"totalTokenCount\":", add_sat(tokens_said(u->input), output));
    if (u->cached > 0) {
        BUF_SAY(out, ",\"cachedContentTokenCount\":", u->cached);
    }
    if (thinking) {
        BUF_SAY(out, ",\"thoughtsTokenCount\":", thinking);
    }
    buf_putc(out, '}');
}

/* ---- what an answer says ---- */

gemini_part gemini_read_part(json_iter *it)
{
    gemini_part p = {0};
    daruma_str key, value;
    while (json_next(it, &key, &value))
        if (key_is(key, S("text"))) {
            p.text = value;
        } else if (key_is(key, S("thought"))) {
            p.thought = json_is_true(value);
        } else if (key_camel(key, S("functionCall"))) {
            p.call = value;
        } else if (key_camel(key, S("thoughtSignature"))) {
            p.signature = value;
        } else if (json_is_object(value) && !key_camel(key, S("videoMetadata")) && !key_camel(key, S("partMetadata"))) {
            p.other = true; /* inlineData, executableCode, codeExecutionResult, ... */
            p.effects |= hosted_part(key, value);
        }
    return p;
}

static void pass_parts(dialect_said *s, json_iter *it, daruma_str *ret)
{
    json_iter parts = json_enter(it);
    while (json_step(&parts, NULL)) {
        if (*parts.p != '{') {
            json_pass(&parts, NULL);
            continue;
        }
        json_iter part = json_enter(&parts);
        gemini_part p = gemini_read_part(&part);
        bool text = value_given(p.text);
        json_leave(&parts, &part, NULL);
        s->text |= text && !p.thought;
        s->thought |= text && p.thought;
        s->calls |= value_given(p.call);
        s->other |= p.other;
        s->effects |= p.effects;
    }
    json_leave(it, &parts, ret);
}

static void pass_content(dialect_said *s, json_iter *it, daruma_str *ret)
{
    daruma_str key;
    if (*it->p != '{') {
        json_pass(it, NULL);
        return;
    }
    json_iter content = json_enter(it);
    while (json_step(&content, &key))
        if (key_is(key, S("parts")) && *content.p == '[')
            pass_parts(s, &content, ret);
        else
            json_pass(&content, NULL);
    json_leave(it, &content, NULL);
}

/* The one that counts is the first. */
static void pass_candidate(dialect_said *s, json_iter *it)
{
    daruma_str key, value, parts = {0}, finish_at = {0}, index = {0};
    json_iter candidate = json_enter(it);
    while (json_step(&candidate, &key))
        if (key_is(key, S("content")))
            pass_content(s, &candidate, &parts);
        else if (!json_pass(&candidate, &value))
            break;
        else if (key_camel(key, S("finishReason")))
            finish_at = value_is(value, S("FINISH_REASON_UNSPECIFIED")) ? (daruma_str){0} : value;
        else if (key_is(key, S("index")))
            index = value;
    json_leave(it, &candidate, NULL);
    daruma_str finish = value_raw(finish_at);
    if (!s->nchoices) {
        s->item = parts;
        s->finish_at = finish_at;
        s->at = json_int(index, 0);
    }
    choice_add(s, index, finish.n > 0);
    if (!s->finish.n)
        s->finish = finish;
}

static void pass_candidates(dialect_said *s, json_iter *it)
{
    if (*it->p != '[') {
        s->odd |= json_pass(it, &s->parts) && !json_is_null(s->parts);
        return;
    }
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        if (*list.p == '{')
            pass_candidate(s, &list);
        else
            s->odd |= json_pass(&list, NULL);
    json_leave(it, &list, &s->parts);
}

/* A candidate alone: its `item` are the parts. */
static void read_candidate(daruma_str candidate, dialect_said *ret)
{
    json_iter it = {.p = candidate.p, .end = candidate.p + candidate.n}; /* stands at it */
    *ret = (dialect_said){0};
    if (json_is_object(candidate))
        pass_candidate(ret, &it);
}

/* Of Google's tools that what they read beside the prompt is none of the request's. */
static void take_usage(dialect_said *s, daruma_str usage)
{
    int64_t asked = json_int(gemini_get(usage, S("promptTokenCount")), -1), said = gemini_read_usage(usage).output;
    s->input_tokens = asked >= 0 ? asked : s->input_tokens;
    s->output_tokens = said >= 0 ? said : s->output_tokens;
    s->usage = usage;
}

static void pass_response(dialect_said *s, json_iter *it)
{
    daruma_str key, value;
    while (json_step(it, &key)) {
        bool known = true;
        if (key_is(key, S("candidates")))
            pass_candidates(s, it);
        else if (!json_pass(it, &value))
            return;
        else if (key_camel(key, S("usageMetadata")))
            take_usage(s, value);
        else if (key_camel(key, S("promptFeedback")))
            s->answer = value;
        else if (key_camel(key, S("modelVersion")))
            s->model = value;
        else if (key_camel(key, S("responseId")))
            s->id = value;
        else
            known = false;
        s->known |= known;
        s->error |= !known && is_error_shape(key, value);
    }
}

/* What it all means. A blocked prompt ends an answer as a stop reason does. */
static void settle(dialect_said *s)
{
    s->counted = s->closes = true;
    s->spoilt = gemini_finish_of(s->finish) == FINISH_ERROR;
    s->told = finish_told(&gemini_finishes, s->finish);
    if (!s->answer.n)
        return;
    daruma_str reason = gemini_get(s->answer, S("blockReason"));
    s->blocked = value_raw(reason).n > 0;
    s->told |= s->blocked;
    if (!s->finish.n)
        s->finish = value_raw(reason);
    if (!s->finish_at.n)
        s->finish_at = reason;
}

/* An event without anything is what our heartbeat looks like. */
void gemini_read_event(daruma_str data, dialect_said *ret)
{
    json_iter it = whole_open(data);
    pass_response(ret, &it);
    ret->object = whole_ok(&it);
    settle(ret);
    bool content = ret->text || ret->calls || ret->thought || ret->other;
    ret->known = content || ret->finish.n || ret->input_tokens >= 0;
    ret->ping = !ret->known && !ret->error;
}

/* One response, or the array of them that streamGenerateContent gives without alt=sse. */
void gemini_read_whole(daruma_str body, dialect_said *ret)
{
    body = str_trim(body);
    json_iter it = json_open(body);
    if (json_is_object(body)) {
        pass_response(ret, &it);
        ret->odd |= !ret->known && !str_eq(body, S("{}"));
    }
    while (json_is_array(body) && json_step(&it, NULL)) {
        if (*it.p != '{') {
            ret->odd |= json_pass(&it, NULL);
            continue;
        }
        json_iter response = json_enter(&it);
        pass_response(ret, &response);
        json_leave(&it, &response, NULL);
    }
    ret->object = !it.bad && it.p == it.end;
    settle(ret);
}

static int choice_of(const dialect_said *s)
{
    return s->at > 0 && s->at < CHOICES_MAX ? (int)s->at + 1 : 1;
}

daruma_str gemini_chosen(turn_reader *r, const dialect_said *s, daruma_str *ret_finish)
{
    daruma_str candidate;
    dialect_said one = *s;
    json_iter it = json_open(s->parts);
    if (s->nchoices && !r->choice)
        r->choice = choice_of(s);
    while (s->nchoices && choice_of(&one) != r->choice) {
        one = (dialect_said){0};
        if (!json_next(&it, NULL, &candidate))
            break;
        read_candidate(candidate, &one);
    }
    *ret_finish = one.finish_at;
    return one.item;
}

/* ---- a whole answer as a turn, and back ---- */

/* An answer that is read: one response, or all those of a stream as one array, whose pieces are put together. */
typedef struct gathering {
    turn *t;
    turn_reader r;
    bool joins;      /* it is an array: text goes on with the text before it ... */
    daruma_buf text; /* ... or the arguments of the call that is open with those before them */
    daruma_arena *a;
} gathering;

static convo_part *newest_part(const gathering *g)
{
    convo_message *m = &g->t->message;
    return m->nparts ? &m->parts[m->nparts - 1] : NULL;
}

static void show_args(gathering *g)
{
    convo_part *p = newest_part(g);
    p->value = p->text = buf_str(&g->text);
}

static void close_call(gathering *g)
{
    if (!gemini_in_call(&g->r))
        return;
    gemini_close_pieces(&g->r, &g->text);
    show_args(g);
}

/* Something else ends it; the middle of a string is no end. */
static void cut_off(gathering *g)
{
    g->r.lost |= gemini_in_call(&g->r) && g->r.in_piece;
    close_call(g);
}

static void read_call(gathering *g, daruma_str part, daruma_str call, daruma_str signature)
{
    gemini_call is = gemini_call_of(call);
    if (is == GEMINI_CALL_GOES_ON && !gemini_in_call(&g->r))
        return;
    if (is != GEMINI_CALL_GOES_ON) {
        cut_off(g);
        convo_part *p = answer_part(g->t, g->a, PART_CALL, part);
        if (!p)
            return;
        field f[] = {FIELD("id"), FIELD("name"), FIELD("args")};
        fields_of(call, FIELDS(f));
        p->id = json_text(f[0].value, g->a);
        p->name = json_text(f[1].value, g->a);
        p->value = p->text = f[2].value;
    }
    if (signature.n) {
        newest_part(g)->signature = signature;
        newest_part(g)->sealed = true;
    }
    if (is == GEMINI_CALL_WHOLE)
        return;
    if (is == GEMINI_CALL_BEGINS) {
        gemini_begin_pieces(&g->r, call_begin(&g->r, g->r.calls));
        g->text = buf_in(g->a);
    }
    if (gemini_put_piece(&g->r, call, &g->text, g->a))
        close_call(g);
    else
        show_args(g);
}

static void read_part(gathering *g, daruma_str part)
{
    json_iter it = json_open(part);
    gemini_part said = gemini_read_part(&it);
    daruma_str text = said.text, signature = json_text(said.signature, g->a);
    part_kind kind = json_is_string(text) ? (said.thought ? PART_THINKING : PART_TEXT) : PART_OTHER;
    convo_part *before = newest_part(g);
    if (json_is_object(said.call)) {
        read_call(g, part, said.call, signature);
        return;
    }
    if (value_given(text) || kind == PART_OTHER)
        cut_off(g);
    if (gemini_in_call(&g->r) || (g->joins && kind != PART_OTHER && !value_given(text) && !signature.n && before))
        return; /* a response that only ends the stream */
    if (g->joins && before && before->kind == kind && kind != PART_OTHER && !before->signature.n) {
        buf_put(&g->text, json_text(text, g->a));
        before->text = buf_str(&g->text);
        before->signature = signature;
        before->sealed = signature.n > 0 && kind != PART_TEXT;
        return;
    }
    convo_part *p = answer_part(g->t, g->a, kind, part);
    if (!p)
        return;
    p->signature = signature;
    p->sealed = signature.n > 0 && kind != PART_TEXT;
    p->value = text;
    p->text = json_text(text, g->a);
    if (!g->joins)
        return;
    g->text = buf_in(g->a);
    buf_put(&g->text, p->text);
}

static void read_response(gathering *g, const dialect_said *s)
{
    turn *t = g->t;
    daruma_str part, finish, parts = gemini_chosen(&g->r, s, &finish);
    for (json_iter it = json_open(parts); json_next(&it, NULL, &part);)
        read_part(g, part);
    if (json_is_string(s->id))
        t->id = json_text(s->id, g->a);
    if (json_is_string(s->model))
        t->model = json_text(s->model, g->a);
    if (finish.n)
        t->finish_raw = json_text(finish, g->a);
    turn_usage u = gemini_read_usage(s->usage);
    usage_merge(&t->usage, &u);
}

/* Why it ended; a prompt that was blocked has no candidates, whatever the reason is called. */
static turn_finish finish_read(const turn *t, daruma_str whole)
{
    daruma_str blocked = gemini_get(gemini_get(whole, S("promptFeedback")), S("blockReason"));
    if (json_is_object(whole) && value_given(blocked) && !json_count(json_get(whole, S("candidates"))))
        return FINISH_FILTER;
    return gemini_finish_means(t->finish_raw, answer_says(t, PART_CALL));
}

/* Also all responses of a stream as one array, which is what comes without alt=sse. */
daruma_status gemini_read_answer(daruma_str body, daruma_arena *a, turn *ret)
{
    daruma_str whole = str_trim(body), response;
    turn t = {.body = body, .usage = TURN_USAGE_NONE, .message.role = CONVO_ASSISTANT};
    gathering g = {.t = &t, .r = {.keep = a, .open = -1}, .a = a};
    dialect_said s = {0};
    gemini_read_whole(body, &s);
    if (!s.object)
        return answer_status(body);
    if (!json_is_array(whole) && !s.parts.n && !s.answer.n)
        return DARUMA_EINPUT;
    g.joins = json_is_array(whole);
    for (json_iter it = json_open(whole); g.joins && json_next(&it, NULL, &response);) {
        s = (dialect_said){0};
        gemini_read_event(response, &s);
        read_response(&g, &s);
    }
    if (!g.joins)
        read_response(&g, &s);
    t.message.raw = whole;
    t.finish = finish_read(&t, whole);
    if (!gemini_ends_short(t.finish)) /* else the call was cut */
        cut_off(&g);
    if (g.r.lost)
        return DARUMA_EINPUT;
    if (a->full || g.text.full)
        return DARUMA_EFULL;
    *ret = t;
    return DARUMA_OK;
}

/* Its signature, and the end of a part. */
static void end_part(daruma_buf *out, daruma_str signature)
{
    if (signature.n)
        BUF_MEMBERS(out, "thoughtSignature", signature);
    buf_putc(out, '}');
}

void gemini_put_call(daruma_buf *out, daruma_str id, daruma_str name, daruma_str arguments, daruma_str signature)
{
    BUF_LIT(out, "{\"functionCall\":{");
    BUF_MEMBERS(out, "id", buf_any(id), "name", name);
    put_key(out, "args");
    put_args(out, arguments);
    buf_putc(out, '}');
    end_part(out, signature);
}

void gemini_put_text(daruma_buf *out, daruma_str text, bool thought, daruma_str signature)
{
    BUF_SAY(out, "{\"text\":", buf_quoted(text), thought ? ",\"thought\":true" : "");
    end_part(out, signature);
}

static void put_part_new(daruma_buf *out, const convo_part *p)
{
    if (p->kind == PART_CALL)
        gemini_put_call(out, p->id, p->name, p->text, p->signature);
    else
        gemini_put_text(out, p->text, p->kind == PART_THINKING, p->signature);
}

enum { HOLE_PARTS = HOLE_OWN, HOLE_FINISH };

static void put_part(daruma_buf *out, const convo_part *p)
{
    daruma_str call = gemini_get(p->raw, S("functionCall"));
    hole holes[] = {{json_get(call, S("id")), HOLE_ID},
                    {json_get(call, S("name")), HOLE_NAME},
                    {json_get(call, S("args")), HOLE_INPUT}};
    if (p->kind == PART_CALL && holes[1].span.n && holes[2].span.n && (holes[0].span.n || !p->id.n))
        put_filled(out, p->raw, holes, 3, fill_part, p);
    else if (p->kind != PART_CALL && p->raw.n && p->value.n)
        put_filled(out, p->raw, &(hole){p->value, HOLE_TEXT}, 1, fill_part, p);
    else
        put_part_new(out, p);
}

static void gemini_fill(daruma_buf *out, int what, daruma_str span, const void *user)
{
    const turn *t = user;
    bool calls = t->finish == FINISH_CALLS;
    if (what == HOLE_PARTS && answer_edited(t))
        put_elements(out, span, t, NULL, put_part);
    else if (what == HOLE_FINISH && t->finish != gemini_finish_means(t->finish_raw, calls))
        buf_json(out, finish_word(&gemini_finishes, t->finish));
    else
        buf_put(out, span);
}

void gemini_put_tail(daruma_buf *out, daruma_str model, daruma_str id)
{
    BUF_MEMBERS(out, "modelVersion", model, "responseId", id);
    buf_putc(out, '}');
}

static void put_new(const turn *t, const write_ctx *x, daruma_buf *out)
{
    char room[64];
    daruma_buf id = buf_over(room, sizeof room);
    bool any = false;
    put_made_id(&id, "", x->id, 0);
    BUF_LIT(out, "{\"candidates\":[{\"content\":{\"parts\":[");
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->dropped || p->kind == PART_MEDIA || (p->kind == PART_OTHER && !p->raw.n))
            continue;
        if (any)
            buf_putc(out, ',');
        if (p->kind == PART_OTHER)
            buf_put(out, p->raw);
        else
            put_part_new(out, p);
        any = true;
    }
    BUF_SAY(out, "],\"role\":\"model\"},\"finishReason\":", buf_quoted(finish_word(&gemini_finishes, t->finish)),
            ",\"index\":0}],\"usageMetadata\":");
    gemini_put_usage(out, &t->usage);
    gemini_put_tail(out, t->model.n ? t->model : x->model, t->id.n ? t->id : buf_str(&id));
}

/* Can what was edited stand in the places that it came from? */
static bool has_places(const turn *t)
{
    for (size_t i = 0; i < t->message.nparts; i++)
        if (t->message.parts[i].dropped || !t->message.parts[i].raw.n)
            return false;
    return true;
}

void gemini_write_answer(const turn *t, const write_ctx *x, daruma_buf *out)
{
    daruma_str whole = str_trim(t->body), candidate = {0};
    bool ended = t->finish == finish_read(t, whole), edited = answer_edited(t) || !ended;
    if (t->body.n && !edited) {
        buf_put(out, t->body);
        return;
    }
    if (ended && json_is_array(whole) && out->arena && has_places(t)) {
        size_t begun = out->n;
        if (dialect_mend_array(&dialect_gemini, t, out, out->arena) || out->full)
            return;
        out->n = begun;
    }
    json_iter it = json_open(json_get(whole, S("candidates")));
    daruma_str parts = {0};
    if (json_is_object(whole) && json_next(&it, NULL, &candidate))
        parts = json_get(json_get(candidate, S("content")), S("parts"));
    if (json_is_array(parts)) {
        hole holes[] = {{parts, HOLE_PARTS}, {gemini_get(candidate, S("finishReason")), HOLE_FINISH}};
        put_filled(out, t->body, holes, 2, gemini_fill, t);
        return;
    }
    if (json_is_array(whole))
        buf_putc(out, '[');
    put_new(t, x, out);
    if (json_is_array(whole))
        buf_putc(out, ']');
}
