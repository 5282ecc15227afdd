/* redact.c - text without secrets. One pass: a secret is known by how it begins, by the name
 * before it, or by its form; what it takes away it replaces by "[redacted]". Rather one word
 * too many than a key in a log; but prose, model names and request ids stay readable.
 * What lies ahead of many places (where a run of key bytes ends) is looked for once, so that
 * the time grows with the text, whatever stands in it. */
#include "engine/tell/redact.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* Beginnings of keys and how many more bytes make one. */
static const struct {
    daruma_str begin;
    uint8_t more; /* key bytes that must follow */
    bool digit;   /* one of them is a digit, an upper-case letter or a mask: "sk-learn" is none */
} keys[] = {
#define K(s, more, digit)                                                                                              \
    {                                                                                                                  \
        LIT(s), more, digit                                                                                            \
    }
    K("sk-", 8, true),      K("sk_", 10, true),         K("pk_", 10, true),      K("rk_", 10, true),
    K("gsk_", 8, true),     K("xai-", 12, true),        K("AIza", 12, false),    K("ya29.", 8, false),
    K("ghp_", 8, false),    K("gho_", 8, false),        K("ghu_", 8, false),     K("ghs_", 8, false),
    K("ghr_", 8, false),    K("github_pat_", 8, false), K("glpat-", 8, false),   K("hf_", 12, true),
    K("AKIA", 12, false),   K("ASIA", 12, false),       K("xoxb-", 8, false),    K("xoxp-", 8, false),
    K("xoxa-", 8, false),   K("xoxs-", 8, false),       K("xapp-", 8, false),    K("npm_", 12, true),
    K("r8_", 12, true),     K("pplx-", 8, true),        K("nvapi-", 8, false),   K("csk-", 8, true),
    K("fw_", 12, true),     K("tgp_", 8, false),        K("dapi", 16, true),     K("AQ.", 16, true),
    K("secret_", 16, true), K("ntn_", 12, true),        K("lin_api_", 8, false), K("sbp_", 12, true),
    K("eyJ", 16, false),    K("SG.", 16, true),         K("dop_v1_", 8, false),  K("ABSK", 16, true),
    K("tvly-", 8, true),    K("jina_", 12, true),       K("sess-", 12, true),    K("whsec_", 8, false),
#undef K
};

#define KEY_BYTES_MIN 11 /* the shortest row of `keys` with what must follow; masks apart */

/* Ends of names whose value is a secret: "x-api-key: ...", "DB_PASSWORD=...", "\"token\": \"...\"".
 * The last ones are ordinary words: their value must look like a secret too. */
static const daruma_str names[] = {
    // clang-format off
    LIT("x-api-key"), LIT("api-key"), LIT("api_key"), LIT("apikey"), LIT("x-goog-api-key"),
    LIT("authorization"), LIT("password"), LIT("passwd"), LIT("pwd"), LIT("client_secret"),
    LIT("access_token"), LIT("refresh_token"), LIT("id_token"), LIT("auth_token"), LIT("session_token"),
    LIT("secret_key"), LIT("access_key"), LIT("private_key"), LIT("set-cookie"), LIT("cookie"),
    LIT("x-auth-token"), LIT("x-amz-security-token"), LIT("x-amz-signature"), LIT("sessionid"), LIT("proxy-authorization"),
    LIT("sig"), LIT("secret"), LIT("credential"), LIT("token"), LIT("key"),
    // clang-format on
};
#define FIRST_WORD (int)(COUNT(names) - 5)

