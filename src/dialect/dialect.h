/* dialect.h - the wire shapes of LLM APIs as const data and a few functions. A dialect
 * translates, it does not judge: it finds its way in requests and answers and writes errors
 * and messages. Pure: no I/O, no clock, memory from arenas. */
#ifndef DIALECT_DIALECT_H
#define DIALECT_DIALECT_H
#include "daruma_parts.h"
#include "dialect/sse.h"
#include "model/convo.h"
#include "model/turn.h"

#define SCAN_NEWEST 64 /* newest messages whose places are kept: a power of two */

/* What one pass over a request body finds. Spans point into the body. */
typedef struct request_scan {
    daruma_str model_raw;  /* the model's value with its quotes; empty when there is none */
    daruma_str model;      /* without, escapes kept: PHP writes "a\/b"; json_text(model_raw) is the name */
    daruma_str tools_raw;  /* the tools it offers, raw: an array, Gemini's one tool alone; or empty */
    daruma_str format_raw; /* the member that asks for a response format, raw; empty when none is asked for */
    daruma_str messages;   /* the array; "input" in Responses (may be a string) */
    uint64_t conversation; /* hash of the texts of system prompt and first user message; 0 unknown */
    int64_t max_output;    /* -1 not said */
    uint32_t nmodels;      /* members that name a model: other readers may take the first, here the last one counts */
    uint32_t nmessages;    /* in `messages`, when it is an array of less than 4 GiB */
    uint32_t choices;      /* answers that are asked for at once; 0 not said */
    bool ok;               /* it is one JSON object, whole; what its members hold is for the provider to judge */
    bool stream;
    bool tools;       /* offers at least one tool */
    bool functions;   /* ... in Chat's older spelling alone: who writes so reads no calls but those of that spelling */
    bool more_tools;  /* Responses: others may be offered among its messages, or what went before */
    bool schema;      /* asks for a response format (JSON) */
    bool usage_asked; /* Chat: a stream shall say its usage in a chunk of its own */
    bool has_user;    /* at least one user message */
    /* what lives on the server; the words are those of convo.h */
    bool remote;     /* names something that one account has; of files within messages, only Gemini's are looked for */
    bool conversing; /* it goes on from a conversation: the next request names the same */
    bool unstored;   /* its answer is kept nowhere: nobody can go on from it by its id */
    bool effects;    /* the provider may do for it what must not be done twice: tools of its own, work behind */
    bool behind;     /* ... behind its answer, in the background */
    bool adds;       /* ... what is asked and what is answered is added to a conversation that the server keeps */
    bool keeps;      /* Anthropic: asks the server to keep the conversation, or to go on with a kept one (thread) */
    uint64_t remote_id; /* hash of the id of what `remote` says, 0 none */
    uint64_t before;    /* hash of the id of the answer or conversation that it goes on from, 0 none */
} request_scan;

/* What a whole (non-streamed) answer with status 200 is. */
typedef struct answer_view {
    daruma_flaw flaw;                    /* NONE: good to go out */
    daruma_str finish;                   /* stop reason as sent */
    bool text, calls;                    /* has text, has tool calls */
    bool effects;                        /* the provider did something for it that must not be done twice */
    bool spoilt;                         /* a stop reason that says that the model called in a broken way */
    int64_t input_tokens, output_tokens; /* usage, -1 not said */
} answer_view;

/* The answers that one request asked for (`n`, `candidateCount`), by their index: which have begun, which have ended.
 */
typedef struct choice_set {
    uint64_t seen[CHOICES_MAX / 64], over[CHOICES_MAX / 64];
    bool beyond; /* one had an index that is not told apart */
} choice_set;

