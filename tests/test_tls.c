/* TLS towards providers: whom we believe, and what breaks how. The authorities are made here. */
#include "net_kit.h"
#include "net/trust.h"
#include "base/arena.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

typedef struct identity {
    EVP_PKEY *key;
    X509 *cert;
} identity;

static void extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(e);
    X509_add_ext(cert, e, -1);
    X509_EXTENSION_free(e);
}

/* `by` NULL: an authority, signed by itself. `names` as in openssl.cnf: "DNS:localhost". */
static identity issue(const identity *by, const char *names, long not_after)
{
    static long serial;
    identity me = {EVP_EC_gen("P-256"), X509_new()};
    X509 *issuer = by ? by->cert : me.cert;
    X509_set_version(me.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(me.cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(me.cert), -7200);
    X509_gmtime_adj(X509_getm_notAfter(me.cert), not_after);
    X509_set_pubkey(me.cert, me.key);
    char name[40];
    bool common = names && strncmp(names, "CN:", 3) == 0; /* and no other name */
    if (common)
        snprintf(name, sizeof name, "%s", names + 3);
    else
        snprintf(name, sizeof name, "daruma test %ld", serial);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(me.cert), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
                               0);
    X509_set_issuer_name(me.cert, X509_get_subject_name(issuer));
    if (by && !common)
        extend(me.cert, issuer, NID_subject_alt_name, names);
    else if (!by)
        extend(me.cert, issuer, NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(me.cert, by ? by->key : me.key, EVP_sha256());
    return me;
}

static void forget(identity *i)
{
    EVP_PKEY_free(i->key);
    X509_free(i->cert);
}

static identity authority, stranger;
static char ca_path[] = "/tmp/daruma-test-ca-XXXXXX";

static int make_authorities(void **state)
{
    (void)state;
    authority = issue(NULL, NULL, 3600);
    stranger = issue(NULL, NULL, 3600);
    int fd = mkstemp(ca_path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        return -1;
    PEM_write_X509(f, authority.cert);
    fclose(f);
    return 0;
}

static int drop_authorities(void **state)
{
    (void)state;
    forget(&authority);
    forget(&stranger);
    return unlink(ca_path);
}

/* ---- a provider with TLS, on a peer ---- */

typedef struct host {
    SSL_CTX *ctx;
    SSL *ssl;
    peer p;
    char got[4096];
    size_t n;
} host;

static void host_accept(host *h, SSL_CTX *ctx, int listener)
{
    *h = (host){.ctx = ctx, .p = peer_accept(listener)};
    h->ssl = SSL_new(ctx);
    SSL_set_fd(h->ssl, h->p.fd);
    SSL_set_accept_state(h->ssl);
}

static bool host_ready(host *h)
{
    ERR_clear_error();
    return SSL_is_init_finished(h->ssl) || SSL_do_handshake(h->ssl) == 1;
}

static bool host_heard(host *h, const char *text)
{
    size_t n;
    ERR_clear_error();
    if (SSL_read_ex(h->ssl, h->got + h->n, sizeof h->got - 1 - h->n, &n))
        h->n += n;
    return strstr(h->got, text) != NULL;
}

static void host_done(host *h)
{
    SSL_set_shutdown(h->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(h->ssl);
    peer_done(&h->p);
}

static SSL_CTX *host_context(identity *i)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(ctx, i->cert);
    SSL_CTX_use_PrivateKey(ctx, i->key);
    return ctx;
}

/* ---- fetching ---- */

typedef struct got {
    int status, ends, fails;
    daruma_net net;
    daruma_phase phase;
    char why[256];
    size_t bytes;
} got;

static void got_head(fetch *f, const http_head *h, void *user)
{
    (void)f;
    ((got *)user)->status = h->status;
}

static void got_body(fetch *f, daruma_str bytes, void *user)
{
    (void)f;
    ((got *)user)->bytes += bytes.n;
}

static void got_end(fetch *f, void *user)
{
    (void)f;
    ((got *)user)->ends++;
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

static const fetch_ops got_ops = {.head = got_head, .body = got_body, .end = got_end, .fail = got_fail};

typedef struct net {
    upstream *u;
    daruma_arena a;
    url to;
    int listener, port;
} net;

static void net_start(net *n, const char *name, upstream_settings s)
{
    char why[256], text[128];
    *n = (net){0};
    n->listener = peer_listen(&n->port);
    sys_arena_init(&n->a, 1024, 1 << 20);
    n->u = upstream_new(loop, &s, why);
    assert_non_null(n->u);
    snprintf(text, sizeof text, "https://%s:%d", name, n->port);
    assert_true(url_parse(arena_copy(&n->a, str_of(text)), &n->a, &n->to, NULL));
}

static void net_stop(net *n)
{
    upstream_close(n->u);
    close(n->listener);
    sys_arena_done(&n->a);
}

static fetch *go(net *n, got *g, daruma_str body)
{
    fetch_request r = {.to = &n->to,
                       .method = S("POST"),
                       .target = S("/v1"),
                       .body = {body},
                       .has_body = true,
                       .clocks = {5000, 5000, 5000, 5000}};
    *g = (got){0};
    return fetch_start(n->u, &r, &got_ops, g);
}

static void certificates_are_judged(void **state)
{
    (void)state;
    static const struct {
        const char *host, *names;
        long not_after;
        bool strange, insecure, fine;
        const char *why;
    } rows[] = {
        {"127.0.0.1", "IP:127.0.0.1", 3600, false, false, true, ""},
        {"localhost", "DNS:localhost", 3600, false, false, true, ""},
        {"localhost", "DNS:example.com", 3600, false, false, false, "hostname mismatch"},
        {"localhost", "CN:localhost", 3600, false, false, false, "no subjectAltName"},
        {"127.0.0.1", "CN:127.0.0.1", 3600, false, false, false, "no subjectAltName"},
        {"localhost", "email:a@localhost", 3600, false, false, false, "hostname mismatch"},
        {"127.0.0.1", "DNS:localhost", 3600, false, false, false, "IP address mismatch"},
        {"localhost", "DNS:localhost", -3600, false, false, false, "certificate has expired"},
        {"localhost", "DNS:localhost", 3600, true, false, false, "unable to get local issuer certificate"},
        {"localhost", "DNS:example.com", 3600, true, true, true, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        identity me = issue(rows[i].strange ? &stranger : &authority, rows[i].names, rows[i].not_after);
        SSL_CTX *ctx = host_context(&me);
        net n;
        host h;
        got g;
        net_start(&n, rows[i].host, (upstream_settings){.ca_file = ca_path, .insecure = rows[i].insecure});
        go(&n, &g, S("{}"));
        host_accept(&h, ctx, n.listener);
        until(host_ready(&h) || g.fails);
        if (rows[i].fine) {
            until(host_heard(&h, "\r\n\r\n{}"));
            const char *sni = SSL_get_servername(h.ssl, TLSEXT_NAMETYPE_host_name);
            assert_true(ch_digit(rows[i].host[0]) ? sni == NULL : sni && strcmp(sni, rows[i].host) == 0);
            SSL_write(h.ssl, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 40);
            until(g.ends + g.fails);
            assert_int_equal(g.status, 200);
            assert_int_equal(g.bytes, 2);
        } else {
            until(g.fails);
            assert_int_equal(g.net, DARUMA_NET_CERTIFICATE);
            assert_int_equal(g.phase, DARUMA_AT_CONNECT);
            if (!strcasestr(g.why, rows[i].why))
                fail_msg("%s instead of %s", g.why, rows[i].why);
        }
        host_done(&h);
        net_stop(&n);
        SSL_CTX_free(ctx);
        forget(&me);
    }
}

static void something_else_than_tls_is_no_certificate(void **state)
{
    (void)state;
    net n;
    got g;
    net_start(&n, "127.0.0.1", (upstream_settings){.ca_file = ca_path});
    go(&n, &g, S("{}"));
    peer p = peer_accept(n.listener);
    peer_say(&p, "HTTP/1.1 400 Bad Request\r\n\r\n");
    until(g.fails);
    assert_int_equal(g.net, DARUMA_NET_TLS);
    peer_done(&p);
    go(&n, &g, S("{}"));
    p = peer_accept(n.listener);
    close(p.fd);
    p.fd = -1;
    until(g.fails);
    assert_int_equal(g.phase, DARUMA_AT_CONNECT);
    peer_done(&p);
    net_stop(&n);
}

static void sessions_are_resumed_and_connections_reused(void **state)
{
    (void)state;
    identity me = issue(&authority, "DNS:localhost", 3600);
    SSL_CTX *ctx = host_context(&me);
    net n;
    got g;
    net_start(&n, "localhost", (upstream_settings){.ca_file = ca_path});
    for (int i = 0; i < 3; i++) {
        host h;
        go(&n, &g, S("{}"));
        host_accept(&h, ctx, n.listener);
        for (int again = 0; again < 2; again++) {
            until(host_ready(&h) && host_heard(&h, "{}"));
            h = (host){.ctx = h.ctx, .ssl = h.ssl, .p = h.p};
            SSL_write(h.ssl, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 40);
            until(g.ends);
            if (!again)
                go(&n, &g, S("{}"));
            assert_int_equal(upstream_open(n.u), 1);
        }
        assert_int_equal(SSL_session_reused(h.ssl), i > 0);
        SSL_shutdown(h.ssl); /* an idle connection is closed when its provider says so */
        until(upstream_open(n.u) == 0);
        host_done(&h);
    }
    net_stop(&n);
    SSL_CTX_free(ctx);
    forget(&me);
}

static void an_end_without_a_word_is_a_cut(void **state)
{
    (void)state;
    identity me = issue(&authority, "DNS:localhost", 3600);
    SSL_CTX *ctx = host_context(&me);
    for (int polite = 0; polite < 2; polite++) {
        net n;
        got g;
        host h;
        net_start(&n, "localhost", (upstream_settings){.ca_file = ca_path});
        go(&n, &g, S("{}"));
        host_accept(&h, ctx, n.listener);
        until(host_ready(&h) && host_heard(&h, "{}"));
        SSL_write(h.ssl, "HTTP/1.1 200 OK\r\n\r\nab", 21);
        until(g.bytes == 2);
        if (polite)
            SSL_shutdown(h.ssl);
        else
            shutdown(h.p.fd, SHUT_WR);
        until(g.ends + g.fails);
        assert_int_equal(g.ends, polite);
        assert_int_equal(g.net, polite ? DARUMA_NET_NONE : DARUMA_NET_CUT);
        host_done(&h);
        net_stop(&n);
    }
    SSL_CTX_free(ctx);
    forget(&me);
}

static void large_bodies_go_both_ways(void **state)
{
    (void)state;
    identity me = issue(&authority, "DNS:localhost", 3600);
    SSL_CTX *ctx = host_context(&me);
    size_t big = 3 << 20, sent = 0, received = 0;
    char *body = malloc(big);
    memset(body, 'x', big);
    net n;
    got g;
    host h;
    net_start(&n, "localhost", (upstream_settings){.ca_file = ca_path});
    go(&n, &g, (daruma_str){body, big});
    host_accept(&h, ctx, n.listener);
    until(host_ready(&h) && host_heard(&h, "\r\n\r\n"));
    received = h.n - (size_t)(strstr(h.got, "\r\n\r\n") + 4 - h.got);
    while (received < big) {
        char block[20000];
        size_t k = 0;
        ERR_clear_error();
        if (SSL_read_ex(h.ssl, block, sizeof block, &k))
            received += k;
        pump_once();
        assert_int_equal(g.fails, 0);
    }
    assert_int_equal(received, big);
    SSL_write(h.ssl, "HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n\r\n", 44);
    while (sent < big) {
        size_t k = 0;
        ERR_clear_error();
        SSL_set_mode(h.ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        if (SSL_write_ex(h.ssl, body + sent, big - sent, &k))
            sent += k;
        pump_once();
    }
    until(g.ends);
    assert_int_equal(g.bytes, big);
    free(body);
    host_done(&h);
    net_stop(&n);
    SSL_CTX_free(ctx);
    forget(&me);
}

static void a_tunnel_carries_tls(void **state)
{
    (void)state;
    identity me = issue(&authority, "DNS:provider.example", 3600);
    SSL_CTX *ctx = host_context(&me);
    net n;
    got g;
    host h;
    char proxy[64];
    int port, listener = peer_listen(&port);
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", port);
    net_start(&n, "provider.example", (upstream_settings){.ca_file = ca_path, .https_proxy = str_of(proxy)});
    go(&n, &g, S("{}"));
    host_accept(&h, ctx, listener);
    until(heard(&h.p, "\r\n\r\n"));
    assert_true(heard(&h.p, "CONNECT provider.example:"));
    peer_say(&h.p, "HTTP/1.1 200 Connection established\r\n\r\n");
    until(host_ready(&h) && host_heard(&h, "{}"));
    assert_true(strncmp(h.got, "POST /v1 HTTP/1.1\r\n", 19) == 0);
    SSL_write(h.ssl, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 40);
    until(g.ends);
    host_done(&h);
    close(listener);
    net_stop(&n);
    SSL_CTX_free(ctx);
    forget(&me);
}

static void a_bundle_that_cannot_be_read_is_told_at_once(void **state)
{
    (void)state;
    char why[256] = "";
    upstream_settings s = {.ca_file = "/no/such/bundle.pem"};
    assert_null(upstream_new(loop, &s, why));
    assert_non_null(strstr(why, "/no/such/bundle.pem"));
}

/* ---- bundles ---- */

/* How many of a store's authorities are unpacked. */
static int unpacked(X509_STORE *store)
{
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
}

static int judged(X509_STORE *store, identity *who)
{
    X509_STORE_CTX *c = X509_STORE_CTX_new();
    assert_int_equal(X509_STORE_CTX_init(c, store, who->cert, NULL), 1);
    X509_verify_cert(c);
    int verdict = X509_STORE_CTX_get_error(c);
    X509_STORE_CTX_free(c);
    return verdict;
}

typedef struct believer {
    X509_STORE *store;
    trust *trust;
} believer;

static believer believer_new(void)
{
    X509_STORE *store = X509_STORE_new();
    trust *t = trust_new(store);
    assert_non_null(t);
    return (believer){store, t};
}

static void believer_done(believer *b)
{
    X509_STORE_free(b->store);
    trust_free(b->trust);
}

/* Whether a file with these `n` texts behind each other is trusted. */
static bool trusts(believer *b, int n, const char *const *texts)
{
    char path[] = "/tmp/daruma-test-bundle-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    for (int i = 0; i < n; i++)
        fputs(texts[i], f);
    fclose(f);
    ERR_clear_error();
    bool fine = trust_file(b->trust, path);
    unlink(path);
    return fine;
}

/* malloc; with what it is trusted for if it is said */
static char *pem_of(X509 *x, bool with_trust)
{
    char *at, *text = NULL;
    BIO *b = BIO_new(BIO_s_mem());
    assert_int_equal(with_trust ? PEM_write_bio_X509_AUX(b, x) : PEM_write_bio_X509(b, x), 1);
    long n = BIO_get_mem_data(b, &at);
    text = strndup(at, (size_t)n);
    BIO_free(b);
    return text;
}

static void an_authority_is_unpacked_when_a_chain_ends_in_it(void **state)
{
    (void)state;
    identity other = issue(NULL, NULL, 3600), by_it = issue(&other, "DNS:other", 3600),
             me = issue(&authority, "DNS:localhost", 3600), lost = issue(&stranger, "DNS:localhost", 3600);
    char *one = pem_of(authority.cert, false), *two = pem_of(other.cert, false);
    believer b = believer_new();
    assert_true(trusts(&b, 3, (const char *[]){"words before it\n", one, two}));
    assert_true(trusts(&b, 1, (const char *[]){one})); /* twice is once */
    assert_int_equal(unpacked(b.store), 0);
    assert_int_equal(judged(b.store, &lost), X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
    assert_int_equal(unpacked(b.store), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(judged(b.store, &me), X509_V_OK);
        assert_int_equal(unpacked(b.store), 1);
    }
    assert_int_equal(judged(b.store, &by_it), X509_V_OK);
    assert_int_equal(unpacked(b.store), 2);
    assert_int_equal(judged(b.store, &authority), X509_V_OK); /* itself */
    believer_done(&b);
    free(one);
    free(two);
    forget(&other);
    forget(&by_it);
    forget(&me);
    forget(&lost);
}

/* Names its key, or the one that signed it, and is signed anew. */
static void name_key(identity *who, identity *by, int nid, const char *value)
{
    extend(who->cert, by->cert, nid, value);
    X509_sign(who->cert, by->key, EVP_sha256());
}

/* Two authorities may have one name, say with an old key and a new one: the one that signed is taken, whichever stands
 * first. */
static void of_two_with_one_name_the_one_that_signed_is_found(void **state)
{
    (void)state;
    identity by[2], leaf[2];
    char *text[2];
    for (int i = 0; i < 2; i++) {
        by[i] = issue(NULL, NULL, 3600);
        X509_set_subject_name(by[i].cert, X509_get_subject_name(authority.cert));
        X509_set_issuer_name(by[i].cert, X509_get_subject_name(authority.cert));
        name_key(&by[i], &by[i], NID_subject_key_identifier, "hash");
        text[i] = pem_of(by[i].cert, false);
        leaf[i] = issue(&by[i], "DNS:localhost", 3600);
        name_key(&leaf[i], &by[i], NID_authority_key_identifier, "keyid");
    }
    for (int i = 0; i < 2; i++) {
        believer b = believer_new();
        assert_true(trusts(&b, 2, (const char *[]){text[i], text[!i]}));
        assert_int_equal(judged(b.store, &leaf[0]), X509_V_OK);
        assert_int_equal(judged(b.store, &leaf[1]), X509_V_OK);
        believer_done(&b);
    }
    for (int i = 0; i < 2; i++) {
        free(text[i]);
        forget(&by[i]);
        forget(&leaf[i]);
    }
}

static void what_an_authority_is_not_trusted_for_holds(void **state)
{
    (void)state;
    identity me = issue(&authority, "DNS:localhost", 3600);
    X509 *limited = X509_dup(authority.cert);
    X509_add1_reject_object(limited, OBJ_nid2obj(NID_server_auth));
    char *text = pem_of(limited, true);
    believer b = believer_new();
    X509_STORE_set_trust(b.store, X509_TRUST_SSL_SERVER);
    assert_true(trusts(&b, 1, (const char *[]){text}));
    assert_int_equal(judged(b.store, &me), X509_V_ERR_CERT_REJECTED);
    believer_done(&b);
    X509_free(limited);
    free(text);
    forget(&me);
}

static void a_bundle_with_anything_broken_is_refused(void **state)
{
    (void)state;
    char *whole = pem_of(authority.cert, false), *cut = strdup(whole), *changed = strdup(whole);
    cut[strlen(cut) / 2] = 0;
    char *line = strchr(changed, '\n') + 1;
    memcpy(line, "AAAA", 4); /* no longer a sequence */
    believer b = believer_new();
    assert_true(trusts(&b, 1, (const char *[]){whole}));
    assert_false(trusts(&b, 2, (const char *[]){whole, cut}));
    assert_false(trusts(&b, 2, (const char *[]){whole, changed}));
    assert_false(trusts(&b, 1, (const char *[]){"nothing of that kind\n"}));
    assert_int_equal(ERR_GET_REASON(ERR_peek_last_error()), X509_R_NO_CERTIFICATE_OR_CRL_FOUND);
    assert_false(trust_file(b.trust, "/no/such/bundle.pem"));
    believer_done(&b);
    free(whole);
    free(cut);
    free(changed);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {
        T(certificates_are_judged),
        T(something_else_than_tls_is_no_certificate),
        T(sessions_are_resumed_and_connections_reused),
        T(an_end_without_a_word_is_a_cut),
        T(large_bodies_go_both_ways),
        T(a_tunnel_carries_tls),
        T(a_bundle_that_cannot_be_read_is_told_at_once),
        T(an_authority_is_unpacked_when_a_chain_ends_in_it),
        T(of_two_with_one_name_the_one_that_signed_is_found),
        T(what_an_authority_is_not_trusted_for_holds),
        T(a_bundle_with_anything_broken_is_refused),
    };
    return cmocka_run_group_tests(tests, make_authorities, drop_authorities);
}
