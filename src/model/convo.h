/* convo.h - a conversation as every remedy sees it: who said what, which call has which result, what
 * was asked for. A dialect makes it from a request body; what no remedy touched goes out again as the
 * bytes it came in.
 *
 *     body -- dialect.read --> convo -- remedies edit parts --> dialect.write --> body
 *                                |
 *        messages: role, parts (text, thinking, call, result, media, other)
 *        tools: name, schema      settings: what the request asks for      patches: edits by wire path
 *
 * Every part and message keeps its raw bytes. `edited` says that the fields are the truth, not raw. A
 * message or part with empty raw was made by us, or comes from another dialect: it is written from its fields. */
#ifndef MODEL_CONVO_H
#define MODEL_CONVO_H
#include "base/map.h"
#include "daruma_parts.h"

typedef enum convo_role {
    CONVO_SYSTEM, /* system and developer messages; the top-level system prompt is a message with `apart` */
    CONVO_USER,
    CONVO_ASSISTANT,
    CONVO_TOOL, /* a message that is nothing but tool results, where the wire has such messages */
} convo_role;

typedef enum part_kind {
    PART_TEXT,
    PART_THINKING, /* thinking, reasoning; also what the provider encrypted */
    PART_CALL,     /* the model calls a tool of the client */
    PART_RESULT,   /* what the tool gave */
    PART_MEDIA,    /* image, audio, document */
    PART_OTHER,    /* anything else: calls of the provider's own tools, references, unknown blocks. Kept as it is */
} part_kind;

/* Conversations have thousands of them: what no kind has together shares its place, and `kind` says which of both it
 * is. */
typedef struct convo_part {
    part_kind kind : 8;
    bool edited : 1;    /* the fields below are the truth, not raw */
    bool dropped : 1;   /* is not written */
    bool failed : 1;    /* RESULT: reports an error */
    bool sealed : 1;    /* THINKING, CALL: carries a signature or encrypted bytes that the provider checks */
    bool remote : 1;    /* names what lives on the server (file id, item reference, container): pins the account */
    bool ready : 1;     /* text is decoded: use convo_text() */
    bool media_url : 1; /* MEDIA: `media` is a URL */
    bool custom : 1;    /* CALL: of a custom tool of OpenAI's, whose arguments are words and no JSON */
    bool wrapped : 1;   /* CALL: the same, where they are the member `input` of JSON: see convo_unwrap() */
    uint32_t nparts;    /* RESULT: of `parts`; else 0 */
    daruma_str raw;     /* the JSON value it came as; empty: ours */
    union {
        daruma_str id; /* CALL: its id; RESULT: id of its call. Decoded; empty where the wire has none (Gemini) */
        daruma_str media_type; /* MEDIA: "image/png"; empty unknown */
    };
    union {
        daruma_str name;  /* CALL: the tool; RESULT: the tool where the wire says it (Gemini) */
        daruma_str media; /* MEDIA: base64 data, or a URL when `media_url` */
    };
    daruma_str value; /* raw JSON as on the wire: text (TEXT, THINKING), arguments (CALL), content (RESULT) */
    union {
        daruma_str text;  /* decoded: the text; CALL: the arguments as JSON text; RESULT: its texts joined by a newline.
                             Only convo_text() makes it so for parts that were read; ours have it at once */
        daruma_str about; /* MEDIA: how closely an image is to be looked at (OpenAI's `detail`), or the name of a
                             document's file. Decoded; empty: not said */
    };
    union {
        daruma_str signature; /* all but RESULT: signature as on the wire, decoded */
        struct {
            struct convo_part *parts; /* RESULT: what its content is made of, when it is a list */
            uint32_t cap;             /* ... and for how many there is room */
        };
    };
} convo_part;

typedef struct convo_message {
    convo_role role : 8;
    bool apart : 1;   /* the system prompt that stands outside the list of messages */
    bool edited : 1;  /* parts were edited, dropped, added: written anew from its parts, other members verbatim */
    bool dropped : 1; /* is not written */
    bool no_empty_calls : 1; /* Chat Completions: a list of calls without any is left out */
    uint32_t nparts;
    daruma_str raw; /* the JSON value; empty: ours */
    const daruma_str
        *wire_role; /* as on the wire, without quotes ("developer", "function", "model"), never empty; NULL:
                       the usual one of `role`. convo_wire_role() reads it, convo_set_wire_role() sets it */
    convo_part *parts;
    uint32_t cap;
} convo_message;

