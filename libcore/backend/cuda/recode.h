/* backend/cuda/recode.h (private) - recode weights of types without kernels to X8, with the same
 * values.
 *
 *      X8, 16 elements:   byte 0  f32 d
 *                              byte 4  i8 q[16]    value = d q, exactly; 10 bits a weight
 *
 * In these types every value is a scale times a small integer. d = (least nonzero |value| of the
 * 16) / k, with the least k > 0 for which every value is d times an integer of magnitude at most
 * 127. -0 becomes +0. */
#ifndef BACKEND_CUDA_RECODE_H
#define BACKEND_CUDA_RECODE_H
#include <stddef.h>
#include <stdint.h>

/* Return the bytes of a recoded row of k elements, a multiple of GPU_X8_K. */
size_t recode_row_bytes(int64_t k);
/* Recode one row of k elements to X8 at `to`, aligned to 4. k: a multiple of the type's block.
 * Returns 0 if X8 cannot represent a value of the row exactly.  Any thread. */
int recode_row(void *to, const void *from, int type, int64_t k);
#endif
