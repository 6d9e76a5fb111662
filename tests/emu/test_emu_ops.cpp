/* test_emu_ops.cpp - the emulated machine itself: blocks, warps, matrices and functions of one
 * thread have the results of the PTX manual. */
#include "backend/cuda/gpu.h"
#include "gpu_test.h"
enum { WARP = 32, ORDERS = 5 };

static void set_order(int i)
{
	static const emu_order order[ORDERS] = { EMU_UP, EMU_DOWN, EMU_RANDOM, EMU_RANDOM,
		                                 EMU_RANDOM };

	emu_set_order(order[i], (uint64_t)i);
}

/* ---- a block and a grid ---- */

__global__ void count_threads(unsigned *seen, int *bad)
{
	DYNAMIC(uint32_t, fresh);
	unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	int n = (int)(blockDim.x * blockDim.y * blockDim.z);

	gpu_wait();
	if (fresh[t] != ~0u)
		atomicAdd(bad, 1);
	fresh[t] = t;
	atomicAdd(&seen[b * (unsigned)n + t], 1u);
	if (__syncthreads_count(t % 3 == 0) != (n + 2) / 3 || __syncthreads_or(t == 7) != 1 ||
	    __syncthreads_or(t > 4000) || __syncthreads_and(t < 4000) != 1 ||
	    __syncthreads_and(t != 9))
		atomicAdd(bad, 1);
}
static void test_grid_and_barriers(void)
{
	enum { THREADS = 8 * 5 * 2, BLOCKS = 3 * 2 * 4 };
	unsigned *seen = host<unsigned>(THREADS * BLOCKS);

	for (int i = 0; i < ORDERS; i++) {
		int bad = 0, wrong = 0;

		set_order(i);
		memset(seen, 0, THREADS * BLOCKS * sizeof *seen);
		expect_run(LAUNCH(count_threads, dim3(3, 2, 4), dim3(8, 5, 2), THREADS * 4,
		                  stream(), seen, &bad));
		for (int j = 0; j < THREADS * BLOCKS; j++)
			wrong += seen[j] != 1;
		expect(!bad && !wrong, "order %d: %d bad, %d threads not once", i, bad, wrong);
	}
	set_order(0);
}
/* a barrier does not wait for threads that have ended; an array of a template: one an instance */
template <int N> static inline int *own_array(void)
{
	SHARED(int, a, [N]);

	return a;
}
__global__ void leave_early(int *y)
{
	int *a = own_array<4>(), *b = own_array<5>();

	gpu_wait();
	if (threadIdx.x >= 40)
		return;
	if (threadIdx.x == 0)
		a[0] = 1, b[0] = 2;
	__syncthreads();
	y[threadIdx.x] = a[0] * 10 + b[0] + (a == own_array<4>() ? 100 : 0);
}
static void test_threads_that_end(void)
{
	for (int i = 0; i < ORDERS; i++) {
		int y[40], wrong = 0;

		set_order(i);
		expect_run(LAUNCH(leave_early, 1, 64, 0, stream(), y));
		for (int j = 0; j < 40; j++)
			wrong += y[j] != 112;
		expect(!wrong, "order %d: %d wrong", i, wrong);
	}
	set_order(0);
}
__global__ void use_atomics(int *y, unsigned *u, unsigned long long *w)
{
	int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	gpu_wait();
	atomicAdd(&y[0], t);
	atomicMax(&y[1], (t * 37) % 101);
	atomicMin(&y[2], (t * 37) % 101 - 200);
	for (int old = atomicCAS(&y[3], -1, -1), seen;
	     (seen = atomicCAS(&y[3], old, old + 2)) != old; old = seen)
		;
	atomicMax(&u[0], 0x80000000u + (unsigned)t);
	atomicMin(&u[1], 0x80000000u + (unsigned)t);
	atomicOr(&u[2], 1u << t % 32);
	atomicMax(w, (unsigned long long)t << 40);
}
static void test_atomics(void)
{
	int y[4] = { 0, -1000, 1000, 0 };
	unsigned u[3] = { 0, ~0u, 0 };
	unsigned long long w = 0;

	expect_run(LAUNCH(use_atomics, 4, 64, 0, stream(), y, u, &w));
	expect(y[0] == 255 * 128 && y[1] == 100 && y[2] == -200 && y[3] == 512, "%d %d %d %d", y[0],
	       y[1], y[2], y[3]);
	expect(u[0] == 0x800000ff && u[1] == 0x80000000 && u[2] == ~0u, "%x %x %x", u[0], u[1],
	       u[2]);
	expect(w == 255ull << 40, "%llx", w);
}