/* What a byte can be in a key: asked of every byte of a text, so a table. */
enum {
    KEY_LETTER = 1, /* or digit */
    KEY_LINE = 2,   /* '_' */
    KEY_DASH = 4,   /* '-' */
    KEY_SIGN = 8,   /* it can give a secret away by itself: @ * : - */
    KEY_TAIL = 16,  /* of what is longer than a word: . * + / = ~ */
    KEY_NAMES = 32, /* may stand between a name and its value: = : " ' \\ and space */
};
#define L KEY_LETTER
#define U KEY_LINE
#define D (KEY_DASH | KEY_SIGN)
#define A KEY_SIGN
#define M (KEY_SIGN | KEY_TAIL)
#define C (KEY_SIGN | KEY_NAMES)
#define E (KEY_TAIL | KEY_NAMES)
#define T KEY_TAIL
#define N KEY_NAMES
static const uint8_t key_part[256] = {
    // clang-format off
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    N, 0, N, 0, 0, 0, 0, N, 0, 0, M, T, 0, D, T, T,
    L, L, L, L, L, L, L, L, L, L, C, 0, 0, E, 0, 0,
    A, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,
    L, L, L, L, L, L, L, L, L, L, L, 0, N, 0, 0, U,
    0, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,
    L, L, L, L, L, L, L, L, L, L, L, 0, 0, 0, T, 0,
    // clang-format on
};
static bool is_part(char c, int of)
{
    return key_part[(unsigned char)c] & of;
}

static bool key_char(char c)
{
    return is_part(c, KEY_LETTER | KEY_LINE | KEY_DASH);
}

/* ---- what lies ahead ---- */

/* The next place, at or after one, of ... */
typedef enum ahead {
    AHEAD_RUN_END,      /* a byte that no key has, with dots, masks and base64 */
    AHEAD_WORD_END,     /* a byte that no key without them has */
    AHEAD_MASK_END,     /* the same, but for '*' */
    AHEAD_KEPT,         /* a byte that a key without them has ... */
    AHEAD_KEPT_NEXT,    /* ... and the one behind it */
    AHEAD_FORM,         /* a digit, an upper-case letter or '*': words have none */
    AHEAD_STAR,         /* '*' */
    AHEAD_STARS,        /* three of them */
    AHEAD_DOTS,         /* three dots */
    AHEAD_QUOTES_END,   /* a byte that is no quote and no backslash */
    AHEAD_SPACES_END,   /* a byte that is no space */
    AHEAD_VALUE_END,    /* white space or a sign that ends a value */
    AHEAD_LINE_END,     /* what ends a line */
    AHEAD_DOUBLE_QUOTE, /* '"', or '\' before one */
    AHEAD_SINGLE_QUOTE, /* the other quote, or '\' */
    AHEAD_USER_END,     /* what ends the user part of a URL */
    AHEADS
} ahead;

/* A text that is looked through, and what was found: for each place of [from, at] the next one is `at`. */
typedef struct sight {
    daruma_str t;
    struct {
        size_t from, at;
        bool known;
    } seen[AHEADS];
    size_t run_end, run_kept; /* of a run that ends there a key has what stands before; dots and slashes follow */
} sight;

static bool is_thrice(daruma_str t, size_t i, char c)
{
    return t.p[i] == c && t.n - i >= 3 && t.p[i + 1] == c && t.p[i + 2] == c;
}

static bool is_ahead(daruma_str t, size_t i, ahead what)
{
    char c = t.p[i];
    switch (what) {
    case AHEAD_RUN_END:
        return !is_part(c, KEY_LETTER | KEY_LINE | KEY_DASH | KEY_TAIL);
    case AHEAD_WORD_END:
        return !key_char(c);
    case AHEAD_MASK_END:
        return !key_char(c) && c != '*';
    case AHEAD_KEPT:
    case AHEAD_KEPT_NEXT:
        return key_char(c);
    case AHEAD_FORM:
        return ch_digit(c) || (c >= 'A' && c <= 'Z') || c == '*';
    case AHEAD_STAR:
        return c == '*';
    case AHEAD_STARS:
        return is_thrice(t, i, '*');
    case AHEAD_DOTS:
        return is_thrice(t, i, '.');
    case AHEAD_QUOTES_END:
        return c != '"' && c != '\'' && c != '\\';
    case AHEAD_SPACES_END:
        return c != ' ';
    case AHEAD_VALUE_END:
        return ch_space(c) || memchr("&,;\"')}]>", c, 9);
    case AHEAD_LINE_END:
        return c == '\n' || c == '\r';
    case AHEAD_DOUBLE_QUOTE:
        return c == '"' || c == '\\';
    case AHEAD_SINGLE_QUOTE:
        return c == '\'' || c == '\\';
    case AHEAD_USER_END:
        return ch_space(c) || memchr("/\"'<>?#@", c, 8);
    case AHEADS:
        break;
    }
    return true;
}

