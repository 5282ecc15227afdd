/* past.c - histories that the provider keeps. A request that goes on from a stored answer brings the results of calls
 * that stand in that answer and nowhere in the request, so what answers called is remembered by their ids. A client of
 * Responses that refers to items of an answer which daruma wrote refers to what no provider has, so those items are
 * remembered by their ids as well, and put in the place of the references; items that passed, for the time when the
 * account that keeps them is of no use. The oldest of the tenant who has the most make room. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/fair.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/agents/agents.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/answer/stream.h"
#include <xxhash.h>

typedef struct kept {
    char *items;
    uint64_t used; /* stamp of the table's own clock */
    uint32_t n;    /* bytes of items */
    uint16_t owner;
} kept;

struct past {
    uint64_t keys[STORED_ANSWERS_MAX]; /* apart: they are looked through; 0: the place is free */
    kept kept[STORED_ANSWERS_MAX];
    uint64_t clock;
    size_t bytes;              /* of items */
    size_t held[KNOWN_OWNERS]; /* of them, of each owner; an entry counts at least its share of all places */
};

enum { KEYED_STORED = 3, KEYED_ITEM = 5, KEYED_PASSED = 7 };

uint64_t past_before(session *x)
{
    return x->d == &dialect_openai_responses && x->out.scan.before
               ? keyed(session_tenant(x), KEYED_STORED, x->out.scan.before, 0)
               : 0;
}

uint64_t past_key(session *x, daruma_str id)
{
    if (x->out.scan.conversing)
        return past_before(x);
    return id.n ? keyed(session_tenant(x), KEYED_STORED, XXH3_64bits(id.p, id.n), 0) : 0;
}

/* Its place; STORED_ANSWERS_MAX: it is not there. Of 0: a free one. */
static uint32_t past_find(const past *s, uint64_t key)
{
    uint32_t at = 0;
    while (at < STORED_ANSWERS_MAX && s->keys[at] != key)
        at++;
    return at;
}

daruma_str past_calls(const watch *w, uint64_t key)
{
    const past *s = w->past;
    uint32_t at = s && key ? past_find(s, key) : STORED_ANSWERS_MAX;
    return at < STORED_ANSWERS_MAX ? (daruma_str){s->kept[at].items, s->kept[at].n} : (daruma_str){0};
}

static size_t weight(size_t bytes)
{
    size_t least = STORED_BYTES_MAX / STORED_ANSWERS_MAX;
    return bytes > least ? bytes : least;
}

static void forget(const drive_rooms *rooms, past *s, uint32_t at)
{
    kept *k = &s->kept[at];
    s->bytes -= k->n;
    s->held[k->owner] -= weight(k->n);
    rooms->give(k->items);
    *k = (kept){0};
    s->keys[at] = 0;
}

