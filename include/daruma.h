/* daruma.h - recovery of one request to a model, from its bytes to the last byte of its answer, without I/O.
 *
 * A session takes what a client asks and what providers answer, and says what to do next. Your program sends, waits and
 * writes; daruma decides. Everything is a string or a number, so that any language can use it: `bindings/` does.
 *
 *     request --daruma_session_open--> session --daruma_session_next--> SEND, CANCEL, HEAD, BYTES, EVENT, ... END
 *                                         ^                                  |
 *                                         +-- daruma_call_*, _clock, _gone --+   what came of it
 *
 * A host's loop: hand in what happened (first of all daruma_memory_now()), then carry out what daruma_session_next()
 * says until it says DARUMA_DO_NOTHING, then wait for the network, or until daruma_session_wakes_ms().
 *
 * The parts that people like to take alone (classify, breaker, budget, backoff, redact, repair, loops) are in
 * daruma_parts.h.
 *
 * OWNERSHIP  Every _open and _new has a _free. Strings that go in are copied. Strings that come out belong to the
 *            session and live until its next daruma_session_next() or _free. Texts are UTF-8 and need no NUL where a
 *            length is told; what comes out has one behind it that does not count.
 * ERRORS     A function that can fail says why in one sentence in `why`, a buffer of `why_bytes` (NULL and 0: not
 *            wanted).
 * TIME       Milliseconds of a monotonic clock from any origin, never negative; -1 is none. The library reads no clock.
 * THREADS    No globals. A memory and all its sessions belong to one thread at a time.
 * LENGTHS    Functions that write a text into `out` write at most `out_bytes` with a NUL at the end, and return the
 *            length of the whole text without it, as snprintf() does.
 * VERSIONS   daruma_abi() counts incompatible changes of these functions. A binding compares it with the one that it
 * was written for. */
#ifndef DARUMA_H
#define DARUMA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DARUMA_VERSION "0.1.0"
#define DARUMA_ABI     1

#if defined(__GNUC__)
#define DARUMA_API __attribute__((visibility("default")))
#else
#define DARUMA_API
#endif

DARUMA_API const char *daruma_version(void); /* of the library that is loaded: "0.1.0" */
DARUMA_API int daruma_abi(void);             /* DARUMA_ABI of the library that is loaded */

/* ---- policy: what is done about each kind of failure ---- */

typedef struct daruma_policy daruma_policy;

// clang-format off
/* Makes a policy from JSON text; empty: the policy of the profile "default". Members, all optional:
 *
 *     {"profile": "default",
 *      "enabled": true, "health": true, "hedge": true, "mend": true, "side_calls": true,
 *      "max_attempts": 3, "max_wait_ms": 60000, "patience_ms": 120000,
 *      "summarize_on_compress": true, "prune_orphans": false, "max_compress_retries": 3, "compression_threshold_chars": 8000,
 *      "kinds": {"rate_limit": {"max_attempts": 3, "delay_ms": 1000, "factor": 2, "max_delay_ms": 30000, "jitter": 0.5}},
 *      "rungs": [{"kind": "rate_limit", "remedy": "wait_retry", "times": 3, "needs": ["time", "tries"], "after": "advice"}]}
 *
 * What is not said is as the profile has it. `rungs` takes the place of all ladders of the profile; those of one kind
 * stand together; a ladder that is used up ends in an explanation. NULL and `why`: the text is no policy, or there is no
 * memory. */
// clang-format on
DARUMA_API daruma_policy *daruma_policy_new(const char *json, size_t json_bytes, char *why, size_t why_bytes);
/* Writes the whole policy in the form above: daruma_policy_new() makes the same one of it. */
DARUMA_API size_t daruma_policy_json(const daruma_policy *p, char *out, size_t out_bytes);
DARUMA_API void daruma_policy_free(daruma_policy *p); /* sessions have copies of it; NULL is allowed */

/* ---- memory: what is remembered between requests ---- */

/* Which providers are well, what their models take, conversations and their keys, lessons, agents. One for all sessions
 * of a thread. It is bounded: what was used longest ago is forgotten. */
typedef struct daruma_memory daruma_memory;

DARUMA_API daruma_memory *daruma_memory_new(void);    /* NULL without memory */
DARUMA_API void daruma_memory_free(daruma_memory *m); /* every session of it was freed; NULL is allowed */
/* What time it is: before each input. `wall_s`: seconds since 1970, to read dates; 0 unknown. `dice`: 64 fresh random
 * bits. */
