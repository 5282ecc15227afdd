/* target.c - how long a request may be, out of what the provider said about the one it refused, and the output cap
 * that fits beside it.
 *
 *     window  |<-------------- limit -------------->|
 *             | prompt                | output | 5 % |     all three in the provider's tokens,
 *             |<------ target ------->|                    the target in ours: x (our estimate / its count)
 *
 * Where part of the history is on the server and not here, no such ratio is known: what it counted beyond our estimate
 * is there, and all that is too much goes from what is here. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/request/lesson.h"
#include "engine/mend/shorten/shorten.h"

#define NUMBERS_MAX         16                 /* in one message; those about a limit have under ten */
#define NEAR_BYTES          48                 /* words further from a number are not about it */
#define TOKENS_SANE         (INT64_C(1) << 40) /* what is larger is no count of tokens */
#define WINDOW_SANE         256                /* what is smaller is no window */
#define WINDOW_USUAL        4096               /* hardly any is smaller */
#define RATIO_SANE          16   /* provider and we count by at most so much differently, bytes included */
#define CAP_ROOM_MIN        16   /* tokens left beside a cap that fits exactly, */
#define CAP_ROOM_PART       1000 /* and this part of the window */
#define CAP_USUAL           4096 /* tokens every model of today writes */
#define THINKING_BUDGET_MIN 1024 /* Anthropic takes no less */

/* ---- the numbers of a message ---- */

typedef struct number {
    int64_t n;
    size_t from, to; /* where it stands */
} number;

/* What the provider counted, in its own tokens; -1 unknown. */
typedef struct counted {
    int64_t limit, prompt, output, total;
    bool at_least; /* the prompt was not counted to its end */
    bool output_named;
} counted;

static const daruma_str prompt_words[] = {LIT("input"), LIT("prompt"), LIT("message"), LIT("text")};
static const daruma_str output_words[] = {LIT("output"), LIT("completion"), LIT("max_tokens"), LIT("max_new_tokens"),
                                          LIT("generat")};
static const daruma_str limit_words[] = {LIT("at most"),  LIT("maximum"),   LIT("limit"),   LIT("up to"),
                                         LIT("supports"), LIT("exceed"),    LIT("allowed"), LIT("window"),
                                         LIT("context "), LIT("should be"), LIT("only"),    LIT("<=")};

/* What stands right behind a number that is the limit: "8000 maximum context length". */
static const daruma_str limit_tails[] = {LIT("maximum"), LIT("max "),    LIT("limit"),
                                         LIT("context"), LIT("allowed"), LIT("window")};

static bool is_limit(daruma_str tail)
{
    tail = str_trim(tail);
    tail = str_trim(str_from(tail, str_starts(tail, S("tokens")) ? 6 : str_starts(tail, S("token")) ? 5 : 0));
    return STR_ANY(str_starts, tail, limit_tails);
}

/* Numbers that stand for themselves: not in "gpt-4o", "v2", "0.5" or "2024-08-06". */
static size_t find_numbers(daruma_str t, number *out)
{
    size_t n = 0;
    for (size_t i = 0; i < t.n && n < NUMBERS_MAX;) {
        if (!ch_digit(t.p[i])) {
            i++;
            continue;
        }
        int64_t v;
        size_t from = i, used = str_scan_int(str_from(t, i), &v);
        i += used ? used : 1;
        bool glued = from && (ch_word(t.p[from - 1]) ||
                              ((t.p[from - 1] == '-' || t.p[from - 1] == '.') && from > 1 && t.p[from - 2] != ' '));
        bool goes_on =
            i < t.n && (ch_word(t.p[i]) || ((t.p[i] == '-' || t.p[i] == '.') && i + 1 < t.n && ch_word(t.p[i + 1])));
        if (glued || goes_on) {
            while (i < t.n && (ch_word(t.p[i]) || t.p[i] == '-' || t.p[i] == '.'))
                i++;
            continue;
        }
        if (v < TOKENS_SANE)
            out[n++] = (number){v, from, i};
    }
    return n;
}

