/* strategy.c - when an agent needs help, what is proposed when no model can be asked, and what becomes of a proposal
 * (KB Labs, K-F1 to K-F6 and K-F11). The proposals are rows: the first whose conditions hold and that was not tried. */
#include "engine/advise/strategy.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <xxhash.h>

#define KIND(k) (1u << DARUMA_TOOL_##k##_KIND)
#define ROW(when, kinds, strategy, confidence, reasoning, message, expected)                                           \
    {                                                                                                                  \
        when, kinds, DARUMA_STRATEGY_##strategy, reasoning, message, expected, confidence                              \
    }
#define NOTHING DARUMA_WHEN_NO_FAILURE
#define FAILURE DARUMA_WHEN_A_FAILURE
#define PASSES  DARUMA_WHEN_PASSES
#define LEFT    DARUMA_WHEN_LEFT
#define SAFE    DARUMA_WHEN_SAFE
#define LIKE_IT DARUMA_WHEN_LIKE_IT

// clang-format off
static const daruma_fallback_row usual_rows[] = {
    /*  when                              failures                           strategy     sure */
    ROW(FAILURE | PASSES | LEFT | SAFE,   0,                                 RETRY,       600,
        "The failure may pass by itself: {error}", NULL, "{tool} works this time"),
    ROW(FAILURE,                          KIND(AUTH) | KIND(PERMISSION),     ESCALATE,    700,
        "{tool} is not allowed to do this: {error}",
        "{tool} was refused: {error}. Please check its credentials or permissions, or say how to go on without it.",
        "Access is granted, or another way is named"),
    ROW(FAILURE,                          KIND(VALIDATION) | KIND(NOT_FOUND), ADJUST,     600,
        "The arguments of {tool} do not fit what is there: {error}", NULL, "{tool} works with arguments that fit"),
    ROW(FAILURE | LIKE_IT,                0,                                 ALTERNATIVE, 500,
        "{tool} keeps failing, and {other} may serve the same goal", NULL, "{other} reaches what {tool} did not"),
    ROW(NOTHING | LIKE_IT,                0,                                 ALTERNATIVE, 400,
        "{tool} brings nothing new, and {other} may", NULL, "{other} brings something new"),
    ROW(FAILURE,                          0,                                 ESCALATE,    500,
        "{tool} keeps failing, and nothing else is left to try: {error}",
        "{tool} fails: {error}. What shall be done instead?", "A person says how to go on"),
    ROW(NOTHING,                          0,                                 ESCALATE,    500,
        "Nothing failed, and yet there is no progress",
        "The agent makes no progress. Please say what to do next.", "A person says how to go on"),
    ROW(0,                                0,                                 GIVE_UP,     800,
        "All that could be tried was tried", NULL, "The task ends with what is known"),
};
// clang-format on

static const daruma_adapt_policy usual = {
    .nudge_at = {4, 6, 8}, /* K-F23 */
    .span = 50,            /* K-F8 */
    .low_progress = 200,   /* K-F2 */
    .low_steps = 5,
    .facts_max = STRATEGY_FACTS,
    .fallbacks = usual_rows,
    .nfallbacks = COUNT(usual_rows),
};

const daruma_adapt_policy *adapt_of(const daruma_policy *p)
{
    return p && p->watch.adapt ? p->watch.adapt : &usual;
}

const char *daruma_strategy_name(daruma_strategy_kind k)
{
    static const char *const names[] = {
#define X(sym, name, ...) name,
        DARUMA_STRATEGY_MAP(X)
#undef X
    };
    return (unsigned)k < DARUMA_STRATEGIES ? names[k] : "";
}

bool daruma_strategy_due(const daruma_situation *s, const daruma_policy *p)
{
    const daruma_adapt_policy *how = adapt_of(p);
    bool low = s->progress >= 0 && s->progress < how->low_progress && s->steps >= how->low_steps;
    return s->stuck || s->nblockers || s->circle.n || low;
}

