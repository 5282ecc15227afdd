/* regret.h - how far daruma stayed behind what was possible, summed up over worlds in fixed memory. */
#ifndef SIM_REGRET_H
#define SIM_REGRET_H
#include "sim/class.h"
#include "sim/host.h"

enum {
    REGRET_STEPS = 160,   /* of a histogram: eight for each doubling, up to 2^20 ms */
    REGRET_CLASSES = 48,  /* more than there are */
    REGRET_WORST = 10,    /* worlds that are kept by name */
    REGRET_WORST_EACH = 2 /* ... of one class */
};

/* Times in milliseconds, each within 9 % of what it was. */
typedef struct regret_times {
    uint64_t n;
    uint64_t in[REGRET_STEPS];
} regret_times;

void regret_times_note(regret_times *t, daruma_ms ms);
/* The time that so many thousandths are not above; 0 of none. */
daruma_ms regret_times_at(const regret_times *t, uint32_t milli);

/* One that answers, beside the clairvoyant. */
typedef struct regret_side {
    uint64_t lost;      /* requests that could have been answered and were not */
    uint64_t late;      /* ... but for that the time of the client was too short: it is not counted there */
    uint64_t won;       /* answered though the clairvoyant had no luck */
    uint64_t calls;     /* for all requests that count */
    regret_times added; /* time above the clairvoyant's, of those that both answered */
} regret_side;

typedef struct regret_sum {
    uint64_t worlds, requests;
    uint64_t could;  /* be answered */
    uint64_t calls;  /* of the clairvoyant */
    uint64_t sick;   /* calls of daruma to a place that was known to be sick */
    uint64_t blind;  /* calls of daruma that failed at a place of which nobody had been told yet that it is sick */
    uint64_t hedges; /* calls of daruma beside a silent one */
    uint64_t both;   /* requests that daruma and the clairvoyant answer ... */
    uint64_t beyond; /* ... of them, those for which daruma takes longer than 1.5 times his time and one probe */
    /* Of those beyond it: */
    uint64_t beyond_blind; /* a call of them was blind */
    uint64_t beyond_first; /* the model that stands first in the list answered their only call, sent at once */
    uint64_t beyond_back;  /* their only call went elsewhere, while nothing was wrong any more where the list begins */
    regret_side daruma, direct;
} regret_sum;

typedef struct regret_world {
    const sim_class *class;
    uint64_t k;                       /* its number */
    uint32_t lost, could;             /* requests */
    uint32_t ours, alone;             /* requests that daruma answered, and a client alone */
    uint32_t ours_could, alone_could; /* ... of those that could be answered */
    uint64_t calls, needed;
    daruma_ms slowest; /* time above the clairvoyant's */
} regret_world;

typedef struct regret {
    regret_sum all, of[REGRET_CLASSES]; /* in the order of sim_classes */
    regret_world worst[REGRET_WORST];
    int nworst;
    uint64_t nbelow;       /* worlds in which a client alone has more answers ... */
    uint64_t nbelow_could; /* ... to requests that could be answered */
    regret_world below;    /* the worst of these */
    uint64_t judged;       /* worlds whose rules were looked at */
    struct {               /* the first worlds in which a rule was broken */
        const sim_class *class;
        uint64_t k;
        sim_rule rule;
        int request;
    } broken[REGRET_WORST];
    int nbroken;
    uint64_t nbroken_all;
} regret;

/* Runs world number `k` and adds it to *sum. */
void regret_run(regret *sum, sim_host *h, sim_world *w, const sim_class *class, uint64_t seed, uint64_t k,
                const sim_places *places, const daruma_policy *p);
/* Which class world `k` is of, when all of `classes` that fit take turns. */
const sim_class *regret_class(uint64_t k, const sim_class *only, const sim_places *places);

/* Adds all classes up into sum->all. */
void regret_total(regret *sum);
#endif
