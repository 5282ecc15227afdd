/* match.h - finds the first row of the phrase table that fits what was seen. */
#ifndef JUDGE_MATCH_H
#define JUDGE_MATCH_H
#include "engine/judge/phrases.h"

#define SEEN_TEXTS 8  /* error texts that are looked at */
#define SEEN_FACTS 40 /* codes, shapes, stop reason, net and status together */

#define SEEN_LEAD  ((uint64_t)1 << 63) /* of a part: a colon ends it, and the next belongs to the same clause */

#define SEEN_ROWS  1216 /* of the phrase table; a bit each */

#define SEEN_PARTS 48 /* of the clauses of all texts, between their colons; the last holds the rest */

/* What was seen, lower case, white space as single spaces. Put in by seen_text and seen_add. */
typedef struct seen {
    daruma_str texts[SEEN_TEXTS]; /* innermost first */
    size_t ntexts;
    size_t look; /* how many of them are looked at; 0: all */
    struct {
        uint8_t from, n; /* of `parts` */
        bool read;
    } heard[SEEN_TEXTS];        /* what the words of a text mean, once somebody has asked */
    uint64_t parts[SEEN_PARTS]; /* as sentence_next() says, and SEEN_LEAD */
    size_t nparts;
    struct {
        phrase_where where;
        bool known; /* a row stands under it */
        daruma_str says;
    } facts[SEEN_FACTS];
    size_t nfacts;
    daruma_str provider;
    int status;
    phrase_for tool;               /* FOR_MODEL or FOR_TOOL: who spoke */
    bool model_call;               /* it is known that a model was called */
    bool page;                     /* it was an HTML page */
    bool guessed;                  /* it looks so by its words alone */
    bool ended;                    /* texts[0] is how a trail of attempts ended */
    bool answered;                 /* the status was said of the failure itself, not of what carried it */
    bool coded;                    /* the row that match_first() found was read from a code */
    uint64_t words;                /* phrase_bit of each word of the texts */
    uint64_t rows[SEEN_ROWS / 64]; /* rows whose word or fact occurs */
} seen;

void seen_text(seen *s, daruma_str text);                    /* empty or too many: not added */
void seen_add(seen *s, phrase_where where, daruma_str says); /* empty or too many: not added */
/* Does a failure of this kind come with such a status? 0: none is known. */
bool match_status(daruma_kind k, int status);
/* Number of the first row that fits, counted from 1; 0 none. */
uint16_t match_first(seen *s);
phrase match_row(uint16_t row);  /* as match_first() numbers them; 0 or too large: all of it is empty */
bool match_tools(const seen *s); /* does a text hold one of phrases_of_tools? */
bool match_tokens(seen *s);      /* does one speak of tokens? */
bool match_rates(seen *s);       /* does one name a limit per minute or so, and none per day, week or month? */
/* Does the text, case ignored, begin with one of the lower-case names in "a/b/c"? `whole`: as a whole word. */
bool match_begins(daruma_str text, const char *names, bool whole);
#endif
