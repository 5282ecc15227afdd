#include "net/tls.h"
#include "net/trust.h"
#include "base/str.h"
#include "sys/sys.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

struct tls_context {
    SSL_CTX *ssl;
    uint32_t refs;    /* its owner and its connections */
    trust *trust;     /* in whom; NULL: a server's, which trusts nobody */
    BIO_METHOD *wire; /* reads what tls_put() gave, writes to `out` */
    char *out;        /* bytes for the wire, of the connection that wrote last; malloc */
    size_t nout, out_cap;
    daruma_net net; /* of the last failure */
    char why[200];
};

struct tls {
    tls_context *context;
    SSL *ssl;
    daruma_str in;         /* bytes from the wire, not yet used */
    tls_session **session; /* where the newest ticket is kept */
    bool nameless;         /* the peer's certificate, refused for its name, has none under subjectAltName */
};

/* ---- the wire as OpenSSL sees it ---- */

/* Not its memory BIO: that keeps two growing buffers for each connection, and we have the bytes at hand
 * in one place for all. */
static int wire_read_ex(BIO *b, char *to, size_t cap, size_t *n)
{
    tls *t = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    if (!t->in.n) {
        BIO_set_retry_read(b);
        return 0;
    }
    *n = cap < t->in.n ? cap : t->in.n;
    memcpy(to, t->in.p, *n);
    t->in = str_from(t->in, *n);
    return 1;
}

static int wire_write_ex(BIO *b, const char *from, size_t n, size_t *done)
{
    tls_context *c = ((tls *)BIO_get_data(b))->context;
    BIO_clear_retry_flags(b);
    if (c->out_cap - c->nout < n) {
        size_t cap = c->out_cap ? c->out_cap : 4096;
        while (cap - c->nout < n)
            cap *= 2;
        char *wider = realloc(c->out, cap);
        if (!wider)
            return 0;
        c->out = wider;
        c->out_cap = cap;
    }
    memcpy(c->out + c->nout, from, n);
    c->nout += n;
    *done = n;
    return 1;
}

static long wire_ctrl(BIO *b, int cmd, long num, void *ptr)
{
    (void)b, (void)num, (void)ptr;
    return cmd == BIO_CTRL_FLUSH;
}

/* ---- trust ---- */

/* Is it a folder of certificates named by hash (openssl-rehash)? Then each authority is read when a chain
 * ends in it, instead of all 140 at once. */
static bool hashed(const char *folder)
{
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = strlen(e->d_name) == 10 && strspn(e->d_name, "0123456789abcdef") == 8 && e->d_name[8] == '.';
    if (d)
        closedir(d);
    return found;
}

static bool trust_system(tls_context *c)
{
    daruma_str file = sys_env(X509_get_default_cert_file_env()), folder = sys_env(X509_get_default_cert_dir_env());
    if (file.n)
        return trust_file(c->trust, file.p);
    const char *at = folder.n ? folder.p : X509_get_default_cert_dir();
    if (hashed(at))
        return SSL_CTX_load_verify_dir(c->ssl, at) == 1;
    /* Where Debian, Fedora and others keep all in one. */
    const char *files[] = {X509_get_default_cert_file(), "/etc/ssl/certs/ca-certificates.crt",
                           "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};
    for (size_t i = 0; i < COUNT(files); i++)
        if (trust_file(c->trust, files[i]))
            return true;
    return false;
}

static const char *reason(unsigned long error)
{
    const char *text = ERR_reason_error_string(error);
    return text ? text : "unknown reason";
}

/* ---- the context ---- */

/* A ticket came: the next connection to the same place begins with it. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    tls *t = SSL_get_app_data(ssl);
    SSL_SESSION_free(*t->session);
    *t->session = session;
    return 1; /* it is ours now */
}

