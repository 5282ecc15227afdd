/* replay_read.c - reads scenario files: prose is skipped, fenced blocks are the scene. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/replay/replay.h"
#include <stdio.h>

bool replay_wrong(const replay_place *at, const char *what, daruma_str about)
{
    if (!at->why[0])
        snprintf(at->why, 256, "%s:%d: %s%s" STR_FMT "%s", at->file, at->line, what, about.n ? " `" : "",
                 (int)(about.n > 80 ? 80 : about.n), about.p ? about.p : "", about.n ? "`" : "");
    return false;
}

static bool read_line(replay_reader *r, daruma_str *line)
{
    if (!r->rest.n)
        return false;
    *line = str_cut(&r->rest, '\n');
    r->at.line++;
    return true;
}

daruma_ms replay_duration(daruma_str s)
{
    int64_t ms;
    return str_int(s, &ms) ? ms : date_duration(s, NULL);
}

bool replay_word(daruma_str *rest, daruma_str *name, daruma_str *value)
{
    *rest = str_trim(*rest);
    if (!rest->n)
        return false;
    *value = str_cut(rest, ' ');
    *name = str_cut(value, '=');
    return true;
}

daruma_str replay_expand(daruma_str text, uint32_t n, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    size_t at;
    if (str_findch(text, '{') == STR_NONE)
        return text;
    while ((at = str_findch(text, '{')) != STR_NONE) {
        daruma_str rest = str_from(text, at);
        int64_t times = 0;
        buf_put(&out, str_sub(text, 0, at));
        size_t used = str_starts(rest, S("{{")) ? str_scan_int(str_from(rest, 2), &times) : 0;
        size_t end = str_find(rest, S("}}"));
        if (used && end != STR_NONE && end > used + 3 && times <= REPLAY_FILE_BYTES_MAX) {
            for (int64_t i = 0; i < times; i++)
                buf_put(&out, str_sub(rest, used + 3, end - used - 3));
            text = str_from(rest, end + 2);
        } else if (n && str_starts(rest, S("{n}"))) {
            buf_printf(&out, "%u", n);
            text = str_from(rest, 3);
        } else {
            buf_putc(&out, '{');
            text = str_from(rest, 1);
        }
    }
    buf_put(&out, text);
    return buf_str(&out);
}

daruma_str replay_plain(daruma_str text, daruma_arena *a)
{
    return json_is_string(text) && json_valid(text) ? json_text(text, a) : text;
}

/* ---- settings ------------------------------------------------------------------------ */

int replay_word_index(daruma_str v, const char *words)
{
    daruma_str rest = str_of(words), word;
    for (int i = 0; rest.n; i++) {
        word = str_cut(&rest, ' ');
        if (str_eq(v, word))
            return i;
    }
    return -1;
}

/* 1.5 as 1500 thousandths; -1: it is no number. */
static int64_t milli(daruma_str v)
{
    daruma_str part = v, whole = str_cut(&part, '.');
    int64_t n, f = 0, unit = 100;
    if (!str_int(whole, &n) || n < 0 || n > 1000000)
        return -1;
    for (size_t i = 0; i < part.n; i++, unit /= 10) {
        if (!ch_digit(part.p[i]))
            return -1;
        f += (part.p[i] - '0') * unit;
    }
    return n * 1000 + f;
}

static bool read_number(const replay_place *at, daruma_str v, int64_t *ret)
{
    return str_int(v, ret) && *ret <= INT32_MAX ? true : replay_wrong(at, "expected a number, not", v);
}

static bool read_word(const replay_place *at, daruma_str v, const char *words, int *ret)
{
    char what[100];
    snprintf(what, sizeof what, "expected one of the words `%s`, not", words);
    *ret = replay_word_index(v, words);
    return *ret >= 0 ? true : replay_wrong(at, what, v);
}

