/* redact_known.c - removes credentials that are known, in whatever form a text repeats them. */
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