/* Where the schemas of the tools of one list stand: "tools", and "function.parameters" in each. */
typedef struct convo_schemas {
    daruma_str list, behind;
} convo_schemas;

typedef struct convo_tool {
    daruma_str raw;          /* the JSON value */
    daruma_str name;         /* decoded; empty for tools of the provider (web_search, ...) */
    daruma_str description;  /* decoded */
    daruma_str schema;       /* raw JSON Schema of its input; empty none */
    const convo_schemas *at; /* where its schema stands or would stand: convo_schema_path(); NULL: nowhere */
    uint32_t nth;            /* ... as which of its list, from 0; CONVO_ALONE: there is no list around it */
    uint32_t wire : 30;      /* 1 + where its schema stands in `wires`; 0: it is `schema` */
    bool hosted : 1;         /* runs at the provider */
    bool strict : 1;         /* OpenAI's APIs: calls keep to the schema to the letter */
} convo_tool;

#define CONVO_ALONE UINT32_MAX

/* A tool that is called something else on this wire than where it came from, or is of another kind. */
typedef struct convo_rename {
    daruma_str was, is;
    bool custom; /* it is a custom tool there, and a function here: CONVO_INPUT_SCHEMA */
} convo_rename;
/* What a custom tool takes where there are only functions. */
#define CONVO_INPUT_SCHEMA                                                                                             \
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\"required\":[\"input\"]}"

typedef enum convo_choice { CHOICE_UNSAID, CHOICE_AUTO, CHOICE_NONE, CHOICE_ANY, CHOICE_ONE } convo_choice;
typedef enum convo_format { FORMAT_UNSAID, FORMAT_TEXT, FORMAT_JSON, FORMAT_SCHEMA } convo_format;

/* What the request asks for, whatever the wire calls it. Numbers as raw JSON, empty when not said. */
typedef struct convo_settings {
    daruma_str model;           /* decoded */
    int stream;                 /* -1 not said, 0, 1 */
    int64_t max_output;         /* tokens, -1 not said */
    daruma_str max_output_path; /* where it stands or would stand: "max_completion_tokens" */
    daruma_str temperature, top_p, top_k, seed, frequency_penalty, presence_penalty;
    daruma_str stop; /* raw JSON: a string or an array of strings */
    convo_choice choice;
    daruma_str choice_name; /* CHOICE_ONE */
    daruma_str allowed;     /* raw JSON: a list of the tools, or their names, that alone may be called; empty: all */
    int parallel;           /* parallel tool calls: -1 not said, 0, 1 */
    convo_format format;
    daruma_str format_schema; /* raw JSON Schema */
    daruma_str format_name;   /* decoded */
    bool format_strict;       /* OpenAI's APIs: answers keep to the schema to the letter */
    bool format_edited;       /* the format was changed by a remedy: write it from these fields */
    int thinking;             /* -1 not said, 0 off, 1 on */
    int64_t thinking_budget;  /* tokens, -1 not said */
    daruma_str effort;        /* "low", "high", ...; decoded; empty not said */
    daruma_str user;          /* decoded */
    daruma_str verbosity;     /* raw JSON; set where a conversion carries it ... */
    daruma_str openai;        /* ... raw members, each behind a comma, that OpenAI's two APIs have in common */
} convo_settings;

/* An edit of the body outside its messages, by path of member names and indexes ("tools.3.function.strict").
 * Paths that do not exist change nothing (DROP, RENAME) or are made (SET; so are objects on the way, no lists). */
typedef enum patch_op { PATCH_SET, PATCH_DROP, PATCH_RENAME } patch_op;
typedef struct convo_patch {
    patch_op op;
    daruma_str path;  /* empty: a later one took its place */
    daruma_str value; /* SET: raw JSON; RENAME: the new name of the last member */
} convo_patch;

