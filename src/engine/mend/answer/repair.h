/* repair.h - what the two halves of the JSON repair say to each other. */
#ifndef ENGINE_MEND_ANSWER_REPAIR_H
#define ENGINE_MEND_ANSWER_REPAIR_H
#include "daruma_parts.h"

/* One value that a tolerant reader made strict JSON of. */
typedef struct repair_value {
    daruma_str json; /* empty: it could not, or only by guessing */
    size_t end;      /* offset behind it in what was read */
    size_t missing;  /* brackets that the end of the text left open behind a whole value, and that were closed: they are
                        those of the value, of its last member, of that one's last member ... */
    bool cut;        /* json is empty because the text ends within a value or a member */
    bool words;      /* words stand around the value, who knows what they say of it; a fence is none */
    bool quotes;     /* quotes within strings were told from closing ones by what follows: nothing may be left over */
} repair_value;

/* Reads the value at text[at] as a model may have written it. One pass, bounded depth; the result lives in `a`. */
repair_value repair_read(daruma_str text, size_t at, daruma_arena *a);
/* The value in a text with what models put around it: fences, words, escapes. Of two that differ none is chosen. `end`
 * says nothing. `missing` > 0: nobody knows whether more members were to come, so that the value may be used only by
 * who knows that there are none. */
repair_value repair_text(daruma_str broken, daruma_arena *a);
/* json_repair() of what is to be carried out: nothing where words stand around it. */
daruma_str repair_alone(daruma_str broken, daruma_arena *a);
/* Is there, at text[at], a name with a colon behind it, as in an object (or one that was cut)? Looks at most
 * REPAIR_LOOK_BYTES ahead. */
bool repair_key_at(daruma_str text, size_t at);
/* Behind white space and comments. */
size_t repair_blank(daruma_str text, size_t at);
#endif
