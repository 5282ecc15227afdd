/* replay_read.c - reads scenario files: prose is skipped, fenced blocks are the scene. */
#include "cli/replay.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"
#include <stdio.h>

bool replay_wrong(replay_reader *r, const char *what, daruma_str about)
{
    snprintf(r->why, sizeof r->why, "%s:%d: %s%s" STR_FMT "%s", r->file, r->line, what, about.n ? " `" : "",
             (int)(about.n > 80 ? 80 : about.n), about.p ? about.p : "", about.n ? "`" : "");
    return false;
}

static bool read_line(replay_reader *r, daruma_str *line)
{
    if (!r->rest.n)
        return false;
    *line = str_cut(&r->rest, '\n');
    r->line++;
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

/* ---- the policy block --------------------------------------------------------------- */

static bool read_number(replay_reader *r, daruma_str v, int64_t *ret)
{
    return str_int(v, ret) && *ret <= INT32_MAX ? true : replay_wrong(r, "expected a number, not", v);
}

static bool read_ms(replay_reader *r, daruma_str v, daruma_ms *ret)
{
    *ret = replay_duration(v);
    return *ret >= 0 ? true : replay_wrong(r, "expected a duration like 2s or 500ms, not", v);
}

/* The place of `v` in a list of words with blanks between; -1: it is none of them. */
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

/* main/m-main k1 a window=1000 */
static bool read_target(replay_reader *r, daruma_str v, replay_scene *s)
{
    daruma_str rest = v, where = str_cut(&rest, ' '), name, value;
    if (s->ntargets == DARUMA_CASE_TRIED)
        return replay_wrong(r, "more targets than one case tries", (daruma_str){0});
    daruma_target t = {.provider = str_cut(&where, '/'), .model = where, .window = -1, .max_output = -1};
    if (!t.provider.n || !t.model.n)
        return replay_wrong(r, "expected provider/model [key [account]], not", v);
    while (replay_word(&rest, &name, &value)) {
        if (str_eq(name, S("window"))) {
            if (!read_number(r, value, &t.window))
                return false;
        } else if (str_eq(name, S("reserve"))) {
            t.reserve = str_eq(value, S("on"));
        } else if (!t.key.n) {
            t.key = name;
        } else if (!t.account.n) {
            t.account = name;
        } else {
            return replay_wrong(r, "what is this word of a target?", name);
        }
    }
    t.key = t.key.n ? t.key : S("k1");
    t.account = t.account.n ? t.account : S("a");
    daruma_target_seal(&t);
    s->targets[s->ntargets++] = t;
    return true;
}

/* rate_limit: max_attempts=6 delay=2s max_delay=60s */
static bool read_kind(replay_reader *r, daruma_str v, daruma_kind_policy *k)
{
    daruma_str name, value;
    while (replay_word(&v, &name, &value)) {
        int64_t n = 0;
        if (str_eq(name, S("max_attempts"))) {
            if (!read_number(r, value, &n))
                return false;
            k->max_attempts = (uint32_t)n;
        } else if (str_eq(name, S("delay"))) {
            if (!read_ms(r, value, &k->backoff.base))
                return false;
        } else if (str_eq(name, S("max_delay"))) {
            if (!read_ms(r, value, &k->backoff.cap))
                return false;
        } else {
            return replay_wrong(r, "a kind has max_attempts, delay and max_delay, not", name);
        }
    }
    return true;
}

/* swarm code, or several, the uppermost first: swarm code, ruby-llm. What is new lives with the reader. */
static bool read_profile(replay_reader *r, daruma_str v, replay_scene *s)
{
    r->room = arena_over(r->stack, sizeof r->stack); /* one scene at a time */
    const daruma_policy *p = daruma_policy_stack(v, &r->room);
    if (!p)
        return replay_wrong(r, "there is no profile", v);
    s->profile = v;
    s->policy = *p;
    for (int k = 0; k < DARUMA_KINDS; k++)
        s->policy.kinds[k].backoff.jitter_milli = 0;
    return true;
}

static bool read_jitter(replay_reader *r, daruma_str v, replay_scene *s)
{
    int on = replay_word_index(v, "off on");
    for (int k = 0; k < DARUMA_KINDS; k++)
        s->policy.kinds[k].backoff.jitter_milli = on > 0 ? 1000 : 0;
    return on >= 0 ? true : replay_wrong(r, "expected off or on, not", v);
}

typedef enum setting_type { SWITCH, NUMBER, COUNTED, DURATION, TEXT, WORD, OWN } setting_type;

#define AT(member) offsetof(replay_scene, member)
// clang-format off
static const struct {
    const char *name;
    setting_type type;
    size_t at;
    const char *words; /* of WORD: its value is the place of one of them */
    bool (*read)(replay_reader *r, daruma_str v, replay_scene *s);
} settings[] = {
    {"target",                      OWN,      0, NULL, read_target},
    {"profile",                     OWN,      0, NULL, read_profile},
    {"jitter",                      OWN,      0, NULL, read_jitter},
    {"seed",                        NUMBER,   AT(seed), NULL, NULL},
    {"deadline",                    DURATION, AT(deadline), NULL, NULL},
    {"max_wait",                    DURATION, AT(policy.max_wait), NULL, NULL},
    {"max_attempts",                COUNTED,  AT(policy.max_attempts), NULL, NULL},
    {"enabled",                     SWITCH,   AT(policy.enabled), NULL, NULL},
    {"refresh",                     SWITCH,   AT(refresh), NULL, NULL},
    {"hedge",                       SWITCH,   AT(policy.hedge), NULL, NULL},
    {"mend",                        SWITCH,   AT(policy.mend.enabled), NULL, NULL},
    {"side_calls",                  SWITCH,   AT(policy.mend.side_calls), NULL, NULL},
    {"summarize_on_compress",       SWITCH,   AT(policy.mend.summarize_on_compress), NULL, NULL},
    {"compression_threshold_chars", NUMBER,   AT(policy.mend.compression_threshold_chars), NULL, NULL},
    {"max_compress_retries",        COUNTED,  AT(policy.mend.max_compress_retries), NULL, NULL},
    {"orphans",                     SWITCH,   AT(policy.mend.prune_orphans), "synthesise prune", NULL},
    {"fields",                      SWITCH,   AT(fields), NULL, NULL},
    {"sent",                        SWITCH,   AT(sent), NULL, NULL},
    {"rules",                       SWITCH,   AT(rules), NULL, NULL},
    {"explain",                     SWITCH,   AT(explain), NULL, NULL},
    {"watch",                       WORD,     AT(watch), "off observe guide enforce", NULL},
    {"key",                         TEXT,     AT(key), NULL, NULL},
    {"same_max",                    COUNTED,  AT(policy.watch.same_max), NULL, NULL},
    {"tool_max",                    COUNTED,  AT(policy.watch.tool_max), NULL, NULL},
    {"total_max",                   COUNTED,  AT(policy.watch.total_max), NULL, NULL},
    {"shown_max",                   COUNTED,  AT(policy.watch.shown_max), NULL, NULL},
    {"message_chars",               COUNTED,  AT(policy.watch.message_chars), NULL, NULL},
    {"messages",                    SWITCH,   AT(messages), NULL, NULL},
    {"notices",                     SWITCH,   AT(notices), NULL, NULL},
    {"counts",                      SWITCH,   AT(counts), NULL, NULL},
    {"progress",                    SWITCH,   AT(progress), NULL, NULL},
};
// clang-format on
#undef AT

static bool read_setting(replay_reader *r, daruma_str name, daruma_str v, replay_scene *s)
{
    bool ok = false;
    size_t i = 0;
    int64_t n = 0;
    daruma_kind kind = daruma_kind_parse(name, &ok);
    if (ok)
        return read_kind(r, v, &s->policy.kinds[kind]);
    while (i < COUNT(settings) && !str_eq(name, str_of(settings[i].name)))
        i++;
    if (i == COUNT(settings))
        return replay_wrong(r, "unknown setting", name);
    void *at = (char *)s + settings[i].at;
    const char *words = settings[i].words ? settings[i].words : "off on";
    int word = replay_word_index(v, words);
    switch (settings[i].type) {
    case SWITCH:
    case WORD:
        if (word < 0) {
            snprintf(r->why, sizeof r->why, "%s:%d: expected one of the words `%s`, not `" STR_FMT "`", r->file,
                     r->line, words, (int)(v.n > 80 ? 80 : v.n), v.p);
            return false;
        }
        if (settings[i].type == WORD)
            *(int *)at = word;
        else
            *(bool *)at = word == 1;
        return true;
    case NUMBER:
        return read_number(r, v, at);
    case COUNTED:
        if (!read_number(r, v, &n))
            return false;
        *(uint32_t *)at = (uint32_t)n;
        return true;
    case DURATION:
        return read_ms(r, v, at);
    case TEXT:
        *(daruma_str *)at = v;
        return true;
    case OWN:
        return settings[i].read(r, v, s);
    }
    return false;
}

/* ---- blocks ------------------------------------------------------------------------- */

static bool read_policy_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    line = str_trim(line);
    if (!line.n || line.p[0] == '#')
        return true;
    if (str_findch(line, ':') == STR_NONE)
        return replay_wrong(r, "expected `name: value`, not", line);
    daruma_str name = str_cut(&line, ':');
    return read_setting(r, str_trim(name), str_trim(line), s);
}

