/* backend/cuda/q_q4_k.cuh (private) - Q4_K in tiles (super.cuh).
 * The file: f16 d, dmin, u8 sc[12], u8 qs[128]: byte 32 p + l holds elements 64 p + l and 64 p + 32
 * + l; weight = d scale q - dmin min.  Scales are stored in a byte each: 1.03 of the file's bytes.
 * */
#ifndef BACKEND_CUDA_Q_Q4_K_CUH
#define BACKEND_CUDA_Q_Q4_K_CUH
#include "backend/cuda/super.cuh"

struct gpu_use_q4_k : gpu_super_base {
	enum { TYPE = INFER_Q4_K, RAW = 144, D = 0, SC = 4, QS = 16, SCALES = 8, MIN = 1 };
	typedef tile_part4<0> P;
	GPU_FN int code(const unsigned char *p, int k)
	{
		return p[QS + k / 64 * 32 + k % 32] >> k / 32 % 2 * 4 & 15;
	}
	GPU_FN int scale(const unsigned char *p, int j) { return tile_k4_scale(p + SC, j); }
	GPU_FN int min(const unsigned char *p, int j) { return tile_k4_min(p + SC, j); }
};
struct gpu_q4_k : gpu_tile_super<gpu_use_q4_k> {
};
#endif
