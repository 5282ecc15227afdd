/* daruma_parts.h - the parts of daruma, each usable alone: what to do when a call to a model or a tool goes wrong.
 * Whole requests are in daruma.h.
 *
 * This library does no I/O, reads no clock, rolls no dice and calls no malloc.
 * You observe, it judges, you act:
 *
 *     evidence --classify--> failure --case_next--> remedy
 *         ^                                           |
 *         +-------- you send, hold, keep or stop -----+
 *
 * OWNERSHIP  A daruma_str borrows. What a call makes lives in the arena you gave
 *            it and dies with that arena. Structs are yours: no _free anywhere.
 * ERRORS     daruma_status says that *daruma* could not do its job (bad input, no
 *            room). What went wrong in the *world* is a value: daruma_failure.
 * TIME       daruma_ms are monotonic milliseconds from any origin, -1 is unknown.
 *            Every call that needs chance or time takes one daruma_moment.
 * THREADS    No globals but const tables. One owner per struct at a time.
 * NUMBERS    size_t for bytes in memory, int64_t for tokens and times. Unknown is -1.
 */
#ifndef DARUMA_PARTS_H
#define DARUMA_PARTS_H
#include "daruma.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ground ---------------------------------------------------------------- */

typedef int64_t daruma_ms;

/* All that is not a function of the input. */
typedef struct daruma_moment {
    daruma_ms now; /* monotonic */
    int64_t wall;  /* unix seconds, to read dates; 0 unknown */
    uint64_t dice; /* 64 fresh random bits */
} daruma_moment;

/* A borrowed slice of bytes; not NUL-terminated. All zero is the empty string. */
typedef struct daruma_str {
    const char *p;
    size_t n;
} daruma_str;
#define DARUMA_STR(lit) ((daruma_str){(lit), sizeof(lit) - 1})

/* Memory that is given back all at once. `beg`..`end` is the free room. When it
 * does not suffice, `more` (may be NULL) is asked for a block that holds `need`
 * bytes and sets beg and end; when it refuses, the arena remembers that it ran full. */
typedef struct daruma_arena {
    char *beg, *end;
    bool full;                                         /* an allocation did not fit, ever */
    bool (*more)(struct daruma_arena *a, size_t need); /* NULL: this block is all */
    void *host;                                        /* for `more` */
} daruma_arena;

/* Bytes to append to. A fixed buffer when `arena` is NULL, else it grows in there. */
typedef struct daruma_buf {
    char *p;
    size_t n, cap;
    bool full;           /* something did not fit, ever */
    daruma_arena *arena; /* where it grows; NULL: it does not */
} daruma_buf;

typedef enum daruma_status {
    DARUMA_OK = 0,
    DARUMA_EINPUT = -1, /* the input is not what it should be */
    DARUMA_EDEEP = -2,  /* nested deeper than limits.h allows */
    DARUMA_EFULL = -3,  /* the arena, buffer or table has no room */
} daruma_status;

/* ---- what was seen ---------------------------------------------------------- */

/* How far the attempt came. */
typedef enum daruma_phase {
    DARUMA_AT_CONNECT, /* no connection yet */
    DARUMA_AT_SEND,    /* the request was going out */
    DARUMA_AT_WAIT,    /* sent, no answer byte yet */
    DARUMA_AT_HEAD,    /* a status came */
    DARUMA_AT_STREAM,  /* in the middle of a streamed answer */
    DARUMA_AT_ANSWER,  /* the whole answer is here */
    DARUMA_AT_TOOL,    /* a tool ran */
    DARUMA_AT_AGENT,   /* between calls */
} daruma_phase;

/* What the wire did. X(symbol, name, in plain words) */
#define DARUMA_NET_MAP(X)                                                                                              \
    X(NONE, "none", "the wire was fine")                                                                               \
    X(DNS, "dns", "the host name could not be resolved")                                                               \
    X(REFUSED, "refused", "the connection was refused")                                                                \
    X(UNREACHABLE, "unreachable", "the host could not be reached")                                                     \
    X(RESET, "reset", "the connection was reset")                                                                      \
    X(CLOSED, "closed", "the connection was closed before the answer began")                                           \
    X(CUT, "cut", "the answer broke off before its end")                                                               \
    X(TLS, "tls", "the TLS handshake failed")                                                                          \
    X(CERTIFICATE, "certificate", "the server's certificate could not be verified")                                    \
    X(PROTOCOL, "protocol", "the answer was not valid HTTP")                                                           \
    X(PROXY, "proxy", "the proxy could not be reached or refused to connect")                                          \
    X(CONNECT_TIMEOUT, "connect_timeout", "no connection was made in time")                                            \
    X(FIRST_BYTE_TIMEOUT, "first_byte_timeout", "the answer did not begin in time")                                    \
    X(IDLE_TIMEOUT, "idle_timeout", "the answer fell silent")                                                          \
    X(TOTAL_TIMEOUT, "total_timeout", "the answer took longer than it may in all")                                     \
    X(LOCAL, "local", "this machine had no descriptor, memory or port left for it")                                    \
    X(HEAD, "head_too_large", "the head of the answer has more than 1,024 fields or 64 KiB, which daruma takes")

typedef enum daruma_net {
#define X(sym, ...) DARUMA_NET_##sym,
    DARUMA_NET_MAP(X)
#undef X
        DARUMA_NETS /* how many there are */
} daruma_net;

/* What a reader of the dialect found wrong with an answer whose status was fine. */
typedef enum daruma_flaw {
    DARUMA_FLAW_NONE,
    DARUMA_FLAW_ERROR_EVENT, /* an error inside the stream or the 200 body: it is in `body` */
    DARUMA_FLAW_EMPTY,       /* no text, no tool call */
    DARUMA_FLAW_BROKEN,      /* not the JSON or the events it should be */
    DARUMA_FLAW_CUT,         /* it ended without its terminal marker */
    DARUMA_FLAW_SILENT,      /* connected, but nothing but pings */
    DARUMA_FLAW_FILTERED,    /* its stop reason says that a content filter withheld it, or that it is a refusal */
    DARUMA_FLAW_ENCODED,     /* nothing of it can be read, as its content-encoding says: it comes the same again */
} daruma_flaw;

typedef struct daruma_header {
    daruma_str name, value;
} daruma_header;

/* One failed attempt as the host saw it. All zero is valid: nothing is known. */
typedef struct daruma_evidence {
    daruma_phase phase;
    int status;          /* HTTP status, 0 when none came */
    daruma_net net;      /* what the wire did */
    daruma_flaw flaw;    /* what was wrong with the answer itself */
    daruma_str provider; /* "openai", "anthropic", ...; empty when unknown. A hint only */
    bool model_call;     /* a model was called: whatever it says, no tool failed */
    daruma_str finish;   /* stop reason as sent, empty when none */
    daruma_str body;     /* raw: JSON, SSE, HTML or text; may be cut */
    daruma_str request;  /* what was sent, as JSON: its words in `body` are no evidence. Empty when unknown */
    daruma_str model;    /* the model that was asked for, where `request` does not hold it */
    daruma_str beside;   /* what was sent beside it, "name: value" a line: header fields, the query; no credentials */
    const daruma_header *headers;
    size_t nheaders;
    size_t forwarded; /* answer bytes the client already has */
    daruma_ms took;   /* from sending to failing, -1 unknown */
} daruma_evidence;

/* ---- what it means ----------------------------------------------------------- */

/* Who is sick: what a cooldown or a breaker is about. */
typedef enum daruma_scope {
    DARUMA_SICK_REQUEST,
    DARUMA_SICK_CONVERSATION,
    DARUMA_SICK_ANSWER,
    DARUMA_SICK_KEY,
    DARUMA_SICK_ACCOUNT,
    DARUMA_SICK_TARGET,
    DARUMA_SICK_MODEL,
    DARUMA_SICK_PROVIDER,
    DARUMA_SICK_TOOL,
    DARUMA_SICK_AGENT,
    DARUMA_SICK_PLAN,
    DARUMA_SICK_TASK,
} daruma_scope;

