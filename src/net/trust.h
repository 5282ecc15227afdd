/* trust.h - a bundle of authorities, read and checked whole, of which only those that a chain ends in are ever
 * unpacked.
 *
 * OpenSSL would unpack all of them at once: 150 authorities are 160 KB as they are signed and 880 KB unpacked,
 * and few processes meet more than three. So what is kept is their bytes, found by the name of their subject. */
#ifndef NET_TRUST_H
#define NET_TRUST_H
#include <openssl/x509_vfy.h>
#include <stdbool.h>

typedef struct trust trust;

/* What `store` trusts. It is asked before whatever the store is given later. NULL without memory. */
trust *trust_new(X509_STORE *store);
void trust_free(trust *t); /* after the store */

/* All in the PEM file is trusted, too. False when it cannot be read, holds nothing, or anything in it is broken:
 * OpenSSL's error says why. */
bool trust_file(trust *t, const char *path);
#endif
