/* address.h - which addresses are somebody's own: of this machine, of a private network, of no network at all. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H
#include "daruma_parts.h"
#include <netinet/in.h>

/* True if the whole internet can have that address: neither loopback, private, link-local (where clouds keep their
 * metadata), shared, multicast nor reserved, nor one of those inside an IPv6 address (RFC 6890). */
bool address_is_public(const struct sockaddr *at);
/* True if a host is written as an address that is somebody's own, in any form that systems read (127.1, 0x7f000001), or
 * as localhost. Nothing is looked up. */
bool host_is_own(daruma_str host);
#endif
