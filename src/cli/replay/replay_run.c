/* replay_run.c - runs the requests of a scene in virtual time: what providers answer comes from its script, and each
 * step is written down.
 *
 *     script --> what comes of a call --> sim/wire --> session --> acts, steps, events --> log */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/replay/replay_inside.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>

enum { WALL_BEGIN = 1767225600, IDLE_MS = 60000, RUN_CALLS_MAX = 8 };

/* What an outcome without a status brings: nothing, or a stream and how far it comes. */
typedef enum shape { ANSWER, SAYS, CALLS_TOOL, NOTHING, BEGUN, PINGS, FAULT, LEAVES } shape;

typedef struct outcome_word {
    daruma_str word;
    shape shape;
    daruma_net net; /* how the call fails; NONE: it ends */
    daruma_phase phase;
} outcome_word;

// clang-format off
static const outcome_word outcomes[] = {
    {LIT("ok"),                 ANSWER,  DARUMA_NET_NONE,               DARUMA_AT_ANSWER},
    {LIT("says"),               SAYS,    DARUMA_NET_NONE,               DARUMA_AT_ANSWER},
    {LIT("calls"),              CALLS_TOOL, DARUMA_NET_NONE,            DARUMA_AT_ANSWER},
    {LIT("empty"),              ANSWER,  DARUMA_NET_NONE,               DARUMA_AT_ANSWER},
    {LIT("broken"),             ANSWER,  DARUMA_NET_NONE,               DARUMA_AT_ANSWER},
    {LIT("dns"),                NOTHING, DARUMA_NET_DNS,                DARUMA_AT_CONNECT},
    {LIT("refused"),            NOTHING, DARUMA_NET_REFUSED,            DARUMA_AT_CONNECT},
    {LIT("certificate"),        NOTHING, DARUMA_NET_CERTIFICATE,        DARUMA_AT_CONNECT},
    {LIT("timeout connect"),    NOTHING, DARUMA_NET_CONNECT_TIMEOUT,    DARUMA_AT_CONNECT},
    {LIT("reset"),              NOTHING, DARUMA_NET_RESET,              DARUMA_AT_WAIT},
    {LIT("closed"),             NOTHING, DARUMA_NET_CLOSED,             DARUMA_AT_WAIT},
    {LIT("timeout first_byte"), NOTHING, DARUMA_NET_FIRST_BYTE_TIMEOUT, DARUMA_AT_WAIT},
    {LIT("timeout idle"),       BEGUN,   DARUMA_NET_IDLE_TIMEOUT,       DARUMA_AT_STREAM},
    {LIT("timeout total"),      BEGUN,   DARUMA_NET_TOTAL_TIMEOUT,      DARUMA_AT_STREAM},
    {LIT("cut"),                BEGUN,   DARUMA_NET_CUT,                DARUMA_AT_STREAM},
    {LIT("error"),              FAULT,   DARUMA_NET_NONE,               DARUMA_AT_STREAM},
    {LIT("silent"),             PINGS,   DARUMA_NET_NONE,               DARUMA_AT_STREAM},
    {LIT("leave"),              LEAVES,  DARUMA_NET_NONE,               DARUMA_AT_WAIT},
};
// clang-format on

/* What the script says of a call. */
typedef struct outcome {
    const outcome_word *word; /* NULL: a status */
    daruma_str text;          /* of a stream, before whatever happens to it; the tool that is called */
    daruma_str body;          /* as it comes */
} outcome;

bool run_told(run *r, int line, const char *what, daruma_str about)
{
    r->at.line = line;
    return replay_wrong(&r->at, what, about);
}

/* ---- what is said, in the dialect of the scene ---- */

/* An answer that says `text`. */
static daruma_str write_answer(run *r, daruma_str text, bool stream)
{
    const dialect *d = r->s->dialect;
    daruma_buf out = buf_in(r->w.a);
    write_ctx ctx = {.model = S("m"), .id = 7, .wall = WALL_BEGIN};
    dialect_say(text, d, &ctx, stream, true, &out, r->w.a);
    return buf_str(&out);
}

