/* beneath.c - files below one folder. */
#include "sys/beneath.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes the next name of a path; false at its end. */
static bool next_name(daruma_str *rest, char name[FILES_NAME_BYTES_MAX + 1], bool *ret_bad)
{
    daruma_str part;
    do {
        if (!rest->n)
            return false;
        part = str_cut(rest, '/');
    } while (!part.n || str_eq(part, S(".")));
    *ret_bad = str_eq(part, S("..")) || part.n > FILES_NAME_BYTES_MAX || memchr(part.p, 0, part.n);
    if (!*ret_bad) {
        memcpy(name, part.p, part.n);
        name[part.n] = 0;
    }
    return true;
}

/* Opening a link as a folder says ENOTDIR: this tells that it is a link. */
static int why_no_folder(int at, const char *name, int error)
{
    struct stat st;
    bool link = error == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    return link ? ELOOP : error;
}

/* Makes a folder whose name is on the disk, as far as the file system can say so. */
static bool make_folder(int at, const char *name)
{
    if (mkdirat(at, name, 0777) != 0)
        return false;
    fsync(at);
    return true;
}

/* Opens the folder that holds the last name of a path, and tells that name; "." when the path is the root. -1 and
 * errno. `make`: folders that are missing are made. */
static int open_parent(int root, daruma_str path, char name[FILES_NAME_BYTES_MAX + 1], bool make)
{
    daruma_str rest = path;
    char next[FILES_NAME_BYTES_MAX + 1];
    bool bad = path.n && path.p[0] == '/';
    int at = bad ? -1 : openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    memcpy(name, ".", 2);
    bool more = !bad && next_name(&rest, name, &bad);
    while (more && !bad && at >= 0 && next_name(&rest, next, &bad) && !bad) {
        int below = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0 && errno == ENOENT && make && (make_folder(at, name) || errno == EEXIST))
            below = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int error = why_no_folder(at, name, errno);
        close(at);
        at = below;
        errno = error;
        memcpy(name, next, sizeof next);
    }
    if (!bad)
        return at;
    if (at >= 0)
        close(at);
    errno = EXDEV;
    return -1;
}

int beneath_folder(int root, daruma_str path)
{
    char name[FILES_NAME_BYTES_MAX + 1];
    int at = open_parent(root, path, name, false);
    if (at < 0)
        return -1;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = why_no_folder(at, name, errno);
    close(at);
    errno = error;
    return fd;
}

/* ---- reading ---- */

bool beneath_read_open(int fd, size_t most, daruma_arena *a, daruma_str *ret)
{
    daruma_buf b = buf_in(a);
    for (;;) {
        char *room = buf_room(&b, FILE_PIECE_BYTES);
        ssize_t n = room ? read(fd, room, FILE_PIECE_BYTES) : -1;
        if (n < 0 && room && errno == EINTR)
            continue;
        if (!room)
            errno = ENOMEM;
        else if (n >= 0 && b.n + (size_t)n > most)
            errno = EFBIG;
        if (n < 0 || b.n + (size_t)n > most)
            return false;
        b.n += (size_t)n;
        if (n == 0)
            break;
    }
    *ret = buf_str(&b);
    return true;
}

bool beneath_read(int root, daruma_str path, size_t most, daruma_arena *a, daruma_str *ret)
{
    char name[FILES_NAME_BYTES_MAX + 1];
    int at = open_parent(root, path, name, false);
    if (at < 0)
        return false;
    int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), error = errno;
    struct stat st = {0};
    close(at);
    errno = error;
    if (fd < 0)
        return false;
    bool well = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && beneath_read_open(fd, most, a, ret);
    error = S_ISDIR(st.st_mode) ? EISDIR : S_ISREG(st.st_mode) ? errno : EFBIG;
    close(fd);
    errno = error;
    return well;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t beneath_names(int fd, daruma_arena *a, char **names, size_t max)
{
    int own = dup(fd);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    size_t n = 0;
    if (!d && own >= 0)
        close(own);
    for (struct dirent *e; d && n < max && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        size_t bytes = strlen(e->d_name) + 1;
        char *copy = arena_take(a, bytes, 1);
        if (!copy)
            break;
        memcpy(copy, e->d_name, bytes);
        names[n++] = copy;
    }
    if (d)
        closedir(d);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

/* ---- writing ---- */

static bool write_all(int fd, daruma_str s)
{
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        s = str_from(s, (size_t)n);
    }
    return fsync(fd) == 0;
}

/* The beginning of the names of what a writer is writing. */
static void fresh_begin(daruma_str writer, char name[FILES_NAME_BYTES_MAX + 1])
{
    writer = str_sub(writer, 0, FILES_WRITER_BYTES_MAX);
    snprintf(name, FILES_NAME_BYTES_MAX + 1, ".daruma-new-" STR_FMT "-", STR_ARG(writer));
}

/* Makes a file that nobody else has, and tells its name. Other writers may be at work in the same folder, and a file
 * of such a name may be the user's. -1 and errno. */
static int open_fresh(int at, mode_t mode, daruma_str writer, char name[FILES_NAME_BYTES_MAX + 1])
{
    static atomic_uint number;
    char own[FILES_WRITER_BYTES_MAX];
    int fd = -1;
    snprintf(own, sizeof own, "%ld", (long)getpid());
    fresh_begin(writer.n ? writer : str_of(own), name);
    size_t n = strlen(name);
    for (int i = 0; i < FILES_FRESH_TRIES && fd < 0 && (i == 0 || errno == EEXIST); i++) {
        snprintf(name + n, FILES_NAME_BYTES_MAX + 1 - n, "%u", atomic_fetch_add(&number, 1));
        fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    }
    return fd;
}

/* Why a write failed. A file or an account that may not grow has no space left; EFBIG is of files that are read. */
static int why_not_written(int error)
{
    return error == EFBIG || error == EDQUOT ? ENOSPC : error;
}

bool beneath_write(int root, daruma_str path, daruma_str content, daruma_str writer)
{
    char name[FILES_NAME_BYTES_MAX + 1], fresh[FILES_NAME_BYTES_MAX + 1];
    int at = open_parent(root, path, name, true);
    struct stat st;
    if (at < 0)
        return false;
    bool there = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int error = !there ? 0 : S_ISLNK(st.st_mode) ? ELOOP : S_ISREG(st.st_mode) ? 0 : EISDIR;
    int fd = error ? -1 : open_fresh(at, there ? st.st_mode & 0777 : 0666, writer, fresh);
    if (fd >= 0) {
        bool well = write_all(fd, content);
        error = well ? 0 : errno;
        close(fd);
        if (well && renameat(at, fresh, at, name) != 0)
            error = errno;
        if (error)
            unlinkat(at, fresh, 0);
        else
            fsync(at); /* that it has this name now; file systems that cannot say so have written it all the same */
    } else if (!error) {
        error = errno;
    }
    close(at);
    errno = why_not_written(error);
    return error == 0;
}

void beneath_clear(int root, daruma_str path, daruma_str writer)
{
    char name[FILES_NAME_BYTES_MAX + 1];
    struct stat st;
    int64_t number;
    int at = open_parent(root, path, name, false);
    DIR *d = at >= 0 ? fdopendir(at) : NULL;
    if (!d) {
        if (at >= 0)
            close(at);
        return;
    }
    fresh_begin(writer, name);
    daruma_str begin = str_of(name);
    for (struct dirent *e; (e = readdir(d));) {
        daruma_str is = str_of(e->d_name);
        if (str_starts(is, begin) && str_int(str_from(is, begin.n), &number) &&
            fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            unlinkat(at, e->d_name, 0);
    }
    closedir(d);
}
