/* wire.h - one connection to a provider: made in dial.c, kept in wire.c, used in upstream.c.
 *
 *     RESOLVING -> CONNECTING -> TUNNEL (proxy) -> HANDSHAKE (TLS) -> BUSY <-> IDLE (pool)
 *          any of them -> CLOSING -> freed
 */
#ifndef NET_WIRE_H
#define NET_WIRE_H
#include "net/gather.h"
#include "net/timer.h"
#include "net/tls.h"
#include "net/upstream.h"
#include "base/limits.h"

typedef enum wire_state {
    WIRE_RESOLVING,
    WIRE_CONNECTING,
    WIRE_TUNNEL,
    WIRE_HANDSHAKE,
    WIRE_BUSY,
    WIRE_IDLE,
    WIRE_CLOSING
} wire_state;

typedef struct wire wire;
typedef struct origin origin;
typedef struct dial dial;

/* Where connections of one kind lead, and what is known of it. Lives as long as its upstream. */
struct origin {
    origin *next;
    char *host; /* NUL-terminated */
    int port;
    bool tls;
    const url *proxy;                          /* NULL: directly */
    wire *idle;                                /* newest first */
    uint32_t nidle;                            /* of them */
    struct sockaddr_in6 at[DNS_ADDRESSES_MAX]; /* of the host or the proxy; both families fit */
    int nat;
    daruma_ms at_until; /* they are believed until then */
    daruma_ms trip;     /* a round trip to there, as connecting shows it: the quickest, which ages; -1 none yet */
    tls_session *session;
};

struct wire {
    uv_tcp_t tcp;
    loop_timer clock; /* of the fetch, or of the pool */
    upstream *upstream;
    origin *origin;
    fetch *fetch;      /* who uses it; NULL: idle or closing */
    wire *next, *prev; /* all */
    wire *idle_next, *idle_prev;
    dial *dial;     /* while it is being made */
    tls *tls;       /* NULL: plain */
    http_rest rest; /* a head in part */
    http_scan scan;
    daruma_ms since; /* when it began: connecting, to be idle */
    const char *why; /* of `failed` */
    uint8_t failed;  /* daruma_net that is told from the loop, not from where it was seen */
    uint8_t state;   /* wire_state */
    bool writing;    /* the rest of a request is on its way, its body from where it stands */
    bool reading;    /* from the socket */
    bool gathered;   /* its request is in the upstream's `gather` */
};

struct upstream {
    uv_loop_t *loop;
    daruma_arena arena; /* of the settings */
    url http_proxy, https_proxy;
    daruma_str no_proxy, ca_file;
    tls_context *tls; /* NULL until the first is needed */
    origin *origins;
    wire *all;
    loop_timers *timers; /* their clocks; NULL: there was no wire yet */
    gather *gather;      /* small requests; NULL: there was no wire yet, or no memory */
    uint32_t open;       /* wires not freed */
    uint32_t lookups;    /* under way */
    uint32_t nspare_fetches;
    uint32_t nspare_requests;
    fetch *spare_fetches[ROOMS_KEPT];          /* that are over: memory for the next */
    fetch_request *spare_requests[ROOMS_KEPT]; /* likewise, of fetches that are answered */
    bool insecure, public_only, closing;
    char why[256];                                          /* the last sentence */
    daruma_header fields[HTTP_HEADERS_MAX];                 /* of the answer being read */
    char scratch[HTTP_HEAD_BYTES_MAX + HTTP_URL_BYTES_MAX]; /* a request head being written */
    char buffer[16 << 10];                                  /* everybody's, for one read */
    char plain[16 << 10];                                   /* one TLS record read */
    char stage[16 << 10];                                   /* one TLS record to be written */
};

static inline daruma_ms upstream_now(const upstream *u)
{
    return (daruma_ms)uv_now(u->loop);
}

/* ---- wire.c ---- */
origin *origin_of(upstream *u, const url *to);
/* An idle connection, taken from the pool; NULL when there is none. */
wire *wire_take(origin *o);
void wire_keep(wire *w); /* back to the pool */
void wire_close(wire *w);
void wire_arm(wire *w, daruma_ms at); /* fetch_on_clock() or the pool's end not later than that */
void wire_fail_later(wire *w, daruma_net net, const char *why);
void wire_took_trip(wire *w, daruma_ms took); /* a round trip to its peer took so long */
bool wire_read(wire *w, bool on);             /* starts or stops reading */
/* Sends bytes; what the socket does not take at once is copied. */
void wire_write_copy(wire *w, daruma_str bytes);
void wire_flush_tls(wire *w); /* sends what TLS has written */

void wire_ready(wire *w); /* it stands: the fetch may begin */
void wire_broken(wire *w, daruma_net net, const char *why);
void wire_on_clock(loop_timer *clock);
void wire_on_closed(uv_handle_t *h);       /* the socket of a closing wire is closed */
void upstream_free_when_done(upstream *u); /* when it is closed and nothing is under way */

/* ---- dial.c ---- */
/* Begins to make a connection for `f`. NULL without memory. */
wire *wire_dial(upstream *u, origin *o, fetch *f);
void dial_on_tunnel(wire *w, daruma_str in); /* bytes of the proxy's answer to CONNECT */
void dial_on_clock(wire *w, daruma_ms now);  /* an address may have had its share of the time */
bool dial_abandon(wire *w);                  /* the wire is closing; true: its socket is being closed already */

/* ---- upstream.c ---- */
void fetch_on_ready(fetch *f);                         /* the connection stands */
void fetch_on_bytes(fetch *f, daruma_str in);          /* plain bytes of the answer */
void fetch_on_eof(fetch *f, bool clean);               /* no more; `clean`: TLS says so, or there is no TLS */
void fetch_on_room(fetch *f);                          /* what was copied has been written */
void fetch_on_gathered(void *owner, daruma_str bytes); /* the request of that wire, which waited, is to go out */
void fetch_on_broken(fetch *f, daruma_net net, const char *why);
void fetch_on_clock(fetch *f);
void fetch_free(fetch *f);                  /* without a word */
daruma_ms fetch_connect_ms(const fetch *f); /* its connect clock, 0 none */
#endif
