/* infer/lora.h - LoRA adapters: files that change a model by low-rank products.   floor: lora
 *
 * Two forms are read: GGUF (general.type "adapter", adapter.type "lora"), and directories of Hugging Face
 * PEFT (adapter_config.json with adapter_model.safetensors).  An adapter belongs to the model it was
 * opened for: its tensors are checked against those of the model and stored in the row order of the
 * model's file.  Immutable and counted: any thread may take and drop references.
 * Hu+ 2021, arXiv:2106.09685; rank-stabilised factor: Kalajdzievski 2023, arXiv:2312.03732 */
#ifndef INFER_LORA_H
#define INFER_LORA_H
#include <stdint.h>
#include <infer/file.h>
#include <infer/model.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_lora infer_lora;

enum { INFER_LORA_USES = 8, INFER_LORA_MAX_RANK = 4096 };

/* Open an adapter for a model.  path: a GGUF file or a PEFT directory.  m: borrowed, must outlive *out.
 * INFER_EINVAL: the file is a model or something else, not an adapter.
 * INFER_EIO: a file cannot be read.  INFER_ENOMEM
 * INFER_EFORMAT: damaged; a half of a pair is missing; a shape that does not fit the model, or a rank that
 *                is 0 or above INFER_LORA_MAX_RANK; names the tensor.
 * INFER_ENAN: a value is not finite; names the tensor.
 * INFER_EUNSUP: another architecture, a tensor that the model does not have or that cannot be adapted, a
 *               method other than LoRA (DoRA, aLoRA, a bias, ...); names it. */
int infer_lora_open(infer_lora **out, const infer_model *m, const char *path, infer_log_fn *log,
                    void *log_user, infer_error *err);
infer_lora *infer_lora_ref(infer_lora *l); /* add a reference; returns l */
void infer_lora_close(infer_lora **l);     /* drop one; the last frees it.  *l becomes NULL */

/* One adapter of a request. */
struct infer_lora_use {
	infer_lora *lora;
	float factor; /* finite; 0: not used; else the deltas are multiplied by it */
};

struct infer_lora_info {
	const char *path;            /* as given; borrowed, like all strings here */
	struct infer_str name, task; /* general.name or the directory's name; the task, or empty */
	struct infer_str prefix;     /* adapter.lora.prompt_prefix, or empty */
	const infer_model *model;
	double alpha; /* of the first pair; the others are in the entries */
	int32_t max_rank;
	int32_t n_entries;
	uint64_t n_params;  /* in the file */
	uint64_t bytes;     /* of its values in memory: read when every row uses it */
	uint64_t serial;    /* of this opening; no two in a process are the same */
	const char *sha256; /* of the GGUF file, or of the safetensors file; lowercase hex */
};
void infer_lora_info(const infer_lora *l, struct infer_lora_info *info);

enum infer_lora_kind {
	INFER_LORA_PAIR,  /* A and B, added to a matrix or its parts */
	INFER_LORA_WHOLE, /* a tensor that replaces the model's, whatever the factor */
};
/* A change of one tensor of the model's file. */
struct infer_lora_entry {
	const char *tensor; /* name in the model's file */
	int kind;           /* enum infer_lora_kind */
	int a_type, b_type; /* enum infer_type; WHOLE: a_type is its type */
	int32_t rank, n_matrices;
	int64_t ne[2]; /* columns and rows of each matrix */
	double scale;  /* alpha / rank, alpha / sqrt(rank) */
	uint64_t bytes;
};
void infer_lora_entry(const infer_lora *l, int32_t i, struct infer_lora_entry *entry);

/* Add factor * scale * B A to rows [from, from + n) of matrix `matrix` of a tensor of the model's file, or
 * replace them (WHOLE, unless factor is 0).  w  f32 [n][ne[0]].  A tensor that the adapter does not change:
 * w stays.  Sums are f32: ranks ascending, by fma from +0.  Any thread.
 * INFER_EINVAL: no such tensor, matrix or row. */
int infer_lora_merge(const infer_lora *l, float factor, const struct infer_tensor *tensor,
                     int32_t matrix, int64_t from, int64_t n, float *w, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
