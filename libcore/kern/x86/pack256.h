/* kern/x86/pack256.h - blocks of 256 of NR rows into a panel (x86).  The file before it says how a
 * panel is made:
 *
 *   k_fields(t)         fields of [NR] dwords before the weights of a block; panel256(t): its bytes
 *   head_put            those fields of eight rows
 *   unpack_for_tile     a block of one row as the weights [64][NR][4] hold it */
#ifndef KERN_X86_PACK256_H
#define KERN_X86_PACK256_H

/* n rows, of eight, to dst: their place in a panel */
INLINE void pack8(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                  int k)
{
	const struct eight e = eight_rows(w, row_bytes, n);

	for (size_t at = 0, end = (size_t)(k / 256 * block_bytes(type)); at < end;
	     at += (size_t)block_bytes(type), dst += panel256(type)) {
		uint8_t *q = dst + NR * 4 * k_fields(type);
		__m256i v[8][8];
		struct head h;
		ask_after(w, row_bytes, at, block_bytes(type));
		head_get(type, &h, &e, at);
		head_put(type, dst, &h);
		UNROLL
		for (int r = 0; r < 8; r++) {
			__m256i u[8];
			unpack_for_tile(type, u, e.p[r] + at);
			UNROLL
			for (int i = 0; i < 8; i++)
				v[i][r] = u[i];
		}
		UNROLL
		for (int i = 0; i < 8; i++) {
			turn8(v[i]);
			UNROLL
			for (int j = 0; j < 8; j++)
				put32(q + (i * 8 + j) * NR * 4, v[i][j]);
		}
	}
}

INLINE void pack256(enum infer_type type, uint8_t *dst, const uint8_t *w, size_t row_bytes, int n,
                    int k)
{
	for (int h = 0; h < NR; h += 8) {
		int from = h < n ? h : n - 1;
		pack8(type, dst + h * 4, w + (size_t)from * row_bytes, row_bytes, h < n ? n - h : 1,
		      k);
	}
}
#endif