/* "3x " before a line: it happens three times. */
uint32_t replay_times(daruma_str *line)
{
    int64_t times;
    size_t used = str_scan_int(*line, &times);
    if (!used || used + 1 >= line->n || line->p[used] != 'x' || line->p[used + 1] != ' ')
        return 1;
    *line = str_trim(str_from(*line, used + 1));
    return times < 100000 ? (uint32_t)times : 100000;
}

/* [3x ][main/m-main[ k1]: ]429 retry-after=2 {...} */
static bool read_upstream_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    line = str_trim(line);
    if (!line.n || line.p[0] == '#')
        return true;
    if (s->nsteps == REPLAY_STEPS_MAX)
        return replay_wrong(r, "an upstream block has at most 256 lines", (daruma_str){0});
    replay_step step = {.line = r->line, .times = replay_times(&line)};
    size_t colon = str_find(line, S(": ")), slash = str_findch(line, '/'), brace = str_findch(line, '{');
    if (colon != STR_NONE && slash < colon && (brace == STR_NONE || colon < brace)) {
        daruma_str head = str_sub(line, 0, colon);
        step.where = str_cut(&head, ' ');
        step.key = str_trim(head);
        line = str_trim(str_from(line, colon + 2));
    }
    step.what = line;
    s->steps[s->nsteps++] = step;
    return true;
}

