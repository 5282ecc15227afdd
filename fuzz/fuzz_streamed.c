/* Streamed answers as `daruma run` collects them: however the bytes are split, the text and the whole answer are the
 * same, and the answer reads back as what was said. The first byte chooses the dialect and how the bytes are split. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "exact.h"
#include "dialect/streamed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic, &dialect_gemini};
static char memory[2][8 << 20];

static streamed take(const dialect *d, daruma_str bytes, size_t step, daruma_arena *a, daruma_buf *text)
{
    streamed s = streamed_begin(d, a);
    for (size_t i = 0; i < bytes.n; i += step) {
        exact_pieces pieces = {0};
        buf_put(text, streamed_take(&s, exact(&pieces, str_sub(bytes, i, step)), a));
        exact_end(&pieces);
    }
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const dialect *d = all[data[0] % 4];
    daruma_str bytes = {(const char *)data + 1, size - 1};
    daruma_arena a = arena_over(memory[0], sizeof memory[0]), b = arena_over(memory[1], sizeof memory[1]);
    daruma_buf once = buf_in(&a), apart = buf_in(&b);
    streamed s = take(d, bytes, bytes.n + 1, &a, &once), t = take(d, bytes, 1 + data[0] / 4 % 32, &b, &apart);
    daruma_str whole = streamed_whole(&s), other = streamed_whole(&t);
    if (s.full || t.full || a.full || b.full)
        return 0;
    check(str_eq(buf_str(&once), apart.n ? buf_str(&apart) : (daruma_str){0}));
    check(str_eq(whole, other) && str_eq(s.error, t.error));
    turn read;
    check(!whole.n || d->read_answer(whole, &a, &read) == DARUMA_OK);
    return 0;
}
