/* emu.h - runs CUDA kernels on the host: the functions of backend/cuda/gpu.h and of CUDA, in C++.
 *
 *   g++ -std=c++17 -ffp-contract=off -Wno-unknown-pragmas -Itests/emu ... -x c++ kernel.cu
 *   linked with emu*.cpp (blocks, warps, threads) and cudart*.cpp (the runtime)
 *
 * Blocks run one after the other; each thread of a block is a fibre.  A thread runs until it has to
 * wait (barrier, shuffle, vote, mma).  The environment sets the order of threads and blocks:
 *   EMU_ORDER=up|down   ascending, descending
 *   EMU_SEED=n          random; a warp is preferred as long as it can run
 * A correct kernel has the same bits in every order.  Mistakes that are detected:
 *   uninitialised    shared and fresh device memory is NaN bytes
 *   out of bounds    red zones around shared arrays: ASan reports accesses; without it, writes are
 *                    found at the end of the block.  Each stack has a guard page
 *   cp.async         data is written at the copy_wait that it needs; the target is NaN bytes before
 *   warps            the run aborts if lanes of a mask are missing or in different operations
 *   gpu_wait         the run aborts if a thread ends without it.  One block of each kernel runs up
 *                    to gpu_wait before the previous kernel of its stream runs, so it reads old
 *                    values
 *   races            under TSan each thread is a TSan fibre: accesses that no barrier orders are
 *                    reported, whatever the order of the run
 *   ldmatrix         bank conflicts are counted, see emu_control.h
 * Float mma adds in double and rounds once; EMU_MMA=trunc aligns the terms to the largest and
 * truncates them, as sm_80 does.  Results must be within their bounds both ways.
 *
 * Not emulated: wgmma, TMA, tcgen05, clusters, named barriers.  For TSan,
 * atomics are relaxed and __threadfence orders them. */
#ifndef EMU_H
#define EMU_H
#ifndef __cplusplus
#error "emu.h is C++; C files include cuda_runtime_api.h"
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "cuda_runtime_api.h"
#include "emu_control.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
#define EMU_TSAN 1
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define EMU_ASAN 1
#endif
#ifdef EMU_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreReadsBegin(const char *, int),
	AnnotateIgnoreReadsEnd(const char *, int);
extern "C" void AnnotateIgnoreWritesBegin(const char *, int),
	AnnotateIgnoreWritesEnd(const char *, int);
#define EMU_RELEASE(p) __tsan_release(p)
#define EMU_ACQUIRE(p) __tsan_acquire(p)
static inline void emu_hush(void)
{
	AnnotateIgnoreReadsBegin("", 0);
	AnnotateIgnoreWritesBegin("", 0);
}
static inline void emu_unhush(void)
{
	AnnotateIgnoreWritesEnd("", 0);
	AnnotateIgnoreReadsEnd("", 0);
}
#else
#define EMU_RELEASE(p) (void)(p)
#define EMU_ACQUIRE(p) (void)(p)
static inline void emu_hush(void) {}
static inline void emu_unhush(void) {}
#endif

/* ---- types ---- */
#define EMU_VECTORS(T, name, align) \
	struct alignas(2 * sizeof(T)) name##2 { T x, y; }; \
	struct name##3 { T x, y, z; }; \
	struct alignas(align) name##4 { T x, y, z, w; }; \
	static inline name##2 make_##name##2(T x, T y) { return name##2 { x, y }; } \
	static inline name##3 make_##name##3(T x, T y, T z) { return name##3 { x, y, z }; } \
	static inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4 { x, y, z, w }; }
