/* replay_mend.c - the conversation of a scene: the driver carries remedies out on it, as it does in the gateway, and
 * asks the scene's model. */
#include "cli/replay_mend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/drive/answer_test.h"
#include "sys/sys.h"
#include <stdio.h>

enum { RUN_SHOWN_MIN = 20 };

static const drive_rooms rooms = {
    .open = sys_arena_init, .close = sys_arena_done, .widen = sys_arena_widen, .bytes = sys_arena_bytes};

/* ---- bodies ---------------------------------------------------------------------------- */

void replay_mend_show(daruma_str body, daruma_buf *log)
{
    for (size_t i = 0, n; i < body.n; i += n) {
        for (n = 1; i + n < body.n && body.p[i + n] == body.p[i];)
            n++;
        if (n >= RUN_SHOWN_MIN) {
            buf_printf(log, "{{%zu %c}}", n, body.p[i]);
        } else {
            for (size_t k = 0; k < n; k++)
                buf_putc(log, body.p[i] == '\n' ? ' ' : body.p[i]);
        }
    }
}

bool replay_mend_begin(replay_mend *m, const replay_scene *s, const daruma_policy *p, void *room, size_t bytes,
                       char why[256])
{
    convo c = {0};
    *m = (replay_mend){.s = s, .policy = p};
    if (!s->dialect)
        return true;
    m->a = arena_over(room, bytes);
    m->body = replay_expand(str_trim(s->body), 0, &m->a);
    if (!s->dialect->read || s->dialect->read(m->body, &m->a, &c) != DARUMA_OK || m->a.full) {
        snprintf(why, 256, "%s:%d: this is not a request of the dialect %s", s->file, s->body_line, s->dialect->name);
        return false;
    }
    history_begin(&m->past, s->dialect, &rooms, &p->mend);
    return true;
}

void replay_mend_end(replay_mend *m)
{
    if (!m->past.rooms)
        return;
    history_end(&m->past);
    drive_texts_close(&rooms, m->texts);
    m->texts = NULL;
}

/* What goes out is now this. */
static void take_body(replay_mend *m, drive_text *made)
{
    made->next = m->texts;
    m->texts = made;
    m->body = made->bytes;
}

/* ---- the scene's model ------------------------------------------------------------------ */

/* The next answer of the script; false, and empty, when it fails or has none left. */
static bool ask(replay_mend *m, const char *what, daruma_str about, bool cut, daruma_str *ret, daruma_buf *log)
{
    daruma_str said = m->asked < m->s->nmodel ? m->s->model[m->asked++] : S("fail");
    bool fails = str_eq(said, S("fail"));
    buf_printf(log, "ask %s" STR_FMT "%s%s\n", what, STR_ARG(about), cut ? " truncated" : "", fails ? " failed" : "");
    *ret = fails ? (daruma_str){0} : replay_expand(said, 0, &m->a);
    return !fails;
}

daruma_str replay_mend_apology(replay_mend *m, const daruma_failure *f, daruma_buf *log)
{
    daruma_str said;
    (void)f;
    ask(m, "apology", S(""), false, &said, log);
    return said;
}

/* A text in quotes is what it says; anything else as it is. */
static daruma_str plain(replay_mend *m, daruma_str s)
{
    return s.n && s.p[0] == '"' ? replay_expand(json_text(s, &m->a), 0, &m->a) : s;
}

/* ---- the answer ---------------------------------------------------------------------------- */

/* The answer of an outcome; a text that is no answer of the dialect is what the model said. */
static bool read_turn(replay_mend *m, daruma_str answer, turn *ret)
{
    *ret = (turn){0};
    if (m->s->dialect->read_answer && m->s->dialect->read_answer(answer, &m->a, ret) == DARUMA_OK)
        return true;
    *ret = (turn){.message = {.role = CONVO_ASSISTANT}};
    ret->message.parts = ARENA_NEW(&m->a, convo_part, 1);
    if (!ret->message.parts)
        return false;
    ret->message.parts[0] = (convo_part){.kind = PART_TEXT, .ready = true, .text = answer};
    ret->message.nparts = ret->message.cap = answer.n > 0;
    return true;
}

/* Holds an answer against the request as the client sent it. */
static answer_test test(replay_mend *m, turn *t)
{
    convo c = {0}, owner = {.arena = &m->a};
    daruma_str from = m->past.from.n ? m->past.from : m->body;
    answer_test k = {.was_unfit = m->unfit};
    if (m->s->dialect->read(from, &m->a, &c) != DARUMA_OK)
        return k;
    for (size_t i = 0; i < t->message.nparts; i++) {
        convo_part *p = &t->message.parts[i];
        p->text = convo_text(&owner, p);
        p->ready = true;
    }
    k.tools = c.ntools ? &c : NULL;
    k.format = c.set.format == FORMAT_SCHEMA || c.set.format == FORMAT_JSON ? &c : NULL;
    answer_test_do(&k, t, &m->a);
    m->unfit |= k.unfit;
    return k;
}

