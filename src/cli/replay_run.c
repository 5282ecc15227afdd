/* replay_run.c - a host without a network: it does what the engine says against a script, on a
 * clock that only moves when somebody waits, and writes down each step. */
#include "cli/replay_mend.h"
#include "cli/replay_steps.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>

enum { WALL_BEGIN = 1767225600, ROOM_BYTES = 1 << 18, PLACES = 256, HEADERS = 8 };

typedef struct run {
    replay_scene *s;
    daruma_buf *log;
    char *why; /* of 256 bytes */
    daruma_health *health;
    daruma_case c;
    daruma_ms now;
    uint64_t dice;
    daruma_failure failure;
    char *room;      /* for classification, reused by each */
    char *mend_room; /* for the conversation, reused by each request */
    replay_mend mend;
    daruma_str shown; /* the body that the log has */
} run;

static daruma_moment moment(run *r)
{
    uint64_t z = (r->dice += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (daruma_moment){.now = r->now, .wall = WALL_BEGIN + r->now / 1000, .dice = z ^ (z >> 31)};
}

static bool told(run *r, int line, const char *what, daruma_str about)
{
    snprintf(r->why, 256, "%s:%d: %s `" STR_FMT "`", r->s->file, line, what, (int)(about.n > 80 ? 80 : about.n),
             about.p ? about.p : "");
    return false;
}

static void log_text(run *r, const char *name, daruma_str text)
{
    if (!text.n)
        return;
    buf_printf(r->log, " %s=", name);
    replay_mend_show(text, r->log);
}

static void log_number(run *r, const char *name, int64_t n)
{
    if (n >= 0)
        buf_printf(r->log, " %s=%lld", name, (long long)n);
}

static void log_fields(run *r, const daruma_event *e)
{
    if (e->failure && e->failure->type)
        buf_printf(r->log, " error_type=%s", e->failure->type);
    log_number(r, "compress_attempt", e->compress_attempt);
    log_number(r, "attempt", e->attempt);
    log_number(r, "attempts", e->attempts);
    log_text(r, "reason", e->reason);
    log_text(r, "strategy", e->strategy);
    log_number(r, "steps_compressed", e->steps_compressed);
    log_number(r, "original_size_chars", e->original_size);
    log_number(r, "compressed_size_chars", e->compressed_size);
    log_number(r, "pruned_count", e->pruned_count);
    log_number(r, "answered_count", e->answered_count);
    log_text(r, "from", e->from);
    log_text(r, "to", e->to);
    log_text(r, "original_error", e->original_error);
    log_text(r, "compression_error", e->mend_error);
}

/* Tells of a moment as the profile does, if it does. */
static void tell(run *r, daruma_when when, daruma_event *e)
{
    e->failure = &r->failure;
    if (!daruma_event_when(e, when, &r->c))
        return;
    buf_printf(r->log, "event %s", e->name);
    if (r->s->fields)
        log_fields(r, e);
    BUF_LIT(r->log, "\n");
}

static void event(run *r, daruma_when when, const daruma_remedy *m)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.remedy = m;
    tell(r, when, &e);
}

static void log_target(run *r, int i)
{
    const daruma_target *t = &r->s->targets[i];
    buf_printf(r->log, STR_FMT "/" STR_FMT " key=" STR_FMT, STR_ARG(t->provider), STR_ARG(t->model), STR_ARG(t->key));
}

/* ---- what the script says -------------------------------------------------------------- */

static bool leads_to(const replay_step *step, const daruma_target *t)
{
    daruma_str where = step->where, provider = str_cut(&where, '/');
    return !step->where.n || (str_eq(provider, t->provider) && (str_eq(where, t->model) || str_eq(where, S("*"))) &&
                              (!step->key.n || str_eq(step->key, t->key)));
}

static bool is_directive(daruma_str what)
{
    return str_eq(what, S("request")) || str_starts(what, S("request ")) || str_starts(what, S("advance "));
}

/* The next outcome for a call to `t` before the next request; NULL when there is none. */
static replay_step *next_step(replay_scene *s, size_t from, const daruma_target *t)
{
    for (size_t i = from; i < s->nsteps && !is_directive(s->steps[i].what); i++)
        if (s->steps[i].times && leads_to(&s->steps[i], t))
            return &s->steps[i];
    return NULL;
}

