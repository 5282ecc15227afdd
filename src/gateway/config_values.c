/* Single values of the configuration: ${ENV}, and one reader for each type of option. */
#include "gateway/config_reader.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

/* ---- ${ENV} ----------------------------------------------------------------------- */

static size_t name_length(daruma_str s)
{
    size_t n = 0;
    while (n < s.n && (ch_alpha(s.p[n]) || s.p[n] == '_' || (n && ch_digit(s.p[n]))))
        n++;
    return n;
}

bool config_expand(config_reader *r, daruma_str text, daruma_str *ret)
{
    if (str_find(text, S("${")) == STR_NONE) {
        *ret = arena_copy(r->a, text);
        return true;
    }
    daruma_buf out = buf_in(r->a);
    while (text.n) {
        if (str_starts(text, S("$${"))) {
            BUF_LIT(&out, "${");
            text = str_from(text, 3);
        } else if (str_starts(text, S("${"))) {
            daruma_str name = str_sub(text, 2, name_length(str_from(text, 2)));
            if (!name.n || !str_starts(str_from(text, 2 + name.n), S("}")))
                return config_fail(r, "expected ${NAME}, a variable of the environment; write $${ for a literal ${");
            bool found = false;
            daruma_str value = r->env ? r->env(name, &found, r->user) : (daruma_str){0};
            if (!found)
                return config_fail(r,
                                   "the environment variable " STR_FMT " is not set; set it before starting daruma, or "
                                   "write $${ for a literal ${",
                                   STR_ARG(name));
            buf_put(&out, value);
            text = str_from(text, name.n + 3);
        } else {
            buf_putc(&out, text.p[0]);
            text = str_from(text, 1);
        }
    }
    *ret = buf_str(&out);
    return true;
}

/* ---- errors of values ---------------------------------------------------------------- */

/* "expected a duration like 5s from 10ms to 1h, found "soon"; add a unit, e.g. 5s" */
static bool expected(config_reader *r, const option *o, const char *remedy)
{
    char mem[300];
    daruma_buf what = buf_over(mem, sizeof mem - 1);
    option_expects(o, &what);
    mem[what.n] = 0;
    char found[80] = "[redacted]";
    bool login = str_findch(r->raw, '@') != STR_NONE; /* user:password@host */
    if (!(o->flags & OPTION_SECRET) && !login) {
        daruma_str shown = str_sub(r->raw, 0, 60);
        size_t n =
            (size_t)snprintf(found, sizeof found, "\"" STR_FMT "%s\"", STR_ARG(shown), r->raw.n > 60 ? "..." : "");
        for (size_t i = 0; i < n && i < sizeof found; i++)
            if ((unsigned char)found[i] < ' ')
                found[i] = ' ';
    }
    return config_fail(r, "expected %s, found %s%s%s", mem, found, remedy && *remedy ? "; " : "", remedy ? remedy : "");
}

static bool store(const option *o, void *at, int64_t v)
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
        {{"KiB", 3}, 1 << 10}, {{"MiB", 3}, 1 << 20},   {{"GiB", 3}, 1 << 30}, {{"KB", 2}, 1000},
        {{"MB", 2}, 1000000},  {{"GB", 2}, 1000000000}, {{"B", 1}, 1},
    };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
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

static bool read_number(config_reader *r, const option *o, daruma_str s, void *at)
{
    int64_t v = -1;
    bool ok = false;
    const char *remedy = "";
    if (o->word && str_eq(s, str_of(o->word)))
        return store(o, at, o->word_is);
    if (o->type == OPTION_DURATION) {
        v = date_duration(s, NULL);
        ok = v >= 0;
        remedy = is_number(s) ? "add a unit, e.g. 5s" : "write it like 500ms, 5s or 1m30s";
        if (is_number(s) && str_eq(s, S("0")))
            remedy = o->word ? "write none to switch it off" : "add a unit, e.g. 0s";
    } else if (o->type == OPTION_SIZE) {
        ok = read_size(s, &v);
        remedy = is_number(s) ? "add a unit, e.g. 64MiB" : "write it like 512KiB, 10MB or 64MiB";
    } else if (o->type == OPTION_FRACTION) {
        ok = date_milli(s, &v);
    } else {
        ok = str_int(s, &v);
        remedy = s.n && ch_digit(s.p[0]) ? "write all digits, e.g. 128000" : "";
    }
    if (!ok)
        return expected(r, o, remedy);
    if (v < o->min || v > o->max)
        return expected(r, o, v < o->min ? "it is too small" : "it is too large");
    return store(o, at, v);
}

