/* quant/recipe.h - (private) what a model is written by: read from YAML, made of options, and as one
 * canonical text. */
#ifndef QUANT_RECIPE_H
#define QUANT_RECIPE_H
#include <infer/recipe.h>
#include "base/arena.h"
#include "base/buf.h"
#include "quant/override.h"
#include "quant/mix.h"

enum { RECIPE_VERSION = 1 };

/* What GPTQ has read; NULL, 0: not known. */
struct recipe_gptq {
	const char *sha256;       /* of the text's bytes, in hex */
	const char *files_sha256; /* of the files it comes from; not part of a recipe */
	const char *kv_type, *act_type, *core;
	int32_t window;
	const char *at; /* for messages, "FILE: line 3, column 7" */
};
struct infer_recipe {
	struct arena mem;
	const char *what;            /* the text's name; NULL: not read from one */
	const struct mix_name *name; /* NULL: what no pattern matches is aimed */
	int method;                  /* enum method */
	struct recipe_gptq gptq;
	const char *imatrix;
	const char *imatrix_sha256; /* of the file's bytes, in hex; NULL: not known */
	uint64_t max_bytes;         /* the size that is aimed at; 0: not by bytes */
	double bpw;                 /* 0: not by bits */
	const char *text_sha256;    /* of the text that sensitivities are measured on */
	int32_t window;             /* of that text; 0: not known */
	struct override_rule *rules;
	size_t n;
	/* for messages, "FILE: line 3, column 7" */
	const char *at_imatrix, *at_text;
};

/* Of "PATTERN=TYPE" [n].  name: NULL: what no pattern matches is aimed.  The texts are copied.
 * INFER_EINVAL: a rule is malformed; INFER_ENOMEM */
int recipe_make(infer_recipe **out, const struct mix_name *name, const char *imatrix,
                const char *const *keep, size_t n_keep, infer_error *err);
/* INFER_ENOMEM is r->mem.bad. */
void recipe_copy_gptq(infer_recipe *r, const struct recipe_gptq *from);
/* Nonzero: weights are rounded by GPTQ. */
int recipe_gptq(const infer_recipe *r);
/* Append the canonical text: the same for the same recipe, however it came to be.  INFER_ENOMEM is
 * to->bad.  INFER_EINVAL: a text is not UTF-8 */
int recipe_text(struct buf *to, const infer_recipe *r, infer_error *err);
/* The hash of a file's bytes, in hex.  INFER_EIO */
int recipe_file_sha256(char hex[65], const char *path, infer_error *err);
#endif
