/* window.c - noise in the newest calls of an agent: what is put around all results, and what one call gets that differs
 * a little each time.
 */
#include "engine/watch/same/window.h"

void window_learn_noise(daruma_stall *s, const noise_sketch *newest, uint64_t call, uint64_t tool)
{
    enum { MOST = 7, OF_EACH = 2 };
    const noise_sketch *results[MOST] = {newest};
    uint64_t calls[MOST] = {call};
    size_t n = 1;
    bool others = false, tools = false;
    for (uint32_t i = 0; i < window_count(s) && n < MOST; i++) {
        const seen *o = window_at(s, i);
        size_t same = 0;
        for (size_t k = 0; k < n; k++)
            same += calls[k] == o->exact;
        if (same >= OF_EACH || !o->sketch.n)
            continue;
        others |= o->exact != call;
        tools |= o->tool != tool;
        calls[n] = o->exact;
        results[n++] = &o->sketch;
    }
    if (others)
        noise_learn(&s->noise, results, n, tools);
}

void window_learn_args(daruma_stall *s, const noise_args *given, uint64_t tool)
{
    enum { MOST = 6, LEAST = 4 };
    const noise_args *calls[MOST] = {given};
    uint32_t steps[MOST] = {s->steps};
    size_t n = 1;
    bool tools = false;
    for (uint32_t i = 0; i < window_count(s) && n < MOST; i++) {
        const seen *o = window_at(s, i);
        if (!o->given.n)
            continue;
        tools |= o->tool != tool;
        steps[n] = o->step;
        calls[n++] = &o->given;
    }
    if (tools && n >= LEAST)
        noise_learn_args(&s->noise, calls, steps, n);
}

void window_unite(daruma_stall *s, const seen *e)
{
    uint32_t alike = window_alike(s, s->call_tags, e->call);
    for (; alike; alike &= alike - 1) {
        uint32_t back = 31 - (uint32_t)__builtin_ctz(alike), at = (s->calls - 1 - back) % STALL_WINDOW;
        seen *o = &s->window[at];
        if (o->call != e->call || ((o->flags ^ e->flags) & SEEN_FAILED))
            continue;
        noise_difference d;
        if (o->result == e->result || noise_compare(&s->noise, &o->sketch, &e->sketch, &d) != NOISE_SAME)
            continue;
        o->result = e->result;
        o->plain = e->plain;
        o->masked = e->masked;
        o->says = 0;
        s->result_tags[at] = (uint16_t)e->result;
    }
}

bool window_learn_near(daruma_stall *s, const noise_sketch *sketch, uint64_t call, bool moves)
{
    enum { DRAWN = 2, NUMBERS = 5, WORDS = 3 };
    uint32_t n = 0;
    const noise_sketch *newer = sketch, *last = NULL;
    noise_difference first = {.n = 0}, d;
    for (uint32_t i = 0; i < window_count(s); i++) {
        const seen *o = window_at(s, i);
        if (o->flags & SEEN_NOTE)
            continue;
        if (o->exact != call || noise_compare(&s->noise, &o->sketch, newer, &d) != NOISE_NEAR ||
            noise_compare(&s->noise, &o->sketch, sketch, &d) != NOISE_NEAR)
            break;
        newer = &o->sketch;
        last = last ? last : newer;
        if (n && d.at != first.at)
            break;
        first = n ? first : d;
        first.numbers |= d.numbers;
        n++;
    }
    bool numbers = first.numbers;
    if (n < (numbers ? NUMBERS : DRAWN) || first.inner || (numbers && (moves || sketch->json)) ||
        (sketch->json && first.words < WORDS))
        return false;
    noise_accept(&s->noise, sketch, last, &first);
    return true;
}
