/* relay.h - answers on their way to the client: told apart, and handed on. */
#ifndef ENGINE_DRIVE_ANSWER_RELAY_H
#define ENGINE_DRIVE_ANSWER_RELAY_H
#include "engine/drive/session.h"

extern const drive_call_ops relay_ops;
bool relay_progress_late(session *x);             /* only pings for too long, or nothing behind the end */
void relay_forward(session *x, daruma_str bytes); /* bytes of an answer for the client */

/* The fields of `h` in memory of `a`, with room for one more, and their number. They must stand in one piece, as they
 * were read: they are copied in one, and stand in one piece again. NULL without memory. */
daruma_header *relay_fields(const drive_head *h, daruma_arena *a, size_t *ret_n);
/* True if an answer that begins so is a stream. Some servers send theirs under another type, or none, and SDKs do not
 * look at it. */
bool relay_begins_stream(daruma_str bytes);
#define STREAM_TYPE "text/event-stream; charset=utf-8"
void relay_say_type(session *x, daruma_str type); /* what is kept of its fields says so from here on */
/* True if the client asked for a whole answer, so that a stream is to be put together. */
bool relay_wants_whole(const session *x);
/* The provider's status and fields go to the client, unless a head went out before. `length`: -1 not known. */
void relay_head(session *x, int64_t length);
/* What the attempt showed so far: status, fields, what is held. Its strings live as long as the attempt. */
daruma_evidence relay_evidence(const session *x, daruma_phase phase);
/* What an answer is told of that meets a limit of ours on its way: session_too_long(). */
#define LONG_HELD    "The answer is too long to be written anew here: daruma holds 16 MiB of one"
#define LONG_KEPT    "The answer is too long to be written anew here: daruma keeps 32 MiB of a stream"
#define LONG_WRITTEN "The answer is too long to be written anew here: that takes more memory than 128 MiB"
#define LONG_EVENT   "An event of the answer is too long to be written anew here: daruma reads 4 MiB of one"
_Static_assert(ANSWER_HELD_BYTES_MAX == 16u << 20 && TALK_BYTES_MAX == 32u << 20 &&
                   ANSWER_ARENA_BYTES_MAX == 128u << 20 && SSE_EVENT_BYTES_MAX == 4u << 20,
               "as the sentences say");
/* The attempt is over: its answer is not what it should be, which `body` shows. */
void relay_fail(session *x, daruma_flaw flaw, daruma_str body);
/* Keeps the provider's id of this call, for events. */
void relay_keep_id(session *x);
/* An answer that is empty, or wrong, goes out if nothing better comes. Long ones are not kept. */
void relay_keep_given(session *x, daruma_str bytes);
/* True if an empty answer is no outage: the model says that it is one. Not if its tokens are counted (`counted`: some
 * are) and there were none; streams of Chat Completions count them only when asked to. */
bool relay_is_silence(const dialect *p, daruma_str finish, bool counted, int64_t output_tokens);
/* An empty answer of which the model says that it is one. What is no outage is not waited for. */
bool relay_chose_silence(session *x, daruma_str finish, bool counted, int64_t output_tokens);
/* Something came that is no ping. The timer looks later how long ago. */
void relay_progress(session *x);
daruma_outcome relay_outcome(const session *x); /* were it delivered now */

/* After so long a silence the answer is over: its terminal marker came, or only that can still come. -1: it is not. */
daruma_ms relay_over_in(const session *x);
/* The end of an answer came: behind a while it is over, whether its connection ends or not. */
void relay_over(session *x);

daruma_str relay_field(const session *x, daruma_str name); /* a field of the answer at hand; empty: it has none */
/* Coded though nobody asked for it: nobody here can read it. */
enum { CODING_SHOWN_BYTES = 40 }; /* of the name of an encoding, in words of ours */
bool relay_is_coded(const daruma_header *h, size_t n);
/* `flaw`, or that the answer is coded, which explains it where nothing of it could be read. */
daruma_flaw relay_flaw(const session *x, daruma_flaw flaw);

/* ---- pass.c: answers that nobody here reads ---- */

void pass_begin(session *x, const drive_head *h);
/* An answer in a dialect of ours, but encoded: the client may be able to read it. */
void pass_coded(session *x);
void pass_unread(session *x); /* what is held goes out, and what follows: it is too large to be checked */
/* What says no was collected: it goes out. Of what was too large to be searched for credentials only the beginning
 * does, and the connection breaks off. */
void pass_refused(session *x);
/* An error that was collected and is encoded may repeat our key where nobody can see it: what is held becomes an error
 * of our own with its status. Nothing is done where the client's own key was used, or the bytes can be read. */
void pass_hide(session *x);

/* ---- whole.c: answers that come in one piece ---- */

/* All of it is there, in x->answer.held: it is judged, mended, written for the client and handed on. `net`: how its
 * connection died, unless it ended, and when. */
void whole_ended(session *x, daruma_net net, daruma_phase phase);
/* True if the body is an object or an array of JSON that is closed: nothing of it is missing. */
bool whole_is_closed(daruma_str body);
/* whole_ended() of one whose connection died. False: JSON that is not closed, which is not read further. A stream that
 * was to be put together is judged by how the connection died if it lacks its end. */
bool whole_broke(session *x, daruma_net net, daruma_phase phase);

#endif
