/* abilities.c - what models lack that a request needs. It is learned of a lane, an account's way to a model, when
 * another one took the same request, and known for a while. */
#include "engine/decide/case.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/request/abilities.h"

/* What in a request asks for it, in any dialect. */
static const struct {
    daruma_ability what;
    daruma_str mark;
} marks[] = {
    // clang-format off
    {DARUMA_CAN_MEDIA, LIT("image_url\"")}, {DARUMA_CAN_MEDIA, LIT("\"input_image\"")},
    {DARUMA_CAN_MEDIA, LIT("\"image\"")}, {DARUMA_CAN_MEDIA, LIT("\"inlineData\"")},
    {DARUMA_CAN_MEDIA, LIT("\"inline_data\"")}, {DARUMA_CAN_MEDIA, LIT("\"fileData\"")},
    {DARUMA_CAN_MEDIA, LIT("\"input_audio\"")},
    {DARUMA_CAN_REASON, LIT("\"reasoning_effort\"")}, {DARUMA_CAN_REASON, LIT("\"reasoning\"")},
    {DARUMA_CAN_REASON, LIT("\"thinking\"")}, {DARUMA_CAN_REASON, LIT("\"enable_thinking\"")},
    {DARUMA_CAN_REASON, LIT("\"thinkingConfig\"")},
    // clang-format on
};

/* Which of the abilities `of` the request needs. */
static uint8_t needs(const session *x, uint8_t of)
{
    uint8_t found = (uint8_t)((x->out.scan.tools || x->out.scan.more_tools ? DARUMA_CAN_TOOLS : 0) |
                              (x->out.scan.schema ? DARUMA_CAN_FORMAT : 0));
    for (size_t i = 0; i < COUNT(marks); i++)
        if ((of & marks[i].what) && !(found & marks[i].what) && str_find(x->out.body, marks[i].mark) != STR_NONE)
            found |= (uint8_t)marks[i].what;
    return found & of;
}

static uint8_t lacks(const session *x, size_t target)
{
    return memory_lane(x->v->mem, x->targets[target].lane_id, x->v->at.now)->lacks;
}

void abilities_know(session *x)
{
    size_t n = x->kase.ntargets < DARUMA_CASE_TRIED ? x->kase.ntargets : DARUMA_CASE_TRIED, able = n;
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= lacks(x, i);
    if (!any || !x->out.scan.ok || x->out.scan.remote ||
        !x->kase.policy->health) /* it has one place only, or may go anywhere */
        return;
    uint8_t needed = needs(x, any);
    for (size_t i = n; i--;)
        able = lacks(x, i) & needed ? able : i;
    for (size_t i = 0; i < n && able < n; i++)
        if (lacks(x, i) & needed)
            x->kase.spoiled[i] = CASE_LAST;
    if (able < n && (x->kase.want < 0 || x->kase.spoiled[x->kase.want]))
        x->kase.want = (int)able;
}

void abilities_learn(session *x)
{
    const last_failure *l = session_last(x);
    const daruma_target *took = &x->targets[x->kase.target];
    daruma_ms now = session_now(x).now;
    if (x->kase.outcome != DARUMA_OUTCOME_OK && x->kase.outcome != DARUMA_OUTCOME_RECOVERED)
        return;
    uint8_t known = memory_lane(x->v->mem, took->lane_id, now)->lacks;
    if (known && needs(x, known))
        memory_lacks_put(x->v->mem, took, known & (uint8_t)~needs(x, known), now);
    for (size_t i = 0; i < l->ntried; i++) {
        const daruma_tried *t = &l->tried[i];
        uint8_t more = t->lacks && t->target->lane_id != took->lane_id ? needs(x, t->lacks) : 0;
        if (!more)
            continue;
        memory_lacks_put(x->v->mem, t->target, memory_lane(x->v->mem, t->target->lane_id, now)->lacks | more, now);
        memory_learned(x->v->mem, t->target, x->kase.id, now);
    }
}
