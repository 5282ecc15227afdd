/* args.c - a tool call as the model wrote it against the tools of the request: strict first, then repaired, then
 * coerced without loss, and never without fitting the schema in the end. What cannot be made good is told to the model:
 * where, what was expected, what came, and how it should look. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/utf8.h"
#include "engine/mend/answer/args.h"
#include "engine/mend/answer/repair.h"
#include "engine/mend/value.h"
#include "engine/mend/answer/answer.h"

/* ---- which tool ---- */

/* A name without what models and their servers put before it: "functions.get_weather", "default_api:x",
 * "mcp__server__x". */
static daruma_str bare_name(daruma_str name)
{
    static const char *const prefixes[] = {"functions.", "functions:",   "tools.",
                                           "tool.",      "default_api.", "default_api:"};
    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (str_istarts(name, str_of(prefixes[i])))
            return str_from(name, strlen(prefixes[i]));
    if (str_starts(name, S("mcp__"))) {
        size_t at = str_find(str_from(name, 5), S("__"));
        if (at != STR_NONE)
            return str_from(name, 5 + at + 2);
    }
    return name;
}

/* A name with '_' for the signs that most providers take in no name: who offers such a tool replaces them, and a model
 * that was taught so does it, too. */
static daruma_str signless(daruma_str name, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < name.n; i++)
        buf_putc(&b, name.p[i] == '.' || name.p[i] == ':' || name.p[i] == '/' ? '_' : name.p[i]);
    return b.full ? name : buf_str(&b);
}

/* The one tool whose name is this but for case, '_', '-', a known prefix or signs; NULL when there is none, or two. */
static const convo_tool *tool_like(const convo *c, daruma_str name, daruma_arena *a)
{
    const convo_tool *hit = NULL;
    daruma_str bare = bare_name(name), plain = signless(name, a);
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < c->ntools; i++) {
            daruma_str of = c->tools[i].name;
            if (!of.n || !(step == 0   ? name_same(of, name)
                           : step == 1 ? name_same(bare_name(of), bare)
                                       : name_same(signless(of, a), plain)))
                continue;
            if (hit)
                return NULL;
            hit = &c->tools[i];
        }
        if (hit)
            return hit;
    }
    return NULL;
}

static size_t shared_bytes(daruma_str a, daruma_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && ch_ieq(a.p[n], b.p[n]))
        n++;
    return n;
}

/* The nearest names, nearest first. */
static size_t nearest(const convo *c, daruma_str name, daruma_str out[ARGS_SUGGEST_MAX])
{
    size_t score[ARGS_SUGGEST_MAX], n = 0;
    daruma_str want = bare_name(name);
    for (size_t i = 0; i < c->ntools; i++) {
        daruma_str of = c->tools[i].name, bare = bare_name(of);
        if (!of.n)
            continue;
        size_t far = str_distance(want, bare, 64), near = shared_bytes(want, bare);
        far = far > near / 2 ? far - near / 2 : 0;
        size_t at = n;
        while (at && score[at - 1] > far)
            at--;
        if (at == ARGS_SUGGEST_MAX)
            continue;
        n += n < ARGS_SUGGEST_MAX;
        for (size_t k = n - 1; k > at; k--)
            score[k] = score[k - 1], out[k] = out[k - 1];
        score[at] = far;
        out[at] = of;
    }
    return n;
}

/* ---- words ---- */

/* `s`, cut at the border of a character to what room is left for what follows. */
static void put_cut(daruma_buf *b, daruma_str s, size_t keep)
{
    size_t room = b->cap > b->n + keep ? b->cap - b->n - keep : 0;
    buf_put(b, str_sub(s, 0, utf8_floor(s, room)));
}

static daruma_buf why_open(daruma_arena *a)
{
    char *room = arena_take(a, ARGS_WHY_BYTES_MAX, 1);
    return room ? buf_over(room, ARGS_WHY_BYTES_MAX) : (daruma_buf){0};
}

static daruma_str why_unknown(const convo *c, daruma_str name, daruma_arena *a)
{
    daruma_str near[ARGS_SUGGEST_MAX];
    daruma_buf b = why_open(a);
    size_t n = nearest(c, name, near);
    BUF_LIT(&b, "There is no tool `");
    put_cut(&b, str_sub(name, 0, 128), 400);
    BUF_LIT(&b, "`.");
    for (size_t i = 0; i < n; i++) {
        buf_putz(&b, i ? ", `" : " The tools with the most similar names are `");
        put_cut(&b, str_sub(near[i], 0, 128), 200);
        BUF_LIT(&b, "`");
    }
    buf_putz(&b, n ? ". Call one of the tools you were given." : "");
    return buf_str(&b);
}

