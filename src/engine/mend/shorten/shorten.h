/* shorten.h - conversations that are too long made shorter, and recognised when they come again. */
#ifndef ENGINE_MEND_SHORTEN_H
#define ENGINE_MEND_SHORTEN_H
#include "engine/mend/mend.h"

/* ---- target.c ---- */

/* How many tokens, as we estimate, the request may have so that the provider takes it: from its own numbers (limit,
 * used, requested), scaled by its count against our estimate, or less what is on the server and not here; 5 % stay free
 * and room for the output; without numbers 70 % of `window` or, when that is unknown too, of our estimate. */
int64_t mend_target(const convo *c, const daruma_failure *f, int64_t window);
/* When input and output cap together are too much and the input alone is not: the cap that fits, else -1. */
int64_t mend_output_cap(const convo *c, const daruma_failure *f, int64_t window);
/* Lowers it (also for output_limit: to the number the provider names). False when that is not what is wrong. */
bool mend_clamp_output(convo *c, const daruma_failure *f, int64_t window, mend_report *ret);

/* The window that input and output share, in the provider's tokens, -1 unknown; and its tokens for a thousand of ours.
 */
typedef struct mend_share {
    int64_t limit, scale;
} mend_share;

mend_share mend_share_of(const convo *c, const daruma_failure *f, int64_t window);
/* A conversation that was made shorter leaves so much to the answer: a cap beyond that is lowered at once, for the
 * provider would refuse it next. */
void mend_cap_beside(convo *c, mend_share room, mend_report *ret);

/* ---- mask.c ---- */

typedef struct mend_mask_rules {
    size_t over_bytes;             /* shorter results stay: 0 means the default, 1,000 */
    size_t head_bytes, tail_bytes; /* what stays of a masked one: 0 means the defaults, 400 and 200 */
    size_t keep_newest;            /* so many of the newest results stay whole: 0 means the default, 3; those that the
                                      model has not answered to yet are always among them */
    int64_t keep_tokens;           /* ... and others as long as all together are no more; 0 does not bound them */
    bool old_only;                 /* the newest are not touched, whatever is missing */
    bool again;                    /* what was masked before is masked once more, to these sizes; what was kept of its
                                      middle stays */
} mend_mask_rules;
/* To the bone: of a result little more stays than what was kept of its middle. */
#define MEND_MASK_BARE                                                                                                 \
    {                                                                                                                  \
        .over_bytes = MASK_BARE_OVER_BYTES, .head_bytes = MASK_BARE_HEAD_BYTES, .tail_bytes = MASK_BARE_TAIL_BYTES,    \
        .old_only = true, .again = true                                                                                \
    }
/* Masks old tool output, oldest first, until convo_tokens() is at most `tokens`; then of the newest ones, the largest
 * first, only what must go. Error lines and identifiers in the head and tail stay. A masked text says how much is gone
 * and is recognised, so that it is masked again only where the rules say so. */
mend_report mend_mask(convo *c, int64_t tokens, const mend_mask_rules *rules);
/* Of a masked text what was kept of its middle, lines with their ends; empty when it is not masked or nothing was. */
daruma_str mend_mask_kept(daruma_str text);
/* The masked form of one text; empty when it would not be smaller. */
daruma_str mend_masked(daruma_str text, const mend_mask_rules *rules, daruma_arena *a);

/* ---- summary.c (PenguiFlow, P-F16 to P-F23) ---- */

/* What stands in the place of a summarised observation, and what counts as large. */
typedef enum mend_summary_style {
    MEND_SUMMARY_PLAIN,      /* a text that is recognised and never summarised again; large by characters of the text */
    MEND_SUMMARY_PENGUIFLOW, /* {"_compressed": true, "summary": text} (P-F22); large by characters as JSON (P-F17),
                                also when it is a summary already, and however long a summary is (P-F23) */
} mend_summary_style;
#define MEND_SUMMARY_CHARS_MAX 500 /* what the summariser is asked for (P-F19) */

typedef struct mend_large {
    size_t message, part;
    daruma_str tool; /* "unknown_tool" when nobody knows */
} mend_large;
/* The results whose text is longer than `over_chars`, oldest first; those summarised already are left out. Results that
 * the model has not answered to yet count only when nothing else helps (`newest`). Returns how many were written. */
size_t mend_large_results(convo *c, size_t over_chars, bool newest, mend_summary_style style, mend_large *out,
                          size_t max);
