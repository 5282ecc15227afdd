#include "net/http.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/scan.h"
#include "base/str.h"
#include <llhttp.h>
#include <stdlib.h>

/* ---- small things ---- */

// clang-format off
/* RFC 9110 5.6.2: the bytes of a token. */
static const bool token[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,
    ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1, ['~'] = 1,
    ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1,
    ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1,
    ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1, ['t'] = 1,
    ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
    ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1, ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1,
    ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1, ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1,
    ['U'] = 1, ['V'] = 1, ['W'] = 1, ['X'] = 1, ['Y'] = 1, ['Z'] = 1,
};
// clang-format on

static bool text_byte(char c)
{
    return (unsigned char)c >= 0x20 ? c != 0x7f : c == '\t';
}

/* Which of 16 bytes are no token, but for those few that are neither letter nor hyphen: nearly no name has one. */
static inline scan16 odd_in_name(scan16 v)
{
    return ~(scan_range(v | scan_all(0x20), 'a', 'z') | scan_is(v, '-'));
}

/* Which of 16 bytes are no text, but for the tab. */
static inline scan16 odd_in_text(scan16 v)
{
    return scan_range(v, 0, 0x1f) | scan_is(v, 0x7f);
}

/* Which of 16 bytes are no part of a host and a port, but for those that are seldom there. */
static inline scan16 odd_in_host(scan16 v)
{
    return ~(scan_range(v | scan_all(0x20), 'a', 'z') | scan_range(v, '0', ':') | scan_range(v, '-', '.'));
}

/* Which of 16 bytes must be escaped in a target: blanks, controls, '#' and what is not ASCII. */
static inline scan16 odd_in_target(scan16 v)
{
    return ~scan_range(v, '!', '~') | scan_is(v, '#');
}

/* True if none of the bytes of `s`, 8 at least, is odd: 16 at a time, the last ones overlap those before. */
static inline bool quick(daruma_str s, scan16 odd(scan16))
{
    const char *p = s.p, *end = s.p + s.n;
    if (s.n < 8)
        return false;
    if (s.n < 16)
        return !scan_bits(odd(scan_load_ends(p, end)));
    scan16 found = odd(scan_load(end - 16));
    for (; end - p > 16; p += 16)
        found |= odd(scan_load(p));
    return !scan_bits(found);
}

static bool all_token(daruma_str s)
{
    bool all = s.n > 0;
    for (size_t i = 0; i < s.n; i++)
        all &= token[(unsigned char)s.p[i]];
    return all;
}

static bool is_token(daruma_str s)
{
    return quick(s, odd_in_name) || all_token(s);
}

static bool all_text(daruma_str s)
{
    bool all = true;
    for (size_t i = 0; i < s.n; i++)
        all &= text_byte(s.p[i]);
    return all;
}

static bool http_refuse(http_fault *fault, int status, const char *why)
{
    *fault = (http_fault){status, why};
    return false;
}

daruma_str http_header_find(const http_head *h, daruma_str name)
{
    for (const daruma_header *f = h->headers, *end = f + h->nheaders; f < end; f++)
        if (str_ieq(f->name, name))
            return f->value;
    return (daruma_str){0};
}

