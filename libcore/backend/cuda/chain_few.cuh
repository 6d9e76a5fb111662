/* backend/cuda/chain_few.cuh (private) - kernels for chains of one form, in place of the general one of
 * chain.cu; they have its bits. */
#ifndef BACKEND_CUDA_CHAIN_FEW_CUH
#define BACKEND_CUDA_CHAIN_FEW_CUH
#include "backend/cuda/launch.h"

/* chain_held.cu: a row stays in registers.  True if it computes all operations of c. */
bool chain_held_takes(const struct gpu_chain *c);
int chain_held(const struct gpu_chain *c, cudaStream_t s);

/* chain_heads.cu: each head by a warp. */
bool chain_heads_takes(const struct gpu_chain *c);
int chain_heads(const struct gpu_chain *c, cudaStream_t s);
#endif
