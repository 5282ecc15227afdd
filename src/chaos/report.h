/* report.h - what came and what was done to it: counted for the final report, for GET /chaos/report and for the
 * expectations of a script. */
#ifndef CHAOS_REPORT_H
#define CHAOS_REPORT_H
#include "chaos/script.h"

/* Counts by name; a name beyond CHAOS_NAMES_MAX is counted as "others". */
typedef struct tally {
    struct tally_row {
        char *name; /* malloc */
        int64_t n;
    } * rows;
    size_t nrows, cap;
} tally;

typedef struct report {
    int64_t calls;    /* to the provider; questions to /chaos/ are not counted */
    int64_t answered; /* well, to their end: status 200, nothing done to them that a client would see as a failure */
    int64_t refused;  /* because of what they said, be it silently */
    int64_t largest;  /* tokens of the largest request to a model */
    int64_t open;     /* still under way */
    int64_t most_open;
    int64_t aborted;            /* the client left before the end */
    daruma_ms aborted_after_ms; /* of the newest: from the request to noticing; -1 none */
    daruma_ms mark;             /* when POST /chaos/mark came; -1 none */
    daruma_ms noticed_ms;       /* from that mark to the next abort noticed; -1 none */
    daruma_ms began;
    tally models, answered_models, keys, faults, paths, statuses, refusals, purposes;
    tally circled, told, listened; /* by model: answers in circles, requests that tell it to stop, models that did */
    struct body_count {
        uint64_t hash;
        int64_t n;
    } * bodies; /* calls of each body: open addressing, a power of two */
    size_t nbodies, bodies_cap;
    int64_t most_calls; /* of one body */
} report;

void report_init(report *r, daruma_ms now);
void report_done(report *r); /* frees; all zero afterwards */
void tally_add(tally *t, daruma_str name);
void report_body(report *r, uint64_t hash);                      /* one more call of that body */
void report_json(const report *r, daruma_ms now, daruma_buf *b); /* GET /chaos/report */
/* Judges the expectations into {"ok":...,"failed":[...]}; or for people when `plain`. True: all hold. */
bool report_judge(const report *r, const script *s, bool plain, daruma_buf *b);
/* For people, some lines. */
void report_text(const report *r, daruma_ms now, daruma_buf *b);
#endif
