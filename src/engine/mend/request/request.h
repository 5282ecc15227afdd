/* request.h - what providers refuse of a request: messages, parameters, schemas, names of tools; and what is learned
 * of that. */
#ifndef ENGINE_MEND_REQUEST_H
#define ENGINE_MEND_REQUEST_H
#include "engine/mend/mend.h"

/* ---- messages.c ---- */

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
 * model gets none). Returns of how many messages. */
uint32_t mend_drop_thinking(convo *c, bool all);
/* Leaves out thinking that broke off before it was signed, and is refused so: in Messages what has no signature where
 * other thinking of the conversation has one or `signs` says that its provider checks, in Responses what is neither
 * encrypted nor kept. Where the newest answer of the loop in progress is left without any, the model is not asked to
 * think. False: there is none. */
bool mend_half_thinking(convo *c, bool signs, mend_report *rep);
/* The same for a request that goes to another provider of its dialect: without any thinking, and as one is accepted
 * that has none. False: there was none. */
bool mend_strange_thinking(convo *c);

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
 * what one account was refused says nothing about another. In a full table the oldest of the owner who has the most
 * make room for new ones (base/fair.h). */
typedef struct mend_lessons mend_lessons;
size_t mend_lessons_bytes(uint32_t lanes);
mend_lessons *mend_lessons_new(daruma_arena *a, uint32_t lanes);
void mend_lessons_learn(mend_lessons *t, uint64_t lane, uint64_t owner, const mend_lesson *l); /* owner: the account */
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
#endif
