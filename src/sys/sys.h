/* sys.h - the one place with a clock, dice, environment and files. Everything above takes what it
 * needs of them as values. */
#ifndef SYS_SYS_H
#define SYS_SYS_H
#include "sys/arena.h"

/* Now: monotonic milliseconds, unix seconds, 64 random bits (seeded once from the kernel; not for keys). */
daruma_moment sys_moment(void);
/* The same for a caller that knows the monotonic milliseconds already. */
daruma_moment sys_moment_at(daruma_ms now);
/* Unix nanoseconds, for what others compare with their own clocks. It may go back. */
int64_t sys_wall_ns(void);
/* Nanoseconds that the calling thread has computed. What other programs do meanwhile does not count. */
int64_t sys_thread_cpu_ns(void);

/* The whole file ("-": standard input) in `a`, with a NUL behind it that does not count. False and a sentence in `why`
 * when it cannot be read or is longer than `max_bytes`. */
bool sys_read_file(const char *path, size_t max_bytes, daruma_arena *a, daruma_str *ret, char why[256]);
/* True if the file can be read at once, or is not there at all. False and a sentence in `why`: who reads it may wait
 * for somebody (a pipe, a device, a socket, standard input), or would read more than `max_bytes`. */
bool sys_at_hand(const char *path, size_t max_bytes, char why[256]);
/* Value of an environment variable; empty when unset. Borrows from the environment. */
daruma_str sys_env(const char *name);
/* Lets malloc keep freed memory at hand instead of returning it to the kernel with every large request and
 * faulting it in again with the next: that is half the work of a 200 KB request. For programs that serve. */
void sys_memory_keep(void);
/* The same, and large pieces too: for a program that does one thing, over and over. */
void sys_memory_keep_large(void);
/* Returns what is free to the kernel: for when there is nothing to do. */
void sys_memory_give_back(void);
/* Writes what goes to `fd` without waiting for whoever reads it, and returns how many bytes that was. */
size_t sys_write_now(int fd, daruma_str bytes);
/* Opens a file or a pipe for appending, without waiting for whoever reads the pipe. -1 and errno. */
int sys_open_log(const char *path);
/* Writing to a closed socket or pipe, or to a file at its limit, becomes an error instead of a signal. Any number of
 * times. */
void sys_ignore_sigpipe(void);
/* Descriptors 0, 1 and 2 that we were started without become some that fail as closed ones do: else the first file or
 * socket that is opened would get what is printed. */
void sys_standard_descriptors(void);
/* As many descriptors as the system lets us have: each request under way takes two. */
void sys_descriptors_all(void);
/* The first of the sockets, listening already, that a service manager handed over; the others follow it. *many: how
 * many those are, 0 none. Asked once. */
int sys_service_sockets(int *many);
/* Tells a service manager, where there is one: "READY=1", "STOPPING=1". */
void sys_service_tell(const char *state);
/* A descriptor that is good for nothing but to be closed when another is needed; -1 when there is none. */
int sys_spare_descriptor(void);
/* True if no descriptor can be had now: what fails then may call itself anything. */
bool sys_out_of_descriptors(void);
#endif
