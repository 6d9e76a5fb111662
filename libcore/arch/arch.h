/* arch/arch.h - architectures as data: keys, tensors, and the block that joins them.  One const row
 * per architecture in arch_list.h; a row says only what differs from the row it is `like`. */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H
#include <stddef.h>
#include <stdint.h>
#include <infer/model.h>
#include "arch/hparam.h"
#include "arch/keys.h"
#include "arch/read.h"
#include "arch/tensor.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "graph/graph.h"

/* Groups of tensors that rows share; each ends with W_END. */
#define GROUP(name) extern const struct arch_tensor group_##name[];
#define TENSOR(slot, gguf, hf, other, ne0, ne1, ne2, need, how)
#define GONE(slot)
#define END_GROUP
#include "arch/tensor_list.h"
#undef GROUP
#undef TENSOR
#undef GONE
#undef END_GROUP

/* A member of config.json with one value that is computed here. */
struct arch_expect {
	const char *key, *value;
};

extern const struct arch_expect arch_expect_gelu[]; /* of Gemma */

enum { ARCH_MAX_GROUPS = 6, ARCH_MAX_READ = 8 };
struct arch {
	const char *gguf;        /* general.architecture */
	const char *hf[6];       /* config.json: architectures[0]; NULL: no more */
	const struct arch *like; /* NULL: the base row */
	/* names of tensors in such checkpoints: the prefix before the number of a layer, and one that
	 * every name may or may not have; NULL: those of `like` */
	const char *layers, *prefix[2];
	/* groups of tensor_list.h on top of like's; a slot again: instead */
	const struct arch_tensor *tensors[ARCH_MAX_GROUPS];
	int chunked; /* layers that slide see chunks; not of like's */
	/* gains of norms are one less in checkpoints of Hugging Face; 0: as in like's */
	int less_one;
	/* what rotates together in either kind of file; ROPE_NONE: both are like's */
	struct {
		enum arch_rope_mode gguf, hf;
	} rope;
	/* keys beyond the common ones, and what they change; called in order, once those are read */
	arch_read *read[ARCH_MAX_READ];
	/* of config.json: what has to say so where it is there; and what the class has defaults for
	 * that are not ours, so that it has to be there (as in key_list.h, with spaces between);
	 * NULL: like's */
	const struct arch_expect *expect;
	const char *must;
	/* members of config.json in another form; NULL: like's */
	arch_member *member;
	/* the node behind layer, -1 on failure (graph bad); NULL: like's.  The base row's is
	 * arch_block */
	int32_t (*block)(struct graph *g, const infer_model *m, int layer, int32_t x);
};

/* The parts of an open model that the floors above read.  Immutable. */
struct infer_model {
	const struct arch *arch;
	const infer_file *file;
	infer_file *own;         /* file, where it is ours to close; else NULL */
	enum arch_naming naming; /* of the file's tensors */
	infer_tokenizer *tok;    /* NULL: the file has no vocabulary */
	int adds_bos;
	struct arch_hparam h;
	struct weight *weights;
	const struct infer_tensor **tensors; /* [n_weights] what each was bound from */
	int32_t *order; /* [n_weights] 1 + the weight that is the order of its inputs; 0: none */
	int n_weights;
	int32_t global[W_GLOBALS]; /* slot -> index of a weight, -1: not there */
	int32_t (*layer)[W_SLOTS]; /* [n_layers][slot] */
	struct graph graph;
	int32_t inputs;  /* node of what each layer gets beside the row; -1: they get nothing */
	int32_t *starts; /* [n_layers + 1] first node of a layer; of what follows the last */
	struct backend_rope ropes[2];
	int n_ropes;
	int32_t ctx; /* that the frequencies were made for */
	uint64_t private_bytes, weight_bytes, n_params;
	int64_t file_ns, tokenizer_ns, open_ns;
	infer_log_fn *log;
	void *log_user;
	struct arena arena; /* weights and all arrays */
};
struct backend_model arch_parts(const infer_model *m); /* for kind->plan */

const struct arch *arch_find(struct infer_str gguf_name); /* NULL: not built in */
/* foreign.c: INFER_EUNSUP: the file is of a converter whose tensors and keys have other names or another meaning. */
int arch_check_foreign(const infer_model *m, struct infer_str gguf_name, infer_error *err);
const struct arch *arch_at(int i); /* row of arch_list.h; NULL past the end */
const struct arch *arch_find_hf(struct infer_str hf_class); /* NULL: not built in */
/* what rotates together in such checkpoints, and here */
enum arch_rope_mode arch_rope_mode(const struct arch *a, enum arch_naming naming);
/* The row that says what fills a slot, the nearest one; NULL: nothing does. */
const struct arch_tensor *arch_row(const struct arch *a, int slot);
/* The prefix of names in layers; a name without the prefix that all names may have. */
const char *arch_layer_prefix(const struct arch *a, enum arch_naming naming);
struct infer_str arch_strip_prefix(const struct arch *a, enum arch_naming naming,
                                   struct infer_str name);

/* The rows of a's table that a name stands for: parts of one tensor, in the order of the slots. */
enum { ARCH_MAX_PARTS = 4 };
struct arch_parts {
	const struct arch_tensor *row[ARCH_MAX_PARTS];
	int n;
	int expert; /* the number in the name of a tensor of one expert; -1: it has all */
};
/* True if a plain name is that of a column, in which %d is a number: *expert. */
int arch_is_named(const struct arch *a, enum arch_naming naming, const char *column,
                  struct infer_str name, int *expert);
/* name: plain; of a tensor of a layer, what follows the number of the layer.  n 0: no row has it. */
struct arch_parts arch_find_rows(const struct arch *a, enum arch_naming naming,
                                 struct infer_str name, int layered);
