/* agents.c - what the seeds do in an agent, as rows: where their failures go, how often they try, how they report. The
 * weaknesses are theirs; agent_policy_default does better. Numbers are those of their documents, or of their code where
 * a variant says so. */
#include "engine/seeds/seeds.h"
#include "base/str.h"

#define WAY(sym, to, spent) [DARUMA_##sym] = {AGENT_ROUTE_##to, AGENT_ROUTE_##spent}

/* Osprey, plan first (O-F13 to O-F16): what is exhausted, critical or unknown ends in the error node, in the code what
 * is fatal, too (O-W5). */
#define OSPREY_ROUTES(fatal)                                                                                           \
    {                                                                                                                  \
        WAY(RETRIABLE, AGAIN, ERROR), WAY(REPLANNING, PLANNER, ERROR), WAY(RECLASSIFICATION, CLASSIFIER, ERROR),       \
            WAY(CRITICAL, ERROR, ERROR), WAY(FATAL, fatal, fatal)                                                      \
    }
/* Its reactive mode (O-F19): retried without a delay, then everything is shown to the model. */
#define OSPREY_REACTIVE_ROUTES                                                                                         \
    {                                                                                                                  \
        WAY(RETRIABLE, AGAIN, MODEL), WAY(REPLANNING, MODEL, ERROR), WAY(RECLASSIFICATION, MODEL, ERROR),              \
            WAY(CRITICAL, MODEL, ERROR), WAY(FATAL, MODEL, ERROR)                                                      \
    }
/* Seeds without a router: a tool's failure is the model's to read, a model's is raised (P-F10, E-W8), by some of them
 * when it was tried again. */
#define PLAIN_ROUTES(retriable, spent)                                                                                 \
    {                                                                                                                  \
        WAY(RETRIABLE, retriable, spent), WAY(REPLANNING, MODEL, ERROR), WAY(RECLASSIFICATION, MODEL, ERROR),          \
            WAY(CRITICAL, OUT, OUT), WAY(FATAL, OUT, OUT)                                                              \
    }
#define BOTH(routes)                                                                                                   \
    {                                                                                                                  \
        routes, routes                                                                                                 \
    }

/* What stands in the code of an osprey capability is a row of its tool: nobody classifies for it. */
#define OSPREY_COMMON                                                                                                  \
    .raises = true, .tool_unsaid = DARUMA_CRITICAL, .details = true, .replans = 1, .reclassifications = 1,             \
    .counts_steps = true, .asks_failed = true, .moves_max = 100

/* A seed that tries nothing again: whatever a tool says its model reads (S-F17). */
#define PLAIN                                                                                                          \
    .routes = BOTH(PLAIN_ROUTES(OUT, OUT)), .tools_to_model = true, .tool_unsaid = DARUMA_REPLANNING,                  \
    .retry = {.attempts = 1}, .tool_retry = {.attempts = 1}

/* What the RFC describes; what the code has besides is later than it. */
#define PENGUIFLOW                                                                                                     \
    .name = "penguiflow", .raises = true, .routes = BOTH(PLAIN_ROUTES(AGAIN, SHOWN)),                                  \
    .tools_to_model = true, /* P-F45 */                                                                                \
        .tool_unsaid = DARUMA_REPLANNING, .tool_retry = {.attempts = 1}, .compressions = 1,                            \
    .compressions_of_step = true, .compressed_as_json = true, .compress_over_chars = 2000, .graceful = true,           \
    .graceful_is_answer = true, .off_is_silent = true

static const struct {
    const char *profile, *variant;
    agent_policy policy;
} rows[] = {
    {"osprey",
     "doc",
     {.name = "osprey",
      .mode = AGENT_PLANNED,
      .routes = BOTH(OSPREY_ROUTES(OUT)),
      OSPREY_COMMON,
      .retry = {.attempts = 4, .delay = 1000, .factor_milli = 1500},
      .tool_retry = {.attempts = 4, .delay = 1000, .factor_milli = 1500}, /* 3 retries: 1, 1.5, 2.25 s */
      .report = AGENT_REPORT_DOC}},
    {"osprey",
     "code",
     {.name = "osprey",
      .mode = AGENT_PLANNED,
      .routes = BOTH(OSPREY_ROUTES(ERROR)),
      OSPREY_COMMON,
      .retry = {.attempts = 1000}, /* O-W2: of planner and classifier nobody counts the attempts, and nobody waits */
      .counts_plans = true,        /* O-W3 */
      .tool_retry = {.attempts = 3, .delay = 500, .factor_milli = 1500}, /* 3 executions, 0.5 and 0.75 s (O-T13) */
      .counts_failures = true,
      .report = AGENT_REPORT_CODE}},
    {"osprey-reactive",
     NULL,
     {.name = "osprey-reactive",
      .routes = BOTH(OSPREY_REACTIVE_ROUTES),
      OSPREY_COMMON,
      .retry = {.attempts = 1000},
      .tool_retry = {.attempts = 3},
      .counts_failures = true,
      .report = AGENT_REPORT_CODE}},
    {"penguiflow",
     "doc",
     {PENGUIFLOW, .retry = {.attempts = 3, .delay = 1000, .factor_milli = 2000}, .apologises = true}},
    {"penguiflow",
     "code",
     {PENGUIFLOW, .retry = {.attempts = 1}, /* P-F10: raised */
      .actions = true, .repairs = 2,        /* three questions a step (P-F31) */
      .fills_args = true, .arg_failures_max = 3, .ends_hard = true, .hides_success = true}},
    {"swarm", NULL, {.name = "swarm", PLAIN, .failure_answers = true}},
    {"adaptive",
     NULL,
     {.name = "adaptive",
      .raises = true,
      PLAIN,
      .watched = true,
      .loops_end = true, /* K-F7: whatever was proposed */
      .estimates = true,
      .strategies = AGENT_STRATEGIES_LOG}}, /* observability first: written down, not done */
    {"adaptive-head",
     NULL,
     {.name = "adaptive-head",
      .raises = true, /* K-W7: whatever a model throws ends the run */
      PLAIN,
      .watched = true,
      .loops_end = true,
      .reports = true,
      .ends_hard = true,
      .soft_permille = 700,
      .limit_words = {[AGENT_LIMIT_STEPS] = "Maximum iterations reached ({limit}) without a report.",
                      [AGENT_LIMIT_TOKENS] = "Token hard limit: {used}/{limit}"},
      .circle_words = {[DARUMA_CIRCLE_REPEAT] = "Agent is repeating similar actions without collecting new evidence. ",
                       [DARUMA_CIRCLE_CYCLE] = "Agent detected a repeated tool-call loop. "}}}, /* K-F19 */
    {"compact", NULL, {.name = "compact", .raises = true, PLAIN, .compact = true, .escalates = true}},
};

const agent_policy *seed_agent(daruma_str profile, daruma_str variant)
{
    if (str_eq(profile, S("default")))
        return &agent_policy_default;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(profile, str_of(rows[i].profile)) &&
            (!variant.n || !rows[i].variant || str_eq(variant, str_of(rows[i].variant))))
            return &rows[i].policy;
    return NULL;
}
