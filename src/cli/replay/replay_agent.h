/* replay_agent.h - scenes of whole agents: what their agent blocks say, and how they run. */
#ifndef CLI_REPLAY_REPLAY_AGENT_H
#define CLI_REPLAY_REPLAY_AGENT_H
#include "engine/seeds/seeds.h"

enum {
    REPLAY_AGENTS_MAX = 4, /* of one scene */
    REPLAY_AGENT_TOOLS_MAX = 12,
    REPLAY_AGENT_RULES_MAX = 12, /* of one agent, all tools together */
};

/* What an agent block says. */
typedef struct replay_agent_told {
    daruma_str name; /* behind the word "agent"; the first may have none */
    daruma_str task;
    agent_setup setup; /* mode, models, instructions, limits */
    agent_tool tools[REPLAY_AGENT_TOOLS_MAX];
    agent_rule rules[REPLAY_AGENT_RULES_MAX];
    daruma_str rule_of[REPLAY_AGENT_RULES_MAX]; /* the tool that the rule is about */
    size_t ntools, nrules;
    uint32_t moves;      /* 0: as the profile says */
    daruma_ms cancel_at; /* the run is interrupted then; 0: never */
    bool has_retry;      /* `retry` of the block, of models */
    agent_retry retry;
} replay_agent_told;

struct replay_place;

/* A line of an agent block. False after it was told what is wrong. */
bool replay_agent_line(const struct replay_place *at, daruma_str line, replay_agent_told *g);
#endif