/* The next such place at or after `at`; the end of the text when there is none. */
static size_t look_ahead(sight *s, size_t at, ahead what)
{
    size_t i = at, from = s->seen[what].from, to = s->seen[what].at;
    bool known = s->seen[what].known;
    if (known && at >= from && at <= to)
        return to;
    while (i < s->t.n && !is_ahead(s->t, i, what)) {
        if (known && i == from) {
            i = to;
            break;
        }
        i++;
    }
    s->seen[what].known = true;
    s->seen[what].from = at;
    s->seen[what].at = i;
    return i;
}

/* Behind a key that goes on at `at`, with dots, masks and base64. */
static size_t key_run(sight *s, size_t at)
{
    size_t end = look_ahead(s, at, AHEAD_RUN_END), kept = end;
    if (s->run_end != end) {
        while (kept > 0 && (s->t.p[kept - 1] == '.' || s->t.p[kept - 1] == '/'))
            kept--;
        s->run_end = end;
        s->run_kept = kept;
    }
    return s->run_kept > at ? s->run_kept : at;
}

static bool has_secret_form(sight *s, size_t at, size_t end)
{
    return look_ahead(s, at, AHEAD_FORM) < end;
}

/* Behind a key that begins at `at`, or `at`. */
static size_t known_key(sight *s, size_t at)
{
    daruma_str t = s->t;
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (t.p[at] != keys[i].begin.p[0] || !str_starts(str_from(t, at), keys[i].begin))
            continue;
        size_t from = at + keys[i].begin.n, end = key_run(s, from), n = end - from;
        bool masked = n >= 3 && (look_ahead(s, from, AHEAD_STAR) < end || look_ahead(s, from, AHEAD_DOTS) + 3 <= end);
        if ((n >= keys[i].more && (!keys[i].digit || has_secret_form(s, from, end))) || masked)
            return end;
    }
    return at;
}

/* Behind a masked key that has no known beginning ("abcd****wxyz"), or `at`. */
static size_t masked_key(sight *s, size_t at)
{
    size_t end = look_ahead(s, at, AHEAD_MASK_END), one = look_ahead(s, at, AHEAD_KEPT);
    bool masked = look_ahead(s, at, AHEAD_STARS) + 3 <= end;
    return masked && one < end && look_ahead(s, one + 1, AHEAD_KEPT_NEXT) < end ? end : at;
}

/* Behind the secret that the scheme at `at` ("Bearer ", "Basic ") announces; *keep is how much of it stays. */
static size_t scheme(sight *s, size_t at, size_t *keep)
{
    static const daruma_str schemes[] = {LIT("bearer "), LIT("basic ")};
    daruma_str rest = str_from(s->t, at);
    for (size_t i = 0; i < 2; i++) {
        if (!str_istarts(rest, schemes[i]))
            continue;
        size_t from = at + schemes[i].n, end = key_run(s, from);
        if (end - from >= 8 && has_secret_form(s, from, end)) {
            *keep = schemes[i].n;
            return end;
        }
    }
    return at;
}

/* Where the value of a secret name ends: at its quote, or at white space and separators. */
static size_t value_end(sight *s, size_t at, char quote, bool to_line_end)
{
    if (quote)
        return look_ahead(s, at, quote == '"' ? AHEAD_DOUBLE_QUOTE : AHEAD_SINGLE_QUOTE);
    return look_ahead(s, at, to_line_end ? AHEAD_LINE_END : AHEAD_VALUE_END);
}

/* The row of `names` that the name ends with ("OPENAI_API_KEY" with "api_key"), or -1. */
static int secret_name(daruma_str name)
{
    for (int i = 0; i < (int)COUNT(names); i++) {
        daruma_str tail = names[i];
        if (name.n < tail.n || ch_lower(name.p[name.n - 1]) != tail.p[tail.n - 1])
            continue;
        size_t from = name.n - tail.n;
        if (str_ieq(str_from(name, from), tail) && (from == 0 || !ch_alpha(name.p[from - 1])))
            return i;
    }
    return -1;
}

/* "name: value", "name=value", "name": "value", the name being t[at..name_end); behind the value,
 * *keep up to it. */
