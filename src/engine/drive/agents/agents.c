/* agents.c - who sends a request. Its history says it: an agent is known again by the newest messages of its last
 * request, which stand in the next one; only what stands behind them is new.
 *
 *   request 7   [ system | user | a1 | r1 | a2 | r2 ]
 *   request 8   [ system | user | a1 | r1 | a2 | r2 | a3 | r3 ]
 *                                 `---- known ----'   `- new '
 *
 * Where the provider keeps the history, by the answer that a request goes on from (past.c). Tenants share nothing:
 * every identity is keyed by the client's credential. */
#include "base/arena.h"
#include "base/fair.h"
#include "base/limits.h"
#include "engine/drive/agents/agents.h"
#include "engine/watch/resumed.h"
#include <xxhash.h>

/* ---- the table ---- */

static void free_agent(const drive_rooms *rooms, agent *a)
{
    if (!a)
        return;
    rooms->give(a->trouble);
    rooms->give(a->tries);
    rooms->give(a->room);
    rooms->give(a);
}

void agents_free(watch *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        free_agent(w->rooms, w->agents[i]);
}

bool agent_begin(const drive_rooms *rooms, agent *a)
{
    size_t bytes = daruma_stall_bytes() + 2 * _Alignof(max_align_t);
    char *room = a->room ? a->room : rooms->take(bytes);
    if (!room)
        return false;
    rooms->give(a->trouble);
    rooms->give(a->tries);
    daruma_arena arena = arena_over(room, bytes);
    *a = (agent){.tenant = a->tenant, .room = room, .stall = daruma_stall_new(&arena)};
    return a->stall != NULL;
}

/* The place of the one that makes room for another of this tenant. */
static int agent_spare(const watch *w, uint64_t tenant)
{
    size_t held[KNOWN_OWNERS] = {0}, most = 0;
    int at = 0;
    held[tenant % KNOWN_OWNERS]++;
    for (uint32_t i = 0; i < w->n; i++)
        held[w->agents[i]->tenant % KNOWN_OWNERS]++;
    for (uint32_t i = 0; i < w->n; i++) {
        const agent *a = w->agents[i];
        size_t his = held[a->tenant % KNOWN_OWNERS];
        if (!fair_before(his, (uint64_t)a->used, most, (uint64_t)w->agents[at]->used))
            continue;
        at = (int)i;
        most = his;
    }
    return at;
}

int agent_new(watch *w, uint64_t tenant)
{
    int at;
    if (w->n < WATCH_AGENTS_MAX) {
        agent *a = w->rooms->take(sizeof *a);
        if (!a || !agent_begin(w->rooms, a)) {
            free_agent(w->rooms, a);
            return -1;
        }
        at = (int)w->n++;
        w->agents[at] = a;
    } else {
        at = agent_spare(w, tenant);
        w->forgotten++;
        agent_begin(w->rooms, w->agents[at]);
    }
    w->agents[at]->tenant = tenant;
    w->keys[at] = (agent_keys){0};
    return at;
}

agent *agent_of_chain(watch *w, uint64_t chain, agent_keys **keys)
{
    for (uint32_t i = 0; chain && i < w->n; i++)
        if (w->keys[i].chain == chain) {
            *keys = &w->keys[i];
            return w->agents[i];
        }
    return NULL;
}

/* ---- identities ---- */

uint64_t keyed(uint64_t tenant, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t all[4] = {tenant, a, b, c}, h = XXH3_64bits(all, sizeof all);
    return h ? h : 1;
}

enum { KEYED_TIP = 1, KEYED_NAME = 2, KEYED_INPUT = 4 }; /* 3, 5 and 7 are those of past.c */

newest newest_of(session *x, const uint32_t *places)
{
    size_t n = x->out.scan.nmessages;
    return (newest){.x = x,
                    .at = places,
                    .n = n,
                    .first = n > SCAN_NEWEST ? n - SCAN_NEWEST : 0,
                    .made = n,
                    .tenant = session_tenant(x)};
}

static uint64_t hash_at(newest *v, size_t i)
{
    while (v->made > i) {
        size_t at = --v->made % SCAN_NEWEST;
        v->hash[at] = dialect_message_hash(dialect_message(&v->x->out.scan, v->at, v->made), &v->id[at]);
    }
    return v->hash[i % SCAN_NEWEST];
}

/* Programs that give every turn the same ids: they tell nothing apart. The call itself bears it once. */
static bool id_repeats(newest *v, size_t i)
{
    size_t n = 0;
    for (size_t k = 1; k <= WATCH_CHAIN && i >= v->first + k && n < 2; k++) {
        hash_at(v, i - k);
        n += v->id[(i - k) % SCAN_NEWEST] == v->id[i % SCAN_NEWEST];
    }
    return n > 1;
}

/* By the messages up to `i`; the rest is not set. */
static agent_keys keys_at(newest *v, size_t i)
{
    uint64_t chain = 0;
    for (size_t k = 0; k < WATCH_CHAIN && i >= v->first + k; k++)
        chain = keyed(v->tenant, chain, hash_at(v, i - k), k);
    hash_at(v, i);
    bool tip = v->id[i % SCAN_NEWEST] && !id_repeats(v, i);
    return (agent_keys){.chain = keyed(v->tenant, v->x->out.scan.conversation, i, chain),
                        .tip = tip ? keyed(v->tenant, KEYED_TIP, hash_at(v, i), 0) : 0};
}

