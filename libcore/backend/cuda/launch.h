/* backend/cuda/launch.h (private) - the kernels as host code sees them: a struct of arguments and
 * one launch function for each.  Plain C; included by host files (.c) and by kernels (.cu).
 *   launch_step.h   limits; the step: rows, runs, layers
 *   launch_mm.h     activations, weights, products, pairs of rows and experts
 *   launch_row.h    row operations, angles, experts, choice of tokens
 *   launch_attn.h   attention, KV cache, recurrent layers
 *
 * A launch function enqueues work on stream s and returns the cudaError_t of the launch.  It
 * allocates nothing and waits for nothing, so it can be captured in a graph.  Pointers are
 * addresses of the device, aligned to 16 bytes.  Row counts in the arguments are upper bounds that
 * size the grid; the kernel reads the step's own counts from struct gpu_step, so one captured graph
 * serves every step of its class.
 *
 * Numerics (promise 1: bits depend on K, on the position and on nothing else):
 *   - A product sums blocks of GPU_BLOCK elements of k.  t[b] is the sum inside block b, from +0;
 *     elements past the end of k count as 0.  y = +0; for b ascending, int8:
 *     y = fma(dx[b], t[b], y), floats: y = y + t[b].  Then y = y * mul + bias as CPU products do:
 *     fma(y, mul, bias), or y * mul without a bias; then cap.  The same for every number of rows of
 *       x.  int8, scales per 32 or 16:  t = chain of fma(dw[j], (float)isum[j], t) over groups j
 *                                   ascending (Q8_0)
 *       int8, K types:              t = fma(d, (float)isum, -(dmin * (float)imin)), isum and imin
 *                                   exact integers that include the 6-bit (Q6_K: 8-bit) scales
 *       f16, bf16:                  mma.m16n8k16 with f32 sums, weights as A, k ascending; for each
 *                                   16 of k the terms of x (hi, then lo) one after the other
 *       f32:                        fma over k ascending, 16 chains as kern_sum16 of kern/kern.h
 *   - Norms and other sums over a row: thread i of GPU_ROW_THREADS takes elements i, i +
 *     GPU_ROW_THREADS, ... ascending; then a fixed tree.
 *   - Attention: splits of GPU_SPLIT positions from position 0; partial results (m, l, o) of the
 *     splits are joined in ascending order by the formula in attn.cuh.
 *   - exp, tanh, sigmoid, log, sin, cos: base/fmath, operation by operation (math.cuh). */
#ifndef BACKEND_CUDA_LAUNCH_H
#define BACKEND_CUDA_LAUNCH_H
#include "backend/cuda/launch_attn.h"
#include "backend/cuda/launch_mm.h"
#include "backend/cuda/launch_row.h"
#include "backend/cuda/launch_step.h"
#endif
