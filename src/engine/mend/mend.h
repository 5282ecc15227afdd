/* mend.h - remedies on a conversation, a request and an answer. Each does one thing, twice is as once, never splits
 * a call from its result, never touches the system prompt, the tools' names, the newest user turn or thinking of the
 * tool loop in progress, and says what it did. Pure; what they make lives in the convo's arena.
 *
 *     pairs.c     orphan_tool_call      calls without results, results without calls, order, duplicates
 *     messages.c  invalid_message       empty content, roles, prefill, stale thinking
 *     mask.c      context_length        old tool output: head, tail and size stay
 *     summary.c   context_length        large observations, by a model
 *     compact.c   context_length        the older part of the conversation, by a model
 *     target.c    context_length        how much has to go, from the provider's own numbers; the output cap
 *     shed.c      request_too_large     oldest images, largest tool output
 *     known.c     context_length        what was compressed once is recognised and compressed the same way
 *     parameter.c invalid_parameter     renamed, clamped or dropped; learned for the model
 *     schema.c    invalid_tool_schema   JSON Schema lowered (lower.c); also: does a value fit a schema (fits.c)
 *     repair.c    malformed_output      JSON of nearly-JSON (repair_read.c)
 *     args.c      malformed_output      a tool call against the tools of the request
 *     join.c      interrupted           one text of two pieces */
#ifndef ENGINE_MEND_H
#define ENGINE_MEND_H
#include "model/convo.h"
#include "model/turn.h"

/* What a remedy did; all zero: nothing. Counts are for events and people. */
typedef struct mend_report {
    uint32_t calls_answered;             /* calls without result that got a neutral one */
    uint32_t calls_dropped;              /* ... that were removed (prune) */
    uint32_t results_moved;              /* results put behind their call */
    uint32_t results_dropped;            /* results without call, duplicates: removed */
    uint32_t results_to_text;            /* results without call whose words were kept as text */
    uint32_t messages_mended;            /* emptied, merged, dropped, given another role, ... */
    uint32_t parts_shortened;            /* tool output masked or summarised, media dropped */
    uint32_t patches;                    /* parameters, schemas */
    size_t bytes_before, bytes_after;    /* of what was shortened */
    int64_t tokens_before, tokens_after; /* estimates of the whole request; 0 where nobody counted */
    char what[200];                      /* one line for people: "2 tool calls got a neutral result" */
} mend_report;

static inline bool mend_did(const mend_report *r)
{
    return r->calls_answered || r->calls_dropped || r->results_moved || r->results_dropped || r->results_to_text ||
           r->messages_mended || r->parts_shortened || r->patches;
}

/* Several remedies told as one: counts add up, words are joined. */
void mend_merge(mend_report *into, const mend_report *more);

/* ---- pairs.c ---- */

typedef enum mend_orphans { MEND_SYNTHESISE, MEND_PRUNE } mend_orphans;
/* What a call gets that has no result (S-W4: nobody knows whether it ran). */
#define MEND_UNKNOWN_RESULT                                                                                            \
    "[The tool call was interrupted and its result was lost. Whether it took effect is unknown: check before "         \
    "repeating it.]"
/* SYNTHESISE: neutral results; PRUNE: orphaned calls are removed, text of their message stays (S-F12). Results without
 * call go, or become text where they say something (as part of the user's turn). Also displaced and doubled ones. */
mend_report mend_pairs(convo *c, mend_orphans how);
/* Where a provider found an item twice: the second of those that have an id and are the same byte for byte goes. */
void mend_double_items(convo *c, const daruma_failure *f, mend_report *rep);
/* Swarm's reminder (S-F13) for calls that MEND_PRUNE removed from `before`; empty when none. In c's arena. */
daruma_str mend_prune_reminder(convo *before);

/* ---- messages.c ---- */

/* The conversation that a failure is about, where that is not the one to be mended: the same in another dialect. The
 * places that it names are none here. */
typedef struct mend_sent {
    bool elsewhere;
    size_t media; /* it names the n-th image or file, from 1; 0 none */
} mend_sent;

