/* kern/amx/tiles.h - tile registers: 0 to 3 and 7 hold sums, 4 and 5 sixteen rows of weights each, 6
 * sixteen rows of x, with four bytes of k (or two bf16) of each in a row.  tests/kern defines TILE_LOAD
 * and the others as functions before it includes this.
 *
 * In assembly, because the intrinsics of some compilers do not declare that memory is read.  Each
 * call configures and releases the tiles, so no tile state must be saved at a thread switch. */
#ifndef KERN_AMX_TILES_H
#define KERN_AMX_TILES_H
#include <stdint.h>

struct tile_config {
	uint8_t palette, start, pad[14];
	uint16_t bytes[16]; /* bytes of a row, by tile */
	uint8_t rows[16];
};

#ifndef TILE_LOAD
#define TILE_LOAD(c, from, stride) \
	__asm__ volatile("tileloadd (%0,%1,1), %%tmm" #c \
	                 : \
	                 : "r"(from), "r"((long)(stride)) \
	                 : "memory")
#define TILE_PUT(c, to) \
	__asm__ volatile("tilestored %%tmm" #c ", (%0,%1,1)" : : "r"(to), "r"(64L) : "memory")
#define TILE_STORE(c, to, apart) \
	__asm__ volatile("tilestored %%tmm" #c ", (%0,%1,1)" \
	                 : \
	                 : "r"(to), "r"((long)(apart)) \
	                 : "memory")
#define TILE_ZERO(c) __asm__ volatile("tilezero %%tmm" #c : :)
/* c += a b: signed bytes into i32, or pairs of bf16 into f32 */
#define TILE_DOT(c, a, b) __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)
#define TILE_DOT_BF16(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)
#define TILE_SET(config) __asm__ volatile("ldtilecfg %0" : : "m"(config))
#define TILE_END() __asm__ volatile("tilerelease" : :)
#endif

/* Configure tiles for k_bytes bytes of k in a row: 32 or 64. */
static inline void tiles_begin(int k_bytes)
{
	struct tile_config c = { .palette = 1 };

	for (int i = 0; i < 8; i++) {
		c.rows[i] = (uint8_t)(i == 6 ? k_bytes / 4 : 16);
		c.bytes[i] = (uint16_t)(i == 4 || i == 5 ? k_bytes : 64);
	}
	TILE_SET(c);
}
#endif