/* What a request brings when the provider keeps the rest. */
static uint64_t input_of(const session *x)
{
    return XXH3_64bits(x->out.scan.messages.n ? x->out.scan.messages.p : "", x->out.scan.messages.n) | 1;
}

/* ---- by its messages ---- */

/* A history that was shortened in front has its messages further in front: the tip alone says nothing of one that
 * stands further behind. */
static int agents_find(const watch *w, const agent_keys *k, size_t i)
{
    for (uint32_t a = 0; a < w->n; a++)
        if (w->keys[a].chain == k->chain || (k->tip && w->keys[a].tip == k->tip && i <= w->agents[a]->at))
            return (int)a;
    return -1;
}

/* ---- by the name that the client gave it: "NAME", or "NAME; continued" ---- */

typedef struct client_name {
    uint64_t key;   /* 0: none */
    bool continued; /* it says itself that this history goes on from the last one of that name */
} client_name;

static client_name name_of(const session *x, uint64_t tenant)
{
    daruma_str rest = x->agent.named, name = str_trim(str_cut(&rest, ';'));
    return (client_name){.key = name.n ? keyed(tenant, KEYED_NAME, XXH3_64bits(name.p, name.n), 0) : 0,
                         .continued = str_ieq(str_trim(rest), S("continued"))};
}

/* Does the history begin with what stands for another one that went before it? */
static bool is_resumed(const newest *v)
{
    for (size_t i = v->first; i < v->n && i < 2; i++) /* a system prompt may stand before it */
        if (watch_text_resumes(str_sub(dialect_message(&v->x->out.scan, v->at, i), 0, WATCH_FIRST_WORDS_BYTES)))
            return true;
    return false;
}

/* A name alone ties nothing together: programs use one for all that they do. The first words must be the same, or
 * say that they sum up what went before; or the client says so. Then it is the one of that name that came last. */
static int find_named(const newest *v, client_name name)
{
    const watch *w = v->x->v->watch;
    uint64_t conversation = v->x->out.scan.conversation;
    int last = -1;
    for (uint32_t i = 0; name.key && i < w->n; i++) {
        if (w->keys[i].named != name.key)
            continue;
        if (w->keys[i].conversation == conversation || !conversation || !w->keys[i].conversation)
            return (int)i;
        if (last < 0 || w->agents[i]->used >= w->agents[last]->used)
            last = (int)i;
    }
    return last >= 0 && (name.continued || is_resumed(v)) ? last : -1;
}

/* ---- by the answer that it goes on from ---- */

/* Two requests that go on from one answer are one that was sent again when they bring the same; else the second one is
 * somebody new. */
static news of_stored(const newest *v, uint64_t before)
{
    const watch *w = v->x->v->watch;
    uint64_t input = input_of(v->x);
    news ret = {.agent = -1, .from = v->first, .tip = STR_NONE, .before = past_calls(w, before)};
    for (uint32_t i = 0; i < w->n && ret.agent < 0; i++)
        if (w->keys[i].stored == before || (w->keys[i].before == before && w->agents[i]->input == input))
            ret.agent = (int)i;
    if (ret.agent >= 0 && w->keys[ret.agent].before == before && w->agents[ret.agent]->input == input)
        ret.from = STR_NONE;
    return ret;
}

/* ---- all of it ---- */

news agent_of(newest *v)
{
    const watch *w = v->x->v->watch;
    uint64_t before = past_before(v->x);
    if (before)
        return of_stored(v, before);
    client_name name = name_of(v->x, v->tenant);
    news ret = {.agent = find_named(v, name), .from = v->n, .tip = STR_NONE};
    ret.lost = ret.agent >= 0;
    for (size_t i = v->n; i-- > v->first;) {
        agent_keys k = keys_at(v, i);
        int known = agents_find(w, &k, i);
        bool mine = known >= 0 && w->keys[known].named == name.key;
        if (mine || (known >= 0 && !w->keys[known].named && ret.agent < 0)) {
            ret = (news){.agent = known, .from = i + 1, .tip = i};
            break;
        }
        ret.from = i;
        if (ret.agent >= 0 && v->n - i >= WATCH_CHAIN)
            break; /* it said who it is; of what it says its newest turn is new */
    }
    return ret;
}

void agent_keep_keys(newest *v, int at)
{
    watch *w = v->x->v->watch;
    agent_keys *k = &w->keys[at], was = *k;
    uint64_t before = past_before(v->x);
    *k = before ? (agent_keys){.chain = keyed(v->tenant, KEYED_INPUT, before, input_of(v->x))} : keys_at(v, v->n - 1);
    k->named = name_of(v->x, v->tenant).key;
    k->stored = was.stored;
    k->before = before;
    k->conversation = before ? was.conversation : v->x->out.scan.conversation;
    w->agents[at]->input = before ? input_of(v->x) : 0;
    v->x->agent.id = k->chain;
}
