/* health.h - what a case tells of its attempts, and asks. */
#ifndef ENGINE_DECIDE_HEALTH_H
#define ENGINE_DECIDE_HEALTH_H
#include "daruma_parts.h"

/* An attempt goes out to `t`: asks its breakers and counts the call. */
void health_enter(daruma_health *w, const daruma_target *t, daruma_permit permits[DARUMA_PERMITS], daruma_ms now);
/* It succeeded, and had gone out at `sent_at`. */
void health_good(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                 daruma_ms sent_at, daruma_ms now);
/* It was answered, but in a way that is of no use to its request. */
void health_useless(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                    daruma_ms sent_at, daruma_ms now);
/* The answer of a call that went out at `sent_at` was empty or broken, though its target works. When two requests in a
 * row were answered so, `t` rests for a while, longer each time: it is asked last, and who has nobody else does not
 * wait. An answer that is of use ends that. */
void health_wrong(daruma_health *w, const daruma_target *t, uint64_t witness, daruma_ms sent_at, daruma_ms now);
/* It failed, having gone out at `sent_at`: makes sick what the failure is about. `witness` is the case that saw it; `b`
 * is the backoff of the kind. */
void health_bad(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                const daruma_failure *f, uint64_t witness, daruma_ms sent_at, const daruma_backoff *b,
                daruma_moment at);
/* It ended without saying anything about health. */
void health_drop(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS], daruma_ms now);

/* The budget of second calls beside a silent one at the provider of `t`; never NULL. */
daruma_budget *health_hedges(daruma_health *w, const daruma_target *t);

/* Times that are learned of each model, from the request being sent. */
typedef enum health_time {
    HEALTH_HEAD,    /* to the head of its answer */
    HEALTH_CONTENT, /* to the first content */
    HEALTH_GAP,     /* the longest between two pieces of the content */
    HEALTH_TIMES
} health_time;

/* A call of so many `bytes` (0 unknown) that went out at `sent_at` came so far; `plain`: its answer is not a stream. */
void health_took(daruma_health *w, const daruma_target *t, health_time what, bool plain, int64_t bytes,
                 daruma_ms sent_at, daruma_ms now);
/* An answer was whole; so long was the longest time between two pieces of its content. */
void health_paused(daruma_health *w, const daruma_target *t, bool plain, daruma_ms gap);
/* How long it takes at most, usually: half as long again as the mean, longer where the times differ; -1 unknown. */
daruma_ms health_usual(const daruma_health *w, const daruma_target *t, health_time what, bool plain);
/* The shortest that it was within the last ten to twenty minutes, and as much longer as a request of so many bytes is
 * longer than those were; -1 unknown. */
daruma_ms health_usual_best(const daruma_health *w, const daruma_target *t, health_time what, bool plain, int64_t bytes,
                            daruma_ms now);
/* How long it takes on average; -1 where that is not known for sure. */
daruma_ms health_usual_mean(const daruma_health *w, const daruma_target *t, health_time what, bool plain);
/* When the newest of the calls to the model of `t` went out of which something came, or of which all did (`plain`: who
 * waits for an answer in one piece is not helped by less); INT64_MIN: none. */
daruma_ms health_heard(const daruma_health *w, const daruma_target *t, bool plain);
/* May a second call go to `t`, of which nothing has been heard since the first went out, `silent` ms ago? Seldom, and
 * ever more so, but at least every `most` ms. */
