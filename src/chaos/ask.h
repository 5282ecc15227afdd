/* ask.h - one request to the faulty provider, as it reads it. Chaos has readers and writers of its own and shares
 * only the JSON spans with the rest of the house: a mistake in src/dialect must not be met by the same mistake here. */
#ifndef CHAOS_ASK_H
#define CHAOS_ASK_H
#include "daruma_parts.h"
#include "net/http.h"

typedef enum wire { WIRE_CHAT, WIRE_MESSAGES, WIRE_RESPONSES, WIRE_GEMINI, WIRES } wire;

typedef enum route {
    ROUTE_NONE,     /* nothing of ours: 404 */
    ROUTE_GENERATE, /* one of the four wires */
    ROUTE_EMBEDDINGS,
    ROUTE_COUNT, /* /v1/messages/count_tokens, :countTokens */
    ROUTE_MODELS,
    ROUTE_CONTROL, /* /chaos/... */
} route;

typedef struct ask_tool {
    daruma_str name;   /* text */
    daruma_str schema; /* raw; empty when it has none */
} ask_tool;

typedef struct ask_result {
    daruma_str name; /* of the tool that was called; its call id when that is not in the conversation */
    daruma_str text; /* what it answered */
} ask_result;

/* What a request is for, as far as a model can see. */
typedef enum ask_purpose {
    ASK_TURN,     /* the next turn */
    ASK_CONTINUE, /* to go on with a text that broke off */
    ASK_SUMMARY,  /* the system prompt asks for a summary, and there are no tools */
    ASK_PURPOSES,
} ask_purpose;

/* All zero is a request that says nothing. Slices point into the request or its arena. */
typedef struct ask {
    route route;
    wire wire;                             /* how to answer, errors included */
    daruma_str path;                       /* of the target, without the query */
    daruma_str key;                        /* as presented; empty when none was */
    bool versioned;                        /* it has anthropic-version */
    bool ok;                               /* the body is one JSON object */
    daruma_str body;                       /* that object, raw */
    int64_t bytes;                         /* of the body */
    daruma_str model;                      /* text */
    bool stream;                           /* wants events as they come */
    bool array;                            /* Gemini: wants them as one JSON array, not as server-sent events */
    bool usage;                            /* chat: wants a chunk with the usage at the end */
    daruma_str messages;                   /* raw: "messages", "input", "contents"; "input" of embeddings */
    daruma_str system, tools, tool_choice; /* raw */
    daruma_str settings;                   /* raw: where parameters stand: generationConfig, else the body */
    daruma_str format;                     /* raw: the JSON schema the answer must fit; empty when none is asked */
    daruma_str format_name;                /* text: what the schema is called */
    bool json;                             /* any JSON object is asked */
    bool thinks;                           /* thinking is switched on */
    bool continues;                        /* Responses: refers to what an earlier call left on the server */
    bool stores;                           /* Responses: the answer may be referred to */
    daruma_str previous;                   /* text: previous_response_id */
    int64_t left_calls;                    /* tool calls of the answer it refers to; -1 unknown */
    int64_t max_output;                    /* tokens; -1 not said */
    const char *max_output_name;           /* the parameter that said it */
    daruma_str said;                       /* the last text of the last user message */
    ask_tool *offered;                     /* function tools */
    size_t noffered;
    bool no_tools, some_tool; /* tool_choice: none may be called; one must */
    daruma_str demanded;      /* text: this one must */
    ask_result *results;      /* what tools answered since the model spoke last */
    size_t nresults;
    bool tooled;    /* it is of an agent: tools are offered, or were called before */
    size_t nnewest; /* messages at the end of `messages` that came since the model spoke; 0 when it never did */
    ask_purpose purpose;
    daruma_str partial;    /* what the model said last when nothing or only one user message stands behind it */
    bool prefills;         /* ... nothing does: the answer is begun */
    daruma_str asked;      /* what the user had said before that */
    size_t asked_nresults; /* and how many results there were */
    int64_t tokens;        /* of the input: bytes of messages, system and tools by 4 */
    uint64_t hash;         /* of the body without its model: calls for one thing share it, whatever model they ask */
} ask;

/* A member under either of its two spellings: Gemini takes camelCase and snake_case. */
daruma_str ask_either(daruma_str object, const char *camel, const char *snake);
/* Reads a whole request; `a` holds what is unescaped. Never fails: what is wrong shows in the fields. */
ask ask_read(const http_head *head, daruma_str body, daruma_arena *a);
#endif
