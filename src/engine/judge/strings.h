/* strings.h - the strings of a JSON text, which may be cut: names of members and values, in order. */
#ifndef JUDGE_STRINGS_H
#define JUDGE_STRINGS_H
#include "daruma_parts.h"

typedef struct judge_text {
    size_t from, n; /* without its quotes */
    daruma_str key; /* the member it is the value of, or the member before it in a list */
    bool is_key;
} judge_text;

/* The next string of `s` from `*i` on, which moves behind it. `ret` goes from call to call, all zero to begin with. Of
 * JSON that is cut the last string ends with it. False: there is none. */
bool judge_string(daruma_str s, size_t *i, judge_text *ret);
#endif
