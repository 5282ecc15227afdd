/* doctor.h - what the files of `daruma doctor` share: a list of findings. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H
#include "gateway/config/config.h"

typedef enum finding_state { FINDING_OK, FINDING_WARNING, FINDING_WRONG } finding_state;

typedef struct finding {
    finding_state state;
    daruma_str about; /* "keys of main" */
    daruma_str what;  /* how it is */
    daruma_str step;  /* what to do; empty: nothing */
} finding;

enum { FINDINGS_MAX = 1024, FINDING_BYTES = 600 };

typedef struct findings {
    daruma_arena *a;
    finding at[FINDINGS_MAX]; /* what is beyond is not told */
    size_t n;
} findings;

/* Adds one. `step`, or "", is what to do; the rest is printed as printf does, at most FINDING_BYTES of it. */
void finding_put(findings *f, finding_state s, daruma_str about, const char *step, const char *what, ...)
    __attribute__((format(printf, 5, 6)));

/* Fetches every key: those that a command prints are asked for. `secrets` gets one for each key of each provider in
 * order, in f->a, empty where there is none. */
void doctor_keys(findings *f, const config *c, daruma_str *secrets);
size_t doctor_nkeys(const config *c);
/* Asks each provider for its list of models: name, connection, TLS, clock, and whether it takes each key. */
void doctor_connect(findings *f, const config *c, const daruma_str *secrets);
#endif
