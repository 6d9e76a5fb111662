/* backend/cuda/q_q3_k.cuh (private) - Q3_K in tiles (super.cuh).
 * The file: u8 hmask[32]: bit j of byte l is the third bit of element 32 j + l, u8 qs[64]: byte 32
 * H + l has the low two bits of element 128 H + 32 j + l at bit 2 j, u8 sc[12], f16 d; weight = d
 * (scale - 32) (q - 4).  Scales are stored in a byte each: 1.04 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q3_K_CUH
#define BACKEND_CUDA_Q_Q3_K_CUH
#include "backend/cuda/super.cuh"

struct gpu_use_q3_k : gpu_super_base {
	enum {
		TYPE = INFER_Q3_K,
		RAW = 110,
		QS = 32,
		SC = 96,
		D = 108,
		SCALES = 16,
		MIN = 0,
		TOP = 4,
		ZERO = 32,
	};
	typedef tile_part3 P;
	GPU_FN int code(const unsigned char *p, int k)
	{
		int low = p[QS + k / 128 * 32 + k % 32] >> k % 128 / 32 * 2 & 3;

		return (low | (p[k % 32] >> k / 32 & 1) << 2) ^ TOP;
	}
	GPU_FN int scale(const unsigned char *p, int j)
	{
		int low = j < 8 ? p[SC + j] & 15 : p[SC + j - 8] >> 4;

		return (low | (p[SC + 8 + j % 4] >> j / 4 * 2 & 3) << 4) - ZERO;
	}
};
struct gpu_q3_k : gpu_tile_super<gpu_use_q3_k> {
};
#endif
