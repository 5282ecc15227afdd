/* trace_read.c - what tracing reads in the answers of others: a model's name, and how many spans a collector refused.
 */
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

/* The field of that number in a message, the last one counts; 0 and empty: it is not there. */
static uint64_t field_of(daruma_str message, int field, daruma_str *ret)
{
    uint64_t number, found = 0;
    daruma_str bytes;
    *ret = (daruma_str){0};
    for (int is; proto_next(&message, &is, &number, &bytes);)
        if (is == field) {
            found = number;
            *ret = bytes;
        }
    return found;
}

int64_t trace_rejected(daruma_str body)
{
    enum { PARTIAL_SUCCESS = 1, REJECTED_SPANS = 1 };
    daruma_str partial, none;
    field_of(body, PARTIAL_SUCCESS, &partial);
    uint64_t n = field_of(partial, REJECTED_SPANS, &none);
    return n <= INT64_MAX ? (int64_t)n : 0;
}
