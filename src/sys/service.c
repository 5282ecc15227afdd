/* service.c - what systemd and its like hand over and want to know: a socket that listens already (sd_listen_fds(3)),
 * and when the program is ready (sd_notify(3)). Both are a few lines of protocol, which need no library. */
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_SOCKET = 3 };

int sys_service_sockets(int *many)
{
    int64_t pid, n;
    bool ours = str_int(sys_env("LISTEN_PID"), &pid) && pid == getpid() && str_int(sys_env("LISTEN_FDS"), &n) && n > 0;
    unsetenv("LISTEN_PID"); /* it is not for programs that we start */
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    *many = ours ? (int)(n < INT_MAX ? n : INT_MAX) : 0;
    for (int i = 0; i < *many && i < SERVICE_SOCKETS_MAX; i++)
        fcntl(FIRST_SOCKET + i, F_SETFD, FD_CLOEXEC);
    return FIRST_SOCKET;
}

void sys_service_tell(const char *state)
{
    daruma_str path = sys_env("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (path.n < 2 || path.n >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, path.p, path.n);
    if (to.sun_path[0] == '@') /* an abstract one, without a file */
        to.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n));
    close(fd);
}
