/* hf/adapt.h - the GGUF tensors that an adapter of a Hugging Face checkpoint changes. */
#ifndef HF_ADAPT_H
#define HF_ADAPT_H
#include "arch/arch.h"
#include "base/arena.h"
#include "hf/rows.h"

struct hf_adapt {
	struct hf_rows **at; /* [n] the GGUF tensors; `from` points to the tensors given */
	int64_t n;
	int left; /* tensors of parts that the text model does not have, as a vision tower */
};
/* Find the GGUF tensors of n tensors of a checkpoint of m's class.  Only names, shapes and dtypes are
 * read.  T_STACK: `from` is NULL for experts that are not given.  lm_head of a model whose output is its
 * embedding table becomes "output.weight".
 * out: in arena a.  f: the file of the tensors, path: its directory, for messages.
 * INFER_EFORMAT: a wrong shape; INFER_EUNSUP: no such tensor in this class.  The message names the tensor;
 * INFER_ENOMEM */
int hf_adapt(struct hf_adapt *out, struct arena *a, const infer_model *m, infer_file *f,
             const char *path, const struct safetensors_tensor *t, int64_t n, infer_error *err);
#endif
