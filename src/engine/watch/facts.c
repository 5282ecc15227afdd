/* facts.c - what the result of a tool says about itself. Structure speaks first: members of JSON whose meaning their
 * name tells; where there is none, the text (spoken.c). */
#include "engine/watch/facts.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

enum role {
    IS_ERROR,  /* holds an error, its text, or whether there is one */
    IS_BAD,    /* true: it failed */
    IS_GOOD,   /* false: it failed */
    IS_WORD,   /* "error" or "ok", or an HTTP status */
    IS_STATUS, /* an HTTP status */
    IS_CODE,   /* a name, or a number of HTTP or JSON-RPC */
    IS_CLASS,  /* a name, but only of what is an error */
    IS_EXIT,   /* of a process */
    IS_LATE,   /* true: it took too long */
    IS_RETRY,
    IS_SAID,  /* the words of the failure, by their very name */
    IS_TEXT,  /* words about the failure */
    IS_OUT,   /* what a process wrote about it */
    IS_PLAIN, /* what it gave back: the error, when it failed */
    IS_NEST,  /* looked into */
};

// clang-format off
#define NAMED(name, role) {LIT(name), role}
static const struct {
    daruma_str name;
    enum role role;
} members[] = {
    NAMED("error", IS_ERROR),           NAMED("errors", IS_ERROR),        NAMED("err", IS_ERROR),           NAMED("exception", IS_ERROR),
    NAMED("isError", IS_BAD),           NAMED("is_error", IS_BAD),        NAMED("failed", IS_BAD),          NAMED("has_error", IS_BAD),
    NAMED("ok", IS_GOOD),               NAMED("success", IS_GOOD),        NAMED("succeeded", IS_GOOD),      NAMED("status", IS_WORD),
    NAMED("state", IS_WORD),            NAMED("status_code", IS_STATUS),  NAMED("statusCode", IS_STATUS),   NAMED("http_status", IS_STATUS),
    NAMED("httpStatus", IS_STATUS),     NAMED("code", IS_CODE),           NAMED("error_code", IS_CODE),     NAMED("errorCode", IS_CODE),
    NAMED("errno", IS_CODE),            NAMED("error_type", IS_CODE),     NAMED("errorType", IS_CODE),      NAMED("type", IS_CLASS),
    NAMED("name", IS_CLASS),            NAMED("kind", IS_CLASS),          NAMED("exit_code", IS_EXIT),      NAMED("exitCode", IS_EXIT),
    NAMED("returncode", IS_EXIT),       NAMED("return_code", IS_EXIT),    NAMED("returnCode", IS_EXIT),     NAMED("exit_status", IS_EXIT),
    NAMED("exitStatus", IS_EXIT),       NAMED("exit", IS_EXIT),           NAMED("timed_out", IS_LATE),      NAMED("timedOut", IS_LATE),
    NAMED("timeout", IS_LATE),          NAMED("retryable", IS_RETRY),     NAMED("message", IS_TEXT),        NAMED("msg", IS_TEXT),
    NAMED("error_message", IS_SAID),    NAMED("errorMessage", IS_SAID),   NAMED("error_description", IS_SAID), NAMED("detail", IS_TEXT),
    NAMED("details", IS_TEXT),          NAMED("reason", IS_TEXT),         NAMED("title", IS_OUT),          NAMED("stderr", IS_OUT),
    NAMED("stdout", IS_PLAIN),          NAMED("output", IS_PLAIN),        NAMED("content", IS_NEST),        NAMED("text", IS_PLAIN),
    NAMED("result", IS_NEST),           NAMED("metadata", IS_NEST),       NAMED("data", IS_NEST),           NAMED("response", IS_NEST),
};

/* Which of two texts is shown; what a process writes last to stdout is often the failure, but stderr is it by name. */
static const int rank_of[] = {[IS_ERROR] = 5, [IS_SAID] = 5, [IS_TEXT] = 4, [IS_OUT] = 3, [IS_PLAIN] = 1, [IS_NEST] = 2};
// clang-format on

static void add_text(facts *f, daruma_str value, int rank)
{
    size_t at = f->ntexts < FACTS_TEXTS ? f->ntexts : FACTS_TEXTS;
    if (value.n < 3) /* "" */
        return;
    while (at > 0 && f->ranks[at - 1] < rank)
        at--;
    if (at >= FACTS_TEXTS)
        return;
    for (size_t i = f->ntexts < FACTS_TEXTS ? f->ntexts : FACTS_TEXTS - 1; i > at; i--) {
        f->texts[i] = f->texts[i - 1];
        f->ranks[i] = f->ranks[i - 1];
    }
    f->texts[at] = value;
    f->ranks[at] = rank;
    f->ntexts += f->ntexts < FACTS_TEXTS;
}

static daruma_str inside(daruma_str value) /* of a string of JSON */
{
    return json_is_string(value) && value.n >= 2 ? str_sub(value, 1, value.n - 2) : (daruma_str){0};
}

void facts_add_code(facts *f, daruma_str code)
{
    if (code.n && code.n <= CODE_BYTES_MAX && f->ncodes < FACTS_CODES)
        f->codes[f->ncodes++] = code;
}

static bool is_word(daruma_str text, const char *const *words)
{
    for (; *words; words++)
        if (str_ieq(text, str_of(*words)))
            return true;
    return false;
}

