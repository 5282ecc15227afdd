#include "engine/read/chars.h"

#define W CHAR_WORD
#define L (CHAR_WORD | CHAR_LOWER)
#define D (CHAR_WORD | CHAR_LOWER | CHAR_DIGIT)
#define Q CHAR_QUOTE

const uint8_t char_kinds[256] = {
    // clang-format off
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, Q, 0, 0, 0, 0, Q, 0, 0, 0, 0, 0, 0, 0, 0,
    D, D, D, D, D, D, D, D, D, D, 0, 0, 0, 0, 0, 0,
    0, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, 0, 0, 0, 0, L,
    Q, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,
    L, L, L, L, L, L, L, L, L, L, L, 0, 0, 0, 0, 0,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    // clang-format on
};
