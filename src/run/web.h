/* web.h - the tool http.get: reads a page or a file of text from the web. */
#ifndef RUN_WEB_H
#define RUN_WEB_H
#include "run/tools.h"
#include "net/upstream.h"

/* Adds it. `up` is read when a call begins, and outlives the table; it decides which addresses are connected to
 * (upstream_settings.public_only). False: there is no room in the table. */
bool web_add(toolset *t, upstream **up);

/* What a URL asks for. Slices point into the text or the arena. */
typedef struct web_place {
    url to;
    daruma_str target; /* path and query, fit for a request line */
} web_place;
/* Reads a URL as models and servers write it: a fragment is dropped, what may not stand in a request line is written
 * with percent signs. NULL, or what is wrong with it; static. */
const char *web_place_read(daruma_str text, daruma_arena *a, web_place *ret);
/* The URL that a Location leads to from `from` (RFC 3986 5.2); in `a`. */
daruma_str web_place_join(const web_place *from, daruma_str location, daruma_arena *a);
#endif
