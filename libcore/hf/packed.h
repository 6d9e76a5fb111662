/* hf/packed.h (private) - quantised weights of a checkpoint: gather the tensors that a quantisation
 * library stores for one linear layer, and repack them to a type that represents every value
 * exactly.
 *
 *   packing_list.h  one row per method: PACKING(gptq); its const struct packing is in pack_gptq.c
 *   packed.c        gathers the stored tensors of each layer into a struct hf_packed
 *   quant.c         finds the configuration and its method
 *   rows_packed.c   copies rows into GGUF tensors
 *
 * hf_packed_gather replaces these tensors in d->raw by one tensor "MODULE.weight" of shape [out,
 * in] (experts: [n, out, in]) and dtype ST_PACKED.  tensors.c finds it by name like any other.
 * Other tensors of d->raw (norms, embeddings, modules that the config excludes) are unchanged. */
#ifndef HF_PACKED_H
#define HF_PACKED_H
#include "hf/hf.h"

enum { PACKED_PARTS = 24, PACKED_UNUSED = 12 };
struct packing;

/* One quantised weight matrix, or the matrices of all experts of a layer. */
struct hf_packed {
	const struct packing *how;
	struct infer_str module; /* name: "model.layers.0.self_attn.q_proj" */
	/* [i]: stored tensor how->parts[i]; NULL: absent */
	const struct safetensors_tensor *part[PACKED_PARTS];
	/* result of how->config; how->open may replace it by data in d->arena */
	const void *own;
	/* set by how->open */
	int64_t mats, rows, cols; /* mats: experts, else 1; rows: outputs; cols: inputs */
	int type;                 /* enum infer_type that represents every value exactly */
	/* Another type that represents every value, or 0.  It replaces `type` before rows() is
	 * called if other experts of the layer need it. */
	int general;
	/* for infer-inspect.  group: inputs per scale; 0: one scale per row, -1: one per tensor */
	int bits, group, has_zeros;
	/* act-order: [cols] column i of the repacked matrix is column order[i] of the layer.  NULL:
	 * in order */
	const int32_t *order;
};

/* A quantisation method.  Immutable. */
struct packing {
	const char *name;       /* "GPTQ", for messages */
	const char *methods[4]; /* values of quant_method that it reads; NULL ends the list */
	/* True if this row reads q, whose quant_method is in `methods`.  NULL: always */
	int (*takes)(const struct json *q);
	/* Names of the stored tensors after "MODULE.": "qweight", "qzeros".  A module with the
	 * first one is quantised.  NULL ends the list.  A name that begins with "_", or "", follows
	 * MODULE directly, and then the new tensor is called MODULE, not MODULE.weight. */
	const char *parts[PACKED_PARTS];
	/* Tensors to skip, by their names after the last ".": "input_scale".  NULL ends the
	 * list. */
	const char *unused[PACKED_UNUSED];
	/* Check every member of the quantisation config q (of hf_quant_config.json: the whole
	 * file).  *own: data for open, in d->arena.
	 * INFER_EUNSUP, INFER_EFORMAT: set by hf_bad_quant, with the key and its value */
	int (*config)(struct hf_dir *d, const struct json *q, const void **own, infer_error *err);
	/* Check dtypes and shapes of the parts and set p->type; reads all scales and zero points.
	 * INFER_EUNSUP: no type represents the values exactly; the message names the tensor and the
	 * reason.  INFER_EFORMAT */
	int (*open)(struct hf_dir *d, struct hf_packed *p, infer_error *err);
	/* Repack rows row ... row + n - 1 of matrix mat into `to`, in p->type.  Any thread. */
	void (*rows)(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
	             unsigned char *to);
	/* Check a tensor that is not part of a quantised weight.  NULL: not checked.
	 * INFER_EFORMAT: the configuration requires it to be quantised, or other tensors of its
	 * weight are missing */
	int (*other)(struct hf_dir *d, const void *own, const struct safetensors_tensor *t,
	             infer_error *err);
};

/* quant.c: true if method p reads configuration q. */
int hf_packing_takes(const struct packing *p, const struct hf_quant *q);
/* quant.c: find the configuration and set d->quant, {NULL} without quantisation.
 * INFER_EUNSUP: packing_list.h lacks the method, or two configurations differ */
int hf_quant_find(struct hf_dir *d, infer_error *err);
/* Replace the stored tensors of quantised weights in d->raw.  Call it after hf_shards.  Does
 * nothing without quantisation.
 * Fails as packing->config and ->open; INFER_EFORMAT: a weight lacks a tensor; INFER_ENOMEM */
int hf_packed_gather(struct hf_dir *d, infer_error *err);
/* packed_notes.c: return a weight with the most frequent method, bits, group size, zero points and
 * type in raw.  NULL: nothing is quantised. */
const struct hf_packed *hf_packed_most(const struct safetensors *raw);
/* packed_notes.c: append the keys general.source.quantization.* of that weight. */
void hf_packed_keys(struct hf_dir *d);
/* packed_notes.c: add notes (hf_note) about the repacked weights; seconds: time of repacking. */
int hf_packed_note(struct hf_dir *d, double seconds, infer_error *err);
/* Fail for a member of the quantisation config: "DIR/config.json: quantization_config: " and
 * fmt. */
int hf_bad_quant(const struct hf_dir *d, int code, infer_error *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5), cold));
/* Return the quantised weight of a tensor of dtype ST_PACKED, or NULL. */
static inline const struct hf_packed *hf_packed_of(const struct safetensors_tensor *t)
{
	return t->dtype == ST_PACKED ? t->packed : NULL;
}

#define PACKING(x) extern const struct packing packing_##x;
#include "hf/packing_list.h"
#undef PACKING
#endif
