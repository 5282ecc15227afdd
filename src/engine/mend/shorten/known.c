/* known.c - what was compressed once is compressed the same way when the client sends it again: a table in memory that
 * the host gives, with a ring of texts. The oldest make room for new ones, but those of who has less than the newcomer:
 * they are moved behind the newest.
 *
 *     heads[hash] --> entry --> entry          entries: a queue, oldest first
 *                       |                      texts:   |....dead....|oldest ......... newest|..dead..|
 *                       +--> its text
 *
 * A result is known by tenant, call and content; a compaction by tenant and all messages before its end. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/record.h"
#include "base/str.h"
#include "engine/mend/shorten/compact.h"
#include <xxhash.h>

#define NONE UINT32_MAX

typedef struct entry {
    XXH128_hash_t key;
    size_t at;         /* of its text in the ring */
    uint32_t n;        /* bytes of it */
    uint32_t next;     /* in its chain, NONE at the end */
    uint32_t from, to; /* a compaction: messages of the client before it, and before its end; 0, 0: a result */
    uint16_t owner;    /* owner_of() the tenant */
    bool dead;         /* another one took its place */
} entry;

struct mend_known {
    entry *entries;
    uint32_t *heads;
    char *texts;
    size_t room, write;        /* bytes of the ring, where the next text goes */
    uint32_t slots, mask;      /* entries there may be; heads - 1 */
    uint32_t first, n, live;   /* the queue; entries in it that are not dead */
    size_t bytes;              /* of texts that are not dead */
    size_t held[KNOWN_OWNERS]; /* of them, of each owner */
    size_t moves;              /* bytes that may be moved: so the work of a new text has a bound */
    uint64_t looked, hit;
};

static uint32_t slots_for(size_t texts_bytes)
{
    size_t n = texts_bytes / KNOWN_MEAN_BYTES + 16;
    return n < NONE / 4 ? (uint32_t)n : NONE / 4;
}

static uint32_t heads_for(uint32_t slots)
{
    uint32_t n = 16;
    while (n < slots)
        n *= 2;
    return n;
}

size_t mend_known_bytes(size_t texts_bytes)
{
    uint32_t slots = slots_for(texts_bytes);
    return sizeof(mend_known) + slots * sizeof(entry) + heads_for(slots) * sizeof(uint32_t) + texts_bytes +
           4 * _Alignof(max_align_t);
}

mend_known *mend_known_new(daruma_arena *a, size_t texts_bytes)
{
    uint32_t slots = slots_for(texts_bytes), heads = heads_for(slots);
    mend_known *k = ARENA_NEW(a, mend_known, 1);
    entry *entries = ARENA_NEW(a, entry, slots);
    uint32_t *chains = ARENA_NEW(a, uint32_t, heads);
    char *texts = arena_take(a, texts_bytes ? texts_bytes : 1, 1);
    if (!k || !entries || !chains || !texts)
        return NULL;
    *k = (mend_known){.entries = entries,
                      .heads = chains,
                      .texts = texts,
                      .room = texts_bytes,
                      .slots = slots,
                      .mask = heads - 1,
                      .moves = texts_bytes};
    for (uint32_t i = 0; i < heads; i++)
        chains[i] = NONE;
    return k;
}

mend_known_counts mend_known_count(const mend_known *k)
{
    return (mend_known_counts){k->looked, k->hit, k->live, k->bytes, k->room};
}

/* ---- the table ---- */

static entry *known_find(const mend_known *k, XXH128_hash_t key)
{
    for (uint32_t i = k->heads[key.low64 & k->mask]; i != NONE; i = k->entries[i].next)
        if (XXH128_isEqual(k->entries[i].key, key))
            return &k->entries[i];
    return NULL;
}

static void unlink_entry(mend_known *k, entry *e)
{
    uint32_t self = (uint32_t)(e - k->entries), *link = &k->heads[e->key.low64 & k->mask];
    if (e->dead)
        return;
    while (*link != self)
        link = &k->entries[*link].next;
    *link = e->next;
    e->dead = true;
    k->live--;
    k->bytes -= e->n;
    k->held[e->owner] -= e->n;
}

static void forget_oldest(mend_known *k)
{
    unlink_entry(k, &k->entries[k->first]);
    k->first = (k->first + 1) % k->slots;
    k->n--;
}

