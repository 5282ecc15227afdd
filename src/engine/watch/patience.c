/* patience.c - how often a call may give the same result before it is a circle: by what it does, and by what it hears.
 */
#include "engine/watch/rules.h"

static unsigned patience_of_failure(unsigned m, unsigned w)
{
    bool waits = rule_has(m, DARUMA_TOOL_WAITS | WORDS_PAUSES | WORDS_ASKS);
    bool acts = rule_has(m, DARUMA_TOOL_ACTS) && !rule_has(m, WORDS_WEAK);
    if (rule_has(w, WORDS_MISUSED)) /* "invalid argument: timeout" */
        return TIMES_SURE;
    if (acts && rule_has(w, WORDS_UNCLEAR))
        return TIMES_SURE; /* it may have taken effect each time */
    bool stays_so = rule_has(w, WORDS_ABSENT) || (rule_has(w, WORDS_REFUSED) && rule_has(w, WORDS_PLEA)),
         polite = stays_so && !rule_has(w, WORDS_ALIVE | WORDS_LIMITED | WORDS_UNMADE);
    if (rule_has(w, WORDS_RETRY) && polite && !waits)
        return TIMES_LIKELY; /* "no such page, please try again", "syntax error, fix it and retry" */
    if (rule_has(w, WORDS_RETRY))
        return waits ? TIMES_WAITS : TIMES_RETRY;
    if (waits && rule_has(w, WORDS_ALIVE) && !rule_has(w, WORDS_OVER))
        return TIMES_WAITS;
    if (rule_has(m, WORDS_PAUSES) && !rule_has(w, WORDS_REFUSED | WORDS_OVER)) /* until it is there */
        return rule_has(w, WORDS_EMPTY | WORDS_SHORT) ? TIMES_WAITS : TIMES_RETRY;
    if (waits && rule_has(w, WORDS_EMPTY) && !rule_has(w, WORDS_ABSENT))
        return TIMES_WAITS;
    bool stays = rule_has(m, DARUMA_TOOL_READS) && rule_has(w, WORDS_SAME); /* "unchanged since you read it" */
    if (rule_has(w, WORDS_ALIVE) && !rule_has(w, WORDS_OVER | WORDS_REFUSED | WORDS_ABSENT) && !stays)
        return TIMES_RETRY;
    if (waits && rule_has(w, WORDS_OVER))
        return TIMES_SURE;
    bool in_vain = rule_has(w, WORDS_SAME) && rule_has(m, DARUMA_TOOL_WRITES); /* "no replacement was made" */
    return in_vain || rule_has(w, WORDS_ABSENT | WORDS_REFUSED) ? TIMES_SURE : TIMES_LIKELY;
}

static unsigned patience_of_success(unsigned m, unsigned w)
{
    bool acts = rule_has(m, DARUMA_TOOL_ACTS) && !rule_has(m, WORDS_WEAK | WORDS_INPUT);
    bool waits = rule_has(m, DARUMA_TOOL_WAITS | WORDS_PAUSES), asks = rule_has(m, WORDS_ASKS);
    if (waits &&
        (rule_has(w, WORDS_MISUSED) || (rule_has(w, WORDS_REFUSED) && !rule_has(w, WORDS_ALIVE | WORDS_RETRY))))
        return TIMES_SURE;
    if ((waits || asks) && rule_has(w, WORDS_OVER | WORDS_ABSENT) && !rule_has(w, WORDS_ALIVE))
        return TIMES_SURE;
    if (waits || (asks && rule_has(w, WORDS_ALIVE)) ||
        (rule_has(w, WORDS_STANDS) && !acts && !rule_has(m, DARUMA_TOOL_WRITES)))
        return TIMES_WAITS;
    if (asks || (rule_has(w, WORDS_STATED) && !acts && !rule_has(w, WORDS_OVER) && !rule_has(m, DARUMA_TOOL_WRITES)))
        return TIMES_ASKS;
    bool whole = rule_has(m, DARUMA_TOOL_READS) && !rule_has(w, WORDS_EMPTY | WORDS_SHORT | WORDS_FEW);
    if (rule_has(m, WORDS_RANDOM) && whole) /* a sample that is the same to the last word was not drawn anew */
        return TIMES_MAYBE;
    if ((rule_has(m, WORDS_RANDOM) && !rule_has(w, WORDS_ACK)) ||
        (rule_has(m, WORDS_INPUT) && rule_has(w, WORDS_ACK | WORDS_EMPTY)))
        return TIMES_RETRY;
    if (rule_has(m, WORDS_MOVES)) /* a number may stay as it is for a while; a whole text seldom does */
        return rule_has(w, WORDS_SHORT | WORDS_ACK | WORDS_EMPTY) ? TIMES_MAYBE : TIMES_LIKELY;
    return rule_has(w, WORDS_ACK | WORDS_EMPTY | WORDS_SHORT) ? TIMES_LIKELY : TIMES_SURE;
}

unsigned patience_of(const seen *e)
{
    bool failed = (e->flags & SEEN_FAILED) != 0;
    unsigned n = failed ? patience_of_failure(e->means, e->says) : patience_of_success(e->means, e->says);
    enum { IDLE = WORDS_IDLE | DARUMA_TOOL_READS }; /* a comment looks at nothing: it may be how somebody waits */
    bool idle = (e->means & IDLE) == IDLE && !rule_has(e->means, DARUMA_TOOL_WAITS | WORDS_PAUSES);
    /* What was begun before may go on meanwhile; "(no output)" is short. */
    bool goes_on = (e->says & (WORDS_STANDS | WORDS_SHORT)) == WORDS_STANDS;
    if (!failed && idle && !(e->flags & SEEN_ECHO) && !goes_on) /* "true": neither an effect nor an answer */
        n = TIMES_SURE;
    bool little = rule_has(e->says, WORDS_ACK | WORDS_EMPTY | WORDS_SHORT);
    if (failed || !(e->flags & SEEN_MOVED) || rule_has(e->says, WORDS_OVER))
        return n;
    if (!little && n < TIMES_MAYBE)
        n = TIMES_MAYBE;
    else if (!rule_has(e->says, WORDS_ACK) && n > TIMES_SURE && n < TIMES_ASKS)
        n += 2; /* what moved before may move again, "done" says of nothing how it stands */
    return n;
}
