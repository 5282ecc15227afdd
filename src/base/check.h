/* check.h - asserts that stay on in release: for what only a bug can break. What comes
 * from outside is never checked, it is handled. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H
#define check(x) ((x) ? (void)0 : __builtin_trap())
#endif
