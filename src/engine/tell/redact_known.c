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

/* A text as it reads without the escapes of JSON, URLs and HTML, or as who reads base64 and digits reads it. */
typedef struct redact_reading {
    daruma_str plain;
    const uint32_t *at; /* where each byte of it, and its end, stands in the text; NULL: in the same place */
} redact_reading;

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

/* How a secret is written where it is looked for. */
typedef enum form_code {
    FORM_PLAIN,
    FORM_BASE64, /* with no, one or two bytes of a group of three before it */
    FORM_BASE64_ONE,
    FORM_BASE64_TWO,
    FORM_DIGITS, /* hexadecimal, a to f or A to F */
    FORM_DIGITS_UPPER,
    FORM_CODES
} form_code;

enum {
    HEAD_SIGNS = 64,    /* whoever shows so many signs of a secret shows it, and as much as follows of it */
    WINDOW_SIGNS = 4,   /* by which it is found */
    REDACT_PLACES = 512 /* windows are sorted into so many */
};

typedef struct redact_form {
    struct redact_form *next; /* whose window is sorted into the same place */
    daruma_str secret;
    form_code code;
    size_t n, nhead;                    /* signs in all, and those that must stand there ... */
    char head[HEAD_SIGNS];              /* ... and which these are */
    struct redact_form *under, *beside; /* those that begin with the same head, and the next under the same one */
    size_t shared;                      /* signs that both it and the one that it is under begin with; its head's */
    char sign;                          /* its own one behind these */
    bool first, last;                   /* a sign before and one behind holds bits of it, too */
    size_t at;                          /* where its window stands in the head */
    uint32_t window;                    /* the signs there */
    size_t done;                        /* the search that goes on: up to here it was found */
} redact_form;

/* Forms by their windows: a text is gone through once for all of them. */
struct redact_index {
    redact_form *at[REDACT_PLACES];
};

