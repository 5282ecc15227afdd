/* inflate.h - bytes that came compressed though nobody asked for it: gzip (RFC 1952) and deflate (RFC 1950, 1951).
 * Pure. Made for errors and short answers: it reads bit by bit. */
#ifndef BASE_INFLATE_H
#define BASE_INFLATE_H
#include "daruma_parts.h"

/* Appends what `in` was before it was compressed, at most `max` bytes. False: it is longer, damaged or not whole, or
 * `out` is full; what was appended by then means nothing. */
bool inflate_gzip(daruma_str in, daruma_buf *out, size_t max);
bool inflate_zlib(daruma_str in, daruma_buf *out, size_t max); /* "deflate": with its head, or bare as some send it */
#endif
