/* backend/cuda/q_q4_1.cuh (private) - Q4_1 in tiles (group.cuh).
 * The file: f16 d, m, u8 qs[16]: elements 0 ... 15 in the low halves, 16 ... 31 in the high; weight
 * = d q + m.  Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q4_1_CUH
#define BACKEND_CUDA_Q_Q4_1_CUH
#include "backend/cuda/group.cuh"

struct gpu_use_q4_1 : gpu_scale_min_f16 {
	enum { TYPE = INFER_Q4_1, RAW = 20, QS = 4 };
	typedef tile_part4<0> P;
	GPU_FN int code(const unsigned char *p, int k) { return tile_nibble(p + QS, k); }
};
struct gpu_q4_1 : gpu_tile_group<gpu_use_q4_1> {
};
#endif
