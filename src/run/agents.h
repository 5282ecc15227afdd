/* agents.h - what a configuration says about agents, their tools and MCP servers: `agents`, `tools`, `mcp`. They stand
 * in the same file as the gateway's options, which are read elsewhere. */
#ifndef RUN_AGENTS_H
#define RUN_AGENTS_H
#include "conf/conf.h"
#include "run/host.h"

/* How an agent works, in the order of the words of `mode`. */
typedef enum agents_mode {
    AGENTS_MODE_USUAL, /* as its profile does */
    AGENTS_MODE_REACTIVE,
    AGENTS_MODE_PLANNED,
} agents_mode;

typedef struct agents_agent {
    daruma_str name, says, model, second, provider, instructions, profile;
    daruma_str *tools;
    size_t ntools;
    daruma_str *mcp;
    size_t nmcp;
    bool tools_said, mcp_said;
    uint32_t mode;       /* an agents_mode */
    agent_limits limits; /* money and prices in thousandths */
    agent_retry retry;
} agents_agent;

typedef struct agents {
    agents_agent *list;
    size_t nlist;
    run_tool *tools;
    size_t ntools;
    mcp_setup *mcp;
    size_t nmcp;
} agents;

/* The rest of the file, as far as agents look at it. */
typedef struct agents_world {
    const char *(*others)(size_t i); /* keys of the file that are somebody else's; NULL behind the last */
    /* Is there such a model (`provider` may be empty)? Feeds those that there are when not. */
    bool (*has_model)(const void *user, daruma_str provider, daruma_str model, conf_near *near);
    /* Does the file say what that model's tokens cost? */
    bool (*has_price)(const void *user, daruma_str provider, daruma_str model);
    const void *user;           /* of both */
    const char *const *servers; /* of the command line, "NAME=...", NULL behind the last; NULL: not known */
    conf_env env;               /* of ${NAME}; NULL: none */
    const char *file;           /* for messages; may be NULL */
} agents_world;

/* Reads them. Everything lives in `a`. False: *m says why. */
bool agents_read(daruma_str text, const agents_world *w, daruma_arena *a, agents *ret, conf_mistakes *m);
/* What was read, as the members of a JSON object; every option as a Markdown table. */
void agents_json(const agents *g, daruma_buf *out);
void agents_options_print(daruma_buf *out);
#endif
