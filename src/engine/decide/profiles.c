/* profiles.c - the systems that daruma stands on, as rows of tables. A profile does what its seed does, weaknesses
 * included; `default` does better. Where a seed's document and its code differ there are two variants of it.
 *
 *     penguiflow          the wrapper around one step of its planner: compress once, else apologise or raise
 *     penguiflow-client   its LiteLLM client below that
 *     penguiflow-native   its own client: asks again for what is malformed, steps the response format down;
 *                         `adapter`: that client as its planner calls it
 *     swarm               fixed waits, prunes unfinished tool calls, answers with the error; `before`: as it was
 *     ruby-llm            the client below that: three quick tries
 *     compact             shows failures of tools as short blocks, and hands over to a person after too many
 *     adaptive            KB Labs' ADR-0005 and its code of January 2026: asks a model for a strategy, writes it down
 *     adaptive-head       its code of April 2026: nudges, and stops at the second lap of three calls */
#include "engine/decide/profiles.h"
#include "base/limits.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))
#define ANY         (-1)
#define TIME        DARUMA_NEED_TIME
#define CLEAN       DARUMA_NEED_CLEAN
#define TRIES       DARUMA_NEED_TRIES
#define SIDE        DARUMA_NEED_SIDE
#define MEND        (TIME | CLEAN | DARUMA_NEED_MEND)
#define SHRINK      (MEND | DARUMA_NEED_SHRINK)
#define RESEND      (TIME | CLEAN | TRIES)

enum { OFTEN = 64, STATUS_MAX = 999 };

#define R(k, r, times, needs, after)                                                                                   \
    {                                                                                                                  \
        DARUMA_##k, DARUMA_REMEDY_##r, times, needs, DARUMA_##after                                                    \
    }
#define RULE(from, to, was, words, kind, type, label)                                                                  \
    {                                                                                                                  \
        from, to, was, words, DARUMA_##kind, type, label, NULL, 0                                                      \
    }
#define E(when, kind, remedy, flags, name, reason, strategy)                                                           \
    {                                                                                                                  \
        DARUMA_WHEN_##when, kind, remedy, flags, name, reason, strategy                                                \
    }
#define ON    DARUMA_EVENT_ON
#define WORDS (const char *const[])

static const daruma_event_row silence[1]; /* a table without rows that is told of */

// clang-format off

/* ---- PenguiFlow -------------------------------------------------------------------------- */

/* P-F2, in its order. Classes of exceptions are what their SDK makes of a status. `max_tokens` is one of the words:
 * an error about the output cap counts as a context that is too long (P-W2). */
#define PENGUIFLOW_CONTEXT                                                                                             \
    "input is too long", "context length", "maximum context", "token limit", "context_length_exceeded", "max_tokens",  \
    "too many tokens", "exceeds the model"

static const daruma_rule_row penguiflow_rules[] = {
    /*   status           judged          one of these words                      kind             its name */
    RULE(0,   STATUS_MAX, DARUMA_TIMEOUT, NULL,                                   TIMEOUT,         "timeout", "TimeoutError"),
    RULE(408, 408,        ANY,            NULL,                                   TIMEOUT,         "timeout", "Timeout"),
    RULE(504, 504,        ANY,            NULL,                                   TIMEOUT,         "timeout", "Timeout"),
    RULE(429, 429,        ANY,            NULL,                                   RATE_LIMIT,      "rate_limit", "RateLimitError"),
    RULE(500, STATUS_MAX, ANY,            NULL,                                   SERVER_ERROR,    "service_unavailable", "InternalServerError"),
    RULE(0,   STATUS_MAX, ANY,            (WORDS{PENGUIFLOW_CONTEXT, NULL}),      CONTEXT_LENGTH,  "context_length_exceeded", "BadRequestError"),
    /* LiteLLM's own class for it is neither BadRequest nor known (P-W1). */
    RULE(400, 400,        ANY,            (WORDS{"contextwindowexceeded", NULL}), UNKNOWN,         "unknown", "ContextWindowExceededError"),
    RULE(400, 400,        ANY,            NULL,                                   INVALID_MESSAGE, "bad_request_other", "BadRequestError"),
    RULE(0,   STATUS_MAX, ANY,            NULL,                                   UNKNOWN,         "unknown", NULL),
};

/* The RFC has no type for timeouts: they are unknown, and raised. */
static const daruma_rule_row penguiflow_doc_rules[] = {
    RULE(0,   STATUS_MAX, DARUMA_TIMEOUT, NULL,                                   UNKNOWN,         "unknown", "TimeoutError"),
    RULE(429, 429,        ANY,            NULL,                                   RATE_LIMIT,      "rate_limit", "RateLimitError"),
    RULE(503, 503,        ANY,            NULL,                                   SERVER_ERROR,    "service_unavailable", "ServiceUnavailableError"),
    RULE(0,   STATUS_MAX, ANY,            (WORDS{"input is too long", "context length", "max_tokens", NULL}),
                                                                                  CONTEXT_LENGTH,  "context_length_exceeded", "BadRequestError"),
    RULE(400, 400,        ANY,            NULL,                                   INVALID_MESSAGE, "bad_request_other", "BadRequestError"),
    RULE(0,   STATUS_MAX, ANY,            NULL,                                   UNKNOWN,         "unknown", NULL),
};

