/* test.h - what every test includes: cmocka and a few checks for slices. */
#ifndef TEST_H
#define TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "daruma_parts.h"
#include "base/str.h"

/* A slice equals a C string. */
#define assert_str(s, z)                                                                                               \
    do {                                                                                                               \
        daruma_str got_ = (s);                                                                                         \
        if (!str_eq(got_, str_of(z)))                                                                                  \
            fail_msg("got \"" STR_FMT "\", want \"%s\"", STR_ARG(got_), (z));                                          \
    } while (0)

/* A moment at `now` milliseconds: tests never read the clock. */
static inline daruma_moment at(daruma_ms now)
{
    return (daruma_moment){.now = now, .wall = 1767225600 + now / 1000, .dice = 0x9e3779b97f4a7c15u};
}
#endif
