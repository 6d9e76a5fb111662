/* quant/plan.h - (private) the type of each tensor, and its position in the output files. */
#ifndef QUANT_PLAN_H
#define QUANT_PLAN_H
#include <infer/lora.h>
#include <infer/quant.h>
#include "base/buf.h"
#include "quant/hessian.h"
#include "quant/importance.h"
#include "quant/mix.h"
#include "quant/recipe.h"

struct quant_tensor {
	const struct infer_tensor *in;
	uint8_t type, wanted;
	int shard;
	uint64_t bytes, at; /* at: offset in the output file */
	const float
		*importance; /* [n_importance]: ne[0] for all matrices, or for each; NULL: none */
	size_t n_importance;
	const struct hessian_input *gptq; /* NULL: not rounded by GPTQ */
	int plain;                        /* ENCODE_PLAIN: encode without a search; or 0 */
	/* adapters merged into it: 1 + the index of the one that replaces it, or 0; a bit for each that
	 * adds a pair */
	uint8_t whole, pairs;
	double error; /* as in struct infer_quant_tensor */
};
struct quant_shard {
	struct buf head;     /* header: all bytes before the first tensor */
	uint64_t file_bytes; /* file size with the padding after the last tensor */
	uint64_t from, to;   /* the tensors [from, to) of this file */
};
struct infer_quant {
	const infer_file *in;
	const infer_recipe *recipe;  /* NULL: tensors are copied */
	infer_recipe *own_recipe;    /* recipe to free; NULL: it is the caller's */
	struct buf text;             /* canonical text of the recipe */
	const struct mix_name *name; /* NULL: tensors are copied */
	struct importance *importance;
	const char *imatrix; /* path of the importance matrix in the recipe */
	char *own_imatrix;   /* owned path, if the recipe has none */
	char imatrix_sha256[65];
	const struct infer_quant_opts *opts; /* NULL after infer_quant_new */
	uint64_t shard_bytes;
	int dry, verify, zstd;
	struct infer_lora_use loras[INFER_LORA_USES]; /* to merge, none with factor 0 */
	int n_loras;
	struct infer_tensor untied; /* with is_untied: the output, tied in the input */
	int is_untied;
	int how; /* register width of encoders, ENCODE_128, _256 or 0 */
	infer_gptq *gptq;
	struct recipe_gptq read; /* the text of gptq, and the options of its run */
	char kv_type[32];
	struct quant_tensor *tensors;
	uint64_t n;
	struct quant_shard *shards;
	int n_shards;
	struct infer_quant_info info;
};

/* Set *how to the register width of kernel set isa (NULL: the widest), as in struct type.
 * INFER_EUNSUP: this machine lacks the set. */
int quant_how(int *how, const char *isa, infer_error *err);
/* Divide the tensors among files, and create the headers.  INFER_EUNSUP: too many files, or a
 * name is too long; INFER_ENOMEM */
int quant_heads(infer_quant *q, infer_error *err);
static inline uint64_t quant_elements(const struct infer_tensor *t)
{
	return (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}
#endif
