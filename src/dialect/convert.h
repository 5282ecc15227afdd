/* convert.h - the two halves of a conversion: what was said (convert.c), what is asked for (convert_settings.c). */
#ifndef DIALECT_CONVERT_H
#define DIALECT_CONVERT_H
#include "dialect/parts.h"

void dialect_lose(dialect_losses *lost, const char *what); /* each once */
/* Tools and settings of `from` into `out`, whose messages are there already and whose settings are still the source's.
 */
void convert_settings(const convo *from, const dialect *to, convo *out, dialect_losses *lost);
#endif
