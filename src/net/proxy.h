/* proxy.h - when a proxy stands between us and a provider, and what it is told. As curl reads the
 * variables (everything.curl.dev, "Proxy environment variables"). */
#ifndef NET_PROXY_H
#define NET_PROXY_H
#include "net/url.h"
#include "base/buf.h"

/* Does NO_PROXY name the host? A comma- or space-separated list of hosts; a name also stands for all names
 * below it, with or without a leading dot; an IP address stands for itself, with "/bits" for a network;
 * ":port" limits an entry to that port; "*" is everybody. */
bool proxy_exempts(daruma_str no_proxy, daruma_str host, int port);
/* Appends a Proxy-Authorization field made of the proxy's userinfo; nothing when it has none. */
void proxy_put_credentials(daruma_buf *b, const url *proxy);
/* Appends a whole CONNECT request for host:port. */
void proxy_put_connect(daruma_buf *b, const url *proxy, daruma_str host, int port);
#endif
