/* said.h - small questions about what a provider says. */
#ifndef ENGINE_MEND_REQUEST_SAID_H
#define ENGINE_MEND_REQUEST_SAID_H
#include "base/str.h"
#include "daruma_parts.h"

typedef enum said_what {
#define SAID(name, ...) SAID_##name,
#include "engine/mend/request/said.def"
#undef SAID
} said_what;

/* Does the text have any of the words that mean it? */
bool said(daruma_str text, said_what what);
/* The same of a failure's message, or its code. */
bool failure_said(const daruma_failure *f, said_what what);
/* Is it one of these words? */
bool said_word(daruma_str word, said_what what);

static inline bool says(daruma_str text, const char *words_lower)
{
    return str_ifind(text, str_of(words_lower)) != STR_NONE;
}

static inline bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

static inline bool name_char(char c)
{
    return ch_alpha(c) || ch_digit(c) || c == '_';
}

/* The word in quotes that begins at or behind *at; *at moves behind it. False: there is none. */
bool next_quoted(daruma_str m, size_t *at, daruma_str *word);
#endif
