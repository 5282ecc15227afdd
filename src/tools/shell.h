/* shell.h - the tool shell.run: a command of the shell, in the folder that all tools work in. */
#ifndef TOOLS_SHELL_H
#define TOOLS_SHELL_H
#include "tools/tools.h"

/* Adds it. `folder` outlives the table. False: there is no room in the table. */
bool shell_add(toolset *t, const char *folder);
#endif