const char *http_reason(int status)
{
    // clang-format off
    static const struct { int status; const char *text; } rows[] = {
        {100, "Continue"}, {200, "OK"}, {201, "Created"}, {202, "Accepted"}, {204, "No Content"},
        {206, "Partial Content"}, {301, "Moved Permanently"}, {302, "Found"}, {303, "See Other"},
        {304, "Not Modified"}, {307, "Temporary Redirect"}, {308, "Permanent Redirect"}, {400, "Bad Request"},
        {401, "Unauthorized"}, {402, "Payment Required"}, {403, "Forbidden"}, {404, "Not Found"},
        {405, "Method Not Allowed"}, {406, "Not Acceptable"}, {407, "Proxy Authentication Required"},
        {408, "Request Timeout"}, {409, "Conflict"}, {410, "Gone"}, {411, "Length Required"},
        {412, "Precondition Failed"}, {413, "Content Too Large"}, {414, "URI Too Long"},
        {415, "Unsupported Media Type"}, {416, "Range Not Satisfiable"}, {417, "Expectation Failed"},
        {422, "Unprocessable Content"}, {424, "Failed Dependency"}, {425, "Too Early"}, {426, "Upgrade Required"},
        {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"}, {500, "Internal Server Error"},
        {501, "Not Implemented"}, {502, "Bad Gateway"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"}, {529, "Overloaded"},
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].status == status)
            return rows[i].text;
    return "";
}

/* ---- the end of a head ---- */

/* The first byte that is no text; `end`: there is none. */
static const char *text_end(const char *p, const char *end)
{
    for (; end - p >= (ptrdiff_t)sizeof(scan16); p += sizeof(scan16)) {
        scan16 v = scan_load(p);
        unsigned odd = scan_bits(odd_in_text(v) & ~scan_is(v, '\t'));
        if (odd)
            return p + __builtin_ctz(odd);
    }
    while (p < end && text_byte(*p))
        p++;
    return p;
}

/* Looks first where a version belongs: at the beginning of an answer's line, at the end of a request's. */
static bool names_version(daruma_str line)
{
    daruma_str last = str_sub(line, line.n - (line.n < 8 ? line.n : 8), 5);
    return str_eq(str_sub(line, 0, 5), S("HTTP/")) || str_eq(last, S("HTTP/")) ||
           str_find(line, S("HTTP/")) != STR_NONE;
}

http_found http_scan_head(http_scan *scan, const char *p, size_t n, http_fault *fault)
{
    if (n && scan->at == 0 && !token[(unsigned char)p[0]])
        return http_refuse(fault, 400, "a message begins with a method or a version"), HTTP_BAD;
    const char *end = p + (n < HTTP_HEAD_BYTES_MAX ? n : HTTP_HEAD_BYTES_MAX);
    for (;;) {
        const char *line = p + scan->at, *cr = text_end(line, end);
        if (cr == end || (*cr == '\r' && cr + 1 == end))
            break;
        if (*cr == '\n')
            return http_refuse(fault, 400, "a line ends with a bare LF"), HTTP_BAD;
        if (*cr != '\r' || cr[1] != '\n')
            return http_refuse(fault, 400, "a control character in the head"), HTTP_BAD;
        scan->at = (size_t)(cr + 2 - p);
        if (cr == line)
            return HTTP_HERE;
        if (scan->lines == 0 && !names_version((daruma_str){line, (size_t)(cr - line)}))
            return http_refuse(fault, 400, "the first line names no version"), HTTP_BAD;
        if (scan->lines++ && (*line == ' ' || *line == '\t'))
            return http_refuse(fault, 400, "a field is folded over lines"), HTTP_BAD;
        if (scan->lines > HTTP_HEADERS_MAX + 1)
            return http_refuse(fault, 431, "too many fields"), HTTP_BAD;
    }
    if (n >= HTTP_HEAD_BYTES_MAX)
        return http_refuse(fault, scan->lines ? 431 : 414, "the head is too long"), HTTP_BAD;
    return HTTP_MORE;
}

/* ---- heads ---- */

/* What llhttp tells about one head. It gets the whole head at once, so a span comes in one piece. */
typedef struct reading {
    daruma_header *room; /* for HTTP_HEADERS_MAX fields */
    size_t n;            /* fields so far */
    uint64_t names;      /* a bit for each of theirs */
    daruma_str target;
    bool too_many;
} reading;

static int on_url(llhttp_t *l, const char *at, size_t n)
{
    reading *r = l->data;
    r->target = (daruma_str){at, n};
    return 0;
}

static int on_field(llhttp_t *l, const char *at, size_t n)
{
    reading *r = l->data;
    if (r->n == HTTP_HEADERS_MAX) {
        r->too_many = true;
        return HPE_USER;
    }
    r->room[r->n++] = (daruma_header){.name = {at, n}};
    r->names |= http_name_bit((daruma_str){at, n});
    return 0;
}

static int on_value(llhttp_t *l, const char *at, size_t n)
{
    reading *r = l->data;
    if (r->n)
        r->room[r->n - 1].value = n && ((unsigned char)at[0] <= ' ' || (unsigned char)at[n - 1] <= ' ')
                                      ? str_trim((daruma_str){at, n})
                                      : (daruma_str){at, n};
    return 0;
}

/* Bodies are framed by us, see http_chunks_read(): llhttp stops behind the head. */
static int on_complete(llhttp_t *l)
{
    (void)l;
    return HPE_PAUSED;
}

static bool parse(llhttp_t *l, llhttp_type_t type, daruma_str raw, reading *r, http_fault *fault)
{
    static const llhttp_settings_t settings = {
        .on_url = on_url, .on_header_field = on_field, .on_header_value = on_value, .on_headers_complete = on_complete};
    llhttp_init(l, type, &settings);
    l->data = r;
    llhttp_errno_t e = llhttp_execute(l, raw.p, raw.n);
    if (r->too_many)
        return http_refuse(fault, 431, "too many fields");
    if (e == HPE_INVALID_VERSION)
        return http_refuse(fault, 505, "only HTTP/1.0 and HTTP/1.1 are spoken");
    if (e == HPE_INVALID_METHOD)
        return http_refuse(fault, 501, "the method is not known");
    if (e != HPE_PAUSED || llhttp_get_error_pos(l) < raw.p + raw.n - 1)
        return http_refuse(fault, 400, "the head is not valid HTTP");
    if (l->http_major != 1 || l->http_minor > 1)
        return http_refuse(fault, 505, "only HTTP/1.0 and HTTP/1.1 are spoken");
    for (size_t i = 0; i < r->n; i++)
        if (!is_token(r->room[i].name) || r->room[i].name.p[r->room[i].name.n] != ':')
            return http_refuse(fault, 400, "a field name is empty or odd");
    return true;
}

/* Content-Length, Transfer-Encoding, Connection and Host of one head, and how often they stand in it. */
typedef struct framing {
    int lengths, codings, hosts; /* how many fields */
    daruma_str length, coding, host;
    bool close, keep_alive; /* Connection options */
} framing;

/* Few names are as long as one of those below. */
static bool may_frame(daruma_str name)
{
    const uint32_t lengths = 1u << (sizeof "host" - 1) | 1u << (sizeof "connection" - 1) |
                             1u << (sizeof "content-length" - 1) | 1u << (sizeof "transfer-encoding" - 1);
    return name.n < 32 && lengths >> name.n & 1;
}

static framing framing_of(const reading *r)
{
    framing f = {0};
    for (size_t i = 0; i < r->n; i++) {
        daruma_str name = r->room[i].name, value = r->room[i].value;
        if (!may_frame(name))
            continue;
        if (str_ieq(name, S("host"))) {
            f.hosts++;
            f.host = value;
        } else if (str_ieq(name, S("content-length"))) {
            f.lengths++;
            f.length = value;
        } else if (str_ieq(name, S("transfer-encoding"))) {
            f.codings++;
            f.coding = value;
        } else if (str_ieq(name, S("connection"))) {
            f.close |= str_lists(value, S("close"));
            f.keep_alive |= str_lists(value, S("keep-alive"));
        }
    }
    return f;
}

/* Decides by RFC 9112 6.3 how long the body is, but refuses what that would let us repair: whoever
 * stands before or behind us may repair it another way. -1 chunked, 0 nothing announced. */
static bool length_of(const framing *f, bool http10, int64_t *ret, http_fault *fault)
{
    int64_t length = 0;
    if (f->lengths + f->codings > 1)
        return http_refuse(fault, 400, "more than one of Content-Length and Transfer-Encoding");
    if (f->codings) {
        if (http10)
            return http_refuse(fault, 400, "Transfer-Encoding in HTTP/1.0");
        if (!str_ieq(f->coding, S("chunked")))
            return http_refuse(fault, 501, "a transfer coding other than chunked");
        length = -1;
    }
    if (f->lengths && (f->length.n > 18 || !str_int(f->length, &length)))
        return http_refuse(fault, 400, "Content-Length is not a number");
    *ret = length;
    return true;
}

/* uri-host [":" port] as far as framing and routing depend on it (RFC 9112 3.2). */
static bool host_ok(daruma_str host)
{
    bool plain = quick(host, odd_in_host);
    for (size_t i = 0; !plain && i < host.n; i++) {
        char c = host.p[i];
        if (!ch_alpha(c) && !ch_digit(c) && !memchr("-._~:[]%!$&'()*+;=", c, 18))
            return false;
    }
    return host.n > 0;
}

/* Length of the "http://" or "https://" that a target in absolute-form begins with; 0: it is in another form. */
static size_t scheme_bytes(daruma_str target)
{
    return str_istarts(target, S("http://")) ? 7 : str_istarts(target, S("https://")) ? 8 : 0;
}

static bool target_ok(daruma_str raw, daruma_str target, http_fault *fault)
{
    if (target.n > HTTP_URL_BYTES_MAX)
        return http_refuse(fault, 414, "the target is too long");
    /* Authority- and asterisk-form are for proxies and a server's owner; we are neither. */
    if (target.n == 0 || (target.p[0] != '/' && !scheme_bytes(target)))
        return http_refuse(fault, 400, "the target is no path, and no URL of http or https");
    bool plain = quick(target, odd_in_target);
    for (size_t i = 0; !plain && i < target.n; i++)
        if ((unsigned char)target.p[i] <= 0x20 || (unsigned char)target.p[i] >= 0x7f || target.p[i] == '#')
            return http_refuse(fault, 400, "the target holds a byte that must be escaped");
    /* METHOD SP target SP HTTP/1.x CRLF and nothing else. */
    const char *end = memchr(raw.p, '\r', raw.n);
    if (target.p[-1] != ' ' || target.p - raw.p < 2 || target.p[-2] == ' ' || end - (target.p + target.n) != 9)
        return http_refuse(fault, 400, "the request line is odd");
    return true;
}

bool http_read_request(daruma_str raw, daruma_header *room, http_head *ret, http_fault *fault)
{
    llhttp_t l;
    reading r = {.room = room};
    if (!parse(&l, HTTP_REQUEST, raw, &r, fault) || !target_ok(raw, r.target, fault))
        return false;
    if (l.method == HTTP_CONNECT)
        return http_refuse(fault, 501, "this is no tunnel");
    if (l.method == HTTP_TRACE) /* whoever answers it says what it got, our keys with it: RFC 9110, section 9.3.8 */
        return http_refuse(fault, 501, "requests are not traced");
    framing f = framing_of(&r);
    bool http10 = l.http_minor == 0;
    if (f.hosts > 1 || (f.hosts == 0 && !http10) || (f.hosts && !host_ok(f.host)))
        return http_refuse(fault, 400, "exactly one Host is needed");
    int64_t length;
    if (!length_of(&f, http10, &length, fault))
        return false;
    daruma_str query = r.target, path = str_cut(&query, '?');
    size_t scheme = scheme_bytes(path);
    if (scheme) { /* its host counts, and not the field's: RFC 9112, section 3.2.2 */
        daruma_str rest = str_from(path, scheme), host = str_sub(rest, 0, str_findch(rest, '/'));
        if (!host_ok(host))
            return http_refuse(fault, 400, "the URL of the target names no host, or more than a host and a port");
        f.host = host;
        path = str_from(rest, host.n);
        path = path.n ? path : S("/");
    }
    *ret = (http_head){.method = {raw.p, (size_t)(r.target.p - 1 - raw.p)},
                       .host = f.host,
                       .path = path,
                       .query = query,
                       .headers = room,
                       .nheaders = r.n,
                       .names = r.names,
                       .length = length,
                       .keep_alive = !f.close && !http10,
                       .http10 = http10};
    return true;
}

bool http_read_answer(daruma_str raw, bool to_head, daruma_header *room, http_head *ret, bool *until_close,
                      http_fault *fault)
{
    llhttp_t l;
    reading r = {.room = room};
    /* "HTTP/1.x NNN" and then a space or the end: llhttp is kinder. */
    if (raw.n < 15 || raw.p[8] != ' ' || (raw.p[12] != ' ' && raw.p[12] != '\r') || raw.p[9] == '0' ||
        !ch_digit(raw.p[9]) || !ch_digit(raw.p[10]) || !ch_digit(raw.p[11]))
        return http_refuse(fault, 400, "the status line is odd");
    if (!parse(&l, HTTP_RESPONSE, raw, &r, fault))
        return false;
    framing f = framing_of(&r);
    bool http10 = l.http_minor == 0,
         empty = to_head || l.status_code < 200 || l.status_code == 204 || l.status_code == 304;
    int64_t length;
    if (!length_of(&f, http10, &length, fault))
        return false;
    *until_close = !empty && f.lengths + f.codings == 0;
    *ret = (http_head){.status = l.status_code,
                       .headers = room,
                       .nheaders = r.n,
                       .names = r.names,
                       .length = empty          ? 0
                                 : *until_close ? -1
                                                : length,
                       .keep_alive = !f.close && (!http10 || f.keep_alive) && !*until_close,
                       .http10 = http10};
    return true;
}

/* ---- bytes that wait ---- */

bool http_rest_keep(http_rest *r, daruma_str in)
{
    if (in.n == 0) {
        free(r->p);
        *r = (http_rest){0};
        return true;
    }
    if (r->p && in.p >= r->p && in.p < r->p + r->n) {
        check(in.p + in.n == r->p + r->n);
        if (in.p != r->p)
            memmove(r->p, in.p, in.n);
        r->n = in.n;
        return true;
    }
    if (r->cap - r->n < in.n) {
        size_t cap = r->cap ? r->cap : 1024;
        while (cap - r->n < in.n)
            cap *= 2;
        char *wider = realloc(r->p, cap);
        if (!wider)
            return false;
        r->p = wider;
        r->cap = cap;
    }
    memcpy(r->p + r->n, in.p, in.n);
    r->n += in.n;
    return true;
}

/* ---- chunked bodies ---- */

enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_LINE, TRAILER_LF, END_LF, ENDED };

