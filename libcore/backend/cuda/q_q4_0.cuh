/* backend/cuda/q_q4_0.cuh (private) - Q4_0 in tiles (group.cuh).
 * The file: f16 d, u8 qs[16]: elements 0 ... 15 in the low halves, 16 ... 31 in the high; weight =
 * d (q - 8).  Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q4_0_CUH
#define BACKEND_CUDA_Q_Q4_0_CUH
#include "backend/cuda/group.cuh"

struct gpu_use_q4_0 : gpu_scale_f16 {
	enum { TYPE = INFER_Q4_0, RAW = 18, QS = 2, TOP = 8 };
	typedef tile_part4<4> P;
	GPU_FN int code(const unsigned char *p, int k) { return tile_nibble(p + QS, k) ^ TOP; }
};
struct gpu_q4_0 : gpu_tile_group<gpu_use_q4_0> {
};
#endif