/* Words that are an outcome without a status. */
// clang-format off
static const struct {
    daruma_str word;
    daruma_net net;
    daruma_flaw flaw;
    daruma_phase phase;
    int status;
} outcomes[] = {
#define O(word, ...) {LIT(word), __VA_ARGS__}
    O("dns",                DARUMA_NET_DNS,                DARUMA_FLAW_NONE,        DARUMA_AT_CONNECT, 0),
    O("refused",            DARUMA_NET_REFUSED,            DARUMA_FLAW_NONE,        DARUMA_AT_CONNECT, 0),
    O("certificate",        DARUMA_NET_CERTIFICATE,        DARUMA_FLAW_NONE,        DARUMA_AT_CONNECT, 0),
    O("reset",              DARUMA_NET_RESET,              DARUMA_FLAW_NONE,        DARUMA_AT_WAIT,    0),
    O("closed",             DARUMA_NET_CLOSED,             DARUMA_FLAW_NONE,        DARUMA_AT_WAIT,    0),
    O("timeout connect",    DARUMA_NET_CONNECT_TIMEOUT,    DARUMA_FLAW_NONE,        DARUMA_AT_CONNECT, 0),
    O("timeout first_byte", DARUMA_NET_FIRST_BYTE_TIMEOUT, DARUMA_FLAW_NONE,        DARUMA_AT_WAIT,    0),
    O("timeout idle",       DARUMA_NET_IDLE_TIMEOUT,       DARUMA_FLAW_NONE,        DARUMA_AT_STREAM,  200),
    O("timeout total",      DARUMA_NET_TOTAL_TIMEOUT,      DARUMA_FLAW_NONE,        DARUMA_AT_STREAM,  200),
    O("cut",                DARUMA_NET_CUT,                DARUMA_FLAW_CUT,         DARUMA_AT_STREAM,  200),
    O("empty",              DARUMA_NET_NONE,               DARUMA_FLAW_EMPTY,       DARUMA_AT_ANSWER,  200),
    O("broken",             DARUMA_NET_NONE,               DARUMA_FLAW_BROKEN,      DARUMA_AT_ANSWER,  200),
    O("silent",             DARUMA_NET_NONE,               DARUMA_FLAW_SILENT,      DARUMA_AT_STREAM,  200),
    O("error",              DARUMA_NET_NONE,               DARUMA_FLAW_ERROR_EVENT, DARUMA_AT_STREAM,  200),
#undef O
};
// clang-format on

static bool begins_with_word(daruma_str s, daruma_str word)
{
    return str_starts(s, word) && (s.n == word.n || s.p[word.n] == ' ');
}

/* `what` as evidence. Words before the body are headers, but for took= and forwarded=. */
static bool evidence_of(run *r, const replay_step *step, daruma_header headers[HEADERS], daruma_evidence *ev)
{
    daruma_str rest = step->what, name, value;
    int64_t number;
    size_t used = str_scan_int(rest, &number);
    bool known = used == 3 && (rest.n == 3 || rest.p[3] == ' ');
    *ev = (daruma_evidence){.phase = DARUMA_AT_ANSWER, .headers = headers, .took = 0};
    if (known)
        ev->status = (int)number;
    for (size_t i = 0; i < COUNT(outcomes) && !known; i++)
        if (begins_with_word(rest, outcomes[i].word)) {
            ev->net = outcomes[i].net;
            ev->flaw = outcomes[i].flaw;
            ev->phase = outcomes[i].phase;
            ev->status = outcomes[i].status;
            used = outcomes[i].word.n;
            known = true;
        }
    if (!known)
        return told(r, step->line, "what outcome is this?", step->what);
    rest = str_trim(str_from(rest, used));
    while (rest.n && !memchr("{[<\"", rest.p[0], 4) && replay_word(&rest, &name, &value)) {
        rest = str_trim(rest);
        if (str_eq(name, S("took"))) {
            ev->took = replay_duration(value);
            if (ev->took < 0)
                return told(r, step->line, "expected a duration, not", value);
        } else if (str_eq(name, S("forwarded"))) {
            if (!str_int(value, &number))
                return told(r, step->line, "expected a number, not", value);
            ev->forwarded = (size_t)number;
        } else if (str_eq(name, S("provider"))) {
            ev->provider = value;
        } else if (ev->nheaders < HEADERS && value.n) {
            headers[ev->nheaders++] = (daruma_header){name, value};
        } else {
            return told(r, step->line, "expected header=value, took=, forwarded= or a body, not", name);
        }
    }
    ev->body = rest;
    return true;
}

