/* report.c - several remedies on one conversation, told as one. */
#include "engine/mend/mend.h"
#include "base/str.h"

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
    size_t n = strlen(into->what), room = sizeof into->what - n - 1;
    if (n && more->what[0] && room > 2) {
        memcpy(into->what + n, "; ", 3);
        n += 2;
        room -= 2;
    }
    size_t add = strlen(more->what);
    add = add < room ? add : room;
    memcpy(into->what + n, more->what, add);
    into->what[n + add] = 0;
}
