/* backend/cuda/q_q5_k.cuh (private) - Q5_K in tiles (super.cuh).
 * The file: f16 d, dmin, u8 sc[12], u8 qh[32]: bit j of byte l is the fifth bit of element 32 j +
 * l, u8 qs[128] as in Q4_K; weight = d scale q - dmin min.  Tile: 1.02 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q5_K_CUH
#define BACKEND_CUDA_Q_Q5_K_CUH
#include "backend/cuda/super.cuh"

struct gpu_use_q5_k : gpu_super_base {
	enum { TYPE = INFER_Q5_K, RAW = 176, D = 0, SC = 4, QH = 16, QS = 48, SCALES = 8, MIN = 1 };
	typedef tile_part5<0> P;
	GPU_FN int code(const unsigned char *p, int k)
	{
		return (p[QS + k / 64 * 32 + k % 32] >> k / 32 % 2 * 4 & 15) |
		       (p[QH + k % 32] >> k / 32 & 1) << 4;
	}
	GPU_FN int scale(const unsigned char *p, int j) { return tile_k4_scale(p + SC, j); }
	GPU_FN int min(const unsigned char *p, int j) { return tile_k4_min(p + SC, j); }
};
struct gpu_q5_k : gpu_tile_super<gpu_use_q5_k> {
};
#endif