/* Reads a stream event by event. All zero to begin with, but for `choices`. */
typedef struct stream_view {
    uint32_t choices;                    /* (set) answers that were asked for; 0 and 1 are one */
    choice_set set;                      /* those that came */
    bool many;                           /* there is more than one: they cannot be told by their texts alone */
    bool began;                          /* any event of the dialect came */
    bool content;                        /* text, thinking, refusal or a tool call came: the commit point */
    bool done;                           /* the terminal marker came */
    bool finished;                       /* a stop reason came, of each answer */
    bool worded;                         /* more than thinking came */
    bool called;                         /* tool calls came */
    bool settled;                        /* ... and behind them, or with the last of them, why it stopped */
    bool told;                           /* that reason explains an answer without content: it is no flaw */
    bool broken;                         /* an event that is not what the dialect sends */
    bool spoilt;                         /* a stop reason that says that the model called in a broken way */
    bool error;                          /* an error event came; it is in error_body */
    bool ping;                           /* the newest event was only a ping or comment: not progress */
    bool effects;                        /* the provider did, or began, what must not be done twice */
    daruma_str error_body;               /* data of the error event, in the bytes that were fed */
    char finish[32];                     /* stop reason, cut */
    int64_t input_tokens, output_tokens; /* 0 not said */
} stream_view;

/* Chat's message, or what a chunk adds to it: its members as they stand there. */
typedef struct said_message {
    daruma_str raw; /* all of it; empty: there is none */
    daruma_str content, thinking, refusal, tool_calls, function_call;
    daruma_str finish_at; /* the stop reason beside it */
    bool counts;          /* it is of the answer with index 0, or of the first without */
    daruma_str sources;   /* `annotations` */
    bool media;           /* has sound or images, which no delta says */
    bool bound;           /* its thinking has a signed form beside its words (OpenRouter) */
} said_message;

/* What one event of a stream, or a whole answer, says: found in one walk of it. Watchers (dialect_watch, dialect_check)
 * ask what it is, readers (read_delta, read_answer) where it stands. Values are raw JSON in the bytes that were read;
 * empty: there is none. */
typedef struct dialect_said {
    /* what it is */
    bool object;                         /* one whole JSON object: else nothing stands below */
    bool broken;                         /* neither that nor anything else that the dialect sends */
    bool odd;                            /* an answer whose parts are not what they must be */
    bool known;                          /* only the dialect's own events say this: the stream has begun */
    bool ping;                           /* says nothing: no progress */
    bool error;                          /* an error, or it ends in one; error_body */
    bool over;                           /* the terminal marker */
    bool text, calls, thought;           /* says text, calls, thinking ... */
    bool other;                          /* ... or media, code and what it gave, ... */
    bool effects;                        /* the provider did, or began, what must not be done twice */
    bool told;                           /* its stop reason explains an answer without content: it is no flaw */
    bool spoilt;                         /* ... or says that the model called in a broken way */
    bool blocked;                        /* Gemini: the prompt was; `finish` says why */
    bool counted;                        /* Chat, Gemini: its answers are told apart by their index, see `set` */
    bool closes;                         /* Gemini: there is no terminal marker, stop reasons are the end */
    daruma_str error_body;               /* the error as the body of an answer */
    daruma_str finish;                   /* the first stop reason, without quotes, escapes kept */
    choice_set set;                      /* the answers it has, and which of them end */
    size_t nchoices;                     /* ... and how many */
    int64_t input_tokens, output_tokens; /* usage, -1 not said */
    /* where it stands; of several answers in the one that counts */
    daruma_str type;                      /* Messages, Responses: of the event */
    daruma_str id, model, created, usage; /* of the answer */
    daruma_str answer;                    /* Messages, Responses: of an event, the answer as it is so far;
                                             Gemini: what it says of the prompt */
    daruma_str parts;                     /* of an answer: its blocks, items, or parts; Gemini: the candidates */
    daruma_str item;                      /* Messages, Responses: one of them; Gemini: the parts of the first one */
    daruma_str piece;                     /* Messages: the delta; Responses: the part of an item, or a source of it */
    daruma_str words;                     /* Responses: the text, arguments or refusal of an event */
    daruma_str finish_at, status;         /* the stop reason; Responses: how far the answer is */
    int64_t at, part_at, sequence; /* index of the block, item or (Gemini) candidate, of its part, of the event; -1 not
                                      said (part_at: 0) */
    said_message message;          /* Chat */
} dialect_said;

/* What an answer of our own (explanation) and an error need to know. */
typedef struct write_ctx {
    daruma_str model; /* as the client asked */
    uint64_t id;      /* for made-up ids */
    int64_t wall;     /* unix seconds */
    bool functions;   /* Chat: calls are written in the older spelling, which has one of them */
} write_ctx;