/* May the same plan continue? Names as in the Osprey framework. */
typedef enum daruma_severity {
    DARUMA_RETRIABLE,
    DARUMA_REPLANNING,
    DARUMA_RECLASSIFICATION,
    DARUMA_CRITICAL,
    DARUMA_FATAL,
} daruma_severity;

/* The kinds of failure and what happened. Their names (daruma_kind_name) are these in lower case, and wire format. */
typedef enum daruma_kind {
    DARUMA_UNKNOWN,             /* something went wrong that nobody explained */
    DARUMA_CONTEXT_LENGTH,      /* the conversation is too long for the model */
    DARUMA_OUTPUT_LIMIT,        /* the answer is longer than the model may write */
    DARUMA_REQUEST_TOO_LARGE,   /* the request is larger than accepted */
    DARUMA_RATE_LIMIT,          /* the provider asked to slow down */
    DARUMA_QUOTA,               /* the account has no credit or allowance left */
    DARUMA_OVERLOADED,          /* the model is too busy */
    DARUMA_SERVER_ERROR,        /* the provider had an internal error */
    DARUMA_TIMEOUT,             /* the answer did not come in time */
    DARUMA_NETWORK,             /* the connection failed */
    DARUMA_INTERRUPTED,         /* the stream ended without the rest of the answer */
    DARUMA_AUTH,                /* the credentials were not accepted */
    DARUMA_PERMISSION,          /* the account may not do this */
    DARUMA_MODEL_NOT_FOUND,     /* the model does not exist here */
    DARUMA_ORPHAN_TOOL_CALL,    /* a tool call and its result do not belong together */
    DARUMA_INVALID_MESSAGE,     /* a message is not accepted by the model */
    DARUMA_INVALID_TOOL_SCHEMA, /* a tool or schema is not accepted */
    DARUMA_INVALID_PARAMETER,   /* a parameter is not accepted by the model */
    DARUMA_CONTENT_FILTER,      /* the provider's content policy blocked it */
    DARUMA_MALFORMED_OUTPUT,    /* the model's answer was broken or empty */
    DARUMA_TOOL_ERROR,          /* a tool failed */
    DARUMA_TOOL_UNKNOWN,        /* the model called a tool that does not exist */
    DARUMA_TOOL_ARGUMENTS,      /* the model called a tool with wrong arguments */
    DARUMA_LOOP,                /* the agent goes in circles */
    DARUMA_STUCK,               /* the agent makes no progress */
    DARUMA_PLAN_INVALID,        /* the plan cannot be carried out */
    DARUMA_BUDGET,              /* the time, attempts or money set aside are used up */
    DARUMA_CANCELLED,           /* it was cancelled */
    DARUMA_KINDS                /* how many there are */
} daruma_kind;

/* What kind of tool failure, where kind is DARUMA_TOOL_ERROR. X(symbol, name) */
#define DARUMA_TOOL_KIND_MAP(X)                                                                                        \
    X(NONE, "")                                                                                                        \
    X(TIMEOUT, "timeout")                                                                                              \
    X(AUTH, "auth")                                                                                                    \
    X(VALIDATION, "validation")                                                                                        \
    X(NOT_FOUND, "not_found")                                                                                          \
    X(RATE_LIMIT, "rate_limit")                                                                                        \
    X(PERMISSION, "permission")                                                                                        \
    X(NETWORK, "network")                                                                                              \
    X(UNKNOWN, "unknown")

typedef enum daruma_tool_kind {
#define X(sym, ...) DARUMA_TOOL_##sym##_KIND,
    DARUMA_TOOL_KIND_MAP(X)
#undef X
        DARUMA_TOOL_KINDS
} daruma_tool_kind;

/* A judged failure. Strings live in the arena that daruma_classify was given. */
/* What a request may need of a model, and not all models can do. */
typedef enum daruma_ability {
    DARUMA_CAN_TOOLS = 1,  /* call tools */
    DARUMA_CAN_MEDIA = 2,  /* see or hear: pictures, sounds */
    DARUMA_CAN_FORMAT = 4, /* answer as JSON, by a schema or without */
    DARUMA_CAN_REASON = 8, /* think before it answers, as far as it is told to */
} daruma_ability;

typedef struct daruma_failure {
    daruma_kind kind;
    daruma_tool_kind tool_kind; /* for DARUMA_TOOL_ERROR */
    daruma_severity severity;
    bool retryable;     /* the same request may succeed later, unchanged */
    bool hearsay;       /* words alone say that others are concerned, too: neither a code nor the status does */
    uint8_t sure;       /* percent */
    uint16_t rule;      /* the phrase row that spoke: daruma_rule_name(); 0 none */
    int status;         /* HTTP status, 0 when none came */
    daruma_net net;     /* what the wire did, DARUMA_NET_NONE when it was fine */
    daruma_ms wait;     /* what the provider advised, -1 nothing */
    int64_t limit;      /* numbers read from the message, -1 unknown: the allowance, */
    int64_t used;       /*   what of it is used or what the request counts, */
    int64_t requested;  /*   what the request asks for on top */
    daruma_str subject; /* the parameter, message, model or tool it is about; may be empty */
    daruma_str code;    /* the provider's own code or type; may be empty */
    daruma_str message; /* the provider's message on one line, unwrapped, secrets removed */
    daruma_str own;     /* of it the provider's own words, without those of the request; no bytes and no address: all */
    const char *type;   /* the profile's own name for it, for events; NULL: it has none. Static */
    const char *label;  /* and for texts; NULL: it has none. Static */
    bool ours;          /* `message` is daruma's own or its host's: no provider said it */
    uint8_t lacks;      /* what its words say that the model cannot do at all: bits of daruma_ability; 0 nothing */
} daruma_failure;

/* Judges `ev`. Never fails: what it cannot tell is DARUMA_UNKNOWN with a low `sure`.
 * Works on structured code, then type, then status, then anchored text of the error
 * message itself, never on text elsewhere in the body, nor on words that it quotes from
 * the request. Text lives in `a`. Pure. */
DARUMA_API daruma_failure daruma_classify(const daruma_evidence *ev, daruma_moment at, daruma_arena *a);

/* The name of a rule ("openai.code.context_length_exceeded"); "" for 0. Static. */
DARUMA_API const char *daruma_rule_name(uint16_t rule);

DARUMA_API const char *daruma_kind_name(daruma_kind k);              /* "rate_limit"; static */
DARUMA_API const char *daruma_kind_words(daruma_kind k);             /* what happened; static */
DARUMA_API daruma_kind daruma_kind_parse(daruma_str name, bool *ok); /* UNKNOWN and !ok if no such */
DARUMA_API daruma_scope daruma_kind_scope(daruma_kind k);            /* who is sick */
DARUMA_API daruma_severity daruma_kind_severity(daruma_kind k);      /* the default of the kind */
DARUMA_API bool daruma_kind_passes(daruma_kind k);                   /* waiting alone may mend it */
DARUMA_API const char *daruma_tool_kind_name(daruma_tool_kind k);    /* "" for none; static */
DARUMA_API const char *daruma_severity_name(daruma_severity s);      /* static */
DARUMA_API const char *daruma_scope_name(daruma_scope s);            /* static */
DARUMA_API const char *daruma_net_name(daruma_net n);                /* static */
DARUMA_API const char *daruma_net_words(daruma_net n);               /* static */

/* Copies `text` without what looks like a key, token, cookie, password or e-mail
 * address; each is replaced by "[redacted]". The copy lives in `a`. */
DARUMA_API daruma_str daruma_redact(daruma_str text, daruma_arena *a);

/* ---- the parts, each usable alone --------------------------------------------- */

typedef struct daruma_backoff {
    daruma_ms base;        /* delay before the first retry */
    daruma_ms cap;         /* no delay is longer */
    uint32_t factor_milli; /* growth per retry in thousandths; 2000 doubles */
    uint32_t jitter_milli; /* share of the delay that the dice decide; 1000 is full jitter */
} daruma_backoff;

/* Delay before retry number `nth` (1 first). Saturates, never overflows. */
DARUMA_API daruma_ms daruma_backoff_delay(const daruma_backoff *b, uint32_t nth, uint64_t dice);

/* Whether a place works, from how its calls ended. All zero: closed, healthy. An open breaker forbids nothing: it says
 * who is asked last, and how long. */
