/* history_kit.h - random histories, with flaws and without; history_wires.h writes them on every wire. Plain ones have
 * what every agent sends; rich ones also sealed thinking, files on the server, odd ids, failed and empty results, tools
 * with awkward schemas and all the settings that remedies change. */
#ifndef HISTORY_KIT_H
#define HISTORY_KIT_H
#include "base/buf.h"
#include "base/str.h"
#include <stdio.h>

typedef enum kit_wire { KIT_CHAT, KIT_ANTHROPIC, KIT_RESPONSES, KIT_GEMINI, KIT_WIRES } kit_wire;
static const char *const kit_names[KIT_WIRES] = {"openai", "anthropic", "openai-responses", "gemini"};

enum { KIT_EVENTS = 96, KIT_CALLS = 4 };

typedef enum kit_kind { KIT_USER, KIT_MODEL, KIT_RESULT } kit_kind;

/* One thing that happened, whatever the wire. */
typedef struct kit_event {
    kit_kind kind;
    int number;        /* of the text or of the call */
    int size;          /* bytes of filling in its text */
    bool empty, image; /* USER, RESULT; MODEL: no text */
    bool remote;       /* USER: names a file that lives on the server */
    bool failed;       /* RESULT */
    int form;          /* RESULT, rich: how its content is written */
    int thinking;      /* MODEL: 0 none, 1 unsigned, 2 signed, 3 redacted */
    int calls[KIT_CALLS];
    int ncalls;
    bool orphan, doubled; /* RESULT */
} kit_event;

typedef struct kit_history {
    kit_event e[KIT_EVENTS];
    int n, calls;
    bool flawed; /* in its pairs */
    bool system;
    bool any_empty;
    /* rich ones */
    bool rich, spaced;                                    /* white space between messages */
    bool thinks;                                          /* thinking is asked for: every answer has some, signed */
    bool formatted;                                       /* asks for an answer by a schema */
    bool before;                                          /* Responses: goes on from an answer on the server */
    bool referred;                                        /* Responses: some items are references to what is there */
    bool marked;                                          /* Anthropic: marks for the cache */
    unsigned ids;                                         /* salt of how ids look */
    int tools;                                            /* so many are offered */
    daruma_str (*sign)(daruma_str text, daruma_arena *a); /* a signature that the provider takes back */
    daruma_arena *arena;
} kit_history;

/* ---- chance ---- */

typedef struct kit_dice {
    uint64_t s;
} kit_dice;

static inline uint32_t kit_roll(kit_dice *d, uint32_t of) /* splitmix64 */
{
    uint64_t z = (d->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % of);
}

static inline bool kit_one_in(kit_dice *d, uint32_t n)
{
    return n && kit_roll(d, n) == 0;
}

/* ---- making one ---- */

static inline kit_event *kit_add(kit_history *h, kit_kind kind)
{
    kit_event *e = &h->e[h->n < KIT_EVENTS ? h->n++ : KIT_EVENTS - 1];
    *e = (kit_event){.kind = kind, .number = h->n};
    return e;
}

/* The results of one answer: all, some, twice, in another order, some later (in `late`). */
static inline void kit_results(kit_history *h, const kit_event *model, kit_dice *d, uint32_t flaws, int *late,
                               int *nlate)
{
    int order[KIT_CALLS];
    for (int i = 0; i < model->ncalls; i++)
        order[i] = model->calls[i];
    if (kit_one_in(d, flaws) && model->ncalls > 1) {
        int t = order[0];
        order[0] = order[model->ncalls - 1];
        order[model->ncalls - 1] = t;
        h->flawed = true;
    }
    for (int i = 0; i < model->ncalls; i++) {
        if (kit_one_in(d, flaws)) {
            h->flawed = true;
            if (*nlate < 8 && kit_one_in(d, 2))
                late[(*nlate)++] = order[i];
            continue;
        }
        kit_event *e = kit_add(h, KIT_RESULT);
        e->number = order[i];
        e->size = kit_one_in(d, 30) ? 1500 + (int)kit_roll(d, 3000) : (int)kit_roll(d, 40);
        e->image = kit_one_in(d, 16);
        if (kit_one_in(d, flaws)) {
            h->flawed = true;
            kit_event *again = kit_add(h, KIT_RESULT);
            again->number = order[i];
            again->doubled = true;
        }
    }
}