/* Mends what the provider may mean: empty content, roles that do not alternate, unsupported prefill (a last assistant
 * message), unknown block types, thinking that is stale. `f` may be NULL: everything that is surely wrong on this wire.
 * `sent` (may be NULL: it is about this conversation). `ret_habits` (may be NULL): what of it the model will never
 * take, for mend_habits(). */
mend_report mend_messages(convo *c, const daruma_failure *f, const mend_sent *sent, uint32_t *ret_habits);
/* Which of all images and files of the conversation `f` names by its place, for mend_sent. */
size_t mend_media_of(const convo *c, const daruma_failure *f);
/* Does to a request what a model is known never to take otherwise: a role "developer", content in pieces, other ids of
 * calls. True when it changed something. */
bool mend_habits(convo *c, uint32_t habits, mend_report *rep);
uint32_t mend_habits_hurt(uint32_t habits, const daruma_failure *f); /* those that `f` speaks against, done to it */
const char *mend_habit_name(uint32_t habits, size_t index); /* of the index-th of them; NULL: no more. Static */
/* Do the words of `f` name something of messages that mend_messages() knows? */
bool mend_messages_known(const daruma_failure *f, daruma_arena *a);
/* Drops the thinking of turns before the loop in progress, whole; with `all` of that one too (another provider's
 * model gets none). */
mend_report mend_drop_thinking(convo *c, bool all);
/* Leaves out thinking that broke off before it was signed, and is refused so: in Messages what has no signature where
 * other thinking of the conversation has one, in Responses what is neither encrypted nor kept. False: there is none. */
bool mend_half_thinking(convo *c, mend_report *rep);
/* The same for a request that goes to another provider of its dialect: without any thinking, and as one is accepted
 * that has none. False: there was none. */
bool mend_strange_thinking(convo *c);

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

/* ---- apology.c ---- */

/* What the model is asked for in place of a fixed explanation: a short apology with what the user can do (the RFC's
 * BAD_REQUEST_OTHER). The provider's words are in it, secrets were removed. */
daruma_str mend_apology_system(void);
daruma_str mend_apology_prompt(const daruma_failure *f, daruma_arena *a);

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
/* Needs mend_known_bytes(texts_bytes) in `a`. The oldest entries make room for new ones. */
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

/* ---- parameter.c ---- */

/* One thing learned about a model: do this to that path. */
typedef struct mend_lesson {
    patch_op op;
    char path[96], value[96];
    bool once;        /* it is of one request, and not known from then on */
    uint64_t by;      /* the case that taught it */
    daruma_ms at;     /* when it did */
    uint32_t applied; /* requests that it changed since then */
} mend_lesson;
/* Renames, clamps or drops exactly what the provider names in `f` (subject, message, code). False when it names nothing
 * that is in the request, or what cannot be done without (messages, model, tools). `ret` says what was done, to be
 * learned. */
bool mend_parameter(convo *c, const daruma_failure *f, mend_lesson *ret, mend_report *rep);
/* The same of a message or one of its parts: a member that nobody there knows is left out ("messages.1.reasoning: Extra
 * inputs are not permitted"). */
bool mend_member(convo *c, const daruma_failure *f, mend_lesson *ret, mend_report *rep);
/* A list that may not be empty ("Invalid 'messages[1].tool_calls': empty array"): each that is goes, and with the tools
 * what says how they are chosen. */
bool mend_empty_list(convo *c, const daruma_failure *f, mend_lesson *ret, mend_report *rep);
/* More parts are marked for the prompt cache than the provider takes: the oldest marks of messages go. */
bool mend_cache_marks(convo *c, const daruma_failure *f, mend_report *rep);
/* Tools that stand twice by one name: the first stays. Only on the provider's word. */
bool mend_double_tools(convo *c, const daruma_failure *f, mend_report *rep);
/* Tools that run at a provider (web_search), of a type that this one says it has not: they go, where others stay. */
bool mend_strange_tools(convo *c, const daruma_failure *f, mend_report *rep);

