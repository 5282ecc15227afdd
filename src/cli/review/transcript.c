/* transcript.c - a run of an agent out of a file. Four shapes are known:
 *
 *     {"model":..., "messages":[...]}         a request body: its history is the run; also only the list of messages,
 *                                             or one message a line
 *     {"tool":..., "args":..., "result":...}  steps, one a line or as a list
 *     {"id":..., "steps":[...]}               a record of steps
 *     {"type":"user","message":{...}}         a session of Claude Code or Codex, one line a message */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/review/transcript.h"
#include "cli/shape.h"
#include "engine/watch/steps.h"
#include <xxhash.h>

typedef enum shape { SHAPE_NONE, SHAPE_STEP, SHAPE_RECORD, SHAPE_REQUEST, SHAPE_MESSAGE, SHAPE_SESSION } shape;

typedef struct reading {
    daruma_str text; /* all of it: places are counted in it */
    const char *file;
    const dialect *d; /* as it was asked for, or found */
    daruma_arena *a;
    transcript *t;
    char *why; /* of 512 bytes */
    review_step *steps;
    size_t cap;
    uint64_t users[WATCH_USERS_KEPT]; /* what the user said, as hashes */
    uint32_t nusers;
} reading;

/* ---- what is wrong ---- */

/* "FILE:LINE:COLUMN: WHAT"; without a place when `at` is not in the file. False. */
static bool transcript_wrong(reading *r, const char *at, const char *what)
{
    cli_place p = cli_place_of(r->text, at);
    if (at && at >= r->text.p && at <= r->text.p + r->text.n)
        snprintf(r->why, 512, "%s:%zu:%zu: %s", r->file, p.line, p.column, what);
    else
        snprintf(r->why, 512, "%s: %s", r->file, what);
    return false;
}

static bool broken(reading *r, daruma_str part)
{
    cli_place in = cli_json_breaks(part);
    cli_place begin = cli_place_of(r->text, part.p);
    size_t line = begin.line + in.line - 1, column = in.line == 1 ? begin.column + in.column - 1 : in.column;
    if (in.rest[0])
        snprintf(r->why, 512, "%s:%zu:%zu: this is no JSON: %s", r->file, line, column, in.rest);
    else
        snprintf(r->why, 512, "%s:%zu:%zu: the JSON ends here, and it should go on: is the file whole?", r->file, line,
                 column);
    return false;
}

static bool no_memory(reading *r)
{
    return transcript_wrong(r, NULL, "it is too large for the memory that there is");
}

/* ---- shapes ---- */

/* The dialect of a list of messages; Chat when nothing says more. */
static const dialect *dialect_of_messages(daruma_str list)
{
    const char *sign;
    const dialect *d = shape_of_messages(list, &sign);
    return d ? d : &dialect_openai;
}

static const dialect *dialect_of_request(daruma_str body)
{
    const char *sign;
    const dialect *d = shape_of_request(body, &sign);
    return d ? d : shape_has(body, "messages") ? &dialect_openai : &dialect_openai_responses;
}

static shape shape_of(daruma_str v)
{
    if (!json_is_object(v))
        return SHAPE_NONE;
    if (shape_has(v, "tool") || (shape_has(v, "result") && !shape_has(v, "role")))
        return SHAPE_STEP;
    if (json_is_array(json_get(v, S("steps"))))
        return SHAPE_RECORD;
    if (shape_has(v, "messages") || shape_has(v, "contents") || shape_has(v, "input"))
        return SHAPE_REQUEST;
    return shape_has(v, "role") || shape_has(v, "parts") || shape_is_item(v) ? SHAPE_MESSAGE : SHAPE_NONE;
}

/* ---- steps ---- */

static review_step *add_step(reading *r)
{
    review_run *run = &r->t->run;
    review_step *steps = arena_grow(r->a, r->steps, run->n, &r->cap, sizeof *steps, 256);
    if (!steps)
        return NULL;
    run->steps = r->steps = steps;
    steps[run->n] = (review_step){0};
    return &steps[run->n++];
}

