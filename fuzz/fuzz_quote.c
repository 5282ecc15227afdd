/* fuzz_quote - a request, a model and an error, one a line: what is taken out of the error is words, and nothing else
 * of it moves. JSON stays JSON. */
#include "engine/judge/quote.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "exact.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char mem[1u << 20];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str rest = {(const char *)data, size};
    exact_pieces x = {0};
    daruma_str request = exact(&x, str_cut(&rest, '\n')), model = exact(&x, str_cut(&rest, '\n')), body = rest;
    bool all = true;
    daruma_str own = quote_strip(body, request, model, &a, &all);
    size_t i = 0;
    for (size_t k = 0; k < own.n; k++, i++) {
        while (i < body.n && body.p[i] != own.p[k])
            i++;
        must(i < body.n); /* in its order */
    }
    bool number = body.n && !memchr("{[\"", str_trim(body).n ? str_trim(body).p[0] : ' ', 3); /* is words, too */
    must(number || !json_valid(body) || json_valid(own));
    must(request.n || model.n || own.p == body.p);
    daruma_str line = quote_spans_strip(own, &a);
    must(line.n <= own.n);
    exact_end(&x);
    return 0;
}
