/* redact.h - what looks like a credential, in text that stays as it is otherwise. */
#ifndef TELL_REDACT_H
#define TELL_REDACT_H
#include "daruma.h"

/* `text` itself when nothing in it looks like a credential; else a copy in `a` with "[redacted]" in its place, empty
 * without memory. Unlike daruma_redact() it leaves e-mail addresses: in a provider's error they say whom to ask. */
daruma_str redact_credentials(daruma_str text, daruma_arena *a);
#endif
