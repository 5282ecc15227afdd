/* dialect.c - which dialects there are, and which path speaks which. */
#include "dialect/parts.h"

// clang-format off
/* The end of a path. `anywhere`: whatever stands before it; else only a version ("/v1") or at most
 * one segment may, because others use the same last word ("/v1/threads/{id}/messages"). */
static const struct { daruma_str end; bool anywhere; const dialect *d; } dialects[] = {
    {LIT("/chat/completions"), true,  &dialect_openai},
    {LIT("/messages"),          false, &dialect_anthropic},
    {LIT("/responses"),        false, &dialect_openai_responses},
};
// clang-format on
#define NDIALECTS (sizeof dialects / sizeof *dialects)

const dialect *dialect_find(daruma_str name)
{
    for (size_t i = 0; i < NDIALECTS; i++)
        if (str_eq(name, str_of(dialects[i].d->name)))
            return dialects[i].d;
    return NULL;
}

static bool is_base(daruma_str prefix)
{
    if (str_ends(prefix, S("/v1")))
        return true;
    return prefix.n == 0 || (prefix.p[0] == '/' && str_findch(str_from(prefix, 1), '/') == STR_NONE);
}

const dialect *dialect_of_path(daruma_str path)
{
    path = str_cut(&path, '?');
    for (size_t i = 0; i < NDIALECTS; i++)
        if (str_ends(path, dialects[i].end) &&
            (dialects[i].anywhere || is_base(str_sub(path, 0, path.n - dialects[i].end.n))))
            return dialects[i].d;
    return NULL;
}
