/* Repair of JSON that models wrote, schemas, and calls held against them. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "dialect/dialect.h"
#include "engine/mend/answer/answer.h"
#include "engine/mend/request/request.h"
#include "engine/mend/value.h"
#include <stdlib.h>

static char memory[4 << 20];

static daruma_arena fresh(void)
{
    return arena_over(memory, sizeof memory);
}

/* ---- repair ---- */

typedef struct repair_case {
    const char *in, *out; /* "" : it cannot */
    bool cut;
} repair_case;

static void check_repairs(const repair_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        daruma_arena a = fresh();
        bool cut = false;
        daruma_str got = json_repair(str_of(c[i].in), &a, &cut);
        if (!str_eq(got, str_of(c[i].out)))
            fail_msg("%s\n  got  " STR_FMT "\n  want %s", c[i].in, STR_ARG(got), c[i].out);
        if (cut != c[i].cut)
            fail_msg("%s: cut is %d", c[i].in, cut);
        assert_true(!got.n || json_valid(got));
        assert_str(json_repair(got, &a, NULL), c[i].out);
    }
}

static void what_is_around_it_goes(void **state)
{
    (void)state;
    static const repair_case cases[] = {
        {"```json\n{\"a\":1}\n```", "{\"a\":1}", false},
        {"```json\n{\"a\":1,}\n```", "{\"a\":1}", false},
        {"```\n[1,2]\n```\nDone.", "[1,2]", false},
        {"Here you are:\n```json\n{\"a\": \"b\"}\n```\nHope it helps!", "{\"a\": \"b\"}", false},
        {"Sure! {\"a\":1} is what you want.", "{\"a\":1}", false},
        {"See [1]. The call is {\"a\":1}", "{\"a\":1}", false},
        {"The ids are [1,2,3].", "[1,2,3]", false},
        {"Use {name} so: {\"a\":1}", "{\"a\":1}", false},
        {"{\"a\":1}}", "{\"a\":1}", false},
        {"{\"a\":1}\"}", "{\"a\":1}", false},
        {"{\"a\":\"x\"}}", "{\"a\":\"x\"}", false},
        {"{\"a\":1}\n{\"a\":1}\n", "{\"a\":1}", false},
        {"\xef\xbb\xbf{\"a\":1,}", "{\"a\":1}", false},
        {"callback({\"a\":1});", "{\"a\":1}", false},
        {"'{\"a\":1}'", "{\"a\":1}", false},
        {"See [1], [2] and [3]:\n```json\n{\"a\":1}\n```\nMore: [4]", "{\"a\":1}", false},
        {"It is {\"a\":1}. Again: {\"a\":1}", "{\"a\":1}", false},
        {"// the arguments\n{\"a\":1}", "{\"a\":1}", false},
    };
    check_repairs(cases, COUNT(cases));
}

static void slips_are_mended(void **state)
{
    (void)state;
    static const repair_case cases[] = {
        {"{\"a\":1,\"b\":[1,2,],}", "{\"a\":1,\"b\":[1,2]}", false},
        {"{\"a\":1,,\"b\":2}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1 \"b\":2}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":\"x\"\n \"b\":2}", "{\"a\":\"x\",\"b\":2}", false},
        {"[\"a\"\n\"b\"]", "[\"a\",\"b\"]", false},
        {"[{\"a\":1}{\"a\":2}]", "[{\"a\":1},{\"a\":2}]", false},
        {"{'a': 'b', 'c': True, 'd': None, 'e': False}", "{\"a\":\"b\",\"c\":true,\"d\":null,\"e\":false}", false},
        {"{a: 1, $b_2: 'x', c-d: null}", "{\"a\":1,\"$b_2\":\"x\",\"c-d\":null}", false},
        {"{1: 'a'}", "{\"1\":\"a\"}", false},
        {"{\"a\": NONE, \"c\": undefined}", "{\"a\":null,\"c\":null}", false},
        {"{\"a\": +1, \"b\": .5, \"c\": 0x1F, \"d\": -0.5e3, \"e\": 2.}",
         "{\"a\":1,\"b\":0.5,\"c\":31,\"d\":-0.5e3,\"e\":2}", false},
        {"{\"a\":1, // one\n\"b\":2 /* two */, # three\n\"c\":3}", "{\"a\":1,\"b\":2,\"c\":3}", false},
        {"{\xe2\x80\x9c"
         "a\xe2\x80\x9d: \xe2\x80\x9c"
         "b\xe2\x80\x9d}",
         "{\"a\":\"b\"}", false},
        {"{\"a\":\"one\ntwo\tthree\x01\"}", "{\"a\":\"one\\ntwo\\tthree\\u0001\"}", false},
        {"{\"a\":\"he said \"hi\" to me\",\"b\":1}", "{\"a\":\"he said \\\"hi\\\" to me\",\"b\":1}", false},
        {"{\"path\":\"a.py\",\"content\":\"print(\"a\", \"b\")\"}",
         "{\"path\":\"a.py\",\"content\":\"print(\\\"a\\\", \\\"b\\\")\"}", false},
        {"{\"size\":\"5\" screen\"}", "{\"size\":\"5\\\" screen\"}", false},
        {"{'a': 'it's fine', 'b': 1}", "{\"a\":\"it's fine\",\"b\":1}", false},
        {"{'a': 'say \"x\"'}", "{\"a\":\"say \\\"x\\\"\"}", false},
        {"{\"re\":\"\\d+\\.\",\"p\":\"C:\\Users\"}", "{\"re\":\"\\\\d+\\\\.\",\"p\":\"C:\\\\Users\"}", false},
        {"{\"a\":\"it\\'s \\x41\"}", "{\"a\":\"it's \\u0041\"}", false},
        {"{\"re\":\"\\d\",\"say\":\"\\\"x\\\" \\\\\"}", "{\"re\":\"\\\\d\",\"say\":\"\\\"x\\\" \\\\\"}", false},
        {"{\"a\":[1,2}", "{\"a\":[1,2]}", false},
        {"{\\\"a\\\": \\\"b\\\\nc\\\"}", "{\"a\": \"b\\nc\"}", false},
        {"{&quot;a&quot;: &quot;x &lt; y&quot;}", "{\"a\": \"x < y\"}", false},
        {"True", "true", false},
        {"'abc'", "\"abc\"", false},
    };
    check_repairs(cases, COUNT(cases));
}

