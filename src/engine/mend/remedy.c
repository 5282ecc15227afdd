/* remedy.c - each remedy of the ladders as an act on the conversation: the table, and the few steps of each. */
#include "engine/mend/remedy.h"
#include "engine/mend/answer/answer.h"
#include "engine/mend/pairs/pairs.h"
#include "base/utf8.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

/* Characters of what is said, calls and results; in PenguiFlow's way of the calls and results alone (P-F22). */
static int64_t said_chars(const mending *m)
{
    const convo *c = &m->c;
    int64_t n = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; !c->messages[i].dropped && j < c->messages[i].nparts; j++) {
            const convo_part *p = &c->messages[i].parts[j];
            bool words = p->kind == PART_TEXT || p->kind == PART_THINKING;
            if (p->dropped || (p->kind != PART_CALL && p->kind != PART_RESULT && (!words || m->policy->json_summaries)))
                continue;
            n += (int64_t)utf8_chars(convo_part_text(c, p));
        }
    return n;
}

/* ---- shorter ---- */

static bool enough(const mending *m)
{
    bool did = mend_did(&m->report) || m->unsent;
    return did && !m->c.full && (m->policy->sends_any || convo_tokens(&m->c) <= m->target);
}

/* Where nothing else is left, the provider has the last word on what became a good deal shorter than it refused. */
static bool worth_a_call(const mending *m)
{
    bool did = mend_did(&m->report) || m->unsent;
    return m->last && did && !m->c.full && convo_tokens(&m->c) <= mul_sat(m->refused, SHRINK_WORTH_PERCENT) / 100;
}

static mending_result shorter(mending *m)
{
    if (!enough(m) && !worth_a_call(m)) {
        m->unsent |= mend_did(&m->report);
        return MENDING_UNFIT;
    }
    m->unsent = false;
    m->shortened = true;
    if (!m->policy->sends_any)
        mend_cap_beside(&m->c, m->room, &m->report);
    return MENDING_DONE;
}

/* Pairs are whole before any surgery of ours. The provider's numbers are about what it was sent: when a stage before
 * this one has shortened that, its target holds. */
static void aim(mending *m, const daruma_failure *f, int64_t window)
{
    if (!m->unsent) {
        m->refused = convo_tokens(&m->c);
        m->target = mend_target(&m->c, f, window);
        m->room = mend_share_of(&m->c, f, window);
        m->blind = window < WINDOW_LEARNED_MIN && f->limit < WINDOW_LEARNED_MIN;
    }
    if (!m->policy->sends_any)
        mend_pairs(&m->c, m->policy->prune_orphans ? MEND_PRUNE : MEND_SYNTHESISE);
}

static int64_t of_target(const mending *m, int64_t percent)
{
    return mul_sat(m->target, percent) / 100;
}

/* What a compaction would leave at the end: older output is masked before a model is asked for a summary of it. */
static int64_t keeps(const mending *m)
{
    return m->target / 3;
}

static void mask_to(mending *m, int64_t tokens, const mend_mask_rules *rules)
{
    mend_report r = mend_mask(&m->c, tokens, rules);
    mend_merge(&m->report, &r);
}

/* Old output goes until several turns have room: each time it goes, the provider's cache of the prompt is lost. */
static void mask_old(mending *m)
{
    mask_to(m, of_target(m, SHRINK_LOW_PERCENT), &(mend_mask_rules){.old_only = true, .keep_tokens = keeps(m)});
}

/* Old output to the bone: before what the model is working with goes, and where no older part could go for a summary.
 */
static void mask_bare(mending *m)
{
    mask_to(m, of_target(m, SHRINK_LOW_PERCENT), &(mend_mask_rules)MEND_MASK_BARE);
}

/* What the model is working with: only what must go. */
static void mask_on(mending *m)
{
    mask_old(m);
    if (convo_tokens(&m->c) > m->target)
        mask_bare(m);
    mask_to(m, m->target, NULL);
}

