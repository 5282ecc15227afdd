/* paths.c - a path that was not found, completed from what tools have printed before. Search said
 * `src/executor/progress.ts:50: ...`, the model reads `progress.ts`: one tail, one candidate, and no model is needed to
 * see it. With two candidates nothing is done. */
#include "engine/agent/inside.h"

static bool in_path(char c)
{
    return ch_word(c) || c == '/' || c == '.' || c == '-' || c == '+' || c == '@' || c == '~';
}

/* The path that ends behind text[end], from its first byte on; `./` before it does not count. */
static daruma_str path_before(daruma_str text, size_t end)
{
    size_t from = end;
    while (from > 0 && in_path(text.p[from - 1]) && end - from < AGENT_PATH_BYTES_MAX)
        from--;
    daruma_str path = str_sub(text, from, end - from);
    return str_starts(path, S("./")) ? str_from(path, 2) : path;
}

/* Looks for paths in `text` that end in "/" and `tail`. False: there are two different ones. */
static bool look(daruma_str text, daruma_str tail, daruma_str *found)
{
    size_t at = 0;
    for (daruma_str rest = text; rest.n > tail.n;) {
        size_t hit = str_find(rest, tail);
        if (hit == STR_NONE)
            break;
        at = (size_t)(rest.p - text.p) + hit;
        size_t end = at + tail.n;
        rest = str_from(text, end);
        if (at == 0 || text.p[at - 1] != '/' || (rest.n && in_path(*rest.p) && *rest.p != '.'))
            continue;
        if (rest.n > 1 && *rest.p == '.' && in_path(rest.p[1])) /* a.c.orig; but "... a.c." ends a sentence */
            continue;
        daruma_str path = path_before(text, end);
        if (path.n <= tail.n + 1 || path.p[0] == '/')
            continue;
        if (found->n && !str_eq(*found, path))
            return false;
        *found = path;
    }
    return true;
}

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
        if (!look(s->observation, tail, &found))
            return (daruma_str){0};
    }
    return found;
}

static bool is_path(daruma_str s)
{
    size_t i = 0;
    while (i < s.n && in_path(s.p[i]))
        i++;
    return i == s.n && s.n >= AGENT_PATH_BYTES_MIN && s.n < AGENT_PATH_BYTES_MAX;
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
        daruma_str to = is_path(tail) && tail.p[0] != '/' ? candidate(a, tail) : (daruma_str){0};
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
        daruma_str path = json_text(value, &a->scratch), name = path;
        while (is_path(path) && str_findch(name, '/') != STR_NONE)
            str_cut(&name, '/');
        daruma_str to = is_path(path) && is_path(name) ? candidate(a, name) : (daruma_str){0};
        if (to.n && !str_eq(to, path))
            return to;
    }
    return (daruma_str){0};
}
