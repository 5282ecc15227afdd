/* habits.c - what a model never takes in messages, whatever is said in them: known by bits of wrong.h, done to requests
 * ahead, and forgotten where it hurts. */
#include "base/str.h"
#include "engine/mend/history.h"
#include "engine/mend/request/wrong.h"

bool mend_habits(convo *c, uint32_t habits, mend_report *rep)
{
    mending x = {.c = c, .at = WRONG_ANYWHERE, .wrong = habits & WRONG_ALWAYS};
    if (c->full || !x.wrong)
        return false;
    mending_named(&x);
    mending_content(&x, true);
    if (x.wrong & WRONG_TURNS)
        x.n[MENDED_MERGED] += history_merge(c);
    c->full |= c->arena->full;
    mend_report r = mending_told(&x);
    mend_merge(rep, &r);
    bool named = x.wrong & WRONG_TOOLS && mend_tool_names(c, rep);
    return mend_did(&r) || named;
}

/* How each is called, and the words of a provider whom it hurts. */
static const struct habit {
    uint32_t bit;
    const char *name, *hurts, *and; /* NULL, NULL: nobody says so, it is tried anew when HABITS_LAST_MS are over */
} habits_known[] = {
    {WRONG_DEVELOPER, "developer_is_system", "developer", "instead"},
    {WRONG_SYSTEM, "system_is_user", NULL, NULL},
    {WRONG_LATER, "system_first", NULL, NULL},
    {WRONG_PROMPT, "no_system_prompt", NULL, NULL},
    {WRONG_TEXTS, "content_is_string", "content", "must be an array"},
    {WRONG_TEXTS, "content_is_string", "content", "must be a list"},
    {WRONG_TEXTS, "content_is_string", "content", "should be a valid list"},
    {WRONG_NINE, "ids_of_nine", "id that begins", ""},
    {WRONG_NINE, "ids_of_nine", "id that starts", ""},
    {WRONG_REASONED, "thinking_stays", "reasoning_con", "extra inputs"},
    {WRONG_REASONED, "thinking_stays", "reasoning_con", "not permitted"},
    {WRONG_REASONED, "thinking_stays", "reasoning_con", "not allowed"},
    {WRONG_REASONED, "thinking_stays", "reasoning_con", "not supported"},
    {WRONG_REASONED, "thinking_stays", "reasoning_con", "unknown"},
    {WRONG_NULL, "content_is_there", NULL, NULL},
    {WRONG_BARE, "calls_say_something", NULL, NULL},
    {WRONG_TURNS, "turns_alternate", NULL, NULL},
    {WRONG_TOOLS, "plain_tool_names", NULL, NULL},
};

uint32_t mend_habits_hurt(uint32_t habits, const daruma_failure *f)
{
    uint32_t hurt = 0;
    bool about = f->kind == DARUMA_INVALID_MESSAGE || f->kind == DARUMA_ORPHAN_TOOL_CALL;
    for (size_t i = 0; about && i < COUNT(habits_known); i++)
        if (habits & habits_known[i].bit && habits_known[i].hurts &&
            str_ifind(f->message, str_of(habits_known[i].hurts)) != STR_NONE &&
            str_ifind(f->message, str_of(habits_known[i].and)) != STR_NONE)
            hurt |= habits_known[i].bit;
    return hurt;
}

const char *mend_habit_name(uint32_t habits, size_t index)
{
    for (size_t i = 0; i < COUNT(habits_known); i++)
        if (habits & habits_known[i].bit && (!i || habits_known[i - 1].bit != habits_known[i].bit) && index-- == 0)
            return habits_known[i].name;
    return NULL;
}
