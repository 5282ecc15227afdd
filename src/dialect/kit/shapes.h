/* shapes.h - what the files of one dialect share with its table row, and the dialects with each other. Of requests,
 * read.c and write.c are needed only when something failed, or when they are converted. */
#ifndef DIALECT_KIT_SHAPES_H
#define DIALECT_KIT_SHAPES_H
#include "dialect/dialect.h"

/* What the wires insist on: bits of convo_quirk, for the dialect's row and the convos it reads. */
enum {
    CHAT_QUIRKS = WIRE_RESULTS_FOLLOW | WIRE_OPAQUE_ARGS | WIRE_ASKS_USAGE,
    ANTHROPIC_QUIRKS = WIRE_RESULTS_FOLLOW | WIRE_RESULTS_IN_USER | WIRE_ALTERNATE | WIRE_SYSTEM_APART |
                       WIRE_USER_FIRST | WIRE_NO_EMPTY | WIRE_PREFILL,
    RESPONSES_QUIRKS = WIRE_FLAT | WIRE_OPAQUE_ARGS,
    GEMINI_QUIRKS = WIRE_RESULTS_FOLLOW | WIRE_RESULTS_IN_USER | WIRE_ALTERNATE | WIRE_SYSTEM_APART | WIRE_USER_FIRST |
                    WIRE_NO_IDS | WIRE_NO_EMPTY,
};

/* The functions of a dialect's row. */
#define SHAPE(name)                                                                                                    \
    daruma_status name##_read(daruma_str body, daruma_arena *a, convo *ret);                                           \
    void name##_write(const convo *c, daruma_buf *out);                                                                \
    void name##_read_event(daruma_str data, dialect_said *ret);                                                        \
    void name##_read_whole(daruma_str body, dialect_said *ret);                                                        \
    daruma_status name##_read_answer(daruma_str body, daruma_arena *a, turn *ret);                                     \
    void name##_write_answer(const turn *t, const write_ctx *x, daruma_buf *out);                                      \
    turn_finish name##_finish_of(daruma_str raw);                                                                      \
    turn_deltas name##_read_delta(turn_reader *r, const dialect_said *e, turn_delta *few, daruma_arena *a);            \
    void name##_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out)
SHAPE(chat);
SHAPE(responses);
SHAPE(anthropic);
SHAPE(gemini);
#define SHAPE_ROW(name)                                                                                                \
    .read = name##_read, .write = name##_write, .read_event = name##_read_event, .read_whole = name##_read_whole,      \
    .read_answer = name##_read_answer, .write_answer = name##_write_answer, .finish = name##_finish_of,                \
    .read_delta = name##_read_delta, .write_delta = name##_write_delta

/* The words of a block that is made of texts and has no kind in other dialects: what a search found, a document in
 * blocks. `*all`: it is nothing but these words. In `a`. */
daruma_str anthropic_words(daruma_str block, bool *all, daruma_arena *a);
bool gemini_is_uploaded(daruma_str uri); /* a file that only its project can read, no address of the web */
#endif
