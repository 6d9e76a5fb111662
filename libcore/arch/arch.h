/* arch/arch.h - model architectures as data: keys, tensors, and the block of a layer.
 *
 * arch_list.h lists one const row per architecture. A row has only the differences from the row
 * `like`.
 *
 * Functions with a non-const `infer_model *m` are called by the thread that opens m, all others by any
 * thread, with a const m once it is open.
 * Results are static, or borrowed from m or `name`. Functions that return int return INFER_OK or an
 * error code, unless noted. Arrays are allocated in m->arena; after a failure the caller closes m
 * (infer_model_close). */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H
#include <stddef.h>
#include <stdint.h>
#include <infer/model.h>
#include "arch/block.h"
#include "arch/hparam.h"
#include "arch/keys.h"
#include "arch/read.h"
#include "arch/tensor.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "graph/graph.h"

/* The groups of tensor_list.h, each ended by slot W_END. */
#define GROUP(name) extern const struct arch_tensor group_##name[];
#define TENSOR(slot, gguf, hf, other, ne0, ne1, ne2, need, how)
#define GONE(slot)
#define END_GROUP
#include "arch/tensor_list.h"
#undef GROUP
#undef TENSOR
#undef GONE
#undef END_GROUP

/* A member of config.json for which only one value is supported. */
struct arch_expect {
	const char *key, *value;
};

extern const struct arch_expect arch_expect_gelu[]; /* members that Gemma expects */

enum { ARCH_MAX_GROUPS = 6, ARCH_MAX_READ = 8 };
struct arch {
	const char *gguf;        /* general.architecture */
	const char *hf[6];       /* class names, as in config.json; NULL ends the list */
	const struct arch *like; /* NULL: the base row */
	/* tensor names in Hugging Face checkpoints: the prefix before the layer number, and up to
	 * two prefixes that any name may have; NULL: as in `like` */
	const char *layers, *prefix[2];
	/* groups of tensor_list.h; their slots are added to those of `like` or replace them */
	const struct arch_tensor *tensors[ARCH_MAX_GROUPS];
	int chunked; /* 1: windows are chunks, not sliding. Not inherited from `like` */
	/* 1: Hugging Face checkpoints store norm gains minus 1; 0: as in `like` */
	int less_one;
	/* RoPE pairing in files of either naming; ROPE_NONE: as in `like` */
	struct {
		enum arch_rope_mode gguf, hf;
	} rope;
	/* readers of keys of this architecture, called in order after the common keys are read */
	arch_read *read[ARCH_MAX_READ];
	/* config.json: `expect` lists members with one supported value; `must` names members, as in
	 * key_list.h and separated by spaces, that are required because the class has another
	 * default. NULL: as in `like` */
	const struct arch_expect *expect;
	const char *must;
	/* converts members of config.json that are stored in another form; NULL: as in `like` */
	arch_member *member;
	/* Append a layer with input node x. Returns its last node, or -1 on failure. NULL: as in
	 * `like`; the base row has arch_block */
	int32_t (*block)(struct graph *g, const infer_model *m, int layer, int32_t x);
};

/* An open model. Immutable. */
struct infer_model {
	const struct arch *arch;
	const infer_file *file;
	infer_file *own;         /* the file if this model closes it; else NULL */
	enum arch_naming naming; /* of the file's tensors */
	infer_tokenizer *tok;    /* NULL: the file has no vocabulary */
	int adds_bos;
	struct arch_hparam h;
	struct weight *weights;
	const struct infer_tensor **tensors; /* [n_weights] the file's tensor of each weight */
	int32_t *order; /* [n_weights] 1 + the weight with its act-order (order.c); 0: none */
	int n_weights;
	int32_t global[W_GLOBALS]; /* [slot] weight index; -1: none */
	int32_t (*layer)[W_SLOTS]; /* [n_layers][slot] weight index; -1: none */
	struct graph graph;
	int32_t inputs;  /* node of the per-layer embeddings; -1: none */
	int32_t *starts; /* [n_layers + 1] first node of each layer, and the end of the last */
	struct backend_rope ropes[2];
	int n_ropes;
	int32_t ctx; /* context for which the RoPE tables were computed */
	uint64_t private_bytes, weight_bytes, n_params;
	int64_t file_ns, tokenizer_ns, open_ns;
	infer_log_fn *log;
	void *log_user;
	struct arena arena; /* weights and all arrays */
};
/* Return the model for backend_kind.plan, without KV groups; borrowed from m. */
struct backend_model arch_parts(const infer_model *m);

const struct arch *arch_find(struct infer_str gguf_name); /* NULL: not built in */
/* Refuse files that are not text models, or that contain a vision model (foreign.c). Reads m->file
 * only. INFER_EUNSUP */
