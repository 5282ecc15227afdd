/* changes.h - what a step does to the world: by the host's word (traits), else by the words of its tool and, of a
 * shell, of its command. */
#ifndef WATCH_CHANGES_H
#define WATCH_CHANGES_H
#include "daruma_parts.h"

/* A step that worked: did it change something? What is not known to change anything does not. */
bool step_changes(const daruma_step *step);
/* Does it wait for, or ask after, something that goes on by itself? */
bool step_waits(const daruma_step *step);
/* A shell, by its name: it does all sorts of things. */
bool step_is_shell(const daruma_step *step);
#endif
