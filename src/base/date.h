/* date.h - reads the dates and durations that providers send. Pure. */
#ifndef BASE_DATE_H
#define BASE_DATE_H
#include "daruma_parts.h"

/* Each returns milliseconds since 1970, or -1 when the text is not of its form. */
int64_t date_http(daruma_str s);    /* RFC 9110 5.6.7, all three forms */
int64_t date_rfc3339(daruma_str s); /* "2026-01-02T03:04:05.678Z", "+02:00" */
/* A duration in milliseconds, -1 when it is none: "6m0s", "1.5s", "20ms", "1h2m", "1d", "38s".
 * `used` (may be NULL) gets the bytes it took; with NULL all of `s` must be the duration. */
int64_t date_duration(daruma_str s, size_t *used);
/* A decimal number ("1.25") in thousandths; false when it is not one. Saturates. */
bool date_milli(daruma_str s, int64_t *ret);
/* `wall` unix seconds as "2026-01-02T03:04:05Z" into out[21]. */
void date_write(int64_t wall, char out[21]);
/* The same for people: "2026-01-02 03:04:05", UTC, into out[20]. */
void date_say(int64_t wall, char out[20]);
#endif