/* A whole answer that calls tools: TOOL ARGUMENTS [& TOOL ARGUMENTS]; `"text" TOOL ...` says something before. */
static daruma_str write_calls(run *r, daruma_str line)
{
    wire_tool_call calls[RUN_CALLS_MAX];
    daruma_str text = {0};
    size_t n = 0, end;
    if (line.n && line.p[0] == '"' && (end = json_skip(line, 0, &text)) != STR_NONE) {
        text = replay_expand(json_text(text, r->w.a), 0, r->w.a);
        line = str_trim(str_from(line, end));
    }
    while (line.n && n < RUN_CALLS_MAX) {
        daruma_buf id = buf_in(r->w.a);
        buf_printf(&id, "call_%zu", ++r->ncalls);
        size_t next = str_find(line, S(" & "));
        daruma_str one = next == STR_NONE ? line : str_sub(line, 0, next);
        line = next == STR_NONE ? (daruma_str){0} : str_trim(str_from(line, next + 3));
        calls[n].id = buf_str(&id);
        calls[n].tool = str_cut(&one, ' ');
        calls[n++].args = replay_expand(str_trim(one), (uint32_t)r->ncalls, r->w.a);
    }
    return wire_says(r->s->dialect, text, calls, n, r->w.a);
}

/* The beginning of a stream that has said `text`. */
static daruma_str write_begun(run *r, daruma_str text)
{
    const dialect *d = r->s->dialect;
    daruma_buf out = buf_in(r->w.a);
    turn_writer w = {.made = 7, .wall = WALL_BEGIN, .usage = TURN_USAGE_NONE, .text = buf_in(r->w.a)};
    turn_delta start = {.kind = DELTA_START, .index = -1, .model = S("m"), .usage = TURN_USAGE_NONE};
    turn_delta said = {.kind = DELTA_TEXT, .index = -1, .text = text, .usage = TURN_USAGE_NONE};
    w.r.keep = r->w.a;
    d->write_delta(&w, &start, &out);
    if (text.n)
        d->write_delta(&w, &said, &out);
    return buf_str(&out);
}

static void read_stream(run *r, daruma_str bytes, daruma_buf *out)
{
    turn_reader in = {.sequence = -1, .keep = r->w.a};
    turn_delta few[TURN_DELTAS_FEW];
    sse_event e;
    while (sse_next(&bytes, &e, r->w.a)) {
        turn_deltas said = dialect_read_delta(r->s->dialect, &in, &e, few, r->w.a);
        for (size_t i = 0; i < said.n; i++) {
            const turn_delta *d = &said.p[i];
            if (d->kind == DELTA_CALL)
                buf_printf(out, "%s" STR_FMT " ", out->n ? " " : "", STR_ARG(d->name));
            if (d->kind == DELTA_TEXT || d->kind == DELTA_ARGUMENTS)
                buf_put(out, d->text);
        }
    }
}

static void read_whole(run *r, daruma_str body, daruma_buf *out)
{
    turn t = {0};
    convo owner = {.arena = r->w.a};
    if (r->s->dialect->read_answer(body, r->w.a, &t) != DARUMA_OK)
        return;
    for (size_t i = 0; i < t.message.nparts; i++) {
        convo_part *p = &t.message.parts[i];
        if (p->kind == PART_CALL)
            buf_printf(out, "%s" STR_FMT " ", out->n ? " " : "", STR_ARG(p->name));
        if (p->kind == PART_CALL || p->kind == PART_TEXT)
            buf_put(out, convo_text(&owner, p));
    }
}

/* What whoever reads these bytes of an answer reads: its text, and its calls as "NAME ARGUMENTS". */
static daruma_str read_answer(run *r, daruma_str bytes)
{
    daruma_buf out = buf_in(r->w.a);
    if (json_is_object(bytes))
        read_whole(r, bytes, &out);
    else
        read_stream(r, bytes, &out);
    return buf_str(&out);
}

