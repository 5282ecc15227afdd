/* http.h - HTTP/1.1 as daruma speaks it: strict, both ways, without I/O. Sits on llhttp and
 * refuses what that accepts (RFC 9112; doc/decisions.md says why each):
 * obs-fold, bare CR, several or missing Hosts, empty or odd field names, Content-Length with
 * Transfer-Encoding, duplicate or conflicting Content-Length, codings other than a final single
 * chunked, versions but 1.0 and 1.1, absurd chunk sizes, too many or too long fields. */
#ifndef NET_HTTP_H
#define NET_HTTP_H
#include "daruma_parts.h"
#include "base/buf.h"

/* The head of a request or an answer. Slices point into memory of the message. */
typedef struct http_head {
    int status;                   /* of an answer; 0 in a request */
    uint64_t names;               /* http_name_bit() of the names of its fields; 0 not known */
    daruma_str method;            /* of a request */
    daruma_str host;              /* of a request: uri-host[:port], the target's, else Host's; empty: HTTP/1.0 */
    daruma_str path, query;       /* of a request's target: before and behind the first '?' */
    const daruma_header *headers; /* in order, names as sent */
    size_t nheaders;
    int64_t length; /* body bytes announced; -1 chunked, or until close (answers only) */
    bool keep_alive;
    bool http10;
} http_head;

/* Value of the first field of that name (any case); empty when there is none. */
daruma_str http_header_find(const http_head *h, daruma_str name);
/* A bit for a name, in any case, by its length and its first letter. */
static inline uint64_t http_name_bit(daruma_str name)
{
    return (uint64_t)1 << (name.n * 5 + (name.n ? name.p[0] & 0x1f : 0)) % 64;
}
/* The same, quick: nearly always it is asked for what is not there. */
static inline daruma_str http_header(const http_head *h, daruma_str name)
{
    bool may_be = !h->names || h->names & http_name_bit(name);
    return may_be ? http_header_find(h, name) : (daruma_str){0};
}
const char *http_reason(int status); /* "Not Found"; "" unknown */

/* ---- reading ---- */

/* Why a message is refused. */
typedef struct http_fault {
    int status;      /* what a client is answered: 400, 414, 417, 431, 501, 505 */
    const char *why; /* a static sentence */
} http_fault;

/* How far the end of a head has been looked for. All zero at its first byte. */
typedef struct http_scan {
    size_t at;      /* bytes of whole lines seen */
    uint32_t lines; /* how many */
} http_scan;

typedef enum http_found {
    HTTP_MORE, /* bytes are missing */
    HTTP_HERE, /* the whole thing is there */
    HTTP_BAD,  /* it never will be: see the fault */
} http_found;

/* Looks for the empty line that ends the head at p[0..n), the same bytes as before and perhaps more.
 * HTTP_HERE: scan->at is the length of the head with that line, and its lines are text between CR LFs.
 * Cheap to call again and again. */
http_found http_scan_head(http_scan *scan, const char *p, size_t n, http_fault *fault);

/* Reads the whole head that http_scan_head() found. Fields go to `room`, which has place for
 * HTTP_HEADERS_MAX; slices point into `raw`. False and a fault when RFC 9112 or we forbid it. */
bool http_read_request(daruma_str raw, daruma_header *room, http_head *ret, http_fault *fault);
/* The same for an answer. `to_head`: the request was HEAD, so no body follows whatever is announced.
 * ret->length is 0 when there is no body, -1 for chunked and until close (`until_close`). */
bool http_read_answer(daruma_str raw, bool to_head, daruma_header *room, http_head *ret, bool *until_close,
                      http_fault *fault);

/* Bytes that wait until more of their message is there; on malloc. All zero: none. */
typedef struct http_rest {
    char *p;
    size_t n, cap;
} http_rest;

/* Keeps `in`: appends it, or when it is the tail of what is kept already, drops what stands before it.
 * Empty: gives the memory back. False without memory. */
bool http_rest_keep(http_rest *r, daruma_str in);

/* Decodes a chunked body (RFC 9112 7.1). All zero at its first byte. */
typedef struct http_chunks {
    uint64_t left;     /* bytes missing from this chunk */
    uint32_t line;     /* bytes of this line, or of all trailers */
    uint8_t state, nd; /* where it is; hex digits of this size */
} http_chunks;

typedef enum http_chunk {
    HTTP_CHUNK_MORE, /* `in` is used up */
    HTTP_CHUNK_DATA, /* *data has bytes of the body */
    HTTP_CHUNK_END,  /* the body is complete; `in` is what follows it */
    HTTP_CHUNK_BAD,  /* no chunked body */
} http_chunk;

/* Takes bytes from the front of `in`. Trailer fields are checked for form and dropped. */
http_chunk http_chunks_read(http_chunks *c, daruma_str *in, daruma_str *data);

/* ---- writing ---- */

/* Appends a number in hexadecimal digits: the size of a chunk. */
void http_put_hex(daruma_buf *b, uint64_t v);
/* Appends "name: value\r\n". Left out when the bytes would break the framing (line ends, NUL, odd name). */
void http_put_field(daruma_buf *b, daruma_str name, daruma_str value);
#endif
