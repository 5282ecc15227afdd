/* policy.c - what is done about each kind of failure: the ladders.
 *
 * A rung says: when THIS fails, do THAT, at most so often in one case, if all of these are to
 * hand, after such a delay. The case climbs the rungs of a kind from the top and takes the
 * first whose needs are met. The last rung of a kind needs nothing. */
#include "engine/decide/choice.h"
#include "engine/decide/profiles.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

#define TIME    DARUMA_NEED_TIME
#define CLEAN   DARUMA_NEED_CLEAN
#define TRIES   DARUMA_NEED_TRIES
#define KEY     DARUMA_NEED_KEY
#define ACCOUNT DARUMA_NEED_ACCOUNT
#define MODEL   DARUMA_NEED_MODEL
#define SAFE    DARUMA_NEED_SAFE
#define SOURCE  DARUMA_NEED_SOURCE
#define PASSES  DARUMA_NEED_PASSES
#define PARTIAL DARUMA_NEED_PARTIAL
#define SIDE    DARUMA_NEED_SIDE
#define REFUSED DARUMA_NEED_REFUSED
#define BROKEN  DARUMA_NEED_BROKEN
#define GUIDE   DARUMA_NEED_GUIDE
#define ENFORCE DARUMA_NEED_ENFORCE
#define OUTAGE  DARUMA_NEED_OUTAGE
#define ABOVE   DARUMA_NEED_ABOVE
#define RESERVE DARUMA_NEED_RESERVE
#define API     DARUMA_NEED_API
#define DOUBT   DARUMA_NEED_DOUBT

enum {
    OFTEN = 64,                   /* bounded by the tries of each target, patience and the time */
    EACH = DARUMA_CASE_TRIED - 1, /* every other target once */
    LESS = 10,                    /* bounded by max_compress_retries, whose largest value this is */
    MANY = REFUSALS_MENDED_MAX,   /* each names something else: that is progress, and learned of the model */
};

/* Sending again what failed for a passing reason. */
#define RESEND (TIME | CLEAN)
/* What a target refuses that is not the first, or lacks what the request needs, another one may take: the first, once
 * it is well again, or the next. It was refused, so that nothing was done twice. */
#define ELSEWHERE (RESEND | MODEL | DOUBT)
/* Sending something else: what was mended. It costs nobody's budget, it is not the same request again. */
#define MEND (TIME | CLEAN | DARUMA_NEED_MEND)
/* Sending less of the conversation; each counts against max_compress_retries. */
#define SHRINK (MEND | DARUMA_NEED_SHRINK)
/* Asking for what came broken; going on behind what the client already has. Nothing else helps a client that has a part
 * of its answer, so that going on is no try of a target: it is bounded by its own rungs and the time. */
#define ASK   (TIME | TRIES | SAFE | DARUMA_NEED_MEND)
#define GO_ON (TIME | PARTIAL | SAFE | DARUMA_NEED_MEND)

#define R(k, r, times, needs, after)                                                                                   \
    {                                                                                                                  \
        DARUMA_##k, DARUMA_REMEDY_##r, times, needs, DARUMA_##after                                                    \
    }