/* ---- what it is about ---- */

const daruma_tool_failure *strategy_failure(const daruma_situation *s)
{
    return s->nfailures ? &s->failures[s->nfailures - 1] : NULL;
}

daruma_str strategy_tool(const daruma_situation *s)
{
    const daruma_tool_failure *f = strategy_failure(s);
    return f ? f->tool : s->last ? s->last->tool : (daruma_str){0};
}

const daruma_tool *strategy_find_tool(const daruma_situation *s, daruma_str name)
{
    for (size_t i = 0; i < s->ntools; i++)
        if (str_eq(s->tools[i].name, name))
            return &s->tools[i];
    return NULL;
}

daruma_str strategy_args(const daruma_situation *s, daruma_str tool)
{
    return s->last && str_eq(s->last->tool, tool) ? str_trim(s->last->args) : (daruma_str){0};
}

/* ---- what was tried ---- */

static uint64_t hash(daruma_str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.n ? s.p : "", s.n, seed);
}

static int place_of(const daruma_tries *t, daruma_str tool)
{
    uint64_t id = hash(tool, 1) | 1;
    for (int i = 0; i < DARUMA_TRIES_MAX; i++)
        if (t->tool[i] == id)
            return i;
    return -1;
}

unsigned strategy_times(const daruma_tries *t, daruma_str tool)
{
    int at = t ? place_of(t, tool) : -1;
    return at < 0 ? 0 : t->times[at];
}

/* Of what leaves the arguments to the model the reason is part when it is daruma's own: another failure of the tool
 * deserves another try. A model finds other words for the same each time. */
static uint64_t approach_of(const daruma_strategy *x)
{
    uint64_t kind = (uint64_t)x->kind + 2;
    if (x->kind == DARUMA_STRATEGY_ESCALATE)
        return hash(x->message, kind) | 1;
    if (x->parameters.n)
        return (daruma_call_hash(x->tool, x->parameters) ^ hash((daruma_str){0}, kind)) | 1;
    return hash(x->tool, x->source == DARUMA_FROM_HEURISTIC ? hash(x->reasoning, kind) : kind) | 1;
}

bool strategy_tried(const daruma_tries *t, const daruma_strategy *x)
{
    if (!t || x->kind == DARUMA_STRATEGY_RETRY || x->kind == DARUMA_STRATEGY_GIVE_UP)
        return false;
    uint64_t id = approach_of(x);
    for (int i = 0; i < DARUMA_TRIES_MAX; i++)
        if (t->approach[i] == id)
            return true;
    return false;
}

static void count_tool(daruma_tries *t, daruma_str tool)
{
    int at = place_of(t, tool);
    for (int i = 0; at < 0 && i < DARUMA_TRIES_MAX; i++)
        at = t->tool[i] ? at : i;
    if (at < 0)
        at = (int)(t->n % DARUMA_TRIES_MAX);
    uint64_t id = hash(tool, 1) | 1;
    if (t->tool[at] != id)
        t->times[at] = 0;
    t->tool[at] = id;
    t->times[at] += t->times[at] < UINT8_MAX;
}

void daruma_tries_note(daruma_tries *t, const daruma_strategy *x)
{
    bool calls =
        x->kind == DARUMA_STRATEGY_RETRY || x->kind == DARUMA_STRATEGY_ALTERNATIVE || x->kind == DARUMA_STRATEGY_ADJUST;
    if (calls && x->tool.n)
        count_tool(t, x->tool);
    uint32_t at = t->n++ % DARUMA_TRIES_MAX;
    char *words = t->words[at];
    daruma_buf b = buf_over(words, DARUMA_TRY_BYTES - 1);
    t->approach[at] = approach_of(x);
    buf_put(&b, x->name);
    daruma_str rest = calls ? x->tool : x->message;
    for (int i = 0; i < 2 && rest.n; i++) {
        buf_putz(&b, i ? " " : ": ");
        size_t room = b.cap - b.n;
        rest.n = rest.n < room ? rest.n : room;
        while (rest.n == room && rest.n && ((unsigned char)rest.p[rest.n - 1] & 0x80))
            rest.n--; /* no half character at the end */
        buf_put(&b, rest);
        rest = calls ? x->parameters : (daruma_str){0};
    }
    words[b.n] = 0;
    for (size_t i = 0; i < b.n; i++)
        if ((unsigned char)words[i] < ' ')
            words[i] = ' ';
}

