/* sessions.c - the newest session file that an agent on this machine has kept: Claude Code's
 * (~/.claude/projects/PROJECT/ID.jsonl) or Codex's (~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl). */
#include "base/str.h"
#include "cli/cli.h"
#include "sys/sys.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FOLDERS_DEEP_MAX = 5 }; /* a year, a month, a day, and room for what comes */

typedef struct newest {
    char path[4096];
    struct timespec at;
    bool found;
} newest;

static bool is_newer(const struct stat *s, const newest *n)
{
    return !n->found || s->st_mtim.tv_sec > n->at.tv_sec ||
           (s->st_mtim.tv_sec == n->at.tv_sec && s->st_mtim.tv_nsec > n->at.tv_nsec);
}

/* Looks through a folder and those in it. Files of other names, and of size 0, are none. */
static void look_through(const char *folder, const char *prefix, int deep, newest *n)
{
    char path[4096];
    struct stat s;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        daruma_str name = str_of(e->d_name);
        int put = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (name.p[0] == '.' || put < 0 || (size_t)put >= sizeof path || lstat(path, &s) != 0)
            continue;
        if (S_ISDIR(s.st_mode) && deep < FOLDERS_DEEP_MAX)
            look_through(path, prefix, deep + 1, n);
        else if (S_ISREG(s.st_mode) && s.st_size && str_ends(name, S(".jsonl")) && str_starts(name, str_of(prefix)) &&
                 is_newer(&s, n)) {
            memcpy(n->path, path, (size_t)put + 1);
            n->at = s.st_mtim;
            n->found = true;
        }
    }
    if (d)
        closedir(d);
}

const char *cli_newest_session(const char *command)
{
    static newest n;
    char folder[2048];
    daruma_str home = sys_env("HOME"), claude = sys_env("CLAUDE_CONFIG_DIR"), codex = sys_env("CODEX_HOME");
    n = (newest){.found = false};
    snprintf(folder, sizeof folder, "%s%s/projects",
             claude.n ? claude.p
             : home.n ? home.p
                      : "",
             claude.n ? "" : "/.claude");
    look_through(folder, "", 0, &n);
    snprintf(folder, sizeof folder, "%s%s/sessions",
             codex.n  ? codex.p
             : home.n ? home.p
                      : "",
             codex.n ? "" : "/.codex");
    look_through(folder, "rollout-", 0, &n);
    if (n.found)
        return n.path;
    fprintf(stderr,
            "daruma %s: no session of Claude Code or Codex is kept in %s: name a file, or give it one on standard "
            "input\n",
            command, home.n ? home.p : "the home folder");
    return NULL;
}