/* A failure with that code goes on from an answer that nobody who is asked has: OpenAI's word, which its clients know.
 */
#define CODE_BEFORE_LOST "previous_response_not_found"

typedef struct dialect {
    const char *name;       /* "openai", "openai-responses", "anthropic", "gemini" */
    daruma_str provider;    /* whose words its errors usually are: a hint for the judge */
    const char *key_header; /* "authorization", "x-api-key", "x-goog-api-key" */
    const char *key_prefix; /* "Bearer " or "" */
    daruma_header version;  /* a field that each request of it has; empty: none */
    daruma_str heartbeat;   /* what keeps a waiting stream open: an SSE comment, or a ping event */
    bool comments;          /* its clients take comments in a stream */
    bool ends_streams; /* its streams have a terminal marker; else a stop reason is the end only with the connection */
    daruma_str terminal;   /* the terminal marker as an event; empty where it cannot be made up */
    daruma_str path;       /* where it is asked, behind the provider's base; empty: the path names the model (Gemini) */
    daruma_str messages;   /* the member of a request that holds its messages */
    daruma_str cap_path;   /* ... its output cap, as a path */
    daruma_str formats[2]; /* ... its response format; the second of an older spelling */
    daruma_str remote_marks[3];               /* names of members, with quotes, that may say what lives on the server
                                                 where the scan does not look; empty: no more */
    daruma_str asks_stream;                   /* members that make a request one whose answer is streamed; empty: its
                                                 path says that */
    daruma_str choice_path;                   /* of a request: how the model may use tools ... */
    daruma_str choice_none;                   /* ... and what forbids it to call any, as JSON */
    daruma_str older_sign, older_choice_path; /* the path in requests that have that member: the older spelling */
    /* `newest` (may be NULL) takes where the newest SCAN_NEWEST messages begin in `messages`: message i at i %
     * SCAN_NEWEST. `strict`: each byte is checked, and what is no JSON is not ok; else what nobody asks for is passed
     * over by its quotes and brackets. */
    request_scan (*scan)(daruma_str body, uint32_t *newest, bool strict);
    /* Walks the JSON of an event, or a whole answer. `ret`: nothing said yet but, of an event, its name as `type`. */
    void (*read_event)(daruma_str data, dialect_said *ret);
    void (*read_whole)(daruma_str body, dialect_said *ret);
    /* Is this body an error as the clients of this dialect read it ({"error":{...}})? */
    bool (*is_error)(daruma_str body);
    /* An error body. `message` as clients show it; `note` (may be empty) is daruma's explanation, put
     * beside it in error.daruma so that nobody's parsing of the message breaks. */
    void (*write_error)(daruma_buf *out, const daruma_failure *f, int status, daruma_str message, daruma_str note);
    daruma_str error_event; /* the same as the last event of a stream that has begun: what stands before it; or */
    /* several of them. `r`: what the client has of the stream, where events are numbered and name their answer; NULL:
     * nothing. */
    void (*write_stream_error)(daruma_buf *out, const daruma_failure *f, int status, daruma_str message,
                               daruma_str note, const turn_reader *r);

    /* The whole request as a conversation, and back. Unedited: the same bytes. EINPUT: not a request of this dialect;
     * EFULL, EDEEP. Everything it does not know is kept. */
    uint32_t quirks; /* bits of convo_quirk */
    daruma_status (*read)(daruma_str body, daruma_arena *a, convo *ret);
    void (*write)(const convo *c, daruma_buf *out);
    /* A whole answer, and back; unedited the same bytes. With t->body empty: one made anew. */
    daruma_status (*read_answer)(daruma_str body, daruma_arena *a, turn *ret);
    void (*write_answer)(const turn *t, const write_ctx *x, daruma_buf *out);
    /* What a stop reason means, as answer_view and stream_view have it. */
    turn_finish (*finish)(daruma_str raw);
    /* What an event says. Up to TURN_DELTAS_FEW of it stand in `few`, more in `a`; strings live in the event or `a`. */
    turn_deltas (*read_delta)(turn_reader *r, const dialect_said *e, turn_delta *few, daruma_arena *a);
    /* The events that say it, if any; see turn_writer. */
    void (*write_delta)(turn_writer *w, const turn_delta *d, daruma_buf *out);
} dialect;