/* ---- the script ---- */

static bool begins_with_word(daruma_str s, daruma_str word)
{
    return str_starts(s, word) && (s.n == word.n || s.p[word.n] == ' ');
}

static bool is_directive(daruma_str what)
{
    return begins_with_word(what, S("request")) || begins_with_word(what, S("advance"));
}

static bool leads_to(const replay_step *step, const daruma_target *t)
{
    daruma_str where = step->where, provider = str_cut(&where, '/');
    return !step->where.n || (str_eq(provider, t->provider) && (str_eq(where, t->model) || str_eq(where, S("*"))) &&
                              (!step->key.n || str_eq(step->key, t->key)));
}

/* The first outcome of this request that is left for a call to `t`; NULL: there is none. */
static replay_step *next_step(const run *r, const daruma_target *t)
{
    replay_scene *s = r->s;
    for (size_t i = r->from; i < s->nsteps && !is_directive(s->steps[i].what); i++)
        if (s->steps[i].times && leads_to(&s->steps[i], t))
            return &s->steps[i];
    return NULL;
}

/* Reads what comes of a call. Words before the body are fields, but for took=. */
static bool read_outcome(run *r, const replay_step *step, outcome *o, wire_answer *ret)
{
    daruma_str rest = step->what, name, value;
    int64_t status;
    size_t used = str_scan_int(rest, &status);
    bool known = used == 3 && (rest.n == 3 || rest.p[3] == ' ');
    ret->status = known ? (int)status : 200;
    for (size_t i = 0; i < COUNT(outcomes) && !known; i++)
        if (begins_with_word(rest, outcomes[i].word)) {
            o->word = &outcomes[i];
            used = outcomes[i].word.n;
            known = true;
        }
    if (!known)
        return run_told(r, step->line, "what outcome is this?", step->what);
    rest = str_trim(str_from(rest, used));
    if (o->word && (o->word->shape == SAYS || o->word->shape == CALLS_TOOL)) {
        o->body = rest; /* says TEXT, and calls TOOL ARGUMENTS [& TOOL ARGUMENTS]: all of the line */
        return true;
    }
    while (rest.n && !memchr("{[<\"", rest.p[0], 4) && replay_word(&rest, &name, &value)) {
        rest = str_trim(rest);
        daruma_ms took = str_eq(name, S("took")) ? replay_duration(value) : -1;
        if (took >= 0)
            ret->took = add_sat(ret->took, took);
        else if (ret->nfields < WIRE_FIELDS_MAX - 1 && value.n)
            ret->fields[ret->nfields++] = (daruma_header){name, value};
        else
            return run_told(r, step->line, "expected header=value, took= or a body, not", name);
    }
    daruma_str text;
    if (o->word && rest.n && rest.p[0] == '"') {
        size_t end = json_skip(rest, 0, &text);
        o->text = replay_expand(json_text(text, r->w.a), 0, r->w.a);
        rest = end == STR_NONE ? (daruma_str){0} : str_trim(str_from(rest, end));
    }
    o->body = rest;
    return true;
}

static daruma_str bytes_of(run *r, const outcome *o)
{
    daruma_buf b = buf_in(r->w.a);
    if (!o->word || (o->word->shape == ANSWER && o->body.n))
        return o->body;
    if (o->word->shape == CALLS_TOOL)
        return write_calls(r, o->body);
    if (o->word->shape == SAYS)
        return write_answer(r, replay_expand(o->body, 0, r->w.a), r->stream);
    if (str_eq(o->word->word, S("broken")))
        return S("{\"id\":\"a1\",\"cho");
    if (o->word->shape == PINGS)
        return r->s->dialect->heartbeat;
    if (o->word->shape == ANSWER)
        return write_answer(r, o->text.n || str_eq(o->word->word, S("empty")) ? o->text : S("ok"), r->stream);
    if (o->word->shape != FAULT || o->text.n)
        buf_put(&b, write_begun(r, o->text));
    if (o->word->shape == FAULT)
        buf_printf(&b, "%sdata: " STR_FMT "\n\n", r->s->dialect == &dialect_anthropic ? "event: error\n" : "",
                   STR_ARG(o->body));
    return buf_str(&b);
}

