#include "proc.h"
#include "kit.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAMILY_MAX 64 /* processes; a gateway under test has a master and a few workers */

/* The whole of a small file of /proc, NUL-terminated; false when it is not there. */
static bool slurp(const char *path, char *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t n = 0;
    ssize_t got;
    while (n < room - 1 && (got = read(fd, out + n, room - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    out[n] = 0;
    return n > 0;
}

/* Parent and ticks of one process (proc(5), stat: fields 4 and 14 to 17). The name may hold spaces and parentheses, so
 * fields are counted from the last ')'. */
static bool read_stat(long pid, long *ret_parent, int64_t *ret_ticks)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (!slurp(path, text, sizeof text))
        return false;
    const char *at = strrchr(text, ')');
    long parent;
    long long user, system, child_user, child_system;
    if (!at || sscanf(at + 2, "%*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &parent, &user,
                      &system, &child_user, &child_system) != 5)
        return false;
    *ret_parent = parent;
    *ret_ticks = user + system + child_user + child_system;
    return true;
}

/* `pid` and its descendants. /proc/PID/task/TID/children is not in every kernel; parents are. */
static int family(long pid, long *out)
{
    long known[4096], parents[4096];
    int n = 0, found = 0;
    DIR *d = opendir("/proc");
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d)) && n < 4096;) {
        char *end;
        int64_t ticks;
        known[n] = strtol(e->d_name, &end, 10);
        if (!*end && known[n] > 0 && read_stat(known[n], &parents[n], &ticks))
            n++;
    }
    closedir(d);
    for (int i = 0; i < n && !found; i++)
        if (known[i] == pid)
            out[found++] = pid;
    for (int done = 0; done < found; done++)
        for (int i = 0; i < n && found < FAMILY_MAX; i++)
            if (parents[i] == out[done])
                out[found++] = known[i];
    return found;
}

static int64_t field_kb(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static int64_t count_descriptors(long pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    DIR *d = opendir(path);
    int64_t n = 0;
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static proc_use use_of(long pid, bool all)
{
    proc_use u = {0};
    long pids[FAMILY_MAX];
    long hz = sysconf(_SC_CLK_TCK);
    int n = family(pid, pids);
    for (int i = 0; i < n; i++) {
        char path[64], text[4096];
        long parent;
        int64_t ticks;
        if (!read_stat(pids[i], &parent, &ticks))
            continue;
        u.processes++;
        u.cpu_us += ticks * 1000000 / hz;
        if (!all)
            continue;
        snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", pids[i]);
        if (slurp(path, text, sizeof text)) {
            u.rss_kb += field_kb(text, "Rss:");
            u.dirty_kb += field_kb(text, "Private_Dirty:");
            u.private_kb += field_kb(text, "Private_Dirty:") + field_kb(text, "Private_Clean:");
        }
        u.descriptors += count_descriptors(pids[i]);
    }
    return u;
}

proc_use proc_cpu(long pid)
{
    return use_of(pid, false);
}

proc_use proc_all(long pid)
{
    return use_of(pid, true);
}