extern const dialect dialect_openai, dialect_openai_responses, dialect_anthropic, dialect_gemini;
const dialect *dialect_find(daruma_str name); /* NULL: unknown */
const dialect *dialect_at(size_t index);      /* all there are; NULL behind the last */
/* Which dialect a path speaks: "/v1/chat/completions", "/v1/messages", "/v1/responses" (any prefix before
 * /v1, a missing /v1 as well), ".../models/M:generateContent"; NULL for every other path (count_tokens, batches,
 * models, ...). */
const dialect *dialect_of_path(daruma_str path);
/* True if a model of that name uses tools of its provider that the request does not name, and that may have effects. */
bool dialect_model_acts(daruma_str model);
/* The model that a body names at its top, as all dialects but Gemini have it there, and whether the body is JSON: a
 * strict scan that finds nothing else. */
request_scan dialect_scan_model(daruma_str body);
/* Where the request `body` says, or would say, how the model may use tools. */
daruma_str dialect_choice_path(const dialect *d, daruma_str body);
/* Gemini alone names the model in the path, ".../models/M:generateContent", and says there whether it streams: its
 * bodies say neither. `*model` is the slice of `path`, escapes kept. `*stream`: the answer comes as events,
 * ":streamGenerateContent?alt=sse"; without alt=sse it is one JSON array, to be treated as a whole answer. False, and
 * nothing written, for paths of other dialects. */
bool dialect_path_model(daruma_str path, daruma_str *model, bool *stream);

/* An error as the end of a stream that has begun; see dialect.write_stream_error. */
void dialect_write_stream_error(const dialect *d, daruma_buf *out, const daruma_failure *f, int status,
                                daruma_str message, daruma_str note, const turn_reader *r);

/* What an event says. `ret` points into it. */
void dialect_read_event(const dialect *d, const sse_event *e, dialect_said *ret);
/* What a stream is, with one more event. */
void dialect_watch_said(stream_view *v, const dialect_said *said);
/* For those who only watch, or only read the deltas of an event. */
void dialect_watch(const dialect *d, stream_view *v, const sse_event *e);
turn_deltas dialect_read_delta(const dialect *d, turn_reader *r, const sse_event *e, turn_delta *few, daruma_arena *a);
/* What a whole answer with status 200 is. */
answer_view dialect_check(const dialect *d, daruma_str body);

/* Puts daruma's note into a provider's own error body: {"error":{...,"daruma":{...}}}; everything
 * else verbatim. False when the body has no such place. */
bool dialect_add_note(daruma_buf *out, daruma_str body, daruma_str note);

/* First line of every message daruma writes in the model's place. */
#define DIALECT_STOPPED "[daruma] The run was stopped. This message was written by daruma, not by the model."
#define DIALECT_NOTICE  "[daruma] The model could not answer. This message was written by daruma, not by the model."
#define DIALECT_MARK    "[daruma] " /* how each of them begins */
/* Removes messages that begin with DIALECT_MARK and for which `ours(hash of its text)` is true
 * (assistant role only). True when something was removed; the new body is in `out`. */
bool dialect_strip_notices(const dialect *d, daruma_str body, bool (*ours)(uint64_t hash, const void *user),
                           const void *user, daruma_buf *out, daruma_arena *scratch);
uint64_t dialect_notice_hash(daruma_str text); /* of a text as it was written; white space at its ends does not count */

/* Only the tools of a request: `tools` is what its scan found (tools_raw). Statuses as of dialect.read. */
daruma_status dialect_read_tools(const dialect *d, daruma_str tools, daruma_arena *a, convo *ret);

/* Only the response format that a request asks for: `format` is what its scan found (format_raw). Statuses as of
 * dialect.read. */
daruma_status dialect_read_format(const dialect *d, daruma_str format, daruma_arena *a, convo *ret);

/* ---- newest.c: what is new in a conversation that is sent whole each time ---- */

