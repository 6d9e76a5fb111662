/* backend/cuda/pack_tmpl.cu - repack weights from the file's layout to tiles, compiled once for
 * each weight type (-DQ=...): thread i of the grid writes word i of the tiles (tile.cuh).
 *
 *      raw    n rows of k elements in the file's blocks, row_bytes apart
 *      to     [groups of 16 rows][blocks of 256 of k] tiles; 0 past row n and column k
 *
 * Runs once for each tensor at loading: bytes are read one at a time, from L1. */
#include "backend/cuda/q.cuh"

enum { PACK_THREADS = 256, PACK_GRID = 1 << 16, PACK_EACH = 8 /* least words of a thread */ };

template <class W>
__global__ void __launch_bounds__(PACK_THREADS)
	gpu_pack_kernel(uint32_t *to, const unsigned char *raw, size_t row_bytes, int64_t n, int k)
{
	const int words = W::TILE / TILE_WORD, blocks = tile_blocks(k);
	const int64_t tiles = (n + GPU_GROUP - 1) / GPU_GROUP * blocks, all = tiles * words;

	gpu_wait();
	for (int64_t i = (int64_t)blockIdx.x * PACK_THREADS + threadIdx.x; i < all;
	     i += (int64_t)gridDim.x * PACK_THREADS) {
		int64_t tile = i / words, row = tile / blocks * GPU_GROUP;
		struct tile_raw w;

		w.at = raw + (size_t)row * row_bytes;
		w.row_bytes = row_bytes;
		w.rows = n - row < GPU_GROUP ? (int)(n - row) : (int)GPU_GROUP;
		w.k0 = (int)(tile % blocks) * GPU_BLOCK;
		w.k = k;
		to[i] = W::word(&w, (int)(i % words));
	}
}

extern "C" int GPU_NAME(gpu_pack)(void *to, const void *raw, size_t row_bytes, int64_t n, int64_t k,
                                  cudaStream_t s);
int GPU_NAME(gpu_pack)(void *to, const void *raw, size_t row_bytes, int64_t n, int64_t k,
                       cudaStream_t s)
{
	int64_t words = (n + GPU_GROUP - 1) / GPU_GROUP * gpu_blocks(k) * (W::TILE / TILE_WORD),
		each = PACK_THREADS * PACK_EACH, grid = (words + each - 1) / each;

	if (n <= 0 || k <= 0)
		return cudaErrorInvalidValue;
	grid = grid < PACK_GRID ? grid : (int64_t)PACK_GRID;
	return LAUNCH(gpu_pack_kernel<W>, dim3((unsigned)grid), dim3(PACK_THREADS), 0, s,
	              (uint32_t *)to, (const unsigned char *)raw, row_bytes, n, (int)k);
}