/* All that comes of it, as bytes. */
static void write_outcome(run *r, const outcome *o, wire_answer *ret)
{
    shape how = o->word ? o->word->shape : ANSWER;
    ret->net = o->word ? o->word->net : DARUMA_NET_NONE;
    ret->phase = o->word ? o->word->phase : DARUMA_AT_ANSWER;
    ret->leaves = how == LEAVES;
    ret->hangs = how == PINGS;
    if (how == NOTHING || how == LEAVES) {
        ret->status = 0;
        return;
    }
    ret->body = bytes_of(r, o);
    ret->stream = r->stream && !json_is_object(ret->body) && ret->status == 200;
}

/* ---- calls ---- */

/* What the model is told by the last message of a request. */
static void log_notice(run *r, daruma_str body)
{
    convo c;
    if (r->s->dialect->read(body, r->w.a, &c) != DARUMA_OK || !c.nmessages)
        return;
    convo_message *m = &c.messages[c.nmessages - 1];
    for (size_t i = 0; i < m->nparts; i++)
        if (m->parts[i].kind == PART_TEXT) {
            run_put_short(convo_text(&c, &m->parts[i]), run_line(r, "notice "));
            BUF_LIT(r->log, "\n");
        }
}

static void log_sent(run *r, daruma_str body)
{
    bool other = r->sent.n && !str_eq(r->sent, body);
    if (other && r->s->sent) {
        run_put_short(body, run_line(r, "sent "));
        BUF_LIT(r->log, "\n");
    }
    if (other && r->s->notices)
        log_notice(r, body);
    r->sent = body;
}

static bool on_call(void *user, const drive_request *q, daruma_str body, wire_answer *ret)
{
    run *r = user;
    const daruma_target *t = q->t;
    replay_step *step = next_step(r, t);
    outcome o = {0};
    buf_printf(run_line(r, "call "), STR_FMT "/" STR_FMT " key=" STR_FMT "\n", STR_ARG(t->provider), STR_ARG(t->model),
               STR_ARG(t->key));
    log_sent(r, body);
    if (!step)
        return run_told(r, r->s->expect_line, "the script has no outcome left for a call to", t->model);
    if (!read_outcome(r, step, &o, ret))
        return false;
    if (o.word && o.word->phase == DARUMA_AT_STREAM && !q->stream)
        return run_told(r, step->line, "the request asks for no stream:", step->what);
    step->times--;
    r->ncalled++;
    write_outcome(r, &o, ret);
    return true;
}

static bool on_ask(void *user, const daruma_target *t, const daruma_question *q, wire_answer *ret)
{
    run *r = user;
    daruma_str said = r->nasked < r->s->nmodel ? r->s->model[r->nasked++] : S("fail");
    bool cut = str_find(q->user, S("truncated")) != STR_NONE, fails = str_eq(said, S("fail"));
    (void)t;
    buf_printf(run_line(r, "ask "), STR_FMT "%s%s\n", STR_ARG(q->about), cut ? " truncated" : "",
               fails ? " failed" : "");
    if (fails)
        *ret = (wire_answer){.net = DARUMA_NET_RESET, .phase = DARUMA_AT_WAIT};
    else
        *ret = (wire_answer){.status = 200, .body = write_answer(r, replay_expand(said, 0, r->w.a), false)};
    return true;
}

