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

daruma_status chat_read(daruma_str body, daruma_arena *a, convo *ret);
void chat_write(const convo *c, daruma_buf *out);
answer_view chat_check_answer(daruma_str body, daruma_arena *scratch);
void chat_watch(stream_view *v, const sse_event *e, daruma_arena *scratch);
daruma_status chat_read_answer(daruma_str body, daruma_arena *a, turn *ret);
turn_finish chat_finish_of(daruma_str raw);
void chat_write_answer(const turn *t, const write_ctx *x, daruma_buf *out);
turn_deltas chat_read_delta(turn_reader *r, const sse_event *e, turn_delta *few, daruma_arena *a);
void chat_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out);

daruma_status anthropic_read(daruma_str body, daruma_arena *a, convo *ret);
/* The words of a block that is made of texts and has no kind in other dialects: what a search found, a document in
 * blocks. `*all`: it is nothing but these words. In `a`. */
daruma_str anthropic_words(daruma_str block, bool *all, daruma_arena *a);
void anthropic_write(const convo *c, daruma_buf *out);
answer_view anthropic_check_answer(daruma_str body, daruma_arena *scratch);
void anthropic_watch(stream_view *v, const sse_event *e, daruma_arena *scratch);
daruma_status anthropic_read_answer(daruma_str body, daruma_arena *a, turn *ret);
turn_finish anthropic_finish_of(daruma_str raw);
void anthropic_write_answer(const turn *t, const write_ctx *x, daruma_buf *out);
turn_deltas anthropic_read_delta(turn_reader *r, const sse_event *e, turn_delta *few, daruma_arena *a);
void anthropic_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out);

daruma_status responses_read(daruma_str body, daruma_arena *a, convo *ret);
void responses_write(const convo *c, daruma_buf *out);
answer_view responses_check_answer(daruma_str body, daruma_arena *scratch);
void responses_watch(stream_view *v, const sse_event *e, daruma_arena *scratch);
daruma_status responses_read_answer(daruma_str body, daruma_arena *a, turn *ret);
turn_finish responses_finish_of(daruma_str raw);
void responses_write_answer(const turn *t, const write_ctx *x, daruma_buf *out);
turn_deltas responses_read_delta(turn_reader *r, const sse_event *e, turn_delta *few, daruma_arena *a);
void responses_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out);

bool gemini_is_uploaded(daruma_str uri); /* a file that only its project can read, no address of the web */
daruma_status gemini_read(daruma_str body, daruma_arena *a, convo *ret);
void gemini_write(const convo *c, daruma_buf *out);
answer_view gemini_check_answer(daruma_str body, daruma_arena *scratch);
void gemini_watch(stream_view *v, const sse_event *e, daruma_arena *scratch);
daruma_status gemini_read_answer(daruma_str body, daruma_arena *a, turn *ret);
turn_finish gemini_finish_of(daruma_str raw);
void gemini_write_answer(const turn *t, const write_ctx *x, daruma_buf *out);
turn_deltas gemini_read_delta(turn_reader *r, const sse_event *e, turn_delta *few, daruma_arena *a);
void gemini_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out);
#endif
