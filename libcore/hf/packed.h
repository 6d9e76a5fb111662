/* hf/packed.h (private) - quantised weights of a checkpoint: the tensors that a quantisation library stores
 * for one linear layer, and their repacking into rows of a type that holds every value exactly.
 *
 *   packing_list.h  one row per method: PACKING(gptq); its const struct packing is in pack_gptq.c
 *   packed.c        finds the method, gathers the stored tensors of each layer into a struct hf_packed
 *
 * hf_packed_gather replaces these tensors in d->raw by one tensor "MODULE.weight" of shape [out, in] (experts:
 * [n, out, in]) and dtype ST_PACKED.  tensors.c binds it by its name like any other; rows.c copies its rows with
 * packing->rows.  Tensors of d->raw that are not quantised (norms, embeddings, modules that the config excludes)
 * stay as they are. */
#ifndef HF_PACKED_H
#define HF_PACKED_H
#include "hf/hf.h"

enum { PACKED_PARTS = 8 };
struct packing;

/* One quantised weight matrix, or the matrices of all experts of a layer. */
struct hf_packed {
	const struct packing *how;
	struct infer_str module;                              /* "model.layers.0.self_attn.q_proj" */
	const struct safetensors_tensor *part[PACKED_PARTS]; /* in the order of how->parts; NULL: absent */
	/* set by how->open */
	int64_t mats, rows, cols; /* mats 1: no experts; rows: out, cols: in */
	int type;                 /* enum infer_type: its rows hold every value exactly */
	int bits, group, has_zeros; /* for infer-inspect; group 0: one scale per row, -1: one per tensor */
	/* act-order: [cols] column i of the repacked matrix is column order[i] of the layer.  NULL: in order */
	const int32_t *order;
	const void *own; /* anything that the method needs, in d->arena */
};

/* A quantisation method.  Immutable. */
struct packing {
	const char *name;       /* "GPTQ", for messages */
	const char *methods[4]; /* quant_method of quantization_config; NULL ends them */
	/* Names of the stored tensors after "MODULE.": "qweight", "qzeros".  A module that has the first
	 * one is quantised.  NULL ends them. */
	const char *parts[PACKED_PARTS];
	/* Check every member of the quantisation config q.  *own receives what open needs, in d->arena.
	 * INFER_EUNSUP, INFER_EFORMAT: by hf_fail, with the key and its value */
	int (*config)(struct hf_dir *d, const struct json *q, const void **own, infer_error *err);
	/* Check dtypes and shapes of the parts, and choose the type: reads all scales and zero points.
	 * INFER_EUNSUP: values that no type holds exactly, with the tensor and the reason; INFER_EFORMAT */
	int (*open)(struct hf_dir *d, struct hf_packed *p, infer_error *err);
	/* Repack rows row ... row + n - 1 of matrix mat into `to`, in p->type.  Any thread. */
	void (*rows)(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n, unsigned char *to);
};

/* Find the method of config.json (or hf_quant_config.json, quantize_config.json, quant_config.json) and gather
 * its tensors.  Without quantisation it does nothing.  After hf_shards, before hf_tensors.
 * INFER_EUNSUP: a method without a row, by its name */
int hf_packed_gather(struct hf_dir *d, infer_error *err);
/* The quantised weight of a tensor of dtype ST_PACKED. */
const struct hf_packed *hf_packed_of(const struct hf_dir *d, const struct safetensors_tensor *t);
#endif
