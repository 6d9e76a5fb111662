/* backend/cuda/q_q8_0.cuh (private) - Q8_0 in tiles (group.cuh).
 * The file: f16 d, i8 q[32]; weight = d q.  Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q8_0_CUH
#define BACKEND_CUDA_Q_Q8_0_CUH
#include "backend/cuda/group.cuh"

struct gpu_use_q8_0 : gpu_scale_f16 {
	enum { TYPE = INFER_Q8_0, RAW = 34 };
	typedef tile_part8 P;
	GPU_FN int code(const unsigned char *p, int k) { return p[2 + k]; }
};
struct gpu_q8_0 : gpu_tile_group<gpu_use_q8_0> {
};
#endif
