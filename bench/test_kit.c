#include "../tests/test.h"
#include "kit.h"
#include <stdlib.h>
#include <string.h>

typedef struct seen {
    char text[256];
    size_t n;
} seen;

static void collect(void *ctx, const char *p, size_t n)
{
    seen *s = ctx;
    assert_true(s->n + n < sizeof s->text);
    memcpy(s->text + s->n, p, n);
    s->n += n;
}

/* Feeds a message in pieces of `step` bytes; the number of bytes it used. */
static size_t feed(http_in *in, const char *message, size_t step, seen *s)
{
    size_t n = strlen(message), at = 0;
    while (at < n && in->phase != HTTP_DONE && in->phase != HTTP_BROKEN) {
        size_t take = n - at < step ? n - at : step;
        at += http_feed(in, message + at, take, collect, s);
    }
    return at;
}

static const char chunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Daruma-Outcome: ok \r\n\r\n"
                              "5\r\nhello\r\n1A\r\n, this is a longer piece..\r\n0\r\nx: y\r\n\r\n";

static void a_chunked_answer_is_read_in_pieces_of_any_size(void **state)
{
    (void)state;
    for (size_t step = 1; step < sizeof chunked; step++) {
        http_in in;
        seen s = {0};
        http_begin(&in, true);
        assert_int_equal(feed(&in, chunked, step, &s), sizeof chunked - 1);
        assert_int_equal(in.phase, HTTP_DONE);
        assert_int_equal(in.status, 200);
        assert_string_equal(s.text, "hello, this is a longer piece..");
        char value[32];
        assert_true(http_header(&in, "x-daruma-outcome", value, sizeof value));
        assert_string_equal(value, "ok");
        assert_false(http_header(&in, "x-daruma", value, sizeof value));
    }
}

static void every_cut_of_an_answer_is_not_done(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof chunked - 1; n++) {
        http_in in;
        http_begin(&in, true);
        http_feed(&in, chunked, n, NULL, NULL);
        assert_int_not_equal(in.phase, HTTP_DONE);
    }
}

static void reading_stops_at_the_end_of_a_message(void **state)
{
    (void)state;
    http_in in;
    seen s = {0};
    http_begin(&in, false);
    const char *two = "POST / HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\nokGET / HTTP/1.1\r\n\r\n";
    assert_int_equal(feed(&in, two, 1000, &s), strlen(two) - strlen("GET / HTTP/1.1\r\n\r\n"));
    assert_string_equal(s.text, "ok");
    assert_true(in.close);
}

static void nonsense_is_broken(void **state)
{
    (void)state;
    static const char *const bad[] = {"SPDY/9 200 OK whatever\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        http_in in;
        http_begin(&in, true);
        http_feed(&in, bad[i], strlen(bad[i]), NULL, NULL);
        assert_int_equal(in.phase, HTTP_BROKEN);
    }
}

static void a_request_has_the_size_asked_for(void **state)
{
    (void)state;
    static const long sizes[] = {300, 2048, 204800};
    for (size_t i = 0; i < 3; i++) {
        size_t n;
        char *request = chat_request(80, "/v1/chat/completions", "m", true, sizes[i], "x: y\r\n", &n);
        const char *body = strstr(request, "\r\n\r\n") + 4;
        assert_int_equal(n - (size_t)(body - request), sizes[i]);
        assert_non_null(memmem(body, 64, "\"stream\":true", 13));
        free(request);
    }
}

static void only_loopback_addresses_are_taken(void **state)
{
    (void)state;
    long port = 0;
    const char *path = NULL;
    assert_true(url_read("http://127.0.0.1:4141/chaos/report", &port, &path));
    assert_int_equal(port, 4141);
    assert_string_equal(path, "/chaos/report");
    assert_true(url_read("http://localhost:80", &port, &path));
    assert_string_equal(path, "");
    static const char *const bad[] = {"http://example.com:80/", "https://127.0.0.1:80", "http://127.0.0.1:0/",
                                      "http://127.0.0.1:70000/", "http://127.0.0.1:80x"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(url_read(bad[i], &port, &path));
}

static void percentiles_come_from_the_sorted_list(void **state)
{
    (void)state;
    times t = {0};
    assert_true(times_at(&t, 500) == 0);
    for (int64_t i = 1000; i > 0; i--)
        times_add(&t, i * 1000);
    times_sort(&t);
    assert_true(times_at(&t, 500) == 501);
    assert_true(times_at(&t, 990) == 991);
    assert_true(times_at(&t, 1000) == 1000);
    free(t.ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunked_answer_is_read_in_pieces_of_any_size),
        cmocka_unit_test(every_cut_of_an_answer_is_not_done),
        cmocka_unit_test(reading_stops_at_the_end_of_a_message),
        cmocka_unit_test(nonsense_is_broken),
        cmocka_unit_test(a_request_has_the_size_asked_for),
        cmocka_unit_test(only_loopback_addresses_are_taken),
        cmocka_unit_test(percentiles_come_from_the_sorted_list),
    };
    return cmocka_run_group_tests_name("bench kit", tests, NULL, NULL);
}
