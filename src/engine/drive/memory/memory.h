/* memory.h - what is remembered between requests: bounded tables of what was seen, and what is known of lanes. */
#ifndef ENGINE_DRIVE_MEMORY_MEMORY_H
#define ENGINE_DRIVE_MEMORY_MEMORY_H
#include "base/limits.h"
#include "engine/drive/drive.h"
#include "model/convo.h"

typedef struct memory memory;
memory *memory_new(const drive_rooms *rooms);
void memory_free(memory *m);
/* Which key a conversation used last; 0 unknown. The one used longest ago is forgotten first. */
uint64_t memory_session(memory *m, uint64_t conversation);
void memory_session_set(memory *m, uint64_t conversation, uint64_t key_id);
size_t memory_sessions(const memory *m);
/* How many requests of a conversation in a row stayed too long although they were shortened. */
uint32_t memory_stuck(memory *m, uint64_t conversation);
void memory_stuck_set(memory *m, uint64_t conversation, uint32_t times);
/* A case that failed, so that the client's own retry continues it. */
bool memory_case_take(memory *m, uint64_t request, daruma_ms now, daruma_case *ret);
void memory_case_put(memory *m, uint64_t request, daruma_ms now, const daruma_case *c);
/* Hashes of the messages daruma wrote. */
void memory_notice_put(memory *m, uint64_t hash);
const uint64_t *memory_notices(const memory *m); /* all of them; NULL: there was none yet */
uint64_t *memory_notices_copy(const memory *m);  /* taken from the host; NULL likewise, or without memory */
bool memory_notice_known(uint64_t hash, const void *notices);
/* Which account made a stored answer (previous_response_id): its key; 0 unknown. Answers of the client who has the most
 * are forgotten first. */
uint64_t memory_owner(const memory *m, uint64_t answer);
void memory_owner_put(memory *m, uint64_t answer, uint64_t client, uint64_t key_id);
/* The id under which the provider has it, where the client has another: a stream that another answer went on with. */
daruma_str memory_renamed(const memory *m, uint64_t answer);        /* borrowed until the next one; empty: the same */
void memory_renamed_put(memory *m, uint64_t answer, daruma_str id); /* longer ones are not kept */
/* Appends a line for all that is remembered but cases: they are over when a client's retry could come. */
void memory_save(const memory *m, daruma_ms now, daruma_buf *out);
/* Remembers what such a line says, written `aged` ms ago. False: it is no such line, and nothing changed. */
bool memory_load(memory *m, daruma_str line, daruma_ms now, daruma_ms aged);
/* How many bytes of a request are counted there as 1,000 tokens, as the newest long request of that client was counted
 * (`whose`: session_counted()). Counts of short ones and of what is no text (images) say nothing and are not taken. */
int64_t memory_rate(const memory *m, uint64_t whose);
void memory_rate_put(memory *m, uint64_t whose, size_t bytes, int64_t tokens);
/* Tokens to 1,000 of our estimate of a request that was read; 0 unknown. */
int64_t memory_scale(const memory *m, uint64_t whose);
void memory_scale_put(memory *m, uint64_t whose, int64_t estimate, int64_t tokens);

/* ---- lanes ---- */

/* The one of OpenAI's two APIs that it has alone, as far as is known. */
typedef enum memory_apis { API_ANY, API_CHAT, API_RESPONSES } memory_apis;
/* What is known of a lane: an account's way to a model. */
typedef struct lane_fact {
    uint64_t lane;       /* 0 empty */
    uint64_t owner;      /* its account: base/fair.h */
    uint64_t touched;    /* stamp of the table's own clock */
    int64_t window;      /* tokens of its context window, learned from what it refused; -1 unknown */
    int64_t taken;       /* tokens of the longest request that it took: no window is smaller */
    bool no_prefill;     /* it said no to a begun answer */
    convo_format format; /* the most of one that it takes; FORMAT_UNSAID: none was refused */
    memory_apis api;
    daruma_ms api_at;            /* when it was learned */
    uint32_t habits;             /* mend_habits() */
    uint8_t lacks;               /* bits of daruma_ability ... */
    daruma_ms lacks_at;          /* ... and when the last of them was learned */
    daruma_ms habits_at;         /* when the first of them was learned, or the format */
    char betas[BETAS_BYTES_MAX]; /* words of anthropic-beta that it refuses, as drive_request has them */
    char provider[40], account[40],
        name[88]; /* empty: nothing was learned that anybody asks for; longer ones are cut */
    uint64_t by;  /* the case that taught the last of it, and when */
    daruma_ms at;
} lane_fact;
/* What is known of a lane now: what was learned of its habits, its format and its API holds for a while. Lives until
 * something is learned. */
const lane_fact *memory_lane(const memory *m, uint64_t lane, daruma_ms now);
/* The lane in that place, for the status page. NULL: nothing was learned there; up to LANES_MAX. */
const lane_fact *memory_lane_at(const memory *m, size_t index, daruma_ms now);
/* The first thing that is learned of a lane brings its name, each says which case taught it. */
void memory_learned(memory *m, const daruma_target *t, uint64_t by, daruma_ms at);
/* Whoever else is refused at another account learns the window there. False: it took longer requests than that. */
bool memory_window_put(memory *m, const daruma_target *t, int64_t tokens);
/* It took a request of so many tokens. True: so the window that was learned is wrong, and forgotten. */
bool memory_taken(memory *m, const daruma_target *t, int64_t tokens);
void memory_prefill_refused(memory *m, const daruma_target *t);
void memory_habits_learn(memory *m, const daruma_target *t, uint32_t habits, daruma_ms now);
void memory_habits_forget(memory *m, const daruma_target *t, uint32_t habits, daruma_ms now);
void memory_betas_put(memory *m, const daruma_target *t, daruma_str words); /* shorter than BETAS_BYTES_MAX */
void memory_api_put(memory *m, const daruma_target *t, memory_apis has, daruma_ms now);
/* What its model lacks, all of it: it is known for a while. */
void memory_lacks_put(memory *m, const daruma_target *t, uint8_t lacks, daruma_ms now);
void memory_format_put(memory *m, const daruma_target *t, convo_format most, daruma_ms now);

#endif
