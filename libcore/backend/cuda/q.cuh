/* backend/cuda/q.cuh (private) - the weight type that a *_tmpl.cu file is compiled for: -DQ=<type>
 * includes q_<type>.cuh and defines W as struct gpu_<type>.  GPU_NAME(x) is x_<type>. */
#ifndef BACKEND_CUDA_Q_CUH
#define BACKEND_CUDA_Q_CUH
#ifndef Q
#define Q q8_0 /* for tools that compile one file */
#endif
#define GPU_PASTE_(a, b) a##b
#define GPU_PASTE(a, b) GPU_PASTE_(a, b)
#define GPU_TEXT_(x) #x
#define GPU_TEXT(x) GPU_TEXT_(x)
#define GPU_NAME(x) GPU_PASTE(GPU_PASTE(x, _), Q)
/* clang-format off */
#include GPU_TEXT(backend/cuda/GPU_PASTE(q_, Q).cuh)
/* clang-format on */
typedef GPU_NAME(gpu) W;
#endif
