/* infer/model.h - a loaded model.  Immutable.   floor: arch
 *
 * Weights are used in the mapping of the file.  Weights that had to be copied, and a compressed
 * file, are counted and named in the log. */
#ifndef INFER_MODEL_H
#define INFER_MODEL_H
#include <stdint.h>
#include <infer/status.h>
#include <infer/file.h>
#include <infer/token.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_model infer_model;

struct infer_model_opts {
	/* the largest context that will be used, which selects the RoPE factors of longrope models;
	 * 0: the model's own */
	int32_t ctx;
	infer_log_fn *log; /* called while the model is opened; NULL: silent */
	void *log_user;
	struct infer_watch watch; /* receives progress of unpacking a compressed file */
};

/* Open, check and bind a model.  o: NULL is all defaults.
 * INFER_EINVAL: ctx is negative.
 * INFER_EIO: the file cannot be read.  INFER_ENOMEM
 * INFER_EFORMAT: damaged, or a key or tensor is missing, out of range or of the wrong shape; names
 *                it.
 * INFER_EUNSUP: an unknown architecture, tokenizer, tensor type or RoPE scaling; names it. */
int infer_model_open(infer_model **out, const char *path, const struct infer_model_opts *o,
                     infer_error *err);
/* The same for an open file, which the caller keeps and which must outlive *out. */
int infer_model_open_file(infer_model **out, const infer_file *file,
                          const struct infer_model_opts *o, infer_error *err);
void infer_model_close(infer_model **m);

/* Return the name of supported model family i, as in general.architecture; NULL at the end of the
 * list.  Static.  Any thread. */
const char *infer_model_family(int i);

struct infer_model_info {
	const char *arch;      /* "llama"; static */
	struct infer_str name; /* general.name, or empty; borrowed */
	/* n_ff: width of a dense feed-forward layer; ctx_train: the context it was trained for */
	int32_t n_vocab, n_layers, n_embd, n_head, n_head_kv, head_dim, n_ff, ctx_train;
	int32_t n_expert, n_expert_used;
	int32_t n_embedding; /* floats of an embedding */
	/* n_ranks: scores of its ranking head, 0: none.  is_encoder: 1: attention is bidirectional,
	 * so it can embed and rank, but not generate */
	int32_t n_ranks, is_encoder;
	uint64_t n_params;
	uint64_t weight_bytes; /* of all tensors */
	/* weight bytes read to decode one token; of the embedding table, one row */
	uint64_t token_bytes;
	uint64_t private_bytes; /* copied weights, and unpacked bytes of a compressed file */
	/* time to open: the file, the tokenizer, the model in all */
	int64_t file_ns, tokenizer_ns, open_ns;
	uint64_t kv_elems; /* K and V elements per position, over all layers */
};
void infer_model_info(const infer_model *m, struct infer_model_info *info);
const infer_file *infer_model_file(const infer_model *m); /* borrowed */
/* Return the tokenizer, borrowed; NULL if the file has no vocabulary. */
const infer_tokenizer *infer_model_tokenizer(const infer_model *m);
/* True if encoding a prompt with INFER_ENCODE_ADD adds BOS. */
int infer_model_adds_bos(const infer_model *m);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
