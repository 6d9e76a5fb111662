/* quant/plan.h - (private) what becomes of each tensor, and where it goes. */
#ifndef QUANT_PLAN_H
#define QUANT_PLAN_H
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
	uint64_t bytes, at;      /* at: offset in the file */
	const float *importance; /* [n_importance]: ne[0], or that for each matrix; NULL: none */
	size_t n_importance;
	const struct hessian_input *gptq; /* NULL: not rounded by GPTQ */
	int plain;                        /* ENCODE_PLAIN: without a search; or 0 */
	double error;                     /* below 0: not known */
};
struct quant_shard {
	struct buf head;     /* the bytes before the first tensor */
	uint64_t file_bytes; /* with the padding behind the last */
	uint64_t from, to;   /* tensors */
};
struct infer_quant {
	const infer_file *in;
	const infer_recipe *recipe;  /* NULL: copied */
	infer_recipe *own_recipe;    /* NULL: it is the caller's */
	struct buf text;             /* the recipe's, canonical */
	const struct mix_name *name; /* NULL: copied */
	struct importance *importance;
	const char *imatrix; /* its path, as the recipe says it */
	char *own_imatrix;   /* that path, where the recipe does not say it */
	char imatrix_sha256[65];
	const struct infer_quant_opts *opts; /* while it is planned */
	uint64_t shard_bytes;
	int dry, verify, zstd;
	int how; /* as in struct type: the registers of encoders */
	infer_gptq *gptq;
	struct recipe_gptq read; /* what it reads, and how */
	char kv_type[32];
	struct quant_tensor *tensors;
	uint64_t n;
	struct quant_shard *shards;
	int n_shards;
	struct infer_quant_info info;
};

/* The registers of the kernel sets up to isa, as in struct type; NULL: all.  INFER_EUNSUP */
int quant_how(int *how, const char *isa, infer_error *err);
/* The heads of all files: which tensor goes where.  INFER_EUNSUP, INFER_ENOMEM */
int quant_heads(infer_quant *q, infer_error *err);
static inline uint64_t quant_elements(const struct infer_tensor *t)
{
	return (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}
#endif
