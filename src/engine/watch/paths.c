/* paths.c - a path that was not found, looked for in what tools have printed. Search said `src/executor/progress.ts:50:
 * ...`, the model reads `progress.ts`: one tail, one candidate, and no model is needed to see it. */
#include "engine/watch/paths.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

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

bool paths_look(daruma_str text, daruma_str tail, daruma_str *found)
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

bool paths_is(daruma_str s)
{
    size_t i = 0;
    while (i < s.n && in_path(s.p[i]))
        i++;
    return i == s.n && s.n >= AGENT_PATH_BYTES_MIN && s.n < AGENT_PATH_BYTES_MAX;
}

daruma_str paths_name(daruma_str path)
{
    while (str_findch(path, '/') != STR_NONE)
        str_cut(&path, '/');
    return path;
}

/* The one path that ends in `tail` in the newest results of a conversation; empty when there is none, or several. */
static daruma_str convo_path(convo *c, daruma_str tail)
{
    daruma_str found = {0};
    size_t looked = 0;
    for (size_t i = c->nmessages; i-- > 0 && looked < AGENT_PATH_RESULTS;)
        for (size_t k = c->messages[i].nparts; k-- > 0 && looked < AGENT_PATH_RESULTS;) {
            const convo_part *p = &c->messages[i].parts[k];
            if (p->kind != PART_RESULT)
                continue;
            looked++; /* a failure as well: to know that it is one it is read whole */
            daruma_step step = {.result = convo_part_text(c, p), .ok = p->failed ? 0 : -1};
            if (daruma_step_failed(&step)) /* it names what is not there */
                continue;
            if (!paths_look(step.result, tail, &found))
                return (daruma_str){0};
        }
    return found;
}

daruma_str paths_printed(convo *c, daruma_str args)
{
    json_iter it = json_open(args);
    daruma_str key, value;
    for (size_t n = 0; json_is_object(args) && n < AGENT_METADATA_ITEMS_MAX && json_next(&it, &key, &value); n++) {
        daruma_str path = json_text(value, c->arena), name = paths_name(path);
        if (str_starts(path, S("./")))
            path = str_from(path, 2);
        if (!paths_is(path) || !paths_is(name))
            continue;
        daruma_str to = path.p[0] == '/' ? (daruma_str){0} : convo_path(c, path);
        to = to.n ? to : convo_path(c, name);
        if (to.n && !str_eq(to, path))
            return to;
    }
    return (daruma_str){0};
}
