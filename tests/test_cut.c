/* Arguments of tool calls, cut at every byte: what the repair gives back as whole is the value that was meant, or
 * nothing. Never a part of it: half a file would be written. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/mend/answer/answer.h"
#include "engine/mend/value.h"

static char memory[4 << 20], made[1 << 20];

/* ---- arguments as models write them ---- */

static const char *const written[] = {
    "{\"path\":\"a.c\",\"content\":\"int main(void) { return 0; }\\n\"}",
    "{\"path\": \"src/a.py\", \"content\": \"def f(x):\\n\\treturn {\\\"a\\\": [1, 2, x]}\\n\", \"overwrite\": true}",
    "{\"command\":\"rm -rf build && echo \\\"done: $?\\\"\",\"timeout\":120000,\"background\":false}",
    "{\"path\":\"/srv\",\"recursive\":true,\"dry_run\":true}",
    "{\"n\": 12345, \"x\": -0.5, \"y\": 6.02e23, \"z\": 1E-7, \"w\": -12.75e+10, \"v\": 0}",
    "{\"n\": 12}",
    "{\"ok\": true}",
    "{\"ok\": null, \"no\": false}",
    "{\"s\": \"\"}",
    "{}",
    "{\"a\":{\"b\":{\"c\":{\"d\":[[],[{}],{\"e\":[1,[2,[3]]]}]}}}}",
    "{\"list\":[\"one\",\"two\",3,null,true,{\"four\":4},[5]],\"last\":[\"x\"]}",
    "{\"city\":\"K\xc3\xb6ln\",\"kana\":\"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\",\"face\":\"\xf0\x9f\x98\x80 ok\"}",
    "{\"e\":\"\\u00e9\\ud83d\\ude00\\\\\\/\\b\\f\\n\\r\\t\\\"\",\"\\u006bey\":\"\\\\\"}",
    "{\"re\":\"^\\\\d+(\\\\.\\\\d{1,3})?$\",\"with\":\"C:\\\\Users\\\\x\\\\\"}",
    "{\"q\":\"it's a \\\"quote\\\", isn't it\",\"r\":\"a, b: c\",\"t\":\"}]\",\"u\":\"{[\"}",
    "{\"md\":\"```json\\n{\\\"a\\\": 1}\\n```\",\"c\":\"x // no comment\",\"d\":\"# nor this /* or that */\"}",
    "{\"edits\":[{\"old\":\"if (a) {\",\"new\":\"if (b) {\"},{\"old\":\"}\",\"new\":\"} else {\"}],\"all\":false}",
    "{\"xml\":\"<a href=\\\"x\\\">&quot;&amp;</a>\",\"sql\":\"select * from t where a = 'b' and c = \\\"d\\\"\"}",
    "{\n  \"pretty\": [\n    1,\n    2\n  ],\n  \"more\": {\n    \"a\": \"b\"\n  }\n}\n",
    "{\"patch\":\"--- a\\n+++ b\\n@@ -1,2 +1,2 @@\\n-x = {}\\n+x = {\\\"k\\\": [\\\"v\\\"]}\\n\",\"file\":\"a.py\"}",
    "{\"true\":\"true\",\"null\":\"nul\",\"1\":1,\"None\":\"None\"}",
};

/* ---- arguments that a die writes ---- */

static uint64_t dice;

static uint32_t roll(uint32_t below)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 32) % below;
}

static const char *const strings[] = {
    "\"\"",
    "\"a\"",
    "\"two words\"",
    "\"a \\\"b\\\" c\"",
    "\"\\\\\"",
    "\"{\\\"a\\\":1}\"",
    "\"x\\ny\\tz\"",
    "\"\\u00fc\"",
    "\"\xe2\x82\xac 5\"",
    "\"12\"",
    "\"true\"",
    "\"a,b:c\"",
    "\"},{\"",
    "\"it's\"",
    "\"// x\"",
    "\"\\\",\\\"k\\\":\\\"\"",
    "\"```\"",
    "\"[1, 2\"",
};
static const char *const plain[] = {"0",    "-1",    "12",  "3.25", "1e9", "-2.5E-3", "123456789012345678901",
                                    "true", "false", "null"};

