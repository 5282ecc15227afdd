/* upstream.h - calls providers: pools connections, speaks TLS, goes through proxies, keeps clocks.
 *
 *   fetch_start -> ops.head -> ops.body* -> ops.end      all went well
 *                  ... any time ... -> ops.fail          exactly one of end and fail; never both
 *   fetch_cancel                                         neither; the fetch is dead at once
 *
 * A request that fails on a reused connection before any answer byte, about a round trip behind its sending, is sent
 * once more on a fresh one: the provider had closed it before it saw us. ops.again tells. Whatever fails later is a
 * failure: the provider may be at work. A provider that answers 307 or 308 is asked where it says, once, if that is
 * the same scheme, host and port; any other redirect is its answer. */
#ifndef NET_UPSTREAM_H
#define NET_UPSTREAM_H
#include "net/http.h"
#include "net/url.h"
#include <uv.h>

typedef struct upstream upstream; /* pools, TLS context, DNS, proxy settings of one loop */
typedef struct fetch fetch;       /* one attempt */

typedef struct upstream_settings {
    daruma_str https_proxy, http_proxy, no_proxy; /* empty: none. As curl reads them */
    const char *ca_file;                          /* extra CA bundle for tests and companies; NULL: the system's */
    bool public_only; /* connects to no address but public ones (address.h); a proxy's own may be any */
    bool insecure;    /* never verify names; refused unless the host is loopback */
} upstream_settings;

/* The sentence of a failure because of `public_only`. */
#define UPSTREAM_NOT_PUBLIC "the address is not a public one"

/* Settings are copied. NULL and a sentence in `why` when TLS cannot be set up. */
upstream *upstream_new(uv_loop_t *loop, const upstream_settings *s, char why[256]);
void upstream_close(upstream *u); /* cancels what is under way, frees it once the loop has run */
bool upstream_public_only(const upstream *u);
uint32_t upstream_open(const upstream *u); /* connections open now, idle ones included */

typedef struct fetch_clocks { /* milliseconds, 0 none */
    daruma_ms connect;        /* DNS, TCP, proxy and TLS together */
    daruma_ms first_byte;     /* from the request being sent to the first answer byte */
    daruma_ms idle;           /* silence between answer bytes, after the first */
    daruma_ms total;          /* from fetch_start to the end */
} fetch_clocks;

typedef struct fetch_ops {
    void (*head)(fetch *f, const http_head *h, void *user); /* valid during the call; 1xx are swallowed */
    void (*body)(fetch *f, daruma_str bytes, void *user);   /* decoded from chunks; valid during the call */
    void (*again)(fetch *f, daruma_net net, void *user);    /* it is sent once more, only that; NULL: nobody counts */
    void (*end)(fetch *f, void *user);                      /* complete; the fetch is dead after this returns */
    void (*fail)(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user); /* dead after this */
} fetch_ops;

/* What to send. Everything borrowed must live until end, fail or cancel. */
typedef struct fetch_request {
    const url *to;
    daruma_str method;            /* "POST" */
    daruma_str target;            /* origin-form: prefix + path + query */
    const daruma_header *headers; /* Host, Content-Length and Connection are ours: leave them out. Borrowed only until
                                     ops.head */
    size_t nheaders;
    daruma_str body[4]; /* pieces, sent one after the other; empty ones skipped */
    bool has_body;      /* false: no Content-Length is sent */
    bool fresh;         /* do not reuse a pooled connection */
    bool stays;         /* a redirect is an answer; else one within the origin is followed */
    fetch_clocks clocks;
} fetch_request;

/* Never fails at once: a failure comes through ops.fail from the loop. NULL only without memory. `ops` is borrowed and
 * outlives the fetch. */
fetch *fetch_start(upstream *u, const fetch_request *r, const fetch_ops *ops, void *user);
void fetch_pause(fetch *f); /* back-pressure: read nothing until fetch_resume(); the idle clock stands still */
void fetch_resume(fetch *f);
/* From here on somebody else hears of it. Not from within a callback that goes on with `f`. */
void fetch_hand_over(fetch *f, const fetch_ops *ops, void *user);
void fetch_total(fetch *f, daruma_ms total); /* its total clock from here on, since fetch_start(); 0 none */
void fetch_cancel(fetch *f);                 /* closes its connection; no callback any more */
bool fetch_is_sent(const fetch *f);          /* the whole request went out: what it borrowed is not read any more */
void *fetch_user(const fetch *f);            /* who hears of it */
#endif
