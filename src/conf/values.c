/* values.c - single values: ${NAME}, and one reader for each type. */
#include "conf/conf_inside.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"
#include <arpa/inet.h>
#include <stdio.h>

enum { JSON_LEVELS_MAX = 32 };

/* ---- ${NAME} ----------------------------------------------------------------------- */

static size_t name_length(daruma_str s)
{
    size_t n = 0;
    while (n < s.n && (ch_alpha(s.p[n]) || s.p[n] == '_' || (n && ch_digit(s.p[n]))))
        n++;
    return n;
}

bool value_expand(conf *r, daruma_str text, daruma_str *ret)
{
    daruma_buf out = buf_in(r->a);
    *ret = arena_copy(r->a, text);
    if (!r->host->env || str_find(text, S("${")) == STR_NONE)
        return true;
    while (text.n) {
        if (str_starts(text, S("$${"))) {
            BUF_LIT(&out, "${");
            text = str_from(text, 3);
        } else if (str_starts(text, S("${"))) {
            daruma_str name = str_sub(text, 2, name_length(str_from(text, 2)));
            if (!name.n || !str_starts(str_from(text, 2 + name.n), S("}")))
                return conf_wrong(r, "expected ${NAME}, a variable of the environment\nwrite $${ for a literal ${");
            bool found = false;
            daruma_str value = r->host->env(name, &found, r->user);
            if (!found) {
                r->once = true;
                conf_wrong(r,
                           "the environment variable " STR_FMT " is not set\nset it before starting daruma, or write "
                           "$${ for a literal ${",
                           STR_ARG(name));
                return r->once = false;
            }
            buf_put(&out, value);
            text = str_from(text, name.n + 3);
        } else {
            buf_putc(&out, text.p[0]);
            text = str_from(text, 1);
        }
    }
    *ret = arena_copy(r->a, buf_str(&out)); /* with a NUL behind it: it may be a path */
    return true;
}

/* ---- mistakes of values ---------------------------------------------------------------- */

bool conf_expected(conf *r, const conf_option *o, const char *remedy)
{
    char room[300];
    daruma_buf what = buf_over(room, sizeof room - 1);
    conf_expects(o, &what);
    room[what.n] = 0;
    bool value = !r->node || (conf_is_single(r->node) && !conf_is_null(r->node));
    bool login = str_findch(r->raw, '@') != STR_NONE; /* user:password@host */
    bool hide = !value || login || (o->flags & CONF_SECRET), cut = r->raw.n > 60;
    daruma_str found = !value ? str_of(tree_words(r->node)) : hide ? S("[redacted]") : conf_word(r, r->raw);
    return conf_tell(r, room, "expected %s, found %s" STR_FMT "%s%s\n%s", room, hide ? "" : "\"", STR_ARG(found),
                     cut && !hide ? "..." : "", hide ? "" : "\"", remedy ? remedy : "");
}

conf_near conf_near_to(daruma_str wrong)
{
    return (conf_near){.to = str_near_to(wrong)};
}

void conf_near_try(conf_near *n, daruma_str name)
{
    str_near_try(&n->to, name);
    bool fits = n->n + name.n + 7 < sizeof n->known; /* ", " before it, ", ..." behind it */
    if (fits)
        n->n +=
            (size_t)snprintf(n->known + n->n, sizeof n->known - n->n, "%s" STR_FMT, n->n ? ", " : "", STR_ARG(name));
    else if (!str_ends(str_of(n->known), S("...")))
        snprintf(n->known + n->n, sizeof n->known - n->n, ", ...");
}

bool conf_unknown(conf *r, const char *what, const conf_near *n)
{
    daruma_str word = conf_word(r, n->to.wrong);
    if (n->to.best.n)
        return conf_wrong(r, "unknown %s `" STR_FMT "`\ndid you mean `" STR_FMT "`?", what, STR_ARG(word),
                          STR_ARG(n->to.best));
    if (!n->n)
        return conf_wrong(r, "unknown %s `" STR_FMT "`\nthere is none here: add it, or leave this out", what,
                          STR_ARG(word));
    return conf_wrong(r, "unknown %s `" STR_FMT "`\nknown here: %s", what, STR_ARG(word), n->known);
}

