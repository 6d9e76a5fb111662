/* backend/cuda/recode.h (private) - recode weights of types without kernels to X8, with the same
 * values.
 *
 *      X8, 16 elements:   0  f32 d
 *                         4  i8 q[16]         value = d q, d q exact; 10 bits a weight
 *
 * Values of such types are a float times a small integer.  d = (least nonzero |value| of the group)
 * / k, with the least k > 0 for which every value is d times an integer of at most 127.  -0 becomes
 * +0. */
#ifndef BACKEND_CUDA_RECODE_H
#define BACKEND_CUDA_RECODE_H
#include <stddef.h>
#include <stdint.h>

/* Return the bytes of a recoded row of k elements, a multiple of GPU_X8_K. */
size_t recode_row_bytes(int64_t k);
/* Recode one row of k elements, a multiple of the type's block, to `to`, aligned to 4.  Returns 0
 * if it has values that X8 cannot represent exactly.  Any thread. */
int recode_row(void *to, const void *from, int type, int64_t k);
#endif