/* Kinds without rungs are raised: the caller gets the error as it is (P-F10). */
static const daruma_rung penguiflow_doc[] = {
    R(RATE_LIMIT,      WAIT_RETRY, OFTEN, RESEND,             GROW), /* "existing exponential backoff" */
    R(SERVER_ERROR,    WAIT_RETRY, OFTEN, RESEND,             GROW),
    R(CONTEXT_LENGTH,  SUMMARISE, OFTEN, SHRINK,              NOW), /* P-F16: without a model it fails, and says so */
    R(CONTEXT_LENGTH,  EXPLAIN,   1,     0,                   NOW),
    R(INVALID_MESSAGE, APOLOGISE, 1,     TIME | CLEAN | SIDE, NOW), /* P-F12: the document has the model apologise */
    R(INVALID_MESSAGE, EXPLAIN,   1,     0,                   NOW),
};
static const daruma_rung penguiflow_code[] = {
    R(CONTEXT_LENGTH,  SUMMARISE, OFTEN, SHRINK,              NOW),
    R(CONTEXT_LENGTH,  EXPLAIN,   1,     0,                   NOW),
    R(INVALID_MESSAGE, EXPLAIN,   1,     0,                   NOW),
};

/* P-F6 to P-F9: an attempt for every failure, no success after compression, none when nothing could be compressed,
 * a success for an apology. */
static const daruma_event_row penguiflow_events[] = {
    E(FAILED,   ANY,                    ANY,                     ON | DARUMA_EVENT_SHRINKS, "error_recovery_attempt", NULL, NULL),
    E(MENDED,   ANY,                    DARUMA_REMEDY_SUMMARISE, ON | DARUMA_EVENT_SHRINKS, "trajectory_compressed",  "context_length", NULL),
    E(BROKE,    ANY,                    ANY,                     ON,                        "error_recovery_failed",  "compression_failed", NULL),
    E(GIVEN_UP, DARUMA_CONTEXT_LENGTH,  ANY,                     ON | DARUMA_EVENT_SPENT,   "error_recovery_failed",  "max_compress_retries_exceeded", NULL),
    E(GIVEN_UP, DARUMA_INVALID_MESSAGE, ANY,                     ON,                        "error_recovery_success", NULL, "graceful_failure"),
};

/* The document tells of a success when the step worked, and of a failure when it did not. */
static const daruma_event_row penguiflow_doc_events[] = {
    E(FAILED,    ANY,                    ANY,                     ON | DARUMA_EVENT_SHRINKS, "error_recovery_attempt", NULL, NULL),
    E(MENDED,    ANY,                    DARUMA_REMEDY_SUMMARISE, ON | DARUMA_EVENT_SHRINKS, "trajectory_compressed",  "context_length", NULL),
    E(BROKE,     ANY,                    ANY,                     ON,                        "error_recovery_failed",  "compression_failed", NULL),
    E(RECOVERED, ANY,                    ANY,                     ON,                        "error_recovery_success", NULL, NULL),
    E(GIVEN_UP,  DARUMA_CONTEXT_LENGTH,  ANY,                     ON | DARUMA_EVENT_SPENT,   "error_recovery_failed",  "max_compress_retries_exceeded", NULL),
    E(GIVEN_UP,  DARUMA_INVALID_MESSAGE, ANY,                     ON,                        "error_recovery_success", NULL, "graceful_failure"),
    E(EXHAUSTED, ANY,                    ANY,                     ON,                        "error_recovery_failed",  "exhausted", NULL),
};

#define PENGUIFLOW_TEXT                                                                                                \
    "I'm sorry, but I encountered an issue while processing your request: {message}. "                                 \
    "Please try again or rephrase your question."

/* P-F24: three calls, 1 s and 2 s between them; a timeout is called again at once. Nothing else comes again. */
static const daruma_rule_row penguiflow_client_rules[] = {
    RULE(0,   STATUS_MAX, DARUMA_TIMEOUT, NULL, TIMEOUT,    "timeout", "TimeoutError"),
    RULE(408, 408,        ANY,            NULL, TIMEOUT,    "timeout", "Timeout"),
    RULE(504, 504,        ANY,            NULL, TIMEOUT,    "timeout", "Timeout"),
    RULE(429, 429,        ANY,            NULL, RATE_LIMIT, "rate_limit", "RateLimitError"),
    RULE(503, 503,        ANY,            NULL, OVERLOADED, "service_unavailable", "ServiceUnavailableError"),
    RULE(0,   STATUS_MAX, ANY,            NULL, UNKNOWN,    "unknown", NULL),
};
static const daruma_rung penguiflow_client[] = {
    R(RATE_LIMIT, WAIT_RETRY, OFTEN, RESEND, GROW),
    R(OVERLOADED, WAIT_RETRY, OFTEN, RESEND, GROW),
    R(TIMEOUT,    RETRY,      OFTEN, RESEND, NOW),
};