/* Its text stands where the next one goes. */
static void append(mend_known *k, entry e)
{
    uint32_t i = (k->first + k->n) % k->slots, *head = &k->heads[e.key.low64 & k->mask];
    e.next = *head;
    k->entries[i] = e;
    *head = i;
    k->write += e.n;
    k->bytes += e.n;
    k->held[e.owner] += e.n;
    k->n++;
    k->live++;
}

/* The oldest is in the way of `n` bytes of `owner`: it goes, or moves behind the newest if its owner has less. What
 * stands between the newest and the oldest is free, so nothing is written over that is not moved. */
static void pass_oldest(mend_known *k, uint16_t owner, size_t n)
{
    entry e = k->entries[k->first];
    size_t costs = e.n + KNOWN_MEAN_BYTES;
    bool moves = !e.dead && e.owner != owner && k->held[e.owner] < k->held[owner] + n && k->moves >= costs;
    forget_oldest(k);
    if (!moves)
        return;
    k->moves -= costs;
    if (e.at < k->write && k->write + e.n > k->room)
        k->write = 0;
    memmove(k->texts + k->write, k->texts + e.at, e.n);
    e.at = k->write;
    append(k, e);
}

/* Room for `n` bytes at `write`, and for one entry. What stands between there and the end of the ring is the oldest. */
static void make_way(mend_known *k, uint16_t owner, size_t n)
{
    k->moves += KNOWN_MOVED_TIMES * n;
    k->moves = k->moves < k->room ? k->moves : k->room;
    while (k->n) {
        size_t at = k->entries[k->first].at;
        bool ends = k->write + n > k->room, meets = at >= k->write && at < k->write + n;
        if (ends && at < k->write)
            k->write = 0;
        else if (ends || meets || k->n == k->slots)
            pass_oldest(k, owner, n);
        else
            return;
    }
    k->write = 0;
}

static uint16_t owner_of(uint64_t tenant)
{
    return (uint16_t)(tenant % KNOWN_OWNERS);
}

static void store(mend_known *k, XXH128_hash_t key, uint16_t owner, daruma_str text, uint32_t from, uint32_t to)
{
    entry *e = known_find(k, key);
    if (!text.n || text.n > k->room / 4 || text.n > UINT32_MAX)
        return; /* one text must not push out all others */
    if (e && e->n == text.n && e->from == from && memcmp(k->texts + e->at, text.p, text.n) == 0)
        return;
    if (e)
        unlink_entry(k, e);
    make_way(k, owner, text.n);
    memcpy(k->texts + k->write, text.p, text.n);
    append(k, (entry){.key = key, .at = k->write, .n = (uint32_t)text.n, .from = from, .to = to, .owner = owner});
}

/* ---- what things are known by ---- */

static XXH128_hash_t chain(XXH128_hash_t so_far, uint64_t what, daruma_str text)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(text.n ? text.p : "", text.n, so_far.low64);
    const uint64_t all[] = {so_far.low64, so_far.high64, what, text.n, h.low64, h.high64};
    return XXH3_128bits(all, sizeof all);
}

/* The content as on the wire. What clients hang beside it (marks for caches) and move from turn to turn is no part. */
static daruma_str content(const convo_part *p)
{
    return p->value.n ? p->value : p->kind == PART_MEDIA && p->media.n ? p->media : p->raw;
}

static XXH128_hash_t message_chain(XXH128_hash_t so_far, const convo_message *m)
{
    so_far = chain(so_far, 1 + (uint64_t)m->role, convo_wire_role(m));
    for (size_t i = 0; i < m->nparts; i++) {
        const convo_part *p = &m->parts[i];
        so_far = chain(so_far, 16 + (uint64_t)p->kind, p->kind == PART_MEDIA ? (daruma_str){0} : p->id);
        so_far = chain(so_far, 32, content(p));
    }
    return so_far;
}

static XXH128_hash_t tenant_key(uint64_t tenant, uint64_t what)
{
    return chain((XXH128_hash_t){tenant, what}, what, (daruma_str){0});
}

enum { OF_RESULT = 1, OF_PREFIX = 2 };

/* Where calls have no ids, their place stands for them: histories only grow. */
static XXH128_hash_t result_key(uint64_t tenant, const convo_part *p, size_t message, size_t part)
{
    XXH128_hash_t key = chain(tenant_key(tenant, OF_RESULT), p->id.n ? 0 : 1 + message * 4096 + part, p->id);
    return chain(key, 0, content(p));
}

/* Messages of the client, the system's apart; indexes into c->messages. */
typedef struct originals {
    uint32_t *at;
    size_t n;
} originals;