/* The instruction and the observation (cut at 8,000 characters with a mark that says "truncated": in the middle, in
 * PenguiFlow's style at the end) for the summariser. */
daruma_str mend_summary_system(void);
daruma_str mend_summary_prompt(convo *c, mend_large of, mend_summary_style style);
/* Puts it in place. A blank summary or one that is not smaller is refused: false. `summary` empty (the summariser
 * failed): the 400-character fallback "[Summary unavailable] ...". */
bool mend_summary_put(convo *c, mend_large of, daruma_str summary, mend_summary_style style, mend_report *ret);

/* ---- compact.c ---- */

/* Where the older part of the conversation ends: nothing before messages[from] (system prompt apart) and nothing from
 * `to` on is touched; a cut never splits a pair, and the newest turn stays. The loop in progress stays too, unless
 * there is nothing before it and it carries no thinking: then its older rounds may go. to <= from: there is nothing to
 * compact. `keep_tokens`: what shall stay at the end at least, as far as it fits. */
typedef struct mend_cut {
    size_t from, to;
} mend_cut;
mend_cut mend_compact_plan(const convo *c, int64_t keep_tokens);
daruma_str mend_compact_system(void);
/* The older part as a text for the summariser, at most `max_bytes`: oldest tool output is cut first. */
daruma_str mend_compact_prompt(convo *c, mend_cut cut, size_t max_bytes);
/* First line of what stands for the older part. */
#define MEND_COMPACT_MARK                                                                                              \
    "[Summary of the earlier conversation. The messages it stands for were left out to save room.]"
/* Replaces the older part by one user message with the summary; where user and assistant must take turns it becomes a
 * part of the user's message before it. Refused (false, nothing changed) when it is empty or less than 10 % is saved.
 * The first user message (the task) and system messages stay. A summary of ours within the part goes with it: the
 * prompt shows it to be updated. */
bool mend_compact_put(convo *c, mend_cut cut, daruma_str summary, mend_report *ret);

/* ---- shed.c ---- */

/* Oldest images first, then the largest tool output, until the body is at most `bytes`. What is dropped is said in its
 * place. */
mend_report mend_shed(convo *c, size_t bytes);
/* Leaves out the image or file that `f` names by its place: it alone is too large. False: it names none. `sent` as for
 * mend_messages(). */
bool mend_named_media(convo *c, const daruma_failure *f, const mend_sent *sent, mend_report *rep);
/* The same to the older tool output alone, so that the next turns are not refused again. */
mend_report mend_shed_old(convo *c, size_t bytes);

/* ---- known.c: compressions of earlier turns, a fixed-capacity table in memory the host gives ---- */

typedef struct mend_known mend_known;
typedef struct mend_known_counts {
    uint64_t looked, hit; /* long texts that were looked up, and found */
    uint32_t entries;
    size_t bytes, bytes_max;
} mend_known_counts;
size_t mend_known_bytes(size_t texts_bytes);
/* Needs mend_known_bytes(texts_bytes) in `a`. The oldest entries make room for new ones, of who has no less than the
 * new one's tenant. */
mend_known *mend_known_new(daruma_arena *a, size_t texts_bytes);
/* Remembers for a tenant (a keyed hash that the host makes of the client's credential) what each edited result of
 * `after` was before, and which messages a compaction in it stands for. `before`: the same body as it was read. A
 * result is known by its content and its call, so that a tool called once more is seen in full once more; a compaction
 * by all messages before its end (the system prompt apart, which may tell the time). */
void mend_known_learn(mend_known *k, uint64_t tenant, const convo *before, const convo *after);
/* The texts_bytes of a table that holds all that mend_known_learn() finds in `after`. */
size_t mend_known_room(const convo *after);
/* Remembers what another table does. */
void mend_known_merge(mend_known *k, const mend_known *more);
#define MEND_KNOWN_RECORD "compressed" /* how its lines in a snapshot are called */
/* Appends a line for each text, the oldest first. They are texts of conversations. */
void mend_known_save(const mend_known *k, daruma_buf *out);
/* Remembers what such a line says; `a` has room for its text. False: it is no such line, and nothing changed. */
bool mend_known_load(mend_known *k, daruma_str line, daruma_arena *a);
/* Replaces what is known; the same bytes each time. Of compactions the one that covers most; forks of a conversation
 * share what they have in common. */
mend_report mend_known_apply(mend_known *k, uint64_t tenant, convo *c);
mend_known_counts mend_known_count(const mend_known *k);
#endif