/* ---- one request ------------------------------------------------------------------------ */

/* `said`: what the model said instead of an explanation of ours. */
static void end(run *r, daruma_outcome o, daruma_str said)
{
    daruma_case_close(&r->c, o, moment(r));
    o = r->c.outcome;
    buf_printf(r->log, "outcome %s attempts=%u", daruma_outcome_name(o), r->c.attempts);
    if (o == DARUMA_OUTCOME_EXPLAINED) {
        daruma_ms again = daruma_case_again_in(&r->c, r->c.attempts ? &r->failure : NULL, r->now);
        if (again < 0)
            BUF_LIT(r->log, " again=never");
        else
            buf_printf(r->log, " again=%lld", (long long)again);
    }
    BUF_LIT(r->log, "\n");
    if (r->s->explain && r->failure.message.p && o != DARUMA_OUTCOME_RECOVERED && o != DARUMA_OUTCOME_FAILED) {
        BUF_LIT(r->log, "explain ");
        if (said.n)
            buf_put(r->log, said);
        else
            daruma_explain(&r->failure, &r->c, r->log);
        BUF_LIT(r->log, "\n");
    }
}

/* Without a remedy the failure is raised: the caller gets it as it is. */
static void give_up(run *r, const daruma_remedy *m)
{
    daruma_str said = {0};
    if (m->remedy == DARUMA_REMEDY_APOLOGISE)
        said = replay_mend_apology(&r->mend, &r->failure, r->log);
    if (r->c.attempts > 1)
        event(r, DARUMA_WHEN_EXHAUSTED, m);
    event(r, DARUMA_WHEN_GIVEN_UP, m);
    end(r, m->remedy == DARUMA_REMEDY_NONE ? DARUMA_OUTCOME_FAILED : DARUMA_OUTCOME_EXPLAINED, said);
}

static void log_failure(run *r)
{
    buf_printf(r->log, "failure %s", daruma_kind_name(r->failure.kind));
    if (r->failure.status)
        buf_printf(r->log, " status=%d", r->failure.status);
    if (r->failure.wait >= 0)
        buf_printf(r->log, " wait=%lld", (long long)r->failure.wait);
    if (r->s->rules && r->failure.rule)
        buf_printf(r->log, " rule=%s", daruma_rule_name(r->failure.rule));
    BUF_LIT(r->log, "\n");
}

/* Asks what to do until something can be done. */
static daruma_remedy next(run *r, const daruma_evidence *ev, daruma_moment at, daruma_event *e)
{
    for (;;) {
        daruma_remedy m = daruma_case_next(&r->c, &r->failure, ev->forwarded, at);
        buf_printf(r->log, "remedy %s", daruma_remedy_name(m.remedy));
        if (m.act == DARUMA_SEND)
            buf_printf(r->log, " delay=%lld", (long long)m.wait);
        BUF_LIT(r->log, "\n");
        *e = DARUMA_EVENT_INIT;
        replay_mended how = replay_mend_do(&r->mend, &m, &r->failure, ev, &r->s->targets[m.target], e, r->log);
        if (how == MENDED_NOT || how == MENDED_GOOD)
            return m;
        BUF_LIT(r->log, "unfit\n");
        e->remedy = &m;
        if (how == MENDED_BROKE)
            tell(r, DARUMA_WHEN_BROKE, e);
        e->remedy = NULL;
    }
}

