/* backend/cuda/chain_few.cuh (private) - kernels for the chains of most models.  They are faster
 * than the general kernel of chain.cu and give the same bits. */
#ifndef BACKEND_CUDA_CHAIN_FEW_CUH
#define BACKEND_CUDA_CHAIN_FEW_CUH
#include "backend/cuda/launch.h"

/* Functions of kernel x.  x_supports: true if the kernel supports all operations of c.  x: launch
 * the kernel; returns a cudaError_t.
 *
 * chain_held.cu: a row is kept in registers. */
bool chain_held_supports(const struct gpu_chain *c);
int chain_held(const struct gpu_chain *c, cudaStream_t s);

/* chain_heads.cu: a warp computes a head. */
bool chain_heads_supports(const struct gpu_chain *c);
int chain_heads(const struct gpu_chain *c, cudaStream_t s);
#endif