static void read_number(facts *f, enum role role, int64_t n)
{
    if (role == IS_EXIT) {
        f->exit = n >= -255 && n <= 255 ? (int)n : 255;
        f->failed |= n != 0;
        f->worked |= n == 0;
    } else if (n >= 400 && n <= 599) {
        f->status = (int)n;
        f->failed |= role == IS_STATUS || role == IS_WORD;
    } else if (n <= -32000 && n >= -32768) {
        f->rpc = (int)n;
    }
}

static void read_level(facts *f, daruma_str value, int level);

static bool is_nothing(daruma_str v)
{
    return json_is_null(v) || str_eq(v, S("false")) || str_eq(v, S("\"\"")) || str_eq(v, S("0")) ||
           ((json_is_array(v) || json_is_object(v)) && json_count(v) == 0);
}

/* "ENOENT", "FileNotFound", "not_found": a name, not a word. */
static bool is_name(daruma_str s)
{
    bool mark = false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ' ')
            return false;
        mark |= s.p[i] == '_' || (s.p[i] >= 'A' && s.p[i] <= 'Z');
    }
    return mark;
}

static void read_error(facts *f, daruma_str v, int level)
{
    if (is_nothing(v))
        return;
    f->failed = true;
    if (json_is_string(v)) {
        add_text(f, v, rank_of[IS_ERROR] * 4 + level);
        if (is_name(inside(v)))
            facts_add_code(f, inside(v));
    } else {
        read_level(f, v, level + 1);
    }
}

static void read_member(facts *f, enum role role, daruma_str v, int level)
{
    static const char *const bad[] = {"error", "err", "timeout", NULL}, *const good[] = {"ok", "success", NULL};
    bool yes = json_is_true(v), no = str_eq(v, S("false"));
    switch (role) {
    case IS_ERROR:
        read_error(f, v, level);
        break;
    case IS_BAD:
        f->failed |= yes;
        f->worked |= no;
        break;
    case IS_GOOD:
        f->failed |= no;
        f->worked |= yes;
        break;
    case IS_WORD: /* what an asked-after job came to is no failure of the asking: "failed" says nothing */
        f->failed |= is_word(inside(v), bad);
        f->worked |= is_word(inside(v), good);
        if (json_is_number(v))
            read_number(f, role, json_int(v, 0));
        else
            facts_add_code(f, inside(v));
        break;
    case IS_CLASS:
        if (level > 0)
            facts_add_code(f, inside(v));
        break;
    case IS_STATUS:
    case IS_CODE:
    case IS_EXIT:
        if (json_is_number(v))
            read_number(f, role, json_int(v, 0));
        else
            facts_add_code(f, inside(v));
        break;
    case IS_LATE:
        f->failed |= yes;
        if (yes)
            facts_add_code(f, S("timeout"));
        break;
    case IS_RETRY:
        f->retry = yes ? 1 : no ? 0 : f->retry;
        break;
    case IS_SAID:
    case IS_TEXT:
    case IS_OUT:
    case IS_PLAIN:
        if (json_is_string(v))
            add_text(f, v, rank_of[role] * 4 + level);
        break;
    case IS_NEST:
        if (json_is_string(v))
            add_text(f, v, rank_of[role] * 4 + level);
        else
            read_level(f, v, level + 1);
        break;
    }
}

/* One object, or the first elements of an array. The walk stops where the limits say. */
static void read_level(facts *f, daruma_str value, int level)
{
    daruma_str key, v;
    json_iter it = json_open(value);
    bool array = json_is_array(value);
    if (level > TOOL_FACTS_LEVELS_MAX || (!array && !json_is_object(value)))
        return;
    for (int i = 0; i < (array ? TOOL_FACTS_ELEMENTS_MAX : TOOL_FACTS_MEMBERS_MAX) && json_next(&it, &key, &v); i++) {
        if (array) {
            if (json_is_string(v))
                add_text(f, v, rank_of[IS_PLAIN] * 4 + level);
            else
                read_level(f, v, level + 1);
            continue;
        }
        bool plain = str_findch(key, '\\') == STR_NONE;
        for (size_t k = 0; k < COUNT(members); k++)
            if (plain ? str_eq(key, members[k].name) : json_raw_eq(key, members[k].name)) {
                read_member(f, members[k].role, v, level);
                break;
            }
    }
}

facts facts_read(daruma_str result)
{
    facts f = {.retry = -1};
    daruma_str text = str_trim(result);
    if (json_is_object(text) || (json_is_array(text) && text.n > 1 && str_trim(str_from(text, 1)).p[0] == '{'))
        read_level(&f, text, 0);
    if (!f.ntexts && !f.ncodes && !f.failed && !f.worked)
        facts_plain(&f, text);
    bool parts = json_is_array(text) || (!f.worked && str_starts(text, S("{\"content\"")));
    if (!f.plain && !f.failed && f.ntexts && parts) { /* parts of text: the first speaks */
        facts in = {.retry = -1};
        facts_plain(&in, inside(f.texts[0]));
        f.failed = in.failed;
        f.exit = in.exit;
    }
    return f;
}

bool daruma_step_failed(const daruma_step *step)
{
    if (step->ok >= 0)
        return step->ok == 0;
    if (step->lost)
        return true;
    facts f = facts_read(step->result);
    return f.failed;
}
