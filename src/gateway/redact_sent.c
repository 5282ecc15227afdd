/* redact_sent.c - removes the credentials that were sent from what a provider says. A provider that refuses a call may
 * repeat its key ("Incorrect API key provided: ..."). daruma_redact() guesses what looks like a secret; what was sent
 * is known, so it is removed before the judge, the client or an event sees the text. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/inside.h"

enum {
    SECRETS_MAX = 64,      /* of a client, each looked for in the whole text; ours all are */
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

/* A text as it reads without the escapes of JSON, URLs and HTML. */
typedef struct reading {
    daruma_str plain;
    const uint32_t *at; /* where each byte of it, and its end, stands in the text; NULL: in the same place */
} reading;

/* What is written with digits: of these, so many at most, in this base. Their number, or -1 when there are none. */
static int number_of(daruma_str digits, size_t most, int base, size_t *used)
{
    int value = 0;
    size_t n = 0;
    for (; n < digits.n && n < most && ch_hex(digits.p[n]) >= 0 && ch_hex(digits.p[n]) < base; n++)
        value = value * base + ch_hex(digits.p[n]);
    *used = n;
    return n ? value : -1;
}

/* "&#107;" and "&#x6b;": 0 when it is neither. */
static size_t read_entity(daruma_str t, int *is)
{
    bool hex = t.n > 2 && (t.p[2] | 0x20) == 'x';
    size_t begin = hex ? 3 : 2, digits;
    if (t.n < 4 || t.p[1] != '#')
        return 0;
    *is = number_of(str_from(t, begin), 6, hex ? 16 : 10, &digits);
    size_t end = begin + digits;
    return *is >= 0 && end < t.n && t.p[end] == ';' ? end + 1 : 0;
}

/* "\u006b", behind as many backslashes as there are texts around it; else what is behind one of them. */
static size_t read_escape(daruma_str t, int *is)
{
    size_t run = 1, digits;
    while (run < t.n && t.p[run] == '\\')
        run++;
    if (run < t.n && t.p[run] == 'u') {
        *is = number_of(str_from(t, run + 1), 4, 16, &digits);
        if (digits == 4)
            return run + 5;
    }
    *is = (unsigned char)t.p[1];
    return 2;
}

/* How many bytes of the text say its next one, and which that is; what is none in ASCII is nothing that a secret has.
 */
static size_t read_one(daruma_str t, int *is)
{
    size_t used = 0;
    if (t.p[0] == '&')
        used = read_entity(t, is);
    else if (t.p[0] == '\\' && t.n > 1)
        used = read_escape(t, is);
    else if (t.p[0] == '%' && t.n > 2) {
        *is = number_of(str_from(t, 1), 2, 16, &used);
        used = used == 2 ? 3 : 0;
    }
    if (!used) {
        *is = (unsigned char)t.p[0];
        used = 1;
    }
    return used;
}

static reading read_plain(daruma_str text, daruma_arena *a)
{
    char *plain = arena_take(a, text.n, 1);
    uint32_t *at = ARENA_NEW(a, uint32_t, text.n + 1);
    size_t n = 0;
    if (!plain || !at)
        return (reading){0};
    for (size_t i = 0; i < text.n; n++) {
        int is;
        at[n] = (uint32_t)i;
        i += read_one(str_from(text, i), &is);
        plain[n] = (char)(is < 256 ? is : 0);
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

/* A text from which credentials are removed, one after the other. */
typedef struct redaction {
    daruma_str text;
    daruma_str read; /* the text that `plain` is of: it is read anew only when something was taken out */
    reading plain;
    size_t theirs; /* credentials of the client so far */
    daruma_arena *arena;
} redaction;

static void hide(redaction *r, daruma_str secret)
{
    if (!is_secret(secret))
        return;
    r->text = without(r->text, (reading){.plain = r->text}, secret, r->arena);
    bool escapes = str_findch(r->text, '\\') != STR_NONE || str_findch(r->text, '%') != STR_NONE ||
                   str_find(r->text, S("&#")) != STR_NONE;
    if (!escapes || r->text.n > CLASSIFY_BODY_BYTES_MAX)
        return;
    if (r->text.p != r->read.p || r->text.n != r->read.n) {
        r->plain = read_plain(r->text, r->arena);
        r->read = r->text;
    }
    r->text = without(r->text, r->plain, secret, r->arena);
}

static void hide_theirs(redaction *r, daruma_str secret)
{
    if (r->theirs++ < SECRETS_MAX)
        hide(r, secret);
}

/* "Bearer ..." */
static daruma_str secret_of(daruma_str value)
{
    size_t space = str_findch(value, ' ');
    return space == STR_NONE ? value : str_trim(str_from(value, space));
}

/* Of a call: its key, and the fields that the provider's configuration adds, whatever they are called (who
 * writes them there is promised that nobody sees them). */
static void hide_own(redaction *r, const exchange *x, const daruma_target *t, daruma_str secret)
{
    hide(r, secret);
    if (!t)
        return;
    const config_provider *p = exchange_provider(x, t);
    for (size_t i = 0; i < p->nheaders; i++)
        hide(r, secret_of(p->headers[i].value));
}

/* All keys that we have: a provider that is a gateway itself may name one that an earlier call was made with. */
static void hide_keys(redaction *r, const setup *s)
{
    for (size_t p = 0; p < s->cfg.nproviders; p++)
        for (size_t k = 0; k < s->cfg.providers[p].nkeys; k++) {
            const key_state *key = &s->keys[p][k];
            hide(r, key->secret ? (daruma_str){key->secret, key->secret_n} : key->key->value);
        }
}

/* Those in fields and query of the client. */
static void hide_clients(redaction *r, const http_head *head)
{
    for (size_t i = 0; i < head->nheaders; i++) {
        daruma_header h = head->headers[i];
        if (head_is_credential(h.name) || gives_away(h.name, ": ", h.value))
            hide_theirs(r, secret_of(h.value));
    }
    daruma_str rest = head->query;
    while (rest.n && r->theirs < SECRETS_MAX) {
        daruma_str value = str_cut(&rest, '&'), name = str_cut(&value, '=');
        if (str_eq(name, S("key")) || gives_away(name, "=", value))
            hide_theirs(r, value);
    }
}

daruma_str exchange_redact(void *user, const daruma_target *t, daruma_str secret, daruma_str text)
{
    exchange *x = user;
    redaction r = {.text = text, .arena = x->c->arena};
    hide_own(&r, x, t, secret);
    if (text.n <= CLASSIFY_BODY_BYTES_MAX) /* what is longer passes through, and nobody judges it */
        hide_keys(&r, x->s);
    hide_clients(&r, &x->c->head);
    return r.text;
}
