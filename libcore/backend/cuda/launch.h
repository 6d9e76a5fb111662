/* backend/cuda/launch.h (private) - the interface of the kernels for host code: for each kernel a
 * struct of arguments and a launch function.  Plain C, included by host files (.c) and kernels
 * (.cu).
 *   launch_step.h   limits; the step: rows, runs, layers
 *   launch_mm.h     activations, weights, matrix products, pairs of a row and an expert
 *   launch_row.h    row operations, angles, experts, choice of tokens
 *   launch_attn.h   attention, KV cache, recurrent layers
 *
 * A launch function enqueues work on stream s and returns the cudaError_t of the launch.  It
 * allocates nothing and does not wait, so it can be captured in a CUDA graph.  Pointers are device
 * addresses, aligned to 16 bytes.  max_rows and other max_ members are upper bounds that size the
 * grid.  The kernel reads the actual counts from struct gpu_step, so one captured graph serves all
 * steps within the bounds.
 *
 * Numerics.  The bits of a result row depend on the row's input and position, on k and on the
 * types; never on other rows or on their number.
 *   - A product sums blocks of GPU_BLOCK elements of k.  t[b] is the sum inside block b, from +0;
 *     k is padded with zeros.  With the scale dx[b] of block b of x: y = +0, then for b ascending
 *       I8, F16:    y = fma(dx[b], t[b], y)
 *       BF16, F32:  y = y + t[b]
 *     Then y = fma(y, mul, bias), or y * mul without a bias; then the cap, as on the CPU.
 *     Inside a block, dw, d and dmin are scales of the weights:
 *       int8, scales per 32 or 16:  t = fma(dw[j], (float)isum[j], t) over groups j ascending (Q8_0)
 *       int8, K types:              t = fma(d, (float)isum, -(dmin * (float)imin)), isum and imin
 *                                   exact integers that include the 6-bit (Q6_K: 8-bit) scales
 *       f16, bf16:                  mma.m16n8k16 with f32 sums, weights as A, k ascending; for each
 *                                   16 of k the terms of x in turn, largest first
 *       f32:                        fma over k ascending, 16 chains as kern_sum16 of kern/kern.h
 *   - Norms and other sums over a row: thread i of GPU_ROW_THREADS takes elements i, i +
 *     GPU_ROW_THREADS, ... ascending; then the threads are added in a fixed tree.
 *   - Attention: the context is cut into splits of GPU_SPLIT positions from position 0.  The
 *     partial results (m: maximum, l: sum of weights, o: weighted sum of V) of the splits are
 *     merged in ascending order by the formula in attn.cuh.
 *   - exp, tanh, sigmoid, log, sin, cos: the operations of base/fmath, in the same order
 *     (math.cuh). */
#ifndef BACKEND_CUDA_LAUNCH_H
#define BACKEND_CUDA_LAUNCH_H
#include "backend/cuda/launch_attn.h"
#include "backend/cuda/launch_mm.h"
#include "backend/cuda/launch_row.h"
#include "backend/cuda/launch_step.h"
#endif