bool replay_mend_check(replay_mend *m, daruma_str answer, daruma_str *why, daruma_buf *log)
{
    turn t;
    m->answer_mended = false;
    if (!m->body.n || !json_is_object(answer) || !read_turn(m, answer, &t))
        return true;
    answer_test k = test(m, &t);
    for (size_t i = 0; i < t.message.nparts && !k.bad; i++) {
        const convo_part *p = &t.message.parts[i];
        if (!p->edited)
            continue;
        BUF_LIT(log, "repaired ");
        buf_put(log, p->kind == PART_CALL ? p->name : S("text"));
        buf_putc(log, ' ');
        replay_mend_show(p->text, log);
        buf_putc(log, '\n');
        m->answer_mended = true;
    }
    *why = k.why;
    if (k.bad)
        history_bad_answer(&m->past, &t, k.why, &m->a);
    return !k.bad;
}

/* The answer could not be used: it is asked for again with what is wrong with it. */
static bool set_bad(replay_mend *m, const daruma_evidence *ev)
{
    turn t;
    if (m->past.m.bad && ev->flaw == DARUMA_FLAW_BROKEN && json_is_object(ev->body))
        return true; /* it was checked */
    if (!read_turn(m, ev->body, &t))
        return false;
    answer_test k = test(m, &t);
    daruma_str why = k.bad ? k.why : ev->flaw == DARUMA_FLAW_EMPTY ? S("") : S("The answer could not be read.");
    history_bad_answer(&m->past, &t, why, &m->a);
    return true;
}

/* What the client has by now; false when a piece that went out cannot be placed. */
static bool pieces(replay_mend *m, daruma_str piece, daruma_str *ret)
{
    daruma_buf whole = buf_in(&m->a);
    join_result j = {.verdict = JOIN_AT};
    if (m->resumed)
        j = join_find(m->whole, piece, true, m->going);
    buf_put(&whole, m->whole);
    buf_put(&whole, str_from(piece, j.skip));
    *ret = buf_str(&whole);
    return j.verdict == JOIN_AT && piece.n;
}

/* What is known of a target: what the scene says of it. */
static history_target target_of(const replay_mend *m, const daruma_target *t)
{
    return (history_target){
        .window = t->window, .shares_none = m->s->dialect->quirks & WIRE_NO_IDS, .rate = REQUEST_RATE};
}

/* Asks for the rest of a cut answer. */
static replay_mended resume(replay_mend *m, const daruma_evidence *ev, const daruma_target *t, mend_report *rep)
{
    daruma_str whole = m->whole;
    history_onward o;
    history_target to = target_of(m, t);
    bool placed = m->unsure || (m->resumed && ev->status >= 400);
    if (!placed && !pieces(m, plain(m, ev->body), &whole))
        return MENDED_UNFIT;
    if (m->unsure)
        history_ask_otherwise(&m->past);
    history_rest_of q = {.body = m->body,
                         .so_far = whole,
                         .prefills = m->s->dialect->quirks & WIRE_PREFILL,
                         .beside = history_beside(&to, &m->past.policy),
                         .read_bytes = MEND_ARENA_BYTES_MAX};
    if (!history_onward_make(&m->past, &q, rep, &o))
        return MENDED_UNFIT;
    history_goes_on(&m->past, &o);
    if (o.made)
        take_body(m, o.made);
    else
        m->body = o.of;
    m->whole = whole;
    m->going = o.how;
    m->resumed = true;
    m->unsure = false;
    return MENDED_GOOD;
}

bool replay_mend_join(replay_mend *m, daruma_str answer, daruma_buf *log)
{
    answer = plain(m, answer);
    join_result j = join_find(m->whole, answer, true, m->going);
    m->unsure = j.verdict != JOIN_AT;
    if (m->unsure) {
        BUF_LIT(log, "join unsure\n");
        return false;
    }
    buf_printf(log, "join skip=%zu\nanswer " STR_FMT STR_FMT "\n", j.skip, STR_ARG(m->whole),
               STR_ARG(str_from(answer, j.skip)));
    return true;
}

/* ---- which ---------------------------------------------------------------------------------- */

static bool asks_for_summaries(const replay_mend *m, const daruma_remedy *r)
{
    return r->remedy == DARUMA_REMEDY_SUMMARISE && m->policy->mend.summarize_on_compress;
}

