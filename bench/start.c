/* start.c - milliseconds from exec to the first answered request, of the program behind `--`; it is ended afterwards.
 *
 * With --use PID instead of a program it prints what that process tree uses now; with --free N, N free ports.
 */
#include "kit.h"
#include "proc.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool answered(long port, const char *request, size_t n)
{
    http_in in;
    return ask_once(port, request, n, &in, NULL, 0) && in.status == 200;
}

static void print_use(long pid)
{
    proc_use u = proc_all(pid);
    printf("{\"processes\":%d,\"cpu_us\":%lld,\"rss_kb\":%lld,\"private_kb\":%lld,\"dirty_kb\":%lld,\"descriptors\":%"
           "lld}\n",
           u.processes, (long long)u.cpu_us, (long long)u.rss_kb, (long long)u.private_kb, (long long)u.dirty_kb,
           (long long)u.descriptors);
    exit(u.processes ? 0 : 1);
}

/* All are held until the last is known, so that they differ. */
static void print_free_ports(long n)
{
    for (; n > 0; n--) {
        struct sockaddr_in at;
        socklen_t size = sizeof at;
        if (getsockname(listen_loopback(0), (struct sockaddr *)&at, &size))
            die("getsockname");
        printf("%d\n", ntohs(at.sin_port));
    }
    exit(0);
}

/* The program becomes its own process group, so that its workers end with it. */
static pid_t spawn(char **argv)
{
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid)
        return pid;
    int null = open("/dev/null", O_RDWR);
    setpgid(0, 0);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    execvp(argv[0], argv);
    _exit(127);
}

static void end(pid_t pid)
{
    kill(-pid, SIGTERM);
    for (int i = 0; i < 200; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    long port = 9100, use = 0, free_ports = 0, limit_ms = 20000;
    const char *path = "/v1/chat/completions", *model = "m-main", *heads = "";
    const option_row rows[] = {{"--port", &port, NULL, "port on 127.0.0.1 where the program will listen"},
                               {"--limit-ms", &limit_ms, NULL, "give up after"},
                               {"--use", &use, NULL, "print what this process tree uses, and exit"},
                               {"--free", &free_ports, NULL, "print so many free ports, and exit"},
                               {"--path", NULL, &path, "request target"},
                               {"--model", NULL, &model, "model asked for"},
                               {"--heads", NULL, &heads, "more header lines, each ending in CR LF"},
                               {0}};
    int at = options_read(argc, argv, rows);
    if (free_ports)
        print_free_ports(free_ports);
    if (use)
        print_use(use);
    size_t n;
    char *request = chat_request(port, path, model, false, 512, heads, &n);
    if (at >= argc) { /* no program: is one answering there already? */
        bool ok = answered(port, request, n);
        printf("{\"answered\":%s}\n", ok ? "true" : "false");
        free(request);
        return ok ? 0 : 1;
    }
    int64_t from = clock_ns(), limit = from + limit_ms * 1000000;
    pid_t pid = spawn(argv + at);
    bool ok = false, gone = false;
    while (!ok && !gone && clock_ns() < limit) {
        ok = answered(port, request, n);
        if (!ok) {
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
            gone = waitpid(pid, NULL, WNOHANG) == pid;
        }
    }
    double ms = (double)(clock_ns() - from) / 1e6;
    if (!gone)
        end(pid);
    printf("{\"answered\":%s,\"ms\":%.2f}\n", ok ? "true" : "false", ms);
    free(request);
    return ok ? 0 : 1;
}