static bool list_originals(const convo *c, daruma_arena *a, originals *ret)
{
    ret->n = 0;
    ret->at = ARENA_NEW(a, uint32_t, c->nmessages + 1);
    for (size_t i = 0; ret->at && i < c->nmessages && i < UINT32_MAX; i++)
        if (c->messages[i].raw.n && c->messages[i].role != CONVO_SYSTEM)
            ret->at[ret->n++] = (uint32_t)i;
    return ret->at != NULL;
}

/* ---- learning ---- */

static void learn_results(mend_known *k, uint64_t tenant, const convo *before, const convo *after, originals b,
                          originals n)
{
    for (size_t i = 0; i < b.n; i++) {
        const convo_message *was = &before->messages[b.at[i]], *is = &after->messages[n.at[i]];
        for (size_t j = 0, at = 0; !is->dropped && j < is->nparts; j++) {
            const convo_part *p = &is->parts[j];
            if (!p->raw.n)
                continue; /* ours */
            if (at == was->nparts)
                break;
            const convo_part *old = &was->parts[at++];
            if (p->kind == PART_RESULT && old->kind == PART_RESULT && p->edited && p->ready && !p->dropped &&
                old->raw.n >= KNOWN_LOOK_BYTES_MIN && p->text.n < old->raw.n)
                store(k, result_key(tenant, old, i, at - 1), owner_of(tenant), p->text, 0, 0);
        }
    }
}

/* A summary of ours, and the messages behind it that went for it. */
static void learn_compactions(mend_known *k, uint64_t tenant, const convo *before, const convo *after, originals b)
{
    XXH128_hash_t key = tenant_key(tenant, OF_PREFIX);
    daruma_str text = {0};
    size_t seen = 0, from = 0;
    bool gone = false;
    for (size_t i = 0; i < after->nmessages; i++) {
        const convo_message *m = &after->messages[i];
        bool original = m->raw.n && m->role != CONVO_SYSTEM;
        if (text.n && gone && original && !m->dropped) {
            store(k, key, owner_of(tenant), text, (uint32_t)from, (uint32_t)seen);
            text = (daruma_str){0};
        }
        if (original)
            key = message_chain(key, &before->messages[b.at[seen++]]);
        const convo_part *p = m->dropped ? NULL : compact_found(m);
        if (p && !p->raw.n) {
            text = str_trim(str_from(p->text, sizeof MEND_COMPACT_MARK - 1));
            from = seen;
            gone = false;
        } else if (original && m->dropped) {
            gone = true;
        }
    }
}

void mend_known_learn(mend_known *k, uint64_t tenant, const convo *before, const convo *after)
{
    originals b, n;
    daruma_arena was = *before->arena;
    if (!before->full && !after->full && list_originals(before, before->arena, &b) &&
        list_originals(after, before->arena, &n) && b.n == n.n) {
        learn_results(k, tenant, before, after, b, n);
        learn_compactions(k, tenant, before, after, b);
    }
    arena_back(before->arena, was);
}

size_t mend_known_room(const convo *after)
{
    size_t bytes = 0;
    for (size_t i = 0; i < after->nmessages; i++)
        for (size_t j = 0; j < after->messages[i].nparts; j++) {
            const convo_part *p = &after->messages[i].parts[j];
            bytes += p->ready && (p->edited || !p->raw.n) ? p->text.n : 0;
        }
    return bytes * 4 + 1; /* no text may take more than a quarter */
}

void mend_known_merge(mend_known *k, const mend_known *more)
{
    for (uint32_t i = 0; i < more->n; i++) {
        const entry *e = &more->entries[(more->first + i) % more->slots];
        if (!e->dead)
            store(k, e->key, e->owner, (daruma_str){more->texts + e->at, e->n}, e->from, e->to);
    }
}

/* ---- applying ---- */

static daruma_str known_text_of(const mend_known *k, const entry *e, convo *c)
{
    daruma_str text = arena_copy(c->arena, (daruma_str){k->texts + e->at, e->n}); /* the ring moves on */
    c->full |= !text.n;
    return text;
}

/* Is something in the part that has not gone for a summary yet? */
static bool any_left(const convo *c, mend_cut cut)
{
    for (size_t i = cut.from; i < cut.to; i++)
        if (!c->messages[i].dropped && c->messages[i].raw.n && c->messages[i].role != CONVO_SYSTEM)
            return true;
    return false;
}

