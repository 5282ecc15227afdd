/* gemini.h - what the files of Gemini share. In requests names come in camelCase or in snake_case, and what is one of
 * many may stand without its array. */
#ifndef DIALECT_GEMINI_H
#define DIALECT_GEMINI_H
#include "dialect/kit/convo_kit.h"
#include "dialect/kit/shapes.h"
#include "dialect/kit/turn_kit.h"

/* ---- requests ---- */

typedef struct gemini_member {
    daruma_str key, value; /* as spelt; empty: not there, or null */
} gemini_member;
/* The member of a valid object that is called so in either spelling; the last of several. */
gemini_member gemini_named(daruma_str object, daruma_str camel);
daruma_str gemini_get(daruma_str object, daruma_str camel); /* its value */
convo_role gemini_role(daruma_str word);                    /* "user", "model", "function"; empty: the user */

/* A schema of Google's kind as JSON Schema: itself where it is one. */
daruma_str gemini_json_schema(convo *c, daruma_str schema);

/* ---- settings.c ---- */

/* A writer of a member: the configuration, with another response format. */
bool gemini_put_config(const convo *c, daruma_str old, daruma_buf *out);
/* All members of a new body but its prompt and its contents. */
void gemini_put_settings(const convo *c, daruma_buf *out);

/* ---- answers: what a response says, calls whose arguments are streamed ---- */

/* The members of a part that matter. */
typedef struct gemini_part {
    daruma_str text, call, signature;
    bool thought, other; /* other: media, code and what it gave, ... */
    bool effects;        /* ... which must not be done twice */
} gemini_part;
gemini_part gemini_read_part(json_iter *it); /* to the end of the part that `it` walks */
/* The parts of the candidate that is read, and why it ends: the first that came in the stream. */
daruma_str gemini_chosen(turn_reader *r, const dialect_said *s, daruma_str *ret_finish);
turn_usage gemini_read_usage(daruma_str usage);
/* A prompt that is blocked for OTHER says so as its reason; a candidate that ends for OTHER may be whole. */
turn_finish gemini_finish_means(daruma_str reason, bool calls);
/* May the call that is open be cut where the answer ends so? */
static inline bool gemini_ends_short(turn_finish f)
{
    return f == FINISH_LENGTH || f == FINISH_WINDOW || f == FINISH_ERROR || f == FINISH_FILTER;
}

/* What a functionCall of an answer is. */
typedef enum gemini_call {
    GEMINI_CALL_WHOLE,
    GEMINI_CALL_BEGINS, /* the first piece of one */
    GEMINI_CALL_GOES_ON /* a piece of the one that is open; of none: the end of one that was whole */
} gemini_call;
gemini_call gemini_call_of(daruma_str call);
/* Is a call of the stream open, whose arguments come in pieces? Its number is r->open. */
static inline bool gemini_in_call(const turn_reader *r)
{
    return r->open >= 0 && r->open_kind == DELTA_CALL;
}
/* Begins call `nth`, whose arguments come in pieces. */
void gemini_begin_pieces(turn_reader *r, int nth);
/* Appends what a piece says of the arguments of the call that is open, as the next bytes of their JSON. r->lost: it
 * cannot be told what it says. True: it is the last piece. */
bool gemini_put_piece(turn_reader *r, daruma_str call, daruma_buf *out, daruma_arena *a);
/* Appends what closes the arguments of the call that is open, which is over. */
void gemini_close_pieces(turn_reader *r, daruma_buf *out);
/* A whole call as a part; `id`: as JSON, empty: none. */
void gemini_put_call(daruma_buf *out, daruma_str id, daruma_str name, daruma_str arguments, daruma_str signature);
void gemini_put_usage(daruma_buf *out, const turn_usage *u);
void gemini_put_text(daruma_buf *out, daruma_str text, bool thought, daruma_str signature); /* as a part */
void gemini_put_tail(daruma_buf *out, daruma_str model, daruma_str id);                     /* the end of a response */
#endif