/* What was to follow is not known, not even behind a whole value. */
static void what_ends_too_early_is_not_completed(void **state)
{
    (void)state;
    static const repair_case cases[] = {
        {"{\"a\":1", "", true},
        {"{\"a\":\"b\"", "", true},
        {"{\"a\":true", "", true},
        {"{\"a\":[1,2]", "", true},
        {"{\"a\":[1,2", "", true},
        {"{\"a\":\"Berl", "", true},
        {"{\"a\":{\"b\":\"c\"", "", true},
        {"{\"a\":1,", "", true},
        {"{\"a\":1,\"b", "", true},
        {"{\"a\":1,\"b\"", "", true},
        {"{\"a\":1,\"b\":", "", true},
        {"{\"a\":tr", "", true},
        {"{\"a\":1,\"b\":-", "", true},
        {"{\"a\":\"x\\", "", true},
        {"{\"a\":\"x\\u00", "", true},
        {"{\"a\":\"\xe6\x97", "", true},
        {"{\"city\":\"Berlin}", "", true},
        {"{\"code\":\"f() { return 1; }", "", true},
        {"{'a': 'x", "", true},
        {"{", "", true},
        {"+5", "", true},
        {"0x1", "", true},
        {"\xef\xbb\xbf"
         "12",
         "", true},
        {"```json\n{\"a\":1,\"b\":\"x", "", true},
        {"Sure: {\"a\":1,\"b\":\"x", "", true},
        {"See [1]: {\"a\":1,\"b\":\"x", "", true},
        {"{\\\"a\\\": \\\"b", "", true},
    };
    check_repairs(cases, COUNT(cases));
}

static void what_can_be_meant_in_two_ways_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "   ",
        "no json here",
        "The answer is 42",
        "{name}",
        "{\"a\": }",
        "[1,,2]",
        "{\"a\":010}",
        "{\"a\":1},\"b\":2}",
        "{\"a\":1:2}",
        "{\"code\":\"if (x == \"}\") {\"}",
        "{\"code\":\"if (x) \"} else {\"}",
        "{\"code\":\"say \"hi\" and {go \"now\"}", /* perhaps cut behind a bracket of the text */
        "{\"code\":\"print(\"a\", \"b\")\nd = {\"k\"}",
        "{\"code\":\"say \"hi\" now\"",
        "{\"a\":\"d = {\"x\": \"v\", \"y\": 2}\"}",
        "{\"a\":\"x, \"b\":\"y\"}",
        "[\"he said \"hi\", \"ok\" and left\"]",
        "{\"a\":1}{\"b\":2}", /* which of the two? */
        "{\"a\":1}\n{\"b\":2}\n",
        "{\"p\":\"C:\\dir\\new\"}", /* a line, or a directory? */
        "{\"p\":\"C:\\temp\\new\\q\"}",
        "{\"p\":\"C:\\new\",\"q\":\"C:\\dir\"}",
        "{\"p\":\"C:\\dir\\\"}",
        "{\"p\":\"\\\\server\\dir\"}",
        "{\\\"p\\\": \\\"C:\\dir\\new\\\"}",
        "```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```",
        "If so: {\"a\":1}. Otherwise: {\"a\":2}.",
        "Perhaps {\"a\":1}, in the end {\"b\":[1]} and no more.",
        "The format is {\"a\":1}, and my answer is {'a': 'it's'}.",
        "The format is {'a': }, and my answer is {\"a\":1}",
        "Either [1] or [2].",
        "It is [\"a\"], not {\"a\":1}",
        "{\"a\":NaN}", /* JSON has nothing that means the same */
        "{\"a\":-Infinity}",
        "{\"a\":[1,2,...]}",   /* something was left out */
        "\"a\": 1, \"b\": 2}", /* perhaps something stood before it */
        "lo\", \"a\": {\"b\": 1}}",
        ": {\"b\": 1}}",
        "{\"a\":<b>}",
        "{\"a\":Berlin}",
        "]",
        "\"",
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        daruma_arena a = fresh();
        daruma_str got = json_repair(str_of(cases[i]), &a, NULL);
        if (got.n)
            fail_msg("%s became " STR_FMT, cases[i], STR_ARG(got));
    }
}

static void valid_json_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const cases[] = {"{}",   " {\"a\": 1 } ", "[1, 2]",      "\"{\\\"a\\\":1}\"",
                                        "null", "-1e5",          "\"```json\"", "{\"a\":\"&quot;\",\"b\":\"x // y\"}"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        daruma_arena a = fresh();
        assert_str(json_repair(str_of(cases[i]), &a, NULL), cases[i]);
        assert_ptr_equal(json_repair(str_of(cases[i]), &a, NULL).p, cases[i]);
    }
}

static uint64_t dice = 88172645463325252u;

static uint32_t roll(uint32_t below)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 32) % below;
}