/* Is there an older part that could go for a summary? */
static bool can_compact(const mending *m)
{
    mend_cut cut = mend_compact_plan(&m->c, keeps(m));
    return m->policy->side_calls && cut.to > cut.from;
}

static mend_summary_style style_of(const mending *m)
{
    return m->policy->json_summaries ? MEND_SUMMARY_PENGUIFLOW : MEND_SUMMARY_PLAIN;
}

/* Is there large output that a model could sum up? */
static bool can_summarise(mending *m)
{
    mend_large one;
    return m->policy->side_calls && m->policy->summarize_on_compress &&
           mend_large_results(&m->c, (size_t)m->policy->compression_threshold_chars, true, style_of(m), &one, 1) > 0;
}

/* When old output does not give enough, or so little that it would be due again next turn, a model is asked, about
 * large output or the older part of the conversation, before the newest output goes. */
static mending_result mask(mending *m, const daruma_failure *f, int64_t window)
{
    aim(m, f, window);
    mask_old(m);
    if (convo_tokens(&m->c) > of_target(m, SHRINK_ROOMY_PERCENT) && !can_compact(m))
        mask_bare(m);
    bool roomy = convo_tokens(&m->c) <= of_target(m, SHRINK_ROOMY_PERCENT);
    if (!roomy && f->kind == DARUMA_CONTEXT_LENGTH && (can_compact(m) || can_summarise(m))) {
        m->unsent |= mend_did(&m->report);
        return MENDING_UNFIT;
    }
    mask_on(m);
    return shorter(m);
}

static bool room_for_questions(mending *m, size_t n)
{
    m->questions = ARENA_NEW(m->c.arena, mend_question, n);
    m->nquestions = m->questions ? n : 0;
    return m->questions != NULL;
}

/* Asks about the large results; as many of the oldest as it takes for several turns to have room, if each became as
 * short as it shall. What was masked before may be enough where nothing large is left. */
static mending_result ask_summaries(mending *m)
{
    const daruma_mend_policy *p = m->policy;
    m->large = ARENA_NEW(m->c.arena, mend_large, SUMMARIES_MAX);
    if (!m->large)
        return MENDING_UNFIT;
    size_t n = mend_large_results(&m->c, (size_t)p->compression_threshold_chars, m->newest || p->sends_any, style_of(m),
                                  m->large, SUMMARIES_MAX);
    int64_t left = convo_tokens(&m->c);
    size_t take = 0;
    while (take < n && (p->sends_any || left > of_target(m, SHRINK_ROOMY_PERCENT))) {
        convo_part *r = &m->c.messages[m->large[take].message].parts[m->large[take].part];
        left -= text_tokens(convo_text(&m->c, r)) - SUMMARY_TOKENS / 2;
        take++;
    }
    for (size_t i = 0; i < take && !p->summarize_on_compress; i++) /* nobody is asked: the beginning stays */
        mend_summary_put(&m->c, m->large[i], (daruma_str){0}, style_of(m), &m->report);
    if (!p->summarize_on_compress)
        return shorter(m);
    if (!take)
        return p->sends_any || can_compact(m) ? MENDING_UNFIT : shorter(m);
    if (!room_for_questions(m, take))
        return MENDING_UNFIT;
    for (size_t i = 0; i < take; i++) {
        daruma_buf about = buf_in(m->c.arena);
        BUF_SAY(&about, "summary of ", m->large[i].tool);
        m->questions[i] = (mend_question){.system = mend_summary_system(),
                                          .user = mend_summary_prompt(&m->c, m->large[i], style_of(m)),
                                          .about = buf_str(&about)};
    }
    m->answer_tokens = SUMMARY_TOKENS;
    return MENDING_ASKS;
}