/* P-F25, P-F26, P-F28, P-F30. */
static const daruma_rule_row penguiflow_native_rules[] = {
    RULE(0,   STATUS_MAX, DARUMA_TIMEOUT,          NULL, TIMEOUT,          "timeout", "LLMTimeoutError"),
    RULE(0,   STATUS_MAX, DARUMA_MALFORMED_OUTPUT, NULL, MALFORMED_OUTPUT, "validation", "LLMValidationError"),
    RULE(400, 499,        ANY, (WORDS{"invalid_json_schema", "invalid schema for response_format", "response_format is invalid",
                                      "output_format.schema", "additionalproperties", "must be text or json_object",
                                      "response_format json_object is not supported", NULL}),
                                                         INVALID_TOOL_SCHEMA, "invalid_request", "LLMInvalidRequestError"),
    RULE(400, 499,        ANY, (WORDS{PENGUIFLOW_CONTEXT, "maximum tokens", "context window", NULL}),
                                                         CONTEXT_LENGTH,   "context_length_exceeded", "LLMContextLengthError"),
    RULE(401, 401,        ANY,                     NULL, AUTH,             "auth", "LLMAuthError"),
    RULE(403, 403,        ANY,                     NULL, AUTH,             "auth", "LLMAuthError"),
    RULE(429, 429,        ANY,                     NULL, RATE_LIMIT,       "rate_limit", "LLMRateLimitError"),
    RULE(408, 408,        ANY,                     NULL, TIMEOUT,          "timeout", "LLMTimeoutError"),
    RULE(504, 504,        ANY,                     NULL, TIMEOUT,          "timeout", "LLMTimeoutError"),
    RULE(500, STATUS_MAX, ANY,                     NULL, SERVER_ERROR,     "server", "LLMServerError"),
    RULE(400, 499,        ANY,                     NULL, INVALID_MESSAGE,  "invalid_request", "LLMInvalidRequestError"),
    RULE(0,   STATUS_MAX, ANY,                     NULL, UNKNOWN,          "unknown", "LLMError"),
};
static const daruma_rung penguiflow_native[] = {
    R(RATE_LIMIT,          WAIT_RETRY,   OFTEN, RESEND,                          ADVICE),
    R(SERVER_ERROR,        WAIT_RETRY,   OFTEN, RESEND,                          GROW),
    R(TIMEOUT,             WAIT_RETRY,   OFTEN, RESEND,                          GROW),
    R(INVALID_TOOL_SCHEMA, LOWER_FORMAT, 2,     MEND,                            NOW),
    R(MALFORMED_OUTPUT,    ASK_AGAIN,    OFTEN, TIME | TRIES | DARUMA_NEED_MEND, NOW),
};

/* P-F27: three calls, and no look at what the provider advises; what is malformed is the planner's to mend. */
static const daruma_rung penguiflow_adapter[] = {
    R(RATE_LIMIT,          WAIT_RETRY,   OFTEN, RESEND, GROW),
    R(SERVER_ERROR,        WAIT_RETRY,   OFTEN, RESEND, GROW),
    R(TIMEOUT,             WAIT_RETRY,   OFTEN, RESEND, GROW),
    R(INVALID_TOOL_SCHEMA, LOWER_FORMAT, 2,     MEND,   NOW),
};

/* ---- Swarm -------------------------------------------------------------------------------- */

/* S-F2, S-F10. What the SDK throws for a 504 or 52x it has no class for (S-W2). */
static const daruma_rule_row swarm_rules[] = {
    RULE(400, 400,        ANY,            (WORDS{"tool_use", "tool_result", "tool_use_id", "tool use", "tool result",
                                                 "corresponding tool_result", "must immediately follow", NULL}),
                                                ORPHAN_TOOL_CALL,  "BadRequest", "RubyLLM::BadRequestError"),
    RULE(400, 400,        ANY,            NULL, INVALID_MESSAGE,   "BadRequest", "RubyLLM::BadRequestError"),
    RULE(401, 401,        ANY,            NULL, AUTH,              "Unauthorized", "RubyLLM::UnauthorizedError"),
    RULE(402, 402,        ANY,            NULL, QUOTA,             "PaymentRequired", "RubyLLM::PaymentRequiredError"),
    RULE(403, 403,        ANY,            NULL, PERMISSION,        "Forbidden", "RubyLLM::ForbiddenError"),
    RULE(429, 429,        ANY,            NULL, RATE_LIMIT,        "RateLimit", "RubyLLM::RateLimitError"),
    RULE(500, 500,        ANY,            NULL, SERVER_ERROR,      "ServerError", "RubyLLM::ServerError"),
    RULE(502, 503,        ANY,            NULL, SERVER_ERROR,      "ServiceUnavailable", "RubyLLM::ServiceUnavailableError"),
    RULE(529, 529,        ANY,            NULL, OVERLOADED,        "Overloaded", "RubyLLM::OverloadedError"),
    RULE(422, 422,        ANY,            NULL, INVALID_PARAMETER, "UnprocessableEntity", "RubyLLM::Error"),
    RULE(404, 499,        ANY,            NULL, UNKNOWN,           "ClientError", "RubyLLM::Error"),
    RULE(500, STATUS_MAX, ANY,            NULL, UNKNOWN,           "UnknownAPIError", "RubyLLM::Error"),
    RULE(0,   STATUS_MAX, DARUMA_TIMEOUT, NULL, TIMEOUT,           "Timeout", "Faraday::TimeoutError"),
    RULE(0,   STATUS_MAX, ANY,            NULL, NETWORK,           "StandardError", "StandardError"),
};

