#include "net/trust.h"
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

/* One authority that nobody has asked for yet. */
typedef struct place {
    uint32_t name;      /* X509_NAME_hash_ex() of its subject, which is 32 bits long */
    bool with_trust;    /* of a "TRUSTED CERTIFICATE": what it is trusted for stands behind it */
    long n;             /* its bytes */
    unsigned char *der; /* OpenSSL's; NULL once it is unpacked, in the store */
} place;

struct trust {
    X509_STORE *store;
    X509_LOOKUP_METHOD *method;
    X509_LOOKUP *lookup; /* the store's */
    place *places;       /* malloc */
    size_t n, cap;
};

/* NULL when it is broken. */
static X509 *unpack(const unsigned char *der, long n, bool with_trust)
{
    return with_trust ? d2i_X509_AUX(NULL, &der, n) : d2i_X509(NULL, &der, n);
}

static uint32_t hash_of(const X509_NAME *name)
{
    return (uint32_t)X509_NAME_hash_ex(name, NULL, NULL, NULL);
}

/* ---- finding ---- */

/* Nobody of that name is in the store yet. All of that name have to go there: OpenSSL chooses among them. */
static int by_subject(X509_LOOKUP *l, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *ret)
{
    trust *t = X509_LOOKUP_get_method_data(l);
    if (type != X509_LU_X509)
        return 0;
    uint32_t hash = hash_of(name);
    int found = 0;
    for (size_t i = 0; i < t->n; i++) {
        place *at = &t->places[i];
        if (at->name != hash || !at->der)
            continue;
        X509 *x = unpack(at->der, at->n, at->with_trust);
        if (x && X509_STORE_add_cert(t->store, x)) {
            OPENSSL_free(at->der);
            at->der = NULL;
            if (!found && X509_NAME_cmp(X509_get_subject_name(x), name) == 0 && X509_OBJECT_set1_X509(ret, x)) {
                found = 1;
                X509_free(x); /* who asked takes a reference of his own: X509_LOOKUP_meth_new(3) */
            }
        }
        X509_free(x);
    }
    return found;
}

trust *trust_new(X509_STORE *store)
{
    trust *t = calloc(1, sizeof *t);
    if (t && (t->method = X509_LOOKUP_meth_new("daruma"))) {
        X509_LOOKUP_meth_set_get_by_subject(t->method, by_subject);
        t->store = store;
        t->lookup = X509_STORE_add_lookup(store, t->method);
    }
    if (t && t->lookup && X509_LOOKUP_set_method_data(t->lookup, t))
        return t;
    trust_free(t);
    return NULL;
}

void trust_free(trust *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        OPENSSL_free(t->places[i].der);
    free(t->places);
    X509_LOOKUP_meth_free(t->method);
    free(t);
}

/* ---- reading ---- */

static place *room(trust *t)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 32;
        place *wider = realloc(t->places, cap * sizeof *wider);
        if (!wider)
            return NULL;
        t->places = wider;
        t->cap = cap;
    }
    return &t->places[t->n];
}

/* Keeps the bytes of an authority, and lets go of what was unpacked to see that they are one. */
static bool trust_keep(trust *t, unsigned char *der, long n, bool with_trust)
{
    place *at = room(t);
    X509 *x = at ? unpack(der, n, with_trust) : NULL;
    if (x) {
        *at = (place){.name = hash_of(X509_get_subject_name(x)), .with_trust = with_trust, .n = n, .der = der};
        t->n++;
    }
    X509_free(x);
    return x != NULL;
}

static bool revoke(X509_STORE *store, const unsigned char *der, long n)
{
    X509_CRL *list = d2i_X509_CRL(NULL, &der, n);
    bool fine = list && X509_STORE_add_crl(store, list);
    X509_CRL_free(list);
    return fine;
}

/* What a PEM file of authorities may hold counts; what else stands in it is passed over, as OpenSSL does. */
static bool read_all(trust *t, BIO *in)
{
    size_t n = 0;
    char *name, *header;
    unsigned char *der;
    long nder;
    while (PEM_read_bio(in, &name, &header, &der, &nder)) {
        bool with_trust = strcmp(name, PEM_STRING_X509_TRUSTED) == 0, fine = true, kept = false;
        if (with_trust || strcmp(name, PEM_STRING_X509) == 0 || strcmp(name, PEM_STRING_X509_OLD) == 0) {
            fine = kept = trust_keep(t, der, nder, with_trust);
            n++;
        } else if (strcmp(name, PEM_STRING_X509_CRL) == 0) {
            fine = revoke(t->store, der, nder);
            n++;
        }
        OPENSSL_free(name);
        OPENSSL_free(header);
        if (!kept)
            OPENSSL_free(der);
        if (!fine)
            return false;
    }
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return false;
    ERR_clear_error(); /* that was the end */
    if (n == 0)
        ERR_raise(ERR_LIB_X509, X509_R_NO_CERTIFICATE_OR_CRL_FOUND);
    return n > 0;
}

bool trust_file(trust *t, const char *path)
{
    BIO *in = BIO_new_file(path, "r");
    bool fine = in && read_all(t, in);
    BIO_free(in);
    return fine;
}
