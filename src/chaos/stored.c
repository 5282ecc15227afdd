#include "chaos/stored.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdlib.h>
#include <xxhash.h>

enum { PLACES = 16 }; /* an answer stands in one of so many places, or has been forgotten */

typedef struct kept_answer {
    uint64_t id, owner; /* hashes */
    int64_t tokens;     /* of the conversation up to it */
    int64_t calls;
} kept_answer;

struct stored {
    kept_answer answers[CHAOS_STORED_MAX];
};

stored *stored_new(void)
{
    return calloc(1, sizeof(stored));
}

void stored_free(stored *s)
{
    free(s);
}

/* Answers and their items are named by the hash of the request: "resp_0123456789abcdef00". 0: that is no such id. */
static uint64_t hash_of(daruma_str id)
{
    uint64_t h = 0;
    size_t at = str_findch(id, '_');
    daruma_str hex = at == STR_NONE ? (daruma_str){0} : str_sub(id, at + 1, 16);
    for (size_t i = 0; i < hex.n; i++) {
        char c = ch_lower(hex.p[i]);
        if (!ch_digit(c) && !(c >= 'a' && c <= 'f'))
            return 0;
        h = h << 4 | (uint64_t)(ch_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return hex.n == 16 ? h : 0;
}

static const kept_answer *kept_find(const stored *s, uint64_t id, uint64_t owner)
{
    for (size_t i = 0; id && i < PLACES; i++) {
        const kept_answer *k = &s->answers[(id + i) % CHAOS_STORED_MAX];
        if (k->id == id && k->owner == owner)
            return k;
    }
    return NULL;
}

void stored_add(stored *s, const ask *q, const speech *said, daruma_str owner)
{
    uint64_t whose = XXH3_64bits(owner.p, owner.n);
    kept_answer *to = &s->answers[q->hash % CHAOS_STORED_MAX];
    for (size_t i = 0; i < PLACES; i++) {
        kept_answer *k = &s->answers[(q->hash + i) % CHAOS_STORED_MAX];
        if (k->id == 0 || (k->id == q->hash && k->owner == whose)) {
            to = k;
            break;
        }
    }
    *to = (kept_answer){q->hash, whose, q->tokens + said->output, (int64_t)said->ncalls};
}

daruma_str stored_find(const stored *s, ask *q, daruma_str owner, bool *item, daruma_arena *a)
{
    uint64_t whose = XXH3_64bits(owner.p, owner.n);
    daruma_str m;
    *item = false;
    if (q->previous.n) {
        const kept_answer *k = kept_find(s, hash_of(q->previous), whose);
        if (!k || !str_starts(q->previous, S("resp_")))
            return q->previous;
        q->tokens = add_sat(q->tokens, k->tokens);
        q->left_calls = k->calls;
    }
    *item = true;
    json_iter it = json_open(q->messages);
    while (json_is_array(q->messages) && json_next(&it, NULL, &m)) {
        daruma_str type = json_text(json_get(m, S("type")), a), id = json_text(json_get(m, S("id")), a);
        if (str_eq(type, S("item_reference")) && !kept_find(s, hash_of(id), whose))
            return id;
    }
    return (daruma_str){0};
}
