/* Any bytes as an answer; the first says whether the request was HEAD. */
#include "http_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static daruma_header room[HTTP_HEADERS_MAX];
    if (n < 2)
        return 0;
    daruma_str in = {(const char *)p + 1, n - 1};
    size_t end, same;
    http_found found = find_head(in, in.n, &end);
    check(found == find_head(in, 1, &same) && end == same);
    if (found != HTTP_HERE)
        return 0;
    http_head h;
    http_fault fault = {0};
    bool until_close, to_head = p[0] & 1;
    daruma_str raw = str_sub(in, 0, end);
    if (!http_read_answer(raw, to_head, room, &h, &until_close, &fault))
        return 0;
    check_fields(raw, &h);
    check(h.status >= 100 && h.status <= 999);
    check(!to_head || (h.length == 0 && !until_close));
    check(!until_close || (h.length == -1 && !h.keep_alive));
    if (h.length < 0 && !until_close)
        check_chunks(str_from(in, end));
    return 0;
}
