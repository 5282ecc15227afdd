/* redact.h - what looks like a credential, in text that stays as it is otherwise. */
#ifndef TELL_REDACT_H
#define TELL_REDACT_H
#include "daruma_parts.h"

/* `text` itself when nothing in it looks like a credential; else a copy in `a` with "[redacted]" in its place, empty
 * without memory. Unlike daruma_redact() it leaves e-mail addresses: in a provider's error they say whom to ask. */
daruma_str redact_credentials(daruma_str text, daruma_arena *a);

enum { REDACT_BYTES_MIN = 6 }; /* of a credential: what is shorter is a word, "EMPTY", "none" */

/* Credentials that are taken out of texts, all at once. */
typedef struct redaction {
    size_t longest;      /* (set) bytes of the longest text: what is shown by more is in none */
    daruma_arena *arena; /* (set) for texts that are written anew: all that stays */
    daruma_arena *index; /* (set) for what is made on the way; once it is full nothing is shown */
    bool sure;           /* (set) what is added is a credential, also where it looks like a word */
    struct redact_index *plain, *encoded;
} redaction;

/* Adds a credential, whose bytes are borrowed. `encoded`: it is looked for in base64 (alone or within what was encoded
 * with it, of either alphabet and in lines) and in hexadecimal digits as well. What is too short to be one is passed
 * over. */
void redact_add(redaction *r, daruma_str secret, bool encoded);

/* A text without what was added, also where escapes hide it; the text itself when nothing of it is there, empty
 * without memory. The time grows with the text, hardly with the number of credentials; what is longer than
 * CLASSIFY_BODY_BYTES_MAX is searched for them as they are alone. */
daruma_str redact_known(const redaction *r, daruma_str text);
#endif
