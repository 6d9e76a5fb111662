/* quant/mix.h - (private) types and mixes: the type of each tensor by the rules of llama.cpp,
 * which depend only on names, shapes and hyperparameters. */
#ifndef QUANT_MIX_H
#define QUANT_MIX_H
#include <infer/file.h>

/* A value of --type. */
struct mix_name {
	const char *name;
	uint8_t file_type; /* general.file_type */
	uint8_t base;      /* enum infer_type of tensors without a rule */
	uint8_t alone;     /* 1: all tensors get the base type, without rules */
};
/* Find a type or mix by its name, ignoring case; NULL: there is none. */
const struct mix_name *mix_find(const char *name);
enum { MIX_SIMILAR = 40 };
/* Write "; did you mean NAME?" for the type or mix whose name is most similar, or "". */
void mix_similar(char to[MIX_SIMILAR], const char *name);
const struct mix_name *mix_at(int i); /* entry i of the table; NULL: i is too large */
/* Return the enum infer_type with that name, or -1. */
int mix_type(const char *name);

/* State of the rules for one model.  Call mix_choose for the tensors in the order of their layers.
 * Confined. */
struct mix {
	const struct mix_name *name;
	int has_importance;
	uint32_t always; /* conditions that the model fulfils, enum fact of mix.c */
	int tied;        /* 1: the embedding is also the output */
	int layers, experts;
	int bailing, glm5;             /* 1: architectures with special rules */
	int n_v;                       /* number of tensors that count as V */
	int i_v, i_down, i_gate, i_up; /* number of tensors of each role so far */
};
/* Initialise *m with the hyperparameters of f.  INFER_EFORMAT: a key is malformed; INFER_EUNSUP */
int mix_init(struct mix *m, const struct mix_name *name, int has_importance, const infer_file *f,
             infer_error *err);
/* True if the mix quantises the tensor, false if it keeps its type. */
int mix_takes(const struct mix *m, const struct infer_tensor *t);
/* Set *type by the rules, for a tensor that mix_takes accepts; mix_fit adapts it to the shape.
 * INFER_EUNSUP: the model has experts, and the name has no layer. */
int mix_choose(int *type, struct mix *m, const struct infer_tensor *t, infer_error *err);
/* Return `type`, or one with smaller blocks if its blocks do not divide a row of ne0 elements. */
int mix_fit(int type, int64_t ne0);
/* True if the tensor's error would be too large in this type without importances. */
int mix_needs_importance(const struct mix *m, const struct infer_tensor *t, int type);
/* Return the layer in a name "blk.%d.", or -1. */
int mix_layer(struct infer_str name);
#endif
