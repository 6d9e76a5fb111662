/* backend/cuda/recode.h (private) - rows of types without kernels as X8, which holds the same
 * values.
 *
 *      X8, 16 elements:   0  f32 d
 *                         4  i8 q[16]         value = d q, d q exact; 10 bits a weight
 *
 * Values of such types are a float times a small integer; d is the least |value| of the group over
 * the least k > 0 under which every value is d times an integer up to 127.  -0 becomes +0. */
#ifndef BACKEND_CUDA_RECODE_H
#define BACKEND_CUDA_RECODE_H
#include <stddef.h>
#include <stdint.h>

/* Bytes of a row of k elements, a multiple of GPU_X8_K. */
size_t recode_row_bytes(int64_t k);
/* One row; k a multiple of the type's block, `to` aligned to 4.  Returns 0 if it has values that no
 * codes hold exactly.  Any thread. */
int recode_row(void *to, const void *from, int type, int64_t k);
#endif