/* ---- a warp ---- */

template <class T> __global__ void shuffle_all(T *y, int width)
{
	int l = (int)threadIdx.x;
	T v = (T)(l * 3 + 1);

	gpu_wait();
	y[l] = __shfl_sync(~0u, v, l * 7 + 3, width);
	y[WARP + l] = __shfl_xor_sync(~0u, v, 5, width);
	y[2 * WARP + l] = __shfl_up_sync(~0u, v, 3u, width);
	y[3 * WARP + l] = __shfl_down_sync(~0u, v, 3u, width);
}
/* The lane that a shuffle reads, by segments of width lanes: a lane outside of it is replaced by
 * one's own; an index is taken modulo the width. */
static int source_lane(int kind, int l, int width)
{
	int base = l / width * width, in = l % width,
	    from[4] = { (l * 7 + 3) % width, in ^ 5, in - 3, in + 3 };
	int at = from[kind];

	if (kind == 1) { /* lanes of a lower segment can be read */
		at = l ^ 5;
		return at >= base + width ? l : at;
	}
	return at < 0 || at >= width ? l : base + at;
}
template <class T> static void try_shuffles(const char *name)
{
	for (int width = 1; width <= WARP; width *= 2) {
		T y[4 * WARP];

		expect_run(LAUNCH(shuffle_all<T>, 1, WARP, 0, stream(), y, width));
		for (int i = 0; i < 4 * WARP; i++) {
			T want = (T)(source_lane(i / WARP, i % WARP, width) * 3 + 1);

			expect(y[i] == want, "%s width %d: kind %d lane %d: %g, should be %g", name,
			       width, i / WARP, i % WARP, (double)y[i], (double)want);
		}
	}
}
__global__ void vote_in_parts(unsigned *y)
{
	int l = (int)threadIdx.x;
	unsigned mask = l < 12 ? 0xfffu : ~0xfffu;

	gpu_wait();
	y[l] = __ballot_sync(mask, l % 3 == 0);
	y[WARP + l] = (unsigned)__any_sync(mask, l == 2) * 2 + (unsigned)__all_sync(mask, l != 2);
	y[2 * WARP + l] = (unsigned)__shfl_sync(mask, l, l < 12 ? 5 : 20);
	y[3 * WARP + l] = (unsigned)__shfl_sync(mask, l, 20); /* not there for lanes below 12 */
}
static void test_shuffles_and_votes(void)
{
	unsigned y[4 * WARP];

	for (int i = 0; i < (small_test() ? 1 : ORDERS); i++) {
		set_order(i);
		try_shuffles<int>("int");
		try_shuffles<unsigned>("unsigned");
		try_shuffles<float>("float");
		try_shuffles<double>("double");
		try_shuffles<long long>("long long");
		expect_run(LAUNCH(vote_in_parts, 1, WARP, 0, stream(), y));
		for (int l = 0; l < WARP; l++) {
			int low = l < 12;

			expect(y[l] == (low ? 0x249u : 0x49249249u & ~0xfffu),
			       "ballot, lane %d: %x", l, y[l]);
			expect(y[WARP + l] == (low ? 2u : 1u), "any, all, lane %d: %x", l,
			       y[WARP + l]);
			expect(y[2 * WARP + l] == (low ? 5u : 20u), "shuffle, lane %d", l);
			expect(y[3 * WARP + l] == (low ? ~0u : 20u),
			       "a lane out of the mask, lane %d", l);
		}
	}
	set_order(0);
}

/* ---- matrices: where the elements of a fragment are, as the PTX manual has it ---- */

