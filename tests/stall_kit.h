/* stall_kit.h - steps of agents written down in a few lines, for tests of what sees circles.
 *
 *     read {"path":"a"} => text           a call that worked; everything after "=>" is its result
 *     ! bash make => make: failed         a call that failed; "! 5* bash ..." is five of them
 *     ? query x => ...                    a call of which is not told how it ended
 *     5* read {} => ...                   the same line five times
 *     4*( ... )                           the lines between, four times; brackets on lines of their own
 *     say words                           the model only spoke
 *
 * {i} is the number of the round, from 0; {n} is 7 i + 3; {t} a moment in seconds, 13 s later each round; {w} a word of
 * its own for each round; {u} a UUID of its own, {h} 16 digits of base 16, {k} 12 letters and digits; {x} as many
 * copies of "ab; " as the round says, and one. "\n" is a line break.
 */
#ifndef STALL_KIT_H
#define STALL_KIT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "daruma_parts.h"
#include <stdlib.h>

typedef struct kit_run {
    daruma_stall *stall;
    daruma_verdict first; /* the first that speaks */
    daruma_verdict last;
    uint32_t steps;
    void (*each)(void *self, const daruma_step *step, const daruma_verdict *v); /* may be NULL */
    void *self;
} kit_run;

static const char *const kit_words[] = {"amber",  "basalt", "cedar", "delta",  "ember", "fjord",  "garnet", "harbor",
                                        "indigo", "jasper", "kelp",  "lagoon", "maple", "nectar", "onyx",   "pebble"};

static void kit_fill(daruma_buf *out, daruma_str text, int round)
{
    for (size_t i = 0; i < text.n; i++) {
        if (i + 1 < text.n && text.p[i] == '\\' && text.p[i + 1] == 'n') {
            buf_putc(out, '\n');
            i++;
            continue;
        }
        if (i + 2 >= text.n || text.p[i] != '{' || text.p[i + 2] != '}') {
            buf_putc(out, text.p[i]);
            continue;
        }
        switch (text.p[i + 1]) {
        case 'i':
            buf_int(out, round);
            break;
        case 'n':
            buf_int(out, 7 * round + 3);
            break;
        case 't':
            buf_int(out, 1767225600 + 13 * round);
            break;
        case 'w':
            buf_putz(out, kit_words[round % 16]);
            break;
        case 'u':
            buf_printf(out, "%08x-12ab-4cde-8f01-%012x", 0x9e3779b9u * (unsigned)(round + 1),
                       77u * (unsigned)round + 5);
            break;
        case 'h':
            buf_printf(out, "%08x%08x", 0x9e3779b9u * (unsigned)(round + 3), 0x85ebca6bu * (unsigned)(round + 7));
            break;
        case 'k':
            for (int k = 0; k < 12; k++)
                buf_putc(out, "aB3dEf9hJkLmN0pQ5sTuVw7y"[(0x85ebca6bu * (unsigned)(round + 2) >> (2 * k)) % 24]);
            break;
        case 'x':
            for (int k = 0; k <= round; k++)
                buf_putz(out, "ab; ");
            break;
        default:
            buf_putc(out, '{');
            continue;
        }
        i += 2;
    }
}

/* Changes a step before it is seen; NULL: nothing does. */
static void (*kit_change)(daruma_step *step, uint32_t i, daruma_arena *a);

static void kit_see(kit_run *r, const daruma_step *as_it_is)
{
    static char mem[1 << 18];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_step changed = *as_it_is;
    const daruma_step *step = &changed;
    if (kit_change)
        kit_change(&changed, r->steps + 1, &a);
    r->last = daruma_stall_see(r->stall, step);
    r->steps++;
    if (r->last.circle && !r->first.circle)
        r->first = r->last;
    if (r->each)
        r->each(r->self, step, &r->last);
}

static void kit_line(kit_run *r, daruma_str line, int ok, int round)
{
    static char mem[1 << 18];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_buf args = buf_in(&a), result = buf_in(&a), tool = buf_in(&a);
    daruma_step step = {.ok = ok};
    if (str_starts(line, S("say "))) {
        kit_fill(&result, str_from(line, 4), round);
        step.result = buf_str(&result);
        kit_see(r, &step);
        return;
    }
    size_t arrow = str_find(line, S("=>"));
    daruma_str call = str_trim(str_sub(line, 0, arrow));
    size_t space = str_findch(call, ' ');
    kit_fill(&result, arrow == STR_NONE ? S("") : str_trim(str_from(line, arrow + 2)), round);
    kit_fill(&tool, str_sub(call, 0, space == STR_NONE ? call.n : space), round);
    kit_fill(&args, space == STR_NONE ? S("") : str_trim(str_from(call, space)), round);
    step.tool = buf_str(&tool);
    step.args = buf_str(&args);
    step.result = buf_str(&result);
    kit_see(r, &step);
}

static int kit_times(daruma_str *line)
{
    int64_t n = 0;
    size_t used = str_scan_int(*line, &n);
    if (!used || used >= line->n || line->p[used] != '*')
        return 1;
    *line = str_trim(str_from(*line, used + 1));
    return (int)n;
}

static void kit_text(kit_run *r, daruma_str text, int round)
{
    while (text.n) {
        daruma_str line = str_trim(str_cut(&text, '\n'));
        if (!line.n || line.p[0] == '#')
            continue;
        int ok = line.p[0] == '!' ? 0 : line.p[0] == '?' ? -1 : 1;
        if (ok != 1)
            line = str_trim(str_from(line, 1));
        int times = kit_times(&line);
        if (str_eq(line, S("("))) {
            size_t close = str_find(text, S("\n)"));
            daruma_str block = str_sub(text, 0, close);
            for (int i = 0; i < times; i++)
                kit_text(r, block, i);
            text = str_from(text, close + 2);
        } else {
            for (int i = 0; i < times; i++)
                kit_line(r, line, ok, times == 1 ? round : i);
        }
    }
}

static kit_run kit_steps(const char *text)
{
    void *mem = calloc(1, daruma_stall_bytes() + 64);
    daruma_arena a = arena_over(mem, daruma_stall_bytes() + 64);
    kit_run r = {.stall = daruma_stall_new(&a)};
    kit_text(&r, str_of(text), 0);
    r.stall = NULL;
    free(mem);
    return r;
}
#endif
