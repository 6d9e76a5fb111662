/* infer/recipe.h - what a model is written by, as a text.   floor: quant
 *
 * A recipe gives a type to every tensor, or a size that the types are to be chosen for, and names
 * what else the bytes of the file depend on.  infer-recipe(5) defines the text, which is YAML.
 * Immutable. */
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

/* Read a text.  name: of it, for messages.
 * INFER_EFORMAT  no recipe; names line and column
 * INFER_EUNSUP   another version, a method that is not there; the same
 * INFER_ENOMEM */
int infer_recipe_read(infer_recipe **out, const char *text, size_t bytes, const char *name,
                      infer_error *err);
void infer_recipe_free(infer_recipe *r); /* NULL is fine */

/* Texts are borrowed from the recipe; NULL: it does not say that. */
struct infer_recipe_info {
	const char *type;   /* of tensors that no pattern matches; NULL: infer_aim chooses them */
	const char *method; /* never NULL */
	/* 1: GPTQ rounds some tensors.  How it reads its text: tokens of a window, and types as in
	 * the options of the programs; 0, NULL: not said */
	int gptq;
	int32_t gptq_window;
	const char *gptq_kv_type, *gptq_act_type;
	const char *imatrix; /* path of the importance matrix */
	/* the size that is aimed at: bytes of all files, bits of a weight; 0: none */
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
