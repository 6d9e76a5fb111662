/* tests/unit/cuda/test_ops.c - the operations of the CUDA backend by the tests of the CPU's:
 * float64, and bits that depend on nothing but the sequence (../backend/test_ops.c). */
#define STEP_KIND "cuda"
#define ON_DEVICE
#include "../backend/test_ops.c"