/* The attempt failed: asks what to do and does it. `answer`: the whole answer when that is what was wrong. */
static void failed(run *r, const daruma_evidence *ev, daruma_str answer)
{
    daruma_evidence seen = *ev;
    daruma_arena a = arena_over(r->room, ROOM_BYTES);
    daruma_moment at = moment(r);
    daruma_event e;
    r->failure = daruma_classify(ev, at, &a);
    r->failure = daruma_judge(r->c.policy, ev, &r->failure);
    log_failure(r);
    event(r, DARUMA_WHEN_FAILED, NULL);
    bool first = r->c.remedies == 0;
    seen.body = answer.n ? answer : ev->body;
    daruma_remedy m = next(r, &seen, at, &e);
    if (m.act == DARUMA_SEND) {
        if (first)
            event(r, DARUMA_WHEN_BEGIN, &m);
        e.remedy = &m;
        if (e.what.p) /* something was mended */
            tell(r, DARUMA_WHEN_MENDED, &e);
        event(r, DARUMA_WHEN_AGAIN, &m);
        if (m.remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS)
            daruma_health_refreshed(r->health, &r->s->targets[m.target]);
        return;
    }
    if (m.act == DARUMA_KEEP)
        end(r, DARUMA_OUTCOME_DEGRADED, S(""));
    else
        give_up(r, &m);
}

/* An answer came: is it one that the client can use? */
static void answered(run *r, daruma_str answer)
{
    daruma_str why = {0};
    if (!replay_mend_check(&r->mend, answer, &why, r->log)) {
        daruma_evidence ev = {.phase = DARUMA_AT_ANSWER, .status = 200, .flaw = DARUMA_FLAW_BROKEN};
        daruma_case_answered(&r->c, moment(r)); /* wrong words are no matter of health */
        failed(r, &ev, answer);
        return;
    }
    bool joined = !r->mend.resumed || replay_mend_join(&r->mend, answer, r->log);
    if (!joined) { /* it is a cut answer still */
        daruma_case_answered(&r->c, moment(r));
        daruma_evidence ev = {
            .phase = DARUMA_AT_STREAM, .status = 200, .flaw = DARUMA_FLAW_CUT, .forwarded = r->mend.whole.n};
        failed(r, &ev, S(""));
        return;
    }
    if (r->mend.answer_mended)
        daruma_case_did(&r->c, DARUMA_REMEDY_MEND_ANSWER);
    daruma_case_done(&r->c, moment(r));
    if (r->c.outcome == DARUMA_OUTCOME_RECOVERED && r->c.attempts > 1) /* else nothing failed: its answer was mended */
        event(r, DARUMA_WHEN_RECOVERED, NULL);
    end(r, r->c.outcome, S(""));
}

/* The body that goes out, when it is another than before. */
static void log_sent(run *r)
{
    if (!r->s->sent || str_eq(r->shown, r->mend.body))
        return;
    BUF_LIT(r->log, "sent ");
    replay_mend_show(r->mend.body, r->log);
    BUF_LIT(r->log, "\n");
    r->shown = r->mend.body;
}

static bool call(run *r, int target, size_t from)
{
    daruma_header headers[HEADERS];
    daruma_evidence ev;
    replay_step *step = next_step(r->s, from, &r->s->targets[target]);
    BUF_LIT(r->log, "call ");
    log_target(r, target);
    BUF_LIT(r->log, "\n");
    log_sent(r);
    if (!step)
        return told(r, r->s->expect_line, "the script has no outcome left for a call to", r->s->targets[target].model);
    step->times--;
    if (begins_with_word(step->what, S("ok"))) {
        answered(r, str_trim(str_from(step->what, 2)));
        return true;
    }
    if (str_eq(step->what, S("leave"))) {
        daruma_case_drop(&r->c, moment(r));
        end(r, DARUMA_OUTCOME_CANCELLED_, S(""));
        return true;
    }
    if (!evidence_of(r, step, headers, &ev))
        return false;
    r->now = add_sat(r->now, ev.took);
    failed(r, &ev, S(""));
    return true;
}

