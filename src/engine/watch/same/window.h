/* window.h - what is remembered of an agent's newest calls. */
#ifndef ENGINE_WATCH_SAME_WINDOW_H
#define ENGINE_WATCH_SAME_WINDOW_H
#include "base/limits.h"
#include "base/scan.h"
#include "engine/watch/same/noise.h"
#include "engine/watch/same/same.h"
#include "engine/watch/told.h"

enum seen_flag {
    SEEN_FAILED = 1 << 0,
    SEEN_NOTE = 1 << 1,    /* thoughts and plans: they stand between calls, and are none */
    SEEN_NEW = 1 << 2,     /* it told something new */
    SEEN_LOST = 1 << 3,    /* its result was lost */
    SEEN_MOVED = 1 << 4,   /* the same call gave another result before */
    SEEN_ECHO = 1 << 5,    /* words of its arguments stand in its result */
    SEEN_OLD = 1 << 6,     /* its lines were told before, side by side, by looks at a file */
    SEEN_RUN = 1 << 9,     /* a program that only looks wrote it, and what changes by itself is left out */
    SEEN_LITTLE = 1 << 11, /* it is long, and hardly a word of it was not told before */
    SEEN_STALE = 1 << 10,  /* it told at length what it had told before, and nothing had surely changed */
};

/* A call that was made. */
typedef struct seen {
    uint64_t call;  /* what it is compared by */
    uint64_t exact; /* what it is known by to who asks */
    uint64_t bytes; /* the step byte for byte, as same_bytes has it */
    uint64_t file;  /* that it is about, as same_call has it */
    uint64_t shape, place, tool, result, plain, masked, opens;
    uint64_t closes;      /* its result's last two lines, without numbers; known only where it begins as one before */
    uint32_t pairs, news; /* of words of its result, as same_result has them */
    uint64_t args[SAME_BAG], words[SAME_BAG]; /* of arguments and result */
    uint32_t step;
    uint32_t red; /* what a failed run counts that was made before, with a change since; 0: it is no such run */
    uint32_t arg_bytes;
    uint32_t arg_words;
    uint32_t epoch, hard;         /* changes of state before it: that may have been, that were */
    uint32_t tool_means;          /* of its name alone */
    uint32_t means;               /* bits of daruma_trait and words_call */
    uint32_t says;                /* bits of words_result; known only of what was seen before */
    uint32_t names;               /* bits of words_name */
    uint16_t compactions, pauses; /* before it */
    uint16_t flags;
    uint8_t patience;    /* times it may be seen before it is a circle; known as `says` is */
    noise_sketch sketch; /* of its result */
    noise_args given;    /* of its arguments */
} seen;

struct daruma_stall {
    uint32_t steps; /* seen, of all kinds */
    uint32_t calls; /* of them calls */
    uint32_t epoch, hard;
    uint32_t stale; /* calls since the last news, sure change or pause that told at length what they had told before */
    uint32_t stale_at;               /*   step of the first of those */
    uint32_t said;                   /* in a row, without a call */
    uint32_t alike;                  /*   of them alike, the newest with them */
    uint32_t turns;                  /*   that took turns, two of them; the newest with them */
    uint64_t said_hash, said_before; /* the newest, and the one before it */
    uint64_t said_words[SAME_BAG];
    uint32_t pauses;           /* in all */
    uint32_t compactions;      /* in all */
    uint32_t idle_compactions; /* in a row, after which nothing new came */
    uint32_t compacted_at[3];  /* steps of the newest, newest first */
    bool fresh;                /* something new came since the last one */
    uint64_t about;            /* of the circle that was spoken of last */
    uint32_t spoke;            /* step of it, 0 none */
    /* calls, at their number modulo STALL_WINDOW; what they are looked for by stands apart, close together */
    uint16_t byte_tags[STALL_WINDOW], call_tags[STALL_WINDOW], result_tags[STALL_WINDOW], opens_tags[STALL_WINDOW],
        file_tags[STALL_WINDOW];         /* low bits of `bytes`, `call`, `result`, `opens`, `file` */
    uint8_t laps[DARUMA_PERIOD_MAX + 1]; /* so many of the newest are each as the one that many calls before */
    uint32_t notes;                      /* bits of those that are notes */
    noise noise;                         /* what was found to be noise in results */
    told_pairs told;                     /* what results said */
    seen window[STALL_WINDOW];
};

