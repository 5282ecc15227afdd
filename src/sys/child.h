/* child.h - a program that runs beside us, in a process group of its own: what it prints is handed on, and it ends with
 * all that it started. For tools and for servers that speak over pipes. */
#ifndef SYS_CHILD_H
#define SYS_CHILD_H
#include "daruma_parts.h"
#include <uv.h>

typedef struct child child;

typedef struct child_setup {
    char *const *argv;  /* NULL behind the last; the first is looked for in PATH */
    const char *folder; /* that it works in; NULL: ours */
    char **env;         /* child_env(); NULL: ours */
    bool talks;         /* its standard input is a pipe for child_write(); else it is empty */
    bool apart;         /* what it writes to standard error goes to `err`, not with its output to `out` */
} child_setup;

/* How it ended. */
typedef struct child_end {
    int code;   /* its exit code, where `signal` is 0 */
    int signal; /* that ended it */
    bool late;  /* it was ended because child_within() was over */
} child_end;

typedef struct child_ops {
    void (*out)(child *c, daruma_str bytes, void *user); /* valid during the call */
    void (*err)(child *c, daruma_str bytes, void *user);
    /* It ended, and what it printed was told. Called once, from the loop; the child is gone after it. */
    void (*end)(child *c, const child_end *e, void *user);
} child_ops;

/* Starts it. `ops` are borrowed, the rest is not needed afterwards. NULL and a sentence in `why`, which holds no
 * argument but the program's name: it did not start. */
child *child_start(uv_loop_t *loop, const child_setup *s, const child_ops *ops, void *user, char why[256]);
/* Sends bytes to its standard input; they are copied. False: it does not take any more. */
bool child_write(child *c, daruma_str bytes);
size_t child_waiting(const child *c); /* bytes sent that it did not read yet */
void child_end_input(child *c);       /* it reads the end of its input behind what was sent */
/* Ends it and its group: SIGTERM, and SIGKILL when it is still there after `grace_ms`. ops.end is called as ever. */
void child_stop(child *c, daruma_ms grace_ms);
/* It is stopped so when it is still there after `ms`. */
void child_within(child *c, daruma_ms ms, daruma_ms grace_ms);

/* Kills all that run on that loop with their groups, at once: for a program that ends here and now. */
void child_kill_all(uv_loop_t *loop);

/* Our environment without what may be a credential: names with KEY, TOKEN, SECRET, PASSWORD and the like as a word, and
 * addresses with a password in them. `more` ("NAME=value", NULL behind the last; may be NULL) is added as it is. In
 * `a`; NULL without memory. */
char **child_env(const char *const *more, daruma_arena *a);
/* Overwrites the values of what child_env() leaves out in our own environment, which children can read below /proc.
 * Copy what is needed of it before. */
void child_env_wipe(void);
#endif
