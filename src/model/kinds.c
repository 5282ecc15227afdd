/* kinds.c - the rows of kinds.def as a table, and what daruma_parts.h tells of them. */
#include "model/kinds.h"
#include "base/str.h"

/* The columns of a row that are words. */
enum { STAYS = false, PASSES = true, ONCE = false, AGAIN = true, READS = false, ACTS = true };
enum { SAID_BOTH = false, SAID_MODELS = true };
enum { MEETS_NEVER = false, MEETS_MAYBE = false, MEETS_ALWAYS = true };

// clang-format off
#define KIND(sym, text, happened, ...)     [DARUMA_##sym] = {.name = text, .words = happened, __VA_ARGS__},
#define SICK(who, how_bad, pass, again)    .scope = DARUMA_SICK_##who, .severity = DARUMA_##how_bad, .passes = pass, .retryable = again
#define SAID(tool, whose, with)            .tool_kind = DARUMA_TOOL_##tool##_KIND, .of_models = SAID_##whose, .statuses = STATUS_##with
#define MEETS(part, often)                 .meets = SHARE_##part, .meets_always = MEETS_##often
#define RESTS(part, how, percent)          .rests = SHARE_##part, .rest = REST_##how, .rest_sure = percent
#define BLAMES(when)                       .blames = BLAME_##when
#define WIRE(code, act, ...)               .status = code, .clients_act = act, .wire = {__VA_ARGS__}
#define ADVICE(text)                       .advice = text
#define WAIT(text)                         .advice = text, .waits = true
// clang-format on
const kind_row kind_rows[DARUMA_KINDS] = {
#include "model/kinds.def"
};
#undef KIND

/* The rows and the list in daruma_parts.h are the same, in the same order. */
#define KIND(sym, ...) ROW_##sym,
enum {
#include "model/kinds.def"
    ROWS
};
#undef KIND
#define KIND(sym, ...) _Static_assert((int)ROW_##sym == (int)DARUMA_##sym, "kinds.def and daruma_kind differ: " #sym);
#include "model/kinds.def"
_Static_assert((int)ROWS == (int)DARUMA_KINDS, "each kind of daruma_kind has a row in kinds.def");

const char *daruma_kind_name(daruma_kind k)
{
    return kind_rows[k].name;
}

const char *daruma_kind_words(daruma_kind k)
{
    return kind_rows[k].words;
}

daruma_kind daruma_kind_parse(daruma_str name, bool *ok)
{
    for (int k = 0; k < DARUMA_KINDS; k++)
        if (str_eq(name, str_of(kind_rows[k].name))) {
            if (ok)
                *ok = true;
            return (daruma_kind)k;
        }
    if (ok)
        *ok = false;
    return DARUMA_UNKNOWN;
}

daruma_scope daruma_kind_scope(daruma_kind k)
{
    return kind_rows[k].scope;
}

daruma_severity daruma_kind_severity(daruma_kind k)
{
    return kind_rows[k].severity;
}

bool daruma_kind_passes(daruma_kind k)
{
    return kind_rows[k].passes;
}

daruma_failure kind_failure(daruma_kind k, int status)
{
    return (daruma_failure){.kind = k,
                            .severity = kind_rows[k].severity,
                            .status = status,
                            .wait = -1,
                            .limit = -1,
                            .used = -1,
                            .requested = -1};
}
