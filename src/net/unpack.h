/* unpack.h - bytes that came compressed though nobody asked for it. */
#ifndef NET_UNPACK_H
#define NET_UNPACK_H
#include "daruma_parts.h"

/* Appends what `in` was before it was compressed as the field content-encoding says (gzip, deflate), at most `max`
 * bytes. False: that is something else, it is longer, damaged or not whole, or `out` is full; then `out` is as it was.
 * Any thread. */
bool unpack(daruma_str coding, daruma_str in, daruma_buf *out, size_t max);
#endif
