/* test_upstream.c - the way to providers on real sockets: connections, clocks, proxies, addresses. */
#include "net_kit.h"
#include "base/arena.h"
#include "net/http.h"
#include "net/proxy.h"
#include "net/unpack.h"
#include "net/wire.h"

/* ---- fetching ---- */

typedef struct got {
    fetch *f;
    int status, heads, ends, fails, agains;
    daruma_net net;
    daruma_phase phase;
    char why[128];
    size_t bytes;
    char body[4096];
    bool pause, cancel; /* when the head comes */
    void (*then)(void); /* when it has ended */
} got;

static void got_head(fetch *f, const http_head *h, void *user)
{
    got *g = user;
    g->status = h->status;
    g->heads++;
    if (g->pause)
        fetch_pause(f);
    if (g->cancel)
        fetch_cancel(f);
}

static void got_body(fetch *f, daruma_str bytes, void *user)
{
    got *g = user;
    (void)f;
    if (g->bytes + bytes.n < sizeof g->body)
        memcpy(g->body + g->bytes, bytes.p, bytes.n);
    g->bytes += bytes.n;
}

static void got_end(fetch *f, void *user)
{
    got *g = user;
    (void)f;
    g->ends++;
    if (g->then)
        g->then();
}

static void got_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    got *g = user;
    (void)f;
    g->fails++;
    g->net = net;
    g->phase = phase;
    snprintf(g->why, sizeof g->why, "%s", why);
}

static void got_again(fetch *f, daruma_net net, void *user)
{
    got *g = user;
    (void)f;
    g->agains++;
    g->net = net;
}

static const fetch_ops got_ops = {
    .head = got_head, .body = got_body, .again = got_again, .end = got_end, .fail = got_fail};

typedef struct net {
    upstream *u;
    url to;
    daruma_arena a;
    int listener, port;
} net;

static void net_start(net *n, upstream_settings s)
{
    char why[256], text[64];
    *n = (net){0};
    n->listener = peer_listen(&n->port);
    sys_arena_init(&n->a, 1024, 1 << 20);
    n->u = upstream_new(loop, &s, why);
    assert_non_null(n->u);
    snprintf(text, sizeof text, "http://127.0.0.1:%d", n->port);
    assert_true(url_parse(arena_copy(&n->a, str_of(text)), &n->a, &n->to, NULL));
}

static void net_stop(net *n)
{
    upstream_close(n->u);
    close(n->listener);
    sys_arena_done(&n->a);
}

static void go(net *n, got *g, const char *method, const char *body, fetch_clocks clocks)
{
    fetch_request r = {.to = &n->to,
                       .method = str_of(method),
                       .target = S("/v1"),
                       .body = {str_of(body)},
                       .has_body = body != NULL,
                       .clocks = clocks};
    *g = (got){.pause = g->pause, .cancel = g->cancel, .then = g->then};
    g->f = fetch_start(n->u, &r, &got_ops, g);
    assert_non_null(g->f);
}

static const fetch_clocks long_clocks = {5000, 5000, 5000, 5000};

static void answers_are_read_strictly(void **state)
{
    (void)state;
    // clang-format off
    static const struct { const char *raw; bool eof; int status; const char *body; daruma_net net; daruma_phase phase; } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false, 200, "ab", DARUMA_NET_NONE, 0},
        {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false, 200, "", DARUMA_NET_NONE, 0},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\nT: 1\r\n\r\n", false, 200, "abc", DARUMA_NET_NONE, 0},
        {"HTTP/1.0 200 OK\r\n\r\nab", true, 200, "ab", DARUMA_NET_NONE, 0},
        {"HTTP/1.1 204 No Content\r\n\r\n", false, 204, "", DARUMA_NET_NONE, 0},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", false, 304, "", DARUMA_NET_NONE, 0},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", false, 200, "a", DARUMA_NET_NONE, 0},
        {"", true, 0, "", DARUMA_NET_CLOSED, DARUMA_AT_WAIT},
        {"HTTP/1.1 200 OK\r\nConte", true, 0, "", DARUMA_NET_CUT, DARUMA_AT_HEAD},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", true, 200, "ab", DARUMA_NET_CUT, DARUMA_AT_STREAM},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", true, 200, "ab", DARUMA_NET_CUT, DARUMA_AT_STREAM},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n", true, 200, "ab", DARUMA_NET_CUT, DARUMA_AT_STREAM},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/1.1 200 OK\nContent-Length: 0\n\n", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/1.1 200 OK\r\nX\r\n\r\n", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/1.1 101 Switching\r\n\r\n", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/2.0 200 OK\r\n\r\n", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/1.1 20 OK\r\n\r\n", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"SSH-2.0-x\r\n", false, 0, "", DARUMA_NET_PROTOCOL, DARUMA_AT_HEAD},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false, 200, "", DARUMA_NET_PROTOCOL, DARUMA_AT_STREAM},
    };
    // clang-format on
    net n;
    net_start(&n, (upstream_settings){0});
    for (int drip = 0; drip < 2; drip++)
        for (size_t i = 0; i < COUNT(rows); i++) {
            got g = {0};
            go(&n, &g, "POST", "{}", long_clocks);
            peer p = peer_accept(n.listener);
            until(heard(&p, "{}"));
            if (drip)
                peer_drip(&p, rows[i].raw, strlen(rows[i].raw));
            else
                peer_say(&p, rows[i].raw);
            if (rows[i].eof)
                shutdown(p.fd, SHUT_WR);
            until(g.ends + g.fails);
            if (g.status != rows[i].status || strcmp(g.body, rows[i].body) != 0 || g.net != rows[i].net ||
                g.phase != rows[i].phase || g.ends + g.fails != 1)
                fail_msg("%s: status %d body %s net %d phase %d %s", rows[i].raw, g.status, g.body, g.net, g.phase,
                         g.why);
            close(p.fd);
            p.fd = -1;
            until(upstream_open(n.u) == 0); /* an idle one is closed when its provider closes it */
            peer_done(&p);
        }
    net_stop(&n);
}

