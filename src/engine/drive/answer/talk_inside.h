/* talk_inside.h - what talk.c, which reads a streamed answer, talk_write.c and talk_anew.c, which write the client's,
 * and talk_end.c, which checks what was held, share. */
#ifndef ENGINE_DRIVE_ANSWER_TALK_INSIDE_H
#define ENGINE_DRIVE_ANSWER_TALK_INSIDE_H
#include "engine/drive/answer/talk.h"

enum { NONE_SHOWN = -2, OVER_SHOWN = -3 /* -1 is the block of a server that announces none */ };

typedef enum talk_mode { TALK_PLAIN, TALK_BRIDGE, TALK_ANEW, TALK_JOIN, TALK_REASK } talk_mode;

typedef struct held_call {
    daruma_str id, name, signature;
    daruma_buf args;
    daruma_str block; /* REASK, JOIN, ANEW: an item of Responses that is no function's call and stands among them; else
                         empty */
    bool custom, wrapped;
    bool words;  /* BRIDGE, ANEW: no call, but text that came behind one, or behind a block: `args` */
    bool object; /* its arguments came as an object */
    int index;   /* among the calls of the answer; of a block that of the call before it */
    struct held_call *next, *before;
} held_call;

struct talk {
    daruma_arena arena;       /* of all that is kept of the stream, this included */
    const dialect *from, *to; /* of the provider, and of the client */
    talk_mode mode, next;     /* of this attempt, and of one that goes on where it broke off */
    bool begun;               /* the client has a head and some of an answer */
    bool lost;                /* more was said than is kept: nothing can be joined to it */
    bool settled;             /* the client has what another answer would repeat, or could not go on with */
    bool writing;             /* out is the client's stream; else in is */
    bool holding;             /* a call began, or words that shall be JSON: what follows is held */
    bool thinking;            /* the newest content was thinking that no signature has closed */
    bool bound;          /* ... and the client has it in Chat's signed form: half of it is refused when it comes back */
    bool thought;        /* the client has thinking of the answer that is whole: signed, redacted, or closed */
    bool shows_thinking; /* ANEW: the client gets what this attempt thinks */
    int shown; /* ANEW: the block of this attempt that the client got last; NONE_SHOWN, or OVER_SHOWN when it is
                  over: some servers number all their blocks alike */
    size_t blanks, passed; /* ANEW: white space that is all the client has, bytes, and how much of it came again */
    bool joined, unsure;
    bool given;         /* all of it is here, and was found wrong: it goes out if nothing better comes */
    mend_going going;   /* how the attempt was asked to go on */
    join_seam *seam;    /* JOIN: made with its first text */
    daruma_arena *room; /* memory for the event at hand */
    turn_reader in;
    turn_writer *out;     /* made when it is needed, with these: */
    uint64_t made;        /* seed of made-up ids */
    int64_t wall;         /* unix seconds */
    bool usage_asked;     /* usage is a chunk of its own */
    bool functions;       /* calls are written in Chat's older spelling */
    turn_reader *at_hold; /* in, as it was before the first call */
    daruma_buf said;      /* text the client has */
    daruma_buf items;     /* Responses: finished items it has, as they came; the end of the stream says them again */
    daruma_buf hold;      /* PLAIN: raw events from the first call on */
    daruma_buf fresh;     /* JOIN: text not joined yet; REASK: all text; PLAIN, BRIDGE, ANEW: text that is held */
    held_call *calls, *last;
    turn_finish finish;
    daruma_str finish_raw, stopped_by; /* stopped_by: the stop sequence that was met, where that is said */
    turn_usage usage;
    daruma_buf usage_raw; /* ... as its provider wrote it, where the client's dialect says it so; empty: it does not */
};

/* True if text goes out as it comes, written anew. */
static inline bool talk_flows(const talk *t)
{
    return t->mode == TALK_BRIDGE || t->mode == TALK_ANEW;
}
/* Anthropic's clients hand thinking back with its signature, and in a tool loop they must. */
static inline bool talk_takes_signed(const talk *t)
{
    return t->from == t->to && t->to == &dialect_anthropic;
}

static inline bool talk_in_thinking(const turn_reader *r)
{
    return r->open >= 0 && r->open_kind == DELTA_THINKING;
}
bool talk_redacted(const talk *t, daruma_str block); /* the block is thinking that is not shown */
/* What an answer thinks that is made again goes out now, for a client that has no whole thinking: behind what is held
 * it would stand before that. */
bool talk_shows_thinking(const talk *t);
void talk_show_thinking(session *x, const turn_delta *d);
/* What of an answer that is made again is neither text, thinking nor a call: what a server's own tool did, citations.
 * In Messages it goes out as it came. False: it cannot, since it would stand before what is held. */
bool talk_show_other(session *x, const turn_delta *d);
/* Text of an answer that is written anew, as it comes. */
void talk_show_text(session *x, daruma_str text);
/* Text of a continuation: goes on once it is clear where; `whole`: no more comes. False: it cannot be joined. */
bool talk_join(session *x, bool whole);
bool talk_gives_up(session *x); /* this attempt's words are of no use, another's may be. False, always */
/* Does the client with it have something that another attempt would say again, or could not go on with: a refusal, a
 * call that it carries out, sound, an image? */
bool talk_settles(const turn_delta *d);
void talk_leave_thinking(talk *t);       /* thinking that broke off takes nothing more */
turn_writer *talk_writer(talk *t);       /* the client's stream is written by us from here on; NULL: no memory */
void talk_say(talk *t, daruma_str text); /* the client has it now */
void talk_write_delta(session *x, const turn_delta *d);
void talk_write_text(session *x, daruma_str text);
/* Writes what was held, the calls of `got` and the end behind what `out` holds, on any thread. False: not all of it
 * could be written. */
bool talk_put_rest(talk *t, const turn *got, daruma_buf *out);

#endif