DARUMA_API void daruma_memory_now(daruma_memory *m, int64_t now_ms, int64_t wall_s, uint64_t dice);
/* A session in which there is something to do now: its time has come, perhaps since another one of this memory found
 * out that somebody is well again. NULL: there is none. Looks at all sessions. */
DARUMA_API struct daruma_session *daruma_memory_ready(const daruma_memory *m);
/* Writes what is known and counted, as one JSON object: for status pages. */
DARUMA_API size_t daruma_memory_status(const daruma_memory *m, char *out, size_t out_bytes);
/* Writes what is known as lines of JSON, to be loaded by another process: which providers rest and until when, how long
 * their answers take, what their models take, the keys of conversations, compressions and lessons. It holds texts of
 * conversations (compressed results of tools), and no key: keep it as private as those. Agents and failed cases are not
 * in it. Call daruma_memory_now() before, with `wall_s`. */
DARUMA_API size_t daruma_memory_save(const daruma_memory *m, char *out, size_t out_bytes);
/* Learns what daruma_memory_save() wrote; call it before the first session, behind daruma_memory_now(). Returns how
 * many lines were taken; broken and unknown ones are left out, and `why` says how many. -1 and `why`: the text is no
 * snapshot, or of another form, and nothing changed. */
DARUMA_API int64_t daruma_memory_load(daruma_memory *m, const char *text, size_t text_bytes, char *why,
                                      size_t why_bytes);

/* ---- sessions ---- */

typedef struct daruma_session daruma_session;

// clang-format off
/* Opens a session for one request. `body`: as the client wrote it. `options`: JSON text of at most 1 MiB:
 *
 *     {"dialect": "openai",                     what the client speaks: openai, openai-responses, anthropic, gemini
 *      "targets": [{"name": "main",             how the host knows it, as in daruma_session_target()
 *                   "provider": "openai",       targets of one provider are sick together; else the name
 *                   "model": "gpt-4o",          else as the client asked
 *                   "dialect": "openai",        what it speaks; else as the client
 *                   "account": "a", "key": "k", names, no secrets: who shares limits
 *                   "site": "api.openai.com",   who shares a host; else the provider
 *                   "window": 128000, "max_output": 16384}],  tokens, if known
 *      "model": "gemini-2.5-pro",               what Gemini's clients say in the path, and whether they stream
 *      "stream": true,
 *      "client": "somebody",                    who asks: lessons and conversations of clients are kept apart
 *      "agent": "planner",                      the client's name for its agent
 *      "waits_ms": 60000,                       so long the client waits, if it said so
 *      "retry": false,                          this request repeats one that failed: its case goes on
 *      "watch": "guide",                        what is done about agents in circles: off, observe, guide, enforce
 *      "on_failure": "auto",                    what the client reads when nothing helped: auto, error, message
 *      "strategies": "log",                     proposals for another way: log, ask, auto
 *      "compact_tool_errors": false,            the model sees failed tool results as short blocks
 *      "total_ms": 0,                           so long the request may take, waits included; 0: no limit
 *      "max_calls": 0,                          so many calls it may cost, repeated ones and those on the side included
 *      "first_byte_ms": 0, "idle_ms": 0,        limits of a call that the host keeps by itself, 0: none
 *      "secrets": ["sk-..."]}                   taken out of what failed calls say; at least 6 bytes each
 *
 * Only `dialect` and `targets` are needed. `p`: NULL is the default policy. The memory outlives the session. NULL and
 * `why`: the options are wrong, or there is no memory. */
// clang-format on
DARUMA_API daruma_session *daruma_session_open(daruma_memory *m, const daruma_policy *p, const char *options,
                                               size_t options_bytes, const char *body, size_t body_bytes, char *why,
                                               size_t why_bytes);
/* At any time; calls that are out are the host's to end. NULL is allowed. */
DARUMA_API void daruma_session_free(daruma_session *s);

/* What the host has to do. What concerns calls comes before what is for the client: a host that cannot write hears of
 * PAUSE all the same, unless it asks for nothing. Acts may name a call whose end the host has just told: it ignores
 * them. */
