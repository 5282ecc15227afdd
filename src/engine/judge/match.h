/* match.h - finds the first row of the phrase table that fits what was seen. */
#ifndef JUDGE_MATCH_H
#define JUDGE_MATCH_H
#include "engine/judge/phrases.h"

#define SEEN_TEXTS 8  /* error texts that are looked at */
#define SEEN_FACTS 40 /* codes, shapes, stop reason, net and status together */

/* What was seen, lower case, white space as single spaces. */
typedef struct seen {
    daruma_str texts[SEEN_TEXTS]; /* innermost first */
    size_t ntexts;
    struct {
        phrase_where where;
        daruma_str says;
    } facts[SEEN_FACTS];
    size_t nfacts;
    daruma_str provider;
    int status;
    phrase_for tool; /* FOR_MODEL, FOR_MAYBE or FOR_TOOL: how much it looks like a tool */
    bool guessed;    /* it looks so by its words alone */
} seen;

void seen_add(seen *s, phrase_where where, daruma_str says); /* empty or too many: not added */
/* Number of the first row that fits, counted from 1; 0 none. */
uint16_t match_first(const seen *s);
/* Offset behind the first place where pattern `says` fits in `text`, or STR_NONE. */
size_t match_text(daruma_str text, const char *says);
#endif
