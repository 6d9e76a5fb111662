/* backend/cuda/q_f16.cuh (private) - F16 in tiles: float.cuh with mma.f16. */
#ifndef BACKEND_CUDA_Q_F16_CUH
#define BACKEND_CUDA_Q_F16_CUH
#include "backend/cuda/float.cuh"

struct gpu_use_f16 {
	enum { TYPE = INFER_F16, FORM = GPU_F16 };
	GPU_FN void mma(float d[4], const uint32_t a[4], const uint32_t b[2]) { mma_f16(d, a, b); }
	GPU_FN float decode(uint16_t h) { return half_float(h); }
};
struct gpu_f16 : gpu_tile_float<gpu_use_f16> {
};
#endif