/* ---- names.c ---- */

/* Tools whose names not every provider takes are called otherwise, where they are declared, called and chosen; each is
 * in c->renames, for the answer. False: all are taken. */
bool mend_tool_names(convo *c, mend_report *rep);
/* Writes an answer, whole or events of a stream, with the client's names of those tools. */
void mend_names_back(const convo_rename *renames, size_t n, daruma_str answer, daruma_buf *out);
enum { MEND_PLAIN_TOOL_NAMES = 1 << 29 };            /* of mend_habits(): that is done */
bool mend_tool_names_meant(const daruma_failure *f); /* is it the name of a tool that is refused? */
/* Arguments of calls in the history that are no JSON object are made one. */
mend_report mend_arguments(convo *c);
/* Does `l`, made of what `f` refused of the request `c`, hold for every request to that model? What was left out does
 * only where the model never takes it: a wrong value, type, number or companion is a matter of that request. What was
 * set does not where the refusal is about a mode (a stream, thinking) or about what stands beside it. */
bool mend_lesson_lasts(convo *c, const mend_lesson *l, const daruma_failure *f);
/* Is a response format that `f` refuses refused for every request? Not where its schema is wrong. */
bool mend_format_lasts(const daruma_failure *f);
/* `f` refuses something else than what `l` mended in `c`: that was taken. */
bool mend_lesson_held(const convo *c, const mend_lesson *l, const daruma_failure *f);
/* Does it again, if the path is there. True when it changed something. */
bool mend_lesson_apply(convo *c, const mend_lesson *l, mend_report *rep);

/* After mend_clamp_output(): the cap, where the provider named it as the most that the model writes (target.c). */
bool mend_output_lesson(const convo *c, const daruma_failure *f, mend_lesson *ret);
/* Does `f` refuse what `l` did to a request: does it ask for what was left out, or not know the new name? */
bool mend_lesson_hurts(const mend_lesson *l, const daruma_failure *f);
/* Fixed-capacity table of lessons. They belong to a lane, that is an account's way to a model (daruma_target.lane_id):
 * what one account was refused says nothing about another. The oldest make room for new ones. */
typedef struct mend_lessons mend_lessons;
size_t mend_lessons_bytes(uint32_t lanes);
mend_lessons *mend_lessons_new(daruma_arena *a, uint32_t lanes);
void mend_lessons_learn(mend_lessons *t, uint64_t lane, const mend_lesson *l);
/* One of its lessons, as mend_lessons_list() gave it, was done to a request and changed it. */
void mend_lessons_counted(mend_lessons *t, uint64_t lane, const mend_lesson *l);
/* Forgets each lesson of the lane that `f` shows to hurt; how many, `ret` says which was the first. */
size_t mend_lessons_forget(mend_lessons *t, uint64_t lane, const daruma_failure *f, mend_lesson *ret);
/* That a model does not stream is tried again like a habit, when HABITS_LAST_MS are over: an account is verified, a
 * server has learned it. */
void mend_lessons_expire(mend_lessons *t, uint64_t lane, daruma_ms now);
/* Lessons of a lane, for status pages: writes up to `max`, returns how many there are. */
size_t mend_lessons_list(const mend_lessons *t, uint64_t lane, mend_lesson *out, size_t max);
#define MEND_LESSON_RECORD "model_lesson" /* how its lines in a snapshot are called */
void mend_lessons_save(const mend_lessons *t, daruma_ms now, daruma_buf *out); /* appends a line for each */
/* Learns what such a line says, written `aged` ms ago. False: it is no such line, and nothing changed. */
bool mend_lessons_load(mend_lessons *t, daruma_str line, daruma_ms now, daruma_ms aged);

/* ---- schema.c ---- */

/* Lowers the schemas of all tools (or the one that `f` names) to what every provider takes: keywords that `f` names,
 * else the known troublesome ones (anyOf/oneOf/allOf at the top, $ref with $defs inlined, format, pattern, const, ...).
 * Keeps types, properties, required, enum, items, description. Each tool whose schema changed becomes a patch. */