static void the_request_is_framed_by_us(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {0};
    daruma_header fields[] = {{S("Authorization"), S("Bearer k")}, {S("X-Bad"), S("a\r\nInjected: 1")}};
    fetch_request r = {.to = &n.to,
                       .method = S("POST"),
                       .target = S("/v1/x?y"),
                       .headers = fields,
                       .nheaders = 2,
                       .body = {S("a"), {0}, S("bc"), S("def")},
                       .has_body = true,
                       .clocks = long_clocks};
    fetch_start(n.u, &r, &got_ops, &g);
    peer p = peer_accept(n.listener);
    until(heard(&p, "abcdef"));
    char want[256];
    snprintf(
        want, sizeof want,
        "POST /v1/x?y HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer k\r\nContent-Length: 6\r\n\r\nabcdef",
        n.port);
    assert_string_equal(p.got, want);
    peer_done(&p);
    until(g.fails);
    net_stop(&n);
}

static void a_connection_is_used_again(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {0};
    peer p = {.fd = -1};
    for (int i = 0; i < 3; i++) {
        go(&n, &g, "GET", NULL, long_clocks);
        assert_int_equal(upstream_open(n.u), 1);
        if (i == 0)
            p = peer_accept(n.listener);
        until(heard(&p, "\r\n\r\n"));
        p.n = 0;
        peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
        until(g.ends == 1);
    }
    assert_int_equal(upstream_open(n.u), 1);
    /* Bytes that nobody asked for: it is not used any more. */
    peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
    until(upstream_open(n.u) == 0);
    peer_done(&p);
    net_stop(&n);
}

static void too_much_answer_is_never_the_next_one(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {0};
    go(&n, &g, "GET", NULL, long_clocks);
    peer p = peer_accept(n.listener);
    until(heard(&p, "\r\n\r\n"));
    peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
    until(g.ends == 1 && upstream_open(n.u) == 0);
    assert_string_equal(g.body, "a");
    peer_done(&p);
    net_stop(&n);
}