static int a16_row(int l, int i) { return l / 4 + (i < 2 || (i >= 4 && i < 6) ? 0 : 8); }
static int a16_col(int l, int i) { return l % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8); }
static int b16_row(int l, int i) { return l % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8); }
static int c_row(int l, int i) { return l / 4 + (i < 2 ? 0 : 8); }
static int c_col(int l, int i) { return l % 4 * 2 + (i & 1); }
static int a32_row(int l, int i) { return l / 4 + (i < 4 || (i >= 8 && i < 12) ? 0 : 8); }
static int a32_col(int l, int i) { return l % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16); }
static int b32_row(int l, int i) { return l % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16); }

template <int BF16> __global__ void one_mma(float *d, const uint32_t *a, const uint32_t *b)
{
	int l = (int)threadIdx.x;

	gpu_wait();
	(BF16 ? mma_bf16 : mma_f16)(d + 4 * l, a + 4 * l, b + 2 * l);
}
static void try_mma(int bf16, float c_scale)
{
	float a[16][16], b[16][8], c[16][8], d[WARP * 4];
	uint16_t fa[WARP * 8], fb[WARP * 4];
	uint16_t (*round)(float) = bf16 ? to_bf16 : to_half;
	float (*back)(uint16_t) = bf16 ? from_bf16 : from_half;

	for (int l = 0; l < WARP; l++) {
		for (int i = 0; i < 8; i++) {
			fa[8 * l + i] = round(uniform());
			a[a16_row(l, i)][a16_col(l, i)] = back(fa[8 * l + i]);
		}
		for (int i = 0; i < 4; i++) {
			fb[4 * l + i] = round(uniform());
			b[b16_row(l, i)][l / 4] = back(fb[4 * l + i]);
			d[4 * l + i] = c[c_row(l, i)][c_col(l, i)] = uniform() * c_scale;
		}
	}
	uint32_t ua[WARP * 4], ub[WARP * 2];
	memcpy(ua, fa, sizeof ua);
	memcpy(ub, fb, sizeof ub);
	expect_run(LAUNCH(bf16 ? one_mma<1> : one_mma<0>, 1, WARP, 0, stream(), d, ua, ub));
	for (int l = 0; l < WARP; l++)
		for (int i = 0; i < 4; i++) {
			double s = c[c_row(l, i)][c_col(l, i)];

			for (int k = 0; k < 16; k++)
				s += (double)a[c_row(l, i)][k] * b[k][c_col(l, i)];
			expect(fabs(d[4 * l + i] - s) < 16 * 0x1p-22 * (c_scale + 1),
			       "lane %d, %d: %.9g, should be %.9g", l, i, d[4 * l + i], s);
		}
}
template <int K> __global__ void one_mma_s8(int *d, const uint32_t *a, const uint32_t *b)
{
	int l = (int)threadIdx.x;

	gpu_wait();
	if (K == 32)
		mma_s8_32(d + 4 * l, a + 4 * l, b + 2 * l);
	else
		mma_s8_16(d + 4 * l, a + 2 * l, b[l]);
}
template <int K> static void try_mma_s8(void)
{
	enum { NA = K / 2, NB = K / 4 };
	int a[16][K], b[K][8], c[16][8], d[WARP * 4];
	int8_t fa[WARP * NA], fb[WARP * NB];

	fill_bytes(fa, sizeof fa);
	fill_bytes(fb, sizeof fb);
	for (int l = 0; l < WARP; l++) {
		for (int i = 0; i < NA; i++)
			a[a32_row(l, i)][a32_col(l, i)] = fa[NA * l + i];
		for (int i = 0; i < NB; i++)
			b[b32_row(l, i)][l / 4] = fb[NB * l + i];
		for (int i = 0; i < 4; i++)
			d[4 * l + i] = c[c_row(l, i)][c_col(l, i)] =
				random_below(1 << 20) - (1 << 19);
	}
	uint32_t ua[WARP * NA / 4], ub[WARP * NB / 4];
	memcpy(ua, fa, sizeof ua);
	memcpy(ub, fb, sizeof ub);
	expect_run(LAUNCH(one_mma_s8<K>, 1, WARP, 0, stream(), d, ua, ub));
	for (int l = 0; l < WARP; l++)
		for (int i = 0; i < 4; i++) {
			int s = c[c_row(l, i)][c_col(l, i)];

			for (int k = 0; k < K; k++)
				s += a[c_row(l, i)][k] * b[k][c_col(l, i)];
			expect(d[4 * l + i] == s, "k %d, lane %d, %d: %d, should be %d", K, l, i,
			       d[4 * l + i], s);
		}
}
static void test_mma_fragments(void)
{
	for (int cut = 0; cut < 2; cut++) {
		emu_set_mma(cut);
		for (int bf16 = 0; bf16 < 2; bf16++) {
			try_mma(bf16, 0);
			try_mma(bf16, 1);
			try_mma(bf16, 100);
		}
	}
	emu_set_mma(0);
	try_mma_s8<32>();
	try_mma_s8<16>();
}
/* 1 + 16 terms of 2^-24: in double 1 + 2^-20; cut to multiples of 2^-23 they are all lost */
static void test_mma_adds_two_ways(void)
{
	uint32_t a[WARP * 4], b[WARP * 2];
	uint16_t tiny = to_half(0x1p-12f);

	for (int i = 0; i < WARP * 4; i++)
		a[i] = (uint32_t)tiny << 16 | tiny;
	memcpy(b, a, sizeof b);
	for (int cut = 0; cut < 2; cut++) {
		float d[WARP * 4], want = cut ? 1 : 1 + 0x1p-20f;

		for (int i = 0; i < WARP * 4; i++)
			d[i] = 1;
		emu_set_mma(cut);
		expect_run(LAUNCH(one_mma<0>, 1, WARP, 0, stream(), d, a, b));
		for (int i = 0; i < WARP * 4; i++)
			expect(d[i] == want, "cut %d: %.9g, should be %.9g", cut, d[i], want);
	}
	emu_set_mma(0);
}
__global__ void load_matrices(uint32_t *y, const uint16_t *x, int row)
{
	SHARED(uint16_t, tile, [32 * 72]);
	int l = (int)threadIdx.x;

	gpu_wait();
	for (int i = 0; i < 8; i++)
		tile[l * row + i] = x[8 * l + i];
	__syncwarp();
	ldmatrix4(y + 4 * l, tile + l * row);
	ldmatrix4_trans(y + 4 * (WARP + l), tile + l * row);
}
static void test_ldmatrix(void)
{
	uint16_t x[32 * 8];
	uint32_t y[2 * WARP * 4];
	/* halves from one row of eight to the next, and cycles lost by each matrix */
	static const struct {
		int row, lost;
	} cases[] = { { 8, 0 }, { 16, 1 }, { 32, 3 }, { 64, 7 }, { 72, 0 } };

	for (int i = 0; i < 32 * 8; i++)
		x[i] = (uint16_t)(i * 257 + 3);
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		long long before = emu_counter(EMU_CONFLICTS);

		expect_run(LAUNCH(load_matrices, 1, WARP, 0, stream(), y, x, cases[c].row));
		before = emu_counter(EMU_CONFLICTS) - before;
		expect(before == 8 * cases[c].lost, "rows %d apart: %lld conflicts, should be %d",
		       cases[c].row, before, 8 * cases[c].lost);
		for (int i = 0; i < WARP * 4 * 2; i++) {
			int l = i / 8, m = i / 2 % 4, e = i % 2; /* lane, matrix, element */
			uint16_t got = (uint16_t)(y[i / 2] >> 16 * e),
				 tr = (uint16_t)(y[WARP * 4 + i / 2] >> 16 * e);
			int at = 8 * (8 * m + l / 4) + 2 * (l % 4) + e,
			    at_tr = 8 * (8 * m + 2 * (l % 4) + e) + l / 4;

			expect(got == x[at], "lane %d, matrix %d, %d", l, m, e);
			expect(tr == x[at_tr], "trans, lane %d, matrix %d, %d", l, m, e);
		}
	}
}

