/* guard.c - a gateway on the loopback holds keys that any page in a browser on this machine could spend: browsers
 * send simple requests anywhere, and a name of a stranger's may resolve to 127.0.0.1 (DNS rebinding). They do say,
 * though, which page asks (Origin, Fetch standard 3.1), or of a simple GET, which has no Origin, that it is one of
 * another site (Sec-Fetch-Site, https://www.w3.org/TR/fetch-metadata/), and which name was looked up (Host, RFC 9110,
 * section 7.2). */
#include "base/buf.h"
#include "gateway/inside.h"
#include "gateway/see/see.h"

enum { NAME_SHOWN_BYTES = 100 };

/* "localhost:4141" -> "localhost", "[::1]:4141" -> "::1", "localhost." -> "localhost"; empty when it is malformed. */
static daruma_str host_of(daruma_str authority)
{
    bool six = authority.n && authority.p[0] == '[';
    daruma_str port = str_from(authority, six), host = str_cut(&port, six ? ']' : ':');
    if (six && port.n && str_cut(&port, ':').n)
        return (daruma_str){0};
    for (size_t i = 0; i < port.n; i++)
        if (!ch_digit(port.p[i]))
            return (daruma_str){0};
    return host.n && host.p[host.n - 1] == '.' ? str_sub(host, 0, host.n - 1) : host;
}

static bool is_ours(const config *c, daruma_str authority)
{
    daruma_str host = host_of(authority);
    bool ours = host_is_loopback(host);
    for (size_t i = 0; i < c->nhosts && !ours; i++)
        ours = str_ieq(host, c->hosts[i]);
    return ours;
}

/* An origin is "null", or scheme://host[:port]. Pages of programs on this machine have schemes of their own. */
static bool is_foreign(const config *c, daruma_str origin)
{
    if (str_ieq(origin, S("null")))
        return true;
    size_t scheme = str_find(origin, S("://"));
    if (scheme == STR_NONE || !str_istarts(origin, S("http")))
        return false;
    return !is_ours(c, str_from(origin, scheme + 3));
}

/* A page of another site, where it shows no Origin: an image, a script, a form that asks with GET. Somebody who follows
 * a link there to what daruma itself answers reads it as if it had been typed, and the page gets nothing of it. */
static bool is_cross_site(const http_head *h)
{
    if (!str_ieq(http_header(h, S("sec-fetch-site")), S("cross-site")))
        return false;
    bool link = str_ieq(http_header(h, S("sec-fetch-mode")), S("navigate")) &&
                str_ieq(http_header(h, S("sec-fetch-dest")), S("document"));
    return !link || !admin_answers(h->path);
}

static void refuse_host(gateway *g, call *c, daruma_str host)
{
    daruma_buf b = buf_in(c->arena);
    BUF_SAY(&b,
            "daruma listens on this machine alone and answers requests for localhost or a loopback address. This "
            "one is for \"",
            str_sub(host, 0, NAME_SHOWN_BYTES),
            "\". Set the client's base URL to http://localhost with the port of daruma, or allow the name in "
            "daruma's configuration: hosts: [\"",
            str_sub(host_of(host), 0, NAME_SHOWN_BYTES), "\"]");
    call_refuse(g, c, REFUSED_HOST, 403, DARUMA_PERMISSION, -1, buf_str(&b));
}

static bool is_of_a_page(const config *c, const http_head *h)
{
    daruma_str origin = http_header(h, S("origin"));
    return origin.n ? is_foreign(c, origin) : is_cross_site(h);
}

/* Only HTTP/1.0 may name no host, which no browser speaks. */
static bool is_for_another_host(const config *c, const http_head *h)
{
    return h->host.n && !is_ours(c, h->host);
}

/* Whoever opened it to a network has other guards, and other names. */
bool guard_welcomes(const config *c, const http_head *h)
{
    return !c->on_loopback || (!is_of_a_page(c, h) && !is_for_another_host(c, h));
}

bool guard_refuses(gateway *g, call *c)
{
    const config *cfg = &g->now->cfg;
    if (guard_welcomes(cfg, &c->head))
        return false;
    if (is_of_a_page(cfg, &c->head))
        call_refuse(g, c, REFUSED_ORIGIN, 403, DARUMA_PERMISSION, -1,
                    S("daruma listens on this machine alone and does not answer pages of other sites. Programs that "
                      "are no browser send no Origin. To allow the pages of a site, name its host in daruma's "
                      "configuration, under `hosts`."));
    else
        refuse_host(g, c, c->head.host);
    return true;
}

/* ---- WebSockets are not carried. Who asks for one is told so at once, and no provider is asked: it would see a GET
 * without its handshake, and whatever it says to that is taken by the client for the answer to its question. ---- */

/* RFC 6455, section 4.1: GET with `Upgrade: websocket`. Other upgrades may be ignored (RFC 9110, section 7.8). */
static bool asks_for_websocket(const http_head *h)
{
    daruma_str list = http_header(h, S("upgrade"));
    while (str_eq(h->method, S("GET")) && list.n)
        if (str_ieq(str_trim(str_cut(&list, ',')), S("websocket")))
            return true;
    return false;
}

/* 426 is what clients that can do both (Codex) take for "over HTTP, then"; anything else is tried again. */
bool upgrade_refuses(call *c)
{
    if (!asks_for_websocket(&c->head))
        return false;
    daruma_header h[] = {
        {S("content-type"), S("application/json")}, {S("upgrade"), S("HTTP/1.1")}, {S("x-should-retry"), S("false")}};
    daruma_str body = S(
        "{\"error\":{\"message\":\"daruma does not carry WebSocket connections. Send the same request over HTTP, with "
        "a stream of server-sent events for the answer.\",\"type\":\"invalid_request_error\",\"param\":null,"
        "\"code\":\"websocket_not_supported\"}}\n");
    c->user = NULL;
    call_head(c, 426, h, 3, (int64_t)body.n);
    call_write(c, body);
    call_end(c);
    return true;
}
