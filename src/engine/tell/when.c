/* when.c - which event a profile tells of a moment with. The names are those of the seeds where they name them; what
 * the others call it stands in doc/events.md. */
#include "base/str.h"

#define ANY (-1)
#define ROW(when, kind, remedy, flags, ...)                                                                            \
    {                                                                                                                  \
        DARUMA_WHEN_##when, kind, remedy, flags, __VA_ARGS__                                                           \
    }
#define MENDED(remedy, flags, ...) ROW(MENDED, ANY, DARUMA_REMEDY_##remedy, flags, __VA_ARGS__)

// clang-format off
static const daruma_event_row standard[] = {
    /*  when       about  with  tells of          the event */
    ROW(FAILED,    ANY,   ANY,  0,                "llm_request_failed",     NULL, NULL),
    ROW(BEGIN,     ANY,   ANY,  0,                "error_recovery_attempt", NULL, NULL),
    MENDED(MASK_TOOL_OUTPUT,    DARUMA_EVENT_SHRINKS, "trajectory_compressed", "context_length",    "mask"),
    MENDED(SUMMARISE,           DARUMA_EVENT_SHRINKS, "trajectory_compressed", "context_length",    "summarise"),
    MENDED(COMPACT,             DARUMA_EVENT_SHRINKS, "trajectory_compressed", "context_length",    "compact"),
    MENDED(SHRINK_REQUEST,      0,                    "trajectory_compressed", "request_too_large", "shed"),
    MENDED(REPAIR_HISTORY,      0,                    "history_repaired",      NULL, "pairs"),
    MENDED(MEND_MESSAGES,       0,                    "history_repaired",      NULL, "messages"),
    MENDED(CLAMP_OUTPUT,        0,                    "request_mended",        NULL, "clamp_output"),
    MENDED(MEND_PARAMETER,      0,                    "request_mended",        NULL, "parameter"),
    MENDED(LOWER_SCHEMA,        0,                    "request_mended",        NULL, "schema"),
    MENDED(LOWER_FORMAT,        0,                    "format_downgraded",     NULL, NULL),
    MENDED(ASK_AGAIN,           0,                    "output_repair",         NULL, "ask_again"),
    MENDED(RESUME,              0,                    "answer_resumed",        NULL, NULL),
    ROW(BROKE,     ANY,   ANY,  0,                "recovery_ineffective",   "the remedy could not be carried out", NULL),
    ROW(AGAIN,     ANY,   ANY,  0,                "llm_retry_attempt",      NULL, NULL),
    ROW(EXHAUSTED, ANY,   ANY,  0,                "llm_retry_exhausted",    NULL, NULL),
    ROW(RECOVERED, ANY,   ANY,  0,                "error_recovery_success", NULL, NULL),
    ROW(GIVEN_UP,  ANY,   ANY,  0,                "error_recovery_failed",  NULL, NULL),
};
// clang-format on

/* Calls that count as tries: those whose request was mended do not. */
static int64_t tried(const daruma_case *c)
{
    int64_t n = 0;
    for (size_t i = 0; i < c->ntargets && i < DARUMA_CASE_TRIED; i++)
        n += c->calls[i];
    return n;
}

static bool when_fits(const daruma_event_row *r, const daruma_event *e, daruma_when when, const daruma_case *c)
{
    bool spent = c->shrinks >= c->policy->mend.max_compress_retries;
    return r->when == when && (r->kind == ANY || (e->failure && (int)e->failure->kind == r->kind)) &&
           (r->remedy == ANY || (e->remedy && (int)e->remedy->remedy == r->remedy)) &&
           (!(r->flags & DARUMA_EVENT_SPENT) || spent) && (!(r->flags & DARUMA_EVENT_ON) || c->policy->enabled);
}

static void when_count(daruma_event *e, const daruma_event_row *r, const daruma_case *c)
{
    bool failed = r->flags & DARUMA_EVENT_FAILED;
    if (r->when == DARUMA_WHEN_FAILED)
        e->attempt = failed ? tried(c) : c->attempts;
    if (r->when == DARUMA_WHEN_AGAIN)
        e->attempt = failed ? tried(c) : (int64_t)c->attempts + 1;
    if (r->when == DARUMA_WHEN_EXHAUSTED || r->when == DARUMA_WHEN_RECOVERED || r->when == DARUMA_WHEN_GIVEN_UP)
        e->attempts = failed ? tried(c) : c->attempts;
    if (r->flags & DARUMA_EVENT_SHRINKS) {
        if (r->when == DARUMA_WHEN_MENDED)
            e->attempt = c->shrinks;
        else
            e->compress_attempt = c->shrinks;
    }
}

bool daruma_event_when(daruma_event *e, daruma_when when, const daruma_case *c)
{
    const daruma_event_row *rows = c->policy->events ? c->policy->events : standard;
    size_t n = c->policy->events ? c->policy->nevents : COUNT(standard);
    for (size_t i = 0; i < n; i++) {
        const daruma_event_row *r = &rows[i];
        if (!when_fits(r, e, when, c))
            continue;
        e->name = r->name;
        if (!e->reason.n && r->reason)
            e->reason = str_of(r->reason);
        if (!e->strategy.n && r->strategy)
            e->strategy = str_of(r->strategy);
        if (e->max_attempts > 0)
            e->max_retries = e->max_attempts - !c->policy->counts_first;
        when_count(e, r, c);
        return true;
    }
    return false;
}