/* [3x ]TOOL ARGUMENTS -> RESULT; replay_steps.c reads the rest of it */
static bool read_agent_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    line = str_trim(line);
    if (!line.n || line.p[0] == '#')
        return true;
    if (s->nsteps == REPLAY_STEPS_MAX)
        return replay_wrong(r, "a steps block has at most 256 lines", (daruma_str){0});
    replay_step step = {.line = r->line, .times = replay_times(&line)};
    step.what = line;
    s->steps[s->nsteps++] = step;
    s->agent = true;
    return true;
}

typedef enum block { PROSE, POLICY, UPSTREAM, STEPS, EXPECT, MODEL, REQUEST, TOOLS, AGENT, PEOPLE } block;

static bool block_named(replay_reader *r, daruma_str name, block *ret)
{
    static const struct {
        daruma_str name;
        block block;
    } blocks[] = {{LIT("policy"), POLICY}, {LIT("upstream"), UPSTREAM}, {LIT("steps"), STEPS},
                  {LIT("expect"), EXPECT}, {LIT("model"), MODEL},       {LIT("request"), REQUEST},
                  {LIT("tools"), TOOLS},   {LIT("agent"), AGENT},       {LIT("people"), PEOPLE}};
    for (size_t i = 0; i < COUNT(blocks); i++)
        if (str_eq(name, blocks[i].name)) {
            *ret = blocks[i].block;
            return true;
        }
    return replay_wrong(r, "a block is policy, agent, request, model, tools, people, upstream, steps or expect, not",
                        name.n ? name : S("(nothing)"));
}

static bool read_model_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    line = str_trim(line);
    if (!line.n)
        return true;
    if (s->nmodel == REPLAY_MODEL_MAX)
        return replay_wrong(r, "a model block has at most 32 lines", (daruma_str){0});
    s->model[s->nmodel++] = line;
    return true;
}

