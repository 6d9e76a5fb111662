/* type/grids.h - the value tables and codebooks of the IQ and FP4 types. */
#ifndef TYPE_GRIDS_H
#define TYPE_GRIDS_H
#include <stdint.h>

extern const int8_t grid_iq4[16];             /* IQ4_NL, IQ4_XS */
extern const int8_t grid_fp4[16];             /* MXFP4, NVFP4: twice the E2M1 value; minus zero is 0 */
/* Codebooks: coordinate j of a point is byte j of its word, unsigned but for grid_iq1 (-1, 0, 1). */
extern const uint64_t grid_iq2_xxs[256], grid_iq2_xs[512], grid_iq2_s[1024], grid_iq1[2048];
extern const uint32_t grid_iq3_xxs[256], grid_iq3_s[512];

/* Seven stored signs to eight: the eighth makes the number of minus signs even. */
static inline int grid_signs(uint32_t v) { return (int)(v | (uint32_t)__builtin_parity(v) << 7); }
#endif
