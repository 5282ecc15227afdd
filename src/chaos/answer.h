/* answer.h - what the faulty provider answers when nothing is wrong with it. A pure function of the request, so that
 * clients can check every byte: it echoes, it calls the tools it is told to call, it names what they answered. */
#ifndef CHAOS_ANSWER_H
#define CHAOS_ANSWER_H
#include "chaos/ask.h"

enum {
    ANSWER_HEADERS = 24,  /* fields an answer can carry */
    ANSWER_CALLS_MAX = 8, /* tool calls in one answer */
    GO_ON_WAYS_MAX = 16,  /* ways of one model to go on */
};

/* What a part of an answer carries. */
typedef enum answer_part { ANSWER_FRAME, ANSWER_TEXT, ANSWER_ARGUMENTS, ANSWER_THINKING, ANSWER_PARTS } answer_part;

/* An answer as it would go out: whole, with the places where it can be broken. */
typedef struct answer {
    int status;
    daruma_header headers[ANSWER_HEADERS];
    size_t nheaders;
    daruma_str body;
    size_t *ends;          /* where in the body each event of a stream ends; NULL: no stream */
    unsigned char *pieces; /* what each carries: answer_part */
    size_t nends;
    bool stream;
} answer;

/* Ways in which a model itself, not its provider, can fail. */
typedef enum answer_twist {
    ANSWER_GOOD,
    ANSWER_NOTHING,       /* says nothing: empty text, no tool call */
    ANSWER_CHOICELESS,    /* chat: no choices; messages: no blocks; Responses: no output items */
    ANSWER_CUT_SHORT,     /* stops at the output limit */
    ANSWER_FILTERED,      /* stops at the content filter */
    ANSWER_BAD_ARGUMENTS, /* tool calls with broken JSON */
    ANSWER_BAD_TOOL,      /* calls a tool that nobody offered */
} answer_twist;

/* What the model says: text, or tool calls. */
typedef struct speech {
    daruma_str text, thinking;
    daruma_str signature; /* of the thinking */
    daruma_str name[ANSWER_CALLS_MAX], arguments[ANSWER_CALLS_MAX], signed_call[ANSWER_CALLS_MAX];
    size_t ncalls;
    answer_twist twist;
    bool cut;              /* it stops at its output limit */
    bool call_ids;         /* Google: its calls have ids */
    int64_t input, output; /* tokens */
} speech;

/* An answer out of a script. */
typedef struct scripted_call {
    daruma_str name, arguments; /* arguments empty: made up to fit the schema */
} scripted_call;

typedef struct scripted {
    daruma_str text, thinking;
    scripted_call call;   /* the only one, as the script has it; also in `calls` */
    scripted_call *calls; /* ANSWER_CALLS_MAX at most */
    size_t ncalls;
    int64_t times; /* so often in a row; 1 unless said */
} scripted;

/* How a model goes on with a text that broke off. An answer that is begun for it, it goes on with where it ends, unless
 * it begins anew or with something else. */
typedef enum goes_on {
    GO_ON_AS_TOLD,   /* repeats what the user quotes of its end, then goes on; without a quote as EXACT */
    GO_ON_EXACT,     /* where it ends */
    GO_ON_REPEAT,    /* says the last bytes once more first */
    GO_ON_RESTART,   /* from the beginning */
    GO_ON_UNRELATED, /* with something else */
    GO_ON_APOLOGISE, /* as AS_TOLD, behind an apology */
} goes_on;

typedef struct going_on {
    goes_on how;
    int64_t repeat; /* bytes of GO_ON_REPEAT */
} going_on;

/* How it summarises. */
typedef enum summarises { SUMMARY_SHORT, SUMMARY_TEXT, SUMMARY_FAILS, SUMMARY_EMPTY, SUMMARY_LARGER } summarises;

/* How a model answers. All zero: by its request alone. */
typedef struct manner {
    const scripted *script;        /* what it says now; NULL: nothing is scripted */
    int64_t number;                /* which of its scripted answers that is, from 1: {n} in their texts */
    going_on goes_on;              /* how it goes on now */
    going_on ways[GO_ON_WAYS_MAX]; /* several: one is drawn for each request that asks for it in words */
    size_t nways;
    summarises summarises;
    daruma_str summary;
    bool call_ids; /* Google: calls have ids, as those of its newest models do */
    bool thinks;   /* thinking is handed out, signed with `secret`, when it is asked for */
    uint64_t secret;
    daruma_str form; /* of a twist; empty: its first */
} manner;

/* A pure function of the request, the manner and the twist. `m` NULL: all zero. */
speech answer_say(const ask *q, const manner *m, answer_twist twist, daruma_arena *a);
/* The whole answer in the wire of the request. Lives in `a`. */
answer answer_write(const ask *q, const speech *s, daruma_arena *a);
/* Answers to the questions beside the four wires: /v1/models, /v1/embeddings, count_tokens. */
answer answer_embeddings(const ask *q, daruma_arena *a);
answer answer_count(const ask *q, daruma_arena *a);
answer answer_models(const ask *q, const daruma_str *names, size_t n, daruma_arena *a);
answer answer_json(int status, const daruma_buf *body);
void answer_header(answer *x, daruma_str name, daruma_str value);
daruma_str answer_header_of(const answer *x, daruma_str name); /* empty when it has none */

/* A value that fits a JSON schema, made up but always the same. */
void answer_instance(daruma_buf *out, daruma_str schema);
/* The next piece of a text, as models send them: a word or so, never within a character. `least` bytes at least. */
daruma_str answer_piece(daruma_str *rest, size_t least);

/* A provider's error. Strings live as long as the request. */
typedef struct refusal {
    int status; /* 0: nothing is wrong */
    daruma_str type, code, param, message;
    daruma_str details; /* Gemini: a JSON list; empty: none */
    const char *kind;   /* of fault it is like, for reports; NULL unknown */
    bool bare;          /* no body at all */
} refusal;

/* As a body in that wire, or (in band) as the last events of a stream that has begun. */
answer answer_refusal(wire w, const refusal *r, uint64_t id, daruma_arena *a);
void answer_refusal_events(daruma_buf *out, wire w, const refusal *r, uint64_t id);
#endif