static const daruma_target *targets_of(void *user, daruma_str model, size_t *n, daruma_watch_mode *watch)
{
    run *r = user;
    *n = 0;
    *watch = r->s->ntools && !r->s->nagents ? (daruma_watch_mode)r->s->watch : DARUMA_WATCH_OFF;
    for (int asked = 1; asked >= 0; asked--) /* those of that model are first */
        for (size_t i = 0; i < r->s->ntargets; i++)
            if (str_eq(r->s->targets[i].model, model) == (asked == 1))
                r->targets[(*n)++] = r->s->targets[i];
    if (r->s->nagents) { /* an agent names its model: no other is asked in its place */
        size_t named = 0;
        while (named < *n && str_eq(r->targets[named].model, model))
            named++;
        if (!named) {
            r->targets[0] = r->s->targets[0];
            r->targets[0].model = model;
            daruma_target_seal(&r->targets[0]);
        }
        *n = named ? named : 1;
    }
    return r->targets;
}

static const wire_ops run_wire_ops = {
    .call = on_call, .ask = on_ask, .targets = targets_of, .tell = run_tells, .step = run_steps};

const drive_rooms run_rooms = SYS_ROOMS;

/* ---- one request ---- */

/* What a `request` line says of a request. */
typedef struct wish {
    daruma_policy policy;
    daruma_ms deadline;
    int64_t client; /* 0: one that was not seen before */
    daruma_str model;
} wish;

/* The request as the client sends it. */
static daruma_str body_of(run *r, daruma_str model)
{
    const replay_scene *s = r->s;
    daruma_buf b = buf_in(&r->a);
    if (s->body.n)
        return replay_expand(str_trim(s->body), 0, &r->a);
    buf_printf(&b, "{\"model\":\"" STR_FMT "\",%s\"messages\":[{\"role\":\"user\",\"content\":\"Hello.\"}]}",
               STR_ARG(model), s->stream ? "\"stream\":true," : "");
    return buf_str(&b);
}

/* How it ended, and what the client reads where that is not what the newest call brought. */
static void log_end(run *r)
{
    daruma_outcome o = session_outcome(r->w.x);
    daruma_ms again = session_again_in(r->w.x);
    daruma_str reads = read_answer(r, buf_str(&r->w.got)), notice = S(DIALECT_NOTICE "\n\n");
    if (o == DARUMA_OUTCOME_RECOVERED && !str_eq(reads, read_answer(r, r->w.newest)))
        buf_printf(run_line(r, "answer "), STR_FMT "\n", STR_ARG(reads));
    buf_printf(run_line(r, "outcome "), "%s attempts=%u", daruma_outcome_name(o), session_attempts(r->w.x));
    if (o == DARUMA_OUTCOME_EXPLAINED && again >= 0)
        buf_printf(r->log, " again=%lld", (long long)again);
    else if (o == DARUMA_OUTCOME_EXPLAINED)
        BUF_LIT(r->log, " again=never");
    BUF_LIT(r->log, "\n");
    if (r->s->explain && o == DARUMA_OUTCOME_EXPLAINED)
        buf_printf(r->log, "explain " STR_FMT "\n",
                   STR_ARG(str_starts(reads, notice) ? str_from(reads, notice.n) : reads));
}

const replay_step *run_tool(run *r, daruma_str tool, daruma_str args, daruma_str *ret_text)
{
    replay_step *given = r->s->tools, *end = given + r->s->ntools;
    while (given < end && (!given->times || !str_eq(given->where, tool) || (given->key.n && !str_eq(given->key, args))))
        given++;
    if (given == end) {
        run_told(r, r->s->expect_line, "there is no result left for the tool", tool);
        return NULL;
    }
    given->times--;
    daruma_str what = replay_expand(given->what, (uint32_t)r->ncalls, r->keep);
    buf_printf(run_line(r, "tool "), STR_FMT " ", STR_ARG(tool));
    run_put_short(args, r->log);
    buf_putz(r->log, given->lost ? " lost" : given->ok == 0 ? " !> " : given->ok > 0 ? " -> " : " ?> ");
    run_put_short(what, r->log);
    BUF_LIT(r->log, "\n");
    *ret_text = replay_plain(what, r->keep);
    return given;
}

