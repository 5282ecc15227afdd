/* fuzz_hints - lines "name: value" are headers, what follows an empty line is the body. */
#include "daruma_parts.h"
#include "base/arena.h"
#include "base/str.h"
#include "engine/judge/hints.h"
#include "exact.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    daruma_header headers[16];
    exact_pieces x = {0};
    daruma_str rest = {(const char *)data, size};
    daruma_evidence ev = {.status = 429, .headers = headers};
    while (rest.n && ev.nheaders < 16) {
        daruma_str line = str_cut(&rest, '\n');
        if (!line.n)
            break;
        daruma_str value = line, name = str_cut(&value, ':');
        headers[ev.nheaders++] = (daruma_header){exact(&x, name), exact(&x, value)};
    }
    ev.body = rest;
    static char room[1 << 20];
    for (int clock = 0; clock < 2; clock++) {
        daruma_arena a = arena_over(room, sizeof room);
        if (daruma_classify(&ev, (daruma_moment){.wall = clock * INT64_C(1767225600)}, &a).wait < -1)
            abort();
    }
    daruma_left left;
    for (int clock = 0; clock < 2; clock++)
        if (hints_left(headers, ev.nheaders, (daruma_moment){.wall = clock * INT64_C(1767225600)}, &left))
            for (int i = 0; i < DARUMA_LIMITS; i++)
                if (left.left[i] < -1 || left.reset[i] < 0)
                    abort();
    exact_end(&x);
    return 0;
}
