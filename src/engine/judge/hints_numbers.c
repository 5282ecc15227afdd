/* hints_numbers.c - the numbers of a limit in a sentence: what it is, what is used, what was asked for. */
#include "engine/judge/hints_inside.h"
#include "engine/read/chars.h"
#include "base/limits.h"
#include "base/str.h"

#define NUMBERS_MAX 24 /* in one text; a message about a limit has under ten */

enum { LIMIT, USED, REQUESTED };

/* What stands right before a number, or right behind it; two bytes at least. */
static const struct {
    daruma_str says;
    bool behind;
    uint8_t what;
} counts[] = {
#define B(s, w)                                                                                                        \
    {                                                                                                                  \
        LIT(s), false, w                                                                                               \
    }
#define A(s, w)                                                                                                        \
    {                                                                                                                  \
        LIT(s), true, w                                                                                                \
    }
    // clang-format off
    B("requested about ", REQUESTED), B("you requested a total of ", REQUESTED), B("you requested ", REQUESTED),
    B("requested: ", REQUESTED), B("requested ", REQUESTED), B("maximum context length is ", LIMIT),
    B("maximum context length of ", LIMIT), B("maximum prompt length is ", LIMIT), B("context window of ", LIMIT),
    B("context limit: ", LIMIT), B("model token limit: ", LIMIT), B("while limit is ", LIMIT),
    B("maximum allowed length of ", LIMIT), B("maximum allowed input length of ", LIMIT),
    B("maximum number of tokens allowed (", LIMIT), B("available context size (", LIMIT), B("context length is only ", LIMIT),
    B("context length of only ", LIMIT), B("limit of ", LIMIT), B("limit: ", LIMIT), B("limit ", LIMIT), B("max size: ", LIMIT),
    B("context size is ", LIMIT), B("should be [1, ", LIMIT), B("cannot exceed ", LIMIT), B("the maximum allowed is ", LIMIT),
    A(" maximum context length", LIMIT), A(" maximum", LIMIT), B("> ", LIMIT), B("trying to keep the first ", USED),
    B("used ", USED), B("current: ", USED), B("current length is ", USED), B("resulted in ", USED), B("token count (", USED),
    B("token count of ", USED), B("prompt is too long: ", USED), B("prompt contains at least ", USED),
    B("prompt contains ", USED), B("the request contains ", USED), B("prompt has ", USED), B("the input (", USED),
    B("request (", USED), A(" tokens from the input", USED), A(" in the messages", USED), A(" tokens > ", USED),
// clang-format on
#undef A
#undef B
};

/* The first row that stands right before t[from] or right behind t[to - 1]. Most numbers have
 * nothing there that a row could end or begin with. */
static int row_at(daruma_str t, size_t from, size_t to)
{
    bool before = from >= 2 && (t.p[from - 1] == ' ' || t.p[from - 1] == '(');
    bool behind = to < t.n && t.p[to] == ' ';
    if (!before && !behind)
        return -1;
    for (int i = 0; i < (int)COUNT(counts); i++) {
        daruma_str says = counts[i].says;
        if (counts[i].behind
                ? behind && to + says.n <= t.n && t.p[to + 1] == says.p[1] && memcmp(t.p + to, says.p, says.n) == 0
                : before && says.n <= from && t.p[from - 2] == says.p[says.n - 2] &&
                      memcmp(t.p + from - says.n, says.p, says.n) == 0)
            return i;
    }
    return -1;
}

/* "190000 + 32000 > 200000": the input, the output cap beside it, and the limit. No row may take the first for the
 * third because "limit: " stands before it. */
static void read_sum(daruma_str t, said *s)
{
    int64_t input, output, limit;
    size_t plus = str_find(t, S(" + ")), from = plus;
    if (plus == STR_NONE)
        return;
    while (from && (char_is(t.p[from - 1], CHAR_DIGIT) || t.p[from - 1] == ','))
        from--;
    if (str_scan_int(str_from(t, from), &input) != plus - from || from == plus)
        return;
    daruma_str rest = str_from(t, plus + 3);
    rest = str_from(rest, str_scan_int(rest, &output));
    if (!str_starts(rest, S(" > ")) || !str_scan_int(str_from(rest, 3), &limit))
        return;
    s->limit = limit;
    s->used = input;
    s->requested = add_sat(input, output);
}

