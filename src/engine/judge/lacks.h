/* lacks.h - what a refusal says that the model cannot do at all. */
#ifndef JUDGE_LACKS_H
#define JUDGE_LACKS_H
#include "daruma_parts.h"

/* Bits of daruma_ability that the words of `f` say its model lacks; 0 where they are about how something was asked. */
uint8_t judge_lacks(const daruma_failure *f);
#endif
