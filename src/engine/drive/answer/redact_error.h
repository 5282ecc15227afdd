/* redact_error.h - credentials in the words of others: those that are known, and all that look like one. */
#ifndef ENGINE_DRIVE_ANSWER_REDACT_ERROR_H
#define ENGINE_DRIVE_ANSWER_REDACT_ERROR_H
#include "engine/drive/session.h"

/* What a provider says, without the credentials that the attempt was made with, and all that the host has; `text`
 * itself when there are none in it, empty without memory. */
daruma_str session_redact_sent(session *x, daruma_str text);
/* The same of the values of fields. */
void session_redact_sent_fields(session *x, daruma_header *fields, size_t n);
/* The same of what another call of this request brought, which went to `target` with the key `secret`. */
daruma_str session_redact_sent_of(session *x, int target, daruma_str secret, daruma_str text);

/* A body or an event that says what is wrong, as the client may have it: JSON stays JSON. Empty without memory. */
daruma_str session_redact(session *x, daruma_str text);
void session_redact_fields(session *x, daruma_header *fields, size_t n); /* the values of the fields beside it */

#endif
