/* test_server.c - the server on real sockets: what clients do to it, and how they are answered. */
#include "net_kit.h"
#include "base/arena.h"
#include "net/http.h"
#include "net/server_inside.h"
#include <malloc.h>
#include <sys/resource.h>

/* ---- a server that does what the path says ---- */

typedef struct site {
    server *s;
    int port;
    call *held; /* the last call that was not answered at once */
    int requests, gone, drained;
    size_t body; /* bytes of the last body */
    bool drain_done;
} site;

static void on_request(call *c, void *user)
{
    site *t = user;
    t->requests++;
    t->body = c->body.n;
    if (str_eq(c->head.path, S("/hold"))) {
        t->held = c;
    } else if (str_eq(c->head.path, S("/stream"))) {
        call_head(c, 200, NULL, 0, -1);
        call_write(c, S("one"));
        call_write(c, S("two"));
        call_end(c);
    } else if (str_eq(c->head.path, S("/short"))) {
        call_head(c, 200, NULL, 0, 10);
        call_write(c, S("abc"));
        call_end(c);
    } else if (str_eq(c->head.path, S("/abort"))) {
        call_head(c, 200, NULL, 0, -1);
        call_write(c, S("abc"));
        call_abort(c);
    } else {
        if (str_eq(c->head.path, S("/free"))) {
            call_head(t->held, 200, NULL, 0, 0);
            call_end(t->held);
        }
        call_head(c, str_eq(c->head.path, S("/204")) ? 204 : 200, (daruma_header[]){{S("x-path"), c->head.path}}, 1,
                  str_eq(c->head.path, S("/204")) ? 0 : (int64_t)c->body.n);
        call_write(c, c->body);
        call_end(c);
    }
}

static void on_gone(call *c, void *user)
{
    site *t = user;
    t->gone++;
    if (t->held == c)
        t->held = NULL;
}

static void on_drained(call *c, void *user)
{
    (void)c;
    ((site *)user)->drained++;
}

static void on_drain_done(void *user)
{
    ((site *)user)->drain_done = true;
}

static void site_start(site *t, server_limits limits)
{
    char why[256];
    server_ops ops = {.request = on_request, .gone = on_gone, .drained = on_drained};
    *t = (site){0};
    t->s = server_listen(loop, "127.0.0.1", 0, &limits, &ops, t, why);
    assert_non_null(t->s);
    t->port = server_port(t->s);
}

static const server_limits usual = {.body_bytes = 1 << 20, .connections = 16};
#define HEAD(method, path) method " " path " HTTP/1.1\r\nHost: a\r\n"

static void a_body_comes_back(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("POST", "/x?q=1") "Content-Length: 5\r\n\r\nhello");
    until(heard(&p, "hello"));
    assert_true(heard(&p, "HTTP/1.1 200 OK\r\nx-path: /x\r\ncontent-length: 5\r\n\r\nhello"));
    peer_done(&p);
    server_close(t.s);
}

static void a_large_body_is_read_whole_in_any_pieces(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    size_t n = 300000;
    char *body = malloc(n);
    for (size_t i = 0; i < n; i++)
        body[i] = (char)('a' + i % 23);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("POST", "/x") "Content-Length: 300000\r\n\r\n");
    peer_say_n(&p, body, 7);
    pump_once();
    peer_say_n(&p, body + 7, n - 7);
    until((peer_hear(&p), p.n > n));
    assert_memory_equal(p.got + p.n - n, body, n);
    /* The next request begins in the same segment as the end of this one's body. */
    static const char both[] = "z" HEAD("GET", "/next") "\r\n";
    peer_say(&p, HEAD("POST", "/y") "Content-Length: 2\r\n\r\nz");
    pump_ms(2);
    peer_say(&p, both);
    until(heard(&p, "\r\n\r\nzz") && heard(&p, "/next"));
    free(body);
    peer_done(&p);
    server_close(t.s);
}

/* It stands with its head where all of it came with it, else in memory of its own; some arenas are used again. */
static void a_short_body_is_whole_wherever_it_stands(void **state)
{
    enum { MOST = CALL_BODY_BYTES_MAX + 2 };
    (void)state;
    site t;
    char text[MOST + 100], body[MOST];
    site_start(&t, usual);
    for (size_t i = 0; i < MOST; i++)
        body[i] = (char)('a' + i % 23);
    for (size_t n = 1; n <= MOST; n = n == 1 ? CALL_BODY_BYTES_MAX - 1 : n + 1)
        for (size_t late = 0; late < 3; late++) { /* none of it, one byte, all of it comes behind the head */
            peer p = peer_connect(t.port);
            size_t head = (size_t)snprintf(text, sizeof text, HEAD("POST", "/x") "Content-Length: %zu\r\n\r\n", n);
            size_t first = head + (late == 0 ? n : late == 1 ? n - 1 : 0);
            memcpy(text + head, body, n);
            peer_say_n(&p, text, first);
            pump_ms(late ? 2 : 0);
            peer_say_n(&p, text + first, head + n - first);
            until((peer_hear(&p), p.n > n && memcmp(p.got + p.n - n, body, n) == 0));
            peer_done(&p);
        }
    server_close(t.s);
}

