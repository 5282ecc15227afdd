#include "steps.h"
#include <stddef.h>

enum { BYTES_A_STEP = 32 }; /* of what the C library does */

static int64_t steps;

int64_t steps_now(void)
{
    return steps;
}

/* What the compiler calls in each block. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    steps++;
}

/* What the linker puts in the place of the C library's. */
#define WRAP(type, name, params, args, n)                                                                              \
    type __real_##name params;                                                                                         \
    type __wrap_##name params;                                                                                         \
    type __wrap_##name params                                                                                          \
    {                                                                                                                  \
        type r = __real_##name args;                                                                                   \
        steps += (int64_t)((n) / BYTES_A_STEP);                                                                        \
        return r;                                                                                                      \
    }
WRAP(void *, memchr, (const void *s, int c, size_t n), (s, c, n), r ? (size_t)((const char *)r - (const char *)s) : n)
WRAP(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), r ? 0 : n) /* what differs does so early */
WRAP(void *, memcpy, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, memmove, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, memset, (void *to, int c, size_t n), (to, c, n), n)
WRAP(void *, memmem, (const void *s, size_t n, const void *p, size_t m), (s, n, p, m),
     r ? (size_t)((const char *)r - (const char *)s) : n)
