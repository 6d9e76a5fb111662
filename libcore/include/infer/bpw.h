/* infer/bpw.h - choose types of tensors for a target size.   floor: quant
 *
 * The KL divergence on a text is measured with one tensor at a time at a lower precision.  The
 * divergence for each type is estimated from its squared weight errors, weighted by column
 * importance.  The result is the set of types with the least total that fits the size.  It depends
 * only on the model, the recipe and the text. */
#ifndef INFER_BPW_H
#define INFER_BPW_H
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

struct infer_bpw_opts {
	/* a recipe with a target size and no type; its patterns apply */
	const infer_recipe *recipe;
	/* if recipe is NULL: one target, most bytes of the file or bits per weight; the next five
	 * fields as in struct infer_quant_opts */
	uint64_t max_bytes;
	double bpw;
	const char *const *keep;
	size_t n_keep;
	const char *imatrix, *method;
	uint64_t shard_bytes;
	const char *text; /* [text_bytes], UTF-8: sensitivities are measured on it */
	size_t text_bytes;
	struct infer_engine_opts engine; /* ctx: tokens of a window; 0: 512 */
	struct infer_watch watch;        /* receives progress of the measurements */
};

/* Choose types: *out is a recipe with the type of every tensor, for infer_recipe_free; it borrows
 * nothing.
 * INFER_EINVAL: the text is shorter than two windows; the target is missing or too small; a pattern
 *               is malformed or matches no tensor.
 * INFER_EFORMAT: the recipe is wrong for this model or text.
 * INFER_EUNSUP: the model cannot be run, or no choice of types fits the size.
 * INFER_ENOMEM: also for the copy of the model that is needed.
 * INFER_ENAN INFER_EIO */
int infer_bpw_search(infer_recipe **out, const infer_file *in, const struct infer_bpw_opts *o,
                     infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
