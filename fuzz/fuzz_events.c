/* fuzz_events - an event file: each of its lines is an event, of a usage log, or counted as neither; strings are text
 * that ends where it says. */
#include "base/check.h"
#include "base/str.h"
#include "cli/event_lines.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; /* so that each byte of a string is read */

static void touch(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        sum += (unsigned char)s.p[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    event_lines *l = malloc(sizeof *l);
    event_seen e;
    uint64_t lines = 0, read = 0;
    if (!l || !size || !event_lines_open(l, "report", "/dev/null", 0)) {
        free(l);
        return 0;
    }
    fclose(l->in);
    l->in = fmemopen((void *)(uintptr_t)data, size, "rb");
    if (!l->in)
        abort();
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    lines += data[size - 1] != '\n';
    for (; event_lines_next(l, &e); read++) {
        const daruma_str all[] = {e.event, e.ts,     e.id,     e.kind,   e.severity, e.provider, e.model,
                                  e.asked, e.target, e.client, e.remedy, e.outcome,  e.reason};
        for (size_t i = 0; i < COUNT(all); i++)
            touch(all[i]);
        check(l->line <= lines);
        (void)event_is_failure(&e);
        (void)event_is_retry(&e);
    }
    check(read + l->bad <= lines);
    l->bad = 0; /* they are not told here */
    event_lines_close(l);
    free(l);
    return 0;
}