/* A text, or JSON as it stands. */
static daruma_str step_text(daruma_str v, daruma_arena *a)
{
    return json_is_string(v) ? json_text(v, a) : json_is_null(v) ? (daruma_str){0} : v;
}

daruma_step transcript_step(daruma_str v, daruma_arena *a)
{
    daruma_str ok = json_get(v, S("ok"));
    return (daruma_step){.tool = step_text(json_get(v, S("tool")), a),
                         .args = step_text(json_get(v, S("args")), a),
                         .result = step_text(json_get(v, S("result")), a),
                         .ok = json_is_true(ok)         ? 1
                               : str_eq(ok, S("false")) ? 0
                                                        : -1,
                         .lost = json_is_true(json_get(v, S("lost")))};
}

static bool read_step(reading *r, daruma_str v)
{
    daruma_str tool = json_get(v, S("tool")), args = json_get(v, S("args")), result = json_get(v, S("result")),
               ok = json_get(v, S("ok"));
    if (!json_is_object(v))
        return transcript_wrong(r, v.p, "a step is an object with tool, args, result and ok");
    if (!tool.n && !result.n)
        return transcript_wrong(r, v.p, "this step has neither tool nor result: a step has tool, args, result and ok");
    if (tool.n && !json_is_string(tool) && !json_is_null(tool))
        return transcript_wrong(
            r, tool.p, "\"tool\" is the name of the tool, a string; what the model said without a call has none");
    if (ok.n && !json_is_null(ok) && !json_is_true(ok) && !str_eq(ok, S("false")))
        return transcript_wrong(r, ok.p, "\"ok\" is true, false or null (not known)");
    review_step *s = add_step(r);
    if (!s)
        return no_memory(r);
    s->step = transcript_step(v, r->a);
    s->turn = (uint32_t)r->t->run.n;
    s->bytes = (int64_t)(tool.n + args.n + result.n);
    return true;
}

/* Each step is an answer of the model; a request carries the steps before it, the last one all of them. */
static bool count_requests(reading *r)
{
    review_run *run = &r->t->run;
    int64_t *carried = ARENA_NEW(r->a, int64_t, run->n + 1), sum = 0;
    if (!carried)
        return no_memory(r);
    for (size_t i = 0; i < run->n; i++) {
        carried[i] = sum;
        sum = add_sat(sum, run->steps[i].bytes);
    }
    carried[run->n] = sum;
    run->carried = carried;
    run->requests = (uint32_t)run->n + 1;
    return true;
}

static bool read_list(reading *r, daruma_str list)
{
    daruma_str v;
    json_iter it = json_open(list);
    while (json_next(&it, NULL, &v))
        if (!read_step(r, v))
            return false;
    return count_requests(r);
}

/* ---- requests ---- */

/* The user gives a new task; what is said again, by a program that urges its agent on, is none. */
static bool is_new_task(reading *r, daruma_str text)
{
    uint64_t h = XXH3_64bits(text.p, text.n);
    for (size_t i = 0; i < WATCH_USERS_KEPT; i++)
        if (r->users[i] == h)
            return false;
    r->users[r->nusers++ % WATCH_USERS_KEPT] = h;
    return true;
}

/* Which answer of the model each message is part of or waits for, and what the requests for them carried: all that
 * stood before. What is no message (the tools, the settings) goes out each time. */
static uint32_t *count_turns(reading *r, const convo *c)
{
    review_run *run = &r->t->run;
    uint32_t *of = ARENA_NEW(r->a, uint32_t, c->nmessages + 1), turns = 0;
    int64_t *carried = ARENA_NEW(r->a, int64_t, c->nmessages + 1), sum = (int64_t)c->body.n;
    bool speaks = false;
    if (!of || !carried)
        return NULL;
    for (size_t i = 0; i < c->nmessages; i++)
        sum -= (int64_t)c->messages[i].raw.n;
    sum = sum > 0 ? sum : 0;
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        bool models = m->role == CONVO_ASSISTANT;
        if (models && !speaks)
            carried[turns++] = sum;
        speaks = models;
        of[i] = models ? turns : turns + 1;
        sum = add_sat(sum, (int64_t)m->raw.n);
    }
    if (!speaks && c->nmessages)
        carried[turns++] = sum; /* the answer to this one is not here */
    run->carried = carried;
    run->requests = turns;
    return of;
}

