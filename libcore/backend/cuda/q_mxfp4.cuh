/* backend/cuda/q_mxfp4.cuh (private) - MXFP4 in tiles (group.cuh).
 * The file: u8 e, u8 qs[16] as in Q4_0; weight = 2^(e - 128) table[q], where table[q] is twice the
 * E2M1 value of q.  Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_MXFP4_CUH
#define BACKEND_CUDA_Q_MXFP4_CUH
#include "backend/cuda/group.cuh"
#include "backend/cuda/table.cuh"

struct gpu_use_mxfp4 {
	enum { TYPE = INFER_MXFP4, RAW_K = 32, RAW = 17, QS = 1, MIN = 0, SCALE_BYTES = 1 };
	typedef tile_part4t<tile_fp4> P;
	GPU_FN int code(const unsigned char *p, int k) { return tile_nibble(p + QS, k); }
	GPU_FN uint32_t scale_bits(const unsigned char *p) { return p[0]; }
	GPU_FN uint32_t min_bits(const unsigned char *) { return 0; }
	/* for e = 0 and 1 the scale is a subnormal float */
	GPU_FN float scale(uint32_t bits)
	{
		uint32_t e = bits & 255;

		return gpu_float(e < 2 ? 0x00200000u << e : (e - 1) << 23);
	}
};
struct gpu_mxfp4 : gpu_tile_group<gpu_use_mxfp4> {
};
#endif