typedef struct daruma_breaker {
    uint32_t bad, all;         /* this window */
    uint32_t was_bad, was_all; /* the window before it */
    daruma_ms turned;          /* when this window began */
    daruma_ms well_at;         /* the last success; where there was none, when the row began */
    daruma_ms bad_at;          /* the last failure */
    daruma_ms asked_at;        /* when the newest of the calls that failed went out */
    daruma_ms row_from;        /* when the first call of the row went out */
    daruma_ms sent_at;         /* when the newest call went out */
    daruma_ms open_until;      /* 0 closed; past: half-open */
    daruma_ms closed_at;       /* when it was closed last */
    daruma_ms probe_until; /* half-open and its probe is out; others wait for it no longer than this. 0 none is out */
    daruma_ms probe_took;  /* how long the last probe that failed was out; -1 none */
    uint64_t witness;      /* who saw the first failure of the row */
    uint32_t row;          /* failures since the last success */
    uint32_t rows;         /* how many there were between two successes lately, in sixteenths */
    uint32_t passed;       /* calls that went elsewhere since it opened, or was probed last */
    uint16_t epoch;        /* a permit of an older one opens and closes nothing */
    uint16_t trips;        /* in short order, so that it stays open longer each time */
    bool agreed;           /* two different witnesses saw failures of this row */
    bool wary;             /* (set) it opens only when they agree */
} daruma_breaker;

typedef struct daruma_permit {
    uint16_t epoch;
    bool ok;         /* closed, or it is the probe */
    bool told;       /* its call has counted as a failure while it goes on: a second one of it counts no more */
    bool probe;      /* it is the one probe of a half-open breaker ... */
    daruma_ms until; /* ... that others wait for so long: a later one may follow it */
    daruma_ms asked; /* when the call went out */
} daruma_permit;

/* A call goes out. When half-open, exactly one gets ok and probe. A call that goes out without ok (there is nobody else
 * to ask) is told as any other. */
DARUMA_API daruma_permit daruma_breaker_ask(daruma_breaker *b, daruma_ms now);
/* How that call ended, as `witness` saw it (0: needs nobody to agree). One success closes it. An answer from an older
 * epoch opens and closes nothing: of what was out when it opened, failures count in its row. */
DARUMA_API void daruma_breaker_tell(daruma_breaker *b, daruma_permit p, bool good, uint64_t witness, daruma_ms now);
/* A call went elsewhere because it is open: a probe is to be one of many calls. */
DARUMA_API void daruma_breaker_pass(daruma_breaker *b);
/* The call ended and says nothing about health (the client left). */
DARUMA_API void daruma_breaker_drop(daruma_breaker *b, daruma_permit p);
/* How long those who can go elsewhere ask it last; 0: it is closed, or may be probed. */
DARUMA_API daruma_ms daruma_breaker_opens_in(const daruma_breaker *b, daruma_ms now);
/* How long those who have nobody else wait before they ask it; 0: they ask. Only what seems to be down altogether is
 * waited for: half of the time since it last worked, so that nobody waits 1.5 times as long as it was down. */
DARUMA_API daruma_ms daruma_breaker_alone_in(const daruma_breaker *b, daruma_ms now);

/* Retries are at most `percent` of the last minute's calls plus `floor`. All zero
 * but percent and floor: nothing was called yet. */
typedef struct daruma_budget {
    uint32_t percent, floor;
    uint32_t calls, retries;         /* this minute */
    uint32_t was_calls, was_retries; /* the minute before */
    daruma_ms turned;                /* when this minute began */
} daruma_budget;

DARUMA_API void daruma_budget_call(daruma_budget *b, daruma_ms now);          /* a call goes out */
DARUMA_API bool daruma_budget_take(daruma_budget *b, daruma_ms now);          /* a retry, if there is room */
DARUMA_API int64_t daruma_budget_left(const daruma_budget *b, daruma_ms now); /* retries still free, >= 0 */

/* ---- where calls can go --------------------------------------------------------- */

/* One way to reach a model. Names only, never a secret. Borrowed strings must outlive
 * the case. Call daruma_target_seal() after filling it in. */
typedef struct daruma_target {
    daruma_str provider, model, account, key;
    int64_t window;     /* tokens, -1 unknown */
    int64_t max_output; /* tokens, -1 unknown */
    int32_t host;       /* the host's own index, carried along */
    bool reserve;       /* only asked where a rung says so (NEED_RESERVE); such targets stand behind all others */
    uint64_t provider_id, account_id, key_id, model_id, lane_id; /* by daruma_target_seal() */
} daruma_target;

DARUMA_API void daruma_target_seal(daruma_target *t);

/* Health of everything that can be sick: a fixed-capacity table keyed by the ids of
 * targets. When it is full the entry that was touched longest ago is forgotten. It orders: what is sick is asked last.
 * Only a wait that a provider itself named is a reason to ask nobody, once it is short or known to hold. */
typedef struct daruma_health daruma_health;

DARUMA_API size_t daruma_health_bytes(uint32_t places);
/* Needs daruma_health_bytes(places) in `a`; NULL when they are not there. */
DARUMA_API daruma_health *daruma_health_new(daruma_arena *a, uint32_t places);

typedef struct daruma_condition {
    bool well;          /* nothing speaks against it, or it may be probed: it is asked in its turn */
    daruma_ms in;       /* else: how long it is asked after those that are well */
    daruma_ms alone_in; /* else: how long those who have nobody else wait for it; 0: they ask it */
    daruma_ms named_in; /* else: how long the provider itself said to stay away; 0 it did not, or for no longer */
    daruma_kind why;    /* else: what made it sick */
    daruma_scope who;   /* else: which of its parts is sick */
    int named_status;   /* else: the HTTP status that the wait was named with; 0 none was, or it is over */
} daruma_condition;

