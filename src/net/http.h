/* http.h - HTTP/1.1 as daruma speaks it: strict, both ways, without I/O. Sits on llhttp and
 * refuses what that accepts (RFC 9112; doc/decisions.md says why each):
 * obs-fold, bare CR, several or missing Hosts, empty or odd field names, Content-Length with
 * Transfer-Encoding, duplicate or conflicting Content-Length, codings other than a final single
 * chunked, versions but 1.0 and 1.1, absurd chunk sizes, too many or too long fields. */
#ifndef NET_HTTP_H
#define NET_HTTP_H
#include "daruma.h"

/* The head of a request or an answer. Slices point into memory of the message. */
typedef struct http_head {
    int status;                   /* of an answer; 0 in a request */
    daruma_str method;            /* of a request */
    daruma_str target;            /* of a request: origin-form, as sent */
    daruma_str path, query;       /* of the target: before and behind the first '?' */
    const daruma_header *headers; /* in order, names as sent */
    size_t nheaders;
    int64_t length; /* body bytes announced; -1 chunked, or until close (answers only) */
    bool keep_alive;
    bool http10;
} http_head;

/* Value of the first field of that name (any case); empty when there is none. */
daruma_str http_header(const http_head *h, daruma_str name);
/* Is `name` a field that belongs to one connection (RFC 9110 7.6.1) and never travels on?
 * `connection` is the value of the Connection field, which may name more. */
bool http_is_hop_by_hop(daruma_str name, daruma_str connection);
const char *http_reason(int status); /* "Not Found"; "" unknown */
#endif
