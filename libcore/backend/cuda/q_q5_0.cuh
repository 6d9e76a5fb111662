/* backend/cuda/q_q5_0.cuh (private) - Q5_0 in tiles (group.cuh).
 * The file: f16 d, u32 qh: bit i is the fifth bit of element i, u8 qs[16] as in Q4_0; weight = d (q
 * - 16).
 * Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q5_0_CUH
#define BACKEND_CUDA_Q_Q5_0_CUH
#include "backend/cuda/group.cuh"

struct gpu_use_q5_0 : gpu_scale_f16 {
	enum { TYPE = INFER_Q5_0, RAW = 22, QH = 2, QS = 6, TOP = 16 };
	typedef tile_part5<3> P;
	GPU_FN int code(const unsigned char *p, int k)
	{
		return (tile_nibble(p + QS, k) | (p[QH + k / 8] >> k % 8 & 1) << 4) ^ TOP;
	}
};
struct gpu_q5_0 : gpu_tile_group<gpu_use_q5_0> {
};
#endif
