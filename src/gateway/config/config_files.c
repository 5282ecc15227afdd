/* config_files.c - what a configuration names outside itself: is it there, and can it be used? */
#include "gateway/config/config_inside.h"
#include "base/str.h"
#include "net/server.h"
#include "net/tls.h"
#include "sys/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4200, LINKS_MAX = 8 }; /* `events.file` and `tls.ca_file` have at most 4096 bytes */

/* Why a file cannot be appended to, or made, 0 when it can: what sys_open_log() would find, without making it. */
static int events_errno(const char *path, int links)
{
    char folder[PATH_BYTES], to[PATH_BYTES];
    size_t n = strlen(path);
    struct stat at;
    int fd = stat(path, &at) == 0 && S_ISFIFO(at.st_mode) ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
                                                          : open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        return close(fd);
    if (errno != ENOENT)
        return errno;
    while (n && path[n - 1] != '/')
        n--;
    if (!path[n]) /* "x/" */
        return EISDIR;
    ssize_t length = readlink(path, to, sizeof to - 1);
    if (length >= 0) { /* a link to what is not there yet */
        to[length] = 0;
        int put = snprintf(folder, sizeof folder, "%.*s%s", to[0] == '/' ? 0 : (int)n, path, to);
        return links >= LINKS_MAX ? ELOOP : put >= PATH_BYTES ? ENAMETOOLONG : events_errno(folder, links + 1);
    }
    snprintf(folder, sizeof folder, "%.*s", n ? (int)n : 1, n ? path : ".");
    return access(folder, W_OK | X_OK) == 0 ? 0 : errno;
}

int config_log_errno(daruma_str file)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, STR_FMT, STR_ARG(file));
    return events_errno(path, 0);
}

void config_token_fits(conf *r, daruma_str token)
{
    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] <= ' ' || token.p[i] > '~') {
            conf_wrong(r, "a token has no spaces, control characters or letters beyond ASCII\nmake one with `openssl "
                          "rand -hex 32`");
            return;
        }
    if (token.n < CONFIG_TOKEN_CHARS_MIN)
        conf_wrong(r, "the token has %zu characters and could be guessed\nmake one with `openssl rand -hex 32`",
                   token.n);
}

/* Can it be read without waiting, where that is called for? If not, it is said; only files are there to be found. */
static bool at_hand(conf *r, bool running, daruma_str file, const char *key)
{
    char why[256];
    if (!running || !file.n || sys_at_hand(file.p, CONFIG_MEMORY_BYTES_MAX, why))
        return true;
    conf_go(r, key);
    conf_wrong(r, "%s", why);
    return false;
}

/* The first line of the token's file. */
static void read_token(conf *r, config_token *t, const char *key, bool running)
{
    char why[256];
    daruma_str text;
    if (!t->file.n || !at_hand(r, running, t->file, key))
        return;
    conf_go(r, key);
    if (!sys_read_file(t->file.p, CONFIG_TOKEN_BYTES_MAX, r->a, &text, why)) {
        conf_wrong(r, "%s", why);
        return;
    }
    t->value = str_trim(str_cut(&text, '\n'));
    config_token_fits(r, t->value);
}

static void read_tokens(conf *r, config *c, bool running)
{
    char key[40];
    read_token(r, &c->admin, "admin.file", running);
    for (size_t i = 0; i < c->nclients; i++) {
        snprintf(key, sizeof key, "clients[%zu].file", i);
        read_token(r, &c->clients[i].token, key, running);
    }
    for (size_t i = 0; i < c->nclients; i++)
        for (size_t k = 0; k < i; k++)
            if (c->clients[i].token.value.n && str_eq(c->clients[i].token.value, c->clients[k].token.value)) {
                snprintf(key, sizeof key, "clients[%zu]", i);
                conf_go(r, key);
                conf_wrong(r, "it has the same token as \"" STR_FMT "\"\ngive each client its own",
                           STR_ARG(c->clients[k].name));
            }
}

/* What daruma is to show its clients: is it there, and does the key belong to it? */
static void look_at_certificate(conf *r, const config *c, bool running)
{
    char why[256];
    if (!c->cert_file.n || !c->key_file.n || !at_hand(r, running, c->cert_file, "tls.cert_file") ||
        !at_hand(r, running, c->key_file, "tls.key_file"))
        return;
    tls_context *shown = tls_server_context_new(c->cert_file.p, c->key_file.p, why);
    conf_go(r, !shown && str_starts(str_of(why), c->key_file) ? "tls.key_file" : "tls.cert_file");
    if (!shown)
        conf_wrong(r, "%s", why);
    tls_context_free(shown);
}

static void look_at_log(conf *r, daruma_str file, const char *key)
{
    int error = file.n ? config_log_errno(file) : 0;
    conf_go(r, key);
    if (error)
        conf_wrong(r, "%.200s: %s%s", file.p, strerror(error),
                   error == ENOENT ? "\nmake the folder that it is in" : "");
}

/* Whom calls trust. */
static void look_at_authorities(conf *r, const config *c, bool running)
{
    char why[256];
    if (!c->ca_file.n || !at_hand(r, running, c->ca_file, "tls.ca_file"))
        return;
    tls_context *trust = tls_context_new(c->ca_file.p, why);
    conf_go(r, "tls.ca_file");
    if (access(c->ca_file.p, R_OK) != 0)
        conf_wrong(r, "%.200s: %s", c->ca_file.p, strerror(errno));
    else if (!trust)
        conf_wrong(r, "%s", why);
    tls_context_free(trust);
}

void config_outside(conf *r, config *c, const config_source *from)
{
    char host[256], why[256];
    bool running = from->running != NULL;
    read_tokens(r, c, running);
    look_at_log(r, c->events_file, "events.file");
    look_at_log(r, c->usage_file, "usage.file");
    if (c->usage_file.n && str_eq(c->usage_file, c->events_file)) {
        conf_go(r, "usage.file");
        conf_wrong(r, "events are written to the same file\ngive it another one");
    }
    conf_go(r, "state");
    struct stat at;
    if (c->state.n && stat(c->state.p, &at) != 0)
        conf_wrong(r, "%.200s: %s\nmake it: mkdir -p -m 700 %.200s", c->state.p, strerror(errno), c->state.p);
    else if (c->state.n && !S_ISDIR(at.st_mode))
        conf_wrong(r, "%.200s is no folder", c->state.p);
    else if (c->state.n && access(c->state.p, W_OK | X_OK) != 0)
        conf_wrong(r, "%.200s: %s", c->state.p, strerror(errno));
    look_at_authorities(r, c, running);
    look_at_certificate(r, c, running);
    snprintf(host, sizeof host, STR_FMT, STR_ARG(c->listen.host));
    conf_go(r, "listen");
    if (!running && !from->held && !server_can_listen(host, c->listen.port, &c->listen_taken, why))
        conf_wrong(r, "%s", why);
}
