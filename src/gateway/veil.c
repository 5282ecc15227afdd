/* veil.c - credentials in the words of others. A provider that refuses a call may repeat what it was made with
 * ("Incorrect API key provided: ..."). What a secret looks like is the engine's guess (daruma_redact); what was sent
 * we know, so it is taken out of everything that a provider says before anybody reads it: judge, client or event. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/inside.h"

enum {
    SECRETS_MAX = 16,      /* credentials in one request */
    SECRET_BYTES_MIN = 6,  /* what is shorter is a word: "EMPTY", "none" */
    SECRET_BYTES_SURE = 16 /* and what is as long is none, even in letters alone */
};

static bool is_secret(daruma_str s)
{
    bool odd = s.n >= SECRET_BYTES_SURE;
    for (size_t i = 0; i < s.n && !odd; i++)
        odd = s.p[i] < 'a' || s.p[i] > 'z';
    return odd && s.n >= SECRET_BYTES_MIN;
}

/* Does this line hold a secret, as far as its name and form tell? */
static bool gives_away(daruma_str name, const char *between, daruma_str value)
{
    char room[4096];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_buf line = buf_in(&a);
    buf_put(&line, name);
    buf_putz(&line, between);
    buf_put(&line, str_sub(value, 0, 512));
    daruma_str clean = daruma_redact(buf_str(&line), &a);
    return !line.full && !a.full && !str_eq(clean, buf_str(&line));
}

static void add(daruma_str secrets[SECRETS_MAX], size_t *n, daruma_str value)
{
    if (*n < SECRETS_MAX && is_secret(value))
        secrets[(*n)++] = value;
}

static void add_fields(daruma_str secrets[SECRETS_MAX], size_t *n, const daruma_header *h, size_t nh)
{
    for (size_t i = 0; i < nh; i++) {
        if (!head_is_credential(h[i].name) && !gives_away(h[i].name, ": ", h[i].value))
            continue;
        size_t space = str_findch(h[i].value, ' '); /* "Bearer ..." */
        add(secrets, n, space == STR_NONE ? h[i].value : str_trim(str_from(h[i].value, space)));
    }
}

/* The credentials of the attempt at hand: its key, those in the fields that the provider's configuration adds, and in
 * fields and query of the client. */
static size_t secrets_of(const exchange *x, daruma_str secrets[SECRETS_MAX])
{
    size_t n = 0;
    add(secrets, &n, x->secret);
    if (x->kase.target >= 0 && (size_t)x->kase.target < x->kase.ntargets) {
        const config_provider *p = exchange_provider(x, x->kase.target);
        add_fields(secrets, &n, p->headers, p->nheaders);
    }
    add_fields(secrets, &n, x->c->head.headers, x->c->head.nheaders);
    daruma_str rest = x->c->head.query;
    while (rest.n) {
        daruma_str value = str_cut(&rest, '&'), name = str_cut(&value, '=');
        if (str_eq(name, S("key")) || gives_away(name, "=", value))
            add(secrets, &n, value);
    }
    return n;
}

static int hex_digit(char c)
{
    return ch_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A text as it reads without the escapes of JSON and URLs. */
typedef struct reading {
    daruma_str plain;
    const uint32_t *at; /* where each byte of it, and its end, stands in the text; NULL: in the same place */
} reading;

static reading read_plain(daruma_str text, daruma_arena *a)
{
    char *plain = arena_take(a, text.n, 1);
    uint32_t *at = ARENA_NEW(a, uint32_t, text.n + 1);
    size_t n = 0;
    if (!plain || !at)
        return (reading){0};
    for (size_t i = 0, used; i < text.n; i += used) {
        char c = text.p[i];
        bool coded = c == '%' && i + 2 < text.n && hex_digit(text.p[i + 1]) >= 0 && hex_digit(text.p[i + 2]) >= 0;
        bool escaped = c == '\\' && i + 1 < text.n;
        used = coded ? 3 : escaped ? 2 : 1;
        at[n] = (uint32_t)i;
        plain[n++] = coded     ? (char)(hex_digit(text.p[i + 1]) * 16 + hex_digit(text.p[i + 2]))
                     : escaped ? text.p[i + 1]
                               : c;
    }
    at[n] = (uint32_t)text.n;
    return (reading){{plain, n}, at};
}

/* The text without what reads as the secret; the text itself when it is not there. */
static daruma_str without(daruma_str text, reading r, daruma_str secret, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    size_t from = 0, found;
    for (size_t i = 0; (found = str_find(str_from(r.plain, i), secret)) != STR_NONE; i += secret.n) {
        i += found;
        buf_put(&out, str_sub(text, from, (r.at ? r.at[i] : i) - from));
        BUF_LIT(&out, "[redacted]");
        from = r.at ? r.at[i + secret.n] : i + secret.n;
    }
    if (!from)
        return text;
    buf_put(&out, str_from(text, from));
    return out.full ? (daruma_str){0} : buf_str(&out);
}

daruma_str exchange_veil(exchange *x, daruma_str text)
{
    daruma_str secrets[SECRETS_MAX];
    daruma_arena *a = x->c->arena;
    size_t n = text.n ? secrets_of(x, secrets) : 0;
    for (size_t i = 0; i < n; i++) {
        bool escapes = str_findch(text, '\\') != STR_NONE || str_findch(text, '%') != STR_NONE;
        text = without(text, (reading){.plain = text}, secrets[i], a);
        if (escapes && text.n <= CLASSIFY_BODY_BYTES_MAX) /* what is longer passes through, and nobody judges it */
            text = without(text, read_plain(text, a), secrets[i], a);
    }
    return text;
}
