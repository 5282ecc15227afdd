/* The JSON reader against jansson over random documents, and the cases in which JSON parsers are
 * known to differ. */
#include "test.h"
#include "base/json.h"
#include "base/arena.h"
#include "base/buf.h"
#include <jansson.h> /* behind base/json.h: its macros take the names json_is_... for json_t */
#include <stdlib.h>

static char mem[1 << 20];

// clang-format off
/* Texts every reader must accept. */
static const char *const good[] = {
    "[]", "{}", "[ ]", "{ }", " [] ", "\n\t\r []\n", "null", "true", "false", "0", "-0", "1", "-1", "12", "120",
    "0.0", "0.5", "-0.5", "1.25e3", "1E3", "1e+3", "1e-3", "-1.0E-10", "0e1", "0E+1", "1e0001", "123456789012345678901234567890",
    "\"\"", "\"a\"", "\"\\\"\"", "\"\\\\\"", "\"\\/\"", "\"\\b\\f\\n\\r\\t\"", "\"\\u0041\"", "\"\\uD83D\\uDE00\"",
    "\"\\u0000\"", "\"\\uffff\"", "\"\\uABCD\\uabcd\"", "\"\xc3\xa9\"", "\"\xe2\x82\xac\"", "\"\xf0\x9f\x98\x80\"",
    "\"\x7f\"", "\"/\"", "\"\\\\u0041\"", "\"\\ud800\"", "\"\\ude00\\ud83d\"", "\"[{\"", "\"a, b: c\"",
    "[1]", "[1,2]", "[ 1 , 2 ]", "[[]]", "[[[[]]]]", "[{}]", "[null]", "[true,false,null]", "[\"a\",1,{},[]]", "[1\n]", "[\"\\\\\"]",
    "{\"a\":1}", "{\"a\" : 1 }", "{\"\":0}", "{\"a\":{},\"b\":[]}", "{\"a\":1,\"a\":2}", "{\"a\":{\"a\":{\"a\":1}}}",
    "{\"a\\u0000b\":0}", "{\"a\":\"b\",\"c\":\"d\"}", "{\"min\":-1.0e+28,\"max\":1.0e+28}", "{\"a\":[\n]}", "{\n\"a\":1\n}",
    "[\"\\u2028\\u2029\"]", "[\"\xe2\x80\xa8\"]", "[0,-0,0.1]", "[1e1,1E1]",
};

/* Texts every reader must refuse. */
static const char *const bad[] = {
    "", " ", "[", "]", "{", "}", "[}", "{]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[\"a\"\"b\"]", "[1]]", "[1]x", "{}{}",
    "[] []", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,\"a\":1}", "{\"a\":1,,\"b\":2}", "{\"a\" 1}", "{\"a\"::1}", "{\"a\":1 \"b\":2}", "{a:1}",
    "{'a':1}", "{1:1}", "{null:1}", "{[]:1}", "{\"a\":1", "{\"a\":", "{\"a\"", "{\"a", "{\"a\":1}}", "{\"a\":1}/**/", "/**/{}", "{}//",
    "[1//\n]", "#", "nul", "nulll", "tru", "True", "TRUE", "fals", "nan", "NaN", "Infinity", "-Infinity", "undefined", "[NaN]",
    "-", "+1", "--1", "-a", "01", "-01", "00", "012", "1.", ".5", "-.5", "1.e1", "1e", "1e+", "1e-", "1E", "0x1", "1_000", "1,000", "1 000",
    "1e1.5", "1.2.3", "0e", "0.e1", "-2.", "[1.]", "[-]", "[01]", "[1e]", "[0x42]", "1ea", "[1a]", "\xef\xbc\x91",
    "\"", "\"a", "\"\\", "\"\\\"", "\"\\x\"", "\"\\a\"", "\"\\'\"", "\"\\0\"", "\"\\u\"", "\"\\u1\"", "\"\\u12\"", "\"\\u123\"", "\"\\u123g\"",
    "\"\\U0041\"", "\"\\ud800\\u\"", "\"\n\"", "\"\t\"", "\"\x01\"", "\"\x1f\"", "'a'", "a", "[a]", "[\"a]", "[\"a\\\"]", "\"a\"b",
    "[\x0c]", "[\x0b]", "[\xa0]", "\xef\xbb\xbf{}", "[1}", "{\"a\":[1}", "[{\"a\":1]", "*", "[*]", "<html>", "{\"a\":\"b\"]", "[\"\":1]", ":", ",",
};
// clang-format on

static void what_is_json_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        if (!json_valid(str_of(good[i])))
            fail_msg("refused: %s", good[i]);
}