/* Message `i` of a scanned request, counted from 0, one of the newest SCAN_NEWEST; empty: none. */
daruma_str dialect_message(const request_scan *s, const uint32_t *newest, size_t i);
/* The identity of a message: who says what, which calls and results by which ids. Its dress does not count: texts as
 * string or as blocks, marks for caches, order of nothing. Of long texts length, beginning and end count. Never 0.
 * `*id` (may be NULL): hash of the newest id of a call that it names, where that looks as if no other conversation had
 * it; 0 none. */
uint64_t dialect_message_hash(daruma_str message, uint64_t *id);
/* Does it bring what a tool gave? */
bool dialect_message_results(daruma_str message);
/* Only the messages from `i` on, behind those that `before` has, raw, with commas between them. Statuses as of
 * dialect.read. */
daruma_status dialect_read_newest(const dialect *d, const request_scan *s, const uint32_t *newest, size_t i,
                                  daruma_str before, daruma_arena *a, convo *ret);

/* ---- convert.c: from one dialect to another ---- */

/* What could not be carried: names for an event, e.g. "top_k", "thinking". */
typedef struct dialect_losses {
    const char *what[32]; /* static */
    size_t n;
} dialect_losses;
/* True if it refers to what lives on the server, its thinking apart: that is of use there alone, and can be done
 * without. */
bool dialect_stuck(const convo *c);
/* The conversation as `to` would have read it: no raw bytes, everything from fields. It takes the memory of `from`,
 * whose messages and tools are used no more, as long as what it takes in `a`. Calls get ids where they have
 * none; tools whose names the target does not take get others, see ret->renames. The model is still the source's: set
 * ret->set.model to the one that is asked before to->write(); and from Gemini, whose bodies do not say it, set.stream.
 * EINPUT: it refers to what lives on the server, or has nothing that `to` could carry. EFULL. What is carried and what
 * is lost: doc/dialects.md. */
daruma_status dialect_convert(convo *from, const dialect *to, daruma_arena *a, convo *ret, dialect_losses *lost);
/* The id of a call as clients of `to` can hand it back: itself, or one made of it, the same each time. In `a`. */
daruma_str dialect_call_id(const dialect *to, daruma_str id, daruma_arena *a);
/* Makes of an answer that was read from another dialect one that `to` can write and its clients can hand back: ids of
 * calls, thinking, halves of calls. What is new is in `a`. */
void dialect_carry_answer(turn *t, const dialect *to, const write_ctx *x, daruma_arena *a);
/* A whole answer of `from` as one of `to`. Thinking goes along only where a client may hand it back to anybody (Chat,
 * Gemini without signature). Statuses of read_answer; EFULL. */
daruma_status dialect_convert_answer(const dialect *from, const dialect *to, daruma_str body, const write_ctx *x,
                                     daruma_buf *out, daruma_arena *a);
/* Responses says everything once more at the end of a stream: the finished output item that an event hands over, as it
 * came, for turn_writer.items; empty: none. A slice of the event. */
daruma_str dialect_done_item(const dialect_said *e);
/* An item of a Responses answer that the client carries out and that is no function's: a custom tool, a shell, a patch.
 */
bool dialect_client_call(daruma_str item);
/* Sound or an image, as a part, or a delta, of an answer. */
bool dialect_is_media(daruma_str part);
/* May thinking that nobody signed be handed back to a provider of this dialect? */
bool dialect_takes_thinking(const dialect *d);

/* A stream of `from` as one of `to`, in flight. */
typedef struct stream_bridge {
    const dialect *from, *to;
    turn_reader r; /* what came */
    turn_writer w; /* what went */
} stream_bridge;
/* `keep` is where the writer's memory grows; x: model (when the stream names none), id, wall. Then set w.usage_asked
 * for a Chat client that asked for usage (stream_options.include_usage), and w.functions for one that offers those. */
void bridge_begin(stream_bridge *b, const dialect *from, const dialect *to, const write_ctx *x, daruma_arena *keep);
/* Writes what an event becomes, if anything. Errors in the stream are none of it: ask dialect_watch(). */
void bridge_event(stream_bridge *b, const sse_event *e, daruma_buf *out, daruma_arena *a);
/* The stream of `from` ended: writes what is still to be said. False: it is not whole (no stop reason came, or nothing
 * can be written), the client must not take it for an end. */
