/* backend/cuda/layout.h (private) - the arrays of a plan in device and pinned memory. */
#ifndef BACKEND_CUDA_LAYOUT_H
#define BACKEND_CUDA_LAYOUT_H
#include "backend/cuda/plan.h"

/* Set p->offset, the offsets of p->acts, and the bytes that values and activations take.
 * INFER_ENOMEM */
int cuda_place_values(struct backend_plan *p, infer_error *err);
/* Divide the allocations at `device` and `pinned` into the arrays of p, and set p->bytes and
 * p->pinned_bytes.  If both are NULL, only compute the sizes.  INFER_ENOMEM: a size overflows. */
int cuda_layout(struct backend_plan *p, unsigned char *device, unsigned char *pinned,
                infer_error *err);
/* If the weight of MM node i is an F32 vector, return the bytes of its tiles, else 0. struct
 * cuda_weight stores vectors raw only, so the plan makes these tiles. */
size_t cuda_vector_bytes(const struct backend_plan *p, int32_t i);
/* Return the address of the tiles of that vector. */
unsigned char *cuda_vector_tiles(const struct backend_plan *p, int32_t i);
/* Return the struct gpu_act for x [rows][k] stored at `at`.  GPU_F32: `at` is the value itself. */
struct gpu_act cuda_act_at(int form, int terms, unsigned char *at, int64_t rows, int64_t k);
/* Return the bytes of those activations; GPU_F32: 0. */
size_t cuda_act_bytes(int form, int terms, int64_t rows, int64_t k);
#endif