/* Is it the number of the error, and not of tokens: "context window exceeds limit (2013)"? It is the code, or stands
 * alone in brackets at the end and is smaller than windows are, and odd. */
static bool is_error_number(daruma_str t, const number *m, daruma_str code)
{
    bool alone = m->from && t.p[m->from - 1] == '(' && str_eq(str_sub(str_trim(str_from(t, m->to)), 0, 2), S(")"));
    return str_eq(code, str_sub(t, m->from, m->to - m->from)) ||
           (alone && m->n < WINDOW_USUAL && m->n % 64 && m->n % 100);
}

static size_t without_error_numbers(daruma_str t, number *list, size_t n, daruma_str code)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_error_number(t, &list[i], code))
            list[kept++] = list[i];
    return kept;
}

static daruma_str before(daruma_str t, const number *list, size_t i)
{
    size_t from = i ? list[i - 1].to : 0, to = list[i].from;
    from = to - from > NEAR_BYTES ? to - NEAR_BYTES : from;
    return str_sub(t, from, to - from);
}

/* Up to the next number, comma, bracket or end of sentence. */
static daruma_str behind(daruma_str t, const number *list, size_t n, size_t i)
{
    size_t to = i + 1 < n ? list[i + 1].from : t.n;
    daruma_str s = str_sub(t, list[i].to, to - list[i].to < NEAR_BYTES ? to - list[i].to : NEAR_BYTES);
    for (size_t k = 0; k < s.n; k++)
        if (memchr(",;()[].\n", s.p[k], 8))
            return str_sub(s, 0, k);
    return s;
}

static bool between_is(daruma_str t, const number *list, size_t i, daruma_str what)
{
    daruma_str s = str_trim(str_sub(t, list[i].to, list[i + 1].from - list[i].to));
    return str_eq(s, what);
}

/* "190000 + 32000 > 200000", "5000 > 4096 - 1200": the sum says what each number is. */
static bool read_sum(daruma_str t, const number *list, size_t n, counted *r)
{
    for (size_t i = 0; i + 2 < n; i++) {
        if (between_is(t, list, i, S("+")) &&
            (between_is(t, list, i + 1, S(">")) || between_is(t, list, i + 1, S(">=")))) {
            *r = (counted){list[i + 2].n, list[i].n, list[i + 1].n, add_sat(list[i].n, list[i + 1].n), false, true};
            return true;
        }
        if (between_is(t, list, i, S(">")) && between_is(t, list, i + 1, S("-"))) {
            *r = (counted){list[i + 1].n, list[i + 2].n, list[i].n, add_sat(list[i].n, list[i + 2].n), false, true};
            return true;
        }
    }
    return false;
}

/* The first of the words behind a number says what it counts: "5711 in the messages, 4000 in the completion". */
static size_t first_of(daruma_str s, const daruma_str *words, size_t n)
{
    size_t best = STR_NONE;
    for (size_t i = 0; i < n; i++) {
        size_t at = str_find(s, words[i]);
        best = at < best ? at : best;
    }
    return best;
}

static void read_words(daruma_str t, const number *list, size_t n, counted *r)
{
    for (size_t i = 0; i < n; i++) {
        daruma_str lead = before(t, list, i), tail = behind(t, list, n, i);
        if (STR_ANY(str_has, lead, limit_words) || is_limit(tail)) {
            if (r->limit < 0 && str_find(lead, S("requested")) == STR_NONE)
                r->limit = list[i].n;
            continue;
        }
        size_t prompt = first_of(tail, prompt_words, COUNT(prompt_words));
        size_t output = first_of(tail, output_words, COUNT(output_words));
        if (output < prompt) {
            r->output = list[i].n;
        } else if (prompt != STR_NONE) {
            r->prompt = list[i].n;
            r->at_least = str_find(lead, S("at least")) != STR_NONE;
        }
    }
}