/* The arguments as they should look: what is there and fits stays, what is required gets a mark of its type. */
static void put_skeleton(daruma_buf *b, daruma_str schema, daruma_str value, daruma_arena *a)
{
    daruma_str root = schema, key, s, given;
    schema = schema_follow(root, schema);
    lookup required = {.of = json_get(schema, S("required")), .a = a}, members = {.of = value, .a = a};
    buf_putc(b, '{');
    for (json_iter it = json_open(json_get(schema, S("properties"))); json_next(&it, &key, &s) && !b->full;) {
        bool must = lookup_has(&required, key);
        given = lookup_get(&members, key);
        if (!must && !given.n)
            continue;
        buf_key(b, str_sub(key, 0, 64));
        s = schema_follow(root, s);
        daruma_str type = json_get(s, S("type")), list = json_get(s, S("enum"));
        if (given.n && schema_fits_in(root, s, given, NULL, NULL, a)) {
            buf_put(b, given.n <= 80 ? given : S("\"...\""));
        } else if (json_is_array(list)) {
            BUF_SAY(b, "<one of ", str_sub(list, 0, 120), ">");
        } else {
            BUF_SAY(b, "<", json_is_string(type) ? str_sub(type, 1, type.n - 2) : S("value"), ">");
        }
    }
    buf_putc(b, '}');
}

/* `head`, what is wrong (as schema_fits wrote it, or one line about JSON), and how it should look (`show`). */
static daruma_str why_form(daruma_str head, daruma_str problems, const char *look, daruma_str schema, bool show,
                           daruma_str value, daruma_arena *a)
{
    enum { SKELETON_BYTES_MAX = 400 };
    char room[SKELETON_BYTES_MAX];
    daruma_buf b = why_open(a), skeleton = buf_over(room, sizeof room);
    if (show)
        put_skeleton(&skeleton, schema, value, a);
    show &= !skeleton.full;
    buf_put(&b, head);
    put_cut(&b, problems, show ? skeleton.n + 60 : 0);
    if (look[0] != '\n' && b.p[b.n - 1] != '\n' && b.n < b.cap)
        buf_putc(&b, '\n'); /* `look` does not begin with it */
    if (show) {
        BUF_SAY(&b, look, buf_str(&skeleton));
    }
    return buf_str(&b);
}

static daruma_str why_wrong(const convo_tool *t, daruma_str problems, daruma_str value, daruma_arena *a)
{
    char room[160];
    daruma_buf head = buf_over(room, sizeof room);
    BUF_SAY(&head, "The arguments of `", str_sub(t->name, 0, utf8_floor(t->name, 128)), "` are wrong:\n");
    return why_form(buf_str(&head), problems, "They should look like this: ", t->schema, t->schema.n, value, a);
}

/* ---- the check ---- */

/* Wrong is what `c` tells so far, for this reason. */
static args_check args_wrong(args_check c, args_verdict v, daruma_str why)
{
    return (args_check){.verdict = v, .name = c.name, .why = why, .steps = c.steps};
}

/* `missing` brackets were closed at the end of `value`. True if nothing but they can be missing: in each object that
 * was open stand all members that its schema knows. A list that was open may have lost elements. */
static bool lacks_nothing(daruma_str root, daruma_str value, size_t missing, daruma_arena *a)
{
    daruma_str schema = root, key = {0}, v = value, last, ignored;
    for (; missing; missing--) {
        schema = schema_follow(root, schema);
        if (!json_is_object(v) || !args_lists_all(schema))
            return false;
        daruma_str properties = json_get(schema, S("properties"));
        lookup members = {.of = v, .a = a};
        for (json_iter it = json_open(properties); json_next(&it, &key, &ignored);)
            if (!lookup_get(&members, key).n)
                return false;
        for (json_iter it = json_open(v); json_next(&it, &key, &last);)
            ;
        schema = lookup_get(&(lookup){.of = properties}, key);
        v = last;
    }
    return true;
}

/* May more of it have been said than is there? A server that closes what was cut closes strings and lists, too. */
static bool is_open_ended(daruma_str value)
{
    daruma_str key, last = {0};
    for (json_iter it = json_open(value); json_next(&it, &key, &last);)
        ;
    return json_is_string(last) || json_is_array(last) || json_is_object(last);
}

