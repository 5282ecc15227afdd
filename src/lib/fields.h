/* fields.h - JSON objects as structs, by a table of members: read, with the first mistake in a sentence; and printed.
 */
#ifndef LIB_FIELDS_H
#define LIB_FIELDS_H
#include "base/str.h"

typedef enum field_kind {
    FIELD_BOOL,  /* bool */
    FIELD_INT,   /* int64_t */
    FIELD_COUNT, /* uint32_t */
    FIELD_MILLI, /* uint32_t, thousandths of a number that may have a fraction */
    FIELD_TEXT,  /* daruma_str */
    FIELD_WORD,  /* int: the place of the word in `words` */
    FIELD_OWN    /* as read() and print() have it */
} field_kind;

/* Where a reading stands. */
typedef struct fields_at {
    daruma_arena *a;   /* for what is kept */
    daruma_buf *why;   /* the first mistake; empty: none so far */
    const char *whole; /* what the outermost object is called */
    char path[128];    /* of the object at hand: "targets[1]."; empty: the outermost */
} fields_at;

typedef struct field {
    const char *name;
    field_kind kind;
    size_t at;         /* in the struct */
    int64_t min, max;  /* of numbers, both included */
    const char *words; /* of FIELD_WORD, a space between two */
    bool (*read)(fields_at *f, daruma_str value, void *base);
    void (*print)(const void *base, daruma_buf *out); /* NULL: not printed */
} field;

/* Reads the members of `object`, by a table of at most 64 rows; what it does not name stays as it is in *base. False:
 * f->why says what is wrong. */
bool fields_read(fields_at *f, const field *table, size_t n, daruma_str object, void *base);
/* Reads each element of `array` so, with the table `n` rows long, into elements of `size` bytes that begin as *usual.
 * Makes them in f->a. */
bool fields_read_list(fields_at *f, const char *name, const field *table, size_t n, daruma_str array, const void *usual,
                      size_t size, size_t most, void **ret, size_t *ret_n);
/* Says what is wrong with the member `name` of the object at hand; returns false. */
bool fields_wrong(fields_at *f, const char *name, const char *what);
/* Says that there is no such `what`, and which one is near; `instead` where none is. Returns false. */
bool fields_unknown(fields_at *f, const char *name, const char *what, const str_near *near, const char *instead);
/* One of `words`, which stand with a space between two; -1: none of them, and that is said. */
int fields_word(fields_at *f, const char *name, const char *words, daruma_str value);
/* Writes *base as a JSON object. */
void fields_print(const field *table, size_t n, const void *base, daruma_buf *out);
#endif
