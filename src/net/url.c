#include "net/url.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <arpa/inet.h>

static bool no(const char **why, const char *what)
{
    if (why)
        *why = what;
    return false;
}

/* Only bytes that may stand in a path or an authority; a space or line end would change our requests. */
static bool printable(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7f)
            return false;
    return true;
}

static bool read_port(daruma_str text, int *port)
{
    int64_t n;
    if (!str_int(text, &n) || n < 1 || n > 65535)
        return false;
    *port = (int)n;
    return true;
}

bool url_host_port(daruma_str text, daruma_str *ret_host, int *ret_port)
{
    daruma_str port = text;
    if (text.n && text.p[0] == '[') {
        size_t end = str_findch(text, ']');
        if (end == STR_NONE)
            return false;
        *ret_host = str_sub(text, 1, end - 1);
        port = str_from(text, end + 1);
        if (port.n && port.p[0] != ':')
            return false;
        port = str_from(port, 1);
        return ret_host->n && (port.n == 0 || read_port(port, ret_port));
    }
    *ret_host = str_cut(&port, ':');
    return ret_host->n && (ret_host->n == text.n || read_port(port, ret_port));
}

bool url_parse(daruma_str text, daruma_arena *a, url *ret, const char **why)
{
    url u = {0};
    if (!printable(text))
        return no(why, "a URL holds no spaces and no control characters");
    if (str_istarts(text, S("https://")))
        u.tls = true;
    else if (!str_istarts(text, S("http://")))
        return no(why, "a URL begins with http:// or https://");
    daruma_str rest = str_from(text, u.tls ? 8 : 7);
    size_t end = 0;
    while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#')
        end++;
    u.prefix = str_from(rest, end);
    daruma_str authority = str_sub(rest, 0, end);
    if (str_findch(u.prefix, '?') != STR_NONE || str_findch(u.prefix, '#') != STR_NONE)
        return no(why, "a base URL has no query and no fragment");
    while (u.prefix.n && u.prefix.p[u.prefix.n - 1] == '/')
        u.prefix.n--;
    for (size_t i = authority.n; i > 0; i--)
        if (authority.p[i - 1] == '@') {
            u.userinfo = str_sub(authority, 0, i - 1);
            authority = str_from(authority, i);
            break;
        }
    u.port = u.tls ? 443 : 80;
    if (!url_host_port(authority, &u.host, &u.port))
        return no(why, "after http:// comes host or host:port");
    daruma_buf b = buf_in(a);
    bool v6 = str_findch(u.host, ':') != STR_NONE;
    buf_putz(&b, v6 ? "[" : "");
    buf_put(&b, u.host);
    buf_putz(&b, v6 ? "]" : "");
    if (u.port != (u.tls ? 443 : 80))
        buf_printf(&b, ":%d", u.port);
    if (b.full)
        return no(why, "out of memory");
    u.authority = buf_str(&b);
    *ret = u;
    return true;
}

void url_say(const url *u, daruma_buf *out)
{
    BUF_SAY(out, u->tls ? "https://" : "http://", u->authority, u->prefix);
}

daruma_str url_same_origin(const url *to, daruma_str location)
{
    location = str_cut(&location, '#');
    daruma_str rest = location, scheme = to->tls ? S("https:") : S("http:"), host;
    if (!printable(location))
        return (daruma_str){0};
    if (str_istarts(rest, scheme))
        rest = str_from(rest, scheme.n);
    if (str_starts(rest, S("//"))) {
        size_t end = 2;
        int port = to->tls ? 443 : 80;
        while (end < rest.n && rest.p[end] != '/')
            end++;
        if (!url_host_port(str_sub(rest, 2, end - 2), &host, &port) || !str_ieq(host, to->host) || port != to->port)
            return (daruma_str){0};
        rest = str_from(rest, end);
    } else if (rest.p != location.p) {
        return (daruma_str){0};
    }
    return rest.n && rest.p[0] == '/' ? rest : (daruma_str){0};
}

bool host_is_localhost(daruma_str host)
{
    daruma_str below = S(".localhost");
    return str_ieq(host, S("localhost")) || (host.n > below.n && str_ieq(str_from(host, host.n - below.n), below));
}