/* Adds what the scene says that a tool gives. False after it was told that the scene does not say. */
static bool put_result(run *r, convo *c, const convo_part *called)
{
    daruma_str text;
    const replay_step *given = run_tool(r, called->name, called->text, &text);
    bool users = c->quirks & WIRE_RESULTS_IN_USER;
    convo_message *last = &c->messages[c->nmessages - 1];
    if (!given)
        return false;
    if (!users || last->role != CONVO_USER)
        last = convo_insert_message(c, c->nmessages, users ? CONVO_USER : CONVO_TOOL);
    convo_part *p = last ? convo_insert_part(c, last, last->nparts, PART_RESULT) : NULL;
    if (!p)
        return run_told(r, r->s->expect_line, "no memory for", r->s->title);
    p->id = called->id;
    p->name = called->name;
    p->text = text;
    p->ready = p->edited = true;
    p->failed = given->ok == 0;
    return true;
}

/* The agent does what the answer calls, and goes on with the results: r->grown. */
static bool work_on(run *r, daruma_str body)
{
    const dialect *d = r->s->dialect;
    turn t = {0};
    convo c = {0};
    daruma_buf out = buf_in(r->keep);
    size_t calls = 0;
    r->grown = (daruma_str){0};
    if (!r->s->ntools || !json_is_object(buf_str(&r->w.got)) ||
        d->read_answer(arena_copy(r->keep, buf_str(&r->w.got)), r->keep, &t) != DARUMA_OK)
        return true;
    for (size_t i = 0; i < t.message.nparts; i++)
        calls += t.message.parts[i].kind == PART_CALL;
    if (!calls || d->read(arena_copy(r->keep, body), r->keep, &c) != DARUMA_OK)
        return true;
    convo_message *m = convo_insert_message(&c, c.nmessages, CONVO_ASSISTANT);
    for (size_t i = 0; m && i < t.message.nparts; i++) {
        convo_part *p = convo_insert_part(&c, m, i, t.message.parts[i].kind);
        if (p) {
            convo_text(&c, &t.message.parts[i]);
            *p = t.message.parts[i];
            p->raw = (daruma_str){0};
            p->edited = true;
        }
    }
    for (size_t i = 0; i < t.message.nparts; i++)
        if (t.message.parts[i].kind == PART_CALL && !put_result(r, &c, &t.message.parts[i]))
            return false;
    d->write(&c, &out);
    r->grown = buf_str(&out);
    return !out.full && !c.full;
}

static bool run_request(run *r, const wish *w)
{
    replay_scene *s = r->s;
    drive_options options = {.policy = &w->policy,
                             .on_failure = DRIVE_FORM_MESSAGE,
                             .first_byte = IDLE_MS,
                             .idle = IDLE_MS,
                             .total = w->deadline > 0 ? w->deadline : 0};
    session_request q = {.d = s->dialect,
                         .body = r->grown.n ? r->grown : body_of(r, w->model),
                         .arena = &r->a,
                         .options = &options,
                         .safe = true,
                         .path_names = s->dialect == &dialect_gemini,
                         .path_model = w->model,
                         .path_stream = s->stream,
                         .credential = (uint64_t)w->client,
                         .waits = -1,
                         .speaks = s->dialect};
    request_scan scan = s->dialect->scan(q.body, NULL, false);
    if (!scan.ok)
        return run_told(r, s->body_line, "this is not a request of the dialect", str_of(s->dialect->name));
    r->stream = q.path_names ? s->stream : scan.stream;
    r->sent = q.body;
    if (!wire_request(&r->w, &q))
        return run_told(r, s->expect_line, "it does not end", s->title);
    log_end(r);
    return !r->at.why[0] && work_on(r, q.body);
}

static bool request(run *r, const wish *w)
{
    if (!sys_arena_init(&r->a, CALL_BYTES_USUAL, CALL_ARENA_BYTES_MAX))
        return run_told(r, r->s->expect_line, "no memory for", r->s->title);
    bool ok = run_request(r, w);
    wire_leave(&r->w);
    sys_arena_done(&r->a);
    return ok;
}