static void put_value(daruma_buf *b, int depth)
{
    uint32_t what = roll(depth > 3 ? 2 : 4);
    if (what == 0) {
        buf_putz(b, strings[roll(COUNT(strings))]);
    } else if (what == 1) {
        buf_putz(b, plain[roll(COUNT(plain))]);
    } else {
        bool object = what == 2;
        buf_putc(b, object ? '{' : '[');
        for (uint32_t i = 0, n = roll(4); i < n; i++) {
            buf_putz(b, i ? roll(2) ? ", " : "," : "");
            if (object)
                buf_printf(b, "\"k%u\":%s", i, roll(2) ? " " : "");
            put_value(b, depth + 1);
        }
        buf_putc(b, object ? '}' : ']');
    }
}

static daruma_str put_arguments(daruma_buf *b)
{
    size_t from = b->n;
    buf_putc(b, '{');
    for (uint32_t i = 0, n = 1 + roll(4); i < n; i++) {
        buf_printf(b, "%s\"name%u\":", i ? "," : "", i);
        put_value(b, 1);
    }
    buf_putc(b, '}');
    return str_from(buf_str(b), from);
}

enum { DICED = 80, TEXTS = DICED + COUNT(written) };

/* The texts, in memory that lasts until the next call. */
static size_t all_texts(daruma_str out[TEXTS])
{
    static char room[1 << 18];
    daruma_buf b = buf_over(room, sizeof room);
    size_t n = 0;
    dice = 88172645463325252u;
    for (size_t i = 0; i < COUNT(written); i++)
        out[n++] = str_of(written[i]);
    for (int i = 0; i < DICED; i++)
        out[n++] = put_arguments(&b);
    assert_false(b.full);
    return n;
}

/* ---- the same written wrong, as models do ---- */

typedef void wrong_way(daruma_buf *b, daruma_str text);

static void as_it_is(daruma_buf *b, daruma_str text)
{
    buf_put(b, text);
}

static void in_a_fence(daruma_buf *b, daruma_str text)
{
    BUF_LIT(b, "```json\n");
    buf_put(b, text);
    BUF_LIT(b, "\n```");
}

static void behind_words(daruma_buf *b, daruma_str text)
{
    BUF_LIT(b, "Here it is: ");
    buf_put(b, text);
}

static void escaped_once_more(daruma_buf *b, daruma_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"' || text.p[i] == '\\')
            buf_putc(b, '\\');
        buf_putc(b, text.p[i]);
    }
}

static void as_a_string(daruma_buf *b, daruma_str text)
{
    buf_json(b, text);
}

/* Behind each last member a comma, and words as Python has them. */
static void with_slips(daruma_buf *b, daruma_str text)
{
    bool within = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i], before = i ? text.p[i - 1] : 0;
        if (!within && (c == '}' || c == ']') && before != '{' && before != '[' && !ch_space(before))
            buf_putc(b, ',');
        buf_putc(b, !within && c == 't' ? 'T' : c);
        if (within && c == '\\')
            buf_putc(b, text.p[++i]);
        else
            within ^= c == '"';
    }
}

static wrong_way *const ways[] = {as_it_is, in_a_fence, behind_words, escaped_once_more, as_a_string, with_slips};

/* ---- what must hold ---- */

static bool same_value(daruma_str a, daruma_str b, daruma_arena *room)
{
    daruma_str x = {0}, y = {0};
    if (!json_whole(a, &x) || !json_whole(b, &y))
        return false;
    for (int i = 0; i < 2 && json_is_string(x) && json_is_object(y); i++) /* encoded twice is what it says */
        if (!json_whole(json_text(x, room), &x))
            return false;
    return str_eq(x, y) || value_same(x, y);
}

