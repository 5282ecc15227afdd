/* pattern.h - text patterns of the phrase table. */
#ifndef JUDGE_PATTERN_H
#define JUDGE_PATTERN_H
#include "daruma_parts.h"

/* Offset behind the first place where pattern `says` fits in `t`, or STR_NONE. */
size_t pattern_find(daruma_str t, const char *says);
#endif