/* How a target is now. Changes nothing. */
DARUMA_API daruma_condition daruma_health_look(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* The retry budget of a provider; never NULL. */
DARUMA_API daruma_budget *daruma_health_budget(daruma_health *w, const daruma_target *t, daruma_ms now);
/* Forgets what made the credentials of a target sick: new ones were fetched. */
DARUMA_API void daruma_health_refreshed(daruma_health *w, const daruma_target *t);
/* Forgets every refusal that does not pass by itself (credentials, credit, permission, names of models): somebody has
 * changed the configuration, perhaps for that. What passes by itself goes on resting. */
DARUMA_API void daruma_health_reconsider(daruma_health *w);
/* Counts what became well before its time, or may be probed then: a probe succeeded, credentials were fetched. When it
 * has changed, who waits may ask daruma_case_admit() again. */
DARUMA_API uint32_t daruma_health_healed(const daruma_health *w);

/* One sick or watched place, for status pages. */
/* What a sick or silent place has cost, since it is watched. */
typedef struct daruma_tally {
    uint32_t sick;   /* calls that went to it although it was sick ... */
    uint32_t probes; /* ... of these one by one, to find out whether it is well */
    uint32_t hedges; /* calls to somebody else beside one of its own that was silent */
    uint32_t knocks; /* ... and to itself, since nobody else was well */
    uint32_t waits;  /* times that a request waited for it to become well */
} daruma_tally;

typedef struct daruma_place {
    uint64_t id;
    daruma_scope scope;
    daruma_kind why;
    daruma_ms cool_in;   /* until its cooldown ends, 0 none, -1 never by itself */
    const char *breaker; /* "closed", "open", "half-open"; static */
    uint32_t calls, bad; /* as the breaker counts them */
    daruma_tally tally;
} daruma_place;
/* Writes up to `max` places that are watched; returns how many there are. */
DARUMA_API size_t daruma_health_list(const daruma_health *w, daruma_ms now, daruma_place *out, size_t max);

/* ---- what to do about it ---------------------------------------------------------- */

/* All that a host must be able to do. */
typedef enum daruma_act {
    DARUMA_SEND, /* send to `target`, after `wait` */
    DARUMA_HOLD, /* wait for a person */
    DARUMA_KEEP, /* deliver what arrived, marked as partial */
    DARUMA_STOP, /* answer with the failure */
} daruma_act;

/* One line per remedy: symbol, name, act, in plain words (what daruma tried) */
#define DARUMA_REMEDY_MAP(X)                                                                                           \
    X(NONE, "none", STOP, "nothing")                                                                                   \
    X(RETRY, "retry", SEND, "tried again")                                                                             \
    X(RETRY_FRESH, "retry_fresh", SEND, "tried again on a fresh connection")                                           \
    X(WAIT_RETRY, "wait_retry", SEND, "waited and tried again")                                                        \
    X(REFRESH_CREDENTIALS, "refresh_credentials", SEND, "fetched new credentials")                                     \
    X(SWITCH_KEY, "switch_key", SEND, "used another key")                                                              \
    X(SWITCH_ACCOUNT, "switch_account", SEND, "used another account")                                                  \
    X(SWITCH_MODEL, "switch_model", SEND, "used another model or provider")                                            \
    X(CLAMP_OUTPUT, "clamp_output", SEND, "lowered the output cap")                                                    \
    X(MASK_TOOL_OUTPUT, "mask_tool_output", SEND, "shortened old tool output")                                         \
    X(SUMMARISE, "summarise_observations", SEND, "summarised large tool output")                                       \
    X(COMPACT, "compact_conversation", SEND, "summarised the older part of the conversation")                          \
    X(REPAIR_HISTORY, "repair_history", SEND, "repaired the tool calls in the history")                                \
    X(MEND_MESSAGES, "mend_messages", SEND, "mended messages that were not accepted")                                  \
    X(MEND_PARAMETER, "mend_parameter", SEND, "changed a parameter that was not accepted")                             \
    X(CHANGE_API, "change_api", SEND, "asked through the other of the provider's two APIs")                            \
    X(LOWER_SCHEMA, "lower_schema", SEND, "simplified the tool schemas")                                               \
    X(LOWER_FORMAT, "lower_format", SEND, "asked for a simpler response format")                                       \
    X(SHRINK_REQUEST, "shrink_request", SEND, "left out old images and large tool output")                             \
    X(HEDGE, "hedge", SEND, "made a second call beside one that was silent")                                           \
    X(ASK_AGAIN, "ask_again", SEND, "asked the model again and told it what was wrong")                                \
    X(RESUME, "resume", SEND, "asked the model to go on where it was cut")                                             \
    X(MEND_ANSWER, "mend_answer", KEEP, "mended the answer")                                                           \
    X(APOLOGISE, "apologise", STOP, "asked the model to explain what happened")                                        \
    X(KEEP_PARTIAL, "keep_partial", KEEP, "kept what had arrived")                                                     \
    X(NOTICE, "notice", SEND, "told the model what it keeps doing")                                                    \
    X(BLOCK_CALL, "block_call", SEND, "refused to repeat a call and told the model why")                               \
    X(STRATEGY, "strategy", SEND, "proposed another approach")                                                         \
    X(FORCE_FINISH, "force_finish", SEND, "asked for an answer with what is known")                                    \
    X(STOP_PARTIAL, "stop_partial", STOP, "ended the run with what is known")                                          \
    X(EXPLAIN, "explain", STOP, "explained")

typedef enum daruma_remedy_kind {
#define X(sym, ...) DARUMA_REMEDY_##sym,
    DARUMA_REMEDY_MAP(X)
#undef X
        DARUMA_REMEDIES
} daruma_remedy_kind;

DARUMA_API const char *daruma_remedy_name(daruma_remedy_kind r);  /* static */
DARUMA_API const char *daruma_remedy_words(daruma_remedy_kind r); /* static */
DARUMA_API daruma_act daruma_remedy_act(daruma_remedy_kind r);    /* what a host does that obeys it */

typedef struct daruma_remedy {
    daruma_remedy_kind remedy;
    daruma_act act;
    uint16_t rung;  /* the policy row that chose it */
    daruma_ms wait; /* act after this long */
    int target;     /* for DARUMA_SEND: index into the case's targets */
} daruma_remedy;

/* What a rung needs; the case works out what it has. One line per need: symbol, bit, name, in plain words. */
// clang-format off
#define DARUMA_NEED_MAP(X) \
    X(TIME,     0, "time",     "time")                                           /* the delay still fits before the deadline */ \
    X(OUTAGE,   1, "outage",   "it was not answered")                            /* waiting may help */ \
    X(CLEAN,    2, "clean",    "nothing forwarded")                              /* no byte of the answer has reached the client */ \
    X(TRIES,    3, "tries",    "tries left")                                     /* this target may be called again for this kind */ \
    X(KEY,      4, "key",      "another key")                                    /* of the same model, and well */ \
    X(ACCOUNT,  5, "account",  "another account")                                /* likewise */ \
    X(MODEL,    6, "model",    "another model")                                  /* or provider, and well */ \
    X(SAFE,     7, "safe",     "safe twice")                                     /* sending it twice does no harm */ \
    X(SOURCE,   8, "source",   "credentials can be fetched")                     /* anew */ \
    X(PASSES,   9, "passes",   "it may pass")                                    /* the failure says that waiting may help */ \
    X(PARTIAL, 10, "partial",  "part of the answer forwarded")                   /* the client has it */ \
    X(MEND,    11, "mend",     "mending")                                        /* the host can mend conversations and answers */ \
    X(SIDE,    12, "side",     "side calls")                                     /* a model may be asked on the side (side_calls) */ \
    X(SHRINK,  13, "shrink",   "may be shortened once more")                     /* the conversation, in this case */ \
    X(REFUSED, 14, "refused",  "the request was refused (4xx)")                  /* by the provider */ \
    X(BROKEN,  17, "broken",   "the provider failed (5xx)")                      /* at it */ \
    X(GUIDE,   15, "guide",    "the model may be told (watch: guide)")           /* what it keeps doing */ \
    X(ABOVE,   18, "above",    "the request alone asks for more than the limit") /* only a smaller one passes */ \
    X(RESERVE, 19, "reserve",  "a target for just that")                        /* on_content_filter */ \
    X(DOUBT,   21, "doubt",   "another target may take it")                      /* refused by one that is not the first, or lacks it */ \
    X(API,     20, "api",      "the provider may have the other API")            /* of OpenAI's two */ \
    X(ENFORCE, 16, "enforce",  "the agent may be stopped (watch: enforce)")      /* from going on */
// clang-format on

enum daruma_need {
#define X(sym, bit, ...) DARUMA_NEED_##sym = 1 << (bit),
    DARUMA_NEED_MAP(X)
#undef X
};

/* How long a rung waits before it acts. */
typedef enum daruma_after {
    DARUMA_NOW,    /* not at all */
    DARUMA_ADVICE, /* as the provider advised, at least; else as GROW */
    DARUMA_GROW,   /* the kind's backoff */
    DARUMA_QUICK,  /* the quick backoff of the layer below, counted by itself */
} daruma_after;

typedef struct daruma_rung {
    daruma_kind kind;
    daruma_remedy_kind remedy;
    uint8_t times;  /* at most so often in one case */
    uint32_t needs; /* bits of daruma_need */
    daruma_after after;
} daruma_rung;

/* Numbers of one kind. */
typedef struct daruma_kind_policy {
    uint32_t max_attempts; /* calls to one target, the first included; 0: the policy's */
    daruma_backoff backoff;
} daruma_kind_policy;

/* How conversations are mended. Names of the settings as in PenguiFlow (P-F4). */
typedef struct daruma_mend_policy {
    bool enabled;                        /* false: nothing is mended, only sent again or elsewhere */
    bool side_calls;                     /* a model may be asked on the side: summaries, explanations */
    bool summarize_on_compress;          /* large observations are summarised, else only masked */
    bool prune_orphans;                  /* calls without result are removed instead of answered (S-F12) */
    bool prunes_only;                    /* ... and nothing else about pairs is mended (S-T14) */
    bool forgets_reminders;              /* ... and a <system-reminder> of somebody else goes with them (S-W5) */
    bool json_summaries;                 /* summaries stand as PenguiFlow's JSON, large is measured so (P-F17, P-F22) */
    bool sends_any;                      /* what was shortened at all is sent, however long it still is (P-F7) */
    uint32_t max_compress_retries;       /* times one request is sent again shorter */
    int64_t compression_threshold_chars; /* longer observations are summarised, strictly (P-F17) */
} daruma_mend_policy;

/* How a profile judges by itself: the first row that fits what was seen gives the kind. */
typedef struct daruma_rule_row {
    int from, to;             /* HTTP status, both included; 0, 0: none came; 0, 999: any */
    int was;                  /* only what daruma judges to be of this kind; -1 any */
    const char *const *words; /* one of these (lower case) is in the answer; NULL: any. Ends with NULL */
    daruma_kind kind;
    const char *type, *label; /* see daruma_failure; NULL: none */
    const char *code;         /* only when the failure has this code, in any case; NULL: any */
    daruma_ms wait;           /* how long to wait, whatever the provider said; 0: what the provider said */
} daruma_rule_row;

/* When a host tells of a case. */
typedef enum daruma_when {
    DARUMA_WHEN_FAILED,    /* a call failed and was judged */
    DARUMA_WHEN_BEGIN,     /* the first remedy of the case begins */
    DARUMA_WHEN_MENDED,    /* a remedy has changed what will be sent */
    DARUMA_WHEN_BROKE,     /* a remedy could not be carried out, because something else failed */
    DARUMA_WHEN_AGAIN,     /* a call will go out again */
    DARUMA_WHEN_EXHAUSTED, /* more than one call was made and nothing is left to try */
    DARUMA_WHEN_RECOVERED, /* the call that was sent again has succeeded */
    DARUMA_WHEN_GIVEN_UP,  /* the case ended without an answer */
} daruma_when;

/* Which event is told then; of several rows the first that fits. None fits: nothing is told. */
typedef struct daruma_event_row {
    daruma_when when;
    int kind;             /* only about this kind of failure; -1 any */
    int remedy;           /* only with this remedy; -1 any */
    unsigned flags;       /* bits of daruma_event_flag */
    const char *name;     /* of the event */
    const char *reason;   /* as told, unless the host has one; NULL none */
    const char *strategy; /* NULL none */
} daruma_event_row;

enum daruma_event_flag {
    DARUMA_EVENT_SPENT = 1 << 0,   /* only when the conversation was shortened as often as it may be */
    DARUMA_EVENT_FAILED = 1 << 1,  /* counts calls that failed unmended; else those in all and the one to come */
    DARUMA_EVENT_SHRINKS = 1 << 2, /* tells how often the conversation was shortened */
    DARUMA_EVENT_ON = 1 << 3,      /* only while recovery is switched on */
};

/* What people read instead of daruma's own words. `text` may hold {message}, {label}, {type}, {status}, {kind} and
 * {advice}; a line with one of them that is not known is left out. */
typedef struct daruma_text_row {
    int kind; /* -1 any */
    const char *text;
} daruma_text_row;

/* How a profile names failures of tools by itself: the first row of which a word (lower case) stands in the text. */
typedef struct daruma_tool_row {
    const char *const *words; /* ends with NULL; NULL: any text */
    daruma_tool_kind kind;
    const char *suggestion; /* NULL: none */
} daruma_tool_row;

/* How agents are watched. */
typedef struct daruma_watch_policy {
    uint32_t same_max;           /* failures in a row with one signature (by_tool: of one key), then escalation */
    uint32_t tool_max;           /* failures of one tool without a success between, then escalation; 0: no limit */
    uint32_t total_max;          /* failures in all */
    uint32_t shown_max;          /* failures that a model is shown */
    uint32_t message_chars;      /* a message is cut to */
    bool by_tool;                /* one success resets whatever failed under that key (E-F4), not what it was about */
    bool decays;                 /* a success gives one of the total back, or all it resolved */
    bool hides_last;             /* the failure that led to escalation is not shown to the model (E-F5, E-W5) */
    bool escapes;                /* text of tools cannot end the block it stands in (E-T8) */
    const daruma_tool_row *rows; /* the profile's own judgement; NULL: daruma's */
    size_t nrows;
    uint32_t retries_max;              /* recovery attempts per tool (K-F6) */
    uint8_t auto_percent, ask_percent; /* strategies: done at this confidence, asked about, else escalated; 0: 80, 50 */
    const struct daruma_detector_row *detectors; /* the profile's own loop rules; NULL: daruma's */
    size_t ndetectors;
    const struct daruma_adapt_policy *adapt; /* progress and strategies; NULL: daruma's */
} daruma_watch_policy;

/* A policy is data: copy the standard one and change what you want. */
struct daruma_policy {
    const char *profile;
    const char *variant;      /* "doc" or "code" where a seed's document and its code differ; else NULL */
    const daruma_rung *rungs; /* those of one kind stand together, top first */
    size_t nrungs;
    uint32_t max_attempts; /* calls to one target where the kind does not say */
    daruma_ms max_wait;    /* a longer wait is not slept: another target or an honest failure */
    daruma_ms patience;    /* so long a request waits in all for what passes by itself; -1: the ladder alone ends it */
    bool enabled;          /* false: first failure is final */
    bool health;           /* places that failed are asked last; false: each request goes out as if it were the first */
    bool hedge;            /* another target may be asked beside one that is silent */
    daruma_mend_policy mend;
    daruma_watch_policy watch;
    daruma_kind_policy kinds[DARUMA_KINDS];
    bool answers;                 /* what its ladders explain is a message, whatever the host wants (S-F3, P-F12) */
    bool deaf;                    /* advice of providers how long to wait is not heard (S-W6, P-F27) */
    const daruma_rule_row *rules; /* the profile's own judgement; NULL: daruma's */
    size_t nrules;
    const daruma_event_row *events; /* NULL: daruma's */
    size_t nevents;
    bool counts_first;             /* "max_retries" of its events counts the first call, too (S-F1) */
    const char *text;              /* the profile's own explanation; NULL: daruma's */
    const daruma_text_row *advice; /* what {advice} is; the first row of the kind */
    size_t nadvice;
    daruma_backoff quick; /* of rungs that wait QUICK */
};

/* The policy of a profile by name ("default"); NULL when there is none. Static. */
DARUMA_API const daruma_policy *daruma_policy_find(daruma_str profile);
/* ... of the variant "doc" or "code"; empty: the first one, as above. A profile without variants is both. */
DARUMA_API const daruma_policy *daruma_policy_variant(daruma_str profile, daruma_str variant);
/* Profiles one above the other, "NAME[/VARIANT],...", the uppermost first (a ':' or a blank before the variant will do,
 * and brackets around the list): what a lower layer tries again is tried there first, then the layer above goes on with
 * it, in one ladder with one budget. One name is daruma_policy_variant(). NULL: a name is unknown, or there is no
 * memory in `a`, where a stack of several lives. */
DARUMA_API const daruma_policy *daruma_policy_stack(daruma_str names, daruma_arena *a);
/* The name of the profile at `index`, in both variants once; NULL behind the last. Static. */
DARUMA_API const char *daruma_policy_name(size_t index);
/* The failure as the profile judges it: daruma_classify() and then this. Without rules of its own it is `f`. Pure. */
DARUMA_API daruma_failure daruma_judge(const daruma_policy *p, const daruma_evidence *ev, const daruma_failure *f);
DARUMA_API void daruma_policy_print(const daruma_policy *p, daruma_buf *out); /* the ladders, as a table */

#define DARUMA_CASE_RUNGS 176 /* rungs a policy may have: one counter each in the case */
#define DARUMA_CASE_TRIED 32  /* targets one case keeps count of; more are not tried */

/* One exactly, always. X(symbol, name) */
#define DARUMA_OUTCOME_MAP(X)                                                                                          \
    X(PENDING, "pending")                                                                                              \
    X(OK, "ok")                                                                                                        \
    X(RECOVERED, "recovered")                                                                                          \
    X(DEGRADED, "degraded")                                                                                            \
    X(EXPLAINED, "explained")                                                                                          \
    X(ESCALATED, "escalated")                                                                                          \
    X(FAILED, "failed")                                                                                                \
    X(CANCELLED_, "cancelled")

typedef enum daruma_outcome {
#define X(sym, ...) DARUMA_OUTCOME_##sym,
    DARUMA_OUTCOME_MAP(X)
#undef X
} daruma_outcome;

DARUMA_API const char *daruma_outcome_name(daruma_outcome o); /* static */

enum { DARUMA_PERMITS = 4 }; /* that a call has: of its model, provider, rested place and lane */

/* Limits that providers state with their answers. */
typedef enum daruma_limit {
    DARUMA_LIMIT_REQUESTS, /* calls */
    DARUMA_LIMIT_TOKENS,   /* tokens of input */
    DARUMA_LIMITS
} daruma_limit;

/* What is left of each. */
typedef struct daruma_left {
    int64_t left[DARUMA_LIMITS];    /* so many; -1: it is not stated */
    int64_t limit[DARUMA_LIMITS];   /* of so many; -1: that is not stated */
    daruma_ms reset[DARUMA_LIMITS]; /* all is back in so many ms */
} daruma_left;

/* What went out to a target up to a call. */
typedef struct daruma_call_pace {
    uint64_t upto[DARUMA_LIMITS]; /* requests, tokens: all in all, the call included */
    int64_t tokens;               /* of the call */
    bool spent[DARUMA_LIMITS];    /* the call went out although its provider had stated that too little was left */
    bool turn;                    /* its case was refused there before, and had its turn */
    uint32_t nth;                 /* of the calls that were out there then; 0: it is over */
    daruma_ms sent_at;
} daruma_call_pace;

/* A second call that is out beside a silent one. */
typedef struct daruma_beside {
    int target;
    bool headed;   /* the head of its answer came */
    bool bare;     /* (set) ... and nothing behind that yet; false when it goes out */
    bool answered; /* (set) its target did what a target has to do, though what it brought is of no use */
    daruma_permit permits[DARUMA_PERMITS];
    daruma_ms sent_at;
    daruma_call_pace paced;
} daruma_beside;

/* One request on its way to an answer. Yours to place; all fields are readable, only
 * those marked (set) are for you to write, after daruma_case_open(). */
typedef struct daruma_case {
    daruma_health *health;
    const daruma_policy *policy;
    const daruma_target *targets; /* preferred first; borrowed */
    size_t ntargets;
    size_t nreserve; /* targets behind these that are in reserve; 0 once they are asked: then they are among them */
    daruma_ms opened, deadline; /* deadline: -1 none */
    uint64_t id;
    bool safe_twice;    /* (set) sending it again does no harm; true after open */
    bool done_once;     /* (set) what was sent may have been done, and must not be done twice: nothing
                           is sent again; false after open */
    bool can_refresh;   /* (set) the host can fetch credentials anew; false after open */
    bool other_api;     /* (set) the failure says that the target has not the API it was asked in, and may have the
                           other: nothing else is wrong with it; false after open */
    bool can_mend;      /* (set) the host can mend the conversation; false after open */
    bool enforced;      /* (set) calls of the answer may be refused (LOOP); false after open */
    bool anew;          /* (set) the client has a part of an answer that was found wrong, and a new one can stand
                           behind it whole: it is asked for as if nothing had gone out; false after open */
    bool plain;         /* (set) the answer comes in one piece; false after open: a stream */
    int64_t tokens;     /* (set) of the request, as estimated; 0 after open: no limit of tokens holds it up */
    int64_t bytes;      /* (set) of the request as it goes out; 0 after open: no limit of bytes is looked at */
    bool paid;          /* the remedy given last took a retry out of the budget */
    uint8_t shrinks;    /* times the conversation was shortened for this request */
    bool out;           /* an attempt is in the world right now */
    bool answered;      /* ... whose target did what a target has to do: see daruma_case_answered */
    bool useless;       /* ... and what it brought was of no use */
    bool noted;         /* ... and its silence was noted as a failure */
    bool overdue;       /* ... or, earlier, counted among its model's that are */
    bool late;          /* ... or was before its content came: it is no success any more */
    bool headed;        /* ... and its head came, with a status that is no error */
    bool bare;          /* (set) ... and nothing behind that yet: no event, no comment; false after open */
    bool begun;         /* ... and content of its stream */
    bool capped;        /* (set) ... and it was wrong where the request's own output cap cut it, which is no fault of
                           its model; false with every attempt */
    bool goes_on;       /* (set) ... which another call could go on with; false with every attempt */
    bool thinks;        /* (set) ... and that is thinking: of that models show as much as they like */
    bool hung_up;       /* it was silent for long, and then its connection was closed: that says nothing of now */
    bool left;          /* it was dropped after it had been silent for a while: the client left */
    daruma_ms piece_at; /* when the newest piece of that came ... */
    daruma_ms gap;      /* ... and the longest time between two of them */
    daruma_ms paused;   /* ... and of those that were longer than is usual the sum ... */
    uint32_t pauses;    /* ... and how many there were */
    daruma_ms slow;     /* the content began so late that it is told, so long after it went out; 0: it did not */
    daruma_ms usual;    /* ... and usually takes so long, as was known before; -1 unknown */
    daruma_ms sent_at;  /* when it went out */
    daruma_call_pace paced; /* what has gone out to its target, it included */
    daruma_beside *beside;  /* the call beside it, in its host's room; NULL: none is out */
    daruma_ms hedge_at;     /* a place that was asked already is not asked beside again before */
    daruma_ms since;        /* first failure, or first wait for somebody to become well; -1 none */
    uint32_t attempts;      /* calls made in all */
    uint32_t asides;        /* (set) ... and those that the host made on the side, for its conversation */
    uint32_t calls_max;     /* (set) none is admitted behind so many of both; 0 after open: no such limit */
    int target;             /* where the current or last attempt went, -1 none yet */
    int want;               /* where the next one shall go, -1 any */
    uint16_t rung;          /* 1 + the row of a remedy that was given but not yet admitted; 0 none */
    uint8_t round;          /* of climbing: what can be done now, later, at the end */
    uint8_t hedges;         /* calls beside a silent one in all, but for those that failed and made the next one wait */
    uint8_t hedges_bad;     /* ... that failed: the next one waits the longer */
    daruma_outcome outcome; /* PENDING until it ends */
    daruma_ms not_before;   /* the next one goes out no earlier ... */
    daruma_ms due;          /* ... but from here on, if what is sick becomes well before its time */
    daruma_permit permits[DARUMA_PERMITS]; /* of the current attempt: model, provider, rested place, lane */
    uint8_t used[DARUMA_CASE_RUNGS];       /* times each rung was climbed */
    uint8_t calls[DARUMA_CASE_TRIED];      /* calls to each target */
    uint8_t faults[DARUMA_CASE_TRIED];     /* ... that failed for what is its model's or provider's, not its key's */
    uint8_t spoiled[DARUMA_CASE_TRIED];    /* targets that cannot help in this case any more: 1; or only not with a
                                              request as long as this: 2; or only when nobody else is left: 3 */
    uint32_t remedies;                     /* bit per daruma_remedy_kind that was carried out */
    uint8_t did[DARUMA_REMEDIES];          /* the same in the order in which they were first carried out */
    uint8_t ndid;                          /* how many */
    daruma_ms waited;                      /* sum of waits */
    daruma_kind last;                      /* kind of the last failure */
    uint8_t unfit;    /* failures in a row while others were answered there: it may be what this request asks for */
    daruma_ms bad_at; /* when the newest failure came; meaningless while there was none */
    int odd;          /* 1 + the target that refused last for a reason that nobody explained, 0 none ... */
    daruma_ms odd_at; /* ... and when that call went out */
} daruma_case;

/* Opens a case. `targets` (1 to DARUMA_CASE_TRIED count, more are ignored), `prefer` is
 * tried first while it is well (-1: the order of the list). */
DARUMA_API void daruma_case_open(daruma_case *c, daruma_health *w, const daruma_policy *p, const daruma_target *targets,
                                 size_t ntargets, int prefer, daruma_ms deadline, daruma_moment at);

/* The head of the answer at hand states what is left at its target: when that is too little for a request, others are
 * asked first, and who has nobody else waits. */
DARUMA_API void daruma_case_told_left(daruma_case *c, const daruma_left *told, daruma_ms now);

typedef struct daruma_admission {
    daruma_act act;  /* SEND or STOP */
    daruma_ms wait;  /* SEND: 0 go now; else ask again after this long */
    int target;      /* SEND with wait 0: where to */
    daruma_kind why; /* STOP or wait: what the targets are sick of */
    int status;      /* STOP: the HTTP status that the provider named its wait with; 0 it named none */
} daruma_admission;

/* May an attempt go out, when, and where? SEND with wait 0 means: go, and tell me
 * how it ended with exactly one of _next, _done or _drop. */
DARUMA_API daruma_admission daruma_case_admit(daruma_case *c, daruma_moment at);
/* The attempt that is out was sent once more by the host itself, because its connection had been closed before it was
 * received. It counts as a call and as RETRY_FRESH; it says nothing about the target. A host that sets `calls_max` and
 * sends so asks that limit itself: no admission stands before such a call. */
DARUMA_API void daruma_case_resent(daruma_case *c);
/* The attempt failed: the next thing to try. Updates health. May be asked again for the same
 * failure before an admit: then the remedy it gave is taken as unfit and it climbs on. Every
 * ladder ends in a STOP or KEEP, so this does. `forwarded`: answer bytes the client has. */
DARUMA_API daruma_remedy daruma_case_next(daruma_case *c, const daruma_failure *f, size_t forwarded, daruma_moment at);
/* The host carried this out: it counts among `remedies`, twice as once. What sends counts by itself when its call goes
 * out, and so does KEEP_PARTIAL. The host tells what ends a case (EXPLAIN, APOLOGISE, STOP_PARTIAL) and what it did
 * without being told to, such as mending an answer (MEND_ANSWER, which no ladder has). */
DARUMA_API void daruma_case_did(daruma_case *c, daruma_remedy_kind r);
/* The attempt succeeded. */
DARUMA_API void daruma_case_done(daruma_case *c, daruma_moment at);
/* What the attempt brought is of no use to this case, though its target answered as it should: a continuation that
 * cannot be joined to what went out. It counts as good for health; daruma_case_next comes behind as ever. */
DARUMA_API void daruma_case_answered(daruma_case *c, daruma_moment at);
/* The answer under way has begun to say something. A probe has found out enough with that: who waits for it, with
 * no other target that is well, need not wait for the end of a long answer. */
DARUMA_API void daruma_case_begun(daruma_case *c, daruma_moment at);
/* Another piece of its content has come, behind the first. The host says for each attempt, and whenever it changes,
 * whether another call could go on with what came so far (`goes_on`): then a second one is asked beside a stream that
 * falls silent between two pieces for far longer than usual, too. */
DARUMA_API void daruma_case_piece(daruma_case *c, daruma_ms now);
/* The head of an answer has come, and its status is no error. From these and the first content it is learned how long a
 * model usually takes. */
DARUMA_API void daruma_case_headed(daruma_case *c, daruma_moment at);

/* What to do about a call that has brought no content yet. */
typedef enum daruma_silence_act {
    DARUMA_SILENCE_WAIT,  /* nothing: ask again after `look_in` */
    DARUMA_SILENCE_HEDGE, /* ask `target` beside it: daruma_case_hedge() */
} daruma_silence_act;
typedef struct daruma_silence {
    daruma_silence_act act;
    daruma_ms look_in; /* WAIT: ask again after this; -1 never */
    int target;        /* HEDGE: who is asked; may be the same target */
} daruma_silence;

/* Is the attempt under way silent for longer than is usual for its model, and could another target answer? A call is
 * never given up for nothing. Ask from the moment it went out until its first content. A silence that is far longer
 * than usual counts as a failure of its model, though the call goes on. */
DARUMA_API daruma_silence daruma_case_silence(daruma_case *c, daruma_moment at);
/* A second call goes out to `target`, as daruma_case_silence() said. One that is out already is given up: it was silent
 * too. The first that brings content is the answer. `room` is yours, for what is to be known of that call until it ends
 * or is the attempt under way: few cases have one. That of a call which is out already is read before it is written, so
 * it may be the same. */
DARUMA_API void daruma_case_hedge(daruma_case *c, daruma_beside *room, int target, daruma_moment at);
/* The head of an answer to the second call has come. */
DARUMA_API void daruma_case_hedge_headed(daruma_case *c, daruma_moment at);
/* The second call ended and the first goes on: it failed, or (NULL) was not needed. */
DARUMA_API void daruma_case_hedge_ended(daruma_case *c, const daruma_failure *f, daruma_moment at);
/* The second call brought content, or the first failed while it was out: it is the attempt under way from here on. `f`:
 * how the first one failed; NULL: it was silent. */
DARUMA_API void daruma_case_hedge_takes_over(daruma_case *c, const daruma_failure *f, daruma_moment at);

/* The client left, or the attempt says nothing about health. */
DARUMA_API void daruma_case_drop(daruma_case *c, daruma_moment at);
/* The host could not send the newest call, that of the admission or the one beside it: it ends, and counts as none. */
DARUMA_API void daruma_case_unsent(daruma_case *c, daruma_moment at);
/* The case ended with this outcome; later calls change nothing. */
DARUMA_API void daruma_case_close(daruma_case *c, daruma_outcome o, daruma_moment at);
/* How long until some target of the case may be called again: what to say in Retry-After.
 * 0 now, -1 waiting does not help. */
DARUMA_API daruma_ms daruma_case_again_in(const daruma_case *c, const daruma_failure *f, daruma_ms now);

/* ---- the conversation: what was sent, and how it is mended ------------------------------ */

/* A request body of one of four dialects, read: "openai", "openai-responses", "anthropic", "gemini". What is not
 * edited goes out again as the bytes it came in. */
typedef struct daruma_convo daruma_convo;

/* Reads `body`, which must live as long as *ret. EINPUT: not a request of that dialect, or no such dialect; EDEEP;
 * EFULL. */
DARUMA_API daruma_status daruma_convo_read(daruma_str dialect, daruma_str body, daruma_arena *a, daruma_convo **ret);
/* The request as it is now. Unedited: the same bytes. */
DARUMA_API void daruma_convo_write(const daruma_convo *c, daruma_buf *out);
/* Tokens of the whole request, estimated; errs high. */
DARUMA_API int64_t daruma_convo_tokens(const daruma_convo *c);

/* Carries out a remedy that changes the request (CLAMP_OUTPUT, MASK_TOOL_OUTPUT, REPAIR_HISTORY, MEND_MESSAGES,
 * MEND_PARAMETER, LOWER_SCHEMA, LOWER_FORMAT, SHRINK_REQUEST). `window`: tokens of the target's context window, -1
 * unknown. `what` (may be NULL) is told in a line what was done. Twice is as once. False: it does not fit, or not by
 * itself: ask the case for the next one, which builds on what was shortened; write the request after a true. SUMMARISE
 * and COMPACT need a model: see daruma_convo_ask(). */
DARUMA_API bool daruma_convo_mend(daruma_convo *c, daruma_remedy_kind r, const daruma_failure *f,
                                  const daruma_policy *p, int64_t window, daruma_buf *what);
/* SUMMARISE, COMPACT: the questions to a model, as system prompt and user message. Returns how many there are, 0: it
 * does not fit. Ask them as you like, hand each answer to daruma_convo_answer() (empty: the model failed), then call
 * daruma_convo_mend() with the same remedy: true when the request fits now. */
typedef struct daruma_question {
    daruma_str system, user;
    int64_t max_tokens;        /* output cap that suffices for the answer */
    int32_t temperature_milli; /* thousandths; 0: whatever the model's is */
    daruma_str about;          /* what for, in logs: "summary of NAME", "apology" */
} daruma_question;
DARUMA_API size_t daruma_convo_ask(daruma_convo *c, daruma_remedy_kind r, const daruma_failure *f,
                                   const daruma_policy *p, int64_t window, daruma_question *out, size_t max);
DARUMA_API void daruma_convo_answer(daruma_convo *c, size_t i, daruma_str text);

/* JSON of nearly-JSON: fences, quotes, commas, escapes, Python's literals. Valid JSON comes back as it is; empty when
 * only a guess would do, also where two values that differ stand among words. A text that ends before its value does is
 * never completed: it gives nothing, and `cut` (may be NULL) is set. Every string, number and literal of the result
 * stood whole in `broken`. In `a`. */
DARUMA_API daruma_str daruma_json_repair(daruma_str broken, daruma_arena *a, bool *cut);
/* Does a JSON value fit a JSON Schema? If not, `why` (may be NULL) is told where, what was expected and what came. */
DARUMA_API bool daruma_schema_fits(daruma_str schema, daruma_str value, daruma_buf *why);

/* ---- words ------------------------------------------------------------------------- */

/* Writes, for people: what happened, what daruma tried, what they can do. No raw JSON, no
 * secrets. `c` may be NULL (nothing was tried). One paragraph, ends with a period. */
DARUMA_API void daruma_explain(const daruma_failure *f, const daruma_case *c, daruma_buf *out);

/* How the last call to one target failed. */
typedef struct daruma_tried {
    const daruma_target *target;
    daruma_kind kind;
    daruma_net net;
    int status;     /* HTTP status, 0 none */
    daruma_ms wait; /* the provider advised to wait so long, -1 not said */
    uint8_t lacks;  /* as daruma_failure says */
} daruma_tried;

/* Writes what failed at each of `n` targets as one sentence with a space in front: provider and model, kind or trouble
 * of the wire, status, advised wait; nothing of keys, which are counted. Nothing when there is one thing to say. */
DARUMA_API void daruma_tried_say(const daruma_tried *t, size_t n, daruma_buf *out);

/* What the time of a request may have gone to. */
typedef enum daruma_spent_on {
    DARUMA_SPENT_UPLOAD,  /* the client sent its request slowly */
    DARUMA_SPENT_WORK,    /* daruma itself worked on a large request */
    DARUMA_SPENT_KEY,     /* a command printed a key */
    DARUMA_SPENT_REST,    /* waiting for a place that was sick, as other requests had found */
    DARUMA_SPENT_RATE,    /* ... that had said that too little is left of its limit */
    DARUMA_SPENT_ROOM,    /* ... that serves no more calls at once */
    DARUMA_SPENT_TURN,    /* ... of which another request found out whether it is well again */
    DARUMA_SPENT_ADVISED, /* waiting behind a call that failed, as its provider asked */
    DARUMA_SPENT_BACKOFF, /* ... as daruma does by itself */
    DARUMA_SPENT_FAILED,  /* calls that failed */
    DARUMA_SPENT_ENDED,   /* a call that was ended with the time of the request */
    DARUMA_SPENT_SILENT, /* a call that did not begin to answer, until another was asked beside it or the client left */
    DARUMA_SPENT_SUMMARY, /* a question of daruma's own to a model */
    DARUMA_SPENT_BEGIN,   /* the answer began later than is usual */
    DARUMA_SPENT_PAUSE,   /* it paused for longer than is usual, perhaps several times */
    DARUMA_SPENT_READER,  /* the client read it slowly */
    DARUMA_SPENT_ANSWER,  /* all else: the answer itself */
    DARUMA_SPENT
} daruma_spent_on;

/* A part of the time of a request. */
typedef struct daruma_spent {
    daruma_spent_on on;
    bool whole;                  /* the answer was not streamed: it begins when all of it is written */
    daruma_kind kind;            /* what was wrong there, where something was */
    daruma_scope who;            /* which part of the target was waited for */
    const daruma_target *target; /* NULL: none */
    uint32_t times;              /* calls, waits: so many */
    daruma_ms ms;                /* all of them together */
    daruma_ms usual;             /* it usually takes so long, as was known before; -1 unknown */
} daruma_spent;

DARUMA_API const char *daruma_spent_name(daruma_spent_on on); /* "rest", "rate", ... */
/* Writes a part in plain words, its time included: a sentence without its end. */
DARUMA_API void daruma_spent_say(const daruma_spent *s, daruma_buf *out);

/* One step of a case, as an event. Only fields that apply are set; numbers are -1 and
 * strings empty otherwise. Start from DARUMA_EVENT_INIT. */
typedef struct daruma_event {
    const char *name; /* "llm_request_failed", "llm_retry_attempt", ...: see doc/events.md */
    daruma_moment at;
    uint64_t case_id;
    const daruma_failure *failure; /* NULL: none */
    const daruma_target *target;   /* NULL: none */
    const daruma_remedy *remedy;   /* NULL: none */
    daruma_outcome outcome;        /* PENDING: not told */
    int64_t attempt, max_attempts;
    int64_t max_retries; /* the same as the profile's seed counts it: the first call is in it if counts_first */
    daruma_ms delay, took;
    int64_t attempts;  /* calls in all */
    daruma_str reason; /* free text, secrets are removed on writing */

    /* Of mending: */
    int64_t compress_attempt;               /* times the conversation was shortened so far */
    int64_t steps_compressed;               /* tool results, or messages, that were shortened */
    int64_t original_size, compressed_size; /* characters before and after */
    int64_t pruned_count;                   /* tool calls that were removed */
    int64_t answered_count;                 /* tool calls that got a neutral result */
    daruma_str strategy;                    /* how it was mended: a word */
    daruma_str what;                        /* what was done, for people */
    daruma_str from, to;                    /* what was changed, and to what */
    daruma_str original_error;              /* the words of the provider that led to it */
    daruma_str mend_error;                  /* why a remedy could not be carried out; told as compression_error */

    /* Of watching: */
    const struct daruma_verdict *verdict; /* NULL: none */
    int64_t level;                        /* of a notice */
    daruma_str tool;                      /* the tool it is about */
    int64_t confidence;                   /* of a strategy, per mille */
    daruma_str mode, fate;                /* how strategies are taken, and what became of this one */

    /* For joining it with what others wrote. Texts of clients and providers are cut and made harmless on writing: */
    daruma_str client;                   /* the name that the configuration gives it */
    daruma_str asked;                    /* the model, as the client asked for it */
    daruma_str request_id;               /* the client's own */
    daruma_str provider_request_id;      /* the provider's, of the call that failed or answered last */
    daruma_str session;                  /* what the client calls its session; empty: `conversation` is told */
    uint64_t conversation;               /* the same for requests of one conversation; 0 unknown */
    daruma_str traceparent;              /* the client's (W3C); told as trace_id and span_id where it is one */
    const struct daruma_tried *tried;    /* at the end: what failed at each target */
    size_t ntried;                       /* ... so many */
    int64_t input_tokens, output_tokens; /* of the call, as the provider counted them */
    int64_t cost;                        /* ... in billionths of the unit that prices are in */

    /* Of a request that was late: */
    const daruma_spent *spent; /* where its time went, the largest part first */
    size_t nspent;
    const daruma_spent *late_by; /* of them what made it late, the largest; NULL: none. Without `spent`: what it waits
                                    for */
    daruma_ms late;              /* so much later it was for all that made it late; -1 not told */
    bool live;                   /* for who watches while it happens; it is not written */
} daruma_event;
#define DARUMA_EVENT_INIT                                                                                              \
    (daruma_event)                                                                                                     \
    {                                                                                                                  \
        .attempt = -1, .max_attempts = -1, .max_retries = -1, .delay = -1, .took = -1, .attempts = -1,                 \
        .compress_attempt = -1, .steps_compressed = -1, .original_size = -1, .compressed_size = -1,                    \
        .pruned_count = -1, .answered_count = -1, .level = -1, .confidence = -1, .input_tokens = -1,                   \
        .output_tokens = -1, .cost = -1, .late = -1                                                                    \
    }

/* Gives `e` the name that the case's profile tells of this moment with, and what it counts then; e->failure and
 * e->remedy are to be set before. False: the profile is silent, write nothing. */
DARUMA_API bool daruma_event_when(daruma_event *e, daruma_when when, const daruma_case *c);

DARUMA_API void daruma_event_write(const daruma_event *e, daruma_buf *out); /* one JSON line, with newline */
DARUMA_API void daruma_event_say(const daruma_event *e, daruma_buf *out);   /* one readable line */

#ifdef __cplusplus
}
#endif

#include "daruma_watch.h" /* watching an agent: tools that keep failing, circles, strategies */
#endif