static void a_stale_connection_costs_nothing(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    for (int hard = 0; hard < 2; hard++) {
        got g = {0};
        go(&n, &g, "GET", NULL, long_clocks);
        peer p = peer_accept(n.listener);
        until(heard(&p, "\r\n\r\n"));
        peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        until(g.ends == 1);
        go(&n, &g, "POST", "{}", long_clocks);   /* the loop has not seen yet that it closes */
        assert_int_equal(upstream_open(n.u), 1); /* the pooled one */
        if (hard)
            peer_reset(&p);
        else
            close(p.fd);
        p.fd = -1;
        peer q = peer_accept(n.listener);
        until(heard(&q, "{}"));
        assert_int_equal(g.fails, 0);
        assert_int_equal(g.agains, 1); /* told, so that it can be counted */
        peer_say(&q, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        until(g.ends == 1 && upstream_open(n.u) == 0);
        peer_done(&p);
        peer_done(&q);
    }
    net_stop(&n);
}

static net within;
static got second;

static void ask_a_second_time(void)
{
    go(&within, &second, "POST", "{}", long_clocks);
    assert_false(fetch_is_sent(second.f)); /* it waits for the end of the turn */
}

/* The pooled connection is closed, or says what nobody asked for, while the request waits for the end of the turn: none
 * of it went out. */
static void a_request_that_still_waits_is_not_sent(void **state)
{
    (void)state;
    static const char last[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                      early[] = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    net_start(&within, (upstream_settings){0});
    for (int says = 0; says < 2; says++) {
        got pooled = {0}, first = {.then = ask_a_second_time};
        go(&within, &first, "GET", NULL, long_clocks);
        peer a = peer_accept(within.listener);
        until(heard(&a, "\r\n\r\n"));
        go(&within, &pooled, "GET", NULL, long_clocks);
        peer b = peer_accept(within.listener);
        until(heard(&b, "\r\n\r\n"));
        peer_say(&b, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        until(pooled.ends == 1);
        size_t before = b.n;
        pump_once();
        assert_int_equal(send(a.fd, last, sizeof last - 1, MSG_NOSIGNAL), sizeof last - 1);
        if (says) /* both are read in one turn, in this order */
            assert_int_equal(send(b.fd, early, sizeof early - 1, MSG_NOSIGNAL), sizeof early - 1);
        else
            shutdown(b.fd, SHUT_WR);
        peer c = peer_accept(within.listener);
        until(heard(&c, "{}"));
        until(heard_end(&b));
        assert_int_equal(b.n, before);
        assert_int_equal(second.agains, 1);
        assert_true(fetch_is_sent(second.f));
        peer_say(&c, last);
        until(second.ends == 1);
        assert_int_equal(second.status, 200);
        peer_done(&a);
        peer_done(&b);
        peer_done(&c);
    }
    net_stop(&within);
}

static void what_is_called_off_within_its_turn_is_not_sent(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {0};
    go(&n, &g, "GET", NULL, long_clocks);
    peer p = peer_accept(n.listener);
    until(heard(&p, "\r\n\r\n"));
    peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    until(g.ends == 1);
    size_t before = p.n;
    go(&n, &g, "POST", "{}", long_clocks);
    fetch_cancel(g.f);
    until(heard_end(&p));
    assert_int_equal(p.n, before);
    peer_done(&p);
    net_stop(&n);
}

/* The socket takes only some of a request that waited: the rest follows, and the connection is used again. */
static void a_request_that_waited_goes_out_in_parts(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    hold_little(n.listener, SO_RCVBUF);
    got g = {0};
    go(&n, &g, "GET", NULL, long_clocks);
    peer p = peer_accept(n.listener);
    until(heard(&p, "\r\n\r\n"));
    peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    until(g.ends == 1);
    wire *w = n.u->all;
    uv_os_fd_t fd;
    uv_fileno((uv_handle_t *)&w->tcp, &fd);
    hold_little(fd, SO_SNDBUF);
    char body[GATHERED_PIECE_BYTES_MAX - 200];
    for (size_t i = 0; i < sizeof body - 1; i++)
        body[i] = (char)('!' + i % 93);
    body[sizeof body - 1] = 0;
    go(&n, &g, "POST", body, long_clocks);
    assert_true(w->gathered);
    pump_once();
    assert_true(w->writing && !fetch_is_sent(g.f));
    until(heard(&p, body));
    until(fetch_is_sent(g.f));
    peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    until(g.ends == 1);
    assert_int_equal(w->state, WIRE_IDLE);
    peer_done(&p);
    net_stop(&n);
}

/* As fetch() does it, but only to who was asked: the key goes along. */
static void a_redirect_within_the_host_is_followed_once(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    char here[64], port[64];
    snprintf(here, sizeof here, "http://127.0.0.1:%d/v1/", n.port);
    snprintf(port, sizeof port, "http://127.0.0.1:%d/v1/", n.port + 1);
    const struct {
        int status;
        const char *location, *target; /* NULL: it is not followed */
    } rows[] = {{307, "/v1/", "/v1/"},
                {308, here, "/v1/"},
                {308, "/moved?a=b#c", "/moved?a=b"},
                {307, port, NULL},
                {307, "https://127.0.0.1/v1/", NULL},
                {308, "//elsewhere.example/v1/", NULL},
                {307, "v1/", NULL},
                {307, "/a b", NULL},
                {301, "/v1/", NULL},
                {302, "/v1/", NULL},
                {303, "/v1/", NULL}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        got g = {0};
        char head[256], want[128];
        go(&n, &g, "POST", "{\"a\":1}", long_clocks);
        peer p = peer_accept(n.listener), q = {.fd = -1};
        until(heard(&p, "{\"a\":1}"));
        snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
                 rows[i].status, rows[i].location);
        peer_say(&p, head);
        if (rows[i].target) {
            q = peer_accept(n.listener);
            until(heard(&q, "{\"a\":1}"));
            snprintf(want, sizeof want, "POST %s HTTP/1.1\r\n", rows[i].target);
            assert_memory_equal(q.got, want, strlen(want));
            peer_say(&q, head); /* once, not round and round */
        }
        until(g.ends == 1);
        assert_int_equal(g.status, rows[i].status);
        assert_int_equal(g.heads, 1);
        assert_int_equal(g.agains, 0);
        assert_string_equal(g.body, "hi");
        peer_done(&p);
        peer_done(&q);
    }
    net_stop(&n);
}

/* A provider that had the request for longer than a round trip may be at work: who judges it decides. */
static void a_request_is_not_sent_again_when_it_was_received_long_ago(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {0};
    go(&n, &g, "GET", NULL, long_clocks);
    peer p = peer_accept(n.listener);
    until(heard(&p, "\r\n\r\n"));
    peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    until(g.ends == 1);
    go(&n, &g, "POST", "{}", long_clocks);
    assert_int_equal(upstream_open(n.u), 1); /* the pooled one */
    until(heard(&p, "{}"));
    pump_ms(2 * POOL_AGAIN_MS_MAX); /* however slow connecting was on this machine */
    close(p.fd);
    p.fd = -1;
    until(g.fails);
    assert_int_equal(g.agains, 0);
    assert_int_equal(g.net, DARUMA_NET_CLOSED);
    assert_int_equal(g.phase, DARUMA_AT_WAIT);
    peer_done(&p);
    net_stop(&n);
}

static void a_fresh_connection_is_not_tried_twice(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {0};
    go(&n, &g, "POST", "{}", long_clocks);
    peer p = peer_accept(n.listener);
    until(heard(&p, "{}"));
    peer_reset(&p);
    until(g.fails);
    assert_int_equal(g.net, DARUMA_NET_RESET);
    assert_int_equal(g.phase, DARUMA_AT_WAIT);
    peer_done(&p);
    net_stop(&n);
}

/* A fetch whose provider says that much and no more, and how it fails. A busy machine may take longer than the clock to
 * bring as much of the answer as it is about: then it gets more time. */
static got fails_by_the_clock(net *n, fetch_clocks clocks, const char *say, bool head)
{
    got g;
    do {
        g = (got){0};
        go(n, &g, "GET", NULL, clocks);
        peer p = peer_accept(n->listener);
        until(g.fails || heard(&p, "\r\n\r\n"));
        peer_say(&p, say);
        until(g.fails);
        peer_done(&p);
        clocks.total *= 4;
    } while (head && !g.heads && clocks.total < 60000);
    return g;
}

static void each_clock_has_its_name(void **state)
{
    (void)state;
    static const struct {
        fetch_clocks clocks;
        const char *say;
        daruma_net net;
        daruma_phase phase;
    } rows[] = {
        {{5000, 30, 5000, 5000}, "", DARUMA_NET_FIRST_BYTE_TIMEOUT, DARUMA_AT_WAIT},
        {{5000, 5000, 30, 5000}, "HTTP/1.1 200 OK\r\n\r\nab", DARUMA_NET_IDLE_TIMEOUT, DARUMA_AT_STREAM},
        {{5000, 5000, 30, 5000}, "HTTP/1.1 2", DARUMA_NET_IDLE_TIMEOUT, DARUMA_AT_HEAD},
        {{5000, 5000, 5000, 30}, "HTTP/1.1 200 OK\r\n\r\nab", DARUMA_NET_TOTAL_TIMEOUT, DARUMA_AT_STREAM},
    };
    net n;
    net_start(&n, (upstream_settings){0});
    for (size_t i = 0; i < COUNT(rows); i++) {
        got g = fails_by_the_clock(&n, rows[i].clocks, rows[i].say, rows[i].phase == DARUMA_AT_STREAM);
        assert_int_equal(g.net, rows[i].net);
        assert_int_equal(g.phase, rows[i].phase);
    }
    net_stop(&n);
}

static void a_head_that_comes_byte_by_byte_is_no_sign_of_life(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {0};
    go(&n, &g, "GET", NULL, (fetch_clocks){5000, 5000, 60, 60000});
    peer p = peer_accept(n.listener);
    until(heard(&p, "\r\n\r\n"));
    peer_say(&p, "HTTP/1.1 200 OK\r\nX: ");
    until((peer_say(&p, g.fails ? "" : "a"), g.fails));
    assert_int_equal(g.net, DARUMA_NET_IDLE_TIMEOUT);
    assert_int_equal(g.phase, DARUMA_AT_HEAD);
    peer_done(&p);
    net_stop(&n);
}

static void connections_that_fail_say_why(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {0};
    close(n.listener);
    go(&n, &g, "GET", NULL, long_clocks);
    assert_int_equal(g.fails, 0); /* never at once */
    until(g.fails);
    assert_int_equal(g.net, DARUMA_NET_REFUSED);
    assert_int_equal(g.phase, DARUMA_AT_CONNECT);
    url_parse(S("http://no-such-name.invalid"), &n.a, &n.to, NULL);
    go(&n, &g, "GET", NULL, long_clocks);
    until(g.fails);
    assert_int_equal(g.net, DARUMA_NET_DNS);
    until(upstream_open(n.u) == 0);
    n.listener = -1;
    net_stop(&n);
}

static void a_connection_that_is_never_accepted_times_out(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    /* A full queue drops what comes: the way to a host that does not answer, without leaving this machine. */
    listen(n.listener, 0);
    peer fill[4];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)n.port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < 4; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fd, (struct sockaddr *)&at, sizeof at);
        peer_own(&fill[i], fd);
    }
    got g = {0};
    go(&n, &g, "GET", NULL, (fetch_clocks){.connect = 50});
    until(g.fails);
    assert_int_equal(g.net, DARUMA_NET_CONNECT_TIMEOUT);
    assert_int_equal(g.phase, DARUMA_AT_CONNECT);
    for (int i = 0; i < 4; i++)
        peer_done(&fill[i]);
    net_stop(&n);
}

