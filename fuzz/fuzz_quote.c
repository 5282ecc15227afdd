/* fuzz_quote - a request, a model, a header field and an error, one a line: what is taken out of the error is words,
 * and nothing else of it moves. JSON stays JSON. */
#include "engine/judge/quote.h"
#include "engine/judge/spans.h"
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

/* What is left stands in its order. */
static void must_be_left_of(daruma_str left, daruma_str all)
{
    size_t i = 0;
    for (size_t k = 0; k < left.n; k++, i++) {
        while (i < all.n && all.p[i] != left.p[k])
            i++;
        must(i < all.n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char mem[1u << 20];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str rest = {(const char *)data, size};
    exact_pieces x = {0};
    daruma_str request = exact(&x, str_cut(&rest, '\n')), model = exact(&x, str_cut(&rest, '\n'));
    daruma_str beside = exact(&x, str_cut(&rest, '\n')), body = rest;
    quotable sent = {.request = request, .model = model, .beside = beside};
    echo e = {0};
    said heard;
    unwrap(&heard, body, &e, &a);
    unquoted u = quote_strip(body, &sent, &e, &a);
    unwrap(&heard, u.nameless, &e, &a);
    bool number = body.n && !memchr("{[\"", str_trim(body).n ? str_trim(body).p[0] : ' ', 3); /* is words, too */
    must_be_left_of(u.body, body);
    must_be_left_of(u.nameless, u.body);
    must(number || !json_valid(body) || (json_valid(u.body) && json_valid(u.nameless)));
    must(request.n || model.n || beside.n || (u.body.p == body.p && u.nameless.p == body.p && !u.all));
    daruma_str line = spans_strip(u.body, &a);
    must(line.n <= u.body.n);
    exact_end(&x);
    return 0;
}
