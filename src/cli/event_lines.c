/* event_lines.c - see event_lines.h. A line is found by what it has, not by its event's name: profiles have names of
 * their own (doc/events.md). */
#include "cli/event_lines.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/json.h"
#include "base/str.h"
#include "sys/sys.h"
#include <errno.h>
#include <stdlib.h>

enum { LINE_MAX_BYTES = 256 << 10 }; /* an event has 16 KiB at most (EVENT_LINE_MAX) */

bool event_lines_open(event_lines *l, const char *command, const char *file, int64_t since)
{
    *l = (event_lines){.command = command, .name = file, .since = since};
    l->in = strcmp(file, "-") == 0 ? stdin : fopen(file, "rbe");
    l->room = l->in ? malloc(LINE_MAX_BYTES) : NULL;
    if (l->room)
        return true;
    fprintf(stderr, "daruma %s: %s: %s\n", command, file, strerror(errno));
    if (errno == ENOENT)
        fprintf(stderr, "Name the event file; `events: { file: ... }` in the configuration says where it is.\n");
    return false;
}

/* The next line without its end; what is longer than the room comes as one empty line. */
static bool next_line(event_lines *l, daruma_str *ret)
{
    bool too_long = false;
    for (;;) {
        char *at = l->room + l->at, *end = memchr(at, '\n', l->n - l->at);
        size_t n = end ? (size_t)(end - at) : l->n - l->at;
        if (end || l->end) {
            *ret = (daruma_str){at, too_long ? 0 : n};
            l->at += n + (end != NULL);
            l->line++;
            return end || n || too_long;
        }
        if (l->at == 0 && l->n == LINE_MAX_BYTES) { /* no end in sight: what follows is part of it */
            too_long = true;
            l->n = 0;
        }
        memmove(l->room, l->room + l->at, l->n - l->at);
        l->n -= l->at;
        l->at = 0;
        size_t got = fread(l->room + l->n, 1, LINE_MAX_BYTES - l->n, l->in);
        l->end = got == 0;
        l->n += got;
    }
}

/* "1.5" as billionths. */
static int64_t cost_of(daruma_str s)
{
    int64_t v = 0;
    int behind = -1;
    for (size_t i = 0; i < s.n && behind < 9; i++) {
        if (s.p[i] == '.' && behind < 0) {
            behind = 0;
            continue;
        }
        if (!ch_digit(s.p[i]))
            return -1;
        v = add_sat(mul_sat(v, 10), s.p[i] - '0');
        behind += behind >= 0;
    }
    for (behind = behind < 0 ? 0 : behind; behind < 9; behind++)
        v = mul_sat(v, 10);
    return s.n ? v : -1;
}

static void read_member(event_seen *e, daruma_str key, daruma_str value, daruma_arena *a)
{
    const struct {
        daruma_str name;
        daruma_str *text;
    } texts[] = {
        {LIT("event"), &e->event},       {LIT("ts"), &e->ts},           {LIT("case"), &e->id},
        {LIT("kind"), &e->kind},         {LIT("model"), &e->model},     {LIT("provider"), &e->provider},
        {LIT("asked"), &e->asked},       {LIT("target"), &e->target},   {LIT("client"), &e->client},
        {LIT("remedy"), &e->remedy},     {LIT("reason"), &e->reason},   {LIT("outcome"), &e->outcome},
        {LIT("severity"), &e->severity}, {LIT("late_by"), &e->late_by}, {LIT("late_words"), &e->late_words},
    };
    const struct {
        daruma_str name;
        int64_t *number;
    } numbers[] = {
        {LIT("took_ms"), &e->took},    {LIT("delay_ms"), &e->delay},
        {LIT("attempt"), &e->attempt}, {LIT("attempts"), &e->attempts},
        {LIT("status"), &e->status},   {LIT("max_attempts"), &e->max_attempts},
        {LIT("lost"), &e->lost},       {LIT("input_tokens"), &e->input_tokens},
        {LIT("ms"), &e->ms},           {LIT("output_tokens"), &e->output_tokens},
        {LIT("calls"), &e->calls},     {LIT("late_ms"), &e->late},
    };
    for (size_t i = 0; i < COUNT(texts) && json_is_string(value); i++)
        if (str_eq(key, texts[i].name))
            *texts[i].text = json_text(value, a);
    for (size_t i = 0; i < COUNT(numbers) && json_is_number(value); i++)
        if (str_eq(key, numbers[i].name))
            *numbers[i].number = json_int(value, -1);
    if (str_eq(key, S("cost")))
        e->cost = cost_of(value);
}