/* What a request asks for "on top": the whole, or the completion alone? */
static void place_requested(int64_t requested, counted *r)
{
    if (requested < 0 || requested == r->output)
        return;
    if (requested > r->limit && requested > r->prompt)
        r->total = requested;
    else if (r->prompt >= 0 && r->output < 0)
        r->output = requested;
}

/* Two of prompt, output and total give the third. */
static void complete(const convo *c, counted *r)
{
    if (r->total >= 0 && r->prompt >= 0 && r->output < 0)
        r->output = r->total > r->prompt ? r->total - r->prompt : 0;
    if (r->total >= 0 && r->prompt < 0) {
        int64_t output = r->output >= 0 ? r->output : c->set.max_output >= 0 ? c->set.max_output : 0;
        r->prompt = r->total > output ? r->total - output : r->total;
    }
}

static daruma_str in_small(daruma_str text, char room[FAILURE_TEXT_BYTES_MAX])
{
    daruma_str t = {room, text.n < FAILURE_TEXT_BYTES_MAX ? text.n : FAILURE_TEXT_BYTES_MAX};
    for (size_t i = 0; i < t.n; i++)
        room[i] = ch_lower(text.p[i]);
    return t;
}

static counted target_count(const convo *c, const daruma_failure *f)
{
    counted r = {-1, -1, -1, -1, false, false};
    char low[FAILURE_TEXT_BYTES_MAX];
    number list[NUMBERS_MAX];
    if (!f)
        return r;
    daruma_str t = in_small(f->message, low);
    bool of_tokens =
        f->kind == DARUMA_CONTEXT_LENGTH || f->kind == DARUMA_OUTPUT_LIMIT || (f->requested > f->limit && f->limit > 0);
    if (!of_tokens)
        return r; /* requests a minute, megabytes, dollars */
    r.output_named = STR_ANY(str_has, t, output_words);
    size_t n = without_error_numbers(t, list, find_numbers(t, list), f->code);
    if (read_sum(t, list, n, &r))
        return r;
    r.limit = f->limit < TOKENS_SANE ? f->limit : -1;
    read_words(t, list, n, &r);
    if (r.prompt < 0 && f->kind != DARUMA_RATE_LIMIT) { /* there `used` is about the minute, not the request */
        r.prompt = f->used < TOKENS_SANE ? f->used : -1;
        r.at_least = str_find(t, S("at least")) != STR_NONE;
    }
    place_requested(f->requested < TOKENS_SANE ? f->requested : -1, &r);
    complete(c, &r);
    return r;
}

/* ---- the target ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t percent(int64_t n, int64_t of)
{
    return mul_sat(n, of) / 100;
}

/* What no surgery makes less: the system prompt and the tools. */
static int64_t standing(const convo *c)
{
    convo bare = *c;
    bare.nmessages = 0;
    int64_t n = convo_tokens(&bare);
    for (size_t i = 0; i < c->nmessages; i++)
        n += c->messages[i].role == CONVO_SYSTEM ? convo_message_tokens(&c->messages[i]) : 0;
    return n;
}

/* Its tokens for a thousand of ours; 0: its count says nothing. */
static int64_t scale_of(const counted *n, int64_t estimate)
{
    bool counts =
        n->prompt > 0 && !n->at_least && n->prompt / RATIO_SANE <= estimate && estimate / RATIO_SANE <= n->prompt;
    return counts ? mul_sat(n->prompt, 1000) / most(estimate, 1) : 0;
}

/* What of its count is not here, but on the server: no scale is to be had then, and ours errs high. */
static int64_t hidden(const convo *c, const counted *n, int64_t estimate)
{
    return n->prompt > estimate && !n->at_least && convo_unseen(c) ? n->prompt - estimate : 0;
}

/* Room for the answer: at most half of what system prompt and tools leave, for a cap can be lowered as well. */
static int64_t reserve(const convo *c, const counted *n, int64_t window, int64_t scale)
{
    int64_t asked = n->output >= 0 ? n->output : c->set.max_output;
    int64_t stands = mul_sat(standing(c), scale ? scale : 1000) / 1000;
    if (asked < 0)
        asked = least(OUTPUT_RESERVE_TOKENS, window / 8);
    return least(asked, most(window - stands, 0) / 2);
}

