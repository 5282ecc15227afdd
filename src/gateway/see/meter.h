/* meter.h - how long answers took and how many tokens they had, for each model of each provider: what GET /metrics
 * shows beside the counters of the driver. */
#ifndef GATEWAY_METER_H
#define GATEWAY_METER_H
#include "base/limits.h"
#include "engine/drive/drive.h"

typedef struct meter meter;

enum { METER_TIMES = 14, METER_FIRSTS = 16, METER_TOKENS = 14 };

/* The bounds of buckets as OpenTelemetry advises them (semantic conventions of GenAI metrics). */
extern const uint32_t meter_times_ms[METER_TIMES];
extern const uint32_t meter_firsts_ms[METER_FIRSTS];
extern const uint32_t meter_tokens[METER_TOKENS];

/* How many values were as small as the bound or smaller but larger than the one before; the last: larger than all. */
typedef struct meter_row {
    daruma_str provider, model; /* "_other": of models beyond METER_ROWS_MAX */
    uint64_t well[METER_TIMES + 1], failed[METER_TIMES + 1], first[METER_FIRSTS + 1];
    uint64_t input[METER_TOKENS + 1], output[METER_TOKENS + 1];
    uint64_t well_ms, failed_ms, first_ms, input_tokens, output_tokens; /* sums */
} meter_row;

/* What tokens were for. */
typedef enum meter_use {
    METER_PAID,   /* requests that went well at once, or ended without an answer */
    METER_SAVED,  /* requests that were answered behind a failure: the answer */
    METER_WASTED, /* answers that failed on the way */
    METER_USES
} meter_use;
typedef struct meter_sum {
    int64_t input_tokens, output_tokens;
    int64_t cost; /* billionths of the unit of `prices` */
} meter_sum;

meter *meter_new(void); /* NULL without memory */
void meter_free(meter *m);
/* A request is over. What nobody was asked for counts nowhere. */
void meter_count(meter *m, const drive_result *r);
/* Adds tokens and what they cost; what is below 0 is not known and counts nothing. */
void meter_pay(meter *m, meter_use u, int64_t input_tokens, int64_t output_tokens, int64_t cost);
const meter_sum *meter_paid(const meter *m, meter_use u);
size_t meter_rows(const meter *m);
const meter_row *meter_row_at(const meter *m, size_t i);
#endif
