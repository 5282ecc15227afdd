#include "sys/sys.h"
#include "base/arena.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* ---- clock and dice ---- */

/* splitmix64 (Steele, Lea, Flood 2014): one addition and a mix, any seed is good. */
static uint64_t dice(void)
{
    static uint64_t state;
    static bool seeded;
    if (!seeded) {
        seeded = true;
        if (getrandom(&state, sizeof state, GRND_NONBLOCK) != (ssize_t)sizeof state) {
            struct timespec t;
            clock_gettime(CLOCK_REALTIME, &t); /* early at boot: different enough to spread retries */
            state = (uint64_t)t.tv_nsec ^ (uint64_t)t.tv_sec << 32;
        }
    }
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Seconds are asked for: the clock is not read twice within a millisecond. */
static int64_t wall_seconds(daruma_ms now)
{
    static daruma_ms read_at = -1;
    static struct timespec t;
    if (now == read_at)
        return t.tv_sec;
    read_at = now;
#ifdef CLOCK_REALTIME_COARSE
    clock_gettime(CLOCK_REALTIME_COARSE, &t); /* a tick late is early enough */
#else
    clock_gettime(CLOCK_REALTIME, &t);
#endif
    return t.tv_sec;
}

daruma_moment sys_moment_at(daruma_ms now)
{
    return (daruma_moment){.now = now, .wall = wall_seconds(now), .dice = dice()};
}

int64_t sys_wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t sys_thread_cpu_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) ? 0 : t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

daruma_moment sys_moment(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return sys_moment_at((daruma_ms)t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* ---- files, environment, signals ---- */

static bool no_file(char why[256], const char *path, const char *what)
{
    snprintf(why, 256, "%.180s: %s", path, what);
    return false;
}

bool sys_read_file(const char *path, size_t max_bytes, daruma_arena *a, daruma_str *ret, char why[256])
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rbe");
    if (!f)
        return no_file(why, path, strerror(errno));
    size_t cap = 4096, n = 0;
    char *p = malloc(cap);
    while (p) {
        n += fread(p + n, 1, cap - n, f);
        if (n < cap || n > max_bytes)
            break;
        char *wider = realloc(p, cap *= 2);
        if (!wider)
            free(p);
        p = wider;
    }
    bool broken = ferror(f);
    int error = errno;
    if (!standard)
        fclose(f);
    daruma_str text = p && !broken && n <= max_bytes ? arena_copy(a, (daruma_str){p, n}) : (daruma_str){0};
    free(p);
    if (text.p) {
        *ret = text;
        return true;
    }
    return no_file(why, path, broken ? strerror(error) : n > max_bytes ? "the file is too long" : "out of memory");
}

bool sys_at_hand(const char *path, size_t max_bytes, char why[256])
{
    struct stat at;
    bool there = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &at) == 0 : stat(path, &at) == 0;
    if (!there || S_ISDIR(at.st_mode)) /* who reads it says why not */
        return true;
    if (!S_ISREG(at.st_mode))
        return no_file(why, path, "a pipe, a device or a socket, which nobody waits for now");
    return (uint64_t)at.st_size <= max_bytes || no_file(why, path, "the file is too long");
}

daruma_str sys_env(const char *name)
{
    return str_of(getenv(name));
}

void sys_memory_keep(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
#endif
}

void sys_memory_keep_large(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most that it takes */
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

void sys_memory_give_back(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* A pipe that can be written to takes so many bytes at once (POSIX: PIPE_BUF; Linux: a page of it is free). Its own
 * O_NONBLOCK would be everybody's who shares it, a terminal's shell among them. */
enum { PIPE_BYTES = 4096 };

size_t sys_write_now(int fd, daruma_str bytes)
{
    size_t done = 0;
    while (done < bytes.n) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
            break;
        size_t some = bytes.n - done < PIPE_BYTES ? bytes.n - done : PIPE_BYTES;
        ssize_t n = write(fd, bytes.p + done, some);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    return done;
}

int sys_open_log(const char *path)
{
    struct stat s;
    bool fifo = stat(path, &s) == 0 && S_ISFIFO(s.st_mode);
    /* A pipe opened for both is there before its reader is, and outlives one (Linux). */
    return open(path, (fifo ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
}

void sys_ignore_sigpipe(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a log that reached the limit of `ulimit -f` is a log that cannot be written */
}

void sys_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd) /* the lowest that is free */
            return;
}

void sys_descriptors_all(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r); /* where it is refused, what there is has to do */
    }
}

int sys_spare_descriptor(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool sys_out_of_descriptors(void)
{
    int fd = sys_spare_descriptor();
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE;
    close(fd);
    return false;
}
