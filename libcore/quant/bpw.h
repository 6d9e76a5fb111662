/* quant/bpw.h - (private) types for a size: what a type costs, how much a tensor matters, and the
 * best choice. */
#ifndef QUANT_BPW_H
#define QUANT_BPW_H
#include <infer/bpw.h>
#include "base/pool.h"
#include "quant/plan.h"

/* BPW_GROUPS: tensors, or groups of them, that are measured */
enum { BPW_CHOICES = 16, BPW_GROUPS = 48, BPW_WINDOWS = 4 };

struct bpw_choice {
	int type;
	uint64_t bytes;
	double error; /* weighed squared error of all values */
	double cost;  /* how much the KL divergence grows with this type */
};
struct bpw_tensor {
	const struct infer_tensor *in;
	uint64_t index;          /* in the file */
	const float *importance; /* as in struct quant_tensor */
	size_t n_importance;
	struct bpw_choice at[BPW_CHOICES]; /* ascending bytes; without those that gain nothing */
	int n, chosen;
	int group;
	int method; /* of the pattern that it has; -1: as the others */
};
struct bpw_search {
	const infer_file *in;
	const struct infer_bpw_opts *o;
	infer_recipe *made; /* of the options; else NULL */
	const infer_recipe *recipe;
	struct importance *importance;
	struct bpw_tensor *t;
	size_t n;
	int n_groups;
	struct pool *pool;
	int how; /* as in struct type: the registers of encoders */
	int32_t window;
	uint64_t most, elements; /* the limit of the counted bytes; elements of all tensors */
};

/* ---- bpw_error.c ---- */

/* The types that each tensor may have, with bytes and errors.  INFER_ENAN, INFER_ENOMEM */
int bpw_errors(struct bpw_search *a, infer_error *err);
/* The importances of elements [from, from + n); 1 without them. */
void bpw_columns(float *w, const struct bpw_tensor *t, uint64_t from, size_t n);

/* ---- bpw_probe.c ---- */

struct bpw_probe;
/* Open the model, and read the text.  INFER_EINVAL: it is too short; what infer_model_open_file and
 * infer_engine_open return */
int bpw_probe_open(struct bpw_probe **out, struct bpw_search *a, infer_error *err);
void bpw_probe_close(struct bpw_probe *p); /* NULL is fine */
/* What each choice costs: the divergence that is measured when a group is written in types of about
 * `bpw` bits of a weight, shared out by the errors. */
int bpw_probe(struct bpw_probe *p, double bpw, infer_error *err);

/* ---- bpw_fit.c ---- */

/* Set `chosen` so that the sum of costs is the least with at most `bytes` bytes, at least
 * bpw_least.  INFER_ENOMEM */
int bpw_fit(struct bpw_search *a, uint64_t bytes, infer_error *err);
/* The bytes of the smallest choices. */
uint64_t bpw_least(const struct bpw_search *a);
#endif
