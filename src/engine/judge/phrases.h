/* phrases.h - what providers say, and what it means: one table, first row that fits wins. */
#ifndef JUDGE_PHRASES_H
#define JUDGE_PHRASES_H
#include "daruma_parts.h"

/* What a row looks at. Most are facts that are equal or not. */
typedef enum phrase_where {
    AT_TEXT,     /* the error message, lower case */
    AT_CODE,     /* a code, type, reason or class name, lower case */
    AT_FINISH,   /* the stop reason of an answer, lower case */
    AT_SHAPE,    /* the form of the body: "html", "empty_answer", ... */
    AT_NET,      /* what the wire did, by daruma_net_name() */
    AT_STATUS,   /* "429" or "5xx" */
    AT_SENTENCE, /* what the words of one clause of the message mean, as sentence.c reads it */
    AT_MESSAGE,  /* what those of the whole message mean */
} phrase_where;

/* Which evidence a row is for. */
typedef enum phrase_for {
    FOR_ANY,
    FOR_MODEL, /* not when it is known to be a tool; a guess that it is one it overrules */
    FOR_TOOL,  /* when it is known to be a tool */
} phrase_for;

/* Of a row whose words are weak beside some statuses. */
enum {
    STATUS_OF_KIND = 1, /* below 500, and such a failure has it; or none */
    STATUS_REFUSED,     /* below 500 */
    STATUS_SILENT,      /* one that leaves it to the body to say what happened */
    STATUS_GOOD = 6,    /* below 400, or none: whoever reads the answer says it */
    STATUS_UNREFUSED,   /* none of 4xx, which are of the request */
};

enum phrase_retry { RETRY_BY_KIND, RETRY_YES, RETRY_NO };

/* What the numbers of the message still decide. */
enum phrase_sum {
    SUM_NONE,
    SUM_FILLS_WINDOW, /* requested output alone >= limit: output_limit, else the row's kind */
};

/* A text pattern is a substring that begins at a word's beginning: `*` is anything within one
 * text (" * " one space, too), `^` its beginning, `$` its end, `|` the end (or beginning) of a word,
 * `#` a digit. A parameter that the body names apart is a text of its own, "param=...".
 * Of a sentence `says` names the meanings that must be there, "context.exceeded", `also` those of which one must, and
 * `unless` those that must not. */
typedef struct phrase {
    const char *name;   /* what is equal stands behind the '.' that ends it: "code." is "code.forbidden" */
    const char *says;   /* lower case; what `where` must contain or be */
    const char *unless; /* a text pattern that forbids the row; NULL none */
    const char *also;   /* a text pattern that must be there as well; NULL none */
    const char *who;    /* provider hint must begin with one of these, '/' between; NULL any */
    uint16_t status;    /* 0 any, 4 or 5 its class, one of the above, else that status */
    uint8_t where, kind, tool_kind, retry, only, sum;
    const char *const
        *any; /* of phrases.c: sayings up to a NULL, each of which makes a row with all the rest; NULL: `says` */
} phrase;

/* Of phrases.c, which tools/phrase_index.c reads at build time. What classifies asks match_row(). */
extern const phrase phrases[];
extern const uint16_t nphrases;

#define PHRASE_PREFIX 5 /* bytes of a word that count for the index: the open end of "exceed" finds "exceeded" */

/* Text patterns that decide no kind but tell who spoke: a wrapper that ran a tool, whoever it was. NULL ends them. */
extern const char *const phrases_of_tools[];

/* A word of a text pattern by which it can be looked up, the first PHRASE_PREFIX bytes of it:
 * one that is as long or whose end the pattern shows. `nth` counts from 0; empty: no more. */
daruma_str phrase_word(const char *says, int nth);
/* FNV-1a over the bytes, begun with `where` so that the same word means different things. */
static inline uint32_t phrase_hash_more(uint32_t h, char c)
{
    return (h ^ (unsigned char)c) * 16777619u;
}
static inline uint32_t phrase_hash(phrase_where where, daruma_str s)
{
    uint32_t h = 2166136261u ^ (uint32_t)where * 0x9e3779b9u;
    for (size_t i = 0; i < s.n; i++)
        h = phrase_hash_more(h, s.p[i]);
    return h;
}
/* A set of words as bits, each word one: what lacks a bit of a pattern's words lacks a word of it. */
static inline uint64_t phrase_bit(uint32_t hash)
{
    return (uint64_t)1 << (hash * 0x9e3779b9u >> 26);
}
#endif