static void whatever_breaks_the_result_is_valid_or_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"path\":\"src/a.c\",\"content\":\"int main(void)\\n{\\n\\tputs(\\\"hi\\\");\\n}\\n\",\"mode\":420}",
        "{\"q\":[{\"k\":\"v\",\"n\":-1.5e3},null,true,[[]],{}],\"s\":\"\xe6\x97\xa5\xe6\x9c\xac \\u00e9 it's\"}",
        "```json\n{'a': None, b: [1, 2,], \"c\": \"x\" // y\n}\n```",
    };
    static const char bits[] = "{}[]\",:'\\ \n0eE-+.#/*tfnu`\x80\xe2";
    char text[256];
    for (int round = 0; round < 60000; round++) {
        daruma_str from = str_of(texts[round % 3]);
        size_t n = from.n;
        memcpy(text, from.p, n);
        for (uint32_t edits = 1 + roll(4); edits--;) {
            size_t at = roll((uint32_t)n);
            uint32_t how = roll(4);
            if (how == 0)
                n = at + 1;
            else if (how == 1 && n > 2)
                memmove(text + at, text + at + 1, --n - at);
            else
                text[at] = bits[roll(sizeof bits - 1)];
        }
        daruma_arena a = fresh();
        daruma_str got = json_repair((daruma_str){text, n}, &a, NULL);
        assert_true(!got.n || json_valid(got));
        daruma_str again = json_repair(got, &a, NULL);
        assert_true(again.p == got.p && again.n == got.n);
        if (json_valid((daruma_str){text, n}))
            assert_true(got.p == text && got.n == n);
    }
}

static void depth_and_size_are_bounded(void **state)
{
    (void)state;
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    daruma_arena a = fresh();
    assert_int_equal(json_repair((daruma_str){deep, sizeof deep}, &a, NULL).n, 0);
    memset(deep, '"', sizeof deep);
    deep[0] = '[';
    json_repair((daruma_str){deep, sizeof deep}, &a, NULL);
    char few[64];
    daruma_arena small = arena_over(few, sizeof few);
    assert_int_equal(
        json_repair(S("{'a': 'a long text that does not fit into so little memory', 'b': 'c'}"), &small, NULL).n, 0);
}

/* A tree of 2^13 alternatives, none of which fits, for each of many elements: minutes, if each had its own steps. */
static void a_hostile_schema_takes_no_longer_than_another(void **state)
{
    (void)state;
    static char room[1 << 20];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_buf schema = buf_in(&a), value = buf_in(&a);
    BUF_LIT(&schema, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"allOf\":"
                     "[{\"$ref\":\"#/$defs/d0\"}]}}},\"$defs\":{");
    for (int i = 0; i < 13; i++)
        buf_printf(&schema, "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},", i, i + 1,
                   i + 1);
    BUF_LIT(&schema, "\"d13\":{\"type\":\"integer\"}}}");
    BUF_LIT(&value, "{\"a\":[");
    for (int i = 0; i < 20000; i++)
        buf_putz(&value, i ? ",\"x\"" : "\"x\"");
    BUF_LIT(&value, "]}");
    assert_false(schema.full || value.full);
    convo_tool tool = {.name = S("t"), .schema = buf_str(&schema)};
    convo c = {.arena = &a, .tools = &tool, .ntools = 1};
    mend_args(&c, S("t"), buf_str(&value), false, &a);
    assert_true(schema_fits(S("{\"not\":{\"type\":\"string\"}}"), S("1"), NULL));
    assert_false(schema_fits(S("{\"not\":{\"type\":\"string\"}}"), S("\"x\""), NULL));
}

/* ---- schemas ---- */

static void schemas_are_lowered(void **state)
{
    (void)state;
    // clang-format off
    static const struct { const char *in, *keyword, *out; } cases[] = {
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}", "",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}"},
        {"{\"properties\":{\"a\":{\"const\":\"x\"},\"b\":{\"type\":[\"integer\",\"null\"],\"minimum\":1}}}", "",
         "{\"properties\":{\"a\":{\"enum\":[\"x\"],\"type\":\"string\"},\"b\":{\"type\":\"integer\",\"nullable\":true}},\"type\":\"object\"}"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"const\":1,\"format\":\"x\"}}}", "const",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[1],\"format\":\"x\"}}}"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}}}", "any_of",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}"},
        {"{\"type\":\"object\",\"properties\":{\"p\":{\"$ref\":\"#/$defs/P\"}},\"$defs\":{\"P\":{\"type\":\"object\",\"properties\":{\"q\":{\"$ref\":\"#/$defs/P\"}}}}}", "$ref",
         "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"object\"}}}}}"},
        {"{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]},{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"}}}]}", "",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}}"},
        {"{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]},{\"properties\":{\"b\":{\"type\":\"number\"}}}]}", "",
         "{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"number\"}},\"required\":[\"a\"],\"type\":\"object\"}"},
        {"{\"type\":\"object\",\"properties\":{\"u\":{\"oneOf\":[{\"const\":\"a\"},{\"enum\":[\"b\",\"c\"]}]}}}", "",
         "{\"type\":\"object\",\"properties\":{\"u\":{\"enum\":[\"a\",\"b\",\"c\"],\"type\":\"string\"}}}"},
        {"{\"type\":\"object\",\"properties\":{\"u\":{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}}}", "",
         "{\"type\":\"object\",\"properties\":{\"u\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}}}"},
        {"{}", "", "{\"type\":\"object\",\"properties\":{}}"},
        {"{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\"}}}", "items",
         "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}"},
        {"{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"array\",\"prefixItems\":[{\"type\":\"number\"}]}}}", "",
         "{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}}}}"},
        {"{\"$schema\":\"x\",\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"format\":{\"type\":\"string\",\"format\":\"uri\"}},\"required\":[\"format\",\"gone\"]}", "",
         "{\"type\":\"object\",\"properties\":{\"format\":{\"type\":\"string\"}},\"required\":[\"format\"]}"},
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(cases); i++) {
        daruma_arena a = fresh();
        daruma_str low = schema_lower(str_of(cases[i].in), str_of(cases[i].keyword), false, &a);
        assert_str(low, cases[i].out);
        daruma_str again = schema_lower(low, str_of(cases[i].keyword), false, &a);
        assert_true(again.p == low.p);
        daruma_str all = schema_lower(low, S(""), false, &a);
        assert_true(schema_lower(all, S(""), false, &a).p == all.p);
    }
}

