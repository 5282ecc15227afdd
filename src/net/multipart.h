/* multipart.h - walks the parts of a form (multipart/form-data, RFC 7578). Nothing is copied.
 *
 *     --B\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--B--
 *                                                  ^---^         ^-------^
 *                                                   name           value
 */
#ifndef NET_MULTIPART_H
#define NET_MULTIPART_H
#include "daruma_parts.h"
#include "base/limits.h"

/* All zero: nothing to walk. */
typedef struct multipart {
    daruma_str rest;      /* from behind a delimiter on */
    daruma_str delimiter; /* CR LF, two dashes and the boundary */
    char room[MULTIPART_BOUNDARY_MAX + 4];
    bool bad; /* no form, cut, or readers may find other parts in it: what was walked is not all, or not sure */
} multipart;

/* Begins with a body and its Content-Type. Once `bad` it stays so. */
void multipart_open(multipart *m, daruma_str content_type, daruma_str body);
/* The next part: its name, empty where it has none that can be read, and its value. False: there is no more. */
bool multipart_next(multipart *m, daruma_str *name, daruma_str *value);
#endif
