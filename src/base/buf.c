#include "base/buf.h"
#include "base/arena.h"
#include "base/scan.h"
#include "base/str.h"
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>

char *buf_grow(daruma_buf *b, size_t n)
{
    if (b->arena && n <= SIZE_MAX / 4 && b->n <= SIZE_MAX / 4) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        if (cap < b->n + n)
            cap = b->n + n;
        if (b->p && b->p + b->cap == b->arena->beg && (size_t)(b->arena->end - b->arena->beg) >= cap - b->cap) {
            b->arena->beg += cap - b->cap; /* it is the newest in its arena: grow where it stands */
            b->cap = cap;
            return b->p + b->n;
        }
        char *p = arena_raw(b->arena, cap, 1);
        if (p) {
            if (b->n)
                memcpy(p, b->p, b->n);
            b->p = p;
            b->cap = cap;
            return b->p + b->n;
        }
    }
    b->full = true;
    return NULL;
}

daruma_str buf_done(daruma_buf *b)
{
    if (b->arena && b->p && b->p + b->cap == b->arena->beg) {
        b->arena->beg = b->p + b->n;
        b->cap = b->n;
    }
    return buf_str(b);
}

void buf_put(daruma_buf *b, daruma_str s)
{
    char *to = s.n ? buf_room(b, s.n) : NULL;
    if (!to)
        return;
    memcpy(to, s.p, s.n);
    b->n += s.n;
}

void buf_putc(daruma_buf *b, char c)
{
    char *to = buf_room(b, 1);
    if (!to)
        return;
    *to = c;
    b->n++;
}

void buf_putz(daruma_buf *b, const char *z)
{
    buf_put(b, str_of(z));
}

void buf_int(daruma_buf *b, int64_t v)
{
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    char text[20], *end = text + sizeof text, *p = end;
    uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;
    if (left < 10 && v >= 0) { /* most counts are */
        buf_putc(b, (char)('0' + left));
        return;
    }
    for (; left >= 100; left /= 100)
        memcpy(p -= 2, pairs + left % 100 * 2, 2);
    if (left >= 10)
        memcpy(p -= 2, pairs + left * 2, 2);
    else
        *--p = (char)('0' + left);
    if (v < 0)
        *--p = '-';
    buf_put(b, (daruma_str){p, (size_t)(end - p)});
}

/* Bytes that some servers take for a step elsewhere, as they are or escaped. */
static bool is_step(char ch)
{
    return (unsigned char)ch < ' ' || ch == 0x7f || strchr("./\\%;", ch);
}

/* The byte that a name says next, however often it is escaped: "%2e" and "%25252e" are dots. 0 for what only hides
 * something: an escape of a letter, a digit or what is not ASCII, and "%u002e" as IIS has it. */
static char next_byte(daruma_str *name)
{
    char ch = name->p[0];
    *name = str_from(*name, 1);
    if (ch != '%')
        return ch;
    while (str_starts(*name, S("25")))
        *name = str_from(*name, 2);
    if (name->n && (name->p[0] | 0x20) == 'u')
        return 0;
    if (name->n < 2 || ch_hex(name->p[0]) < 0 || ch_hex(name->p[1]) < 0)
        return ch;
    ch = (char)(ch_hex(name->p[0]) << 4 | ch_hex(name->p[1]));
    *name = str_from(*name, 2);
    return ch_word(ch) ? 0 : ch;
}

/* True if a path with that name could be read as one of another place. */
static bool leads_out(daruma_str name)
{
    size_t dots = 0, others = 0; /* of a segment; blanks are cut off by some */
    bool out = false;
    for (bool more = name.n > 0; more && !out;) {
        more = name.n > 0;
        char ch = more ? next_byte(&name) : '/';
        if (ch == '/') {
            out = !others && dots <= 2;
            dots = others = 0;
        } else if (ch == '.') {
            dots++;
        } else if (ch != ' ') {
            others++;
            out = ch != '%' && is_step(ch);
        }
    }
    return out;
}

void buf_path(daruma_buf *b, daruma_str name, const char *plain)
{
    bool out = leads_out(name);
    for (size_t i = 0; i < name.n; i++) {
        char ch = name.p[i];
        if (out && is_step(ch))
            buf_putc(b, '_');
        else if (ch_alpha(ch) || ch_digit(ch) || (ch && strchr(plain, ch)))
            buf_putc(b, ch);
        else
            buf_printf(b, "%%%02X", (unsigned char)ch);
    }
}

void buf_hex64(daruma_buf *b, uint64_t v)
{
    char *to = buf_room(b, 16);
    if (!to)
        return;
    for (int half = 0; half < 2; half++, v <<= 32) { /* the upper eight digits, then the lower ones */
        uint64_t x = v >> 32, each = 0x0101010101010101;
        x = (x | x << 16) & 0x0000ffff0000ffff;
        x = (x | x << 8) & 0x00ff00ff00ff00ff;
        x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f; /* a digit a byte */
        x += '0' * each + ((x + 6 * each) >> 4 & each) * ('a' - '0' - 10);
        x = htobe64(x);
        memcpy(to + 8 * half, &x, 8);
    }
    b->n += 16;
}

void buf_printf(daruma_buf *b, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof text)
        b->full = true;
    else
        buf_put(b, (daruma_str){text, (size_t)n});
}

