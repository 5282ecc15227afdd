#include "base/arena.h"
#include "base/buf.h"
#include "base/fair.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/record.h"
#include "base/str.h"
#include "engine/mend/request/lesson.h"
#include "base/utf8.h"
#include "engine/mend/value.h"

bool place_push(place *p, daruma_str step)
{
    if (p->n + step.n + 1 >= sizeof p->path)
        return false;
    if (p->n)
        p->path[p->n++] = '.';
    memcpy(p->path + p->n, step.p, step.n);
    p->n += step.n;
    p->path[p->n] = 0;
    return true;
}

daruma_str path_last(daruma_str path)
{
    size_t n = path.n;
    while (n && path.p[n - 1] != '.')
        n--;
    return str_from(path, n);
}

bool lesson_make(mend_lesson *l, patch_op op, daruma_str path, daruma_str value)
{
    if (!path.n || path.n >= sizeof l->path || value.n >= sizeof l->value)
        return false;
    *l = (mend_lesson){.op = op};
    memcpy(l->path, path.p, path.n);
    if (value.n)
        memcpy(l->value, value.p, value.n);
    return true;
}

/* ---- what a value becomes ---- */

/* Efforts, least first: of those that a model takes the highest that is not above the one asked for. */
static int effort_rank(daruma_str word)
{
    static const char *const efforts[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
    for (int i = 0; i < (int)COUNT(efforts); i++)
        if (str_ieq(word, str_of(efforts[i])))
            return i;
    return -1;
}

static daruma_str quoted(daruma_str text, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_json(&b, text);
    return b.full ? (daruma_str){0} : buf_str(&b);
}

static daruma_str one_of(daruma_str list, daruma_str value, daruma_arena *a)
{
    daruma_str word, best = {0}, least = {0}, text = json_text(value, a);
    int asked = effort_rank(text), high = -1, low = 99;
    if (!json_is_string(value))
        return (daruma_str){0};
    while (list.n) {
        word = str_cut(&list, ',');
        int rank = effort_rank(word);
        if (str_eq(word, text))
            return (daruma_str){0};
        if (rank >= 0 && rank <= asked && rank > high) {
            high = rank;
            best = word;
        }
        if (rank >= 0 && rank < low) {
            low = rank;
            least = word;
        }
    }
    return asked < 0 ? (daruma_str){0} : quoted(best.n ? best : least, a);
}

static daruma_str between(daruma_str rule, daruma_str value)
{
    size_t at = str_find(rule, S(".."));
    daruma_str low = str_sub(rule, 0, at), high = str_from(rule, at + 2);
    if (!json_is_number(value))
        return (daruma_str){0};
    if (high.n && number_compare(value, high) == 1)
        return high;
    return low.n && number_compare(value, low) == -1 ? low : (daruma_str){0};
}

static daruma_str shortened(int64_t max, daruma_str value, daruma_arena *a)
{
    daruma_str text = json_text(value, a);
    size_t n = utf8_bytes(text, (size_t)max);
    return json_is_string(value) && n < text.n ? quoted(str_sub(text, 0, n), a) : (daruma_str){0};
}

static daruma_str fewer(int64_t max, daruma_str value, daruma_arena *a)
{
    daruma_str v;
    daruma_buf b = buf_in(a);
    int64_t n = 0;
    if (!json_is_array(value) || (int64_t)json_count(value) <= max)
        return (daruma_str){0};
    buf_putc(&b, '[');
    for (json_iter it = json_open(value); n < max && json_next(&it, NULL, &v); n++) {
        buf_comma(&b);
        buf_put(&b, v);
    }
    buf_putc(&b, ']');
    return b.full ? (daruma_str){0} : buf_str(&b);
}

daruma_str lesson_value(daruma_str rule, daruma_str value, daruma_arena *a)
{
    int64_t n;
    if (str_starts(rule, S("=")))
        return value.n && value_same(value, str_from(rule, 1)) ? (daruma_str){0} : str_from(rule, 1);
    if (str_starts(rule, S("in:")))
        return one_of(str_from(rule, 3), value, a);
    if (str_starts(rule, S("len:")))
        return str_int(str_from(rule, 4), &n) ? shortened(n, value, a) : (daruma_str){0};
    if (str_starts(rule, S("count:")))
        return str_int(str_from(rule, 6), &n) ? fewer(n, value, a) : (daruma_str){0};
    return str_find(rule, S("..")) == STR_NONE ? (daruma_str){0} : between(rule, value);
}

/* ---- carrying it out ---- */

/* What the body has at a path after the patches that are there: what SET said last, nothing when it is gone. */
static daruma_str now(const convo *c, daruma_str path, daruma_str value)
{
    const convo_patch *p = convo_patch_of(c, path, false), *renamed = convo_patch_of(c, path, true);
    if (renamed && (!p || renamed > p))
        return (daruma_str){0};
    return !p ? value : p->op == PATCH_SET ? p->value : (daruma_str){0};
}

/* The value of a member that got the name at the end of `path` by an earlier lesson. */
static daruma_str renamed_to(const convo *c, daruma_str object, daruma_str path)
{
    daruma_str name = path_last(path);
    for (size_t i = 0; i < c->npatches; i++) {
        const convo_patch *p = &c->patches[i];
        daruma_str old = path_last(p->path);
        if (p->op == PATCH_RENAME && str_eq(p->value, name) &&
            str_eq(str_sub(p->path, 0, p->path.n - old.n), str_sub(path, 0, path.n - name.n)))
            return json_get(object, old);
    }
    return (daruma_str){0};
}

/* The settings say it as well: a request that moves to another dialect is written from them. */
static void tell_settings(convo *c, const mend_lesson *l, daruma_str path, daruma_str value)
{
    const struct {
        const char *name;
        daruma_str *at;
    } raw[] = {{"temperature", &c->set.temperature},
               {"top_p", &c->set.top_p},
               {"top_k", &c->set.top_k},
               {"seed", &c->set.seed},
               {"frequency_penalty", &c->set.frequency_penalty},
               {"presence_penalty", &c->set.presence_penalty},
               {"stop", &c->set.stop},
               {"stop_sequences", &c->set.stop}};
    daruma_str name = path_last(path);
    if (str_eq(path, c->set.max_output_path)) {
        if (l->op == PATCH_RENAME) {
            daruma_buf b = buf_in(c->arena);
            BUF_SAY(&b, str_sub(path, 0, path.n - name.n), value);
            c->set.max_output_path = buf_str(&b);
        } else {
            c->set.max_output = l->op == PATCH_SET ? json_int(value, c->set.max_output) : -1;
        }
    }
    for (size_t i = 0; i < COUNT(raw); i++)
        if (l->op != PATCH_RENAME && name_same(name, str_of(raw[i].name)))
            *raw[i].at = value;
    if (l->op != PATCH_RENAME && (name_same(name, S("reasoning_effort")) || name_same(name, S("effort"))))
        c->set.effort = json_text(value, c->arena);
}

/* What a parameter of Chat Completions says where Responses has it: {"type":"json_schema","json_schema":{"name":...}}
 * without the object in between. https://platform.openai.com/docs/guides/migrate-to-responses */
static daruma_str moved_value(convo *c, daruma_str to, daruma_str value)
{
    daruma_str key, v, inner = json_get(value, S("json_schema"));
    daruma_buf b = buf_in(c->arena);
    if (!str_eq(to, S("text.format")) || !json_is_object(inner))
        return arena_copy(c->arena, value);
    BUF_LIT(&b, "{\"type\":\"json_schema\"");
    for (json_iter it = json_open(inner); json_next(&it, &key, &v);) {
        buf_key(&b, key);
        buf_put(&b, v);
    }
    buf_putc(&b, '}');
    c->full |= b.full;
    return buf_str(&b);
}

/* It stands elsewhere now, unless something is there already. */
static void move(convo *c, daruma_str path, daruma_str to, daruma_str value)
{
    daruma_str there = str_trim(c->body), rest = to;
    while (rest.n && there.n)
        there = json_get(there, str_cut(&rest, '.'));
    if (!now(c, to, there).n)
        convo_patch_add(c, PATCH_SET, to, moved_value(c, to, value));
    convo_patch_add(c, PATCH_DROP, path, (daruma_str){0});
}

/* Settings that are refused where there are no tools. */
static const daruma_str of_tools[] = {LIT("tool_choice"), LIT("parallel_tool_calls")};

/* At one place. `value` is what stands there, empty nothing. */
static bool apply_at(convo *c, const mend_lesson *l, daruma_str path, daruma_str value)
{
    daruma_str rule = arena_copy(c->arena, str_of(l->value)), to = {0};
    value = now(c, path, value);
    bool stream = l->op == PATCH_SET && str_eq(path, S("stream")); /* of several answers ours would have one */
    if (stream &&
        (json_is_true(value) == str_eq(rule, S("=true")) || json_int(json_get(str_trim(c->body), S("n")), 1) > 1))
        return false;
    if (!value.n && !(l->op == PATCH_SET && rule.n && rule.p[0] == '='))
        return false;
    if (l->op == PATCH_DROP && str_eq(rule, S(LESSON_EMPTY)) && (!json_is_array(value) || json_count(value)))
        return false;
    if (l->op == PATCH_SET && !(to = lesson_value(rule, value, c->arena)).n)
        return false;
    if (l->op == PATCH_RENAME)
        to = rule;
    path = arena_copy(c->arena, path);
    if (c->arena->full) {
        c->full = true;
        return false;
    }
    if (l->op == PATCH_RENAME && str_findch(to, '.') != STR_NONE) {
        move(c, path, to, value);
        return true;
    }
    convo_patch_add(c, l->op, path, to);
    if (l->op == PATCH_DROP && str_eq(path, S("tools"))) /* nothing is left that could be chosen */
        for (size_t i = 0; i < COUNT(of_tools); i++)
            if (now(c, of_tools[i], json_get(str_trim(c->body), of_tools[i])).n)
                convo_patch_add(c, PATCH_DROP, of_tools[i], (daruma_str){0});
    tell_settings(c, l, path, to);
    return true;
}

/* Follows `rest` from `value`, which stands at `at`; counts the places that changed. */
static uint32_t apply_below(convo *c, const mend_lesson *l, place at, daruma_str value, daruma_str rest, uint32_t n)
{
    if (!rest.n)
        return n + apply_at(c, l, place_path(&at), value);
    daruma_str step = str_cut(&rest, '.'), item;
    if (json_is_array(value)) {
        int64_t want = -1, i = 0;
        bool all = str_eq(step, S("*"));
        if (!all && !str_int(step, &want))
            return n;
        for (json_iter it = json_open(value); n < PARAMETER_PLACES_MAX && json_next(&it, NULL, &item); i++) {
            char digits[24];
            daruma_buf b = buf_over(digits, sizeof digits);
            place p = at;
            buf_int(&b, i);
            if ((all || i == want) && place_push(&p, buf_str(&b)))
                n = apply_below(c, l, p, item, rest, n);
        }
        return n;
    }
    if (!json_is_object(value) || !place_push(&at, step))
        return n;
    item = json_get(value, step);
    if (!item.n && rest.n)
        return n;
    if (!item.n)
        item = renamed_to(c, value, place_path(&at));
    return apply_below(c, l, at, item, rest, n);
}

/* Messages whose list of calls is empty are written without it. A patch would name them by where they stand, and
 * messages before them may go. */
static uint32_t no_empty_calls(convo *c)
{
    uint32_t n = 0;
    for (size_t i = 0; i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        daruma_str list = m->dropped || m->no_empty_calls || !json_is_object(m->raw)
                              ? (daruma_str){0}
                              : json_get(m->raw, S("tool_calls"));
        if (!json_is_array(list) || json_count(list))
            continue;
        m->no_empty_calls = m->edited = c->edited = true;
        n++;
    }
    return n;
}

/* Options of a stream are refused where there is none, and a stream of Chat says what it took only when it is asked to.
 */
static void set_stream_options(convo *c, bool streams)
{
    daruma_str have = json_get(str_trim(c->body), S("stream_options"));
    if (have.n && !streams)
        convo_patch_add(c, PATCH_DROP, S("stream_options"), (daruma_str){0});
    if (!have.n && streams && (c->quirks & WIRE_ASKS_USAGE))
        convo_patch_add(c, PATCH_SET, S("stream_options"), S("{\"include_usage\":true}"));
}

bool mend_lesson_apply(convo *c, const mend_lesson *l, mend_report *rep)
{
    place top = {0};
    daruma_str keyword = lesson_keyword(l);
    if (keyword.n) {
        uint32_t tools = schema_lower_all(c, keyword);
        rep->patches += tools;
        if (tools)
            mend_say(rep, "%s was lowered", l->path);
        return tools > 0;
    }
    bool calls = str_eq(str_of(l->value), S(LESSON_EMPTY)) && str_eq(str_of(l->path), S(LESSON_EMPTY_CALLS));
    uint32_t n = calls ? no_empty_calls(c) : apply_below(c, l, top, str_trim(c->body), str_of(l->path), 0);
    if (!n)
        return false;
    rep->patches += n;
    if (l->op == PATCH_SET && str_eq(str_of(l->path), S("stream")))
        set_stream_options(c, str_eq(str_of(l->value), S("=true")));
    if (l->op == PATCH_DROP)
        mend_say(rep, "%s was left out", l->path);
    else if (l->op == PATCH_RENAME)
        mend_say(rep, "%s was sent as %s", l->path, l->value);
    else
        mend_say(rep, "%s was changed to what the model takes", l->path);
    return true;
}

/* ---- what was learned ---- */

enum { LESSON_WAYS = 16 /* places among which a lane's lessons stand */ };

typedef struct entry {
    uint64_t lane;    /* 0: free */
    uint64_t owner;   /* the lane's account */
    uint32_t learned; /* stamp of the table's own clock */
    mend_lesson lesson;
} entry;

struct mend_lessons {
    uint32_t sets, ways, clock;
    entry e[];
};

static uint32_t places_of(uint32_t lanes)
{
    uint32_t n = LESSONS_PER_LANE * lanes;
    return n < LESSON_WAYS ? n : n / LESSON_WAYS * LESSON_WAYS;
}

size_t mend_lessons_bytes(uint32_t lanes)
{
    return sizeof(mend_lessons) + sizeof(entry) * (size_t)places_of(lanes) + _Alignof(entry);
}

mend_lessons *mend_lessons_new(daruma_arena *a, uint32_t lanes)
{
    uint32_t n = places_of(lanes);
    mend_lessons *t = arena_take(a, sizeof *t + sizeof(entry) * (size_t)n, _Alignof(mend_lessons));
    if (t) {
        t->ways = n < LESSON_WAYS ? n : LESSON_WAYS;
        t->sets = t->ways ? n / t->ways : 0;
    }
    return t;
}

/* The places where lessons of that lane may stand: `ways` of them. */
static entry *set_of(mend_lessons *t, uint64_t lane)
{
    return &t->e[t->sets ? (size_t)(lane % t->sets) * t->ways : 0];
}

/* The next lesson of the lane behind `e`; NULL behind the last one. The first: `e` is NULL. */
static entry *lesson_next(const mend_lessons *t, uint64_t lane, const entry *e)
{
    entry *set = set_of((mend_lessons *)(uintptr_t)t, lane);
    for (size_t i = e ? (size_t)(e + 1 - set) : 0; i < t->ways; i++)
        if (set[i].lane == lane)
            return &set[i];
    return NULL;
}

void mend_lessons_learn(mend_lessons *t, uint64_t lane, uint64_t owner, const mend_lesson *l)
{
    if (!t->sets)
        return;
    entry *set = set_of(t, lane), *at = NULL;
    fair_place places[LESSON_WAYS];
    for (uint32_t i = 0; i < t->ways && !at; i++) {
        places[i] = (fair_place){set[i].owner, set[i].lane ? set[i].learned : 0};
        if (set[i].lane == lane && !strcmp(set[i].lesson.path, l->path))
            at = &set[i]; /* a later word on the same parameter */
    }
    at = at ? at : &set[fair_spare(places, t->ways, owner)];
    *at = (entry){lane, owner, ++t->clock, *l};
}

void mend_lessons_counted(mend_lessons *t, uint64_t lane, const mend_lesson *l)
{
    for (entry *e = NULL; (e = lesson_next(t, lane, e));)
        e->lesson.applied +=
            e->lesson.op == l->op && strcmp(e->lesson.path, l->path) == 0 && strcmp(e->lesson.value, l->value) == 0;
}

size_t mend_lessons_forget(mend_lessons *t, uint64_t lane, const daruma_failure *f, mend_lesson *ret)
{
    size_t n = 0;
    for (entry *e = NULL; (e = lesson_next(t, lane, e));)
        if (e->lesson.applied && mend_lesson_hurts(&e->lesson, f)) {
            if (!n++)
                *ret = e->lesson;
            *e = (entry){0};
        }
    return n;
}

void mend_lessons_expire(mend_lessons *t, uint64_t lane, daruma_ms now)
{
    for (entry *e = NULL; (e = lesson_next(t, lane, e));)
        if (strcmp(e->lesson.path, "stream") == 0 && now - e->lesson.at >= HABITS_LAST_MS)
            *e = (entry){0};
}

size_t mend_lessons_list(const mend_lessons *t, uint64_t lane, mend_lesson *out, size_t max)
{
    size_t n = 0;
    for (const entry *e = NULL; (e = lesson_next(t, lane, e)); n++)
        if (n < max)
            out[n] = e->lesson;
    return n;
}

/* ---- a snapshot ---- */

// clang-format off
static const record_member members[] = {
    RECORD_MEMBER(RECORD_ID,    entry, "id", lane),
    RECORD_MEMBER(RECORD_ID,    entry, "owner", owner),
    RECORD_MEMBER(RECORD_WHOLE, entry, "op", lesson.op),
    RECORD_MEMBER(RECORD_TEXT,  entry, "path", lesson.path),
    RECORD_MEMBER(RECORD_TEXT,  entry, "value", lesson.value),
    RECORD_MEMBER(RECORD_ID,    entry, "case", lesson.by),
    RECORD_MEMBER(RECORD_TIME,  entry, "at", lesson.at),
    RECORD_MEMBER(RECORD_COUNT, entry, "applied", lesson.applied),
};
// clang-format on
static const record_table table = {MEND_LESSON_RECORD, members, COUNT(members)};

void mend_lessons_save(const mend_lessons *t, daruma_ms now, daruma_buf *out)
{
    for (size_t i = 0; i < (size_t)t->sets * t->ways; i++)
        if (t->e[i].lane) {
            record_write(out, &table, &t->e[i], now);
            BUF_LIT(out, "}\n");
        }
}

bool mend_lessons_load(mend_lessons *t, daruma_str line, daruma_ms now, daruma_ms aged)
{
    entry got = {0};
    if (!record_read(&table, line, &got, now, aged) || !got.lane || !got.lesson.path[0] || got.lesson.op > PATCH_RENAME)
        return false;
    for (const entry *e = NULL; (e = lesson_next(t, got.lane, e));)
        if (strcmp(e->lesson.path, got.lesson.path) == 0 && add_sat(e->lesson.at, REPLICA_SLACK_MS) >= got.lesson.at)
            return true; /* what is known here is newer, or the same */
    mend_lessons_learn(t, got.lane, got.owner, &got.lesson);
    return true;
}