void daruma_tries_worked(daruma_tries *t, const daruma_policy *p, daruma_str tool)
{
    int at = adapt_of(p)->counts_forever ? -1 : place_of(t, tool);
    if (at >= 0) {
        t->tool[at] = 0;
        t->times[at] = 0;
    }
}

/* ---- without a model ---- */

/* Failures that came before anything was done. */
static bool had_no_effect(daruma_tool_kind k)
{
    return k == DARUMA_TOOL_VALIDATION_KIND || k == DARUMA_TOOL_NOT_FOUND_KIND || k == DARUMA_TOOL_AUTH_KIND ||
           k == DARUMA_TOOL_PERMISSION_KIND || k == DARUMA_TOOL_RATE_LIMIT_KIND;
}

/* Does calling it once more do no harm? What is not known to have effects may be proposed, but is not `sure`. */
static bool twice_is_safe(const daruma_situation *s, daruma_str tool, bool sure)
{
    const daruma_tool *t = strategy_find_tool(s, tool);
    const daruma_tool_failure *f = strategy_failure(s);
    unsigned traits = t && t->traits ? t->traits : s->last && str_eq(s->last->tool, tool) ? s->last->traits : 0;
    if (f && str_eq(f->tool, tool) && had_no_effect(f->kind))
        return true;
    if (traits & DARUMA_TOOL_ACTS)
        return false;
    return !sure || (traits & (DARUMA_TOOL_READS | DARUMA_TOOL_WAITS | DARUMA_TOOL_WRITES));
}

bool strategy_holds(const daruma_situation *s, const daruma_strategy *x, daruma_buf *why)
{
    daruma_str value;
    const daruma_tool *t = strategy_find_tool(s, x->tool);
    if (x->kind == DARUMA_STRATEGY_ESCALATE || x->kind == DARUMA_STRATEGY_GIVE_UP)
        return true;
    if (x->kind == DARUMA_STRATEGY_OTHER || !t || !x->parameters.n)
        return false;
    if (!json_whole(x->parameters, &value) || !json_is_object(value))
        return false;
    if (t->schema.n && s->fits && !s->fits(t->schema, value, why))
        return false;
    return x->kind != DARUMA_STRATEGY_RETRY || twice_is_safe(s, x->tool, true);
}

static void strategy_fill(daruma_buf *b, const char *words, const daruma_situation *s, daruma_str other)
{
    const daruma_tool_failure *f = strategy_failure(s);
    daruma_str rest = str_of(words);
    while (rest.n) {
        buf_put(b, str_cut(&rest, '{'));
        if (str_starts(rest, S("tool}")))
            buf_put(b, strategy_tool(s));
        else if (str_starts(rest, S("error}")))
            buf_put(b, f ? f->message : (daruma_str){0});
        else if (str_starts(rest, S("other}")))
            buf_put(b, other);
        else
            continue;
        str_cut(&rest, '}');
    }
}

static daruma_str filled(const char *words, const daruma_situation *s, daruma_str other, daruma_arena *a)
{
    if (!words || !strchr(words, '{'))
        return str_of(words);
    daruma_buf b = buf_in(a);
    strategy_fill(&b, words, s, other);
    return b.full ? str_of(words) : buf_str(&b);
}