static mending_result summarise(mending *m, const daruma_failure *f, int64_t window)
{
    m->newest = false;
    aim(m, f, window);
    mending_result r = ask_summaries(m);
    if (r != MENDING_UNFIT || m->policy->sends_any || can_compact(m))
        return r;
    m->newest = true;
    return ask_summaries(m);
}

static mending_result summarised(mending *m)
{
    if (!enough(m) && !m->policy->sends_any && !can_compact(m))
        mask_on(m);
    if (!enough(m) && !m->policy->sends_any && !m->newest && !can_compact(m)) {
        m->newest = true;
        if (ask_summaries(m) == MENDING_ASKS)
            return MENDING_ASKS;
    }
    return shorter(m);
}

/* Question and answer share a window of `target` tokens. */
static mending_result ask_compact(mending *m, int64_t target)
{
    if (!room_for_questions(m, 1))
        return shorter(m);
    int64_t most = target / 3, answer = most < COMPACT_TOKENS ? most : COMPACT_TOKENS;
    int64_t room = target - answer < COMPACT_PROMPT_TOKENS_MAX ? target - answer : COMPACT_PROMPT_TOKENS_MAX;
    m->asked_room = target;
    m->summed = false;
    m->questions[0] =
        (mend_question){.system = mend_compact_system(),
                        .user = mend_compact_prompt(&m->c, m->cut, (size_t)(room > 500 ? room * 3 : 1500)),
                        .about = S("summary of the conversation")};
    m->answer_tokens = answer > SUMMARY_TOKENS ? answer : SUMMARY_TOKENS;
    return MENDING_ASKS;
}

static mending_result compact(mending *m, const daruma_failure *f, int64_t window)
{
    aim(m, f, window);
    m->cut = mend_compact_plan(&m->c, keeps(m));
    return m->cut.to <= m->cut.from ? shorter(m) : ask_compact(m, m->target);
}

/* Where nobody knows the window, the question that failed may have been too long for it. */
static mending_result compacted(mending *m)
{
    if (!m->summed && m->blind && m->asked_room / COMPACT_ASK_LESS >= SHRINK_TOKENS_MIN)
        return ask_compact(m, m->asked_room / COMPACT_ASK_LESS);
    if (!enough(m))
        mask_on(m);
    return shorter(m);
}

/* ---- the history ---- */

/* The model does not take it as it was: so it is said, and known the next time where it would be refused again. */
static void taught(mending *m, const daruma_failure *f)
{
    m->taught = mend_lesson_lasts(&m->c, &m->lesson, f);
    m->from = arena_copy(m->c.arena, str_of(m->lesson.path));
    m->to = arena_copy(m->c.arena, m->lesson.op == PATCH_DROP ? S("") : str_of(m->lesson.value));
}

/* What was removed is told the model with the user's newest words (S-F13). */
static void remind(mending *m, daruma_str words)
{
    size_t last = convo_last_user(&m->c);
    if (!words.n || last == STR_NONE)
        return;
    convo_message *user = &m->c.messages[last];
    size_t before = user->nparts;
    convo_part *p = convo_insert_part(&m->c, user, before, PART_TEXT); /* first: a message without parts is dropped */
    if (!p)
        return;
    convo_set_text(&m->c, user, p, words);
    for (size_t i = 0; m->policy->forgets_reminders && i < before; i++)
        if (user->parts[i].kind == PART_TEXT &&
            str_starts(str_trim(convo_text(&m->c, &user->parts[i])), S("<system-reminder>")))
            convo_drop_part(&m->c, user, &user->parts[i]);
}

static mending_result parameter(mending *m, const daruma_failure *f, int64_t window)
{
    (void)window;
    if (!mend_empty_list(&m->c, f, &m->lesson, &m->report) && !mend_parameter(&m->c, f, &m->lesson, &m->report))
        return MENDING_UNFIT;
    taught(m, f);
    return MENDING_DONE;
}

