/* type/block.h - what the type files share: fields of a block without alignment, and sub-scales of the K types.
 * Block structs are bytes only, so that they may be laid over a file at any address. */
#ifndef TYPE_BLOCK_H
#define TYPE_BLOCK_H
#include <assert.h>
#include <stddef.h>
#include "base/num.h"
#include "type/type.h"

static inline float block_f16(const uint8_t at[2]) { return num_f16(num_u16(at)); }

/* Codes 0 ... 15 in 16 bytes: element i < 16 in the low half of byte i, element i >= 16 in the high half of byte i - 16. */
static inline int block_nibble(const uint8_t *qs, int i) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; }

/* Q4_K and Q5_K: eight 6-bit scales and eight 6-bit minima in 12 bytes; pair k of 32 elements. */
static inline void block_scale_min(const uint8_t sc[12], int k, int *scale, int *min)
{
	if (k < 4) {
		*scale = sc[k] & 63;
		*min = sc[k + 4] & 63;
	} else {
		*scale = (sc[k + 4] & 15) | sc[k - 4] >> 6 << 4;
		*min = sc[k + 4] >> 4 | sc[k] >> 6 << 4;
	}
}

/* The sign of element j under mask m: bit j set is minus. */
static inline float block_sign(int m, int j) { return m >> j & 1 ? -1.0f : 1.0f; }
#endif