daruma_strategy strategy_of_row(const daruma_fallback_row *row, const daruma_situation *s, daruma_str other,
                                daruma_arena *a)
{
    daruma_strategy x = {
        .kind = row->kind,
        .name = str_of(daruma_strategy_name(row->kind)),
        .reasoning = filled(row->reasoning, s, other, a),
        .message = filled(row->message, s, other, a),
        .expected = filled(row->expected, s, other, a),
        .confidence = row->confidence,
    };
    if (row->kind == DARUMA_STRATEGY_ALTERNATIVE)
        x.tool = other;
    else if (row->kind == DARUMA_STRATEGY_RETRY || row->kind == DARUMA_STRATEGY_ADJUST)
        x.tool = strategy_tool(s);
    if (row->kind == DARUMA_STRATEGY_RETRY)
        x.parameters = strategy_args(s, x.tool);
    x.checked = strategy_holds(s, &x, NULL);
    return x;
}

/* The next word of a name or a sentence: fs:readFile is fs, read, file. */
static daruma_str next_word(daruma_str *rest)
{
    size_t from = 0;
    while (from < rest->n && !ch_alpha(rest->p[from]))
        from++;
    size_t to = from;
    while (to < rest->n && ch_alpha(rest->p[to]) &&
           (to == from || ch_lower(rest->p[to]) == rest->p[to] || ch_lower(rest->p[to - 1]) != rest->p[to - 1]))
        to++;
    daruma_str word = str_sub(*rest, from, to - from);
    *rest = str_from(*rest, to);
    return word;
}

/* How many words of at least so many letters both have. */
static unsigned shared_words(daruma_str a, daruma_str b, size_t letters)
{
    enum { WORDS_MAX = 64 };
    unsigned n = 0, looked = 0;
    for (daruma_str x; (x = next_word(&a)).n && looked < WORDS_MAX; looked++) {
        daruma_str rest = b, y;
        unsigned compared = 0;
        while (x.n >= letters && (y = next_word(&rest)).n && compared++ < WORDS_MAX)
            if (str_ieq(x, y)) {
                n++;
                break;
            }
    }
    return n;
}

/* The tool most like it in name and purpose that did not fail, too; NULL: none is. Only what reads is taken for what
 * reads: an effect is not another way to look. */
static const daruma_tool *like_it(const daruma_situation *s, const daruma_tries *t, daruma_str tool)
{
    enum { NAME_WORTH = 3, LIKE_MIN = 3, LETTERS_MIN = 4 };
    const daruma_tool *of = strategy_find_tool(s, tool), *best = NULL;
    unsigned most = LIKE_MIN - 1;
    for (size_t i = 0; i < s->ntools; i++) {
        const daruma_tool *x = &s->tools[i];
        bool failed = str_eq(x->name, tool), acts = x->traits & (DARUMA_TOOL_ACTS | DARUMA_TOOL_WRITES);
        for (size_t j = 0; j < s->nfailures; j++)
            failed |= str_eq(s->failures[j].tool, x->name);
        if (failed || !x->name.n || strategy_times(t, x->name) || (acts && of && (of->traits & DARUMA_TOOL_READS)))
            continue;
        unsigned like = NAME_WORTH * shared_words(tool, x->name, 2);
        like += of ? shared_words(of->description, x->description, LETTERS_MIN) : 0;
        if (like > most) {
            most = like;
            best = x;
        }
    }
    return best;
}

static unsigned conditions(const daruma_situation *s, const daruma_tries *t, const daruma_policy *p, bool like)
{
    const daruma_tool_failure *f = strategy_failure(s);
    daruma_str tool = strategy_tool(s);
    unsigned times = strategy_times(t, tool), most = p ? p->watch.retries_max : TOOL_RECOVERIES_MAX;
    unsigned have = f ? DARUMA_WHEN_A_FAILURE : DARUMA_WHEN_NO_FAILURE;
    have |= times == 0 ? DARUMA_WHEN_FIRST : 0;
    have |= times < most ? DARUMA_WHEN_LEFT : 0;
    have |= f && f->retryable ? DARUMA_WHEN_PASSES : 0;
    have |= twice_is_safe(s, tool, false) ? DARUMA_WHEN_SAFE : 0;
    return have | (like ? DARUMA_WHEN_LIKE_IT : 0);
}

