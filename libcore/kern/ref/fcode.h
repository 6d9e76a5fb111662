/* kern/ref/fcode.h - words of tmpl/mm_f.h for codes of floats.  Every other fcode.h defines the same. */
#ifndef KERN_REF_FCODE_H
#define KERN_REF_FCODE_H
#include "kern/ref/simd.h"
#include "type/nf4.h"

/* 16 codes of E4M3 times d / 256: the codes are read as f16, whose exponents have a bias that is larger by 8 */
static inline vf v_e4m3(vf d, const uint8_t *p)
{
	for (int i = 0; i < 16; i++)
		d.of[i] *= num_f16((uint16_t)((p[i] & 0x80) << 8 | (p[i] & 0x7f) << 7));
	return d;
}
/* d times the values of NF4 of the low or the high halves of 16 bytes */
static inline vf v_nf4(vf d, const uint8_t *p, int high)
{
	for (int i = 0; i < 16; i++)
		d.of[i] *= nf4_table[high ? p[i] >> 4 : p[i] & 15];
	return d;
}
#endif
