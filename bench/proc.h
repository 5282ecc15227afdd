/* proc.h - what a process and its descendants use, from /proc. */
#ifndef BENCH_PROC_H
#define BENCH_PROC_H
#include <stdint.h>

typedef struct proc_use {
    int processes;       /* found; 0 when the process is gone */
    int64_t cpu_us;      /* user and system, of all threads, and of ended children that were waited for */
    int64_t rss_kb;      /* resident, summed: shared pages count once per process */
    int64_t private_kb;  /* Private_Clean + Private_Dirty of smaps_rollup */
    int64_t dirty_kb;    /* Private_Dirty alone: without the program text only this process maps */
    int64_t descriptors; /* open ones */
} proc_use;

/* Only processors' time: cheap enough to call within a measurement. */
proc_use proc_cpu(long pid);
/* Everything. */
proc_use proc_all(long pid);

#endif
