/* journal.h - the record of a run: each act that the agent asked for, each outcome that it was told, what happened.
 *
 *     act:  requested, started -- it goes out -- finished -- the agent is told -- delivered
 *           `---- committed ---'                `committed'                       with the next act
 *
 * The agent does the same again when it is told the same: so a run goes on where it ended, whatever ended it, when what
 * is recorded here is told to a fresh agent (resume.h). What has effects is on the disk before it goes out, and before
 * the agent hears of it. One SQLite file a run, DIR/ID.db, that nobody else may read. All functions take a journal of
 * NULL: then nothing is recorded. */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H
#include "engine/agent/crew.h"

typedef struct journal journal;

/* A file before and behind a call that writes: what tells afterwards whether it was done. */
typedef struct journal_look {
    bool known;             /* false: the call leaves nothing that can be looked at */
    uint64_t before, after; /* fingerprints of what stands there, and will stand there */
} journal_look;

/* How a run stands. X(symbol, name, in plain words) */
#define JOURNAL_STATE_MAP(X)                                                                                           \
    X(OPEN, "open", "stopped without a word: it can go on")                                                            \
    X(INTERRUPTED, "interrupted", "interrupted: it can go on")                                                         \
    X(ESCALATED, "escalated", "a person has to say how to go on")                                                      \
    X(OVER, "over", "over")

typedef enum journal_state {
#define X(sym, ...) JOURNAL_##sym,
    JOURNAL_STATE_MAP(X)
#undef X
        JOURNAL_STATES
} journal_state;
const char *journal_state_name(journal_state s); /* static */

/* ---- the file ---- */

enum { JOURNAL_ID_BYTES = 32 };
/* "20261126-180212-3f9a": when it began, and some dice. */
void journal_id(daruma_moment at, char out[JOURNAL_ID_BYTES]);
/* True if a run may be called that: letters, digits, '-' and '_', and it is short. */
bool journal_id_fits(daruma_str id);

/* Begins the record of a run in folder `dir`, which is made. `settings`: a JSON object that resuming reads. NULL and
 * a sentence in `why`: it cannot be written. */
journal *journal_new(const char *dir, daruma_str id, daruma_str settings, daruma_str task, daruma_moment at,
                     char why[256]);
/* Opens one that is there, to go on with it. NULL and a sentence in `why`: there is none, its run is under way, or it
 * is broken; where a line of it is not what was written, which one. */
journal *journal_open(const char *dir, daruma_str id, char why[256]);
/* The same to read it only, also while its run is under way; `*ret_busy` tells that. */
journal *journal_read(const char *dir, daruma_str id, bool *ret_busy, char why[256]);
void journal_close(journal *j);
/* The same, and its file goes. */
void journal_discard(journal *j);

/* A text that journal_new() or journal_ended() kept: "id", "task", "settings", "result", "state", "began", "ended",
 * "version". Empty when there is none. In `a`. */
daruma_str journal_text(journal *j, const char *key, daruma_arena *a);
journal_state journal_state_of(journal *j);

/* ---- writing. False: it could not be written; from then on nothing is, and journal_why() says why. ---- */

/* The agent asked for `x`, and it goes out when this returns. `look` may be NULL. */
bool journal_asked(journal *j, const agent_act *x, const journal_look *look, daruma_moment at);
/* What the sessions below the agents have done in all, so far. */
typedef struct run_below {
    uint32_t calls;      /* of models that agents never hear of: what they were made for was dropped */
    daruma_ms waited;    /* with no call out */
    uint32_t asked;      /* the question that is out, or was put again last ... */
    uint32_t asked_more; /* ... and calls for it beside the first, of which its agent hears with the answer */
} run_below;
/* It goes out once more, by itself, behind a resume. `below`: a question, with the call that goes out now; else NULL.
 */
bool journal_asked_again(journal *j, uint32_t call, const run_below *below, daruma_moment at);
bool journal_spent(journal *j, const run_below *below);
run_below journal_below(journal *j);
/* What the agent is told when this returns. */
bool journal_told(journal *j, const crew_input *in);
/* Something happened; a JSON object. On the disk with the next of the others, or journal_flush(). */
bool journal_event(journal *j, daruma_str json, daruma_moment at);
bool journal_flush(journal *j);
/* The run ended; `result` is a JSON object, or empty. */
bool journal_ended(journal *j, journal_state s, daruma_str result, daruma_moment at);
/* A run that is over because its model failed may ask again: the failures at its end are taken out of the record, and
 * the question is out; their calls are `asked_more` of it. False: it did not end so, or it could not be written. */
bool journal_retracted(journal *j);
/* It goes on: it is open again. */
bool journal_reopened(journal *j);
const char *journal_why(const journal *j);
/* Ends a journal that could not be written: it is called DIR/ID.broken from here on, and nobody resumes it, since what
 * happens later is not in it. False: it could not be renamed. */
bool journal_set_aside(journal *j);

/* ---- reading ---- */

/* A line of the record, in the order of time. Strings live until the next one. */
typedef struct journal_line {
    enum { JOURNAL_LINE_ACT, JOURNAL_LINE_INPUT, JOURNAL_LINE_EVENT } what;
    int64_t wall;       /* unix seconds */
    daruma_ms at;       /* by the clock of the run */
    crew_input in;      /* INPUT */
    daruma_str act;     /* ACT: "model", "tool", "ask", "wait" */
    daruma_str purpose; /* ACT: of a model's call */
    daruma_str name;    /* ACT: the tool or the model */
    daruma_str args;    /* ACT: of a tool; the question to a person */
    uint32_t call;      /* ACT, INPUT */
    unsigned started;   /* ACT: how often */
    daruma_str event;   /* EVENT */
} journal_line;
/* Calls `each` with all lines until it returns false. False and a sentence in `why`: the record is broken, and what
 * stood before that was told. */
bool journal_each(journal *j, bool (*each)(const journal_line *l, void *user), void *user, char why[256]);

/* The act of that number, as it was asked for. */
typedef struct journal_act {
    uint64_t hash;
    char name[64];    /* of the tool or the model, cut */
    unsigned started; /* how often */
    journal_look look;
} journal_act;
bool journal_act_of(journal *j, uint32_t call, journal_act *ret);
/* What an act is known by: all that goes out. */
uint64_t journal_hash(const agent_act *x);

/* How many inputs there are. */
int64_t journal_inputs(const journal *j);
/* The inputs one by one, by number from 1. 1 there is one, 0 there is none, -1 it is missing or cannot be read.
 * Its text lives in `a`. */
int journal_input_of(journal *j, int64_t n, crew_input *ret, daruma_arena *a);
/* True if what the agent made of the newest input is recorded, too: it was delivered. */
bool journal_is_ahead(journal *j);

/* ---- the folder ---- */

/* The ids of its runs, newest last, in `a`; those that were set aside stand there with ".broken". 0: there are none. */
size_t journal_list(const char *dir, daruma_str **ret, daruma_arena *a);
#endif