static const daruma_rung swarm[] = {
    R(ORPHAN_TOOL_CALL,  REPAIR_HISTORY, 1,     MEND,   NOW),
    R(ORPHAN_TOOL_CALL,  EXPLAIN,        1,     0,      NOW),
    R(INVALID_MESSAGE,   EXPLAIN,        1,     0,      NOW),
    R(INVALID_PARAMETER, EXPLAIN,        1,     0,      NOW),
    R(AUTH,              EXPLAIN,        1,     0,      NOW),
    R(QUOTA,             EXPLAIN,        1,     0,      NOW),
    R(PERMISSION,        EXPLAIN,        1,     0,      NOW),
    R(UNKNOWN,           EXPLAIN,        1,     0,      NOW),
    R(RATE_LIMIT,        WAIT_RETRY,     OFTEN, RESEND, GROW), /* and then it is raised (S-F4) */
    R(SERVER_ERROR,      WAIT_RETRY,     OFTEN, RESEND, GROW),
    R(OVERLOADED,        WAIT_RETRY,     OFTEN, RESEND, GROW),
    R(TIMEOUT,           WAIT_RETRY,     OFTEN, RESEND, GROW),
    R(NETWORK,           WAIT_RETRY,     OFTEN, RESEND, GROW),
};

/* S-F6 to S-F8. */
static const daruma_event_row swarm_events[] = {
    E(MENDED,    ANY, DARUMA_REMEDY_REPAIR_HISTORY, 0,                   "orphan_tool_calls_pruned", NULL, NULL),
    E(AGAIN,     ANY, DARUMA_REMEDY_WAIT_RETRY,     DARUMA_EVENT_FAILED, "llm_retry_attempt",        NULL, NULL),
    E(EXHAUSTED, ANY, DARUMA_REMEDY_NONE,           DARUMA_EVENT_FAILED, "llm_retry_exhausted",      NULL, NULL),
    E(GIVEN_UP,  ANY, DARUMA_REMEDY_EXPLAIN,        0,                   "llm_request_failed",       NULL, NULL),
};

/* S-F3. */
#define SWARM_TEXT                                                                                                     \
    "I encountered an error while processing your request:\n\n"                                                        \
    "**Error Type:** {label}\n**Status Code:** {status}\n**Message:** {message}\n\n"                                   \
    "This error indicates a problem that cannot be automatically recovered. {advice}"

static const daruma_text_row swarm_advice[] = {
    {DARUMA_AUTH,             "Please check your API credentials."},
    {DARUMA_QUOTA,            "Please check your account billing status."},
    {DARUMA_PERMISSION,       "You may not have permission to access this resource."},
    {DARUMA_INVALID_MESSAGE,  "The request format may be invalid."},
    {DARUMA_ORPHAN_TOOL_CALL, "The request format may be invalid."},
    {ANY,                     "Please review the error and try again."},
};

/* What the document replaces: whatever fails is tried ten times more, ten seconds apart. */
static const daruma_rule_row swarm_before_rules[] = {
    RULE(0,   STATUS_MAX, ANY,            NULL, SERVER_ERROR,      "StandardError", "StandardError"),
};
static const daruma_rung swarm_before[] = {
    R(SERVER_ERROR,      WAIT_RETRY,     OFTEN, RESEND, GROW),
};

/* S-F22: statuses and exceptions that faraday-retry tries again. */
static const daruma_rule_row ruby_llm_rules[] = {
    RULE(429, 429,        ANY,            NULL, RATE_LIMIT,        "RateLimit", "RubyLLM::RateLimitError"),
    RULE(500, 500,        ANY,            NULL, SERVER_ERROR,      "ServerError", "RubyLLM::ServerError"),
    RULE(502, 504,        ANY,            NULL, SERVER_ERROR,      "ServiceUnavailable", "RubyLLM::ServiceUnavailableError"),
    RULE(529, 529,        ANY,            NULL, OVERLOADED,        "Overloaded", "RubyLLM::OverloadedError"),
    RULE(400, STATUS_MAX, ANY,            NULL, UNKNOWN,           "Error", "RubyLLM::Error"),
    RULE(0,   STATUS_MAX, DARUMA_TIMEOUT, NULL, TIMEOUT,           "Timeout", "Faraday::TimeoutError"),
    RULE(0,   STATUS_MAX, DARUMA_NETWORK, NULL, NETWORK,           "ConnectionFailed", "Faraday::ConnectionFailed"),
    RULE(0,   STATUS_MAX, ANY,            NULL, UNKNOWN,           "Error", "RubyLLM::Error"),
};
static const daruma_rung ruby_llm[] = {
    R(RATE_LIMIT,        WAIT_RETRY,     OFTEN, RESEND, GROW),
    R(SERVER_ERROR,      WAIT_RETRY,     OFTEN, RESEND, GROW),
    R(OVERLOADED,        WAIT_RETRY,     OFTEN, RESEND, GROW),
    R(TIMEOUT,           WAIT_RETRY,     OFTEN, RESEND, GROW),
    R(NETWORK,           WAIT_RETRY,     OFTEN, RESEND, GROW),
};

