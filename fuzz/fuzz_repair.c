/* Repair of JSON: what comes out is valid or nothing, valid text is left alone, twice is as once. */
#include "base/arena.h"
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/mend/mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[4 << 20];
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_str text = {(const char *)data, size};
    bool cut = false;
    daruma_str got = json_repair(text, &a, &cut), again = json_repair(got, &a, NULL);
    check(!got.n || json_valid(got));
    check(str_eq(again, got));
    if (json_valid(text))
        check(!cut && got.p == text.p && got.n == text.n);
    return 0;
}