/* request [deadline=5s] [enabled=off] [client=1] [model=m-fallback] */
static bool read_request(run *r, const replay_step *step, wish *w)
{
    static const replay_setting rows[] = {
        {"deadline", REPLAY_DURATION, REPLAY_AT(wish, deadline)},
        {"enabled", REPLAY_SWITCH, REPLAY_AT(wish, policy.enabled)},
        {"client", REPLAY_NUMBER, REPLAY_AT(wish, client)},
        {"model", REPLAY_TEXT, REPLAY_AT(wish, model)},
    };
    r->at.line = step->line;
    return replay_set_words(&r->at, REPLAY_SETTINGS(rows, "a request has deadline=, enabled=, client= and model=, not"),
                            str_from(step->what, sizeof "request" - 1), w);
}

/* A line of the script that is no outcome, with the requests that it makes; NULL: the one that is implied. */
static bool play_line(run *r, replay_step *step)
{
    wish w = {.policy = r->s->policy, .deadline = r->s->deadline, .model = S("m-main")};
    if (step && begins_with_word(step->what, S("advance"))) {
        daruma_ms by = replay_duration(str_trim(str_from(step->what, 7)));
        r->w.at.now = add_sat(r->w.at.now, by > 0 ? by : 0);
        return by >= 0 || run_told(r, step->line, "expected a duration:", step->what);
    }
    if (step && !read_request(r, step, &w))
        return false;
    if (step)
        buf_printf(r->log, "%s# request at %lld\n", r->log->n ? "\n" : "", (long long)r->w.at.now);
    bool named = w.client > 0;
    for (uint32_t t = 0; t < (step ? step->times : 1); t++) {
        if (!named)
            w.client = -1 - ++r->clients;
        do {
            if (!request(r, &w))
                return false;
        } while (r->grown.n);
    }
    return true;
}

static bool play(run *r)
{
    replay_scene *s = r->s;
    bool implied =
        !s->nsteps || !is_directive(s->steps[0].what); /* the request of a block that begins with an outcome */
    for (size_t i = 0; i < s->nsteps || implied; implied = false) {
        replay_step *step = implied ? NULL : &s->steps[i++];
        r->from = i;
        if (!play_line(r, step))
            return false;
        for (; i < s->nsteps && !is_directive(s->steps[i].what); i++)
            if (s->steps[i].times)
                return run_told(r, s->steps[i].line, "no call was made that meets", s->steps[i].what);
    }
    return true;
}

/* Does the client ask for a stream? Where the scene has no body, that is as its outcomes need it. */
static bool needs_stream(const replay_scene *s)
{
    for (size_t i = 0; i < s->nsteps; i++)
        for (size_t k = 0; k < COUNT(outcomes); k++)
            if (outcomes[k].phase == DARUMA_AT_STREAM && begins_with_word(s->steps[i].what, outcomes[k].word))
                return true;
    return false;
}

bool replay_run(replay_scene *s, daruma_buf *log, char why[256])
{
    daruma_arena a;
    why[0] = 0;
    if (s->agent)
        return replay_steps_run(s, log, why);
    s->stream |= !s->body.n && needs_stream(s);
    bool ok = sys_arena_init(&a, 0, 64 << 20);
    run *r = ok ? ARENA_NEW(&a, run, 1) : NULL;
    if (r) {
        *r = (run){.s = s,
                   .log = log,
                   .at = {.file = s->file, .why = why},
                   .keep = &a,
                   .w = {.ops = &run_wire_ops,
                         .user = r,
                         .d = s->dialect,
                         .renewable = s->refresh,
                         .dice = (uint64_t)s->seed,
                         .v = {.rooms = &run_rooms}}};
    }
    ok = r && wire_begin(&r->w, &a);
    if (ok) {
        ok = s->nagents ? run_agents(r) : play(r);
        wire_end(&r->w);
    } else {
        snprintf(why, 256, "%s: no memory", s->file);
    }
    sys_arena_done(&a);
    return ok;
}
