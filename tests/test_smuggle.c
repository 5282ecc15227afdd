/* Requests that two hops could read differently: each is refused, or it is stated exactly what arrives. */
#include "net_kit.h"

static char seen[65536]; /* what handlers got: "METHOD path[?query] body[@host that is not a];" each */

static void on_request(call *c, void *user)
{
    size_t n = strlen(seen);
    (void)user;
    const http_head *h = &c->head;
    bool other = h->host.n && !str_eq(h->host, S("a"));
    snprintf(seen + n, sizeof seen - n, STR_FMT " " STR_FMT "%s" STR_FMT " " STR_FMT "%s" STR_FMT ";",
             STR_ARG(h->method), STR_ARG(h->path), h->query.n ? "?" : "", STR_ARG(h->query), STR_ARG(c->body),
             other ? "@" : "", STR_ARG(other ? h->host : (daruma_str){0}));
    call_head(c, 200, NULL, 0, 0);
    call_end(c);
}

static void on_gone(call *c, void *user)
{
    (void)c, (void)user;
}

// clang-format off
#define H "Host: a\r\n"
#define BYTES(lit) (lit), sizeof(lit) - 1
static const struct { const char *name, *raw; size_t n; int status; const char *arrives; } rows[] = {
    /* length */
    {"two equal lengths", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), 400, ""},
    {"two lengths", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"), 400, ""},
    {"list of lengths", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 3, 3\r\n\r\nabc"), 400, ""},
    {"length with sign", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\nabc"), 400, ""},
    {"negative length", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: -3\r\n\r\nabc"), 400, ""},
    {"hex length", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 0x3\r\n\r\nabc"), 400, ""},
    {"length with a space inside", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 3 3\r\n\r\nabc"), 400, ""},
    {"empty length", BYTES("POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n"), 400, ""},
    {"length beyond 64 bits", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551619\r\n\r\nabc"), 400, ""},
    {"length beyond the limit", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 999999999\r\n\r\nabc"), 413, ""},
    {"length with leading zeros", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 003\r\n\r\nabc"), 200, "POST / abc;"},
    {"length with blanks around", BYTES("POST / HTTP/1.1\r\n" H "Content-Length:   3  \r\n\r\nabc"), 200, "POST / abc;"},
    {"GET with a body", BYTES("GET / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\n" H "\r\n"), 200, "GET / abc;GET /2 ;"},
    {"body that looks like a request", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 21\r\n\r\nGET /2 HTTP/1.1\r\nX: a"), 200, "POST / GET /2 HTTP/1.1\r\nX: a;"},
    /* transfer coding */
    {"coding and length", BYTES("POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400, ""},
    {"length and coding", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"), 400, ""},
    {"two codings", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400, ""},
    {"chunked twice", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"), 0, ""},
    {"gzip, chunked", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 501, ""},
    {"chunked, identity", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"), 0, ""},
    {"identity", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n"), 501, ""},
    {"xchunked", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 501, ""},
    {"quoted chunked", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"), 501, ""},
    {"chunked with a vertical tab", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: \x0b" "chunked\r\n\r\n0\r\n\r\n"), 400, ""},
    {"chunked in HTTP/1.0", BYTES("POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400, ""},
    {"space before the colon", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"), 400, ""},
    {"CHUNKED", BYTES("POST / HTTP/1.1\r\n" H "Transfer-Encoding: CHUNKED\r\n\r\n2\r\nab\r\n0\r\n\r\n"), 200, "POST / ab;"},
    {"a longer name", BYTES("POST / HTTP/1.1\r\n" H "X-Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc"), 200, "POST / abc;"},
    {"underscores", BYTES("POST / HTTP/1.1\r\n" H "Transfer_Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc"), 200, "POST / abc;"},
    /* chunks */
#define C "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
    {"17 digits", BYTES(C "00000000000000002\r\nab\r\n0\r\n\r\n"), 400, ""},
    {"size beyond 63 bits", BYTES(C "ffffffffffffffff\r\nab"), 400, ""},
    {"0x in a size", BYTES(C "0x2\r\nab\r\n0\r\n\r\n"), 400, ""},
    {"sign in a size", BYTES(C "+2\r\nab\r\n0\r\n\r\n"), 400, ""},
    {"space before a size", BYTES(C " 2\r\nab\r\n0\r\n\r\n"), 400, ""},
    {"space behind a size", BYTES(C "2 \r\nab\r\n0\r\n\r\n"), 400, ""},
    {"no size", BYTES(C "\r\nab\r\n0\r\n\r\n"), 400, ""},
    {"size ended by LF", BYTES(C "2\nab\r\n0\r\n\r\n"), 400, ""},
    {"data ended by LF", BYTES(C "2\r\nab\n0\r\n\r\n"), 400, ""},
    {"data longer than said", BYTES(C "2\r\nabc\r\n0\r\n\r\n"), 400, ""},
    {"bare CR in an extension", BYTES(C "2;a\rb\r\nab\r\n0\r\n\r\n"), 400, ""},
    {"LF in an extension", BYTES(C "2;a\nb\r\nab\r\n0\r\n\r\n"), 400, ""},
    {"end with bare LF", BYTES(C "0\r\n\n"), 400, ""},
    {"LF in a trailer", BYTES(C "0\r\nX: 1\nY: 2\r\n\r\n"), 400, ""},
    {"extension", BYTES(C "2;a=\"b\"\r\nab\r\n0\r\n\r\n"), 200, "POST / ab;"},
    {"trailers are dropped", BYTES(C "2\r\nab\r\n0\r\nContent-Length: 7\r\nX: 1\r\n\r\nGET /2 HTTP/1.1\r\n" H "\r\n"), 200, "POST / ab;GET /2 ;"},
    {"size with leading zeros", BYTES(C "0000000000000002\r\nab\r\n000\r\n\r\n"), 200, "POST / ab;"},
    /* lines and fields */
    {"bare LF", BYTES("GET / HTTP/1.1\nHost: a\n\n"), 400, ""},
    {"one bare LF", BYTES("GET / HTTP/1.1\r\n" H "X: 1\nY: 2\r\n\r\n"), 400, ""},
    {"bare CR in a value", BYTES("GET / HTTP/1.1\r\n" H "X: 1\rY: 2\r\n\r\n"), 400, ""},
    {"CR CR LF", BYTES("GET / HTTP/1.1\r\n" H "X: 1\r\r\n\r\n"), 400, ""},
    {"bare CR as line end", BYTES("GET / HTTP/1.1\r\n" H "X: 1\r\rGET /2 HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"folded field", BYTES("GET / HTTP/1.1\r\n" H "X: 1\r\n 2\r\n\r\n"), 400, ""},
    {"folded by a tab", BYTES("GET / HTTP/1.1\r\n" H "X: 1\r\n\tTransfer-Encoding: chunked\r\n\r\n"), 400, ""},
    {"first field indented", BYTES("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), 400, ""},
    {"empty name", BYTES("GET / HTTP/1.1\r\n" H ": x\r\n\r\n"), 400, ""},
    {"no colon", BYTES("GET / HTTP/1.1\r\n" H "X\r\n\r\n"), 400, ""},
    {"odd name", BYTES("GET / HTTP/1.1\r\n" H "X(y): 1\r\n\r\n"), 400, ""},
    {"space in a name", BYTES("GET / HTTP/1.1\r\n" H "X y: 1\r\n\r\n"), 400, ""},
    {"NUL in a value", BYTES("GET / HTTP/1.1\r\n" H "X: 1\0" "2\r\n\r\n"), 400, ""},
    {"control byte in a value", BYTES("GET / HTTP/1.1\r\n" H "X: 1\x01\r\n\r\n"), 400, ""},
    {"DEL in a value", BYTES("GET / HTTP/1.1\r\n" H "X: 1\x7f\r\n\r\n"), 400, ""},
    {"bytes above 127 in a value", BYTES("GET / HTTP/1.1\r\n" H "X: \xc3\xa9\r\n\r\n"), 200, "GET / ;"},
    {"empty value", BYTES("GET / HTTP/1.1\r\n" H "X:\r\n\r\n"), 200, "GET / ;"},
    /* Host */
    {"no Host", BYTES("GET / HTTP/1.1\r\n\r\n"), 400, ""},
    {"two Hosts", BYTES("GET / HTTP/1.1\r\n" H "Host: b\r\n\r\n"), 400, ""},
    {"two equal Hosts", BYTES("GET / HTTP/1.1\r\n" H H "\r\n"), 400, ""},
    {"empty Host", BYTES("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 400, ""},
    {"Host with a path", BYTES("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400, ""},
    {"Host with a user", BYTES("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"), 400, ""},
    {"Host list", BYTES("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"), 400, ""},
    {"HTTP/1.0 without Host", BYTES("GET / HTTP/1.0\r\n\r\n"), 200, "GET / ;"},
    /* the request line */
    {"HTTP/0.9", BYTES("GET /\r\n\r\n"), 400, ""},
    {"HTTP/2 preface", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 0, ""},
    {"HTTP/1.2", BYTES("GET / HTTP/1.2\r\n" H "\r\n"), 505, ""},
    {"HTTP/11.1", BYTES("GET / HTTP/11.1\r\n" H "\r\n"), 0, ""},
    {"lower-case version", BYTES("GET / http/1.1\r\n" H "\r\n"), 400, ""},
    {"absolute-form", BYTES("GET http://b/c?d HTTP/1.1\r\n" H "\r\n"), 200, "GET /c?d @b;"},
    {"absolute-form in capitals", BYTES("GET HTTPS://b:443/ HTTP/1.1\r\n" H "\r\n"), 200, "GET / @b:443;"},
    {"absolute-form without a path", BYTES("GET http://b HTTP/1.1\r\n" H "\r\n"), 200, "GET / @b;"},
    {"absolute-form with a query alone", BYTES("GET http://b?d/e HTTP/1.1\r\n" H "\r\n"), 200, "GET /?d/e @b;"},
    {"absolute-form in HTTP/1.0", BYTES("GET http://b/ HTTP/1.0\r\n\r\n"), 200, "GET / @b;"},
    {"absolute-form without Host", BYTES("GET http://b/ HTTP/1.1\r\n\r\n"), 400, ""},
    {"absolute-form with a user", BYTES("GET http://u:p@b/ HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"absolute-form without a host", BYTES("GET http:///b HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"another scheme", BYTES("GET ftp://b/ HTTP/1.1\r\n" H "\r\n"), 0, ""},
    {"authority-form", BYTES("CONNECT b:443 HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"TRACE", BYTES("TRACE / HTTP/1.1\r\n" H "\r\n"), 501, ""},
    {"asterisk-form", BYTES("OPTIONS * HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"two spaces", BYTES("GET  / HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"space behind the target", BYTES("GET /  HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"space in the target", BYTES("GET /a b HTTP/1.1\r\n" H "\r\n"), 0, ""},
    {"tab in the request line", BYTES("GET\t/ HTTP/1.1\r\n" H "\r\n"), 0, ""},
    {"space behind the version", BYTES("GET / HTTP/1.1 \r\n" H "\r\n"), 0, ""},
    {"fragment", BYTES("GET /a#b HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"byte above 127 in the target", BYTES("GET /\xff HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"unknown method", BYTES("GETS / HTTP/1.1\r\n" H "\r\n"), 0, ""},
    {"longer than a method", BYTES("POSTS / HTTP/1.1\r\n" H "\r\n"), 501, ""},
    {"shorter than a method", BYTES("POS / HTTP/1.1\r\n" H "\r\n"), 501, ""},
    {"lower-case method", BYTES("post / HTTP/1.1\r\n" H "\r\n"), 501, ""},
    {"the longest method", BYTES("UNSUBSCRIBE / HTTP/1.1\r\n" H "\r\n"), 200, "UNSUBSCRIBE / ;"},
    {"a tunnel to a path", BYTES("CONNECT / HTTP/1.1\r\n" H "\r\n"), 501, ""},
    {"no target", BYTES("GET HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"HTTP/2.0", BYTES("GET / HTTP/2.0\r\n" H "\r\n"), 505, ""},
    {"a version in two digits", BYTES("GET / HTTP/1.10\r\n" H "\r\n"), 505, ""},
    {"no version", BYTES("GET /HTTP/1.1 x\r\n" H "\r\n"), 400, ""},
    {"TLS hello", BYTES("\x16\x03\x01\x02\x00\x01"), 400, ""},
    {"two empty lines before", BYTES("\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"), 400, ""},
    {"an empty line before", BYTES("\r\nGET / HTTP/1.1\r\n" H "\r\n"), 200, "GET / ;"},
    {"upgrade is not followed", BYTES("GET / HTTP/1.1\r\n" H "Upgrade: h2c\r\nConnection: Upgrade\r\n\r\nGET /2 HTTP/1.1\r\n" H "\r\n"), 200, "GET / ;GET /2 ;"},
    {"expectation of something", BYTES("POST / HTTP/1.1\r\n" H "Expect: tea\r\nContent-Length: 1\r\n\r\na"), 417, ""},
    {"nothing behind close", BYTES("GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\nGET /2 HTTP/1.1\r\n" H "\r\n"), 200, "GET / ;"},
};
// clang-format on
#define ROWS COUNT(rows)

static int status_of(peer *p)
{
    peer_hear(p);
    return p->n > 12 ? (int)strtol(p->got + 9, NULL, 10) : 0;
}

static void each_row(bool drip)
{
    char why[256];
    server_limits limits = {.body_bytes = BODY_BYTES_MAX, .connections = 8};
    server_ops ops = {.request = on_request, .gone = on_gone, .drained = on_gone};
    server *s = server_listen(loop, "127.0.0.1", 0, &limits, &ops, NULL, why);
    assert_non_null(s);
    int wrong = 0;
    for (size_t i = 0; i < ROWS; i++) {
        peer p = peer_connect(server_port(s));
        seen[0] = 0;
        if (drip)
            peer_drip(&p, rows[i].raw, rows[i].n);
        else
            peer_say_n(&p, rows[i].raw, rows[i].n);
        daruma_ms end = sys_moment().now + 2000;
        while (!(status_of(&p) && strlen(seen) >= strlen(rows[i].arrives)) && sys_moment().now < end)
            pump_once();
        pump_once();
        pump_once();
        int status = status_of(&p);
        bool right = rows[i].status ? status == rows[i].status : status >= 400 && status < 600;
        if (!right || strcmp(seen, rows[i].arrives) != 0)
            print_error("%s: answered %d, arrived \"%s\"\n", rows[i].name, status, seen), wrong++;
        if (status != 200)
            until(heard_end(&p)); /* nothing behind a refused request is read as one */
        peer_done(&p);
    }
    server_close(s);
    assert_int_equal(wrong, 0);
}

static void every_row_is_refused_or_unambiguous(void **state)
{
    (void)state;
    assert_true(ROWS >= 40);
    each_row(false);
}

static void it_is_the_same_byte_by_byte(void **state)
{
    (void)state;
    each_row(true);
}

/* Wherever it stands, and as soon as it is there: nothing behind it is waited for. */
static void an_odd_byte_is_found_at_each_place(void **state)
{
    (void)state;
    static const char head[] = "GET /a/path/that/is/long HTTP/1.1\r\nx-first: one two three four five\r\ny: \r\n\r\n";
    static const char odd[] = {'\n', '\0', '\x1f', '\x7f', '\t', ' ', '\xff'};
    for (size_t i = 1; i < sizeof head - 1; i++)
        for (size_t o = 0; o < sizeof odd; o++) {
            char text[sizeof head];
            http_scan scan = {0};
            http_fault fault = {0};
            memcpy(text, head, sizeof head);
            if (text[i] == '\r' || text[i] == '\n')
                continue;
            text[i] = odd[o];
            bool bad = o < 4, folded = o >= 4 && text[i - 1] == '\n', version = i >= 25 && i <= 29;
            if (bad)
                assert_int_equal(http_scan_head(&scan, text, i + 1, &fault), HTTP_BAD);
            scan = (http_scan){0};
            http_found found = http_scan_head(&scan, text, sizeof head - 1, &fault);
            assert_int_equal(found, bad || version || (folded && o < 6) ? HTTP_BAD : HTTP_HERE);
        }
    http_scan scan = {0};
    http_fault fault = {0};
    for (size_t n = 0; n < sizeof head - 1; n++)
        assert_int_equal(http_scan_head(&scan, head, n, &fault), HTTP_MORE);
    assert_int_equal(http_scan_head(&scan, head, sizeof head - 1, &fault), HTTP_HERE);
    assert_int_equal(scan.at, sizeof head - 1);
}

static void a_field_is_found_whatever_the_length_of_its_name(void **state)
{
    (void)state;
    enum { NAMES = 80 };
    char text[NAMES * (NAMES + 8) + 64], name[NAMES + 1];
    daruma_header room[HTTP_HEADERS_MAX];
    http_head h;
    http_fault fault = {0};
    for (size_t step = 1; step < NAMES; step++) { /* fields with names of step, 2 * step, ... bytes */
        int n = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n");
        memset(name, 'n', sizeof name);
        for (size_t i = step; i <= NAMES; i += step)
            n += snprintf(text + n, sizeof text - (size_t)n, "%.*s: %zu\r\n", (int)i, name, i);
        n += snprintf(text + n, sizeof text - (size_t)n, "\r\n");
        assert_true(http_read_request((daruma_str){text, (size_t)n}, room, &h, &fault));
        for (size_t i = 1; i <= NAMES; i++) {
            int64_t value = 0;
            assert_int_equal(str_int(http_header(&h, (daruma_str){name, i}), &value), i % step == 0);
            assert_int_equal(value, i % step ? 0 : i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_row_is_refused_or_unambiguous, kit_setup, kit_teardown),
        cmocka_unit_test_setup_teardown(it_is_the_same_byte_by_byte, kit_setup, kit_teardown),
        cmocka_unit_test(an_odd_byte_is_found_at_each_place),
        cmocka_unit_test(a_field_is_found_whatever_the_length_of_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