/* The layer in "blk.12.rest" or "model.layers.12.rest", and *rest; -1 and the plain name if it has
 * another form. */
int arch_layer_of(const struct arch *a, enum arch_naming naming, struct infer_str name,
                  struct infer_str *rest);
/* t->how as it is in a: T_PAIRS only where a's files rotate halves in one kind, pairs in the other,
 * else T_NONE; T_PLUS1 or T_NONE for T_GAIN. */
enum arch_transform arch_transform_of(const struct arch *a, const struct arch_tensor *t);

/* n_vocab is left 0: arch_bind takes it from token_embd.  INFER_EFORMAT, INFER_EUNSUP name keys. */
int arch_hparam_read(struct arch_hparam *h, const struct arch_keys *keys, infer_error *err);
/* Numbers of a row of the output: scores of a head, logits of tokens, or none; of an embedding. */
static inline int32_t arch_outputs(const infer_model *m)
{
	return m->h.n_ranks ? m->h.n_ranks : m->h.bidirectional ? 0 : m->h.n_vocab;
}
static inline int32_t arch_width(const infer_model *m)
{
	return m->h.n_dense_3 ? m->h.n_dense_3 : m->h.n_dense_2 ? m->h.n_dense_2 : m->h.n_embd;
}

/* 1: the tensor has to be there; 0: it may; -1: it has no use in this layer. */
int arch_tensor_need(const infer_model *m, const struct arch_tensor *t, int layer);
/* Names of m->file, by m->naming, to slots; types and shapes checked. */
int arch_bind(infer_model *m, infer_error *err);
/* W_K_B and W_V_B of a layer out of W_KV_B, where a file has that.  INFER_EFORMAT: it has neither. */
int arch_split_kv_b(infer_model *m, int layer, infer_error *err);
/* Fill in everything after the file: parameters, tensors, frequencies and graph of m->arch, with
 * names by m->naming. */
int arch_fill(infer_model *m, const struct arch_keys *keys, int32_t ctx, infer_error *err);
int arch_rope_init(infer_model *m, int32_t ctx, infer_error *err);
int arch_graph_build(infer_model *m, infer_error *err);
/* Every bound tensor serves the graph or the frequencies.  INFER_EUNSUP names one that does not. */
int arch_check_used(const infer_model *m, infer_error *err);

/* Parts of a block: each takes a node and returns the node behind it, -1 on failure (graph bad). */
int32_t arch_block(struct graph *g, const infer_model *m, int layer, int32_t x);
/* norms after the sums, not before the branches */
int32_t arch_post_norm_block(struct graph *g, const infer_model *m, int layer, int32_t x);
/* of a normed row; before W_O */
int32_t arch_attention(struct graph *g, const infer_model *m, int layer, int32_t h);
/* delta.c: as arch_attention, of a recurrent layer; before W_STATE_OUT */
int32_t arch_gated_delta(struct graph *g, const infer_model *m, int layer, int32_t h);
int32_t arch_short_conv(struct graph *g, const infer_model *m, int layer, int32_t h); /* the same */
int32_t arch_ssm(struct graph *g, const infer_model *m, int layer, int32_t h);        /* the same */
/* a causal convolution of x with weight w and bias; plain: without SiLU */
int32_t arch_conv1d(struct graph *g, const infer_model *m, int layer, int32_t x, const int32_t w[2],
                    int plain);
/* The fields of DELTA that all recurrent layers share: its state and heads, but no sources. */
struct graph_node arch_gated_delta_node(const infer_model *m, int layer);
/* cols columns of x: of each of its pieces those from `from` on */
int32_t arch_slice(struct graph *g, int32_t x, int pieces, int32_t from, int32_t cols);
int32_t arch_mla(struct graph *g, const infer_model *m, int layer, int32_t h);
int32_t arch_mlp(struct graph *g, const infer_model *m, int layer, int32_t h);
/* scale queries by their position, in layers that do */
int32_t arch_attn_temp(struct graph *g, const infer_model *m, int layer, int32_t x);
/* by: what the router sees */
int32_t arch_moe(struct graph *g, const infer_model *m, int layer, int32_t h, int32_t by);
/* streams.c: split rows x into streams, and merge streams into rows; where a model has one stream, x
 * itself.  In between, a block that takes all streams. */
int32_t arch_altup_split(struct graph *g, const infer_model *m, int32_t x);
int32_t arch_altup_merge(struct graph *g, const infer_model *m, int32_t x);
int32_t arch_altup_block(struct graph *g, const infer_model *m, int layer, int32_t x);
/* inputs.c: a part of the token's own embedding for each layer, of the rows x of the first; -1:
 * there are none, or failure.  Then what the layer adds of its part. */
int32_t arch_layer_embds(struct graph *g, const infer_model *m, int32_t x);
int32_t arch_layer_embd(struct graph *g, const infer_model *m, int layer, int32_t x);
/* The rows that want logits. */
int32_t arch_output_rows(struct graph *g, int32_t x);
int32_t arch_add(struct graph *g, const infer_model *m, int32_t x, int32_t branch);
/* times a number and a weight (-1: none) */
int32_t arch_scaled(struct graph *g, int32_t x, float mul, int32_t w);
/* w -1: x itself */
int32_t arch_norm(struct graph *g, const infer_model *m, int32_t w, int32_t x);
int32_t arch_norm_bias(struct graph *g, const infer_model *m, int32_t w, int32_t bias, int32_t x);
int32_t arch_linear(struct graph *g, const infer_model *m, int32_t w, int32_t bias, int32_t x);
/* x in the order of the columns of weight w, which may have act-order; w -1: x */
int32_t arch_permute(struct graph *g, const infer_model *m, int32_t w, int32_t x);
#endif
