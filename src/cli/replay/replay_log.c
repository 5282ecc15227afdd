/* replay_log.c - the log of a scene that is run: events as they are told, and each step that a session takes. */
#include "base/buf.h"
#include "base/str.h"
#include "cli/replay/replay_inside.h"
#include "engine/mend/mend.h"

enum { RUN_SHOWN_MIN = 20 }; /* of one character in a row are counted, not shown */

void run_put_short(daruma_str body, daruma_buf *log)
{
    for (size_t i = 0, n; i < body.n; i += n) {
        for (n = 1; i + n < body.n && body.p[i + n] == body.p[i];)
            n++;
        if (n >= RUN_SHOWN_MIN)
            buf_printf(log, "{{%zu %c}}", n, body.p[i]);
        for (size_t k = 0; k < n && n < RUN_SHOWN_MIN; k++)
            buf_putc(log, body.p[i] == '\n' ? ' ' : body.p[i]);
    }
}

daruma_buf *run_line(run *r, const char *word)
{
    if (r->w.slept)
        buf_printf(r->log, "sleep %lld\n", (long long)r->w.slept);
    r->rested += r->w.slept;
    r->w.slept = 0;
    buf_putz(r->log, word);
    return r->log;
}

static void put_text(daruma_buf *log, const char *name, daruma_str text)
{
    if (!text.n)
        return;
    buf_printf(log, " %s=", name);
    run_put_short(text, log);
}

static void put_number(daruma_buf *log, const char *name, int64_t n)
{
    if (n >= 0)
        buf_printf(log, " %s=%lld", name, (long long)n);
}

void run_tells(void *user, daruma_event *e)
{
    run *r = user;
    daruma_buf *log = run_line(r, "event ");
    buf_putz(log, e->name);
    if (r->s->fields) {
        if (e->failure && e->failure->type)
            buf_printf(log, " error_type=%s", e->failure->type);
        put_number(log, "compress_attempt", e->compress_attempt);
        put_number(log, "attempt", e->attempt);
        put_number(log, "attempts", e->attempts);
        bool explains = e->outcome != DARUMA_OUTCOME_PENDING && str_findch(e->reason, ' ') != STR_NONE;
        put_text(log, "reason", explains ? (daruma_str){0} : e->reason); /* what explains is shown by `explain` */
        put_text(log, "strategy", e->strategy);
        put_number(log, "steps_compressed", e->steps_compressed);
        put_number(log, "original_size_chars", e->original_size);
        put_number(log, "compressed_size_chars", e->compressed_size);
        put_number(log, "pruned_count", e->pruned_count);
        put_number(log, "answered_count", e->answered_count);
        put_text(log, "from", e->from);
        put_text(log, "to", e->to);
        put_text(log, "original_error", e->original_error);
        put_text(log, "compression_error", e->mend_error);
    }
    BUF_LIT(log, "\n");
}

static void log_failure(run *r, const daruma_failure *f)
{
    daruma_buf *log = run_line(r, "failure ");
    buf_putz(log, daruma_kind_name(f->kind));
    put_number(log, "status", f->status ? f->status : -1);
    put_number(log, "wait", f->wait);
    if (r->s->rules && f->rule)
        buf_printf(log, " rule=%s", daruma_rule_name(f->rule));
    BUF_LIT(log, "\n");
}

static void log_mended(run *r, const daruma_remedy *m, const mend_report *rep)
{
    const struct {
        const char *name;
        uint32_t n;
    } counts[] = {
        {"answered", rep->calls_answered},   {"pruned", rep->calls_dropped},    {"moved", rep->results_moved},
        {"dropped", rep->results_dropped},   {"to_text", rep->results_to_text}, {"messages", rep->messages_mended},
        {"shortened", rep->parts_shortened}, {"patches", rep->patches},
    };
    daruma_buf *log = run_line(r, "mend ");
    buf_putz(log, daruma_remedy_name(m->remedy));
    for (size_t i = 0; i < COUNT(counts); i++)
        put_number(log, counts[i].name, counts[i].n ? (int64_t)counts[i].n : -1);
    BUF_LIT(log, "\n");
}

void run_steps(void *user, const drive_step *step)
{
    run *r = user;
    switch (step->what) {
    case DRIVE_JUDGED:
        log_failure(r, step->failure);
        break;
    case DRIVE_CHOSE:
        buf_putz(run_line(r, "remedy "), daruma_remedy_name(step->remedy->remedy));
        put_number(r->log, "delay", step->remedy->act == DARUMA_SEND ? step->remedy->wait : -1);
        BUF_LIT(r->log, "\n");
        break;
    case DRIVE_UNFIT:
        run_line(r, "unfit\n");
        break;
    case DRIVE_MENDED:
        log_mended(r, step->remedy, step->report);
        break;
    case DRIVE_STOPPED:
        buf_printf(run_line(r, "stop "), "%s\n", daruma_kind_name(step->kind));
        break;
    }
}
