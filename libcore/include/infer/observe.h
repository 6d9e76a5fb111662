/* infer/observe.h - observing the inputs of the matrix products of a model.   floor: file */
#ifndef INFER_OBSERVE_H
#define INFER_OBSERVE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/file.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The input of one product: activations x [n][k] that a matrix is multiplied with; borrowed for the
 * call. */
struct infer_inputs {
	const struct infer_tensor *tensor; /* the tensor of the file that contains the matrix */
	int32_t matrix;                    /* index in a stack of experts; else 0 */
	int32_t n, k;                      /* rows, columns */
	/* f32, before any rounding; row i begins at x + (at ? at[i] : i) * ld */
	const float *x;
	size_t ld;
	const int32_t *at;
};
/* Called after each product, in graph order, on the thread that steps.  The products of one
 * tensor's parts follow each other and have the same x.  It must not change x. */
typedef void infer_inputs_fn(void *user, const struct infer_inputs *in);
struct infer_observer {
	infer_inputs_fn *fn; /* NULL: off */
	void *user;
};

#ifdef __cplusplus
}
#endif
#endif