bool health_may_knock(const daruma_health *w, const daruma_target *t, daruma_ms silent, daruma_ms most, daruma_ms now);
void health_knocked(daruma_health *w, const daruma_target *t, daruma_ms now);
/* A second call goes out beside one to `t` that is silent; `knocks`: to `t` itself. */
void health_second_counted(daruma_health *w, const daruma_target *t, bool knocks);
/* A second call goes out to `t`. */
void health_second_out(daruma_health *w, const daruma_target *t, daruma_ms now);
/* That one is over, answered or not: it is no open question any more. */
void health_second_over(daruma_health *w, const daruma_target *t);
/* Was the key of `t` taken lately, and not refused since? */
bool health_trusts_key(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* Was the key of `t` taken, or its model there, for several requests until a short while ago, so that a refusal of that
 * kind may pass by itself? */
bool health_may_pass(const daruma_health *w, const daruma_target *t, daruma_kind k, daruma_ms now);
/* Was the key of `t` refused to a call that went out just now, and does nothing speak for its being taken again? Credit
 * and models may be refused for what one request asks for; a key is refused to all. */
bool health_key_refused_now(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* Is a second call to `t` out for a while, of another request perhaps, and nothing was heard since? */
bool health_second_is_out(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* A request waits for that part of `t`. */
void health_awaited(daruma_health *w, const daruma_target *t, daruma_scope who);
/* A call to `t` gets silent for longer than is usual. */
void health_overdue(daruma_health *w, const daruma_target *t);
/* So are several, and none was heard since the first of them: it is none that happens to take long. */
bool health_mute(const daruma_health *w, const daruma_target *t);
/* A call was given up after `ms`, and nothing speaks against its model but that another one was faster: it takes longer
 * than that. */
void health_slower(daruma_health *w, const daruma_target *t, health_time what, bool plain, daruma_ms ms);
/* A call to `t` is silent for far longer than usual, and goes on: a failure to those who choose. */
void health_silent(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                   uint64_t witness, daruma_ms now);
/* A call to `t` was silent for far longer than is usual until its connection was closed: the silence is over, and what
 * comes now is not known. */
void health_hung_up(daruma_health *w, const daruma_target *t, daruma_ms now);
/* What became of other calls to the lane of `t` than those of case `witness` since then, as far as it was heard. */
typedef enum health_of_others { OTHERS_UNHEARD, OTHERS_WELL, OTHERS_FAIL } health_of_others;
health_of_others health_others(const daruma_health *w, const daruma_target *t, uint64_t witness, daruma_ms since);
/* Was a call to the model of `t` answered that went out since then? */
bool health_worked(const daruma_health *w, const daruma_target *t, daruma_ms since);
/* A call went elsewhere because `t` is sick. */
void health_passed(daruma_health *w, const daruma_target *t);
/* May `t`, which is sick, be asked before its time by a request that is short of time? After a part of the time that it
 * is down, or after `most` if that is less, but at most twice a second. */
bool health_may_hurry(const daruma_health *w, const daruma_target *t, daruma_ms most, daruma_ms now);
/* Is a call out that finds out whether `t` is back? */
bool health_is_probed(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* Does `t` rest for as long as a call was told that went out after `sent_at`? */
bool health_named_since(const daruma_health *w, const daruma_target *t, daruma_ms sent_at, daruma_ms now);
/* Was no call to `t` made just now? Twice a second somebody may find out. */
bool health_may_ask(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* The call that went out to `t` at `sent_at` was refused for a reason that nobody explained, and another target answers
 * the same request. When a second case saw that, `t` rests for a while, longer each time: it is asked last, and who has
 * nobody else does not wait. */
void health_alone_refused(daruma_health *w, const daruma_target *t, uint64_t witness, daruma_ms sent_at,
                          const daruma_backoff *b, daruma_moment at);
/* Was no call to `t` made for half as long as it had not answered then (30 s at most, and where it never did nor failed
 * but by a limit; where it only failed otherwise, that counts from its first failure)? Then
 * somebody may find out whether a wait that its provider named still holds. */
bool health_may_doubt(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* A call that went out to `t` then was silent while a second one to the same place, which went out at `back_at`, was
 * answered. Calls that went out between them hang as it does. */
void health_hung(daruma_health *w, const daruma_target *t, daruma_ms sent_at, daruma_ms back_at);
bool health_hangs(const daruma_health *w, const daruma_target *t, daruma_ms sent_at);

/* ---- usual.c: streams that are silent where plain answers are well, or the other way round ---- */

/* A call of that form that went out at `sent_at` came to its end. */
void health_form_well(daruma_health *w, const daruma_target *t, bool plain, daruma_ms sent_at);
/* ... or was silent for far longer than usual. Two were, none was well since the first went out, and one of the other
 * form went out between them and was: then it rests, longer each time. */
void health_form_silent(daruma_health *w, const daruma_target *t, bool plain, daruma_ms sent_at, daruma_ms now);
/* A call of that form goes out. Behind a rest it finds out how it is, and others keep off for as long again. */
void health_form_asked(daruma_health *w, const daruma_target *t, bool plain, daruma_ms now);
/* So long that form rests at `t`; 0: it does not. */
daruma_ms health_form_in(const daruma_health *w, const daruma_target *t, bool plain, daruma_ms now);

/* ---- usual.c: bodies that a host does not take ---- */

/* A body of so many bytes was refused for them (413), or answered. */
void health_too_large(daruma_health *w, const daruma_target *t, int64_t bytes, daruma_ms now);
void health_not_too_large(daruma_health *w, const daruma_target *t, int64_t bytes);
/* So long a body of so many bytes goes elsewhere first; 0: it need not. */
daruma_ms health_narrow_in(const daruma_health *w, const daruma_target *t, int64_t bytes, daruma_ms now);

/* ---- pace.c: limits that providers state ---- */

/* So long too little is left at `t` for a request of so many tokens, as far as that is believed; 0: there is enough. */
daruma_ms health_spent_in(const daruma_health *w, const daruma_target *t, int64_t tokens, daruma_ms now);
/* A call of so many tokens goes out to `t`, perhaps `again`: counts it, and returns what has gone out there, it
 * included. */
daruma_call_pace health_pace_takes(daruma_health *w, const daruma_target *t, int64_t tokens, bool again, daruma_ms now);
/* The answer to that call states what is left. */
void health_told_left(daruma_health *w, const daruma_target *t, const daruma_left *told, const daruma_call_pace *call,
                      daruma_ms sent_at, daruma_ms now);
/* How it went with a call that went out although too little was left. */
typedef enum pace_shown {
    PACE_NOTHING,
    PACE_ANSWERED,
    PACE_REFUSED, /* there were too many */
    PACE_SHUT,    /* the same, and for some seconds there are */
    PACE_BUSY     /* it was too busy, with whatever */
} pace_shown;
/* What a failure shows of it (NULL: nothing). */
pace_shown health_pace_of(const daruma_failure *f);
void health_pace_shown(daruma_health *w, const daruma_target *t, daruma_call_pace *call, pace_shown how, daruma_ms now);
/* Are no more calls let in at `t` than it served at once when it refused one more? Then it need not rest. */
bool health_crowded(const daruma_health *w, const daruma_target *t);
/* Are so many calls out at `t` that it serves no more? */
bool health_is_full(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* Is `t` busy with as many calls as were out there when it refused the newest? Who was refused there looks again after
 * that, or when one of them is over: else all would come back at once, and most in vain. 0: it is not. */
daruma_ms health_busy_in(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* Do calls go out to `t` one by one, and it is nobody's turn yet? Then many may wait for the same moment. */
bool health_takes_turns(const daruma_health *w, const daruma_target *t, daruma_ms now);
/* Does a limit of tokens hold up who asks `t`, when too little is left? */
bool health_counts_tokens(const daruma_health *w, const daruma_target *t, daruma_ms now);

/* ---- health_keep.c: lines of a snapshot ---- */

#define HEALTH_RECORD "place" /* how such a line is called */
/* Appends a line for each place. */
void health_save(const daruma_health *w, daruma_ms now, daruma_buf *out);
/* Makes a place as such a line has it, written `aged` ms ago. False: it is no such line, and nothing changed. */
bool health_load(daruma_health *w, daruma_str line, daruma_ms now, daruma_ms aged);

/* Appends a line for each place that became sick, well or is being probed since this was asked last. */
void health_share(daruma_health *w, daruma_ms now, daruma_buf *out);
/* From here on all of it is news: nobody knows what was heard of what was told. */
void health_unshare(daruma_health *w);
/* Learns from such a line of another process what it saw later than this one; the rest stays as it is here. */
bool health_learn(daruma_health *w, daruma_str line, daruma_ms now, daruma_ms aged);
#endif
