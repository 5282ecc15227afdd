/* config_store.c - the store that several daruma share, as a URL: redis://[user:password@]host[:port][/database]. */
#include "base/buf.h"
#include "base/str.h"
#include "gateway/config/config_inside.h"

static daruma_str unescaped(daruma_str s, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t at = 0; at < s.n;)
        buf_putc(&b, (char)str_unescaped(s, &at));
    return buf_str(&b);
}

bool config_read_store(conf *r, const conf_option *o, daruma_str s, void *at)
{
    store_place to = {.port = STORE_PORT};
    int64_t database = 0;
    if (str_istarts(s, S("rediss://")))
        return conf_expected(r, o, "it is spoken to without TLS: write redis://, and keep it in a network of your own");
    if (!str_istarts(s, S("redis://")))
        return conf_expected(r, o, NULL);
    s = str_from(s, 8);
    size_t sign = s.n;
    while (sign && s.p[sign - 1] != '@')
        sign--;
    daruma_str who = str_sub(s, 0, sign ? sign - 1 : 0), number = str_from(s, sign), place = str_cut(&number, '/');
    if (number.n && (!str_int(number, &database) || database < 0 || database > STORE_DATABASE_MAX))
        return conf_expected(r, o, "behind the slash stands the number of a database");
    if (!url_host_port(place, &to.host, &to.port))
        return conf_expected(r, o, "after redis:// comes host or host:port");
    to.user = unescaped(str_cut(&who, ':'), r->a);
    to.password = unescaped(who, r->a);
    if (str_findch(to.user, 0) != STR_NONE || str_findch(to.password, 0) != STR_NONE)
        return conf_expected(r, o, "user and password hold no %00");
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
        buf_printf(out, "redis://" STR_FMT ":%d/%d", STR_ARG(to->host), to->port, to->database);
}