/* What both sides have. NULL and `why` without memory. */
static tls_context *context_new(const SSL_METHOD *side, char why[256])
{
    tls_context *c = calloc(1, sizeof *c);
    if (c) {
        c->refs = 1;
        c->ssl = SSL_CTX_new(side);
        c->wire = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "daruma");
    }
    if (!c || !c->ssl || !c->wire) {
        snprintf(why, 256, "out of memory");
        tls_context_free(c);
        return NULL;
    }
    BIO_meth_set_read_ex(c->wire, wire_read_ex);
    BIO_meth_set_write_ex(c->wire, wire_write_ex);
    BIO_meth_set_ctrl(c->wire, wire_ctrl);
    SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION);
    SSL_CTX_set_mode(c->ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(c->ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    ERR_clear_error();
    return c;
}

tls_context *tls_context_new(const char *ca_file, char why[256])
{
    tls_context *c = context_new(TLS_client_method(), why);
    if (!c)
        return NULL;
    if (!(c->trust = trust_new(SSL_CTX_get_cert_store(c->ssl)))) {
        snprintf(why, 256, "out of memory");
        tls_context_free(c);
        return NULL;
    }
    SSL_CTX_set_session_cache_mode(c->ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(c->ssl, on_session);
    SSL_CTX_set_alpn_protos(c->ssl, (const unsigned char *)"\x08http/1.1", 9);
    bool system = trust_system(c);
    if (ca_file ? !trust_file(c->trust, ca_file) : !system) {
        snprintf(why, 256, "%.150s: no certificates: %s", ca_file ? ca_file : "the system",
                 reason(ERR_peek_last_error()));
        tls_context_free(c);
        return NULL;
    }
    return c;
}

/* Of the protocols that a client offers (RFC 7301) the one that is spoken here; who offers others alone gets none. */
static int on_protocols(SSL *ssl, const unsigned char **out, unsigned char *nout, const unsigned char *offered,
                        unsigned n, void *user)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl, (void)user;
    bool met = SSL_select_next_proto((unsigned char **)(uintptr_t)out, nout, ours, sizeof ours - 1, offered, n) ==
               OPENSSL_NPN_NEGOTIATED;
    return met ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/* A key with a password is refused: nobody is there to type it. */
static int no_password(char *out, int cap, int writes, void *user)
{
    (void)out, (void)cap, (void)writes, (void)user;
    return -1;
}

/* Says why a pair is not taken, from the first thing that OpenSSL complained of: later ones only say "system lib". */
static void say_unfit(bool certificate, const char *cert_file, const char *key_file, char why[256])
{
    unsigned long first = ERR_peek_error();
    const char *file = certificate ? key_file : cert_file;
    if (ERR_SYSTEM_ERROR(first))
        snprintf(why, 256, "%.150s: %s", file, strerror(ERR_GET_REASON(first)));
    else if (!certificate && (ERR_GET_LIB(first) != ERR_LIB_PEM || ERR_GET_REASON(first) != PEM_R_NO_START_LINE))
        snprintf(why, 256, "%.150s: its certificates are not taken: %s", file, reason(first));
    else if (!certificate)
        snprintf(why, 256, "%.150s: there is no certificate in it, in PEM form", file);
    else if (ERR_GET_LIB(first) == ERR_LIB_X509 || ERR_GET_LIB(first) == ERR_LIB_SSL)
        snprintf(why, 256, "%.150s: it is not the key of %.60s", file, cert_file);
    else
        snprintf(why, 256, "%.150s: there is no key in it, in PEM form and without a password", file);
}

tls_context *tls_server_context_new(const char *cert_file, const char *key_file, char why[256])
{
    tls_context *c = context_new(TLS_server_method(), why);
    if (!c)
        return NULL;
    SSL_CTX_set_session_cache_mode(c->ssl, SSL_SESS_CACHE_OFF); /* clients keep their tickets */
    SSL_CTX_set_alpn_select_cb(c->ssl, on_protocols, NULL);
    SSL_CTX_set_default_passwd_cb(c->ssl, no_password);
    bool certificate = SSL_CTX_use_certificate_chain_file(c->ssl, cert_file) == 1;
    if (certificate && SSL_CTX_use_PrivateKey_file(c->ssl, key_file, SSL_FILETYPE_PEM) == 1 &&
        SSL_CTX_check_private_key(c->ssl) == 1)
        return c;
    say_unfit(certificate, cert_file, key_file, why);
    tls_context_free(c);
    return NULL;
}

void tls_context_free(tls_context *c)
{
    if (!c || --c->refs)
        return;
    SSL_CTX_free(c->ssl);
    trust_free(c->trust);
    BIO_meth_free(c->wire);
    free(c->out);
    free(c);
}

/* ---- connections ---- */

static bool set_name(SSL *ssl, const char *host)
{
    unsigned char ip[16];
    if (inet_pton(AF_INET, host, ip) == 1 || inet_pton(AF_INET6, host, ip) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1; /* no SNI: RFC 6066 3 */
    /* A common name is no name of a host (RFC 9525, section 2). */
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    void *name = (void *)(uintptr_t)host; /* OpenSSL only reads it */
    return SSL_set1_host(ssl, host) == 1 &&
           SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name) == 1;
}

/* Of a certificate that is refused for its name: has it any, but the common name that nobody looks at any more? */
static int on_verdict(int fine, X509_STORE_CTX *store)
{
    int error = X509_STORE_CTX_get_error(store);
    X509 *cert = X509_STORE_CTX_get0_cert(store);
    tls *t = SSL_get_app_data(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH)
        t->nameless = X509_get_ext_by_NID(cert, NID_subject_alt_name, -1) < 0;
    return fine;
}

static tls *connection_new(tls_context *c)
{
    tls *t = calloc(1, sizeof *t);
    BIO *wire = t ? BIO_new(c->wire) : NULL;
    if (wire)
        t->ssl = SSL_new(c->ssl);
    if (!wire || !t->ssl) {
        BIO_free(wire);
        free(t);
        return NULL;
    }
    c->refs++;
    t->context = c;
    BIO_set_data(wire, t);
    BIO_set_init(wire, 1);
    SSL_set_bio(t->ssl, wire, wire);
    SSL_set_app_data(t->ssl, t);
    return t;
}

tls *tls_accept(tls_context *c)
{
    tls *t = connection_new(c);
    if (t)
        SSL_set_accept_state(t->ssl);
    return t;
}

tls *tls_new(tls_context *c, const char *host, bool verify, tls_session **session)
{
    tls *t = connection_new(c);
    if (!t || !set_name(t->ssl, host)) {
        tls_free(t);
        return NULL;
    }
    t->session = session;
    SSL_set_verify(t->ssl, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, verify ? on_verdict : NULL);
    if (*session)
        SSL_set_session(t->ssl, *session);
    SSL_set_connect_state(t->ssl);
    return t;
}

void tls_free(tls *t)
{
    if (!t)
        return;
    /* Else OpenSSL takes the session for a bad one and it could not be used again. */
    SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(t->ssl);
    tls_context_free(t->context);
    free(t);
}

void tls_session_free(tls_session *s)
{
    SSL_SESSION_free(s);
}

void tls_put(tls *t, daruma_str cipher)
{
    t->in = cipher;
}

daruma_str tls_take(tls *t)
{
    daruma_str out = {t->context->out, t->context->nout};
    t->context->nout = 0;
    return out;
}

static const char *verdict_words(const tls *t, long verdict)
{
    bool name = verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH;
    return name && t->nameless ? "the certificate has no subjectAltName, and its common name is not looked at"
                               : X509_verify_cert_error_string(verdict);
}

static tls_step step_of(tls *t, int result)
{
    tls_context *c = t->context;
    if (result == 1)
        return TLS_DONE;
    int e = SSL_get_error(t->ssl, result);
    if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE)
        return TLS_MORE;
    if (e == SSL_ERROR_ZERO_RETURN && SSL_is_init_finished(t->ssl))
        return TLS_CLOSED;
    long verdict = SSL_get_verify_result(t->ssl);
    bool certificate = verdict != X509_V_OK && SSL_get_verify_mode(t->ssl) != SSL_VERIFY_NONE;
    c->net = certificate ? DARUMA_NET_CERTIFICATE : DARUMA_NET_TLS;
    snprintf(c->why, sizeof c->why, "%s", certificate ? verdict_words(t, verdict) : reason(ERR_peek_last_error()));
    return TLS_BAD;
}

tls_step tls_handshake(tls *t)
{
    ERR_clear_error();
    return step_of(t, SSL_do_handshake(t->ssl));
}

tls_step tls_read(tls *t, char *out, size_t cap, size_t *n)
{
    ERR_clear_error();
    return step_of(t, SSL_read_ex(t->ssl, out, cap, n));
}

tls_step tls_write(tls *t, daruma_str plain)
{
    size_t n;
    ERR_clear_error();
    return step_of(t, SSL_write_ex(t->ssl, plain.p, plain.n, &n));
}

void tls_end(tls *t)
{
    ERR_clear_error();
    SSL_shutdown(t->ssl);
}

bool tls_pending(const tls *t)
{
    return t->in.n > 0 || SSL_has_pending(t->ssl);
}

daruma_net tls_why(const tls *t, char why[256])
{
    snprintf(why, 256, "%s", t->context->why);
    return t->context->net;
}
