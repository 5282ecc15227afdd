/* rules.h - what the rules of the four wires share: names of places, sets of ids. */
#ifndef CHAOS_RULES_H
#define CHAOS_RULES_H
#include "chaos/oracle/validate.h"

#define INVALID      "invalid_request_error"
#define BAD_ARGUMENT "INVALID_ARGUMENT"

/* A refusal of 400 with a formatted message: as Google says it, plainly as Anthropic does (and OpenAI without more),
 * and as OpenAI does with a code and the parameter, NULL: none. */
#define GOOGLE(a, ...)              refuse(400, BAD_ARGUMENT, NULL, NULL, a, __VA_ARGS__)
#define PLAIN(a, ...)               refuse(400, INVALID, NULL, NULL, a, __VA_ARGS__)
#define OPENAI(a, code, where, ...) refuse(400, INVALID, code, where, a, __VA_ARGS__)

/* Where in a request something stands: "messages[3].content" and the like. */
typedef struct place {
    char text[96];
} place;
place place_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The text of such a place for a call's argument: it ends with the statement. */
#define WHERE(...) place_of(__VA_ARGS__).text

daruma_str raw_of(daruma_str string); /* without its quotes; empty when it is no string */
bool says(daruma_str string, const char *text);
bool listed(const char *const *names, daruma_str raw); /* one of the names, NULL behind the last */
bool tool_name_ok(daruma_str name, size_t longest);

/* Call ids, for pairing. */
typedef struct ids {
    daruma_str *id;
    size_t n, cap;
} ids;
void ids_add(ids *s, daruma_str id, daruma_arena *a);
bool ids_has(const ids *s, daruma_str id);
bool ids_take(ids *s, daruma_str id); /* removes it; false when it was not there */
daruma_str ids_list(const ids *s, daruma_arena *a);

/* The same refusal, of that kind when it is one and has none yet. Kinds are those of the faults. */
refusal of_kind(const char *kind, refusal r);

refusal chat_rules(const ask *q, const model_limits *m, daruma_arena *a);
refusal responses_rules(const ask *q, const model_limits *m, daruma_arena *a);
refusal messages_rules(const ask *q, const model_limits *m, daruma_arena *a);
refusal gemini_rules(const ask *q, const model_limits *m, daruma_arena *a);

/* A name, id or argument in both OpenAI wires: what is wrong with it as a string. */
refusal openai_string(daruma_str v, const char *where, size_t longest, bool pattern, daruma_arena *a);
refusal openai_tools(const ask *q, daruma_arena *a);

refusal parameter_rules(const ask *q, const model_limits *m, daruma_arena *a);
refusal schema_rules(const ask *q, const model_limits *m, daruma_arena *a);
refusal room_rules(const ask *q, const model_limits *m, daruma_arena *a);
#endif
