/* betas.h - words of anthropic-beta that a provider does not know. */
#ifndef ENGINE_DRIVE_REQUEST_BETAS_H
#define ENGINE_DRIVE_REQUEST_BETAS_H
#include "engine/drive/session.h"

daruma_str betas_without(const session *x, int target);        /* as drive_request has it */
bool betas_refused(const session *x, const daruma_failure *f); /* is it of those words? */
/* Does the call ask for a longer window? What is known of its lane's window is that of calls which do not. */
bool betas_widen(const session *x);
bool betas_mend(session *x); /* the provider refuses some: it is asked without. False: it does not, or has none */
void betas_sent(session *x, int target); /* what is known of them is told */
void betas_worked(session *x);           /* the provider has answered: what helped is learned */

#endif
