/* snapshot.h - what a driver knows, as lines of JSON. */
#ifndef ENGINE_DRIVE_MEMORY_SNAPSHOT_H
#define ENGINE_DRIVE_MEMORY_SNAPSHOT_H
#include "engine/drive/session.h"

/* The line that begins what driver_load() reads. */
void snapshot_head(const driver *v, daruma_buf *out);

#endif
