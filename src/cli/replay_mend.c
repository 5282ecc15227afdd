/* replay_mend.c - carries remedies out on the conversation of a scene, as a gateway does, without a network. */
#include "cli/replay_mend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdio.h>

enum { RUN_SHOWN_MIN = 20 };

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
    return true;
}

static bool read_body(replay_mend *m, convo *c)
{
    *c = (convo){0};
    return m->s->dialect->read(m->body, &m->a, c) == DARUMA_OK;
}

/* What goes out is now this. */
static bool write_body(replay_mend *m, const convo *c)
{
    daruma_buf out = buf_in(&m->a);
    m->s->dialect->write(c, &out);
    if (c->full || out.full)
        return false;
    m->body = buf_str(&out);
    return true;
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

static bool check_calls(replay_mend *m, convo *c, turn *t, daruma_str *why, daruma_buf *log)
{
    for (size_t i = 0; i < t->message.nparts; i++) {
        convo_part *p = &t->message.parts[i];
        if (p->kind != PART_CALL)
            continue;
        daruma_str args = convo_text(c, p);
        args_check got = mend_args(c, p->name, args, mend_args_cut(t, i), &m->a);
        m->answer_mended |= got.verdict == ARGS_REPAIRED;
        if (got.verdict == ARGS_REPAIRED && log)
            buf_printf(log, "repaired " STR_FMT " " STR_FMT "\n", STR_ARG(got.name), STR_ARG(got.fixed));
        if (got.verdict != ARGS_GOOD && got.verdict != ARGS_REPAIRED) {
            *why = got.why;
            return false;
        }
    }
    return true;
}

/* Does the text of an answer fit the schema that was asked for? */
static bool check_format(replay_mend *m, convo *c, turn *t, daruma_str *why)
{
    daruma_buf out = buf_in(&m->a);
    if (c->set.format != FORMAT_SCHEMA || !c->set.format_schema.n)
        return true;
    for (size_t i = 0; i < t->message.nparts; i++) {
        convo_part *p = &t->message.parts[i];
        if (p->kind != PART_TEXT || schema_fits(c->set.format_schema, convo_text(c, p), &out))
            continue;
        *why = out.n ? buf_str(&out) : S("It is not the JSON that was asked for.");
        return false;
    }
    return true;
}

bool replay_mend_check(replay_mend *m, daruma_str answer, daruma_str *why, daruma_buf *log)
{
    convo c;
    turn t;
    m->answer_mended = false;
    if (!m->body.n || !json_is_object(answer) || !read_body(m, &c) || !read_turn(m, answer, &t))
        return true;
    return check_calls(m, &c, &t, why, log) && check_format(m, &c, &t, why);
}

/* The broken answer, and what is wrong with it. */
static bool set_bad(replay_mend *m, mending *g, turn *bad, const daruma_evidence *ev)
{
    daruma_str why = ev->flaw == DARUMA_FLAW_EMPTY ? S("") : S("The answer could not be read.");
    if (!read_turn(m, ev->body, bad))
        return false;
    if (check_calls(m, &g->c, bad, &why, NULL))
        check_format(m, &g->c, bad, &why);
    g->bad = bad;
    g->bad_why = why;
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

/* Each time from the request as it was before: it asks for all that is missing; in other words when what came could not
 * be joined. */
static replay_mended resume(replay_mend *m, convo *c, const daruma_evidence *ev, mend_report *rep)
{
    daruma_str whole = m->whole;
    bool otherwise = m->unsure && m->going != GOING_FROM_BEFORE,
         placed = m->unsure || (m->resumed && ev->status >= 400);
    mend_going how = otherwise ? GOING_FROM_BEFORE : GOING_ANCHORED;
    if (m->resumed)
        m->body = m->before;
    m->before = m->body;
    if (!read_body(m, c) || !(placed || pieces(m, plain(m, ev->body), &whole)))
        return MENDED_UNFIT;
    if (!otherwise && mend_can_prefill(c))
        how = GOING_PREFILLED;
    if (!mend_continue(c, whole, how, rep))
        return MENDED_UNFIT;
    m->whole = whole;
    m->going = how;
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

/* All that the remedy asks, one after the other; what fails is told. */
static mending_result ask_all(replay_mend *m, mending *g, daruma_event *e, daruma_buf *log)
{
    mending_result how = MENDING_ASKS;
    while (how == MENDING_ASKS) {
        for (size_t i = 0; i < g->nquestions; i++) {
            daruma_str said;
            bool cut = str_find(g->questions[i].user, S("truncated")) != STR_NONE;
            if (!ask(m, "summary of ", g->questions[i].about, cut, &said, log) && g->doing == DARUMA_REMEDY_COMPACT)
                e->mend_error = S("the model that should summarise failed");
            mending_answer(g, i, said);
        }
        how = mending_end(g);
    }
    return how;
}

static replay_mended carry_out(replay_mend *m, mending *g, const daruma_remedy *r, const daruma_failure *f,
                               const daruma_evidence *ev, const daruma_target *t, daruma_event *e, daruma_buf *log)
{
    turn bad;
    if (r->remedy == DARUMA_REMEDY_RESUME)
        return resume(m, &g->c, ev, &g->report);
    if (!mending_is(r->remedy))
        return MENDED_NOT;
    if (r->remedy == DARUMA_REMEDY_ASK_AGAIN && !set_bad(m, g, &bad, ev))
        return MENDED_UNFIT;
    if (asks_for_summaries(m, r) && (m->s->no_summariser || !m->policy->mend.side_calls)) {
        e->mend_error = S("No LLM client available for compression");
        return MENDED_BROKE;
    }
    mending_result how = mending_begin(g, r->remedy, f, t->window);
    if (how == MENDING_ASKS)
        how = ask_all(m, g, e, log);
    return how == MENDING_DONE ? MENDED_GOOD : e->mend_error.n ? MENDED_BROKE : MENDED_UNFIT;
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

static void tell_report(const daruma_remedy *r, const mending *g, size_t before, size_t after, daruma_event *e)
{
    const mend_report *rep = &g->report;
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
    mending g = {.policy = &m->policy->mend};
    size_t before = m->body.n;
    bool mends = mending_is(r->remedy) || r->remedy == DARUMA_REMEDY_RESUME;
    if (!mends || !m->body.n)
        return mends ? MENDED_UNFIT : MENDED_NOT;
    if (!read_body(m, &g.c))
        return MENDED_UNFIT;
    replay_mended how = carry_out(m, &g, r, f, ev, t, e, log);
    if (how == MENDED_GOOD && !write_body(m, &g.c))
        how = MENDED_UNFIT;
    if (how != MENDED_GOOD)
        return how;
    log_report(r, &g.report, log);
    e->failure = f;
    tell_report(r, &g, before, m->body.n, e);
    e->what = arena_copy(&m->a, str_of(g.report.what));
    return how;
}