/* Asks the scene's model all that the remedy under way wants to know; what fails is told. */
static void ask_all(replay_mend *m, daruma_event *e, daruma_buf *log)
{
    mending *g = &m->past.m;
    for (size_t i = 0; i < g->nquestions; i++) {
        daruma_str said;
        bool cut = str_find(g->questions[i].user, S("truncated")) != STR_NONE;
        if (!ask(m, "summary of ", g->questions[i].about, cut, &said, log) && g->doing == DARUMA_REMEDY_COMPACT)
            e->mend_error = S("the model that should summarise failed");
        mending_answer(g, i, said);
    }
}

static replay_mended carry_out(replay_mend *m, const daruma_remedy *r, const daruma_failure *f,
                               const daruma_evidence *ev, const daruma_target *t, daruma_event *e, daruma_buf *log)
{
    history_target to = target_of(m, t);
    if (r->remedy == DARUMA_REMEDY_ASK_AGAIN && !set_bad(m, ev))
        return MENDED_UNFIT;
    if (asks_for_summaries(m, r) && (m->s->no_summariser || !m->policy->mend.side_calls)) {
        e->mend_error = S("No LLM client available for compression");
        return MENDED_BROKE;
    }
    history_task *task = history_plan(&m->past, &to, m->body, f, &r->remedy, 1);
    for (history_work(&m->past); task->result == MENDING_ASKS; history_work(&m->past)) {
        ask_all(m, e, log);
        task->ends = true;
    }
    if (task->result != MENDING_DONE)
        return e->mend_error.n ? MENDED_BROKE : MENDED_UNFIT;
    take_body(m, task->made);
    task->made = NULL;
    m->past.resume_of = (daruma_str){0};
    return MENDED_GOOD;
}

static void log_report(const daruma_remedy *r, const mend_report *rep, daruma_buf *log)
{
    const struct {
        const char *name;
        uint32_t n;
    } counts[] = {
        {"answered", rep->calls_answered},   {"pruned", rep->calls_dropped},    {"moved", rep->results_moved},
        {"dropped", rep->results_dropped},   {"to_text", rep->results_to_text}, {"messages", rep->messages_mended},
        {"shortened", rep->parts_shortened}, {"patches", rep->patches},
    };
    buf_printf(log, "mend %s", daruma_remedy_name(r->remedy));
    for (size_t i = 0; i < COUNT(counts); i++)
        if (counts[i].n)
            buf_printf(log, " %s=%u", counts[i].name, counts[i].n);
    BUF_LIT(log, "\n");
}

static void tell_report(const daruma_remedy *r, const mending *g, const mend_report *rep, size_t before, size_t after,
                        daruma_event *e)
{
    if (r->remedy == DARUMA_REMEDY_SHRINK_REQUEST) {
        e->steps_compressed = rep->parts_shortened;
        e->original_size = (int64_t)before;
        e->compressed_size = (int64_t)after;
    } else if (rep->parts_shortened || r->remedy == DARUMA_REMEDY_COMPACT) {
        e->steps_compressed = rep->parts_shortened ? rep->parts_shortened : rep->messages_mended;
        e->original_size = g->original_chars;
        e->compressed_size = g->compressed_chars;
    }
    if (r->remedy == DARUMA_REMEDY_REPAIR_HISTORY) {
        e->pruned_count = rep->calls_dropped ? (int64_t)rep->calls_dropped : -1;
        e->answered_count = rep->calls_answered ? (int64_t)rep->calls_answered : -1;
        e->original_error = e->failure->message;
    }
    e->from = g->from;
    e->to = g->to;
}

replay_mended replay_mend_do(replay_mend *m, const daruma_remedy *r, const daruma_failure *f, const daruma_evidence *ev,
                             const daruma_target *t, daruma_event *e, daruma_buf *log)
{
    mend_report rep = {0};
    size_t before = m->body.n;
    bool resumes = r->remedy == DARUMA_REMEDY_RESUME;
    if (!resumes && !mending_is(r->remedy))
        return MENDED_NOT;
    if (!m->body.n)
        return MENDED_UNFIT;
    replay_mended how = resumes ? resume(m, ev, t, &rep) : carry_out(m, r, f, ev, t, e, log);
    if (how != MENDED_GOOD)
        return how;
    if (!resumes)
        rep = m->past.m.report;
    log_report(r, &rep, log);
    e->failure = f;
    tell_report(r, &m->past.m, &rep, before, m->body.n, e);
    e->what = arena_copy(&m->a, str_of(rep.what));
    history_rest(&m->past);
    return how;
}
