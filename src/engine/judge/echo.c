/* echo.c - tells the members that an error repeats from the request from those that it has itself.
 *
 *     request   {"metadata": {"code": "insufficient_quota", "retry_after": 86400}, ...}
 *     error     {"error": {"code": "invalid_value", "body": {"metadata": {"code": "insufficient_quota", ...}}}}
 *     heard                ^ this one alone
 *
 * What counts is what a member is to us (reader_role) and its value; where either stands does not: a provider may nest
 * and rename as it likes. */
#include "engine/judge/echo.h"
#include "engine/judge/strings.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* Words are looked for by their runs (quote.c). */
static bool is_word_role(enum role role)
{
    return role == IS_NOTHING || role == IS_MESSAGE || role == IS_TITLE || role == IS_NEST || role == IS_CHOICES ||
           role == IS_PATH;
}

static echo_member *find(echo *e, enum role role, daruma_str text)
{
    if (!(e->lengths >> (text.n & 63) & 1))
        return NULL;
    for (size_t i = 0; i < e->n; i++)
        if (e->members[i].role == role && str_eq(e->members[i].text, text))
            return &e->members[i];
    return NULL;
}

bool echo_note(echo *e, enum role role, daruma_str text)
{
    if (is_word_role(role) || !text.n)
        return false;
    const echo_member *m = find(e, role, text);
    if (e->looked)
        return m ? m->echoed || e->over : e->over;
    if (m)
        return false;
    if (e->n == ECHO_MEMBERS_MAX) {
        e->over = true;
        return false;
    }
    e->members[e->n++] = (echo_member){.role = role, .text = text};
    e->lengths |= (uint64_t)1 << (text.n & 63);
    return false;
}

void echo_meet_value(echo *e, daruma_str key, daruma_str text)
{
    if (!(e->lengths >> (text.n & 63) & 1))
        return;
    echo_member *m = find(e, reader_role(key), text);
    if (m)
        e->any = m->echoed = true;
}

/* The number behind the name of a member that ends at `i`; empty: none stands there. */
static daruma_str number_behind(daruma_str s, size_t i)
{
    while (i < s.n && (ch_space(s.p[i]) || s.p[i] == ':'))
        i++;
    size_t end = i;
    while (end < s.n && (ch_digit(s.p[end]) || s.p[end] == '-' || s.p[end] == '.'))
        end++;
    return str_sub(s, i, end - i);
}

void echo_meet(echo *e, daruma_str request, const judge_text *s, size_t end)
{
    daruma_str raw = str_sub(request, s->from, s->n);
    if (s->is_key) {
        echo_meet_value(e, s->key, number_behind(request, end));
        return;
    }
    if (raw.n <= PARAM_BYTES_MAX && memchr(raw.p, '\\', raw.n) && s->from + s->n < request.n) {
        char room[PARAM_BYTES_MAX + 1];
        daruma_arena a = arena_over(room, sizeof room);
        daruma_str whole = {raw.p - 1, raw.n + 2};
        if (json_valid(whole)) /* a request need not be JSON */
            echo_meet_value(e, s->key, json_text(whole, &a));
    }
    echo_meet_value(e, s->key, raw);
}

void echo_end(echo *e, bool whole)
{
    e->looked = true;
    e->over |= !whole;
    e->any |= e->over && e->n;
}
