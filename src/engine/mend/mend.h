/* mend.h - remedies on a conversation, a request and an answer. Each does one thing, twice is as once, never splits
 * a call from its result, never touches the system prompt, the tools' names, the newest user turn or thinking of the
 * tool loop in progress, and says what it did. Pure; what they make lives in the convo's arena. Each room has a header:
 * pairs/pairs.h, request/request.h, shorten/shorten.h, answer/answer.h; here is what they share.
 *
 *     pairs.c     orphan_tool_call      calls without results, results without calls, order, duplicates
 *     messages.c  invalid_message       empty content, roles, prefill, stale thinking
 *     mask.c      context_length        old tool output: head, tail and size stay
 *     summary.c   context_length        large observations, by a model
 *     compact.c   context_length        the older part of the conversation, by a model
 *     target.c    context_length        how much has to go, from the provider's own numbers; the output cap
 *     shed.c      request_too_large     oldest images, largest tool output
 *     known.c     context_length        what was compressed once is recognised and compressed the same way
 *     parameter.c invalid_parameter     renamed, clamped or dropped; learned for the model
 *     schema.c    invalid_tool_schema   JSON Schema lowered (lower.c); also: does a value fit a schema (fits.c)
 *     repair.c    malformed_output      JSON of nearly-JSON (repair_read.c)
 *     args.c      malformed_output      a tool call against the tools of the request
 *     join.c      interrupted           one text of two pieces */
#ifndef ENGINE_MEND_H
#define ENGINE_MEND_H
#include "model/convo.h"
#include "model/turn.h"

/* What a remedy did; all zero: nothing. Counts are for events and people. */
typedef struct mend_report {
    uint32_t calls_answered;             /* calls without result that got a neutral one */
    uint32_t calls_dropped;              /* ... that were removed (prune) */
    uint32_t results_moved;              /* results put behind their call */
    uint32_t results_dropped;            /* results without call, duplicates: removed */
    uint32_t results_to_text;            /* results without call whose words were kept as text */
    uint32_t halves_dropped;             /* of these: lost thinking without a signature, where one was refused */
    uint32_t messages_mended;            /* emptied, merged, dropped, given another role, ... */
    uint32_t parts_shortened;            /* tool output masked or summarised, media dropped */
    uint32_t patches;                    /* parameters, schemas */
    size_t bytes_before, bytes_after;    /* of what was shortened */
    int64_t tokens_before, tokens_after; /* estimates of the whole request; 0 where nobody counted */
    char what[200];                      /* one line for people: "2 tool calls got a neutral result" */
} mend_report;

static inline bool mend_did(const mend_report *r)
{
    return r->calls_answered || r->calls_dropped || r->results_moved || r->results_dropped || r->results_to_text ||
           r->messages_mended || r->parts_shortened || r->patches;
}

/* The conversation that a failure is about, where that is not the one to be mended: the same in another dialect. The
 * places that it names are none here. */
typedef struct mend_sent {
    bool elsewhere;
    size_t media; /* it names the n-th image or file, from 1; 0 none */
} mend_sent;

/* One line more for people in rep->what, as far as there is room. */
__attribute__((format(printf, 2, 3))) void mend_say(mend_report *rep, const char *fmt, ...);
/* The same of a count: "2 tool calls got a neutral result". `n` 0 says nothing. */
void mend_count(mend_report *rep, uint32_t n, const char *one, const char *many);
/* Several remedies told as one: counts add up, words are joined. */
void mend_merge(mend_report *into, const mend_report *more);
#endif
