/* tests/unit/cuda/test_host_logits.c - every architecture with experts, which the host computes while
 * the CUDA backend computes all else, by the tests of test_logits.c. */
#define FLOOR_HOST_EXPERTS "models without experts are not supported"
#include "test_logits.c"