bool replay_set(const replay_place *at, replay_settings of, daruma_str name, daruma_str v, void *to)
{
    size_t i = 0;
    int word = 0;
    int64_t n = 0;
    while (i < of.n && !str_eq(name, str_of(of.rows[i].name)))
        i++;
    if (i == of.n)
        return replay_wrong(at, of.others, name);
    const replay_setting *row = &of.rows[i];
    void *field = (char *)to + row->at;
    switch (row->type) {
    case REPLAY_SWITCH:
        if (!read_word(at, v, row->words ? row->words : "off on", &word))
            return false;
        *(bool *)field = word == 1;
        return true;
    case REPLAY_WORD:
        return read_word(at, v, row->words, field);
    case REPLAY_NUMBER:
        return read_number(at, v, field);
    case REPLAY_COUNT:
        if (!read_number(at, v, &n) || n < 0)
            return replay_wrong(at, "expected a number, not", v);
        *(uint32_t *)field = (uint32_t)n;
        return true;
    case REPLAY_MILLI:
        n = milli(v);
        *(uint32_t *)field = (uint32_t)n;
        return n >= 0 ? true : replay_wrong(at, "expected a number like 1.5, not", v);
    case REPLAY_DURATION:
        *(daruma_ms *)field = replay_duration(v);
        return *(daruma_ms *)field >= 0 ? true : replay_wrong(at, "expected a duration like 2s or 500ms, not", v);
    case REPLAY_TEXT:
        *(daruma_str *)field = v;
        return true;
    case REPLAY_OWN:
        return row->read(at, v, to);
    }
    return false;
}

bool replay_set_words(const replay_place *at, replay_settings of, daruma_str words, void *to)
{
    daruma_str name, value;
    while (replay_word(&words, &name, &value))
        if (!replay_set(at, of, name, value, to))
            return false;
    return true;
}

/* ---- the policy block --------------------------------------------------------------- */

/* main/m-main k1 a window=1000 */
static bool read_target(const replay_place *at, daruma_str v, void *to)
{
    replay_scene *s = to;
    daruma_str rest = v, where = str_cut(&rest, ' '), name, value;
    if (s->ntargets == DARUMA_CASE_TRIED)
        return replay_wrong(at, "more targets than one case tries", (daruma_str){0});
    daruma_target t = {.provider = str_cut(&where, '/'), .model = where, .window = -1, .max_output = -1};
    if (!t.provider.n || !t.model.n)
        return replay_wrong(at, "expected provider/model [key [account]], not", v);
    while (replay_word(&rest, &name, &value)) {
        if (str_eq(name, S("window"))) {
            if (!read_number(at, value, &t.window))
                return false;
        } else if (str_eq(name, S("reserve"))) {
            t.reserve = str_eq(value, S("on"));
        } else if (!t.key.n) {
            t.key = name;
        } else if (!t.account.n) {
            t.account = name;
        } else {
            return replay_wrong(at, "what is this word of a target?", name);
        }
    }
    t.key = t.key.n ? t.key : S("k1");
    t.account = t.account.n ? t.account : S("a");
    daruma_target_seal(&t);
    s->targets[s->ntargets++] = t;
    return true;
}

/* swarm code, or several, the uppermost first: swarm code, ruby-llm. What is new lives with the scene. */
static bool read_profile(const replay_place *at, daruma_str v, void *to)
{
    replay_scene *s = to;
    s->room = arena_over(s->stack, sizeof s->stack);
    const daruma_policy *p = daruma_policy_stack(v, &s->room);
    if (!p)
        return replay_wrong(at, "there is no profile", v);
    s->profile = v;
    s->policy = *p;
    for (int k = 0; k < DARUMA_KINDS; k++)
        s->policy.kinds[k].backoff.jitter_milli = 0;
    return true;
}

static bool read_jitter(const replay_place *at, daruma_str v, void *to)
{
    replay_scene *s = to;
    int on;
    if (!read_word(at, v, "off on", &on))
        return false;
    for (int k = 0; k < DARUMA_KINDS; k++)
        s->policy.kinds[k].backoff.jitter_milli = on ? 1000 : 0;
    return true;
}