/* ::1 however it is written, and ::ffff:127.0.0.0/104. */
static bool is_loopback_v6(daruma_str host)
{
    char z[INET6_ADDRSTRLEN];
    struct in6_addr a;
    daruma_buf b = buf_over(z, sizeof z - 1);
    buf_put(&b, host);
    z[b.n] = 0;
    if (b.full || strlen(z) < b.n || inet_pton(AF_INET6, z, &a) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&a) || (IN6_IS_ADDR_V4MAPPED(&a) && a.s6_addr[12] == 127);
}

bool host_is_loopback(daruma_str host)
{
    bool number = str_starts(host, S("127."));
    for (size_t i = 4; number && i < host.n; i++) /* 127.evil.example is none */
        number = ch_digit(host.p[i]) || host.p[i] == '.';
    return number || is_loopback_v6(host) || host_is_localhost(host);
}

bool url_is_version(daruma_str segment)
{
    if (segment.n < 2 || segment.p[0] != 'v' || !ch_digit(segment.p[1]))
        return false;
    for (size_t i = 1; i < segment.n; i++)
        if (!ch_alpha(segment.p[i]) && !ch_digit(segment.p[i]))
            return false;
    return true;
}

/* ---- pages ---- */

/* What may not stand in a request line becomes %XX. */
static void put_target(daruma_buf *b, daruma_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c))
            buf_printf(b, "%%%02X", c);
        else
            buf_putc(b, (char)c);
    }
}

const char *url_read_page(daruma_str text, daruma_arena *a, url_page *ret)
{
    text = str_trim(text);
    daruma_str rest = text;
    text = str_cut(&rest, '#');
    size_t scheme = str_istarts(text, S("https://")) ? 8 : str_istarts(text, S("http://")) ? 7 : 0, end = scheme;
    if (!scheme)
        return "is no URL that begins with http:// or https://";
    while (end < text.n && !strchr("/?", text.p[end]))
        end++;
    const char *why = NULL;
    url_page p = {0};
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < end; i++)
        if ((unsigned char)text.p[i] >= 0x80)
            return "has a host with letters that are not ASCII: write it in its xn-- form";
    if (!url_parse(str_sub(text, 0, end), a, &p.to, &why))
        return why;
    if (p.to.userinfo.n)
        return "holds a user or password, which are not sent";
    if (end == text.n || text.p[end] != '/')
        buf_putc(&b, '/');
    put_target(&b, str_from(text, end));
    p.target = buf_str(&b);
    if (b.full || p.target.n > HTTP_URL_BYTES_MAX / 2)
        return "is too long";
    *ret = p;
    return NULL;
}

/* Takes `.` and `..` out of a path (RFC 3986 5.2.4). */
static void put_path(daruma_buf *b, daruma_str path)
{
    size_t base = b->n;
    bool more = true;
    path = str_from(path, 1);
    while (more) {
        more = str_findch(path, '/') != STR_NONE;
        daruma_str part = str_cut(&path, '/');
        bool up = str_eq(part, S("..")), dot = up || str_eq(part, S("."));
        while (up && b->n > base && b->p[--b->n] != '/') {
        }
        if (!dot || !more)
            buf_putc(b, '/');
        if (!dot)
            buf_put(b, part);
    }
}

daruma_str url_join(const url_page *from, daruma_str location, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    daruma_str query = from->target, path = str_cut(&query, '?');
    size_t colon = str_findch(location, ':'), first = 0;
    while (first < location.n && !strchr("/?#", location.p[first]))
        first++;
    if (colon != STR_NONE && colon < first)
        return location; /* it has a scheme of its own */
    buf_putz(&b, from->to.tls ? "https:" : "http:");
    if (str_starts(location, S("//"))) {
        buf_put(&b, location);
        return buf_str(&b);
    }
    BUF_SAY(&b, "//", from->to.authority);
    size_t end = 0;
    while (end < location.n && !strchr("?#", location.p[end]))
        end++;
    daruma_str way = str_sub(location, 0, end);
    if (!way.n) {
        buf_put(&b, path);
    } else if (way.p[0] == '/') {
        put_path(&b, way);
    } else {
        daruma_buf whole = buf_in(a);
        size_t last = path.n;
        while (last && path.p[last - 1] != '/')
            last--;
        BUF_SAY(&whole, str_sub(path, 0, last), way);
        put_path(&b, buf_str(&whole));
    }
    buf_put(&b, str_from(location, end));
    return buf_str(&b);
}