typedef enum daruma_do {
    DARUMA_DO_NOTHING = 0, /* nothing now: wait for the network, the client or daruma_session_wakes_ms() */
    DARUMA_DO_SEND,        /* send a request: _call, _target, _dialect, _model, _path, _fields, _bytes, _total_ms */
    DARUMA_DO_CANCEL,      /* end that call, nothing of it is wanted any more: _call */
    DARUMA_DO_PAUSE,       /* read no more of it until RESUME; what was on its way may come: _call */
    DARUMA_DO_RESUME,      /* go on reading: _call */
    DARUMA_DO_LIMIT,       /* its total time, counted from when it was sent, is another now: _call, _total_ms */
    DARUMA_DO_HEAD,        /* the head of the answer for the client: _status, _fields, _target */
    DARUMA_DO_BYTES,       /* bytes of its body: _bytes */
    DARUMA_DO_EVENT,       /* something to log: _bytes is one line of JSON, without its newline (doc/events.md) */
    DARUMA_DO_END,         /* the session is over: the answer is whole. End the calls that are still out */
    DARUMA_DO_BREAK        /* the session is over: the answer is not whole, and the client must see that (without a
                              HEAD: 503). Also behind daruma_session_gone() */
} daruma_do;

/* Goes on to the next thing to do. The strings of the one before are gone then. One of END and BREAK comes last. */
DARUMA_API daruma_do daruma_session_next(daruma_session *s);
/* When daruma_session_clock() is to be called at the latest; -1: never. */
DARUMA_API int64_t daruma_session_wakes_ms(const daruma_session *s);

/* Of the thing to do; what it does not have is 0, -1 or empty. `ret_bytes` may be NULL.
 *
 * _call: the number of a call, from 1. _target: the name of a target. _dialect: what it speaks. _model: that is asked.
 * _path: path and query of the call, behind the base URL of the provider: "/v1/chat/completions". _fields: "name:
 * value\r\n" each; of a call those that it needs but its key. _total_ms: so long the call may take in all; -1: no
 * limit. _status: the HTTP status. */
DARUMA_API int64_t daruma_session_call(const daruma_session *s);
DARUMA_API const char *daruma_session_target(const daruma_session *s, size_t *ret_bytes);
DARUMA_API const char *daruma_session_dialect(const daruma_session *s, size_t *ret_bytes);
DARUMA_API const char *daruma_session_model(const daruma_session *s, size_t *ret_bytes);
DARUMA_API const char *daruma_session_path(const daruma_session *s, size_t *ret_bytes);
DARUMA_API const char *daruma_session_fields(const daruma_session *s, size_t *ret_bytes);
DARUMA_API const char *daruma_session_bytes(const daruma_session *s, size_t *ret_bytes);
DARUMA_API int64_t daruma_session_total_ms(const daruma_session *s);
DARUMA_API int daruma_session_status(const daruma_session *s);

/* What happened to a call. A number of no call that is out is ignored. Exactly one of _end and _failed comes last. The
 * host follows no redirects, repeats nothing by itself, and hands in the bytes as they came: a client that decodes them
 * (gzip) leaves out the fields content-encoding and content-length, else nobody here reads the answer. A head with a
 * status of 100 to 199 is no answer and ignored; bytes before a head are, too. */
DARUMA_API void daruma_call_head(daruma_session *s, int64_t call, int status, const char *fields, size_t fields_bytes);
DARUMA_API void daruma_call_bytes(daruma_session *s, int64_t call, const char *bytes, size_t n);
DARUMA_API void daruma_call_end(daruma_session *s, int64_t call);
/* `how`: "refused", "reset", "dns", "tls", "first_byte_timeout", "total_timeout", "closed", "cut", ... as daruma_net in
 * daruma_parts.h has them; anything else is "closed". */
DARUMA_API void daruma_call_failed(daruma_session *s, int64_t call, const char *how);
/* The time that daruma_session_wakes_ms() told has come; before it nothing happens. */
DARUMA_API void daruma_session_clock(daruma_session *s);
DARUMA_API void daruma_session_gone(daruma_session *s); /* the client left */

/* How it stands, or ended. */
DARUMA_API const char *daruma_session_outcome(const daruma_session *s); /* "pending", "ok", "recovered", ... static */
DARUMA_API size_t daruma_session_remedies(const daruma_session *s, char *out, size_t out_bytes); /* "wait_retry,..." */
DARUMA_API int64_t daruma_session_attempts(const daruma_session *s); /* calls that were made */

#ifdef __cplusplus
}
#endif
#endif
