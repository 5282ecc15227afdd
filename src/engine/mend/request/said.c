/* said.c - what a refusal of a request means, by its words. */
#include "engine/mend/request/said.h"

#define SAID(name, ...) static const char *const words_of_##name[] = {__VA_ARGS__};
#include "engine/mend/request/said.def"
#undef SAID

static const struct {
    const char *const *words;
    size_t n;
} table[] = {
#define SAID(name, ...) [SAID_##name] = {words_of_##name, COUNT(words_of_##name)},
#include "engine/mend/request/said.def"
#undef SAID
};

bool said(daruma_str text, said_what what)
{
    for (size_t i = 0; i < table[what].n; i++)
        if (says(text, table[what].words[i]))
            return true;
    return false;
}

bool failure_said(const daruma_failure *f, said_what what)
{
    return said(f->message, what) || said(f->code, what);
}

bool said_word(daruma_str word, said_what what)
{
    for (size_t i = 0; i < table[what].n; i++)
        if (str_ieq(word, str_of(table[what].words[i])))
            return true;
    return false;
}