static void values_are_held_against_schemas(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\",\"minLength\":2},\"days\":{\"type\":"
        "\"integer\","
        "\"minimum\":1,\"maximum\":14},\"unit\":{\"enum\":[\"c\",\"f\"]},\"tags\":{\"type\":\"array\",\"items\":{"
        "\"type\":"
        "\"string\"}},\"at\":{\"$ref\":\"#/$defs/P\"},\"x\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}},"
        "\"required\":[\"city\"],\"additionalProperties\":false,\"$defs\":{\"P\":{\"type\":\"object\",\"properties\":{"
        "\"lat\":{\"type\":\"number\"}},\"required\":[\"lat\"]}}}";
    static const struct {
        const char *value, *why; /* NULL: it fits */
    } cases[] = {
        {"{\"city\":\"Bonn\"}", NULL},
        {"{\"city\":\"Bonn\",\"days\":3.0,\"unit\":\"c\",\"tags\":[\"a\"],\"at\":{\"lat\":1.5},\"x\":null}", NULL},
        {"{}", "- `city`: expected a value, it is required: \"string\"\n"},
        {"{\"city\":5}", "- `city`: expected string, got integer 5\n"},
        {"{\"city\":\"B\"}", "- `city`: expected a length of at least 2, got string \"B\"\n"},
        {"{\"city\":\"Bonn\",\"days\":0}", "- `days`: expected at least 1, got integer 0\n"},
        {"{\"city\":\"Bonn\",\"days\":2.5}", "- `days`: expected integer, got number 2.5\n"},
        {"{\"city\":\"Bonn\",\"unit\":\"k\"}", "- `unit`: expected one of [\"c\",\"f\"], got string \"k\"\n"},
        {"{\"city\":\"Bonn\",\"tags\":[\"a\",1]}", "- `tags[1]`: expected string, got integer 1\n"},
        {"{\"city\":\"Bonn\",\"at\":{}}", "- `at.lat`: expected a value, it is required: \"number\"\n"},
        {"{\"city\":\"Bonn\",\"zip\":1}", "- `zip`: expected no such property, got integer 1\n"},
        {"[1]", "- expected object, got array [1]\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char room[1000];
        daruma_buf why = buf_over(room, sizeof room);
        bool ok = schema_fits(str_of(schema), str_of(cases[i].value), &why);
        assert_int_equal(ok, cases[i].why == NULL);
        assert_str(buf_str(&why), cases[i].why ? cases[i].why : "");
        assert_int_equal(schema_fits(str_of(schema), str_of(cases[i].value), NULL), ok);
    }
    assert_true(schema_fits(S("{\"$ref\":\"#\"}"), S("{}"), NULL)); /* goes in circles */
    assert_true(schema_fits(S("true"), S("1"), NULL));
    assert_false(schema_fits(S("false"), S("1"), NULL));
    assert_false(schema_fits(S("{\"not\":{\"type\":\"string\"}}"), S("\"x\""), NULL));
    assert_true(schema_fits(S("{\"const\":\"\\u00e9\"}"), S("\"\xc3\xa9\""), NULL));
    assert_true(schema_fits(S("{\"enum\":[{\"a\":1,\"b\":2}]}"), S("{\"b\":2.0,\"a\":1}"), NULL));
}

/* By their value, however they are written and however long they are; characters by what they are. */
static void numbers_and_characters_are_counted_as_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *value;
        bool fits;
    } cases[] = {
        {"{\"type\":\"integer\"}", "1e3", true},
        {"{\"type\":\"integer\"}", "1.5E+1", true},
        {"{\"type\":\"integer\"}", "100e-2", true},
        {"{\"type\":\"integer\"}", "-0.0e-7", true},
        {"{\"type\":\"integer\"}", "1e-1", false},
        {"{\"type\":\"integer\"}", "1.25e1", false},
        {"{\"maximum\":1e3}", "1000", true},
        {"{\"maximum\":1e3}", "1000.1", false},
        {"{\"minimum\":1e-3}", "0.001", true},
        {"{\"minimum\":1e-3}", "0.0009", false},
        {"{\"exclusiveMinimum\":-20}", "-2e1", false},
        {"{\"maximum\":-5}", "-1e1", true},
        {"{\"minimum\":0}", "0e5", true},
        {"{\"const\":100}", "1e2", true},
        {"{\"maximum\":9007199254740993}", "9007199254740993", true},
        {"{\"maximum\":9007199254740993}", "9007199254740994", false},
        {"{\"maximum\":9007199254740992}", "9007199254740993", false},
        {"{\"maxLength\":1}", "\"\\ud83d\\ude00\"", true},
        {"{\"maxLength\":1}", "\"\xf0\x9f\x98\x80\"", true},
        {"{\"minLength\":2}", "\"\\uD83D\\uDE00\"", false},
        {"{\"minLength\":2}", "\"\\ude00\\ud83d\"", true}, /* two halves of nothing */
        {"{\"maxLength\":2}", "\"\\ud83d\\ude00\\ud83d\\ude00\"", true},
        {"{\"maxLength\":2}", "\"\\ud83dx\\u0041\"", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (schema_fits(str_of(cases[i].schema), str_of(cases[i].value), NULL) != cases[i].fits)
            fail_msg("%s in %s", cases[i].value, cases[i].schema);
}

/* ---- calls ---- */

#define ASK                                                                                                            \
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[{\"type\":\"function\","        \
    "\"function\":{\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":"   \
    "\"string\"},\"days\":{\"type\":\"integer\"},\"now\":{\"type\":\"boolean\"},\"tags\":{\"type\":\"array\","         \
    "\"items\""                                                                                                        \
    ":{\"type\":\"string\"}},\"at\":{\"type\":\"object\",\"properties\":{\"lat\":{\"type\":\"number\"}}}},"            \
    "\"required\":[\"city\"]}}},{\"type\":\"function\",\"function\":{\"name\":\"list_files\",\"parameters\":{"         \
    "\"type\":\"object\",\"properties\":{\"dir\":{\"type\":\"string\"}}}}},{\"type\":\"function\",\"function\":{"      \
    "\"name\":\"kanban_list\"}},{\"type\":\"function\",\"function\":{\"name\":\"kanban_link\"}},{\"type\":"            \
    "\"custom\",\"custom\":{\"name\":\"shell\"}}]}"

static convo ask(daruma_arena *a)
{
    convo c;
    assert_int_equal(dialect_openai.read(S(ASK), a, &c), DARUMA_OK);
    return c;
}

static void calls_are_held_against_their_tools(void **state)
{
    (void)state;
    // clang-format off
    static const struct { const char *name, *args; args_verdict verdict; const char *fixed, *as; } cases[] = {
        {"get_weather", "{\"city\":\"Bonn\"}", ARGS_GOOD, "", "get_weather"},
        {"get_weather", "```json\n{\"city\":\"Bonn\",}\n```", ARGS_REPAIRED, "{\"city\":\"Bonn\"}", "get_weather"},
        {"get_weather", "{'city': 'Bonn', 'now': True}", ARGS_REPAIRED, "{\"city\":\"Bonn\",\"now\":true}", "get_weather"},
        {"get_weather", "{\"city\":\"Bonn\",\"days\":\"3\"}", ARGS_REPAIRED, "{\"city\":\"Bonn\",\"days\":3}", "get_weather"},
        {"get_weather", "{\"city\":5}", ARGS_REPAIRED, "{\"city\":\"5\"}", "get_weather"},
        {"get_weather", "{\"city\":\"Bonn\",\"now\":\"true\",\"tags\":\"x\"}", ARGS_REPAIRED, "{\"city\":\"Bonn\",\"now\":true,\"tags\":[\"x\"]}", "get_weather"},
        {"get_weather", "{\"city\":\"Bonn\",\"at\":\"{\\\"lat\\\": 1.5}\"}", ARGS_REPAIRED, "{\"city\":\"Bonn\",\"at\":{\"lat\": 1.5}}", "get_weather"},
        {"get_weather", "{\"city\":\"Bonn\",\"tags\":\"[\\\"a\\\",\\\"b\\\"]\",\"days\":null}", ARGS_REPAIRED, "{\"city\":\"Bonn\",\"tags\":[\"a\",\"b\"]}", "get_weather"},
        {"get_weather", "\"{\\\"city\\\":\\\"Bonn\\\"}\"", ARGS_REPAIRED, "{\"city\":\"Bonn\"}", "get_weather"},
        {"get_weather", "{\"city\":\"Bonn\"", ARGS_BROKEN, "", "get_weather"}, /* days may have been to come */
        {"get_weather", "{\"city\":\"Bonn\",\"n", ARGS_BROKEN, "", "get_weather"},
        {"list_files", "{\"dir\":\"/tmp\"", ARGS_REPAIRED, "{\"dir\":\"/tmp\"}", "list_files"}, /* it takes no more */
        {"list_files", "{\"dir\":\"/tm", ARGS_BROKEN, "", "list_files"},
        {"list_files", "do not look into {\"dir\":\"/tmp\"}", ARGS_BROKEN, "", "list_files"}, /* who knows what words say */
        {"list_files", "{\"dir\":\"/tmp\"} is what I must not list", ARGS_BROKEN, "", "list_files"},
        {"list_files", "Not this:\n```json\n{\"dir\":\"/tmp\"}\n```", ARGS_BROKEN, "", "list_files"},
        {"list_files", "```json\nnot {\"dir\":\"/tmp\"}\n```", ARGS_BROKEN, "", "list_files"},
        {"list_files", "// not this\n{\"dir\":\"/tmp\"}", ARGS_BROKEN, "", "list_files"},
        {"list_files", "\"do not {\\\"dir\\\":\\\"/tmp\\\"}\"", ARGS_UNFIT, "", "list_files"},
        {"get_weather", "{\"city\":\"Bonn\",\"at\":\"{'lat': 1.5} or more\"}", ARGS_UNFIT, "", "get_weather"},
        {"list_files", "```json\n{\"dir\":\"/a\"}\n```\n```json\n{\"dir\":\"/b\"}\n```", ARGS_BROKEN, "", "list_files"},
        {"list_files", "{\"dir\":\"/a\"}\n{\"dir\":\"/a\"}", ARGS_REPAIRED, "{\"dir\":\"/a\"}", "list_files"},
        {"list_files", "{\"dir\":\"/a\"}}", ARGS_REPAIRED, "{\"dir\":\"/a\"}", "list_files"},
        {"list_files", "{\"dir\":\"C:\\dir\"}", ARGS_REPAIRED, "{\"dir\":\"C:\\\\dir\"}", "list_files"},
        {"list_files", "{\"dir\":\"C:\\dir\\new\"}", ARGS_BROKEN, "", "list_files"},
        {"get_weather", "{\"city\":\"Bonn\",\"days\":\"3 weeks\"}", ARGS_UNFIT, "", "get_weather"},
        {"get_weather", "{\"city\":\"Bonn\",\"days\":1e1}", ARGS_GOOD, "", "get_weather"},
        {"get_weather", "{\"city\":\"Bonn\",\"days\":15e-1}", ARGS_UNFIT, "", "get_weather"},
        {"list_files", "{\"dir\":\"/tmp\",", ARGS_BROKEN, "", "list_files"},
        {"list_files", "{\"dir\":\"/tmp\",\"mood\":\"good\"", ARGS_REPAIRED, "{\"dir\":\"/tmp\"}", "list_files"},
        {"list_files", "{'dir': '/tmp', 'mood': 'good'}", ARGS_REPAIRED, "{\"dir\":\"/tmp\"}", "list_files"},
        {"list_files", "{\"dir\":\"/tmp\",\"mood\":\"good\"}", ARGS_GOOD, "", "list_files"},
        {"list_files", "{\"dir\":\"say \"a\"\", \"mood\":\"good\"}", ARGS_BROKEN, "", "list_files"}, /* a member, or a piece? */
        {"get_weather", "{\"city\":\"Bonn\",\"days\":2.5}", ARGS_UNFIT, "", "get_weather"},
        {"get_weather", "{\"city\":\"Bonn\",\"days\":\"three\"}", ARGS_UNFIT, "", "get_weather"},
        {"get_weather", "{}", ARGS_UNFIT, "", "get_weather"},
        {"get_weather", "", ARGS_UNFIT, "", "get_weather"},
        {"get_weather", "[1]", ARGS_UNFIT, "", "get_weather"},
        {"get_weather", "city is Bonn", ARGS_BROKEN, "", "get_weather"},
        {"list_files", "", ARGS_REPAIRED, "{}", "list_files"},
        {"list_files", "null", ARGS_REPAIRED, "{}", "list_files"},
        {"list_files", "{\"dir\":null}", ARGS_REPAIRED, "{}", "list_files"},
        {"kanban_list", "", ARGS_REPAIRED, "{}", "kanban_list"},
        {"GetWeather", "{\"city\":\"Bonn\"}", ARGS_REPAIRED, "{\"city\":\"Bonn\"}", "get_weather"},
        {"get-weather", "{\"city\":\"Bonn\"}", ARGS_REPAIRED, "{\"city\":\"Bonn\"}", "get_weather"},
        {"functions.get_weather", "{\"city\":\"Bonn\"}", ARGS_REPAIRED, "{\"city\":\"Bonn\"}", "get_weather"},
        {"get.weather", "{\"city\":\"Bonn\"}", ARGS_REPAIRED, "{\"city\":\"Bonn\"}", "get_weather"},
        {"list/files", "{}", ARGS_REPAIRED, "{}", "list_files"},
        {"sky.get_weather", "{\"city\":\"Bonn\"}", ARGS_UNKNOWN_TOOL, "", "sky.get_weather"},
        {"mcp__sky__get_weather", "{\"city\":\"Bonn\"}", ARGS_REPAIRED, "{\"city\":\"Bonn\"}", "get_weather"},
        {"kanban_lisk", "{}", ARGS_UNKNOWN_TOOL, "", "kanban_lisk"},
        {"weather", "{\"city\":\"Bonn\"}", ARGS_UNKNOWN_TOOL, "", "weather"},
        {"shell", "ls -l | wc", ARGS_GOOD, "", "shell"},
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(cases); i++) {
        daruma_arena a = fresh();
        convo c = ask(&a);
        args_check got = mend_args(&c, str_of(cases[i].name), str_of(cases[i].args), false, &a);
        if (got.verdict != cases[i].verdict)
            fail_msg("%s(%s): verdict %d, " STR_FMT, cases[i].name, cases[i].args, got.verdict, STR_ARG(got.why));
        assert_str(got.fixed, cases[i].fixed);
        assert_str(got.name, cases[i].as);
        assert_true(got.why.n <= 1000);
        assert_int_equal(got.why.n > 0, got.verdict >= ARGS_UNKNOWN_TOOL);
    }
}

static void signs_of_a_name_count_for_nothing_on_either_side(void **state)
{
    (void)state;
    static const struct {
        const char *name, *as; /* NULL: which is meant is not known */
    } cases[] = {{"fs_read", "fs.read"},
                 {"fs/read", "fs.read"},
                 {"dir:list", "dir/list"},
                 {"a.bc", "a.bc"},
                 {"ab.c", NULL /* two */},
                 {"_", NULL},
                 {".", NULL},
                 {"fs.reads", NULL},
                 {"ab_c", "ab_c"},
                 {"read", NULL}};
    convo_tool tools[] = {{.name = S("fs.read")}, {.name = S("dir/list")}, {.name = S("a.bc")}, {.name = S("ab_c")}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        daruma_arena a = fresh();
        convo c = {.tools = tools, .ntools = COUNT(tools)};
        args_check got = mend_args(&c, str_of(cases[i].name), S("{}"), false, &a);
        assert_int_equal(got.verdict == ARGS_UNKNOWN_TOOL, !cases[i].as);
        assert_str(got.name, cases[i].as ? cases[i].as : cases[i].name);
    }
}

/* Writes `form` with `name` for each '@', and so many blanks for each '~'. */
static daruma_str filled(const char *form, const char *name, size_t blanks, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (; *form; form++)
        if (*form == '@')
            buf_putz(&b, name);
        else if (*form == '~')
            for (size_t i = 0; i < blanks; i++)
                buf_putc(&b, ' ');
        else
            buf_putc(&b, *form);
    return buf_str(&b);
}

/* Python, PHP and .NET write the letters of other languages as escapes where nobody tells them not to. */
static void a_name_is_the_same_however_it_is_spelt(void **state)
{
    (void)state;
    static const char *const spelt[] = {"\303\274ber", "\\u00fcber", "\\u00FC\\u0062er"};
    static const char *const forms[][2] = {
        {"{\"type\":\"object\",\"properties\":{~\"@\":{\"type\":\"integer\"}},\"required\":[~\"@\"]}", "{~\"@\":7}"},
        {"{\"properties\":{~\"@\":{\"type\":\"integer\"}},\"additionalProperties\":false}", "{~\"@\":7}"},
        {"{\"properties\":{\"all\":{\"enum\":[{\"@\":7}]}}}", "{\"all\":{~\"@\": 7}}"},
    };
    for (size_t i = 0; i < COUNT(spelt); i++)
        for (size_t k = 0; k < COUNT(spelt); k++)
            for (size_t f = 0; f < 4 * COUNT(forms); f++) {
                daruma_arena a = fresh();
                size_t blanks = f / COUNT(forms) % 2 ? LOOKUP_BYTES_MIN : 0; /* what is longer is not looked through */
                char names[2][1024];
                int behind = f < 2 * COUNT(forms) || f % COUNT(forms) == 2 ? 0 : 600; /* long where there is an arena */
                snprintf(names[0], sizeof names[0], "%s%*s", spelt[i], behind, "");
                snprintf(names[1], sizeof names[1], "%s%*s", spelt[k], behind, "");
                const char *const *form = forms[f % COUNT(forms)];
                convo_tool t = {.name = S("t"), .schema = filled(form[0], names[0], blanks, &a)};
                convo c = {.tools = &t, .ntools = 1};
                daruma_str args = filled(form[1], names[1], blanks, &a);
                args_check got = mend_args(&c, S("t"), args, false, &a);
                if (got.verdict != ARGS_GOOD)
                    fail_msg("%s, %s: " STR_FMT, spelt[i], spelt[k], STR_ARG(got.why));
            }
}

static void the_model_is_told_what_and_where(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    convo c = ask(&a);
    assert_str(mend_args(&c, S("get_weather"), S("{\"days\":\"three\",\"now\":true}"), false, &a).why,
               "The arguments of `get_weather` are wrong:\n"
               "- `city`: expected a value, it is required: \"string\"\n"
               "- `days`: expected integer, got string \"three\"\n"
               "They should look like this: {\"city\":<string>,\"days\":<integer>,\"now\":true}");
    daruma_str why = mend_args(&c, S("kanban_lisk"), S("{}"), false, &a).why;
    assert_true(str_find(why, S("`kanban_lisk`")) != STR_NONE && str_find(why, S("`kanban_list`")) != STR_NONE);
    char huge[5000];
    memset(huge, 'x', sizeof huge);
    assert_true(mend_args(&c, (daruma_str){huge, sizeof huge}, S("{}"), false, &a).why.n <= 1000);
}

static void what_was_cut_by_its_length_is_never_repaired(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    convo c = ask(&a);
    convo_part parts[] = {{.kind = PART_CALL, .text = S("{\"city\":\"Bo")}, {.kind = PART_CALL, .text = S("{}")}};
    turn t = {.finish = FINISH_LENGTH, .message = {.parts = parts, .nparts = 2}};
    assert_true(mend_args_cut(&t, 0));
    assert_false(mend_args_cut(&t, 1));
    parts[1].value = S("{}"); /* an object of the wire looks whole, whatever is missing */
    assert_true(mend_args_cut(&t, 1));
    parts[0].value = S("{}");
    parts[0].text = S("{}");
    assert_false(mend_args_cut(&t, 0)); /* another call came behind it */
    t.finish = FINISH_WINDOW;
    parts[0].text = S("");
    assert_true(mend_args_cut(&t, 0));
    t.finish = FINISH_CALLS;
    assert_false(mend_args_cut(&t, 0) || mend_args_cut(&t, 1));
    args_check got = mend_args(&c, S("get_weather"), S("{\"city\":\"Bo"), true, &a);
    assert_int_equal(got.verdict, ARGS_BROKEN);
    assert_true(str_find(got.why, S("several parts")) != STR_NONE);
    /* Whatever the finish reason says. */
    got = mend_args(&c, S("get_weather"), S("{\"city\":\"Bo"), false, &a);
    assert_int_equal(got.verdict, ARGS_BROKEN);
    assert_true(str_find(got.why, S("before they are complete")) != STR_NONE);
    assert_int_equal(mend_args(&c, S("shell"), S("ls -l | w"), true, &a).verdict, ARGS_BROKEN);
    /* An object that lacks nothing is whole, one that may lack a member is not. */
    convo_tool closes = {.name = S("close"),
                         .schema = S("{\"type\":\"object\",\"properties\":{\"path\":{\"type\":"
                                     "\"string\"},\"sync\":{\"type\":\"boolean\"}}}")};
    convo closing = {.arena = &a, .tools = &closes, .ntools = 1};
    assert_int_equal(mend_args(&closing, S("close"), S("{\"path\":\"/tmp\",\"sync\":true}"), true, &a).verdict,
                     ARGS_GOOD);
    assert_int_equal(mend_args(&closing, S("close"), S("{\"sync\":true,\"path\":\"/tmp\"}"), true, &a).verdict,
                     ARGS_BROKEN); /* a string may have been longer */
    assert_int_equal(mend_args(&c, S("list_files"), S("{\"dir\":\"/tmp\"}"), true, &a).verdict, ARGS_BROKEN);
    assert_int_equal(mend_args(&c, S("list_files"), S("{}"), true, &a).verdict, ARGS_BROKEN);
    assert_int_equal(mend_args(&c, S("get_weather"), S("{\"city\":\"Bonn\"}"), true, &a).verdict, ARGS_BROKEN);
    convo_tool none = {.name = S("n"), .schema = S("{\"type\":\"object\",\"properties\":{}}")};
    convo one = {.arena = &a, .tools = &none, .ntools = 1};
    assert_int_equal(mend_args(&one, S("n"), S("{}"), true, &a).verdict, ARGS_GOOD);
    none.schema = S("{\"type\":\"object\"}");
    assert_int_equal(mend_args(&one, S("n"), S("{}"), true, &a).verdict, ARGS_BROKEN);
}

static void answers_are_held_against_their_schema(void **state)
{
    static const char *const schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
                                      "\"required\":[\"n\"],\"additionalProperties\":false}";
    static const struct {
        const char *schema, *said;
        args_verdict verdict;
        const char *fixed;
    } rows[] = {
        {"", "{\"n\": 1}", ARGS_GOOD, ""},
        {"", " [1]\n", ARGS_GOOD, ""},
        {"", "```json\n{\"n\": 1}\n```", ARGS_REPAIRED, "{\"n\": 1}"},
        {"", "I like Oslo.", ARGS_BROKEN, ""},
        {"", "{\"n\": 1", ARGS_BROKEN, ""}, /* an end that is not there is not made up */
        {"s", "{\"n\": 1", ARGS_BROKEN, ""},
        {"s", "{\"n\": \"1\"", ARGS_REPAIRED, "{\"n\":1}"}, /* it has no other member */
        {"s", "{'n': 1, 'm': 2}", ARGS_REPAIRED, "{\"n\":1}"},
        {"s", "{\"n\": 1, \"m\": 2}", ARGS_UNFIT, ""},
        {"s", "{\"n\": 1}", ARGS_GOOD, ""},
        {"s", "Here: {\"n\": 1,}", ARGS_REPAIRED, "{\"n\":1}"},
        {"s", "{\"n\": \"1\"}", ARGS_REPAIRED, "{\"n\":1}"},
        {"s", "{\"m\": 1}", ARGS_UNFIT, ""},
        {"s", "If so: {\"n\": 1}. Otherwise: {\"n\": 2}.", ARGS_BROKEN, ""}, /* nobody chooses */
        {"", "Thinking: {\"n\": 1} maybe. Final: {\"n\": 2}", ARGS_BROKEN, ""},
        {"s", "42", ARGS_BROKEN, ""},
        {"s", "", ARGS_BROKEN, ""},
        {"{\"type\":\"STRING\",\"enum\":[\"a\"]}", "a", ARGS_GOOD, ""}, /* Google's text/x.enum */
    };
    char room[1 << 16];
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(room, sizeof room);
        daruma_str s = str_of(strcmp(rows[i].schema, "s") == 0 ? schema : rows[i].schema);
        args_check c = mend_said(s, str_of(rows[i].said), &a);
        if (c.verdict != rows[i].verdict)
            fail_msg("%s: %d", rows[i].said, (int)c.verdict);
        daruma_str got = c.fixed, want = str_of(rows[i].fixed);
        bool same = got.n == want.n && (!got.n || memcmp(got.p, want.p, got.n) == 0);
        if (!same)
            fail_msg("%s: became %.*s", rows[i].said, (int)got.n, got.p);
        assert_true((c.verdict == ARGS_BROKEN || c.verdict == ARGS_UNFIT) == (c.why.n > 0));
    }
}

static void the_model_is_asked_again(void **state)
{
    (void)state;
    static const dialect *const all[] = {&dialect_openai, &dialect_anthropic, &dialect_openai_responses,
                                         &dialect_gemini};
    static const char *const bodies[] = {
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
        "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
        "{\"model\":\"m\",\"input\":\"hi\"}",
        "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}]}",
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        if (!all[i]->read)
            continue;
        for (int empty = 0; empty < 2; empty++) {
            daruma_arena a = fresh();
            convo c;
            mend_report rep = {0};
            convo_part parts[] = {
                {.kind = PART_THINKING, .text = S("hm"), .ready = true},
                {.kind = PART_TEXT, .text = S("I look."), .ready = true},
                {.kind = PART_CALL, .name = S("get_weather"), .id = S("c1"), .text = S("{broken"), .ready = true},
            };
            turn bad = {.message = {.role = CONVO_ASSISTANT, .parts = parts, .nparts = empty ? 1 : 3}};
            assert_int_equal(all[i]->read(str_of(bodies[i]), &a, &c), DARUMA_OK);
            assert_true(mend_ask_again(&c, &bad, S("- `city`: expected string"), &rep));
            daruma_buf b = buf_in(&a);
            all[i]->write(&c, &b);
            daruma_str body = buf_str(&b);
            assert_true(json_valid(body) && mend_did(&rep));
            assert_true(str_find(body, S("expected string")) != STR_NONE);
            assert_int_equal(str_find(body, S("{broken")) != STR_NONE, !empty);
            assert_true(str_find(body, S("tool_calls")) == STR_NONE && str_find(body, S("tool_use")) == STR_NONE);
            assert_true(str_find(body, S("hm")) == STR_NONE);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_around_it_goes),
        cmocka_unit_test(slips_are_mended),
        cmocka_unit_test(what_ends_too_early_is_not_completed),
        cmocka_unit_test(what_can_be_meant_in_two_ways_is_refused),
        cmocka_unit_test(valid_json_stays_as_it_is),
        cmocka_unit_test(whatever_breaks_the_result_is_valid_or_nothing),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(a_hostile_schema_takes_no_longer_than_another),
        cmocka_unit_test(schemas_are_lowered),
        cmocka_unit_test(values_are_held_against_schemas),
        cmocka_unit_test(numbers_and_characters_are_counted_as_they_are),
        cmocka_unit_test(calls_are_held_against_their_tools),
        cmocka_unit_test(signs_of_a_name_count_for_nothing_on_either_side),
        cmocka_unit_test(a_name_is_the_same_however_it_is_spelt),
        cmocka_unit_test(the_model_is_told_what_and_where),
        cmocka_unit_test(what_was_cut_by_its_length_is_never_repaired),
        cmocka_unit_test(answers_are_held_against_their_schema),
        cmocka_unit_test(the_model_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
