/* guard.c - a gateway on the loopback holds keys that any page in a browser on this machine could spend: browsers
 * send simple requests anywhere, and a name of a stranger's may resolve to 127.0.0.1. They do say, though, which
 * page asks (Origin, Fetch standard 3.1) and which name was looked up (Host). */
#include "gateway/inside.h"

/* "localhost:4141" -> "localhost", "[::1]:4141" -> "::1" */
static daruma_str host_of(daruma_str authority)
{
    if (authority.n && authority.p[0] == '[') {
        daruma_str rest = str_from(authority, 1);
        return str_cut(&rest, ']');
    }
    return str_cut(&authority, ':');
}

/* An origin is "null", or scheme://host[:port]. Pages of programs on this machine have schemes of their own. */
static bool is_foreign(daruma_str origin)
{
    if (str_ieq(origin, S("null")))
        return true;
    size_t scheme = str_find(origin, S("://"));
    if (scheme == STR_NONE || !str_istarts(origin, S("http")))
        return false;
    return !host_is_loopback(host_of(str_from(origin, scheme + 3)));
}

bool guard_refuses(const gateway *g, call *c)
{
    daruma_str origin = http_header(&c->head, S("origin")), host = http_header(&c->head, S("host"));
    bool tells = str_starts(c->head.path, S("/daruma/")) && !str_eq(c->head.path, S("/daruma/health"));
    if (!host_is_loopback(g->now->cfg.listen_host))
        return false; /* whoever opened it to a network has other guards, and other names */
    if (!(origin.n && is_foreign(origin)) && !(tells && !host_is_loopback(host_of(host))))
        return false;
    daruma_header h[] = {{S("content-type"), S("application/json")}};
    daruma_str body =
        S("{\"error\":{\"message\":\"daruma listens on this machine alone and does not answer pages of other "
          "sites. Programs that are no browser send no Origin.\",\"type\":\"permission_error\",\"param\":null,"
          "\"code\":\"foreign_origin\"}}\n");
    c->user = NULL;
    call_head(c, 403, h, 1, (int64_t)body.n);
    call_write(c, body);
    call_end(c);
    return true;
}
