/* quant/bpw.h - (private) bits-per-weight search: size and error of each tensor in each type,
 * sensitivity of the tensors, and the best choice of types for a size. */
#ifndef QUANT_BPW_H
#define QUANT_BPW_H
#include <infer/bpw.h>
#include "base/pool.h"
#include "quant/plan.h"

/* Maxima.  BPW_CHOICES: types tried for a tensor.  BPW_GROUPS: groups of tensors measured. */
enum { BPW_CHOICES = 16, BPW_GROUPS = 48, BPW_WINDOWS = 4 };

struct bpw_choice {
	int type;
	uint64_t bytes;
	double error; /* weighted squared error of all values */
	double cost;  /* estimated increase of the KL divergence */
};
struct bpw_tensor {
	const struct infer_tensor *in;
	uint64_t index;          /* index of the tensor in the file */
	const float *importance; /* as in struct quant_tensor */
	size_t n_importance;
	struct bpw_choice at[BPW_CHOICES]; /* ascending bytes, descending errors */
	int n, chosen;
	int group;
	int method; /* enum method of its override; -1: the recipe's */
};
struct bpw_search {
	const infer_file *in;
	const struct infer_bpw_opts *o;
	infer_recipe *made; /* recipe made from the options, owned; NULL: the caller's */
	const infer_recipe *recipe;
	struct importance *importance;
	struct bpw_tensor *t;
	size_t n;
	int n_groups;
	struct pool *pool;
	int how; /* register width of encoders, ENCODE_128, _256 or 0 */
	int32_t window;
	uint64_t most,
		elements; /* most: limit in bytes of file or tensors; elements: of all tensors */
};

/* ---- bpw_error.c ---- */

/* Fill at[] of each tensor with its possible types, their bytes and errors.  INFER_ENAN: a weight
 * is not finite; INFER_ENOMEM */
int bpw_errors(struct bpw_search *a, infer_error *err);
/* Set w [n] to the importances of elements [from, from + n) of t, or all to 1 if t has none. */
void bpw_columns(float *w, const struct bpw_tensor *t, uint64_t from, size_t n);

/* ---- bpw_probe.c ---- */

struct bpw_probe;
/* Open the model of a, and compute its logits for the text.  INFER_EINVAL: the text is too short;
 * other errors as infer_model_open_file and infer_engine_open. */
int bpw_probe_open(struct bpw_probe **out, struct bpw_search *a, infer_error *err);
void bpw_probe_close(struct bpw_probe *p); /* NULL is fine */
/* Set the cost of each choice.  For each group, measure the KL divergence of the model with the
 * group in types of about `bpw` bits per weight; cost = divergence * error / (error of the
 * group).  Errors as bpw_probe_open; INFER_ENAN: the divergence is infinite. */
int bpw_probe(struct bpw_probe *p, double bpw, infer_error *err);

/* ---- bpw_fit.c ---- */

/* Set `chosen` of each tensor to minimise the sum of costs with at most `bytes` bytes (bytes >=
 * bpw_least). INFER_ENOMEM */
int bpw_fit(struct bpw_search *a, uint64_t bytes, infer_error *err);
/* Return the total bytes with the smallest choice for each tensor. */
uint64_t bpw_least(const struct bpw_search *a);
#endif
