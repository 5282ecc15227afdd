/* redact.h - what looks like a credential, in text that stays as it is otherwise. */
#ifndef TELL_REDACT_H
#define TELL_REDACT_H
#include "daruma_parts.h"

/* `text` itself when nothing in it looks like a credential; else a copy in `a` with "[redacted]" in its place, empty
 * without memory. Unlike daruma_redact() it leaves e-mail addresses: in a provider's error they say whom to ask. */
daruma_str redact_credentials(daruma_str text, daruma_arena *a);

enum { REDACT_BYTES_MIN = 6 }; /* of a credential: what is shorter is a word, "EMPTY", "none" */

/* A text as it reads without the escapes of JSON, URLs and HTML. */
typedef struct redact_reading {
    daruma_str plain;
    const uint32_t *at; /* where each byte of it, and its end, stands in the text; NULL: in the same place */
} redact_reading;

/* A text from which known credentials are removed, one after the other. */
typedef struct redaction {
    daruma_str text;     /* (set) what is left of it; empty without memory */
    daruma_arena *arena; /* (set) for copies of it */
    bool sure;           /* (set) what is asked for is a credential, also where it looks like a word */
    bool as_it_is;       /* (set) what is asked for is not looked for in base64 and in digits */
    daruma_str read;     /* the text that `plain` is of: it is read anew only when something was taken out */
    redact_reading plain;
    daruma_str packed_of;  /* the text that `packed` is of */
    redact_reading packed; /* ... as who reads base64 and digits reads it: without escapes and white space */
} redaction;

/* Takes `secret` out of r->text, also where escapes hide it, and where it stands in base64 (alone or within what was
 * encoded with it, of either alphabet and in lines) or in hexadecimal digits. What is too short to be a credential
 * stays. The time grows with the text, and what is longer than CLASSIFY_BODY_BYTES_MAX is searched for the secret as
 * it is alone. */
void redact_known(redaction *r, daruma_str secret);
#endif
