/* config_store.c - the store that several daruma share, as a URL: redis://[user:password@]host[:port][/database]. */
#include "base/buf.h"
#include "base/str.h"
#include "gateway/config/config_inside.h"

static bool number_upto(daruma_str s, int64_t most, int64_t *ret)
{
    int64_t n = 0;
    if (!s.n || s.n > 5)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!ch_digit(s.p[i]))
            return false;
        n = n * 10 + (s.p[i] - '0');
    }
    *ret = n;
    return n <= most;
}

/* The last place of `c`; STR_NONE. */
static size_t last_of(daruma_str s, char c)
{
    for (size_t i = s.n; i--;)
        if (s.p[i] == c)
            return i;
    return STR_NONE;
}

/* "host", "host:port", "[::1]:port". */
static bool read_place(daruma_str at, store_place *ret)
{
    int64_t port = 0;
    ret->port = S("6379");
    if (at.n && at.p[0] == '[') {
        size_t end = str_findch(at, ']');
        if (end == STR_NONE)
            return false;
        ret->host = str_sub(at, 1, end - 1);
        at = str_from(at, end + 1);
    } else {
        size_t colon = str_findch(at, ':');
        ret->host = colon == STR_NONE ? at : str_sub(at, 0, colon);
        at = colon == STR_NONE ? (daruma_str){0} : str_from(at, colon);
    }
    if (!at.n)
        return ret->host.n > 0;
    ret->port = str_from(at, 1);
    return ret->host.n && at.p[0] == ':' && number_upto(ret->port, 65535, &port) && port > 0;
}

static int digit_of(char c)
{
    return ch_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Without the escapes of a URL: "%40" is "@". */
static daruma_str plain(daruma_str s, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && s.n - i > 2 ? digit_of(s.p[i + 1]) : -1,
            low = high >= 0 ? digit_of(s.p[i + 2]) : -1;
        buf_putc(&b, low >= 0 ? (char)(high << 4 | low) : s.p[i]);
        i += low >= 0 ? 2 : 0;
    }
    return buf_str(&b);
}

bool config_read_store(conf *r, const conf_option *o, daruma_str s, void *at)
{
    store_place to = {0};
    int64_t database = 0;
    if (str_istarts(s, S("rediss://")))
        return conf_expected(r, o, "it is spoken to without TLS: write redis://, and keep it in a network of your own");
    if (!str_istarts(s, S("redis://")))
        return conf_expected(r, o, NULL);
    s = str_from(s, 8);
    size_t sign = last_of(s, '@'), slash;
    daruma_str who = sign == STR_NONE ? (daruma_str){0} : str_sub(s, 0, sign),
               rest = sign == STR_NONE ? s : str_from(s, sign + 1);
    slash = str_findch(rest, '/');
    daruma_str number = slash == STR_NONE ? (daruma_str){0} : str_from(rest, slash + 1);
    if (number.n && !number_upto(number, 65535, &database))
        return conf_expected(r, o, "behind the slash stands the number of a database");
    if (!read_place(slash == STR_NONE ? rest : str_sub(rest, 0, slash), &to))
        return conf_expected(r, o, "after redis:// comes host or host:port");
    to.user = plain(str_cut(&who, ':'), r->a);
    to.password = plain(who, r->a);
    if (to.user.n && !to.password.n)
        return conf_expected(r, o, "before the @ stands user:password, or :password");
    to.database = (int)database;
    *(store_place *)at = to;
    return true;
}

void config_show_store(const void *root, const void *at, daruma_buf *out)
{
    const store_place *to = at;
    (void)root;
    if (to->host.n)
        buf_printf(out, "redis://" STR_FMT ":" STR_FMT "/%d", STR_ARG(to->host), STR_ARG(to->port), to->database);
}
