/* Weight types that have kernels: GPU_TYPE(type) for each q_<type>.cuh.  GPU_TYPE_OTHER: F32
 * (f32.cu), and X8, to which types without kernels are recoded (recode.h).  No include guard:
 * define GPU_TYPE, and GPU_TYPE_OTHER if needed, before each inclusion. */
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
