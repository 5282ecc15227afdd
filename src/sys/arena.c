/* arena.c - arenas on malloc. */
#include "sys/arena.h"
#include "base/check.h"
#include <stdlib.h>

/* Blocks are a list, newest first; the first block of all carries the account of the whole.
 *
 *   a->host -> [account | block | bytes...]     account.newest -> [block | bytes...] -> ... -> NULL  */
typedef struct block {
    struct block *older; /* NULL: it is the one behind the account */
} block;

typedef struct account {
    size_t limit,
        taken;   /* bytes that may be and have been taken: blocks that are done with count what is used of them */
    size_t last; /* size of the newest block */
    block *newest;
} account;

/* For something of so many bytes at once there is room to grow: each time that a list moves it leaves itself behind,
 * and what is not touched is no memory. */
enum { LARGE_BYTES = 1 << 20, LARGE_TIMES = 8 };

static bool more(daruma_arena *a, size_t need)
{
    account *all = a->host;
    size_t tail = (size_t)(a->end - a->beg); /* of the newest block: never used, nor touched, once there is another */
    size_t left = all->limit - all->taken + tail;
    if (left < sizeof(block) || need > left - sizeof(block))
        return false;
    size_t want = all->last * 2; /* doubling: a large exchange needs few blocks, a small one wastes little */
    if (need >= LARGE_BYTES && want < left / 2)
        want = need < left / 2 / LARGE_TIMES ? need * LARGE_TIMES : left / 2;
    if (want < need + sizeof(block))
        want = need + sizeof(block);
    if (want > left)
        want = left;
    block *b = malloc(want);
    if (!b && !(b = malloc(want = need + sizeof(block)))) /* addresses may be few */
        return false;
    b->older = all->newest;
    all->newest = b;
    all->taken += want - tail;
    all->last = want;
    a->beg = (char *)(b + 1);
    a->end = (char *)b + want;
    return true;
}

bool sys_arena_init(daruma_arena *a, size_t first_bytes, size_t limit_bytes)
{
    size_t n = sizeof(account) + first_bytes;
    check(first_bytes <= SIZE_MAX / 2);
    account *all = malloc(n);
    *a = (daruma_arena){0};
    if (!all)
        return false;
    *all = (account){.limit = limit_bytes > n ? limit_bytes : n, .taken = n, .last = n};
    a->beg = (char *)(all + 1);
    a->end = (char *)all + n;
    a->more = more;
    a->host = all;
    return true;
}

void sys_arena_done(daruma_arena *a)
{
    account *all = a->host;
    if (all) {
        for (block *b = all->newest, *older; b; b = older) {
            older = b->older;
            free(b);
        }
        free(all);
    }
    *a = (daruma_arena){0};
}

bool sys_arena_again(daruma_arena *a)
{
    account *all = a->host;
    if (!SYS_KEEPS || !all || all->newest)
        return false;
    a->beg = (char *)(all + 1);
    a->full = false;
    return true;
}

void sys_arena_widen(daruma_arena *a, size_t limit_bytes)
{
    account *all = a->host;
    if (all && all->limit < limit_bytes)
        all->limit = limit_bytes;
}

void *sys_arena_fit(daruma_arena *a, void *p)
{
    account *all = a->host, *fit;
    size_t used = (size_t)(a->beg - (char *)all), at = (size_t)((char *)p - (char *)all);
    check(!all->newest);
    if (!(fit = realloc(all, used)))
        return p;
    fit->taken = fit->last = used;
    a->host = fit;
    a->beg = a->end = (char *)fit + used;
    return (char *)fit + at;
}

size_t sys_arena_bytes(const daruma_arena *a)
{
    const account *all = a->host;
    return all ? all->taken - (size_t)(a->end - a->beg) : 0;
}

void *sys_take(size_t n)
{
    return calloc(1, n);
}
