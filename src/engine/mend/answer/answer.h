/* answer.h - answers: JSON and calls of tools put right, an answer that broke off gone on with, the model asked
 * again. */
#ifndef ENGINE_MEND_ANSWER_H
#define ENGINE_MEND_ANSWER_H
#include "engine/mend/mend.h"

/* ---- apology.c ---- */

/* What the model is asked for in place of a fixed explanation: a short apology with what the user can do (the RFC's
 * BAD_REQUEST_OTHER). The provider's words are in it, secrets were removed. */
daruma_str mend_apology_system(void);
daruma_str mend_apology_prompt(const daruma_failure *f, daruma_arena *a);

/* ---- repair.c ---- */

/* JSON of nearly-JSON: fences, prose around it, trailing and missing commas, single quotes, Python and JavaScript
 * literals, comments, unquoted keys, control characters. Empty when it cannot, when values that
 * differ stand in the text, and when it ends before its value does: nothing is chosen, nothing is completed. `cut` (may
 * be NULL) tells that this is why. In `a`. */
daruma_str json_repair(daruma_str broken, daruma_arena *a, bool *cut);

/* ---- args.c ---- */

typedef enum args_verdict {
    ARGS_GOOD,     /* as they are */
    ARGS_REPAIRED, /* use `fixed` */
    ARGS_UNKNOWN_TOOL,
    ARGS_BROKEN, /* do not parse and cannot be repaired, or were cut */
    ARGS_UNFIT,  /* parse and do not fit the tool's schema */
} args_verdict;
typedef struct args_check {
    args_verdict verdict;
    daruma_str fixed; /* ARGS_REPAIRED: JSON */
    size_t dropped;   /* members that the schema does not know, and that are not in `fixed` */
    daruma_str name;  /* the tool's name when it only had to be written otherwise (case, - or _): else as it came */
    daruma_str why;   /* for the model: what is wrong, where, what was expected */
    uint32_t steps;   /* subschemas that were looked at, about: what the check cost */
    bool unsure;      /* that was too much: what was not looked at counts as good */
} args_check;
/* Checks the arguments `args` (JSON text as the model wrote it) of a call to `name` against the tools of the request.
 * `cut`: the answer was cut by its length, nothing may be repaired; an object that has all members that its schema
 * knows is whole all the same. Repairs lose nothing ("3" to 3 where a number is asked for) and complete nothing:
 * arguments that end within a value are broken, whatever the answer says of its end, and so are those with words
 * around them: "do not run {...}". Brackets that are missing at the end are closed only where the schema says that no
 * member can be missing. What is repaired keeps no member that the schema does not know. A name that differs in case,
 * '-' and '_' only from exactly one tool is that tool; others are suggested in `why`. */
args_check mend_args(const convo *c, daruma_str name, daruma_str args, bool cut, daruma_arena *a);
/* True if the output cap cut the arguments of the call that is part `i` of the answer: they are no JSON, or stand last
 * on a wire that carries them as an object, which looks whole whatever is missing. */
bool mend_args_cut(const turn *t, size_t i);
/* again.c: the calls of `bad` were not carried out, `why` says so: the model goes on from there. */
bool mend_refuse_calls(convo *c, const turn *bad, daruma_str why, mend_report *rep);
/* again.c: words of ours to the model at the end of its view, behind everything that a provider may have cached. */
bool mend_notice(convo *c, daruma_str text, mend_report *rep);

/* The text of an answer that was asked for as JSON, held against `schema` (raw; empty: any JSON will do). What is meant
 * as JSON is made so where only one reading is possible: fences, words around it, trailing commas. ARGS_BROKEN: it is
 * none; ARGS_UNFIT: it does not fit. */
args_check mend_said(daruma_str schema, daruma_str text, daruma_arena *a);

/* For asking again: adds the broken answer and what is wrong with it to the conversation (P-F30, P-F31). */
bool mend_ask_again(convo *c, const turn *bad, daruma_str why, mend_report *rep);

/* ---- join.c, again.c: going on with an answer that broke off ---- */

/* The last words of a text, from the border of a word where there is one, at least `least` bytes (or all of it) without
 * white space at their ends, and so long that they stand in it only there: an answer that begins with them goes on from
 * one place. Empty where its end repeats itself for more than JOIN_ANCHOR_BYTES_MAX. A slice of `so_far`. */
daruma_str mend_anchor(daruma_str so_far, size_t least);

/* How a model is asked to go on. */
typedef enum mend_going {
    GOING_ANCHORED,    /* it shall begin with the anchor: the seam is known. Models may do something else instead: go on
                          at once, repeat less or more, introduce themselves, begin anew */
    GOING_PREFILLED,   /* its answer is begun for it: it goes on at the byte */
    GOING_FROM_BEFORE, /* when what came could not be joined: it is shown less than arrived, and told to go on */
} mend_going;
/* Asks the model to go on where it was cut: `so_far` is what the client has. GOING_PREFILLED is as GOING_ANCHORED where
 * the wire does not take it, and FROM_BEFORE where no anchor is to be had. False when there are no words to go on from.
 */
bool mend_continue(convo *c, daruma_str so_far, mend_going how, mend_report *rep);

/* May the answer be begun for the model: the wire takes it, and no thinking, forced tool or format is asked for? What
 * to tell join_find. */
bool mend_can_prefill(const convo *c);

typedef enum join_verdict {
    JOIN_MORE,   /* not decided: feed more */
    JOIN_AT,     /* `skip` bytes of the new text repeat what is there; the rest follows */
    JOIN_UNSURE, /* it cannot be joined with certainty */
} join_verdict;
typedef struct join_result {
    join_verdict verdict;
    size_t skip;
} join_result;
enum { JOIN_PLACES = 8 /* where a long repetition may come from; more are no repetition of one of them */ };
/* What is known of a seam while the new text comes in. */
typedef struct join_seam {
    daruma_str so_far;            /* what is there; it must stay where it is */
    mend_going how;               /* FROM_BEFORE where no anchor is to be had */
    daruma_str anchor;            /* with what it shall begin; FROM_BEFORE: what it was not shown; empty: none */
    size_t need;                  /* bytes of the new text that have to be there before it is looked at again */
    daruma_str open[JOIN_PLACES]; /* ends of so_far that it repeats up to now ... */
    size_t nopen, skipped, same;  /* ... from its byte `skipped` on, and of how many bytes that is known */
    unsigned looks;               /* how often all of so_far was read, but for a small factor */
} join_seam;
/* Reads all of `so_far`. */
join_seam join_begin(daruma_str so_far, mend_going how);
/* How does `fresh` (the beginning of the new text, all of it when `whole`) go on from what is there, when it was asked
 * for in that way? Finds the anchor, repeated endings and restarts from the beginning; what "sure" means stands in
 * join.c. PREFILLED: it goes on exactly, unless it says all of it again. Any split of the bytes gives the same result;
 * each call has the bytes of the one before and more. At most JOIN_LOOK_BYTES of `fresh` are needed, and some white
 * space. How often so_far is read does not depend on how many calls there are. */
join_result join_next(join_seam *s, daruma_str fresh, bool whole);
/* Both in one. */
join_result join_find(daruma_str so_far, daruma_str fresh, bool whole, mend_going how);
#endif
