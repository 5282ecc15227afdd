/* changes.h - did a step that worked change something? */
#ifndef WATCH_CHANGES_H
#define WATCH_CHANGES_H
#include "daruma.h"

/* By the host's word (traits), else by the name of the tool; of a shell by its command. */
bool step_changes(const daruma_step *step);
/* A shell, by its name: it does all sorts of things. */
bool step_is_shell(const daruma_step *step);
#endif
