/* trace_read.c - what tracing reads in the answers of others: a model's name, and how many spans a collector refused.
 */
#include "base/arena.h"
#include "base/json.h"
#include "gateway/see/trace.h"

/* The value behind a name, if it is a whole string. */
static daruma_str named(daruma_str rest)
{
    rest = str_trim(rest);
    if (!rest.n || rest.p[0] != ':')
        return (daruma_str){0};
    rest = str_trim(str_from(rest, 1));
    size_t end = rest.n && rest.p[0] == '"' ? str_findch(str_from(rest, 1), '"') : STR_NONE;
    return end == STR_NONE ? (daruma_str){0} : str_sub(rest, 1, end);
}

/* Providers name the model at the top of an answer; of a stream also one deeper, in the `message` or `response` that
 * its first event brings. Further within is what was said: arguments of tools, a client's metadata. */
daruma_str trace_model_find(daruma_str begin)
{
    daruma_str rest = str_trim(begin);
    int depth = 0, deepest = rest.n && rest.p[0] == '{' ? 1 : 2;
    for (size_t i = 0; i < rest.n; i++) {
        char c = rest.p[i];
        if (c == '"') {
            const char *end = json_string_end_quick(rest.p + i, rest.p + rest.n);
            if (!end)
                break;
            daruma_str name = str_sub(rest, i, (size_t)(end - rest.p) - i), value = {0};
            i += name.n - 1;
            if (depth <= deepest && (str_eq(name, S("\"model\"")) || str_eq(name, S("\"modelVersion\""))))
                value = named(str_from(rest, i + 1));
            if (value.n)
                return value;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        }
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
