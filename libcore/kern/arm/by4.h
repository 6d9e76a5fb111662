/* kern/arm/by4.h - panels with 4 neighbours of 4 rows in a register, multiplied with 4 bytes of one row
 * of x in all lanes; the operations of arm/tile.h made from dot_lane(acc, w, x, lane) of int.h. */
#ifndef dot_lane
#error "kern/arm/by4.h: int.h defines no dot_lane(acc, w, x, lane)"
#endif

enum { WIDE = 2 };

/* Store 16 weights of 8 rows: dword i of rows 0-3, then of rows 4-7, at q + 32 i. */
INLINE void transpose16(int8_t *q, const int8x16_t r[8])
{
	UNROLL
	for (int h = 0; h < 2; h++, r += 4, q += 16) {
		int32x4_t a = vreinterpretq_s32_s8(r[0]), b = vreinterpretq_s32_s8(r[1]),
			  c = vreinterpretq_s32_s8(r[2]), d = vreinterpretq_s32_s8(r[3]);
		int64x2_t e = vreinterpretq_s64_s32(vtrn1q_s32(a, b)),
			  f = vreinterpretq_s64_s32(vtrn2q_s32(a, b)),
			  g = vreinterpretq_s64_s32(vtrn1q_s32(c, d)),
			  i = vreinterpretq_s64_s32(vtrn2q_s32(c, d));
		vst1q_s8(q, vreinterpretq_s8_s64(vtrn1q_s64(e, g)));
		vst1q_s8(q + 32, vreinterpretq_s8_s64(vtrn1q_s64(f, i)));
		vst1q_s8(q + 64, vreinterpretq_s8_s64(vtrn2q_s64(e, g)));
		vst1q_s8(q + 96, vreinterpretq_s8_s64(vtrn2q_s64(f, i)));
	}
}

/* acc[2 t + h] += the products of 16 weights of each row, from q on, with x from byte `at` on. */
INLINE void chain16(int tn, int32x4_t *acc, const int8_t *q, const struct x_rows *x, int at)
{
	int8x16_t xv[TILE_T];

	UNROLL
	for (int t = 0; t < tn; t++)
		xv[t] = vld1q_s8((const int8_t *)x_row_at(x, t) + at);
#define LANE(i) \
	do { \
		int8x16_t a = vld1q_s8(q + 32 * i), b = vld1q_s8(q + 32 * i + 16); \
		UNROLL \
		for (int t = 0; t < tn; t++) { \
			acc[2 * t] = dot_lane(acc[2 * t], a, xv[t], i); \
			acc[2 * t + 1] = dot_lane(acc[2 * t + 1], b, xv[t], i); \
		} \
	} while (0)
	LANE(0);
	LANE(1);
	LANE(2);
	LANE(3);
#undef LANE
}

INLINE void unpair_rows(int tn, int32x4_t *acc) { (void)tn, (void)acc; }
