/* plain.h - what a host does that has nothing to do there: members of drive_host for hosts whose reader is never slow,
 * whose keys are at hand, which send at once what they are given and do all work on the thread of the driver. */
#ifndef ENGINE_DRIVE_PLAIN_H
#define ENGINE_DRIVE_PLAIN_H
#include "engine/drive/drive.h"

void plain_body_dropped(void *user);
void plain_pause(void *handle); /* resume, too */
void plain_limit(void *handle, daruma_ms total);
bool plain_is_sent(void *handle);                                                  /* true */
drive_key plain_key(void *user, const daruma_target *t, bool *ret_renewable);      /* it is ready */
void plain_key_fetch(void *user, const daruma_target *t, bool anew);               /* is never called then */
void plain_key_noted(void *user, const daruma_target *t);                          /* forget, worked */
daruma_str plain_key_trouble(void *user, const daruma_target *t, daruma_arena *a); /* "{}" */
daruma_str plain_redact(void *user, const daruma_target *t, daruma_str secret, daruma_str text); /* `text` */
void plain_holds(void *user, int64_t bytes);
bool plain_work(void *user, size_t bytes, const drive_work *kind, void *data); /* at once */
#endif