// clang-format off
static const replay_setting policy_rows[] = {
    {"target",                      REPLAY_OWN, .read = read_target},
    {"profile",                     REPLAY_OWN, .read = read_profile},
    {"jitter",                      REPLAY_OWN, .read = read_jitter},
    {"seed",                        REPLAY_NUMBER, REPLAY_AT(replay_scene, seed)},
    {"deadline",                    REPLAY_DURATION, REPLAY_AT(replay_scene, deadline)},
    {"max_wait",                    REPLAY_DURATION, REPLAY_AT(replay_scene, policy.max_wait)},
    {"max_attempts",                REPLAY_COUNT, REPLAY_AT(replay_scene, policy.max_attempts)},
    {"enabled",                     REPLAY_SWITCH, REPLAY_AT(replay_scene, policy.enabled)},
    {"refresh",                     REPLAY_SWITCH, REPLAY_AT(replay_scene, refresh)},
    {"hedge",                       REPLAY_SWITCH, REPLAY_AT(replay_scene, policy.hedge)},
    {"mend",                        REPLAY_SWITCH, REPLAY_AT(replay_scene, policy.mend.enabled)},
    {"side_calls",                  REPLAY_SWITCH, REPLAY_AT(replay_scene, policy.mend.side_calls)},
    {"summarize_on_compress",       REPLAY_SWITCH, REPLAY_AT(replay_scene, policy.mend.summarize_on_compress)},
    {"compression_threshold_chars", REPLAY_NUMBER, REPLAY_AT(replay_scene, policy.mend.compression_threshold_chars)},
    {"max_compress_retries",        REPLAY_COUNT, REPLAY_AT(replay_scene, policy.mend.max_compress_retries)},
    {"orphans",                     REPLAY_SWITCH, REPLAY_AT(replay_scene, policy.mend.prune_orphans), .words = "synthesise prune"},
    {"fields",                      REPLAY_SWITCH, REPLAY_AT(replay_scene, fields)},
    {"sent",                        REPLAY_SWITCH, REPLAY_AT(replay_scene, sent)},
    {"rules",                       REPLAY_SWITCH, REPLAY_AT(replay_scene, rules)},
    {"explain",                     REPLAY_SWITCH, REPLAY_AT(replay_scene, explain)},
    {"watch",                       REPLAY_WORD, REPLAY_AT(replay_scene, watch), .words = "off observe guide enforce"},
    {"key",                         REPLAY_TEXT, REPLAY_AT(replay_scene, key)},
    {"same_max",                    REPLAY_COUNT, REPLAY_AT(replay_scene, policy.watch.same_max)},
    {"tool_max",                    REPLAY_COUNT, REPLAY_AT(replay_scene, policy.watch.tool_max)},
    {"total_max",                   REPLAY_COUNT, REPLAY_AT(replay_scene, policy.watch.total_max)},
    {"shown_max",                   REPLAY_COUNT, REPLAY_AT(replay_scene, policy.watch.shown_max)},
    {"message_chars",               REPLAY_COUNT, REPLAY_AT(replay_scene, policy.watch.message_chars)},
    {"messages",                    REPLAY_SWITCH, REPLAY_AT(replay_scene, messages)},
    {"notices",                     REPLAY_SWITCH, REPLAY_AT(replay_scene, notices)},
    {"counts",                      REPLAY_SWITCH, REPLAY_AT(replay_scene, counts)},
    {"progress",                    REPLAY_SWITCH, REPLAY_AT(replay_scene, progress)},
};
// clang-format on

/* rate_limit: max_attempts=6 delay=2s max_delay=60s */
static const replay_setting kind_rows[] = {
    {"max_attempts", REPLAY_COUNT, REPLAY_AT(daruma_kind_policy, max_attempts)},
    {"delay", REPLAY_DURATION, REPLAY_AT(daruma_kind_policy, backoff.base)},
    {"max_delay", REPLAY_DURATION, REPLAY_AT(daruma_kind_policy, backoff.cap)},
};

static bool read_setting(const replay_place *at, daruma_str name, daruma_str v, replay_scene *s)
{
    bool ok = false;
    daruma_kind kind = daruma_kind_parse(name, &ok);
    if (!ok)
        return replay_set(at, REPLAY_SETTINGS(policy_rows, "unknown setting"), name, v, s);
    return replay_set_words(at, REPLAY_SETTINGS(kind_rows, "a kind has max_attempts, delay and max_delay, not"), v,
                            &s->policy.kinds[kind]);
}

/* ---- blocks ------------------------------------------------------------------------- */

