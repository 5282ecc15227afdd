/* log_file.c - see log_file.h.
 *
 *   a disk that is full took a part     the part is taken back (ftruncate), the line is lost
 *   a pipe that is full took a part     the rest is kept, and goes out before any other line; the line is not lost
 *   either took nothing                 the line is lost
 */
#include "gateway/see/log_file.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void drop_rest(log_file *f)
{
    free(f->rest);
    f->rest = NULL;
    f->nrest = 0;
}

bool log_file_open(log_file *f, daruma_str path, char why[512])
{
    struct stat at;
    char *copy = NULL;
    int fd = -1;
    log_file_flush(f);
    if (path.n) {
        copy = strndup(path.p, path.n);
        fd = copy ? sys_open_log(copy) : -1;
        if (fd < 0) {
            snprintf(why, 512, "%s: %.400s: %s", f->key, copy ? copy : "", strerror(copy ? errno : ENOMEM));
            free(copy);
            return false;
        }
    }
    char *rest = NULL;
    size_t nrest = 0;
    bool same = copy && f->path && !f->regular && strcmp(copy, f->path) == 0;
    if (same) { /* the pipe has the beginning of a line */
        rest = f->rest, nrest = f->nrest;
        f->rest = NULL;
    }
    log_file_close(f);
    f->rest = rest;
    f->nrest = nrest;
    f->fd = fd;
    f->path = copy;
    f->regular = fd >= 0 && fstat(fd, &at) == 0 && S_ISREG(at.st_mode);
    return true;
}

void log_file_close(log_file *f)
{
    log_file_flush(f);
    if (f->fd >= 0 && f->key)
        close(f->fd);
    f->fd = -1;
    free(f->path);
    f->path = NULL;
    drop_rest(f);
    f->failing = f->told = false;
    f->untold = f->gap = 0;
}

/* Takes the beginning of a line off the end of a file. False: somebody else wrote behind it. */
static bool take_back(const log_file *f, size_t part)
{
    struct stat at;
    off_t end = lseek(f->fd, 0, SEEK_CUR); /* what was appended ends there */
    return end >= (off_t)part && fstat(f->fd, &at) == 0 && at.st_size == end &&
           ftruncate(f->fd, end - (off_t)part) == 0;
}

/* What did not go out is kept. Without memory it stays half a line, which the newline ends that is kept then. */
static bool keep_rest(log_file *f, daruma_str rest)
{
    f->rest = malloc(rest.n ? rest.n : 1);
    if (!f->rest)
        return false;
    memcpy(f->rest, rest.p, rest.n);
    f->nrest = rest.n;
    return true;
}

/* Writes a line. What a pipe takes the beginning of counts as written. */
static bool put_line(log_file *f, daruma_str line)
{
    errno = 0;
    ssize_t one = f->regular ? write(f->fd, line.p, line.n) : 0;
    size_t n = !f->regular ? sys_write_now(f->fd, line) : one > 0 ? (size_t)one : 0;
    if (n == line.n)
        return true;
    f->error = n && f->regular ? ENOSPC : errno;
    if (!n || (f->regular && take_back(f, n)))
        return false;
    return keep_rest(f, str_from(line, n));
}

static bool put_rest(log_file *f)
{
    if (!f->nrest)
        return true;
    errno = 0;
    size_t n = sys_write_now(f->fd, (daruma_str){f->rest, f->nrest});
    f->error = errno;
    f->nrest -= n;
    memmove(f->rest, f->rest + n, f->nrest);
    if (!f->nrest)
        drop_rest(f);
    return !f->nrest;
}

static const char *cause(const log_file *f)
{
    return f->error ? strerror(f->error) : "nobody reads it fast enough";
}

/* The file itself says where lines are missing. */
static bool put_note(log_file *f, int64_t wall)
{
    char text[512], ts[21];
    daruma_buf b = buf_over(text, sizeof text);
    if (!f->untold || !f->note)
        return true;
    date_write(wall, ts);
    buf_printf(&b, "%s,\"ts\":\"%s\",\"lost\":%llu,\"reason\":", f->note, ts, (unsigned long long)f->untold);
    BUF_SAY(&b, buf_quoted(str_of(cause(f))), "}\n");
    if (!put_line(f, buf_str(&b)))
        return false;
    f->untold = 0;
    return true;
}

static void say(const log_file *f, int64_t wall, bool again)
{
    char text[700], date[20];
    daruma_buf b = buf_over(text, sizeof text);
    if (!f->aloud)
        return;
    date_say(wall, date);
    buf_printf(&b, "%s  daruma: %s: %.400s ", date, f->key, f->path);
    if (again)
        buf_printf(&b, "is written again; %llu line%s missing in it\n", (unsigned long long)f->gap,
                   f->gap == 1 ? " is" : "s are");
    else
        buf_printf(&b, "cannot be written: %s; lines are lost until it can\n", cause(f));
    sys_write_now(STDERR_FILENO, buf_str(&b));
}

static bool lose(log_file *f, int64_t wall)
{
    f->lost++;
    f->untold++;
    f->gap++;
    if (!f->failing && (!f->told_at || wall - f->told_at >= LOG_TOLD_S)) {
        f->told_at = wall;
        f->told = true;
        say(f, wall, false);
    }
    f->failing = true;
    return false;
}

bool log_file_put(log_file *f, daruma_str line, int64_t wall)
{
    if (f->fd < 0)
        return true;
    if (!put_rest(f) || !put_note(f, wall) || !put_rest(f) || !put_line(f, line))
        return lose(f, wall);
    if (f->failing && f->told)
        say(f, wall, true);
    f->failing = f->told = false;
    f->gap = 0;
    return true;
}

/* ---- lines that go out together ---- */

/* Writes whole lines at once. Returns the bytes that are done with: the others go out line by line, so that what is
 * lost is counted. */
static size_t put_lines(log_file *f, daruma_str lines)
{
    bool plain = f->regular && !f->failing && !f->untold && !f->nrest;
    ssize_t n = plain ? write(f->fd, lines.p, lines.n) : 0;
    size_t taken = n > 0 ? (size_t)n : 0, whole = taken;
    while (whole && lines.p[whole - 1] != '\n')
        whole--;
    if (whole == taken || take_back(f, taken - whole))
        return whole;
    size_t end = taken + str_findch(str_from(lines, taken), '\n') + 1;
    if (!keep_rest(f, str_sub(lines, taken, end - taken)))
        lose(f, f->held_at);
    return end;
}

void log_file_flush(log_file *f)
{
    daruma_str left = {f->held, f->nheld};
    f->nheld = 0;
    if (!left.n || f->fd < 0)
        return;
    left = str_from(left, put_lines(f, left));
    while (left.n) {
        size_t end = str_findch(left, '\n') + 1;
        log_file_put(f, str_sub(left, 0, end), f->held_at);
        left = str_from(left, end);
    }
}

void log_file_hold(log_file *f, daruma_str line, int64_t wall)
{
    if (f->held && LOG_HELD_BYTES - f->nheld < line.n)
        log_file_flush(f);
    if (!f->held || LOG_HELD_BYTES < line.n) {
        log_file_put(f, line, wall);
        return;
    }
    memcpy(f->held + f->nheld, line.p, line.n);
    f->nheld += line.n;
    f->held_at = wall;
}
