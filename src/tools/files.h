/* files.h - the tools of `daruma run` over files: fs.list, fs.read, fs.search, fs.write, fs.edit, all below one folder.
 */
#ifndef TOOLS_FILES_H
#define TOOLS_FILES_H
#include "tools/tools.h"

/* Where they work. */
typedef struct files_place {
    int root;          /* the folder that all paths are below */
    daruma_str writer; /* the only one of that name: what it writes is found again when it is killed (beneath.h) */
} files_place;

/* Adds them. `p` is read when a call begins, and outlives the table. False: there is no room in the table. */
bool files_add(toolset *t, files_place *p);
/* Opens the folder that all paths are below. -1 and errno. */
int files_root(const char *path);
/* Carries a call out at once and writes its result, or an error as "CODE: message" with a hint, to `out`. True: it
 * worked. A path that leads out of the folder ("..", absolute, through a symbolic link, with a NUL) is refused. Any
 * thread; a search ends early when `stop` becomes true. */
bool files_call(const files_place *p, daruma_str tool, daruma_str args, const atomic_bool *stop, daruma_arena *scratch,
                daruma_buf *out);
/* Looks at the file that a call of fs.write or fs.edit changes: fingerprints of what stands there now, and of what
 * stands there behind the call. Before a call and afterwards: so it is known whether it was carried out. False: it is
 * another tool, or there is no memory. */
bool files_look(int root, daruma_str tool, daruma_str args, daruma_arena *scratch, uint64_t *ret_now,
                uint64_t *ret_after);
/* Removes what such a call left that was killed while it wrote. */
void files_clear(const files_place *p, daruma_str tool, daruma_str args, daruma_arena *scratch);
/* The result of such a call that was carried out. */
void files_done(daruma_str tool, daruma_str args, daruma_arena *scratch, daruma_buf *out);
#endif
