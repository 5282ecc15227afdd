/* speak.h - what the writers of the four wires share: streams whose events are known by what they carry. */
#ifndef CHAOS_SPEAK_SPEAK_H
#define CHAOS_SPEAK_SPEAK_H
#include "chaos/answer.h"

enum { SPEAK_CREATED = 1767225600 }; /* every answer is from 2026-01-01: it is a function of the request alone */

/* A stream while it is written. */
typedef struct stream {
    daruma_buf b;
    size_t *ends, nends, cap;
    unsigned char *pieces;
    int64_t sequence; /* of Responses events */
} stream;

stream stream_new(const speech *s, daruma_arena *a);
void stream_end(stream *x);                     /* the event is complete; the empty line behind it is written here */
void stream_piece(stream *x, answer_part part); /* the same for one that carries a piece of that part */
void stream_mark(stream *x, answer_part part);  /* the same without the empty line */
/* The rest of an event in several pieces, as BUF_SAY takes them, and its end. */
#define STREAM_SAY(x, part, ...) (BUF_SAY(&(x)->b, __VA_ARGS__), stream_piece((x), (part)))
answer stream_answer(const stream *x);
void speak_event(stream *x, const char *name); /* "event: NAME" and the begin of its data: {"type":"NAME" */

size_t speak_piece_bytes(daruma_str text);
void speak_id(daruma_buf *b, const char *prefix, const ask *q, size_t nth); /* with its quotes */
bool speak_has_text(const speech *s);

answer speak_chat(const ask *q, const speech *s, daruma_arena *a);
answer speak_messages(const ask *q, const speech *s, daruma_arena *a);
answer speak_responses(const ask *q, const speech *s, daruma_arena *a);
answer speak_gemini(const ask *q, const speech *s, daruma_arena *a);
void gemini_refusal(daruma_buf *b, const refusal *r); /* {"error":{...}} */
#endif