/* The call `back` calls ago; 0 is the newest. `back` < window_count(). */
static inline const seen *window_at(const daruma_stall *s, uint32_t back)
{
    return &s->window[(s->calls - 1 - back) % STALL_WINDOW];
}
static inline uint32_t window_count(const daruma_stall *s)
{
    return s->calls < STALL_WINDOW ? s->calls : STALL_WINDOW;
}

/* Those with the tag of that hash: bit 31 - n for the call n calls ago. */
static inline uint32_t window_alike(const daruma_stall *s, const uint16_t tags[STALL_WINDOW], uint64_t hash)
{
    _Static_assert(STALL_WINDOW == 32, "a bit for each");
    uint32_t bits = scan_tags(tags, (uint16_t)hash), newest = (s->calls - 1) % STALL_WINDOW;
    bits = newest == 31 ? bits : bits << (31 - newest) | bits >> (newest + 1);
    return s->calls < STALL_WINDOW ? bits & ~(UINT32_MAX >> s->calls) : bits;
}

/* Times a call may give the same result before it is a circle. */
enum {
    TIMES_SURE = 3,   /* it said all there is to say, or cannot work */
    TIMES_LIKELY = 4, /* it may be flaky, or answer by a word that means little */
    TIMES_MAYBE = 5,  /* what it looks at may move by itself */
    TIMES_RUNS = 8,   /* a program ran, and only how long it took differs: who is asked to run it a few times, does */
    TIMES_ASKS = 12,  /* asks how something stands, and does not hear that it is at its end */
    TIMES_RETRY = 12, /* a failure that passes by itself; or a key that is pressed */
    TIMES_EACH = 24,  /* of each of many things the same is true */
    TIMES_WAITS = 30, /* waits for what goes on */
};

/* The rules: each looks at the newest call and those before it, and sets the verdict when it has something to say. */
bool rule_resent(const daruma_stall *s, daruma_verdict *v);
bool rule_repeat(const daruma_stall *s, daruma_verdict *v);
bool rule_cycle(const daruma_stall *s, daruma_verdict *v);
bool rule_interleaved(const daruma_stall *s, daruma_verdict *v);
bool rule_same_failure(const daruma_stall *s, daruma_verdict *v);
bool rule_stagnation(const daruma_stall *s, daruma_verdict *v);
bool rule_little_news(const daruma_stall *s, daruma_verdict *v);
bool rule_growing(const daruma_stall *s, daruma_verdict *v);
bool rule_no_progress(const daruma_stall *s, daruma_verdict *v);

/* Noise, by what is in the window. Looks for it in results of different calls, `newest` with them. */
void window_learn_noise(daruma_stall *s, const noise_sketch *newest, uint64_t call, uint64_t tool);
/* Looks for it in arguments of at least two tools. */
void window_learn_args(daruma_stall *s, const noise_args *given, uint64_t tool);
/* A result that differs from that of an earlier call in noise alone becomes the same result. */
void window_unite(daruma_stall *s, const seen *e);
/* The same where the newest calls are this one, each with a result that differs a little from all others, always at the
 * same place. True: what differs is known to be noise now. */
bool window_learn_near(daruma_stall *s, const noise_sketch *sketch, uint64_t call, bool moves);

/* Counts the newest call, which is no note, into s->laps. `again`: it may have been made before. */
void count_laps(daruma_stall *s, bool again);
/* How often the same call with the same result may be seen before it is a circle. */
unsigned patience_of(const seen *e);
#endif
