#include "net/proxy.h"
#include "base/str.h"
#include "net/http.h"
#include <arpa/inet.h>
#include <stdio.h>

/* Parses an IP address to bytes; how many, 0 when it is none. */
static size_t address(daruma_str s, unsigned char out[16])
{
    char z[64];
    if (s.n >= sizeof z)
        return 0;
    snprintf(z, sizeof z, STR_FMT, STR_ARG(s));
    return inet_pton(AF_INET, z, out) == 1 ? 4 : inet_pton(AF_INET6, z, out) == 1 ? 16 : 0;
}

static bool same_network(const unsigned char *a, const unsigned char *b, int64_t bits)
{
    int64_t i = 0;
    for (; bits >= 8; bits -= 8, i++)
        if (a[i] != b[i])
            return false;
    return bits == 0 || (a[i] ^ b[i]) >> (8 - bits) == 0;
}

static bool matches(daruma_str entry, daruma_str host, int port)
{
    if (entry.n && entry.p[0] == '[') { /* [v6] or [v6]:port */
        size_t end = str_findch(entry, ']');
        daruma_str tail = end == STR_NONE ? (daruma_str){0} : str_from(entry, end + 1);
        int64_t only;
        if (tail.n && (tail.p[0] != ':' || !str_int(str_from(tail, 1), &only) || only != port))
            return false;
        entry = str_sub(entry, 1, end == STR_NONE ? 0 : end - 1);
    } else {
        daruma_str tail = entry, name = str_cut(&tail, ':');
        int64_t only;
        if (tail.n && str_findch(tail, ':') == STR_NONE && str_int(tail, &only)) {
            if (only != port)
                return false;
            entry = name;
        }
    }
    unsigned char of_host[16], of_entry[16];
    size_t n = address(host, of_host);
    if (n) {
        daruma_str bits = entry, net = str_cut(&bits, '/');
        int64_t wide = (int64_t)n * 8;
        return address(net, of_entry) == n && (bits.n == 0 || (str_int(bits, &wide) && wide <= (int64_t)n * 8)) &&
               same_network(of_host, of_entry, wide);
    }
    if (entry.n && entry.p[0] == '.')
        entry = str_from(entry, 1);
    if (entry.n && entry.p[entry.n - 1] == '.')
        entry.n--;
    if (!entry.n || host.n < entry.n || !str_ieq(str_from(host, host.n - entry.n), entry))
        return false;
    return host.n == entry.n || host.p[host.n - entry.n - 1] == '.';
}

bool proxy_exempts(daruma_str no_proxy, daruma_str host, int port)
{
    if (host.n && host.p[host.n - 1] == '.')
        host.n--;
    for (size_t i = 0, n; i < no_proxy.n; i += n + 1) {
        for (n = 0; i + n < no_proxy.n && no_proxy.p[i + n] != ',' && !ch_space(no_proxy.p[i + n]);)
            n++;
        daruma_str entry = str_sub(no_proxy, i, n);
        if (str_eq(entry, S("*")) || (n && matches(entry, host, port)))
            return true;
    }
    return false;
}

void proxy_put_credentials(daruma_buf *b, const url *proxy)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (!proxy->userinfo.n)
        return;
    BUF_LIT(b, "Proxy-Authorization: Basic ");
    for (size_t at = 0;;) {
        int x = str_unescaped(proxy->userinfo, &at), y = x < 0 ? -1 : str_unescaped(proxy->userinfo, &at);
        int z = y < 0 ? -1 : str_unescaped(proxy->userinfo, &at);
        if (x < 0)
            break;
        uint32_t bits = (uint32_t)x << 16 | (uint32_t)(y < 0 ? 0 : y) << 8 | (uint32_t)(z < 0 ? 0 : z);
        buf_putc(b, digits[bits >> 18]);
        buf_putc(b, digits[bits >> 12 & 63]);
        buf_putc(b, y < 0 ? '=' : digits[bits >> 6 & 63]);
        buf_putc(b, z < 0 ? '=' : digits[bits & 63]);
        if (z < 0)
            break;
    }
    BUF_LIT(b, "\r\n");
}

void proxy_put_connect(daruma_buf *b, const url *proxy, daruma_str host, int port)
{
    bool v6 = str_findch(host, ':') != STR_NONE;
    for (int i = 0; i < 2; i++) {
        buf_putz(b, i ? " HTTP/1.1\r\nHost: " : "CONNECT ");
        buf_putz(b, v6 ? "[" : "");
        buf_put(b, host);
        buf_putz(b, v6 ? "]" : "");
        buf_printf(b, ":%d", port);
    }
    BUF_LIT(b, "\r\n");
    proxy_put_credentials(b, proxy);
    BUF_LIT(b, "\r\n");
}
