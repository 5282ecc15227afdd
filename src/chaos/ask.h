/* ask.h - one request to the faulty provider, as it reads it. Chaos has readers and writers of its own and shares
 * only the JSON spans with the rest of the house: a mistake in src/dialect must not be met by the same mistake here. */
#ifndef CHAOS_ASK_H
#define CHAOS_ASK_H
#include "daruma.h"
#include "net/http.h"

typedef enum wire { WIRE_CHAT, WIRE_MESSAGES, WIRE_RESPONSES, WIRES } wire;

typedef enum route {
    ROUTE_NONE,     /* nothing of ours: 404 */
    ROUTE_GENERATE, /* one of the three wires */
    ROUTE_EMBEDDINGS,
    ROUTE_COUNT, /* /v1/messages/count_tokens */
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

/* All zero is a request that says nothing. Slices point into the request or its arena. */
typedef struct ask {
    route route;
    wire wire;                             /* how to answer, errors included */
    daruma_str path;                       /* of the target, without the query */
    daruma_str key;                        /* as presented; empty when none was */
    bool versioned;                        /* it has anthropic-version */
    bool ok;                               /* the body is one JSON object */
    daruma_str model;                      /* text */
    bool stream;                           /* wants server-sent events */
    bool usage;                            /* chat: wants a chunk with the usage at the end */
    daruma_str messages;                   /* raw: "messages", or "input" in Responses; "input" of embeddings */
    daruma_str system, tools, tool_choice; /* raw */
    daruma_str format;                     /* raw: the JSON schema the answer must fit; empty when none is asked */
    bool json;                             /* any JSON object is asked */
    bool continues;                        /* Responses: refers to what an earlier call left on the server */
    int64_t max_output;                    /* tokens; -1 not said */
    const char *max_output_name;           /* the parameter that said it */
    daruma_str said;                       /* the last text of the last user message */
    ask_tool *offered;                     /* function tools */
    size_t noffered;
    ask_result *results; /* what tools answered since the model spoke last */
    size_t nresults;
    int64_t tokens; /* of the input: bytes of messages, system and tools by 4 */
    uint64_t hash;  /* of the body without its model: calls for one thing share it, whatever model they ask */
} ask;

/* Reads a whole request; `a` holds what is unescaped. Never fails: what is wrong shows in the fields. */
ask ask_read(const http_head *head, daruma_str body, daruma_arena *a);
#endif
