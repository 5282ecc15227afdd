/* config_inside.h - the table of options, and what its rows call: readers of values that only a gateway has, and how
 * the parts of lists fit together. */
#ifndef GATEWAY_CONFIG_INSIDE_H
#define GATEWAY_CONFIG_INSIDE_H
#include "gateway/config.h"

extern const conf_shape config_shape;

enum { CONFIG_STDERR_AUTO = 2 }; /* config.events_stderr while it is read: whether stderr is a terminal */

bool config_read_url(conf *r, const conf_option *o, daruma_str s, void *at);
bool config_read_proxy(conf *r, const conf_option *o, daruma_str s, void *at);
bool config_read_dialect(conf *r, const conf_option *o, daruma_str s, void *at);
bool config_read_profile(conf *r, const conf_option *o, daruma_str s, void *at);
bool config_read_target(conf *r, const conf_option *o, daruma_str s, void *at);

void config_show_url(const void *root, const void *at, daruma_buf *out);
void config_show_text(const void *root, const void *at, daruma_buf *out);
void config_show_dialect(const void *root, const void *at, daruma_buf *out);
void config_show_profile(const void *root, const void *at, daruma_buf *out);
void config_show_target(const void *root, const void *at, daruma_buf *out);

void config_path_fits(conf *r, void *base, void *item, size_t index);
void config_key_fits(conf *r, void *base, void *item, size_t index);
void config_target_fits(conf *r, void *base, void *item, size_t index);
void config_kind_fits(conf *r, void *base, void *item, size_t index);
void *config_header_named(conf *r, void *base, void *item, daruma_str key);
void *config_kind_named(conf *r, void *base, void *item, daruma_str key);
const char *config_kind_name(size_t i);
void config_builtin(conf *r, void *base); /* the providers that need no file */

/* Tells what of the files and addresses that a configuration names cannot be used. Nothing is written. `listens`: its
 * address is to be taken, too. */
void config_outside(conf *r, config *c, bool listens);
#endif