bool bridge_end(stream_bridge *b, daruma_buf *out);
/* A whole answer as the stream that was asked for: what a stream of the dialect can say of it, in as few events.
 * Between dialects it is carried over first, with dialect_carry_answer(). `x`: as for bridge_begin(), where `t` names
 * no model. False: it cannot be written, or no stream can say all of it. */
bool dialect_stream_answer(const turn *t, const dialect *to, const write_ctx *x, bool usage_asked, daruma_buf *out,
                           daruma_arena *a);
/* The name of a call, with what DELTA_ARGUMENTS adds to it: some servers of Chat say it in pieces, or behind an empty
 * one, others all of it each time. `has_args`: it had arguments before, and its name is whole if there is any. */
daruma_str dialect_call_name(daruma_str so_far, const turn_delta *d, bool has_args, daruma_arena *a);
/* The events of call `index` of an answer, whose arguments are ready. */
void dialect_put_call(turn_writer *w, const dialect *to, const convo_part *call, int index, daruma_buf *out);
/* An answer of ours: that text and zero usage, whole or as the stream that was asked for. False: no memory. */
bool dialect_say(daruma_str text, const dialect *to, const write_ctx *x, bool stream, bool usage_asked, daruma_buf *out,
                 daruma_arena *a);

/* ---- mend_stream.c: a stream that was held goes out as it came but for what was mended ---- */

/* A call of a stream that was read whole, as it shall be. */
typedef struct call_mend {
    daruma_str name, args; /* decoded */
    bool edited;           /* else it stays as it came */
    bool named, said;      /* its name is out, its arguments are */
} call_mend;
/* What was mended in a stream: `calls` has all of the answer, in their order; `text` stands for all text of these
 * events, NULL: as it came. */
typedef struct stream_mend {
    call_mend *calls;
    size_t ncalls;
    const daruma_str *text;
    bool renumbered; /* Chat: the calls that were edited get their place in the answer as index */
} stream_mend;
/* What was edited in an answer. False: there is no memory. */
bool dialect_take_edits(const turn *t, stream_mend *ret, daruma_arena *a);
/* Writes `events`, in which the first call of the answer stands, as they came but for what was mended: its first piece
 * has all of it, the others are empty. `at`: what was read before. Ids, usage, text between calls, members that nobody
 * knows: nothing else changes. False: `a` or `out` is full. */
bool dialect_mend_stream(const dialect *d, const turn_reader *at, daruma_str events, const stream_mend *what,
                         daruma_buf *out, daruma_arena *a);
/* The same of an answer that was read from a stream that came as one JSON array (Gemini's without alt=sse): its events
 * as they came but for the parts that are edited, of which each stands in the bytes that were read. */
bool dialect_mend_array(const dialect *d, const turn *t, daruma_buf *out, daruma_arena *a);
/* A stream as the whole answer that was asked for, all in `a`. Responses has it in the last event; else it is ours, of
 * what the events say. `view` takes what is wrong: `error`, or that it is not `finished`. False: that, or the stream
 * says what no answer of ours can, or there is no memory. */
bool dialect_fold_stream(const dialect *d, daruma_str events, stream_view *view, turn *ret, daruma_arena *a);
/* The same event by event, all that is kept in `a`. NULL without memory. */
typedef struct dialect_fold dialect_fold;
dialect_fold *dialect_fold_begin(const dialect *d, daruma_arena *a);
/* What the event adds to the answer's words is put to `text`, unless that is NULL. */
void dialect_fold_event(dialect_fold *f, const dialect_said *e, daruma_arena *scratch, daruma_buf *text);
/* False: it could not be read, or there is no memory. `*ret_all`: no answer of ours lacks what was said. */
bool dialect_fold_end(dialect_fold *f, turn *ret, bool *ret_all);
/* A plain question of our own as a request: for summaries and the like. */
void dialect_write_ask(const dialect *d, daruma_str model, const daruma_question *q, daruma_buf *out, daruma_arena *a);
/* The path to ask `d` at, behind the provider's base ("/v1/chat/completions"); Gemini's names the model. In `a`. */
daruma_str dialect_path(const dialect *d, daruma_str model, bool stream, daruma_arena *a);
#endif