static void apply_compactions(mend_known *k, uint64_t tenant, convo *c, originals o, mend_report *rep)
{
    XXH128_hash_t key = tenant_key(tenant, OF_PREFIX);
    XXH128_hash_t *keys = ARENA_NEW(c->arena, XXH128_hash_t, o.n + 1);
    for (size_t i = 0; keys && i < o.n; i++)
        keys[i + 1] = key = message_chain(key, &c->messages[o.at[i]]);
    size_t low = o.n;
    for (size_t i = keys ? o.n : 0; i-- > 1 && !c->full;) { /* longest first; a message must stand behind it */
        const entry *e = known_find(k, keys[i]);
        if (!e || e->to != i || e->from == 0 || e->from >= i || i > low)
            continue;
        mend_cut cut = {o.at[e->from - 1] + 1, o.at[i]};
        if (!any_left(c, cut) || !compact_fits(c, cut))
            continue;
        daruma_str text = known_text_of(k, e, c);
        if (!c->full && compact_put(c, cut, text, rep)) {
            low = e->from;
            k->hit++;
            k->looked++;
        }
    }
}

static void apply_results(mend_known *k, uint64_t tenant, convo *c, mend_report *rep)
{
    size_t at = 0;
    for (size_t i = 0; i < c->nmessages && !c->full; i++) {
        convo_message *m = &c->messages[i];
        if (!m->raw.n || m->role == CONVO_SYSTEM)
            continue;
        at++;
        for (size_t j = 0; !m->dropped && j < m->nparts; j++) {
            convo_part *p = &m->parts[j];
            if (p->kind != PART_RESULT || p->dropped || p->edited || p->remote || p->raw.n < KNOWN_LOOK_BYTES_MIN)
                continue;
            k->looked++;
            const entry *e = known_find(k, result_key(tenant, p, at - 1, j));
            if (!e || e->to)
                continue;
            daruma_str text = known_text_of(k, e, c);
            if (c->full)
                return;
            rep->bytes_before += p->raw.n;
            rep->bytes_after += text.n;
            rep->parts_shortened++;
            convo_set_text(c, m, p, text);
            k->hit++;
        }
    }
}

mend_report mend_known_apply(mend_known *k, uint64_t tenant, convo *c)
{
    mend_report rep = {0};
    originals o;
    if (k->live == 0 || c->full)
        return rep;
    if (!list_originals(c, c->arena, &o)) {
        c->full = true;
        return rep;
    }
    if (!c->before)
        apply_compactions(k, tenant, c, o, &rep);
    apply_results(k, tenant, c, &rep);
    if (rep.parts_shortened || rep.messages_mended) {
        rep.what[0] = 0; /* in place of a line for each */
        mend_say(&rep, "compressed as before: %u tool outputs, %u messages", (unsigned)rep.parts_shortened,
                 (unsigned)rep.messages_mended);
    }
    return rep;
}

/* ---- a snapshot ---- */

/* An entry without its text and its place. */
typedef struct kept {
    uint64_t low, high;
    uint32_t from, to;
    uint16_t owner;
} kept;

// clang-format off
static const record_member members[] = {
    RECORD_MEMBER(RECORD_ID,    kept, "id", low),
    RECORD_MEMBER(RECORD_ID,    kept, "id_high", high),
    RECORD_MEMBER(RECORD_WHOLE, kept, "from", from),
    RECORD_MEMBER(RECORD_WHOLE, kept, "to", to),
    RECORD_MEMBER(RECORD_WHOLE, kept, "owner", owner),
};
// clang-format on
static const record_table table = {MEND_KNOWN_RECORD, members, COUNT(members)};

void mend_known_save(const mend_known *k, daruma_buf *out)
{
    for (uint32_t i = 0; i < k->n; i++) {
        const entry *e = &k->entries[(k->first + i) % k->slots];
        kept row = {e->key.low64, e->key.high64, e->from, e->to, e->owner};
        if (e->dead)
            continue;
        record_write(out, &table, &row, 0);
        BUF_SAY(out, ",\"text\":", buf_quoted(((daruma_str){k->texts + e->at, e->n})), "}\n");
    }
}

bool mend_known_load(mend_known *k, daruma_str line, daruma_arena *a)
{
    kept got = {0};
    daruma_str text = json_text(json_get(line, S("text")), a);
    if (!record_read(&table, line, &got, 0, 0) || !text.n || a->full || (got.to && got.from >= got.to) ||
        got.owner >= KNOWN_OWNERS)
        return false;
    store(k, (XXH128_hash_t){got.low, got.high}, got.owner, text, got.from, got.to);
    return true;
}
