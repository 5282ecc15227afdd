/* validate.h - what real providers refuse in a request, in their own words. Texts are from providers' pages and
 * from errors as people reported them. */
#ifndef CHAOS_VALIDATE_H
#define CHAOS_VALIDATE_H
#include "chaos/answer.h"

/* What a model can hold. */
typedef struct model_limits {
    int64_t window;     /* tokens, input and output together; -1 no limit */
    int64_t max_output; /* tokens; -1 no limit */
    bool alternate;     /* Messages: roles must alternate (older models, Bedrock); else same roles in a row merge */
} model_limits;

/* The first thing that is wrong with a request to one of the three wires; status 0: nothing is. */
refusal validate(const ask *q, const model_limits *m, daruma_arena *a);
/* The same for its credentials, where `known` tells whether the key is. */
refusal validate_key(const ask *q, bool known, daruma_arena *a);
refusal refuse_model(const ask *q, daruma_arena *a); /* no such model */
refusal refuse_path(const ask *q, daruma_arena *a);  /* no such path */

/* A refusal with a formatted message. */
refusal refuse(int status, const char *type, const char *code, const char *param, daruma_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
#endif