static size_t named(sight *s, size_t at, size_t name_end, size_t *keep)
{
    daruma_str t = s->t;
    size_t p = look_ahead(s, name_end, AHEAD_QUOTES_END);
    bool quoted_name = p > name_end;
    p = look_ahead(s, p, AHEAD_SPACES_END);
    if (p >= t.n || (t.p[p] != '=' && t.p[p] != ':'))
        return at;
    int row = secret_name(str_sub(t, at, name_end - at));
    if (row < 0)
        return at;
    bool header = t.p[p] == ':' && !quoted_name;
    for (p++; p < t.n && t.p[p] == ' ';)
        p++;
    char quote = 0;
    if (p < t.n && t.p[p] == '\\')
        p++;
    if (p < t.n && (t.p[p] == '"' || t.p[p] == '\''))
        quote = t.p[p++];
    bool whole_line = header && (str_ends(names[row], S("cookie")) || str_ends(names[row], S("authorization")));
    size_t end = value_end(s, p, quote, whole_line);
    daruma_str v = str_sub(t, p, end - p);
    bool is_word = row >= FIRST_WORD || header;
    if (v.n == 0 || str_starts(str_from(t, p), S("[redacted]")) || str_eq(v, S("null")) || str_eq(v, S("None")))
        return at;
    if (is_word && !whole_line && (v.n < 8 || !has_secret_form(s, p, end))) /* "Invalid api key: please check" */
        return at;
    *keep = p - at;
    return end;
}

/* The end of an e-mail address around the '@' at `at`; *from its beginning. */
static size_t mail(daruma_str t, size_t at, size_t least, size_t *from)
{
    size_t b = at, e = at + 1, dots = 0;
    while (b > least && (ch_alpha(t.p[b - 1]) || ch_digit(t.p[b - 1]) || memchr("._%+-", t.p[b - 1], 5)))
        b--;
    while (e < t.n && (ch_alpha(t.p[e]) || ch_digit(t.p[e]) || t.p[e] == '.' || t.p[e] == '-')) {
        dots += t.p[e] == '.' && e > at + 1 && e + 1 < t.n && ch_alpha(t.p[e + 1]);
        e++;
    }
    while (e > at + 1 && (t.p[e - 1] == '.' || t.p[e - 1] == '-'))
        e--;
    *from = b;
    return b < at && dots ? e : at;
}

/* The user part of "scheme://user:pass@host"; behind it, or `at` when there is none. */
static size_t userinfo(sight *s, size_t at)
{
    size_t end = look_ahead(s, at, AHEAD_USER_END);
    return end < s->t.n && s->t.p[end] == '@' ? end : at;
}

static size_t pem(daruma_str t, size_t at)
{
    if (!str_starts(str_from(t, at), S("-----BEGIN ")))
        return at;
    size_t end = str_find(str_from(t, at), S("-----END "));
    if (end == STR_NONE)
        return t.n;
    size_t close = str_find(str_from(t, at + end + 9), S("-----"));
    return close == STR_NONE ? t.n : at + end + 9 + close + 5;
}

/* Which second bytes follow a first one where a key or a scheme begins; case
 * ignored. Sorts out nearly every word. */
#define B(c)    (1u << ((c) - 'a'))
#define B_EIGHT (1u << 26)
static const uint32_t seconds[26] = {
    // clang-format off
    ['a' - 'a'] = B('i') | B('k') | B('s') | B('q') | B('b'),
    ['b' - 'a'] = B('e') | B('a'),
    ['c' - 'a'] = B('s'),
    ['d' - 'a'] = B('a') | B('o'),
    ['e' - 'a'] = B('y'),
    ['f' - 'a'] = B('w'),
    ['g' - 'a'] = B('s') | B('h') | B('i') | B('l'),
    ['h' - 'a'] = B('f'),
    ['j' - 'a'] = B('i'),
    ['l' - 'a'] = B('i'),
    ['n' - 'a'] = B('p') | B('v') | B('t'),
    ['p' - 'a'] = B('k') | B('p'),
    ['r' - 'a'] = B('k') | B_EIGHT,
    ['s' - 'a'] = B('k') | B('b') | B('g') | B('e'),
    ['t' - 'a'] = B('g') | B('v'),
    ['w' - 'a'] = B('h'),
    ['x' - 'a'] = B('a') | B('o') | B('p'),
    ['y' - 'a'] = B('a'),
    // clang-format on
};