static mending_result messages(mending *m, const daruma_failure *f, int64_t window)
{
    if (mend_cache_marks(&m->c, f, &m->report))
        return MENDING_DONE;
    if (mend_empty_list(&m->c, f, &m->lesson, &m->report)) {
        taught(m, f);
        return MENDING_DONE;
    }
    bool member = mend_member(&m->c, f, &m->lesson, &m->report);
    mend_report r = mend_messages(&m->c, f, &m->sent, &m->habits);
    mend_merge(&m->report, &r);
    if (member)
        taught(m, f);
    return member || mend_did(&r) ? MENDING_DONE : parameter(m, f, window); /* it may be no message that is meant */
}

/* What the words complain about may be no pair: the order of turns around calls, an item without its companion. */
static bool no_pairs(mending *m, const daruma_failure *f)
{
    return f->kind == DARUMA_ORPHAN_TOOL_CALL && !m->policy->prunes_only && mend_messages_known(f, m->c.arena);
}

static mending_result pairs(mending *m, const daruma_failure *f, int64_t window)
{
    bool prune = m->policy->prune_orphans;
    daruma_str reminder = prune ? mend_prune_reminder(&m->c) : (daruma_str){0};
    mend_report doubles = {0};
    if (!m->policy->prunes_only)
        mend_double_items(&m->c, f, &doubles);
    m->report = mend_pairs(&m->c, prune ? MEND_PRUNE : MEND_SYNTHESISE);
    mend_merge(&m->report, &doubles);
    if (m->policy->prunes_only ? !m->report.calls_dropped : !mend_did(&m->report))
        return no_pairs(m, f) ? messages(m, f, window) : MENDING_UNFIT;
    remind(m, reminder);
    return MENDING_DONE;
}

/* ---- the request ---- */

static mending_result clamp(mending *m, const daruma_failure *f, int64_t window)
{
    if (!mend_clamp_output(&m->c, f, window, &m->report))
        return MENDING_UNFIT;
    m->taught = mend_output_lesson(&m->c, f, &m->lesson); /* what changed is said already */
    return MENDING_DONE;
}

static mending_result schemas(mending *m, const daruma_failure *f, int64_t window)
{
    (void)window;
    if (mend_empty_list(&m->c, f, &m->lesson, &m->report) || mend_member(&m->c, f, &m->lesson, &m->report)) {
        taught(m, f);
        return MENDING_DONE;
    }
    if (mend_tool_names_meant(f) && mend_tool_names(&m->c, &m->report)) {
        m->habits = MEND_PLAIN_TOOL_NAMES;
        return MENDING_DONE;
    }
    if (mend_double_tools(&m->c, f, &m->report) || mend_strange_tools(&m->c, f, &m->report))
        return MENDING_DONE;
    if (!mend_tool_schemas(&m->c, f, &m->report))
        return parameter(m, f, window);
    m->taught = mend_schema_lesson(f, &m->lesson);
    return MENDING_DONE;
}

static daruma_str format_name(convo_format f)
{
    return f == FORMAT_SCHEMA ? S("json_schema") : f == FORMAT_JSON ? S("json_object") : S("text");
}

static mending_result format(mending *m, const daruma_failure *f, int64_t window)
{
    (void)window;
    m->from = format_name(m->c.set.format);
    if (!mend_format_meant(&m->c, f) || !mend_format(&m->c, &m->report))
        return MENDING_UNFIT;
    m->to = format_name(m->c.set.format);
    return MENDING_DONE;
}

/* What is named; else to the size the provider names; else to 70 % of what it was. */
static mending_result shed(mending *m, const daruma_failure *f, int64_t window)
{
    (void)window;
    if (mend_named_media(&m->c, f, &m->sent, &m->report))
        return MENDING_DONE;
    size_t bytes = m->c.body.n;
    bool told = f->limit > (int64_t)(bytes / 16) && f->limit < (int64_t)bytes;
    m->report = mend_shed(&m->c, told ? (size_t)f->limit : bytes / 10 * 7);
    if (told && mend_did(&m->report)) {
        mend_report r = mend_shed_old(&m->c, (size_t)f->limit / 100 * SHRINK_LOW_PERCENT);
        mend_merge(&m->report, &r);
    }
    m->shortened |= mend_did(&m->report);
    return mend_did(&m->report) ? MENDING_DONE : MENDING_UNFIT;
}

