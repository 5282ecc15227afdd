/* turn.h - one answer of a model, whatever the wire: whole (turn) or as it streams (turn_delta).
 *
 *     whole:  body  -- dialect.read_answer --> turn -- edits --> dialect.write_answer --> body
 *     stream: event -- dialect.read_event --> what it says -- dialect.read_delta --> deltas
 *                                                             deltas -- dialect.write_delta --> events
 */
#ifndef MODEL_TURN_H
#define MODEL_TURN_H
#include "base/limits.h"
#include "base/str.h"
#include "model/convo.h"

typedef enum turn_finish {
    FINISH_NONE,   /* not said */
    FINISH_STOP,   /* the model was done; also a stop sequence */
    FINISH_CALLS,  /* it calls tools */
    FINISH_LENGTH, /* the output cap cut it */
    FINISH_WINDOW, /* the context window cut it */
    FINISH_FILTER, /* a content filter or refusal */
    FINISH_PAUSE,  /* the provider wants to be asked to go on (pause_turn) */
    FINISH_ERROR,  /* the provider says the answer is broken (MALFORMED_FUNCTION_CALL, ...) */
} turn_finish;

typedef struct turn_usage {
    int64_t input, output; /* tokens, -1 not said; so are those below */
    int64_t cached;        /* read from the cache; `input` counts them as well */
    int64_t written;       /* written to the cache; `input` counts them as well */
    int64_t thinking;      /* of the output */
} turn_usage;

/* What `more` says replaces. */
static inline void usage_merge(turn_usage *into, const turn_usage *more)
{
    if (more->input >= 0)
        into->input = more->input;
    if (more->output >= 0)
        into->output = more->output;
    if (more->cached >= 0)
        into->cached = more->cached;
    if (more->written >= 0)
        into->written = more->written;
    if (more->thinking >= 0)
        into->thinking = more->thinking;
}

typedef struct turn {
    daruma_str body; /* what was read; empty: ours or another dialect's */
    daruma_str id, model;
    convo_message message; /* role assistant; its parts are the answer. `edited` when a part was */
    bool refused;          /* some of its text is a refusal, where the wire tells one from an answer */
    turn_finish finish;
    daruma_str finish_raw; /* as on the wire, decoded */
    turn_usage usage;
} turn;

typedef enum delta_kind {
    DELTA_START,     /* the answer begins: id, model */
    DELTA_TEXT,      /* text */
    DELTA_THINKING,  /* text of thinking */
    DELTA_SIGNATURE, /* text: signature of the thinking (or, in Gemini, of the call) that ends here */
    DELTA_REFUSAL,   /* text of a refusal */
    DELTA_CALL,      /* a call begins: index, id, name */
    DELTA_ARGUMENTS, /* text: a piece of the arguments of call `index` */
    DELTA_CALL_END,  /* call `index` is whole, where the wire says so */
    DELTA_FINISH,    /* finish, finish_raw; text: Messages, the stop sequence that was met */
    DELTA_USAGE,     /* usage; text: the object of all of the answer as it stands there, which may say more (`cost`) */
    DELTA_END,       /* the terminal marker */
    DELTA_SOURCES,   /* text: sources of the text, as JSON. Chat: the array `annotations`; Responses: one of them */
    DELTA_BLOCK,     /* text: a block, item or part of the dialect, whole, as JSON; none closes the one that is open */
    DELTA_OTHER,     /* anything else that matters to somebody: only its raw bytes can go on */
} delta_kind;

typedef struct turn_delta {
    delta_kind kind;
    int index;   /* of the call among the calls of the answer: 0, 1, ...; -1 for what is no call */
    bool custom; /* CALL, ARGUMENTS: of a custom tool of OpenAI's, which takes words and no JSON */
    bool piece;  /* BLOCK, Messages: the begin of a block that is not told apart, or a delta of the one that is open;
                    TEXT, Responses: it does not go on in a message of another phase */
    bool bound;  /* THINKING, Chat: it has a form that goes back to who signed it (reasoning_details) */
    daruma_str id, name, text, model; /* name: TEXT, Responses: the phase of its message; ARGUMENTS, Chat: more of the
                                         name of its call, or all of it again; empty: not said */
    daruma_str name_at, text_at;      /* TEXT, CALL, ARGUMENTS: where its name, and its text or arguments, stand in the
                                         event, as JSON; empty: nowhere, or not in one piece */
    daruma_str index_at;              /* CALL, ARGUMENTS: Chat, where the index of the call stands */
    bool shares;                      /* CALL: ... which an earlier call of the answer has, too */
    daruma_str part_at; /* CALL, ARGUMENTS, CALL_END: Gemini, the part of the event that is one piece of a call;
                           empty: the call is whole */
    turn_finish finish;
    daruma_str finish_raw;
    turn_usage usage;
} turn_delta;

/* What one event says. Gemini and some servers of Chat send any number of whole calls in one. */
typedef struct turn_deltas {
    turn_delta *p;
    size_t n, cap;
    daruma_arena *arena; /* of more than TURN_DELTAS_FEW */
    bool full;           /* there was no memory for all of them */
    turn_delta spare;    /* what has no room is put there, and lost */
} turn_deltas;