static void the_memory_of_a_call_is_whose_who_takes_it(void **state)
{
    static const char request[] = HEAD("POST", "/hold") "Content-Length: 5\r\n\r\nhello";
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, request);
    until(t.held);
    daruma_str body = t.held->body, path = t.held->head.path;
    call_memory m = call_take_memory(t.held);
    call_head(t.held, 200, NULL, 0, 0);
    call_end(t.held);
    peer_say(&p, HEAD("POST", "/echo") "Content-Length: 5\r\n\r\nother");
    until(heard(&p, "other"));
    assert_true(str_eq(body, S("hello")) && str_eq(path, S("/hold")));
    call_memory_free(&m);
    peer_done(&p);
    server_close(t.s);
}

static void chunks_are_decoded_in_every_split(void **state)
{
    (void)state;
    static const char raw[] =
        HEAD("POST", "/x") "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n";
    site t;
    site_start(&t, usual);
    for (size_t cut = 1; cut < sizeof raw - 1; cut++) {
        peer p = peer_connect(t.port);
        peer_say_n(&p, raw, cut);
        pump_once();
        peer_say_n(&p, raw + cut, sizeof raw - 1 - cut);
        until(heard(&p, "\r\n\r\nabcde"));
        peer_done(&p);
    }
    server_close(t.s);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/hold") "\r\n" HEAD("POST", "/b") "Content-Length: 2\r\n\r\nbb" HEAD("GET", "/c") "\r\n");
    until(t.held);
    pump_ms(5);
    assert_int_equal(t.requests, 1);
    call_head(t.held, 200, NULL, 0, 1);
    call_write(t.held, S("a"));
    call_end(t.held);
    until(heard(&p, "/c"));
    const char *a = strstr(p.got, "\r\n\r\na"), *b = strstr(p.got, "/b"), *c = strstr(p.got, "/c");
    assert_true(a && a < b && b < c);
    peer_done(&p);
    server_close(t.s);
}

static void a_head_alone_goes_out_on_the_next_turn(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/hold") "\r\n");
    until(t.held);
    call_head(t.held, 200, NULL, 0, -1);
    until(heard(&p, "transfer-encoding: chunked\r\n\r\n"));
    call_end(t.held);
    until(heard(&p, "0\r\n\r\n"));
    peer_done(&p);
    server_close(t.s);
}

