#include "test.h"
#include "dialect/sse.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include <stdlib.h>

static char mem[1 << 20];

/* Reads `bytes` fed in pieces of `step` (0: all at once) and writes what each event says, one a line. */
static daruma_str told(daruma_str bytes, size_t step, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    daruma_str rest = {bytes.p, 0};
    size_t fed = 0;
    sse_event e;
    while (fed < bytes.n) {
        size_t n = !step || bytes.n - fed < step ? bytes.n - fed : step;
        fed += n;
        rest.n += n;
        while (sse_next(&rest, &e, a)) {
            buf_printf(&out, "%c", e.comment ? '#' : '=');
            buf_put(&out, e.event);
            buf_putc(&out, '|');
            buf_json(&out, e.data);
            buf_putc(&out, '\n');
        }
    }
    buf_put(&out, rest);
    assert_false(out.full);
    return buf_str(&out);
}

static void says(const char *bytes, const char *want)
{
    daruma_str b = str_of(bytes);
    for (size_t step = 0; step <= b.n; step++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_str got = told(b, step, &a);
        if (!str_eq(got, str_of(want)))
            fail_msg("in steps of %zu: got \"" STR_FMT "\", want \"%s\"", step, STR_ARG(got), want);
    }
}

static void an_event_has_a_name_and_data(void **state)
{
    (void)state;
    says("event: ping\ndata: {\"a\":1}\n\n", "=ping|\"{\\\"a\\\":1}\"\n");
    says("data:x\nevent:y\n\n", "=y|\"x\"\n");
    says("data:  two\n\n", "=|\" two\"\n"); /* one space is dropped */
    says("data\n\n", "=|\"\"\n");
    says("datax: no\nid: 7\nretry: 10\n\n", "=|\"\"\n");
    says("event: a\nevent: b\ndata: 1\n\n", "=b|\"1\"\n");
}

static void lines_end_with_lf_cr_lf_or_cr(void **state)
{
    (void)state;
    says("data: a\n\ndata: b\n\n", "=|\"a\"\n=|\"b\"\n");
    says("data: a\r\n\r\ndata: b\r\n\r\n", "=|\"a\"\n=|\"b\"\n");
    says("data: a\r\rdata: b\r\r", "=|\"a\"\n=|\"b\"\n");
    says("event: e\r\ndata: a\r\n\r\n", "=e|\"a\"\n");
    says("event: e\rdata: a\r\r", "=e|\"a\"\n");
    says("event: e\rdata: a\n\n", "=e|\"a\"\n");
    says("data: a\n\r\ndata: b\n\n", "=|\"a\"\n=|\"b\"\n");
    says("data: a\r\r\ndata: b\n\n", "=|\"a\"\n#|\"\"\n=|\"b\"\n");
}

static void data_of_several_lines_is_joined(void **state)
{
    (void)state;
    says("data: {\"a\":\ndata: 1}\n\n", "=|\"{\\\"a\\\":\\n1}\"\n");
    says("data: 1\nevent: e\ndata\ndata: 3\n\n", "=e|\"1\\n\\n3\"\n");
    says("data: 1\r\ndata: 2\r\n\r\n", "=|\"1\\n2\"\n");
}

static void comments_and_blank_lines_are_only_that(void **state)
{
    (void)state;
    says(": OPENROUTER PROCESSING\n\ndata: 1\n\n", "#|\"\"\n=|\"1\"\n");
    says("\n\ndata: 1\n\n", "#|\"\"\n#|\"\"\n=|\"1\"\n");
    says(": c\ndata: 1\n\n", "=|\"1\"\n");
}

static void a_byte_order_mark_belongs_to_nobody(void **state)
{
    (void)state;
    says("\xef\xbb\xbf"
         "data: 1\n\n",
         "=|\"1\"\n");
}

static void what_is_not_whole_stays(void **state)
{
    (void)state;
    says("data: 1\n\ndata: 2\n", "=|\"1\"\ndata: 2\n");
    says("data: 1", "data: 1");
    says("data: 1\r\n\r", "data: 1\r\n\r");
    says("", "");
}

static void raw_bytes_of_all_events_are_the_stream(void **state)
{
    (void)state;
    daruma_str bytes = S(":hi\n\nevent: a\r\ndata: 1\r\n\r\ndata: 2\ndata: 3\n\n\n"), rest = bytes;
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_buf out = buf_in(&a);
    sse_event e;
    while (sse_next(&rest, &e, &a))
        buf_put(&out, e.raw);
    assert_true(str_eq(buf_str(&out), bytes));
    assert_int_equal(rest.n, 0);
}

static void a_huge_event_is_one_slice(void **state)
{
    (void)state;
    const size_t n = 4u << 20;
    char *big = malloc(n + 8);
    memcpy(big, "data: ", 6);
    memset(big + 6, 'x', n);
    memcpy(big + 6 + n, "\n\n", 2);
    daruma_str rest = {big, n + 8};
    daruma_arena none = {0};
    sse_event e;
    assert_true(sse_next(&rest, &e, &none));
    assert_int_equal(e.data.n, n);
    assert_false(none.full);
    free(big);
}

