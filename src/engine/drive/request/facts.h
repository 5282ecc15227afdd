/* facts.h - what is known of a target when a request is written for it: lessons of its lane, and the most of a response
 * format that it takes. */
#ifndef ENGINE_DRIVE_REQUEST_FACTS_H
#define ENGINE_DRIVE_REQUEST_FACTS_H
#include "base/limits.h"
#include "engine/mend/request/request.h"

typedef struct drive_facts {
    mend_lesson lessons[LESSONS_APPLIED_MAX]; /* `applied` of each: it changed this request */
    size_t nlessons, nknown;                  /* the first `nknown` are of the lane, the others of this request alone */
    convo_format most;                        /* of a response format; FORMAT_SCHEMA: nothing was refused */
    uint32_t habits, habits_known;            /* for mend_habits(); those of the lane */
    bool half_thought;                        /* the client has thinking that broke off before its signature */
    bool signs;                               /* ... and its provider was seen to refuse that */
    /* done */
    mend_report report;
    bool parameters, formats; /* a lesson changed the request; its response format came down */
    bool messages;            /* its messages were changed */
} drive_facts;

/* Does what is known to a request in the target's dialect. Any thread. */
void drive_facts_apply(drive_facts *f, convo *c);

#endif