/* What nobody refused yet (no status) is only as long as something that was: less of it goes than of what was refused.
 */
static int64_t blind_target(const daruma_failure *f, int64_t estimate)
{
    return percent(estimate, f && !f->status ? SHRINK_BLIND_PERCENT : SHRINK_HALF_PERCENT);
}

int64_t mend_target(const convo *c, const daruma_failure *f, int64_t window)
{
    int64_t estimate = least(convo_tokens(c), TOKENS_SANE), blind = blind_target(f, estimate);
    counted n = target_count(c, f);
    int64_t target = blind, there = hidden(c, &n, estimate), scale = there ? 0 : scale_of(&n, estimate);
    if (n.limit >= WINDOW_SANE) {
        target = percent(n.limit, 100 - SHRINK_FREE_PERCENT) - reserve(c, &n, most(n.limit - there, 0), scale);
        if (scale)
            target = mul_sat(target, estimate) / n.prompt;
        target -= there;
    } else if (window >= WINDOW_SANE && window < TOKENS_SANE) {
        target = least(percent(window, SHRINK_BLIND_PERCENT),
                       percent(window, 100 - SHRINK_FREE_PERCENT) - reserve(c, &n, window, scale));
    }
    if (target >= estimate) /* the numbers do not say why it was refused: it must go down all the same */
        target = blind;
    return most(target, least(SHRINK_TOKENS_MIN, blind));
}

/* ---- the output cap ---- */

static int64_t asked_for(const convo *c, const counted *n)
{
    return c->set.max_output >= 0 ? c->set.max_output : n->output;
}

/* A cap is worth it when answers still fit, and thinking, whose budget it includes. */
static bool useful(const convo *c, int64_t cap, int64_t asked)
{
    if (cap >= asked || cap < 1)
        return false;
    if (c->set.thinking_budget >= 0 && cap < 2 * OUTPUT_CAP_TOKENS_MIN)
        return false;
    return cap >= OUTPUT_CAP_TOKENS_MIN || cap >= asked / 4;
}

int64_t mend_output_cap(const convo *c, const daruma_failure *f, int64_t window)
{
    counted n = target_count(c, f);
    int64_t asked = asked_for(c, &n), prompt = n.prompt, estimate = convo_tokens(c);
    int64_t limit = n.limit >= WINDOW_SANE ? n.limit : window;
    if (asked < 0 || limit < WINDOW_SANE)
        return -1;
    if (prompt < 0 || n.at_least) { /* our own count, which errs high; only when the output was spoken of */
        if (!n.output_named)
            return -1;
        prompt = most(prompt, estimate);
    }
    int64_t cap = limit - prompt - most(CAP_ROOM_MIN, limit / CAP_ROOM_PART);
    return prompt < limit && useful(c, cap, asked) ? cap : -1;
}

/* The most the model writes, as the provider says; 0 when it names only numbers that do not help, -1 none at all. */
static int64_t named_cap(const daruma_failure *f, int64_t asked)
{
    char low[FAILURE_TEXT_BYTES_MAX];
    number list[NUMBERS_MAX];
    daruma_str t = in_small(f->message, low);
    int64_t cap = f->limit > 0 && (asked < 0 || f->limit <= asked) ? f->limit : -1;
    size_t n = find_numbers(t, list);
    for (size_t i = 0; i < n && f->limit <= 0; i++) /* the largest that is less than what was asked for */
        if (list[i].n >= CAP_ROOM_MIN)
            cap = list[i].n > cap && (asked < 0 || list[i].n < asked) ? list[i].n : cap > 0 ? cap : 0;
    for (size_t i = 0; i < n; i++) {
        daruma_str lead = before(t, list, i);
        bool open = str_find(behind(t, list, n, i), S("exclusive")) != STR_NONE ||
                    str_starts(str_trim(str_sub(t, list[i].to, 13)), S("(exclusive)")) ||
                    str_ends(lead, S("lower than ")) || str_ends(lead, S("less than "));
        if (open && list[i].n == cap)
            return cap - 1;
    }
    return cap;
}