void hints_numbers(daruma_str t, said *s)
{
    if (!chars_digit(t))
        return;
    if (s->limit < 0 && chars_has(t, "+"))
        read_sum(t, s);
    int64_t *const to[] = {&s->limit, &s->used, &s->requested};
    int best[] = {s->limit >= 0 ? -1 : 99, s->used >= 0 ? -1 : 99, s->requested >= 0 ? -1 : 99};
    int numbers = 0;
    for (size_t i = 0; i < t.n && numbers < NUMBERS_MAX; i++) {
        while (i < t.n && !char_is(t.p[i], CHAR_DIGIT))
            i++;
        if (i == t.n)
            break;
        int64_t n;
        size_t used = str_scan_int(str_from(t, i), &n);
        bool none = (i && char_is(t.p[i - 1], CHAR_WORD)) || str_eq(s->code, str_sub(t, i, used)); /* the error's own */
        int row = none ? -1 : row_at(t, i, i + used);
        if (row >= 0 && row < best[counts[row].what]) { /* an earlier row is the better name */
            best[counts[row].what] = row;
            *to[counts[row].what] = n;
        }
        numbers++;
        i += used;
    }
}

/* ---- an overflow whose words no row knows --------------------------------------------------- */

enum {
    LEAD_BYTES = 48,  /* words further from a number are not about it */
    COUNTED_MIN = 256 /* what is smaller is no window, and no prompt that overflows one */
};

/* Words before a number, or right behind it, that make it the limit. */
static const daruma_str limit_leads[] = {
    // clang-format off
    LIT("maximum"), LIT("max "), LIT("limit"), LIT("at most"), LIT("up to"), LIT("supports"), LIT("exceed"), LIT("allow"), LIT("<="),
    LIT("context length"), LIT("context window"), LIT("context size"), LIT("longer than"), LIT("larger than"), LIT("greater than"),
    LIT("more than"), LIT("fewer than"), LIT("less than"),
    // clang-format on
};
static const daruma_str limit_tails[] = {LIT("maximum"), LIT("max "),    LIT("limit"),
                                         LIT("context"), LIT("allowed"), LIT("window")};
static const daruma_str units[] = {LIT("tokens"), LIT("token")};

static bool says_limit(daruma_str lead, daruma_str tail)
{
    size_t end;
    while ((end = str_find(lead, S(". "))) != STR_NONE) /* another sentence is about something else */
        lead = str_from(lead, end + 2);
    if (STR_ANY(str_has, lead, limit_leads))
        return true;
    tail = str_trim(tail);
    for (size_t i = 0; i < 2; i++)
        if (str_starts(tail, units[i])) {
            tail = str_trim(str_from(tail, units[i].n));
            break;
        }
    return STR_ANY(str_starts, tail, limit_tails);
}

/* True if t[from..to) stands for itself: not in "gpt-4o", "v2", "0.5" or "2024-08-06". */
static bool stands_alone(daruma_str t, size_t from, size_t to)
{
    bool glued = from && (char_is(t.p[from - 1], CHAR_WORD) || t.p[from - 1] == '-' || t.p[from - 1] == '.');
    bool goes_on = to < t.n && (char_is(t.p[to], CHAR_WORD) || ((t.p[to] == '-' || t.p[to] == '.') && to + 1 < t.n &&
                                                                char_is(t.p[to + 1], CHAR_WORD)));
    return !glued && !goes_on;
}

/* Whatever the order of words, the prompt was more than the limit: of the numbers that limit words stand beside the
 * smallest is the limit, and the largest number above it is what was counted. */
void hints_overflow(daruma_str t, said *s)
{
    int64_t least = -1, most = -1;
    size_t behind = 0;
    int numbers = 0;
    for (size_t i = 0; i < t.n && numbers < NUMBERS_MAX; numbers++) {
        while (i < t.n && !char_is(t.p[i], CHAR_DIGIT))
            i++;
        if (i == t.n)
            break;
        int64_t n = 0;
        size_t to = i + str_scan_int(str_from(t, i), &n);
        daruma_str lead = str_sub(t, behind, i - behind);
        lead = lead.n > LEAD_BYTES ? str_from(lead, lead.n - LEAD_BYTES) : lead;
        if (stands_alone(t, i, to) && n >= COUNTED_MIN && !str_ends(lead, S(" by "))) { /* "exceeded by 120 tokens" */
            most = n > most ? n : most;
            if (says_limit(lead, str_sub(t, to, LEAD_BYTES)) && (least < 0 || n < least))
                least = n;
        }
        i = behind = to;
    }
    int64_t limit = s->limit >= 0 ? s->limit : least;
    if (limit < 0 || (s->used >= 0 && limit >= s->used))
        return;
    bool counted = s->used >= 0 || s->requested > limit;
    if (!counted && most <= limit)
        return;
    s->limit = limit;
    if (!counted)
        s->used = most;
}
