/* Weight types that have kernels, q_<type>.cuh each; F32 has f32.cu; X8 holds weights of types that
 * have none (recode.h).  No guard: define GPU_TYPE and GPU_TYPE_OTHER before each use. */
GPU_TYPE(q8_0)
GPU_TYPE(q4_k)
GPU_TYPE(q6_k)
GPU_TYPE(f16)
GPU_TYPE(bf16)
GPU_TYPE(q4_0)
GPU_TYPE(q4_1)
GPU_TYPE(q5_0)
GPU_TYPE(q5_1)
GPU_TYPE(q2_k)
GPU_TYPE(q3_k)
GPU_TYPE(q5_k)
GPU_TYPE(iq4_nl)
GPU_TYPE(iq4_xs)
GPU_TYPE(mxfp4)
#ifdef GPU_TYPE_OTHER
GPU_TYPE_OTHER(f32)
GPU_TYPE_OTHER(x8)
#endif
