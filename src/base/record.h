/* record.h - a struct as one line of JSON and back, by a table of its members. What a line does not say stays zero, and
 * members that a reader does not know are passed over: a later version reads what an earlier one wrote. */
#ifndef BASE_RECORD_H
#define BASE_RECORD_H
#include "daruma_parts.h"

typedef enum record_type {
    RECORD_ID,     /* uint64_t, in hexadecimal digits */
    RECORD_WHOLE,  /* a signed or unsigned integer of 1, 2, 4 or 8 bytes; never below 0 */
    RECORD_COUNT,  /* the same, of how often or when it was used: no part of what a record says */
    RECORD_SIGNED, /* int64_t */
    RECORD_FLAG,   /* bool */
    RECORD_ROW,    /* an array of int32_t */
    RECORD_TEXT,   /* an array of char with a NUL at the end */
    RECORD_TIME    /* daruma_ms of a monotonic clock, 0 none: kept as its distance from now */
} record_type;

typedef struct record_member {
    const char *name;
    uint16_t at, bytes; /* where it stands in the struct, and its size */
    uint8_t type;       /* record_type */
} record_member;

#define RECORD_MEMBER(type_, struct_, name_, member_)                                                                  \
    {                                                                                                                  \
        .name = (name_), .at = offsetof(struct_, member_), .bytes = sizeof(((struct_ *)0)->member_), .type = (type_)   \
    }

typedef struct record_table {
    const char *what; /* the name of such records */
    const record_member *members;
    size_t n;
} record_table;

#define RECORD_TIMELESS INT64_MIN /* as `now`: times and counts are left out, what says the same reads the same */

/* Appends `{"is":WHAT` and the members of *p that are not zero, each with a comma before it. The caller appends what
 * else there is to say, and "}\n". */
void record_write(daruma_buf *out, const record_table *t, const void *p, daruma_ms now);
/* Fills *p, all zero before, from a line. `aged` is the time that went by since it was written. False: a member is not
 * of its type, or does not fit; *p is of no use. */
bool record_read(const record_table *t, daruma_str line, void *p, daruma_ms now, daruma_ms aged);
/* The name of the record in a line; empty: it is no record. */
daruma_str record_name(daruma_str line);
/* The hexadecimal digits of an id, as record_write() wrote them. False: it is none. */
bool record_id(daruma_str value, uint64_t *ret);
#endif
