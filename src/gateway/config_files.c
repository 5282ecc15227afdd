/* config_files.c - what a configuration names outside itself: is it there, and can it be used? */
#include "gateway/config.h"
#include "base/str.h"
#include "net/tls.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4200 }; /* `events.file` and `tls.ca_file` have at most 4096 */

static bool no(char why[512], const char *option, const char *path, const char *what)
{
    snprintf(why, 512, "%s: %.400s: %s", option, path, what);
    return false;
}

/* It will be appended to, or made: then its folder is what counts. Nothing is written now. */
static bool events_fit(const config *c, char why[512])
{
    char path[PATH_BYTES], folder[PATH_BYTES];
    struct stat at;
    snprintf(path, sizeof path, STR_FMT, STR_ARG(c->events_file));
    if (stat(path, &at) == 0) {
        if (S_ISDIR(at.st_mode))
            return no(why, "events.file", path, strerror(EISDIR));
        return access(path, W_OK) == 0 || no(why, "events.file", path, strerror(errno));
    }
    if (errno != ENOENT)
        return no(why, "events.file", path, strerror(errno));
    size_t n = c->events_file.n;
    while (n && path[n - 1] != '/')
        n--;
    snprintf(folder, sizeof folder, "%.*s", n ? (int)n : 1, n ? path : ".");
    return access(folder, W_OK | X_OK) == 0 || no(why, "events.file", path, strerror(errno));
}

static bool authorities_fit(const config *c, char why[512])
{
    char path[PATH_BYTES], cause[256];
    snprintf(path, sizeof path, STR_FMT, STR_ARG(c->ca_file));
    if (access(path, R_OK) != 0)
        return no(why, "tls.ca_file", path, strerror(errno));
    tls_context *t = tls_context_new(path, cause);
    if (!t) {
        snprintf(why, 512, "tls.ca_file: %s", cause);
        return false;
    }
    tls_context_free(t);
    return true;
}

bool config_files(const config *c, char why[512])
{
    return (!c->events_file.n || events_fit(c, why)) && (!c->ca_file.n || authorities_fit(c, why));
}