static void answers_are_framed_as_the_client_can_read(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    static const struct {
        const char *ask, *start, *end;
        bool closes;
    } rows[] = {
        {HEAD("GET", "/stream") "\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
         "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n", false},
        {"GET /stream HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", "\r\n\r\nonetwo", true},
        {HEAD("HEAD", "/stream") "\r\n", "HTTP/1.1 200 OK\r\n\r\n", "OK\r\n\r\n", false},
        {HEAD("GET", "/204") "\r\n", "HTTP/1.1 204 No Content\r\n", "/204\r\n\r\n", false},
        {HEAD("GET", "/x") "Connection: close\r\n\r\n", "HTTP/1.1 200 OK\r\n", "connection: close\r\n\r\n", true},
        {HEAD("GET", "/short") "\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n", "\r\n\r\nabc", true},
        {HEAD("GET", "/abort") "\r\n", "HTTP/1.1 200 OK\r\n", "3\r\nabc\r\n", true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        peer p = peer_connect(t.port);
        peer_say(&p, rows[i].ask);
        until(heard(&p, rows[i].end));
        if (rows[i].closes)
            until(heard_end(&p));
        else
            pump_ms(3);
        peer_hear(&p);
        assert_true(strncmp(p.got, rows[i].start, strlen(rows[i].start)) == 0);
        assert_true(str_ends(str_of(p.got), str_of(rows[i].end)));
        assert_int_equal(p.eof, rows[i].closes);
        peer_done(&p);
    }
    server_close(t.s);
}

static void permission_to_send_is_given(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("POST", "/x") "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    until(heard(&p, "HTTP/1.1 100 Continue\r\n\r\n"));
    peer_say(&p, "ab");
    until(heard(&p, "\r\n\r\nab"));
    peer_done(&p);
    server_close(t.s);
}

static void a_client_that_leaves_is_noticed_at_once(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    for (int hard = 0; hard < 2; hard++) {
        peer p = peer_connect(t.port);
        peer_say(&p, HEAD("GET", "/hold") "\r\n");
        until(t.held);
        call_head(t.held, 200, NULL, 0, -1);
        call_write(t.held, S("x"));
        if (hard)
            peer_reset(&p);
        else
            close(p.fd);
        p.fd = -1;
        for (int turns = 0; turns < 20; turns++) /* no clock is waited for: it is an event of the loop */
            pump_once();
        assert_int_equal(t.gone, hard + 1);
        peer_done(&p);
    }
    until(server_connections(t.s) == 0);
    server_close(t.s);
}

/* Behind its request a client may say its last word and wait (`nc -N`, shutdown()), or have gone. */
static void a_client_that_only_listens_gets_its_answer(void **state)
{
    (void)state;
    site t;
    size_t n = 4u << 20; /* more than the socket takes at once */
    char *body = calloc(1, n);
    site_start(&t, usual);
    for (int many = 0; many < 2; many++) { /* with another request ahead */
        peer p = peer_connect(t.port);
        peer_say(&p, HEAD("GET", "/hold") "\r\n");
        if (many)
            peer_say(&p, HEAD("GET", "/hold") "\r\n");
        until(t.held);
        shutdown(p.fd, SHUT_WR);
        pump_ms(RESET_LOOK_MS * 2); /* it has been looked at */
        for (int i = 0; i <= many; i++) {
            until(t.held);
            assert_int_equal(t.gone, 0);
            call *c = t.held;
            t.held = NULL;
            call_head(c, 200, NULL, 0, (int64_t)n);
            call_write(c, (daruma_str){body, n});
            call_end(c);
            until((peer_hear(&p), p.n >= n * (size_t)(i + 1)));
        }
        until(heard_end(&p));
        peer_done(&p);
    }
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/hold") "\r\n");
    until(t.held);
    close(p.fd);
    p.fd = -1;
    until(t.gone == 1);
    peer_done(&p);
    free(body);
    until(server_connections(t.s) == 0);
    server_close(t.s);
}

static void a_slow_reader_holds_the_handler_back(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/hold") "\r\n");
    until(t.held);
    static char block[65536];
    call_head(t.held, 200, NULL, 0, -1);
    size_t sent = 0;
    while (call_write(t.held, (daruma_str){block, sizeof block})) {
        sent += sizeof block;
        assert_true(sent < 64u << 20);
        pump_once();
    }
    assert_int_equal(t.drained, 0);
    until((peer_hear(&p), t.drained == 1));
    assert_true(call_write(t.held, S("more")));
    call_end(t.held);
    until(heard(&p, "0\r\n\r\n"));
    peer_done(&p);
    server_close(t.s);
}

/* More than the sockets between a client and us hold. */
static size_t put_long_answer(site *t)
{
    enum { LONG_BYTES = 16 << 20 };
    char *bytes = calloc(1, LONG_BYTES);
    until(t->held);
    call_head(t->held, 200, NULL, 0, LONG_BYTES);
    call_write(t->held, (daruma_str){bytes, LONG_BYTES});
    call_end(t->held);
    free(bytes);
    return LONG_BYTES;
}

/* Its last word comes while the answer that has ended is still on its way, then the answer is read. */
static void a_last_word_behind_an_unread_answer_ends_the_connection(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/hold") "\r\n");
    size_t n = put_long_answer(&t);
    shutdown(p.fd, SHUT_WR);
    pump_ms(5);
    until((peer_hear(&p), p.n >= n));
    until(heard_end(&p));
    until(server_connections(t.s) == 0);
    peer_done(&p);
    server_close(t.s);
}

/* Who has said its last word and gets the beginning of an answer may still go before the rest is there. */
static void a_listener_that_leaves_within_an_answer_is_noticed(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/hold") "\r\n");
    until(t.held);
    shutdown(p.fd, SHUT_WR);
    pump_ms(RESET_LOOK_MS * 2);
    call_head(t.held, 200, NULL, 0, -1);
    call_write(t.held, S("one"));
    until(heard(&p, "one"));
    pump_ms(RESET_LOOK_MS * 2);
    assert_int_equal(t.gone, 0);
    peer_reset(&p);
    p.fd = -1;
    until(t.gone == 1); /* nothing more is written */
    peer_done(&p);
    server_close(t.s);
}

static void an_answer_that_has_ended_reaches_a_slow_reader_whole(void **state)
{
    (void)state;
    static const struct {
        const char *ask;
        daruma_ms keepalive_ms, idle; /* after idle ms the client begins to read */
        bool drain;
    } rows[] = {
        {HEAD("GET", "/hold") "\r\n", 400, 1000, false},
        {HEAD("GET", "/hold") "\r\n", 0, 0, true},
        {HEAD("GET", "/hold") "Connection: close\r\n\r\n", 0, LINGER_MS + 600, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        site t;
        site_start(&t, (server_limits){.body_bytes = 10, .connections = 4, .keepalive_ms = rows[i].keepalive_ms});
        peer p = peer_connect(t.port);
        peer_say(&p, rows[i].ask);
        size_t n = put_long_answer(&t);
        if (rows[i].drain)
            server_drain(t.s, on_drain_done, &t);
        pump_ms(rows[i].idle);
        until((peer_hear(&p), p.n > n));
        peer_done(&p);
        server_close(t.s);
    }
}

/* One whose socket takes little, and the server's as little. */
static peer peer_connect_little(site *t)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)t->port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    uv_os_fd_t ours;
    peer p;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    hold_little(fd, SO_RCVBUF);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    peer_own(&p, fd);
    until(t->s->all);
    uv_fileno((uv_handle_t *)&t->s->all->tcp, &ours);
    hold_little(ours, SO_SNDBUF);
    pump_once();
    return p;
}

