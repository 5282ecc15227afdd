/* choice.h - what a case asks about its targets. */
#ifndef ENGINE_DECIDE_CHOICE_H
#define ENGINE_DECIDE_CHOICE_H
#include "model/kinds.h"

/* How many of its targets count. */
static inline int choice_count(const daruma_case *c)
{
    return (int)(c->ntargets < DARUMA_CASE_TRIED ? c->ntargets : DARUMA_CASE_TRIED);
}

/* What targets have in common that would meet the same failure. */
kind_part choice_shared(daruma_kind k);

/* Calls that target may get yet for this kind of failure; those of targets that would meet the same count. */
uint32_t choice_tries_left(const daruma_case *c, int i, daruma_kind k);
/* Calls that may still go out, those on the side included; UINT32_MAX: there is no limit. */
uint32_t choice_calls_left(const daruma_case *c);
/* Was the call at hand silent for long, until its connection was closed so? */
bool choice_hung_up(const daruma_case *c, const daruma_failure *f, daruma_ms now);
/* Was the silence of the call at hand so long that others heard of it? */
bool choice_was_noted(const daruma_case *c, daruma_ms now);
/* How that target is; a policy without health finds every target well. */
daruma_condition choice_look(const daruma_case *c, int i, daruma_ms now);
bool choice_well(const daruma_case *c, int i, daruma_ms now);

/* The target at hand failed so: whose fault it is. */
void choice_blame(daruma_case *c, int target, daruma_kind k);
/* What an earlier case over the same targets counted, so that each gets one call more. */
void choice_resume(daruma_case *c, const daruma_case *was);
/* The target at hand failed so: all that would fail the same way are out of the question. `trusted`: its key was taken
 * lately. */
void choice_spoil(daruma_case *c, int target, const daruma_failure *f, bool trusted, daruma_ms now);
/* The request is another one now: those that were too narrow for it may take it. */
void choice_widen(daruma_case *c);

/* The first target in reserve that is well, else the one that may be asked first, but for the model that was asked
 * last; -1: there is none. */
int choice_reserve(const daruma_case *c, daruma_ms now);
/* From here on the targets in reserve are those of the case, and the others are out of the question. */
void choice_open_reserve(daruma_case *c);

/* Does that failure of the target at hand leave open whether another one takes the request? One that is not the first
 * refused it, or it says that the model lacks what the request needs. */
bool choice_doubts(const daruma_case *c, const daruma_failure *f);
/* Who may take what the model at hand refused: the first of another model that is well and was not asked, else the one
 * that may be asked first; without `patient` only one that may be asked now. -1: all refused it. */
int choice_doubted(const daruma_case *c, daruma_kind k, bool patient, daruma_ms now);
/* When nobody else is left, those are asked that were to be asked last. */
void choice_ask_last(daruma_case *c);
/* The model at hand is of no use any more to this case. */
void choice_leave(daruma_case *c);

bool choice_switches(daruma_remedy_kind r); /* is it going to another target? */
/* Is going from `t` to `u` what this remedy is? */
bool choice_leads(daruma_remedy_kind r, const daruma_target *t, const daruma_target *u);
/* The first well target that this remedy leads to after a failure of kind `k`, and that has not been called here; where
 * none is well and the one at hand is not either, one that may be asked all the same. With `patient`, of those that are
 * not well the one that may be asked first. -1 none. */
int choice_other(const daruma_case *c, daruma_remedy_kind r, daruma_kind k, bool patient, daruma_ms now);
/* Where a remedy sends after a failure of kind `k`; -1 nowhere. */
int choice_where(const daruma_case *c, daruma_remedy_kind r, daruma_kind k, bool patient, daruma_ms now);
/* Any well target that was not called yet in this case; -1 none. */
int choice_fresh(const daruma_case *c, daruma_ms now);
/* The wanted target if it is well, else the first that is: those of the same model come first,
 * they know the conversation's cache. -1 none. */
int choice_pick(const daruma_case *c, daruma_ms now);
/* Nobody is well: the one that may be asked all the same, first who tests a wait that was named, then the wanted one,
 * then the one called least. -1 none. */
int choice_alone(const daruma_case *c, daruma_ms now);
/* Which sick target may be asked first. -1 none is of use. */
int choice_first_back(const daruma_case *c, daruma_ms now, daruma_condition *ret);
/* The first of those that only have to slow down, and how long it rests; -1: none does. */
int choice_rested(const daruma_case *c, daruma_ms now, daruma_ms *in);
/* One that this case has not asked, whatever its health, unless its provider named a wait. -1 none. */
int choice_unasked(const daruma_case *c, daruma_ms now);
/* Is a part of the time of the client over? */
bool choice_hurries(const daruma_case *c, daruma_ms now);
/* Who is asked beside a call that is silent: the first that is well and was asked least, its model and provider with
 * it; its own target last, and only while others get answers there. -1 none. */
int choice_beside(const daruma_case *c, daruma_ms now);
/* Nobody else is well: who is asked whether he is back. The silent target takes turns with those that are sick, but may
 * be asked. */
int choice_knock(const daruma_case *c, daruma_ms now);
/* How many well models this case has not asked yet. */
int choice_left(const daruma_case *c, daruma_ms now);
#endif