/* [3x ]allowed|denied|interrupted|expired|resume [took=2s] [TEXT] */
static bool read_people_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    daruma_str name, value;
    if (s->npeople == REPLAY_MODEL_MAX)
        return replay_wrong(r, "a people block has at most 32 lines", (daruma_str){0});
    replay_step step = {.line = r->line, .times = replay_times(&line)};
    step.where = str_cut(&line, ' ');
    line = str_trim(line);
    if (str_starts(line, S("took=")) && replay_word(&line, &name, &value))
        step.took = replay_duration(value);
    step.what = str_trim(line);
    s->people[s->npeople++] = step;
    return replay_word_index(step.where, "allowed denied interrupted expired resume") >= 0
               ? true
               : replay_wrong(r, "a person says allowed, denied, interrupted, expired or resume, not", step.where);
}

/* The words behind "agent": its name. The first one may have none. */
static bool begin_agent(replay_reader *r, daruma_str name, replay_scene *s)
{
    if (s->nagents == REPLAY_AGENTS_MAX)
        return replay_wrong(r, "a scene has at most 4 agents, without", name);
    s->agents[s->nagents++] =
        (replay_agent_told){.name = name, .task = S("Report."), .setup = {.name = name, .model = S("m-main")}};
    return true;
}

/* The words behind "request": the dialect of the body, and perhaps that its answer shall be a stream. */
static bool read_dialect(replay_reader *r, daruma_str about, replay_scene *s)
{
    daruma_str name = str_cut(&about, ' ');
    s->stream = str_eq(str_trim(about), S("stream"));
    s->dialect = dialect_find(name);
    s->body_line = r->line + 1;
    return s->dialect ? true : replay_wrong(r, "a request block names its dialect: openai, anthropic, ..., not", name);
}

static bool read_block(replay_reader *r, block b, replay_scene *s)
{
    daruma_str line, from = r->rest;
    int begun = r->line;
    if (s->nsteps && (b == STEPS ? !s->agent : b == UPSTREAM && s->agent))
        return replay_wrong(r, "a scene has calls of a model or steps of an agent, not both", (daruma_str){0});
    s->expect_line = b == EXPECT ? r->line + 1 : s->expect_line;
    while (read_line(r, &line)) {
        if (str_starts(line, S("```"))) {
            daruma_str held = {from.p, (size_t)(line.p - from.p)};
            if (b == EXPECT)
                s->expect = held;
            if (b == REQUEST)
                s->body = held;
            return true;
        }
        if (b == POLICY && !read_policy_line(r, line, s))
            return false;
        if (b == UPSTREAM && !read_upstream_line(r, line, s))
            return false;
        if (b == STEPS && !read_agent_line(r, line, s))
            return false;
        if (b == MODEL && !read_model_line(r, line, s))
            return false;
        line = str_trim(line);
        if (b == TOOLS && line.n && !replay_tool_line(r, line, s))
            return false;
        if (b == PEOPLE && line.n && !read_people_line(r, line, s))
            return false;
        if (b == AGENT && !replay_agent_line(r, line, &s->agents[s->nagents - 1]))
            return false;
    }
    r->line = begun;
    return replay_wrong(r, "this block is not closed", (daruma_str){0});
}

replay_reader replay_open(const char *file, daruma_str text)
{
    return (replay_reader){.file = file, .text = text, .rest = text};
}

bool replay_next(replay_reader *r, replay_scene *ret)
{
    daruma_str line;
    bool begun = false;
    *ret = (replay_scene){
        .file = r->file, .deadline = -1, .seed = 1, .dialect = &dialect_openai, .watch = DARUMA_WATCH_GUIDE};
    read_setting(r, S("profile"), S("default"), ret);
    while (read_line(r, &line)) {
        block b = PROSE;
        if (str_starts(line, S("#")) && !begun) {
            while (line.n && line.p[0] == '#')
                line = str_from(line, 1);
            r->title = str_trim(line);
        }
        if (!str_starts(line, S("```")))
            continue;
        begun = true;
        daruma_str about = str_trim(str_from(line, 3)), name = str_cut(&about, ' ');
        if (!block_named(r, name, &b) || (b == REQUEST && !read_dialect(r, str_trim(about), ret)) ||
            (b == AGENT && !begin_agent(r, str_trim(about), ret)) || !read_block(r, b, ret))
            return false;
        if (b == EXPECT) {
            ret->title = r->title;
            if (!ret->ntargets)
                read_target(r, S("main/m-main"), ret);
            return true;
        }
    }
    return begun ? replay_wrong(r, "the last scene has no expect block", (daruma_str){0}) : false;
}
