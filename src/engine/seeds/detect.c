/* detect.c - loops as the seeds see them: a few kinds of rules whose rows are data of a profile. They compare calls and
 * hardly ever results, so they stop honest paging and miss two calls that take turns; the detector of daruma is
 * stall.c.
 *
 *     SEEN      A . A . . A     enough alike, each near the next
 *     ROW       A A A           enough alike in a row
 *     LAPS      A B C A B C     the newer half is the older half
 *     FAILING   A B A A B       hardly anything else is called, and most of it fails */
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <xxhash.h>

static uint64_t hash(daruma_str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.n ? s.p : "", s.n, seed);
}

/* ---- what makes two steps alike ---- */

/* The same for the same members in any order. What is nested too deeply counts as it is written. */
static uint64_t hash_value(daruma_str value, unsigned depth, bool (*leaves_out)(daruma_str key))
{
    daruma_str key, v;
    uint64_t h = 0;
    if (depth == 0 || (!json_is_object(value) && !json_is_array(value)))
        return hash(value, 1);
    json_iter it = json_open(value);
    if (json_is_object(value)) {
        for (h = 2; json_next(&it, &key, &v);)
            if (!leaves_out || !leaves_out(key))
                h += hash_value(v, depth - 1, NULL) ^ hash(key, 3);
        return hash((daruma_str){(const char *)&h, sizeof h}, 4);
    }
    for (h = 5; json_next(&it, NULL, &v);)
        h = h * 0x9e3779b97f4a7c15u + hash_value(v, depth - 1, NULL);
    return h;
}

static bool is_limit(daruma_str key)
{
    return json_raw_eq(key, S("limit"));
}

static bool is_page(daruma_str key)
{
    return is_limit(key) || json_raw_eq(key, S("offset"));
}

static uint64_t hash_args(daruma_str args, bool (*leaves_out)(daruma_str key), uint64_t seed)
{
    daruma_str value;
    uint64_t h = json_whole(args, &value) ? hash_value(value, DETECT_DEPTH_MAX, leaves_out) : hash(args, 1);
    return hash((daruma_str){(const char *)&h, sizeof h}, seed);
}

static void keys_of(const daruma_step *step, uint64_t keys[DARUMA_DETECTOR_KEYS])
{
    uint64_t name = hash(step->tool, 0), call = hash(step->args, name);
    keys[DARUMA_KEY_STATE] = hash(step->result, call) | 1;
    if (!step->tool.n)
        return;
    keys[DARUMA_KEY_NAME] = name | 1;
    keys[DARUMA_KEY_CALL] = call | 1;
    keys[DARUMA_KEY_UNLIMITED] = hash_args(step->args, is_limit, name) | 1;
    keys[DARUMA_KEY_UNPAGED] = hash_args(step->args, is_page, name) | 1;
}

/* ---- the rules ---- */

typedef struct daruma_detector_seen seen;

/* The step so many before the newest. */
static seen *back(daruma_detector *d, uint32_t by)
{
    return &d->seen[(d->steps - 1 - by) % DARUMA_DETECTOR_WINDOW];
}

/* How many steps may be looked at: those since row->from, at most the window. */
static uint32_t in_sight(const daruma_detector *d, const daruma_detector_row *row, uint32_t most)
{
    uint32_t from = row->from ? row->from : 1, n = d->steps >= from ? d->steps - from + 1 : 0;
    most = most < DARUMA_DETECTOR_WINDOW ? most : DARUMA_DETECTOR_WINDOW;
    return n < most ? n : most;
}

/* How many there are so far; counted on from the nearest alike. */
static uint32_t count_seen(daruma_detector *d, const daruma_detector_row *row, size_t i, uint32_t *first)
{
    seen *now = back(d, 0);
    uint32_t sight = in_sight(d, row, row->window + 1u);
    if (!sight || !now->keys[row->key])
        return 0;
    now->count[i] = 1;
    now->first[i] = d->steps;
    for (uint32_t by = 1; by < sight; by++)
        if (back(d, by)->keys[row->key] == now->keys[row->key]) {
            now->count[i] = back(d, by)->count[i] + 1;
            now->first[i] = back(d, by)->first[i];
            break;
        }
    *first = now->first[i];
    return now->count[i];
}

