/* conf_kit.h - what holds of the mistakes of any file, whoever reads it. */
#ifndef FUZZ_CONF_KIT_H
#define FUZZ_CONF_KIT_H
#include "conf/conf.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include <string.h>

static inline void mistakes_hold(const conf_mistakes *m, bool read)
{
    static char out[256 << 10];
    daruma_buf b = buf_over(out, sizeof out);
    check(read == !m->n && m->n <= CONF_MISTAKES_MAX && (!m->more || m->n == CONF_MISTAKES_MAX));
    for (size_t i = 0; i < m->n; i++) {
        const conf_mistake *e = &m->at[i], *before = i ? e - 1 : e;
        check(e->what[0] && e->caret >= 0 && e->line >= 0);
        check(!e->line || (before->line > 0 && before->line <= e->line)); /* in order */
        check(!e->line || i == 0 || before->line < e->line || before->column <= e->column);
        for (size_t k = 0; k < i; k++)
            check(m->at[k].line != e->line || m->at[k].column != e->column || strcmp(m->at[k].what, e->what) != 0);
    }
    conf_mistakes_json(m, &b);
    check(!b.full && json_valid(buf_str(&b)));
    b.n = 0;
    conf_mistakes_say(m, &b);
    check(!b.full);
}
#endif
