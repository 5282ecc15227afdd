/* event.c - one step of a case, as a line of JSON for programs and as a line for people.
 * doc/events.md lists the names and when they are written. */
#include "engine/tell/trace.h"
#include "engine/tell/words.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"

/* ---- JSON ---- */

static void name(daruma_buf *out, const char *field)
{
    BUF_SAY(out, ",\"", field, "\":");
}

/* Words of ours: they hold no secret. Empty ones are left out. */
static void put_word(daruma_buf *out, const char *field, const char *word)
{
    BUF_MEMBERS(out, field, buf_any(str_of(word)));
}

static void put_clean(daruma_buf *out, const char *field, daruma_str text, size_t max)
{
    char room[WORDS_ROOM_BYTES];
    daruma_arena a = arena_over(room, sizeof room);
    if (text.n)
        BUF_MEMBERS(out, field, words_clean(text, max, &a));
}

/* Text of others. Empty ones are left out. */
static void put_text(daruma_buf *out, const char *field, daruma_str text)
{
    put_clean(out, field, text, FAILURE_TEXT_BYTES_MAX);
}

/* -1 is unknown and left out. */
static void put_number(daruma_buf *out, const char *field, int64_t v)
{
    BUF_MEMBERS(out, field, BUF_IF(v >= 0, v));
}

static void write_failure(const daruma_failure *f, daruma_buf *out)
{
    put_word(out, "kind", daruma_kind_name(f->kind));
    put_word(out, "error_type", f->type ? f->type : "");
    put_word(out, "error_class", f->label ? f->label : "");
    if (f->type) { /* as the seed's own events have it (P-F6, S-F6) */
        daruma_str said =
            f->message.n ? f->message : str_of(f->net ? daruma_net_words(f->net) : daruma_kind_words(f->kind));
        put_text(out, "error_message", str_sub(said, 0, SEED_MESSAGE_BYTES_MAX));
        put_number(out, "status_code", f->status > 0 ? f->status : -1);
    }
    put_word(out, "tool_kind", daruma_tool_kind_name(f->tool_kind));
    put_word(out, "severity", daruma_severity_name(f->severity));
    BUF_MEMBERS(out, "retryable", f->retryable);
    put_number(out, "status", f->status > 0 ? f->status : -1);
    put_word(out, "net", f->net != DARUMA_NET_NONE ? daruma_net_name(f->net) : "");
    put_text(out, "code", f->code);
    put_text(out, "subject", f->subject);
    put_text(out, "message", f->message);
    put_number(out, "retry_after_ms", f->wait);
    put_number(out, "limit", f->limit);
    put_number(out, "used", f->used);
    put_number(out, "requested", f->requested);
    put_word(out, "rule", daruma_rule_name(f->rule));
}

static void write_mending(const daruma_event *e, daruma_buf *out)
{
    put_number(out, "compress_attempt", e->compress_attempt);
    put_number(out, "steps_compressed", e->steps_compressed);
    put_number(out, "original_size_chars", e->original_size);
    put_number(out, "compressed_size_chars", e->compressed_size);
    put_number(out, "pruned_count", e->pruned_count);
    put_number(out, "answered_count", e->answered_count);
    put_text(out, "strategy", e->strategy);
    put_text(out, "what", e->what);
    put_text(out, "from", e->from);
    put_text(out, "to", e->to);
    put_text(out, "original_error", e->original_error);
    put_text(out, "compression_error", e->mend_error);
}

static void write_verdict(const daruma_verdict *v, daruma_buf *out)
{
    put_word(out, "circle", daruma_circle_name(v->circle));
    put_number(out, "sure", v->sure);
    put_number(out, "period", v->period);
    put_number(out, "times", v->times);
    put_number(out, "first_step", v->first);
    put_number(out, "step", v->step);
}

/* What is no traceparent is left out. */
static void write_trace(daruma_str field, daruma_buf *out)
{
    trace_parent p;
    if (!trace_parent_read(field, &p))
        return;
    BUF_MEMBERS(out, "trace_id", p.trace, "span_id", p.span);
}

