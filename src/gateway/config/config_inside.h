/* config_inside.h - what the files of the configuration share. */
#ifndef GATEWAY_CONFIG_INSIDE_H
#define GATEWAY_CONFIG_INSIDE_H
#include "gateway/config/config.h"

extern const conf_shape config_shape;         /* the table of options */
extern const conf_shape config_headers_shape; /* headers by name, of daruma_header */

enum { CONFIG_STDERR_AUTO = 2 }; /* config.events_stderr while it is read: whether stderr is a terminal */

/* Tells what of the files and addresses that a configuration names cannot be used. Nothing is written. While a
 * gateway runs nothing is waited for either. */
void config_outside(conf *r, config *c, const config_source *from);
/* Tells what is wrong with a token that clients are to show. It is not repeated. */
void config_token_fits(conf *r, daruma_str token);
void config_show_url(const void *root, const void *at, daruma_buf *out); /* of a `url` */

/* ---- config_cloud.c, config_store.c, config_traces.c ---- */
void config_cloud_fits(conf *r, void *base, void *item, size_t index);
bool config_read_store(conf *r, const conf_option *o, daruma_str s, void *at);
void config_show_store(const void *root, const void *at, daruma_buf *out);
extern const conf_shape config_traces_shape;
/* ---- config_prices.c ---- */
extern const conf_shape config_prices_shape;
void config_prices_warnings(const config *c, daruma_buf *out); /* as config_warnings() */
#endif
