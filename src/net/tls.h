/* tls.h - TLS without I/O, on OpenSSL: bytes from the wire go in, bytes for the wire come out, and what
 * they mean can be read and written in between. Names are verified unless said otherwise. */
#ifndef NET_TLS_H
#define NET_TLS_H
#include "daruma_parts.h"

typedef struct tls_context tls_context;    /* trust and settings of all connections */
typedef struct tls tls;                    /* one connection */
typedef struct ssl_session_st tls_session; /* OpenSSL's; lets the next handshake be short */

/* Trusts the system's authorities and those in `ca_file` (NULL: no more). NULL and a sentence in `why`. */
tls_context *tls_context_new(const char *ca_file, char why[256]);
/* For a server that shows the chain in `cert_file`, whose key is in `key_file` (both PEM). Names http/1.1 where a
 * client asks for protocols (ALPN). NULL and a sentence in `why`. */
tls_context *tls_server_context_new(const char *cert_file, const char *key_file, char why[256]);
void tls_context_free(tls_context *c); /* it goes when its last connection has gone, too */

/* A client's connection to `host`. `*session` (may point to NULL) is used and kept up to date while the
 * connection lives. NULL without memory. */
tls *tls_new(tls_context *c, const char *host, bool verify, tls_session **session);
tls *tls_accept(tls_context *c); /* a connection that a client began, of a server's context. NULL without memory */
void tls_free(tls *t);
void tls_session_free(tls_session *s);

/* Bytes from the wire; borrowed until they are used up by the calls below. */
void tls_put(tls *t, daruma_str cipher);
/* Bytes for the wire; valid until the next call on any connection of the context. Take them after each
 * of the calls below. */
daruma_str tls_take(tls *t);

typedef enum tls_step {
    TLS_DONE,   /* it did what was asked */
    TLS_MORE,   /* bytes from the wire are needed */
    TLS_CLOSED, /* the other side said that nothing more comes */
    TLS_BAD,    /* broken: see tls_why() */
} tls_step;

tls_step tls_handshake(tls *t);
/* Reads into out[0..cap); *n bytes when TLS_DONE. */
tls_step tls_read(tls *t, char *out, size_t cap, size_t *n);
/* Writes all of `plain`. */
tls_step tls_write(tls *t, daruma_str plain);
void tls_end(tls *t);           /* says that nothing more comes (close_notify): what is broken off says nothing */
bool tls_pending(const tls *t); /* bytes put in have not been read yet */
/* What broke: DARUMA_NET_CERTIFICATE or DARUMA_NET_TLS, and a sentence in `why`. */
daruma_net tls_why(const tls *t, char why[256]);
#endif