/* Runs one request against the outcomes from `from` on. */
static bool run_request(run *r, size_t from, int prefer, daruma_ms deadline, const daruma_policy *p)
{
    daruma_case_open(&r->c, r->health, p, r->s->targets, r->s->ntargets, prefer,
                     deadline < 0 ? -1 : add_sat(r->now, deadline), moment(r));
    r->c.can_refresh = r->s->refresh;
    r->c.safe_twice = r->s->safe_twice;
    if (!replay_mend_begin(&r->mend, r->s, p, r->mend_room, REPLAY_ROOM_BYTES, r->why))
        return false;
    r->c.can_mend = r->mend.body.n > 0;
    r->shown = r->mend.body;
    r->failure = (daruma_failure){.wait = -1, .limit = -1, .used = -1, .requested = -1};
    for (int i = 0; i < REPLAY_TURNS_MAX && r->c.outcome == DARUMA_OUTCOME_PENDING; i++) {
        daruma_admission a = daruma_case_admit(&r->c, moment(r));
        if (a.act == DARUMA_STOP) {
            buf_printf(r->log, "stop %s\n", daruma_kind_name(a.why));
            daruma_remedy none = {.remedy = DARUMA_REMEDY_EXPLAIN};
            give_up(r, &none);
        } else if (a.wait > 0) {
            buf_printf(r->log, "sleep %lld\n", (long long)a.wait);
            r->now = add_sat(r->now, a.wait);
        } else if (!call(r, a.target, from)) {
            return false;
        }
    }
    return r->c.outcome != DARUMA_OUTCOME_PENDING || told(r, r->s->expect_line, "it does not end", r->s->title);
}

static bool request(run *r, size_t from, int prefer, daruma_ms deadline, const daruma_policy *p)
{
    bool ok = run_request(r, from, prefer, deadline, p);
    replay_mend_end(&r->mend);
    return ok;
}

/* request [prefer=1] [deadline=5s] [enabled=off] */
static bool read_request(run *r, const replay_step *step, int *prefer, daruma_ms *deadline, daruma_policy *p)
{
    daruma_str rest = str_from(step->what, sizeof "request" - 1), name, value;
    int64_t n;
    while (replay_word(&rest, &name, &value)) {
        if (str_eq(name, S("prefer")) && str_int(value, &n) && n < DARUMA_CASE_TRIED)
            *prefer = (int)n;
        else if (str_eq(name, S("deadline")) && replay_duration(value) >= 0)
            *deadline = replay_duration(value);
        else if (str_eq(name, S("enabled")))
            p->enabled = str_eq(value, S("on"));
        else
            return told(r, step->line, "a request has prefer=, deadline= and enabled=, not", name);
    }
    return true;
}

static bool play(run *r)
{
    replay_scene *s = r->s;
    size_t i = 0;
    bool done = false; /* the request that is implied when a block begins with an outcome */
    while (i < s->nsteps || !done) {
        replay_step *step = i < s->nsteps ? &s->steps[i] : NULL;
        daruma_policy p = s->policy;
        int prefer = s->prefer;
        daruma_ms deadline = s->deadline;
        uint32_t times = 1;
        if (step && str_starts(step->what, S("advance "))) {
            daruma_ms by = replay_duration(str_trim(str_from(step->what, 8)));
            if (by < 0)
                return told(r, step->line, "expected a duration:", step->what);
            r->now = add_sat(r->now, by);
            done = true;
            i++;
            continue;
        }
        if (step && is_directive(step->what)) {
            times = step->times;
            if (!read_request(r, step, &prefer, &deadline, &p))
                return false;
            buf_printf(r->log, "%s# request at %lld\n", r->log->n ? "\n" : "", (long long)r->now);
            i++;
        }
        done = true;
        size_t from = i;
        for (uint32_t t = 0; t < times; t++)
            if (!request(r, from, prefer, deadline, &p))
                return false;
        for (; i < s->nsteps && !is_directive(s->steps[i].what); i++)
            if (s->steps[i].times)
                return told(r, s->steps[i].line, "no call was made that meets", s->steps[i].what);
    }
    return true;
}

bool replay_run(replay_scene *s, daruma_buf *log, char why[256])
{
    if (s->agent)
        return replay_steps_run(s, log, why);
    size_t bytes = daruma_health_bytes(PLACES);
    char *health = malloc(bytes), *room = malloc(ROOM_BYTES),
         *mend_room = s->dialect ? malloc(REPLAY_ROOM_BYTES) : NULL;
    bool ok = false;
    if (health && room && (mend_room || !s->dialect)) {
        daruma_arena a = arena_over(health, bytes);
        run r = {.s = s,
                 .log = log,
                 .why = why,
                 .health = daruma_health_new(&a, PLACES),
                 .dice = s->seed,
                 .room = room,
                 .mend_room = mend_room};
        ok = play(&r);
    } else {
        snprintf(why, 256, "%s: no memory", s->file);
    }
    free(mend_room);
    free(room);
    free(health);
    return ok;
}