/* The oldest of whoever has the most goes; its place. */
static uint32_t make_room(const drive_rooms *rooms, past *s)
{
    uint32_t spare = 0;
    uint64_t oldest = 0;
    size_t most = 0;
    for (uint32_t i = 0; i < STORED_ANSWERS_MAX; i++) {
        const kept *k = &s->kept[i];
        if (!k->n || !fair_before(s->held[k->owner], k->used, most, oldest))
            continue;
        spare = i;
        oldest = k->used;
        most = s->held[k->owner];
    }
    forget(rooms, s, spare);
    return spare;
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

static void keep(session *x, uint64_t key, daruma_str items)
{
    watch *w = x->v->watch;
    if (!key || !items.n || items.n > STORED_ANSWER_BYTES_MAX ||
        (!w->past && !(w->past = w->rooms->take(sizeof *w->past))))
        return;
    past *s = w->past;
    uint16_t owner = (uint16_t)(session_tenant(x) % KNOWN_OWNERS);
    uint32_t at = past_find(s, key);
    if (at < STORED_ANSWERS_MAX) /* a conversation: only its newest answer waits for results */
        forget(w->rooms, s, at);
    else
        at = past_find(s, 0);
    s->held[owner] += weight(items.n); /* who brings it has it already */
    while (at == STORED_ANSWERS_MAX || s->bytes + items.n > STORED_BYTES_MAX)
        at = make_room(w->rooms, s);
    char *copy = w->rooms->take(items.n);
    if (!copy) {
        s->held[owner] -= weight(items.n);
        return;
    }
    memcpy(copy, items.p, items.n);
    s->keys[at] = key;
    s->kept[at] = (kept){.items = copy, .used = ++s->clock, .n = (uint32_t)items.n, .owner = owner};
    s->bytes += items.n;
}

void past_put(session *x, uint64_t key, const turn *t, daruma_str of_stream, daruma_arena *scratch)
{
    keep(x, key, items_of(t, of_stream, scratch));
}

/* ---- items, which clients may refer to ---- */

/* `how`: KEYED_ITEM, nobody is sure to have it; KEYED_PASSED, the account has it that answered. */
static uint64_t item_key(session *x, daruma_str item, uint64_t how)
{
    daruma_str id = json_get(item, S("id")); /* as it is written: nobody spells it otherwise */
    return json_is_string(id) ? keyed(session_tenant(x), how, XXH3_64bits(id.p, id.n), 0) : 0;
}

/* May its client refer to items, and is there a table for them? */
static bool keeps_items(session *x)
{
    return x->d == &dialect_openai_responses && !x->out.scan.unstored && watch_of(x->v);
}

static bool is_reasoning(daruma_str item)
{
    return str_eq(json_get(item, S("type")), S("\"reasoning\""));
}

static void put_item(session *x, daruma_str item)
{
    if (!is_reasoning(item)) /* its provider alone reads what it thought */
        keep(x, item_key(x, item, KEYED_ITEM), item);
}

void past_put_items(session *x, daruma_str items)
{
    daruma_str item;
    bool some = items.n && keeps_items(x);
    for (json_iter it = json_open(items); some && json_next(&it, NULL, &item);)
        put_item(x, item);
}

/* Of reasoning no more than that it is some: it goes to nobody else. */
void past_put_passed(session *x, daruma_str items)
{
    daruma_str item;
    bool some = items.n && keeps_items(x);
    for (json_iter it = json_open(items); some && json_next(&it, NULL, &item);)
        keep(x, item_key(x, item, KEYED_PASSED), is_reasoning(item) ? S("{\"type\":\"reasoning\"}") : item);
}

void past_put_events(session *x, daruma_str events)
{
    stream_walk walk;
    bool some = keeps_items(x);
    walk.rest = events;
    while (some && stream_next(x->v, x->d, &walk))
        put_item(x, dialect_done_item(&walk.said));
}

static bool past_refers(daruma_str item)
{
    return str_eq(json_get(item, S("type")), S("\"item_reference\""));
}

/* A server that keeps an item of that id refuses it without the reasoning that led to it, so what leaves its account
 * has no id, where it needs none. */
static void drop_id(past *s, kept *k, daruma_arena *a)
{
    static const daruma_str nameless[] = {LIT("\"message\""), LIT("\"function_call\""), LIT("\"custom_tool_call\"")};
    daruma_str key, value, item = {k->items, k->n};
    daruma_buf b = buf_in(a);
    if (!STR_ANY(str_eq, json_get(item, S("type")), nameless))
        return;
    for (json_iter it = json_open(item); json_next(&it, &key, &value);)
        if (!json_raw_eq(key, S("id")))
            BUF_SAY(&b, b.n ? "," : "{", "\"", key, "\":", value);
    buf_putc(&b, '}');
    if (b.full || b.n > k->n)
        return;
    memcpy(k->items, b.p, b.n);
    s->bytes -= k->n - b.n;
    s->held[k->owner] -= weight(k->n) - weight(b.n);
    k->n = (uint32_t)b.n;
}

static bool is_missing(daruma_str reference, daruma_str said)
{
    daruma_str id = json_get(reference, S("id"));
    id = json_is_string(id) ? str_sub(id, 1, id.n - 2) : (daruma_str){0};
    size_t at = id.n ? str_find(said, id) : STR_NONE;
    return at != STR_NONE && (at + id.n == said.n || !ch_word(said.p[at + id.n]));
}

/* True if all that the request refers to is known, with what is missing. It is known from now on as what nobody is sure
 * to have: whoever answers next has it no more than others. */
static bool leave_account(session *x, daruma_str missing, daruma_arena *a)
{
    const watch *w = x->v->watch;
    bool referred = !missing.n;
    daruma_str item;
    for (json_iter it = json_open(x->out.scan.messages); json_next(&it, NULL, &item);) {
        if (!past_refers(item))
            continue;
        referred |= is_missing(item, missing);
        if (!past_calls(w, item_key(x, item, KEYED_ITEM)).n && !past_calls(w, item_key(x, item, KEYED_PASSED)).n)
            return false; /* half of it would be of use to nobody */
    }
    for (json_iter it = json_open(x->out.scan.messages); referred && json_next(&it, NULL, &item);) {
        uint64_t key = past_refers(item) ? item_key(x, item, KEYED_PASSED) : 0;
        uint32_t at = key ? past_find(w->past, key) : STORED_ANSWERS_MAX;
        if (at == STORED_ANSWERS_MAX)
            continue;
        w->past->keys[at] = item_key(x, item, KEYED_ITEM);
        drop_id(w->past, &w->past->kept[at], a);
    }
    return referred;
}

/* What is missing is named as the server names it, so that it is found there and mended: reasoning is left out then,
 * and the rest goes without its id. */
static void put_missing(daruma_buf *out, daruma_str reference, daruma_str said)
{
    if (is_reasoning(said))
        buf_put(out, reference);
    else if (json_get(said, S("id")).n)
        buf_put(out, said);
    else
        BUF_SAY(out, "{\"id\":", json_get(reference, S("id")), ",", str_from(said, 1));
}

/* The list of messages with what is known in place of references. False: nothing of it is, or nothing would be left. */
static bool put_unfolded(session *x, daruma_str missing, daruma_buf *out)
{
    const char *between = "[";
    size_t looked = 0;
    bool found = false;
    daruma_str item;
    json_iter it = json_open(x->out.scan.messages);
    for (it.quick = true; out->n <= LOOP_BYTES_MAX && json_next(&it, NULL, &item);) {
        bool refers = past_refers(item) && looked++ < LOOP_MESSAGES_MAX;
        daruma_str said = refers ? past_calls(x->v->watch, item_key(x, item, KEYED_ITEM)) : (daruma_str){0};
        bool misses = said.n && is_missing(item, missing);
        found |= said.n > 0;
        if (said.n && !misses && is_reasoning(said))
            continue;
        buf_putz(out, between);
        between = ",";
        if (misses)
            put_missing(out, item, said);
        else
            buf_put(out, said.n ? said : item);
    }
    buf_putc(out, ']');
    return found && *between == ',';
}

drive_text *past_unfold(session *x, bool left, daruma_str missing)
{
    const watch *w = x->v->watch;
    daruma_str list = x->out.scan.messages;
    drive_text *made = NULL;
    daruma_arena room;
    if (x->d != &dialect_openai_responses || !x->out.scan.remote || !json_is_array(list) || !w || !w->past ||
        x->out.body.n > LOOP_BYTES_MAX || (left && x->out.scan.nmessages > LOOP_MESSAGES_MAX) ||
        !x->v->rooms->open(&room, 0, MEND_ARENA_BYTES_MAX))
        return NULL;
    size_t at = (size_t)(list.p - x->out.body.p);
    daruma_buf out = buf_in(&room);
    buf_put(&out, str_sub(x->out.body, 0, at));
    if ((!left || leave_account(x, missing, &room)) && put_unfolded(x, missing, &out)) {
        buf_put(&out, str_from(x->out.body, at + list.n));
        if (!out.full && out.n <= LOOP_BYTES_MAX)
            made = drive_text_new(x->v->rooms, buf_str(&out));
    }
    x->v->rooms->close(&room);
    return made;
}

void past_free(const drive_rooms *rooms, past *s)
{
    for (uint32_t i = 0; s && i < STORED_ANSWERS_MAX; i++)
        rooms->give(s->kept[i].items);
    rooms->give(s);
}
