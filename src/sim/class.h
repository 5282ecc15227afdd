/* class.h - the sorts of worlds there are. */
#ifndef SIM_CLASS_H
#define SIM_CLASS_H
#include "sim/world.h"

/* What is sick together. */
typedef enum sim_where {
    SIM_NOWHERE,  /* nothing is sick */
    SIM_MODEL,    /* one model at one provider */
    SIM_ONE_KEY,  /* one key */
    SIM_ACCOUNT,  /* one account, with all of its keys */
    SIM_PROVIDER, /* one provider */
    SIM_REGION,   /* several providers, one is left */
    SIM_ALL,      /* every target, in the same way */
    SIM_EACH,     /* every model, each in its own way */
    SIM_TURNS,    /* two providers, never both */
    SIM_ANY,      /* some of the above, several times */
} sim_where;

enum sim_shape {
    SIM_FLAPS = 1 << 0,   /* comes and goes */
    SIM_GROWS = 1 << 1,   /* hits ever more calls */
    SIM_THINKS = 1 << 2,  /* models think for minutes before they say anything */
    SIM_JUMPS = 1 << 3,   /* the clock jumps: only what must always hold is judged */
    SIM_LEAVES = 1 << 4,  /* clients leave before they have their answer */
    SIM_WALLS = 1 << 5,   /* a firewall refuses single requests */
    SIM_FIRST = 1 << 6,   /* the first target of the list is among the sick */
    SIM_THROUGH = 1 << 7, /* from the first second to the end */
};

enum sim_load {
    SIM_AGENT = 1 << 0,  /* one agent or a few, each asks again when it has its answer */
    SIM_STEADY = 1 << 1, /* 1 to 20 requests a second */
    SIM_BUSY = 1 << 2,   /* 50 to 170 requests a second */
    SIM_BURST = 1 << 3,  /* all at once */
};

typedef struct sim_class {
    const char *name, *words;
    uint8_t providers[2], models[2], keys[2]; /* at least, at most; models and keys of each provider */
    uint32_t ills;                            /* a bit for each sim_ill it may be; one is chosen for each fault */
    sim_where where;
    unsigned shape, load; /* bits of sim_shape and sim_load; one load is chosen */
    uint32_t share[2];    /* of calls that meet it, in thousandths: at least, at most */
    daruma_ms lasts[2];   /* a fault, at least, at most */
    uint16_t requests[2]; /* at least, at most */
} sim_class;

extern const sim_class sim_classes[];
extern const size_t nsim_classes;

/* The class of this name, NULL when there is none. */
const sim_class *sim_class_find(daruma_str name);
/* True if these targets can be in a world of the class: those of the table are at hand. */
bool sim_class_fits(const sim_class *c, const sim_places *places);
#endif
