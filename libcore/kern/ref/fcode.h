/* kern/ref/fcode.h - vector operations of tmpl/mm_f.h on codes of floats (F8_E4M3, NF4).  Every
 * fcode.h defines these. */
#ifndef KERN_REF_FCODE_H
#define KERN_REF_FCODE_H
#include "kern/ref/simd.h"
#include "type/nf4.h"

/* 64 codes of E4M3 */
struct v_e4m3 {
	const uint8_t *q;
};
static inline struct v_e4m3 v_e4m3_load(const uint8_t *q) { return (struct v_e4m3){ q }; }
/* Return d times codes 16 j ... 16 j + 15 of E4M3.  They are read as f16, whose exponent bias is
 * larger by 8. */
static inline vf v_e4m3(vf d, struct v_e4m3 c, int j)
{
	for (int i = 0; i < 16; i++) {
		int q = c.q[16 * j + i];
		d.of[i] *= num_f16((uint16_t)((q & 0x80) << 8 | (q & 0x7f) << 7)) * 256;
	}
	return d;
}
/* Return d times the NF4 values of the low (j < 2) or the high halves of 16 bytes from qs + 16 (j %
 * 2) on. */
static inline vf v_nf4(vf d, const uint8_t *qs, int j)
{
	for (int i = 0; i < 16; i++)
		d.of[i] *= nf4_table[qs[j % 2 * 16 + i] >> j / 2 * 4 & 15];
	return d;
}
#endif
