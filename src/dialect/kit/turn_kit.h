/* turn_kit.h - what the readers and writers of answers share: deltas, parts, and putting something else in the
 * place of a value while all around it stays. Only files of src/dialect include it. */
#ifndef DIALECT_KIT_TURN_KIT_H
#define DIALECT_KIT_TURN_KIT_H
#include "dialect/kit/parts.h"
#include "dialect/kit/shapes.h"

/* ---- reading ---- */

turn_delta *delta_add(turn_deltas *l, delta_kind kind); /* index -1, usage unsaid; never NULL */
turn_delta *delta_text(turn_deltas *l, delta_kind kind, int index, daruma_str text); /* only when there is text */

/* A copy in fixed room with a NUL, cut between characters. */
void keep_cut(char *to, size_t cap, daruma_str s);
#define KEEP(field, s) keep_cut((field), sizeof(field), (s))
void reader_item(turn_reader *r, daruma_str id);          /* its newest item, or (Chat) call */
bool reader_is_item(const turn_reader *r, daruma_str id); /* has that one this id? */

/* The answer begins with this event, if none did: NULL when one did. */
turn_delta *reader_start(turn_deltas *l, turn_reader *r, const dialect_said *e, daruma_arena *a);

/* The next call of a stream stands at wire index `at`: its number. The newest TURN_CALLS_MAX are told apart. */
int call_begin(turn_reader *r, int at);
int call_find(const turn_reader *r, int at); /* newest one with that wire index; -1 */
/* The same for what belongs to a call: where that one may be too old to be told, the reader remembers that something
 * was lost. */
int call_told(turn_reader *r, int at);
static inline int call_oldest(const turn_reader *r) /* number of the oldest call that is told apart */
{
    return r->calls > TURN_CALLS_MAX ? r->calls - TURN_CALLS_MAX : 0;
}
/* The next piece of what is said (nth -1), or of the arguments of a call: `value` is a string. A character that was cut
 * in two comes with its second half. */
daruma_str reader_piece(turn_reader *r, int nth, daruma_str value, daruma_arena *a);
/* A block, item or (Chat) kind of speech is open from here on. */
void block_open(turn_reader *r, int at, delta_kind kind);

/* How a wire calls its stop reasons. The first row of a finish is the one that is written. */
typedef struct finish_name {
    daruma_str name;
    turn_finish finish;
    bool told; /* it explains an answer without content: asking again gives the same */
} finish_name;
typedef struct finish_table {
    const finish_name *rows;
    size_t n;
} finish_table;
turn_finish finish_of(const finish_table *t, daruma_str said); /* unknown ones: STOP; empty: NONE */
bool finish_told(const finish_table *t, daruma_str said);
daruma_str finish_word(const finish_table *t, turn_finish finish);
extern const finish_table chat_finishes, anthropic_finishes, gemini_finishes;

/* ---- whole answers ---- */

daruma_status answer_status(daruma_str body); /* what is wrong with a body that is no answer: EINPUT, EDEEP */
/* Reads a body up to its parts and its usage. EINPUT when it is not one JSON object, EDEEP when it is nested too deep.
 */
daruma_status answer_open(const dialect *d, daruma_str body, dialect_said *s, turn *ret, daruma_arena *a);
/* Room for one more part of the answer; NULL without memory. */
convo_part *answer_part(turn *t, daruma_arena *a, part_kind kind, daruma_str raw);
bool answer_edited(const turn *t); /* any part is edited, dropped or new */
/* The texts of the parts of a kind, joined; as a JSON string, or null when there are none. `at_raw`: of those that are
 * new or stand there; NULL: of all. */
void put_texts(daruma_buf *out, const turn *t, part_kind kind, const char *at_raw);
bool answer_says(const turn *t, part_kind kind);
/* Valid JSON as it came, on one line, as an event of a stream needs it: its line breaks stand between tokens only. */
void put_one_line(daruma_buf *out, daruma_str json);
/* The arguments of a call: an object, whatever the model wrote. */
void put_args(daruma_buf *out, daruma_str text);
daruma_str arguments_text(daruma_str text); /* "{}" when there are none */

/* Something else in the place of a value. */
typedef struct hole {
    daruma_str span; /* in the whole; empty: not there */
    int what;        /* for `fill` */
} hole;
/* Writes `whole` with its holes filled; they are sorted here. */
void put_filled(daruma_buf *out, daruma_str whole, hole *holes, size_t n,
                void (*fill)(daruma_buf *out, int what, daruma_str span, const void *user), const void *user);
/* What a part fills: arguments stand there as a text, or as an object. Dialects have holes of their own from HOLE_OWN
 * on. */
enum { HOLE_ID, HOLE_NAME, HOLE_TEXT, HOLE_ARGUMENTS, HOLE_INPUT, HOLE_OWN };
void fill_part(daruma_buf *out, int what, daruma_str span, const void *part); /* a convo_part; for put_filled() */
/* Writes an array whose elements are (raws of) parts: edited ones by `put`, dropped ones not, new ones at their place,
 * the rest verbatim. `mine` says which parts of the answer stand in this array; NULL: all. */
void put_elements(daruma_buf *out, daruma_str array, const turn *t, bool (*mine)(const convo_part *p),
                  void (*put)(daruma_buf *out, const convo_part *p));

/* ---- writing ---- */

/* Tokens of a usage; unsaid ones count as nothing. */
static inline int64_t tokens_said(int64_t n)
{
    return n > 0 ? n : 0;
}
/* Keeps `s` in a buffer of the writer, which grows where w->text does. */
void writer_keep(turn_writer *w, daruma_buf *b, daruma_str s);
/* The usage at the end: as its provider wrote it, else made by `put`. */
void writer_put_usage(const turn_writer *w, void (*put)(daruma_buf *out, const turn_usage *u), daruma_buf *out);
/* Common to all wires: remembers finish and usage. */
void writer_finish(turn_writer *w, const turn_delta *d);
/* False when the stream has begun. Else it begins here, with the id and model of `start` (may be NULL), or with an id
 * that is made up. */
bool writer_begin(turn_writer *w, const turn_delta *start, const char *prefix);
/* Is `d` about the call that is open, of those that may not come mixed? */
bool writer_in_call(const turn_writer *w, const turn_delta *d);
/* Why the answer ends: a model that called tools and then was done waits for them. */
turn_finish writer_ends(const turn_writer *w);

/* A made-up id: prefix, "daruma" and 16 digits that differ for each `nth`. */
void put_made_id(daruma_buf *out, const char *prefix, uint64_t made, uint64_t nth);
/* An id as a JSON string; a made-up one where it is empty. */
void put_id(daruma_buf *out, daruma_str id, const char *prefix, uint64_t made, uint64_t nth);
#endif