/* One byte outside of the data of a chunk; false when it may not stand there. llhttp is not asked: it lets
 * sizes, extensions and trailers grow without bound, and older ones take a bare LF. */
static bool chunk_byte(http_chunks *c, char ch)
{
    switch (c->state) {
    case SIZE:
        if (ch_hex(ch) >= 0) {
            c->left = c->left << 4 | (uint64_t)ch_hex(ch);
            return ++c->nd <= 16 && c->left <= INT64_MAX;
        }
        c->state = ch == ';' ? EXTENSION : SIZE_LF;
        return c->nd > 0 && (ch == ';' || ch == '\r');
    case EXTENSION:
        if (ch == '\r')
            c->state = SIZE_LF;
        return ch == '\r' || (text_byte(ch) && ++c->line <= HTTP_CHUNK_LINE_BYTES_MAX);
    case SIZE_LF:
        c->state = c->left ? DATA : TRAILER;
        c->nd = 0;
        c->line = 0;
        return ch == '\n';
    case DATA_CR:
        c->state = DATA_LF;
        return ch == '\r';
    case DATA_LF:
        c->state = SIZE;
        return ch == '\n';
    case TRAILER: /* at the beginning of a line */
        c->state = ch == '\r' ? END_LF : TRAILER_LINE;
        return ch == '\r' || token[(unsigned char)ch];
    case TRAILER_LINE:
        if (ch == '\r')
            c->state = TRAILER_LF;
        return ch == '\r' || (text_byte(ch) && ++c->line <= HTTP_HEAD_BYTES_MAX);
    case TRAILER_LF:
        c->state = TRAILER;
        return ch == '\n';
    case END_LF:
        c->state = ENDED;
        return ch == '\n';
    }
    return false;
}

