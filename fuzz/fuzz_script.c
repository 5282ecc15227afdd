/* The script of the faulty provider: whatever the text, it is read or refused with all that is wrong; what is read can
 * be taken over by another script. */
#include "chaos/script.h"
#include "conf_kit.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static conf_mistakes m;
    script *s = script_read((daruma_str){(const char *)data, size}, "script", &m);
    mistakes_hold(&m, s != NULL);
    if (!s)
        return 0;
    for (size_t i = 0; i < s->nfaults; i++)
        check(s->faults[i].nkinds > 0 && s->faults[i].kinds[0]);
    for (size_t i = 0; i < s->nmodels; i++)
        for (size_t k = 0; k < s->models[i].nanswers; k++)
            check(s->models[i].answers[k].ncalls <= ANSWER_CALLS_MAX);
    script *next = script_read(S("seed: 2"), NULL, &m);
    if (next) {
        script_inherit(next, s);
        check(next->nmodels == s->nmodels && next->nexpects == s->nexpects);
    }
    script_drop(s);
    script_drop(next);
    return 0;
}
