/* changes.c - what a step does to the world. */
#include "engine/watch/changes.h"
#include "engine/watch/same/same.h"
#include "engine/watch/words/words.h"

bool step_is_shell(const daruma_step *step)
{
    return (words_of_tool(step->tool) & WORDS_SHELL) != 0;
}

/* Bits of daruma_trait and words_call. */
static unsigned words_of(const daruma_step *step)
{
    if (step->traits & DARUMA_TOOL_KNOWN)
        return step->traits;
    unsigned tool = words_of_tool(step->tool);
    if (!(tool & WORDS_SHELL))
        return tool;
    daruma_str command = same_of_call(step->tool, step->args, NULL).command;
    return words_of_command(command.n ? command : step->args);
}

bool step_changes(const daruma_step *step)
{
    unsigned words = words_of(step);
    bool sure = !(words & WORDS_WEAK); /* "run_tests" and "make" may change something, or only look */
    return (words & WORDS_CHANGES) || (sure && (words & (DARUMA_TOOL_WRITES | DARUMA_TOOL_ACTS)));
}

bool step_waits(const daruma_step *step)
{
    return (words_of(step) & (DARUMA_TOOL_WAITS | WORDS_PAUSES)) != 0;
}