/* ---- Osprey ------------------------------------------------------------------------------- */

/* O-F25, O-F26: timeouts and connections may pass; all else of a model ends the run, rate limits among them (O-W11). */
static const daruma_rule_row osprey_rules[] = {
    RULE(0,   STATUS_MAX, DARUMA_TIMEOUT,          NULL, TIMEOUT,          "timeout", "TimeoutError"),
    RULE(408, 408,        ANY,                     NULL, TIMEOUT,          "timeout", "TimeoutError"),
    RULE(504, 504,        ANY,                     NULL, TIMEOUT,          "timeout", "TimeoutError"),
    RULE(0,   STATUS_MAX, DARUMA_NETWORK,          NULL, NETWORK,          "connection", "ConnectionError"),
    RULE(0,   STATUS_MAX, DARUMA_MALFORMED_OUTPUT, NULL, MALFORMED_OUTPUT, "value", "ValueError"),
    RULE(0,   STATUS_MAX, ANY,                     NULL, UNKNOWN,          "unknown", "Exception"),
};
/* ... and the later reactive mode knows rate limits. */
static const daruma_rule_row osprey_reactive_rules[] = {
    RULE(429, 429,        ANY,                     NULL, RATE_LIMIT,       "rate_limit", "RateLimitError"),
    RULE(0,   STATUS_MAX, DARUMA_TIMEOUT,          NULL, TIMEOUT,          "timeout", "TimeoutError"),
    RULE(408, 408,        ANY,                     NULL, TIMEOUT,          "timeout", "TimeoutError"),
    RULE(504, 504,        ANY,                     NULL, TIMEOUT,          "timeout", "TimeoutError"),
    RULE(0,   STATUS_MAX, DARUMA_NETWORK,          NULL, NETWORK,          "connection", "ConnectionError"),
    RULE(0,   STATUS_MAX, DARUMA_MALFORMED_OUTPUT, NULL, MALFORMED_OUTPUT, "value", "ValueError"),
    RULE(0,   STATUS_MAX, ANY,                     NULL, UNKNOWN,          "unknown", "Exception"),
};

/* ---- Compact Errors ------------------------------------------------------------------------- */

/* E-F2, in its order: words anywhere in the text, so that "author" is a matter of credentials (E-W1). */
static const daruma_tool_row compact_tools[] = {
    {WORDS{"timeout", NULL},               DARUMA_TOOL_TIMEOUT_KIND,    "Try with a simpler query or smaller dataset"},
    {WORDS{"auth", "401", NULL},           DARUMA_TOOL_AUTH_KIND,       "Check credentials or request human approval"},
    {WORDS{"validation", "invalid", NULL}, DARUMA_TOOL_VALIDATION_KIND, "Check input format and required fields"},
    {WORDS{"not found", "404", NULL},      DARUMA_TOOL_NOT_FOUND_KIND,  "Verify the resource exists or try alternative"},
    {NULL,                                 DARUMA_TOOL_UNKNOWN_KIND,    NULL},
};

/* E-F3: the table further down in the document suggests other things, and knows a rate limit. */
static const daruma_tool_row compact_table[] = {
    {WORDS{"timeout", NULL},               DARUMA_TOOL_TIMEOUT_KIND,    "Try simpler query or smaller dataset"},
    {WORDS{"auth", "401", NULL},           DARUMA_TOOL_AUTH_KIND,       "Request human approval for credentials"},
    {WORDS{"validation", "invalid", NULL}, DARUMA_TOOL_VALIDATION_KIND, "Check input format against schema"},
    {WORDS{"not found", "404", NULL},      DARUMA_TOOL_NOT_FOUND_KIND,  "Verify resource exists, list available options"},
    {WORDS{"rate limit", "429", NULL},     DARUMA_TOOL_RATE_LIMIT_KIND, "Wait and retry, or use alternative API"},
    {NULL,                                 DARUMA_TOOL_UNKNOWN_KIND,    NULL},
};

/* E-F4, E-F5, E-F9: three in a row of one tool or agent, ten in all, three shown; nothing decays, nothing is escaped,
 * and the failure that led to the handover is not shown (E-W4, E-W5, E-W7). */
#define COMPACT(which, categories)                                                                                     \
    {                                                                                                                  \
        .profile = "compact", .variant = which, .max_attempts = 1, .max_wait = RETRY_ADVICE_MS_MAX, .patience = -1,    \
        .watch = {                                                                                                     \
            .same_max = 3,                                                                                             \
            .total_max = 10,                                                                                           \
            .shown_max = 3,                                                                                            \
            .message_chars = 200,                                                                                      \
            .by_tool = true,                                                                                           \
            .hides_last = true,                                                                                        \
            .rows = categories,                                                                                        \
            .nrows = COUNT(categories)                                                                                 \
        }                                                                                                              \
    }

