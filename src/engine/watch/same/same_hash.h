/* same_hash.h - hashing word by word. */
#ifndef ENGINE_WATCH_SAME_SAME_HASH_H
#define ENGINE_WATCH_SAME_SAME_HASH_H
#include "base/str.h"
#include "engine/watch/same/same.h"

#define SAME_K1 UINT64_C(0x9e3779b97f4a7c15)
#define SAME_K2 UINT64_C(0xd6e8feb86659fd93)

static inline uint64_t mix(uint64_t h, uint64_t w)
{
    h = (h ^ w) * SAME_K1;
    return h ^ (h >> 29);
}

static inline uint64_t end(uint64_t h)
{
    h = (h ^ (h >> 32)) * SAME_K2;
    h ^= h >> 32;
    return h ? h : 1;
}

static inline uint64_t load(const char *p, size_t n) /* of up to 8 bytes */
{
    uint64_t w = 0;
    uint32_t a, b;
    if (n >= 8) {
        memcpy(&w, p, 8);
        return w;
    }
    if (n >= 4) {
        memcpy(&a, p, 4);
        memcpy(&b, p + n - 4, 4);
        return a | (uint64_t)b << 32;
    }
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return w;
}

static inline uint64_t word_hash(const char *p, size_t n, uint64_t fold) /* `fold`: bits that are set in each byte */
{
    uint64_t h = SAME_K2 ^ n;
    for (; n > 8; p += 8, n -= 8)
        h = mix(h, load(p, 8) | fold);
    return mix(h, load(p, n) | fold);
}

#define FOLD_CASE UINT64_C(0x2020202020202020)

/* The same as load(), where `room` bytes may be read: mostly without a branch. */
static inline uint64_t load_within(const char *p, size_t n, size_t room)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (room >= 8) {
        uint64_t w, half = n > 4 ? 8 * (n - 4) : 0;
        memcpy(&w, p, 8);
        return n >= 4 ? (uint32_t)w | w >> half << 32 : w & ((UINT64_C(1) << 8 * n) - 1);
    }
#endif
    (void)room;
    return load(p, n);
}

/* word_hash() as it stands and with its case folded; `room` bytes may be read, at least `n`. */
typedef struct word_hashes {
    uint64_t plain, folded;
} word_hashes;

static inline word_hashes word_hash_both(const char *p, size_t n, size_t room)
{
    word_hashes h = {SAME_K2 ^ n, SAME_K2 ^ n};
    uint64_t w;
    for (; n > 8; p += 8, n -= 8, room -= 8) {
        w = load(p, 8);
        h = (word_hashes){mix(h.plain, w), mix(h.folded, w | FOLD_CASE)};
    }
    w = load_within(p, n, room);
    return (word_hashes){mix(h.plain, w), mix(h.folded, w | FOLD_CASE)};
}

static inline void bag_put(uint64_t bag[SAME_BAG], uint64_t h)
{
    bag[(h >> 6) % SAME_BAG] |= UINT64_C(1) << (h & 63);
}
#endif