static bool read_history(reading *r, convo *c)
{
    bool fresh = false;
    steps_item item;
    const uint32_t *turns = count_turns(r, c);
    if (!turns)
        return no_memory(r);
    for (steps_iter it = {.c = c}; steps_next(&it, &item);) {
        if (item.what == STEPS_USER) {
            if (is_new_task(r, item.text))
                fresh = r->nusers > 1;
            continue;
        }
        review_step *s = add_step(r);
        if (!s)
            return no_memory(r);
        size_t bytes = item.call ? item.call->raw.n : item.step.result.n;
        *s = (review_step){.step = item.step,
                           .turn = turns[item.message],
                           .bytes = (int64_t)(bytes + (item.result ? item.result->raw.n : 0)),
                           .new_task = fresh};
        fresh = false;
    }
    return c->full ? no_memory(r) : true;
}

static bool read_request(reading *r, daruma_str body)
{
    convo c;
    char what[160];
    const dialect *d = r->d ? r->d : dialect_of_request(body);
    r->t->d = d;
    switch (d->read(body, r->a, &c)) {
    case DARUMA_OK:
        r->t->on_server = convo_unseen(&c);
        return read_history(r, &c);
    case DARUMA_EDEEP:
        return transcript_wrong(r, NULL, "its JSON is nested too deep");
    case DARUMA_EFULL:
        return no_memory(r);
    case DARUMA_EINPUT:
        break;
    }
    snprintf(what, sizeof what,
             "this is no request of the dialect %s: its history is a list `%s`; --dialect names another", d->name,
             shape_list_of(d));
    daruma_str list = json_get(body, str_of(shape_list_of(d)));
    return transcript_wrong(r, list.n ? list.p : body.p, what);
}

/* Messages without the request around them. */
static bool read_messages(reading *r, daruma_str list)
{
    daruma_buf b = buf_in(r->a);
    r->d = r->d ? r->d : dialect_of_messages(list);
    buf_printf(&b, "{\"%s\":", shape_list_of(r->d));
    BUF_SAY(&b, list, "}");
    return b.full ? no_memory(r) : read_request(r, buf_str(&b));
}

/* ---- files ---- */

#define EXPECTED                                                                                                       \
    "a transcript is a request body (with messages, input or contents), or steps, one JSON object a line with tool, "  \
    "args, result and ok, or a record {\"id\", \"steps\": [...]}"

static bool read_object(reading *r, daruma_str v)
{
    switch (shape_of(v)) {
    case SHAPE_STEP:
        return read_step(r, v) && count_requests(r);
    case SHAPE_RECORD:
        r->t->id = json_text(json_get(v, S("id")), r->a);
        return read_list(r, json_get(v, S("steps")));
    case SHAPE_REQUEST:
        return read_request(r, v);
    case SHAPE_MESSAGE: {
        daruma_buf b = buf_in(r->a);
        BUF_SAY(&b, "[", v, "]");
        return b.full ? no_memory(r) : read_messages(r, buf_str(&b));
    }
    case SHAPE_SESSION:
    case SHAPE_NONE:
        break;
    }
    return transcript_wrong(r, v.p, "this is none of what is known here: " EXPECTED);
}

static bool read_array(reading *r, daruma_str list)
{
    daruma_str first = {0};
    json_iter it = json_open(list);
    json_next(&it, NULL, &first);
    switch (shape_of(first)) {
    case SHAPE_STEP:
        return read_list(r, list);
    case SHAPE_MESSAGE:
        return read_messages(r, list);
    case SHAPE_RECORD:
        return transcript_wrong(r, first.p,
                                "these are several records; give it one of them, or ask `daruma loops` about all");
    case SHAPE_REQUEST:
        return transcript_wrong(r, first.p,
                                "these are several requests; give it the last one: it carries the whole history");
    case SHAPE_SESSION:
    case SHAPE_NONE:
        break;
    }
    return transcript_wrong(r, list.p, "this list is none of what is known here: " EXPECTED);
}