static void what_is_not_json_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        if (json_valid(str_of(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    assert_false(json_valid(S("1\0")));
    assert_false(json_valid(S("\"\0\"")));
}

static void every_prefix_of_an_object_is_refused(void **state)
{
    (void)state;
    daruma_str s = S("{\"a\":[1,{\"b\":\"x\\u0041\\\"\"},-1.5e3,true,null],\"c\":\"\"}");
    assert_true(json_valid(s));
    for (size_t n = 0; n < s.n; n++) {
        char *cut = malloc(n + 1); /* of its exact size, so that a sanitizer sees a read too far */
        memcpy(cut, s.p, n);
        assert_false(json_valid((daruma_str){cut, n}));
        assert_null(n ? json_end_quick(cut, cut + n) : NULL);
        free(cut);
    }
}

static void depth_has_a_limit(void **state)
{
    (void)state;
    char deep[2000];
    for (size_t depth = 511; depth <= 514; depth++) {
        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        assert_int_equal(json_valid((daruma_str){deep, 2 * depth}),
                         depth <= 513); /* the innermost is empty: not open */
        assert_ptr_equal(json_end_quick(deep, deep + 2 * depth), deep + 2 * depth);
    }
}

/* A small generator of documents that are mostly right. */
static uint64_t dice;
static unsigned roll(unsigned n)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (unsigned)(dice >> 33) % n;
}

static void space(daruma_buf *b)
{
    static const char *const some[] = {"", "", "", "", " ", "\n", "\t\r ", "  "};
    buf_putz(b, some[roll(8)]);
}

static void make_string(daruma_buf *b)
{
    static const char *const bits[] = {"a",        "b",
                                       "key",      "\\n",
                                       "\\\"",     "\\\\",
                                       "\\u0041",  "\\u00e9",
                                       "\xc3\xa9", "\\u0000",
                                       " ",        "{",
                                       "]",        "\\/",
                                       ",",        ":",
                                       "\\t",      "longer text that fills a block of the reader",
                                       "\\uabcd",  "\xf0\x9f\x98\x80"};
    buf_putc(b, '"');
    for (unsigned n = roll(6); n; n--)
        buf_putz(b, bits[roll(COUNT(bits))]);
    buf_putc(b, '"');
}

static void make_value(daruma_buf *b, int depth)
{
    static const char *const scalars[] = {"0",        "-1",   "12",    "1.5",  "1e3",
                                          "-0.25E-2", "true", "false", "null", "9007199254740993"};
    unsigned kind = roll(depth > 0 ? 6 : 3);
    if (kind < 2) {
        buf_putz(b, scalars[roll(COUNT(scalars))]);
    } else if (kind == 2) {
        make_string(b);
    } else {
        bool object = kind % 2;
        buf_putc(b, object ? '{' : '[');
        for (unsigned n = roll(5); n; n--) {
            space(b);
            if (object) {
                make_string(b);
                space(b);
                buf_putc(b, ':');
                space(b);
            }
            make_value(b, depth - 1);
            space(b);
            if (n > 1)
                buf_putc(b, ',');
        }
        buf_putc(b, object ? '}' : ']');
    }
}

static void same(daruma_str v, const json_t *j, daruma_arena a)
{
    daruma_str key, value;
    if (json_is_object(j)) {
        const char *name;
        json_t *member;
        json_object_foreach((json_t *)(uintptr_t)j, name, member) same(json_get(v, str_of(name)), member, a);
    } else if (json_is_array(j)) {
        size_t i = 0;
        for (json_iter it = json_open(v); json_next(&it, &key, &value);)
            same(value, json_array_get(j, i++), a);
        assert_int_equal(i, json_array_size(j));
        assert_int_equal(json_count(v), i);
    } else if (json_is_string(j)) {
        daruma_str text = json_text(v, &a), want = {json_string_value(j), json_string_length(j)};
        if (!str_eq(text, want))
            fail_msg("string " STR_FMT, STR_ARG(v));
    } else if (json_is_integer(j)) {
        assert_true(json_int(v, -7) == json_integer_value(j));
    } else {
        assert_int_equal(v.p[0], json_is_true(j) ? 't' : json_is_false(j) ? 'f' : json_is_null(j) ? 'n' : v.p[0]);
    }
}

static void random_documents_are_read_as_jansson_reads_them(void **state)
{
    (void)state;
    static const char noise[] = "{}[],:\"\\u0e1.-+ ntf\n";
    unsigned accepted = 0, refused = 0;
    dice = 20260101;
    for (int i = 0; i < 30000; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a);
        make_value(&b, 5);
        for (unsigned n = i % 2 ? 1 + roll(2) : 0; n && b.n; n--) /* every second one is hurt */
            b.p[roll((unsigned)b.n)] = noise[roll(sizeof noise - 1)];
        json_error_t error;
        json_t *j = json_loadb(b.p, b.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        daruma_str text = buf_str(&b), value = {0};
        bool ours = json_whole(text, &value);
        enum json_error_code code = json_error_code(&error);
        if (!j && (code == json_error_numeric_overflow || code == json_error_invalid_utf8 ||
                   code == json_error_null_byte_in_key))
            continue; /* not a question of syntax */
        if (ours != (j != NULL) && !(ours && strstr(error.text, "surrogate")))
            fail_msg("document %d: ours %d, jansson %s: " STR_FMT, i, ours, j ? "accepts" : error.text, STR_ARG(text));
        if (j) {
            same(value, j, a);
            json_decref(j);
        }
        ours ? accepted++ : refused++;
    }
    assert_in_range(accepted, 10000, 29000); /* the generator does its work */
    assert_in_range(refused, 3000, 20000);
}

static void the_quick_end_is_the_end(void **state)
{
    (void)state;
    dice = 77;
    for (int i = 0; i < 30000; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a);
        buf_putc(&b, '[');
        make_value(&b, 5);
        buf_putc(&b, ']');
        size_t n = b.n;
        if (i % 2) /* whatever follows makes no difference */
            for (unsigned more = roll(100); more; more--)
                buf_putc(&b, "\"\\]}{["[roll(6)]);
        const char *end = json_end_quick(b.p, b.p + b.n);
        if (end != b.p + n)
            fail_msg("document %d: ends at %td, not %zu: " STR_FMT, i, end ? end - b.p : -1, n, STR_ARG(buf_str(&b)));
        if (n > 1)
            assert_null(json_end_quick(b.p, b.p + n - 1));
    }
}

