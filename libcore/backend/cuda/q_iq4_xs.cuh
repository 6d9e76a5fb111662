/* backend/cuda/q_iq4_xs.cuh (private) - IQ4_XS in tiles (super.cuh).
 * The file: f16 d, u16 sh (bits 2 j and 2 j + 1: high bits of scale j), u8 sl[4] (half-bytes: low
 * four bits of the scales), u8 qs[128]: 16 bytes as in Q4_0 for each 32; weight = d (scale - 32)
 * table[q].  Tile: 1.02 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_IQ4_XS_CUH
#define BACKEND_CUDA_Q_IQ4_XS_CUH
#include "backend/cuda/super.cuh"
#include "backend/cuda/table.cuh"

struct gpu_use_iq4_xs : gpu_super_base {
	enum {
		TYPE = INFER_IQ4_XS,
		RAW = 136,
		D = 0,
		SH = 2,
		SL = 4,
		QS = 8,
		SCALES = 8,
		MIN = 0,
		ZERO = 32
	};
	typedef tile_part4t<tile_iq4> P;
	GPU_FN int code(const unsigned char *p, int k)
	{
		return tile_nibble(p + QS + k / 32 * 16, k % 32);
	}
	GPU_FN int scale(const unsigned char *p, int j)
	{
		int low = p[SL + j / 2] >> j % 2 * 4 & 15, high = p[SH + j / 4] >> j % 4 * 2 & 3;

		return (low | high << 4) - ZERO;
	}
};
struct gpu_iq4_xs : gpu_tile_super<gpu_use_iq4_xs> {
};
#endif
