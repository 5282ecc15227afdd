/* check.h - how commands tell an error of the configuration. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H
#include "gateway/config.h"
#include <stdio.h>

/* "FILE:LINE:COL: text", the line as far as it holds no secret, and a caret below the place. */
void check_print_error(FILE *out, const char *file, const config_error *e);
#endif