// clang-format off
static const daruma_rung standard[] = {
    /* when this fails    do this              times  if we have                               after */
    R(RATE_LIMIT,         RESUME,              2,     GO_ON,                                 ADVICE),
    R(RATE_LIMIT,         CLAMP_OUTPUT,        1,     MEND | ABOVE,                          NOW), /* "Limit 8000, Requested 31104" */
    R(RATE_LIMIT,         MASK_TOOL_OUTPUT,    LESS,  SHRINK | ABOVE,                        NOW),
    R(RATE_LIMIT,         SWITCH_KEY,          EACH,  RESEND | KEY,                          NOW),
    R(RATE_LIMIT,         WAIT_RETRY,          OFTEN, RESEND | TRIES | PASSES,               ADVICE),
    R(RATE_LIMIT,         SWITCH_MODEL,        EACH,  RESEND | MODEL,                        NOW),
    R(RATE_LIMIT,         RESUME,              OFTEN, GO_ON | TRIES | OUTAGE,                ADVICE),
    R(RATE_LIMIT,         COMPACT,             LESS,  SHRINK | SIDE | ABOVE,                 NOW),
    R(RATE_LIMIT,         KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(RATE_LIMIT,         EXPLAIN,             1,     0,                                     NOW),

    R(QUOTA,              RESUME,              2,     GO_ON,                                 NOW),
    R(QUOTA,              SWITCH_ACCOUNT,      EACH,  TIME | CLEAN | ACCOUNT,                NOW),
    R(QUOTA,              SWITCH_MODEL,        EACH,  TIME | CLEAN | MODEL,                  NOW),
    R(QUOTA,              WAIT_RETRY,          OFTEN, RESEND | TRIES | SAFE,                 GROW),
    R(QUOTA,              RESUME,              EACH,  GO_ON | TRIES | OUTAGE,                GROW),
    R(QUOTA,              KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(QUOTA,              EXPLAIN,             1,     0,                                     NOW),

    R(OVERLOADED,         RESUME,              2,     GO_ON,                                 ADVICE),
    R(OVERLOADED,         WAIT_RETRY,          1,     RESEND | TRIES | PASSES | SAFE,        ADVICE),
    R(OVERLOADED,         SWITCH_MODEL,        EACH,  RESEND | MODEL | SAFE,                 NOW),
    R(OVERLOADED,         SWITCH_KEY,          EACH,  RESEND | KEY | PASSES | SAFE,          NOW),
    R(OVERLOADED,         RESUME,              OFTEN, GO_ON | TRIES | OUTAGE,                ADVICE),
    R(OVERLOADED,         WAIT_RETRY,          OFTEN, RESEND | TRIES | PASSES | SAFE,        ADVICE),
    R(OVERLOADED,         KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(OVERLOADED,         EXPLAIN,             1,     0,                                     NOW),

    R(SERVER_ERROR,       RESUME,              2,     GO_ON,                                 ADVICE),
    R(SERVER_ERROR,       WAIT_RETRY,          1,     RESEND | TRIES | PASSES | SAFE,        ADVICE),
    R(SERVER_ERROR,       SWITCH_MODEL,        EACH,  RESEND | MODEL | SAFE,                 NOW),
    R(SERVER_ERROR,       SWITCH_KEY,          EACH,  RESEND | KEY | PASSES | SAFE,          NOW),
    R(SERVER_ERROR,       RESUME,              OFTEN, GO_ON | TRIES | OUTAGE,                ADVICE),
    R(SERVER_ERROR,       WAIT_RETRY,          OFTEN, RESEND | TRIES | PASSES | SAFE,        ADVICE),
    R(SERVER_ERROR,       KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(SERVER_ERROR,       EXPLAIN,             1,     0,                                     NOW),

    R(TIMEOUT,            RESUME,              2,     GO_ON,                                 NOW),
    R(TIMEOUT,            SWITCH_MODEL,        EACH,  RESEND | MODEL | SAFE,                 NOW),
    R(TIMEOUT,            SWITCH_KEY,          EACH,  RESEND | KEY | PASSES | SAFE,          NOW),
    R(TIMEOUT,            RETRY,               1,     RESEND | TRIES | PASSES | SAFE,        NOW),
    R(TIMEOUT,            RESUME,              OFTEN, GO_ON | TRIES | OUTAGE,                GROW),
    R(TIMEOUT,            WAIT_RETRY,          OFTEN, RESEND | TRIES | PASSES | SAFE,        GROW),
    R(TIMEOUT,            KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(TIMEOUT,            EXPLAIN,             1,     0,                                     NOW),

    R(NETWORK,            RESUME,              2,     GO_ON,                                 GROW),
    R(NETWORK,            RETRY_FRESH,         1,     RESEND | TRIES | PASSES | SAFE,        NOW),
    R(NETWORK,            SWITCH_MODEL,        EACH,  RESEND | MODEL | SAFE,                 NOW),
    R(NETWORK,            SWITCH_KEY,          EACH,  RESEND | KEY | PASSES | SAFE,          NOW),
    R(NETWORK,            RESUME,              OFTEN, GO_ON | TRIES | OUTAGE,                GROW),
    R(NETWORK,            WAIT_RETRY,          OFTEN, RESEND | TRIES | PASSES | SAFE,        GROW),
    R(NETWORK,            KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(NETWORK,            EXPLAIN,             1,     0,                                     NOW),

    R(INTERRUPTED,        RESUME,              2,     GO_ON,                                 NOW),
    R(INTERRUPTED,        RESUME,              OFTEN, GO_ON | TRIES | OUTAGE,                GROW),
    R(INTERRUPTED,        KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(INTERRUPTED,        RETRY,               1,     RESEND | TRIES | SAFE,                 NOW),
    R(INTERRUPTED,        SWITCH_MODEL,        EACH,  RESEND | MODEL | SAFE,                 NOW),
    R(INTERRUPTED,        SWITCH_KEY,          EACH,  RESEND | KEY | PASSES | SAFE,          NOW),
    R(INTERRUPTED,        WAIT_RETRY,          OFTEN, RESEND | TRIES | SAFE,                 GROW),
    R(INTERRUPTED,        EXPLAIN,             1,     0,                                     NOW),

    R(AUTH,               RESUME,              2,     GO_ON,                                 NOW),
    R(AUTH,               REFRESH_CREDENTIALS, 1,     TIME | CLEAN | SOURCE,                 NOW),
    R(AUTH,               SWITCH_KEY,          EACH,  TIME | CLEAN | KEY,                    NOW),
    R(AUTH,               SWITCH_MODEL,        EACH,  TIME | CLEAN | MODEL,                  NOW), /* elsewhere, with other credentials */
    R(AUTH,               WAIT_RETRY,          OFTEN, RESEND | TRIES | SAFE,                 GROW), /* another one passes */
    R(AUTH,               RESUME,              EACH,  GO_ON | TRIES | OUTAGE,                GROW),
    R(AUTH,               KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(AUTH,               EXPLAIN,             1,     0,                                     NOW),

    R(PERMISSION,         RESUME,              2,     GO_ON,                                 NOW),
    R(PERMISSION,         SWITCH_KEY,          EACH,  TIME | CLEAN | KEY,                    NOW),
    R(PERMISSION,         SWITCH_MODEL,        EACH,  TIME | CLEAN | MODEL,                  NOW),
    R(PERMISSION,         WAIT_RETRY,          OFTEN, RESEND | TRIES | SAFE,                 GROW),
    R(PERMISSION,         RESUME,              EACH,  GO_ON | TRIES | OUTAGE,                GROW),
    R(PERMISSION,         KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(PERMISSION,         EXPLAIN,             1,     0,                                     NOW),

    R(MODEL_NOT_FOUND,    RESUME,              2,     GO_ON,                                 NOW),
    R(MODEL_NOT_FOUND,    CHANGE_API,          EACH,  MEND | API,                            NOW),
    R(MODEL_NOT_FOUND,    SWITCH_MODEL,        EACH,  TIME | CLEAN | MODEL,                  NOW),
    R(MODEL_NOT_FOUND,    WAIT_RETRY,          OFTEN, RESEND | TRIES | SAFE,                 GROW),
    R(MODEL_NOT_FOUND,    RESUME,              EACH,  GO_ON | TRIES | OUTAGE,                GROW),
    R(MODEL_NOT_FOUND,    KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(MODEL_NOT_FOUND,    EXPLAIN,             1,     0,                                     NOW),

    /* For these two only a target with a larger window counts as another model. */
    R(CONTEXT_LENGTH,     RESUME,              1,     GO_ON,                                 NOW),
    R(CONTEXT_LENGTH,     CLAMP_OUTPUT,        1,     MEND,                                  NOW),
    R(CONTEXT_LENGTH,     MASK_TOOL_OUTPUT,    LESS,  SHRINK,                                NOW),
    R(CONTEXT_LENGTH,     SUMMARISE,           LESS,  SHRINK | SIDE,                         NOW),
    R(CONTEXT_LENGTH,     SWITCH_MODEL,        1,     TIME | CLEAN | MODEL,                  NOW),
    R(CONTEXT_LENGTH,     COMPACT,             LESS,  SHRINK | SIDE,                         NOW),
    R(CONTEXT_LENGTH,     SWITCH_MODEL,        EACH,  ELSEWHERE,                             GROW),
    R(CONTEXT_LENGTH,     KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(CONTEXT_LENGTH,     EXPLAIN,             1,     0,                                     NOW),

    R(REQUEST_TOO_LARGE,  SHRINK_REQUEST,      2,     MEND,                                  NOW),
    R(REQUEST_TOO_LARGE,  MASK_TOOL_OUTPUT,    1,     SHRINK,                                NOW),
    R(REQUEST_TOO_LARGE,  SWITCH_MODEL,        1,     TIME | CLEAN | MODEL,                  NOW),
    R(REQUEST_TOO_LARGE,  COMPACT,             2,     SHRINK | SIDE,                         NOW), /* Cerebras says no more of its window */
    R(REQUEST_TOO_LARGE,  SWITCH_MODEL,        EACH,  ELSEWHERE,                             GROW),
    R(REQUEST_TOO_LARGE,  EXPLAIN,             1,     0,                                     NOW),

    R(OUTPUT_LIMIT,       CLAMP_OUTPUT,        1,     MEND,                                  NOW),
    R(OUTPUT_LIMIT,       SWITCH_MODEL,        EACH,  ELSEWHERE,                             GROW),
    R(OUTPUT_LIMIT,       EXPLAIN,             1,     0,                                     NOW),

    R(ORPHAN_TOOL_CALL,   REPAIR_HISTORY,      1,     MEND,                                  NOW),
    R(ORPHAN_TOOL_CALL,   SWITCH_MODEL,        EACH,  ELSEWHERE,                             GROW),
    R(ORPHAN_TOOL_CALL,   EXPLAIN,             1,     0,                                     NOW),

    R(INVALID_MESSAGE,    MEND_MESSAGES,       MANY,  MEND,                                  NOW),
    R(INVALID_MESSAGE,    REPAIR_HISTORY,      1,     MEND,                                  NOW),
    R(INVALID_MESSAGE,    SWITCH_MODEL,        EACH,  ELSEWHERE,                             GROW),
    R(INVALID_MESSAGE,    APOLOGISE,           1,     TIME | CLEAN | SIDE,                   NOW),
    R(INVALID_MESSAGE,    EXPLAIN,             1,     0,                                     NOW),

    R(INVALID_TOOL_SCHEMA,LOWER_SCHEMA,        MANY,    MEND,                                  NOW),
    R(INVALID_TOOL_SCHEMA,LOWER_FORMAT,        2,     MEND,                                  NOW),
    R(INVALID_TOOL_SCHEMA,SWITCH_MODEL,        EACH,  ELSEWHERE,                             GROW),
    R(INVALID_TOOL_SCHEMA,EXPLAIN,             1,     0,                                     NOW),

    R(INVALID_PARAMETER,  CHANGE_API,          EACH,    MEND | API,                            NOW),
    R(INVALID_PARAMETER,  MEND_PARAMETER,      MANY,    MEND,                                  NOW),
    R(INVALID_PARAMETER,  LOWER_FORMAT,        2,     MEND,                                  NOW),
    R(INVALID_PARAMETER,  SWITCH_MODEL,        EACH,  ELSEWHERE,                             GROW),
    R(INVALID_PARAMETER,  APOLOGISE,           1,     TIME | CLEAN | SIDE,                   NOW),
    R(INVALID_PARAMETER,  EXPLAIN,             1,     0,                                     NOW),

    /* What came may have been forwarded but for the broken part, which was held back. */
    R(MALFORMED_OUTPUT,   ASK_AGAIN,           2,     ASK,                                   NOW),
    R(MALFORMED_OUTPUT,   RESUME,              2,     GO_ON,                                 NOW),
    R(MALFORMED_OUTPUT,   RETRY,               2,     RESEND | TRIES | PASSES | SAFE,        NOW),
    R(MALFORMED_OUTPUT,   SWITCH_MODEL,        EACH,  RESEND | MODEL | SAFE,                 NOW),
    R(MALFORMED_OUTPUT,   SWITCH_KEY,          EACH,  RESEND | KEY | PASSES | SAFE | OUTAGE, NOW),
    R(MALFORMED_OUTPUT,   WAIT_RETRY,          OFTEN, RESEND | TRIES | PASSES | SAFE | OUTAGE, GROW), /* words that are wrong are no outage */
    R(MALFORMED_OUTPUT,   RESUME,              OFTEN, GO_ON | TRIES | PASSES | OUTAGE,       GROW),
    R(MALFORMED_OUTPUT,   SWITCH_MODEL,        EACH,  ELSEWHERE | SAFE,                      GROW),
    R(MALFORMED_OUTPUT,   KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(MALFORMED_OUTPUT,   EXPLAIN,             1,     0,                                     NOW),

    R(UNKNOWN,            RESUME,              1,     GO_ON,                                 GROW),
    R(UNKNOWN,            WAIT_RETRY,          1,     RESEND | TRIES | PASSES | SAFE,        GROW),
    R(UNKNOWN,            WAIT_RETRY,          OFTEN, RESEND | TRIES | PASSES | SAFE | BROKEN, GROW),
    R(UNKNOWN,            SWITCH_MODEL,        EACH,  RESEND | MODEL | SAFE,                 NOW),
    R(UNKNOWN,            SWITCH_KEY,          EACH,  RESEND | KEY | PASSES | SAFE,          NOW),
    R(UNKNOWN,            SWITCH_MODEL,        EACH,  ELSEWHERE | REFUSED,                   GROW),
    R(UNKNOWN,            APOLOGISE,           1,     TIME | CLEAN | SIDE | REFUSED,         NOW),
    R(UNKNOWN,            KEEP_PARTIAL,        1,     PARTIAL,                               NOW),
    R(UNKNOWN,            EXPLAIN,             1,     0,                                     NOW),

    R(CONTENT_FILTER,     SWITCH_MODEL,        1,     TIME | CLEAN | RESERVE,                NOW), /* where the operator wants that */
    R(CONTENT_FILTER,     SWITCH_MODEL,        EACH,  ELSEWHERE,                             GROW),
    R(CONTENT_FILTER,     EXPLAIN,             1,     0,                                     NOW),
    R(TOOL_ERROR,         EXPLAIN,             1,     0,                                     NOW),
    R(TOOL_UNKNOWN,       EXPLAIN,             1,     0,                                     NOW),
    R(TOOL_ARGUMENTS,     EXPLAIN,             1,     0,                                     NOW),

    /* For an agent, not for a call: daruma_guide_next() climbs these, a rung at each step that goes on in circles. */
    R(LOOP,               NOTICE,              2,     TIME | GUIDE,                          NOW),
    R(LOOP,               BLOCK_CALL,          2,     TIME | ENFORCE,                        NOW),
    R(LOOP,               STRATEGY,            1,     TIME | ENFORCE | SIDE,                 NOW),
    R(LOOP,               FORCE_FINISH,        1,     TIME | ENFORCE,                        NOW),
    R(LOOP,               STOP_PARTIAL,        1,     ENFORCE,                               NOW),
    R(LOOP,               NOTICE,              OFTEN, TIME | GUIDE,                          NOW),
    R(LOOP,               EXPLAIN,             1,     0,                                     NOW),

    R(STUCK,              NOTICE,              3,     TIME | GUIDE,                          NOW),
    R(STUCK,              STRATEGY,            1,     TIME | ENFORCE | SIDE,                 NOW),
    R(STUCK,              FORCE_FINISH,        1,     TIME | ENFORCE,                        NOW),
    R(STUCK,              STOP_PARTIAL,        1,     ENFORCE,                               NOW),
    R(STUCK,              NOTICE,              OFTEN, TIME | GUIDE,                          NOW),
    R(STUCK,              EXPLAIN,             1,     0,                                     NOW),

    R(PLAN_INVALID,       EXPLAIN,             1,     0,                                     NOW),
    R(BUDGET,             EXPLAIN,             1,     0,                                     NOW),
    R(CANCELLED,          NONE,                1,     0,                                     NOW),
};
// clang-format on
_Static_assert(sizeof standard / sizeof *standard <= DARUMA_CASE_RUNGS, "a counter for each rung");

#define USUAL                                                                                                          \
    {                                                                                                                  \
        .base = 500, .cap = 30000, .factor_milli = 2000, .jitter_milli = 500                                           \
    }
#define SLOW                                                                                                           \
    {                                                                                                                  \
        .base = 2000, .cap = 60000, .factor_milli = 2000, .jitter_milli = 500                                          \
    }

#define MENDS                                                                                                          \
    {                                                                                                                  \
        .enabled = true, .side_calls = true, .summarize_on_compress = true, .max_compress_retries = MEND_SHRINKS,      \
        .compression_threshold_chars = MEND_LARGE_CHARS                                                                \
    }

#define WATCHES                                                                                                        \
    {                                                                                                                  \
        .same_max = TOOL_SAME_FAILURES_MAX, .tool_max = TOOL_FAILURES_MAX, .total_max = TOOL_FAILURES_ALL_MAX,         \
        .shown_max = TOOL_FAILURES_SHOWN, .message_chars = TOOL_MESSAGE_CHARS_MAX, .decays = true, .escapes = true,    \
        .retries_max = TOOL_RECOVERIES_MAX, .auto_percent = 80, .ask_percent = 50                                      \
    }

static const daruma_policy usual = {
    .profile = "default",
    .rungs = standard,
    .nrungs = sizeof standard / sizeof *standard,
    .max_attempts = 16, /* patience ends it before */
    .max_wait = RETRY_ADVICE_MS_MAX,
    .patience = PATIENCE_MS,
    .enabled = true,
    .health = true,
    .hedge = true,
    .mend = MENDS,
    .watch = WATCHES,
    .kinds =
        {
            [DARUMA_RATE_LIMIT] = {.backoff = SLOW}, /* asked to slow down: we do */
            [DARUMA_OVERLOADED] = {.backoff = USUAL},
            [DARUMA_SERVER_ERROR] = {.backoff = USUAL},
            [DARUMA_NETWORK] = {.backoff = USUAL},
            [DARUMA_TIMEOUT] = {.backoff = USUAL},
            [DARUMA_INTERRUPTED] = {.backoff = USUAL},
            [DARUMA_MALFORMED_OUTPUT] = {.backoff = USUAL},
            [DARUMA_UNKNOWN] = {.backoff = USUAL},
            [DARUMA_AUTH] = {.backoff = USUAL},
            [DARUMA_PERMISSION] = {.backoff = USUAL},
            [DARUMA_QUOTA] = {.backoff = USUAL},
            [DARUMA_MODEL_NOT_FOUND] = {.backoff = USUAL},
        },
};

static const daruma_policy *profile_at(size_t i)
{
    return i == 0 ? &usual : i <= nseed_profiles ? &seed_profiles[i - 1] : NULL;
}

const daruma_policy *daruma_policy_variant(daruma_str profile, daruma_str variant)
{
    const daruma_policy *p;
    for (size_t i = 0; (p = profile_at(i)); i++)
        if (str_eq(profile, str_of(p->profile)) &&
            (!variant.n || (p->variant ? str_eq(variant, str_of(p->variant))
                                       : str_eq(variant, S("doc")) || str_eq(variant, S("code")))))
            return p;
    return NULL;
}

const daruma_policy *daruma_policy_find(daruma_str profile)
{
    return daruma_policy_variant(profile, S(""));
}

const char *daruma_policy_name(size_t index)
{
    const daruma_policy *p;
    for (size_t i = 0; (p = profile_at(i)); i++) {
        bool second = i && str_eq(str_of(profile_at(i - 1)->profile), str_of(p->profile));
        if (!second && index-- == 0)
            return p->profile;
    }
    return NULL;
}

/* ---- printed ------------------------------------------------------------------- */

static const struct {
    unsigned need;
    const char *words;
} needs[] = {
#define X(sym, bit, name, words) {DARUMA_NEED_##sym, words},
    DARUMA_NEED_MAP(X)
#undef X
};

static void print_needs(unsigned of, daruma_buf *out)
{
    bool first = true;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (!(of & needs[i].need))
            continue;
        BUF_SAY(out, first ? "" : ", ", needs[i].words);
        first = false;
    }
}

static void print_backoff(const daruma_backoff *b, daruma_buf *out)
{
    if (b->base <= 0) {
        BUF_LIT(out, "-");
        return;
    }
    buf_duration(out, b->base);
    buf_printf(out, " x %u.%u, at most ", b->factor_milli / 1000, b->factor_milli % 1000 / 100);
    buf_duration(out, b->cap);
}

/* The most calls that the ladder of a kind makes, and for what each: with another key, account or model that is to hand
 * as often again. */
typedef struct most_calls {
    uint32_t calls;  /* for each, the first included */
    uint32_t mended; /* of another request each, or with other credentials */
    uint32_t onward; /* for the rest of an answer that broke off */
} most_calls;

/* Does it call anybody? What is done about an agent goes along with a call that is made anyway. */
static bool calls(const daruma_rung *r)
{
    return daruma_remedy_act(r->remedy) == DARUMA_SEND && !(r->needs & (DARUMA_NEED_GUIDE | DARUMA_NEED_ENFORCE));
}

static most_calls most_of(const daruma_policy *p, daruma_kind k)
{
    most_calls m = {.calls = 1};
    uint32_t shrunk = 0;
    for (size_t i = 0; i < p->nrungs; i++) {
        const daruma_rung *r = &p->rungs[i];
        if (r->kind != k || !calls(r))
            continue;
        if (r->needs & DARUMA_NEED_PARTIAL)
            m.onward += r->times;
        else if (r->needs & DARUMA_NEED_TRIES)
            m.calls = p->kinds[k].max_attempts ? p->kinds[k].max_attempts : p->max_attempts;
        else if (r->needs & DARUMA_NEED_SHRINK)
            shrunk += r->times;
        else if (r->needs & (DARUMA_NEED_MEND | DARUMA_NEED_SOURCE))
            m.mended += r->times;
        else if (choice_shared(k) == SHARE_NOTHING && choice_switches(r->remedy))
            m.calls += r->times; /* only to where there is more room */
    }
    m.mended += shrunk < p->mend.max_compress_retries ? shrunk : p->mend.max_compress_retries;
    return m;
}

static bool climbs(const daruma_policy *p, daruma_kind k)
{
    for (size_t i = 0; i < p->nrungs; i++)
        if (p->rungs[i].kind == k && calls(&p->rungs[i]))
            return true;
    return false;
}

static void print_numbers(const daruma_policy *p, daruma_buf *out)
{
    static const char *const each[] = {[SHARE_NOTHING] = "request",
                                       [SHARE_KEY] = "key",
                                       [SHARE_ACCOUNT] = "account",
                                       [SHARE_LANE] = "account and model",
                                       [SHARE_MODEL] = "model of a provider"};
    bool any = false;
    for (int i = 0; i < DARUMA_KINDS; i++) {
        daruma_kind k = (daruma_kind)i;
        if (!climbs(p, k))
            continue;
        if (!any)
            BUF_LIT(out,
                    "\nThe most calls of a request that fails in one way, the first included. Keys count as one where "
                    "another key\nwould meet the same. Deadline, retry budget and what else a rung needs end it "
                    "sooner.\n\n| kind | calls | for each | and mended | and to go on | backoff |\n"
                    "|---|---|---|---|---|---|\n");
        any = true;
        most_calls m = most_of(p, k);
        buf_printf(out, "| %s | %u | %s | %u | %u | ", daruma_kind_name(k), m.calls, each[choice_shared(k)], m.mended,
                   m.onward);
        print_backoff(&p->kinds[k].backoff, out);
        BUF_LIT(out, " |\n");
    }
}

static void print_mending(const daruma_mend_policy *m, daruma_buf *out)
{
    if (!m->enabled) {
        BUF_LIT(out, "\nNothing is mended.\n");
        return;
    }
    BUF_LIT(out, "\nMending: ");
    if (m->max_compress_retries) {
        buf_printf(out, "a conversation is shortened at most %u time%s a request; ", m->max_compress_retries,
                   m->max_compress_retries == 1 ? "" : "s");
        if (m->compression_threshold_chars > 0)
            buf_printf(out, "tool output of more than %lld characters is %s; ",
                       (long long)m->compression_threshold_chars,
                       m->summarize_on_compress ? "summarised" : "cut to its beginning");
    }
    buf_printf(out, "a tool call without result %s; ", m->prune_orphans ? "is removed" : "gets a neutral one");
    buf_printf(out, "a model %s asked on the side.\n", m->side_calls ? "may be" : "is not");
}

/* "400-499", "429", "none", "any" */
static void print_status(const daruma_rule_row *r, daruma_buf *out)
{
    if (r->from == 0)
        buf_putz(out, r->to == 0 ? "none" : "any");
    else if (r->from == r->to)
        buf_printf(out, "%d", r->from);
    else
        buf_printf(out, "%d-%d", r->from, r->to);
}

static void print_rules(const daruma_policy *p, daruma_buf *out)
{
    if (!p->nrules)
        return;
    BUF_LIT(out,
            "\nHow it judges; the first row that fits:\n\n| status | judged as | one of these words | is | its name |\n"
            "|---|---|---|---|---|\n");
    for (size_t i = 0; i < p->nrules; i++) {
        const daruma_rule_row *r = &p->rules[i];
        BUF_LIT(out, "| ");
        print_status(r, out);
        buf_printf(out, " | %s | ", r->was < 0 ? "any" : daruma_kind_name((daruma_kind)r->was));
        for (size_t k = 0; r->words && r->words[k]; k++) {
            BUF_SAY(out, k ? ", `" : "`", r->words[k], "`");
        }
        buf_printf(out, " | %s | %s |\n", daruma_kind_name(r->kind), r->type ? r->type : "");
    }
}

static void print_events(const daruma_policy *p, daruma_buf *out)
{
    static const char *const when[] = {"a call failed",    "recovery begins", "a remedy changed it", "a remedy broke",
                                       "it is sent again", "all was tried",   "it recovered",        "it is given up"};
    if (!p->events)
        return;
    BUF_LIT(out, "\nWhat it tells; the first row that fits:\n\n| when | about | with | event |\n|---|---|---|---|\n");
    for (size_t i = 0; i < p->nevents; i++) {
        const daruma_event_row *e = &p->events[i];
        buf_printf(out, "| %s | %s | %s | `%s`", when[e->when],
                   e->kind < 0 ? "any" : daruma_kind_name((daruma_kind)e->kind),
                   e->remedy < 0 ? "any" : daruma_remedy_name((daruma_remedy_kind)e->remedy), e->name);
        if (e->reason)
            buf_printf(out, " reason `%s`", e->reason);
        if (e->strategy)
            buf_printf(out, " strategy `%s`", e->strategy);
        BUF_LIT(out, " |\n");
    }
}

/* Tools that keep failing. A profile that judges them by no words and has no limits does not watch. */
static void print_watching(const daruma_watch_policy *w, daruma_buf *out)
{
    if (!w->same_max && !w->total_max)
        return;
    buf_printf(out, "\nFailed tools: a person should look after %u failures in a row %s", w->same_max,
               w->by_tool ? "of one tool or agent" : "in the same way");
    if (w->tool_max)
        buf_printf(out, ", %u of one tool without a success between", w->tool_max);
    buf_printf(out, ", %u in all%s; a model is shown %u, messages are cut to %u characters.\n", w->total_max,
               w->decays ? " (a success gives back one, or what it resolved)" : "", w->shown_max, w->message_chars);
    if (!w->rows)
        return;
    BUF_LIT(out, "\n| one of these words | is | suggestion |\n|---|---|---|\n");
    for (size_t i = 0; i < w->nrows; i++) {
        const daruma_tool_row *r = &w->rows[i];
        BUF_LIT(out, "| ");
        for (size_t k = 0; r->words && r->words[k]; k++)
            buf_printf(out, "%s`%s`", k ? ", " : "", r->words[k]);
        buf_printf(out, "%s | %s | %s |\n", r->words ? "" : "any", daruma_tool_kind_name(r->kind),
                   r->suggestion ? r->suggestion : "");
    }
}

void daruma_policy_print(const daruma_policy *p, daruma_buf *out)
{
    static const char *const after[] = {"at once", "as advised, else backoff", "backoff", "quick backoff"};
    buf_printf(out, "# What daruma does: profile `%s`%s%s\n\n", p->profile, p->variant ? ", variant " : "",
               p->variant ? p->variant : "");
    BUF_LIT(out, "When something fails, the rungs of its kind are tried from the top; the first whose needs are met\n"
                 "is taken. `at most` counts per request. No wait is longer than ");
    buf_duration(out, p->max_wait);
    buf_printf(out, "; one target is called at most %u times.\n", p->max_attempts);
    if (p->patience >= 0) {
        BUF_LIT(out, "What passes by itself is waited for, ");
        buf_duration(out, p->patience);
        BUF_LIT(out, " in all.\n");
    }
    if (p->health)
        BUF_LIT(out, "Targets that failed are asked after those that are well.\n");
    if (p->hedge)
        BUF_LIT(out, "Beside a call that is silent for longer than usual another target is asked.\n");
    if (!p->enabled)
        BUF_LIT(out, "\nRecovery is switched off: the first failure is final.\n");
    BUF_LIT(out, "\n| when this fails | do this | at most | if we have | when |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < p->nrungs; i++) {
        const daruma_rung *r = &p->rungs[i];
        bool again = i && p->rungs[i - 1].kind == r->kind;
        buf_printf(out, "| %-19s | %-19s | %2u | ", again ? "" : daruma_kind_name(r->kind),
                   daruma_remedy_name(r->remedy), r->times);
        print_needs(r->needs, out);
        buf_printf(out, " | %s |\n", after[r->after]);
    }
    if (p->nrules)
        BUF_LIT(out, "\nA kind without rungs is raised: the caller gets the error as it came.\n");
    print_mending(&p->mend, out);
    print_numbers(p, out);
    print_rules(p, out);
    print_watching(&p->watch, out);
    print_events(p, out);
    if (p->text)
        buf_printf(out, "\nWhat it says:\n\n%s\n", p->text);
}
