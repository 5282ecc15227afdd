/* same.c - canonical calls, as hashes: the members of the arguments in any order, without those that make no
 * difference, such as what only defeats caches or says why. What stands in them is hashed by same_text.c.
 */
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/same/noise.h"
#include "engine/watch/same/same.h"
#include "engine/watch/same/same_hash.h"
#include "engine/watch/same/same_text.h"
#include "engine/watch/words/words.h"

enum {
    DEPTH_MAX = 32,
    MEMBERS_KEPT = 8,
    MEMBERS_NAMED_MAX = 256 /* of an object: one with more is a table, whose names are data and no words of a call */
};

static pair hash_value(same_call *c, daruma_str v, unsigned name, int depth);

/* Blanks at its end make no other call. */
static daruma_str string_inside(daruma_str v)
{
    daruma_str s = json_is_string(v) && v.n >= 2 ? str_sub(v, 1, v.n - 2) : (daruma_str){0};
    while (s.n && s.p[s.n - 1] == ' ')
        s.n--;
    return s;
}

/* What the names of an object's members say. */
typedef struct members {
    unsigned first[MEMBERS_KEPT]; /* bits of words_name of each */
    unsigned all;                 /* of all: is there one that says what to do, beside which others only say why? */
    size_t n; /* those that say something: beside a thought, whether and which is the next does not */
} members;

static members names_of(daruma_str object)
{
    members m;
    size_t thoughts = 0, flags = 0;
    daruma_str key, v;
    m.all = 0;
    m.n = 0;
    for (json_iter it = json_open(object); json_next(&it, &key, &v); m.n++) {
        if (m.n >= MEMBERS_NAMED_MAX)
            continue;
        bool thought = str_ifind(key, S("thought")) != STR_NONE;
        unsigned name = words_of_name(key);
        thoughts += thought;
        flags += !thought && (str_eq(v, S("true")) || str_eq(v, S("false")));
        m.all |= name;
        if (m.n < MEMBERS_KEPT)
            m.first[m.n] = name;
    }
    if (m.n > MEMBERS_NAMED_MAX)
        return (members){.n = m.n};
    if (thoughts && thoughts + flags == m.n)
        m.n = 1;
    return m;
}

/* "reason": only ever why, even where a call says nothing else; a thought may be all there is. */
static bool is_why(daruma_str key)
{
    static const daruma_str whys[] = {LIT("reason"), LIT("rationale"), LIT("justification"), LIT("why")};
    return STR_ANY(str_ieq, key, whys);
}

static bool is_left_out(daruma_str key, unsigned name, unsigned all, size_t n, daruma_str v)
{
    daruma_str plain = json_is_string(v) ? string_inside(v) : v;
    if (json_is_null(v) || (name & NAME_NONCE))
        return n > 1 || json_is_null(v);
    if ((name & NAME_TIME) && text_is_moment(plain))
        return n > 1;
    if ((name & NAME_REASON) && json_is_string(v) && (n > 1 || is_why(key)))
        return true;
    return (name & NAME_TITLE) && (all & NAME_COMMAND) && json_is_string(v);
}

/* ["bash","-lc","make all"]: a shell is given its command in one piece. */
static daruma_str command_of(daruma_str v)
{
    static const daruma_str shells[] = {LIT("sh"),  LIT("bash"),       LIT("zsh"), LIT("dash"),
                                        LIT("cmd"), LIT("powershell"), LIT("pwsh")};
    daruma_str item, first = {0}, last = {0};
    if (json_is_string(v))
        return string_inside(v);
    for (json_iter it = json_open(v); json_is_array(v) && json_next(&it, NULL, &item);) {
        last = json_is_string(item) ? string_inside(item) : (daruma_str){0};
        first = first.n ? first : last;
    }
    size_t slash = 0;
    for (size_t i = 0; i < first.n; i++)
        slash = first.p[i] == '/' || first.p[i] == '\\' ? i + 1 : slash;
    return last.n && STR_ANY(str_ieq, str_from(first, slash), shells) ? last : v;
}

/* "src/a.py", "a.py": one word with a slash or a dot in it. */
static bool is_file(daruma_str s)
{
    enum { LONGEST = 200 };
    bool mark = false;
    for (size_t i = 0; i < s.n && s.n <= LONGEST; i++) {
        if (s.p[i] == ' ' || s.p[i] == '\\')
            return false;
        mark |= s.p[i] == '/' || s.p[i] == '.';
    }
    return mark;
}

/* "path", "file_path", "fileName". */
static bool names_file(daruma_str key)
{
    return str_ifind(key, S("path")) != STR_NONE || str_ifind(key, S("file")) != STR_NONE;
}

static void notice_file(same_call *c, daruma_str key, daruma_str v)
{
    if (c->file_named)
        return;
    bool named = names_file(key);
    if (!c->file_named && (named || (!c->file && is_file(string_inside(v)))))
        c->file = word_hash(v.p, v.n, 0);
    c->file_named |= named;
}

