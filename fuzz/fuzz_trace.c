/* fuzz_trace - what tracing reads of others: a client's traceparent, a model's name in an answer, and how many spans a
 * collector refused. */
#include "base/check.h"
#include "base/str.h"
#include "exact.h"
#include "gateway/see/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(daruma_str part, daruma_str whole)
{
    return !part.n || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    exact_pieces x = {0};
    daruma_str text = exact(&x, (daruma_str){(const char *)data, size});
    trace_parent p;
    if (trace_parent_read(text, &p)) {
        check(is_within(p.trace, text) && is_within(p.span, text));
        check(p.trace.n == TRACE_ID_DIGITS && p.span.n == SPAN_ID_DIGITS);
    }
    daruma_str model = trace_model_find(text);
    check(is_within(model, text) && str_findch(model, '"') == STR_NONE);
    check(trace_rejected(text) >= 0);
    exact_end(&x);
    return 0;
}