static bool store(const conf_option *o, void *at, int64_t v)
{
    if (o->size == sizeof(int64_t))
        *(int64_t *)at = v;
    else if (o->size == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)v;
    else
        *(bool *)at = v != 0;
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------ */

static bool is_number(daruma_str s)
{
    int64_t milli;
    return date_milli(s, &milli);
}

static bool read_size(daruma_str s, int64_t *ret)
{
    static const struct {
        daruma_str name;
        int64_t bytes;
    } suffixes[] = {
        {LIT("KiB"), 1 << 10}, {LIT("MiB"), 1 << 20},   {LIT("GiB"), 1 << 30}, {LIT("KB"), 1000},
        {LIT("MB"), 1000000},  {LIT("GB"), 1000000000}, {LIT("B"), 1},
    };
    for (size_t i = 0; i < COUNT(suffixes); i++) {
        daruma_str name = suffixes[i].name;
        if (s.n <= name.n || !str_ieq(str_from(s, s.n - name.n), name))
            continue;
        int64_t milli;
        if (!date_milli(str_trim(str_sub(s, 0, s.n - name.n)), &milli))
            return false;
        *ret = mul_sat(milli / 1000, suffixes[i].bytes);
        *ret = add_sat(*ret, milli % 1000 * suffixes[i].bytes / 1000);
        return true;
    }
    return false;
}

static bool read_number(conf *r, const conf_option *o, daruma_str s, void *at)
{
    int64_t v = -1;
    bool ok = false;
    const char *remedy = "";
    if (o->type == CONF_DURATION) {
        v = date_duration(s, NULL);
        ok = v >= 0;
        remedy = is_number(s) ? "add a unit, e.g. 5s" : "write it like 500ms, 5s or 1m30s";
        if (is_number(s) && str_eq(s, S("0")) && o->word)
            remedy = "write none to switch it off";
    } else if (o->type == CONF_SIZE) {
        ok = read_size(s, &v);
        remedy = is_number(s) ? "add a unit, e.g. 64MiB" : "write it like 512KiB, 10MB or 64MiB";
    } else if (o->type == CONF_FRACTION) {
        ok = date_milli(s, &v);
    } else {
        ok = str_int(s, &v);
        remedy = s.n && ch_digit(s.p[0]) ? "write all digits, e.g. 128000" : "";
    }
    if (!ok)
        return conf_expected(r, o, remedy);
    if (v < o->min || (o->max && v > o->max))
        return conf_expected(r, o, v < o->min ? "it is too small" : "it is too large");
    return store(o, at, v);
}

bool conf_is_bool(daruma_str s, bool *ret)
{
    *ret = str_ieq(s, S("true")) || str_ieq(s, S("yes")) || str_ieq(s, S("on"));
    return *ret || str_ieq(s, S("false")) || str_ieq(s, S("no")) || str_ieq(s, S("off"));
}

static bool read_enum(conf *r, const conf_option *o, daruma_str s, void *at)
{
    daruma_str rest = str_of(o->words), word;
    str_near near = str_near_to(s);
    for (int64_t i = 0; rest.n; i++) {
        word = str_cut(&rest, ' ');
        if (str_eq(word, s))
            return store(o, at, i);
        str_near_try(&near, word);
    }
    char remedy[80] = "";
    if (near.best.n)
        snprintf(remedy, sizeof remedy, "did you mean " STR_FMT "?", STR_ARG(near.best));
    return conf_expected(r, o, remedy);
}

/* ---- texts and addresses ----------------------------------------------------------------------- */

static bool read_text(conf *r, const conf_option *o, daruma_str s, void *at)
{
    bool variable = r->host->env && str_find(r->raw, S("${")) != STR_NONE;
    for (size_t i = 0; i < s.n && !r->host->open; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < ' ' && c != '\t' && !((o->flags & CONF_LINES) && c == '\n')) || c == 0x7f)
            return conf_wrong(r, "it holds a line break or control character\nremove it%s",
                              variable ? " from the environment variable" : "");
    }
    for (size_t i = 0; i < s.n && o->type == CONF_NAME; i++)
        if (!ch_alpha(s.p[i]) && !ch_digit(s.p[i]) && s.p[i] != '.' && s.p[i] != '_' && s.p[i] != '-')
            return conf_expected(r, o, "");
    if ((int64_t)s.n < o->min)
        return conf_wrong(r, "it is empty%s\ngive a value or remove the line",
                          variable ? " (the environment variable is set to nothing)" : "");
    if (o->max && (int64_t)s.n > o->max)
        return conf_wrong(r, "it is longer than %lld bytes", (long long)o->max);
    *(daruma_str *)at = s;
    return true;
}

/* What to do about an address without a port: with one that is not the loopback's the whole of it is written. */
static const char *add_the_port(daruma_str s, daruma_arena *a)
{
    char z[64];
    struct in6_addr at;
    bool bracket = s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']';
    daruma_str bare = bracket ? str_sub(s, 1, s.n - 2) : s;
    daruma_buf b = buf_in(a);
    if (is_number(s))
        return "put a colon before the port";
    snprintf(z, sizeof z, STR_FMT, STR_ARG(bare));
    if (bare.n >= sizeof z || str_starts(bare, S("127.")) || inet_pton(bracket ? AF_INET6 : AF_INET, z, &at) != 1)
        return "add the port, e.g. :4141";
    buf_printf(&b, "add the port: %s%s%s:4141", bracket ? "[" : "", z, bracket ? "]" : "");
    buf_putc(&b, 0);
    return b.full ? "add the port, e.g. :4141" : b.p;
}