static void no_cut_gives_a_part(void **state)
{
    (void)state;
    daruma_str texts[TEXTS];
    size_t n = all_texts(texts), cuts = 0, whole = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            daruma_buf b = buf_over(made, sizeof made);
            ways[w](&b, texts[i]);
            assert_false(b.full);
            for (size_t to = 0; to <= b.n; to++) {
                daruma_arena a = arena_over(memory, sizeof memory);
                bool cut = false;
                daruma_str got = json_repair(str_sub(buf_str(&b), 0, to), &a, &cut);
                cuts++;
                whole += got.n > 0;
                if (got.n && (cut || !same_value(got, texts[i], &a)))
                    fail_msg(STR_FMT "\n  cut after %zu bytes became\n  " STR_FMT, STR_ARG(buf_str(&b)), to,
                             STR_ARG(got));
            }
        }
    assert_true(cuts >= 10000);
    assert_true(whole >= n * COUNT(ways)); /* the whole text always gives something */
}

static void put_schema(daruma_buf *b, daruma_str value, const char *more)
{
    daruma_str key, v;
    bool first = true;
    if (!json_is_object(value)) {
        BUF_LIT(b, "{\"type\":\"");
        buf_putz(b, value_type(value));
        BUF_LIT(b, "\"}");
        return;
    }
    BUF_LIT(b, "{\"type\":\"object\",\"properties\":{");
    for (json_iter it = json_open(value); json_next(&it, &key, &v); first = false) {
        buf_putz(b, first ? "\"" : ",\"");
        buf_put(b, key);
        BUF_LIT(b, "\":");
        put_schema(b, v, "");
    }
    buf_putz(b, first && *more ? more + 1 : more);
    BUF_LIT(b, "}}");
}

/* Cuts each text, and asks for the arguments of a call or for an answer that is JSON. `more`: a member that the schema
 * knows besides. Returns how many cuts gave something. */
static size_t cut_with_schema(const char *more, bool said)
{
    static char room[1 << 18];
    daruma_str texts[TEXTS];
    size_t n = all_texts(texts), mended = 0;
    for (size_t i = 0; i < n; i++) {
        daruma_buf schema = buf_over(room, sizeof room);
        daruma_str text = str_trim(texts[i]);
        put_schema(&schema, text, more);
        assert_true(!schema.full && schema_fits(buf_str(&schema), text, NULL));
        convo_tool tool = {.name = S("t"), .schema = buf_str(&schema)};
        convo c = {.tools = &tool, .ntools = 1};
        for (size_t to = 1; to < text.n; to++) { /* no text at all is how some say that there are no arguments */
            daruma_arena a = arena_over(memory, sizeof memory);
            daruma_str part = str_sub(text, 0, to);
            args_check got = said ? mend_said(tool.schema, part, &a) : mend_args(&c, S("t"), part, false, &a);
            assert_true(got.verdict != ARGS_GOOD);
            if (got.verdict != ARGS_REPAIRED)
                continue;
            mended++;
            if (*more || !same_value(got.fixed, text, &a))
                fail_msg(STR_FMT "\n  cut after %zu bytes became\n  " STR_FMT, STR_ARG(text), to, STR_ARG(got.fixed));
        }
    }
    return mended;
}

static void a_bracket_is_closed_only_where_nothing_can_be_missing(void **state)
{
    (void)state;
    assert_true(cut_with_schema("", false) >= 20);
    assert_true(cut_with_schema("", true) >= 20);
    assert_int_equal(cut_with_schema(",\"unsaid\":{\"type\":\"boolean\"}", false), 0);
    assert_int_equal(cut_with_schema(",\"unsaid\":{\"type\":\"boolean\"}", true), 0);
}

/* The front may be lost, too: a stream whose first piece did not arrive. What begins with a bracket may be all. */
static void what_lost_its_beginning_gives_nothing(void **state)
{
    (void)state;
    daruma_str texts[TEXTS];
    size_t n = all_texts(texts);
    for (size_t i = 0; i < n; i++)
        for (size_t from = 1; from < texts[i].n; from++) {
            daruma_arena a = arena_over(memory, sizeof memory);
            daruma_str left = str_trim(str_from(texts[i], from));
            daruma_str got = json_repair(left, &a, NULL);
            if (left.n && left.p[0] != '{' && left.p[0] != '[' && json_is_object(got))
                fail_msg(STR_FMT "\n  became " STR_FMT, STR_ARG(left), STR_ARG(got));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cut_gives_a_part),
        cmocka_unit_test(a_bracket_is_closed_only_where_nothing_can_be_missing),
        cmocka_unit_test(what_lost_its_beginning_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
