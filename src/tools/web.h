/* web.h - the tool http.get: reads a page or a file of text from the web. */
#ifndef TOOLS_WEB_H
#define TOOLS_WEB_H
#include "tools/tools.h"
#include "net/upstream.h"

/* Adds it. `up` outlives the table; it decides which addresses are connected to (upstream_settings.public_only). False:
 * there is no room in the table. */
bool web_add(toolset *t, upstream *up);
#endif