/* `flaws`: one in so many; 0 none. */
static inline void kit_make(kit_history *h, kit_dice *d, uint32_t flaws)
{
    int late[8], nlate = 0, turns = 1 + (int)kit_roll(d, 4), room = 3 + (int)kit_roll(d, 11);
    *h = (kit_history){.system = kit_one_in(d, 2)};
    for (int t = 0; t < turns && h->n < room; t++) {
        kit_event *u = kit_add(h, KIT_USER);
        u->size = (int)kit_roll(d, 60);
        u->image = kit_one_in(d, 8);
        u->empty = flaws && kit_one_in(d, 24) && t > 0;
        h->any_empty |= u->empty;
        for (int steps = (int)kit_roll(d, 4); steps >= 0; steps--) {
            kit_event *m = kit_add(h, KIT_MODEL);
            m->thinking = (int)kit_roll(d, 4) % 3;
            m->empty = kit_one_in(d, 3);
            m->ncalls = steps ? 1 + (int)kit_roll(d, KIT_CALLS) : 0;
            m->empty &= m->ncalls > 0 || (flaws && kit_one_in(d, 4));
            h->any_empty |= m->empty && !m->ncalls;
            for (int i = 0; i < m->ncalls; i++)
                m->calls[i] = ++h->calls;
            kit_event copy = *m;
            kit_results(h, &copy, d, flaws, late, &nlate);
            if (flaws && kit_one_in(d, flaws * 2)) {
                kit_event *o = kit_add(h, KIT_RESULT);
                o->number = 1000 + h->n;
                o->orphan = h->flawed = true;
                o->empty = kit_one_in(d, 3);
            }
            if (nlate && kit_one_in(d, 2))
                kit_add(h, KIT_RESULT)->number = late[--nlate];
        }
    }
    while (nlate)
        kit_add(h, KIT_RESULT)->number = late[--nlate];
    if (!flaws || !kit_one_in(d, 4)) { /* the request is the user's turn */
        kit_add(h, KIT_USER)->size = 10;
    }
}

/* The same with all that a plain one has not. It may end with a tool loop in progress. */
static inline void kit_make_rich(kit_history *h, kit_dice *d, uint32_t flaws, kit_wire w)
{
    kit_make(h, d, flaws);
    int last = h->n;
    while (last && h->e[last - 1].kind != KIT_RESULT)
        last--;
    if (last && kit_one_in(d, 2))
        h->n = last;
    h->rich = true;
    h->spaced = kit_one_in(d, 4);
    h->thinks = kit_one_in(d, 3);
    h->tools = (int)kit_roll(d, 4);
    h->formatted = kit_one_in(d, 4) && (w != KIT_GEMINI || !h->tools); /* Gemini takes not both */
    h->before = w == KIT_RESPONSES && kit_one_in(d, 24);
    h->referred = w == KIT_RESPONSES && !flaws && kit_one_in(d, 2);
    h->marked = kit_one_in(d, 4);
    h->ids = kit_roll(d, 1000);
    bool stored = kit_one_in(d, 16); /* files of the client on the server */
    for (int i = 0; i < h->n; i++) {
        kit_event *e = &h->e[i];
        e->image &= kit_one_in(d, 2);
        if (e->kind == KIT_USER)
            e->remote = stored && !e->empty && kit_one_in(d, 3);
        if (e->kind == KIT_MODEL) {
            e->thinking = h->thinks ? kit_one_in(d, 6) && w == KIT_ANTHROPIC ? 3 : 2 : e->thinking == 2 ? 2 : 0;
            e->size = kit_one_in(d, 12) ? 200 + (int)kit_roll(d, 200) : 0;
        }
        if (e->kind != KIT_RESULT)
            continue;
        e->size = kit_one_in(d, 8) ? 500 + (int)kit_roll(d, 900) : e->size % 40;
        e->failed = kit_one_in(d, 10);
        e->form = (int)kit_roll(d, 5);
        e->empty |= !e->doubled && !e->orphan && kit_one_in(d, 24);
    }
    bool begun = h->n && h->e[h->n - 1].kind == KIT_MODEL;
    if (begun && h->thinks) /* no answer may be begun then */
        kit_add(h, KIT_USER)->size = 10;
}
#endif
