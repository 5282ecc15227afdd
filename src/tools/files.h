/* files.h - the tools of `daruma run` over files: fs.list, fs.read, fs.search, fs.write, fs.edit, all below one folder.
 */
#ifndef TOOLS_FILES_H
#define TOOLS_FILES_H
#include "tools/tools.h"

/* Adds them. `root` is read when a call begins, and outlives the table. False: there is no room in the table. */
bool files_add(toolset *t, int *root);
/* Opens the folder that all paths are below. -1 and errno. */
int files_root(const char *path);
/* Carries a call out at once and writes its result, or an error as "CODE: message" with a hint, to `out`. True: it
 * worked. A path that leads out of the folder ("..", absolute, through a symbolic link, with a NUL) is refused. Any
 * thread; a search ends early when `stop` becomes true. */
bool files_call(int root, daruma_str tool, daruma_str args, const atomic_bool *stop, daruma_arena *scratch,
                daruma_buf *out);
/* Looks at the file that a call of fs.write or fs.edit changes: fingerprints of what stands there now, and of what
 * stands there behind the call. Before a call and afterwards: so it is known whether it was carried out. False: it is
 * another tool, or there is no memory. */
bool files_look(int root, daruma_str tool, daruma_str args, daruma_arena *scratch, uint64_t *ret_now,
                uint64_t *ret_after);
/* The result of such a call that was carried out. */
void files_done(daruma_str tool, daruma_str args, daruma_arena *scratch, daruma_buf *out);
#endif
