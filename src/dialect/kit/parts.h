/* parts.h - what the dialects share: the scan of a request, small questions about values, and
 * the words of an error or an event. Only files of src/dialect include it. */
#ifndef DIALECT_KIT_PARTS_H
#define DIALECT_KIT_PARTS_H
#include "dialect/dialect.h"
#include "model/kinds.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* What a top-level member of a request tells. */
typedef enum scan_what {
    SCAN_NOTHING,
    SCAN_MODEL,
    SCAN_STREAM,
    SCAN_TOOLS,     /* an array that is not empty offers tools */
    SCAN_FUNCTIONS, /* Chat: likewise, in the older spelling */
    SCAN_FORMAT,    /* an object whose type is json_object or json_schema */
    SCAN_FORMAT_IN, /* an object with such a format in its member "format" */
    SCAN_MESSAGES,
    SCAN_SYSTEM,    /* the system prompt outside the messages */
    SCAN_MAX,       /* the output cap */
    SCAN_STATE,     /* anything but null and "" lives on the server */
    SCAN_STATE_ID,  /* a string, or an object with an id, does */
    SCAN_BEFORE,    /* likewise, and it is what this one goes on from: an answer ... */
    SCAN_BEFORE_ID, /* ... or a conversation, which is the same for all its requests and grows with each */
    SCAN_STORE,     /* false: the answer is kept nowhere */
    SCAN_THREAD,    /* Anthropic: the conversation is to be kept on the server, or one that is kept there goes on */
    SCAN_CONFIG,    /* Gemini's generationConfig: output cap, format and number of answers */
    SCAN_PROMPT,    /* Responses: a template that the account keeps; its tools stand there */
    SCAN_SERVERS,   /* anything but nothing is a server whose tools the provider calls */
    SCAN_BEHIND,    /* true: the answer is made in the background */
    SCAN_CHOICES,   /* how many answers are asked for at once */
    SCAN_OPTIONS,   /* Chat's stream_options: whether usage is a chunk of its own */
} scan_what;

typedef struct scan_key {
    daruma_str key;
    scan_what what;
} scan_key;

/* Which of a dialect's hosted tools have no effects outside: names of what a request declares, and of what stands in an
 * answer. */
typedef struct hosted {
    const daruma_str *tools;
    size_t ntools;
    const daruma_str *items;
    size_t nitems;
    bool by_member; /* Gemini: the name is that of a member */
} hosted;

/* Reads a request by its dialect's table of `n` keys. Looks into messages only up to the first
 * user message. */
request_scan scan_request(daruma_str body, const scan_key *keys, size_t n, const hosted *h, uint32_t *newest,
                          bool strict);

/* ---- hosted.c ---- */

extern const hosted hosted_chat, hosted_responses, hosted_anthropic, hosted_gemini;
/* Passes the tools that a request declares. True if one may have effects outside; *ret is their span. */
bool hosted_tools(const hosted *h, json_iter *it, daruma_str *ret);
/* True if what is called so in an answer may have had effects outside. Empty names have none. */
bool hosted_item(const hosted *h, daruma_str name);
/* False: the type is no shell's. Else *ret says whether it runs at the provider. */
bool hosted_shell(daruma_str type, daruma_str environment, bool *ret);
bool hosted_block(daruma_str type, daruma_str name); /* the same for a block of Anthropic's */
bool hosted_event(daruma_str type);                  /* ... for an event of Responses that tells of a call's progress */
bool hosted_part(daruma_str key, daruma_str value);  /* ... for a member of a part of Gemini's */

/* Adds a string value to a hash: of a long one its length, its beginning and its end, so that it is not read twice. */
uint64_t hash_text(uint64_t h, daruma_str string);

const char *space_end(const char *p, const char *end); /* behind white space */
/* Walks a whole body, which is to be one object. */
json_iter whole_open(daruma_str body);
bool whole_ok(const json_iter *it); /* after the last member: it was one whole object and nothing stands behind it */

/* As json_raw_eq, quick where nothing is escaped. */
static inline bool key_is(daruma_str raw, daruma_str name)
{
    if (raw.n <= name.n)
        return raw.n == name.n && memcmp(raw.p, name.p, name.n) == 0;
    if (!name.n || (raw.p[0] != name.p[0] && raw.p[0] != '\\'))
        return false; /* nothing that is escaped is empty */
    return memchr(raw.p, '\\', raw.n) && json_raw_eq(raw, name);
}
/* Is a member's name this camelCase one, or the same in snake_case? Google takes both. */
bool key_camel(daruma_str raw, daruma_str camel);
bool value_is(daruma_str value, daruma_str text);     /* a string value that says `text` */
bool value_given(daruma_str value);                   /* a string, array or object that is not empty */
daruma_str value_raw(daruma_str value);               /* a string value without its quotes, escapes kept; else empty */
int64_t usage_get(daruma_str usage, daruma_str name); /* a count >= 0, or -1 */
/* The first tokens called so that a usage object says; 0 and up are written, else untouched. */
void usage_read(daruma_str usage, daruma_str in, daruma_str out, int64_t *ret_in, int64_t *ret_out);

/* An error inside an answer: {"error":{...}}, or vLLM's and Mistral's {"object":"error",...}. */
bool is_error_shape(daruma_str key, daruma_str value);

/* Adds an answer to those that are said: `index` as its value stands there. */
void choice_add(dialect_said *s, daruma_str index, bool over);

/* The words of an error on the wire, from the row of its kind, else from its status. They are names that the providers
 * use themselves: clients act on them (codex on server_is_overloaded and context_length_exceeded, SDKs on
 * insufficient_quota). */
kind_wire error_words_of(daruma_kind kind, int status);
/* {"message":...,"type":...,"param":...,"code":...,"daruma":{...}} as OpenAI's two dialects have it. */
void error_object(daruma_buf *out, const daruma_failure *f, int status, daruma_str message, daruma_str note);
/* The functions of both dialects' rows: {"error":{...}}. */
bool openai_is_error(daruma_str body);
void openai_write_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message, daruma_str note);
/* ,"daruma":{"kind":...,"explanation":...}; with its comma. */
void error_note(daruma_buf *out, const daruma_failure *f, daruma_str note);
void put_cstr(daruma_buf *out, const char *z); /* as a JSON string; NULL is null */
/* An event that has its type as its name and in its data: up to there, and its end. */
void event_open(daruma_buf *out, const char *type);
void event_end(daruma_buf *out);
#endif
