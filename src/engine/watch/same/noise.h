/* noise.h - noise by observation. A harness may put something around each result: a request id, a counter, a clock, an
 * envelope. It means nothing, and what it is called says nothing either; but it differs each time while all around it
 * stays, whatever was called.
 *
 *     def parse(s): ...   (request id: req_4f2a)
 *     3 files changed     (request id: req_91c0)      the edge of each result: ( request id : # )
 *     12 passed in 1.1s   (request id: req_07be)
 */
#ifndef ENGINE_WATCH_SAME_NOISE_H
#define ENGINE_WATCH_SAME_NOISE_H
#include "engine/watch/same/same.h"

#define NOISE_EDGE    20 /* tokens that are remembered of each end of a result */
#define NOISE_MEMBERS 8  /* members of JSON, of a result or of arguments, that are remembered */
#define NOISE_NAMES   4  /* names of members that were found to be noise */

/* What is remembered of a result to tell noise from news. A token is a sign as it is, or a hash of 14 bits; the top
 * bits say that it has digits in it, and letters or signs beside them. A number of digits alone is itself, modulo 2^14.
 * No pointers. */
typedef struct noise_sketch {
    uint64_t between;                                     /* the bytes beside the two ends, where there are any */
    uint64_t middle;                                      /* of a long result, same_bytes.middle */
    uint16_t head[NOISE_EDGE], tail[NOISE_EDGE];          /* from the first token on; from the last one back */
    uint32_t head_echo, tail_echo;                        /* bit i: it stands in the arguments of the call as well */
    uint16_t names[NOISE_MEMBERS], values[NOISE_MEMBERS]; /* of its members that are no objects, lists or long texts */
    uint32_t step;                                        /* the number of the step */
    uint8_t n;                                            /* tokens, at most those of both ends */
    uint8_t nmembers;
    uint8_t member_echo; /* bit i: member i stands in the arguments as well */
    uint8_t words;       /* tokens of the head that have letters; of JSON, words of its texts */
    bool json;           /* it is an object */
} noise_sketch;

/* What is remembered of the arguments of a call: members that are no objects, lists or long texts. */
typedef struct noise_args {
    uint16_t names[NOISE_MEMBERS], values[NOISE_MEMBERS];
    uint8_t drawn; /* bit i: value i looks drawn by lot */
    uint8_t n;
} noise_args;

/* A sketch, and where its tokens are. */
typedef struct noise_view {
    noise_sketch sketch;
    uint32_t head_end[NOISE_EDGE], tail_at[NOISE_EDGE]; /* offsets behind each token of the head, at each of the tail */
} noise_view;

/* An edge that all results have: its tokens, some of them different each time. */
typedef struct noise_edge {
    uint16_t tokens[NOISE_EDGE];
    uint32_t slots; /* bit i: token i differs each time */
    uint8_t n;      /* 0: there is no such edge */
} noise_edge;

/* What was found to be noise in what one agent sends and gets. All zero to begin with. */
typedef struct noise {
    noise_edge head, tail;
    uint16_t names[NOISE_NAMES]; /* of members of results */
    uint16_t args[NOISE_NAMES];  /* of members of arguments */
    uint8_t nnames, nargs;
} noise;

static inline bool noise_known(const noise *known)
{
    return known->head.n || known->tail.n || known->nnames;
}

typedef enum noise_likeness {
    NOISE_OTHER, /* something else differs */
    NOISE_NEAR, /* what differs may be noise: a little, on a line or within a bracket at an edge, or among many words */
    NOISE_SAME, /* nothing differs but what is known to be noise */
} noise_likeness;

/* Where two results differ. */
typedef struct noise_difference {
    uint64_t at;    /* bits of tokens, from the first one on */
    uint32_t n;     /* how many */
    uint32_t words; /* how many words there are beside them */
    bool numbers;   /* one of them is a mere number that does not count the steps, or has no digits */
    bool inner; /* one of them stands neither on a line of its own nor in brackets at an edge, nor alone in a member */
} noise_difference;

/* Looks at the result of a call. Pure. */
void noise_look(daruma_str text, const same_call *call, noise_view *ret);
/* Learns from results of at least two different calls, the newest first. `tools`: those are of different tools, too. */
void noise_learn(noise *known, const noise_sketch *const *results, size_t n, bool tools);
/* Learns that what differs between two results of one call is noise. */
void noise_accept(noise *known, const noise_sketch *a, const noise_sketch *b, const noise_difference *d);
/* The text without the edges that are known to be noise. Borrows. */
daruma_str noise_strip(const noise *known, const noise_view *v, daruma_str text);
/* What an envelope of JSON holds, where members of it are known to be noise: its longest text, unescaped in `a`, and in
 * `*others` a hash of its members that are neither that nor noise. Empty: it is no such envelope. */
daruma_str noise_content(const noise *known, const noise_view *v, daruma_str text, uint64_t *others, daruma_arena *a);
/* Two results of one call, by what is known. */
noise_likeness noise_compare(const noise *known, const noise_sketch *a, const noise_sketch *b, noise_difference *ret);
/* Looks at the arguments of a call. Pure. */
noise_args noise_look_args(daruma_str args);
/* Learns from the arguments of calls, the newest first: a member whose value looks drawn by lot or counts the calls,
 * and never comes twice, whatever is called. `steps`: their numbers. */
void noise_learn_args(noise *known, const noise_args *const *calls, const uint32_t *steps, size_t n);
/* Is a member of that name in arguments noise? */
bool noise_is_arg(const noise *known, daruma_str name);
#endif
