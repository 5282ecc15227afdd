/* xxhash.c - the functions of xxHash that are used, compiled in from its header. Of the shared library a process holds
 * 80 KB for them, and it brings an allocator, which this floor does not have. Who includes <xxhash.h> gets these: the
 * build says XXH_NAMESPACE=daruma_, so a host may link an xxHash of its own beside them. */
#define XXH_INLINE_ALL
#include <xxhash.h>

XXH64_hash_t daruma_XXH3_64bits(const void *data, size_t n);
XXH64_hash_t daruma_XXH3_64bits_withSeed(const void *data, size_t n, XXH64_hash_t seed);
XXH128_hash_t daruma_XXH3_128bits(const void *data, size_t n);
XXH128_hash_t daruma_XXH3_128bits_withSeed(const void *data, size_t n, XXH64_hash_t seed);
int daruma_XXH128_isEqual(XXH128_hash_t a, XXH128_hash_t b);

XXH64_hash_t daruma_XXH3_64bits(const void *data, size_t n)
{
    return XXH3_64bits(data, n);
}

XXH64_hash_t daruma_XXH3_64bits_withSeed(const void *data, size_t n, XXH64_hash_t seed)
{
    return XXH3_64bits_withSeed(data, n, seed);
}

XXH128_hash_t daruma_XXH3_128bits(const void *data, size_t n)
{
    return XXH3_128bits(data, n);
}

XXH128_hash_t daruma_XXH3_128bits_withSeed(const void *data, size_t n, XXH64_hash_t seed)
{
    return XXH3_128bits_withSeed(data, n, seed);
}

int daruma_XXH128_isEqual(XXH128_hash_t a, XXH128_hash_t b)
{
    return XXH128_isEqual(a, b);
}