/* How far the open item of a Responses stream is: its part is announced, its text was closed, its part was. */
typedef enum turn_stage { STAGE_ITEM, STAGE_PART, STAGE_TEXT_DONE, STAGE_PART_DONE } turn_stage;

/* State of reading a stream, and what is needed to go on writing it in the provider's stead. All zero to begin
 * with, but for `keep`; strings are kept in fixed room (cut) so that it owns no memory. */
typedef struct turn_reader {
    char id[40], model[64]; /* an id of Chat or Messages fits; one of Responses is kept whole in `keep` */
    daruma_arena *keep;     /* (set) where ids that do not fit are kept whole; NULL: they are cut */
    daruma_str long_id;     /* `id`, where it is there */
    daruma_str long_item;   /* `item`, likewise */
    int64_t created;
    int blocks;                         /* content blocks or output items begun so far */
    int open;                           /* index of the block that is open, -1 none (set when `began`) */
    delta_kind open_kind;               /* TEXT, THINKING or CALL */
    int calls;                          /* calls begun so far */
    int gone;                           /* one behind the highest wire index that is no longer in `call_block` */
    int16_t call_block[TURN_CALLS_MAX]; /* wire index (block, output item, tool_calls index) of the newest calls: that
                                           of call n at n % TURN_CALLS_MAX */
    int64_t sequence;                   /* Responses: newest sequence_number, -1 none */
    char item[40];                      /* Responses: id of the open item; Chat: id of the newest call */
    char phase[24];                     /* Responses: of the open message ("commentary", "final_answer") */
    int part;                           /* Responses: content or summary index of the open part */
    turn_stage stage;                   /* Responses: how far the open item is */
    int64_t open_bytes;                 /* of text, thinking or arguments in the open block so far */
    daruma_str path;                    /* Gemini: of the newest value in the arguments that are open, in `keep` */
    struct str_map *entered;            /* Gemini: the members that were begun in them, in `keep` */
    int choice;                         /* Gemini: 1 + index of the candidate that is read; 0: none came yet */
    uint16_t half;                      /* first half of a character that the newest piece ended with, 0: none ... */
    int16_t half_of;                    /* ... number of its call; -1: of what is said */
    bool in_piece;                      /* Gemini: the newest value in the arguments is a string that goes on */
    bool began, finished, ended;
    bool lost; /* something of a call is not told apart any more: what is read is not all of the answer */
} turn_reader;

/* The id of the answer, and of its open item, whole. */
static inline daruma_str turn_id(const turn_reader *r)
{
    return r->long_id.n ? r->long_id : str_of(r->id);
}
static inline daruma_str turn_item(const turn_reader *r)
{
    return r->long_item.n ? r->long_item : str_of(r->item);
}

/* State of writing a stream. Begin with all zero for a new answer, or copy `r` from a reader to go on with the stream
 * that it has read. */
typedef struct turn_writer {
    turn_reader r;      /* what the client has seen */
    int64_t wall;       /* unix seconds, for `created` of a new answer */
    uint64_t made;      /* seed of made-up ids */
    turn_finish finish; /* seen, written with DELTA_END where the wire wants it last */
    turn_usage usage;   /* likewise; begin with -1s: TURN_USAGE_NONE */
    daruma_buf text;    /* the text of the answer so far: closing events repeat the open block's share of it (Responses:
                           output_text.done, response.completed). Grows in its arena; its arena serves those below, too */
    daruma_buf held;    /* thinking or arguments of the open block, Responses: sources of its text that were written
                           here: closing events repeat them, Gemini sends them whole */
    int sources;        /* Responses: how many those are */
    daruma_buf items;   /* Responses: finished output items, for response.completed: JSON with commas */
    daruma_str usage_raw; /* the usage at the end, as written on the same wire; empty: it is made of `usage` */
    daruma_str finish_raw, stopped_by; /* Messages: the stop reason at the end, as its provider wrote it on the same
    wire, and the stop sequence that was met; empty: it is made of `finish` */
    daruma_buf call_id, call_name;     /* of the open call */
    bool custom;                       /* Responses: that is one of a custom tool */
    bool half;      /* Responses: the open item is reasoning that broke off: it is closed, and no part of the answer */
    int call_shift; /* number of a call here less its number where it came from */
    uint64_t mute[TURN_CALLS_MAX / 64]; /* Chat: bits of the newest calls begun here that have no arguments yet */
    size_t call_end;                    /* Chat: bytes of the buffer when the newest call was begun in it */
    bool usage_asked; /* Chat: usage is a chunk of its own behind the last choice (stream_options.include_usage); else
                         it stands with the finish reason */
    bool functions;   /* Chat: calls are written in the older spelling (function_call), which has one of them */
    bool broken; /* what came could not be written on this wire: arguments of a call that was closed. Do not end it */
} turn_writer;
#define TURN_USAGE_NONE ((turn_usage){-1, -1, -1, -1, -1})
#endif
