/* backend/cuda/q_iq4_nl.cuh (private) - IQ4_NL in tiles (group.cuh).
 * The file: f16 d, u8 qs[16] as in Q4_0; weight = d table[q].  Tile: 1.00 of the file's bytes. */
#ifndef BACKEND_CUDA_Q_IQ4_NL_CUH
#define BACKEND_CUDA_Q_IQ4_NL_CUH
#include "backend/cuda/group.cuh"
#include "backend/cuda/table.cuh"

struct gpu_use_iq4_nl : gpu_scale_f16 {
	enum { TYPE = INFER_IQ4_NL, RAW = 18, QS = 2 };
	typedef tile_part4t<tile_iq4> P;
	GPU_FN int code(const unsigned char *p, int k) { return tile_nibble(p + QS, k); }
};
struct gpu_iq4_nl : gpu_tile_group<gpu_use_iq4_nl> {
};
#endif
