/* dice.c - the shapes of chance that worlds need, in whole numbers. */
#include "sim/dice.h"

enum { ONE = 1 << 16 }; /* 1.0 in fixed point */

/* 2 to the power of x / ONE, times ONE; within 0.3 %. */
static int64_t exp2_fixed(int64_t x)
{
    int64_t whole = x >= 0 ? x / ONE : -((-x + ONE - 1) / ONE), part = x - whole * ONE;
    int64_t m = ONE + part * (43024 + 22512 * part / ONE) / ONE;
    return whole >= 0 ? m << (whole < 40 ? whole : 40) : m >> (-whole < 40 ? -whole : 40);
}

daruma_ms dice_spread(daruma_ms ms, uint64_t roll)
{
    int64_t sum = 0; /* of four even numbers: nearly normal, mean 2 * ONE, deviation 37,837 */
    for (int i = 0; i < 4; i++)
        sum += (int64_t)((roll >> (16 * i)) & 0xffff);
    return ms * exp2_fixed((sum - 2 * ONE) * 3 / 4) / ONE;
}

int64_t dice_log_range(dice *d, int64_t lo, int64_t hi)
{
    int64_t doublings = 0;
    for (int64_t x = lo; x < hi && doublings < 40; x *= 2)
        doublings++;
    int64_t x = lo * exp2_fixed(dice_range(d, 0, doublings * ONE)) / ONE;
    return x < hi ? x : hi;
}
