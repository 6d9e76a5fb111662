/* infer/model.h - a loaded model: immutable, shared.   floor: arch
 *
 * Weights stay in the mapping of the file; weights that had to be copied are counted, and named in
 * the log, as is a compressed file. */
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
	/* the largest context that will be used, which selects the factors of longrope; 0: the
	 * model's own */
	int32_t ctx;
	infer_log_fn *log; /* NULL: silent */
	void *log_user;
	struct infer_watch watch; /* is told how much of a compressed file is unpacked */
};

/* Open, check and bind a model.
 * INFER_EIO INFER_ENOMEM
 * INFER_EFORMAT  damaged, or a key or tensor is missing, out of range or of the wrong shape; names
 *                it
 * INFER_EUNSUP   an unknown architecture, tokenizer, tensor type or RoPE scaling, by name */
int infer_model_open(infer_model **out, const char *path, const struct infer_model_opts *o,
                     infer_error *err);
/* The same for an open file, which remains the property of the caller and must outlive *out. */
int infer_model_open_file(infer_model **out, const infer_file *file,
                          const struct infer_model_opts *o, infer_error *err);
void infer_model_close(infer_model **m);

/* The name of supported model family i, as in general.architecture; NULL: there are no more.
 * Any thread. */
const char *infer_model_family(int i);

struct infer_model_info {
	const char *arch;      /* "llama" */
	struct infer_str name; /* general.name, or empty */
	int32_t n_vocab, n_layers, n_embd, n_head, n_head_kv, head_dim, n_ff, ctx_train;
	int32_t n_expert, n_expert_used;
	int32_t n_embedding; /* numbers of an embedding */
	/* numbers of what is not generation: scores of a head that ranks texts, 0: it has none; 1: rows
	 * see later ones, so that it embeds and ranks, but nothing can be generated */
	int32_t n_ranks, is_encoder;
	uint64_t n_params;
	uint64_t weight_bytes; /* of all tensors */
	/* weight bytes that one decoded token reads: all except the embedding rows that are not
	 * looked up */
	uint64_t token_bytes;
	uint64_t private_bytes; /* weights that were copied, or unpacked from a compressed file */
	/* time taken to open the file, the vocabulary, everything */
	int64_t file_ns, tokenizer_ns, open_ns;
	uint64_t kv_elems; /* K and V elements per position, over all layers */
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