/* ---- the answer ---- */

/* What was refused may be calls of earlier answers: then nobody is asked again about the newest. */
static mending_result ask_again(mending *m, const daruma_failure *f, int64_t window)
{
    const turn *bad = m->bad;
    (void)window;
    m->bad = NULL;
    if (!bad && f->status >= 400) {
        m->report = mend_arguments(&m->c);
        return mend_did(&m->report) ? MENDING_DONE : MENDING_UNFIT;
    }
    return bad && mend_ask_again(&m->c, bad, m->bad_why, &m->report) ? MENDING_DONE : MENDING_UNFIT;
}

/* ---- the table ---- */

typedef struct act {
    mending_result (*begin)(mending *m, const daruma_failure *f, int64_t window);
    mending_result (*end)(mending *m); /* for those that ask */
} act;

static const act acts[DARUMA_REMEDIES] = {
    [DARUMA_REMEDY_CLAMP_OUTPUT] = {clamp, NULL},        [DARUMA_REMEDY_MASK_TOOL_OUTPUT] = {mask, NULL},
    [DARUMA_REMEDY_SUMMARISE] = {summarise, summarised}, [DARUMA_REMEDY_COMPACT] = {compact, compacted},
    [DARUMA_REMEDY_REPAIR_HISTORY] = {pairs, NULL},      [DARUMA_REMEDY_MEND_MESSAGES] = {messages, NULL},
    [DARUMA_REMEDY_MEND_PARAMETER] = {parameter, NULL},  [DARUMA_REMEDY_LOWER_SCHEMA] = {schemas, NULL},
    [DARUMA_REMEDY_LOWER_FORMAT] = {format, NULL},       [DARUMA_REMEDY_SHRINK_REQUEST] = {shed, NULL},
    [DARUMA_REMEDY_ASK_AGAIN] = {ask_again, NULL},
};

bool mending_is(daruma_remedy_kind r)
{
    return r < DARUMA_REMEDIES && acts[r].begin;
}

static mending_result remedy_told(mending *m, mending_result r)
{
    if (r != MENDING_DONE)
        return r;
    if (m->c.full)
        return MENDING_UNFIT;
    m->report.tokens_after = convo_tokens(&m->c);
    m->compressed_chars = said_chars(m);
    return MENDING_DONE;
}

mending_result mending_begin(mending *m, daruma_remedy_kind r, const daruma_failure *f, int64_t window)
{
    if (!mending_is(r) || m->c.full)
        return MENDING_UNFIT;
    m->doing = r;
    m->report = (mend_report){.tokens_before = convo_tokens(&m->c)};
    m->original_chars = said_chars(m);
    m->from = m->to = (daruma_str){0};
    m->taught = false;
    m->habits = 0;
    m->nquestions = 0;
    mending_result ret = acts[r].begin(m, f, window);
    if (!m->report.tokens_before)
        m->report.tokens_before = convo_tokens(&m->c);
    return remedy_told(m, ret);
}

void mending_answer(mending *m, size_t i, daruma_str text)
{
    if (m->doing == DARUMA_REMEDY_COMPACT) {
        m->summed |= text.n > 0;
        if (text.n)
            mend_compact_put(&m->c, m->cut, text, &m->report);
        return;
    }
    if (!text.n || !mend_summary_put(&m->c, m->large[i], text, style_of(m), &m->report))
        mend_summary_put(&m->c, m->large[i], (daruma_str){0}, style_of(m), &m->report); /* its first 400 characters */
}

mending_result mending_end(mending *m)
{
    return remedy_told(m, acts[m->doing].end(m));
}