/* What joins the line to others' logs. */
static void write_ids(const daruma_event *e, daruma_buf *out)
{
    put_clean(out, "client", e->client, JOIN_ID_MAX);
    put_clean(out, "asked", e->asked, JOIN_ID_MAX * 2);
    put_clean(out, "request_id", e->request_id, JOIN_ID_MAX);
    put_clean(out, "provider_request_id", e->provider_request_id, JOIN_ID_MAX);
    if (e->session.n) {
        put_clean(out, "session", e->session, JOIN_ID_MAX);
    } else if (e->conversation) {
        name(out, "session");
        BUF_LIT(out, "\"");
        buf_hex64(out, e->conversation);
        BUF_LIT(out, "\"");
    }
    write_trace(e->traceparent, out);
}

static void write_tried(const daruma_event *e, daruma_buf *out)
{
    char text[JOIN_ID_MAX * 2];
    if (!e->ntried)
        return;
    name(out, "tried");
    for (size_t i = 0; i < e->ntried; i++) {
        const daruma_tried *t = &e->tried[i];
        daruma_buf target = buf_over(text, sizeof text);
        BUF_SAY(&target, str_sub(t->target->provider, 0, JOIN_ID_MAX / 2), "/",
                str_sub(t->target->model, 0, JOIN_ID_MAX));
        buf_putz(out, i ? ",{" : "[{");
        put_word(out, "kind", daruma_kind_name(t->kind));
        put_clean(out, "target", buf_str(&target), sizeof text);
        put_clean(out, "key", t->target->key, JOIN_ID_MAX);
        put_word(out, "net", t->net != DARUMA_NET_NONE ? daruma_net_name(t->net) : "");
        put_number(out, "status", t->status > 0 ? t->status : -1);
        put_number(out, "wait_ms", t->wait);
        BUF_LIT(out, "}");
    }
    BUF_LIT(out, "]");
}

static void write_spent(const daruma_event *e, daruma_buf *out)
{
    char text[REASON_MAX];
    put_number(out, "late_ms", e->late);
    if (e->late_by) {
        daruma_buf words = buf_over(text, sizeof text);
        daruma_spent_say(e->late_by, &words);
        put_word(out, "late_by", daruma_spent_name(e->late_by->on));
        BUF_MEMBERS(out, "late_words", buf_str(&words));
    }
    for (size_t i = 0; i < e->nspent; i++) {
        const daruma_spent *s = &e->spent[i];
        daruma_buf words = buf_over(text, sizeof text);
        daruma_spent_say(s, &words);
        buf_putz(out, i ? ",{" : ",\"spent\":[{");
        BUF_MEMBERS(out, "on", daruma_spent_name(s->on), "ms", s->ms, "words", buf_str(&words));
        put_number(out, "usual_ms", s->usual);
        BUF_LIT(out, "}");
    }
    if (e->nspent)
        BUF_LIT(out, "]");
}

void daruma_event_write(const daruma_event *e, daruma_buf *out)
{
    buf_putc(out, '{');
    BUF_MEMBERS(out, "event", e->name);
    if (e->at.wall > 0) {
        char ts[21];
        date_write(e->at.wall, ts);
        put_word(out, "ts", ts);
    }
    if (e->case_id) {
        name(out, "case");
        BUF_LIT(out, "\"");
        buf_hex64(out, e->case_id);
        BUF_LIT(out, "\"");
    }
    write_ids(e, out);
    if (e->failure)
        write_failure(e->failure, out);
    if (e->remedy) {
        put_word(out, "remedy", daruma_remedy_name(e->remedy->remedy));
        put_number(out, "delay_ms", e->delay >= 0 ? e->delay : e->remedy->wait);
    } else {
        put_number(out, "delay_ms", e->delay);
    }
    put_number(out, "attempt", e->attempt);
    put_number(out, "max_attempts", e->max_attempts);
    if (e->failure && e->failure->type && e->max_retries >= 0 && e->delay >= 0) { /* as its seed has it (S-F7) */
        put_number(out, "max_retries", e->max_retries);
        name(out, "retry_delay");
        buf_printf(out, "%lld.%03lld", (long long)(e->delay / 1000), (long long)(e->delay % 1000));
    }
    if (e->target) {
        put_text(out, "provider", e->target->provider);
        put_text(out, "model", e->target->model);
        put_text(out, "account", e->target->account);
        put_text(out, "key", e->target->key);
    }
    if (e->outcome != DARUMA_OUTCOME_PENDING)
        put_word(out, "outcome", daruma_outcome_name(e->outcome));
    put_number(out, "attempts", e->attempts);
    put_number(out, "took_ms", e->took);
    put_number(out, "input_tokens", e->input_tokens);
    put_number(out, "output_tokens", e->output_tokens);
    if (e->cost >= 0) {
        name(out, "cost");
        buf_printf(out, "%lld.%09lld", (long long)(e->cost / 1000000000), (long long)(e->cost % 1000000000));
    }
    write_tried(e, out);
    put_clean(out, "reason", e->reason, REASON_MAX);
    write_spent(e, out);
    write_mending(e, out);
    put_text(out, "tool", e->tool);
    if (e->verdict)
        write_verdict(e->verdict, out);
    put_number(out, "level", e->level);
    put_number(out, "confidence_milli", e->confidence);
    put_text(out, "mode", e->mode);
    put_text(out, "fate", e->fate);
    BUF_LIT(out, "}\n");
}

