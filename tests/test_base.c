#include "test.h"
#include "base/json.h"
#include "base/str.h"
#include "base/date.h"
#include "base/buf.h"
#include "base/arena.h"

static void a_member_is_found_verbatim(void **state)
{
    (void)state;
    daruma_str v = json_get(S("{\"a\":[1, {\"b\":\"]\"}],\"c\":tr"), S("a"));
    assert_str(v, "[1, {\"b\":\"]\"}]");
}

static void the_last_of_duplicate_keys_wins_whatever_its_spelling(void **state)
{
    (void)state;
    assert_str(json_get(S("{\"a\":1,\"\\u0061\":2}"), S("a")), "2");
}

static void escapes_become_utf8(void **state)
{
    (void)state;
    char mem[64];
    daruma_arena a = arena_over(mem, sizeof mem);
    assert_str(json_text(S("\"\\ud83d\\ude00\\n\\u00e9\\ud800x\""), &a), "\xf0\x9f\x98\x80\n\xc3\xa9\xef\xbf\xbdx");
}

static void durations_and_dates_are_read(void **state)
{
    (void)state;
    assert_int_equal(date_duration(S("6m0s"), NULL), 360000);
    assert_int_equal(date_duration(S("1.5s"), NULL), 1500);
    assert_int_equal(date_duration(S("20ms"), NULL), 20);
    assert_int_equal(date_duration(S("1m30.002s"), NULL), 90002);
    assert_int_equal(date_duration(S("16 days"), NULL), 16 * 86400000LL);
    assert_int_equal(date_duration(S("soon"), NULL), -1);
    assert_int_equal(date_http(S("Sun, 06 Nov 1994 08:49:37 GMT")), 784111777000);
    assert_int_equal(date_http(S("Sunday, 06-Nov-94 08:49:37 GMT")), 784111777000);
    assert_int_equal(date_http(S("Sun Nov  6 08:49:37 1994")), 784111777000);
    assert_int_equal(date_rfc3339(S("1994-11-06T10:49:37.25+02:00")), 784111777250);
    char out[21];
    date_write(784111777, out);
    assert_string_equal(out, "1994-11-06T08:49:37Z");
}

static void broken_json_is_refused_and_every_prefix_too(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,-2.5e3,true,false,null,\"x\\u12ab\\\"\"],\"b\":{}}";
    daruma_str whole = S(text);
    assert_true(json_valid(whole));
    for (size_t n = 0; n < whole.n; n++)
        assert_false(json_valid(str_sub(whole, 0, n)));
    static const char *const bad[] = {"01",     "1.",      "-",   "[1,]",  "{\"a\"}", "{a:1}",
                                      "\"\n\"", "\"\\x\"", "tru", "[1 2]", "",        "{}x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(json_valid(str_of(bad[i])));
}

static void a_buffer_writes_json_strings(void **state)
{
    (void)state;
    char mem[256];
    daruma_buf b = buf_over(mem, sizeof mem);
    buf_json(&b, (daruma_str){"a\"\\\n\x01\xff\xc3\xa9", 8});
    assert_str(buf_str(&b), "\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\"");
    assert_false(b.full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_verbatim),
        cmocka_unit_test(the_last_of_duplicate_keys_wins_whatever_its_spelling),
        cmocka_unit_test(escapes_become_utf8),
        cmocka_unit_test(durations_and_dates_are_read),
        cmocka_unit_test(broken_json_is_refused_and_every_prefix_too),
        cmocka_unit_test(a_buffer_writes_json_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