daruma_strategy daruma_strategy_guess(const daruma_situation *s, const daruma_tries *t, const daruma_policy *p,
                                      daruma_arena *a)
{
    const daruma_adapt_policy *how = adapt_of(p);
    const daruma_fallback_row *rows = how->fallbacks ? how->fallbacks : usual_rows;
    size_t n = how->fallbacks ? how->nfallbacks : COUNT(usual_rows);
    const daruma_tool_failure *f = strategy_failure(s);
    const daruma_tool *other = like_it(s, t, strategy_tool(s));
    unsigned have = conditions(s, t, p, other);
    for (size_t i = 0; i < n; i++) {
        if ((rows[i].when & ~have) || (rows[i].kinds && !(f && (rows[i].kinds >> f->kind & 1))))
            continue;
        daruma_strategy x = strategy_of_row(&rows[i], s, other ? other->name : (daruma_str){0}, a);
        if (how->greedy || !strategy_tried(t, &x))
            return x;
    }
    return strategy_of_row(&usual_rows[COUNT(usual_rows) - 1], s, (daruma_str){0}, a);
}

/* ---- what becomes of it ---- */

daruma_strategy_fate daruma_strategy_decide(const daruma_strategy *x, daruma_strategy_mode mode, const daruma_policy *p)
{
    int sure = p && p->watch.auto_percent ? p->watch.auto_percent : STRATEGY_AUTO_PERCENT;
    int ask = p && p->watch.ask_percent ? p->watch.ask_percent : STRATEGY_ASK_PERCENT;
    if (mode == DARUMA_STRATEGIES_LOG)
        return DARUMA_FATE_LOG;
    if (x->kind == DARUMA_STRATEGY_ESCALATE || x->confidence < 10 * ask)
        return DARUMA_FATE_ESCALATE;
    bool does = mode == DARUMA_STRATEGIES_AUTO && x->checked && x->confidence >= 10 * sure;
    return does ? DARUMA_FATE_DO : DARUMA_FATE_ASK;
}

const char *daruma_strategy_fate_name(daruma_strategy_fate f)
{
    static const char *const names[] = {"log", "do", "ask", "escalate"};
    return (unsigned)f < COUNT(names) ? names[f] : "";
}

bool daruma_strategy_learned(const daruma_situation *s, const daruma_tries *t, const daruma_policy *p,
                             daruma_strategy *ret)
{
    daruma_str tool = strategy_tool(s), args = strategy_args(s, tool);
    uint64_t call = args.p ? daruma_call_hash(tool, args) : 0;
    for (size_t i = 0; i < s->nlessons; i++) {
        const daruma_lesson *l = &s->lessons[i];
        daruma_strategy x = {
            .kind = l->kind,
            .source = DARUMA_FROM_LESSON,
            .name = str_of(daruma_strategy_name(l->kind)),
            .reasoning = S("This helped against the same failure before"),
            .expected = S("The same goal is reached, as it was then"),
            .tool = str_of(l->tool),
            .confidence = l->score,
        };
        if (l->kind == DARUMA_STRATEGY_RETRY)
            x.parameters = args;
        else if (call && call == l->call) /* of another call the arguments would be wrong: they are an example */
            x.parameters = str_of(l->parameters);
        x.checked = strategy_holds(s, &x, NULL);
        unsigned most = p ? p->watch.retries_max : TOOL_RECOVERIES_MAX;
        bool spent = x.kind == DARUMA_STRATEGY_RETRY && strategy_times(t, x.tool) >= most;
        bool gone = s->ntools && !strategy_find_tool(s, x.tool);
        if (l->score < STRATEGY_LEARNED_MIN || spent || gone || strategy_tried(t, &x))
            continue;
        *ret = x;
        return true;
    }
    return false;
}