bool mend_tool_schemas(convo *c, const daruma_failure *f, mend_report *rep);
/* The keyword that `f` says is not taken in any schema, to be learned. False: it names none, or finds fault with how
 * this one was used. */
bool mend_schema_lesson(const daruma_failure *f, mend_lesson *ret);
/* Is what `f` says about the response format that `c` asks for, and not about its tools? Then mend_format. */
bool mend_format_meant(const convo *c, const daruma_failure *f);
/* Adds words to the system prompt; there is one from here on. */
void mend_say_first(convo *c, daruma_str text);
/* The response format one step down: schema to JSON to text (P-F28); the schema goes along as words in the system
 * prompt. */
bool mend_format(convo *c, mend_report *rep);
/* The lowered form of one schema; `keyword` empty: all troublesome ones. `strict`: also to OpenAI's strict mode, where
 * everything is required and nothing more allowed. In `a`; the schema itself when nothing changes. */
daruma_str schema_lower(daruma_str schema, daruma_str keyword, bool strict, daruma_arena *a);
/* Does a JSON value fit a schema? On failure `why` (path, expected, got) is written for the model. Unknown keywords
 * pass. */
bool schema_fits(daruma_str schema, daruma_str value, daruma_buf *why);

/* ---- repair.c ---- */

/* JSON of nearly-JSON: fences, prose around it, trailing and missing commas, single quotes, Python and JavaScript
 * literals, comments, unquoted keys, control characters. Empty when it cannot, when values that
 * differ stand in the text, and when it ends before its value does: nothing is chosen, nothing is completed. `cut` (may
 * be NULL) tells that this is why. In `a`. */
daruma_str json_repair(daruma_str broken, daruma_arena *a, bool *cut);

/* ---- args.c ---- */

typedef enum args_verdict {
    ARGS_GOOD,     /* as they are */
    ARGS_REPAIRED, /* use `fixed` */
    ARGS_UNKNOWN_TOOL,
    ARGS_BROKEN, /* do not parse and cannot be repaired, or were cut */
    ARGS_UNFIT,  /* parse and do not fit the tool's schema */
} args_verdict;
typedef struct args_check {
    args_verdict verdict;
    daruma_str fixed; /* ARGS_REPAIRED: JSON */
    size_t dropped;   /* members that the schema does not know, and that are not in `fixed` */
    daruma_str name;  /* the tool's name when it only had to be written otherwise (case, - or _): else as it came */
    daruma_str why;   /* for the model: what is wrong, where, what was expected */
    uint32_t steps;   /* subschemas that were looked at, about: what the check cost */
    bool unsure;      /* that was too much: what was not looked at counts as good */
} args_check;
/* Checks the arguments `args` (JSON text as the model wrote it) of a call to `name` against the tools of the request.
 * `cut`: the answer was cut by its length, nothing may be repaired; an object that has all members that its schema
 * knows is whole all the same. Repairs lose nothing ("3" to 3 where a number is asked for) and complete nothing:
 * arguments that end within a value are broken, whatever the answer says of its end, and so are those with words
 * around them: "do not run {...}". Brackets that are missing at the end are closed only where the schema says that no
 * member can be missing. What is repaired keeps no member that the schema does not know. A name that differs in case,
 * '-' and '_' only from exactly one tool is that tool; others are suggested in `why`. */
args_check mend_args(const convo *c, daruma_str name, daruma_str args, bool cut, daruma_arena *a);
/* True if the output cap cut the arguments of the call that is part `i` of the answer: they are no JSON, or stand last
 * on a wire that carries them as an object, which looks whole whatever is missing. */
bool mend_args_cut(const turn *t, size_t i);
/* again.c: the calls of `bad` were not carried out, `why` says so: the model goes on from there. */
bool mend_refuse_calls(convo *c, const turn *bad, daruma_str why, mend_report *rep);
/* steer.c: words of ours to the model at the end of its view, behind everything that a provider may have cached. */
bool mend_notice(convo *c, daruma_str text, mend_report *rep);

