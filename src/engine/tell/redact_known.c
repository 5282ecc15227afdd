/* redact_known.c - removes credentials that are known, in whatever form a text repeats them.
 *
 * In base64 a secret looks in one of three ways, by how many bytes stand before it; its first and last sign may hold
 * bits of its neighbours, too:
 *
 *     u:secret    dTpzZWNyZXQ=    "zZWNyZX" are bits of the secret alone, "p" and "Q" beside them are taken out as well
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/tell/redact.h"

enum { SECRET_BYTES_SURE = 16 }; /* what is as long is no word, even in letters alone */

static bool is_secret(daruma_str s)
{
    bool odd = s.n >= SECRET_BYTES_SURE;
    for (size_t i = 0; i < s.n && !odd; i++)
        odd = s.p[i] < 'a' || s.p[i] > 'z';
    return odd && s.n >= REDACT_BYTES_MIN;
}

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

/* "\u006b", behind as many backslashes as there are texts around it; else what is behind one of them. `run`: so many
 * stand here. */
static size_t read_escape(daruma_str t, size_t run, int *is)
{
    size_t digits;
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
static size_t read_one(daruma_str t, size_t run, int *is)
{
    size_t used = 0;
    if (t.p[0] == '&')
        used = read_entity(t, is);
    else if (t.p[0] == '\\' && t.n > 1)
        used = read_escape(t, run, is);
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

static redact_reading read_plain(daruma_str text, daruma_arena *a)
{
    char *plain = arena_take(a, text.n, 1);
    uint32_t *at = ARENA_NEW(a, uint32_t, text.n + 1);
    size_t n = 0;
    if (!plain || !at)
        return (redact_reading){0};
    size_t run_to = 0; /* where the backslashes at hand end: each is passed over once */
    for (size_t i = 0; i < text.n; n++) {
        int is;
        at[n] = (uint32_t)i;
        if (run_to < i)
            run_to = i;
        while (run_to < text.n && text.p[run_to] == '\\')
            run_to++;
        i += read_one(str_from(text, i), run_to - i, &is);
        plain[n] = (char)(is < 256 ? is : 0);
    }
    at[n] = (uint32_t)text.n;
    return (redact_reading){{plain, n}, at};
}

/* How many bytes of the text stand for one sign of base64 or a digit, *is, or for none (*is = 0): white space and
 * escapes of it. */
static size_t read_sign(daruma_str t, int *is)
{
    size_t run = 0, used;
    *is = 0;
    if (ch_space(t.p[0]))
        return 1;
    if (t.p[0] == '%' || t.p[0] == '&')
        return read_one(t, 0, is);
    if (t.p[0] != '\\') {
        *is = (unsigned char)t.p[0];
        return 1;
    }
    while (run < t.n && t.p[run] == '\\')
        run++;
    if (run == t.n)
        return run;
    if (t.p[run] == 'n' || t.p[run] == 'r' || t.p[run] == 't')
        return run + 1;
    if (t.p[run] == 'u') {
        *is = number_of(str_from(t, run + 1), 4, 16, &used);
        if (used == 4)
            return run + 5;
        *is = 0;
    }
    return run; /* "\/" is a slash */
}

static redact_reading read_packed(daruma_str text, daruma_arena *a)
{
    char *signs = arena_take(a, text.n, 1);
    uint32_t *at = ARENA_NEW(a, uint32_t, text.n + 1);
    size_t n = 0;
    if (!signs || !at)
        return (redact_reading){0};
    for (size_t i = 0; i < text.n;) {
        int is;
        size_t used = read_sign(str_from(text, i), &is);
        if (is > 0 && is < 128) {
            at[n] = (uint32_t)i;
            signs[n++] = (char)(is == '-' ? '+' : is == '_' ? '/' : is); /* the alphabet of URLs */
        }
        i += used;
    }
    at[n] = (uint32_t)text.n;
    return (redact_reading){{signs, n}, at};
}

/* A secret as it is looked for: its first signs, and what the others are. */
typedef struct form {
    daruma_str secret;
    char head[64];
    size_t nhead, n;  /* signs in head, and in all */
    int offset;       /* base64: bytes of a group of three before it; -1: hexadecimal digits ... */
    bool upper;       /* ... with A to F */
    bool first, last; /* a sign before and one behind holds bits of it, too */
} form;

static char sign_of(const form *f, size_t i)
{
    static const char sixty_four[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *s = (const unsigned char *)f->secret.p;
    if (f->offset < 0)
        return (f->upper ? "0123456789ABCDEF" : "0123456789abcdef")[i % 2 ? s[i / 2] & 15 : s[i / 2] >> 4];
    size_t from = 8 * (size_t)f->offset, bit = 6 * ((from + 5) / 6 + i) - from;
    unsigned two = (unsigned)s[bit / 8] << 8 | (bit / 8 + 1 < f->secret.n ? s[bit / 8 + 1] : 0);
    return sixty_four[two >> (10 - bit % 8) & 63];
}

static form form_of(daruma_str secret, int offset, bool upper)
{
    form f = {.secret = secret, .offset = offset, .upper = upper, .n = 2 * secret.n};
    if (offset >= 0) { /* its bits begin within a sign where something stands before it, and end likewise */
        size_t from = 8 * (size_t)offset, to = from + 8 * secret.n;
        f.first = from % 6;
        f.last = to % 6;
        f.n = to / 6 - (from + 5) / 6;
    }
    f.nhead = f.n < sizeof f.head ? f.n : sizeof f.head;
    for (size_t i = 0; i < f.nhead; i++)
        f.head[i] = sign_of(&f, i);
    return f;
}

/* How many of its signs stand there, whose head does: a part of a secret is none that may be shown. */
static size_t form_length(const form *f, daruma_str signs, size_t at)
{
    size_t n = f->nhead;
    while (n < f->n && at + n < signs.n && signs.p[at + n] == sign_of(f, n))
        n++;
    return n;
}

static bool is_sign(daruma_str signs, size_t at)
{
    return at < signs.n && (ch_alpha(signs.p[at]) || ch_digit(signs.p[at]) || signs.p[at] == '+' || signs.p[at] == '/');
}

/* The text without the secret in this form; the text itself when it is not there. */
static daruma_str without_form(daruma_str text, redact_reading r, const form *f, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    daruma_str head = {f->head, f->nhead};
    size_t done = 0, found;
    for (size_t i = 0; (found = str_find(str_from(r.plain, i), head)) != STR_NONE;) {
        i += found;
        size_t from = i - (f->first && i > 0 && is_sign(r.plain, i - 1)), to = i + form_length(f, r.plain, i);
        to += f->last && is_sign(r.plain, to);
        if (r.at[from] >= done) {
            buf_put(&out, str_sub(text, done, r.at[from] - done));
            BUF_LIT(&out, "[redacted]");
        }
        int is;
        done = r.at[to - 1] + read_sign(str_from(text, r.at[to - 1]), &is);
        i = to;
    }
    if (!done)
        return text;
    buf_put(&out, str_from(text, done));
    return out.full ? (daruma_str){0} : buf_str(&out);
}

/* Takes the secret out where it is encoded. */
static void redact_encoded(redaction *r, daruma_str secret)
{
    enum { FORMS = 5 };
    for (int i = 0; i < FORMS; i++) {
        form f = form_of(secret, i < 3 ? i : -1, i == 4);
        if (r->text.n < f.nhead || r->text.n > CLASSIFY_BODY_BYTES_MAX)
            continue;
        if (r->text.p != r->packed_of.p || r->text.n != r->packed_of.n) {
            r->packed = read_packed(r->text, r->arena);
            r->packed_of = r->text;
        }
        if (!r->packed.plain.p) { /* without memory nothing is shown */
            r->text = (daruma_str){0};
            return;
        }
        r->text = without_form(r->text, r->packed, &f, r->arena);
    }
}

/* The text without what reads as the secret; the text itself when it is not there. */
static daruma_str without(daruma_str text, redact_reading r, daruma_str secret, daruma_arena *a)
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

void redact_known(redaction *r, daruma_str secret)
{
    if (r->sure ? secret.n < REDACT_BYTES_MIN : !is_secret(secret))
        return;
    r->text = without(r->text, (redact_reading){.plain = r->text}, secret, r->arena);
    if (!r->as_it_is)
        redact_encoded(r, secret);
    bool escapes = str_findch(r->text, '\\') != STR_NONE || str_findch(r->text, '%') != STR_NONE ||
                   str_find(r->text, S("&#")) != STR_NONE;
    if (!escapes || r->text.n > CLASSIFY_BODY_BYTES_MAX)
        return;
    if (r->text.p != r->read.p || r->text.n != r->read.n) {
        r->plain = read_plain(r->text, r->arena);
        r->read = r->text;
    }
    if (!r->plain.plain.p) { /* without memory nothing is shown */
        r->text = (daruma_str){0};
        return;
    }
    r->text = without(r->text, r->plain, secret, r->arena);
}
