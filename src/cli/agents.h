/* agents.h - who works in `daruma run`: one agent as the command line says, or those of a configuration. */
#ifndef CLI_AGENTS_H
#define CLI_AGENTS_H
#include "gateway/config/config.h"
#include "run/agents.h"

/* What the command line says. NULL: nothing. */
typedef struct agents_asked {
    const char *config, *agent; /* a file; which of its agents begins */
    const char *wire, *base, *model, *second, *profile;
    const char *const *servers; /* "NAME=COMMAND ARGUMENTS", NULL behind the last */
    bool plan, no_plan;
    int64_t steps, tokens, seconds; /* 0: not said */
} agents_asked;

/* Sets the agents, tools and servers of a run, and its `shell` when an agent wants one. Everything lives in `a`, also
 * what comes from the environment. False: that was told (exit 2). `*ret_base`: where the model is, when the command
 * line or the environment says it; NULL else. */
bool agents_ready(const agents_asked *q, daruma_arena *a, run_settings *s, const char **ret_base);

/* Reads what a configuration says about agents. `c` is what the gateway read of it; NULL: models are not
 * looked at. `servers`: as in agents_asked; NULL: not known. */
bool agents_of_config(daruma_str text, const char *file, const config *c, const char *const *servers, daruma_arena *a,
                      agents *ret, conf_mistakes *m);
#endif