/* The text of an answer that was asked for as JSON, held against `schema` (raw; empty: any JSON will do). What is meant
 * as JSON is made so where only one reading is possible: fences, words around it, trailing commas. ARGS_BROKEN: it is
 * none; ARGS_UNFIT: it does not fit. */
args_check mend_said(daruma_str schema, daruma_str text, daruma_arena *a);

/* For asking again: adds the broken answer and what is wrong with it to the conversation (P-F30, P-F31). */
bool mend_ask_again(convo *c, const turn *bad, daruma_str why, mend_report *rep);

/* ---- join.c, again.c: going on with an answer that broke off ---- */

/* The last words of a text, from the border of a word where there is one, at least `least` bytes (or all of it) without
 * white space at their ends, and so long that they stand in it only there: an answer that begins with them goes on from
 * one place. Empty where its end repeats itself for more than JOIN_ANCHOR_BYTES_MAX. A slice of `so_far`. */
daruma_str mend_anchor(daruma_str so_far, size_t least);

/* How a model is asked to go on. */
typedef enum mend_going {
    GOING_ANCHORED,    /* it shall begin with the anchor: the seam is known. Models may do something else instead: go on
                          at once, repeat less or more, introduce themselves, begin anew */
    GOING_PREFILLED,   /* its answer is begun for it: it goes on at the byte */
    GOING_FROM_BEFORE, /* when what came could not be joined: it is shown less than arrived, and told to go on */
} mend_going;
/* Asks the model to go on where it was cut: `so_far` is what the client has. GOING_PREFILLED is as GOING_ANCHORED where
 * the wire does not take it, and FROM_BEFORE where no anchor is to be had. False when there are no words to go on from.
 */
bool mend_continue(convo *c, daruma_str so_far, mend_going how, mend_report *rep);

/* May the answer be begun for the model: the wire takes it, and no thinking, forced tool or format is asked for? What
 * to tell join_find. */
bool mend_can_prefill(const convo *c);

typedef enum join_verdict {
    JOIN_MORE,   /* not decided: feed more */
    JOIN_AT,     /* `skip` bytes of the new text repeat what is there; the rest follows */
    JOIN_UNSURE, /* it cannot be joined with certainty */
} join_verdict;
typedef struct join_result {
    join_verdict verdict;
    size_t skip;
} join_result;
enum { JOIN_PLACES = 8 /* where a long repetition may come from; more are no repetition of one of them */ };
/* What is known of a seam while the new text comes in. */
typedef struct join_seam {
    daruma_str so_far;            /* what is there; it must stay where it is */
    mend_going how;               /* FROM_BEFORE where no anchor is to be had */
    daruma_str anchor;            /* with what it shall begin; FROM_BEFORE: what it was not shown; empty: none */
    size_t need;                  /* bytes of the new text that have to be there before it is looked at again */
    daruma_str open[JOIN_PLACES]; /* ends of so_far that it repeats up to now ... */
    size_t nopen, skipped, same;  /* ... from its byte `skipped` on, and of how many bytes that is known */
    unsigned looks;               /* how often all of so_far was read, but for a small factor */
} join_seam;
/* Reads all of `so_far`. */
join_seam join_begin(daruma_str so_far, mend_going how);
/* How does `fresh` (the beginning of the new text, all of it when `whole`) go on from what is there, when it was asked
 * for in that way? Finds the anchor, repeated endings and restarts from the beginning; what "sure" means stands in
 * join.c. PREFILLED: it goes on exactly, unless it says all of it again. Any split of the bytes gives the same result;
 * each call has the bytes of the one before and more. At most JOIN_LOOK_BYTES of `fresh` are needed, and some white
 * space. How often so_far is read does not depend on how many calls there are. */
join_result join_next(join_seam *s, daruma_str fresh, bool whole);
/* Both in one. */
join_result join_find(daruma_str so_far, daruma_str fresh, bool whole, mend_going how);
#endif
