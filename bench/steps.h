/* bench/steps.h - work that is counted in place of time, so that a busy machine does not matter: a step is a block of
 * code that is run, or 32 bytes that the C library goes through. Only code that was compiled for it is counted:
 * `growth_lib` in tests/meson.build. */
#ifndef BENCH_STEPS_H
#define BENCH_STEPS_H
#include <stdint.h>

/* How many there were so far. */
int64_t steps_now(void);
#endif
