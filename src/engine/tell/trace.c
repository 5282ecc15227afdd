/* trace.c - see trace.h. */
#include "engine/tell/trace.h"
#include "base/str.h"

static int digit(char c)
{
    return ch_digit(c) ? c - '0' : 'a' <= c && c <= 'f' ? c - 'a' + 10 : -1;
}

/* VERSION-TRACE-SPAN-FLAGS; later versions than 00 may have more behind it. */
static bool has_form(daruma_str t)
{
    static const char form[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    _Static_assert(sizeof form - 1 == TRACE_PARENT_BYTES, "two dashes less are not it");
    bool more = t.n > TRACE_PARENT_BYTES;
    if (t.n < TRACE_PARENT_BYTES || (more && (str_starts(t, S("00")) || t.p[TRACE_PARENT_BYTES] != '-')))
        return false;
    for (size_t i = 0; i < TRACE_PARENT_BYTES; i++)
        if (form[i] == '-' ? t.p[i] != '-' : digit(t.p[i]) < 0)
            return false;
    return !str_starts(t, S("ff"));
}

static bool is_zero(daruma_str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] != '0')
            return false;
    return true;
}

bool trace_parent_read(daruma_str field, trace_parent *ret)
{
    daruma_str t = str_trim(field);
    if (!has_form(t))
        return false;
    trace_parent p = {.trace = str_sub(t, 3, TRACE_ID_DIGITS), .span = str_sub(t, 36, SPAN_ID_DIGITS)};
    p.sampled = digit(t.p[TRACE_PARENT_BYTES - 1]) & 1;
    if (is_zero(p.trace) || is_zero(p.span))
        return false;
    *ret = p;
    return true;
}
