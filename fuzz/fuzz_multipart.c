/* Any bytes as a Content-Type, a line end, and a form. */
#include "base/check.h"
#include "base/str.h"
#include "exact.h"
#include "net/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    daruma_str in = {(const char *)p, n}, body = in, type = str_cut(&body, '\n'), name, value;
    multipart m;
    size_t behind = 0;
    multipart_open(&m, type, body);
    bool form = !m.bad;
    while (multipart_next(&m, &name, &value)) {
        size_t at = (size_t)(value.p - body.p), named = name.n ? (size_t)(name.p - body.p) : at;
        check(!m.bad && form);
        check(at >= behind && at + value.n <= body.n); /* parts stand one behind the other */
        check(named >= behind && named + name.n <= at);
        check(str_find(value, str_from(m.delimiter, 1)) == STR_NONE);
        behind = at + value.n;
    }
    check(!multipart_next(&m, &name, &value)); /* the end stays the end */
    return 0;
}
