/* paths.h - a path that was not found, looked for in what tools have printed. */
#ifndef WATCH_PATHS_H
#define WATCH_PATHS_H
#include "model/convo.h"

/* True if that may be the path of a file: letters of paths alone, and enough of them. */
bool paths_is(daruma_str s);
/* Looks for paths in `text` that end in "/" and `tail`; *found is the one that is known so far. False: there are two
 * different ones. */
bool paths_look(daruma_str text, daruma_str tail, daruma_str *found);
/* The name of the file. */
daruma_str paths_name(daruma_str path);
/* The one path in the results of a conversation that ends as a path among `args` does, or has its name; empty: there is
 * none, or there are several. */
daruma_str paths_printed(convo *c, daruma_str args);
#endif
