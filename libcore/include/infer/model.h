/* infer/model.h - a loaded model: immutable, shared.   floor: arch
 *
 * Weights stay where the file's mapping has them; what had to be copied is counted and named
 * through the log. */
#ifndef INFER_MODEL_H
#define INFER_MODEL_H
#include <stdint.h>
#include <infer/status.h>
#include <infer/file.h>
#include <infer/token.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_model infer_model;

struct infer_model_opts {
	/* the largest context that will be asked for: chooses longrope's factors; 0: the model's
	 * own */
	int32_t ctx;
	infer_log_fn *log; /* NULL: silent */
	void *log_user;
};

/* Open, check and bind a model.
 * INFER_EIO INFER_ENOMEM
 * INFER_EFORMAT  damaged; a key or tensor missing, of another shape, or out of range: by name
 * INFER_EUNSUP   architecture, tokenizer, tensor type, RoPE scaling that is not known: by name */
int infer_model_open(infer_model **out, const char *path, const struct infer_model_opts *o,
                     infer_error *err);
/* The same of a file that is open already, and stays the caller's: it must outlive *out. */
int infer_model_open_file(infer_model **out, const infer_file *file,
                          const struct infer_model_opts *o, infer_error *err);
void infer_model_close(infer_model **m);

/* The i-th family of models that runs, as files name it in general.architecture; NULL: there are
 * no more.  Any thread. */
const char *infer_model_family(int i);

struct infer_model_info {
	const char *arch;      /* "llama" */
	struct infer_str name; /* general.name, or empty */
	int32_t n_vocab, n_layers, n_embd, n_head, n_head_kv, head_dim, n_ff, ctx_train;
	int32_t n_expert, n_expert_used;
	uint64_t n_params;
	uint64_t weight_bytes; /* of all tensors */
	/* weight bytes that one decoded token touches: all but the embedding rows not looked up */
	uint64_t token_bytes;
	uint64_t private_bytes; /* weights that could not be used where they lie */
	/* opening took: the file, the vocabulary, all of it */
	int64_t file_ns, tokenizer_ns, open_ns;
	uint64_t kv_elems; /* K and V elements that one position adds, over all layers */
};
void infer_model_info(const infer_model *m, struct infer_model_info *info);
const infer_file *infer_model_file(const infer_model *m); /* borrowed */
/* borrowed; NULL for a file without a vocabulary */
const infer_tokenizer *infer_model_tokenizer(const infer_model *m);
int infer_model_adds_bos(const infer_model *m);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
