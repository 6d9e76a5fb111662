/* backend/cuda/chain_act.cuh (private) - activations in the forms that products read: enum
 * gpu_form and struct gpu_act of launch.h.  A warp makes one block of GPU_BLOCK elements.
 *
 *   I8    lane l stores bytes 8 l ... 8 l + 7 of the block.  With c = l / 8, t = l / 2 % 4,
 *         h = l % 2 they are k = 64 c + 32 h + 4 t + 0 ... 3 and the same + 16: the order of
 *         mma.m16n8k32.
 *   F16   2^e is chosen so that the largest |x| / 2^e is in [2^13, 2^14), but e >= -126.  All terms
 *         after the first of a value that is not finite are 0.
 *   F16, BF16   lane l stores k = 8 l ... 8 l + 7 of each term.
 *
 * A row has gpu_blocks(k) elements of d and 8 gpu_blocks(k) of sum; k is padded with
 * zeros. */
#ifndef BACKEND_CUDA_CHAIN_ACT_CUH
#define BACKEND_CUDA_CHAIN_ACT_CUH
#include "backend/cuda/chain_row.cuh"

enum {
	ACT_LANE = GPU_BLOCK / 32, /* elements of a lane */
	ACT_F16_TOP = 13,          /* exponent of the largest element of a block of F16 */
	ACT_BIAS = 127,            /* bias of a float's exponent */
};

/* gpu_blocks on the device */
GPU_FN int act_blocks(int n) { return (n + GPU_BLOCK - 1) / GPU_BLOCK; }

/* Read x[k ... k + 3] of a row of n elements; 0 if k + i >= n.  Rows with n % 4 == 0 are aligned. */
GPU_FN void act_load4(float *v, const float *x, int k, int n)
{
	if (n % 4 == 0) {
		float4 f = k < n ? *(const float4 *)(x + k) : make_float4(0, 0, 0, 0);

		v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
		return;
	}
	for (int i = 0; i < 4; i++)
		v[i] = k + i < n ? x[k + i] : 0;
}

/* Return the bits of the largest magnitude of a block.  NaN counts as larger than inf. */
GPU_FN uint32_t act_amax(const float v[ACT_LANE])
{
	uint32_t most = 0;

	for (int i = 0; i < ACT_LANE; i++) {
		uint32_t u = gpu_bits(v[i]) & 0x7fffffff;

		most = u > most ? u : most;
	}
	for (int i = 16; i; i /= 2) {
		uint32_t u = __shfl_xor_sync(~0u, most, i);

		most = u > most ? u : most;
	}
	return most;
}

/* Return the scale of a block of I8, and set its inverse, as act_scale of kern/act.h does. */
GPU_FN float act_scale8(uint32_t amax, float *inverse)
{
	float d = gpu_float(amax) / 127.0f;
	bool fine = d >= 0x1p-126f && gpu_bits(d) < 0x7f800000;

	*inverse = fine ? 1.0f / d : 0.0f;
	return fine || !(d < 0x1p-126f) ? d : 0.0f;
}

/* Round x * inverse to the nearest, ties to even: adding 1.5 * 2^23 leaves the integer in the low
 * bits */
GPU_FN int act_round8(float x, float inverse)
{
	return inverse == 0 ? 0 : (int)(gpu_bits(x * inverse + 0x1.8p23f) - 0x4b400000);
}

/* Store a block of I8.  v: the lane's elements, in the order of I8 above. */
GPU_FN void act_store_i8(const struct gpu_act *act, int row, int block, int blocks,
                         const float v[ACT_LANE])
{
	int lane = chain_thread() % 32;
	unsigned char *q =
		(unsigned char *)act->q + (size_t)row * act->row_bytes + (size_t)block * GPU_BLOCK;
	size_t at = (size_t)row * (size_t)blocks + (size_t)block;
	uint32_t word[2] = { 0, 0 };
	float d, inverse;
	int sum = 0;

	d = act_scale8(act_amax(v), &inverse);
	for (int i = 0; i < ACT_LANE; i++) {
		int r = act_round8(v[i], inverse);

		word[i / 4] |= (uint32_t)(r & 255) << 8 * (i % 4);
		sum += r;
	}
	*(uint2 *)(q + 8 * lane) = make_uint2(word[0], word[1]);
	sum += __shfl_xor_sync(~0u, sum, 2);
	sum += __shfl_xor_sync(~0u, sum, 4);
	if (lane / 2 % 4 == 0)
		act->sum[at * 8 + (size_t)(lane / 8 * 2 + lane % 2)] = (int16_t)sum;
	if (lane == 0)
		act->d[at] = d;
}
GPU_FN void act_block_i8(const struct gpu_act *act, int row, int block, int blocks, const float *x,
                         int n)
{
	int lane = chain_thread() % 32,
	    k = GPU_BLOCK * block + lane / 8 * 64 + lane % 2 * 32 + lane / 2 % 4 * 4;
	float v[ACT_LANE];

	act_load4(v, x, k, n);
	act_load4(v + 4, x, k + 16, n);
	act_store_i8(act, row, block, blocks, v);
}

