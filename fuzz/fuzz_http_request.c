/* Any bytes as a request, and what follows its head as chunks. */
#include "http_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static daruma_header room[HTTP_HEADERS_MAX];
    daruma_str in = {(const char *)p, n};
    size_t end, same;
    if (n == 0)
        return 0;
    http_found found = find_head(in, n, &end);
    check(found == find_head(in, 1, &same) && end == same);
    if (found != HTTP_HERE)
        return 0;
    http_head h;
    http_fault fault = {0};
    daruma_str raw = str_sub(in, 0, end);
    if (!http_read_request(raw, room, &h, &fault)) {
        check(fault.status >= 400 && fault.status < 600 && fault.why);
        return 0;
    }
    check_fields(raw, &h);
    check(h.path.n && h.path.p[0] == '/' && str_findch(h.path, ' ') == STR_NONE);
    check(str_findch(h.path, '?') == STR_NONE && str_findch(h.query, ' ') == STR_NONE);
    check(h.http10 || (h.host.n && http_header(&h, S("host")).n));
    check(str_findch(h.host, '/') == STR_NONE && str_findch(h.host, '@') == STR_NONE);
    if (h.length < 0)
        check_chunks(str_from(in, end));
    return 0;
}
