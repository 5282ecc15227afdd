/* place.h - what is known of each place that can be sick, and where it is kept. health.c says what that means, usual.c
 * how long its calls take. */
#ifndef ENGINE_DECIDE_PLACE_H
#define ENGINE_DECIDE_PLACE_H
#include "engine/decide/health.h"

/* The parts of a target that can be sick, each by itself. */
enum { KEY, ACCOUNT, LANE, MODEL, PROVIDER, PARTS };

/* Times of one kind, in ms: the mean and how far they lie from it, as TCP keeps them (RFC 6298). */
typedef struct usual {
    int32_t mean, off;
    uint32_t n; /* how many there were */
} usual;

/* The shortest of what it usually took at most, in two windows of time; 0 nothing was learned in it. */
typedef struct usual_best {
    int32_t in, was;             /* in this window, and in the one before */
    int64_t in_bytes, was_bytes; /* ... and how long the requests were then */
    int64_t bytes;               /* ... and are now, on average */
    daruma_ms turned;
} usual_best;

/* Whether the limits are believed that the provider states: see pace.c. */
typedef enum pace_trust { PACE_BELIEVED, PACE_TESTED, PACE_PROVEN, PACE_REFUTED } pace_trust;

typedef struct pace {
    int64_t left;     /* requests or tokens, as stated, less those that went out since */
    int64_t limit;    /* all of it; 0: not stated */
    int64_t back;     /* so many come back bit by bit until then; 0: they do so at once */
    daruma_ms until;  /* all is back then; 0: nothing is stated, or not for soon */
    daruma_ms ms;     /* how long that was when it was stated */
    uint64_t entered; /* requests or tokens that went out, all in all */
    pace_trust trust;
    daruma_ms proven_at;    /* when it was proven last */
    daruma_ms tested_until; /* a call is out although too little was left, and it finds out until then; 0: none is */
} pace;

/* So many calls at once are served: see crowd.c. */
typedef struct crowd {
    uint32_t out;         /* calls that are out */
    uint32_t room;        /* so many others were out when one was refused; 0: none was, or more were served */
    uint32_t turns;       /* so often it was refused again after others were served; from CROWD_TURNS on it holds ... */
    daruma_ms ms;         /* ... and after so long without a refusal twice as many may be out */
    daruma_ms refused_at; /* when the newest refusal came, 0 none ... */
    daruma_ms refused;    /* ... when that call had gone out ... */
    daruma_ms served;     /* ... and when the newest call went out that was answered */
} crowd;

/* Those who were refused at a busy place take turns: see crowd.c. */
typedef struct turns {
    uint32_t served; /* as many are served at once: others that were out at the newest refusal; 0: unknown */
    uint32_t good;   /* of those who had their turn so many were answered ... */
    uint32_t bad;    /* ... and refused */
    daruma_ms at;    /* when that refusal came ... */
    daruma_ms sent;  /* ... and when its call had gone out */
    daruma_ms off;   /* turns are of no use until then; 0: they may be */
} turns;

/* Streams of a model, or its plain answers: see usual.c. */
typedef struct form {
    daruma_ms well;    /* when the newest went out that came to its end; 0 none did */
    daruma_ms silent;  /* when the first since went out that was silent, 0 none was ... */
    daruma_ms between; /* ... one of the other form after that, which was well, or the newest rest; 0 none */
    daruma_ms until;   /* it rests until then; meaningless while `ms` is 0 */
    daruma_ms ms;      /* how long that was meant to be, 0: it does not rest */
} form;

/* So much time is between calls that are served: see tempo.c. */
typedef struct tempo {
    daruma_ms ms;         /* 0: they go out as they come */
    daruma_ms from;       /* what it was when one was refused behind others that were served */
    bool served;          /* one was since */
    bool proven;          /* so it went several times by turns */
    bool let_go;          /* all may go out, since it seems to have been an outage; `from` holds if it was not */
    uint32_t vain;        /* so many were refused since one was served */
    daruma_ms next;       /* the next one may go out then */
    daruma_ms refused_at; /* when the newest refusal came that was news, 0 none */
} tempo;

