/* backend/cuda/launch.h (private) - the interface of the kernels for host code: for each kernel a
 * struct of arguments and a launch function.  Plain C, included by host files (.c) and kernels
 * (.cu).
 *   launch_step.h   limits; the step: rows, runs, layers
 *   launch_mm.h     activations, weights, products, pairs of rows and experts
 *   launch_row.h    row operations, angles, experts, choice of tokens
 *   launch_attn.h   attention, KV cache, recurrent layers
 *
 * A launch function enqueues work on stream s and returns the cudaError_t of the launch.  It
 * allocates nothing and does not wait, so it can be captured in a CUDA graph.  Pointers are device
 * addresses, aligned to 16 bytes.  max_rows and other max_ counts are upper bounds that size the
 * grid.  The kernel reads the counts of the step from struct gpu_step, so one captured graph serves
 * all steps within its bounds.
 *
 * Numerics.  The bits of a row depend on its own input and position, on k and on the types; never
 * on the number of rows or on other rows.
 *   - A product sums blocks of GPU_BLOCK elements of k.  t[b] is the sum inside block b, from +0;
 *     k is padded with zeros.  Over blocks: y = +0, then for b ascending
 *       I8, F16:    y = fma(dx[b], t[b], y)
 *       BF16, F32:  y = y + t[b]
 *     Then as on the CPU: y = fma(y, mul, bias), or y * mul without a bias; then the cap.
 *     Inside a block:
 *       int8, scales per 32 or 16:  t = fma(dw[j], (float)isum[j], t) over groups j ascending (Q8_0)
 *       int8, K types:              t = fma(d, (float)isum, -(dmin * (float)imin)), isum and imin
 *                                   exact integers that include the 6-bit (Q6_K: 8-bit) scales
 *       f16, bf16:                  mma.m16n8k16 with f32 sums, weights as A, k ascending; for each
 *                                   16 of k the terms of x one after the other, largest first
 *       f32:                        fma over k ascending, 16 chains as kern_sum16 of kern/kern.h
 *   - Norms and other sums over a row: thread i of GPU_ROW_THREADS takes elements i, i +
 *     GPU_ROW_THREADS, ... ascending; then a fixed tree.
 *   - Attention: the context is cut into splits of GPU_SPLIT positions from position 0.  Partial
 *     results (m, l, o) of the splits are joined in ascending order by the formula in attn.cuh.
 *   - exp, tanh, sigmoid, log, sin, cos: base/fmath, operation by operation (math.cuh). */
#ifndef BACKEND_CUDA_LAUNCH_H
#define BACKEND_CUDA_LAUNCH_H
#include "backend/cuda/launch_attn.h"
#include "backend/cuda/launch_mm.h"
#include "backend/cuda/launch_row.h"
#include "backend/cuda/launch_step.h"
#endif
