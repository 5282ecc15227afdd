/* resume.c - tells a fresh agent what its journal holds. */
#include "run/resume.h"
#include "base/limits.h"
#include "sys/arena.h"
#include <stdio.h>

static void say_broken(int64_t n, char why[256])
{
    snprintf(why, 256,
             "the journal is damaged: record %lld is missing, or is not what was written. Nothing was done; "
             "begin the task anew",
             (long long)n);
}

/* Another act than the one that was recorded: whatever this agent does next would rest on a past that was not its own.
 */
static bool say_differs(journal *j, const agent_act *x, const journal_act *was, char why[256])
{
    char room[64];
    daruma_arena a = {.beg = room, .end = room + sizeof room};
    daruma_str version = journal_text(j, "version", &a);
    snprintf(
        why, 256,
        "the run cannot go on: act %u would be another one now than it was (%.40s). Nothing was done. The task, "
        "model, tools, profile and daruma must be the same; the journal is of daruma %.20s, this is " DARUMA_VERSION,
        x->call, was ? was->name : "which was no act then", version.p ? version.p : "?");
    return false;
}

/* Takes what the agent asks for next, as far as it is recorded. */
static bool drain(journal *j, crew *a, resumed *r, char why[256])
{
    for (;;) {
        agent_act x = crew_next(a);
        journal_act was;
        switch (x.what) {
        case AGENT_DO_NOTHING:
        case AGENT_DO_FINISH:
            return true;
        case AGENT_DO_EVENT: /* it was told then */
            continue;
        case AGENT_DO_MODEL:
        case AGENT_DO_TOOL:
        case AGENT_DO_ASK:
        case AGENT_DO_WAIT:
            if (!journal_act_of(j, x.call, &was))
                return say_differs(j, &x, NULL, why);
            if (was.hash != journal_hash(&x))
                return say_differs(j, &x, &was, why);
            r->out = true;
            r->act = x;
            r->was = was;
            continue;
        }
    }
}

/* As journal_input_of(); -1 was told. */
static int input(journal *j, int64_t n, crew_input *ret, daruma_arena *a, char why[256])
{
    int there = journal_input_of(j, n, ret, a);
    if (there < 0)
        say_broken(n, why);
    return there;
}

bool resume_moment(journal *j, daruma_moment *ret, char why[256])
{
    crew_input in;
    char room[64];
    daruma_arena a = {.beg = room, .end = room + sizeof room};
    int there = input(j, 1, &in, &a, why);
    if (there == 0 || (there > 0 && in.kind != CREW_OPENED)) {
        snprintf(why, 256, "nothing is recorded of this run: begin the task anew");
        return false;
    }
    if (there > 0)
        *ret = in.at;
    return there > 0;
}

bool resume_replay(journal *j, crew *a, resumed *ret, char why[256])
{
    *ret = (resumed){0};
    for (int64_t n = 1;; n++) {
        daruma_arena room;
        crew_input in;
        if (!sys_arena_init(&room, 16 << 10, RUN_ANSWER_BYTES_MAX)) {
            snprintf(why, 256, "there is no memory to read the journal");
            return false;
        }
        int there = input(j, n, &in, &room, why);
        if (there > 0) {
            ret->inputs = n;
            ret->at = in.at;
            ret->out = false;
            ret->recovered += in.kind == CREW_ANSWERED && in.code;
            if (n > 1 && !crew_tell(a, &in)) {
                say_broken(n, why);
                there = -1;
            }
        }
        sys_arena_done(&room);
        if (there <= 0)
            return there == 0;
        if (n == journal_inputs(j) && !journal_is_ahead(j)) /* its consequences were not recorded: they come now */
            return true;
        if (!drain(j, a, ret, why))
            return false;
    }
}

const char *resume_fate_words(resume_fate f)
{
    static const char *const words[] = {"again", "done", "lost"};
    return words[f];
}

resume_fate resume_tool(const resumed *r, const journal_look *now)
{
    const journal_look *was = &r->was.look;
    if (was->known && now->known)
        return now->before == was->before ? RESUME_AGAIN : now->before == was->after ? RESUME_DONE : RESUME_LOST;
    return agent_tool_is_safe(r->act.about) ? RESUME_AGAIN : RESUME_LOST;
}