/* Walks `value` in steps, leaving each container within after `stop` of its members. */
/* Every length around the blocks it works in, every kind of escape at every place, whole and cut. */
static void the_quick_end_of_a_string_is_its_end(void **state)
{
    (void)state;
    static const char *const parts[] = {"a", "\\\"", "\\\\", "\\u00e9", "{", "]"};
    char text[400];
    for (size_t length = 0; length < 200; length++)
        for (size_t part = 0; part < COUNT(parts); part++) {
            daruma_buf b = buf_over(text, sizeof text);
            buf_putc(&b, '"');
            for (size_t i = 0; i < length; i++)
                buf_putc(&b, 'x');
            buf_putz(&b, parts[part]);
            buf_putz(&b, parts[part]);
            buf_putc(&b, '"');
            size_t n = b.n;
            buf_putz(&b, ",\"behind\"");
            assert_ptr_equal(json_string_end_quick(b.p, b.p + b.n), b.p + n);
            assert_int_equal(json_skip(buf_str(&b), 0, NULL), n);
            assert_null(json_string_end_quick(b.p, b.p + n - 1));
        }
}

static size_t walk_in_steps(daruma_str value, bool quick, size_t stop)
{
    daruma_str whole, left, member;
    json_iter it = json_open(value), twin = it;
    size_t n = 0;
    it.quick = quick;
    while (json_next(&twin, NULL, &whole)) {
        assert_true(json_step(&it, NULL));
        assert_ptr_equal(it.p, whole.p);
        if (whole.p[0] == '{' || whole.p[0] == '[') { /* jansson's macros hide our names */
            json_iter in = json_enter(&it);
            for (size_t i = 0; i < stop && json_next(&in, NULL, &member); i++)
                n++;
            assert_true(json_leave(&it, &in, &left));
        } else {
            assert_true(json_pass(&it, &left));
        }
        assert_ptr_equal(left.p, whole.p);
        assert_int_equal(left.n, whole.n);
    }
    assert_false(json_step(&it, NULL));
    assert_false(it.bad || twin.bad);
    assert_ptr_equal(it.p, value.p + value.n);
    return n;
}

static void a_container_may_be_left_anywhere(void **state)
{
    (void)state;
    dice = 99;
    size_t members = 0;
    for (int i = 0; i < 10000; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a);
        buf_putc(&b, '[');
        make_value(&b, 5);
        buf_putc(&b, ']');
        for (size_t stop = 0; stop < 3; stop++)
            members += walk_in_steps(buf_str(&b), i % 2, stop);
    }
    assert_true(members > 10000);
    daruma_str cut = S("[[1,2],{\"a\":[3}");
    json_iter it = json_open(cut);
    assert_true(json_next(&it, NULL, NULL) && json_step(&it, NULL));
    json_iter in = json_enter(&it);
    assert_false(json_leave(&it, &in, NULL));
    assert_true(it.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_may_be_left_anywhere),
        cmocka_unit_test(what_is_json_is_accepted),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(every_prefix_of_an_object_is_refused),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(random_documents_are_read_as_jansson_reads_them),
        cmocka_unit_test(the_quick_end_is_the_end),
        cmocka_unit_test(the_quick_end_of_a_string_is_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
