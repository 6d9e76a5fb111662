/* quant/recipe.h - (private) recipes: how a model is quantised.  They are read from YAML or made
 * from options, and written as canonical text. */
#ifndef QUANT_RECIPE_H
#define QUANT_RECIPE_H
#include <infer/recipe.h>
#include "base/arena.h"
#include "base/buf.h"
#include "quant/override.h"
#include "quant/mix.h"

enum { RECIPE_VERSION = 1 };

/* The text of GPTQ, and the options of its run; NULL or 0: unknown. */
struct recipe_gptq {
	const char *sha256;       /* SHA-256 of the text, in hex */
	const char *files_sha256; /* SHA-256 of the text's files; not written to recipes */
	const char *kv_type, *act_type, *core;
	int32_t window;
	const char *at; /* for messages, "FILE: line 3, column 7" */
};
struct infer_recipe {
	struct arena mem;
	const char *what; /* name of the YAML file; NULL: made from options */
	const struct mix_name
		*name; /* type or mix of tensors without a rule; NULL: bits-per-weight search */
	int method;    /* enum method of tensors whose rule has none */
	struct recipe_gptq gptq;
	const char *imatrix;
	const char *imatrix_sha256; /* SHA-256 of the imatrix file, in hex; NULL: unknown */
	uint64_t max_bytes;         /* size target: file size in bytes; 0: none */
	double bpw;                 /* size target: bits per weight; 0: none */
	const char *text_sha256;    /* SHA-256 of the text of the bits-per-weight search */
	int32_t window;             /* window of that search in tokens; 0: unknown */
	struct override_rule *rules;
	size_t n;
	/* for messages, "FILE: line 3, column 7" */
	const char *at_imatrix, *at_text;
};

/* Make a recipe with the overrides keep [n_keep], each "PATTERN=TYPE".  name: as in struct
 * infer_recipe. Strings are copied. INFER_EINVAL: an override is malformed; INFER_ENOMEM */
int recipe_make(infer_recipe **out, const struct mix_name *name, const char *imatrix,
                const char *const *keep, size_t n_keep, infer_error *err);
/* Copy *from into r->gptq.  Sets r->mem.bad if out of memory. */
void recipe_copy_gptq(infer_recipe *r, const struct recipe_gptq *from);
/* True if GPTQ rounds some weights. */
int recipe_gptq(const infer_recipe *r);
/* Append the canonical text, which is the same for equal recipes.  Sets
 * to->bad if out of memory. INFER_EINVAL: a string is not UTF-8. */
int recipe_text(struct buf *to, const infer_recipe *r, infer_error *err);
/* Compute the SHA-256 of a file, in hex.  INFER_EIO */
int recipe_file_sha256(char hex[65], const char *path, infer_error *err);
#endif