/* ---- KB Labs -------------------------------------------------------------------------------- */

#define D(name, circle, key, rule, from, window, times, sure)                                                          \
    {                                                                                                                  \
        name, DARUMA_CIRCLE_##circle, DARUMA_KEY_##key, DARUMA_RULE_##rule, from, window, times, sure                  \
    }
#define F(when, strategy, reasoning, message, expected, confidence)                                                    \
    {                                                                                                                  \
        when, 0, DARUMA_STRATEGY_##strategy, reasoning, message, expected, confidence                                  \
    }

/* K-F10. The document is of the day before the first of these; a day later the code was made to wait longer. Names alone
 * are counted, so eight reads of eight files are a loop (K-W6). */
static const daruma_detector_row adaptive_first[] = {
    /*                        what it is    alike    rule  from  within  times  sure */
    D("exact_repeat",         REPEAT,       STATE,   SEEN,    2,  5,     2,     100),
    D("tool_sequence_repeat", NO_PROGRESS,  NAME,    SEEN,    4, 10,     3,     90),
    D("stuck_reasoning",      SAME_FAILURE, NAME,    FAILING, 2,  5,     0,     75),
};
static const daruma_detector_row adaptive_later[] = {
    D("tool_sequence_repeat", NO_PROGRESS,  NAME,    SEEN,    4, 10,     4,     90),
    D("stuck_reasoning",      SAME_FAILURE, NAME,    FAILING, 2,  5,     0,     75),
};

/* K-F5: the document adjusts first and then asks a person, the code tries again twice and then gives up. */
static const daruma_fallback_row adaptive_doc_rows[] = {
    F(DARUMA_WHEN_NO_FAILURE, ESCALATE, "No clear failure, but agent is stuck",
      "Agent is not making progress. Please provide guidance.", "User provides guidance", 500),
    F(DARUMA_WHEN_FIRST,      ADJUST,   "First failure: other parameters may help", NULL, "Tool succeeds", 400),
    F(0,                      ESCALATE, "Repeated failure of {tool}", "Agent is not making progress. Please provide guidance.",
      "User provides guidance", 500),
};
static const daruma_fallback_row adaptive_code_rows[] = {
    F(DARUMA_WHEN_NO_FAILURE, ESCALATE, "No clear failure, but agent is stuck",
      "Agent is not making progress. Please provide guidance.", "User provides guidance", 500),
    F(DARUMA_WHEN_LEFT,       RETRY,    "Simple retry fallback", NULL, "Tool succeeds on retry", 400),
    F(0,                      GIVE_UP,  "Max retries exceeded", NULL, "Accept failure gracefully", 800),
};
/* K-F4. */
static const daruma_fallback_row adaptive_unread =
    F(0, ESCALATE, "Failed to parse recovery strategy", "Agent encountered an error and needs help",
      "User provides guidance", 300);

/* K-F3: the document shows the model the newest step, the code the failures and what should come next. */
#define ADAPTIVE_SYSTEM                                                                                                \
    "You find ways out for an AI agent that is stuck or failing: why it is so, and which strategy is most likely to "  \
    "help. Be realistic about confidence. Respond ONLY with valid JSON."
#define ADAPTIVE_DOC_PROMPT                                                                                            \
    "Task Goal: {goal}\nCurrent Progress: {progress}%\nSteps Completed: {steps}\n\nLatest Step:\n- Action: {action}\n" \
    "- Outcome: {outcome}\n- Success: {success}\n\nKnown Facts:{facts}\n\nBlockers:{blocker_list}\n\nAnalysis:\n"      \
    "{analysis}\n\nGenerate a recovery strategy:\n1. Analyze why agent is stuck\n2. Choose best recovery approach "     \
    "(retry/alternative-tool/parameter-adjustment/escalate/give-up)\n3. Provide specific action (tool name + "         \
    "parameters)\n4. Estimate confidence (0-1)\n\nOutput JSON: { strategy, reasoning, action, expectedOutcome, "       \
    "confidence }"
#define ADAPTIVE_CODE_PROMPT                                                                                           \
    "Task Goal: {goal}\n\nProgress: {progress}%\nStuck: {stuck}\nBlockers: {blockers}\nNext Milestone: {milestone}\n\n"  \
    "Failed tools: {tools}\nTheir errors: {errors}\n\nKnown Facts:{facts}\n\nStrategies: retry, if the error may "      \
    "pass; alternative-tool, for the same goal; parameter-adjustment, such as another path or pattern; escalate, if "  \
    "the user must help; give-up, if the goal is impossible.\nConsider which other approaches could work, whether "    \
    "the blockers can be resolved, and whether the error is transient or fundamental.\n\nOutput JSON: {\"strategy\": " \
    "\"...\", \"reasoning\": \"...\", \"action\": {\"toolName\": \"...\", \"parameters\": {}, \"escalationMessage\": "    \
    "\"...\"}, \"expectedOutcome\": \"...\", \"confidence\": 0.0-1.0}"