/* True if the output cap cannot have cut this object, whatever the wire made of what was cut: it has all members that
 * its schema knows, and the last one is nothing that could be longer. */
static bool is_all_there(daruma_str root, daruma_str value, daruma_arena *a)
{
    if (!json_is_object(value) || is_open_ended(value))
        return false;
    daruma_str properties = json_get(schema_follow(root, root), S("properties"));
    bool takes_none = json_is_object(properties) && !json_count(properties);
    return (takes_none && !json_count(value)) || lacks_nothing(root, value, 1, a);
}

/* A repaired text, or nothing where something may be missing, or where words stand around what is to be carried out
 * (`alone`): they may say that it is not. `*ret_quotes`: which quotes end its strings was told by
 * what follows them. `*ret_cut`: the text ends too early. */
static daruma_str repaired(daruma_str root, daruma_str text, bool alone, daruma_arena *a, bool *ret_quotes,
                           bool *ret_cut)
{
    repair_value v = repair_text(text, a);
    *ret_quotes = v.quotes;
    *ret_cut = v.cut || (v.missing && !lacks_nothing(root, v.json, v.missing, a));
    return *ret_cut || (alone && v.words) ? (daruma_str){0} : v.json;
}

/* A value as its schema wants it, without members that this does not know. `mended`: its text was no JSON; a model that
 * wrote JSON with such a member is told of it, unless the schema takes any. */
static daruma_str fitted(daruma_str root, daruma_str value, bool mended, size_t *ret_dropped, uint32_t *steps,
                         daruma_arena *a)
{
    daruma_str better = args_coerce(root, value, steps, a);
    if (!better.n || (!mended && !schema_fits_in(root, root, better, NULL, steps, a)))
        return better;
    return args_known(root, better, a, ret_dropped);
}

static bool takes_nothing(daruma_str schema)
{
    return !json_count(json_get(schema_follow(schema, schema), S("required")));
}

/* Does the value fit? What it cost goes to `c`, and whether it fits as far as it was looked at alone. */
static bool fits_as_far(args_check *c, daruma_str root, daruma_str value, daruma_buf *why, daruma_arena *a)
{
    uint32_t taken = 0;
    bool fits = schema_fits_in(root, root, value, why, &taken, a);
    c->steps += taken;
    c->unsure |= fits && taken >= SCHEMA_STEPS_MAX;
    return fits;
}

/* `mended`: the text was no JSON; `quotes`: see repaired(). */
static args_check check_value(const convo_tool *t, args_check good, daruma_str value, bool mended, bool quotes,
                              daruma_arena *a)
{
    char room[ARGS_WHY_BYTES_MAX];
    daruma_str schema = t->schema, root = {0};
    bool ends = false;
    if (!schema.n || !json_whole(schema, &root) || (!mended && fits_as_far(&good, root, value, NULL, a))) {
        if (json_is_object(value) || !schema.n)
            return good;
    }
    if (good.steps >= SCHEMA_STEPS_MAX && json_is_object(value)) {
        good.unsure = true;
        return good; /* it takes too long to say what is wrong: it goes out as it came */
    }
    daruma_str object = value, text = json_text(value, a), whole = {0};
    if (json_is_string(value) && json_whole(text, &whole) && json_is_object(whole))
        object = whole; /* encoded twice */
    else if (json_is_string(value) && json_is_object(whole = repaired(root, text, true, a, &quotes, &ends)))
        object = whole, mended = true;
    else if (json_is_null(value) && takes_nothing(root))
        object = S("{}");
    daruma_str better = root.n ? fitted(root, object, mended, &good.dropped, &good.steps, a) : object;
    if (good.dropped && quotes) /* what seems to be a member may be a piece of a string */
        return args_wrong(good, ARGS_BROKEN, why_wrong(t, S("- they are not valid JSON"), S("{}"), a));
    daruma_buf why = buf_over(room, sizeof room);
    if (better.n && json_is_object(better) && fits_as_far(&good, root, better, &why, a)) {
        good.verdict = ARGS_REPAIRED;
        good.fixed = better;
        return good;
    }
    if (ends) /* encoded twice */
        return args_wrong(good, ARGS_BROKEN, why_wrong(t, S("- they end before they are complete"), S("{}"), a));
    if (!why.n && !json_is_object(object)) {
        BUF_SAY(&why, "- expected a JSON object, got ", value_type(object));
    }
    return args_wrong(good, ARGS_UNFIT, why_wrong(t, buf_str(&why), object, a));
}

