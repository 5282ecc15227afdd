/* meter.c - see meter.h. Clients name models, so the rows are bounded: the first come have one each, the others share
 * one of their provider. */
#include "gateway/see/meter.h"
#include "base/str.h"
#include <stdlib.h>

const uint32_t meter_times_ms[METER_TIMES] = {10,   20,   40,   80,    160,   320,   640,
                                              1280, 2560, 5120, 10240, 20480, 40960, 81920};
const uint32_t meter_firsts_ms[METER_FIRSTS] = {1,   5,   10,  20,   40,   60,   80,   100,
                                                250, 500, 750, 1000, 2500, 5000, 7500, 10000};
const uint32_t meter_tokens[METER_TOKENS] = {1,     4,     16,     64,      256,     1024,     4096,
                                             16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864};

struct meter {
    meter_sum sums[METER_USES];
    size_t n;
    meter_row *rows[METER_ROWS_MAX + METER_OTHERS_MAX];
};

meter *meter_new(void)
{
    return calloc(1, sizeof(meter));
}

void meter_free(meter *m)
{
    for (size_t i = 0; m && i < m->n; i++) {
        free((char *)(uintptr_t)m->rows[i]->provider.p);
        free(m->rows[i]);
    }
    free(m);
}

size_t meter_rows(const meter *m)
{
    return m->n;
}

const meter_row *meter_row_at(const meter *m, size_t i)
{
    return m->rows[i];
}

static meter_row *found(const meter *m, daruma_str provider, daruma_str model)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->rows[i]->model, model) && str_eq(m->rows[i]->provider, provider))
            return m->rows[i];
    return NULL;
}

/* A row with both names in one block of its own. */
static meter_row *added(meter *m, daruma_str provider, daruma_str model)
{
    meter_row *r = m->n < COUNT(m->rows) ? calloc(1, sizeof *r) : NULL;
    char *names = r ? malloc(provider.n + model.n + 1) : NULL;
    if (!names) {
        free(r);
        return NULL;
    }
    if (provider.n)
        memcpy(names, provider.p, provider.n);
    if (model.n)
        memcpy(names + provider.n, model.p, model.n);
    r->provider = (daruma_str){names, provider.n};
    r->model = (daruma_str){names + provider.n, model.n};
    return m->rows[m->n++] = r;
}

static meter_row *row_of(meter *m, daruma_str provider, daruma_str model)
{
    static const daruma_str other = LIT("_other");
    model = str_sub(model, 0, METER_NAME_BYTES_MAX);
    meter_row *r = found(m, provider, model);
    if (r)
        return r;
    if (m->n < METER_ROWS_MAX)
        return added(m, provider, model);
    r = found(m, provider, other);
    return r ? r : added(m, provider, other);
}

static void put(uint64_t *buckets, const uint32_t *bounds, size_t n, uint64_t *sum, int64_t value)
{
    size_t i = 0;
    while (i < n && value > bounds[i])
        i++;
    buckets[i]++;
    *sum += (uint64_t)value;
}

void meter_count(meter *m, const drive_result *r)
{
    bool well = r->outcome == DARUMA_OUTCOME_OK || r->outcome == DARUMA_OUTCOME_RECOVERED;
    meter_row *row = r->target && !r->passed ? row_of(m, r->target->provider, r->target->model) : NULL;
    if (!row || r->outcome == DARUMA_OUTCOME_CANCELLED_)
        return;
    put(well ? row->well : row->failed, meter_times_ms, METER_TIMES, well ? &row->well_ms : &row->failed_ms, r->took);
    if (r->first >= 0)
        put(row->first, meter_firsts_ms, METER_FIRSTS, &row->first_ms, r->first);
    if (r->input_tokens >= 0)
        put(row->input, meter_tokens, METER_TOKENS, &row->input_tokens, r->input_tokens);
    if (r->output_tokens >= 0)
        put(row->output, meter_tokens, METER_TOKENS, &row->output_tokens, r->output_tokens);
}

static void add_known(int64_t *sum, int64_t v)
{
    *sum = v > 0 ? add_sat(*sum, v) : *sum;
}

void meter_pay(meter *m, meter_use u, int64_t input_tokens, int64_t output_tokens, int64_t cost)
{
    add_known(&m->sums[u].input_tokens, input_tokens);
    add_known(&m->sums[u].output_tokens, output_tokens);
    add_known(&m->sums[u].cost, cost);
}

const meter_sum *meter_paid(const meter *m, meter_use u)
{
    return &m->sums[u];
}