/* What a wire insists on. */
enum convo_quirk {
    WIRE_RESULTS_FOLLOW = 1 << 0, /* results stand directly behind the message with their calls */
    WIRE_RESULTS_IN_USER =
        1 << 1,                 /* results are parts of a user message, before its text; else messages of their own */
    WIRE_FLAT = 1 << 2,         /* every call, result and piece of thinking is an item of its own (Responses) */
    WIRE_ALTERNATE = 1 << 3,    /* user and assistant take turns: neighbours of one role are one message */
    WIRE_SYSTEM_APART = 1 << 4, /* the system prompt stands outside the messages */
    WIRE_USER_FIRST = 1 << 5,   /* the first message is the user's */
    WIRE_NO_IDS = 1 << 6,       /* calls and results are paired by order and name (Gemini) */
    WIRE_NO_EMPTY = 1 << 7,     /* empty text is refused */
    WIRE_PREFILL = 1 << 8,      /* a last assistant message is begun for the model, it goes on from there */
    WIRE_OPAQUE_ARGS = 1 << 9,  /* arguments are a JSON text in a string, which may be broken (Chat, Responses) */
    WIRE_ASKS_USAGE = 1 << 10,  /* a stream says what it took only where that is asked for (Chat) */
};

/* What lives on the server. Three facts, each called the same wherever it stands:
 *
 *   remote   something is named that one account has: a stored answer, an item, a file, a container, what is
 *            cached. Nobody else can answer; what names it is not shortened, nor said in another dialect.
 *   before   ... and what is named comes before all that is here: the history begins there.
 *   unseen   part of the history is not here: there is a `before`, or references stand for items of it.
 *
 * A request_scan (dialect.h) has the first two, as far as they are seen without reading; of `before` only an answer or
 * a conversation, which grow, and which one it is. */
typedef struct convo {
    uint32_t quirks;         /* bits of convo_quirk: of the dialect that read it */
    daruma_str body;         /* what was read; empty: made by conversion, everything is written from fields */
    daruma_arena *arena;     /* what edits make lives here */
    convo_message *messages; /* in order; the system prompt that stands apart comes first */
    size_t nmessages, cap;
    convo_tool *tools;
    size_t ntools;
    str_map tool_at;   /* name -> 1 + the first tool of that name; empty: convo_tools_index() was not called */
    daruma_str *wires; /* schemas of tools as the wire has them, where that has another kind (Gemini) */
    size_t nwires, wires_cap;
    convo_rename *renames; /* of tools that got another name when it was converted */
    size_t nrenames;
    convo_settings set;
    convo_patch *patches;
    size_t npatches, patch_cap;
    str_map patch_at; /* path -> 1 + its newest patch; in the upper half 1 + its newest renaming */
    bool edited;      /* anything was edited: else write gives `body` */
    bool more_tools;  /* tools are declared elsewhere as well: a name that is not here may be one of theirs */
    bool remote;      /* names what lives on the server, here or in a part: see above */
    bool before;      /* ... and its history begins there: what is here goes on from it */
    bool full;        /* memory ran out while editing: do not use it */
    str_map *calls;   /* while it is written: calls by id, once one was asked for (convo_kit.h) */
} convo;

/* What daruma_parts.h calls a conversation: one that knows how it is written. */
struct daruma_convo {
    convo *convo;
    void (*write)(const convo *c, daruma_buf *out);
    void *mending; /* of engine/mend; NULL: nothing was mended yet */
};

/* ---- reading it ---- */

/* What a message's role is called on the wire; empty: as is usual. */
static inline daruma_str convo_wire_role(const convo_message *m)
{
    return m->wire_role ? *m->wire_role : (daruma_str){0};
}

/* The decoded text of a part, see convo_part.text. Made once, in the convo's arena. */
daruma_str convo_text(convo *c, convo_part *p);
/* The same for who may not keep it: made anew each time in the convo's arena. */
daruma_str convo_part_text(const convo *c, const convo_part *p);
/* Index of the newest message of the user that is not (only) tool results; STR_NONE when there is none. */
size_t convo_last_user(const convo *c);
/* Index of the first message of the tool loop in progress: behind the newest user turn. nmessages when none. */
size_t convo_loop_begin(const convo *c);
/* Estimate of the tokens of the whole request, messages, tools and all; errs high. Bytes of media count by a flat rate.
 */