args_check mend_args(const convo *c, daruma_str name, daruma_str args, bool cut, daruma_arena *a)
{
    const convo_tool *t = convo_tool_find(c, name);
    args_check good = {.verdict = ARGS_GOOD, .name = name};
    convo_tool none = {.name = name};
    daruma_str value = {0};
    if (!t && c->ntools && !c->more_tools && !(t = tool_like(c, name, a)))
        return args_wrong(good, ARGS_UNKNOWN_TOOL, why_unknown(c, name, a));
    t = t ? t : &none; /* a tool that is declared elsewhere: only its JSON can be judged */
    if (!str_eq(t->name, name)) {
        good.verdict = ARGS_REPAIRED;
        good.name = t->name;
        good.fixed = args;
    }
    daruma_str root = {0};
    json_whole(t->schema, &root);
    bool whole = json_whole(args, &value), quotes = false, ends = false;
    if (cut && !(whole && is_all_there(root, value, a)))
        return args_wrong(good, ARGS_BROKEN,
                          why_wrong(t,
                                    S("- they were cut off: the answer was longer than it may be. Send less at once, "
                                      "write large content in several parts."),
                                    S("{}"), a));
    if (convo_tool_custom(t)) /* any text is right */
        return good;
    if (!str_trim(args).n) {
        if (takes_nothing(root)) {
            good.verdict = ARGS_REPAIRED;
            good.fixed = S("{}");
            return good;
        }
        return args_wrong(good, ARGS_UNFIT, why_wrong(t, S("- expected a JSON object, got nothing"), S("{}"), a));
    }
    if (!whole) {
        value = repaired(root, args, true, a, &quotes, &ends);
        if (!value.n)
            return args_wrong(
                good, ARGS_BROKEN,
                why_wrong(t, ends ? S("- they end before they are complete") : S("- they are not valid JSON"), S("{}"),
                          a));
        good.verdict = ARGS_REPAIRED;
        good.fixed = value;
    }
    return check_value(t, good, value, !whole, quotes, a);
}

/* ---- answers that shall be JSON ---- */

static daruma_str why_not_said(daruma_str root, daruma_str problems, daruma_str value, daruma_arena *a)
{
    return why_form(S("It must be one JSON value and nothing else, with no words and no fence around it:\n"), problems,
                    "\nIt should look like this: ", root, json_get(schema_follow(root, root), S("properties")).n, value,
                    a);
}

args_check mend_said(daruma_str schema, daruma_str text, daruma_arena *a)
{
    char room[ARGS_WHY_BYTES_MAX];
    args_check good = {.verdict = ARGS_GOOD};
    daruma_str root = {0}, value = {0};
    bool told = json_whole(schema, &root), whole = json_whole(text, &value), quotes = false, ends = false;
    if (told && schema_takes(schema_follow(root, root), "string"))
        return good; /* bare words may be meant */
    if (whole && (!told || fits_as_far(&good, root, value, NULL, a)))
        return good;
    if (!whole)
        value = repaired(root, text, false, a, &quotes, &ends);
    if (!value.n || !(json_is_object(value) || json_is_array(value)))
        return args_wrong((args_check){0}, ARGS_BROKEN,
                          why_not_said(root,
                                       ends ? S("- this ends before it is complete") : S("- this is not valid JSON"),
                                       S("{}"), a));
    size_t dropped = 0;
    daruma_str better = told ? fitted(root, value, !whole, &dropped, NULL, a) : value;
    daruma_buf why = buf_over(room, sizeof room);
    if (dropped && quotes)
        return args_wrong((args_check){0}, ARGS_BROKEN, why_not_said(root, S("- this is not valid JSON"), S("{}"), a));
    if (better.n && (!told || fits_as_far(&good, root, better, &why, a)))
        return (args_check){.verdict = ARGS_REPAIRED, .fixed = better, .dropped = dropped, .unsure = good.unsure};
    return args_wrong((args_check){0}, ARGS_UNFIT, why_not_said(root, buf_str(&why), value, a));
}

bool mend_args_cut(const turn *t, size_t i)
{
    const convo_part *p = &t->message.parts[i];
    bool last = i + 1 == t->message.nparts, by_length = t->finish == FINISH_LENGTH || t->finish == FINISH_WINDOW;
    daruma_str whole = {0};
    bool object = json_whole(p->text, &whole) && json_is_object(whole);
    return by_length && (!object || (last && json_is_object(p->value)));
}
