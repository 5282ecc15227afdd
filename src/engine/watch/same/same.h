/* same.h - when two calls are the same call, and two results the same result. */
#ifndef ENGINE_WATCH_SAME_SAME_H
#define ENGINE_WATCH_SAME_SAME_H
#include "daruma_parts.h"

struct noise;      /* engine/watch/same/noise.h */
struct told_pairs; /* engine/watch/told.h */

#define SAME_BAG  4  /* words of 64 bits: a set of words, of each one bit */
#define SAME_ECHO 24 /* words of the arguments that are known again in the result */

/* What is known of the arguments of a call. No pointers. */
typedef struct same_call {
    uint64_t call;  /* identity of tool and canonical arguments, never 0 */
    uint64_t shape; /* the same, whatever the numbers in it */
    uint64_t kept;  /* the same, however long it is to wait */
    uint64_t place; /* the same, wherever its NAME_PAGE numbers are */
    uint64_t file;  /* of the member that is named as a path, or of the first that reads as one; 0: none */
    uint64_t words[SAME_BAG];
    uint32_t length; /* words in all */
    uint32_t echo[SAME_ECHO];
    uint32_t necho;
    unsigned names;            /* bits of words_name of all its arguments */
    uint32_t objects;          /* members that say neither how long nor why */
    bool waits;                /* an argument says how long to wait */
    bool file_named;           /* the name of the member that is `file` says that it is one */
    daruma_str command;        /* what a shell is to do; empty: no argument says so. Borrowed */
    daruma_str action;         /* {"action":"poll"}; borrowed */
    daruma_str text;           /* the first member that is a string; borrowed */
    const struct noise *known; /* what is left out, while it is read; NULL: nothing */
} same_call;

typedef struct same_result {
    uint64_t result;      /* identity without what is volatile, never 0 */
    uint64_t list;        /* ... whatever the order of its lines, where they are those of a list */
    uint64_t plain;       /* ... with it */
    uint64_t masked;      /* ... without any number, nor words of the arguments */
    uint64_t opens;       /* its first line, or as much of it as says what it is about, byte for byte */
    uint32_t pairs, news; /* words side by side; of them those that were not told before */
    uint64_t words[SAME_BAG];
    bool echoes; /* words of the arguments stand in it */
    bool varies; /* something in it changes by itself, and is not in `result` */
} same_result;

/* A step byte for byte: what was given before is not read again. */
typedef struct same_bytes {
    uint64_t step;   /* of all that was given, never 0 */
    uint64_t middle; /* of a long result, what same_of_result() needs of what is between its ends */
} same_bytes;

/* Pure. `tool`: same_of_name() of its tool. */
same_bytes same_of_bytes(const daruma_step *step, uint64_t tool);

/* Pure. Reads long strings only as far as SAME_STRING_BYTES_MAX word by word, the rest as bytes. `known`: members that
 * are noise are left out; NULL: none. */
same_call same_of_call(daruma_str tool, daruma_str args, const struct noise *known);
/* `bytes` of the same result; NULL: not at hand. What it tells goes into `told`; NULL: nobody asks for news. */
same_result same_of_result(daruma_str result, bool failed, const same_call *call, const same_bytes *bytes,
                           struct told_pairs *told);

uint64_t same_of_name(daruma_str tool);            /* of its name alone, without blanks around it; never 0 */
unsigned same_count(const uint64_t bag[SAME_BAG]); /* bits that are set */
#endif