/* False: it is no line of ours. */
static bool read_line(event_lines *l, daruma_str line, event_seen *e)
{
    daruma_arena a = arena_over(l->text, sizeof l->text);
    daruma_str key, value;
    if (!json_is_object(line) || !json_valid(line))
        return false;
    *e = (event_seen){.took = -1,
                      .delay = -1,
                      .attempt = -1,
                      .attempts = -1,
                      .max_attempts = -1,
                      .status = -1,
                      .input_tokens = -1,
                      .output_tokens = -1,
                      .lost = -1,
                      .ms = -1,
                      .calls = -1,
                      .late = -1,
                      .cost = -1};
    json_iter it = json_open(line);
    while (json_next(&it, &key, &value))
        read_member(e, key, value, &a);
    e->wall = date_rfc3339(e->ts);
    bool usage = e->calls >= 0 && e->ms >= 0, lost = e->lost >= 0;
    return e->event.n || usage || lost;
}

bool event_lines_next(event_lines *l, event_seen *ret)
{
    daruma_str line;
    while (next_line(l, &line)) {
        bool read = read_line(l, line, ret);
        if (!read && l->bad < EVENT_BAD_SHOWN)
            l->bad_at[l->bad] = l->line;
        l->bad += !read;
        if (read && (!l->since || ret->wall >= l->since))
            return true;
    }
    return false;
}

bool event_lines_close(event_lines *l)
{
    bool broken = ferror(l->in);
    if (broken)
        fprintf(stderr, "daruma %s: %s: it could not be read to its end: %s\n", l->command, l->name, strerror(errno));
    if (l->in != stdin)
        fclose(l->in);
    free(l->room);
    if (!l->bad)
        return !broken;
    fprintf(stderr, "daruma %s: %s: %llu line%s no event and left out: ", l->command, l->name,
            (unsigned long long)l->bad, l->bad == 1 ? " is" : "s are");
    for (size_t i = 0; i < l->bad && i < EVENT_BAD_SHOWN; i++)
        fprintf(stderr, "%s%llu", i ? ", " : "line ", (unsigned long long)l->bad_at[i]);
    fprintf(stderr, "%s\n", l->bad > EVENT_BAD_SHOWN ? " and more" : "");
    return !broken;
}

bool event_is_failure(const event_seen *e)
{
    return e->kind.n && e->took >= 0 && e->attempt >= 0 && !e->remedy.n && !e->outcome.n;
}

bool event_is_retry(const event_seen *e)
{
    return e->remedy.n && e->attempt >= 0 && e->max_attempts >= 0 && !e->outcome.n;
}

bool event_since(const char *command, const char *text, int64_t *ret)
{
    daruma_str s = str_of(text);
    char whole[24];
    *ret = 0;
    if (!text)
        return true;
    int64_t ago = date_duration(s, NULL), at = date_rfc3339(s);
    if (s.n == 10) { /* a day */
        snprintf(whole, sizeof whole, "%.10sT00:00:00Z", text);
        at = date_rfc3339(str_of(whole));
    }
    if (ago >= 0 && ago <= INT64_C(3650) * 86400000)
        *ret = sys_moment().wall * 1000 - ago;
    else
        *ret = at;
    if (*ret >= 0)
        return true;
    fprintf(stderr, "daruma %s: --since %s is no time; write how long ago (7d, 12h, 30min) or a day (2026-01-31)\n",
            command, text);
    return false;
}

void event_put_cost(daruma_buf *out, int64_t cost)
{
    int64_t micro = (cost + 500) / 1000;
    int places = 6;
    int64_t rest = micro % 1000000;
    for (; places > 2 && rest % 10 == 0; rest /= 10)
        places--;
    buf_printf(out, "%lld.%0*lld", (long long)(micro / 1000000), places, (long long)rest);
}