/* Return 2^e of a block of F16, and set *inverse to 2^-e. */
GPU_FN float act_scale16(uint32_t amax, float *inverse)
{
	int e = (int)(amax >> 23) - ACT_BIAS - ACT_F16_TOP;

	e = e < 1 - ACT_BIAS ? 1 - ACT_BIAS : e;
	*inverse = gpu_float((uint32_t)(ACT_BIAS - e) << 23);
	return gpu_float((uint32_t)(ACT_BIAS + e) << 23);
}

/* Return the next term of a value v; *rest: v minus the term. */
template <int FORM> GPU_FN uint16_t act_term(float v, float *rest)
{
	uint16_t h = FORM == GPU_F16 ? float_half(v) : float_bf16(v);
	float f = FORM == GPU_F16 ? half_float(h) : bf16_float(h);

	*rest = (gpu_bits(f) & 0x7f800000) == 0x7f800000 ? 0 : v - f;
	return h;
}

/* Store a block of F16 or BF16.  x: the lane's elements, in order. */
template <int FORM>
GPU_FN void act_store_16(const struct gpu_act *act, int row, int block, int blocks,
                         const float x[ACT_LANE])
{
	int lane = chain_thread() % 32, k = GPU_BLOCK * block + ACT_LANE * lane;
	unsigned char *q = (unsigned char *)act->q + (size_t)row * act->row_bytes + (size_t)k * 2;
	float v[ACT_LANE], d, inverse = 1;

	if (FORM == GPU_F16) {
		d = act_scale16(act_amax(x), &inverse);
		if (lane == 0)
			act->d[(size_t)row * (size_t)blocks + (size_t)block] = d;
	}
	for (int i = 0; i < ACT_LANE; i++)
		v[i] = FORM == GPU_F16 ? x[i] * inverse : x[i];
	for (int t = 0; t < act->terms; t++) {
		uint32_t w[ACT_LANE / 2];

		for (int i = 0; i < ACT_LANE / 2; i++) {
			uint32_t low = act_term<FORM>(v[2 * i], &v[2 * i]);

			w[i] = low | (uint32_t)act_term<FORM>(v[2 * i + 1], &v[2 * i + 1]) << 16;
		}
		*(uint4 *)(q + (size_t)t * (size_t)blocks * GPU_BLOCK * 2) =
			make_uint4(w[0], w[1], w[2], w[3]);
	}
}
template <int FORM>
GPU_FN void act_block_16(const struct gpu_act *act, int row, int block, int blocks, const float *x,
                         int n)
{
	int k = GPU_BLOCK * block + ACT_LANE * (chain_thread() % 32);
	float v[ACT_LANE];

	act_load4(v, x, k, n);
	act_load4(v + 4, x, k + 4, n);
	act_store_16<FORM>(act, row, block, blocks, v);
}

/* Write blocks [from, to) of row `row` of act from x [n].  All GPU_ROW_THREADS threads of a block
 * call it; a warp writes each block.  F32: copy x, unless act is x itself. */
GPU_FN void act_make(const struct gpu_act *act, int row, const float *x, int n, int from, int to)
{
	int warp = chain_thread() / 32, blocks = act_blocks(n);
	float *copy = (float *)((unsigned char *)act->q + (size_t)row * act->row_bytes);

	to = to < blocks ? to : blocks;
	if (act->form == GPU_F32) {
		int end = to * GPU_BLOCK < n ? to * GPU_BLOCK : n;

		for (int i = from * GPU_BLOCK + chain_thread(); copy != x && i < end;
		     i += GPU_ROW_THREADS)
			copy[i] = x[i];
		return;
	}
	for (int b = from + warp; b < to; b += GPU_ROW_THREADS / 32)
		if (act->form == GPU_I8)
			act_block_i8(act, row, b, blocks, x, n);
		else if (act->form == GPU_F16)
			act_block_16<GPU_F16>(act, row, b, blocks, x, n);
		else
			act_block_16<GPU_BF16>(act, row, b, blocks, x, n);
}
#endif
