/* ablated.h - lets tests/ablate.c take rows out of the phrase table and see which of them decide; see match.c. */
#ifndef ABLATED_H
#define ABLATED_H
#include <stdbool.h>
#include <stdint.h>
bool ablated_taken(uint16_t row);
void ablated_found(uint16_t row); /* counted from 1; 0: none */
#define MATCH_TAKEN(row) ablated_taken(row)
#define MATCH_FOUND(row) ablated_found(row)
#endif
