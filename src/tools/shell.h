/* shell.h - the tool shell.run: a command of the shell, in the folder that all tools work in. */
#ifndef TOOLS_SHELL_H
#define TOOLS_SHELL_H
#include "tools/tools.h"

/* What it works with; outlives the table. */
typedef struct shell {
    const char *folder;
    daruma_ms within; /* for a command that does not say how long it takes; 0: SHELL_MS */
} shell;

/* Adds it. False: there is no room in the table. */
bool shell_add(toolset *t, shell *s);
#endif
