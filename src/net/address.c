#include "net/address.h"
#include "base/str.h"
#include "net/url.h"
#include <arpa/inet.h>
#include <stdio.h>

/* RFC 6890 and its registry: what no host of the internet has. */
static const struct {
    uint32_t net;
    int bits;
} own_v4[] = {
    {0x00000000, 8},  /* this network */
    {0x0a000000, 8},  /* private */
    {0x64400000, 10}, /* shared by carriers */
    {0x7f000000, 8},  /* loopback */
    {0xa9fe0000, 16}, /* link-local; metadata of clouds */
    {0xac100000, 12}, /* private */
    {0xc0000000, 24}, /* of protocols */
    {0xc0000200, 24}, /* documentation */
    {0xc0a80000, 16}, /* private */
    {0xc6120000, 15}, /* benchmarks */
    {0xc6336400, 24}, /* documentation */
    {0xcb007100, 24}, /* documentation */
    {0xe0000000, 3},  /* multicast, reserved, broadcast */
};

static bool v4_is_public(const unsigned char *p)
{
    uint32_t a = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (size_t i = 0; i < COUNT(own_v4); i++)
        if ((a ^ own_v4[i].net) >> (32 - own_v4[i].bits) == 0)
            return false;
    return true;
}

static bool v6_is_public(const unsigned char *p)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}, translated[12] = {0, 0x64, 0xff, 0x9b};
    if (memcmp(p, mapped, 12) == 0 || memcmp(p, translated, 12) == 0)
        return v4_is_public(p + 12);
    if (p[0] == 0x20 && p[1] == 0x02) /* 6to4 */
        return v4_is_public(p + 2);
    bool documentation = p[0] == 0x20 && p[1] == 0x01 && p[2] == 0x0d && p[3] == 0xb8;
    bool teredo = p[0] == 0x20 && p[1] == 0x01 && p[2] == 0 && p[3] == 0;
    return p[0] >> 5 == 1 && !documentation && !teredo; /* 2000::/3 is all that was given out */
}

bool address_is_public(const struct sockaddr *at)
{
    if (at->sa_family == AF_INET)
        return v4_is_public((const unsigned char *)&((const struct sockaddr_in *)at)->sin_addr);
    return at->sa_family == AF_INET6 && v6_is_public(((const struct sockaddr_in6 *)at)->sin6_addr.s6_addr);
}

bool host_is_own(daruma_str host)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    char z[64];
    if (host.n && host.p[host.n - 1] == '.') /* "localhost." is the same host */
        host.n--;
    daruma_str rest = host, bare = str_cut(&rest, '%');
    if (bare.n < host.n && str_findch(bare, ':') == STR_NONE) /* percent-encoded: a proxy may read it as any host */
        return true;
    host = bare; /* the zone of an IPv6 address (RFC 6874) says by which interface it is reached */
    if (host_is_localhost(host))
        return true;
    snprintf(z, sizeof z, STR_FMT, STR_ARG(str_sub(host, 0, sizeof z - 1)));
    if (inet_aton(z, &four.sin_addr))
        return !address_is_public((struct sockaddr *)&four);
    return inet_pton(AF_INET6, z, &six.sin6_addr) == 1 && !address_is_public((struct sockaddr *)&six);
}
