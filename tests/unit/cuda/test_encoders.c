/* tests/unit/cuda/test_encoders.c - encoders and rank heads on the CUDA backend, by the tests of the
 * CPU's (../engine/test_encoders.c). */
#define ENCODER_DEVICE "cuda"
#include "../engine/test_encoders.c"