/* Small pieces that waited for the end of the turn, of which the socket takes a part, then large and small ones. */
static void answers_that_waited_go_out_in_parts_and_in_order(void **state)
{
    (void)state;
    static const size_t pieces[] = {7000, 1,     5000, GATHERED_PIECE_BYTES_MAX, GATHERED_PIECE_BYTES_MAX + 1,
                                    3,    90000, 10};
    enum { ALL = 7000 + 1 + 5000 + 2 * GATHERED_PIECE_BYTES_MAX + 1 + 3 + 90000 + 10 };
    char *bytes = malloc(ALL);
    for (size_t i = 0; i < ALL; i++)
        bytes[i] = (char)('!' + i % 93);
    for (size_t turns = 0; turns <= COUNT(pieces); turns++) { /* so many pieces have a turn of their own */
        site t;
        site_start(&t, usual);
        peer p = peer_connect_little(&t);
        conn *c = t.s->all;
        peer_say(&p, HEAD("GET", "/hold") "\r\n");
        until(t.held);
        call_head(t.held, 200, NULL, 0, ALL);
        for (size_t i = 0, at = 0; i < COUNT(pieces); at += pieces[i++]) {
            call_write(t.held, (daruma_str){bytes + at, pieces[i]});
            if (i < turns)
                pump_once();
        }
        if (turns)
            assert_true(c->tcp.write_queue_size > 0);
        call_end(t.held);
        pump_once();
        assert_int_equal(c->waits, FOR_READER);
        until((peer_hear(&p), p.n > ALL));
        until(c->waits == FOR_REQUEST);
        assert_memory_equal(p.got + p.n - ALL, bytes, ALL);
        peer_done(&p);
        server_close(t.s);
    }
    free(bytes);
}

/* Its answer has ended in the turn in which another client comes, and does not fit into the socket. */
static void who_has_to_read_an_answer_that_waited_makes_no_room(void **state)
{
    (void)state;
    enum { PATH = 6000 }; /* it stands in the answer's head */
    static char ask[PATH + 64];
    site t;
    site_start(&t, (server_limits){.body_bytes = 10, .connections = 1});
    peer slow = peer_connect_little(&t);
    size_t n = (size_t)snprintf(ask, sizeof ask, "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n", PATH, 7);
    assert_int_equal(send(slow.fd, ask, n, MSG_NOSIGNAL), n);
    peer next = peer_connect(t.port);
    until(t.requests == 1);
    until(heard(&next, "503"));
    until(heard(&slow, "7\r\n"));
    until(heard(&slow, "\r\n\r\n"));
    peer_done(&slow);
    peer_done(&next);
    server_close(t.s);
}

static void a_reader_that_has_stopped_is_let_go(void **state)
{
    (void)state;
    site t;
    site_start(&t, (server_limits){.body_bytes = 10, .connections = 4, .reader_ms = 30});
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/hold") "Connection: close\r\n\r\n");
    size_t n = put_long_answer(&t);
    until(server_connections(t.s) == 0);
    peer_hear(&p);
    assert_true(p.n < n);
    peer_done(&p);
    server_close(t.s);
}

/* Writes until no more may be written. */
static void fill(site *t)
{
    static char block[65536];
    until(t->held);
    call_head(t->held, 200, NULL, 0, -1);
    while (call_write(t->held, (daruma_str){block, sizeof block}))
        pump_once();
}

static void an_answer_under_way_waits_for_its_reader_but_not_for_ever(void **state)
{
    (void)state;
    site t;
    site_start(&t, (server_limits){.body_bytes = 10, .connections = 4, .reader_ms = 400});
    peer reads = peer_connect(t.port);
    peer_say(&reads, HEAD("GET", "/hold") "\r\n");
    fill(&t);
    call *c = t.held;
    t.held = NULL;
    peer never = peer_connect(t.port);
    peer_say(&never, HEAD("GET", "/hold") "\r\n");
    fill(&t);
    pump_ms(200);
    until((peer_hear(&reads), t.drained == 1)); /* it was away for a while */
    until(t.gone == 1 && !t.held);              /* the other one does not come back */
    assert_true(call_write(c, S("more")));
    call_end(c);
    until(heard(&reads, "0\r\n\r\n"));
    peer_done(&reads);
    peer_done(&never);
    server_close(t.s);
}

