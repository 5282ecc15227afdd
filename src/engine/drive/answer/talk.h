/* talk.h - streamed answers, read as they pass. */
#ifndef ENGINE_DRIVE_ANSWER_TALK_H
#define ENGINE_DRIVE_ANSWER_TALK_H
#include "engine/drive/session.h"
#include "engine/mend/answer/answer.h"

void talk_free(const drive_rooms *rooms, talk *t);
/* A new attempt's stream begins, or the first: what passes is read from here on. False without memory. */
bool talk_begin(session *x);
/* One event that the provider sent, and what it says. True: its bytes go out as they are; else talk took it. */
bool talk_event(session *x, const sse_event *e, const dialect_said *event, daruma_arena *scratch);
/* The stream ended whole: what is held of it is checked and goes out, later if it is much, and stream_closed() is
 * called. Or the attempt fails, for what it calls or because not all of it can be written. */
void talk_end(session *x);
/* What is held of the stream goes out as it came: its provider did what must not be done twice, so that nothing is
 * mended in it any more. */
void talk_let_go(session *x);
/* There is more in the answer than is told apart or held: as it came it may go out, but it cannot be written anew. */
void talk_read_in_part(session *x);
bool talk_unsure(const session *x);   /* a continuation that cannot be joined with certainty */
bool talk_is_plain(const session *x); /* the provider's bytes go out as they are */
bool talk_was_cut(const session *x);  /* there is something that another attempt could go on from */
bool talk_thinks(const session *x);   /* the newest that it said is thinking */
/* True if what the client has ends within thinking that goes back to who signs it. */
bool talk_thought_half(const session *x);
turn talk_turn(session *x); /* what of it was kept: its text, as far as the client has it, and its calls */
daruma_str talk_items(const session *x, daruma_arena *a); /* Responses: its finished items, a JSON list */
daruma_str talk_written(session *x);  /* Responses: the items of a stream that daruma wrote, a JSON list; else empty */
daruma_str talk_id(const session *x); /* id of the answer under way, as the client has it ... */
daruma_str talk_their_id(const session *x); /* ... and its provider */
/* How far the stream is that the client has; NULL: it has none, or nobody read it. */
const turn_reader *talk_reached(const session *x);
daruma_str talk_said(const session *x); /* the text that the client has */
/* Ends an answer under way with words of ours (may be empty), as if the model had said them. False: it cannot. */
bool talk_close(session *x, daruma_str words, turn_finish how);
/* Hands on what is held of an answer that was found wrong, as it came. False: nothing is held, or not all of it can be
 * written. */
bool talk_give(session *x);
/* The next attempt goes on from that text, as it is asked to. Where there is none it answers anew, and all goes out. */
void talk_join_next(session *x, mend_going how);

#endif
