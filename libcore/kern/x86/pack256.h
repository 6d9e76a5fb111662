/* kern/x86/pack256.h - pack blocks of 256 of NR rows into a panel (x86).  The including file
 * defines the layout of a panel:
 *
 *   k_fields(t)         number of fields of [NR] dwords before the weights of a block
 *   panel256(t)         bytes of a block
 *   header_put          store those fields of eight rows
 *   unpack_for_tile     unpack a block of one row, in the order of a panel's weights, [64][NR][4] */
#ifndef KERN_X86_PACK256_H
#define KERN_X86_PACK256_H

/* 1 if the bytes of eight rows are transposed before they are unpacked, because they are fewer */
INLINE int packs_bytes(enum infer_type t)
{
	return t == INFER_Q4_K || t == INFER_Q5_K || t == INFER_Q6_K || t == INFER_IQ4_XS;
}

/* Store the weights of half a block of eight rows.  q: the weights of the block in a panel. */
INLINE void pack_half(enum infer_type type, uint8_t *q, const struct rows8 *e, int half)
{
	const int by_nibble = type == INFER_IQ4_XS;
	const __m256i flip = _mm256_set1_epi8((char)(q_signed(type) ? FLIP : 0));
	__m256i v[3][8];

	UNROLL
	for (int g = 0; g < half_parts(type); g++) {
		UNROLL
		for (int r = 0; r < 8; r++)
			v[g][r] = load32(e->p[r] + half_at(type, half, g));
		transpose8(v[g]);
	}
	UNROLL
	for (int j = 0; j < 8; j++) {
		__m256i b[3], u[4];
		UNROLL
		for (int g = 0; g < half_parts(type); g++)
			b[g] = v[g][j];
		half_unpack(type, half, u, b);
		UNROLL
		for (int i = 0; i < 4; i++) {
			int at =
				by_nibble ? (i / 2 * 2 + j / 4) * 8 + i % 2 * 4 + j % 4 : i * 8 + j;
			put32(q + (32 * half + at) * NR * 4, _mm256_xor_si256(u[i], flip));
		}
	}
}

/* Store the weights of a whole block, unpacked row by row. */
INLINE void pack_unpacked(enum infer_type type, uint8_t *q, const struct rows8 *e)
{
	__m256i v[8][8];

	UNROLL
	for (int r = 0; r < 8; r++) {
		__m256i u[8];
		unpack_for_tile(type, u, e->p[r]);
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

/* Pack a block of n of eight rows at dst in a panel. */
INLINE void pack8(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n)
{
	const struct rows8 e = rows8_clamped(w, row_bytes, n);
	uint8_t *q = dst + NR * 4 * k_fields(type);
	struct header h;

	prefetch8(w, row_bytes, 0, block_bytes(type));
	header_get(type, &h, &e, 0);
	header_put(type, dst, &h);
	if (packs_bytes(type)) {
		pack_half(type, q, &e, 0);
		pack_half(type, q, &e, 1);
	} else {
		pack_unpacked(type, q, &e);
	}
}

/* Pack a block of all rows, then the next block: eight rows fill a cache line of the panel only in
 * part, and the other rows complete it while it is in L1. */
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