#define ADAPTIVE_ADAPTS(words, rows)                                                                                   \
    {                                                                                                                  \
        .any_output = true, .any_move = true, .span = 50, .low_progress = 200, .low_steps = 5, .greedy = true,         \
        .counts_forever = true, .oldest_facts = true, .facts_max = 10, .blind = 500, .system = ADAPTIVE_SYSTEM,        \
        .prompt = words, .unread = &adaptive_unread, .fallbacks = rows, .nfallbacks = COUNT(rows)                      \
    }
static const daruma_adapt_policy adaptive_doc = ADAPTIVE_ADAPTS(ADAPTIVE_DOC_PROMPT, adaptive_doc_rows);
static const daruma_adapt_policy adaptive_code = ADAPTIVE_ADAPTS(ADAPTIVE_CODE_PROMPT, adaptive_code_rows);

/* K-F21, K-F22: blind to two calls that take turns, and paging through one file is a loop (K-W6). */
static const daruma_detector_row head_detectors[] = {
    D("repeated_without_progress", REPEAT, UNLIMITED, ROW,  1, 0, 3, 90),
    D("loop_detected",             CYCLE,  UNPAGED,   LAPS, 1, 6, 0, 90),
};
/* K-F23: whatever a tool puts out is progress (K-W9). */
static const daruma_adapt_policy head_adapts = {
    .nudge_at = {4, 6, 8}, .lap = 3, .any_output = true, .any_move = true, .span = 50, .low_progress = 200,
    .low_steps = 5, .facts_max = 10,
};

// clang-format on

#define DOUBLING(from, most)                                                                                           \
    {                                                                                                                  \
        .backoff = {.base = from, .cap = most, .factor_milli = 2000 }                                                  \
    }
#define FIXED                                                                                                          \
    {                                                                                                                  \
        .backoff = {.base = 15000, .cap = 15000, .factor_milli = 1000 }                                                \
    }
#define PENGUIFLOW_MENDS                                                                                               \
    {                                                                                                                  \
        .enabled = true, .side_calls = true, .summarize_on_compress = true, .sends_any = true, .json_summaries = true, \
        .max_compress_retries = 1, .compression_threshold_chars = MEND_LARGE_CHARS                                     \
    }
#define PENGUIFLOW(which, ladder, judged, told, calls)                                                                 \
    {                                                                                                                  \
        .profile = "penguiflow", .variant = which, .rungs = ladder, .nrungs = COUNT(ladder), .max_attempts = calls,    \
        .max_wait = RETRY_ADVICE_MS_MAX, .patience = -1, .enabled = true, .mend = PENGUIFLOW_MENDS, .deaf = true,      \
        .answers = true, .rules = judged, .nrules = COUNT(judged), .events = told, .nevents = COUNT(told),             \
        .text = PENGUIFLOW_TEXT, .kinds = {                                                                            \
            [DARUMA_RATE_LIMIT] = DOUBLING(1000, 4000),                                                                \
            [DARUMA_SERVER_ERROR] = DOUBLING(1000, 4000)                                                               \
        }                                                                                                              \
    }
#define NATIVE(which, ladder, calls, deafness)                                                                         \
    {                                                                                                                  \
        .profile = "penguiflow-native", .variant = which, .rungs = ladder, .nrungs = COUNT(ladder),                    \
        .max_attempts = calls, .max_wait = RETRY_ADVICE_MS_MAX, .patience = -1, .enabled = true,                       \
        .mend = {.enabled = true}, .rules = penguiflow_native_rules, .nrules = COUNT(penguiflow_native_rules),         \
        .events = silence, .deaf = deafness, .kinds = {                                                                \
            [DARUMA_RATE_LIMIT] = DOUBLING(1000, 30000),                                                               \
            [DARUMA_SERVER_ERROR] = DOUBLING(1000, 30000),                                                             \
            [DARUMA_TIMEOUT] = DOUBLING(1000, 30000)                                                                   \
        }                                                                                                              \
    }
#define SWARM_MENDS                                                                                                    \
    {                                                                                                                  \
        .enabled = true, .prune_orphans = true, .prunes_only = true, .forgets_reminders = true                         \
    }
#define SWARM(which, calls, first)                                                                                     \
    {                                                                                                                  \
        .profile = "swarm", .variant = which, .rungs = swarm, .nrungs = COUNT(swarm), .max_attempts = calls,           \
        .max_wait = RETRY_ADVICE_MS_MAX, .patience = -1, .enabled = true, .mend = SWARM_MENDS, .deaf = true,           \
        .counts_first = first, .answers = true, .rules = swarm_rules, .nrules = COUNT(swarm_rules),                    \
        .events = swarm_events, .nevents = COUNT(swarm_events), .text = SWARM_TEXT, .advice = swarm_advice,            \
        .nadvice = COUNT(swarm_advice), .kinds = {                                                                     \
            [DARUMA_RATE_LIMIT] = FIXED,                                                                               \
            [DARUMA_SERVER_ERROR] = FIXED,                                                                             \
            [DARUMA_OVERLOADED] = FIXED,                                                                               \
            [DARUMA_TIMEOUT] = FIXED,                                                                                  \
            [DARUMA_NETWORK] = FIXED,                                                                                  \
        }                                                                                                              \
    }