bool conf_address_read(daruma_str s, daruma_arena *a, conf_address *ret, const char **why)
{
    size_t colon = s.n;
    int64_t port;
    while (colon && s.p[colon - 1] != ':')
        colon--;
    daruma_str host = colon ? str_sub(s, 0, colon - 1) : S("");
    if (host.n == 0 || str_ieq(host, S("localhost")))
        host = S("127.0.0.1");
    bool bracket = host.p[0] == '[' && host.p[host.n - 1] == ']';
    char z[64];
    struct in6_addr address;
    daruma_str bare = bracket ? str_sub(host, 1, host.n - 2) : host;
    snprintf(z, sizeof z, STR_FMT, STR_ARG(bare));
    *why = str_find(s, S("://")) != STR_NONE                     ? "it is no URL: leave out what stands before the host"
           : !colon || s.p[s.n - 1] == ']'                       ? add_the_port(s, a)
           : !str_int(str_from(s, colon), &port) || port > 65535 ? "the port is a number up to 65535"
           : !bracket && str_findch(host, ':') != STR_NONE       ? "put an IPv6 address into brackets, e.g. [::1]:4141"
           : bare.n >= sizeof z || inet_pton(bracket ? AF_INET6 : AF_INET, z, &address) != 1
               ? "the host is an IP address or localhost; 0.0.0.0 is every IPv4 address of this machine"
               : NULL;
    if (*why)
        return false;
    *ret = (conf_address){arena_copy(a, bare), (int)port};
    return true;
}

static bool read_bool(conf *r, const conf_option *o, daruma_str s, void *at)
{
    bool yes;
    return conf_is_bool(s, &yes) ? store(o, at, yes) : conf_expected(r, o, "");
}

static bool read_address(conf *r, const conf_option *o, daruma_str s, void *at)
{
    const char *why;
    return conf_address_read(s, r->a, at, &why) || conf_expected(r, o, why);
}

static bool (*const readers[])(conf *r, const conf_option *o, daruma_str s, void *at) = {
    [CONF_TEXT] = read_text,   [CONF_NAME] = read_text,      [CONF_DURATION] = read_number,
    [CONF_SIZE] = read_number, [CONF_INTEGER] = read_number, [CONF_FRACTION] = read_number,
    [CONF_BOOL] = read_bool,   [CONF_ENUM] = read_enum,      [CONF_ADDRESS] = read_address,
};

bool conf_value(conf *r, const conf_option *o, daruma_str s, void *base)
{
    if (o->word && str_eq(s, str_of(o->word)))
        return store(o, field_of(base, o), o->word_is);
    return (o->value ? o->value : readers[o->type])(r, o, s, field_of(base, o));
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static bool is_json_word(daruma_str s)
{
    size_t digits = 0, i = s.n && s.p[0] == '-';
    for (; i < s.n && (ch_digit(s.p[i]) || s.p[i] == '.'); i++)
        digits += ch_digit(s.p[i]);
    return str_eq(s, S("true")) || str_eq(s, S("false")) || str_eq(s, S("null")) || (digits && i == s.n);
}

/* What is not quoted and looks like a number or a literal is one. Ends when the buffer is full: aliases multiply. */
void value_json(conf *r, const conf_node *n, daruma_buf *b, int level)
{
    if (level > JSON_LEVELS_MAX || b->full) {
        BUF_LIT(b, "null");
    } else if (n->type == YAML_MAPPING_NODE) {
        buf_putc(b, '{');
        for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
            BUF_SAY(b, p > n->data.mapping.pairs.start ? "," : "", buf_quoted(conf_text_of(tree_node(r, p->key))), ":");
            value_json(r, tree_node(r, p->value), b, level + 1);
        }
        buf_putc(b, '}');
    } else if (n->type == YAML_SEQUENCE_NODE) {
        buf_putc(b, '[');
        for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top && !b->full; i++) {
            buf_putz(b, i > n->data.sequence.items.start ? "," : "");
            value_json(r, tree_node(r, *i), b, level + 1);
        }
        buf_putc(b, ']');
    } else if (n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && is_json_word(conf_text_of(n))) {
        buf_put(b, conf_text_of(n));
    } else {
        buf_json(b, conf_text_of(n));
    }
}
