/*
 * glob.h: patterns over byte strings, as KEYS and SCAN use them:
 *   *        any bytes, none included
 *   ?        any one byte
 *   [a-z_]   one of these; [^...] one that is none of these; a missing ] ends with the
 * pattern \x       the byte x itself
 */
#ifndef GLOB_H
#define GLOB_H

#include "yonder.h"

/* True if the whole text matches. Cost O(pattern * text) at the worst. */
bool glob_matches(struct yn_bytes pattern, struct yn_bytes text);
/* The same without regard to the case of ASCII letters. */
bool glob_matches_nocase(struct yn_bytes pattern, struct yn_bytes text);

#endif
