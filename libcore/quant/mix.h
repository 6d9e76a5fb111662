/* quant/mix.h - (private) which type a tensor of a model gets: the names of types and mixes, and
 * the rules of the public tools, which follow from names, shapes and hyper-parameters alone. */
#ifndef QUANT_MIX_H
#define QUANT_MIX_H
#include <infer/file.h>

/* What --type may name. */
struct mix_name {
	const char *name;
	uint8_t file_type; /* general.file_type */
	uint8_t base;      /* enum infer_type: of tensors that no rule names */
	uint8_t alone;     /* 1: the type for all tensors, without rules */
};
/* In capitals or not; NULL: there is none. */
const struct mix_name *mix_find(const char *name);
const struct mix_name *mix_at(int i); /* NULL past the end */
/* The enum infer_type of a name; -1: none. */
int mix_type(const char *name);

/* What the rules depend on.  Confined: tensors are asked for in the order of their layers. */
struct mix {
	const struct mix_name *name;
	int has_importance;
	uint32_t always; /* facts about the model: bits of mix.c */
	int tied;        /* the embedding is the output too */
	int layers, experts;
	int bailing, glm5;                  /* families with rules of their own */
	int n_v, i_v, i_down, i_gate, i_up; /* of tensors that count as V: all; of each: so far */
};
/* The hyper-parameters are read from f.  INFER_EFORMAT, INFER_EUNSUP */
int mix_init(struct mix *m, const struct mix_name *name, int has_importance, const infer_file *f,
             infer_error *err);
/* Nonzero if a tensor is quantised at all. */
int mix_takes(const struct mix *m, const struct infer_tensor *t);
/* The type by the rules, for a tensor that is taken; the shape may not allow it.
 * INFER_EUNSUP: a model of experts, and the name has no layer */
int mix_choose(int *type, struct mix *m, const struct infer_tensor *t, infer_error *err);
/* The type itself, or one that rows of ne0 elements are whole blocks of. */
int mix_fit(int type, int64_t ne0);
/* Nonzero if nobody should make such a tensor without importances. */
int mix_needs_importance(const struct mix *m, const struct infer_tensor *t, int type);
/* "blk.%d.": the layer in a name; -1: none */
int mix_layer(struct infer_str name);
#endif
