/* quant/aim.h - (private) types for a size: what a type costs, how much a tensor matters, and the
 * best choice. */
#ifndef QUANT_AIM_H
#define QUANT_AIM_H
#include <infer/aim.h>
#include "base/pool.h"
#include "quant/plan.h"

/* AIM_GROUPS: tensors, or groups of them, that are measured */
enum { AIM_CHOICES = 16, AIM_GROUPS = 48, AIM_WINDOWS = 4 };

struct aim_choice {
	int type;
	uint64_t bytes;
	double error; /* weighed squared error of all values */
	double cost;  /* how much the KL divergence grows with this type */
};
struct aim_tensor {
	const struct infer_tensor *in;
	uint64_t index;          /* in the file */
	const float *importance; /* as in struct quant_tensor */
	size_t n_importance;
	struct aim_choice at[AIM_CHOICES]; /* ascending bytes; without those that gain nothing */
	int n, chosen;
	int group;
	int method; /* of the pattern that it has; -1: as the others */
};
struct aim {
	const infer_file *in;
	const struct infer_aim_opts *o;
	infer_recipe *made; /* of the options; else NULL */
	const infer_recipe *recipe;
	struct importance *importance;
	struct aim_tensor *t;
	size_t n;
	int n_groups;
	struct pool *pool;
	int how; /* as in struct type: the registers of encoders */
	int32_t window;
	uint64_t most, elements; /* the limit of the counted bytes; elements of all tensors */
};

/* ---- aim_error.c ---- */

/* The types that each tensor may have, with bytes and errors.  INFER_ENAN, INFER_ENOMEM */
int aim_errors(struct aim *a, infer_error *err);
/* The importances of elements [from, from + n); 1 without them. */
void aim_columns(float *w, const struct aim_tensor *t, uint64_t from, size_t n);

/* ---- aim_probe.c ---- */

struct aim_probe;
/* Open the model, and read the text.  INFER_EINVAL: it is too short; what infer_model_open_file and
 * infer_engine_open return */
int aim_probe_open(struct aim_probe **out, struct aim *a, infer_error *err);
void aim_probe_close(struct aim_probe *p); /* NULL is fine */
/* What each choice costs: the divergence that is measured when a group is written in types of about
 * `bpw` bits of a weight, shared out by the errors. */
int aim_probe(struct aim_probe *p, double bpw, infer_error *err);

/* ---- aim_fit.c ---- */

/* Set `chosen` so that the sum of costs is the least with at most `bytes` bytes, at least
 * aim_least.  INFER_ENOMEM */
int aim_fit(struct aim *a, uint64_t bytes, infer_error *err);
/* The bytes of the smallest choices. */
uint64_t aim_least(const struct aim *a);
#endif