int64_t convo_tokens(const convo *c);
int64_t convo_message_tokens(const convo_message *m);
int64_t text_tokens(daruma_str text); /* of a plain text: by 3.5 bytes a token; of CJK 1.5 a character */
/* Of a flat wire: is it a reference to an item of the history that is on the server, and not here? */
bool convo_reference(const convo_message *m);
/* Is part of its history unseen: on the server, and not here? Then calls may have been made that are not seen, and
 * there are tokens that nobody here can count. */
bool convo_unseen(const convo *c);
/* The first tool of that name; NULL: there is none. */
const convo_tool *convo_tool_find(const convo *c, daruma_str name);
/* From here on a tool is found without a look at each, as long as none is added. */
void convo_tools_index(convo *c);
/* The name that a tool had before it got this one; the same when it always had it. */
daruma_str convo_name_was(const convo_rename *renames, size_t n, daruma_str is);
/* Is the tool that is called so on this wire a custom one where it came from? */
bool convo_was_custom(const convo_rename *renames, size_t n, daruma_str is);
/* The schema of a tool as the wire has it. */
daruma_str convo_tool_wire(const convo *c, const convo_tool *t);
/* The wire path of a tool's schema from the top, "tools.3.function.parameters", in `a`. Empty: it stands nowhere. */
daruma_str convo_schema_path(const convo_tool *t, daruma_arena *a);
/* Sets both; `wire` may be `schema`. */
void convo_set_schema(convo *c, convo_tool *t, daruma_str schema, daruma_str wire);
/* A tool that takes words and no JSON. */
bool convo_tool_custom(const convo_tool *t);
/* The words of a custom tool as the arguments of a function, as JSON in `a`. */
daruma_str convo_wrap(daruma_str words, daruma_arena *a);
/* Makes of a call that is `wrapped` one that is `custom`; what is new is in `a`. One whose arguments hold no words
 * stays as it is. */
void convo_unwrap(convo_part *call, daruma_arena *a);

/* ---- editing it: all mark what they touch; without memory c->full ---- */

void convo_set_text(convo *c, convo_message *m, convo_part *p,
                    daruma_str text);                            /* also of a RESULT: then it has no parts */
void convo_drop_part(convo *c, convo_message *m, convo_part *p); /* a message left without parts is dropped */
void convo_drop_message(convo *c, convo_message *m);
/* A new message at index `at` (moves the others); NULL without memory. Pointers to messages are stale afterwards. */
convo_message *convo_insert_message(convo *c, size_t at, convo_role role);
/* A new part at index `at` of a message; NULL without memory. Pointers to its parts are stale afterwards. */
convo_part *convo_insert_part(convo *c, convo_message *m, size_t at, part_kind kind);
void convo_patch_add(convo *c, patch_op op, daruma_str path, daruma_str value); /* a later one for the same path wins */
/* The newest patch for that path that renames it, or that does not; NULL when there is none. */
const convo_patch *convo_patch_of(const convo *c, daruma_str path, bool renames);
void convo_set_max_output(convo *c, int64_t tokens);

/* ---- making one: for readers and converters; nothing is marked as edited ---- */

/* Sets what a message's role is called on the wire. Borrows the bytes of `role`; empty: as is usual. */
void convo_set_wire_role(convo *c, convo_message *m, daruma_str role);
/* So many messages will be added, more or less: room for them at once. */
void convo_expect(convo *c, size_t n);
/* At the end. `raw` as it was read, empty for what is ours. NULL without memory: c->full. Pointers are stale. */
convo_message *convo_add_message(convo *c, convo_role role, daruma_str raw);
convo_part *convo_add_part(convo *c, convo_message *m, part_kind kind, daruma_str raw);
convo_part *convo_add_inner(convo *c, convo_part *result, part_kind kind, daruma_str raw); /* into a result's parts */
#endif
