/* validate.h - what real providers refuse in a request, in their own words. Texts are from providers' pages and
 * from errors as people reported them. A function of the request: tests link it. */
#ifndef CHAOS_ORACLE_VALIDATE_H
#define CHAOS_ORACLE_VALIDATE_H
#include "chaos/answer.h"

/* Names, or names with values, out of a script. */
typedef struct word_list {
    daruma_header *at; /* name and value; the value is empty in a list */
    size_t n;
} word_list;

/* How a model says that its window is full. */
typedef enum overflow_form {
    OVERFLOW_PLAIN,    /* its wire's words, with numbers where that has some */
    OVERFLOW_VAGUE,    /* words without numbers */
    OVERFLOW_VLLM,     /* the words of vLLM ... */
    OVERFLOW_LLAMA,    /* ... and of llama.cpp */
    OVERFLOW_EMPTY,    /* 400 without a body */
    OVERFLOW_EMPTY413, /* 413 without a body */
    OVERFLOW_USAGE,    /* not at all: it answers, and its usage counts more than the window */
    OVERFLOW_LENGTH,   /* not at all: it stops at its limit with nothing said, at a full window */
} overflow_form;

/* Which response formats a model takes. */
typedef enum format_level { FORMATS_ANY, FORMATS_OBJECT, FORMATS_TEXT } format_level;
/* How it refuses the others (P-F28). */
typedef enum format_words {
    FORMAT_SAYS_PLAIN,         /* the wire's own words */
    FORMAT_SAYS_CODE,          /* code invalid_json_schema */
    FORMAT_SAYS_SCHEMA,        /* Invalid schema for response_format ... */
    FORMAT_SAYS_INVALID,       /* response_format is invalid */
    FORMAT_SAYS_OUTPUT_FORMAT, /* output_format.schema: ... */
    FORMAT_SAYS_MUST,          /* must be text or json_object */
} format_words;

/* What a model can hold, and what else it is strict about. Where nothing else is said, zero is "not". */
typedef struct model_limits {
    int64_t window;     /* tokens, input and output together; -1 no limit */
    int64_t max_output; /* tokens; -1 no limit */
    bool alternate;     /* roles must alternate; else same roles in a row merge */
    int refuse_prefill; /* 1: the last message must not be the model's */
    bool signatures;    /* thinking is handed out signed, and only what was signed with `secret` is taken back */
    bool strict;        /* members that the API does not have are refused */
    uint64_t secret;
    int64_t max_bytes;     /* of a request's body; 0 no limit */
    int overflow;          /* overflow_form */
    int formats;           /* format_level */
    int format_words;      /* format_words */
    word_list unsupported; /* parameters */
    word_list renamed;     /* parameters and what they are called now */
    word_list max;         /* parameters and their largest value */
    word_list fixed;       /* parameters and the only value they may have */
    word_list keywords;    /* of JSON Schema, refused in tools and formats; "empty_properties": objects without any */
} model_limits;

/* The first thing that is wrong with a request to one of the four wires; status 0: nothing is. */
refusal validate(const ask *q, const model_limits *m, daruma_arena *a);
/* Is it more than the window holds, whatever the model says to that? */
bool validate_overflows(const ask *q, const model_limits *m);
/* The same for its credentials, where `known` tells whether the key is. */
refusal validate_key(const ask *q, bool known, daruma_arena *a);
refusal refuse_model(const ask *q, daruma_arena *a); /* no such model */
refusal refuse_path(const ask *q, daruma_arena *a);  /* no such path */
/* What an earlier call left on the server is not there for this key. `item`: a reference to one item. */
refusal refuse_stored(daruma_str id, bool item, daruma_arena *a);

/* A refusal with a formatted message. Gemini: `type` is its status ("INVALID_ARGUMENT"). */
refusal refuse(int status, const char *type, const char *code, const char *param, daruma_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Signs a text that a model has thought. Lives in `a`. */
daruma_str sign_thought(uint64_t secret, daruma_str text, daruma_arena *a);
#endif
