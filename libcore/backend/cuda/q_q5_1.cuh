/* backend/cuda/q_q5_1.cuh (private) - Q5_1 in tiles (group.cuh).
 * The file: f16 d, m, u32 qh: bit i is the fifth bit of element i, u8 qs[16] as in Q4_0; weight = d
 * q + m.
 * Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q5_1_CUH
#define BACKEND_CUDA_Q_Q5_1_CUH
#include "backend/cuda/group.cuh"

struct gpu_use_q5_1 : gpu_scale_min_f16 {
	enum { TYPE = INFER_Q5_1, RAW = 24, QH = 4, QS = 8 };
	typedef tile_part5<0> P;
	GPU_FN int code(const unsigned char *p, int k)
	{
		return tile_nibble(p + QS, k) | (p[QH + k / 8] >> k % 8 & 1) << 4;
	}
};
struct gpu_q5_1 : gpu_tile_group<gpu_use_q5_1> {
};
#endif
