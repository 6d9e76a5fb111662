/* kern/arm/by8.h - panels with 8 neighbours of 2 rows in a register, multiplied with 8 of 2 rows of x:
 * four sums in an instruction (i8mm); the operations of arm/tile.h. */

enum { WIDE = 4 };

/* Store 16 weights of 8 rows: qword i of rows 2 p and 2 p + 1 at q + 64 i + 16 p. */
INLINE void transpose16(int8_t *q, const int8x16_t r[8])
{
	UNROLL
	for (int p = 0; p < 4; p++) {
		int64x2_t a = vreinterpretq_s64_s8(r[2 * p]),
			  b = vreinterpretq_s64_s8(r[2 * p + 1]);
		vst1q_s8(q + 16 * p, vreinterpretq_s8_s64(vtrn1q_s64(a, b)));
		vst1q_s8(q + 64 + 16 * p, vreinterpretq_s8_s64(vtrn2q_s64(a, b)));
	}
}

/* acc[4 i + p] += the products of 16 weights of rows 2 p and 2 p + 1, from q on, with rows 2 i and
 * 2 i + 1 of x from byte `at` on.  If the number of rows of x is odd, the last is used twice. */
INLINE void chain16(int tn, int32x4_t *acc, const int8_t *q, const struct x_rows *x, int at)
{
	int8x16_t lo[TILE_T / 2], hi[TILE_T / 2];

	UNROLL
	for (int t = 0; t < tn; t += 2) {
		const int8_t *x0 = (const int8_t *)x_row_at(x, t) + at;
		const int8_t *x1 = (const int8_t *)x_row_at(x, t + 1 < tn ? t + 1 : t) + at;
		int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(x0)),
			  b = vreinterpretq_s64_s8(vld1q_s8(x1));
		lo[t / 2] = vreinterpretq_s8_s64(vtrn1q_s64(a, b));
		hi[t / 2] = vreinterpretq_s8_s64(vtrn2q_s64(a, b));
	}
	UNROLL
	for (int p = 0; p < 4; p++) {
		int8x16_t a = vld1q_s8(q + 16 * p), b = vld1q_s8(q + 64 + 16 * p);
		UNROLL
		for (int i = 0; 2 * i < tn; i++) {
			acc[4 * i + p] = vmmlaq_s32(acc[4 * i + p], a, lo[i]);
			acc[4 * i + p] = vmmlaq_s32(acc[4 * i + p], b, hi[i]);
		}
	}
}

INLINE void unpair_rows(int tn, int32x4_t *acc)
{
	UNROLL
	for (int i = 0; i < 2 * tn; i += 4) {
		int32x4_t a = acc[i], b = acc[i + 1], c = acc[i + 2], d = acc[i + 3];
		acc[i] = vuzp1q_s32(a, b);
		acc[i + 1] = vuzp1q_s32(c, d);
		acc[i + 2] = vuzp2q_s32(a, b);
		acc[i + 3] = vuzp2q_s32(c, d);
	}
}
