/* public.c - the conversation as programs see it that have daruma_parts.h alone. */
#include "engine/mend/answer/answer.h"
#include "engine/mend/value.h"
#include "engine/mend/remedy.h"
#include "model/convo.h"
#include "base/arena.h"
#include "base/buf.h"

/* The mending of a conversation goes along with it. */
static mending *mending_of(daruma_convo *c, const daruma_policy *p)
{
    mending *m = c->mending;
    if (!m)
        c->mending = m = ARENA_NEW(c->convo->arena, mending, 1);
    if (!m)
        return NULL;
    if (!m->c.arena) {
        m->c = *c->convo;
        c->convo = &m->c; /* one conversation, not two */
    }
    m->policy = &p->mend;
    return m;
}

static bool public_told(const mending *m, mending_result r, daruma_buf *what)
{
    if (r != MENDING_DONE)
        return false;
    if (what)
        buf_putz(what, m->report.what);
    return true;
}

bool daruma_convo_mend(daruma_convo *c, daruma_remedy_kind r, const daruma_failure *f, const daruma_policy *p,
                       int64_t window, daruma_buf *what)
{
    mending *m = mending_of(c, p);
    if (!m)
        return false;
    bool asked = m->nquestions && m->doing == r;
    if (asked) {
        mending_result end = mending_end(m);
        if (end != MENDING_ASKS)
            m->nquestions = 0;
        return public_told(m, end, what);
    }
    mending_result ret = mending_begin(m, r, f, window);
    m->nquestions = 0; /* nobody asked for questions */
    return public_told(m, ret, what);
}

size_t daruma_convo_ask(daruma_convo *c, daruma_remedy_kind r, const daruma_failure *f, const daruma_policy *p,
                        int64_t window, daruma_question *out, size_t max)
{
    mending *m = mending_of(c, p);
    if (!m || (mending_begin(m, r, f, window) != MENDING_ASKS))
        return 0;
    for (size_t i = 0; i < m->nquestions && i < max; i++)
        out[i] = (daruma_question){.system = m->questions[i].system,
                                   .user = m->questions[i].user,
                                   .max_tokens = m->answer_tokens,
                                   .about = m->questions[i].about};
    return m->nquestions;
}

void daruma_convo_answer(daruma_convo *c, size_t i, daruma_str text)
{
    mending *m = c->mending;
    if (m && i < m->nquestions)
        mending_answer(m, i, text);
}

int64_t daruma_convo_tokens(const daruma_convo *c)
{
    return convo_tokens(c->convo);
}

daruma_str daruma_json_repair(daruma_str broken, daruma_arena *a, bool *cut)
{
    return json_repair(broken, a, cut);
}

bool daruma_schema_fits(daruma_str schema, daruma_str value, daruma_buf *why)
{
    return schema_fits(schema, value, why);
}
