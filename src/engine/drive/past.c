/* past.c - histories that the provider keeps. A request that goes on from a stored answer brings the results of calls
 * that stand in that answer and nowhere in the request, so what answers called is remembered by their ids. The oldest
 * make room. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/watch.h"
#include <xxhash.h>

typedef struct kept {
    char *items;
    size_t n;
} kept;

struct past {
    uint64_t keys[STORED_ANSWERS_MAX]; /* apart: they are looked through */
    kept kept[STORED_ANSWERS_MAX];
    uint32_t newest, oldest; /* counted on; at their number modulo STORED_ANSWERS_MAX */
    size_t bytes;
};

enum { KEYED_STORED = 3 };

uint64_t past_before(session *x)
{
    return x->d == &dialect_openai_responses && x->scan.before
               ? keyed(session_tenant(x), KEYED_STORED, x->scan.before, 0)
               : 0;
}

uint64_t past_key(session *x, daruma_str id)
{
    if (x->scan.conversing)
        return past_before(x);
    return id.n ? keyed(session_tenant(x), KEYED_STORED, XXH3_64bits(id.p, id.n), 0) : 0;
}

/* Its place; STORED_ANSWERS_MAX: it is not there. */
static uint32_t past_find(const past *s, uint64_t key)
{
    for (uint32_t i = s->newest; i != s->oldest; i--)
        if (s->keys[(i - 1) % STORED_ANSWERS_MAX] == key)
            return (i - 1) % STORED_ANSWERS_MAX;
    return STORED_ANSWERS_MAX;
}

daruma_str past_calls(const watch *w, uint64_t key)
{
    const past *s = w->past;
    uint32_t at = s && key ? past_find(s, key) : STORED_ANSWERS_MAX;
    return at < STORED_ANSWERS_MAX ? (daruma_str){s->kept[at].items, s->kept[at].n} : (daruma_str){0};
}

static void forget_oldest(const drive_rooms *rooms, past *s)
{
    kept *k = &s->kept[s->oldest++ % STORED_ANSWERS_MAX];
    s->bytes -= k->n;
    rooms->give(k->items);
    *k = (kept){0};
}

/* Custom tools and shells: as they came. */
static void put_raw(daruma_buf *b, daruma_str item)
{
    if (!dialect_client_call(item))
        return;
    if (b->n)
        buf_putc(b, ',');
    buf_put(b, item);
}

/* Calls; or, where nothing was called, the words, since an agent may go in circles with words alone. `items`: those of
 * a stream, as they came. */
static daruma_str items_of(const turn *t, daruma_str items, daruma_arena *scratch)
{
    daruma_str item;
    convo owner = {.arena = scratch};
    daruma_buf b = buf_in(scratch), words = buf_in(scratch);
    for (size_t i = 0; i < t->message.nparts; i++) {
        convo_part *p = &t->message.parts[i];
        if (p->kind == PART_TEXT)
            buf_put(&words, convo_text(&owner, p));
        if (p->kind == PART_OTHER)
            put_raw(&b, p->raw);
        if (p->kind != PART_CALL || p->dropped)
            continue;
        buf_putz(&b, b.n ? "," : "");
        BUF_OBJECT(&b, "type", "function_call", "call_id", p->id, "name", p->name, "arguments", convo_text(&owner, p));
    }
    for (json_iter it = json_open(items); json_next(&it, NULL, &item);)
        put_raw(&b, item);
    if (!b.n && words.n)
        BUF_OBJECT(&b, "role", "assistant", "content", buf_str(&words));
    return b.full || words.full ? (daruma_str){0} : buf_str(&b);
}

void past_put(watch *w, uint64_t key, const turn *t, daruma_str of_stream, daruma_arena *scratch)
{
    daruma_str items = items_of(t, of_stream, scratch);
    if (!key || !items.n || items.n > STORED_ANSWER_BYTES_MAX ||
        (!w->past && !(w->past = w->rooms->take(sizeof *w->past))))
        return;
    past *s = w->past;
    uint32_t at = past_find(s, key);
    if (at < STORED_ANSWERS_MAX) /* a conversation: only its newest answer waits for results */
        s->keys[at] = 0;
    while (s->newest - s->oldest == STORED_ANSWERS_MAX || s->bytes + items.n > STORED_BYTES_MAX)
        forget_oldest(w->rooms, s);
    char *copy = w->rooms->take(items.n);
    if (!copy)
        return;
    memcpy(copy, items.p, items.n);
    s->keys[s->newest % STORED_ANSWERS_MAX] = key;
    s->kept[s->newest++ % STORED_ANSWERS_MAX] = (kept){.items = copy, .n = items.n};
    s->bytes += items.n;
}

void past_free(const drive_rooms *rooms, past *s)
{
    while (s && s->oldest != s->newest)
        forget_oldest(rooms, s);
    rooms->give(s);
}