int arch_check_foreign(const infer_model *m, struct infer_str gguf_name, infer_error *err);
const struct arch *arch_find_hf(struct infer_str hf_class); /* NULL: not built in */
/* Return the RoPE pairing in files of this naming. */
enum arch_rope_mode arch_rope_mode(const struct arch *a, enum arch_naming naming);
/* Return the tensor of a slot, from a or the first row of its `like` chain that has one; NULL:
 * none. */
const struct arch_tensor *arch_row(const struct arch *a, int slot);
/* Return the name prefix of layer tensors, as "blk.". */
const char *arch_layer_prefix(const struct arch *a, enum arch_naming naming);
/* Return name without a.prefix, if it has one. */
struct infer_str arch_strip_prefix(const struct arch *a, enum arch_naming naming,
                                   struct infer_str name);

/* The rows with one name: the parts of one tensor of the file (Q, K and V, for example), in the
 * order of their slots. */
enum { ARCH_MAX_PARTS = 4 };
struct arch_parts {
	const struct arch_tensor *row[ARCH_MAX_PARTS];
	int n;
	int expert; /* expert number in the name; -1: the tensor has all experts */
};
/* True if `name` matches `column`, a name of tensor_list.h, without the prefix of a and naming. %d in it
 * matches a number, stored in *expert; otherwise *expert is unchanged. */
int arch_is_named(const struct arch *a, enum arch_naming naming, const char *column,
                  struct infer_str name, int *expert);
/* Find the rows with this name. name: without prefix and, if layered, without "blk.N.". Returns n 0
 * if there are none. */
struct arch_parts arch_find_rows(const struct arch *a, enum arch_naming naming,
                                 struct infer_str name, int layered);
/* Return the layer in "blk.12.rest" or "model.layers.12.rest", and set *rest. -1: another form;
 * *rest is the name without prefix. */
int arch_layer_of(const struct arch *a, enum arch_naming naming, struct infer_str name,
                  struct infer_str *rest);
/* Return t->how, resolved for architecture a: T_PAIRS is T_NONE unless the RoPE pairing differs
 * between the two namings; T_GAIN is T_PLUS1 or T_NONE. */
enum arch_transform arch_transform_of(const struct arch *a, const struct arch_tensor *t);

/* Read and check all keys. n_vocab and sizes without keys stay 0 until arch_bind. INFER_EFORMAT,
 * INFER_EUNSUP name the key. */
int arch_hparam_read(struct arch_hparam *h, const struct arch_keys *keys, infer_error *err);
/* Return the number of scores or logits in an output row; 0: the model gives embeddings only. */
static inline int32_t arch_outputs(const infer_model *m)
{
	return m->h.n_ranks ? m->h.n_ranks : m->h.bidirectional ? 0 : m->h.n_vocab;
}
/* Return the number of floats of an embedding. */
static inline int32_t arch_width(const infer_model *m)
{
	return m->h.n_dense_3 ? m->h.n_dense_3 : m->h.n_dense_2 ? m->h.n_dense_2 : m->h.n_embd;
}

/* Return 1 if the layer requires the tensor, 0 if it is optional, -1 if the layer does not use
 * it. */
int arch_tensor_need(const infer_model *m, const struct arch_tensor *t, int layer);
/* Bind the tensors of m->file to slots, by m->naming. Types and shapes are checked. INFER_EFORMAT,
 * INFER_EUNSUP, INFER_ENAN (its scale) name the tensor; INFER_ENOMEM */
int arch_bind(infer_model *m, infer_error *err);
/* Make W_K_B and W_V_B of a layer from W_KV_B if the file has only that. INFER_EFORMAT: the file
 * has neither; INFER_ENOMEM */
int arch_split_kv_b(infer_model *m, int layer, infer_error *err);
/* Complete a model whose file, arch and naming are set: parameters, tokenizer, tensors, RoPE tables
 * for context ctx (0: that of training), graph. INFER_EFORMAT, INFER_EUNSUP, INFER_ENOMEM */
int arch_fill(infer_model *m, const struct arch_keys *keys, int32_t ctx, infer_error *err);
/* Compute the RoPE tables for context ctx. INFER_EFORMAT: missing or bad divisors; INFER_ENOMEM */
int arch_rope_init(infer_model *m, int32_t ctx, infer_error *err);
/* Build and check the graph. INFER_EINVAL: m->arch->block built an invalid graph; INFER_ENOMEM */
int arch_graph_build(infer_model *m, infer_error *err);
/* Check that the graph or the RoPE tables use every bound tensor. INFER_EUNSUP names one that is
 * not used; INFER_ENOMEM */
int arch_check_used(const infer_model *m, infer_error *err);
#endif
