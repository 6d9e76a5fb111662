/* backend/cuda/layout.h (private) - the arrays of a plan in device and pinned memory. */
#ifndef BACKEND_CUDA_LAYOUT_H
#define BACKEND_CUDA_LAYOUT_H
#include "backend/cuda/plan.h"

/* Set p->offset, the offsets of p->acts, and the bytes that values and activations take.
 * INFER_ENOMEM */
int cuda_place_values(struct backend_plan *p, infer_error *err);
/* Divide the two allocations into the arrays of a plan, and set p->bytes and p->pinned_bytes.  Both
 * NULL: only compute the sizes; the addresses stay NULL.  INFER_ENOMEM: a size overflows. */
int cuda_layout(struct backend_plan *p, unsigned char *device, unsigned char *pinned,
                infer_error *err);
/* Return the bytes of the tiles of the weight of MM node i, if that is an F32 vector: struct
 * cuda_weight keeps vectors raw, so the plan makes the tiles.  Otherwise 0. */
size_t cuda_vector_bytes(const struct backend_plan *p, int32_t i);
/* Return the address of those tiles. */
unsigned char *cuda_vector_tiles(const struct backend_plan *p, int32_t i);
/* Return the activations of rows [rows][k] that begin at `at`.  GPU_F32: `at` is the value
 * itself. */
struct gpu_act cuda_act_at(int form, int terms, unsigned char *at, int64_t rows, int64_t k);
/* Return the bytes that they take; GPU_F32: 0. */
size_t cuda_act_bytes(int form, int terms, int64_t rows, int64_t k);
#endif
