/* config_traces.c - `traces`: where spans go. */
#include "gateway/config/config_inside.h"
#include "base/buf.h"

/* As OpenTelemetry's own variables are read: an address without a path gets the one that OTLP has. */
static bool read_collector(conf *r, const conf_option *o, daruma_str s, void *at)
{
    url u;
    const char *why = NULL;
    if (!url_parse(s, r->a, &u, &why))
        return conf_expected(r, o, why);
    if (u.userinfo.n)
        return conf_wrong(r, "a collector's URL holds no user or password\nput it under `headers`");
    if (!u.prefix.n)
        u.prefix = S("/v1/traces");
    *(url *)at = u;
    return true;
}

// clang-format off
static const conf_option traces_rows[] = {
    {"url", CONF_VALUE, .value = read_collector, .show = config_show_url, .expects = "a URL like http://127.0.0.1:4318/v1/traces", CONF_AT(config, traces), .says = "none: nothing is traced",
     .help = "Where an OpenTelemetry collector takes OTLP over HTTP. Without a path it is `/v1/traces`. Spans go there once a second in Protocol Buffers: one of each request, one of each call to a provider. doc/events.md"},
    {"headers", CONF_NAMED, CONF_ITEMS(config, trace_headers), .shape = &config_headers_shape,
     .help = "Headers that are sent along, by name. What is secret in them is better not written out: `{ authorization: \"Bearer ${COLLECTOR_TOKEN}\" }`."},
};
// clang-format on
const conf_shape config_traces_shape = {.of = CONF_ROWS(traces_rows)};
