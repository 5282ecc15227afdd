/* rules.h - what the rules have in common. */
#ifndef WATCH_RULES_H
#define WATCH_RULES_H
#include "engine/watch/same/window.h"
#include "engine/watch/words/words.h"

static inline bool rule_has(unsigned bits, unsigned any)
{
    return (bits & any) != 0;
}

static inline bool same_pair(const seen *a, const seen *b)
{
    return a->call == b->call && a->result == b->result;
}

static inline uint8_t sure_of(uint32_t times, uint32_t needed, unsigned base)
{
    uint32_t more = times > needed ? times - needed : 0;
    return (uint8_t)(base + (more > 4 ? 4 : more) * ((99 - base) / 5));
}

/* The call `back` calls ago, thoughts not counted; NULL behind the window. `*at` goes on. */
static inline const seen *next_call(const daruma_stall *s, uint32_t *at, bool notes)
{
    while (*at < window_count(s)) {
        const seen *e = window_at(s, (*at)++);
        if (notes || !(e->flags & SEEN_NOTE))
            return e;
    }
    return NULL;
}

/* Returns the call, or 0 when it is to blame already. */
static inline uint64_t blame(daruma_verdict *v, uint64_t call)
{
    for (uint32_t i = 0; i < v->ncalls; i++)
        if (v->calls[i] == call)
            return 0;
    if (v->ncalls == DARUMA_PERIOD_MAX)
        return 0;
    return v->calls[v->ncalls++] = call;
}

/* Sets the verdict. True, so that a rule ends with it. */
static inline bool speak(daruma_verdict *v, daruma_circle circle, uint32_t times, uint8_t sure, uint32_t first,
                         uint64_t about)
{
    v->circle = circle;
    v->times = times;
    v->sure = sure;
    v->first = first;
    v->about = about;
    return true;
}
#endif
