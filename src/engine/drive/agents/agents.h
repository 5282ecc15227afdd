/* agents.h - who sends a request: the agents that were seen. */
#ifndef ENGINE_DRIVE_AGENTS_AGENTS_H
#define ENGINE_DRIVE_AGENTS_AGENTS_H
#include "base/limits.h"
#include "engine/drive/agents/steer.h"

typedef struct past past; /* what was called by answers that providers keep */

/* What an agent is known by: all of a conversation up to its newest message; that message alone, where it names a call
 * by an id, so that a history that was shortened in front is still known; the name that the client gave it; the newest
 * answer that the provider keeps for it, and what its last request went on from. */
typedef struct agent_keys {
    uint64_t chain, tip, named, stored, before; /* 0: none */
    uint64_t conversation;                      /* its first words, as the scan has them; 0 unknown */
} agent_keys;

/* What is known of an agent's failures; most have none for long. */
typedef struct trouble {
    daruma_learner learner;
    daruma_tracker *tracker; /* behind it */
} trouble;

typedef struct agent {
    int place;       /* in the table */
    uint64_t tenant; /* whose it is */
    daruma_ms used;
    size_t at;              /* index of the newest message of its last request */
    uint64_t input;         /* hash of what its last request brought, when the provider keeps the rest */
    uint32_t failed;        /* steps */
    daruma_verdict verdict; /* after the newest step */
    daruma_guide guide;
    uint64_t kept_about; /* circle, level and step of the newest notice that the provider keeps ... */
    uint32_t kept_at;    /* ... and reads to the model again each time */
    uint8_t kept_level;
    bool answered;                    /* what it was told in its last request, and the model's answer, reached it */
    uint64_t told;                    /* the circle that was told of */
    uint64_t users[WATCH_USERS_KEPT]; /* what the user said, as hashes, newest at nusers - 1 */
    uint32_t nusers;
    watch_last last;
    trouble *trouble;    /* NULL: nothing has failed */
    daruma_tries *tries; /* NULL: no other way was looked for */
    daruma_stall *stall;
    char *room; /* of it */
} agent;

struct watch {
    const drive_rooms *rooms;
    agent_keys keys[WATCH_AGENTS_MAX];
    agent *agents[WATCH_AGENTS_MAX];
    uint32_t n;
    uint64_t circles[DARUMA_CIRCLES], failures[DARUMA_TOOL_KINDS], steps, escalations, forgotten;
    daruma_lessons *lessons; /* NULL: nothing was learned yet */
    void *lessons_room;
    past *past; /* NULL: no answer was kept yet */
};

/* Identities of the newest messages, made as far back as they are asked for. */
typedef struct newest {
    session *x;
    const uint32_t *at;    /* where they begin */
    size_t n, first, made; /* messages; the oldest there is; the oldest made */
    uint64_t tenant, hash[SCAN_NEWEST], id[SCAN_NEWEST];
} newest;

newest newest_of(session *x, const uint32_t *places);

/* What of a request is new, and to whom. */
typedef struct news {
    int agent;         /* -1: nobody was seen before */
    size_t from;       /* the first message that is new */
    bool lost;         /* the client named it, and its history is another one: what the user says there is a summary */
    size_t tip;        /* where the newest message of the last request is now; STR_NONE: it is not */
    daruma_str before; /* what stands in front of the new messages at the provider: calls that they answer, as items */
} news;

news agent_of(newest *v);
/* Its place; of the tenant who has the most agents the one seen longest ago makes room. -1 without memory. */
int agent_new(watch *w, uint64_t tenant);
bool agent_begin(const drive_rooms *rooms, agent *a); /* it has done nothing yet */
void agent_keep_keys(newest *v, int at);              /* the next request is known by what this one ends with */
agent *agent_of_chain(watch *w, uint64_t chain, agent_keys **keys);
uint64_t keyed(uint64_t tenant, uint64_t a, uint64_t b, uint64_t c); /* never 0 */
void agents_free(watch *w);

/* ---- past.c: histories that the provider keeps ---- */

/* By what the next request names this answer; 0: by nothing. */
uint64_t past_key(session *x, daruma_str id);
uint64_t past_before(session *x); /* what this request goes on from; 0: it is whole */
/* What was called by it, as items of a conversation with commas between them; empty: unknown, or nothing. */
daruma_str past_calls(const watch *w, uint64_t key);
/* `of_stream`: the items of a streamed answer, a JSON list; empty: it came whole. */
void past_put(session *x, uint64_t key, const turn *t, daruma_str of_stream, daruma_arena *scratch);
void past_free(const drive_rooms *rooms, past *s);

#endif
