/* watch.c - what the answers of all dialects have in common: an event, or a whole answer, is walked once by its
 * dialect, and what was found says what the answer is. */
#include "dialect/kit/parts.h"

int64_t usage_get(daruma_str usage, daruma_str name)
{
    int64_t n = json_int(json_get(usage, name), -1);
    return n < 0 ? -1 : n;
}

void usage_read(daruma_str usage, daruma_str in, daruma_str out, int64_t *ret_in, int64_t *ret_out)
{
    daruma_str key, value;
    unsigned missing = 1 | 2; /* behind both stand only sums, and what they are made of */
    if (!json_is_object(usage))
        return;
    for (json_iter it = json_open(usage); missing && json_next(&it, &key, &value);) {
        int64_t *ret = key_is(key, in) ? ret_in : key_is(key, out) ? ret_out : NULL;
        int64_t n = ret ? json_int(value, -1) : -1;
        if (n < 0)
            continue;
        *ret = n;
        missing &= ret == ret_in ? ~1u : ~2u;
    }
}

bool is_error_shape(daruma_str key, daruma_str value)
{
    if (key_is(key, S("error")))
        return value_given(value);
    return key_is(key, S("object")) && value_is(value, S("error"));
}

/* ---- several answers in one stream ---- */

void choice_add(dialect_said *s, daruma_str index, bool over)
{
    choice_set *set = &s->set;
    int64_t at = json_int(index, (int64_t)s->nchoices++);
    if (at < 0 || at >= CHOICES_MAX) {
        set->beyond = true;
        return;
    }
    set->seen[at / 64] |= (uint64_t)1 << at % 64;
    if (over)
        set->over[at / 64] |= (uint64_t)1 << at % 64;
}

/* How many have begun, and `*over`: have all that did, and all that were asked for, ended? */
static uint32_t count_choices(const stream_view *v, bool *over)
{
    uint32_t seen = 0;
    *over = !v->set.beyond && v->choices <= CHOICES_MAX;
    for (uint32_t i = 0; i < CHOICES_MAX / 64; i++) {
        uint32_t asked = v->choices > i * 64 ? v->choices - i * 64 : 0;
        uint64_t wanted = v->set.seen[i] | (asked < 64 ? ((uint64_t)1 << asked) - 1 : ~(uint64_t)0);
        *over &= !(wanted & ~v->set.over[i]);
        seen += (uint32_t)__builtin_popcountll(v->set.seen[i]);
    }
    return seen;
}

/* What an event had is added, and `finished` is true when each answer has ended. */
static void watch_choices(stream_view *v, const choice_set *more)
{
    bool over;
    for (size_t i = 0; i < CHOICES_MAX / 64; i++) {
        v->set.seen[i] |= more->seen[i];
        v->set.over[i] |= more->over[i];
    }
    v->set.beyond |= more->beyond;
    uint32_t seen = count_choices(v, &over);
    v->many = v->choices > 1 || seen > 1 || v->set.beyond;
    v->finished = seen > 0 && over;
}

/* True if some of several answers have ended and others have not. */
static bool choices_uneven(const stream_view *v)
{
    bool any = false, open = false;
    for (size_t i = 0; i < CHOICES_MAX / 64; i++) {
        any |= v->set.over[i] != 0;
        open |= v->set.seen[i] != v->set.over[i];
    }
    return v->many && any && open;
}

/* ---- events ---- */

static void said_begin(dialect_said *s, daruma_str type)
{
    *s = (dialect_said){.type = type, .at = -1, .sequence = -1, .input_tokens = -1, .output_tokens = -1};
}

void dialect_read_event(const dialect *d, const sse_event *e, dialect_said *ret)
{
    said_begin(ret, e->event);
    ret->error_body = e->data;
    if (e->data.n == 0) {
        /* llama.cpp before its change 16486 sent errors as a field of that name. */
        ret->error = str_starts(e->raw, S("error:"));
        ret->ping = !ret->error;
        ret->error_body = str_trim(str_from(e->raw, ret->error ? 6 : 0));
    } else if (str_eq(str_trim(e->data), S("[DONE]"))) {
        ret->known = ret->over = true;
    } else if (str_eq(e->event, S("error"))) {
        ret->error = true;
    } else {
        d->read_event(e->data, ret);
        ret->broken = !ret->object;
        ret->ping &= ret->object;
    }
}

static void watch_finish(stream_view *v, daruma_str raw)
{
    if (!raw.n)
        return;
    size_t n = raw.n < sizeof v->finish ? raw.n : sizeof v->finish - 1;
    memcpy(v->finish, raw.p, n);
    v->finish[n] = 0;
    v->finished = true;
}

/* Who translates for Google may send a stop reason with each event, or before the words while the model reasons. One
 * that comes for the first time with the last of several pieces is an end, too, when no other answer goes on. */
static void watch_settled(stream_view *v, const dialect_said *said, bool had_finish)
{
    bool last = v->worded && v->finished && !had_finish && said->finish.n;
    bool words = said->text || said->calls || said->other, says = words || said->thought;
    v->content |= says;
    v->worded |= words;
    v->called |= said->calls;
    v->settled = says ? last : v->worded && v->finished && (v->settled || said->finish.n);
}

void dialect_watch_said(stream_view *v, const dialect_said *said)
{
    v->ping = said->ping;
    v->broken |= said->broken;
    if (said->broken)
        return;
    v->error |= said->error;
    if (said->error)
        v->error_body = said->error_body;
    v->effects |= said->effects;
    v->began |= said->known;
    v->told |= said->told;
    v->input_tokens = said->input_tokens >= 0 ? said->input_tokens : v->input_tokens;
    v->output_tokens = said->output_tokens >= 0 ? said->output_tokens : v->output_tokens;
    bool had_finish = v->finished;
    watch_finish(v, said->finish);
    if (said->counted)
        watch_choices(v, &said->set);
    v->finished |= said->blocked;
    watch_settled(v, said, had_finish);
    v->spoilt = said->spoilt;
    v->broken |= said->spoilt || (said->odd && said->closes);
    v->done |= said->over || (said->closes && v->finished);
    if (said->over && choices_uneven(v)) { /* somebody between ended it who did not see that it was cut */
        v->broken = true;
        v->done = false;
    }
}

void dialect_watch(const dialect *d, stream_view *v, const sse_event *e)
{
    dialect_said said;
    dialect_read_event(d, e, &said);
    dialect_watch_said(v, &said);
}

turn_deltas dialect_read_delta(const dialect *d, turn_reader *r, const sse_event *e, turn_delta *few, daruma_arena *a)
{
    dialect_said said;
    dialect_read_event(d, e, &said);
    return d->read_delta(r, &said, few, a);
}

/* ---- whole answers ---- */

answer_view dialect_check(const dialect *d, daruma_str body)
{
    dialect_said s;
    said_begin(&s, (daruma_str){0});
    d->read_whole(body, &s);
    answer_view v = {.finish = s.finish,
                     .text = s.text,
                     .calls = s.calls,
                     .effects = s.effects,
                     .spoilt = s.spoilt,
                     .input_tokens = s.input_tokens,
                     .output_tokens = s.output_tokens};
    if (!s.object)
        v.flaw = DARUMA_FLAW_BROKEN;
    else if (s.error)
        v.flaw = DARUMA_FLAW_ERROR_EVENT;
    else if (s.odd || s.spoilt)
        v.flaw = DARUMA_FLAW_BROKEN;
    else if (!s.text && !s.calls && !s.other && !s.told)
        v.flaw = DARUMA_FLAW_EMPTY;
    return v;
}