/* ---- words for one thread ---- */

static void test_integers(void)
{
	for (int i = 0; i < 2000; i++) {
		uint32_t a = random_bits(), b = random_bits() >> i % 32, c = random_bits();
		uint8_t x[8], add[4], sub[4];
		uint32_t perm = 0, u = c, ones = 0, first = 0, zeros = 0;
		int s = (int)c;

		memcpy(x, &a, 4);
		memcpy(x + 4, &b, 4);
		for (int j = 0; j < 4; j++) {
			s = (int)((uint32_t)s + (uint32_t)((int8_t)x[j] * (int8_t)x[4 + j]));
			u += (uint32_t)x[j] * x[4 + j];
			perm |= (uint32_t)x[c >> 4 * j & 7] << 8 * j;
			add[j] = (uint8_t)(x[j] + x[4 + j]);
			sub[j] = (uint8_t)(x[j] - x[4 + j]);
		}
		for (uint32_t j = 0; j < 32; j++) {
			ones += b >> j & 1;
			first = !first && b >> j & 1 ? j + 1 : first;
			zeros = b >> j & 1 ? 0 : zeros + 1;
		}
		expect(__dp4a((int)a, (int)b, (int)c) == s && __dp4a(a, b, c) == u,
		       "__dp4a(%x, %x, %x)", a, b, c);
		expect(__byte_perm(a, b, c & 0x7777) == perm, "__byte_perm(%x, %x, %x)", a, b,
		       c & 0x7777);
		uint32_t sum = __vadd4(a, b), diff = __vsub4(a, b);
		expect(!memcmp(&sum, add, 4) && !memcmp(&diff, sub, 4), "__vadd4, __vsub4(%x, %x)",
		       a, b);
		expect(__popc(b) == (int)ones && __ffs((int)b) == (int)first &&
		               __clz((int)b) == (int)zeros,
		       "__popc, __ffs, __clz(%x)", b);
		expect(__funnelshift_r(a, b, 8) == (a >> 8 | b << 24) &&
		               __funnelshift_l(a, b, 8) == (b << 8 | a >> 24),
		       "__funnelshift(%x, %x)", a, b);
	}
	expect(__clz(0) == 32 && __ffs(0) == 0 && __brev(1) == 0x80000000, "zero");
	expect(min(-1, 1) == -1 && max(1u, 2u) == 2 && min(NAN, 1.f) == 1 &&
	               max(2.5f, -1.f) == 2.5f,
	       "min, max");
}
static void test_halves(void)
{
	int wrong[4] = { 0 };

	for (uint32_t h = 0; h < 65536; h++) {
		float f = half_float((uint16_t)h), want = from_half((uint16_t)h),
		      g = bf16_float((uint16_t)h);

		wrong[0] += f != want && !(isnan(f) && isnan(want));
		wrong[1] += !isnan(f) && float_half(f) != h;
		wrong[2] += !isnan(g) && float_bf16(g) != h;
	}
	for (int i = 0; i < 200000; i++) {
		uint32_t u = random_bits() & ~(i % 3 ? 0u : 0xfffu); /* some of them ties */
		float f = gpu_float(u), a;

		if (isnan(f))
			continue;
		wrong[3] += float_half(f) != to_half(f) || float_bf16(f) != to_bf16(f);
		a = ldexpf(f, -random_below(40)); /* more that are near or below the smallest */
		wrong[3] += float_half(a) != to_half(a);
	}
	expect(!wrong[0] && !wrong[1] && !wrong[2] && !wrong[3], "%d %d %d %d", wrong[0], wrong[1],
	       wrong[2], wrong[3]);
	expect(float_half(NAN) == 0x7fff && float_bf16(NAN) == 0x7fff, "NaN as the device has it");
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_grid_and_barriers);
	RUN(test_threads_that_end);
	RUN(test_atomics);
	RUN(test_shuffles_and_votes);
	RUN(test_mma_fragments);
	RUN(test_mma_adds_two_ways);
	RUN(test_ldmatrix);
	RUN(test_integers);
	RUN(test_halves);
	return end_tests();
}