static bool may_begin(char first, char second)
{
    first = ch_lower(first);
    second = ch_lower(second);
    if (first < 'a' || first > 'z')
        return false;
    uint32_t bit = second >= 'a' && second <= 'z' ? B(second) : second == '8' ? B_EIGHT : 0;
    return seconds[first - 'a'] & bit;
}

/* A secret that begins with the word at `at`, which ends at `end` or goes on with a dash: behind it, with *keep bytes
 * of it to stay; or `at`. */
static size_t secret_word(sight *s, size_t at, size_t end, size_t *keep)
{
    daruma_str t = s->t;
    size_t to;
    end = end < t.n && t.p[end] == '-' ? look_ahead(s, at, AHEAD_WORD_END) : end;
    char next = end < t.n ? t.p[end] : 0;
    *keep = 0;
    if (at + 1 < t.n && may_begin(t.p[at], t.p[at + 1])) {
        bool too_short = end - at < KEY_BYTES_MIN && !is_part(next, KEY_TAIL);
        if (!too_short && (to = known_key(s, at)) > at)
            return to;
        if ((t.p[at] == 'b' || t.p[at] == 'B') && (to = scheme(s, at, keep)) > at)
            return to;
    }
    if (!is_part(next, KEY_NAMES) || (next == ' ' && end + 1 < t.n && is_part(t.p[end + 1], KEY_LETTER)))
        return at; /* nearly every word: another follows */
    return named(s, at, end, keep);
}

/* A secret that a sign at `at` gives away: behind it and *from its beginning; or `at`. */
static size_t secret_sign(sight *s, size_t at, size_t least, size_t *from)
{
    daruma_str t = s->t;
    size_t to;
    switch (t.p[at]) {
    case '@':
        return mail(t, at, least, from);
    case '*': /* what is left of a key stands before the mask */
        for (*from = at; *from > least && key_char(t.p[*from - 1]);)
            --*from;
        to = masked_key(s, *from);
        return to > *from ? to : at;
    case ':':
        *from = at + 3;
        to = str_starts(str_from(t, at), S("://")) ? userinfo(s, *from) : at;
        return to > *from ? to : at;
    case '-':
        *from = at;
        return pem(t, at);
    default:
        return at;
    }
}

/* Finds the next secret at or after `at`; false when there is none. Word for word: most are
 * settled by their first two bytes and what follows them. */
static bool next_secret(sight *s, size_t at, bool mails, size_t *from, size_t *to)
{
    daruma_str t = s->t;
    for (size_t least = at, keep; at < t.n;) {
        size_t end = at;
        if (!is_part(t.p[at], KEY_LETTER)) {
            if (is_part(t.p[at], KEY_SIGN) && (mails || t.p[at] != '@') && (*to = secret_sign(s, at, least, from)) > at)
                return true;
            at++;
            continue;
        }
        while (end < t.n && is_part(t.p[end], KEY_LETTER | KEY_LINE))
            end++;
        if ((*to = secret_word(s, at, end, &keep)) > at) {
            *from = at + keep;
            return true;
        }
        at = end;
    }
    return false;
}

/* `text` itself when there is nothing to take away. */
static daruma_str redact(daruma_str text, bool mails, daruma_arena *a)
{
    size_t from, to, at = 0;
    sight s = {.t = text};
    daruma_buf out = buf_in(a);
    while (next_secret(&s, at, mails, &from, &to)) {
        BUF_SAY(&out, str_sub(text, at, from - at), "[redacted]");
        at = to;
    }
    if (!at)
        return text;
    buf_put(&out, str_from(text, at));
    return out.full ? (daruma_str){0} : buf_str(&out);
}

daruma_str daruma_redact(daruma_str text, daruma_arena *a)
{
    daruma_str clean = redact(text, true, a);
    return clean.p == text.p ? arena_copy(a, text) : clean;
}

daruma_str redact_credentials(daruma_str text, daruma_arena *a)
{
    return redact(text, false, a);
}
