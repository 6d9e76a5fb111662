/* kern/x86/pack256.h - blocks of 256 of NR rows into a panel (x86).  The including file defines
 * the layout of a panel:
 *
 *   k_fields(t)         fields of [NR] dwords before the weights of a block; panel256(t): its bytes
 *   header_put            those fields of eight rows
 *   unpack_for_tile     a block of one row as the weights [64][NR][4] hold it */
#ifndef KERN_X86_PACK256_H
#define KERN_X86_PACK256_H

/* pack a block of n rows of eight at dst, their place in a panel */
INLINE void pack8(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n)
{
	const struct rows8 e = rows8_clamped(w, row_bytes, n);
	uint8_t *q = dst + NR * 4 * k_fields(type);
	__m256i v[8][8];
	struct header h;

	prefetch8(w, row_bytes, 0, block_bytes(type));
	header_get(type, &h, &e, 0);
	header_put(type, dst, &h);
	UNROLL
	for (int r = 0; r < 8; r++) {
		__m256i u[8];
		unpack_for_tile(type, u, e.p[r]);
		UNROLL
		for (int i = 0; i < 8; i++)
			v[i][r] = u[i];
	}
	UNROLL
	for (int i = 0; i < 8; i++) {
		transpose8(v[i]);
		UNROLL
		for (int j = 0; j < 8; j++)
			put32(q + (i * 8 + j) * NR * 4, v[i][j]);
	}
}

/* A block of all rows, then the next: the lines of the panel that eight rows fill in part are
 * filled by the others while they are in L1. */
INLINE void pack256(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                    int k)
{
	for (; k > 0; k -= 256, w += block_bytes(type), dst += panel256(type))
		for (int h = 0; h < NR; h += 8) {
			int from = h < n ? h : n - 1;
			pack8(type, dst + h * 4, w + (size_t)from * row_bytes, row_bytes,
			      h < n ? n - h : 1);
		}
}
#endif