static bool read_bool(config_reader *r, const option *o, daruma_str s, void *at)
{
    static const char *const words[] = {"false", "no", "off", "true", "yes", "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (str_ieq(s, str_of(words[i])))
            return store(o, at, i >= 3);
    }
    if (o->type == OPTION_TERMINAL && str_eq(s, S("auto")))
        return store(o, at, isatty(STDERR_FILENO));
    return expected(r, o, "");
}

static bool read_enum(config_reader *r, const option *o, daruma_str s, void *at)
{
    daruma_str rest = str_of(o->words), word;
    nearest near = nearest_to(s);
    for (int64_t i = 0; rest.n; i++) {
        word = str_cut(&rest, ' ');
        if (str_eq(word, s))
            return store(o, at, i);
        nearest_try(&near, word);
    }
    char remedy[80] = "";
    if (near.best.n)
        snprintf(remedy, sizeof remedy, "did you mean " STR_FMT "?", STR_ARG(near.best));
    return expected(r, o, remedy);
}

/* ---- texts ---------------------------------------------------------------------------------- */

static bool read_string(config_reader *r, const option *o, daruma_str s, void *at)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < ' ' && c != '\t' && !((o->flags & OPTION_LINES) && c == '\n')) || c == 0x7f)
            return config_fail(r, "it holds a line break or control character; remove it%s",
                               str_find(r->raw, S("${")) == STR_NONE ? "" : " from the environment variable");
    }
    if ((int64_t)s.n < o->min)
        return config_fail(r, "it is empty%s; give a value or remove the line",
                           str_find(r->raw, S("${")) == STR_NONE ? ""
                                                                 : " (the environment variable is set to nothing)");
    if ((int64_t)s.n > o->max)
        return config_fail(r, "it is longer than %lld bytes", (long long)o->max);
    *(daruma_str *)at = s;
    return true;
}

static bool read_name(config_reader *r, const option *o, daruma_str s, void *at)
{
    for (size_t i = 0; i < s.n; i++)
        if (!ch_alpha(s.p[i]) && !ch_digit(s.p[i]) && s.p[i] != '.' && s.p[i] != '_' && s.p[i] != '-')
            return expected(r, o, "");
    return read_string(r, o, s, at);
}

/* ---- places ------------------------------------------------------------------------------------ */

static bool read_listen(config_reader *r, const option *o, daruma_str s, void *at)
{
    config *c = r->ret;
    size_t colon = s.n;
    while (colon && s.p[colon - 1] != ':')
        colon--;
    int64_t port;
    if (str_find(s, S("://")) != STR_NONE)
        return expected(r, o, "it is no URL: leave out what stands before the host");
    if (!colon || (s.n && s.p[s.n - 1] == ']'))
        return expected(r, o, is_number(s) ? "put a colon before the port" : "add the port, e.g. :4141");
    if (!str_int(str_from(s, colon), &port) || port > 65535)
        return expected(r, o, "the port is a number up to 65535");
    daruma_str host = str_sub(s, 0, colon - 1);
    if (host.n == 0 || str_ieq(host, S("localhost")))
        host = S("127.0.0.1");
    bool bracket = host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (bracket)
        host = str_sub(host, 1, host.n - 2);
    else if (str_findch(host, ':') != STR_NONE)
        return expected(r, o, "put an IPv6 address into brackets, e.g. [::1]:4141");
    char z[64];
    struct in6_addr address;
    snprintf(z, sizeof z, STR_FMT, STR_ARG(host));
    if (host.n >= sizeof z || inet_pton(bracket ? AF_INET6 : AF_INET, z, &address) != 1)
        return expected(r, o, "the host is an IP address or localhost; 0.0.0.0 is every IPv4 address of this machine");
    *(daruma_str *)at = arena_copy(r->a, host);
    c->listen_port = (int)port;
    return true;
}

static bool read_url(config_reader *r, const option *o, daruma_str s, void *at)
{
    url u;
    const char *why = NULL;
    if (!url_parse(s, r->a, &u, &why))
        return expected(r, o, why);
    if (o->type == OPTION_PROXY) {
        *(daruma_str *)at = s;
        return true;
    }
    if (u.userinfo.n)
        return config_fail(r, "a provider's URL holds no user or password; put the key under `keys`");
    if (dialect_of_path(u.prefix))
        return expected(r, o,
                        "it ends with what clients add to it (/chat/completions, /messages, ...): leave that out");
    *(url *)at = u;
    return true;
}

