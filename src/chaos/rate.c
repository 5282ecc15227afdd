/* rate.c - see rate.h. The window of a key begins with its first call behind the one before. What is too much is
 * refused in the provider's words, with the time that is left. */
#include "chaos/rate.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"

static daruma_str number(daruma_arena *a, int64_t n, const char *unit)
{
    daruma_buf b = buf_in(a);
    buf_int(&b, n);
    buf_putz(&b, unit);
    return buf_str(&b);
}

bool rate_allows(script_key *k, const ask *q, const model_limits *m, const manner *how, daruma_ms now, daruma_arena *a,
                 plan *p)
{
    if (!k->used || now >= k->until) {
        k->used = 0;
        k->until = now + k->per;
    }
    if (++k->used <= k->limit)
        return true;
    fault f = fault_none;
    daruma_ms left = k->until - now;
    daruma_header fields[] = {{S("retry-after"), number(a, (left + 999) / 1000, "")},
                              {S("retry-after-ms"), number(a, left, "")}};
    f.headers = fields;
    f.nheaders = q->wire == WIRE_CHAT || q->wire == WIRE_RESPONSES ? 2 : 1;
    *p = fault_plan(&f, fault_find(S("rate_limit")), q, m, how, q->hash, a);
    p->refused = "rate_limit";
    return false;
}

void rate_state(const script_key *k, wire w, daruma_ms now, int64_t wall, daruma_arena *a, answer *x)
{
    int64_t left = k->used < k->limit ? k->limit - k->used : 0;
    daruma_ms ms = k->until > now ? k->until - now : 0;
    if (w == WIRE_CHAT || w == WIRE_RESPONSES) {
        answer_header(x, S("x-ratelimit-limit-requests"), number(a, k->limit, ""));
        answer_header(x, S("x-ratelimit-remaining-requests"), number(a, left, ""));
        answer_header(x, S("x-ratelimit-reset-requests"), number(a, ms, "ms"));
    } else if (w == WIRE_MESSAGES) {
        char *date = arena_take(a, 21, 1);
        if (!date)
            return;
        date_write(wall + (ms + 999) / 1000, date);
        answer_header(x, S("anthropic-ratelimit-requests-limit"), number(a, k->limit, ""));
        answer_header(x, S("anthropic-ratelimit-requests-remaining"), number(a, left, ""));
        answer_header(x, S("anthropic-ratelimit-requests-reset"), str_of(date));
    } /* Google says nothing of it before it refuses */
}
