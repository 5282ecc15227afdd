/* adapt.h - the request as another provider takes it. */
#ifndef ENGINE_DRIVE_REQUEST_ADAPT_H
#define ENGINE_DRIVE_REQUEST_ADAPT_H
#include "engine/drive/session.h"

/* Makes what session_compose() needs for that target. False: that takes a while, session_fitted() will be called. */
bool session_convert(session *x, int target);
/* The same on the loop, for a call beside one that is under way. False: the request is too large for that, or made up
 * of too much; the conversion is as it was. */
bool session_convert_now(session *x, int target);
bool session_converts(const session *x, int target); /* is there anything to be made? */
/* What the client calls a tool that the provider at hand calls so. */
void session_renamed(session *x, const convo *c); /* what goes out was made of it: its renames are kept */
daruma_str session_tool_name(const session *x, daruma_str name);
/* Is that a custom tool of the client's, which takes words, and a function there? */
bool session_tool_custom(const session *x, daruma_str name);
daruma_str session_tool_words(const session *x, daruma_str text); /* what it says with such names in it */

#endif