/* Counts on behind `first`: a rule that only looks from some step on says in truth how many there were. */
static void count_all(daruma_detector *d, const daruma_detector_row *row, daruma_verdict *v)
{
    for (uint32_t by = d->steps - v->first; ++by < d->steps && by < DARUMA_DETECTOR_WINDOW;) {
        if (by > d->steps - v->first + row->window)
            return;
        if (back(d, by)->keys[row->key] != back(d, 0)->keys[row->key])
            continue;
        v->times++;
        v->first = d->steps - by;
    }
}

static uint32_t count_row(daruma_detector *d, const daruma_detector_row *row)
{
    uint32_t n = 0, sight = in_sight(d, row, row->times);
    uint64_t key = back(d, 0)->keys[row->key];
    while (n < sight && key && back(d, n)->keys[row->key] == key)
        n++;
    return n;
}

static bool laps(daruma_detector *d, const daruma_detector_row *row)
{
    uint32_t half = row->window / 2u;
    if (!half || in_sight(d, row, row->window) < 2 * half)
        return false;
    for (uint32_t by = 0; by < half; by++) {
        uint64_t key = back(d, by)->keys[row->key];
        if (!key || key != back(d, by + half)->keys[row->key])
            return false;
    }
    return true;
}

static bool failing(daruma_detector *d, const daruma_detector_row *row)
{
    uint32_t calls = 0, failed = 0, ntools = 0, sight = in_sight(d, row, row->window);
    uint64_t tools[2];
    if (sight < row->window)
        return false;
    for (uint32_t by = 0; by < sight; by++) {
        uint64_t tool = back(d, by)->keys[row->key];
        if (!tool)
            continue;
        calls++;
        failed += back(d, by)->failed;
        if ((ntools > 0 && tools[0] == tool) || (ntools > 1 && tools[1] == tool))
            continue;
        if (ntools == 2)
            return false;
        tools[ntools++] = tool;
    }
    return ntools && 2 * calls > 5 * ntools && 10 * failed > 6 * sight;
}

static bool speaks(daruma_detector *d, const daruma_detector_row *row, size_t i, daruma_verdict *v)
{
    v->period = 1;
    v->times = row->times;
    v->first = d->steps - (d->steps < row->window ? d->steps : row->window) + 1;
    switch (row->rule) {
    case DARUMA_RULE_SEEN:
        v->times = count_seen(d, row, i, &v->first);
        if (!row->times || v->times < row->times)
            return false;
        count_all(d, row, v);
        return true;
    case DARUMA_RULE_ROW:
        v->first = d->steps + 1 - row->times;
        return row->times && count_row(d, row) >= row->times;
    case DARUMA_RULE_LAPS:
        v->period = row->window / 2u;
        v->times = 2;
        return laps(d, row);
    case DARUMA_RULE_FAILING:
        v->times = row->window;
        return failing(d, row);
    }
    return false;
}

/* What it is about: the same number in each lap. The calls of a longer lap are not at hand any more. */
static void about(daruma_detector *d, const daruma_detector_row *row, const daruma_step *step, daruma_verdict *v)
{
    uint64_t sum = 0;
    for (uint32_t by = 0; row->rule != DARUMA_RULE_FAILING && by < v->period; by++)
        sum += back(d, by)->keys[row->key];
    v->about = hash(str_of(row->name), sum) | 1;
    if (v->period == 1 && row->key != DARUMA_KEY_NAME && row->rule != DARUMA_RULE_FAILING && step->tool.n)
        v->calls[v->ncalls++] = daruma_call_hash(step->tool, step->args);
}

static bool failed(const daruma_step *step)
{
    return step->ok == 0 || (step->ok < 0 && daruma_step_failed(step));
}

daruma_verdict daruma_detector_see(daruma_detector *d, const daruma_policy *p, const daruma_step *step,
                                   const char **name)
{
    daruma_verdict ret = {0};
    const daruma_detector_row *rows = p ? p->watch.detectors : NULL;
    size_t n = rows ? p->watch.ndetectors : 0;
    d->steps++;
    seen *now = back(d, 0);
    *now = (seen){.failed = failed(step)};
    keys_of(step, now->keys);
    for (size_t i = 0; i < n && i < DARUMA_DETECTOR_ROWS; i++) {
        daruma_verdict v = {.circle = rows[i].circle, .sure = rows[i].sure, .step = d->steps, .failing = now->failed};
        if (!speaks(d, &rows[i], i, &v) || ret.circle != DARUMA_CIRCLE_NONE)
            continue; /* every row counts each step, whoever speaks */
        about(d, &rows[i], step, &v);
        ret = v;
        if (name)
            *name = rows[i].name;
    }
    return ret;
}
