/* base64.h - bytes that came as base64 (RFC 4648, 4 and 5), as the content of a JSON string. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H
#include "daruma_parts.h"

/* The six bits of a character of either alphabet; -1: it has none. */
int base64_bits(char c);
/* Decodes from `*i` on until `room` is full or the text ends; what is no base64 is passed over: lines may be broken.
 * Returns the bytes. */
size_t base64_read(daruma_str text, size_t *i, char *out, size_t room);
/* Appends what a text says. False: it is no base64, and nothing is appended. */
bool base64_put(daruma_buf *out, daruma_str text);
#endif