/* ---- for people ---- */

static void say_text(daruma_str text, daruma_buf *out)
{
    char room[WORDS_ROOM_BYTES];
    daruma_arena a = arena_over(room, sizeof room);
    buf_put(out, words_clean(text, FAILURE_TEXT_BYTES_MAX, &a));
}

static void say_target(const daruma_target *t, daruma_buf *out)
{
    BUF_LIT(out, "  ");
    say_text(t->provider, out);
    BUF_LIT(out, "/");
    say_text(t->model, out);
    if (t->key.n) {
        BUF_LIT(out, " key ");
        say_text(t->key, out);
    }
}

/* `words`: the provider's message too; it is said once, where the failure happened. */
static void say_failure(const daruma_failure *f, bool words, daruma_buf *out)
{
    BUF_SAY(out, "  ", daruma_kind_name(f->kind));
    if (f->status > 0)
        buf_printf(out, " (%d)", f->status);
    if (words && f->net != DARUMA_NET_NONE) {
        BUF_SAY(out, ": ", daruma_net_words(f->net));
    }
    if (words && f->message.n) {
        BUF_LIT(out, ": ");
        say_text(f->message, out);
    }
}

static void say_remedy(const daruma_event *e, daruma_buf *out)
{
    daruma_ms wait = e->delay >= 0 ? e->delay : e->remedy->wait;
    BUF_SAY(out, "  -> ", daruma_remedy_name(e->remedy->remedy));
    if (wait > 0) {
        BUF_LIT(out, " in ");
        buf_duration(out, wait);
    }
}

static void say_end(const daruma_event *e, daruma_buf *out)
{
    BUF_SAY(out, "  ", daruma_outcome_name(e->outcome));
    if (e->attempts >= 0)
        buf_printf(out, " after %lld call%s", (long long)e->attempts, e->attempts == 1 ? "" : "s");
    if (e->took >= 0) {
        BUF_LIT(out, " in ");
        buf_duration(out, e->took);
    }
}

static void say_part(daruma_buf *out, const char *before, daruma_str text)
{
    if (!text.n)
        return;
    buf_putz(out, before);
    say_text(text, out);
}

void daruma_event_say(const daruma_event *e, daruma_buf *out)
{
    if (e->at.wall > 0) {
        char ts[20];
        date_say(e->at.wall, ts);
        BUF_SAY(out, ts, "  ");
    }
    if (e->case_id)
        buf_printf(out, "%08llx  ", (unsigned long long)(e->case_id >> 32));
    else
        BUF_LIT(out, "-         ");
    buf_putz(out, e->name);
    if (e->target)
        say_target(e->target, out);
    if (e->failure)
        say_failure(e->failure, !e->remedy && e->outcome == DARUMA_OUTCOME_PENDING, out);
    if (e->remedy)
        say_remedy(e, out);
    if (e->attempt >= 0)
        buf_printf(out, "  call %lld", (long long)e->attempt);
    if (e->outcome != DARUMA_OUTCOME_PENDING)
        say_end(e, out);
    say_part(out, "  ", e->reason);
    say_part(out, "  ", e->what);
    if (e->original_size >= 0 && e->compressed_size >= 0)
        buf_printf(out, "  %lld -> %lld characters", (long long)e->original_size, (long long)e->compressed_size);
    say_part(out, "  from ", e->from);
    say_part(out, " to ", e->to);
    say_part(out, "  ", e->mend_error);
    if (e->fate.n) {
        say_part(out, "  ", e->strategy);
        say_part(out, ": ", e->fate);
    }
    BUF_LIT(out, "\n");
}
