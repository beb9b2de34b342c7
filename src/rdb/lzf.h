/* lzf.h: reading what is compressed with LZF. */
#ifndef LZF_H
#define LZF_H

#include "yonder.h"

/* The most that a byte of input can stand for (rounded up): three bytes say 264. */
#define LZF_RATIO_MAX 88

/* Fills out[0..len). Returns false when the input is not whole, or does not give exactly
 * len bytes. */
bool lzf_decode(struct yn_bytes packed, char *out, size_t len);

#endif
