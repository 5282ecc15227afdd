/* What a configuration says, for people: a summary without secrets, and what is allowed but hardly meant. */
#include "gateway/config/config_inside.h"
#include "base/buf.h"
#include "base/str.h"

bool config_is_self(const config *c, const config_provider *p)
{
    daruma_str here = c->listen.host, there = p->to.host;
    if (p->to.tls || c->listen.port == 0 || c->listen.port != p->to.port)
        return false;
    bool any = str_eq(here, S("0.0.0.0")) || str_eq(here, S("::"));
    bool same = str_ieq(here, there) || (host_is_localhost(there) && host_is_loopback(here));
    return same || (any && (host_is_loopback(there) || str_eq(there, S("0.0.0.0")) || str_eq(there, S("::"))));
}

static void put_many(daruma_buf *out, size_t n, const char *one, const char *many)
{
    buf_printf(out, "%zu %s", n, n == 1 ? one : many);
}

static void put_clock(daruma_buf *out, const char *name, daruma_ms ms)
{
    buf_printf(out, "%s ", name);
    if (ms)
        buf_duration(out, ms);
    else
        BUF_LIT(out, "none");
}

static void put_names(const char *what, const daruma_str *names, size_t n, daruma_buf *out)
{
    for (size_t i = 0; i < n; i++)
        BUF_SAY(out, i ? ", " : what, names[i]);
    if (n)
        BUF_LIT(out, "\n");
}

static void put_address(daruma_str host, int port, daruma_buf *out)
{
    bool six = str_findch(host, ':') != STR_NONE;
    buf_printf(out, "%s" STR_FMT "%s:%d", six ? "[" : "", STR_ARG(host), six ? "]" : "", port);
}

static void put_listen(const config *c, daruma_buf *out)
{
    BUF_LIT(out, "  listen     ");
    put_address(c->listen.host, c->listen.port, out);
    buf_putz(out, c->cert_file.n ? ", TLS\n" : "\n");
    if (c->admin.value.n || c->admin.file.n)
        BUF_LIT(out, "  admin      with a token\n");
    for (size_t i = 0; i < c->nclients; i++) {
        BUF_SAY(out, "  client     ", c->clients[i].name);
        put_names(": ", c->clients[i].models, c->clients[i].nmodels, out);
        buf_putz(out, c->clients[i].nmodels ? "" : "\n");
    }
}

static void put_provider(const config_provider *p, daruma_buf *out)
{
    BUF_SAY(out, "  provider   ", p->name);
    const char *cloud = config_cloud_name(p);
    buf_printf(out, ": %s%s%s at ", p->dialect->name, cloud ? " on " : "", cloud ? cloud : "");
    url_say(&p->to, out);
    BUF_LIT(out, ", ");
    if (p->nkeys)
        put_many(out, p->nkeys, "key", "keys");
    else
        buf_putz(out, config_has_key(p) ? "a key in its headers" : "the clients' own keys");
    for (size_t i = 0; i < p->nkeys; i++) {
        BUF_SAY(out, i ? ", " : " (", p->keys[i].name);
        if (!str_eq(p->keys[i].account, p->keys[i].name))
            BUF_SAY(out, " of ", p->keys[i].account);
        if (p->keys[i].command.n)
            BUF_LIT(out, ", by command");
    }
    buf_putz(out, p->nkeys ? ")\n" : "\n");
}

static void put_targets(const config *c, const config_target *t, size_t n, const char *what, daruma_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        BUF_SAY(out, i ? S(", then ") : str_of(what), c->providers[t[i].provider].name, "/", t[i].model);
        if (t[i].weight)
            buf_printf(out, " (weight %u)", t[i].weight);
    }
}

static void put_model(const config *c, const config_model *m, daruma_buf *out)
{
    BUF_SAY(out, "  model      ", m->name);
    put_targets(c, m->targets, m->ntargets, ": ", out);
    if (m->nreserve)
        BUF_SAY(out, "; on a content filter ", c->providers[m->on_filter.provider].name, "/", m->on_filter.model);
    if (m->window >= 0)
        buf_printf(out, "; window %lld", (long long)m->window);
    if (m->max_output >= 0)
        buf_printf(out, "; output %lld", (long long)m->max_output);
    BUF_LIT(out, "\n");
}

/* Of daruma_watch_mode, as the file says them. */
static const char *const watch_words[] = {
    [DARUMA_WATCH_OFF] = "off",
    [DARUMA_WATCH_OBSERVE] = "observe",
    [DARUMA_WATCH_GUIDE] = "guide",
    [DARUMA_WATCH_ENFORCE] = "enforce",
};

static void put_watch(const config *c, daruma_buf *out)
{
    buf_printf(out, "  watch      %s", watch_words[c->watch]);
    for (size_t i = 0; i < c->nmodels; i++)
        if (c->models[i].watch && c->models[i].watch - 1 != (int)c->watch)
            buf_printf(out, ", " STR_FMT " %s", STR_ARG(c->models[i].name), watch_words[c->models[i].watch - 1]);
    BUF_LIT(out, "\n");
}

