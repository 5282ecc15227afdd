/* report.c - what remedies did, in numbers and in words for people. */
#include "engine/mend/mend.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>

void mend_say(mend_report *rep, const char *fmt, ...)
{
    size_t n = strlen(rep->what);
    va_list ap;
    if (n && n + 3 < sizeof rep->what) {
        memcpy(rep->what + n, "; ", 3);
        n += 2;
    }
    va_start(ap, fmt);
    vsnprintf(rep->what + n, sizeof rep->what - n, fmt, ap);
    va_end(ap);
}

void mend_count(mend_report *rep, uint32_t n, const char *one, const char *many)
{
    if (n)
        mend_say(rep, "%u %s", n, n == 1 ? one : many);
}

void mend_merge(mend_report *into, const mend_report *more)
{
    into->calls_answered += more->calls_answered;
    into->calls_dropped += more->calls_dropped;
    into->results_moved += more->results_moved;
    into->results_dropped += more->results_dropped;
    into->results_to_text += more->results_to_text;
    into->messages_mended += more->messages_mended;
    into->halves_dropped += more->halves_dropped;
    into->parts_shortened += more->parts_shortened;
    into->patches += more->patches;
    into->bytes_before += more->bytes_before;
    into->bytes_after += more->bytes_after;
    if (!into->tokens_before)
        into->tokens_before = more->tokens_before;
    if (more->tokens_after)
        into->tokens_after = more->tokens_after;
    if (more->what[0])
        mend_say(into, "%s", more->what);
}