static bool read_policy_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    if (str_findch(line, ':') == STR_NONE)
        return replay_wrong(&r->at, "expected `name: value`, not", line);
    daruma_str name = str_cut(&line, ':');
    return read_setting(&r->at, str_trim(name), str_trim(line), s);
}

/* "3x " before a line: it happens three times. */
static uint32_t cut_times(daruma_str *line)
{
    int64_t times;
    size_t used = str_scan_int(*line, &times);
    if (!used || used + 1 >= line->n || line->p[used] != 'x' || line->p[used + 1] != ' ')
        return 1;
    *line = str_trim(str_from(*line, used + 1));
    return times < 100000 ? (uint32_t)times : 100000;
}

replay_step *replay_step_add(replay_reader *r, daruma_str *line, replay_step *list, size_t *n, size_t max)
{
    if (*n == max) {
        replay_wrong(&r->at, "a block has no room for more lines than stand before", *line);
        return NULL;
    }
    list[*n] = (replay_step){.line = r->at.line, .times = cut_times(line)};
    list[*n].what = *line;
    return &list[(*n)++];
}

/* [3x ][main/m-main[ k1]: ]429 retry-after=2 {...} */
static bool read_upstream_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    replay_step *step = replay_step_add(r, &line, s->steps, &s->nsteps, REPLAY_STEPS_MAX);
    size_t colon = str_find(line, S(": ")), slash = str_findch(line, '/'), brace = str_findch(line, '{');
    if (step && colon != STR_NONE && slash < colon && (brace == STR_NONE || colon < brace)) {
        daruma_str head = str_sub(line, 0, colon);
        step->where = str_cut(&head, ' ');
        step->key = str_trim(head);
        step->what = str_trim(str_from(line, colon + 2));
    }
    return step != NULL;
}

/* [3x ]TOOL ARGUMENTS -> RESULT; replay_steps.c reads the rest of it */
static bool read_steps_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    s->agent = true;
    return replay_step_add(r, &line, s->steps, &s->nsteps, REPLAY_STEPS_MAX) != NULL;
}

static bool read_model_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    if (s->nmodel == REPLAY_MODEL_MAX)
        return replay_wrong(&r->at, "a model block has at most 32 lines", (daruma_str){0});
    s->model[s->nmodel++] = line;
    return true;
}

/* [3x ]allowed|denied|interrupted|expired|resume [took=2s] [TEXT] */
static bool read_people_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    daruma_str name, value;
    replay_step *step = replay_step_add(r, &line, s->people, &s->npeople, REPLAY_MODEL_MAX);
    if (!step)
        return false;
    step->where = str_cut(&line, ' ');
    line = str_trim(line);
    if (str_starts(line, S("took=")) && replay_word(&line, &name, &value))
        step->took = replay_duration(value);
    step->what = str_trim(line);
    return replay_word_index(step->where, REPLAY_PEOPLE) >= 0 ||
           replay_wrong(&r->at, "a person says one of the words " REPLAY_PEOPLE ", not", step->where);
}

static bool read_agent_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    return replay_agent_line(&r->at, line, &s->agents[s->nagents - 1]);
}

/* The words behind "agent": its name. The first one may have none. */
static bool begin_agent(replay_reader *r, daruma_str name, replay_scene *s)
{
    if (s->nagents == REPLAY_AGENTS_MAX)
        return replay_wrong(&r->at, "a scene has at most 4 agents, without", name);
    s->agents[s->nagents++] = (replay_agent_told){
        .name = name, .task = S("Report."), .retry.delay = -1, .setup = {.name = name, .model = S("m-main")}};
    return true;
}

/* The words behind "request": the dialect of the body, and perhaps that its answer shall be a stream. */
static bool begin_request(replay_reader *r, daruma_str about, replay_scene *s)
{
    daruma_str name = str_cut(&about, ' ');
    s->stream = str_eq(str_trim(about), S("stream"));
    s->dialect = dialect_find(name);
    s->body_line = r->at.line + 1;
    return s->dialect || replay_wrong(&r->at, "a request block names its dialect: openai, anthropic, ..., not", name);
}

