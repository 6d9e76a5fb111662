/* backend/cuda/gpu.h (private) - device functions that plain CUDA C++ lacks, one for each PTX
 * instruction.  A C++ compiler without CUDA includes tests/emu/emu.h instead, which runs the same
 * kernels on the host.
 *
 *   SHARED(float, tile, [4][32])   shared memory of constant size
 *   DYNAMIC(float, tile)           shared memory of the size that the launch specifies
 *   LAUNCH(kernel, grid, block, bytes, stream, args...)
 *                                  launch; a cudaError_t.  A kernel may start before the previous
 *                                  one has ended, so it calls gpu_wait
 *
 * Kernels are declared for every architecture; only function bodies may test __CUDA_ARCH__ (75,
 * Turing, has neither cp.async nor bf16 mma). */
#ifndef BACKEND_CUDA_GPU_H
#define BACKEND_CUDA_GPU_H
#ifndef __CUDACC__
#include "emu.h"
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define GPU_FN static __device__ __forceinline__
#define SHARED(T, name, dims) __shared__ __align__(128) T name dims
#define DYNAMIC(T, name) \
	extern __shared__ __align__(128) unsigned char gpu_dynamic[]; \
	T *name = (T *)gpu_dynamic

/* Launch a kernel that may overlap the end of the previous one if the device supports it. */
template <typename... P, typename... A>
static cudaError_t gpu_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t bytes,
                              cudaStream_t s, A... args)
{
	cudaLaunchAttribute early = {};
	cudaLaunchConfig_t c = {};

	if (bytes) { /* static and dynamic shared memory together may exceed 48 KiB */
		cudaError_t rc = cudaFuncSetAttribute((const void *)kernel,
		                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
		                                      (int)bytes);
		if (rc)
			return rc;
	}
	early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	early.val.programmaticStreamSerializationAllowed = 1;
	c.gridDim = grid;
	c.blockDim = block;
	c.dynamicSmemBytes = bytes;
	c.stream = s;
	c.attrs = &early;
	c.numAttrs = 1;
	return cudaLaunchKernelEx(&c, kernel, P(args)...);
}
#define LAUNCH(kernel, grid, block, bytes, stream, ...) \
	gpu_launch(kernel, grid, block, bytes, stream, __VA_ARGS__)

/* Wait until the previous kernels of the stream have ended and their writes can be read.  Every
 * thread of every kernel must call it before it reads or writes memory that another kernel writes
 * or reads. Before gpu_wait a kernel may read weights and the arrays of the step: no kernel writes
 * them, and their upload has ended before the first kernel of the step starts. */
GPU_FN void gpu_wait(void)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/* Allow the next kernel to start and run up to its gpu_wait. */
GPU_FN void gpu_next(void)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;");
#endif
}

GPU_FN float half_float(uint16_t h) { return __half2float(__ushort_as_half(h)); }
/* float_half, float_bf16: round to the nearest, ties to even */
GPU_FN uint16_t float_half(float f) { return __half_as_ushort(__float2half_rn(f)); }
GPU_FN float bf16_float(uint16_t h) { return __uint_as_float((uint32_t)h << 16); }
GPU_FN uint16_t float_bf16(float f) { return __bfloat16_as_ushort(__float2bfloat16_rn(f)); }
GPU_FN uint32_t gpu_bits(float f) { return __float_as_uint(f); }
GPU_FN float gpu_float(uint32_t u) { return __uint_as_float(u); }
GPU_FN uint64_t gpu_bits64(double f) { return (uint64_t)__double_as_longlong(f); }
GPU_FN double gpu_float64(uint64_t u) { return __longlong_as_double((long long)u); }

/* Read 16 bytes of weights that are read once: do not keep them in L1.  Nothing may write these
 * bytes while the kernel runs, even before its gpu_wait. */
GPU_FN uint4 load16(const void *p)
{
	uint4 v;

	asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
	             : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
	             : "l"(p));
	return v;
}

/* Read 16 bytes that an earlier kernel of the step may have written (the KV cache).  Call it after
 * gpu_wait. */
GPU_FN uint4 load16_written(const void *p)
{
	uint4 v;

	asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
	             : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
	             : "l"(p)
	             : "memory");
	return v;
}

/* Load the first `bytes` bytes of a kernel's arguments into the constant cache, one line per warp.
 * Call it before gpu_wait, so that cache misses overlap the previous kernel. */
template <class T> GPU_FN void gpu_touch(const T &args, int bytes)
{
	enum { LINE = 64 / sizeof(uint32_t) };
	const uint32_t *w = (const uint32_t *)&args;

	for (int i = (int)threadIdx.x / 32 * LINE; i * (int)sizeof *w < bytes;
	     i += (int)blockDim.x / 32 * LINE)
		asm volatile("" ::"r"(w[i]));
}

/* Start to copy n <= 16 bytes from global to shared memory, padded with zeros to 16.  They can be
 * read after copy_wait and a barrier. sm_75 copies synchronously. */
