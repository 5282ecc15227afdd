/* upgrade.c - WebSockets are not carried. Who asks for one is told so at once, and no provider is asked: it would see a
 * GET without its handshake, and whatever it says to that is taken by the client for the answer to its question. */
#include "gateway/inside.h"

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
