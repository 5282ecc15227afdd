/* resume.h - a run goes on where its journal ends: what was recorded is told to a fresh agent, which asks for the same
 * acts again; each is compared with what it asked for then, and none goes out. */
#ifndef RUN_RESUME_H
#define RUN_RESUME_H
#include "store/journal.h"

/* Where a journal ends. */
typedef struct resumed {
    daruma_moment at;   /* of the newest record, by the clock of the run */
    uint32_t recovered; /* questions that were answered behind a failure */
    int64_t inputs;     /* that were told */
    bool out;           /* an act is out that no outcome is recorded of: */
    agent_act act;
    journal_act was; /* ... as it was recorded */
} resumed;

/* When the run began: crew_open() is to be told that. False and a sentence in `why`: the journal is broken. */
bool resume_moment(journal *j, daruma_moment *ret, char why[256]);
/* Tells the agent what was recorded. Behind it crew_next() goes on, unless an act is out. False and a sentence in
 * `why`: the journal is broken, or this agent asks for something else than that one did. Nothing was done then. */
bool resume_replay(journal *j, crew *a, resumed *ret, char why[256]);

/* What a call of a tool that was begun, and of which no end is recorded, came to. */
typedef enum resume_fate {
    RESUME_AGAIN, /* it was not begun, or does no harm twice: it is called again */
    RESUME_DONE,  /* its effect is there */
    RESUME_LOST,  /* nobody knows */
} resume_fate;
const char *resume_fate_words(resume_fate f); /* static */
/* `now`: what stands now where it would write; its `before` counts. */
resume_fate resume_tool(const resumed *r, const journal_look *now);
#endif
