/* hf/pack_ct.h (private) - the quantisation config of compressed-tensors.
 * https://github.com/vllm-project/compressed-tensors */
#ifndef HF_PACK_CT_H
#define HF_PACK_CT_H
#include "hf/packed.h"

enum ct_format { CT_PACK, CT_INT, CT_FLOAT, CT_NAIVE, CT_NVFP4, CT_MXFP4, CT_MXFP8, CT_FORMATS };
enum ct_strategy { CT_TENSOR, CT_CHANNEL, CT_GROUP, CT_BLOCK, CT_TENSOR_GROUP };

/* A scheme: a member of config_groups. */
struct ct_scheme {
	const char *name;
	enum ct_format format;
	enum ct_strategy strategy;
	int bits, is_float, symmetric;
	int by_order;       /* actorder "group": the group of each column is in weight_g_idx */
	int64_t high, wide; /* rows and columns of a block; CT_GROUP: 1 and group_size */
};
/* An entry of "targets" or "ignore": name of a module or class, or pattern for a name's start. */
struct ct_target {
	struct infer_str name;
	const void *re; /* pcre2_code; NULL: not a pattern */
	int scheme;     /* index of ct.schemes; -1: "ignore" */
};
struct ct {
	const struct ct_scheme *schemes;
	struct ct_target *names, *patterns; /* sorted by name */
	int n_schemes, n_names, n_patterns;
	void *match;  /* pcre2_match_data */
	void *limits; /* pcre2_match_context */
};

/* pack_ct.c: packing->config */
int hf_ct_config(struct hf_dir *d, const struct json *q, const void **own, infer_error *err);
/* pack_ct_match.c: sort the targets and compile the patterns.  Memory: d->brief.
 * INFER_EUNSUP: an invalid pattern, or a target in two schemes; INFER_ENOMEM */
int hf_ct_targets(struct hf_dir *d, struct ct *c, infer_error *err);
/* Find the scheme of a module.
 * INFER_EFORMAT: no target matches, or "ignore" does */
int hf_ct_scheme(struct hf_dir *d, const struct ct *c, const struct hf_packed *p,
                 const struct ct_scheme **scheme, infer_error *err);
#endif
