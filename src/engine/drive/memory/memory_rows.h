/* memory_rows.h - the tables of memory.c and memory_lanes.c. */
#ifndef ENGINE_DRIVE_MEMORY_MEMORY_ROWS_H
#define ENGINE_DRIVE_MEMORY_MEMORY_ROWS_H
#include "base/limits.h"
#include "engine/drive/memory/memory.h"

enum { MEMORY_WAYS = 4 /* places among which an entry stands */ };

typedef struct seen {
    uint64_t conversation, key_id;
    uint64_t touched; /* stamp of the table's own clock; 0 empty */
    uint32_t stuck;   /* requests in a row that were too long, whatever was done about it */
} seen;

typedef struct kept_case {
    uint64_t request;
    daruma_ms at;
    daruma_case c;
    bool full;
} kept_case;

/* How the requests of one client are counted on a lane: what others write there is other text. */
typedef struct count_fact {
    uint64_t whose; /* 0 empty */
    int64_t rate;   /* bytes of a request to 1,000 of its tokens; 0 unknown */
    int64_t scale;  /* its tokens to 1,000 of our estimate; 0 unknown */
} count_fact;

typedef struct owner {
    uint64_t answer, key_id;
    uint64_t client;  /* whose answer it is: base/fair.h */
    uint64_t touched; /* stamp of the table's own clock; 0 empty */
} owner;

typedef struct renamed {
    uint64_t answer; /* 0 empty */
    char id[RENAMED_ID_BYTES_MAX];
} renamed;

struct memory {
    const drive_rooms *rooms;
    uint64_t clock;
    size_t nsessions;
    seen *sessions;   /* made when the first is kept */
    kept_case *cases; /* likewise */
    uint32_t next_case;
    uint64_t *notices;  /* likewise; 0 empty */
    lane_fact *lanes;   /* likewise */
    count_fact *counts; /* likewise */
    owner *owners;      /* likewise */
    renamed *renamed;   /* likewise */
};

/* Its fact; what is known of another lane makes room, of the account that has the most. NULL: there is no memory. */
lane_fact *memory_lane_make(memory *m, uint64_t lane, uint64_t account);

#endif
