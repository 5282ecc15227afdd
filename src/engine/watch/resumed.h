/* resumed.h - histories that begin with a summary of one that went before. */
#ifndef WATCH_RESUMED_H
#define WATCH_RESUMED_H
#include "daruma_parts.h"

/* Do these first words of a history, as text or as raw JSON, say that they stand for what went before? */
bool watch_text_resumes(daruma_str first_words);
#endif
