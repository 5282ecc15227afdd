#include "chaos/turns.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include <regex.h>

enum { TEXT_LEVELS_MAX = 16 }; /* of what stands in a message; deeper texts tell nobody anything */

/* Which of a list comes after so many; NULL: none is left. */
static const scripted *nth(const scripted *list, size_t n, int64_t given)
{
    for (size_t i = 0; i < n; given -= list[i++].times)
        if (given < list[i].times)
            return &list[i];
    return NULL;
}

static int64_t total(const scripted *list, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += list[i].times;
    return sum;
}

/* ---- is it told? ---- */

/* Members that name things: nobody is told anything by them. */
static bool names_something(daruma_str key)
{
    static const daruma_str names[] = {LIT("role"),    LIT("type"),         LIT("id"),         LIT("name"),
                                       LIT("call_id"), LIT("tool_call_id"), LIT("tool_use_id")};
    return STR_ANY(json_raw_eq, key, names);
}

/* Every text that stands in a value, a line each, whatever the dialect calls its members. */
static void put_texts(daruma_buf *b, daruma_str value, int level, daruma_arena *a)
{
    daruma_str key, member;
    if (json_is_string(value)) {
        daruma_str text = json_text(value, a);
        for (size_t i = 0; i < text.n; i++)
            buf_putc(b, text.p[i] ? text.p[i] : ' '); /* an expression ends at a NUL */
        buf_putc(b, '\n');
        return;
    }
    if (level == TEXT_LEVELS_MAX)
        return;
    bool object = json_is_object(value);
    json_iter it = json_open(value);
    while (json_next(&it, object ? &key : NULL, &member))
        if (!object || !names_something(key))
            put_texts(b, member, level + 1, a);
}

static bool finds(daruma_str pattern, daruma_str text)
{
    regex_t re;
    if (regcomp(&re, pattern.p, REG_EXTENDED | REG_ICASE | REG_NOSUB | REG_NEWLINE))
        return false; /* the script was read, so only memory is missing */
    bool found = regexec(&re, text.p, 0, NULL, 0) == 0;
    regfree(&re);
    return found;
}

bool loop_told(const loop_manner *l, const ask *q, daruma_arena *a)
{
    if (l->tools && (q->no_tools || q->noffered == 0))
        return true;
    if (!l->text.n || !q->nnewest)
        return false;
    daruma_str message;
    daruma_buf b = buf_in(a);
    size_t i = 0;
    json_iter it = json_open(q->messages);
    for (size_t from = json_count(q->messages) - q->nnewest; json_next(&it, NULL, &message); i++)
        if (i >= from)
            put_texts(&b, message, 0, a);
    buf_putc(&b, '\0');
    return !b.full && finds(l->text, buf_str(&b));
}

/* ---- what it does ---- */

model_turn turn_of(const scripted *answers, size_t nanswers, int64_t given, const loop_manner *l, const ask *q,
                   daruma_arena *a)
{
    model_turn t = {.say = nth(answers, nanswers, given)};
    if (t.say || !l->nlap || !q->tooled)
        return t;
    t.of_loop = true;
    t.told = !l->freed && loop_told(l, q, a);
    t.listens = l->freed || (t.told && l->told >= l->ignores);
    if (t.listens) {
        t.at = l->freed > 0 ? (size_t)l->freed - 1 : 0;
        while ((t.say = nth(l->then, l->nthen, (int64_t)t.at)) && t.say->ncalls && (q->no_tools || !q->noffered))
            t.at++; /* it has no tools to do that with */
        return t;
    }
    t.circles = true;
    t.say = nth(l->lap, l->nlap, l->circled % total(l->lap, l->nlap));
    return t;
}

void turn_done(loop_manner *l, const model_turn *t)
{
    if (!t->of_loop)
        return;
    l->told += t->told;
    l->circled += t->circles;
    if (t->listens)
        l->freed = (int64_t)t->at + 2;
}

void loop_anew(loop_manner *l)
{
    l->circled = l->told = l->freed = 0;
}