/* Of a session's messages those that the model saw: what a program keeps for itself has neither role nor type. */
static bool is_conversation(daruma_str m)
{
    return shape_has(m, "role") || shape_is_item(m);
}

static bool read_lines(reading *r)
{
    shape all = SHAPE_NONE;
    daruma_buf messages = buf_in(r->a);
    for (daruma_str rest = r->text; rest.n;) {
        daruma_str line = str_trim(str_cut(&rest, '\n')), v;
        if (!line.n)
            continue;
        if (!json_whole(line, &v)) {
            if (all == SHAPE_SESSION && !str_trim(rest).n)
                break; /* the agent is at work, and writes this line */
            return broken(r, line);
        }
        if (all == SHAPE_NONE || all == SHAPE_SESSION) {
            daruma_str said;
            shape_line l = shape_session_line(v, &said);
            if (l != LINE_NONE) {
                all = SHAPE_SESSION;
                r->t->asides += l == LINE_ASIDE;
                if (l == LINE_MESSAGE && is_conversation(said)) {
                    if (!r->d) /* Codex keeps items of Responses, Claude Code messages of Anthropic's */
                        r->d = shape_has(v, "payload") ? &dialect_openai_responses : &dialect_anthropic;
                    buf_putc(&messages, messages.n ? ',' : '[');
                    buf_put(&messages, said);
                }
                continue;
            }
        }
        shape s = shape_of(v);
        if (all == SHAPE_NONE)
            all = s;
        if (s == SHAPE_RECORD)
            return transcript_wrong(
                r, line.p,
                "a line is a whole record here; give it one of them (head -n 1 FILE | daruma review -), or ask "
                "`daruma loops --jsonl` about all");
        if (s == SHAPE_REQUEST)
            return transcript_wrong(
                r, line.p,
                "a line is a whole request here; give it the last one: it carries the whole history "
                "(tail -n 1 FILE | daruma review -)");
        if (s == SHAPE_NONE || s != all)
            return transcript_wrong(r, line.p,
                                    all == SHAPE_MESSAGE
                                        ? "this line is no message as the ones before"
                                        : "this line is no step: a step has tool, args, result and ok");
        if (s == SHAPE_STEP && !read_step(r, v))
            return false;
        if (s == SHAPE_MESSAGE) {
            buf_putc(&messages, messages.n ? ',' : '[');
            buf_put(&messages, v);
        }
    }
    if (all != SHAPE_MESSAGE && all != SHAPE_SESSION)
        return count_requests(r);
    if (!messages.n)
        return transcript_wrong(r, NULL, "this session has no message yet");
    buf_putc(&messages, ']');
    return messages.full ? no_memory(r) : read_messages(r, buf_str(&messages));
}

bool transcript_read(daruma_str text, const char *file, const dialect *d, daruma_arena *a, transcript *ret,
                     char why[512])
{
    reading r = {.text = text, .file = file, .d = d, .a = a, .t = ret, .why = why};
    daruma_str whole = str_trim(text), first = whole, v;
    *ret = (transcript){0};
    if (!whole.n)
        return transcript_wrong(&r, NULL, "there is nothing in it: " EXPECTED);
    if (json_whole(text, &whole))
        return json_is_object(whole)  ? read_object(&r, whole)
               : json_is_array(whole) ? read_array(&r, whole)
                                      : transcript_wrong(&r, whole.p, "this is JSON, and no object: " EXPECTED);
    first = str_trim(str_cut(&first, '\n'));
    if (json_whole(first, &v) && json_is_object(v))
        return read_lines(&r);
    return broken(&r, whole);
}