static void an_early_answer_is_delivered(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    size_t big = 32 << 20;
    char *body = calloc(1, big + 1);
    memset(body, 'x', big);
    got g = {0};
    go(&n, &g, "POST", body, long_clocks);
    peer p = peer_accept(n.listener);
    until((pump_once(), recv(p.fd, (char[64]){0}, 64, 0) > 0));
    peer_say(&p, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    until(g.ends);
    assert_int_equal(g.status, 413);
    assert_string_equal(g.body, "no");
    until(upstream_open(n.u) == 0);
    free(body);
    peer_done(&p);
    net_stop(&n);
}

static void a_paused_answer_waits_in_the_kernel(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {.pause = true};
    go(&n, &g, "GET", NULL, (fetch_clocks){5000, 5000, 300, 0});
    peer p = peer_accept(n.listener);
    until(heard(&p, "\r\n\r\n"));
    peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n");
    static char block[65536];
    until(g.heads);
    size_t sent = 0, quiet = 0;
    while (quiet < 20) { /* until nothing more fits */
        ssize_t k = send(p.fd, block, sizeof block, MSG_NOSIGNAL);
        sent += k > 0 ? (size_t)k : 0;
        quiet = k > 0 ? 0 : quiet + 1;
        pump_once();
    }
    pump_ms(400); /* the idle clock stands still, though this is longer */
    assert_true(sent < 60u << 20);
    assert_true(g.bytes <= 65536);
    assert_int_equal(g.fails, 0);
    fetch_resume(g.f);
    until(g.bytes == sent);
    fetch_cancel(g.f);
    peer_done(&p);
    net_stop(&n);
}

static void a_cancelled_fetch_is_silent(void **state)
{
    (void)state;
    net n;
    net_start(&n, (upstream_settings){0});
    got g = {.cancel = true};
    go(&n, &g, "GET", NULL, long_clocks);
    peer p = peer_accept(n.listener);
    until(heard(&p, "\r\n\r\n"));
    peer_say(&p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab");
    until(heard_end(&p));
    assert_int_equal(g.ends + g.fails + (int)g.bytes, 0);
    peer_done(&p);
    got h = {0};
    go(&n, &h, "GET", NULL, long_clocks);
    fetch_cancel(h.f); /* while it connects */
    until(upstream_open(n.u) == 0);
    assert_int_equal(h.ends + h.fails, 0);
    net_stop(&n);
}

/* ---- proxies and addresses ---- */

static void a_plain_request_goes_through_the_proxy(void **state)
{
    (void)state;
    net n;
    char proxy[64];
    int port, listener = peer_listen(&port);
    snprintf(proxy, sizeof proxy, "http://us%%65r:pw@127.0.0.1:%d", port);
    net_start(&n, (upstream_settings){.http_proxy = str_of(proxy)});
    url_parse(S("http://provider.example"), &n.a, &n.to, NULL);
    got g = {0};
    go(&n, &g, "GET", NULL, long_clocks);
    peer p = peer_accept(listener);
    until(heard(&p, "\r\n\r\n"));
    assert_string_equal(p.got, "GET http://provider.example/v1 HTTP/1.1\r\nHost: provider.example\r\n"
                               "Proxy-Authorization: Basic dXNlcjpwdw==\r\n\r\n");
    peer_done(&p);
    until(g.fails);
    close(listener);
    net_stop(&n);
}

static void a_refused_tunnel_is_the_proxys_fault(void **state)
{
    (void)state;
    net n;
    char proxy[64];
    int port, listener = peer_listen(&port);
    snprintf(proxy, sizeof proxy, "127.0.0.1:%d", port);
    net_start(&n, (upstream_settings){.https_proxy = str_of(proxy)});
    url_parse(S("https://provider.example"), &n.a, &n.to, NULL);
    got g = {0};
    go(&n, &g, "GET", NULL, long_clocks);
    peer p = peer_accept(listener);
    until(heard(&p, "\r\n\r\n"));
    assert_string_equal(p.got, "CONNECT provider.example:443 HTTP/1.1\r\nHost: provider.example:443\r\n\r\n");
    peer_say(&p, "HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n");
    until(g.fails);
    assert_int_equal(g.net, DARUMA_NET_PROXY);
    assert_int_equal(g.phase, DARUMA_AT_CONNECT);
    peer_done(&p);
    close(listener);
    net_stop(&n);
}

static void a_proxy_whose_name_is_too_long_is_at_fault(void **state)
{
    (void)state;
    net n;
    char proxy[400];
    snprintf(proxy, sizeof proxy, "%0300d.example:3128", 7);
    net_start(&n, (upstream_settings){.https_proxy = str_of(proxy)});
    url_parse(S("https://provider.example"), &n.a, &n.to, NULL);
    got g = {0};
    go(&n, &g, "GET", NULL, long_clocks);
    until(g.fails);
    assert_int_equal(g.net, DARUMA_NET_PROXY);
    net_stop(&n);
}

static void no_proxy_is_read_as_curl_reads_it(void **state)
{
    (void)state;
    static const struct {
        const char *list, *host;
        int port;
        bool exempt;
    } rows[] = {
        {"", "a.com", 80, false},
        {"*", "a.com", 80, true},
        {"a.com", "a.com", 80, true},
        {"A.com", "a.COM", 80, true},
        {"a.com", "x.a.com", 80, true},
        {".a.com", "x.a.com", 80, true},
        {".a.com", "a.com", 80, true},
        {"a.com", "ba.com", 80, false},
        {"b.com, a.com", "a.com", 80, true},
        {"b.com a.com", "a.com", 80, true},
        {"a.com:81", "a.com", 80, false},
        {"a.com:80", "a.com", 80, true},
        {"127.0.0.1", "127.0.0.1", 9, true},
        {"10.0.0.0/8", "10.2.3.4", 9, true},
        {"10.0.0.0/8", "11.2.3.4", 9, false},
        {"::1", "::1", 9, true},
        {"[::1]", "::1", 9, true},
        {"fe80::/10", "fe90::1", 9, true},
        {"0.0.1", "127.0.0.1", 9, false},
        {"a.com.", "a.com", 80, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (proxy_exempts(str_of(rows[i].list), str_of(rows[i].host), rows[i].port) != rows[i].exempt)
            fail_msg("%s for %s", rows[i].list, rows[i].host);
}

static void urls_are_taken_apart(void **state)
{
    (void)state;
    char mem[512];
    daruma_arena a = arena_over(mem, sizeof mem);
    url u;
    assert_true(url_parse(S("HTTPS://api.x.com/v1/"), &a, &u, NULL));
    assert_true(u.tls && u.port == 443);
    assert_str(u.prefix, "/v1");
    assert_str(u.authority, "api.x.com");
    assert_true(url_parse(S("http://u:p@[::1]:8080"), &a, &u, NULL));
    assert_str(u.host, "::1");
    assert_str(u.authority, "[::1]:8080");
    assert_str(u.userinfo, "u:p");
    assert_true(!u.tls && u.port == 8080 && u.prefix.n == 0);
    static const char *bad[] = {
        "",          "api.x.com",      "ftp://x",     "http://",     "http://:80",  "http://a:0",
        "http://a:", "http://a:99999", "http://a b/", "http://a/?q", "http://[::1", "http://a\r\nb"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *why = NULL;
        assert_false(url_parse(str_of(bad[i]), &a, &u, &why));
        assert_non_null(why);
    }
}

/* Also where no hosts file and no resolver knows the name, as in a bare container. */
static void localhost_is_this_machine(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool local, loopback;
    } hosts[] = {
        {"localhost", true, true},
        {"LocalHost", true, true},
        {"api.localhost", true, true},
        {"127.0.0.1", false, true},
        {"::1", false, true},
        {"127.evil.example", false, false},
        {".localhost", false, false},
        {"notlocalhost", false, false},
        {"localhost.example", false, false},
        {"0:0::1", false, true},
        {"::ffff:127.9.9.9", false, true},
        {"::ffff:128.0.0.1", false, false},
        {"::2", false, false},
        {"", false, false},
        {"128.0.0.1", false, false},
    };
    for (size_t i = 0; i < COUNT(hosts); i++) {
        assert_int_equal(host_is_localhost(str_of(hosts[i].host)), hosts[i].local);
        assert_int_equal(host_is_loopback(str_of(hosts[i].host)), hosts[i].loopback);
    }
    net n;
    net_start(&n, (upstream_settings){0});
    char text[64];
    snprintf(text, sizeof text, "http://no-such-name.localhost:%d", n.to.port);
    assert_true(url_parse(arena_copy(&n.a, str_of(text)), &n.a, &n.to, NULL));
    got g = {0};
    go(&n, &g, "GET", NULL, long_clocks);
    peer p = peer_accept(n.listener);
    until(heard(&p, "\r\n\r\n"));
    peer_done(&p);
    until(g.fails);
    net_stop(&n);
}

/* Whole it is read; cut anywhere, or with any bit turned, it is refused or read as something else, and nothing
 * breaks.
 */
static void what_came_compressed_is_read(void **state)
{
    (void)state;
    static const daruma_str text = LIT("{\"error\":{\"message\":\"maximum context length is 8192 tokens, "
                                       "maximum output length is 8192 tokens\",\"code\":\"context_length_exceeded\"}}");
    static const struct {
        daruma_str bytes;
        bool gzip;
    } rows[] = {
        {LIT("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x01\x84\x00\x7b\xff\x7b\x22\x65\x72\x72\x6f\x72"
             "\x22\x3a\x7b\x22\x6d\x65\x73\x73\x61\x67\x65\x22\x3a\x22\x6d\x61\x78\x69\x6d\x75\x6d\x20"
             "\x63\x6f\x6e\x74\x65\x78\x74\x20\x6c\x65\x6e\x67\x74\x68\x20\x69\x73\x20\x38\x31\x39\x32"
             "\x20\x74\x6f\x6b\x65\x6e\x73\x2c\x20\x6d\x61\x78\x69\x6d\x75\x6d\x20\x6f\x75\x74\x70\x75"
             "\x74\x20\x6c\x65\x6e\x67\x74\x68\x20\x69\x73\x20\x38\x31\x39\x32\x20\x74\x6f\x6b\x65\x6e"
             "\x73\x22\x2c\x22\x63\x6f\x64\x65\x22\x3a\x22\x63\x6f\x6e\x74\x65\x78\x74\x5f\x6c\x65\x6e"
             "\x67\x74\x68\x5f\x65\x78\x63\x65\x65\x64\x65\x64\x22\x7d\x7d\xed\xf4\x81\x0c\x84\x00\x00"
             "\x00"),
         true}, /* stored */
        {LIT("\x1f\x8b\x08\x1c\x00\x00\x00\x00\x00\x00\x03\x00\x61\x62\x63\x61\x2e\x6a\x73\x6f\x6e\x00"
             "\x73\x61\x69\x64\x00\xab\x56\x4a\x2d\x2a\xca\x2f\x52\xb2\xaa\x56\xca\x4d\x2d\x2e"
             "\x4e\x4c\x4f\x55\xb2\x52\xca\x4d\xac\xc8\xcc\x2d\xcd\x55\x48\xce\xcf\x2b\x49\xad\x28\x51"
             "\xc8\x49\xcd\x4b\x2f\xc9\x50\xc8\x2c\x56\xb0\x30\xb4\x34\x52\x28\xc9\xcf\x4e\xcd\x2b\xd6"
             "\x51\x80\x29\xcb\x2f\x2d\x29\x28\xc5\xa1\x4a\x49\x47\x29\x39\x3f\x05\x64\x28\xd4\xb0\x78"
             "\x88\xb2\xf8\xd4\x8a\xe4\xd4\xd4\x94\xd4\x14\xa5\xda\x5a\x00\xed\xf4\x81\x0c\x84\x00\x00"
             "\x00"),
         true}, /* fixed */
        {LIT("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x75\xcc\x41\x0a\x80\x20\x10\x05\xd0\xab\x0c\xb3"
             "\x6e\x53\xab\xea\x32\x11\xfa\xb1\x28\x9d\xd0\x11\x84\xf0\xee\x11\xd5\xb2\xfd\xe3\x9d\x8c"
             "\x18\x25\xf2\x78\xb2\x47\x4a\xb3\x03\x8f\xec\xe7\xb2\xfa\xec\xc9\x48\x50\x14\xa5\x1d\xc1"
             "\xe9\x42\x6b\xa2\xbe\x1d\x3a\x52\xd9\x10\x52\x43\x1f\x93\xac\x47\xfe\x51\xdc\xb0\x11\x7b"
             "\xa7\x6f\x36\x3d\x6c\x42\x31\x80\x85\xe5\x5a\x2f\xed\xf4\x81\x0c\x84\x00\x00\x00"),
         true}, /* dynamic */
        {LIT("\x78\x9c\x75\xcc\x41\x0a\x80\x20\x10\x05\xd0\xab\x0c\xb3\x6e\x53\xab\xea\x32\x11\xfa\xb1"
             "\x28\x9d\xd0\x11\x84\xf0\xee\x11\xd5\xb2\xfd\xe3\x9d\x8c\x18\x25\xf2\x78\xb2\x47\x4a\xb3"
             "\x03\x8f\xec\xe7\xb2\xfa\xec\xc9\x48\x50\x14\xa5\x1d\xc1\xe9\x42\x6b\xa2\xbe\x1d\x3a\x52"
             "\xd9\x10\x52\x43\x1f\x93\xac\x47\xfe\x51\xdc\xb0\x11\x7b\xa7\x6f\x36\x3d\x6c\x42\x31\x80"
             "\x85\xe5\x5a\x2f\x21\x0f\x2f\x0f"),
         false}, /* deflate */
        {LIT("\xab\x56\x4a\x2d\x2a\xca\x2f\x52\xb2\xaa\x56\xca\x4d\x2d\x2e\x4e\x4c\x4f\x55\xb2\x52\xca"
             "\x4d\xac\xc8\xcc\x2d\xcd\x55\x48\xce\xcf\x2b\x49\xad\x28\x51\xc8\x49\xcd\x4b\x2f\xc9\x50"
             "\xc8\x2c\x56\xb0\x30\xb4\x34\x52\x28\xc9\xcf\x4e\xcd\x2b\xd6\x51\x80\x29\xcb\x2f\x2d\x29"
             "\x28\xc5\xa1\x4a\x49\x47\x29\x39\x3f\x05\x64\x28\xd4\xb0\x78\x88\xb2\xf8\xd4\x8a\xe4\xd4"
             "\xd4\x94\xd4\x14\xa5\xda\x5a\x00"),
         false}, /* bare */
    };
    static char room[4096], copy[512];
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_str coding = rows[i].gzip ? S("gzip") : S("deflate");
        daruma_buf b = buf_over(room, sizeof room);
        assert_true(unpack(coding, rows[i].bytes, &b, text.n));
        assert_true(str_eq(buf_str(&b), text));
        b.n = 0;
        assert_false(unpack(coding, rows[i].bytes, &b, text.n - 1)); /* it is longer */
        for (size_t n = 0; n < rows[i].bytes.n; n++) {
            b = buf_over(room, sizeof room);
            memcpy(copy, rows[i].bytes.p, n);
            char *alone = malloc(n ? n : 1); /* the sanitizers see who reads behind it */
            memcpy(alone, copy, n);
            bool whole = unpack(coding, (daruma_str){alone, n}, &b, sizeof room);
            assert_true(!whole || (!rows[i].gzip && str_eq(buf_str(&b), text))); /* but for the sum at the end */
            free(alone);
        }
        memcpy(copy, rows[i].bytes.p, rows[i].bytes.n);
        for (size_t bit = 0; bit < 8 * rows[i].bytes.n; bit++) {
            b = buf_over(room, sizeof room);
            copy[bit / 8] ^= (char)(1 << bit % 8);
            bool whole = unpack(coding, (daruma_str){copy, rows[i].bytes.n}, &b, sizeof room);
            assert_true(!whole || !rows[i].gzip || str_eq(buf_str(&b), text)); /* a date, a name */
            copy[bit / 8] ^= (char)(1 << bit % 8);
        }
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {
        T(answers_are_read_strictly),
        T(the_request_is_framed_by_us),
        T(a_connection_is_used_again),
        T(too_much_answer_is_never_the_next_one),
        T(a_stale_connection_costs_nothing),
        T(a_request_that_still_waits_is_not_sent),
        T(what_is_called_off_within_its_turn_is_not_sent),
        T(a_request_that_waited_goes_out_in_parts),
        T(a_redirect_within_the_host_is_followed_once),
        T(a_request_is_not_sent_again_when_it_was_received_long_ago),
        T(a_fresh_connection_is_not_tried_twice),
        T(each_clock_has_its_name),
        T(a_head_that_comes_byte_by_byte_is_no_sign_of_life),
        T(connections_that_fail_say_why),
        T(a_connection_that_is_never_accepted_times_out),
        T(an_early_answer_is_delivered),
        T(a_paused_answer_waits_in_the_kernel),
        T(a_cancelled_fetch_is_silent),
        T(a_plain_request_goes_through_the_proxy),
        T(a_refused_tunnel_is_the_proxys_fault),
        T(a_proxy_whose_name_is_too_long_is_at_fault),
        T(no_proxy_is_read_as_curl_reads_it),
        T(urls_are_taken_apart),
        T(localhost_is_this_machine),
        cmocka_unit_test(what_came_compressed_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