typedef struct place {
    uint64_t id;
    daruma_scope scope;
    daruma_kind why;              /* what made it sick last */
    daruma_ms cool_until;         /* it rests until then; meaningless while cool_ms is 0 */
    daruma_ms cool_ms;            /* how long that rest was meant to be, 0: none */
    daruma_ms cool_from;          /* when the call went out that made it rest */
    daruma_ms cool_took;          /* ... and how long that took */
    daruma_ms probe_until;        /* it has rested and one call finds out whether it is well; 0: none does */
    daruma_ms refused_from;       /* when the first call since the last success went out that was refused; 0 none was */
    daruma_ms asked_at;           /* when the newest call went out */
    uint32_t answers;             /* lanes: calls that were answered, all in all */
    bool trusted;                 /* there were several, and lately, when that call was refused: it may pass */
    uint64_t witness;             /* the case that was refused here, 0 none; a second one makes it rest */
    uint32_t strikes;             /* rests in a row without a success between them ... */
    daruma_ms struck_at;          /* ... and when the newest began; meaningless while there are none */
    uint64_t wrong_by;            /* models: the case whose answer was wrong, 0 none since one was right ... */
    uint32_t wrongs;              /* ... and rests for that in a row */
    bool named;                   /* the provider said how long */
    bool held;                    /* ... and a later call was told the same end */
    int named_status;             /* ... with which HTTP status */
    daruma_ms named_from;         /* when the first call since a success went out that was told; 0 none was */
    bool unreached;               /* providers: the newest failure was that no connection was made */
    daruma_breaker breaker;       /* lanes, models and providers */
    daruma_budget budget;         /* providers: retries */
    daruma_budget hedges;         /* providers: second calls beside a silent one */
    usual times[HEALTH_TIMES][2]; /* models: streams, plain answers */
    usual_best best[HEALTH_TIMES][2]; /* models: likewise */
    form forms[2];                    /* models: the same two */
    int64_t narrow;                   /* models: the smallest body that was refused for its bytes; 0 none was ... */
    daruma_ms narrow_at;              /* ... and when the newest was */
    daruma_ms heard;                  /* models: when the newest call that was answered went out ... */
    daruma_ms heard_at;               /* ... and when that was; 0 none was */
    daruma_ms whole;                  /* models: when the newest call went out whose answer came whole; 0 none did */
    daruma_ms knocked_at;             /* models: when a second call went there blindly; 0 never */
    uint32_t overdue;                 /* models: calls that got silent for longer than is usual since one was heard */
    uint32_t beside;                  /* models: second calls, out or given up, since one was heard ... */
    daruma_ms beside_at;              /* ... and when the first of them went out */
    daruma_ms dead_from;              /* models: calls that went out from here on hang, though the place is well ... */
    daruma_ms dead_to;                /* ... up to here; 0 none */
    uint64_t shared;                  /* what others know of it, as a mark(); 0 nothing */
    pace pace[DARUMA_LIMITS];         /* lanes */
    crowd crowd;                      /* lanes */
    turns turns;                      /* lanes */
    tempo tempo;                      /* lanes */
    daruma_tally tally;
    uint32_t next;         /* in its chain; places are named by index + 1, 0 is none */
    uint32_t newer, older; /* touched just after, just before */
} place;

struct daruma_health {
    uint32_t nplaces, used;
    uint32_t nchains;        /* a power of two */
    uint32_t newest, oldest; /* touched */
    uint32_t healed;         /* times that something was well before it was due */
    uint32_t *chains;
    place *places;
};

/* The place of a part of `t`, or NULL when nothing is known of it. */
place *place_look(const daruma_health *w, const daruma_target *t, int part);
/* The same, now touched last. */
place *place_known(daruma_health *w, const daruma_target *t, int part);
/* The same, made when there is none: never NULL. The one touched longest ago makes room. */
place *place_for(daruma_health *w, const daruma_target *t, int part);
/* The place with that id, made when there is none: of a snapshot. */
place *place_made(daruma_health *w, uint64_t id, daruma_scope scope);
/* All of them, the one touched last first; NULL behind the last. */
place *place_newest(const daruma_health *w);
place *place_older(const daruma_health *w, const place *p);
place *place_oldest(const daruma_health *w); /* the same from the other end */
place *place_newer(const daruma_health *w, const place *p);
/* What another process saw later than this one: it opened, closed, or is being probed. True: it may be well sooner. */
bool breaker_learn(daruma_breaker *b, const daruma_breaker *got, daruma_ms now);
/* What was wrong is over, and another row of failures may begin: those who have nobody else ask at once. */
void breaker_anew(daruma_breaker *b, daruma_ms now);
/* From here on *p is as `got` was, of a snapshot. */
void place_keep(place *p, const place *got);

/* Is it known how many it serves at once? */
bool crowd_holds(const crowd *o);
/* How soon to look whether somebody else may go there; 0: now. */
daruma_ms crowd_full_in(const crowd *o, daruma_ms now);
/* One was refused since there were too many, or answered. */
void crowd_refused(crowd *o, const daruma_call_pace *call, daruma_ms now);
void crowd_answered(crowd *o, const daruma_call_pace *call);

/* Has one who was refused to wait for his turn while so many calls are out? */
bool turns_busy(const turns *o, uint32_t out, daruma_ms now);
/* A call was answered (`good`) or refused, and so many others are out. */
void turns_over(turns *o, const daruma_call_pace *call, bool good, uint32_t others, daruma_ms now);

/* How soon the next call may go out; 0: now. */
daruma_ms tempo_in(const tempo *o, daruma_ms now);
/* One goes out. */
void tempo_takes(tempo *o, daruma_ms now);
/* One that went out at `sent_at` was refused since there were too many. */
void tempo_refused(tempo *o, daruma_ms sent_at, bool beside_many, daruma_ms now);
/* One that went out then was answered. */
void tempo_answered(tempo *o, daruma_ms sent_at);

static inline daruma_ms later(daruma_ms a, daruma_ms b)
{
    return a > b ? a : b;
}
static inline daruma_ms sooner(daruma_ms a, daruma_ms b)
{
    return a < b ? a : b;
}
#endif