#define OSPREY(name, rows)                                                                                             \
    {                                                                                                                  \
        .profile = name, .max_attempts = 1, .max_wait = RETRY_ADVICE_MS_MAX, .patience = -1, .enabled = true,          \
        .deaf = true, .rules = rows, .nrules = COUNT(rows), .events = silence                                          \
    }
#define RUBY                                                                                                           \
    {                                                                                                                  \
        .backoff = {.base = 100, .cap = 30000, .factor_milli = 2000 }                                                  \
    }

#define ADAPTIVE(which, rules, how)                                                                                    \
    {                                                                                                                  \
        .profile = "adaptive", .variant = which, .max_attempts = 1, .max_wait = RETRY_ADVICE_MS_MAX, .patience = -1,   \
        .watch = {                                                                                                     \
            .message_chars = TOOL_MESSAGE_CHARS_MAX,                                                                   \
            .retries_max = TOOL_RECOVERIES_MAX,                                                                        \
            .auto_percent = 80,                                                                                        \
            .ask_percent = 50,                                                                                         \
            .detectors = rules,                                                                                        \
            .ndetectors = COUNT(rules),                                                                                \
            .adapt = &(how)                                                                                            \
        }                                                                                                              \
    }

const daruma_policy seed_profiles[] = {
    PENGUIFLOW("doc", penguiflow_doc, penguiflow_doc_rules, penguiflow_doc_events, 3),
    PENGUIFLOW("code", penguiflow_code, penguiflow_rules, penguiflow_events, 1),
    {
        .profile = "penguiflow-client",
        .rungs = penguiflow_client,
        .nrungs = COUNT(penguiflow_client),
        .max_attempts = 3,
        .max_wait = RETRY_ADVICE_MS_MAX,
        .patience = -1,
        .enabled = true,
        .deaf = true,
        .rules = penguiflow_client_rules,
        .nrules = COUNT(penguiflow_client_rules),
        .events = silence,
        .kinds = {[DARUMA_RATE_LIMIT] = DOUBLING(1000, 4000), [DARUMA_OVERLOADED] = DOUBLING(1000, 4000)},
    },
    NATIVE(NULL, penguiflow_native, 4, false),
    NATIVE("adapter", penguiflow_adapter, 3, true),
    SWARM("doc", 4, false), /* S-F4: the document says three retries, */
    SWARM("code", 3, true), /* the code makes three calls, and calls them its retries (S-F1) */
    {
        .profile = "swarm",
        .variant = "before",
        .rungs = swarm_before,
        .nrungs = COUNT(swarm_before),
        .max_attempts = 11,
        .max_wait = RETRY_ADVICE_MS_MAX,
        .patience = -1,
        .enabled = true,
        .deaf = true,
        .rules = swarm_before_rules,
        .nrules = COUNT(swarm_before_rules),
        .events = swarm_events,
        .nevents = COUNT(swarm_events),
        .kinds = {[DARUMA_SERVER_ERROR] = {.backoff = {.base = 10000, .cap = 10000, .factor_milli = 1000}}},
    },
    {
        .profile = "ruby-llm",
        .rungs = ruby_llm,
        .nrungs = COUNT(ruby_llm),
        .max_attempts = 4,
        .max_wait = RETRY_ADVICE_MS_MAX,
        .patience = -1,
        .enabled = true,
        .deaf = true,
        .rules = ruby_llm_rules,
        .nrules = COUNT(ruby_llm_rules),
        .events = silence,
        .kinds = {[DARUMA_RATE_LIMIT] = RUBY,
                  [DARUMA_SERVER_ERROR] = RUBY,
                  [DARUMA_OVERLOADED] = RUBY,
                  [DARUMA_TIMEOUT] = RUBY,
                  [DARUMA_NETWORK] = RUBY},
    },
    OSPREY("osprey", osprey_rules),
    OSPREY("osprey-reactive", osprey_reactive_rules),
    COMPACT("code", compact_tools), /* the listing: what the document's values are of */
    COMPACT("doc", compact_table),
    ADAPTIVE("doc", adaptive_first, adaptive_doc),
    ADAPTIVE("code", adaptive_later, adaptive_code),
    {
        .profile = "adaptive-head",
        .max_attempts = 1,
        .max_wait = RETRY_ADVICE_MS_MAX,
        .patience = -1,
        .watch = {.message_chars = TOOL_MESSAGE_CHARS_MAX,
                  .retries_max = TOOL_RECOVERIES_MAX,
                  .auto_percent = 80,
                  .ask_percent = 50,
                  .detectors = head_detectors,
                  .ndetectors = COUNT(head_detectors),
                  .adapt = &head_adapts},
    },
};
const size_t nseed_profiles = COUNT(seed_profiles);
