/* talk_inside.h - what talk.c, which reads a streamed answer, talk_fates.c, which says what becomes of it,
 * talk_write.c, which writes the client's, and talk_end.c, which checks what was held, share. */
#ifndef ENGINE_DRIVE_ANSWER_TALK_INSIDE_H
#define ENGINE_DRIVE_ANSWER_TALK_INSIDE_H
#include "engine/drive/answer/talk.h"

enum { NONE_SHOWN = -2, OVER_SHOWN = -3 /* -1 is the block of a server that announces none */ };

typedef enum talk_mode { TALK_PLAIN, TALK_BRIDGE, TALK_ANEW, TALK_REASK, TALK_JOIN, TALK_JOINED } talk_mode;

/* What is held of an answer, in the order in which it came: calls, and what stands among them or behind. */
typedef struct held_part {
    convo_part part; /* CALL; TEXT: its name is the phase of its message; OTHER: what is not told apart (of Messages the
                        begin of a block, or a delta of it), and as `value` sources of the text before it */
    daruma_buf text; /* TEXT; CALL: its arguments */
    daruma_str name; /* CALL: as its provider says it */
    bool object;     /* CALL: they came as an object */
    int index;       /* among the calls of the answer; else that of the call before it */
    struct held_part *next, *before;
} held_part;

struct talk {
    daruma_arena arena;       /* of all that is kept of the stream, this included */
    const dialect *from, *to; /* of the provider, and of the client */
    talk_mode mode, next;     /* of this attempt, and of one that goes on where it broke off */
    turn_finish finish;
    mend_going going;    /* how the attempt was asked to go on */
    bool begun;          /* the client has a head and some of an answer */
    bool lost;           /* more was said than is kept: nothing can be joined to it */
    bool settled;        /* the client has what another answer would repeat, or could not go on with */
    bool writing;        /* out is the client's stream; else in is */
    bool shared;         /* calls of this attempt have one index: clients would take them for one */
    bool holding;        /* a call began, or words that shall be JSON: what follows is held */
    bool thinking;       /* the newest content was thinking that no signature has closed */
    bool bound;          /* ... and the client has it in Chat's signed form */
    bool thought;        /* the client has thinking of the answer that is whole: signed, redacted, or closed */
    bool shows_thinking; /* the client may have what this attempt thinks, signature and all */
    bool left_out;       /* Messages: what a server's tool did was not shown */
    bool unsure;
    bool given;       /* all of it is here, and was found wrong: it goes out if nothing better comes */
    bool waits;       /* some of `parts` came behind the text that the client has: what follows is held, too */
    bool usage_asked; /* of what is written: usage is a chunk of its own */
    bool functions;   /* ... calls are written in Chat's older spelling */
    int shown;   /* Messages: the block of this attempt that the client got last; NONE_SHOWN, or OVER_SHOWN when it is
                    over: some servers number all their blocks alike */
    int seam_at; /* JOINED: the block or item of this attempt in which it was joined; NONE_SHOWN: that stands in a block
                    of its own */
    int sourced; /* Messages: the block of the client's answer that got sources last */
    daruma_str tool;       /* Messages: the begin of a server's tool call that the client has without its result */
    size_t blanks, passed; /* ANEW: white space that is all the client has, bytes, and how much of it came again */
    join_seam *seam;       /* JOIN: made with its first text */
    daruma_arena *room;    /* memory for the event at hand */
    turn_reader in;
    turn_writer *out;     /* made when it is needed, with these: */
    uint64_t made;        /* seed of made-up ids */
    int64_t wall;         /* unix seconds */
    turn_reader *at_hold; /* in, as it was before the first call */
    daruma_buf said;      /* text the client has */
    daruma_buf *items;    /* Responses: finished items it has, said again at the end of the stream; NULL: none */
    daruma_buf hold;      /* PLAIN: raw events from the first call on */
    daruma_buf fresh;     /* JOIN: text not joined yet; REASK: all text; PLAIN, BRIDGE, ANEW: text that is held */
    held_part *parts, *last;
    daruma_str finish_raw, stopped_by; /* stopped_by: the stop sequence that was met, where that is said */
    turn_usage usage;
    daruma_buf *usage_raw; /* ... as its provider wrote it, where the client's dialect says it so; NULL: it does not */
};

/* Anthropic's clients hand thinking back with its signature, and in a tool loop they must. */
static inline bool talk_takes_signed(const talk *t)
{
    return t->from == t->to && t->to == &dialect_anthropic;
}

static inline bool talk_in_thinking(const turn_reader *r)
{
    return r->open >= 0 && r->open_kind == DELTA_THINKING;
}
static inline daruma_str talk_phase(const talk *t)
{
    bool says = t->from == t->to && t->to == &dialect_openai_responses;
    return says ? str_of(t->in.phase) : (daruma_str){0};
}

bool talk_flows(const talk *t);                      /* its text is written anew, as it comes */
bool talk_shows_thinking(const talk *t);             /* what it thinks now is the client's, signature and all */
bool talk_redacted(const talk *t, daruma_str block); /* the block is thinking that is not shown */
/* Does what the table of fates says of one delta of a stream that is written anew; and of the whole event. False: the
 * attempt failed. */
bool talk_rewrite(session *x, const turn_delta *d);
bool talk_rewrite_event(session *x, const dialect_said *e);
held_part *talk_collect(talk *t, part_kind kind); /* one more that is held; NULL without memory */
/* Words that shall be JSON, and begin as something else: a fence, a sentence. While there is only white space, nobody
 * can say. */
bool talk_strays(const session *x, daruma_str text);
/* Text of a continuation: goes on once it is clear where; `whole`: no more comes. False: it cannot be joined. */
bool talk_join(session *x, bool whole);
bool talk_gives_up(session *x);                /* this attempt's words are of no use, another's may be. False, always */
void talk_shown(talk *t, const turn_delta *d); /* the client has it now */
void talk_leave_off(session *x);   /* thinking that broke off takes nothing more, nor does a server's tool call */
turn_writer *talk_writer(talk *t); /* the client's stream is written by us from here on; NULL: no memory */
void talk_write_delta(session *x, const turn_delta *d);
void talk_write_text(session *x, daruma_str text);
/* Writes what was held, the calls of `got` and the end behind what `out` holds, on any thread. False: not all of it
 * could be written. */
bool talk_put_rest(talk *t, const turn *got, daruma_buf *out);

#endif