static void clamp(convo *c, int64_t cap, mend_report *ret)
{
    int64_t was = c->set.max_output;
    bool budgeted = json_get(json_get(c->body, S("thinking")), S("budget_tokens")).n;
    if (budgeted && c->set.thinking_budget >= cap && cap > THINKING_BUDGET_MIN) {
        int64_t budget = most(cap / 2, THINKING_BUDGET_MIN); /* Anthropic: it is less than max_tokens */
        daruma_buf b = buf_in(c->arena);
        buf_int(&b, budget);
        c->full |= b.full;
        convo_patch_add(c, PATCH_SET, S("thinking.budget_tokens"), buf_str(&b));
        c->set.thinking_budget = budget;
    } else if (budgeted && c->set.thinking_budget >= cap) { /* there is no room for both */
        convo_patch_add(c, PATCH_SET, S("thinking"), S("{\"type\":\"disabled\"}"));
        c->set.thinking = 0;
        c->set.thinking_budget = -1;
    }
    convo_set_max_output(c, cap);
    if (was >= 0)
        mend_say(ret, "lowered the output cap from %lld to %lld tokens", (long long)was, (long long)cap);
    else
        mend_say(ret, "set the output cap to %lld tokens", (long long)cap);
    ret->patches++;
}

bool mend_clamp_output(convo *c, const daruma_failure *f, int64_t window, mend_report *ret)
{
    int64_t cap = -1;
    if (f->kind == DARUMA_OUTPUT_LIMIT) {
        counted n = target_count(c, f);
        int64_t asked = asked_for(c, &n);
        if (n.prompt > 0 && n.prompt < n.limit && !n.at_least) /* it speaks of the window */
            cap = mend_output_cap(c, f, window);
        else if ((cap = named_cap(f, asked)) < 0 && asked > CAP_USUAL)
            cap = CAP_USUAL;
        if (cap < 1 || (asked >= 0 && cap >= asked))
            return false;
    } else if ((cap = mend_output_cap(c, f, window)) < 0) {
        return false;
    }
    clamp(c, cap, ret);
    return !c->full;
}

bool mend_output_lesson(const convo *c, const daruma_failure *f, mend_lesson *ret)
{
    counted n = target_count(c, f);
    char room[32];
    daruma_buf b = buf_over(room, sizeof room);
    bool named = f->kind == DARUMA_OUTPUT_LIMIT && n.prompt <= 0 && named_cap(f, -1) > 0;
    BUF_SAY(&b, "..", c->set.max_output);
    return named && lesson_make(ret, PATCH_SET, c->set.max_output_path, buf_str(&b));
}

mend_share mend_share_of(const convo *c, const daruma_failure *f, int64_t window)
{
    counted n = target_count(c, f);
    int64_t estimate = least(convo_tokens(c), TOKENS_SANE), there = hidden(c, &n, estimate);
    int64_t scale = there ? 0 : scale_of(&n, estimate);
    int64_t limit = n.limit >= WINDOW_SANE ? n.limit : window < TOKENS_SANE ? window : -1;
    bool both = !(c->quirks & WIRE_NO_IDS); /* Google's windows are of the input alone */
    limit -= limit > there ? there : 0;
    return (mend_share){both && limit >= WINDOW_SANE ? limit : -1, scale ? scale : 1000};
}

void mend_cap_beside(convo *c, mend_share room, mend_report *ret)
{
    int64_t prompt = mul_sat(convo_tokens(c), room.scale) / 1000;
    int64_t cap = percent(room.limit, 100 - SHRINK_FREE_PERCENT) - prompt;
    if (room.limit >= 0 && c->set.max_output > cap && useful(c, cap, c->set.max_output))
        clamp(c, cap, ret);
}
