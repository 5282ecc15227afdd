#include "chaos/kept.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <openssl/evp.h>
#include <stdlib.h>
#include <xxhash.h>

/* ---- requests ---- */

/* One request; its texts stand behind it. */
typedef struct kept_request {
    struct kept_request *next;
    uint64_t number;
    int status;
    daruma_str path, model, key, body;
    char text[];
} kept_request;

struct keep {
    kept_request *oldest, *newest;
    size_t n, bytes;
};

keep *keep_new(void)
{
    return calloc(1, sizeof(keep));
}

static size_t bytes_of(const kept_request *r)
{
    return sizeof *r + r->path.n + r->model.n + r->key.n + r->body.n;
}

static void drop_oldest(keep *k)
{
    kept_request *r = k->oldest;
    k->oldest = r->next;
    if (!k->oldest)
        k->newest = NULL;
    k->n--;
    k->bytes -= bytes_of(r);
    free(r);
}

void keep_clear(keep *k)
{
    while (k->oldest)
        drop_oldest(k);
}

void keep_free(keep *k)
{
    if (k)
        keep_clear(k);
    free(k);
}

static daruma_str put_behind(char **at, daruma_str s)
{
    daruma_str copy = {*at, s.n};
    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

void keep_add(keep *k, size_t most, uint64_t number, const ask *q, daruma_str key, daruma_str body, int status)
{
    size_t bytes = q->path.n + q->model.n + key.n + body.n;
    kept_request *r = most && bytes < CHAOS_KEPT_BYTES_MAX ? malloc(sizeof *r + bytes) : NULL;
    if (!r)
        return;
    *r = (kept_request){.number = number, .status = status};
    char *at = r->text;
    r->path = put_behind(&at, q->path);
    r->model = put_behind(&at, q->model);
    r->key = put_behind(&at, key);
    r->body = put_behind(&at, body);
    while (k->n >= most || (k->n && k->bytes + bytes_of(r) > CHAOS_KEPT_BYTES_MAX))
        drop_oldest(k);
    if (k->newest)
        k->newest->next = r;
    else
        k->oldest = r;
    k->newest = r;
    k->n++;
    k->bytes += bytes_of(r);
}

static void put_sha256(daruma_buf *b, daruma_str s)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_Digest(s.p, s.n, sum, &n, EVP_sha256(), NULL))
        for (unsigned i = 0; i < n; i++)
            buf_printf(b, "%02x", sum[i]);
}

void keep_json(const keep *k, daruma_buf *b)
{
    BUF_LIT(b, "{\"requests\":[");
    for (const kept_request *r = k->oldest; r; r = r->next) {
        buf_printf(b, "%s{\"number\":%llu,\"path\":", r == k->oldest ? "" : ",", (unsigned long long)r->number);
        BUF_SAY(b, buf_quoted(r->path), ",\"model\":", buf_quoted(r->model), ",\"key\":", buf_quoted(r->key));
        buf_printf(b, ",\"status\":%d,\"bytes\":%zu,\"sha256\":\"", r->status, r->body.n);
        put_sha256(b, r->body);
        BUF_LIT(b, "\"}");
    }
    BUF_LIT(b, "]}");
}

bool keep_find(const keep *k, uint64_t number, daruma_str *ret)
{
    const kept_request *r = k->oldest;
    while (r && r->number != number)
        r = r->next;
    if (r)
        *ret = r->body;
    return r != NULL;
}

/* ---- answers of Responses ---- */

enum { PLACES = 16 }; /* an answer stands in one of so many places, or has been forgotten */

typedef struct kept_answer {
    uint64_t id, owner; /* hashes */
    int64_t tokens;     /* of the conversation up to it */
    int64_t calls;
} kept_answer;

struct stored {
    kept_answer answers[CHAOS_STORED_MAX];
};

stored *stored_new(void)
{
    return calloc(1, sizeof(stored));
}

void stored_free(stored *s)
{
    free(s);
}

/* Answers and their items are named by the hash of the request: "resp_0123456789abcdef00". 0: that is no such id. */
static uint64_t hash_of(daruma_str id)
{
    uint64_t h = 0;
    size_t at = str_findch(id, '_');
    daruma_str hex = at == STR_NONE ? (daruma_str){0} : str_sub(id, at + 1, 16);
    for (size_t i = 0; i < hex.n; i++) {
        int digit = ch_hex(hex.p[i]);
        if (digit < 0)
            return 0;
        h = h << 4 | (uint64_t)digit;
    }
    return hex.n == 16 ? h : 0;
}

static const kept_answer *kept_find(const stored *s, uint64_t id, uint64_t owner)
{
    for (size_t i = 0; id && i < PLACES; i++) {
        const kept_answer *k = &s->answers[(id + i) % CHAOS_STORED_MAX];
        if (k->id == id && k->owner == owner)
            return k;
    }
    return NULL;
}

void stored_add(stored *s, const ask *q, const speech *said, daruma_str owner)
{
    uint64_t whose = XXH3_64bits(owner.p, owner.n);
    kept_answer *to = &s->answers[q->hash % CHAOS_STORED_MAX];
    for (size_t i = 0; i < PLACES; i++) {
        kept_answer *k = &s->answers[(q->hash + i) % CHAOS_STORED_MAX];
        if (k->id == 0 || (k->id == q->hash && k->owner == whose)) {
            to = k;
            break;
        }
    }
    *to = (kept_answer){q->hash, whose, q->tokens + said->output, (int64_t)said->ncalls};
}

daruma_str stored_find(const stored *s, ask *q, daruma_str owner, bool *item, daruma_arena *a)
{
    uint64_t whose = XXH3_64bits(owner.p, owner.n);
    daruma_str m;
    *item = false;
    if (q->previous.n) {
        const kept_answer *k = kept_find(s, hash_of(q->previous), whose);
        if (!k || !str_starts(q->previous, S("resp_")))
            return q->previous;
        q->tokens = add_sat(q->tokens, k->tokens);
        q->left_calls = k->calls;
    }
    *item = true;
    json_iter it = json_open(q->messages);
    while (json_is_array(q->messages) && json_next(&it, NULL, &m)) {
        daruma_str type = json_text(json_get(m, S("type")), a), id = json_text(json_get(m, S("id")), a);
        if (str_eq(type, S("item_reference")) && !kept_find(s, hash_of(id), whose))
            return id;
    }
    return (daruma_str){0};
}
