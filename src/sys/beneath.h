/* beneath.h - files below one folder. A path is walked from that folder on, one name at a time, each opened without
 * following links: what is checked is what is opened, whoever changes the folder meanwhile. What leads out of the
 * folder ("..", an absolute path, a NUL) fails with EXDEV, a symbolic link with ELOOP. Any thread. */
#ifndef SYS_BENEATH_H
#define SYS_BENEATH_H
#include "daruma_parts.h"

/* Opens a folder; empty or ".": the root itself. -1 and errno. */
int beneath_folder(int root, daruma_str path);
/* Reads a file into `a`. False and errno: EISDIR it is a folder, EFBIG it is longer than `most`, or no plain file,
 * ENOMEM there is no room in `a`. */
bool beneath_read(int root, daruma_str path, size_t most, daruma_arena *a, daruma_str *ret);
/* Writes a whole file, whose folders are made: the new one takes the place of the old one in one step, so that nobody
 * sees half of it, and is on the disk when this returns, with the folders that were made. It is written under a fresh
 * name (".daruma-new-WRITER-N") in the same folder first: several may write there at a time, and no two of them at once
 * have the name `writer`; empty: this process. False and errno: ENOSPC there is no space, or no more is allowed. */
bool beneath_write(int root, daruma_str path, daruma_str content, daruma_str writer);
/* Removes what writes of a file left in its folder that ended in the middle: those of `writer`, which is not at work.
 */
void beneath_clear(int root, daruma_str path, daruma_str writer);

/* The names in an open folder, at most `max`, in order; in `a`. */
size_t beneath_names(int fd, daruma_arena *a, char **names, size_t max);
/* The rest of an open file. False and errno: EFBIG it is longer than `most`, ENOMEM there is no room in `a`, or why it
 * cannot be read. */
bool beneath_read_open(int fd, size_t most, daruma_arena *a, daruma_str *ret);
#endif
