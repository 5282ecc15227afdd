/* trace_read.c - what tracing reads in the answers of others: a model's name, and how many spans a collector refused.
 */
#include "base/arena.h"
#include "base/json.h"
#include "gateway/trace.h"

/* Quotes within strings of JSON are escaped: what is found between bare ones is a member's name. */
daruma_str trace_model_find(daruma_str piece)
{
    static const daruma_str names[] = {LIT("\"model\""), LIT("\"modelVersion\"")};
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t at = str_find(piece, names[i]);
        if (at == STR_NONE)
            continue;
        daruma_str rest = str_trim(str_from(piece, at + names[i].n));
        if (!rest.n || rest.p[0] != ':')
            continue;
        rest = str_trim(str_from(rest, 1));
        size_t end = rest.n && rest.p[0] == '"' ? str_findch(str_from(rest, 1), '"') : STR_NONE;
        if (end != STR_NONE)
            return str_sub(rest, 1, end);
    }
    return (daruma_str){0};
}

int64_t trace_rejected(daruma_str body)
{
    char room[64];
    daruma_arena a = arena_over(room, sizeof room);
    int64_t n = 0;
    daruma_str v = json_path(body, "partialSuccess.rejectedSpans"); /* a string, as all 64-bit numbers, or a number */
    if (json_is_string(v))
        str_int(json_text(v, &a), &n);
    else
        n = json_int(v, 0);
    return n > 0 ? n : 0;
}
