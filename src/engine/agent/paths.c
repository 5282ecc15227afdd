/* paths.c - a path that was not found, completed from what tools have printed before (engine/watch/paths.h). With two
 * candidates nothing is done. */
#include "engine/agent/inside.h"
#include "engine/watch/paths.h"

/* The one path that ends in `tail` in what tools gave so far, newest first; empty when there is none, or several. */
static daruma_str candidate(const agent *a, daruma_str tail)
{
    daruma_str found = {0};
    size_t looked = 0;
    for (size_t i = a->nsteps; i-- > 0 && looked < AGENT_PATH_RESULTS;) {
        const agent_step *s = &a->steps[i];
        if (s->kind != AGENT_STEP_CALL || !s->done || s->failed)
            continue;
        looked++;
        if (!paths_look(s->observation, tail, &found))
            return (daruma_str){0};
    }
    return found;
}

/* Arguments of which the one path that can be completed is. False: there is none. */
bool paths_complete(agent *a, const agent_step *s, daruma_str *ret_args, daruma_str *ret_from, daruma_str *ret_to)
{
    json_iter it = json_open(s->args);
    daruma_str key, value;
    for (size_t n = 0; json_is_object(s->args) && n < AGENT_METADATA_ITEMS_MAX && json_next(&it, &key, &value); n++) {
        daruma_str tail = json_text(value, &a->scratch);
        if (str_starts(tail, S("./")))
            tail = str_from(tail, 2);
        daruma_str to = paths_is(tail) && tail.p[0] != '/' ? candidate(a, tail) : (daruma_str){0};
        if (!to.n)
            continue;
        daruma_buf b = buf_in(&a->scratch);
        size_t at = (size_t)(value.p - s->args.p);
        BUF_SAY(&b, str_sub(s->args, 0, at), buf_quoted(to), str_from(s->args, at + value.n));
        *ret_args = buf_str(&b);
        *ret_from = tail;
        *ret_to = to;
        return !b.full;
    }
    return false;
}

daruma_str paths_near(agent *a, const agent_step *s)
{
    json_iter it = json_open(s->args);
    daruma_str key, value;
    for (size_t n = 0; json_is_object(s->args) && n < AGENT_METADATA_ITEMS_MAX && json_next(&it, &key, &value); n++) {
        daruma_str path = json_text(value, &a->scratch), name = paths_name(path);
        daruma_str to = paths_is(path) && paths_is(name) ? candidate(a, name) : (daruma_str){0};
        if (to.n && !str_eq(to, path))
            return to;
    }
    return (daruma_str){0};
}
