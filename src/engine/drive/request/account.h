/* account.h - requests that only one account can answer. */
#ifndef ENGINE_DRIVE_REQUEST_ACCOUNT_H
#define ENGINE_DRIVE_REQUEST_ACCOUNT_H
#include "engine/drive/session.h"

/* A stored answer is asked for at the account that made it, as far as anybody knows. */
void account_pin(session *x);
/* The request names a stored answer as its provider does, where the client knows it by another id. `newest`: as the
 * scan gave it, an array of SCAN_NEWEST. */
void account_name_stored(session *x, uint32_t *newest);
/* The answer that goes out was made by the target at hand: a stored one is known to the account that made it only;
 * what refers to it goes there, and names it as it is named there. `whole`: the answer; empty: the one just read. */
void account_remember(session *x, daruma_str whole);
daruma_str session_answer_id(session *x); /* empty: it has none, or not where ids stand */
/* Files, containers and the like that the request names live with one account. They are looked for when another one
 * comes into question, not before. True: `target` (-1: none yet) is not of that account, and nobody else is left. */
bool session_stay(session *x, int target);
/* Is the key of that target at hand? `ret_renewable`: it can be fetched anew. */
drive_key session_key(session *x, int target, bool *ret_renewable);
/* Encrypted reasoning is of use to one account alone, and none without it. When that account rests for long, or `f`
 * (NULL: nothing failed yet) shows that it is of no use, the reasoning is left out and the other accounts may be asked.
 * Items that the account keeps are put in the place of references to them then, if all of them are known here; and
 * likewise for the same account when `f` says that it does not keep one. */
void session_loosen(session *x, const daruma_failure *f);

#endif
