/* http_kit.h - what both HTTP fuzzers check: a message reads the same whole and byte by byte, and what was
 * accepted holds nothing that a second reader could take for something else. */
#ifndef FUZZ_HTTP_KIT_H
#define FUZZ_HTTP_KIT_H
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include "exact.h"
#include "net/http.h"

static inline void check_fields(daruma_str raw, const http_head *h)
{
    for (size_t i = 0; i < h->nheaders; i++) {
        daruma_header f = h->headers[i];
        check(f.name.n && f.name.p >= raw.p && f.value.p + f.value.n <= raw.p + raw.n);
        for (size_t k = 0; k < f.name.n; k++)
            check(f.name.p[k] > ' ' && f.name.p[k] != ':' && f.name.p[k] != 0x7f);
        for (size_t k = 0; k < f.value.n; k++)
            check((unsigned char)f.value.p[k] >= ' ' || f.value.p[k] == '\t');
        check(i == 0 || !str_ieq(f.name, S("content-length")) || str_eq(http_header(h, S("content-length")), f.value));
    }
    daruma_str length = http_header(h, S("content-length")), coding = http_header(h, S("transfer-encoding"));
    check(!length.n || !coding.n);
    check(!coding.n || str_ieq(coding, S("chunked")));
    check(h->nheaders <= HTTP_HEADERS_MAX);
}

/* Finds the end of the head, `step` bytes at a time. */
static inline http_found find_head(daruma_str in, size_t step, size_t *end)
{
    http_scan scan = {0};
    http_fault fault;
    for (size_t n = step;; n += step) {
        exact_pieces x = {0};
        daruma_str here = exact(&x, str_sub(in, 0, n));
        http_found found = http_scan_head(&scan, here.p, here.n, &fault);
        exact_end(&x);
        *end = found == HTTP_HERE ? scan.at : 0;
        if (found != HTTP_MORE || n >= in.n)
            return found;
    }
}

/* Decodes chunks, `step` bytes at a time: how it ended, how many bytes, their sum. */
static inline http_chunk decode(daruma_str in, size_t step, size_t *bytes, uint64_t *sum)
{
    http_chunks c = {0};
    *bytes = 0;
    *sum = 0;
    http_chunk got = HTTP_CHUNK_MORE;
    while (in.n && got != HTTP_CHUNK_END && got != HTTP_CHUNK_BAD) {
        exact_pieces x = {0};
        daruma_str piece = exact(&x, str_sub(in, 0, step)), data;
        in = str_from(in, step);
        while (piece.n) {
            got = http_chunks_read(&c, &piece, &data);
            if (got == HTTP_CHUNK_END || got == HTTP_CHUNK_BAD)
                break;
            for (size_t i = 0; got == HTTP_CHUNK_DATA && i < data.n; i++)
                *sum = *sum * 31 + (unsigned char)data.p[i];
            *bytes += got == HTTP_CHUNK_DATA ? data.n : 0;
        }
        exact_end(&x);
    }
    return got == HTTP_CHUNK_DATA ? HTTP_CHUNK_MORE : got;
}

static inline void check_chunks(daruma_str in)
{
    size_t whole, single;
    uint64_t a, b;
    check(decode(in, SIZE_MAX, &whole, &a) == decode(in, 1, &single, &b));
    check(whole == single && a == b && whole <= in.n);
}
#endif
