/* The configuration: whatever the text, it is read or refused with a reason; what is read fits together. */
#include "gateway/config/config.h"
#include "conf_kit.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/str.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static daruma_str fuzz_env(daruma_str name, bool *found, void *user)
{
    (void)user;
    *found = name.n % 2 == 0;
    return *found ? S("sk-secret-42") : (daruma_str){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[4 << 20], out[1 << 20];
    daruma_arena a = arena_over(memory, sizeof memory);
    config c;
    static conf_mistakes e;
    bool read = config_read((daruma_str){(const char *)data, size}, fuzz_env, NULL, &a, &c, &e);
    mistakes_hold(&e, read);
    if (!read)
        return 0;
    daruma_buf b = buf_over(out, sizeof out);
    config_summary(&c, &b);
    config_warnings(&c, &b);
    b.n = 0;
    config_json(&c, &b);
    check(!b.full && json_valid(buf_str(&b)));
    for (size_t i = 0; i < c.nmodels; i++)
        for (size_t k = 0; k < c.models[i].ntargets; k++)
            check(c.models[i].targets[k].provider >= 0 && (size_t)c.models[i].targets[k].provider < c.nproviders);
    return 0;
}
