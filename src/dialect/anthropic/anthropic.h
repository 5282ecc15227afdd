/* anthropic.h - what the files of Anthropic Messages share. */
#ifndef DIALECT_ANTHROPIC_H
#define DIALECT_ANTHROPIC_H
#include "dialect/kit/shapes.h"
#include "dialect/kit/turn_kit.h"

/* What was read from and written to the cache stands beside input_tokens; it counts here. */
turn_usage anthropic_read_usage(daruma_str usage);
void anthropic_put_usage(daruma_buf *out, const turn_usage *u);
/* A message up to the opening bracket of its content. */
void anthropic_put_head(daruma_buf *out, daruma_str id, uint64_t made, daruma_str model);
#endif