static bool read_proxy(config_reader *r, const option *o, daruma_str s, void *at)
{
    if (!s.n) {
        *(daruma_str *)at = s;
        return true;
    }
    if (str_find(s, S("://")) == STR_NONE) { /* as curl and Go read it: a host alone is an http proxy */
        daruma_buf b = buf_in(r->a);
        BUF_LIT(&b, "http://");
        buf_put(&b, s);
        s = buf_str(&b);
    }
    return read_url(r, o, s, at);
}

/* ---- names of things ------------------------------------------------------------------------------ */

static bool read_dialect(config_reader *r, const option *o, daruma_str s, void *at)
{
    const dialect *d = dialect_find(s);
    if (d) {
        *(const dialect **)at = d;
        return true;
    }
    if (str_ieq(s, S("google")))
        return expected(r, o, "it is called gemini");
    char remedy[80] = "take the one whose SDK your program uses";
    nearest near = nearest_to(s);
    const char *known;
    for (size_t i = 0; (known = dialect_name(i)); i++) {
        nearest_try(&near, str_of(known));
        if (str_ieq(s, str_of(known))) { /* OpenAI */
            near.best = str_of(known);
            break;
        }
    }
    if (near.best.n)
        snprintf(remedy, sizeof remedy, "did you mean " STR_FMT "?", STR_ARG(near.best));
    return expected(r, o, remedy);
}

static bool read_profile(config_reader *r, const option *o, daruma_str s, void *at)
{
    daruma_str variant = s, name = str_cut(&variant, '/');
    const daruma_policy *p = daruma_policy_variant(name, variant);
    nearest near = nearest_to(name);
    const char *known;
    for (size_t i = 0; !p && (known = daruma_policy_name(i)); i++)
        nearest_try(&near, str_of(known));
    if (!p && near.best.n)
        return config_fail(r, "there is no profile \"" STR_FMT "\"; did you mean \"" STR_FMT "\"?", STR_ARG(s),
                           STR_ARG(near.best));
    if (!p) {
        char names[200];
        daruma_buf list = buf_over(names, sizeof names - 1);
        for (size_t i = 0; (known = daruma_policy_name(i)); i++)
            buf_printf(&list, "%s%s", i ? ", " : "there are ", known);
        names[list.n] = 0;
        return expected(r, o, names);
    }
    *(daruma_policy *)at = *p;
    return true;
}

static bool read_target(config_reader *r, const option *o, daruma_str s, void *at)
{
    config *c = r->ret;
    config_target *t = (config_target *)((char *)at - offsetof(config_target, model));
    size_t slash = str_findch(s, '/');
    if (slash == STR_NONE || slash == 0 || slash + 1 == s.n)
        return expected(r, o, "name the provider before the first slash");
    daruma_str provider = str_sub(s, 0, slash);
    nearest near = nearest_to(provider);
    for (size_t i = 0; i < c->nproviders; i++) {
        if (str_eq(c->providers[i].name, provider)) {
            t->provider = (int)i;
            return read_string(r, o, str_from(s, slash + 1), at);
        }
        nearest_try(&near, c->providers[i].name);
    }
    if (near.best.n)
        return config_fail(r, "there is no provider \"" STR_FMT "\"; did you mean \"" STR_FMT "\"?", STR_ARG(provider),
                           STR_ARG(near.best));
    return config_fail(r,
                       "there is no provider \"" STR_FMT "\"; what stands before the first slash has to be one of "
                       "`providers`",
                       STR_ARG(provider));
}

static bool (*const readers[OPTION_TYPES])(config_reader *, const option *, daruma_str, void *) = {
    [OPTION_STRING] = read_string,   [OPTION_NAME] = read_name,       [OPTION_DURATION] = read_number,
    [OPTION_SIZE] = read_number,     [OPTION_INTEGER] = read_number,  [OPTION_FRACTION] = read_number,
    [OPTION_BOOL] = read_bool,       [OPTION_TERMINAL] = read_bool,   [OPTION_ENUM] = read_enum,
    [OPTION_LISTEN] = read_listen,   [OPTION_URL] = read_url,         [OPTION_PROXY] = read_proxy,
    [OPTION_DIALECT] = read_dialect, [OPTION_PROFILE] = read_profile, [OPTION_TARGET] = read_target,
};

bool config_value(config_reader *r, const option *o, daruma_str text, void *base)
{
    return readers[o->type](r, o, text, config_field(base, o));
}