static char sign_of(const redact_form *f, size_t i)
{
    static const char sixty_four[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *s = (const unsigned char *)f->secret.p;
    if (f->code == FORM_PLAIN)
        return f->secret.p[i];
    if (f->code >= FORM_DIGITS)
        return (f->code == FORM_DIGITS ? "0123456789abcdef"
                                       : "0123456789ABCDEF")[i % 2 ? s[i / 2] & 15 : s[i / 2] >> 4];
    size_t from = 8 * (size_t)(f->code - FORM_BASE64), bit = 6 * ((from + 5) / 6 + i) - from;
    unsigned two = (unsigned)s[bit / 8] << 8 | (bit / 8 + 1 < f->secret.n ? s[bit / 8 + 1] : 0);
    return sixty_four[two >> (10 - bit % 8) & 63];
}

static uint32_t window_at(const char *p)
{
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

static size_t place_of(uint32_t window)
{
    return window * 0x9E3779B1u >> 23; /* REDACT_PLACES of them */
}
_Static_assert(REDACT_PLACES == 1 << (32 - 23) && WINDOW_SIGNS == sizeof(uint32_t), "what place_of() takes and gives");

static bool same_head(const redact_form *f, const redact_form *g)
{
    return f->code == g->code && f->nhead == g->nhead && memcmp(f->head, g->head, f->nhead) == 0;
}

/* The form is found by a window that no other form has, where there is one: the keys of one provider begin alike.
 * Returns the form whose head is the same, if there is one: it took the first window that was free, and those before
 * are taken. */
static redact_form *choose_window(redact_form *f, const struct redact_index *to)
{
    for (size_t i = 0; i < f->nhead; i++)
        f->head[i] = sign_of(f, i);
    for (f->at = f->nhead - WINDOW_SIGNS;; f->at--) {
        bool taken = false;
        f->window = window_at(f->head + f->at);
        for (redact_form *g = to->at[place_of(f->window)]; g; g = g->next) {
            taken |= g->window == f->window;
            if (g->window == f->window && same_head(f, g))
                return g;
        }
        if (!taken || f->at == 0)
            return NULL;
    }
}

/* Forms of one head are a tree: each is under the one that it begins like for the longest, and is looked at only where
 * the text leaves that one.
 *
 *     AAAAB...  <- AAAAC... (4 shared)  <- AAAACD... (5 shared)
 *               <- AAB...   (2 shared)                             */
static void add_under(redact_form *top, redact_form *f)
{
    for (redact_form *next = top; next;) {
        top = next;
        size_t n = top->shared;
        while (n < f->n && n < top->n && sign_of(f, n) == sign_of(top, n))
            n++;
        f->shared = n;
        for (next = n < f->n ? top->under : NULL; next; next = next->beside)
            if (next->sign == sign_of(f, n) && next->shared == n)
                break;
    }
    if (f->shared == f->n) { /* another begins with all of it */
        top->last |= f->last;
        return;
    }
    f->sign = sign_of(f, f->shared);
    f->beside = top->under;
    top->under = f;
}

static void add_form(redaction *r, struct redact_index **to, daruma_str secret, form_code code)
{
    redact_form f = {.secret = secret, .code = code, .n = code == FORM_PLAIN ? secret.n : 2 * secret.n};
    if (code != FORM_PLAIN && code < FORM_DIGITS) { /* its bits may begin and end within a sign */
        size_t from = 8 * (size_t)(code - FORM_BASE64), end = from + 8 * secret.n;
        f.first = from % 6;
        f.last = end % 6;
        f.n = end / 6 - (from + 5) / 6;
    }
    f.nhead = f.shared = f.n < HEAD_SIGNS ? f.n : HEAD_SIGNS;
    if (r->longest < f.nhead)
        return;
    if (!*to)
        *to = ARENA_NEW(r->index, struct redact_index, 1);
    redact_form *kept = ARENA_NEW(r->index, redact_form, 1);
    if (!*to || !kept)
        return;
    redact_form *top = choose_window(&f, *to);
    *kept = f;
    if (top) {
        add_under(top, kept);
        return;
    }
    kept->next = (*to)->at[place_of(f.window)];
    (*to)->at[place_of(f.window)] = kept;
}

void redact_add(redaction *r, daruma_str secret, bool encoded)
{
    if (r->sure ? secret.n < REDACT_BYTES_MIN : !is_secret(secret))
        return;
    add_form(r, &r->plain, secret, FORM_PLAIN);
    for (int code = FORM_BASE64; encoded && code < FORM_CODES; code++)
        add_form(r, &r->encoded, secret, (form_code)code);
}

/* How many signs of the form, or of one under it, stand there, if its head does; else 0. *ret: the one that says most.
 */
static size_t form_length(const redact_form *f, daruma_str signs, size_t at, const redact_form **ret)
{
    size_t n = f->nhead;
    if (!str_starts(str_from(signs, at), (daruma_str){f->head, n}))
        return 0;
    for (const redact_form *next = f; next;) {
        *ret = next;
        while (n < next->n && at + n < signs.n && signs.p[at + n] == sign_of(next, n))
            n++;
        for (next = at + n < signs.n ? next->under : NULL; next; next = next->beside)
            if (next->sign == signs.p[at + n] && next->shared == n)
                break;
    }
    return n;
}

static bool is_sign(daruma_str signs, size_t at)
{
    return at < signs.n && (ch_alpha(signs.p[at]) || ch_digit(signs.p[at]) || signs.p[at] == '+' || signs.p[at] == '/');
}

/* A text that is written without some of its parts. They come in the order of their windows, so that one may begin
 * before the part at hand, but only when it reaches into it. */
typedef struct taking {
    daruma_str text;
    daruma_buf out;
    size_t done;     /* so much of the text is written or left out */
    size_t from, to; /* the part at hand; none when both are 0 */
} taking;

static void take_part(taking *t)
{
    if (t->to > t->done) {
        size_t from = t->from > t->done ? t->from : t->done;
        BUF_SAY(&t->out, str_sub(t->text, t->done, from - t->done), "[redacted]");
        t->done = t->to;
    }
}

static void add_part(taking *t, size_t from, size_t to)
{
    if (from >= t->to) {
        take_part(t);
        t->from = from;
        t->to = to;
        return;
    }
    t->from = from < t->from ? from : t->from;
    t->to = to > t->to ? to : t->to;
}

/* The part of the text that shows the form at `i` of what was read of it. */
static void add_found(taking *t, redact_reading r, const redact_form *f, size_t i, size_t n)
{
    size_t from = i - (f->first && i > 0 && is_sign(r.plain, i - 1)), to = i + n;
    if (f->code == FORM_PLAIN) {
        add_part(t, r.at ? r.at[from] : from, r.at ? r.at[to] : to);
        return;
    }
    int is;
    to += f->last && is_sign(r.plain, to);
    add_part(t, r.at[from], r.at[to - 1] + read_sign(str_from(t->text, r.at[to - 1]), &is));
}

/* The text without what reads as a form of the index; the text itself when there is none. */
static daruma_str without(daruma_str text, redact_reading r, struct redact_index *in, daruma_arena *a)
{
    taking t = {.text = text, .out = buf_in(a)};
    for (size_t p = 0; p < REDACT_PLACES; p++)
        for (redact_form *f = in->at[p]; f; f = f->next)
            f->done = 0;
    for (size_t w = 0; w + WINDOW_SIGNS <= r.plain.n; w++) {
        uint32_t window = window_at(r.plain.p + w);
        for (redact_form *f = in->at[place_of(window)]; f; f = f->next) {
            if (f->window != window || w < f->done + f->at)
                continue;
            const redact_form *says;
            size_t i = w - f->at, n = form_length(f, r.plain, i, &says);
            if (!n)
                continue;
            f->done = i + n;
            add_found(&t, r, says, i, n);
        }
    }
    take_part(&t);
    if (!t.done)
        return text;
    buf_put(&t.out, str_from(text, t.done));
    return t.out.full ? (daruma_str){0} : buf_str(&t.out);
}

static bool has_escapes(daruma_str t)
{
    return str_findch(t, '\\') != STR_NONE || str_findch(t, '%') != STR_NONE || str_find(t, S("&#")) != STR_NONE;
}

/* The same of what is read out of a text; without memory nothing is shown. */
static daruma_str without_read(daruma_str text, redact_reading r, struct redact_index *in, daruma_arena *a)
{
    return r.plain.p ? without(text, r, in, a) : (daruma_str){0};
}

daruma_str redact_known(const redaction *r, daruma_str text)
{
    daruma_arena *a = r->arena, *index = r->index;
    if (index->full)
        return (daruma_str){0};
    if (r->plain)
        text = without(text, (redact_reading){.plain = text}, r->plain, a);
    if (r->encoded && text.n && text.n <= CLASSIFY_BODY_BYTES_MAX)
        text = without_read(text, read_packed(text, index), r->encoded, a);
    if (r->plain && text.n && text.n <= CLASSIFY_BODY_BYTES_MAX && has_escapes(text))
        text = without_read(text, read_plain(text, index), r->plain, a);
    return text;
}
