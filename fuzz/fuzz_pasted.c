/* fuzz_pasted - a whole HTTP answer as people copy it: what is read of it lies within it. */
#include "base/arena.h"
#include "base/str.h"
#include "cli/cli.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char mem[1u << 20];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_header headers[4];
    exact_pieces x = {0};
    daruma_evidence ev = {.headers = headers};
    if (cli_pasted(exact(&x, (daruma_str){(const char *)data, size}), &ev, headers, 4, &a)) {
        check(ev.nheaders <= 4 && ev.status >= 100 && ev.status <= 599 && ev.body.n <= size);
        for (size_t i = 0; i < ev.nheaders; i++)
            check(ev.headers[i].name.n && ev.headers[i].name.n + ev.headers[i].value.n < size);
    } else {
        check(!ev.nheaders && !ev.status && !ev.body.n);
    }
    exact_end(&x);
    return 0;
}
