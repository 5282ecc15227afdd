/* watch.c - what the streams of all dialects have in common, and how usage is read. */
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

void watch_error(stream_view *v, daruma_str body)
{
    v->error = true;
    v->error_body = body;
}

void watch_finish(stream_view *v, daruma_str raw)
{
    if (!raw.n)
        return;
    size_t n = raw.n < sizeof v->finish ? raw.n : sizeof v->finish - 1;
    memcpy(v->finish, raw.p, n);
    v->finish[n] = 0;
    v->finished = true;
}

bool watch_plain(stream_view *v, const sse_event *e)
{
    v->ping = false;
    if (e->data.n == 0) {
        /* llama.cpp before its change 16486 sent errors as a field of that name. */
        if (str_starts(e->raw, S("error:")))
            watch_error(v, str_trim(str_from(e->raw, 6)));
        else
            v->ping = true;
        return true;
    }
    if (str_eq(str_trim(e->data), S("[DONE]"))) {
        v->began = v->done = true;
        return true;
    }
    if (str_eq(e->event, S("error"))) {
        watch_error(v, e->data);
        return true;
    }
    return false;
}

/* ---- several answers in one stream ---- */

void choice_add(choice_set *set, daruma_str index, size_t nth, bool over)
{
    int64_t at = json_int(index, (int64_t)nth);
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

void watch_choices(stream_view *v, const choice_set *more)
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

bool choices_uneven(const stream_view *v)
{
    bool any = false, open = false;
    for (size_t i = 0; i < CHOICES_MAX / 64; i++) {
        any |= v->set.over[i] != 0;
        open |= v->set.seen[i] != v->set.over[i];
    }
    return v->many && any && open;
}
