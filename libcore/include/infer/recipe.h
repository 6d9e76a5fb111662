/* infer/recipe.h - recipes: how a model is quantised, as a text.   floor: quant
 *
 * A recipe sets the type of every tensor, or a target size for which types are chosen, and
 * everything else that the bytes of the file depend on.  infer-recipe(5) defines the text, which is
 * YAML.  Immutable. */
#ifndef INFER_RECIPE_H
#define INFER_RECIPE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/file.h>
#include <infer/status.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_recipe infer_recipe;

/* Read a recipe.  *out borrows nothing.  name: for messages.
 * INFER_EFORMAT: not a recipe; names line and column.
 * INFER_EUNSUP: another version, or an unknown method; names line and column.
 * INFER_ENOMEM */
int infer_recipe_read(infer_recipe **out, const char *text, size_t bytes, const char *name,
                      infer_error *err);
void infer_recipe_free(infer_recipe *r); /* NULL is fine */

/* Strings are borrowed from the recipe; NULL: the recipe does not set it. */
struct infer_recipe_info {
	const char *type;   /* if no pattern matches; NULL: infer_bpw_search chooses */
	const char *method; /* never NULL */
	/* 1: GPTQ rounds some tensors.  Its text is read with windows of gptq_window tokens and
	 * these types, spelt as in the options of the programs; 0, NULL: not set */
	int gptq;
	int32_t gptq_window;
	const char *gptq_kv_type, *gptq_act_type;
	const char *imatrix; /* path of the importance matrix */
	/* target size: bytes of all files, bits per weight; 0: none */
	uint64_t max_bytes;
	double bpw;
	size_t n_patterns;
};
void infer_recipe_info(const infer_recipe *r, struct infer_recipe_info *info);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