/* Requests of a client, and steps of an agent that is not ours, are two kinds of scenes. */
static bool begin_script(replay_reader *r, daruma_str about, replay_scene *s)
{
    (void)about;
    return !s->nsteps || s->agent ||
           replay_wrong(&r->at, "a scene has calls of a model or steps of an agent, not both", (daruma_str){0});
}

static bool begin_upstream(replay_reader *r, daruma_str about, replay_scene *s)
{
    (void)about;
    return !s->agent ||
           replay_wrong(&r->at, "a scene has calls of a model or steps of an agent, not both", (daruma_str){0});
}

static bool begin_expect(replay_reader *r, daruma_str about, replay_scene *s)
{
    (void)about;
    s->expect_line = r->at.line + 1;
    return true;
}

/* A kind of block: what stands behind its name, each of its lines, or all of them as they are. */
static const struct block {
    daruma_str name;
    bool (*begin)(replay_reader *r, daruma_str about, replay_scene *s);
    bool (*line)(replay_reader *r, daruma_str line, replay_scene *s);
    size_t whole;  /* where they go as they are; 0: nowhere */
    bool comments; /* lines that begin with '#' are none */
} blocks[] = {
    {LIT("policy"), NULL, read_policy_line, 0, true},
    {LIT("upstream"), begin_upstream, read_upstream_line, 0, true},
    {LIT("steps"), begin_script, read_steps_line, 0, true},
    {LIT("expect"), begin_expect, NULL, offsetof(replay_scene, expect), false},
    {LIT("model"), NULL, read_model_line, 0, false},
    {LIT("request"), begin_request, NULL, offsetof(replay_scene, body), false},
    {LIT("tools"), NULL, replay_tool_line, 0, false},
    {LIT("agent"), begin_agent, read_agent_line, 0, true},
    {LIT("people"), NULL, read_people_line, 0, false},
};

static const struct block *block_named(replay_reader *r, daruma_str name)
{
    for (size_t i = 0; i < COUNT(blocks); i++)
        if (str_eq(name, blocks[i].name))
            return &blocks[i];
    replay_wrong(&r->at, "a block is policy, agent, request, model, tools, people, upstream, steps or expect, not",
                 name.n ? name : S("(nothing)"));
    return NULL;
}

static bool read_block(replay_reader *r, const struct block *b, replay_scene *s)
{
    daruma_str line, from = r->rest;
    int begun = r->at.line;
    while (read_line(r, &line)) {
        if (str_starts(line, S("```"))) {
            if (b->whole)
                *(daruma_str *)((char *)s + b->whole) = (daruma_str){from.p, (size_t)(line.p - from.p)};
            return true;
        }
        line = str_trim(line);
        if (b->line && line.n && !(b->comments && line.p[0] == '#') && !b->line(r, line, s))
            return false;
    }
    r->at.line = begun;
    return replay_wrong(&r->at, "this block is not closed", (daruma_str){0});
}

replay_reader replay_open(const char *file, daruma_str text, char why[256])
{
    why[0] = 0;
    return (replay_reader){.at = {.file = file, .why = why}, .rest = text};
}

bool replay_next(replay_reader *r, replay_scene *ret)
{
    daruma_str line;
    bool begun = false;
    *ret = (replay_scene){
        .file = r->at.file, .deadline = -1, .seed = 1, .dialect = &dialect_openai, .watch = DARUMA_WATCH_GUIDE};
    read_profile(&r->at, S("default"), ret);
    while (read_line(r, &line)) {
        if (str_starts(line, S("#")) && !begun) {
            while (line.n && line.p[0] == '#')
                line = str_from(line, 1);
            r->title = str_trim(line);
        }
        if (!str_starts(line, S("```")))
            continue;
        begun = true;
        daruma_str about = str_trim(str_from(line, 3)), name = str_cut(&about, ' ');
        const struct block *b = block_named(r, name);
        if (!b || (b->begin && !b->begin(r, str_trim(about), ret)) || !read_block(r, b, ret))
            return false;
        if (ret->expect.p) {
            ret->title = r->title;
            if (!ret->ntargets)
                read_target(&r->at, S("main/m-main"), ret);
            return true;
        }
    }
    return begun && replay_wrong(&r->at, "the last scene has no expect block", (daruma_str){0});
}
