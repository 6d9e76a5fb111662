/* backend/cuda/q_q6_k.cuh (private) - Q6_K in tiles (super.cuh).
 * The file: u8 ql[128], u8 qh[64], i8 sc[16], f16 d; byte 64 H + 32 (j & 1) + l of ql holds the low
 * four bits of element 128 H + 32 j + l in half j / 2, byte 32 H + l of qh its high two bits at bit
 * 2 j; weight = d sc (q - 32).  Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_Q6_K_CUH
#define BACKEND_CUDA_Q_Q6_K_CUH
#include "backend/cuda/super.cuh"

struct gpu_use_q6_k : gpu_super_base {
	enum {
		TYPE = INFER_Q6_K,
		RAW = 210,
		QH = 128,
		SC = 192,
		D = 208,
		SCALES = 16,
		MIN = 0,
		TOP = 32
	};
	typedef tile_part6 P;
	GPU_FN int code(const unsigned char *p, int k)
	{
		int half = k / 128, j = k % 128 / 32, l = k % 32;
		int lo = p[64 * half + 32 * (j & 1) + l] >> j / 2 * 4 & 15;
		int hi = p[QH + 32 * half + l] >> 2 * j & 3;

		return (lo | hi << 4) ^ TOP;
	}
	GPU_FN int scale(const unsigned char *p, int j) { return (int8_t)p[SC + j]; }
};
struct gpu_q6_k : gpu_tile_super<gpu_use_q6_k> {
};
#endif