void config_summary(const config *c, daruma_buf *out)
{
    put_listen(c, out);
    put_names("  hosts      ", c->hosts, c->nhosts, out);
    put_names("  paths      ", c->passthrough, c->npassthrough, out);
    for (size_t i = 0; i < c->nproviders; i++)
        put_provider(&c->providers[i], out);
    for (size_t i = 0; i < c->nmodels; i++)
        put_model(c, &c->models[i], out);
    put_targets(c, c->others, c->nothers, "  default    ", out);
    buf_putz(out, c->nothers ? "\n" : "");
    if (c->https_proxy.n ||
        c->http_proxy.n) /* a variable of the environment may have set it; its URL may hold a password */
        buf_printf(out, "  proxy      for %s providers\n",
                   !c->http_proxy.n    ? "https"
                   : !c->https_proxy.n ? "http"
                                       : "http and https");
    put_clock(out, "  timeouts   connect", c->clocks.connect);
    put_clock(out, ", first byte", c->clocks.first_byte);
    if (c->plain_first_byte != c->clocks.first_byte)
        put_clock(out, ", not streamed", c->plain_first_byte);
    put_clock(out, ", idle", c->clocks.idle);
    put_clock(out, ", total", c->clocks.total);
    buf_printf(out, "\n  recovery   %s, profile %s%s%s, %u calls to one target", c->policy.enabled ? "on" : "off",
               c->policy.profile, c->policy.variant ? "/" : "", c->policy.variant ? c->policy.variant : "",
               c->policy.max_attempts);
    put_clock(out, ", patience", c->policy.patience < 0 ? 0 : c->policy.patience);
    BUF_LIT(out, "\n");
    put_watch(c, out);
    BUF_SAY(out, "  events     ", c->events_file.n ? c->events_file : S("to no file"));
    if (c->usage_file.n)
        BUF_SAY(out, "\n  usage      ", c->usage_file);
    if (c->traces.host.n) {
        BUF_LIT(out, "\n  traces     ");
        url_say(&c->traces, out);
    }
    if (c->nprices)
        buf_printf(out, "\n  prices     %zu", c->nprices);
    if (c->state.n)
        BUF_SAY(out, "\n  state      ", c->state);
    if (c->store.host.n) {
        BUF_LIT(out, "\n  store      ");
        put_address(c->store.host, c->store.port, out);
    }
    BUF_LIT(out, "\n");
}

/* ---- warnings ------------------------------------------------------------------------- */

static void warn_provider(const config_provider *p, daruma_buf *out)
{
    if (p->nkeys && !p->to.tls && !host_is_loopback(p->to.host))
        BUF_SAY(out, "provider ", p->name, ": its keys travel unencrypted; use https\n");
    for (size_t i = 0; i < p->nkeys; i++)
        for (size_t k = 0; k < i; k++)
            if (p->keys[i].value.n && str_eq(p->keys[i].value, p->keys[k].value))
                BUF_SAY(out, "provider ", p->name, ": ", p->keys[k].name, " and ", p->keys[i].name,
                        " are the same key\n");
    for (size_t i = 0; i < p->nkeys; i++)
        if (p->keys[i].value.n > 1 && p->keys[i].value.p[0] == '$')
            BUF_SAY(out, "provider ", p->name, ": ", p->keys[i].name,
                    " begins with $: a variable is written ${NAME}\n");
}

static void warn_model(const config *c, const config_model *m, daruma_buf *out)
{
    size_t ways = 0;
    for (size_t i = 0; i < m->ntargets + m->nreserve; i++) {
        size_t keys = c->providers[m->targets[i].provider].nkeys;
        ways += keys ? keys : 1;
        const config_provider *p = &c->providers[m->targets[i].provider];
        if (config_out_of_reach(c, m, p->dialect, i))
            BUF_SAY(out, "model ", m->name, ": clients' keys go to its first target without keys, so ", p->name,
                    i < m->ntargets ? " " : " (on_content_filter) ", "is never asked with one; give it `keys`\n");
    }
    if (ways > DARUMA_CASE_TRIED)
        BUF_SAY(out, "model ", m->name, ": targets and keys make ", ways, " ways; only the first ",
                (int)DARUMA_CASE_TRIED, " are tried\n");
}

void config_warnings(const config *c, daruma_buf *out)
{
    for (size_t i = 0; i < c->nproviders; i++)
        warn_provider(&c->providers[i], out);
    for (size_t i = 0; i < c->nmodels; i++)
        warn_model(c, &c->models[i], out);
    if (!c->policy.nrungs)
        BUF_SAY(out, "recovery: the profile ", c->policy.profile,
                " does nothing about calls that fail; what it does is for agents: `daruma run --profile`\n");
    if (!c->on_loopback && !c->cert_file.n)
        BUF_SAY(out, "listen: other machines can reach ", c->listen.host,
                ", and it speaks no TLS: tokens and conversations can be read on the way; set tls.cert_file and "
                "tls.key_file, or put something before it that does\n");
    for (size_t i = 0; i < c->nproviders && c->nclients; i++)
        if (!config_has_key(&c->providers[i]))
            BUF_SAY(out, "providers[", i, "]: ", c->providers[i].name,
                    " has no keys: clients show their token in x-daruma-token, and the provider's key as usual\n");
    if (c->listen_taken)
        BUF_SAY(out, "listen: something listens on ", c->listen.host, " port ", c->listen.port,
                "; unless that is the daruma that this file is for, serve cannot\n");
    if (c->traces.host.n && c->ntrace_headers && !c->traces.tls && !host_is_loopback(c->traces.host))
        BUF_LIT(out, "traces: its headers travel unencrypted; use https\n");
    config_prices_warnings(c, out);
    if (c->clocks.total && c->clocks.first_byte > c->clocks.total)
        BUF_LIT(out, "timeouts: first_byte is longer than total and can never run out\n");
}

/* ---- for programs ----------------------------------------------------------------------- */

void config_json(const config *c, daruma_buf *out)
{
    conf_print_values(&config_shape, c, out);
}

void config_options_print(daruma_buf *out)
{
    conf_print_options(&config_shape, out);
}