static void readers_are_waited_for_as_long_as_there_is_room(void **state)
{
    (void)state;
    static const struct {
        size_t room;
        bool drain;
    } rows[] = {{1, false}, {0, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        site t;
        site_start(&t, (server_limits){.body_bytes = 10,
                                       .connections = 4,
                                       .reader_ms = 60000,
                                       .reader_crowded_ms = 30,
                                       .readers_bytes = rows[i].room});
        peer p = peer_connect(t.port);
        peer_say(&p, HEAD("GET", "/hold") "\r\n");
        fill(&t);
        if (rows[i].drain)
            server_drain(t.s, on_drain_done, &t);
        until(t.gone == 1 && server_connections(t.s) == 0);
        peer_done(&p);
        server_close(t.s);
    }
}

static void answers_that_nobody_reads_hold_the_next_requests_back(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/hold") "\r\n");
    until(t.held);
    peer_say(&p, HEAD("GET", "/a") "\r\n" HEAD("GET", "/b") "\r\n");
    pump_ms(3);
    put_long_answer(&t);
    pump_ms(10);
    assert_int_equal(t.requests, 1);
    until(heard(&p, "/a") && heard(&p, "/b"));
    assert_int_equal(t.requests, 3);
    peer_done(&p);
    server_close(t.s);
}

static void a_body_that_never_falls_silent_must_still_come(void **state)
{
    (void)state;
    site t;
    site_start(&t, (server_limits){.body_bytes = 1 << 20, .connections = 9, .body_idle_ms = 5000, .body_ms = 40});
    static const char *const heads[] = {HEAD("POST", "/x") "Content-Length: 1000000\r\n\r\n",
                                        HEAD("POST", "/x") "Transfer-Encoding: chunked\r\n\r\n"};
    static const char *const drops[] = {"a", "1\r\na\r\n"};
    for (size_t i = 0; i < 2; i++) {
        peer p = peer_connect(t.port);
        peer_say(&p, heads[i]);
        until((pump_ms(2), peer_say(&p, drops[i]), heard(&p, "}\n")));
        assert_true(heard(&p, "HTTP/1.1 408 "));
        peer_done(&p);
        until(server_connections(t.s) == 0);
    }
    assert_int_equal(t.requests, 0);
    server_close(t.s);
}

static void limits_are_told_to_the_client(void **state)
{
    (void)state;
    site patient, hurried; /* on a busy machine long heads take longer than short clocks */
    site_start(&patient, (server_limits){.body_bytes = 10, .connections = 1});
    site_start(&hurried, (server_limits){.body_bytes = 10, .connections = 1, .head_ms = 40, .body_idle_ms = 40});
    static char many[40000], longer[70000];
    size_t n = (size_t)snprintf(many, sizeof many, HEAD("GET", "/x"));
    for (int i = 0; i <= HTTP_HEADERS_MAX; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "X%d: 1\r\n", i);
    n = (size_t)snprintf(longer, sizeof longer, HEAD("GET", "/x") "X: ");
    memset(longer + n, 'a', sizeof longer - n - 1);
    const struct {
        site *at;
        const char *say, *answer;
    } rows[] = {
        {&patient, HEAD("POST", "/x") "Content-Length: 11\r\n\r\n", "HTTP/1.1 413 "},
        {&patient, HEAD("POST", "/x") "Transfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n", "HTTP/1.1 413 "},
        {&patient, many, "HTTP/1.1 431 "},
        {&patient, longer, "HTTP/1.1 431 "},
        {&hurried, HEAD("GET", "/x"), "HTTP/1.1 408 "},
        {&hurried, HEAD("POST", "/x") "Content-Length: 5\r\n\r\nab", "HTTP/1.1 408 "},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        peer p = peer_connect(rows[i].at->port);
        peer_say(&p, rows[i].say);
        until(heard(&p, "\r\n\r\n"));
        assert_true(heard(&p, rows[i].answer));
        until(heard(&p, "}\n") && heard_end(&p));
        peer_done(&p);
        until(server_connections(rows[i].at->s) == 0);
    }
    peer first = peer_connect(patient.port);
    peer_say(&first, HEAD("POST", "/x") "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    until(heard(&first, "HTTP/1.1 100 ")); /* it is at work: nobody takes its place */
    peer second = peer_connect(patient.port);
    until(heard(&second, "HTTP/1.1 503 "));
    peer_say(&first, "ab");
    until(heard(&first, "HTTP/1.1 200 "));
    peer_done(&first);
    peer_done(&second);
    assert_int_equal(patient.requests, 1);
    assert_int_equal(hurried.requests, 0);
    server_close(patient.s);
    server_close(hurried.s);
}

static void an_idle_connection_is_closed_in_the_end(void **state)
{
    (void)state;
    site t;
    site_start(&t, (server_limits){.body_bytes = 10, .connections = 4, .keepalive_ms = 30});
    peer p = peer_connect(t.port);
    peer_say(&p, HEAD("GET", "/x") "\r\n");
    until(heard_end(&p));
    assert_true(heard(&p, "HTTP/1.1 200 ") && !heard(&p, "408"));
    peer_done(&p);
    server_close(t.s);
}

static void draining_lets_calls_end(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer idle = peer_connect(t.port), busy = peer_connect(t.port);
    peer_say(&busy, HEAD("GET", "/hold") "\r\n");
    until(t.held && server_connections(t.s) == 2);
    server_drain(t.s, on_drain_done, &t);
    until(heard_end(&idle));
    assert_false(t.drain_done);
    call_head(t.held, 200, NULL, 0, 2);
    call_write(t.held, S("ok"));
    call_end(t.held);
    until(heard(&busy, "connection: close\r\n\r\nok") && heard_end(&busy));
    peer_done(&busy);
    until(t.drain_done);
    peer_done(&idle);
    server_close(t.s);
}

static void draining_waits_for_a_request_in_part_and_then_refuses_it(void **state)
{
    (void)state;
    static const char *const parts[] = {HEAD("POST", "/x"), HEAD("POST", "/x") "Content-Length: 50\r\n\r\nab",
                                        HEAD("POST", "/x") "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"};
    site t;
    site_start(&t, (server_limits){.body_bytes = 100, .connections = 9, .drain_ms = 300});
    peer slow[3], quick = peer_connect(t.port);
    peer_say(&quick, HEAD("POST", "/quick") "Content-Length: 2\r\n\r\no");
    for (size_t i = 0; i < 3; i++) {
        slow[i] = peer_connect(t.port);
        peer_say(&slow[i], parts[i]);
    }
    until(server_connections(t.s) == 4);
    pump_ms(5);
    server_drain(t.s, on_drain_done, &t);
    peer_say(&quick, "k");
    until(heard(&quick, "connection: close\r\n\r\nok") && heard_end(&quick));
    peer_done(&quick);
    for (size_t i = 0; i < 3; i++) {
        until(heard(&slow[i], "connection: close\r\n\r\n{"));
        assert_true(heard(&slow[i], "HTTP/1.1 503 ") && heard(&slow[i], "retry-after: 1\r\n"));
        assert_true(heard(&slow[i], "is stopping"));
        peer_done(&slow[i]);
    }
    until(t.drain_done);
    assert_int_equal(t.requests, 1);
    server_close(t.s);
}

/* `stolen`: another thread took libuv's own reserve in the moment that it was free. */
static void out_of_descriptors(bool stolen)
{
    site t;
    site_start(&t, usual);
    struct rlimit usually, none;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)t.port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    peer p, q, idle = peer_connect(t.port);
    until(server_connections(t.s) == 1); /* what earlier ones held is closed by now */
    int fd = socket(AF_INET, SOCK_STREAM, 0), next = socket(AF_INET, SOCK_STREAM, 0);
    getrlimit(RLIMIT_NOFILE, &usually);
    none = (struct rlimit){(rlim_t)(next > fd ? next : fd) + 1, usually.rlim_max};
    int reserve = loop->emfile_fd; /* libuv's */
    if (stolen)
        loop->emfile_fd = -1;
    setrlimit(RLIMIT_NOFILE, &none);
    connect(fd, (struct sockaddr *)&at, sizeof at);
    peer_own(&p, fd);
    until(heard_end(&p)); /* turned away, not left hanging */
    if (stolen) {         /* the spare one is gone as well: who idles makes room */
        connect(next, (struct sockaddr *)&at, sizeof at);
        until(heard_end(&idle));
    }
    close(next);
    peer_done(&idle);
    setrlimit(RLIMIT_NOFILE, &usually);
    loop->emfile_fd = reserve;
    q = peer_connect(t.port);
    peer_say(&q, HEAD("GET", "/x") "\r\n");
    until(heard(&q, "HTTP/1.1 200 "));
    peer_done(&p);
    peer_done(&q);
    server_close(t.s);
}

static void running_out_of_descriptors_is_survived(void **state)
{
    (void)state;
    out_of_descriptors(false);
    if (uv_version() < (1 << 16 | 45 << 8)) /* later ones tell nobody; the next stream takes a new reserve */
        out_of_descriptors(true);
}

/* The newest connection is closed already, which the loop has not ended yet: to close it again frees nothing. */
static void without_descriptors_one_at_work_goes_and_not_one_that_is_closing(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    peer working = peer_connect(t.port);
    peer_say(&working, HEAD("GET", "/hold") "\r\n");
    until(t.held);
    peer closing = peer_connect(t.port);
    until(server_connections(t.s) == 2);
    close(t.s->spare);
    t.s->spare = -1;
    conn_close(t.s->all);
    assert_int_equal(t.s->all->state, CLOSING);
    uv_stream_t *listener = (uv_stream_t *)&t.s->listeners[0];
    listener->connection_cb(listener, UV_EMFILE); /* as libuv tells it where another thread took its reserve */
    assert_int_equal(t.gone, 1);
    until(heard_end(&working));
    peer_done(&working);
    peer_done(&closing);
    server_close(t.s);
}

static void a_thousand_requests_leave_nothing_behind(void **state)
{
    (void)state;
    site t;
    site_start(&t, usual);
    static const char ask[] = HEAD("POST", "/x") "Content-Length: 3000\r\n\r\n";
    char body[3000];
    memset(body, 'b', sizeof body);
    size_t before = 0;
    peer p = peer_connect(t.port);
    for (int i = 0; i < 1000; i++) {
        peer_say(&p, ask);
        peer_say_n(&p, body, sizeof body);
        until((peer_hear(&p), p.n > sizeof body));
        until(p.got[p.n - 1] == 'b' && t.requests == i + 1);
        p.n = 0;
        if (i == 100)
            before = mallinfo2().uordblks;
    }
    /* A KiB a request would be 900 KiB. */
    assert_true(mallinfo2().uordblks < before + (64u << 10));
    peer_done(&p);
    server_close(t.s);
}

/* 12 heads of 50 KB at a time. */
static void long_heads_leave_no_memory_behind(void **state)
{
    enum { MANY = 12, LONG = 50000 };
    (void)state;
    site t;
    peer p[MANY];
    call *held[MANY];
    char head[LONG + 100];
    site_start(&t, usual);
    int n = snprintf(head, sizeof head, HEAD("GET", "/hold") "X-Long: %0*d\r\n\r\n", LONG, 1);
    for (int i = 0; i < MANY; i++) {
        t.held = NULL;
        p[i] = peer_connect(t.port);
        peer_say_n(&p[i], head, (size_t)n);
        until(t.held);
        held[i] = t.held;
    }
    size_t before = mallinfo2().uordblks; /* 0: a sanitizer has its own malloc */
    for (int i = 0; i < MANY; i++) {
        call_head(held[i], 200, NULL, 0, 0);
        call_end(held[i]);
    }
    assert_true(!before || mallinfo2().uordblks + MANY * LONG <= before);
    for (int i = 0; i < MANY; i++)
        peer_done(&p[i]);
    server_close(t.s);
}

/* ---- more clients than allowed ---- */

static void expect_answer(peer *p)
{
    until(heard(p, "\r\n\r\n"));
    assert_true(heard(p, "HTTP/1.1 200 "));
}

static void who_is_refused_takes_nobodys_place(void **state)
{
    (void)state;
    site t;
    peer bad[3];
    site_start(&t, (server_limits){.body_bytes = 10, .connections = 2});
    peer good = peer_connect(t.port);
    peer_say(&good, HEAD("GET", "/x") "\r\n");
    expect_answer(&good);
    for (size_t i = 0; i < COUNT(bad); i++) {
        bad[i] = peer_connect(t.port);
        peer_say(&bad[i], "nonsense\r\n\r\n");
        until(heard(&bad[i], "HTTP/1.1 400 "));
    }
    peer next = peer_connect(t.port);
    peer_say(&next, HEAD("GET", "/x") "\r\n");
    expect_answer(&next);
    assert_false(heard_end(&good));
    for (size_t i = 0; i < COUNT(bad); i++)
        peer_done(&bad[i]);
    peer_done(&good);
    peer_done(&next);
    server_close(t.s);
}

static void who_took_its_answer_late_is_idle_then(void **state)
{
    (void)state;
    enum { BYTES = 8 << 20 }; /* more than the sockets take */
    site t;
    site_start(&t, (server_limits){.body_bytes = BYTES, .connections = 1});
    char *body = calloc(1, BYTES);
    peer slow = peer_connect(t.port);
    peer_say(&slow, HEAD("POST", "/x") "Content-Length: 8388608\r\n\r\n");
    peer_say_n(&slow, body, BYTES);
    until(t.requests == 1);
    pump_ms(2);
    until((peer_hear(&slow), slow.n > BYTES));
    peer next = peer_connect(t.port);
    peer_say(&next, HEAD("GET", "/y") "\r\n");
    expect_answer(&next);
    until(heard_end(&slow));
    free(body);
    peer_done(&slow);
    peer_done(&next);
    server_close(t.s);
}

static void who_does_not_read_its_last_answer_holds_its_place(void **state)
{
    (void)state;
    enum { BYTES = 8 << 20 };
    site t;
    site_start(&t, (server_limits){.body_bytes = BYTES, .connections = 1});
    char *body = calloc(1, BYTES);
    peer slow = peer_connect(t.port);
    peer_say(&slow, HEAD("POST", "/x") "Connection: close\r\nContent-Length: 8388608\r\n\r\n");
    peer_say_n(&slow, body, BYTES);
    until(t.requests == 1);
    pump_ms(2);
    peer next = peer_connect(t.port);
    until(heard(&next, "HTTP/1.1 503 "));
    until((peer_hear(&slow), slow.n > BYTES));
    until(heard_end(&slow));
    free(body);
    peer_done(&slow);
    peer_done(&next);
    server_close(t.s);
}

/* While one asks, the one that waited for it has an answer, and its next request is here: it does not idle. */
static void whose_next_request_has_come_makes_no_room(void **state)
{
    (void)state;
    site t;
    site_start(&t, (server_limits){.body_bytes = 10, .connections = 2});
    peer one = peer_connect(t.port), two = peer_connect(t.port);
    peer_say(&one, HEAD("GET", "/hold") "\r\n" HEAD("GET", "/next") "\r\n");
    until(t.held && server_connections(t.s) == 2);
    static const char free_it[] = HEAD("GET", "/free") "\r\n";
    assert_int_equal(send(two.fd, free_it, sizeof free_it - 1, MSG_NOSIGNAL), sizeof free_it - 1);
    peer three = peer_connect(t.port); /* the server hears of both in one turn of its loop */
    until(heard(&one, "x-path: /next"));
    expect_answer(&two);
    peer_say(&three, HEAD("GET", "/x") "\r\n");
    expect_answer(&three);
    peer_done(&one);
    peer_done(&two);
    peer_done(&three);
    server_close(t.s);
}

/* ---- who is refused without a body ---- */

static bool wants_none(const call *c, void *user)
{
    (void)c, (void)user;
    return false;
}

static void a_body_that_nobody_wants_is_thrown_away_to_its_end(void **state)
{
    (void)state;
    enum { BYTES = 2 * LINGER_BYTES_MAX, PIECE = 64 << 10, DRIPS_MS = LINGER_MS + 600 };
    static char piece[PIECE];
    char why[256];
    site t = {0};
    server_ops ops = {.request = on_request, .gone = on_gone, .drained = on_drained, .wants_body = wants_none};
    server_limits limits = {.body_bytes = BYTES, .connections = 4};
    t.s = server_listen(loop, "127.0.0.1", 0, &limits, &ops, &t, why);
    assert_non_null(t.s);
    t.port = server_port(t.s);
    static const char head[] = HEAD("POST", "/x") "Content-Length: 16777216\r\n\r\n";
    peer large = peer_connect(t.port), slow = peer_connect(t.port);
    peer_say(&large, head);
    peer_say(&slow, head);
    until(t.requests == 2);
    for (int i = 0; i < BYTES / PIECE - 1; i++)
        peer_say_n(&large, piece, PIECE);
    for (daruma_ms end = sys_moment().now + DRIPS_MS; sys_moment().now < end; pump_ms(20))
        peer_say(&slow, "a");
    peer *both[] = {&large, &slow};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(send(both[i]->fd, "a", 1, MSG_NOSIGNAL), 1); /* it is not cut */
        expect_answer(both[i]);
        until(heard_end(both[i]));
        pump_ms(5);
        peer_hear(both[i]);
        assert_false(both[i]->reset);
        peer_done(both[i]);
    }
    server_close(t.s);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {
        T(a_body_comes_back),
        T(a_large_body_is_read_whole_in_any_pieces),
        T(a_short_body_is_whole_wherever_it_stands),
        T(the_memory_of_a_call_is_whose_who_takes_it),
        T(chunks_are_decoded_in_every_split),
        T(pipelined_requests_are_answered_in_order),
        T(a_head_alone_goes_out_on_the_next_turn),
        T(answers_are_framed_as_the_client_can_read),
        T(permission_to_send_is_given),
        T(a_client_that_leaves_is_noticed_at_once),
        T(a_client_that_only_listens_gets_its_answer),
        T(a_slow_reader_holds_the_handler_back),
        T(a_last_word_behind_an_unread_answer_ends_the_connection),
        T(a_listener_that_leaves_within_an_answer_is_noticed),
        T(an_answer_that_has_ended_reaches_a_slow_reader_whole),
        T(answers_that_waited_go_out_in_parts_and_in_order),
        T(who_has_to_read_an_answer_that_waited_makes_no_room),
        T(a_reader_that_has_stopped_is_let_go),
        T(an_answer_under_way_waits_for_its_reader_but_not_for_ever),
        T(readers_are_waited_for_as_long_as_there_is_room),
        T(answers_that_nobody_reads_hold_the_next_requests_back),
        T(limits_are_told_to_the_client),
        T(a_body_that_never_falls_silent_must_still_come),
        T(an_idle_connection_is_closed_in_the_end),
        T(draining_lets_calls_end),
        T(draining_waits_for_a_request_in_part_and_then_refuses_it),
        T(running_out_of_descriptors_is_survived),
        T(without_descriptors_one_at_work_goes_and_not_one_that_is_closing),
        T(a_thousand_requests_leave_nothing_behind),
        T(long_heads_leave_no_memory_behind),
        T(who_is_refused_takes_nobodys_place),
        T(who_took_its_answer_late_is_idle_then),
        T(who_does_not_read_its_last_answer_holds_its_place),
        T(whose_next_request_has_come_makes_no_room),
        T(a_body_that_nobody_wants_is_thrown_away_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
