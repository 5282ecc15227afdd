/* script_keep.c - scripts are shared by the calls that they were made for, replaced while those go on, and freed. */
#include "chaos/script_values.h"
#include "base/arena.h"
#include "sys/sys.h"
#include <stdlib.h>

script *script_hold(script *s)
{
    s->users++;
    return s;
}

void script_drop(script *s)
{
    if (!s || --s->users)
        return;
    sys_arena_done(&s->memory);
    free(s);
}

static daruma_str kept(script *b, daruma_str s)
{
    return arena_copy(&b->memory, s);
}

void script_inherit(script *b, const script *a)
{
    if (!b->says_seed)
        b->seed = a->seed;
    if (!b->says_keep)
        b->keep = a->keep;
    if (!b->says_models && a->nmodels && (b->models = ARENA_NEW(&b->memory, script_model, a->nmodels)))
        for (; b->nmodels < a->nmodels; b->nmodels++)
            b->models[b->nmodels] = model_kept(&a->models[b->nmodels], &b->memory);
    if (!b->says_keys && a->nkeys && (b->keys = ARENA_NEW(&b->memory, script_key, a->nkeys)))
        for (; b->nkeys < a->nkeys; b->nkeys++) {
            const script_key *k = &a->keys[b->nkeys];
            b->keys[b->nkeys] = (script_key){kept(b, k->value), kept(b, k->account), kept(b, k->name)};
        }
    if (!b->says_expect && a->nexpects && (b->expects = ARENA_NEW(&b->memory, expect, a->nexpects)))
        for (; b->nexpects < a->nexpects; b->nexpects++) {
            expect e = a->expects[b->nexpects];
            e.subject = kept(b, e.subject);
            e.text = kept(b, e.text);
            b->expects[b->nexpects] = e;
        }
}