static void without_room_to_join_there_is_no_data_and_the_arena_knows(void **state)
{
    (void)state;
    daruma_arena none = {0};
    daruma_str rest = S("data: 1\ndata: 2\n\n");
    sse_event e;
    assert_true(sse_next(&rest, &e, &none));
    assert_int_equal(e.data.n, 0);
    assert_true(none.full);
}

static const char long_event[] = "event: response.completed\ndata: "
                                 "{\"type\":\"response.completed\",\"text\":\"A\\u00e9\xc3\xa9\\\\\\\"A\\u00e9\xc3\xa9"
                                 "\\\\\\\"\",\"list\":[\"\",\"x\",{\"n\":1}],\"usage\":{\"output_tokens\":7}}\n\nnext";

/* The text of it repeated until it is long, each split, each way to end lines: the same few bytes, which are JSON. */
static void a_long_event_is_read_without_the_rest_of_its_strings(void **state)
{
    (void)state;
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (size_t k = 0; k < COUNT(ends); k++)
        for (size_t pad = 0; pad < 24; pad++) /* the cut falls into each place of what is repeated */
            for (size_t step = 1; step < 40; step += 3) {
                daruma_arena a = arena_over(mem, sizeof mem);
                daruma_buf b = buf_in(&a), out = buf_in(&a);
                daruma_str rest = str_of(long_event);
                for (size_t i = 0; i < rest.n; i++) {
                    if (rest.p[i] == '\n')
                        buf_putz(&b, ends[k]);
                    else if (rest.p[i] == 'A')
                        for (size_t n = 0; n < SSE_STRING_BYTES_KEPT / 2 + pad; n++)
                            buf_putz(&b, n % 5 ? "y" : "\\u00e9\xc3\xa9\\n");
                    else
                        buf_putc(&b, rest.p[i]);
                }
                sse_long s = {0};
                size_t of = 0;
                for (size_t at = 0; at < b.n && !s.ended; at += step)
                    of += sse_shorten(&s, str_sub(buf_str(&b), at, step), &out);
                assert_true(s.ended && !out.full);
                daruma_str left = str_from(buf_str(&b), of), all = buf_str(&out);
                assert_true(str_ends(left, S("next")) &&
                            left.n <= 5); /* the LF of the last CR LF is a blank line of its own */
                sse_event e;
                assert_true(sse_next(&all, &e, &a));
                assert_true(str_eq(e.event, S("response.completed")));
                assert_true(json_valid(e.data) && e.data.n < SSE_STRING_BYTES_KEPT + 160);
                assert_true(str_eq(json_get(e.data, S("usage")), S("{\"output_tokens\":7}")));
                assert_true(str_eq(json_get(e.data, S("list")), S("[\"\",\"x\",{\"n\":1}]")));
            }
}

/* Bytes of the first event of `first`, an end of a line, and what the bits of `pattern` say; 0: it is not whole. */
static size_t event_behind(daruma_str first, const char *end, unsigned pattern, size_t n)
{
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_buf b = buf_in(&a);
    sse_event e;
    buf_put(&b, first);
    buf_putz(&b, end);
    for (size_t i = 0; i < n; i++, pattern /= 3)
        buf_putc(&b, "\n\rx"[pattern % 3]);
    daruma_str rest = buf_str(&b);
    assert_false(b.full);
    return sse_next(&rest, &e, &a) ? e.raw.n : 0;
}

/* In whatever way lines end, and at each place among those that are looked at together. */
static void a_long_event_ends_where_a_short_one_does(void **state)
{
    static const char *const ends[] = {"\n", "\r", "\r\n"};
    enum { LONG_BYTES = 5000, PLACES = 16, MOST = 4, PATTERNS = 81 /* 3 to the power of MOST */ };
    static char line[LONG_BYTES + PLACES];
    (void)state;
    memset(line, 'y', sizeof line);
    for (size_t place = 0; place < PLACES; place++)
        for (size_t end = 0; end < COUNT(ends); end++)
            for (size_t n = 0; n <= MOST; n++)
                for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
                    size_t few = event_behind(S("y"), ends[end], pattern, n);
                    size_t many = event_behind((daruma_str){line, LONG_BYTES + place}, ends[end], pattern, n);
                    assert_int_equal(many, few ? few - 1 + LONG_BYTES + place : 0);
                }
    for (size_t end = 0; end < COUNT(ends); end++) { /* a blank line in front of it is an event of its own */
        size_t n = strlen(ends[end]);
        memcpy(line, ends[end], n);
        assert_int_equal(event_behind((daruma_str){line, LONG_BYTES}, "\n", 0, 0), n);
        memset(line, 'y', n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_a_name_and_data),
        cmocka_unit_test(lines_end_with_lf_cr_lf_or_cr),
        cmocka_unit_test(data_of_several_lines_is_joined),
        cmocka_unit_test(comments_and_blank_lines_are_only_that),
        cmocka_unit_test(a_byte_order_mark_belongs_to_nobody),
        cmocka_unit_test(what_is_not_whole_stays),
        cmocka_unit_test(raw_bytes_of_all_events_are_the_stream),
        cmocka_unit_test(a_huge_event_is_one_slice),
        cmocka_unit_test(a_long_event_ends_where_a_short_one_does),
        cmocka_unit_test(a_long_event_is_read_without_the_rest_of_its_strings),
        cmocka_unit_test(without_room_to_join_there_is_no_data_and_the_arena_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
