/* url.h - where a provider is: http(s)://host[:port][/prefix]. */
#ifndef NET_URL_H
#define NET_URL_H
#include "daruma_parts.h"

typedef struct url {
    bool tls;
    daruma_str host;      /* without brackets */
    int port;             /* 443 or 80 unless written */
    daruma_str prefix;    /* path without a trailing slash; empty for none */
    daruma_str authority; /* host[:port] as it goes into Host: no port when it is the default one */
    daruma_str userinfo;  /* before '@', empty when none (proxies only) */
} url;

/* Slices of the result point into `text` or `a`. On failure `why` (may be NULL) is a static sentence. */
bool url_parse(daruma_str text, daruma_arena *a, url *ret, const char **why);

/* Appends it as it is written, without a user. */
void url_say(const url *u, daruma_buf *out);
/* Cuts "host", "host:port", "[v6]" or "[v6]:port"; *ret_port stays as it is where none is written. */
bool url_host_port(daruma_str text, daruma_str *ret_host, int *ret_port);

/* The target (path and query) that a Location field names, if it is on the host of `to`, by the same scheme and port;
 * a slice of it. Empty: it is elsewhere, or no target. */
daruma_str url_same_origin(const url *to, daruma_str location);

/* True for "v1", "v4", "v1beta": how APIs name their versions in a path. */
bool url_is_version(daruma_str segment);

/* Is it "localhost" or a name below it? They never leave the machine and are not looked up (RFC 6761 6.3). */
bool host_is_localhost(daruma_str host);
/* Is it a name or address that only this machine reaches? */
bool host_is_loopback(daruma_str host);

/* ---- pages ---- */

/* What a URL asks for. Slices point into the text or the arena. */
typedef struct url_page {
    url to;
    daruma_str target; /* path and query, fit for a request line */
} url_page;
/* Reads a URL as models and servers write it: a fragment is dropped, what may not stand in a request line is written
 * with percent signs. NULL, or what is wrong with it; static. */
const char *url_read_page(daruma_str text, daruma_arena *a, url_page *ret);
/* The URL that a Location leads to from `from` (RFC 3986 5.2); in `a`. */
daruma_str url_join(const url_page *from, daruma_str location, daruma_arena *a);
#endif
