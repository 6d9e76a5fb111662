/* lora/peft.h (private) - adapter_config.json, and the tensors of an adapter_model.safetensors. */
#ifndef LORA_PEFT_H
#define LORA_PEFT_H
#include "automata/dfa.h"
#include "base/json.h"
#include "file/safetensors.h"
#include "lora/inner.h"

#define PEFT_CONFIG "adapter_config.json"
#define PEFT_TENSORS "adapter_model.safetensors"

/* A member of rank_pattern or alpha_pattern: a regular expression for names of modules. */
struct peft_pattern {
	struct dfa *dfa;
	double value;
};
struct peft_patterns {
	struct peft_pattern *at;
	int n;
};
struct peft_config {
	int64_t rank;
	double alpha;
	int rank_stabilised; /* the factor is alpha / sqrt(rank) */
	int ties;            /* ensure_weight_tying */
	struct peft_patterns ranks, alphas;
	const struct json *modules_to_save, *target_parameters; /* arrays of strings, or NULL */
};
/* Read the text of adapter_config.json.  Its values are in l->arena, and the text must last as long.
 * Members that change results in a way that is not supported are refused, unless they have the value without
 * effect.
 * INFER_EFORMAT, INFER_EUNSUP name the member; INFER_ENOMEM.  On failure too: peft_config_fini. */
int peft_config_read(struct peft_config *c, infer_lora *l, const char *text, size_t n,
                     infer_error *err);
void peft_config_fini(struct peft_config *c); /* a zeroed *c is fine */
/* Return the rank and alpha of a module, by its name in the base model. */
int64_t peft_rank(const struct peft_config *c, struct infer_str module);
double peft_alpha(const struct peft_config *c, struct infer_str module);
/* True if a list has this name, or its last components. */
int peft_lists(const struct json *list, struct infer_str module);

/* The element (mat, row, col) of factors of a change: its offset is mat * mat + row * row + col * col. */
struct peft_grid {
	int type;
	const unsigned char *at;
	int64_t mat, row, col;
};
/* The change of one tensor of a checkpoint, [mats][rows][cols]: left [rows][rank] times right [rank][cols]. */
struct peft_pair {
	const struct safetensors_tensor *a, *b;
	struct infer_str module;
	struct peft_grid left, right;
	int64_t rank;
	double scale;
};

/* The contents of a directory.  `pairs` and `pseudo` have the same numbers: pseudo has the name and the shape
 * of the tensor of the checkpoint that a pair changes.  whole: tensors of the adapter under the names of
 * the checkpoint; based: 1 if it was stored with a pair, as the tensor that the pair was added to. */
struct peft {
	infer_lora *l;
	struct peft_config config;
	struct safetensors raw;
	struct peft_pair *pairs;
	struct safetensors_tensor *pseudo, *whole;
	uint8_t *based;
	int64_t n_pairs, n_whole;
	int left; /* tensors without an effect on text */
};
/* peft_tensors.c: fill pairs and whole from raw.
 * INFER_EFORMAT, INFER_EUNSUP name the tensor; INFER_ENOMEM */
int peft_find_pairs(struct peft *p, infer_error *err);
/* peft_add.c: add all of them to p->l, in the order of the model's file. */
int peft_add_pairs(struct peft *p, infer_error *err);
int peft_add_whole(struct peft *p, infer_error *err);
/* peft_config.c: like err_set; the message begins with the directory and adapter_config.json. */
int peft_config_fail(const infer_lora *l, int code, infer_error *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5), cold));
#endif
