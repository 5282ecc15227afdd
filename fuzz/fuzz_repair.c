/* Repair of JSON: what comes out is valid or nothing, valid text is left alone, twice is as once. What goes out stood
 * whole in what came in. Of a text that gives a value, the beginning gives the same one or nothing. */
#include "base/arena.h"
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/mend/answer/repair.h"
#include "engine/mend/answer/answer.h"
#include "engine/mend/value.h"
#include "whole.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char memory[4 << 20];

/* Was it told by what follows which quotes end its strings? Then one of them may end a shorter text, too. */
static bool by_quotes(daruma_str text)
{
    daruma_arena a = arena_over(memory + sizeof memory / 2, sizeof memory / 2);
    return repair_text(text, &a).quotes;
}

/* The same text that ends sooner, at a place that the text itself chooses, and at each of its last places. */
static void cut_short(daruma_str text, daruma_str whole)
{
    uint32_t place = 0;
    for (size_t i = 0; i < text.n; i++)
        place = place * 31 + (unsigned char)text.p[i];
    for (size_t i = 0; i < 8 && i < text.n; i++) {
        size_t to = i < 4 ? text.n - 1 - i : (place + i * 7919) % text.n;
        daruma_str part = str_sub(text, 0, to);
        if (by_quotes(part))
            continue;
        daruma_arena a = arena_over(memory + sizeof memory / 2, sizeof memory / 2);
        daruma_str got = json_repair(part, &a, NULL);
        check(!got.n || a.full || str_eq(str_trim(got), str_trim(whole)) || value_same(str_trim(got), str_trim(whole)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    daruma_arena a = arena_over(memory, sizeof memory / 2);
    daruma_str text = {(const char *)data, size};
    bool cut = false;
    daruma_str got = json_repair(text, &a, &cut), again = json_repair(got, &a, NULL);
    check(!got.n || json_valid(got));
    check(str_eq(again, got));
    check(!got.n || !cut);
    if (json_valid(text))
        check(got.p == text.p && got.n == text.n);
    whole_in(text, got, &a);
    if (json_is_object(got) &&
        str_starts(str_trim(text), S("{"))) /* no words in front, of which a part is words, too */
        cut_short(text, got);
    return 0;
}