/* Behind the bytes from `i` on that stand in a JSON string as they are: ASCII but quotes, backslashes and controls. */
static size_t behind_plain(daruma_str s, size_t i)
{
    for (; s.n - i >= sizeof(scan16); i += sizeof(scan16)) {
        scan16 v = scan_load(s.p + i);
        unsigned odd =
            scan_bits(scan_is(v, '"') | scan_is(v, '\\') | scan_range(v, 0, 0x1f) | scan_range(v, 0x7f, 0xff));
        if (odd)
            return i + (unsigned)__builtin_ctz(odd);
    }
    return i;
}

static bool is_plain(scan16 v)
{
    return !scan_bits(scan_is(v, '"') | scan_is(v, '\\') | scan_range(v, 0, 0x1f) | scan_range(v, 0x7f, 0xff));
}

/* True if a short text stands in a JSON string as it is: names and words, which most texts are. */
static bool is_plain_word(daruma_str s)
{
    if (s.n > 32 || s.n < 4)
        return false;
    if (s.n >= 16)
        return is_plain(scan_load(s.p)) && is_plain(scan_load(s.p + s.n - sizeof(scan16)));
    if (s.n >= 8)
        return is_plain(scan_load_ends(s.p, s.p + s.n));
    uint32_t a, z;
    memcpy(&a, s.p, sizeof a);
    memcpy(&z, s.p + s.n - sizeof z, sizeof z);
    return is_plain((scan16)(uint32_t __attribute__((vector_size(16)))){a, z, a, z});
}

void buf_json_run(daruma_buf *b, daruma_str s)
{
    static const char hex[] = "0123456789abcdef";
    size_t from = 0, i = 0;
    if (is_plain_word(s)) {
        buf_put(b, s);
        return;
    }
    while (i < s.n) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            i = behind_plain(s, i + 1);
            continue;
        }
        size_t n = c >= 0x80 ? str_utf8(str_from(s, i)) : 0;
        if (n) {
            i += n;
            continue;
        }
        buf_put(b, str_sub(s, from, i - from));
        char shortly = c == '"' || c == '\\' ? (char)c : c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : 0;
        if (shortly) {
            buf_putc(b, '\\');
            buf_putc(b, shortly);
        } else if (c >= 0x80) {
            BUF_LIT(b, "\xef\xbf\xbd");
        } else {
            char esc[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            buf_put(b, (daruma_str){esc, 6});
        }
        from = ++i;
    }
    buf_put(b, str_sub(s, from, i - from));
}

void buf_json(daruma_buf *b, daruma_str s)
{
    buf_putc(b, '"');
    buf_json_run(b, s);
    buf_putc(b, '"');
}

void buf_say(daruma_buf *b, const buf_part *parts, size_t n)
{
    for (const buf_part *p = parts, *end = parts + n; p < end; p++) {
        char *to;
        if (p->kind == BUF_QUOTED)
            buf_json(b, p->text);
        else if (p->kind == BUF_NUMBER)
            buf_int(b, p->number);
        else if (p->kind == BUF_FLAG)
            buf_put(b, p->number ? S("true") : S("false"));
        else if (p->text.n && (to = buf_room(b, p->text.n))) {
            memcpy(to, p->text.p, p->text.n);
            b->n += p->text.n;
        }
    }
}

daruma_str str_say(daruma_arena *a, const buf_part *parts, size_t n)
{
    daruma_buf b = buf_in(a);
    buf_say(&b, parts, n);
    return buf_str(&b);
}

void buf_comma(daruma_buf *b)
{
    char last = b->n ? b->p[b->n - 1] : '[';
    if (last != '[' && last != '{' && last != ':')
        buf_putc(b, ',');
}

void buf_key(daruma_buf *b, daruma_str raw)
{
    buf_comma(b);
    buf_putc(b, '"');
    buf_put(b, raw);
    BUF_LIT(b, "\":");
}

void buf_members(daruma_buf *b, const buf_part *parts, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2) {
        buf_part value = parts[i + 1];
        if ((value.kind == BUF_ANY || value.kind == BUF_RAW) && !value.text.n)
            continue;
        if (value.kind == BUF_TEXT || value.kind == BUF_ANY)
            value.kind = BUF_QUOTED;
        buf_comma(b);
        buf_json(b, parts[i].text);
        buf_putc(b, ':');
        buf_say(b, &value, 1);
    }
}

void buf_object(daruma_buf *b, const buf_part *parts, size_t n)
{
    buf_putc(b, '{');
    buf_members(b, parts, n);
    buf_putc(b, '}');
}

void buf_duration(daruma_buf *b, daruma_ms ms)
{
    if (ms < 1000)
        buf_printf(b, "%lld ms", (long long)ms);
    else if (ms < 10000 && ms % 1000 >= 100)
        buf_printf(b, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
    else if (ms < 120000)
        buf_printf(b, "%lld s", (long long)((ms + 500) / 1000));
    else if (ms < 7200000)
        buf_printf(b, "%lld min", (long long)((ms + 30000) / 60000));
    else if (ms < 172800000)
        buf_printf(b, "%lld h", (long long)((ms + 1800000) / 3600000));
    else
        buf_printf(b, "%lld days", (long long)(ms / 86400000 + (ms % 86400000 >= 43200000)));
}