/* Who types nothing looks what comes: {"session_id":3,"chars":""}. An empty input that is all there is, is no input. */
static bool types_nothing(daruma_str key, daruma_str v, bool alone)
{
    static const daruma_str typed[] = {LIT("chars"), LIT("keys"), LIT("keystrokes"), LIT("stdin"), LIT("input")};
    return str_eq(v, S("\"\"")) && STR_ANY(str_ieq, key, typed) && !(alone && str_ieq(key, S("input")));
}

static void notice_member(same_call *c, daruma_str key, unsigned name, daruma_str v, int depth, bool alone)
{
    bool none = str_eq(v, S("0")) || str_eq(v, S("false")) || json_is_null(v);
    c->names |= name | (text_is_moment(json_is_string(v) ? string_inside(v) : v) ? NAME_MOMENT : 0u);
    c->objects += depth == 0 && !(name & (NAME_WAIT | NAME_LIMIT | NAME_REASON));
    if (((name & NAME_WAIT) && !none) || (depth == 0 && types_nothing(key, v, alone)))
        c->waits = true;
    if (depth == 0 && (name & NAME_COMMAND) && !c->command.n)
        c->command = command_of(v);
    if (depth == 0 && json_is_string(v) && !c->text.n)
        c->text = string_inside(v);
    if (depth == 0 && json_is_string(v))
        notice_file(c, key, v);
    if (depth == 0 && (name & NAME_ACTION) && !c->action.n)
        c->action = string_inside(v);
}

/* What a member adds to a call, where it neither says how long to wait nor where to look on. */
static void leave_member(same_call *c, daruma_str key, unsigned name, daruma_str v, uint64_t hash)
{
    daruma_str plain = json_is_string(v) ? string_inside(v) : v;
    bool number = plain.n && (ch_digit(plain.p[0]) || plain.p[0] == '-');
    bool lasts =
        (name & NAME_WAIT) || ((name & NAME_LIMIT) && (str_istarts(key, S("timeout")) || str_istarts(key, S("max"))));
    if (!(number && lasts))
        c->kept += hash;
    if (!(number && (name & NAME_PAGE)))
        c->place += hash;
}

static pair hash_object(same_call *c, daruma_str object, int depth)
{
    pair sum = {29, 29};
    daruma_str key, v;
    size_t i = 0;
    const members m = names_of(object);
    bool table = m.n > MEMBERS_NAMED_MAX;
    for (json_iter it = json_open(object); json_next(&it, &key, &v); i++) {
        unsigned name = table ? 0 : i < MEMBERS_KEPT ? m.first[i] : words_of_name(key);
        if (is_left_out(key, name, m.all, m.n, v) || (depth == 0 && noise_is_arg(c->known, key)))
            continue;
        if (table)
            c->objects += depth == 0;
        else
            notice_member(c, key, name, v, depth, m.n == 1);
        pair one = pair_of(word_hash(key.p, key.n, 0));
        pair_mix(&one, hash_value(c, v, name, depth + 1));
        sum.exact += end(one.exact);
        sum.shape += end(one.shape);
        if (depth == 0)
            leave_member(c, key, name, v, end(one.exact));
    }
    return sum;
}

static pair hash_value(same_call *c, daruma_str v, unsigned name, int depth)
{
    pair h = pair_of(31);
    daruma_str item;
    if (depth > DEPTH_MAX)
        return text_bytes(c, v);
    if (json_is_object(v))
        return hash_object(c, v, depth);
    if (json_is_array(v)) {
        for (json_iter it = json_open(v); json_next(&it, NULL, &item);)
            pair_mix(&h, hash_value(c, item, name, depth + 1));
        return h;
    }
    if (json_is_string(v))
        return text_hash(c, string_inside(v), name);
    if (text_number(v, &h)) {
        text_learn(c, v);
        return h;
    }
    return pair_of(word_hash(v.p, v.n, 0));
}

same_call same_of_call(daruma_str tool, daruma_str args, const struct noise *known)
{
    same_call c = {.known = known};
    daruma_str v = {0};
    pair h;
    args = str_trim(args);
    if (json_whole(args, &v) && (json_is_object(v) || json_is_array(v))) {
        h = hash_value(&c, v, 0, 0);
    } else {
        bool quoted = v.n && json_is_string(v);
        daruma_str text = quoted ? string_inside(v) : args;
        c.command = text;
        c.objects = text.n > 0;
        h = text.n > SAME_STRING_BYTES_MAX ? text_bytes(&c, text) : text_spaced(&c, text, quoted);
    }
    uint64_t t = same_of_name(tool);
    c.call = end(mix(h.exact, t));
    c.shape = end(mix(h.shape, t));
    c.kept = end(mix(json_is_object(v) ? c.kept : h.exact, t));
    c.place = end(mix(json_is_object(v) ? c.place : h.exact, t));
    return c;
}

unsigned same_count(const uint64_t bag[SAME_BAG])
{
    unsigned n = 0;
    for (int i = 0; i < SAME_BAG; i++)
        n += (unsigned)__builtin_popcountll(bag[i]);
    return n;
}

uint64_t same_of_name(daruma_str tool)
{
    tool = str_trim(tool);
    return end(word_hash(tool.p, tool.n, 0));
}

uint64_t daruma_call_hash(daruma_str tool, daruma_str args)
{
    return same_of_call(tool, args, NULL).call;
}
