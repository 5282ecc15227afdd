/* facts.c - see facts.h. */
#include "engine/drive/request/facts.h"
#include "engine/mend/request/request.h"

void drive_facts_apply(drive_facts *f, convo *c)
{
    for (size_t i = 0; i < f->nlessons; i++) {
        f->lessons[i].applied = mend_lesson_apply(c, &f->lessons[i], &f->report);
        f->parameters |= f->lessons[i].applied;
    }
    f->messages = f->half_thought && mend_half_thinking(c, f->signs, &f->report);
    f->messages |= mend_habits(c, f->habits, &f->report);
    while (c->set.format > f->most && mend_format(c, &f->report))
        f->formats = true;
}
