/* type/grids.h - value tables and codebooks of the IQ and FP4 types. */
#ifndef TYPE_GRIDS_H
#define TYPE_GRIDS_H
#include <stdint.h>

/* The values of the tables below, also for the registers of kernels. */
#define GRID_IQ4 -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
#define GRID_FP4 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12

extern const int8_t grid_iq4[16]; /* IQ4_NL, IQ4_XS */
extern const int8_t grid_fp4[16]; /* MXFP4, NVFP4: twice the E2M1 value; minus zero is 0 */
/* Codebooks: coordinate j of a point is byte j of its word, unsigned except for grid_iq1 (-1, 0,
 * 1). */
extern const uint64_t grid_iq2_xxs[256], grid_iq2_xs[512], grid_iq2_s[1024], grid_iq1[2048];
extern const uint32_t grid_iq3_xxs[256], grid_iq3_s[512];
/* Points of IQ2 as codes: two bits per coordinate, coordinate 0 in bits 0 and 1.  Codes 0, 1, 2 are
 * the values 8, 25, 43. */
extern const uint16_t grid_code_iq2_xxs[256], grid_code_iq2_xs[512], grid_code_iq2_s[1024];
/* Points of IQ3 as codes, to look up two coordinates at once: coordinates 0 and 1 in bits 0 ... 5,
 * 2 and 3 in bits 8 ... 13.  The value of code c is 8 c + 4, or 62 for 7 (IQ3_XXS), and 2 c + 1
 * (IQ3_S). */
extern const uint16_t grid_code_iq3_xxs[256], grid_code_iq3_s[512];

/* Return eight signs from seven stored ones: the eighth makes the number of minus signs even. */
static inline int grid_signs(uint32_t v) { return (int)(v | (uint32_t)__builtin_parity(v) << 7); }
#endif