http_chunk http_chunks_read(http_chunks *c, daruma_str *in, daruma_str *data)
{
    while (in->n) {
        if (c->state == DATA) {
            *data = str_sub(*in, 0, c->left < in->n ? (size_t)c->left : in->n);
            *in = str_from(*in, data->n);
            c->left -= data->n;
            if (c->left == 0)
                c->state = DATA_CR;
            return HTTP_CHUNK_DATA;
        }
        if (!chunk_byte(c, in->p[0]))
            return HTTP_CHUNK_BAD;
        *in = str_from(*in, 1);
        if (c->state == ENDED)
            return HTTP_CHUNK_END;
    }
    return HTTP_CHUNK_MORE;
}

/* ---- writing ---- */

void http_put_hex(daruma_buf *b, uint64_t v)
{
    char text[16], *p = text + sizeof text;
    do
        *--p = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    buf_put(b, (daruma_str){p, (size_t)(text + sizeof text - p)});
}

/* Copies `s` to `to`, and says what quick() says of it. */
static inline bool copy_quick(char *to, daruma_str s, scan16 odd(scan16))
{
    const char *p = s.p, *end = s.p + s.n;
    if (s.n < 8) {
        while (p < end)
            *to++ = *p++;
        return false;
    }
    if (s.n < 16) {
        memcpy(to, p, 8);
        memcpy(to + s.n - 8, end - 8, 8);
        return !scan_bits(odd(scan_load_ends(p, end)));
    }
    scan16 last = scan_load(end - 16), found = odd(last);
    memcpy(to + s.n - 16, &last, sizeof last);
    for (; end - p > 16; p += 16, to += 16) {
        scan16 v = scan_load(p);
        memcpy(to, &v, sizeof v);
        found |= odd(v);
    }
    return !scan_bits(found);
}

void http_put_field(daruma_buf *b, daruma_str name, daruma_str value)
{
    char *to = buf_room(b, name.n + value.n + 4);
    if (!to || (!copy_quick(to, name, odd_in_name) && !all_token(name)) ||
        (!copy_quick(to + name.n + 2, value, odd_in_text) && !all_text(value)))
        return;
    memcpy(to + name.n, ": ", 2);
    memcpy(to + name.n + 2 + value.n, "\r\n", 2);
    b->n += name.n + value.n + 4;
}
