/* abilities.h - what models lack that a request needs: tools, pictures, a response format, reasoning. Who was found to
 * lack it is asked last for such requests. */
#ifndef ENGINE_DRIVE_REQUEST_ABILITIES_H
#define ENGINE_DRIVE_REQUEST_ABILITIES_H
#include "engine/drive/session.h"

/* The case was opened: targets whose model is known to lack what the request needs are asked only when nobody else is
 * left. */
void abilities_know(session *x);
/* The request was answered: whose model refused it before, since it lacks something, is known to lack it from here on,
 * and the one that answered lacks nothing that the request needs. */
void abilities_learn(session *x);

#endif