EMU_VECTORS(int8_t, char, 4)
EMU_VECTORS(uint8_t, uchar, 4)
EMU_VECTORS(int16_t, short, 8)
EMU_VECTORS(uint16_t, ushort, 8)
EMU_VECTORS(int, int, 16)
EMU_VECTORS(unsigned, uint, 16)
EMU_VECTORS(float, float, 16)
EMU_VECTORS(double, double, 16)
#undef EMU_VECTORS
struct dim3 {
	unsigned x, y, z;
	dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define GPU_FN static inline __attribute__((unused))

/* ---- the machine: emu.cpp, emu_ops.cpp ---- */
enum { EMU_WARP = 32, EMU_COPIES = 128 };
struct emu_copy {
	void *to;
	const void *from;
	int n, group;
};
struct emu_thread {
	void *sp, *tsan, *fake;
	uint3 tid;
	int rank, state, waited, turn, turn_warp;
	const char *what; /* its operation */
	unsigned mask;
	const void *in;
	void *out;
	int copy_first, copy_next, group; /* copies[i % EMU_COPIES] are in flight */
	emu_copy copies[EMU_COPIES];
};
extern emu_thread *emu_current;
extern uint3 emu_block_id;
extern dim3 emu_block_dim, emu_grid_dim;
extern unsigned char *emu_shared;
#define threadIdx (emu_current->tid)
#define blockIdx (emu_block_id)
#define blockDim (emu_block_dim)
#define gridDim (emu_grid_dim)
static const int warpSize = EMU_WARP;

[[noreturn]] void emu_die(const char *s);
void *emu_array(const void *key, size_t size);
int emu_barrier(const char *what, int vote); /* returns the votes that are not 0 */
emu_thread *emu_meet(const char *what, unsigned mask, const void *in, void *out);
void emu_leave(unsigned mask);
void emu_tick(int kind, long long n);
void emu_copy_put(void *to, const void *from, int n);
int emu_copy_get(emu_copy *c, int left);
void emu_copy_commit(void);
void emu_wait_grid(void);
char *emu_warp_sync(void);
extern char emu_fence;
cudaError_t emu_enqueue(cudaStream_t s, dim3 grid, dim3 block, size_t bytes, void (*call)(void *),
                        const void *user, size_t size);

template <typename... P, typename... A>
static cudaError_t emu_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t bytes,
                              cudaStream_t s, A... args)
{
	auto f = [=] { kernel(P(args)...); };
	typedef decltype(f) F;

	static_assert(__is_trivially_copyable(F) && alignof(F) <= 16,
	              "arguments are copied as bytes");
	static_assert((sizeof(P) + ... + 0) <= 32764, "too many bytes of arguments");
	return emu_enqueue(
		s, grid, block, bytes, [](void *p) { (*(F *)p)(); }, &f, sizeof f);
}
#define LAUNCH(...) emu_launch(__VA_ARGS__)
#define SHARED(T, name, dims) \
	static char name##_key; \
	T(&name) dims = *(T(*) dims)emu_array(&name##_key, sizeof(T dims))
#define DYNAMIC(T, name) T *name = (T *)emu_shared

static inline void gpu_wait(void) { emu_wait_grid(); }
static inline void gpu_next(void) {}

/* ---- a block ---- */
static inline void __syncthreads(void) { emu_barrier("__syncthreads", 0); }
static inline int __syncthreads_count(int p) { return emu_barrier("__syncthreads_count", p); }
static inline int __syncthreads_or(int p) { return emu_barrier("__syncthreads_or", p) != 0; }
static inline int __syncthreads_and(int p) { return emu_barrier("__syncthreads_and", !p) == 0; }
static inline void __threadfence(void)
{
	EMU_ACQUIRE(&emu_fence);
	EMU_RELEASE(&emu_fence);
}
static inline void __threadfence_block(void) { __threadfence(); }
static inline void __trap(void) { emu_die("__trap"); }

/* ---- a warp: work(in, out) runs once for all lanes of the mask; NULL for other lanes ---- */
template <class In, class Out, class F>
static inline Out emu_warp(const char *what, unsigned mask, const In &in, F work)
{
	Out out = Out();

	emu_hush();
	if (emu_thread *warp = emu_meet(what, mask, &in, &out)) {
		const In *ins[EMU_WARP];
		Out *outs[EMU_WARP];

		for (int i = 0; i < EMU_WARP; i++) {
			ins[i] = mask >> i & 1 ? (const In *)warp[i].in : nullptr;
			outs[i] = mask >> i & 1 ? (Out *)warp[i].out : nullptr;
		}
		work(ins, outs);
		emu_leave(mask);
	}
	emu_unhush();
	return out;
}
static inline void __syncwarp(unsigned mask = ~0u)
{
	char *sync = emu_warp_sync();

	EMU_RELEASE(sync);
	emu_warp<int, int>("__syncwarp", mask, 0, [](const int **, int **) {});
	EMU_ACQUIRE(sync);
}
template <class T> struct emu_shfl {
	T v;
	int from;
};
/* Lanes whose source is not in the mask get NaN bytes. */
template <class T> static inline T emu_shuffle(const char *what, unsigned mask, T v, int from)
{
	static_assert(sizeof(T) <= 8 && __is_trivially_copyable(T),
	              "a shuffle moves 32 or 64 bits");
	emu_shfl<T> in = { v, from };

	return emu_warp<emu_shfl<T>, T>(what, mask, in, [](const emu_shfl<T> **i, T **o) {
		for (int l = 0; l < EMU_WARP; l++)
			if (o[l] && i[i[l]->from])
				*o[l] = i[i[l]->from]->v;
			else if (o[l])
				memset((void *)o[l], 0xff, sizeof(T));
	});
}
static inline int emu_lane(void) { return emu_current->rank % EMU_WARP; }
template <class T> static inline T __shfl_sync(unsigned m, T v, int from, int width = EMU_WARP)
{
	int l = emu_lane();

	return emu_shuffle("__shfl_sync", m, v, (l & ~(width - 1)) | (from & (width - 1)));
}
template <class T> static inline T __shfl_xor_sync(unsigned m, T v, int x, int width = EMU_WARP)
{
	int l = emu_lane(), from = l ^ x, end = (l & ~(width - 1)) + width;

	return emu_shuffle("__shfl_xor_sync", m, v, from < end ? from : l);
}
template <class T>
static inline T __shfl_down_sync(unsigned m, T v, unsigned d, int width = EMU_WARP)
{
	int l = emu_lane(), in = l & (width - 1);

	return emu_shuffle("__shfl_down_sync", m, v, in + (int)d < width ? l + (int)d : l);
}
template <class T> static inline T __shfl_up_sync(unsigned m, T v, unsigned d, int width = EMU_WARP)
{
	int l = emu_lane(), in = l & (width - 1);

	return emu_shuffle("__shfl_up_sync", m, v, in >= (int)d ? l - (int)d : l);
}
static inline unsigned emu_vote(const char *what, unsigned m, int p)
{
	return emu_warp<int, unsigned>(what, m, p, [](const int **in, unsigned **out) {
		unsigned b = 0;

		for (int i = 0; i < EMU_WARP; i++)
			b |= (in[i] && *in[i] ? 1u : 0u) << i;
		for (int i = 0; i < EMU_WARP; i++)
			if (out[i])
				*out[i] = b;
	});
}
static inline unsigned __ballot_sync(unsigned m, int p) { return emu_vote("__ballot_sync", m, p); }
static inline int __any_sync(unsigned m, int p) { return emu_vote("__any_sync", m, p) != 0; }
static inline int __all_sync(unsigned m, int p) { return emu_vote("__all_sync", m, p) == m; }

/* ---- atomics ---- */
#define EMU_ATOMICS(T) \
	static inline T atomicAdd(T *p, T v) \
	{ \
		return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); \
	} \
	static inline T atomicOr(T *p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); } \
	static inline T atomicAnd(T *p, T v) \
	{ \
		return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); \
	} \
	static inline T atomicExch(T *p, T v) \
	{ \
		return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); \
	} \
	static inline T atomicCAS(T *p, T old, T v) \
	{ \
		__atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
		return old; \
	} \
	static inline T atomicMax(T *p, T v) \
	{ \
		T old = __atomic_load_n(p, __ATOMIC_RELAXED), seen; \
		while (old < v && (seen = atomicCAS(p, old, v)) != old) \
			old = seen; \
		return old; \
	} \
	static inline T atomicMin(T *p, T v) \
	{ \
		T old = __atomic_load_n(p, __ATOMIC_RELAXED), seen; \
		while (v < old && (seen = atomicCAS(p, old, v)) != old) \
			old = seen; \
		return old; \
	}
