/* tenant.c - whose request it is. What is known of a conversation is kept under a keyed hash of the credential it came
 * with: whoever has another credential gets another number, and the numbers mean nothing outside this process. */
#include "base/buf.h"
#include "gateway/inside.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

/* Made when it is first needed: it wakes a good part of OpenSSL, which plain traffic never does. */
bool tenant_key_made(gateway *g)
{
    if (!g->tenant_keyed)
        g->tenant_keyed = RAND_bytes(g->tenant_key, sizeof g->tenant_key) == 1;
    return g->tenant_keyed;
}

uint64_t exchange_tenant(exchange *x)
{
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    daruma_buf all = buf_in(x->c->arena);
    if (x->tenant)
        return x->tenant;
    head_credentials(&x->c->head, &all);
    x->tenant = x->credential; /* a hash with the secret of this process: second best */
    if (!all.full && tenant_key_made(x->g) &&
        HMAC(EVP_sha256(), x->g->tenant_key, sizeof x->g->tenant_key, (const unsigned char *)all.p, all.n, out, &n))
        memcpy(&x->tenant, out, sizeof x->tenant);
    return x->tenant;
}
