/* infer/aim.h - types of tensors chosen for a size.   floor: quant
 *
 * How much the divergence of the model from itself grows when one tensor loses precision is measured
 * on a text.  How much of that each type costs follows from the squared errors of the weights, each
 * times the importance of its column.  The types are those with the least sum that fit the size.
 * Everything depends on the model, the recipe and the text alone.  Confined. */
#ifndef INFER_AIM_H
#define INFER_AIM_H
#include <stddef.h>
#include <stdint.h>
#include <infer/engine.h>
#include <infer/file.h>
#include <infer/recipe.h>
#include <infer/status.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct infer_aim_opts {
	/* with a target, and no type; its patterns are kept */
	const infer_recipe *recipe;
	/* or, where that is NULL: most bytes of the file, or bits of a weight, one of the two; what
	 * struct infer_quant_opts says of the next five */
	uint64_t max_bytes;
	double bpw;
	const char *const *keep;
	size_t n_keep;
	const char *imatrix, *method;
	uint64_t shard_bytes;
	const char *text; /* [text_bytes], UTF-8: what sensitivities are measured on */
	size_t text_bytes;
	struct infer_engine_opts engine; /* ctx: the tokens of a window; 0: 512 */
	struct infer_watch watch;        /* is told of measurements */
};

/* Choose: a recipe with the type of every tensor.
 * INFER_EINVAL   a text shorter than two windows, a target that is too small or that says nothing, a
 *                pattern that is malformed or matches no tensor
 * INFER_EFORMAT  what a recipe says that is wrong for this model or text
 * INFER_EUNSUP   a model that cannot be run
 * INFER_ENOMEM   also for a copy of the model, which is needed
 * INFER_ENAN INFER_EIO */
int infer_aim(infer_recipe **out, const infer_file *in, const struct infer_aim_opts *o,
              infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
