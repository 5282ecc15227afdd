/* dice.h - chance from a seed: the same numbers on every machine. */
#ifndef SIM_DICE_H
#define SIM_DICE_H
#include "daruma_parts.h"

/* A well mixed function of `x` (splitmix64). */
static inline uint64_t dice_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

typedef struct dice {
    uint64_t at; /* how far the sequence has come */
} dice;

static inline uint64_t dice_roll(dice *d)
{
    uint64_t r = dice_mix(d->at);
    d->at += 0x9e3779b97f4a7c15u;
    return r;
}

/* A number from `lo` to `hi`, both included. */
static inline int64_t dice_range(dice *d, int64_t lo, int64_t hi)
{
    return hi <= lo ? lo : lo + (int64_t)(dice_roll(d) % (uint64_t)(hi - lo + 1));
}

/* True `milli` times in a thousand. */
static inline bool dice_chance(dice *d, uint32_t milli)
{
    return dice_roll(d) % 1000 < milli;
}

/* A number from `lo` to `hi` whose logarithm is even: 1 to 10 is as likely as 10 to 100. */
int64_t dice_log_range(dice *d, int64_t lo, int64_t hi);

/* `ms` times a factor around 1 that is spread like the times of real calls: log-normal, sigma 0.3. */
daruma_ms dice_spread(daruma_ms ms, uint64_t roll);
#endif
