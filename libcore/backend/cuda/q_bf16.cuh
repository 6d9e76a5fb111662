/* backend/cuda/q_bf16.cuh (private) - BF16 in tiles: float.cuh with mma.bf16. */
#ifndef BACKEND_CUDA_Q_BF16_CUH
#define BACKEND_CUDA_Q_BF16_CUH
#include "backend/cuda/float.cuh"

struct gpu_use_bf16 {
	enum { TYPE = INFER_BF16, FORM = GPU_BF16 };
	GPU_FN void mma(float d[4], const uint32_t a[4], const uint32_t b[2]) { mma_bf16(d, a, b); }
	GPU_FN float decode(uint16_t h) { return bf16_float(h); }
};
struct gpu_bf16 : gpu_tile_float<gpu_use_bf16> {
};
#endif