GPU_FN void copy_async16(void *to, const void *from, int n)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
			     (uint32_t)__cvta_generic_to_shared(to)),
	             "l"(from), "r"(n)
	             : "memory");
#else
	uint4 v = make_uint4(0, 0, 0, 0);

	if (n == 16)
		v = *(const uint4 *)from;
	else
		for (int i = 0; i < n; i++)
			((unsigned char *)&v)[i] = ((const unsigned char *)from)[i];
	*(uint4 *)to = v;
#endif
}
GPU_FN void copy_commit(void)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* Wait until at most the last LEFT groups of copies are in flight. copy_commit ends a group. */
template <int LEFT> GPU_FN void copy_wait(void)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

/* Load four 8 x 8 matrices of 16-bit elements.  Lane i passes the address of row i % 8 of matrix
 * i / 8. */
GPU_FN void ldmatrix4(uint32_t r[4], const void *row)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
	             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
	             : "r"((uint32_t)__cvta_generic_to_shared(row))
	             : "memory");
}
GPU_FN void ldmatrix4_trans(uint32_t r[4], const void *row)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
	             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
	             : "r"((uint32_t)__cvta_generic_to_shared(row))
	             : "memory");
}

/* d += a b: a is 16 x k, row-major; b is k x 8, column-major; fragments as in the PTX manual.  g =
 * lane / 4, t = lane % 4: d[0], d[1]: row g, columns 2 t, 2 t + 1; d[2], d[3]: row g + 8. */
GPU_FN void mma_f16(float d[4], const uint32_t a[4], const uint32_t b[2]) /* k 16 */
{
#if __CUDA_ARCH__ >= 800
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
	             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
	for (int i = 0; i < 2; i++)
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
		             "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
		             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		             : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#endif
}
#if __CUDA_ARCH__ < 800
/* mma_bf16 by scalar fma, k ascending: Turing has no bf16 mma.  Not inlined: otherwise ptxas takes
 * minutes. */
static __device__ __noinline__ void mma_bf16_slow(float d[4], uint4 a, uint2 b)
{
	int lane = (int)(threadIdx.x % 32), g = lane / 4, t = lane % 4;

	/* element n % 2 of quad lane n / 2 % 4 in register half n / 8 */
#pragma unroll 1
	for (int n = 0; n < 16; n++) {
		int q = n / 2 % 4, shift = 16 * (n % 2);
		uint32_t x0 = __shfl_sync(~0u, n < 8 ? a.x : a.z, 4 * g + q) >> shift,
			 x1 = __shfl_sync(~0u, n < 8 ? a.y : a.w, 4 * g + q) >> shift,
			 y0 = __shfl_sync(~0u, n < 8 ? b.x : b.y, 8 * t + q) >> shift,
			 y1 = __shfl_sync(~0u, n < 8 ? b.x : b.y, 8 * t + 4 + q) >> shift;

		d[0] = fmaf(bf16_float((uint16_t)x0), bf16_float((uint16_t)y0), d[0]);
		d[1] = fmaf(bf16_float((uint16_t)x0), bf16_float((uint16_t)y1), d[1]);
		d[2] = fmaf(bf16_float((uint16_t)x1), bf16_float((uint16_t)y0), d[2]);
		d[3] = fmaf(bf16_float((uint16_t)x1), bf16_float((uint16_t)y1), d[3]);
	}
}
#endif
GPU_FN void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]) /* k 16 */
{
#if __CUDA_ARCH__ >= 800
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
	             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
	mma_bf16_slow(d, make_uint4(a[0], a[1], a[2], a[3]), make_uint2(b[0], b[1]));
#endif
}
GPU_FN void mma_s8_32(int d[4], const uint32_t a[4], const uint32_t b[2]) /* k 32 */
{
#if __CUDA_ARCH__ >= 800
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
	             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	             : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
	for (int i = 0; i < 4; i++)
		asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 "
		             "{%0, %1}, {%2}, {%3}, {%0, %1};"
		             : "+r"(d[i % 2 * 2]), "+r"(d[i % 2 * 2 + 1])
		             : "r"(a[i]), "r"(b[i / 2]));
#endif
}
/* d += a b for k 16, int8: a[0] is row g, a[1] row g + 8, both k = 4 t ... 4 t + 3 */
GPU_FN void mma_s8_16(int d[4], const uint32_t a[2], uint32_t b)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
	             "{%0, %1, %2, %3}, {%4, %5}, {%6}, "
	             "{%0, %1, %2, %3};"
	             : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(b));
#else
	for (int i = 0; i < 2; i++)
		asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 "
		             "{%0, %1}, {%2}, {%3}, {%0, %1};"
		             : "+r"(d[2 * i]), "+r"(d[2 * i + 1])
		             : "r"(a[i]), "r"(b));
#endif
}
#endif
#endif
