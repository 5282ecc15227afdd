/* veil.c - credentials in the words of others. A provider that refuses a call may repeat what it was made with
 * ("Incorrect API key provided: ..."). What a secret looks like is the engine's guess (daruma_redact); what was sent
 * we know, so it is taken out of everything that a provider says before anybody reads it: judge, client or event. */
#include "base/arena.h"
#include "base/buf.h"
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

/* The credentials of the attempt at hand: those in its header fields, and in its query. */
static size_t secrets_of(const exchange *x, daruma_str secrets[SECRETS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < x->nsent_headers; i++) {
        daruma_header h = x->sent_headers[i];
        if (!head_is_credential(h.name) && !gives_away(h.name, ": ", h.value))
            continue;
        size_t space = str_findch(h.value, ' '); /* "Bearer ..." */
        add(secrets, &n, space == STR_NONE ? h.value : str_trim(str_from(h.value, space)));
    }
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

/* Behind `secret` where it stands at t[at], as it is or with bytes escaped as JSON and URLs do; else `at`. */
static size_t stands(daruma_str t, size_t at, daruma_str secret)
{
    size_t to = at;
    for (size_t i = 0; i < secret.n; i++) {
        if (to < t.n && t.p[to] == secret.p[i]) {
            to++;
        } else if (to + 1 < t.n && t.p[to] == '\\' && t.p[to + 1] == secret.p[i]) {
            to += 2;
        } else if (to + 2 < t.n && t.p[to] == '%' && hex_digit(t.p[to + 1]) >= 0 &&
                   (char)(hex_digit(t.p[to + 1]) * 16 + hex_digit(t.p[to + 2])) == secret.p[i]) {
            to += 3;
        } else {
            return at;
        }
    }
    return to;
}

static size_t any_stands(daruma_str t, size_t at, const daruma_str *secrets, size_t n)
{
    size_t most = at;
    for (size_t i = 0; i < n; i++) {
        size_t to = stands(t, at, secrets[i]);
        most = to > most ? to : most;
    }
    return most;
}

daruma_str exchange_veil(exchange *x, daruma_str text)
{
    daruma_str secrets[SECRETS_MAX];
    size_t n = text.n ? secrets_of(x, secrets) : 0, from = 0;
    daruma_buf out = buf_in(x->c->arena);
    for (size_t at = 0; n && at < text.n;) {
        size_t to = any_stands(text, at, secrets, n);
        if (to == at) {
            at++;
            continue;
        }
        buf_put(&out, str_sub(text, from, at - from));
        BUF_LIT(&out, "[redacted]");
        from = at = to;
    }
    if (!from)
        return text;
    buf_put(&out, str_from(text, from));
    return out.full ? (daruma_str){0} : buf_str(&out);
}
