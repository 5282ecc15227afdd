/* args.h - what the files about tool calls share. */
#ifndef ENGINE_MEND_ARGS_H
#define ENGINE_MEND_ARGS_H
#include "engine/mend/mend.h"

/* `value` as the schema wants it, as far as nothing is lost; empty when memory ran out. It need not fit then. */
daruma_str args_coerce(daruma_str schema, daruma_str value, daruma_arena *a);
#endif
