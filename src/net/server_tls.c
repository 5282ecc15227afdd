/* server_tls.c - TLS between a client's socket and the rest of the server: wire bytes become the client's, and what is
 * written becomes wire bytes. Nothing else of the server knows whether it is spoken. */
#include "net/server_inside.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdlib.h>

bool conn_secure(conn *c)
{
    server *s = c->server;
    if (!s->tls)
        return true;
    if (!s->plain)
        s->plain = malloc(SERVER_PLAIN_BYTES);
    c->tls = s->plain ? tls_accept(s->tls) : NULL;
    return c->tls != NULL;
}

/* What TLS has for the wire goes there. */
static void send_out(conn *c)
{
    uv_buf_t out = buf_of(tls_take(c->tls));
    if (out.len)
        conn_write_wire(c, &out, 1);
}

void conn_secure_write(conn *c, uv_buf_t *bufs, unsigned n)
{
    for (unsigned i = 0; i < n && !c->broken; i++) {
        daruma_str plain = {bufs[i].base, bufs[i].len};
        while (plain.n && !c->broken) { /* in pieces, so that no answer of many MB stands twice in memory */
            daruma_str piece = str_sub(plain, 0, SERVER_PLAIN_BYTES);
            if (tls_write(c->tls, piece) != TLS_DONE) {
                c->broken = true;
                conn_later(c);
                return;
            }
            send_out(c);
            plain = str_from(plain, piece.n);
        }
    }
}

void conn_secure_end(conn *c)
{
    if (!c->tls || c->broken)
        return;
    tls_end(c->tls);
    send_out(c);
}

/* A client that speaks HTTP without TLS is told so, in the words that it understands. */
static bool refuse_plain(conn *c, daruma_str wire)
{
    static const char hello = 0x16; /* RFC 8446, section 5.1: a record of the handshake */
    if (c->greeted)
        return false;
    c->greeted = true;
    if (wire.p[0] == hello)
        return false;
    tls_free(c->tls);
    c->tls = NULL;
    conn_refuse(c, &(http_fault){400, "this port speaks TLS: begin the client's base URL with https://"});
    return true;
}

/* The next bytes of the client: those of a body to where they belong. False: there are none, or it is over. */
static bool read_some(conn *c)
{
    daruma_str room = conn_body_room(c);
    size_t n = 0;
    char *to = room.n ? (char *)(uintptr_t)room.p : c->server->plain;
    tls_step step = tls_read(c->tls, to, room.n ? room.n : SERVER_PLAIN_BYTES, &n);
    send_out(c); /* it may have had to answer */
    if (step == TLS_MORE)
        return false;
    if (step != TLS_DONE) { /* said good-bye, or broken: the client has gone */
        c->broken = true;
        conn_later(c);
        return false;
    }
    if (room.n)
        conn_body_came(c, n);
    else
        conn_take(c, (daruma_str){c->server->plain, n});
    return c->state != CLOSING && !c->broken;
}

void conn_secure_read(conn *c, daruma_str wire)
{
    if (refuse_plain(c, wire))
        return;
    if (c->waits == FOR_REQUEST)
        conn_wait_for(c, FOR_HEAD); /* a handshake takes no longer than a head may */
    tls_put(c->tls, wire);
    tls_step step = tls_handshake(c->tls);
    send_out(c);
    if (step == TLS_BAD || step == TLS_CLOSED) {
        conn_close(c);
        return;
    }
    while (step == TLS_DONE && read_some(c))
        ;
}