EMU_ATOMICS(int)
EMU_ATOMICS(unsigned)
EMU_ATOMICS(unsigned long long)
#undef EMU_ATOMICS

/* ---- integers ---- */
#define EMU_MINMAX(T) \
	static inline T min(T a, T b) { return b < a ? b : a; } \
	static inline T max(T a, T b) { return a < b ? b : a; }
EMU_MINMAX(int)
EMU_MINMAX(unsigned)
EMU_MINMAX(long)
EMU_MINMAX(unsigned long)
EMU_MINMAX(long long)
EMU_MINMAX(unsigned long long)
#undef EMU_MINMAX
static inline unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
static inline unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
static inline unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
static inline unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
static inline unsigned __umulhi(unsigned a, unsigned b)
{
	return (unsigned)((uint64_t)a * b >> 32);
}
static inline unsigned __brev(unsigned v)
{
	unsigned r = 0;

	for (int i = 0; i < 32; i++)
		r |= (v >> i & 1) << (31 - i);
	return r;
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n)
{
	return (unsigned)(((uint64_t)hi << 32 | lo) >> (n & 31));
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n)
{
	return (unsigned)(((uint64_t)hi << 32 | lo) << (n & 31) >> 32);
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
	uint64_t v = (uint64_t)b << 32 | a;
	unsigned r = 0;

	for (int i = 0; i < 4; i++)
		r |= (unsigned)(v >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
	return r;
}
static inline unsigned __vadd4(unsigned a, unsigned b)
{
	return ((a & 0x7f7f7f7f) + (b & 0x7f7f7f7f)) ^ ((a ^ b) & 0x80808080);
}
static inline unsigned __vsub4(unsigned a, unsigned b)
{
	return ((a | 0x80808080) - (b & 0x7f7f7f7f)) ^ ((a ^ ~b) & 0x80808080);
}
static inline int __dp4a(int a, int b, int c)
{
	unsigned s = (unsigned)c;

	emu_tick(EMU_DP4A, 1);
	for (int i = 0; i < 4; i++)
		s += (unsigned)((int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i));
	return (int)s;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
	emu_tick(EMU_DP4A, 1);
	for (int i = 0; i < 4; i++)
		c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
	return c;
}

/* ---- bits and floats ---- */
template <class To, class From> static inline To emu_bits(From v)
{
	To t;

	static_assert(sizeof(To) == sizeof(From), "the same size");
	memcpy(&t, &v, sizeof t);
	return t;
}
static inline unsigned __float_as_uint(float f) { return emu_bits<unsigned>(f); }
static inline int __float_as_int(float f) { return emu_bits<int>(f); }
static inline float __uint_as_float(unsigned u) { return emu_bits<float>(u); }
static inline float __int_as_float(int i) { return emu_bits<float>(i); }
static inline long long __double_as_longlong(double d) { return emu_bits<long long>(d); }
static inline double __longlong_as_double(long long i) { return emu_bits<double>(i); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline int __float2int_rn(float f) { return (int)rintf(f); }
static inline int __float2int_rz(float f) { return (int)f; }
static inline float __int2float_rn(int i) { return (float)i; }
static inline float __uint2float_rn(unsigned i) { return (float)i; }
static inline float __double2float_rn(double d) { return (float)d; }
static inline uint32_t gpu_bits(float f) { return emu_bits<uint32_t>(f); }
static inline float gpu_float(uint32_t u) { return emu_bits<float>(u); }
static inline uint64_t gpu_bits64(double f) { return emu_bits<uint64_t>(f); }
static inline double gpu_float64(uint64_t u) { return emu_bits<double>(u); }

static inline float half_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, u = (uint32_t)(h & 0x7fff) << 13;

	if (u >= 0x7c00u << 13) /* inf, NaN */
		return gpu_float(sign | 0x7f800000 | u);
	return gpu_float(sign | gpu_bits(gpu_float(u) * 0x1p112f));
}
static inline uint16_t float_half(float f) /* to the nearest, ties to even */
{
	uint32_t u = gpu_bits(f), sign = u >> 16 & 0x8000;
	float a = fabsf(f);

	if (!(a < 65520))
		return a != a ? 0x7fff : (uint16_t)(sign | 0x7c00);
	if (a < 0x1p-14f)
		return (uint16_t)(sign | (uint32_t)nearbyintf(a * 0x1p24f));
	u = (u & 0x7fffffff) - (112u << 23);
	return (uint16_t)(sign | (u + 0xfff + (u >> 13 & 1)) >> 13);
}
static inline float bf16_float(uint16_t h) { return gpu_float((uint32_t)h << 16); }
static inline uint16_t float_bf16(float f) /* to the nearest, ties to even */
{
	uint32_t u = gpu_bits(f);

	return f != f ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* ---- loads and copies ---- */
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
static inline uint4 load16(const void *p)
{
	emu_tick(EMU_LOADED, 16);
	if ((uintptr_t)p % 16)
		emu_die("load16: the address is not aligned to 16 bytes");
	return *(const uint4 *)p;
}
template <class T> static inline void gpu_touch(const T &, int) {}
static inline uint4 load16_written(const void *p) { return load16(p); }
static inline void copy_async16(void *to, const void *from, int n)
{
	emu_copy_put(to, from, n);
	*(uint4 *)to = uint4{ ~0u, ~0u, ~0u, ~0u };
}
static inline void copy_commit(void) { emu_copy_commit(); }
template <int LEFT> static inline void copy_wait(void)
{
	for (emu_copy c; emu_copy_get(&c, LEFT);) {
		alignas(16) uint8_t b[16] = { 0 };

		for (int j = 0; j < c.n; j++)
			b[j] = ((const uint8_t *)c.from)[j];
		*(uint4 *)c.to = *(uint4 *)b;
	}
}

/* ---- matrices: emu_ops.cpp ---- */
void emu_ldmatrix(uint32_t r[4], uint4 v, const void *row, int trans);
void emu_mma(float d[4], const uint32_t a[4], const uint32_t b[2], int bf16);
void emu_mma_s8(int d[4], const uint32_t *a, const uint32_t *b, int k);
static inline void ldmatrix4(uint32_t r[4], const void *row)
{
	emu_ldmatrix(r, *(const uint4 *)row, row, 0);
}
static inline void ldmatrix4_trans(uint32_t r[4], const void *row)
{
	emu_ldmatrix(r, *(const uint4 *)row, row, 1);
}
static inline void mma_f16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
	emu_mma(d, a, b, 0);
}
static inline void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
	emu_mma(d, a, b, 1);
}
static inline void mma_s8_32(int d[4], const uint32_t a[4], const uint32_t b[2])
{
	emu_mma_s8(d, a, b, 32);
}
static inline void mma_s8_16(int d[4], const uint32_t a[2], uint32_t b)
{
	emu_mma_s8(d, a, &b, 16);
}
#endif
